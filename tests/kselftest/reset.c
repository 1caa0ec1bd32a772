// SPDX-License-Identifier: MIT
/*
 * RESET and a reset of the PCI function: the card stops and starts again, and what
 * is not in flight does not notice.
 */
#include <linux/capability.h>

#include "paccel_test.h"

#define SIZE 500
#define ROWS 200	/* of a copy whose end nobody is to see */

FIXTURE(reset) {
	int fd, other;
	u64 mem, theirs, resets;
	u8 *host, *got;
};

static u64 resets(void)
{
	u64 n = ~0ull;

	card_attr_u64("resets", &n);
	return n;
}

FIXTURE_SETUP(reset)
{
	self->fd = card_open();
	self->other = card_open();
	ASSERT_LE(0, self->fd);
	ASSERT_LE(0, self->other);
	self->host = map_pages(1);
	self->got = map_pages(1);
	pattern_fill(self->host, SIZE, 31);
	ASSERT_TRUE(card_settle(self->fd));
	ASSERT_EQ(0, _test_cmd_mem_alloc(self->fd, SIZE, 0, &self->mem));
	ASSERT_EQ(0, _test_cmd_mem_alloc(self->other, SIZE, 0, &self->theirs));
	ASSERT_EQ(0, _test_cmd_copy_h2d(self->other, self->theirs, self->host, SIZE));
	self->resets = resets();
}

FIXTURE_TEARDOWN(reset)
{
	/* Whatever the test was: what lay in another's memory lies there still. */
	memset(self->got, 0, SIZE);
	EXPECT_EQ(0, _test_cmd_copy_d2h(self->other, self->got, self->theirs, SIZE));
	EXPECT_EQ(-1, pattern_diff(self->got, SIZE, 31));
	EXPECT_TRUE(card_health_is("ok"));
	EXPECT_EQ(0, stats_of(self->fd).quarantined);
	close(self->other);
	close(self->fd);
}

static int reset_without_capability(void *arg)
{
	int fd = card_open();

	(void)arg;
	CHILD_CHECK(fd >= 0);
	drop_capability(CAP_SYS_ADMIN);
	return -_test_cmd_reset(fd);
}

TEST_F(reset, needs_a_capability)
{
	EXPECT_EQ(EPERM, run_in_child(reset_without_capability, NULL));
	EXPECT_EQ(self->resets, resets());
}

TEST_F(reset, of_an_idle_card)
{
	struct paccel_mem_stats before = stats_of(self->fd), after;

	test_cmd_reset(self->fd);
	test_cmd_reset(self->fd);
	EXPECT_EQ(self->resets + 2, resets());
	after = stats_of(self->fd);
	EXPECT_EQ(before.used, after.used);
	EXPECT_EQ(before.free, after.free);
	EXPECT_EQ(before.mine, after.mine);
	/* The memory of this context survived, and is its own. */
	test_cmd_fill(self->fd, self->mem, SIZE, 1, 1);
}

/* The operation that runs fails, once; the one that waits goes on. */
TEST_F(reset, during_a_copy)
{
	struct side_call run = { .fn = side_copy, .fd = self->fd,
				 .dir = PACCEL_COPY_H2D, .dst = self->mem,
				 .src = (uintptr_t)self->host,
				 .shape = long_copy(ROWS) };
	struct side_call wait = { .fn = side_copy, .fd = self->other,
				  .dir = PACCEL_COPY_D2H, .src = self->theirs,
				  .dst = (uintptr_t)self->got,
				  .shape = { SIZE, 1, 0, 0 } };
	u64 xfers = stats_of(self->fd).xfers;

	if (!card_can_hold())
		SKIP(return, "an edu in the host's time");
	card_hold();
	side_call_start(&run);
	/* All that the device is given at once is of this copy. */
	ASSERT_TRUE(WAIT_FOR(stats_of(self->fd).xfers == xfers + card_depth() && card_is_held(),
			     5000));
	side_call_start(&wait);
	ASSERT_TRUE(WAIT_FOR(card_jobs() == 2, 5000));
	test_cmd_reset(self->fd);
	EXPECT_EQ(-EIO, side_call_end(&run));
	EXPECT_EQ(0, side_call_end(&wait));
	EXPECT_EQ(xfers + card_depth() + 1, stats_of(self->fd).xfers);
	EXPECT_EQ(-1, pattern_diff(self->got, SIZE, 31));
	/* Once: the next one works. */
	test_cmd_copy_h2d(self->fd, self->mem, self->host, 8);
	EXPECT_EQ(self->resets + 1, resets());
}

/*
 * Scrubbing is no operation of a program: it begins again. A reset also repeats scrubs that have failed,
 * so only the log tells whether this one had.
 */
TEST_F(reset, during_a_scrub)
{
	int log = kmsg_open();
	u64 xfers = stats_of(self->fd).xfers;
	char node[32], failure[64];

	ASSERT_LE(0, log);
	/* Another program may run on another device. */
	ASSERT_TRUE(card_node(card_bdf(), node));
	snprintf(failure, sizeof(failure), " %s: scrubbing ", node);
	card_hold();
	test_cmd_mem_free(self->fd, self->mem, SIZE);
	ASSERT_TRUE(WAIT_FOR(xfers_passed(self->fd, xfers) && card_is_held(), 5000));
	test_cmd_reset(self->fd);
	EXPECT_EQ(0, stats_of(self->fd).quarantined);
	EXPECT_TRUE(card_settle(self->fd));
	EXPECT_EQ(0, stats_of(self->fd).quarantined);
	EXPECT_FALSE(log_says(log, failure));
	close(log);
}

static int side_reset(struct side_call *c)
{
	return _test_cmd_reset(c->fd);
}

TEST_F(reset, several_at_once)
{
	struct side_call c[4];

	for (int i = 0; i < 4; i++) {
		c[i] = (struct side_call){ .fn = side_reset, .fd = self->fd };
		side_call_start(&c[i]);
	}
	for (int i = 0; i < 4; i++)
		EXPECT_EQ(0, side_call_end(&c[i]));
	EXPECT_LE(self->resets + 1, resets());
	EXPECT_GE(self->resets + 4, resets());
}

/* The PCI core resets the function: configuration space and interrupts come back. */
TEST_F(reset, of_the_pci_function)
{
	struct side_call copy = { .fn = side_copy, .fd = self->fd,
				  .dir = PACCEL_COPY_D2H, .src = self->mem,
				  .dst = (uintptr_t)self->got,
				  .shape = long_copy(3) };
	u64 xfers = stats_of(self->fd).xfers, lost, lost_then;
	int rc;

	ASSERT_EQ(0, card_attr_u64("lost_irqs", &lost));
	card_slow();
	side_call_start(&copy);
	ASSERT_TRUE(WAIT_FOR(xfers_passed(self->fd, xfers), 5000));
	rc = pci_attr_write(card_bdf(), "reset", "1");
	if (rc == -ENOENT || rc == -EACCES) {
		side_call_end(&copy);
		SKIP(return, "this function has no reset method");
	}
	EXPECT_EQ(0, rc);
	rc = side_call_end(&copy);
	EXPECT_TRUE(rc == 0 || rc == -EIO) TH_LOG("rc %d", rc);
	/* Its interrupts do, too: nothing here waits for the watchdog. */
	test_cmd_copy_h2d(self->fd, self->mem, self->host, SIZE);
	test_cmd_copy_d2h(self->fd, self->got, self->mem, SIZE);
	EXPECT_EQ(-1, pattern_diff(self->got, SIZE, 31));
	ASSERT_EQ(0, card_attr_u64("lost_irqs", &lost_then));
	EXPECT_EQ(lost, lost_then);
	EXPECT_LT(self->resets, resets());
}

struct resetter {
	int fd, error;
	_Atomic int calls;
	_Atomic bool over;
};

static void *reset_until_over(void *arg)
{
	struct resetter *r = arg;
	int rc;

	while (!r->over) {
		rc = _test_cmd_reset(r->fd);
		if (rc)
			r->error = rc;
		r->calls++;
	}
	return NULL;
}

/* While the PCI core resets it the device does not answer: RESET waits until it does. */
TEST_F(reset, beside_one_of_the_pci_function)
{
	struct resetter r = { .fd = self->fd };
	pthread_t thread;
	int rc, calls;

	ASSERT_EQ(0, pthread_create(&thread, NULL, reset_until_over, &r));
	EXPECT_TRUE(WAIT_FOR(r.calls, 5000));
	rc = pci_attr_write(card_bdf(), "reset", "1");
	calls = r.calls;
	EXPECT_TRUE(WAIT_FOR(r.calls > calls + 1, 5000));
	r.over = true;
	pthread_join(thread, NULL);
	if (rc == -ENOENT || rc == -EACCES)
		SKIP(return, "this function has no reset method");
	EXPECT_EQ(0, rc);
	EXPECT_EQ(0, r.error);
}

PACCEL_TEST_MAIN
