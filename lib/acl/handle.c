/* SPDX-License-Identifier: MIT */
/*
 * Streams, events and contexts in the hands of programs: numbers that are looked up, and no
 * pointers. A number is a place in a table and how often the place has been used, so one that was
 * destroyed, or is of another kind, is found out. All is under the lock.
 *
 * They are not the handles of libaccel, which has no contexts, and does not know which context, report
 * or waits belong to a stream or an event.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

struct slot {
	struct object object;
	uint32_t uses;
};

static struct slot *slots;
static size_t slot_count;
static size_t first_free; /* none is before it */

static const char *const kinds[] = {
	[HANDLE_FREE] = "nothing",
	[HANDLE_CONTEXT] = "context",
	[HANDLE_STREAM] = "stream",
	[HANDLE_EVENT] = "event",
	[HANDLE_ENDED] = NULL,
};

static struct slot *slot_of(const void *handle)
{
	uintptr_t value = (uintptr_t)handle;
	size_t place = (value & UINT32_MAX) - 1;

	if (!value || place >= slot_count || slots[place].uses != value >> 32)
		return NULL;
	return slots[place].object.kind == HANDLE_FREE ? NULL : &slots[place];
}

static void *handle_of(const struct slot *slot)
{
	return (void *)((uintptr_t)slot->uses << 32 | ((size_t)(slot - slots) + 1));
}

struct object *handle_find(enum handle_kind kind, const void *handle)
{
	struct slot *slot = slot_of(handle);

	return slot && slot->object.kind == kind ? &slot->object : NULL;
}

static bool grow(void)
{
	size_t more = slot_count ? 2 * slot_count : 64;
	struct slot *larger = realloc(slots, more * sizeof(*slots));

	if (!larger)
		return false;
	memset(larger + slot_count, 0, (more - slot_count) * sizeof(*slots));
	slots = larger;
	slot_count = more;
	return true;
}

void *handle_make(const struct object *object)
{
	struct slot *slot;

	while (first_free < slot_count && slots[first_free].object.kind != HANDLE_FREE)
		first_free++;
	if (first_free == slot_count && !grow())
		return NULL;
	slot = &slots[first_free];
	*slot = (struct slot){ .object = *object, .uses = slot->uses + 1 };
	return slot->object.handle = handle_of(slot);
}

static void free_slot(struct slot *slot)
{
	slot->object.kind = HANDLE_FREE;
	if ((size_t)(slot - slots) < first_free)
		first_free = (size_t)(slot - slots);
}

void handle_drop(const void *handle)
{
	struct slot *slot = slot_of(handle);

	if (!slot)
		return;
	slot->object.kind = HANDLE_ENDED;
	if (!slot->object.holds)
		free_slot(slot);
}

bool handle_release(const void *handle)
{
	struct slot *slot = slot_of(handle);

	if (!slot || --slot->object.holds || slot->object.kind != HANDLE_ENDED)
		return false;
	free_slot(slot);
	return true;
}

void *handle_next(enum handle_kind kind, const struct device *device, const void *context,
		  size_t *at)
{
	while (*at < slot_count) {
		struct slot *slot = &slots[(*at)++];

		if (slot->object.kind == kind && (!device || slot->object.device == device) &&
		    (!context || slot->object.context == context))
			return handle_of(slot);
	}
	return NULL;
}

/* The table stays: what is in it was made by the parent, and its numbers are not used again. */
void handles_forget(void)
{
	for (size_t i = 0; i < slot_count; i++)
		slots[i].object.kind = HANDLE_FREE;
	first_free = 0;
}

aclError handle_fail(const char *argument, enum handle_kind kind, const void *handle)
{
	const char *is = NULL;
	struct slot *slot;

	if (!handle)
		return call_null(argument);
	state_lock();
	slot = slot_of(handle);
	/* One of the right kind is of a device that is being reset. */
	if (slot && slot->object.kind != kind)
		is = kinds[slot->object.kind];
	state_unlock();
	if (is)
		return call_fail(ACL_ERROR_RT_INVALID_HANDLE, "%s %p is of kind %s and no %s",
				 argument, handle, is, kinds[kind]);
	return call_fail(ACL_ERROR_RT_INVALID_HANDLE, "%s %p is no live %s: destroyed, or never one",
			 argument, handle, kinds[kind]);
}
