/* SPDX-License-Identifier: MIT */
/*
 * Handles of devices, streams, events and batches. A handle is a number in the form of a pointer that
 * is never dereferenced: the kind of the object, a slot of one table of the process, and the
 * generation, which counts the uses of the slot. So a handle whose object has ended is refused, and so
 * is a handle of another kind or any other value, even when the object's memory or its slot is in use
 * again.
 *
 * No function takes a lock. Slots lie in chunks that are neither moved nor freed. A slot is published
 * by one store of its handle, and ended by one exchange of it, so that of several threads one ends it.
 *
 * A handle does not keep its object: the owner of the object ends the handle, and frees the object
 * when no call can be using it.
 */
#ifndef LIBACCEL_HANDLE_H
#define LIBACCEL_HANDLE_H

#include "table.h"

#include <stddef.h>

/* Values that are multiples of 8, such as most pointers, are of no kind. */
enum handle_kind { HANDLE_NONE, HANDLE_DEVICE, HANDLE_STREAM, HANDLE_EVENT, HANDLE_BATCH };

/*
 * From the lowest bits: kind, slot, generation. The generation has 37 bits. In 32-bit programs it has
 * 13: there a handle is valid again after 8192 uses of its slot.
 */
#define HANDLE_KIND_BITS 3
#define HANDLE_SLOT_BITS (sizeof(uintptr_t) < 8 ? 16 : 24)
#define HANDLE_GENERATION (HANDLE_KIND_BITS + HANDLE_SLOT_BITS)
#define HANDLE_CHUNK 1024 /* slots of a chunk */
#define HANDLE_CHUNKS (((size_t)1 << HANDLE_SLOT_BITS) / HANDLE_CHUNK)

/*
 * Both are atomic. The object is written before the handle, and read before the handle is compared: a
 * handle that matches means that the object is its own.
 */
struct handle_slot {
	uintptr_t handle; /* HANDLE_NONE while the slot is unused: with the last generation */
	void *object; /* of an unused slot: the number of the next unused one */
};

extern struct handle_slot *handle_chunks[HANDLE_CHUNKS] __attribute__((visibility("hidden")));

static inline enum handle_kind handle_kind(uintptr_t handle)
{
	return handle & ((1u << HANDLE_KIND_BITS) - 1);
}

/* NULL: there never was such a slot. */
static inline struct handle_slot *handle_slot(uintptr_t handle)
{
	size_t number = handle >> HANDLE_KIND_BITS & (((size_t)1 << HANDLE_SLOT_BITS) - 1);
	struct handle_slot *chunk = READ_SHARED(handle_chunks[number / HANDLE_CHUNK]);

	return chunk ? &chunk[number % HANDLE_CHUNK] : NULL;
}

/* The object, or NULL. */
static inline void *handle_get(enum handle_kind kind, const void *handle)
{
	struct handle_slot *slot = handle_slot((uintptr_t)handle);
	void *object;

	if (!slot || handle_kind((uintptr_t)handle) != kind)
		return NULL;
	object = READ_SHARED(slot->object);
	return READ_SHARED(slot->handle) == (uintptr_t)handle ? object : NULL;
}

/* A handle of the object, or NULL: out of memory. */
void *handle_create(enum handle_kind kind, void *object);
/* Ends a handle. The object, or NULL: it is none, or another thread has ended it. */
void *handle_end(enum handle_kind kind, const void *handle);
/* -EINVAL, and the sentence for a handle for which handle_get() has returned NULL. */
int handle_error(enum handle_kind kind, const void *handle);

#endif
