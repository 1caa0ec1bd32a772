/* SPDX-License-Identifier: MIT */
/*
 * What happens on most calls: a block is taken out of a list of equal ones and split, and one is
 * released and merged. What they wait for is memory, for there are more blocks than the cache holds:
 * so they look at few.
 */
#ifndef LIBACCEL_POOL_QUICK_H
#define LIBACCEL_POOL_QUICK_H

#include "pool_bins.h"

static inline bool is_free(const struct space *space, uint32_t index)
{
	return space->is_free[index / 64] >> index % 64 & 1;
}

static inline void set_free(struct space *space, uint32_t index)
{
	space->is_free[index / 64] |= UINT64_C(1) << index % 64;
}

static inline void clear_free(struct space *space, uint32_t index)
{
	space->is_free[index / 64] &= ~(UINT64_C(1) << index % 64);
}

static inline uint32_t new_block(struct space *space)
{
	uint32_t index = space->spare;

	space->spare = space->blocks[index].next;
	space->nr_spare--;
	return index;
}

static inline void link_behind(struct space *space, uint32_t index, uint32_t prev)
{
	struct block *block = &space->blocks[index];

	block->prev = prev;
	block->next = space->blocks[prev].next;
	space->blocks[block->next].prev = index;
	space->blocks[prev].next = index;
}

static inline void hash_add(struct space *space, uint32_t index)
{
	uint32_t *chain;

	if (space->nr_used >= space->nr_chains)
		space_grow_hash(space);
	chain = space_chain(space, space->blocks[index].addr);
	space->blocks[index].hash_next = *chain;
	*chain = index;
	space->nr_used++;
}

static inline uint32_t hash_remove(struct space *space, uint32_t *at)
{
	uint32_t index = *at;

	*at = space->blocks[index].hash_next;
	space->nr_used--;
	return index;
}

/*
 * Takes the smallest block that serves where that is simple: of less than BINS_EXACT granules,
 * aligned in any case, and nothing waits. NULL: space_take() may find something. There is room for a
 * block more.
 */
static inline struct block *space_take_quickly(struct space *space, uint32_t size, uint32_t slack)
{
	struct bins *bins = space->free;
	uint32_t found = bins_next_size(bins, size), index, rest;
	struct block *blocks = space->blocks, *block;

	if (!found)
		return space_take_large(space, size, slack);
	index = bins->small[found];
	block = &blocks[index];
	bins_remove_first(bins, found, block->bin_next);
	if (found > size) {
		rest = new_block(space);
		blocks[rest].addr = block->addr + ((uintptr_t)size << space->granule_shift);
		blocks[rest].size = found - size;
		blocks[rest].state = BLOCK_FREE;
		set_free(space, rest);
		block->size = size;
		link_behind(space, rest, index);
		bins_add_small(space, bins, rest, found - size);
	}
	clear_free(space, index);
	block->state = BLOCK_USED;
	block->slack = slack;
	space->free_granules -= size;
	hash_add(space, index);
	return block;
}

static inline void drop_block(struct space *space, uint32_t index)
{
	struct block *block = &space->blocks[index];

	clear_free(space, index);
	block->state = BLOCK_SPARE;
	block->next = space->spare;
	space->spare = index;
	space->nr_spare++;
}

/* The second one is in no list, and ends. */
static inline void absorb(struct space *space, uint32_t index, uint32_t second)
{
	struct block *block = &space->blocks[index];
	const struct block *gone = &space->blocks[second];

	block->size += gone->size;
	block->next = gone->next;
	space->blocks[gone->next].prev = index;
	drop_block(space, second);
}

/* Of a block that is in no list. */
static inline uint32_t make_free(struct space *space, uint32_t index)
{
	uint32_t prev = space->blocks[index].prev, next = space->blocks[index].next;

	if (is_free(space, next)) {
		bins_remove(space, space->free, next);
		absorb(space, index, next);
	}
	if (is_free(space, prev)) {
		bins_remove(space, space->free, prev);
		absorb(space, prev, index);
		index = prev;
	}
	space->blocks[index].state = BLOCK_FREE;
	set_free(space, index);
	bins_add(space, space->free, index);
	return index;
}

/* Frees the used block that stands there; the free one that it has become part of. */
static inline uint32_t space_release_quickly(struct space *space, uint32_t *at)
{
	uint32_t index = hash_remove(space, at);

	space->free_granules += space->blocks[index].size;
	return make_free(space, index);
}

#endif
