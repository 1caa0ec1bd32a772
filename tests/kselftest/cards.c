// SPDX-License-Identifier: MIT
/* All cards of the machine at once: each for itself, and none slower for the others. */
#include "paccel_test.h"

#define MAX 16
#define SIZE 256
#define ROWS 6
#define ROUNDS 3

FIXTURE(cards) {
	int n;
	char bdf[MAX][32];
	int fd[MAX];
	u64 mem[MAX];
	u8 *host;
};

FIXTURE_SETUP(cards)
{
	self->host = map_pages(MAX);
	while (self->n < MAX && card_nth(self->n, self->bdf[self->n])) {
		int i = self->n++;

		self->fd[i] = card_open_at(self->bdf[i], O_RDWR);
		ASSERT_LE(0, self->fd[i]);
		ASSERT_EQ(0, _test_cmd_mem_alloc(self->fd[i], SIZE, 0, &self->mem[i]));
		ASSERT_TRUE(card_settle(self->fd[i]));
	}
	if (self->n < 2)
		SKIP(return, "there is only one card");
}

FIXTURE_TEARDOWN(cards)
{
	for (int i = 0; i < self->n; i++)
		close(self->fd[i]);
}

/* One copy of so many transfers on each of the first n cards, all at once. */
static u64 copy_on(struct __test_metadata *_metadata, FIXTURE_DATA(cards) *self, int n,
		   struct copy_2d shape)
{
	struct side_call c[MAX];
	u64 start = now_ms();

	for (int i = 0; i < n; i++) {
		c[i] = (struct side_call){
			.fn = side_copy, .fd = self->fd[i], .dir = PACCEL_COPY_H2D,
			.dst = self->mem[i],
			.src = (uintptr_t)self->host + i * page_size, .shape = shape };
		side_call_start(&c[i]);
	}
	for (int i = 0; i < n; i++)
		EXPECT_EQ(0, side_call_end(&c[i]));
	return now_ms() - start;
}

/* Device addresses are alike on all cards; their bytes are not. */
TEST_F(cards, each_has_its_own_memory)
{
	u8 got[SIZE];

	for (int i = 0; i < self->n; i++)
		pattern_fill(self->host + i * page_size, SIZE, i);
	copy_on(_metadata, self, self->n, (struct copy_2d){ SIZE, 1, 0, 0 });
	for (int i = 0; i < self->n; i++) {
		EXPECT_EQ(in_granules(self->fd[i], SIZE), stats_of(self->fd[i]).mine);
		test_cmd_copy_d2h(self->fd[i], got, self->mem[i], SIZE);
		EXPECT_EQ(-1, pattern_diff(got, SIZE, i));
		EXPECT_STREQ(self->bdf[i], info_of(self->fd[i]).bus_addr);
	}
}

/*
 * A transfer of edu is 100 ms of waiting and no work: waiting for eight takes no longer. The
 * limit is half way between that and one after the other. A transfer of a ring device is work of
 * the host, which may have no more than one CPU for all devices.
 */
TEST_F(cards, work_at_the_same_time)
{
	if (strcmp(card_kind(), "edu"))
		SKIP(return, "the first card's transfers are work, not waiting");

	u64 one = ~0ull >> 8, all = one;

	/* The smallest of each, since a busy host makes them longer. */
	for (int i = 0; i < ROUNDS; i++) {
		u64 single = copy_on(_metadata, self, 1, long_copy(ROWS));
		u64 together = copy_on(_metadata, self, self->n, long_copy(ROWS));

		one = single < one ? single : one;
		all = together < all ? together : all;
	}
	EXPECT_GT(one * (self->n + 1) / 2, all) TH_LOG("one card %ju ms, %d cards %ju ms",
				       (uintmax_t)one, self->n, (uintmax_t)all);
}

/* Memory that one card's driver knows is a program's memory for the other. */
TEST_F(cards, host_memory_of_another_card)
{
	u64 offset;
	u8 *p;

	test_cmd_host_alloc(self->fd[0], page_size, &offset);
	p = host_map(self->fd[0], page_size, offset);
	ASSERT_NE(MAP_FAILED, p);
	pattern_fill(p, SIZE, 40);
	test_cmd_copy_h2d(self->fd[1], self->mem[1], p, SIZE);
	memset(p, 0, SIZE);
	test_cmd_copy_d2h(self->fd[1], p, self->mem[1], SIZE);
	EXPECT_EQ(-1, pattern_diff(p, SIZE, 40));
}

/* One goes, the others do not notice. */
TEST_F(cards, one_is_taken_away)
{
	int last = self->n - 1;

	EXPECT_EQ(0, driver_unbind(self->bdf[last]));
	test_err_copy_h2d(ENODEV, self->fd[last], self->mem[last], self->host, 8);
	EXPECT_EQ(last, card_count());
	copy_on(_metadata, self, last, (struct copy_2d){ SIZE, 1, 0, 0 });
	EXPECT_EQ(0, driver_bind(self->bdf[last]));
	EXPECT_EQ(self->n, card_count());
}

/* Device memory is of one card; host memory of one card's driver serves every card. */
TEST_F(cards, share_host_memory_only)
{
	u8 *own, *range = map_pages(1), got[SIZE];
	int device, host;
	u64 offset;

	test_cmd_mem_export(self->fd[0], PACCEL_EXPORT_DEVICE, self->mem[0], &device);
	test_err_mem_import(EXDEV, self->fd[1], device);
	test_err_host_dmabuf(EOPNOTSUPP, self->fd[1], range, SIZE, device, 0);
	test_cmd_host_alloc(self->fd[0], page_size, &offset);
	own = host_map(self->fd[0], page_size, offset);
	ASSERT_NE(MAP_FAILED, own);
	test_cmd_mem_export(self->fd[0], PACCEL_EXPORT_HOST, (uintptr_t)own, &host);
	test_cmd_host_dmabuf(self->fd[1], range, page_size, host, 0);
	/* From card to card through one memory, and no program copies it. */
	pattern_fill(got, SIZE, 5);
	test_cmd_copy_h2d(self->fd[0], self->mem[0], got, SIZE);
	test_cmd_copy_d2h(self->fd[0], own, self->mem[0], SIZE);
	test_cmd_copy_h2d(self->fd[1], self->mem[1], range, SIZE);
	memset(got, 0, SIZE);
	test_cmd_copy_d2h(self->fd[1], got, self->mem[1], SIZE);
	EXPECT_EQ(-1, pattern_diff(got, SIZE, 5));
	close(device);
	close(host);
	munmap(own, page_size);
}

PACCEL_TEST_MAIN
