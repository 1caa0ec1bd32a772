// SPDX-License-Identifier: MIT
/*
 * What ends, and when: processes that are killed or exit while the card works for
 * them, files that are closed under a call, memory that is freed under a copy,
 * signals that must not end anything.
 */
#include <sched.h>
#include <sys/time.h>

#include "paccel_test.h"

/*
 * Rows of a copy that is cut short, each a transfer of XFER_MS: the device has little left of the
 * one, and a minute or more of the other.
 */
#define FEW_ROWS (5u * slow_factor())
#define MANY_ROWS (500u * slow_factor())
/* Of the other's additional time, in percent: so much longer the second process may live. */
#define GROWTH_PERCENT 10
/* That begin while the death is ordered, and while its end is noticed. */
#define OTHER_XFERS 2

FIXTURE(life) {
	int fd;		/* sees what becomes of others */
	u64 total;
	u8 *host;
	struct line line;
};

FIXTURE_SETUP(life)
{
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	self->total = info_of(self->fd).mem_size;
	self->host = map_pages(self->total / page_size + 1);
	self->line = line_open();
	ASSERT_TRUE(card_settle(self->fd));
	ASSERT_EQ(0, stats_of(self->fd).used);
}

FIXTURE_TEARDOWN(life)
{
	struct paccel_mem_stats s;

	EXPECT_TRUE(WAIT_FOR(stats_of(self->fd).used == stats_of(self->fd).mine, 10000));
	s = stats_of(self->fd);
	EXPECT_TRUE(stats_add_up(&s));
	EXPECT_EQ(0, s.quarantined);
	close(self->fd);
}

/* --- ended during DMA ---------------------------------------------------- */

struct worker {
	u32 dir;
	bool registered;
	bool exits;	/* by itself, with the copy in another thread; else it is killed */
	u32 rows;
	u64 total;
	struct line *line;
};

static int copy_for_long(void *arg)
{
	struct worker *w = arg;
	u8 *p = map_pages(1);
	struct copy_2d shape = long_copy(w->rows);
	u64 mem, host = (uintptr_t)p;
	int fd = card_open();

	CHILD_CHECK(fd >= 0);
	memset(p, 0x99, page_size);
	CHILD_EQ(0, _test_cmd_mem_alloc(fd, w->total, 0, &mem));
	if (w->registered)
		CHILD_EQ(0, _test_cmd_host_register(fd, p, page_size, 0));
	say(w->line, 1);
	if (w->dir == PACCEL_COPY_H2D)
		_test_cmd_copy_2d(fd, w->dir, mem, host, shape);
	else
		_test_cmd_copy_2d(fd, w->dir, host, mem, shape);
	/* A short copy may be over before its process is killed. */
	pause();
	return 1;
}

static void *copy_thread(void *arg)
{
	copy_for_long(arg);
	return NULL;
}

static int exit_beside_a_copy(void *arg)
{
	struct worker *w = arg;
	pthread_t thread;

	CHILD_CHECK(pthread_create(&thread, NULL, copy_thread, w) == 0);
	CHILD_CHECK(hear(w->line, 1));
	return 7;
}

struct death {
	u64 ms;		/* from its order to the end of the process */
	u64 xfers;	/* that have begun since, until its memory was scrubbed */
};

static struct death end_during_copy(struct __test_metadata *_metadata,
				    FIXTURE_DATA(life) *self, struct worker *w, u32 rows)
{
	u64 xfers = stats_of(self->fd).xfers, start, at_once = card_depth();
	struct death death;
	pid_t pid;

	card_slow();
	w->rows = rows;
	pid = spawn(w->exits ? exit_beside_a_copy : copy_for_long, w);
	ASSERT_TRUE(hear(&self->line, 0));
	/* The device has been given as much of it as it takes at once. */
	xfers += rows < at_once ? rows : at_once;
	ASSERT_TRUE(WAIT_FOR(stats_of(self->fd).xfers >= xfers, 5000));
	start = now_ms();
	xfers = stats_of(self->fd).xfers;
	if (w->exits)
		say(&self->line, 0);
	else
		kill(pid, SIGKILL);
	EXPECT_EQ(w->exits ? 7 : 128 + SIGKILL, reap(pid));
	death.ms = now_ms() - start;
	card_behave();
	EXPECT_TRUE(WAIT_FOR(stats_of(self->fd).used == 0 && stats_of(self->fd).dirty == 0,
			     10000));
	death.xfers = stats_of(self->fd).xfers - xfers;
	return death;
}

/*
 * A process ends without waiting for its copy, and the copy with it. How long the end of a process
 * takes is the host's affair, but it does not depend on what the device had left to do. Until the end
 * each transfer that is over lets another one begin, and no more. Scrubbing takes as many for both.
 */
static void ended_during_copies(struct __test_metadata *_metadata,
				FIXTURE_DATA(life) *self, struct worker w)
{
	u64 additional = (MANY_ROWS - FEW_ROWS) * XFER_MS;
	struct death few, many;

	w.total = self->total;
	w.line = &self->line;
	few = end_during_copy(_metadata, self, &w, FEW_ROWS);
	many = end_during_copy(_metadata, self, &w, MANY_ROWS);
	printf("# %llu ms with %u rows, %llu ms with %u rows, and %llu transfers\n",
	       (unsigned long long)few.ms, FEW_ROWS, (unsigned long long)many.ms, MANY_ROWS,
	       (unsigned long long)many.xfers);
	EXPECT_GE(few.ms + additional * GROWTH_PERCENT / 100, many.ms);
	EXPECT_GE(few.xfers + many.ms / XFER_MS + OTHER_XFERS, many.xfers);
	NOTHING_LEFT();
}

TEST_F(life, killed_while_the_card_reads)
{
	ended_during_copies(_metadata, self, (struct worker){ .dir = PACCEL_COPY_H2D });
}

TEST_F(life, killed_while_the_card_writes)
{
	ended_during_copies(_metadata, self, (struct worker){ .dir = PACCEL_COPY_D2H });
}

/*
 * Memory of a killed process is not reused while the device still has a transfer of it. A transfer of edu
 * cannot be held for so long.
 */
TEST_F(life, memory_of_a_killed_process_is_kept_for_its_transfer)
{
	struct worker w = { .dir = PACCEL_COPY_D2H, .total = self->total, .line = &self->line,
			    .rows = FEW_ROWS };
	u64 xfers = stats_of(self->fd).xfers;
	pid_t pid;

	if (strcmp(card_kind(), "ring"))
		SKIP(return, "a transfer of %s cannot be held", card_kind());
	card_hold();
	pid = spawn(copy_for_long, &w);
	ASSERT_TRUE(hear(&self->line, 0));
	ASSERT_TRUE(WAIT_FOR(xfers_passed(self->fd, xfers) && card_is_held(), 5000));
	kill(pid, SIGKILL);
	EXPECT_EQ(128 + SIGKILL, reap(pid));
	/* At once: a driver that had freed it would have it scrubbed by another engine, and give it out. */
	test_err_mem_alloc(ENOMEM, self->fd, self->total, 0);
	card_behave();
	EXPECT_TRUE(WAIT_FOR(stats_of(self->fd).used == 0, 10000));
	NOTHING_LEFT();
}

TEST_F(life, killed_with_a_registration)
{
	ended_during_copies(_metadata, self, (struct worker){ .dir = PACCEL_COPY_D2H,
							      .registered = true });
}

TEST_F(life, exit_with_a_copy_in_another_thread)
{
	ended_during_copies(_metadata, self, (struct worker){ .dir = PACCEL_COPY_D2H,
							      .exits = true });
}

/* --- the process is gone, the file is not -------------------------------- */

static int hold_on(void *arg)
{
	struct worker *w = arg;

	say(w->line, 1);
	return !hear(w->line, 1);
}

/* Allocates, forks a child that keeps the file, and is killed. */
static int fork_and_wait(void *arg)
{
	struct worker *w = arg;
	int fd = card_open();
	pid_t child;
	u64 mem;

	CHILD_CHECK(fd >= 0);
	CHILD_EQ(0, _test_cmd_mem_alloc(fd, w->total, 0, &mem));
	child = fork();
	if (child == 0)
		_exit(hold_on(arg));
	pause();
	return child < 0;
}

TEST_F(life, killed_while_a_child_holds_the_file)
{
	struct worker w = { .total = self->total, .line = &self->line };
	pid_t pid = spawn(fork_and_wait, &w);

	ASSERT_TRUE(hear(&self->line, 0));
	EXPECT_EQ(self->total, stats_of(self->fd).used);
	kill(pid, SIGKILL);
	EXPECT_EQ(128 + SIGKILL, reap(pid));
	/* The child lives, and has the file open. */
	NOTHING_LEFT();
	say(&self->line, 0);
}

static int run_another_program(void *arg)
{
	struct worker *w = arg;
	int fd = card_open();
	u64 mem;

	CHILD_CHECK(fd >= 0);
	CHILD_EQ(0, _test_cmd_mem_alloc(fd, w->total, 0, &mem));
	CHILD_CHECK(fcntl(fd, F_SETFD, 0) == 0);
	say(w->line, 1);
	execl("/bin/sleep", "sleep", "1000", NULL);
	return 1;
}

/* A new program has a new address space, though the process and the file remain. */
TEST_F(life, exec_ends_the_context)
{
	struct worker w = { .total = self->total, .line = &self->line };
	pid_t pid = spawn(run_another_program, &w);

	ASSERT_TRUE(hear(&self->line, 0));
	NOTHING_LEFT();
	kill(pid, SIGKILL);
	reap(pid);
}

static int use_in_same_space(void *arg)
{
	int fd = *(int *)arg;
	u64 mem;

	return -_test_cmd_mem_alloc(fd, 1, 0, &mem);
}

/* What counts is the address space, not the number of the process. */
TEST_F(life, process_in_the_same_address_space)
{
	u8 *stack = map_pages(64);
	pid_t pid = clone(use_in_same_space, stack + 64 * page_size,
			  CLONE_VM | SIGCHLD, &self->fd);

	EXPECT_EQ(0, reap(pid));
	EXPECT_EQ(1, stats_of(self->fd).mine_allocs);
}

/* --- under a call -------------------------------------------------------- */

TEST_F(life, closed_under_a_copy)
{
	struct side_call copy = { .fn = side_copy, .dir = PACCEL_COPY_D2H,
				  .dst = (uintptr_t)self->host,
				  .shape = long_copy(ROWS_BESIDE) };
	u64 xfers, mem;

	copy.fd = card_open();
	test_cmd_mem_alloc(copy.fd, 64, 0, &mem);
	copy.src = mem;
	memset(self->host, 0xee, 8);
	ASSERT_TRUE(card_settle(self->fd));
	card_hold();
	xfers = stats_of(self->fd).xfers;
	side_call_start(&copy);
	ASSERT_TRUE(WAIT_FOR(xfers_passed(self->fd, xfers) && card_is_held(), 5000));
	close(copy.fd);
	/* The call holds the file: it is not cut off. */
	EXPECT_TRUE(!side_call_done(&copy) || !card_can_hold());
	card_behave();
	EXPECT_EQ(0, side_call_end(&copy));
	EXPECT_EQ(0, self->host[0]);
	EXPECT_EQ(0, self->host[4]);
	EXPECT_TRUE(WAIT_FOR(stats_of(self->fd).used == 0, 5000));
}

TEST_F(life, memory_freed_under_a_copy)
{
	struct side_call copy = { .fn = side_copy, .fd = self->fd,
				  .dir = PACCEL_COPY_D2H,
				  .dst = (uintptr_t)self->host,
				  .shape = long_copy(ROWS_BESIDE) };
	u64 xfers, mem;

	test_cmd_mem_alloc(self->fd, 64, 0, &mem);
	test_cmd_fill(self->fd, mem, 64, 0x42, 1);
	copy.src = mem;
	ASSERT_TRUE(card_settle(self->fd));
	card_hold();
	xfers = stats_of(self->fd).xfers;
	side_call_start(&copy);
	ASSERT_TRUE(WAIT_FOR(xfers_passed(self->fd, xfers) && card_is_held(), 5000));
	test_cmd_mem_free(self->fd, mem, 64);
	if (card_can_hold()) {
		/* At once: a driver that had freed it would wait until it is scrubbed, and give it out. */
		test_err_mem_alloc(ENOMEM, self->fd, self->total, 0);
		EXPECT_FALSE(side_call_done(&copy));
	}
	test_err_mem_free(ENOENT, self->fd, mem, 64);
	test_err_copy_d2h(EFAULT, self->fd, self->host + 100, mem, 1);
	card_behave();
	/* The copy reads what was there, to its end, and not a scrubbed byte. */
	EXPECT_EQ(0, side_call_end(&copy));
	for (u32 row = 0; row < ROWS_BESIDE; row++)
		EXPECT_EQ(0x42, self->host[2 * row]);
	EXPECT_TRUE(card_settle(self->fd));
}

/* --- signals ------------------------------------------------------------- */

TEST_F(life, timer_signals_end_nothing)
{
	u8 *expected = map_pages(self->total / page_size + 1);
	u64 mem, again;
	int before = storm_signals();

	test_cmd_mem_alloc(self->fd, self->total, 0, &mem);
	pattern_fill(self->host, self->total, 4);
	memcpy(expected, self->host, self->total);
	storm_begin(10 * slow_factor());
	test_cmd_copy_h2d(self->fd, mem, self->host, self->total);
	card_slow();
	test_cmd_copy_d2d(self->fd, mem + 2000, mem, 1000);
	test_cmd_fill(self->fd, mem, 1000, 7, 1);
	memset(self->host, 0, self->total);
	test_cmd_copy_d2h(self->fd, self->host, mem + 1000, 1000);
	test_cmd_mem_free(self->fd, mem, self->total);
	test_cmd_mem_alloc(self->fd, self->total, 0, &again);
	storm_end();
	/* Pending signals merge: at least one in each transfer. */
	EXPECT_LE(before + 4, storm_signals());
	EXPECT_EQ(-1, bytes_diff(self->host, expected + 1000, 1000));
}

/* Of the process: what the kernel does with each takes long, and longest where it checks locks. */
#define AREAS (2000u / slow_factor())
#define SIGNALS 20

static volatile sig_atomic_t signals;

static void count_signal(int number)
{
	(void)number;
	signals++;
}

static u64 now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (u64)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

/* A signal at some time of what takes so long; 0: none. */
static void signal_within(u64 us)
{
	u64 when = us ? 1 + rand() % us : 0;
	struct itimerval timer = { .it_value = { .tv_sec = when / 1000000,
						 .tv_usec = when % 1000000 } };

	setitimer(ITIMER_REAL, &timer, NULL);
}

struct took {
	u64 open, registration;		/* us */
	u64 signals;
};

/* In an address space of its own, which the kernel does not watch yet. */
static int open_and_register(void *arg)
{
	struct took *took = arg;
	struct sigaction action = { .sa_handler = count_signal };
	u8 *p = map_pages(1);
	u64 start;
	int fd;

	srand(getpid());
	sigaction(SIGALRM, &action, NULL);
	start = now_us();
	signal_within(took->open);
	fd = card_open();
	CHILD_CHECK(fd >= 0);
	if (!took->open)
		took->open = now_us() - start;
	start = now_us();
	signal_within(took->registration);
	CHILD_EQ(0, _test_cmd_host_register(fd, p, page_size, 0));
	if (!took->registration)
		took->registration = now_us() - start;
	took->signals += signals;
	return 0;
}

/* Wherever it comes: to watch an address space the kernel takes all its locks, or none for a signal. */
TEST_F(life, signals_do_not_keep_the_card_from_watching)
{
	struct took *took = mmap(NULL, page_size, PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	u8 *areas = map_pages(AREAS);

	for (u64 i = 0; i < AREAS; i += 2)
		ASSERT_EQ(0, mprotect(areas + i * page_size, page_size, PROT_READ));
	for (int i = 0; i <= SIGNALS; i++)
		ASSERT_EQ(0, run_in_child(open_and_register, took));
	TH_LOG("%llu us, %llu us, %llu signals", (unsigned long long)took->open,
	       (unsigned long long)took->registration, (unsigned long long)took->signals);
	EXPECT_LT(0, took->signals);
	munmap(areas, AREAS * page_size);
}

static int stopped_copy(void *arg)
{
	struct worker *w = arg;
	u8 *p = map_pages(1);
	int fd = card_open();
	u64 mem;

	CHILD_CHECK(fd >= 0);
	CHILD_EQ(0, _test_cmd_mem_alloc(fd, 64, 0, &mem));
	say(w->line, 1);
	CHILD_CHECK(_test_cmd_copy_2d(fd, PACCEL_COPY_H2D, mem, (uintptr_t)p,
				      long_copy(30)) == 0);
	return 0;
}

/* ^Z and fg in the middle of a copy, whose call goes on to its end before the process stops. */
TEST_F(life, stopped_and_continued)
{
	struct worker w = { .line = &self->line };
	u64 xfers = stats_of(self->fd).xfers;
	pid_t pid;

	ASSERT_TRUE(card_settle(self->fd));
	card_hold();
	pid = spawn(stopped_copy, &w);
	ASSERT_TRUE(hear(&self->line, 0));
	ASSERT_TRUE(WAIT_FOR(xfers_passed(self->fd, xfers) && card_is_held(), 5000));
	kill(pid, SIGSTOP);
	card_behave();
	/* An edu in the host's time is not held, and needs 3 s. */
	ASSERT_TRUE(WAIT_FOR(thread_state(pid, pid) == 'T', 20000));
	kill(pid, SIGCONT);
	EXPECT_EQ(0, reap(pid));
}

PACCEL_TEST_MAIN
