/* SPDX-License-Identifier: MIT */
/*
 * A mutex around a plain allocator with two levels of bins. Sizes have a bin for each sixteenth of a
 * power of two; a bitmap tells which bins have blocks. A search takes the first block of the first bin
 * in which every block is large enough. Blocks are freed by handle, without a check.
 */
#include "race.h"

#include <pthread.h>
#include <stdlib.h>

#define SUB_SHIFT 4
#define SUBS (1u << SUB_SHIFT)
#define TOPS 32
#define NONE UINT32_MAX
#define USED (1u << 31) /* in node.size */

/* Sizes are in granules. */
struct node {
	uint32_t at, size;
	uint32_t prev, next; /* neighbours by address; spare nodes are chained by next */
	uint32_t bin_prev, bin_next;
};

struct bins {
	pthread_mutex_t lock;
	uint32_t top, spare;
	uint32_t sub[TOPS];
	uint32_t first[TOPS * SUBS];
	struct node nodes[RACE_BLOCKS];
};

/* The bin of a free block: sizes below SUBS have one each. */
static uint32_t bin_below(uint32_t size)
{
	uint32_t shift;

	if (size < SUBS)
		return size;
	shift = 31 - (uint32_t)__builtin_clz(size) - SUB_SHIFT;
	return ((shift + 1) << SUB_SHIFT) + (size >> shift) - SUBS;
}

/* The first bin in which each block has at least this size. */
static uint32_t bin_above(uint32_t size)
{
	uint32_t shift;

	if (size < SUBS)
		return size;
	shift = 31 - (uint32_t)__builtin_clz(size) - SUB_SHIFT;
	return bin_below(size + (1u << shift) - 1);
}

static void bin_add(struct bins *bins, uint32_t index)
{
	struct node *node = &bins->nodes[index];
	uint32_t bin = bin_below(node->size);

	node->bin_prev = NONE;
	node->bin_next = bins->first[bin];
	if (node->bin_next != NONE)
		bins->nodes[node->bin_next].bin_prev = index;
	bins->first[bin] = index;
	bins->sub[bin / SUBS] |= 1u << bin % SUBS;
	bins->top |= 1u << bin / SUBS;
}

static void bin_remove(struct bins *bins, uint32_t index)
{
	const struct node *node = &bins->nodes[index];
	uint32_t bin;

	if (node->bin_next != NONE)
		bins->nodes[node->bin_next].bin_prev = node->bin_prev;
	if (node->bin_prev != NONE) {
		bins->nodes[node->bin_prev].bin_next = node->bin_next;
		return;
	}
	bin = bin_below(node->size);
	bins->first[bin] = node->bin_next;
	if (node->bin_next != NONE)
		return;
	bins->sub[bin / SUBS] &= ~(1u << bin % SUBS);
	if (!bins->sub[bin / SUBS])
		bins->top &= ~(1u << bin / SUBS);
}

static uint32_t bin_find(const struct bins *bins, uint32_t size)
{
	uint32_t bin = bin_above(size), top = bin / SUBS, subs, tops;

	if (top >= TOPS)
		return NONE;
	subs = bins->sub[top] & ~0u << bin % SUBS;
	if (!subs) {
		tops = top + 1 < TOPS ? bins->top & ~0u << (top + 1) : 0;
		if (!tops)
			return NONE;
		top = (uint32_t)__builtin_ctz(tops);
		subs = bins->sub[top];
	}
	return bins->first[top * SUBS + (uint32_t)__builtin_ctz(subs)];
}

static uint32_t node_take(struct bins *bins)
{
	uint32_t index = bins->spare;

	if (index != NONE)
		bins->spare = bins->nodes[index].next;
	return index;
}

static void node_drop(struct bins *bins, uint32_t index)
{
	bins->nodes[index].next = bins->spare;
	bins->spare = index;
}

/* What is left over becomes a free block behind the used one. */
static void node_split(struct bins *bins, uint32_t index, uint32_t size, uint32_t rest)
{
	struct node *node = &bins->nodes[index];

	bins->nodes[rest] = (struct node){ .at = node->at + size, .size = node->size - size,
					   .prev = index, .next = node->next };
	if (node->next != NONE)
		bins->nodes[node->next].prev = rest;
	node->next = rest;
	node->size = size;
	bin_add(bins, rest);
}

/* The second node, a free one, becomes part of the first. */
static void node_merge(struct bins *bins, uint32_t index, uint32_t second)
{
	const struct node *gone = &bins->nodes[second];

	bins->nodes[index].size += gone->size;
	bins->nodes[index].next = gone->next;
	if (gone->next != NONE)
		bins->nodes[gone->next].prev = index;
	node_drop(bins, second);
}

static bool is_free(const struct bins *bins, uint32_t index)
{
	return index != NONE && !(bins->nodes[index].size & USED);
}

static void *bins_create(uint64_t bytes)
{
	struct bins *bins = malloc(sizeof(*bins));

	if (!bins)
		return NULL;
	pthread_mutex_init(&bins->lock, NULL);
	bins->top = 0;
	bins->spare = NONE;
	for (uint32_t i = 0; i < TOPS; i++)
		bins->sub[i] = 0;
	for (uint32_t i = 0; i < TOPS * SUBS; i++)
		bins->first[i] = NONE;
	for (uint32_t i = RACE_BLOCKS; --i;)
		node_drop(bins, i);
	bins->nodes[0] = (struct node){ .size = (uint32_t)(bytes / RACE_GRANULE), .prev = NONE,
					.next = NONE };
	bin_add(bins, 0);
	return bins;
}

static void bins_destroy(void *self)
{
	struct bins *bins = self;

	pthread_mutex_destroy(&bins->lock);
	free(bins);
}

static bool bins_allocate(void *self, uint32_t bytes, struct place *place)
{
	uint32_t size = (bytes + RACE_GRANULE - 1) / RACE_GRANULE, index, rest = NONE;
	struct bins *bins = self;

	pthread_mutex_lock(&bins->lock);
	index = bin_find(bins, size);
	if (index != NONE && bins->nodes[index].size > size) {
		rest = node_take(bins);
		index = rest == NONE ? NONE : index;
	}
	if (index != NONE) {
		bin_remove(bins, index);
		if (rest != NONE)
			node_split(bins, index, size, rest);
		bins->nodes[index].size |= USED;
		place->at = (uint64_t)bins->nodes[index].at * RACE_GRANULE;
		place->handle = index;
	}
	pthread_mutex_unlock(&bins->lock);
	return index != NONE;
}

static void bins_release(void *self, const struct place *place, uint32_t bytes)
{
	uint32_t index = (uint32_t)place->handle, prev, next;
	struct bins *bins = self;

	(void)bytes;
	pthread_mutex_lock(&bins->lock);
	bins->nodes[index].size &= ~USED;
	prev = bins->nodes[index].prev;
	next = bins->nodes[index].next;
	if (is_free(bins, next)) {
		bin_remove(bins, next);
		node_merge(bins, index, next);
	}
	if (is_free(bins, prev)) {
		bin_remove(bins, prev);
		node_merge(bins, prev, index);
		index = prev;
	}
	bin_add(bins, index);
	pthread_mutex_unlock(&bins->lock);
}

const struct racer bins_racer = {
	.name = "mutex + bins",
	.create = bins_create,
	.destroy = bins_destroy,
	.allocate = bins_allocate,
	.release = bins_release,
};
