// SPDX-License-Identifier: GPL-2.0-only
/*
 * Disjoint ranges by address. A red-black tree with the node inside the object, because neither
 * putting one in nor taking one out may fail: a free that needs memory can be made impossible by
 * the very shortage that it would end.
 */
#include "core/range.h"

static struct paccel_range *to_range(struct rb_node *node)
{
	return rb_entry_safe(node, struct paccel_range, node);
}

/* Returns -EEXIST, and changes nothing, if the range overlaps one that is there. */
int paccel_range_insert(struct rb_root *root, struct paccel_range *r)
{
	struct rb_node **link = &root->rb_node, *parent = NULL;

	while (*link) {
		struct paccel_range *at = to_range(*link);

		parent = *link;
		if (r->last < at->start)
			link = &parent->rb_left;
		else if (r->start > at->last)
			link = &parent->rb_right;
		else
			return -EEXIST;
	}
	rb_link_node(&r->node, parent, link);
	rb_insert_color(&r->node, root);
	return 0;
}

/*
 * The range that wholly holds @len bytes from @start on, or NULL. @start + @len must not wrap,
 * @len not be 0.
 */
struct paccel_range *paccel_range_find(struct rb_root *root, u64 start, u64 len)
{
	struct rb_node *node = root->rb_node;

	while (node) {
		struct paccel_range *at = to_range(node);

		if (start < at->start)
			node = node->rb_left;
		else if (start > at->last)
			node = node->rb_right;
		else
			return len - 1 <= at->last - start ? at : NULL;
	}
	return NULL;
}

/* The range that begins at @start, or NULL. */
struct paccel_range *paccel_range_at(struct rb_root *root, u64 start)
{
	struct paccel_range *r = paccel_range_find(root, start, 1);

	return r && r->start == start ? r : NULL;
}
