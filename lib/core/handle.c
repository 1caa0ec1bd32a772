/* SPDX-License-Identifier: MIT */
/*
 * The table of handles: see handle.h. Unused slots are a stack. Its head has the number of the first
 * one and a count of removals: an exchange by a thread that has been overtaken fails.
 */
#include "api.h"
#include "error.h"
#include "handle.h"

#include <stdlib.h>

struct handle_slot *handle_chunks[HANDLE_CHUNKS];
static uint32_t slots; /* that were ever used */
static uint64_t unused; /* removals << 32 | number + 1; 0 in the lower half: there is none */

static uintptr_t slot_bits(uint32_t number)
{
	return (uintptr_t)number << HANDLE_KIND_BITS;
}

static bool chunk_ensure(struct handle_slot **chunk)
{
	struct handle_slot *made, *none = NULL;

	if (READ_SHARED(*chunk))
		return true;
	made = calloc(HANDLE_CHUNK, sizeof(*made));
	if (!made)
		return false;
	if (!__atomic_compare_exchange_n(chunk, &none, made, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		free(made);
	return true;
}

/* A slot that was never used. */
static bool slot_add(uint32_t *number)
{
	*number = READ_SHARED(slots);
	do {
		if (*number == HANDLE_CHUNKS * HANDLE_CHUNK ||
		    !chunk_ensure(&handle_chunks[*number / HANDLE_CHUNK]))
			return false;
	} while (!__atomic_compare_exchange_n(&slots, number, *number + 1, true, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
	return true;
}

static bool slot_pop(uint32_t *number)
{
	uint64_t head = READ_SHARED(unused), next;

	while ((uint32_t)head) {
		*number = (uint32_t)head - 1;
		next = (uintptr_t)READ_SHARED(handle_slot(slot_bits(*number))->object);
		next = ((head >> 32) + 1) << 32 | (uint32_t)next;
		if (__atomic_compare_exchange_n(&unused, &head, next, true, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE))
			return true;
	}
	return false;
}

static void slot_push(struct handle_slot *slot, uintptr_t handle)
{
	uint32_t number = handle >> HANDLE_KIND_BITS & ((1u << HANDLE_SLOT_BITS) - 1);
	uint64_t head = READ_SHARED(unused);

	do
		WRITE_SHARED(slot->object, (void *)(uintptr_t)(uint32_t)head);
	while (!__atomic_compare_exchange_n(&unused, &head,
					    head >> 32 << 32 | (number + 1), true,
					    __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
}

void *handle_create(enum handle_kind kind, void *object)
{
	struct handle_slot *slot;
	uintptr_t generation;
	uint32_t number;

	if (!slot_pop(&number) && !slot_add(&number))
		return NULL;
	slot = handle_slot(slot_bits(number));
	generation = (slot->handle >> HANDLE_GENERATION) + 1;
	WRITE_SHARED(slot->object, object);
	WRITE_SHARED(slot->handle, generation << HANDLE_GENERATION | slot_bits(number) | kind);
	return (void *)slot->handle;
}

void *handle_end(enum handle_kind kind, const void *handle)
{
	void *object = handle_get(kind, handle);
	uintptr_t live = (uintptr_t)handle;
	struct handle_slot *slot = handle_slot(live);

	if (!object || !__atomic_compare_exchange_n(&slot->handle, &live, live - kind, false,
						    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return NULL;
	slot_push(slot, live);
	return object;
}

/* Whether such a handle was ever made. */
static bool was_made(enum handle_kind kind, uintptr_t handle)
{
	const struct handle_slot *slot = handle_slot(handle);
	uintptr_t generation = handle >> HANDLE_GENERATION;

	return slot && handle_kind(handle) == kind && generation &&
	       generation <= READ_SHARED(slot->handle) >> HANDLE_GENERATION;
}

int handle_error(enum handle_kind kind, const void *handle)
{
	static const struct {
		const char *argument, *noun, *maker, *ended;
	} kinds[] = {
		[HANDLE_DEVICE] = { "dev", "device", "open", "closed" },
		[HANDLE_STREAM] = { "stream", "stream", "create", "destroyed" },
		[HANDLE_EVENT] = { "event", "event", "create", "destroyed" },
		[HANDLE_BATCH] = { "batch", "batch", "create", "destroyed" },
	};
	const char *argument = kinds[kind].argument, *noun = kinds[kind].noun;
	const char *maker = kinds[kind].maker;

	if (!handle)
		return fail(-EINVAL, "%s is NULL: it has to be a handle from accel_%s_%s()",
			    argument, noun, maker);
	if (was_made(kind, (uintptr_t)handle))
		return fail(-EINVAL, "%s was %s%s", argument, kinds[kind].ended,
			    kind == HANDLE_DEVICE ? "" : ", or its device was closed");
	return fail(-EINVAL, "%s is no %s (%p): it has to be a handle from accel_%s_%s()", argument,
		    noun, handle, noun, maker);
}
