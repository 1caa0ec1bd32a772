/* SPDX-License-Identifier: GPL-2.0-only */
/* Disjoint ranges of u64, by address. The caller locks. */
#ifndef PACCEL_RANGE_H
#define PACCEL_RANGE_H

#include <linux/rbtree.h>
#include <linux/types.h>

struct paccel_range {
	struct rb_node node;
	u64 start;
	u64 last;
};

int paccel_range_insert(struct rb_root *root, struct paccel_range *r);
struct paccel_range *paccel_range_find(struct rb_root *root, u64 start, u64 len);
struct paccel_range *paccel_range_at(struct rb_root *root, u64 start);

#endif
