// SPDX-License-Identifier: GPL-2.0-only
/*
 * Disjoint ranges by address, in a red-black tree. The node is inside the object, so that insertion
 * and removal allocate no memory: freeing memory must not fail for lack of memory.
 */
#include <linux/errno.h>

#include "core/range.h"

static struct paccel_range *to_range(const struct rb_node *node)
{
	return rb_entry_safe(node, struct paccel_range, node);
}

/* Compares ranges; overlapping ranges are equal. */
static int range_cmp(const void *key, const struct rb_node *node)
{
	const struct paccel_range *r = key, *at = to_range(node);

	if (r->last < at->start)
		return -1;
	return r->start > at->last;
}

static int range_cmp_node(struct rb_node *node, const struct rb_node *at)
{
	return range_cmp(to_range(node), at);
}

int paccel_range_insert(struct rb_root *root, struct paccel_range *r)
{
	return rb_find_add(&r->node, root, range_cmp_node) ? -EEXIST : 0;
}

struct paccel_range *paccel_range_find(struct rb_root *root, u64 start, u64 len)
{
	const struct paccel_range key = { .start = start, .last = start };
	struct paccel_range *r = to_range(rb_find(&key, root, range_cmp));

	return r && len - 1 <= r->last - start ? r : NULL;
}

struct paccel_range *paccel_range_at(struct rb_root *root, u64 start)
{
	struct paccel_range *r = paccel_range_find(root, start, 1);

	return r && r->start == start ? r : NULL;
}
