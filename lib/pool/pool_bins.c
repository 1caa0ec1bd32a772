/* SPDX-License-Identifier: MIT */
/*
 * Bins: those of large blocks, and what is seldom asked.
 */
#include "pool_bins.h"

#include <sys/mman.h>

struct bins *bins_create(void)
{
	void *map = mmap(NULL, sizeof(struct bins), PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return map == MAP_FAILED ? NULL : map;
}

void bins_free(struct bins *bins)
{
	if (bins)
		munmap(bins, sizeof(*bins));
}

static inline unsigned int highest_bit(uint64_t word)
{
	return 63 - (unsigned int)__builtin_clzll(word);
}

static inline uint32_t class_of(uint32_t size)
{
	uint32_t class = size >> BINS_CLASS_SHIFT;

	return class < BINS_CLASSES ? class : BINS_CLASSES - 1;
}

/* Class 0 is that of small blocks, and so always empty. */
static uint32_t next_class(const struct bins *bins, uint32_t class)
{
	uint32_t word = class / 64;
	uint64_t bits = bins->large_low[word] & bits_above(class % 64);

	if (!bits) {
		bits = bins->large_top & bits_above(word);
		if (!bits)
			return 0;
		word = lowest_bit(bits);
		bits = bins->large_low[word];
	}
	return word * 64 + lowest_bit(bits);
}

uint32_t bins_find_large(const struct space *space, const struct bins *bins, uint32_t size)
{
	uint32_t class = class_of(size), index = bins->large[class];

	while (index && space->blocks[index].size < size)
		index = space->blocks[index].bin_next;
	if (index)
		return index;
	class = next_class(bins, class);
	return class ? bins->large[class] : 0;
}

static void mark(struct bins *bins, uint32_t class)
{
	uint64_t *low = &bins->large_low[class / 64], bit = UINT64_C(1) << class % 64;

	*low = bins->large[class] ? *low | bit : *low & ~bit;
	bit = UINT64_C(1) << class / 64;
	bins->large_top = *low ? bins->large_top | bit : bins->large_top & ~bit;
}

void bins_add_large(struct space *space, struct bins *bins, uint32_t index)
{
	struct block *block = &space->blocks[index];
	uint32_t class = class_of(block->size), next = bins->large[class], before = 0;

	while (next && space->blocks[next].size < block->size) {
		before = next;
		next = space->blocks[next].bin_next;
	}
	block->bin_prev = before;
	block->bin_next = next;
	space->blocks[next].bin_prev = index;
	if (before)
		space->blocks[before].bin_next = index;
	else
		bins->large[class] = index;
	mark(bins, class);
}

void bins_remove_large(struct space *space, struct bins *bins, uint32_t index)
{
	const struct block *block = &space->blocks[index];
	uint32_t class = class_of(block->size);

	space->blocks[block->bin_next].bin_prev = block->bin_prev;
	if (block->bin_prev)
		space->blocks[block->bin_prev].bin_next = block->bin_next;
	else
		bins->large[class] = block->bin_next;
	mark(bins, class);
}

uint32_t bins_next(const struct space *space, struct bins *bins, uint32_t index)
{
	const struct block *block = &space->blocks[index];
	uint32_t class;

	if (block->bin_next)
		return block->bin_next;
	if (block->size < BINS_EXACT)
		return bins_find(space, bins, block->size + 1);
	class = next_class(bins, class_of(block->size));
	return class ? bins->large[class] : 0;
}

uint32_t bins_largest(const struct space *space, struct bins *bins)
{
	uint32_t index, group, word;

	if (bins->large_top) {
		word = highest_bit(bins->large_top);
		index = bins->large[word * 64 + highest_bit(bins->large_low[word])];
		while (space->blocks[index].bin_next)
			index = space->blocks[index].bin_next;
		return index;
	}
	while (bins->top && !bins->mid[highest_bit(bins->top)])
		bins->top &= ~(UINT64_C(1) << highest_bit(bins->top));
	if (!bins->top)
		return 0;
	group = highest_bit(bins->top);
	word = group * 64 + highest_bit(bins->mid[group]);
	return bins->small[word * 64 + highest_bit(bins->low[word])];
}
