/* SPDX-License-Identifier: MIT */
/* Live allocations and registrations, by address. */
#ifndef LIBACCEL_RANGE_H
#define LIBACCEL_RANGE_H

#include "api.h"
#include "table.h"

/* Written with WRITE_SHARED() but for the height and the imports, which only writers need. */
struct range {
	struct range *child[2];
	int height;
	unsigned int imports; /* of device memory: how often it has to be freed once more */
	unsigned int chunks; /* of pools that are in it; likewise for writers only */
	uintptr_t base;
	size_t size;
	size_t mapped; /* bytes of the mapping that is ours to unmap */
	uint64_t serial;
	enum accel_memory_kind kind;
};

void range_insert(struct range **root, struct range *range);
void range_remove(struct range **root, struct range *range);
/*
 * The range that starts last at or below addr: the only one that can hold it. May be called
 * while the tree is changed: any range or NULL is returned then.
 */
struct range *range_below(struct range *root, uintptr_t addr);

/* A copy of what is known of a range. */
struct extent {
	size_t size; /* 0: of none, and the rest is not set */
	uintptr_t base;
	size_t mapped;
	uint64_t serial;
	enum accel_memory_kind kind;
};

/* In place: a copy of a struct that was written just now, word by word, waits for each word. */
static inline void extent_read(struct extent *extent, const struct range *range)
{
	extent->size = 0;
	if (!range)
		return;
	extent->base = READ_SHARED(range->base);
	extent->size = READ_SHARED(range->size);
	extent->mapped = READ_SHARED(range->mapped);
	extent->serial = READ_SHARED(range->serial);
	extent->kind = READ_SHARED(range->kind);
}

static inline bool extent_holds(const struct extent *extent, uintptr_t addr, size_t size)
{
	return extent->size && extent->base <= addr && addr - extent->base <= extent->size &&
	       size <= extent->size - (addr - extent->base);
}

static inline bool range_holds(const struct range *range, uintptr_t addr, size_t size)
{
	return range->base <= addr && addr - range->base <= range->size &&
	       size <= range->size - (addr - range->base);
}

static inline bool wraps(uintptr_t addr, size_t size)
{
	return size && addr + (size - 1) < addr;
}

#endif
