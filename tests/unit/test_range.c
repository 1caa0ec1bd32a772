/* SPDX-License-Identifier: MIT */
/* The tree of ranges, against a plain array, with its shape checked after every step. */
#include "fixture.h"

#include "core/range.h"

#define SLOTS 512
#define SLOT_BYTES 100

static struct range ranges[SLOTS];
static bool live[SLOTS];

/* The height, or -1 if the tree is out of order or out of balance. */
static int check(const struct range *range, uintptr_t low, uintptr_t high)
{
	int left, right;

	if (!range)
		return 0;
	left = check(range->child[0], low, range->base);
	right = check(range->child[1], range->base + range->size, high);
	if (left < 0 || right < 0 || left - right > 1 || right - left > 1 || range->base < low ||
	    range->base + range->size > high || range->height != 1 + (left > right ? left : right))
		return -1;
	return range->height;
}

static struct range *model_below(uintptr_t addr)
{
	for (int i = SLOTS - 1; i >= 0; i--)
		if (live[i] && ranges[i].base <= addr)
			return &ranges[i];
	return NULL;
}

static void test_random_operations(void)
{
	struct range *root = NULL;
	unsigned int seed = 1;

	for (unsigned int i = 0; i < SLOTS; i++)
		ranges[i] = (struct range){ .base = 1000 + i * SLOT_BYTES,
					    .size = 1 + i % SLOT_BYTES };
	for (int step = 0; step < 50000; step++) {
		unsigned int slot = (unsigned int)rand_r(&seed) % SLOTS;
		uintptr_t addr = (uintptr_t)rand_r(&seed) % (SLOTS * SLOT_BYTES + 2000);

		if (live[slot])
			range_remove(&root, &ranges[slot]);
		else
			range_insert(&root, &ranges[slot]);
		live[slot] = !live[slot];
		if (step % 64 == 0)
			ok(check(root, 0, UINTPTR_MAX) >= 0);
		ok(range_below(root, addr) == model_below(addr));
	}
}

static void test_order_does_not_matter(void)
{
	struct range *root = NULL;

	for (unsigned int i = 0; i < SLOTS; i++)
		range_insert(&root, &ranges[i]);
	ok(check(root, 0, UINTPTR_MAX) <= 13);
	ok(check(root, 0, UINTPTR_MAX) > 0);
	for (unsigned int i = 0; i < SLOTS; i++) {
		range_remove(&root, &ranges[i]);
		ok(check(root, 0, UINTPTR_MAX) >= 0);
	}
	ok(!root);
	for (unsigned int i = SLOTS; i--;)
		range_insert(&root, &ranges[i]);
	ok(check(root, 0, UINTPTR_MAX) > 0 && check(root, 0, UINTPTR_MAX) <= 13);
}

static void test_holds(void)
{
	struct range range = { .base = 1000, .size = 100 };

	ok(range_holds(&range, 1000, 100) && range_holds(&range, 1099, 1) &&
	   range_holds(&range, 1050, 50));
	ok(!range_holds(&range, 999, 1) && !range_holds(&range, 1100, 1) &&
	   !range_holds(&range, 1000, 101));
	ok(!range_holds(&range, 1001, SIZE_MAX) && !range_holds(&range, 999, SIZE_MAX) &&
	   !range_holds(&range, 0, 1));
	ok(!wraps(UINTPTR_MAX, 1) && wraps(UINTPTR_MAX, 2) && wraps(2, SIZE_MAX) &&
	   !wraps(1, SIZE_MAX));
}

int main(void)
{
	RUN(test_random_operations);
	RUN(test_order_does_not_matter);
	RUN(test_holds);
	return tap_end();
}
