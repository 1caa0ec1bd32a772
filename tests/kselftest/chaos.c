// SPDX-License-Identifier: MIT
/*
 * Processes that use the card in every way at once, and somebody who kills them, resets
 * the card and takes it away, all at random. What a copy brings back must be what was
 * sent, errors must be those that the events explain, each process gets on all the same,
 * nothing fails any more when the events are over, and in the end nothing is left.
 *
 * PACCEL_SEED=N repeats the choices (not their timing), PACCEL_CHAOS_MS=N is how long.
 */
#include <sys/random.h>
#include <sys/wait.h>

#include "paccel_test.h"

#define WORKERS 4
#define THREADS 2
#define COPIES 10	/* that each process, with those in its place, gets done between events */
#define MAX 300		/* bytes of a block */

/* Found by anybody, reported by the test. */
struct report {
	int wrong_bytes, wrong_error;
	int last_error, last_line;
	int copies[WORKERS];	/* that went well */
	bool calm;		/* there are no more events */
	/* Of rounds on files that were opened since: */
	int right[WORKERS][THREADS], failed;
};

static struct report *report;

static void wrong_error(int line, int rc)
{
	report->last_error = rc;
	report->last_line = line;
	__atomic_fetch_add(&report->wrong_error, 1, __ATOMIC_RELAXED);
}

/* --- a process that uses the card -------------------------------------------- */

struct user {
	pthread_t thread;
	unsigned int seed;
	int worker, number, fd;
	bool calm;	/* since the file was opened */
	u8 *host;	/* two pages */
	bool registered, own, spoiled;
	u64 offset;
};

static unsigned int draw(struct user *u, unsigned int below)
{
	return rand_r(&u->seed) % below;
}

/* Errors that the events explain. Anything else is reported. */
#define EXPLAINED(rc, extra)                                                   \
	({                                                                     \
		int _rc = (rc);                                                \
									       \
		if (_rc && _rc != -ENODEV && _rc != -EIO && _rc != -ENOMEM &&  \
		    _rc != (extra))                                            \
			wrong_error(__LINE__, _rc);                            \
		_rc;                                                           \
	})

static void host_begin(struct user *u)
{
	u->registered = u->own = u->spoiled = false;
	u->host = NULL;
	if (draw(u, 3) == 0 &&
	    !EXPLAINED(_test_cmd_host_alloc(u->fd, 2 * page_size, &u->offset), 0)) {
		u->host = host_map(u->fd, 2 * page_size, u->offset);
		u->own = u->host != MAP_FAILED;
	}
	if (!u->own)
		u->host = map_pages(2);
	if (!u->own && draw(u, 2))
		u->registered = !EXPLAINED(_test_cmd_host_register(u->fd, u->host,
							2 * page_size, 0), 0);
}

/*
 * The pages go first, or the range. Their place stays taken until both are gone: another thread
 * that was given it would have memory in a range that is dead.
 */
static void host_end(struct user *u)
{
	if (draw(u, 2))
		mmap(u->host, 2 * page_size, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	if (u->own)
		EXPLAINED(_test_cmd_host_free(u->fd, NULL, u->offset), 0);
	else if (u->registered)
		EXPLAINED(_test_cmd_host_free(u->fd, u->host, 0), 0);
	munmap(u->host, 2 * page_size);
}

static void *exit_at_once(void *arg)
{
	return arg;
}

/* Something behind the driver's back, in the middle of whatever the others do. */
static void disturb(struct user *u)
{
	pthread_t thread;
	pid_t pid;

	switch (draw(u, 6)) {
	case 0:
		if (!u->own) {
			madvise(u->host, 2 * page_size, MADV_DONTNEED);
			u->spoiled = true;
		}
		break;
	case 1:
		pid = fork();
		if (pid == 0)
			_exit(0);
		if (pid > 0)
			waitpid(pid, NULL, 0);
		break;
	case 2:
		mprotect(u->host, page_size, PROT_READ);
		mprotect(u->host, page_size, PROT_READ | PROT_WRITE);
		break;
	case 3:
		if (!pthread_create(&thread, NULL, exit_at_once, NULL))
			pthread_join(thread, NULL);
		break;
	}
}

/* Counts one that went well. */
static int copied(struct user *u, int rc)
{
	if (!rc)
		__atomic_fetch_add(&report->copies[u->worker], 1, __ATOMIC_RELAXED);
	return rc;
}

/* There and back. If both went well the bytes are right, whatever else happened. */
static int round_trip(struct user *u, u64 mem, u64 n)
{
	unsigned int seed = draw(u, 1000);
	u8 *to = u->host, *from = u->host + page_size + draw(u, 500);
	/* A registration over pages that were replaced is dead. */
	int dead = u->registered && u->spoiled ? -EFAULT : 0;
	int rc;

	pattern_fill(to, n, seed);
	rc = copied(u, EXPLAINED(_test_cmd_copy_h2d(u->fd, mem, to, n), dead));
	if (!rc && n > 16 && draw(u, 3) == 0)
		rc = EXPLAINED(_test_cmd_copy_d2d(u->fd, mem + n / 2 + 1, mem, n / 4), 0) ?:
		     EXPLAINED(_test_cmd_copy_h2d(u->fd, mem, to, n), dead);
	if (!rc)
		rc = copied(u, EXPLAINED(_test_cmd_copy_d2h(u->fd, from, mem, n), dead));
	if (!rc && pattern_diff(from, n, seed) >= 0)
		__atomic_fetch_add(&report->wrong_bytes, 1, __ATOMIC_RELAXED);
	return rc;
}

static int one_round(struct user *u)
{
	u64 n = draw(u, MAX) + 1, mem;
	int rc = EXPLAINED(_test_cmd_mem_alloc(u->fd, n, 0, &mem), 0);

	if (rc)
		return rc;
	host_begin(u);
	if (draw(u, 3) == 0)
		disturb(u);
	rc = round_trip(u, mem, n);
	if (draw(u, 2))
		EXPLAINED(_test_cmd_fill(u->fd, mem, n, 1, 1), 0);
	host_end(u);
	EXPLAINED(_test_cmd_mem_free(u->fd, mem, n), 0);
	if (u->calm && !rc)
		__atomic_fetch_add(&report->right[u->worker][u->number], 1, __ATOMIC_RELAXED);
	else if (u->calm && rc != -EFAULT)
		__atomic_fetch_add(&report->failed, 1, __ATOMIC_RELAXED);
	return rc;
}

static bool calm_now(void)
{
	return __atomic_load_n(&report->calm, __ATOMIC_ACQUIRE);
}

static void *use_the_card(void *arg)
{
	struct user *u = arg;

	while (one_round(u) != -ENODEV && draw(u, 8) && u->calm == calm_now())
		;
	return NULL;
}

struct job {
	int number;
	unsigned int seed;
};

/* Until it is killed. */
static int worker(void *arg)
{
	struct job job = *(struct job *)arg;
	struct user u[THREADS];
	bool calm;
	int fd;

	for (;;) {
		calm = calm_now();
		if (!WAIT_FOR((fd = card_open()) >= 0, 1000))
			continue;
		for (int i = 0; i < THREADS; i++) {
			u[i] = (struct user){ .fd = fd, .seed = job.seed++, .calm = calm,
					      .worker = job.number, .number = i };
			if (pthread_create(&u[i].thread, NULL, use_the_card, &u[i]))
				abort();
		}
		for (int i = 0; i < THREADS; i++)
			pthread_join(u[i].thread, NULL);
		close(fd);
	}
	return 0;
}

/* --- who disturbs them --------------------------------------------------------- */

FIXTURE(chaos) {
	unsigned int seed;
	pid_t pid[WORKERS];
	u64 total;
};

FIXTURE_SETUP(chaos)
{
	const char *seed = getenv("PACCEL_SEED");
	int fd = card_open();

	ASSERT_LE(0, fd);
	self->total = info_of(fd).mem_size;
	close(fd);
	report = mmap(NULL, page_size, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, report);
	if (seed)
		self->seed = strtoul(seed, NULL, 0);
	else
		ASSERT_EQ(sizeof(self->seed),
			  getrandom(&self->seed, sizeof(self->seed), 0));
	printf("# PACCEL_SEED=%u\n", self->seed);
}

static void start_worker(FIXTURE_DATA(chaos) *self, int i)
{
	struct job job = { .number = i, .seed = rand_r(&self->seed) };

	self->pid[i] = spawn(worker, &job);
}

static void stop_worker(struct __test_metadata *_metadata, FIXTURE_DATA(chaos) *self,
			int i)
{
	kill(self->pid[i], SIGKILL);
	EXPECT_EQ(128 + SIGKILL, reap_within(self->pid[i], 5000));
}

FIXTURE_TEARDOWN(chaos)
{
	u8 *host = map_pages(self->total / page_size + 1);
	struct paccel_mem_stats s;
	int fd = card_open();
	u64 addr = 0;

	ASSERT_LE(0, fd);
	EXPECT_TRUE(WAIT_FOR(card_health_is("ok"), 5000));
	EXPECT_TRUE(WAIT_FOR(stats_of(fd).used == 0, 10000));
	EXPECT_EQ(0, _test_cmd_mem_alloc(fd, self->total, 0, &addr));
	EXPECT_EQ(0, _test_cmd_copy_d2h(fd, host, addr, self->total));
	EXPECT_TRUE(all_bytes(host, self->total, 0));
	s = stats_of(fd);
	EXPECT_TRUE(stats_add_up(&s));
	EXPECT_EQ(0, s.quarantined);
	close(fd);
}

static void reset_card(void)
{
	int fd = card_open();

	if (fd < 0)
		return;
	_test_cmd_reset(fd);
	close(fd);
}

static void one_event(struct __test_metadata *_metadata, FIXTURE_DATA(chaos) *self)
{
	int i = rand_r(&self->seed) % WORKERS;

	switch (rand_r(&self->seed) % 8) {
	case 0:
	case 1:
	case 2:
		stop_worker(_metadata, self, i);
		start_worker(self, i);
		break;
	case 3:
		kill(self->pid[i], SIGSTOP);
		kill(self->pid[i], SIGCONT);
		break;
	case 4:
	case 5:
		reset_card();
		break;
	case 6:
		pci_attr_write(card_bdf(), "reset", "1");
		break;
	case 7:
		xfers_note();
		EXPECT_EQ(0, driver_unbind(card_bdf()));
		EXPECT_EQ(0, driver_bind(card_bdf()));
		break;
	}
}

/* True once each process has made its copies, in spite of all that happens. */
static bool all_have_copied(void)
{
	for (int i = 0; i < WORKERS; i++)
		if (__atomic_load_n(&report->copies[i], __ATOMIC_RELAXED) < COPIES)
			return false;
	return true;
}

static bool all_were_right(void)
{
	for (int i = 0; i < WORKERS * THREADS; i++)
		if (!__atomic_load_n(&report->right[i / THREADS][i % THREADS], __ATOMIC_RELAXED))
			return false;
	return true;
}

TEST_F(chaos, everything_at_once)
{
	const char *ms = getenv("PACCEL_CHAOS_MS");
	u64 start = now_ms(), end = start + (ms ? strtoul(ms, NULL, 0) : 6000);
	u64 limit = end + 100000 * slow_factor();
	int tries = 1;

	for (int i = 0; i < WORKERS; i++)
		start_worker(self, i);
	while (now_ms() < end || (!all_have_copied() && now_ms() < limit)) {
		tries += now_ms() >= end;
		/* The time between two events is what is random here. */
		usleep(rand_r(&self->seed) % 200000);
		one_event(_metadata, self);
	}
	if (tries > 1)
		printf("# tries: chaos.everything_at_once %d\n", tries);
	for (int i = 0; i < WORKERS; i++) {
		printf("# process %d: %d copies in %llu ms\n", i, report->copies[i],
		       (unsigned long long)(now_ms() - start));
		EXPECT_LE(COPIES, report->copies[i]);
	}
	__atomic_store_n(&report->calm, true, __ATOMIC_RELEASE);
	EXPECT_TRUE(WAIT_FOR(all_were_right(), 100000));
	EXPECT_EQ(0, report->failed);
	for (int i = 0; i < WORKERS; i++)
		stop_worker(_metadata, self, i);
	EXPECT_EQ(0, report->wrong_bytes);
	EXPECT_EQ(0, report->wrong_error) TH_LOG("last: %d in line %d",
						 report->last_error, report->last_line);
}

PACCEL_TEST_MAIN
