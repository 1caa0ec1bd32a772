/* SPDX-License-Identifier: MIT */
/*
 * Free blocks by size: a list for each size, and a bitmap of three levels that finds the next list
 * that is not empty in three steps. So the best fit is found in a time that does not depend on the
 * number of blocks. Blocks of BINS_EXACT granules and more lie in lists that are in order; there are
 * at most as many as the memory has room for, and a few in practice.
 *
 * What sizes come next nobody can foretell, the processor neither: where both ways of a branch are
 * short, there is none. Block 0 takes what is written for a neighbour that is not there.
 *
 * The kernel gives the pages of the tables when they are touched: a small pool touches three.
 */
#ifndef LIBACCEL_POOL_BINS_H
#define LIBACCEL_POOL_BINS_H

#include "pool_space.h"

#define BINS_WORDS (BINS_EXACT / 64)
#define BINS_CLASS_SHIFT 18
#define BINS_CLASSES 4096

struct bins {
	/*
	 * Which lists of small are not empty; which words of low are not 0; and which of mid have not
	 * been 0 since somebody looked.
	 */
	uint64_t top;
	uint64_t mid[64];
	uint64_t low[BINS_WORDS];
	uint64_t large_top;
	uint64_t large_low[BINS_CLASSES / 64];
	uint32_t large[BINS_CLASSES];
	uint32_t small[BINS_EXACT];
};

_Static_assert(BINS_WORDS == 64 * 64, "three levels of 64");
_Static_assert(BINS_CLASSES == 64 * 64, "two levels of 64");

struct bins *bins_create(void);
void bins_free(struct bins *bins);
void bins_add_large(struct space *space, struct bins *bins, uint32_t index);
void bins_remove_large(struct space *space, struct bins *bins, uint32_t index);
/* The block that was added last among the smallest with at least so many granules; 0: none. */
uint32_t bins_find_large(const struct space *space, const struct bins *bins, uint32_t size);
/* The next one in the order of sizes. */
uint32_t bins_next(const struct space *space, struct bins *bins, uint32_t index);
uint32_t bins_largest(const struct space *space, struct bins *bins);

/* Bits from one on; a shift by 64 would be undefined. */
static inline uint64_t bits_above(unsigned int bit)
{
	return ~UINT64_C(1) << bit;
}

/* All bits, or none: compilers make a branch of ?: */
static inline uint64_t if_so(bool condition)
{
	return -(uint64_t)condition;
}

static inline unsigned int lowest_bit(uint64_t word)
{
	return (unsigned int)__builtin_ctzll(word);
}

/* The first size with a block out of the groups of words behind that of a size; 0: none. */
static inline uint32_t bins_next_far(struct bins *bins, uint32_t size)
{
	uint64_t groups = bins->top & bits_above(size / 4096);
	uint32_t group, word;

	for (; groups; groups &= groups - 1) {
		group = lowest_bit(groups);
		if (bins->mid[group]) {
			word = group * 64 + lowest_bit(bins->mid[group]);
			return word * 64 + lowest_bit(bins->low[word]);
		}
		bins->top &= ~(UINT64_C(1) << group);
	}
	return 0;
}

/* The same from a size on. It is a guess which word has one: so there is no branch. */
static inline uint32_t bins_next_size(struct bins *bins, uint32_t size)
{
	uint32_t word = size / 64, group = size / 4096, next;
	uint64_t bits = bins->low[word] & ~UINT64_C(0) << size % 64;
	uint64_t words = bins->mid[group] & bits_above(word % 64), beyond;

	if (!(bits | words))
		return bins_next_far(bins, size);
	next = group * 64 + lowest_bit(words | UINT64_C(1) << 63);
	beyond = if_so(!bits);
	bits |= bins->low[next] & beyond;
	word += (next - word) & (uint32_t)beyond;
	return word * 64 + lowest_bit(bits);
}

static inline uint32_t bins_find(const struct space *space, struct bins *bins, uint32_t size)
{
	uint32_t found = size < BINS_EXACT ? bins_next_size(bins, size) : 0;

	if (found)
		return bins->small[found];
	if (!bins->large_top)
		return 0;
	return bins_find_large(space, bins, size);
}

/* Whether a list is empty, in the bitmaps. To ask whether they change would cost more. */
static inline void bins_mark(struct bins *bins, uint32_t size)
{
	bins->low[size / 64] |= UINT64_C(1) << size % 64;
	bins->mid[size / 4096] |= UINT64_C(1) << size / 64 % 64;
	bins->top |= UINT64_C(1) << size / 4096;
}

static inline void bins_unmark_if(struct bins *bins, uint32_t size, bool empty)
{
	uint64_t *low = &bins->low[size / 64], *mid = &bins->mid[size / 4096];

	*low &= ~((uint64_t)empty << size % 64);
	*mid &= ~((uint64_t)!*low << size / 64 % 64);
}

static inline void bins_add_small(struct space *space, struct bins *bins, uint32_t index,
				  uint32_t size)
{
	struct block *block = &space->blocks[index];
	uint32_t next = bins->small[size];

	block->bin_next = next;
	space->blocks[next].bin_prev = index;
	bins->small[size] = index;
	bins_mark(bins, size);
}

static inline void bins_add(struct space *space, struct bins *bins, uint32_t index)
{
	uint32_t size = space->blocks[index].size;

	if (size < BINS_EXACT)
		bins_add_small(space, bins, index, size);
	else
		bins_add_large(space, bins, index);
}

/* The bin_prev of a first block means nothing: so what is next need not be touched. */
static inline void bins_remove_first(struct bins *bins, uint32_t size, uint32_t next)
{
	bins->small[size] = next;
	bins_unmark_if(bins, size, !next);
}

static inline void bins_remove(struct space *space, struct bins *bins, uint32_t index)
{
	const struct block *block = &space->blocks[index];
	uint32_t size = block->size, prev, next;

	if (size >= BINS_EXACT) {
		bins_remove_large(space, bins, index);
		return;
	}
	next = block->bin_next;
	if (bins->small[size] == index) {
		bins_remove_first(bins, size, next);
		return;
	}
	prev = block->bin_prev;
	space->blocks[prev].bin_next = next;
	space->blocks[next].bin_prev = prev;
}

#endif
