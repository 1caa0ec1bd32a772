/* SPDX-License-Identifier: MIT */
/*
 * Ranges of addresses that never overlap, in an AVL tree whose nodes are the ranges themselves:
 * neither insertion nor removal can fail. It may be read while it is changed (READ_SHARED()).
 */
#include "range.h"
#include "table.h"

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

	WRITE_SHARED(top->child[side], up->child[!side]);
	WRITE_SHARED(up->child[!side], top);
	update(top);
	update(up);
	WRITE_SHARED(*root, up);
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
		WRITE_SHARED(*root, range);
		return;
	}
	insert(&(*root)->child[range->base > (*root)->base], range);
	rebalance(root);
}

void range_insert(struct range **root, struct range *range)
{
	WRITE_SHARED(range->child[0], NULL);
	WRITE_SHARED(range->child[1], NULL);
	range->height = 1;
	insert(root, range);
}

static struct range *take_first(struct range **root)
{
	struct range *first = *root;

	if (!first->child[0]) {
		WRITE_SHARED(*root, first->child[1]);
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
		WRITE_SHARED(*root, top->child[!top->child[0]]);
		return;
	}
	next = take_first(&top->child[1]);
	WRITE_SHARED(next->child[0], top->child[0]);
	WRITE_SHARED(next->child[1], top->child[1]);
	WRITE_SHARED(*root, next);
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

/* No tree is as high: its nodes are not those of one tree any more. */
#define MAX_HEIGHT 96

struct range *range_below(struct range *root, uintptr_t addr)
{
	struct range *below = NULL;
	bool right;

	for (int i = 0; root && i < MAX_HEIGHT; i++) {
		right = READ_SHARED(root->base) <= addr;
		if (right)
			below = root;
		root = READ_SHARED(root->child[right]);
	}
	return below;
}
