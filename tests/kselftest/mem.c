// SPDX-License-Identifier: MIT
/*
 * Scrubbing: what is allocated is zero, what is freed waits until it is clean, and
 * who waits for whom. Where memory goes is alloc.c's subject.
 */
#include "paccel_test.h"

FIXTURE(mem) {
	int fd;
	u64 total, granule, base;
	u8 *host;
};

FIXTURE_SETUP(mem)
{
	struct paccel_device_info info;

	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	if (!scrub_is_on())
		SKIP(return, "needs the module loaded with scrub=1");
	info = info_of(self->fd);
	self->total = info.mem_size;
	self->granule = info.granule;
	self->base = info.mem_base;
	self->host = map_pages(self->total / page_size + 1);
	ASSERT_TRUE(card_settle(self->fd));
}

FIXTURE_TEARDOWN(mem)
{
	struct paccel_mem_stats s = stats_of(self->fd);

	EXPECT_TRUE(stats_add_up(&s));
	EXPECT_EQ(0, s.quarantined);
	close(self->fd);
}

/* All memory is dirty when the driver is bound; that was scrubbed, too. */
TEST_F(mem, is_zero_when_allocated)
{
	u64 xfers = stats_of(self->fd).xfers, addr;

	memset(self->host, 0xee, self->total);
	test_cmd_mem_alloc(self->fd, self->total, 0, &addr);
	EXPECT_EQ(xfers, stats_of(self->fd).xfers);
	test_cmd_copy_d2h(self->fd, self->host, addr, self->total);
	EXPECT_TRUE(all_bytes(self->host, self->total, 0));
}

TEST_F(mem, is_zero_when_allocated_again)
{
	struct paccel_mem_stats before, after;
	u64 addr, again;

	test_cmd_mem_alloc(self->fd, self->total, 0, &addr);
	pattern_fill(self->host, self->total, 1);
	test_cmd_copy_h2d(self->fd, addr, self->host, self->total);
	before = stats_of(self->fd);
	test_cmd_mem_free(self->fd, addr, self->total);
	/* Waits for the scrub, and is served by it. */
	test_cmd_mem_alloc(self->fd, self->total, 0, &again);
	after = stats_of(self->fd);
	EXPECT_EQ(before.bytes_scrubbed + self->total, after.bytes_scrubbed);
	EXPECT_LT(before.xfers, after.xfers);
	EXPECT_EQ(0, after.dirty);
	EXPECT_EQ(before.alloc_failures, after.alloc_failures);
	test_cmd_copy_d2h(self->fd, self->host, again, self->total);
	EXPECT_TRUE(all_bytes(self->host, self->total, 0));
}

/* The bytes of a range that ends inside a granule are the granule's, all of them. */
TEST_F(mem, scrub_covers_whole_granules)
{
	u64 scrubbed, addr;

	test_cmd_mem_alloc(self->fd, self->granule + 1, 0, &addr);
	scrubbed = stats_of(self->fd).bytes_scrubbed;
	test_cmd_mem_free(self->fd, addr, self->granule + 1);
	ASSERT_TRUE(card_settle(self->fd));
	EXPECT_EQ(scrubbed + 2 * self->granule, stats_of(self->fd).bytes_scrubbed);
}

/*
 * A device that does not get to scrubbing: its interrupts are muted and a copy keeps
 * its engine busy until the watchdog or, at the end, a reset.
 */
FIXTURE(stalled) {
	int fd;
	u64 total, granule, mem;
	u8 *host;
	struct side_call copy;
	bool unstalled;
	u64 lost;
	struct paccel_mem_stats at_stall;
};

FIXTURE_SETUP(stalled)
{
	u64 xfers;

	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	if (!scrub_is_on())
		SKIP(return, "needs the module loaded with scrub=1");
	self->total = info_of(self->fd).mem_size;
	self->granule = info_of(self->fd).granule;
	self->host = map_pages(2);
	ASSERT_TRUE(card_settle(self->fd));
	ASSERT_EQ(0, _test_cmd_mem_alloc(self->fd, 1, 0, &self->mem));
	ASSERT_EQ(info_of(self->fd).mem_base, self->mem);
	ASSERT_EQ(0, card_attr_u64("lost_irqs", &self->lost));

	xfers = stats_of(self->fd).xfers;
	card_mute_irq(true);
	self->copy = (struct side_call){ .fn = side_copy, .fd = self->fd,
					 .dir = PACCEL_COPY_H2D, .dst = self->mem,
					 .src = (uintptr_t)self->host,
					 .shape = { 1, 1, 0, 0 } };
	side_call_start(&self->copy);
	ASSERT_TRUE(WAIT_FOR(xfers_passed(self->fd, xfers), 5000));
	self->at_stall = stats_of(self->fd);
}

/* The card goes on; what it had in hand has ended meanwhile, or is cut off. */
static void unstall(struct __test_metadata *_metadata, FIXTURE_DATA(stalled) *self)
{
	int rc;

	self->unstalled = true;
	card_mute_irq(false);
	EXPECT_EQ(0, _test_cmd_reset(self->fd));
	rc = side_call_end(&self->copy);
	EXPECT_TRUE(rc == 0 || rc == -EIO) TH_LOG("rc %d", rc);
	EXPECT_TRUE(card_settle(self->fd));
}

FIXTURE_TEARDOWN(stalled)
{
	u64 lost;

	/* It was the stall that the test has seen, and not a late watchdog. */
	EXPECT_EQ(0, card_attr_u64("lost_irqs", &lost));
	EXPECT_EQ(self->lost, lost);
	if (!self->unstalled) {
		EXPECT_FALSE(side_call_done(&self->copy));
		unstall(_metadata, self);
	}
	close(self->fd);
}

TEST_F(stalled, free_never_waits)
{
	struct paccel_mem_stats s;
	u64 addr;

	test_cmd_mem_alloc(self->fd, self->granule, 0, &addr);
	test_cmd_mem_free(self->fd, addr, self->granule);
	s = stats_of(self->fd);
	EXPECT_EQ(self->granule, s.dirty);
	EXPECT_EQ(self->at_stall.used, s.used);
	EXPECT_EQ(self->at_stall.free - self->granule, s.free);
	EXPECT_TRUE(stats_add_up(&s));
	/* Freed is freed, although it is not clean yet. */
	test_err_mem_free(ENOENT, self->fd, addr, self->granule);
	test_err_copy_h2d(EFAULT, self->fd, addr, self->host, 1);
}

TEST_F(stalled, clean_memory_is_preferred)
{
	u64 addr, other;

	test_cmd_mem_alloc(self->fd, self->granule, 0, &addr);
	test_cmd_mem_free(self->fd, addr, self->granule);
	/* The lowest place is dirty; another one is clean and needs no waiting. */
	test_cmd_mem_alloc(self->fd, self->granule, 0, &other);
	EXPECT_NE(addr, other);
	EXPECT_EQ(self->granule, stats_of(self->fd).dirty);
}

/* Clean and dirty memory together do not serve it: nothing to wait for. */
TEST_F(stalled, hopeless_alloc_fails_at_once)
{
	u64 addr;

	test_cmd_mem_alloc(self->fd, self->total - self->granule, 0, &addr);
	test_cmd_mem_free(self->fd, addr, self->total - self->granule);
	test_err_mem_alloc(ENOMEM, self->fd, self->total, 0);
	test_err_mem_alloc(ENOMEM, self->fd, self->total - self->granule + 1, 0);
	test_err_mem_alloc(ENOMEM, self->fd, ~0ull, 0);
	EXPECT_EQ(self->total - self->granule, stats_of(self->fd).dirty);
}

/*
 * Dirty neighbours are scrubbed together, in one DMA request. Scrubbing may begin after any of the four has
 * been freed: one request is for the range that was freed first and its dirty neighbours, one for the rest,
 * and the reset may have the first done again.
 */
TEST_F(stalled, neighbours_merge)
{
	struct paccel_mem_stats after;
	u64 addr[4];

	for (int i = 0; i < 4; i++)
		test_cmd_mem_alloc(self->fd, self->granule, 0, &addr[i]);
	/* In an order in which each but the last has no neighbour at first. */
	test_cmd_mem_free(self->fd, addr[0], self->granule);
	test_cmd_mem_free(self->fd, addr[2], self->granule);
	test_cmd_mem_free(self->fd, addr[3], self->granule);
	test_cmd_mem_free(self->fd, addr[1], self->granule);
	EXPECT_EQ(4 * self->granule, stats_of(self->fd).dirty);

	unstall(_metadata, self);
	after = stats_of(self->fd);
	EXPECT_LT(self->at_stall.xfers, after.xfers);
	EXPECT_GE(self->at_stall.xfers + 3, after.xfers);
	EXPECT_EQ(self->at_stall.bytes_scrubbed + 4 * self->granule,
		  after.bytes_scrubbed);
}

struct signalled {
	struct line line;
	u64 size;
};

/* Under a timer signal, which must not end the wait. */
static int alloc_under_signals(void *arg)
{
	struct signalled *s = arg;
	u64 addr;
	int fd = card_open();

	CHILD_CHECK(fd >= 0);
	say(&s->line, 1);
	storm_begin(10);
	return -_test_cmd_mem_alloc(fd, s->size, 0, &addr);
}

/* Returns a process that waits for @size bytes. */
static pid_t spawn_alloc(struct __test_metadata *_metadata, u64 size)
{
	struct signalled s = { .line = line_open(), .size = size };
	pid_t pid = spawn(alloc_under_signals, &s);

	EXPECT_TRUE(hear(&s.line, 0));
	EXPECT_TRUE(WAIT_FOR(card_waiting() == 1, 5000));
	return pid;
}

TEST_F(stalled, waiting_alloc_is_killable)
{
	u64 size = self->total - self->granule, addr;
	pid_t pid;

	test_cmd_mem_alloc(self->fd, size, 0, &addr);
	test_cmd_mem_free(self->fd, addr, size);
	pid = spawn_alloc(_metadata, size);
	EXPECT_EQ(-2, reap_within(pid, 50));
	EXPECT_EQ(0, kill(pid, SIGKILL));
	EXPECT_EQ(128 + SIGKILL, reap_within(pid, 3000));
	EXPECT_EQ(size, stats_of(self->fd).dirty);
	EXPECT_EQ(self->granule, stats_of(self->fd).used);
}

/* Two files wait for the same memory: one gets it, the other learns that at once. */
TEST_F(stalled, one_of_two_waiters_is_served)
{
	u64 size = self->total - self->granule, addr;
	struct side_call a = { .fn = side_alloc, .fd = self->fd, .length = size };
	struct side_call b = a;

	test_cmd_mem_alloc(self->fd, size, 0, &addr);
	test_cmd_mem_free(self->fd, addr, size);
	side_call_start(&a);
	side_call_start(&b);
	EXPECT_TRUE(WAIT_FOR(card_waiting() == 2, 5000));
	unstall(_metadata, self);
	side_call_end(&a);
	side_call_end(&b);
	EXPECT_EQ(-ENOMEM, a.rc + b.rc);
}

#define WAITERS 6

/* All memory is dirty, and the lowest place is for the one that has waited for longest. */
TEST_F(stalled, waiters_are_served_in_order)
{
	u64 size = self->total - self->granule, addr;
	struct side_call calls[WAITERS];

	test_cmd_mem_alloc(self->fd, size, 0, &addr);
	test_cmd_mem_free(self->fd, addr, size);
	for (int i = 0; i < WAITERS; i++) {
		calls[i] = (struct side_call){ .fn = side_alloc, .fd = self->fd,
					       .length = self->granule };
		side_call_start(&calls[i]);
		ASSERT_TRUE(WAIT_FOR(card_waiting() == i + 1, 5000));
	}
	unstall(_metadata, self);
	for (int i = 0; i < WAITERS; i++) {
		EXPECT_EQ(0, side_call_end(&calls[i]));
		EXPECT_EQ(addr + i * self->granule, calls[i].addr);
	}
}

#define OVERTAKING 50

/* Allocates and frees one granule again and again; counts in @addr. */
static int side_alloc_free(struct side_call *c)
{
	u64 addr;
	int rc = 0;

	while (!rc && c->addr < OVERTAKING) {
		rc = _test_cmd_mem_alloc(c->fd, c->length, 0, &addr);
		if (!rc) {
			__atomic_add_fetch(&c->addr, 1, __ATOMIC_RELAXED);
			rc = _test_cmd_mem_free(c->fd, addr, c->length);
		}
	}
	return rc;
}

/* Clean memory that a waiting allocation needs is not for those that come later, however small. */
TEST_F(stalled, large_alloc_is_not_overtaken)
{
	u64 size = self->total - self->granule, half = size / 2 / self->granule * self->granule, addr;
	struct side_call large = { .fn = side_alloc, .fd = self->fd, .length = size };
	struct side_call small = { .fn = side_alloc_free, .fd = self->fd,
				   .length = self->granule };

	test_cmd_mem_alloc(self->fd, half, 0, &addr);
	test_cmd_mem_free(self->fd, addr, half);
	side_call_start(&large);
	ASSERT_TRUE(WAIT_FOR(card_waiting() == 1, 5000));
	side_call_start(&small);
	EXPECT_TRUE(WAIT_FOR(side_call_done(&small) || card_waiting() == 2, 5000));
	EXPECT_EQ(0, __atomic_load_n(&small.addr, __ATOMIC_RELAXED));
	unstall(_metadata, self);
	EXPECT_EQ(0, side_call_end(&large));
	/* Nothing is left for it. */
	EXPECT_EQ(-ENOMEM, side_call_end(&small));
}

/* Clean memory that it does not need is. Behind two that wait others do, whatever they need. */
TEST_F(stalled, others_go_on_beside_a_waiting_alloc)
{
	u64 clean = 4 * self->granule, size = self->total / 2 / self->granule * self->granule;
	u64 used = self->total - self->granule - size - clean, dirty, addr;
	u64 lengths[] = { size, size - self->granule, self->granule };
	struct side_call calls[3];

	test_cmd_mem_alloc(self->fd, size, 0, &dirty);
	test_cmd_mem_alloc(self->fd, used, 0, &addr);
	test_cmd_mem_free(self->fd, dirty, size);
	for (int i = 0; i < 3; i++) {
		if (i == 1) {
			test_cmd_mem_alloc(self->fd, self->granule, 0, &addr);
			EXPECT_LT(dirty, addr);
		}
		calls[i] = (struct side_call){ .fn = side_alloc, .fd = self->fd,
					       .length = lengths[i] };
		side_call_start(&calls[i]);
		EXPECT_TRUE(WAIT_FOR(card_waiting() == i + 1, 5000));
	}
	unstall(_metadata, self);
	EXPECT_EQ(0, side_call_end(&calls[0]));
	EXPECT_EQ(dirty, calls[0].addr);
	EXPECT_EQ(-ENOMEM, side_call_end(&calls[1]));
	EXPECT_EQ(0, side_call_end(&calls[2]));
}

/* Those that wait behind an allocation that is killed are served. */
TEST_F(stalled, behind_a_killed_alloc)
{
	u64 size = self->total - self->granule, addr;
	struct side_call small = { .fn = side_alloc, .fd = self->fd, .length = self->granule };
	pid_t pid;

	test_cmd_mem_alloc(self->fd, self->granule, 0, &addr);
	test_cmd_mem_free(self->fd, addr, self->granule);
	pid = spawn_alloc(_metadata, size);
	side_call_start(&small);
	ASSERT_TRUE(WAIT_FOR(side_call_done(&small) || card_waiting() == 2, 5000));
	EXPECT_FALSE(side_call_done(&small));
	EXPECT_EQ(0, kill(pid, SIGKILL));
	EXPECT_EQ(128 + SIGKILL, reap_within(pid, 3000));
	/* There is clean memory for it, and the device has done nothing. */
	EXPECT_EQ(0, side_call_end(&small));
	EXPECT_EQ(self->granule, stats_of(self->fd).dirty);
}

/* --- scrubbing against copies -------------------------------------------- */

/* An allocation that waits goes ahead of the transfers that the device has not been given. */
TEST_F(mem, waiting_alloc_overtakes_copies)
{
	struct side_call copy = { .fn = side_copy, .fd = self->fd,
				  .dir = PACCEL_COPY_H2D,
				  .src = (uintptr_t)self->host,
				  .shape = long_copy(card_depth() + 4) };
	struct side_call alloc = { .fn = side_alloc, .fd = self->fd,
				   .length = self->granule };
	u64 addr, rest;

	if (!card_can_hold())
		SKIP(return, "an edu in the host's time");
	/* All memory, of which one granule will be free: that is one transfer. */
	test_cmd_mem_alloc(self->fd, LONG_COPY_BYTES(copy.shape.rows), 0, &copy.dst);
	test_cmd_mem_alloc(self->fd, self->granule, 0, &addr);
	rest = stats_of(self->fd).free;
	test_cmd_mem_alloc(self->fd, rest, 0, &rest);
	card_hold();
	side_call_start(&copy);
	ASSERT_TRUE(WAIT_FOR(card_jobs() == 1, 5000));
	test_cmd_mem_free(self->fd, addr, self->granule);
	/* The worker that submits the scrub may be late. */
	ASSERT_TRUE(WAIT_FOR(card_jobs() == 2, 5000));
	/* It holds the lock meanwhile that the allocation and this need. */
	ASSERT_EQ(self->granule, stats_of(self->fd).dirty);
	side_call_start(&alloc);
	ASSERT_TRUE(WAIT_FOR(side_call_done(&alloc) || card_waiting() == 1, 5000));
	/* What the device had, and the scrub. */
	card_pass(card_depth() + 1);
	EXPECT_EQ(0, side_call_end(&alloc));
	EXPECT_FALSE(side_call_done(&copy));
	card_behave();
	EXPECT_EQ(0, side_call_end(&copy));
}

/*
 * Without a waiter it is the other way round: a copy waits at most for the piece that its engine is at, and
 * with several engines not even for that. An edu may go on before the test looks.
 */
TEST_F(mem, copies_overtake_idle_scrubbing)
{
	struct side_call copy = { .fn = side_copy, .fd = self->fd,
				  .dir = PACCEL_COPY_H2D,
				  .src = (uintptr_t)self->host,
				  .shape = { 1, 1, 0, 0 } };
	u64 a[5], xfers;

	if (!card_can_hold())
		SKIP(return, "an edu in the host's time");
	for (int i = 0; i < 5; i++)
		test_cmd_mem_alloc(self->fd, self->granule, 0, &a[i]);
	xfers = stats_of(self->fd).xfers;
	card_hold();
	/* Three pieces that do not touch, so three transfers. */
	test_cmd_mem_free(self->fd, a[0], self->granule);
	test_cmd_mem_free(self->fd, a[2], self->granule);
	test_cmd_mem_free(self->fd, a[4], self->granule);
	ASSERT_TRUE(WAIT_FOR(xfers_passed(self->fd, xfers) && card_is_held(), 5000));
	copy.dst = a[1];
	side_call_start(&copy);
	if (info_of(self->fd).engines == 1) {
		ASSERT_TRUE(WAIT_FOR(side_call_done(&copy) || card_jobs() == 2, 5000));
		/* The first piece, and the copy. */
		card_pass(2);
	}
	EXPECT_EQ(0, side_call_end(&copy));
	EXPECT_LE(self->granule * (strcmp(card_kind(), "edu") ? 2 : 1),
		  stats_of(self->fd).dirty);
}

PACCEL_TEST_MAIN
