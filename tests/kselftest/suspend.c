// SPDX-License-Identifier: MIT
/*
 * Suspend and resume of all devices, without the machine itself sleeping (pm_test).
 *
 * The guest's files come over 9p, whose virtio device does not survive this: nothing
 * can be read, opened or even closed there afterwards. So this program runs alone in
 * a guest, last, linked statically, from a copy in /tmp.
 */
#include "paccel_test.h"

#define SIZE 500

FIXTURE(suspend) {
	int fd;
	u64 mem, total;
	u8 *host, *got;
};

FIXTURE_SETUP(suspend)
{
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	self->total = info_of(self->fd).mem_size;
	self->host = map_pages(1);
	self->got = map_pages(1);
	ASSERT_TRUE(card_settle(self->fd));
	ASSERT_EQ(0, _test_cmd_mem_alloc(self->fd, SIZE, 0, &self->mem));
}

FIXTURE_TEARDOWN(suspend)
{
	close(self->fd);
}

/* The devices go to sleep and wake up. */
static int sleep_and_wake(void)
{
	/* How long the kernel stays asleep, in seconds. */
	file_write("/sys/module/suspend/parameters/pm_test_delay", "0");
	return file_write("/sys/power/pm_test", "devices") ?:
	       file_write("/sys/power/state", "freeze");
}

static bool pm_test_is_there(void)
{
	return access("/sys/power/pm_test", W_OK) == 0;
}

TEST_F(suspend, with_a_copy_and_a_scrub)
{
	struct side_call copy = { .fn = side_copy, .fd = self->fd,
				  .dir = PACCEL_COPY_D2H, .src = self->mem,
				  .dst = (uintptr_t)self->got,
				  .shape = long_copy(4) };
	u64 rest = self->total - in_granules(self->fd, SIZE), addr, xfers;

	if (!pm_test_is_there())
		SKIP(return, "no /sys/power/pm_test");
	pattern_fill(self->host, SIZE, 3);
	test_cmd_copy_h2d(self->fd, self->mem, self->host, SIZE);
	test_cmd_mem_alloc(self->fd, rest, 0, &addr);
	card_slow();
	xfers = stats_of(self->fd).xfers;
	side_call_start(&copy);
	ASSERT_TRUE(WAIT_FOR(xfers_passed(self->fd, xfers), 5000));
	test_cmd_mem_free(self->fd, addr, rest);
	EXPECT_EQ(0, sleep_and_wake());
	/* It waited for the transfer that ran; the rest goes on afterwards. */
	EXPECT_EQ(0, side_call_end(&copy));
	for (int row = 0; row < 4; row++)
		EXPECT_EQ(self->host[2 * row], self->got[2 * row]);
	/* What waited for scrubbing is there, clean. */
	test_cmd_mem_alloc(self->fd, rest, 0, &addr);
	EXPECT_EQ(0, stats_of(self->fd).set_aside);
}

TEST_F(suspend, memory_and_interrupts_survive)
{
	u64 lost, lost_then;

	if (!pm_test_is_there())
		SKIP(return, "no /sys/power/pm_test");
	ASSERT_EQ(0, card_attr_u64("lost_irqs", &lost));
	pattern_fill(self->host, SIZE, 4);
	test_cmd_copy_h2d(self->fd, self->mem, self->host, SIZE);
	test_cmd_host_register(self->fd, self->got, page_size, 0);
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(0, sleep_and_wake());
	test_cmd_copy_d2h(self->fd, self->got, self->mem, SIZE);
	EXPECT_EQ(-1, pattern_diff(self->got, SIZE, 4));
	ASSERT_EQ(0, card_attr_u64("lost_irqs", &lost_then));
	EXPECT_EQ(lost, lost_then);
}

PACCEL_TEST_MAIN
