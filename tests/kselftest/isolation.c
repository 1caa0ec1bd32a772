// SPDX-License-Identifier: MIT
/*
 * Programs that do not trust each other share a card: addresses, files and bytes of
 * one are nothing to the other.
 */
#include <sys/socket.h>

#include "paccel_test.h"

#define SIZE 512

FIXTURE(isolation) {
	int fd;
	u64 mem, total;
	u8 *secret, *got;
	struct line line;
};

FIXTURE_SETUP(isolation)
{
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	self->total = info_of(self->fd).mem_size;
	self->secret = map_pages(self->total / page_size + 1);
	self->got = map_pages(1);
	pattern_fill(self->secret, self->total, 77);
	self->line = line_open();
	ASSERT_TRUE(card_settle(self->fd));
}

FIXTURE_TEARDOWN(isolation)
{
	struct paccel_mem_stats s = stats_of(self->fd);

	EXPECT_EQ(0, s.quarantined);
	EXPECT_TRUE(stats_add_up(&s));
	close(self->fd);
}

/* --- addresses ----------------------------------------------------------- */

static int poke_at(void *arg)
{
	u64 theirs = *(u64 *)arg, mine;
	u8 byte = 1;
	int fd = card_open();

	CHILD_CHECK(fd >= 0);
	CHILD_EQ(0, _test_cmd_mem_alloc(fd, SIZE, 0, &mine));
	CHILD_EQ(-ENOENT, _test_cmd_mem_free(fd, theirs, SIZE));
	CHILD_EQ(-EFAULT, _test_cmd_copy_h2d(fd, theirs, &byte, 1));
	CHILD_EQ(-EFAULT, _test_cmd_copy_d2h(fd, &byte, theirs, 1));
	CHILD_EQ(-EFAULT, _test_cmd_copy_d2d(fd, mine, theirs, 1));
	CHILD_EQ(-EFAULT, _test_cmd_copy_d2d(fd, theirs, mine, 1));
	CHILD_EQ(-EFAULT, _test_cmd_fill(fd, theirs, 1, 0, 1));
	/* From mine into theirs, for they are neighbours. */
	CHILD_EQ(-EFAULT, _test_cmd_copy_h2d(fd, mine, &byte, SIZE + 1));
	CHILD_EQ(-EFAULT, _test_cmd_fill(fd, mine - 1, 2, 0, 1));
	CHILD_EQ(in_granules(fd, SIZE), stats_of(fd).mine);
	CHILD_EQ(2 * in_granules(fd, SIZE), stats_of(fd).used);
	return 0;
}

TEST_F(isolation, foreign_addresses)
{
	test_cmd_mem_alloc(self->fd, SIZE, 0, &self->mem);
	test_cmd_copy_h2d(self->fd, self->mem, self->secret, SIZE);
	EXPECT_EQ(0, run_in_child(poke_at, &self->mem));
	test_cmd_copy_d2h(self->fd, self->got, self->mem, SIZE);
	EXPECT_EQ(-1, bytes_diff(self->got, self->secret, SIZE));
}

/* Two files of one process are two contexts, too. */
TEST_F(isolation, second_file_of_the_same_process)
{
	int other = card_open();
	u8 *p = map_pages(1);
	u64 offset;

	test_cmd_mem_alloc(self->fd, SIZE, 0, &self->mem);
	test_err_copy_d2h(EFAULT, other, self->got, self->mem, 1);
	test_err_mem_free(ENOENT, other, self->mem, SIZE);
	test_cmd_host_register(self->fd, p, page_size, 0);
	test_err_host_free(ENOENT, other, p, 0);
	test_cmd_host_alloc(self->fd, page_size, &offset);
	test_err_host_free(ENOENT, other, NULL, offset);
	/* The same memory may be registered with both. */
	test_cmd_host_register(other, p, page_size, 0);
	close(other);
}

/* --- bytes of freed memory ----------------------------------------------- */

/* Takes the whole card and looks for anything that is not zero. */
static int look_for_bytes(void *arg)
{
	u64 total = *(u64 *)arg;
	u8 *got = map_pages(total / page_size + 1);
	int fd = card_open();
	u64 addr;

	CHILD_CHECK(fd >= 0);
	memset(got, 0xee, total);
	CHILD_EQ(0, _test_cmd_mem_alloc(fd, total, 0, &addr));
	CHILD_EQ(0, _test_cmd_copy_d2h(fd, got, addr, total));
	CHILD_CHECK(all_bytes(got, total, 0));
	return 0;
}

TEST_F(isolation, freed_bytes_are_gone)
{
	test_cmd_mem_alloc(self->fd, self->total, 0, &self->mem);
	test_cmd_copy_h2d(self->fd, self->mem, self->secret, self->total);
	test_cmd_mem_free(self->fd, self->mem, self->total);
	EXPECT_EQ(0, run_in_child(look_for_bytes, &self->total));
}

TEST_F(isolation, closed_bytes_are_gone)
{
	int other = card_open();

	test_cmd_mem_alloc(other, self->total, 0, &self->mem);
	test_cmd_copy_h2d(other, self->mem, self->secret, self->total);
	close(other);
	EXPECT_EQ(0, run_in_child(look_for_bytes, &self->total));
}

struct victim {
	u64 total;
	u8 *secret;
	struct line *line;
};

static int die_with_memory(void *arg)
{
	struct victim *v = arg;
	int fd = card_open();
	u64 addr;

	CHILD_CHECK(fd >= 0);
	CHILD_EQ(0, _test_cmd_mem_alloc(fd, v->total, 0, &addr));
	CHILD_EQ(0, _test_cmd_copy_h2d(fd, addr, v->secret, v->total));
	say(v->line, 1);
	pause();
	return 0;
}

TEST_F(isolation, bytes_of_a_killed_process_are_gone)
{
	struct victim v = { self->total, self->secret, &self->line };
	pid_t pid = spawn(die_with_memory, &v);

	ASSERT_TRUE(hear(&self->line, 0));
	kill(pid, SIGKILL);
	EXPECT_EQ(128 + SIGKILL, reap(pid));
	EXPECT_EQ(0, run_in_child(look_for_bytes, &self->total));
}

/* --- files given away ---------------------------------------------------- */

struct gift {
	struct line *line;
	u64 mem;
};

static int use_a_gift(void *arg)
{
	struct gift *g = arg;
	int fd = receive_fd(g->line->fd[1]);
	struct paccel_device_info info;
	struct paccel_mem_stats stats;
	u8 *p = map_pages(1);
	u64 out;

	CHILD_CHECK(fd >= 0);
	CHILD_EQ(-EPERM, _test_cmd_mem_alloc(fd, 1, 0, &out));
	CHILD_EQ(-EPERM, _test_cmd_mem_free(fd, g->mem, SIZE));
	CHILD_EQ(-EPERM, _test_cmd_copy_d2h(fd, p, g->mem, 1));
	CHILD_EQ(-EPERM, _test_cmd_copy_h2d(fd, g->mem, p, 1));
	CHILD_EQ(-EPERM, _test_cmd_fill(fd, g->mem, 1, 0, 1));
	CHILD_EQ(-EPERM, _test_cmd_host_alloc(fd, 1, &out));
	CHILD_EQ(-EPERM, _test_cmd_host_register(fd, p, 1, 0));
	CHILD_EQ(-EPERM, _test_cmd_host_free(fd, p, 0));
	CHILD_EQ(-EPERM, _test_cmd_reset(fd));
	/* To look is not forbidden. */
	CHILD_EQ(0, _test_cmd_device_info(fd, &info));
	CHILD_EQ(0, _test_cmd_mem_stats(fd, &stats));
	CHILD_EQ(in_granules(fd, SIZE), stats.mine);
	return 0;
}

TEST_F(isolation, file_passed_to_another_process)
{
	struct gift gift = { &self->line, 0 };
	int other = card_open();
	pid_t pid;

	test_cmd_mem_alloc(other, SIZE, 0, &gift.mem);
	/* The receiver has its own address space before it has the file. */
	pid = spawn(use_a_gift, &gift);
	ASSERT_EQ(0, send_fd(self->line.fd[0], other));
	EXPECT_EQ(0, reap(pid));
	test_cmd_mem_free(other, gift.mem, SIZE);
	close(other);
}

static int open_and_give(void *arg)
{
	struct gift *g = arg;
	int fd = card_open();

	CHILD_CHECK(fd >= 0);
	CHILD_EQ(0, _test_cmd_mem_alloc(fd, SIZE, 0, &g->mem));
	CHILD_CHECK(send_fd(g->line->fd[1], fd) == 0);
	return 0;
}

/* Who gets the file of a process that has ended gets an empty one. */
TEST_F(isolation, file_that_outlives_its_process)
{
	struct gift gift = { &self->line, 0 };
	pid_t pid = spawn(open_and_give, &gift);
	int fd = receive_fd(self->line.fd[0]);
	u64 addr;

	ASSERT_LE(0, fd);
	EXPECT_EQ(0, reap(pid));
	EXPECT_TRUE(WAIT_FOR(stats_of(fd).used == 0, 5000));
	test_err_mem_alloc(EPERM, fd, 1, 0);
	test_err_copy_d2h(EPERM, fd, self->got, info_of(fd).mem_base, 1);
	EXPECT_EQ(0, stats_of(fd).mine);
	close(fd);
	test_cmd_mem_alloc(self->fd, 64, 0, &addr);
}

/* --- bytes in the bounce buffer ------------------------------------------ */

FIXTURE(bus_master) {
	int fd, other;
	u64 mem, theirs, total;
	u8 *host;
};

FIXTURE_SETUP(bus_master)
{
	self->fd = card_open();
	self->other = card_open();
	ASSERT_LE(0, self->fd);
	ASSERT_LE(0, self->other);
	self->total = info_of(self->fd).mem_size;
	self->host = map_pages(1);
	ASSERT_TRUE(card_settle(self->fd));
	ASSERT_EQ(0, _test_cmd_mem_alloc(self->fd, SIZE, 0, &self->mem));
	ASSERT_EQ(0, _test_cmd_mem_alloc(self->other, SIZE, 0, &self->theirs));
}

/* Whatever has failed: a reset brings back the card and all of its memory. */
FIXTURE_TEARDOWN(bus_master)
{
	card_bus_master(true);
	EXPECT_EQ(0, _test_cmd_reset(self->fd));
	close(self->other);
	close(self->fd);
	self->fd = card_open();
	EXPECT_TRUE(WAIT_FOR(stats_of(self->fd).free == self->total, 5000));
	EXPECT_EQ(0, stats_of(self->fd).quarantined);
	close(self->fd);
}

/*
 * edu "completes" such a transfer and moves nothing. What then lies in the bounce
 * buffer is somebody else's.
 */
TEST_F(bus_master, nothing_stale_is_delivered)
{
	u64 caps = info_of(self->fd).caps;

	pattern_fill(self->host, SIZE, 5);
	test_cmd_copy_h2d(self->other, self->theirs, self->host, SIZE);
	test_cmd_copy_d2h(self->other, self->host, self->theirs, SIZE);

	memset(self->host, 0, SIZE);
	card_bus_master(false);
	test_err_copy_d2h(EIO, self->fd, self->host, self->mem, SIZE);
	EXPECT_TRUE(all_bytes(self->host, SIZE, 0));
	test_err_copy_h2d(EIO, self->fd, self->mem, self->host, SIZE);
	/* Some cards need no bus for these. */
	if (!(caps & PACCEL_CAP_NATIVE_D2D))
		test_err_copy_d2d(EIO, self->fd, self->mem, self->mem + 100, 100);
	if (!(caps & PACCEL_CAP_NATIVE_FILL))
		test_err_fill(EIO, self->fd, self->mem, SIZE, 1, 1);

	card_bus_master(true);
	test_cmd_reset(self->fd);
	memset(self->host, 0xc3, SIZE);
	test_cmd_copy_d2h(self->fd, self->host, self->mem, SIZE);
	EXPECT_TRUE(all_bytes(self->host, SIZE, 0));
	test_cmd_copy_d2h(self->other, self->host, self->theirs, SIZE);
	EXPECT_EQ(-1, pattern_diff(self->host, SIZE, 5));
}

/* Memory that could not be scrubbed is out of use until a reset has scrubbed it. */
TEST_F(bus_master, failed_scrub_sets_aside)
{
	struct paccel_mem_stats s;
	u64 size = in_granules(self->fd, SIZE), rest = self->total - 2 * size, addr, again;
	int rc;

	pattern_fill(self->host, SIZE, 6);
	test_cmd_copy_h2d(self->other, self->theirs, self->host, SIZE);
	test_cmd_mem_alloc(self->fd, rest, 0, &addr);
	card_fail(true);
	test_cmd_mem_free(self->other, self->theirs, SIZE);
	ASSERT_TRUE(WAIT_FOR(stats_of(self->fd).quarantined, 20000));
	s = stats_of(self->fd);
	EXPECT_EQ(size, s.quarantined);
	EXPECT_EQ(0, s.dirty);
	EXPECT_TRUE(stats_add_up(&s));
	/* Nothing waits any more, so there is nothing to wait for. */
	rc = _test_cmd_mem_alloc(self->fd, SIZE, 0, &again);
	EXPECT_TRUE(rc == -ENOMEM || rc == -EIO) TH_LOG("rc %d", rc);
	EXPECT_EQ(size, stats_of(self->fd).quarantined);

	card_fail(false);
	test_cmd_reset(self->fd);
	test_cmd_mem_alloc(self->fd, SIZE, 0, &again);
	EXPECT_EQ(self->theirs, again);
	EXPECT_EQ(0, stats_of(self->fd).quarantined);
	memset(self->host, 0xc3, SIZE);
	test_cmd_copy_d2h(self->fd, self->host, again, SIZE);
	EXPECT_TRUE(all_bytes(self->host, SIZE, 0));
}

/* Each piece of 4 MiB is tried, and then out of use until a reset. */
TEST_F(bus_master, failing_scrubs_end)
{
	u64 rest = self->total - 2 * in_granules(self->fd, SIZE), addr;
	struct paccel_mem_stats s;

	test_cmd_mem_alloc(self->fd, rest, 0, &addr);
	card_fail(true);
	test_cmd_mem_free(self->fd, addr, rest);
	ASSERT_TRUE(WAIT_FOR(stats_of(self->fd).quarantined == rest, 20000));
	s = stats_of(self->fd);
	EXPECT_EQ(0, s.dirty);
	EXPECT_TRUE(stats_add_up(&s));

	card_fail(false);
	test_cmd_reset(self->fd);
	test_cmd_mem_alloc(self->fd, rest, 0, &addr);
	EXPECT_EQ(0, stats_of(self->fd).quarantined);
}

/* The reset itself turns bus mastering on again. */
TEST_F(bus_master, reset_turns_it_on)
{
	card_bus_master(false);
	test_err_copy_h2d(EIO, self->fd, self->mem, self->host, 8);
	test_cmd_reset(self->fd);
	test_cmd_copy_h2d(self->fd, self->mem, self->host, 8);
}

PACCEL_TEST_MAIN
