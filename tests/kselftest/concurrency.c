// SPDX-License-Identifier: MIT
/* Many processes and threads on one card: right bytes, and a fair share for each. */
#include "paccel_test.h"

#define PROCESSES 4
#define THREADS 4	/* of each process: 16 at once */
#define BLOCK 190	/* bytes of each thread, in 16 * 192 of the card's 4032 */

struct worker {
	pthread_t thread;
	int fd, nr;
	long bad_byte;
	int rc;
};

/* Its own memory, its own bytes, there and back. */
static void *worker_main(void *arg)
{
	struct worker *w = arg;
	u8 *p = malloc(2 * BLOCK);
	u64 mem;

	w->bad_byte = -1;
	w->rc = _test_cmd_mem_alloc(w->fd, BLOCK, 0, &mem);
	if (w->rc)
		goto out;
	pattern_fill(p, BLOCK, w->nr);
	w->rc = _test_cmd_copy_h2d(w->fd, mem, p, BLOCK);
	if (!w->rc)
		w->rc = _test_cmd_copy_d2h(w->fd, p + BLOCK, mem, BLOCK);
	if (!w->rc)
		w->bad_byte = pattern_diff(p + BLOCK, BLOCK, w->nr);
	if (!w->rc)
		w->rc = _test_cmd_mem_free(w->fd, mem, BLOCK);
out:
	free(p);
	return NULL;
}

static int run_workers(int fd, int first, int n)
{
	struct worker w[16];
	int bad = 0;

	for (int i = 0; i < n; i++) {
		w[i] = (struct worker){ .fd = fd, .nr = first + i };
		if (pthread_create(&w[i].thread, NULL, worker_main, &w[i]))
			abort();
	}
	for (int i = 0; i < n; i++) {
		pthread_join(w[i].thread, NULL);
		if (!w[i].rc && w[i].bad_byte < 0)
			continue;
		fprintf(stderr, "# worker %d: rc %d, byte %ld differs\n", w[i].nr,
			w[i].rc, w[i].bad_byte);
		bad = 1;
	}
	return bad;
}

FIXTURE(concurrency) {
	int fd;
	u64 total;
	u8 *host;
	struct line line;
};

FIXTURE_SETUP(concurrency)
{
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	self->total = info_of(self->fd).mem_size;
	self->host = map_pages(2);
	self->line = line_open();
	ASSERT_TRUE(card_settle(self->fd));
}

FIXTURE_TEARDOWN(concurrency)
{
	EXPECT_TRUE(WAIT_FOR(stats_of(self->fd).used == stats_of(self->fd).mine, 5000));
	close(self->fd);
}

struct crowd {
	struct line *line;
	int nr;
};

static int process_with_threads(void *arg)
{
	struct crowd *crowd = arg;
	int fd = card_open();

	CHILD_CHECK(fd >= 0);
	/* All at once: each reports that it is ready, and waits for the start. */
	say(crowd->line, 1);
	CHILD_CHECK(hear(crowd->line, 1));
	return run_workers(fd, crowd->nr * THREADS, THREADS);
}

TEST_F(concurrency, processes_with_threads)
{
	struct line lines[PROCESSES];
	struct crowd crowd[PROCESSES];
	pid_t pids[PROCESSES];

	for (int i = 0; i < PROCESSES; i++) {
		lines[i] = line_open();
		crowd[i] = (struct crowd){ &lines[i], i };
		pids[i] = spawn(process_with_threads, &crowd[i]);
	}
	for (int i = 0; i < PROCESSES; i++)
		EXPECT_TRUE(hear(&lines[i], 0));
	for (int i = 0; i < PROCESSES; i++)
		say(&lines[i], 0);
	for (int i = 0; i < PROCESSES; i++)
		EXPECT_EQ(0, reap(pids[i]));
}

TEST_F(concurrency, threads_of_one_file)
{
	EXPECT_EQ(0, run_workers(self->fd, 100, 16));
	EXPECT_EQ(0, stats_of(self->fd).mine);
}

/* Threads that copy to and from one and the same registered range. */
TEST_F(concurrency, threads_share_a_registration)
{
	struct side_call c[4];
	u64 mem;

	test_cmd_mem_alloc(self->fd, 4 * BLOCK, 0, &mem);
	test_cmd_host_register(self->fd, self->host, 2 * page_size, 0);
	pattern_fill(self->host, 4 * BLOCK, 3);
	for (int i = 0; i < 4; i++) {
		c[i] = (struct side_call){
			.fn = side_copy, .fd = self->fd, .dir = PACCEL_COPY_H2D,
			.dst = mem + i * BLOCK,
			.src = (uintptr_t)self->host + i * BLOCK,
			.shape = { BLOCK, 1, 0, 0 } };
		side_call_start(&c[i]);
	}
	for (int i = 0; i < 4; i++)
		EXPECT_EQ(0, side_call_end(&c[i]));
	test_cmd_copy_d2h(self->fd, self->host + page_size, mem, 4 * BLOCK);
	EXPECT_EQ(-1, pattern_diff(self->host + page_size, 4 * BLOCK, 3));
}

/* --- fairness ------------------------------------------------------------ */

#define LONG 8	/* threads with a long copy */

struct small {
	struct line *line;
	u64 xfers;	/* transfers begun while it waited */
};

/* In a process of its own: counts the transfers that pass while 8 bytes are copied. */
static int small_copy(void *arg)
{
	struct small *result = arg;
	int fd = card_open();
	u64 before, mem, value = 0x1234, back = 0;

	CHILD_CHECK(fd >= 0);
	CHILD_EQ(0, _test_cmd_mem_alloc(fd, 8, 0, &mem));
	before = stats_of(fd).xfers;
	CHILD_EQ(0, _test_cmd_copy_h2d(fd, mem, &value, 8));
	result->xfers = stats_of(fd).xfers - before;
	say(result->line, 1);
	CHILD_EQ(0, _test_cmd_copy_d2h(fd, &back, mem, 8));
	CHILD_CHECK(back == value);
	return 0;
}

/*
 * One process has eight threads with long copies, another one copies 8 bytes. These wait for what
 * the device was given before, and have the next turn. When their process looks at the counter one
 * transfer more may have begun. By threads instead of files it were eight more.
 */
TEST_F(concurrency, small_copy_beside_long_ones)
{
	struct small *result = mmap(NULL, page_size, PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct copy_2d shape = long_copy(card_depth() / LONG + 3);
	u64 bytes = LONG_COPY_BYTES(shape.rows), mem;
	struct side_call c[LONG];
	int unfinished = 0;
	pid_t pid;

	if (!card_can_hold())
		SKIP(return, "an edu in the host's time");
	result->line = &self->line;
	test_cmd_mem_alloc(self->fd, LONG * bytes, 0, &mem);
	card_hold();
	for (int i = 0; i < LONG; i++) {
		c[i] = (struct side_call){
			.fn = side_copy, .fd = self->fd, .dir = PACCEL_COPY_H2D,
			.dst = mem + i * bytes, .src = (uintptr_t)self->host, .shape = shape };
		side_call_start(&c[i]);
	}
	ASSERT_TRUE(WAIT_FOR(card_jobs() == LONG, 5000));
	pid = spawn(small_copy, result);
	ASSERT_TRUE(WAIT_FOR(card_jobs() == LONG + 1, 5000));
	card_pass(card_depth() + 1);
	EXPECT_TRUE(hear(&self->line, 0));
	EXPECT_GE((u64)card_depth() + 2, result->xfers);
	for (int i = 0; i < LONG; i++)
		unfinished += !side_call_done(&c[i]);
	EXPECT_LT(0, unfinished);
	card_behave();
	for (int i = 0; i < LONG; i++)
		EXPECT_EQ(0, side_call_end(&c[i]));
	EXPECT_EQ(0, reap(pid));
}

/*
 * Opening more files buys an equal share for each, and no more: three transfers of one file end
 * before three of another that has begun earlier, not behind all of them.
 */
TEST_F(concurrency, files_take_turns)
{
	int other = card_open();
	struct side_call a = { .fn = side_copy, .fd = self->fd,
			       .dir = PACCEL_COPY_H2D, .src = (uintptr_t)self->host,
			       .shape = long_copy(card_depth() + 6) };
	struct side_call b = a;

	if (!card_can_hold())
		SKIP(return, "an edu in the host's time");
	ASSERT_LE(0, other);
	b.fd = other;
	b.shape = long_copy(3);
	test_cmd_mem_alloc(self->fd, LONG_COPY_BYTES(a.shape.rows), 0, &a.dst);
	test_cmd_mem_alloc(other, LONG_COPY_BYTES(b.shape.rows), 0, &b.dst);
	card_hold();
	side_call_start(&a);
	ASSERT_TRUE(WAIT_FOR(card_jobs() == 1, 5000));
	side_call_start(&b);
	ASSERT_TRUE(WAIT_FOR(card_jobs() == 2, 5000));
	card_pass(card_depth() + 2 * b.shape.rows);
	EXPECT_EQ(0, side_call_end(&b));
	EXPECT_FALSE(side_call_done(&a));
	card_behave();
	EXPECT_EQ(0, side_call_end(&a));
	close(other);
}

PACCEL_TEST_MAIN
