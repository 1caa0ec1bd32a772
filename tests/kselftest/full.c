// SPDX-License-Identifier: MIT
/*
 * All memory of a large card in many pieces. The numbers are those of a card of 1 GiB; of a smaller
 * one there are fewer pieces. No other program may use the card meanwhile.
 */
#include "ring_test.h"

#define PIECE 10000		/* three pages */
#define PIECES 85000		/* three quarters of a gigabyte in whole pages, and a bit */
#define SMALL 4096		/* all the rest */

/*
 * How long a call takes does not depend on how many pieces there are: on average, and in the median
 * of those that are refused, it may be this many times what the first FEW have taken. A search through all pieces would be thousands.
 */
#define FEW 1000
#define TIMES 20
#define REFUSALS 100

FIXTURE(full) {
	int fd;
	u64 total, *at;
	u64 nr, large;
};

FIXTURE_SETUP(full)
{
	u64 most;

	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	self->total = info_of(self->fd).mem_size;
	most = self->total / SMALL + 1;
	self->at = calloc(most, sizeof(u64));
	ASSERT_TRUE(card_settle(self->fd));
	ASSERT_EQ(self->total, stats_of(self->fd).free);
}

FIXTURE_TEARDOWN(full)
{
	close(self->fd);
}

static u64 average_ns(u64 start, u64 n)
{
	return (now_ms() - start) * 1000000 / (n ? n : 1);
}

static int by_size(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return (x > y) - (x < y);
}

/* How long an allocation takes to be refused: the median, for a busy host stops guests for a while. */
static u64 refused_ns(struct __test_metadata *_metadata, int fd, u64 size, u64 align)
{
	u64 took[REFUSALS], start;

	for (int i = 0; i < REFUSALS; i++) {
		start = now_ns();
		test_err_mem_alloc(ENOMEM, fd, size, align);
		took[i] = now_ns() - start;
	}
	qsort(took, REFUSALS, sizeof(*took), by_size);
	return took[REFUSALS / 2];
}

/*
 * Takes every hole that holds a PIECE at a multiple of 2 MiB. All other holes are large enough for one,
 * and none is aligned. Returns how long it takes to be refused then.
 */
static u64 refused_aligned_ns(struct __test_metadata *_metadata, FIXTURE_DATA(full) *self)
{
	u64 addr, one;

	while (!_test_cmd_mem_alloc(self->fd, PIECE, 2 << 20, &addr))
		;
	EXPECT_LT(self->nr / 4 * SMALL, stats_of(self->fd).free);
	one = refused_ns(_metadata, self->fd, PIECE, 2 << 20);
	printf("# one refused for its alignment in %lu us\n", one / 1000);
	return one;
}

TEST_F(full, and_fragmented)
{
	u64 start = now_ms(), freeing, last, want = PIECES * self->total >> 30, addr, freed = 0;
	u64 few = 0, one, half, all;
	struct paccel_mem_stats s;
	u8 page[SMALL];

	/* Full. */
	while (self->nr < want && !_test_cmd_mem_alloc(self->fd, PIECE, 0, &self->at[self->nr]))
		if (++self->nr == FEW)
			few = average_ns(start, FEW);
	ASSERT_LE(FEW, self->nr);
	self->large = self->nr;
	while (!_test_cmd_mem_alloc(self->fd, SMALL, 0, &self->at[self->nr]))
		self->nr++;
	printf("# %lu allocations in %lu ms\n", self->nr, now_ms() - start);
	EXPECT_GE(TIMES * few, average_ns(start, self->nr));
	s = stats_of(self->fd);
	EXPECT_TRUE(stats_add_up(&s));
	EXPECT_EQ(0, s.free + s.dirty);
	EXPECT_EQ(self->total, s.mine);
	EXPECT_EQ(self->nr, s.mine_allocs);
	test_err_mem_alloc(ENOMEM, self->fd, 1, 0);

	/* Every second one is free: what is free has no neighbour that is. */
	start = freeing = now_ms();
	for (u64 i = 0; i < self->nr; i += 2) {
		/* Before, it gets something that must not be seen again. */
		if (i % 1000 == 0)
			test_cmd_fill(self->fd, self->at[i], 64, 0x99, 1);
		test_cmd_mem_free(self->fd, self->at[i], i < self->large ? PIECE : SMALL);
		self->at[i] = 0;
		freed++;
	}
	printf("# %lu freed in %lu ms\n", freed, now_ms() - start);
	EXPECT_GE(TIMES * few, average_ns(start, freed));
	/*
	 * Scrubbing will not make room either, which is known at once. It may have ended already, so one
	 * more piece is freed while the device is held.
	 */
	card_hold();
	last = self->nr - 1 - self->nr % 2;
	ASSERT_LE(self->large, last);
	test_cmd_mem_free(self->fd, self->at[last], SMALL);
	freed++;
	one = refused_ns(_metadata, self->fd, 1 << 20, 0);
	printf("# while memory waits, one refused in %lu us\n", one / 1000);
	EXPECT_LT(0, stats_of(self->fd).dirty);
	card_behave();
	EXPECT_GE(TIMES * few, one);
	EXPECT_TRUE(WAIT_FOR(stats_of(self->fd).dirty == 0, 60000));
	half = now_ms() - freeing;
	printf("# freed and scrubbed after %lu ms\n", half);
	s = stats_of(self->fd);
	EXPECT_TRUE(stats_add_up(&s));
	EXPECT_EQ(self->nr - freed, s.mine_allocs);
	/* Neighbours at both ends of what was one after the other may be free. */
	EXPECT_GE(8 * SMALL, s.largest_free);
	/* Nothing waits: one that does not fit is refused as fast as one that fits is served. */
	one = refused_ns(_metadata, self->fd, 1 << 20, 0);
	printf("# one refused in %lu us\n", one / 1000);
	EXPECT_GE(TIMES * few, one);

	EXPECT_GE(TIMES * few, refused_aligned_ns(_metadata, self));

	/* The holes serve what fits into them, clean. */
	for (u64 i = 0; i < 1000; i += 2) {
		test_cmd_mem_alloc(self->fd, PIECE, 0, &self->at[i]);
		test_cmd_copy_d2h(self->fd, page, self->at[i], SMALL);
		ASSERT_TRUE(!page[0] && !memcmp(page, page + 1, SMALL - 1));
	}
	/* All of it, at once, by the end of the file. */
	for (u64 i = 0; i < 1000; i += 2)
		test_cmd_mem_free(self->fd, self->at[i], PIECE);
	start = now_ms();
	close(self->fd);
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	EXPECT_TRUE(WAIT_FOR(stats_of(self->fd).free == self->total, 60000));
	all = now_ms() - start;
	printf("# all freed and scrubbed after %lu ms\n", all);
	EXPECT_GE(TIMES * half, all);
	test_cmd_mem_alloc(self->fd, self->total, 0, &addr);
	test_cmd_mem_free(self->fd, addr, self->total);
}

PACCEL_TEST_MAIN
