/* SPDX-License-Identifier: MIT */
/*
 * What most calls do: a block is taken out of its list and split, and one is released and merged. Their
 * time is mostly that of cache misses, so they access few blocks.
 */
#ifndef LIBACCEL_POOL_QUICK_H
#define LIBACCEL_POOL_QUICK_H

#include "pool_bins.h"

static inline uint32_t block_new(struct space *space)
{
	uint32_t index = space->spare;

	space->spare = space->blocks[index].next;
	space->nr_spare--;
	return index;
}

static inline void block_drop(struct space *space, uint32_t index)
{
	space->blocks[index].state = BLOCK_SPARE;
	space->blocks[index].next = space->spare;
	space->spare = index;
	space->nr_spare++;
}

static inline bool block_is_free(const struct space *space, uint32_t index)
{
	return space->is_free[index / 64] >> index % 64 & 1;
}

static inline void block_set_free(struct space *space, uint32_t index)
{
	space->blocks[index].state = BLOCK_FREE;
	space->is_free[index / 64] |= UINT64_C(1) << index % 64;
}

static inline void block_clear_free(struct space *space, uint32_t index)
{
	space->is_free[index / 64] &= ~(UINT64_C(1) << index % 64);
}

static inline void hash_link(struct space *space, uint32_t index)
{
	uint64_t key = space->blocks[index].addr * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t *chain = &space->hash[key >> space->hash_shift];

	space->blocks[index].hash_next = *chain;
	*chain = index;
}

static inline void hash_add(struct space *space, uint32_t index)
{
	if (space->nr_used >> (64 - space->hash_shift))
		space_grow_hash(space);
	hash_link(space, index);
	space->nr_used++;
}

static inline uint32_t hash_remove(struct space *space, uint32_t *at)
{
	uint32_t index = *at;

	*at = space->blocks[index].hash_next;
	space->nr_used--;
	return index;
}

static inline void block_link(struct space *space, uint32_t index, uint32_t prev)
{
	struct block *block = &space->blocks[index];

	block->prev = prev;
	block->next = space->blocks[prev].next;
	space->blocks[block->next].prev = index;
	space->blocks[prev].next = index;
}

/* Cuts a block; what is behind so many granules becomes a block of its own, in no list. */
static inline uint32_t block_split(struct space *space, uint32_t index, uint32_t size)
{
	uint32_t rest = block_new(space);
	struct block *block = &space->blocks[index], *behind = &space->blocks[rest];

	behind->addr = block->addr + ((uintptr_t)size << space->granule_shift);
	behind->size = block->size - size;
	block->size = size;
	block_link(space, rest, index);
	return rest;
}

/* The second one is in no list, and ends. */
static inline void block_absorb(struct space *space, uint32_t index, uint32_t second)
{
	struct block *block = &space->blocks[index];
	const struct block *gone = &space->blocks[second];

	block->size += gone->size;
	block->next = gone->next;
	space->blocks[gone->next].prev = index;
	block_drop(space, second);
}

/* Of a block that is in no list; the free block that it has become part of. */
static inline uint32_t block_make_free(struct space *space, uint32_t index)
{
	uint32_t prev = space->blocks[index].prev, next = space->blocks[index].next;

	if (block_is_free(space, next)) {
		bins_remove(space, space->free, next);
		block_clear_free(space, next);
		block_absorb(space, index, next);
	}
	if (block_is_free(space, prev)) {
		bins_remove(space, space->free, prev);
		block_absorb(space, prev, index);
		index = prev;
	}
	block_set_free(space, index);
	bins_add(space, space->free, index);
	return index;
}

/* Of a block that is in no list. */
static inline uint32_t block_use(struct space *space, uint32_t index, uint32_t size)
{
	space->blocks[index].state = BLOCK_USED;
	space->free_granules -= size;
	hash_add(space, index);
	return index;
}

/*
 * The beginning of a block that stays where it is in its list. So it is for the one large block that
 * a pool begins with.
 */
static inline uint32_t take_front(struct space *space, uint32_t index, uint32_t size)
{
	uint32_t used = block_new(space);
	struct block *block = &space->blocks[index], *front = &space->blocks[used];

	front->addr = block->addr;
	front->size = size;
	block_link(space, used, block->prev);
	block->addr += (uintptr_t)size << space->granule_shift;
	block->size -= size;
	return used;
}

/*
 * Takes the smallest block that serves where that is simple: of less than BINS_EXACT granules, at any
 * address, and not one that waits. 0: space_take_any() may find something. There is room for a block
 * more.
 */
static inline uint32_t space_take(struct space *space, uint32_t size)
{
	struct bins *bins = space->free;
	struct block *block;
	uint32_t bin, index, left, rest;

	bin = bins_next(bins, size);
	index = bins->first[bin];
	block = &space->blocks[index];
	left = block->size - size;
	if (bin - 1 >= BINS_EXACT - 1)
		return bin && left >= BINS_EXACT && bin_of(left) == bin ?
			       block_use(space, take_front(space, index, size), size) : 0;
	bins->first[bin] = block->bin_next;
	bins_unmark_if(bins, bin, !block->bin_next);
	block_clear_free(space, index);
	if (left) {
		rest = block_split(space, index, size);
		block_set_free(space, rest);
		bins_add_exact(space, bins, rest, left);
	}
	return block_use(space, index, size);
}

/* Frees the block whose index stands there; the index of the free block that it is part of then. */
static inline uint32_t space_release(struct space *space, uint32_t *at)
{
	uint32_t index = hash_remove(space, at);

	space->free_granules += space->blocks[index].size;
	return block_make_free(space, index);
}

#endif
