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
	/* All at once: each says that it is there, and is told to go. */
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
#define ROWS 3	/* turns of each */
#define TRIES 5

struct small {
	u64 xfers;	/* transfers begun while it waited */
};

/* In a process of its own: how many transfers pass while 8 bytes are copied? */
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
	CHILD_EQ(0, _test_cmd_copy_d2h(fd, &back, mem, 8));
	CHILD_CHECK(back == value);
	return 0;
}

/* Whether a few transfers have passed, and the long copies have not. */
static bool few_beside_long_ones(struct __test_metadata *_metadata,
				 FIXTURE_DATA(concurrency) *self, struct small *result, u64 mem)
{
	struct side_call c[LONG];
	u64 xfers = stats_of(self->fd).xfers;
	int unfinished = 0;
	u64 bytes = LONG_COPY_BYTES(ROWS * card_depth());

	for (int i = 0; i < LONG; i++) {
		c[i] = (struct side_call){
			.fn = side_copy, .fd = self->fd, .dir = PACCEL_COPY_H2D,
			.dst = mem + i * bytes,
			.src = (uintptr_t)self->host, .shape = long_turns(ROWS) };
		side_call_start(&c[i]);
	}
	/* Surely all are queued when two transfers have been made: 22 to go. */
	ASSERT_TRUE(WAIT_FOR(stats_of(self->fd).xfers >= xfers + 2, 5000));
	EXPECT_EQ(0, run_in_child(small_copy, result));
	for (int i = 0; i < LONG; i++)
		unfinished += !side_call_done(&c[i]);
	for (int i = 0; i < LONG; i++)
		EXPECT_EQ(0, side_call_end(&c[i]));
	return result->xfers <= 5 * (u64)card_depth() && unfinished;
}

/*
 * One process has eight threads with long copies, another wants 8 bytes. It waits for
 * the transfer that runs and then has its turn; its own is one, and by the time it
 * looks at the counter another one may have begun, or more on a slow machine: on a busy
 * host it may be too late. Would it take turns with threads instead of files it were
 * nine, each time.
 */
TEST_F(concurrency, small_copy_beside_long_ones)
{
	struct small *result = mmap(NULL, page_size, PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int tries = 0;
	u64 mem;

	card_slow_turns();
	test_cmd_mem_alloc(self->fd, LONG * LONG_COPY_BYTES(ROWS * card_depth()), 0, &mem);
	while (tries < TRIES && !few_beside_long_ones(_metadata, self, result, mem))
		tries++;
	EXPECT_GT(TRIES, tries);
}

/* Whether six turns of one file have not passed when three of another, which begins later, have. */
static bool three_within_six(struct __test_metadata *_metadata, FIXTURE_DATA(concurrency) *self,
			     struct side_call a, struct side_call b)
{
	u64 xfers = stats_of(self->fd).xfers;
	bool within;

	side_call_start(&a);
	EXPECT_TRUE(WAIT_FOR(xfers_passed(self->fd, xfers), 5000));
	side_call_start(&b);
	EXPECT_EQ(0, side_call_end(&b));
	within = !side_call_done(&a);
	EXPECT_EQ(0, side_call_end(&a));
	return within;
}

/*
 * Opening more files buys an equal share for each, and no more. On a busy host the thread of the
 * second one may begin late; if it had to wait for the first, it would never be within.
 */
TEST_F(concurrency, files_take_turns)
{
	int other = card_open(), tries = 0;
	struct side_call a = { .fn = side_copy, .fd = self->fd,
			       .dir = PACCEL_COPY_H2D,
			       .src = (uintptr_t)self->host, .shape = long_turns(6) };
	struct side_call b = a;

	ASSERT_LE(0, other);
	card_slow_turns();
	b.fd = other;
	b.shape = long_turns(3);
	test_cmd_mem_alloc(self->fd, LONG_COPY_BYTES(a.shape.rows), 0, &a.dst);
	test_cmd_mem_alloc(other, LONG_COPY_BYTES(b.shape.rows), 0, &b.dst);
	while (tries < TRIES && !three_within_six(_metadata, self, a, b))
		tries++;
	EXPECT_GT(TRIES, tries);
	close(other);
}

PACCEL_TEST_MAIN
