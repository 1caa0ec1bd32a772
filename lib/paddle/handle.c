/* SPDX-License-Identifier: MIT */
/*
 * Streams and events in Paddle's hands. It keeps them beyond their lives (a thread that reads data
 * asks for an event while the process ends), so they are numbers that are looked up, and no
 * pointers: place in a table, and how often the place has been used.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

struct slot {
	void *object;
	struct device *device;
	enum handle_kind kind;
	uint32_t uses;
};

static struct slot *slots; /* under the lock, as all below */
static size_t slot_count;
static size_t first_free; /* none is before it */
static uint32_t rounds; /* how often the table was forgotten */

static struct slot *slot_of(enum handle_kind kind, const void *handle)
{
	uintptr_t value = (uintptr_t)handle;
	size_t place = (value & UINT32_MAX) - 1;

	if (!value || place >= slot_count)
		return NULL;
	return slots[place].kind == kind && slots[place].uses == value >> 32 ? &slots[place] : NULL;
}

static bool grow(void)
{
	size_t more = slot_count ? 2 * slot_count : 64;
	struct slot *larger = realloc(slots, more * sizeof(*slots));

	if (!larger)
		return false;
	memset(larger + slot_count, 0, (more - slot_count) * sizeof(*slots));
	/* A handle from before finalize is not live after it either. */
	for (size_t i = slot_count; i < more; i++)
		larger[i].uses = rounds << 20;
	slots = larger;
	slot_count = more;
	return true;
}

static void *fill_slot(enum handle_kind kind, struct device *device, void *object)
{
	struct slot *slot;

	while (first_free < slot_count && slots[first_free].kind != HANDLE_FREE)
		first_free++;
	if (first_free == slot_count && !grow())
		return NULL;
	slot = &slots[first_free];
	*slot = (struct slot){
		.object = object, .device = device, .kind = kind, .uses = slot->uses + 1
	};
	return (void *)((uintptr_t)slot->uses << 32 | (first_free + 1));
}

void *handle_make(enum handle_kind kind, struct device *device, void *object)
{
	void *handle;

	plugin_lock();
	handle = fill_slot(kind, device, object);
	plugin_unlock();
	return handle;
}

void *handle_get(enum handle_kind kind, const void *handle)
{
	struct slot *slot;
	void *object;

	plugin_lock();
	slot = slot_of(kind, handle);
	object = slot ? slot->object : NULL;
	plugin_unlock();
	return object;
}

void *handle_take(enum handle_kind kind, const void *handle)
{
	struct slot *slot;
	void *object;

	plugin_lock();
	slot = slot_of(kind, handle);
	object = slot ? slot->object : NULL;
	if (slot) {
		slot->kind = HANDLE_FREE;
		if ((size_t)(slot - slots) < first_free)
			first_free = (size_t)(slot - slots);
	}
	plugin_unlock();
	return object;
}

void *handle_next(enum handle_kind kind, const struct device *device, size_t *at)
{
	void *object = NULL;

	plugin_lock();
	for (; !object && *at < slot_count; ++*at)
		if (slots[*at].kind == kind && slots[*at].device == device)
			object = slots[*at].object;
	plugin_unlock();
	return object;
}

void handles_forget(void)
{
	plugin_lock();
	free(slots);
	slots = NULL;
	slot_count = first_free = 0;
	rounds++;
	plugin_unlock();
}
