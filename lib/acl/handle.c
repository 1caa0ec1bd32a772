/* SPDX-License-Identifier: MIT */
/*
 * Streams, events and contexts in the hands of programs: numbers that are looked up, and no
 * pointers. A number is a place in a table and how often the place has been used, so one that was
 * destroyed, or is of another kind, is found out. All is under the lock.
 *
 * They are not the handles of libaccel, which has no contexts, and does not know which context, report
 * or waits belong to a stream or an event.
 */
#include "event.h"
#include "handle.h"
#include "state.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct slot {
	struct object *object; /* NULL: unused */
	uint32_t uses;
};

static struct slot *slots;
static size_t slot_count;
static size_t first_free; /* none is before it */

static const char *const kinds[] = {
	[HANDLE_CONTEXT] = "context",
	[HANDLE_STREAM] = "stream",
	[HANDLE_EVENT] = "event",
};

static struct object *object_of(const void *handle)
{
	uintptr_t value = (uintptr_t)handle;
	size_t place = (value & UINT32_MAX) - 1;

	if (!value || place >= slot_count || slots[place].uses != value >> 32)
		return NULL;
	return slots[place].object;
}

static bool object_is(const struct object *object, enum handle_kind kind)
{
	return object && (object->kind == kind ||
			  (kind == HANDLE_WITH_STREAM && object->kind != HANDLE_EVENT));
}

struct object *handle_find(enum handle_kind kind, const void *handle)
{
	struct object *object = object_of(handle);

	return object_is(object, kind) ? object : NULL;
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
	struct object *made = malloc(sizeof(*made));
	struct slot *slot;

	while (first_free < slot_count && slots[first_free].object)
		first_free++;
	if (!made || (first_free == slot_count && !grow())) {
		free(made);
		return NULL;
	}
	slot = &slots[first_free];
	slot->object = made;
	*made = *object;
	made->refs = 1;
	made->reached = -1;
	made->last_wait = &made->waits;
	made->handle = (void *)((uintptr_t)++slot->uses << 32 | (first_free + 1));
	if (made->kind == HANDLE_CONTEXT)
		made->context = made->handle;
	return made->handle;
}

void handle_drop(const struct object *object)
{
	size_t place = ((uintptr_t)object->handle & UINT32_MAX) - 1;

	slots[place].object = NULL;
	if (place < first_free)
		first_free = place;
}

struct object *object_next(enum handle_kind kind, const struct device *device,
			   aclrtContext context, size_t *at)
{
	while (*at < slot_count) {
		struct object *object = slots[(*at)++].object;

		if (object_is(object, kind) && (!device || object->device == device) &&
		    (!context || object->context == context))
			return object;
	}
	return NULL;
}

void object_put(struct object *object)
{
	bool is_last;

	state_lock();
	is_last = !--object->refs;
	state_unlock();
	if (!is_last)
		return;
	if (object->stream)
		accel_stream_destroy(object->stream);
	waits_end(object->waits);
	if (object->event)
		accel_event_destroy(object->event);
	if (object->reached >= 0)
		close(object->reached);
	free(object);
}

/* What libaccel and the driver have of it is the parent's. */
static void object_forget(struct object *object)
{
	if (object->reached >= 0)
		close(object->reached);
	waits_forget(object->waits);
	free(object);
}

/* The table stays: its numbers were given out by the parent, and are not used again. */
void handles_forget(void)
{
	for (size_t i = 0; i < slot_count; i++) {
		if (slots[i].object)
			object_forget(slots[i].object);
		slots[i].object = NULL;
	}
	first_free = 0;
}

aclError handle_fail(const char *argument, enum handle_kind kind, const void *handle)
{
	const char *is = NULL;
	const struct object *object;

	if (!handle)
		return call_null(argument);
	state_lock();
	object = object_of(handle);
	/* One of the right kind is of a device that is being reset. */
	if (object && object->kind != kind)
		is = kinds[object->kind];
	state_unlock();
	if (is)
		return call_fail(ACL_ERROR_RT_INVALID_HANDLE, "%s %p is of kind %s and no %s",
				 argument, handle, is, kinds[kind]);
	return call_fail(ACL_ERROR_RT_INVALID_HANDLE, "%s %p is no live %s: destroyed, or never one",
			 argument, handle, kinds[kind]);
}
