/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Index of the ranges of device memory that are free, or will be free when they have been scrubbed.
 * Positions and lengths are in granules from the start of device memory. The caller holds
 * pool->lock. No function allocates memory, and each takes at most O(log n) steps.
 */
#ifndef PACCEL_POOL_INDEX_H
#define PACCEL_POOL_INDEX_H

#include <linux/limits.h>
#include <linux/rbtree.h>
#include <linux/types.h>

/* Alignments are 1 << order granules, order less than this. */
#define POOL_ALIGN_ORDERS 10

/* Device memory has at most this number of granules. */
#define POOL_MAX_GRANULES U32_MAX

/**
 * struct pool_fit - the largest allocations that a set of ranges can hold
 * @max_len: length of the largest allocation, for each order of alignment
 */
struct pool_fit {
	u32 max_len[POOL_ALIGN_ORDERS];
};

/**
 * struct pool_runs - summary of a set of ranges as if all were free. Adjacent ranges are one run.
 * @first: first granule of the first range
 * @end: end of the last range
 * @first_end: end of the first run
 * @last_first: first granule of the last run
 * @fit: largest allocations that the runs can hold
 */
struct pool_runs {
	u32 first;
	u32 end;
	u32 first_end;
	u32 last_first;
	struct pool_fit fit;
};

/**
 * struct pool_range - a range in the index
 * @by_addr: node in index->by_addr
 * @by_size: node in index->by_size, if @free
 * @list: for the caller, if not @free
 * @first: first granule
 * @end: granule behind the last
 * @free: the range can be allocated now
 * @runs: summary of the subtree of @by_addr
 * @fit: summary of the subtree of @by_size
 */
struct pool_range {
	struct rb_node by_addr;
	union {
		struct rb_node by_size;
		struct list_head list;
	};
	u32 first;
	u32 end;
	bool free;
	struct pool_runs runs;
	struct pool_fit fit;
};

/**
 * struct pool_index - the ranges of a pool; an index of zeroes is empty
 * @by_addr: all ranges, by address
 * @by_size: the free ranges, by length and then by address
 */
struct pool_index {
	struct rb_root by_addr;
	struct rb_root by_size;
};

/* Adds a range that overlaps no other. @first, @end and @free are set. */
void pool_index_add(struct pool_index *index, struct pool_range *range);
void pool_index_remove(struct pool_index *index, struct pool_range *range);
/* Moves the bounds of a range, which still overlaps no other. */
void pool_index_resize(struct pool_index *index, struct pool_range *range, u32 first, u32 end);
/* No range is free any more. The caller has set @free of each range to false. */
void pool_index_set_none_free(struct pool_index *index);
/* Returns the smallest free range that holds the allocation, the lowest among equals, or NULL. */
struct pool_range *pool_index_best_fit(struct pool_index *index, u32 len, unsigned int order);
/*
 * Returns whether the allocation would fit if all ranges were free. *@at is its place at the end of
 * the highest run that holds it, since the best fit begins at the start of a range.
 */
bool pool_index_find_run(struct pool_index *index, u32 len, unsigned int order, u32 *at);
/* Iteration by address; NULL at the end. */
struct pool_range *pool_index_first(struct pool_index *index);
struct pool_range *pool_index_next(struct pool_range *range);
struct pool_range *pool_index_prev(struct pool_range *range);
/* Return the last range that begins before @granule, and the range that begins at it, or NULL. */
struct pool_range *pool_index_before(struct pool_index *index, u32 granule);
struct pool_range *pool_index_at(struct pool_index *index, u32 granule);
/* Returns the length of the largest free range. */
u32 pool_index_largest(struct pool_index *index);
/* Returns the first granule of an allocation with this alignment in the range. */
u64 pool_range_place(const struct pool_range *range, unsigned int order);

#endif
