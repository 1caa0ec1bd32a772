/* SPDX-License-Identifier: MIT */
/*
 * Bins: lists of free blocks by size, with a bitmap of two levels that finds the next list with a
 * block. A size below BINS_EXACT granules has a list of its own; larger sizes share a list with those
 * that differ by at most one part in BINS_PER_POWER. Shared lists are in order of size, so that every
 * search finds an exact best fit. Few blocks can be that large.
 *
 * Which sizes come next cannot be predicted, and a mispredicted branch costs more than both of its
 * ways here: so there is none. Block 0 takes what is written for a neighbour that does not exist.
 */
#ifndef LIBACCEL_POOL_BINS_H
#define LIBACCEL_POOL_BINS_H

#include "pool_space.h"

#define BINS_EXACT_SHIFT 16
#define BINS_EXACT (1u << BINS_EXACT_SHIFT)
#define BINS_POWER_SHIFT 8
#define BINS_PER_POWER (1u << BINS_POWER_SHIFT)
#define BINS (BINS_EXACT + (32 - BINS_EXACT_SHIFT) * BINS_PER_POWER)
#define BINS_WORDS (BINS / 64)
#define BINS_MID (BINS_WORDS / 64)

/* The kernel provides the pages of the tables when they are touched: a small pool touches three. */
struct bins {
	uint32_t top; /* which words of mid have not been 0 since a search looked */
	uint64_t mid[BINS_MID]; /* which words of low are not 0 */
	uint64_t low[BINS_WORDS]; /* which lists are not empty */
	uint32_t first[BINS];
};

_Static_assert(BINS_MID <= 32, "a bit for each word");
_Static_assert(BINS_WORDS % 64 == 0, "whole words on both levels");

/* A shift by 64 would be undefined. */
static inline uint64_t bits_above(unsigned int bit)
{
	return ~UINT64_C(1) << bit;
}

static inline unsigned int lowest_bit(uint64_t word)
{
	return (unsigned int)__builtin_ctzll(word);
}

static inline uint32_t bin_of(uint32_t size)
{
	unsigned int power;

	if (size < BINS_EXACT)
		return size;
	power = 31 - (unsigned int)__builtin_clz(size);
	return BINS_EXACT + (power - BINS_EXACT_SHIFT) * BINS_PER_POWER +
	       (size >> (power - BINS_POWER_SHIFT)) - BINS_PER_POWER;
}

/* The first bin with a block from a bin on, in words that are not beside its own; 0: none. */
static inline uint32_t bins_next_far(struct bins *bins, uint32_t bin)
{
	uint64_t groups = bins->top & bits_above(bin / 4096);
	uint32_t group, word;

	for (; groups; groups &= groups - 1) {
		group = lowest_bit(groups);
		if (bins->mid[group]) {
			word = group * 64 + lowest_bit(bins->mid[group]);
			return word * 64 + lowest_bit(bins->low[word]);
		}
		bins->top &= ~(1u << group);
	}
	return 0;
}

/* The first bin with a block from a bin on; 0: none. */
static inline uint32_t bins_next(struct bins *bins, uint32_t bin)
{
	uint32_t word = bin / 64, next;
	uint64_t bits = bins->low[word] & ~UINT64_C(0) << bin % 64;
	uint64_t words = bins->mid[word / 64] & bits_above(word % 64), beyond;

	if (!(bits | words))
		return bins_next_far(bins, bin);
	next = word / 64 * 64 + lowest_bit(words | UINT64_C(1) << 63);
	beyond = -(uint64_t)!bits;
	bits |= bins->low[next] & beyond;
	word += (next - word) & (uint32_t)beyond;
	return word * 64 + lowest_bit(bits);
}

/* The block that was added last among the smallest with at least so many granules; 0: none. */
static inline uint32_t bins_find(const struct space *space, struct bins *bins, uint32_t size)
{
	uint32_t bin = bins_next(bins, bin_of(size)), index = bins->first[bin];

	/* Only the bin of the size itself can have smaller blocks. */
	while (index && space->blocks[index].size < size)
		index = space->blocks[index].bin_next;
	if (bin && !index && bin + 1 < BINS)
		index = bins->first[bins_next(bins, bin + 1)];
	return index;
}

static inline void bins_mark(struct bins *bins, uint32_t bin)
{
	bins->low[bin / 64] |= UINT64_C(1) << bin % 64;
	bins->mid[bin / 4096] |= UINT64_C(1) << bin / 64 % 64;
	bins->top |= 1u << bin / 4096;
}

static inline void bins_unmark_if(struct bins *bins, uint32_t bin, bool empty)
{
	uint64_t *low = &bins->low[bin / 64];

	*low &= ~((uint64_t)empty << bin % 64);
	bins->mid[bin / 4096] &= ~((uint64_t)!*low << bin / 64 % 64);
}

/* In a list that several sizes share. */
void bins_add_ordered(struct space *space, struct bins *bins, uint32_t index);

static inline void bins_add_exact(struct space *space, struct bins *bins, uint32_t index,
				  uint32_t size)
{
	uint32_t next = bins->first[size];

	space->blocks[index].bin_next = next;
	space->blocks[next].bin_prev = index;
	bins->first[size] = index;
	bins_mark(bins, size);
}

static inline void bins_add(struct space *space, struct bins *bins, uint32_t index)
{
	uint32_t size = space->blocks[index].size;

	if (size < BINS_EXACT)
		bins_add_exact(space, bins, index, size);
	else
		bins_add_ordered(space, bins, index);
}

/* The bin_prev of a first block means nothing: so the next block need not be touched. */
static inline void bins_remove(struct space *space, struct bins *bins, uint32_t index)
{
	const struct block *block = &space->blocks[index];
	uint32_t bin = bin_of(block->size), next = block->bin_next;

	if (bins->first[bin] == index) {
		bins->first[bin] = next;
		bins_unmark_if(bins, bin, !next);
		return;
	}
	space->blocks[block->bin_prev].bin_next = next;
	space->blocks[next].bin_prev = block->bin_prev;
}

#endif
