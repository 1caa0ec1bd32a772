/* SPDX-License-Identifier: GPL-2.0-only */
/* Disjoint ranges of u64, in a tree by address. The caller locks the tree. */
#ifndef PACCEL_RANGE_H
#define PACCEL_RANGE_H

#include <linux/rbtree.h>
#include <linux/types.h>

/* A range from @start to @last, both included; embedded in the object that it belongs to. */
struct paccel_range {
	struct rb_node node;
	u64 start;
	u64 last;
};

/* Returns 0, or -EEXIST if @r overlaps a range of the tree. */
int paccel_range_insert(struct rb_root *root, struct paccel_range *r);
/* Returns the range that contains @len bytes from @start on, or NULL. @len > 0, no wrap-around. */
struct paccel_range *paccel_range_find(struct rb_root *root, u64 start, u64 len);
/* Returns the range that begins at @start, or NULL. */
struct paccel_range *paccel_range_at(struct rb_root *root, u64 start);

#endif
