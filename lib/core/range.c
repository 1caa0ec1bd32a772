/* SPDX-License-Identifier: MIT */
/*
 * Ranges of addresses that never overlap, in an AVL tree whose nodes are the ranges themselves:
 * neither insertion nor removal can fail.
 */
#include "private.h"

static int height(const struct range *range)
{
	return range ? range->height : 0;
}

static void update(struct range *range)
{
	int left = height(range->child[0]), right = height(range->child[1]);

	range->height = 1 + (left > right ? left : right);
}

/* Lifts the child on one side above its parent. */
static void rotate(struct range **root, int side)
{
	struct range *top = *root, *up = top->child[side];

	top->child[side] = up->child[!side];
	up->child[!side] = top;
	update(top);
	update(up);
	*root = up;
}

static void rebalance(struct range **root)
{
	struct range *top = *root;
	int lean = height(top->child[1]) - height(top->child[0]);
	int side = lean > 0;

	update(top);
	if (lean >= -1 && lean <= 1)
		return;
	if (height(top->child[side]->child[!side]) > height(top->child[side]->child[side]))
		rotate(&top->child[side], !side);
	rotate(root, side);
}

static void insert(struct range **root, struct range *range)
{
	if (!*root) {
		*root = range;
		return;
	}
	insert(&(*root)->child[range->base > (*root)->base], range);
	rebalance(root);
}

void range_insert(struct range **root, struct range *range)
{
	range->child[0] = range->child[1] = NULL;
	range->height = 1;
	insert(root, range);
}

static struct range *take_first(struct range **root)
{
	struct range *first = *root;

	if (!first->child[0]) {
		*root = first->child[1];
		return first;
	}
	first = take_first(&(*root)->child[0]);
	rebalance(root);
	return first;
}

static void replace_top(struct range **root)
{
	struct range *top = *root, *next;

	if (!top->child[0] || !top->child[1]) {
		*root = top->child[!top->child[0]];
		return;
	}
	next = take_first(&top->child[1]);
	next->child[0] = top->child[0];
	next->child[1] = top->child[1];
	*root = next;
	rebalance(root);
}

void range_remove(struct range **root, struct range *range)
{
	if (*root == range) {
		replace_top(root);
		return;
	}
	range_remove(&(*root)->child[range->base > (*root)->base], range);
	rebalance(root);
}

struct range *range_below(struct range *root, uintptr_t addr)
{
	struct range *below = NULL;

	while (root) {
		if (root->base <= addr)
			below = root;
		root = root->child[root->base <= addr];
	}
	return below;
}
