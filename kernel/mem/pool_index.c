// SPDX-License-Identifier: GPL-2.0-only
/*
 * Index of the ranges of device memory that are not allocated.
 *
 * Two red-black trees, whose nodes are in the ranges. Each node has, for each alignment, the
 * longest allocation that its subtree can hold. So the best fit for a length and an alignment is
 * found by one descent of the tree of free ranges, and a descent of the tree of all ranges finds a
 * place for a request if all ranges were free.
 */
#include <linux/align.h>
#include <linux/minmax.h>
#include <linux/rbtree_augmented.h>
#include <linux/string.h>

#include "mem/pool_index.h"

static struct pool_range *addr_entry(struct rb_node *node)
{
	return rb_entry_safe(node, struct pool_range, by_addr);
}

static struct pool_range *size_entry(struct rb_node *node)
{
	return rb_entry_safe(node, struct pool_range, by_size);
}

static u64 granule_align_up(u32 granule, unsigned int order)
{
	return ALIGN((u64)granule, 1ULL << order);
}

/* Length of [@first, @end) from its first aligned granule on; 0 if it has none. */
static u32 run_aligned_len(u32 first, u32 end, unsigned int order)
{
	u64 at = granule_align_up(first, order);

	return at < end ? end - at : 0;
}

static void fit_add_run(struct pool_fit *fit, u32 first, u32 end)
{
	unsigned int order;
	u32 len;

	for (order = 0; order < POOL_ALIGN_ORDERS; order++) {
		len = run_aligned_len(first, end, order);
		/* A range without room at this alignment has none at larger ones. */
		if (!len)
			return;
		fit->max_len[order] = max(fit->max_len[order], len);
	}
}

static void fit_add(struct pool_fit *fit, const struct pool_fit *other)
{
	unsigned int order;

	for (order = 0; order < POOL_ALIGN_ORDERS; order++)
		fit->max_len[order] = max(fit->max_len[order], other->max_len[order]);
}

/* --- free ranges, by size --- */

/* For RB_DECLARE_CALLBACKS(). With @exit: returns true if the summary has not changed. */
static bool size_compute(struct pool_range *range, bool exit)
{
	struct pool_range *left = size_entry(range->by_size.rb_left);
	struct pool_range *right = size_entry(range->by_size.rb_right);
	struct pool_fit fit = { };

	fit_add_run(&fit, range->first, range->end);
	if (left)
		fit_add(&fit, &left->fit);
	if (right)
		fit_add(&fit, &right->fit);
	if (exit && !memcmp(&fit, &range->fit, sizeof(fit)))
		return true;
	range->fit = fit;
	return false;
}

RB_DECLARE_CALLBACKS(static, size_callbacks, struct pool_range, by_size, fit, size_compute)

static bool size_less(const struct pool_range *a, const struct pool_range *b)
{
	u32 a_len = a->end - a->first, b_len = b->end - b->first;

	return a_len < b_len || (a_len == b_len && a->first < b->first);
}

static void size_insert(struct pool_index *index, struct pool_range *range)
{
	struct rb_node **link = &index->by_size.rb_node, *parent = NULL;

	while (*link) {
		parent = *link;
		link = size_less(range, size_entry(parent)) ? &parent->rb_left : &parent->rb_right;
	}
	rb_link_node(&range->by_size, parent, link);
	/* No range has this summary, so that propagate() does not stop at the new node. */
	range->fit = (struct pool_fit){ };
	size_callbacks.propagate(&range->by_size, NULL);
	rb_insert_augmented(&range->by_size, &index->by_size, &size_callbacks);
}

struct pool_range *pool_index_best_fit(struct pool_index *index, u32 len, unsigned int order)
{
	struct pool_range *at = size_entry(index->by_size.rb_node), *left;

	if (!at || at->fit.max_len[order] < len)
		return NULL;
	for (;;) {
		left = size_entry(at->by_size.rb_left);
		if (left && left->fit.max_len[order] >= len) {
			at = left;
			continue;
		}
		if (run_aligned_len(at->first, at->end, order) >= len)
			return at;
		at = size_entry(at->by_size.rb_right);
	}
}

u32 pool_index_largest(struct pool_index *index)
{
	struct pool_range *root = size_entry(index->by_size.rb_node);

	return root ? root->fit.max_len[0] : 0;
}

u64 pool_range_place(const struct pool_range *range, unsigned int order)
{
	return granule_align_up(range->first, order);
}

/* --- all ranges, by address --- */

/* Adds to the summary of a set the ranges of @left, which are all below it. */
static void runs_add_left(struct pool_runs *runs, const struct pool_runs *left)
{
	fit_add(&runs->fit, &left->fit);
	if (left->end != runs->first) {
		runs->first_end = left->first_end;
	} else {
		fit_add_run(&runs->fit, left->last_first, runs->first_end);
		if (runs->last_first == runs->first)
			runs->last_first = left->last_first;
		if (left->first_end != left->end)
			runs->first_end = left->first_end;
	}
	runs->first = left->first;
}

/* Adds those of @right, which are all above it. */
static void runs_add_right(struct pool_runs *runs, const struct pool_runs *right)
{
	fit_add(&runs->fit, &right->fit);
	if (runs->end != right->first) {
		runs->last_first = right->last_first;
	} else {
		fit_add_run(&runs->fit, runs->last_first, right->first_end);
		if (runs->first_end == runs->end)
			runs->first_end = right->first_end;
		if (right->last_first != right->first)
			runs->last_first = right->last_first;
	}
	runs->end = right->end;
}

/* As size_compute(). */
static bool addr_compute(struct pool_range *range, bool exit)
{
	struct pool_range *left = addr_entry(range->by_addr.rb_left);
	struct pool_range *right = addr_entry(range->by_addr.rb_right);
	struct pool_runs runs = {
		.first = range->first,
		.end = range->end,
		.first_end = range->end,
		.last_first = range->first,
	};

	fit_add_run(&runs.fit, range->first, range->end);
	if (left)
		runs_add_left(&runs, &left->runs);
	if (right)
		runs_add_right(&runs, &right->runs);
	if (exit && !memcmp(&runs, &range->runs, sizeof(runs)))
		return true;
	range->runs = runs;
	return false;
}

RB_DECLARE_CALLBACKS(static, addr_callbacks, struct pool_range, by_addr, runs, addr_compute)

static void addr_insert(struct pool_index *index, struct pool_range *range)
{
	struct rb_node **link = &index->by_addr.rb_node, *parent = NULL;

	while (*link) {
		parent = *link;
		link = range->first < addr_entry(parent)->first ? &parent->rb_left :
								  &parent->rb_right;
	}
	rb_link_node(&range->by_addr, parent, link);
	range->runs = (struct pool_runs){ };
	addr_callbacks.propagate(&range->by_addr, NULL);
	rb_insert_augmented(&range->by_addr, &index->by_addr, &addr_callbacks);
}

bool pool_index_find_run(struct pool_index *index, u32 len, unsigned int order, u32 *at)
{
	struct pool_range *range = addr_entry(index->by_addr.rb_node), *left, *right, *next;
	u32 first, end;

	if (!range || range->runs.fit.max_len[order] < len)
		return false;
	for (;; range = next) {
		left = addr_entry(range->by_addr.rb_left);
		right = addr_entry(range->by_addr.rb_right);
		next = right;
		if (right && right->runs.fit.max_len[order] >= len)
			continue;
		/* The run of the range, as far as it is in this subtree. */
		first = left && left->runs.end == range->first ? left->runs.last_first :
								 range->first;
		end = right && right->runs.first == range->end ? right->runs.first_end : range->end;
		if (run_aligned_len(first, end, order) >= len)
			break;
		next = left;
	}
	*at = round_down(end - len, 1U << order);
	return true;
}

struct pool_range *pool_index_first(struct pool_index *index)
{
	return addr_entry(rb_first(&index->by_addr));
}

struct pool_range *pool_index_next(struct pool_range *range)
{
	return addr_entry(rb_next(&range->by_addr));
}

struct pool_range *pool_index_prev(struct pool_range *range)
{
	return addr_entry(rb_prev(&range->by_addr));
}

struct pool_range *pool_index_before(struct pool_index *index, u32 granule)
{
	struct pool_range *at = addr_entry(index->by_addr.rb_node), *found = NULL;

	while (at) {
		if (at->first < granule) {
			found = at;
			at = addr_entry(at->by_addr.rb_right);
		} else {
			at = addr_entry(at->by_addr.rb_left);
		}
	}
	return found;
}

struct pool_range *pool_index_at(struct pool_index *index, u32 granule)
{
	struct pool_range *at = addr_entry(index->by_addr.rb_node);

	while (at && at->first != granule)
		at = addr_entry(granule < at->first ? at->by_addr.rb_left : at->by_addr.rb_right);
	return at;
}

/* --- changes --- */

void pool_index_add(struct pool_index *index, struct pool_range *range)
{
	addr_insert(index, range);
	if (range->free)
		size_insert(index, range);
}

void pool_index_remove(struct pool_index *index, struct pool_range *range)
{
	rb_erase_augmented(&range->by_addr, &index->by_addr, &addr_callbacks);
	if (range->free)
		rb_erase_augmented(&range->by_size, &index->by_size, &size_callbacks);
}

void pool_index_resize(struct pool_index *index, struct pool_range *range, u32 first, u32 end)
{
	if (range->free)
		rb_erase_augmented(&range->by_size, &index->by_size, &size_callbacks);
	range->first = first;
	range->end = end;
	addr_callbacks.propagate(&range->by_addr, NULL);
	if (range->free)
		size_insert(index, range);
}

void pool_index_set_none_free(struct pool_index *index)
{
	index->by_size = RB_ROOT;
}
