// SPDX-License-Identifier: MIT
/*
 * Each fault of the ring card alone: who is told what, how soon, and who is not touched by it. The
 * numbers are those of Documentation/faults.md. The watchdog is the module's and an order is for
 * whichever descriptor comes next: nothing else may run meanwhile.
 */
#include "ring_test.h"

#define BLOCK 4096
#define BLOCKS 33
#define LINKS 64	/* operations of a chain: a copy and a fill for each block but one */
/* More than one transfer. */
#define LARGE (5ull << 20)
#define SCRUB_PIECE (4ull << 20)	/* that the driver scrubs at a time */

FIXTURE(faults) {
	int fd;
	u64 total;
	char old_watchdog[16];
	struct counts before;
};

FIXTURE_VARIANT(faults) {
	const char *order;	/* but for how late */
	int late;		/* so many watchdogs late */
	int error;		/* of what it meets */
	int watchdogs, ms;	/* how long that takes at most */
	struct counts add;	/* what is counted when it meets a transfer that is alone */
	bool passes;		/* the card goes on, and does what is behind it */
	bool silent;		/* wrong bytes, and nobody can know */
};

FIXTURE_VARIANT_ADD(faults, stall) {
	.order = "stall", .error = -ETIMEDOUT, .watchdogs = 1,
	.add = { .timeouts = 1, .engine_resets = 1 },
};
FIXTURE_VARIANT_ADD(faults, stall_until_card) {
	.order = "stall until=card", .error = -ETIMEDOUT, .watchdogs = 1, .ms = RING_ANSWER_MS,
	.add = { .timeouts = 1, .resets = 1 },
};
FIXTURE_VARIANT_ADD(faults, drop) {
	.order = "drop", .error = -ETIMEDOUT, .watchdogs = 1, .passes = true,
	.add = { .timeouts = 1, .engine_resets = 1 },
};
FIXTURE_VARIANT_ADD(faults, late) { .order = "late", .ms = 10 };
FIXTURE_VARIANT_ADD(faults, too_late) {
	.order = "late", .late = 2, .error = -ETIMEDOUT, .watchdogs = 1, .passes = true,
	.add = { .timeouts = 1, .engine_resets = 1, .bogus = 1 },
};
FIXTURE_VARIANT_ADD(faults, twice) { .order = "twice", .add = { .bogus = 1 } };
FIXTURE_VARIANT_ADD(faults, reorder) { .order = "reorder", .ms = 100 };
FIXTURE_VARIANT_ADD(faults, wrong_id) {
	.order = "wrong-id", .error = -ETIMEDOUT, .watchdogs = 1, .passes = true,
	.add = { .timeouts = 1, .engine_resets = 1, .bogus = 1 },
};
FIXTURE_VARIANT_ADD(faults, wrong_generation) {
	.order = "wrong-generation", .error = -ETIMEDOUT, .watchdogs = 1, .passes = true,
	.add = { .timeouts = 1, .engine_resets = 1, .bogus = 1 },
};
FIXTURE_VARIANT_ADD(faults, wrong_length) {
	.order = "wrong-length", .error = -EIO, .passes = true,
	.add = { .engine_resets = 1, .bogus = 1 },
};
FIXTURE_VARIANT_ADD(faults, fail) { .order = "fail", .error = -EIO };
FIXTURE_VARIANT_ADD(faults, corrupt) { .order = "corrupt", .silent = true };
FIXTURE_VARIANT_ADD(faults, irq_lose) {
	.order = "irq-lose", .watchdogs = 1, .add = { .lost_irqs = 1 },
};
FIXTURE_VARIANT_ADD(faults, irq_repeat) { .order = "irq-repeat" };
FIXTURE_VARIANT_ADD(faults, irq_delay) { .order = "irq-delay", .ms = 10 };

FIXTURE_SETUP(faults)
{
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	self->total = info_of(self->fd).mem_size;
	ASSERT_TRUE(module_param("watchdog_ms", self->old_watchdog, 16));
	card_behave();
	ASSERT_TRUE(card_settle(self->fd));
	ASSERT_TRUE(watchdog_set(WATCHDOG_MS));
	self->before = counts_now();
}

FIXTURE_TEARDOWN(faults)
{
	card_behave();
	/* What is late would be counted by the next one: a reset asks every engine. */
	usleep(variant->late * WATCHDOG_MS * 1000);
	EXPECT_EQ(0, module_param_set("watchdog_ms", self->old_watchdog));
	if (variant->late || !card_health_is("ok"))
		EXPECT_EQ(0, _test_cmd_reset(self->fd));
	close(self->fd);
}

typedef FIXTURE_VARIANT(faults) Kind;

static void arm(struct __test_metadata *_metadata, const Kind *kind, int after)
{
	char late[32] = "";

	if (kind->late)
		snprintf(late, sizeof(late), " ns=%llu", kind->late * WATCHDOG_MS * 1000000ull);
	ASSERT_EQ(0, ring_order("%s after=%d%s", kind->order, after, late));
}

static u64 limit_of(const Kind *kind)
{
	return GENEROUS(kind->watchdogs * WATCHDOG_MS + kind->ms);
}

/*
 * Makes the card interrupt. What it says late of a transfer in the middle of a long copy is not
 * worth an interrupt: it is found with the next one.
 */
static bool stir(int fd)
{
	u64 mem;

	return !_test_cmd_mem_alloc(fd, page_size, 0, &mem) &&
	       !_test_cmd_fill(fd, mem, page_size, 0, 1) &&
	       !_test_cmd_mem_free(fd, mem, page_size);
}

/*
 * What the driver has counted. @alone: nothing was in flight that could have called it to the
 * completion whose interrupt was lost.
 */
static void check_counts(struct __test_metadata *_metadata, FIXTURE_DATA(faults) *self,
			 const Kind *kind, u64 times, bool alone)
{
	struct counts *b = &self->before, now;
	u64 bogus = b->bogus + kind->add.bogus * times;

	/* A restart may still be under way, and what comes too late is yet to come. */
	EXPECT_TRUE(WAIT_FOR(card_counter("resets") == b->resets + kind->add.resets * times, 5000));
	EXPECT_TRUE(WAIT_FOR(card_counter("engine_resets") ==
			     b->engine_resets + kind->add.engine_resets * times, 5000));
	EXPECT_TRUE(WAIT_FOR(card_counter("bogus") == bogus || !stir(self->fd), 5000));
	now = counts_now();
	EXPECT_EQ(b->timeouts + kind->add.timeouts * times, now.timeouts);
	EXPECT_EQ(b->engine_resets + kind->add.engine_resets * times, now.engine_resets);
	EXPECT_EQ(b->resets + kind->add.resets * times, now.resets);
	EXPECT_EQ(bogus, now.bogus);
	EXPECT_EQ(b->leaked_pages, now.leaked_pages);
	if (alone)
		EXPECT_EQ(b->lost_irqs + kind->add.lost_irqs * times, now.lost_irqs);
	EXPECT_TRUE(WAIT_FOR(card_health_is("ok"), 5000));
}

/* --- somebody else ------------------------------------------------------- */

/* Does everything once whenever it is told to, with its own eyes on the bytes. */
struct other {
	struct line line;
	pid_t pid;
};

static int other_main(void *arg)
{
	struct line *l = arg;
	struct call c;
	int fd = card_open();

	close(l->fd[0]);
	CHILD_CHECK(fd >= 0 && call_open(&c, fd, 3 * BLOCK + 5));
	say(l, 1);
	while (hear(l, 1)) {
		for (c.what = 0; c.what < 4; c.what++) {
			CHILD_CHECK(call_prepare(&c));
			call_main(&c);
			CHILD_EQ(0, c.rc);
			CHILD_CHECK(call_check(&c));
		}
		say(l, 1);
	}
	return 0;
}

static bool other_start(struct other *o)
{
	o->line = line_open();
	o->pid = spawn(other_main, &o->line);
	close(o->line.fd[1]);
	return hear(&o->line, 0);
}

static int other_end(struct other *o)
{
	close(o->line.fd[0]);
	return reap_within(o->pid, 20000 * slow_factor());
}

/*
 * One call that meets the fault, while others go on with theirs: behind it on the same engine
 * if there is one only.
 */
static void meet(struct __test_metadata *_metadata, const Kind *kind, struct call *c,
		 struct other *o, int after)
{
	u64 faults;

	ASSERT_TRUE(call_prepare(c));
	faults = ring_stat("faults");
	arm(_metadata, kind, after);
	ASSERT_EQ(0, pthread_create(&c->thread, NULL, call_main, c));
	ASSERT_TRUE(WAIT_FOR(ring_stat("faults") > faults, 5000));
	if (o) {
		say(&o->line, 0);
		EXPECT_TRUE(hear(&o->line, 0)) TH_LOG("the other one has failed");
	}
	pthread_join(c->thread, NULL);
	EXPECT_EQ(kind->error, c->rc) TH_LOG("call %d", c->what);
	EXPECT_GE(limit_of(kind), c->took) TH_LOG("call %d", c->what);
	if (kind->error == -ETIMEDOUT)
		EXPECT_LE(WATCHDOG_MS - 20, c->took);
	if (!c->rc)
		EXPECT_EQ(!kind->silent, call_check(c)) TH_LOG("call %d", c->what);
	printf("# call %d of %llu bytes: %d after %llu ms\n", c->what,
	       (unsigned long long)c->length, c->rc, (unsigned long long)c->took);
	/* As if nothing had been. */
	ASSERT_TRUE(WAIT_FOR(card_health_is("ok"), 5000));
	ASSERT_TRUE(call_prepare(c));
	call_main(c);
	EXPECT_EQ(0, c->rc);
	EXPECT_TRUE(call_check(c));
}

TEST_F(faults, call)
{
	struct other o;
	struct call c;

	ASSERT_TRUE(other_start(&o));
	ASSERT_TRUE(call_open(&c, self->fd, BLOCK + 1));
	for (c.what = 0; c.what < 4; c.what++) {
		/* A lost interrupt is noticed by whoever is behind. */
		meet(_metadata, variant, &c, variant->add.lost_irqs ? NULL : &o, 0);
		check_counts(_metadata, self, variant, c.what + 1, true);
	}
	EXPECT_EQ(0, other_end(&o));
	EXPECT_TRUE(call_close(&c));
	EXPECT_TRUE(WAIT_FOR(stats_of(self->fd).used == 0, 5000));
}

/* Of several transfers, the first or the last. */
TEST_F(faults, large_call)
{
	struct other o;
	struct call c;

	ASSERT_TRUE(other_start(&o));
	ASSERT_TRUE(call_open(&c, self->fd, LARGE));
	for (int i = 0; i < 2; i++) {
		c.what = i;
		meet(_metadata, variant, &c, variant->add.lost_irqs ? NULL : &o, 1 - i);
	}
	check_counts(_metadata, self, variant, 2, false);
	EXPECT_EQ(0, other_end(&o));
	EXPECT_TRUE(call_close(&c));
	EXPECT_TRUE(WAIT_FOR(stats_of(self->fd).used == 0, 5000));
}

/* --- chains -------------------------------------------------------------- */

/* What a block of a chain holds: a pattern, a filled value, or nobody knows. */
enum { PATTERN = -1, BEFORE = 0xee, UNKNOWN = -2 };

/*
 * A stream of operations each of which needs the one before: block n is copied to n + 1 and
 * then overwritten. So what is left out, done twice or done too early shows.
 */
struct chain {
	int fd, stream;
	unsigned int seed;
	u64 mem, first, last;	/* the points of what was submitted at last, and before it */
	int failed, error;	/* which operation has failed, LINKS if none; and how */
	int wrong;		/* 0, or the line that has found something */
	u64 took;
};

static bool chain_open(struct chain *c, int fd, unsigned int seed)
{
	*c = (struct chain){ .fd = fd, .seed = seed, .stream = stream_create(fd) };
	return c->stream > 0 && !_test_cmd_mem_alloc(fd, BLOCKS * BLOCK, 0, &c->mem);
}

static bool chain_prepare(struct chain *c)
{
	u8 first[BLOCK];

	pattern_fill(first, BLOCK, c->seed);
	return !_test_cmd_fill(c->fd, c->mem, BLOCKS * BLOCK, BEFORE, 1) &&
	       !_test_cmd_copy_h2d(c->fd, c->mem, first, BLOCK);
}

static struct paccel_op chain_op(struct chain *c, int n)
{
	u64 block = c->mem + n / 2 * BLOCK;

	if (n % 2)
		return op_fill(block, BLOCK, n, 1);
	return op_copy(PACCEL_COPY_D2D, block + BLOCK, block, BLOCK);
}

/* In turns, where there are several. */
static bool chains_submit(struct chain *c, int nr)
{
	for (int i = 0; i < nr; i++)
		c[i].first = c[i].last;
	for (int n = 0; n < LINKS * nr; n++) {
		struct chain *one = &c[n % nr];
		s64 point;

		/* It may have failed by now. */
		if (one->last != one->first + n / nr)
			continue;
		point = submit(one->fd, one->stream, chain_op(one, n / nr));
		if (point > 0)
			one->last = point;
		else if (point != -ECANCELED || n < nr)
			return false;
	}
	return true;
}

/* Waits for the end of all and notes which one has failed. Those behind it are cancelled. */
static void chain_wait(struct chain *c)
{
	u64 start = now_ms();
	struct paccel_stream_clear cleared;

	c->failed = LINKS;
	c->error = 0;
	c->wrong = 0;
	for (u64 point = c->first + 1; point <= c->last; point++) {
		int error = outcome(c->fd, c->stream, point);

		if (c->failed < LINKS && error != -ECANCELED)
			c->wrong = __LINE__;
		if (error && c->failed == LINKS) {
			c->failed = point - c->first - 1;
			c->error = error;
		}
	}
	c->took = now_ms() - start;
	if (c->failed == LINKS && c->last != c->first + LINKS)
		c->wrong = __LINE__;
	if (c->failed < LINKS && (_test_cmd_stream_clear(c->fd, c->stream, &cleared) ||
				  cleared.error != c->error))
		c->wrong = __LINE__;
}

/* The card is as it was but for what has been done. @passes: what is behind may have been. */
static void chain_check(struct chain *c, bool passes, bool silent)
{
	u8 got[BLOCK], want[BLOCK];
	int holds[BLOCKS];

	holds[0] = PATTERN;
	for (int i = 1; i < BLOCKS; i++)
		holds[i] = BEFORE;
	for (int n = 0; n < LINKS; n++) {
		int from = n / 2, to = n % 2 ? from : from + 1;

		if (n == c->failed || (n > c->failed && passes))
			holds[to] = UNKNOWN;
		else if (n < c->failed)
			holds[to] = n % 2 ? n : holds[from];
	}
	for (int i = 0; i < BLOCKS; i++) {
		if (_test_cmd_copy_d2h(c->fd, got, c->mem + i * BLOCK, BLOCK))
			c->wrong = __LINE__;
		if (holds[i] == PATTERN)
			pattern_fill(want, BLOCK, c->seed);
		else
			memset(want, holds[i], BLOCK);
		if (holds[i] != UNKNOWN && memcmp(got, want, BLOCK) && !silent) {
			fprintf(stderr, "# block %d of chain %u, failed %d: %02x, not %02x\n", i,
				c->seed, c->failed, got[0], want[0]);
			c->wrong = __LINE__;
		}
	}
}

/* Chains of one process and of another, which tells about its own in shared memory. */
#define CHAINS 3
#define MINE 2

struct chains {
	struct chain *c;
	struct line line;
	pid_t pid;
	bool passes, silent;
};

static int chains_main(void *arg)
{
	struct chains *all = arg;
	struct chain *c = &all->c[MINE];
	int fd = card_open();

	close(all->line.fd[0]);
	CHILD_CHECK(fd >= 0 && chain_open(c, fd, 30));
	for (;;) {
		say(&all->line, 1);
		if (!hear(&all->line, 1))
			return 0;
		CHILD_CHECK(chain_prepare(c));
		say(&all->line, 1);
		CHILD_CHECK(hear(&all->line, 1));
		CHILD_CHECK(chains_submit(c, 1));
		chain_wait(c);
		say(&all->line, 1);
		CHILD_CHECK(hear(&all->line, 1));
		chain_check(c, all->passes, all->silent);
	}
}

static bool both(struct chains *all)
{
	say(&all->line, 0);
	return true;
}

/*
 * All chains at once; one of them meets the fault, at whichever operation that is. @alone: without
 * the other process, for of several the card is given little at a time.
 */
static void meet_chains(struct __test_metadata *_metadata, struct chains *all,
			const Kind *kind, int after, int times, bool alone)
{
	int failed = 0, chains = alone ? MINE : CHAINS;

	EXPECT_TRUE(alone || both(all));
	for (int i = 0; i < MINE; i++)
		ASSERT_TRUE(chain_prepare(&all->c[i]));
	ASSERT_TRUE(alone || hear(&all->line, 0));
	/* So that the card has many in hand at once. */
	ASSERT_EQ(0, ring_order("set latency=200000"));
	for (int i = 0; i < times; i++)
		arm(_metadata, kind, after + 31 * i);
	EXPECT_TRUE(alone || both(all));
	ASSERT_TRUE(chains_submit(all->c, MINE));
	for (int i = 0; i < MINE; i++)
		chain_wait(&all->c[i]);
	ASSERT_TRUE(alone || hear(&all->line, 0)) TH_LOG("the other process has failed");
	/* What was cancelled has met nothing: some may still wait for it. */
	ASSERT_EQ(0, ring_order("clear"));
	ASSERT_EQ(0, ring_order("set latency=0"));
	EXPECT_TRUE(alone || both(all));
	for (int i = 0; i < MINE; i++)
		chain_check(&all->c[i], kind->passes, kind->silent);
	ASSERT_TRUE(alone || hear(&all->line, 0));

	for (int i = 0; i < chains; i++) {
		struct chain *c = &all->c[i];

		EXPECT_EQ(0, c->wrong) TH_LOG("chain %d", i);
		EXPECT_GE(times * limit_of(kind) + 2000 * slow_factor(), c->took);
		if (!c->error)
			continue;
		failed++;
		EXPECT_EQ(kind->error, c->error);
		printf("# chain %d, operation %d: %d after %llu ms\n", i, c->failed, c->error,
		       (unsigned long long)c->took);
	}
	EXPECT_EQ(!!kind->error, !!failed);
	EXPECT_GE(times, failed);
	EXPECT_TRUE(WAIT_FOR(card_health_is("ok"), 5000));
}


static void chains_begin(struct __test_metadata *_metadata, struct chains *all, int fd,
			 const Kind *kind)
{
	*all = (struct chains){ .line = line_open(), .passes = kind->passes,
				.silent = kind->silent };
	all->c = mmap(NULL, CHAINS * sizeof(*all->c), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, all->c);
	all->pid = spawn(chains_main, all);
	close(all->line.fd[1]);
	ASSERT_TRUE(hear(&all->line, 0));
	for (int i = 0; i < MINE; i++)
		ASSERT_TRUE(chain_open(&all->c[i], fd, 10 * i + 10));
}

static int chains_end(struct chains *all)
{
	close(all->line.fd[0]);
	return reap_within(all->pid, 20000 * slow_factor());
}

/* The first, one in the middle, the last of them. */
TEST_F(faults, chains)
{
	static const int after[] = { 0, 31, MINE * LINKS - 1 };
	struct chains all;

	chains_begin(_metadata, &all, self->fd, variant);
	for (size_t i = 0; i < ARRAY_SIZE(after); i++)
		meet_chains(_metadata, &all, variant, after[i], 1, i == 1);
	check_counts(_metadata, self, variant, ARRAY_SIZE(after), false);
	EXPECT_EQ(0, chains_end(&all));
}

/* A few, close together: the next one may be behind one that is not over yet. */
TEST_F(faults, chains_in_trouble)
{
	struct chains all;

	chains_begin(_metadata, &all, self->fd, variant);
	for (int i = 0; i < 2; i++)
		meet_chains(_metadata, &all, variant, i, 3, i);
	EXPECT_EQ(0, chains_end(&all));
}

/* What is behind a job in its stream is not run if an early part of that job has failed. */
TEST_F(faults, large_job_of_a_stream)
{
	struct call c;
	u64 small;
	int stream;
	u8 got[8];

	ASSERT_TRUE(call_open(&c, self->fd, LARGE));
	test_cmd_mem_alloc(self->fd, 8, 0, &small);
	test_cmd_fill(self->fd, small, 8, 0x11, 1);
	test_cmd_stream_create(self->fd, &stream);
	ASSERT_TRUE(call_prepare(&c));
	ASSERT_EQ(0, ring_order("set latency=10000000"));
	arm(_metadata, variant, 0);
	EXPECT_EQ(1, submit(self->fd, stream, op_h2d(c.a, c.host, LARGE)));
	EXPECT_EQ(2, submit(self->fd, stream, op_fill(small, 8, 0x22, 1)));
	EXPECT_EQ(variant->error, outcome(self->fd, stream, 1));
	EXPECT_EQ(variant->error ? -ECANCELED : 0, outcome(self->fd, stream, 2));
	ASSERT_TRUE(WAIT_FOR(card_health_is("ok"), 5000));
	test_cmd_copy_d2h(self->fd, got, small, 8);
	if (!variant->passes)
		EXPECT_TRUE(all_bytes(got, 8, variant->error ? 0x11 : 0x22));
	if (!variant->error)
		EXPECT_EQ(!variant->silent, call_check(&c));
	test_cmd_mem_free(self->fd, small, 8);
	EXPECT_TRUE(call_close(&c));
}

/*
 * A piece whose scrubbing has failed is scrubbed again, after the reset of the engine if there was one. An
 * allocation waits for that, and gets clean memory.
 */
TEST_F(faults, scrub)
{
	u64 mem, most = self->total - LARGE / 2, start;
	u8 *got = map_pages(self->total / page_size);

	for (int after = 0; after < 2; after++) {
		test_cmd_mem_alloc(self->fd, LARGE, 0, &mem);
		test_cmd_fill(self->fd, mem, LARGE, 0x33, 1);
		arm(_metadata, variant, after);
		start = now_ms();
		test_cmd_mem_free(self->fd, mem, LARGE);
		/* Nothing else is in use: this waits for the scrubbing. */
		test_cmd_mem_alloc(self->fd, most, 0, &mem);
		EXPECT_GE(limit_of(variant), now_ms() - start);
		memset(got, 0xff, most);
		test_cmd_copy_d2h(self->fd, got, mem, most);
		EXPECT_TRUE(variant->silent || (!got[0] && !memcmp(got, got + 1, most - 1)));
		EXPECT_EQ(0, stats_of(self->fd).quarantined);
		test_cmd_mem_free(self->fd, mem, most);
		ASSERT_TRUE(card_settle(self->fd));
	}
}

FIXTURE(pieces) {
	int fd;
	u64 total, rest, transfers;	/* two for each piece of all memory */
	char old_watchdog[16];
};

FIXTURE_SETUP(pieces)
{
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	ASSERT_TRUE(module_param("watchdog_ms", self->old_watchdog, 16));
	card_behave();
	ASSERT_TRUE(card_settle(self->fd));
	self->total = info_of(self->fd).mem_size;
	self->rest = self->total - page_size;
	self->transfers = (self->total + SCRUB_PIECE - 1) / SCRUB_PIECE * 2;
}

FIXTURE_TEARDOWN(pieces)
{
	card_behave();
	EXPECT_EQ(0, module_param_set("watchdog_ms", self->old_watchdog));
	EXPECT_EQ(0, _test_cmd_reset(self->fd));
	EXPECT_TRUE(card_settle(self->fd));
	EXPECT_EQ(self->total, stats_of(self->fd).free);
	close(self->fd);
}

/* Each piece is tried twice. The last try succeeds. */
TEST_F(pieces, only_those_that_failed)
{
	struct paccel_mem_stats s;
	u64 mem;

	test_cmd_mem_alloc(self->fd, self->rest, 0, &mem);
	ASSERT_EQ(0, ring_order("fail count=%d", (int)(2 * self->transfers - 2)));
	test_cmd_mem_free(self->fd, mem, self->rest);
	ASSERT_TRUE(card_settle(self->fd));
	s = stats_of(self->fd);
	EXPECT_TRUE(stats_add_up(&s));
	EXPECT_LT(0, s.quarantined);
	EXPECT_LE(s.quarantined, (self->transfers / 2 - 1) * SCRUB_PIECE);
	EXPECT_LT(page_size, s.free);
	test_cmd_mem_alloc(self->fd, s.largest_free, 0, &mem);
	test_cmd_mem_free(self->fd, mem, s.largest_free);
	ASSERT_TRUE(card_settle(self->fd));
}

/* A DMA request hangs, and so the engine is reset. */
static void recover(struct __test_metadata *_metadata, FIXTURE_DATA(pieces) *self, u64 mem)
{
	u64 resets = card_counter("engine_resets");
	struct call c = { .fd = self->fd, .a = mem, .length = 8, .what = 3 };

	ASSERT_TRUE(watchdog_set(WATCHDOG_MS));
	ASSERT_EQ(0, ring_order("stall"));
	ASSERT_EQ(0, pthread_create(&c.thread, NULL, call_main, &c));
	pthread_join(c.thread, NULL);
	EXPECT_EQ(-ETIMEDOUT, c.rc);
	EXPECT_TRUE(WAIT_FOR(card_counter("engine_resets") > resets && card_health_is("ok"), 5000));
	EXPECT_TRUE(card_settle(self->fd));
}

/* A piece that has failed is scrubbed again. If that fails, too, it is quarantined until a RESET. */
TEST_F(pieces, are_tried_twice)
{
	u64 mem, addr;

	test_cmd_mem_alloc(self->fd, page_size, 0, &mem);
	for (int failures = 1; failures <= 2; failures++) {
		test_cmd_mem_alloc(self->fd, page_size, 0, &addr);
		ASSERT_EQ(0, ring_order("fail count=%d", failures));
		test_cmd_mem_free(self->fd, addr, page_size);
		ASSERT_TRUE(card_settle(self->fd));
		EXPECT_EQ(failures == 2 ? page_size : 0, stats_of(self->fd).quarantined);
	}
	recover(_metadata, self, mem);
	EXPECT_EQ(page_size, stats_of(self->fd).quarantined);
	test_cmd_reset(self->fd);
	EXPECT_TRUE(card_settle(self->fd));
	EXPECT_EQ(0, stats_of(self->fd).quarantined);
	test_cmd_mem_free(self->fd, mem, page_size);
}

/*
 * A device that hangs in every scrub is not reset for each piece of its memory. Other engines may be scrubbing when
 * the fourth piece has timed out.
 */
TEST_F(pieces, that_hang_end)
{
	u64 timeouts = card_counter("timeouts"), others = info_of(self->fd).engines - 1, mem;

	test_cmd_mem_alloc(self->fd, self->rest, 0, &mem);
	ASSERT_TRUE(watchdog_set(WATCHDOG_MS));
	ASSERT_EQ(0, ring_order("stall count=1000"));
	test_cmd_mem_free(self->fd, mem, self->rest);
	test_err_mem_alloc(ENOMEM, self->fd, self->rest, 0);
	EXPECT_LE(timeouts + 4, card_counter("timeouts"));
	EXPECT_LT(0, stats_of(self->fd).dirty);
	EXPECT_TRUE(WAIT_FOR(!card_jobs() && card_health_is("ok"), 5000));
	EXPECT_GE(timeouts + 4 + others, card_counter("timeouts"));
	card_behave();
	test_cmd_reset(self->fd);
	test_cmd_mem_alloc(self->fd, self->rest, 0, &mem);
	test_cmd_mem_free(self->fd, mem, self->rest);
}

/*
 * Frees [@mem, @mem + @length), all memory, and starts @alloc, which waits for it. Returns true if the scrubbing
 * of the first piece has begun: its engine stands still until card_behave().
 */
static bool scrub_for(struct side_call *alloc, u64 mem, u64 length)
{
	bool alone;

	card_hold();
	/* No allocation waits yet, so no other engine scrubs. */
	alone = !_test_cmd_mem_free(alloc->fd, mem, length) && WAIT_FOR(card_is_held(), 5000) &&
		card_jobs() == 1 && !stats_of(alloc->fd).free;
	side_call_start(alloc);
	return alone;
}

/*
 * One piece is scrubbed at a time, so that copies find idle engines. If an allocation waits, each idle engine
 * scrubs one: all memory but the piece of the engine that stands still.
 *
 * Pieces become free in the order in which their scrubbing began. Otherwise the allocation would be given memory
 * behind the first piece as soon as there is enough, and another of the same size would not fit.
 */
TEST_F(pieces, on_idle_engines)
{
	u64 half = self->total / 2 / page_size * page_size, mem, high, bytes = ring_stat("bytes");
	struct side_call low = { .fn = side_alloc, .fd = self->fd, .length = half };

	if (info_of(self->fd).engines == 1)
		SKIP(return, "needs several engines");
	/* More pieces are not scrubbed behind one that is not. */
	ASSERT_GE(64 * SCRUB_PIECE, self->total);
	test_cmd_mem_alloc(self->fd, self->total, 0, &mem);
	EXPECT_TRUE(scrub_for(&low, mem, self->total));
	EXPECT_TRUE(WAIT_FOR(ring_stat("bytes") == bytes + self->total - SCRUB_PIECE, 5000));
	EXPECT_TRUE(WAIT_FOR(card_jobs() == 1, 5000));
	EXPECT_FALSE(side_call_done(&low));
	EXPECT_EQ(0, stats_of(self->fd).free);
	card_behave();
	EXPECT_EQ(0, side_call_end(&low));
	EXPECT_EQ(mem, low.addr);
	test_cmd_mem_alloc(self->fd, half, 0, &high);
	test_cmd_mem_free(self->fd, low.addr, half);
	test_cmd_mem_free(self->fd, high, half);
}

/* A piece that has failed does not wait for an earlier one before it is tried again. */
TEST_F(pieces, that_fail_behind_another)
{
	struct side_call all = { .fn = side_alloc, .fd = self->fd, .length = self->total };
	u64 xfers, mem;

	if (info_of(self->fd).engines == 1)
		SKIP(return, "needs several engines");
	test_cmd_mem_alloc(self->fd, self->total, 0, &mem);
	ASSERT_EQ(0, ring_order("fail after=1"));
	xfers = stats_of(self->fd).xfers;
	EXPECT_TRUE(scrub_for(&all, mem, self->total));
	EXPECT_TRUE(WAIT_FOR(xfers_passed(self->fd, xfers + self->transfers), 5000));
	EXPECT_FALSE(side_call_done(&all));
	card_behave();
	EXPECT_EQ(0, side_call_end(&all));
	test_cmd_mem_free(self->fd, all.addr, self->total);
}

/*
 * The completion of the first copy is lost, and those of three copies behind it are not. The fill was not started
 * when the failure was found: it never is.
 */
TEST_F(pieces, no_job_is_started_behind_a_failure)
{
	u64 length = 2 << 20, from, to, mark;
	int stream;
	u8 got[8];

	test_cmd_mem_alloc(self->fd, length, 0, &from);
	test_cmd_mem_alloc(self->fd, length, 0, &to);
	test_cmd_mem_alloc(self->fd, 8, 0, &mark);
	test_cmd_fill(self->fd, mark, 8, 0x11, 1);
	test_cmd_stream_create(self->fd, &stream);
	ASSERT_TRUE(watchdog_set(WATCHDOG_MS));
	ASSERT_EQ(0, ring_order("drop"));
	for (int i = 1; i <= 4; i++)
		EXPECT_EQ(i, submit(self->fd, stream, op_copy(PACCEL_COPY_D2D, to, from, length)));
	EXPECT_EQ(5, submit(self->fd, stream, op_fill(mark, 8, 0x22, 1)));
	EXPECT_EQ(-ETIMEDOUT, outcome(self->fd, stream, 1));
	for (int i = 2; i <= 5; i++)
		EXPECT_EQ(-ECANCELED, outcome(self->fd, stream, i));
	ASSERT_TRUE(WAIT_FOR(card_health_is("ok"), 5000));
	test_cmd_copy_d2h(self->fd, got, mark, 8);
	EXPECT_TRUE(all_bytes(got, 8, 0x11));
	test_cmd_mem_free(self->fd, from, length);
	test_cmd_mem_free(self->fd, to, length);
	test_cmd_mem_free(self->fd, mark, 8);
}

/* --- a process that is killed meanwhile ---------------------------------- */

static int doomed_main(void *arg)
{
	struct line *l = arg;
	int fd = card_open(), stream = stream_create(fd);
	struct call c;
	u64 mem;

	CHILD_CHECK(call_open(&c, fd, LARGE));
	CHILD_CHECK(!_test_cmd_mem_alloc(fd, BLOCK, 0, &mem));
	say(l, 1);
	CHILD_CHECK(hear(l, 1));
	for (int i = 0; i < 20; i++) {
		submit(fd, stream, op_h2d(c.a, c.host, LARGE));
		submit(fd, stream, op_d2h(c.host, c.b, LARGE));
	}
	for (;;) {
		u8 *pageable = map_pages(LARGE / page_size);

		_test_cmd_copy_d2h(fd, pageable, c.a, LARGE);
		munmap(pageable, LARGE);
	}
}

TEST_F(faults, killed_process)
{
	u64 pinned = pins(), faults = ring_stat("faults"), start, mem;
	struct line line = line_open();
	pid_t pid = spawn(doomed_main, &line);
	u8 *got = map_pages(LARGE / page_size);

	ASSERT_TRUE(hear(&line, 0));
	arm(_metadata, variant, 3);
	say(&line, 0);
	ASSERT_TRUE(WAIT_FOR(ring_stat("faults") > faults, 10000));
	start = now_ms();
	kill(pid, SIGKILL);
	/* It waits for no card; its memory does. */
	EXPECT_EQ(128 + SIGKILL, reap_within(pid, 5000 * slow_factor()));
	EXPECT_TRUE(WAIT_FOR(stats_of(self->fd).used == 0, 10000));
	EXPECT_TRUE(WAIT_FOR(pins() == pinned, 10000)) TH_LOG("%ld", (long)(pins() - pinned));
	EXPECT_GE(2 * limit_of(variant), now_ms() - start);
	ASSERT_TRUE(WAIT_FOR(card_health_is("ok"), 5000));
	test_cmd_mem_alloc(self->fd, LARGE, 0, &mem);
	memset(got, 0xff, LARGE);
	test_cmd_copy_d2h(self->fd, got, mem, LARGE);
	EXPECT_TRUE(!got[0] && !memcmp(got, got + 1, LARGE - 1));
	test_cmd_mem_free(self->fd, mem, LARGE);
	EXPECT_EQ(self->before.leaked_pages, card_counter("leaked_pages"));
}

/* --- a reset that comes in the middle of others' work --------------------- */

FIXTURE(middle) {
	int fd;
	char old_watchdog[16];
};

FIXTURE_SETUP(middle)
{
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	ASSERT_TRUE(module_param("watchdog_ms", self->old_watchdog, 16));
	card_behave();
	ASSERT_TRUE(card_settle(self->fd));
}

FIXTURE_TEARDOWN(middle)
{
	card_behave();
	EXPECT_EQ(0, module_param_set("watchdog_ms", self->old_watchdog));
	close(self->fd);
}

/*
 * The first transfer hangs, and what is behind it on the engine goes on, of which nobody hears.
 * Some of it ends between the watchdog's last look and the reset: that must not be done twice.
 */
TEST_F(middle, of_a_chain)
{
	struct chain chain;
	int stream;
	u64 mem;

	test_cmd_stream_create(self->fd, &stream);
	test_cmd_mem_alloc(self->fd, BLOCK, 0, &mem);
	ASSERT_TRUE(chain_open(&chain, self->fd, 7));
	for (int i = 1; i <= 5; i++) {
		ASSERT_TRUE(chain_prepare(&chain));
		ASSERT_TRUE(watchdog_set(200));
		ASSERT_EQ(0, ring_order("set latency=3500000"));
		ASSERT_EQ(0, ring_order("irq-lose count=4294967295"));
		ASSERT_EQ(0, ring_order("drop"));
		EXPECT_LT(0, submit(self->fd, stream, op_fill(mem, 8, 1, 1)));
		ASSERT_TRUE(chains_submit(&chain, 1));
		EXPECT_EQ(-ETIMEDOUT, outcome(self->fd, stream, i));
		chain_wait(&chain);
		ASSERT_EQ(0, ring_order("clear"));
		ASSERT_EQ(0, ring_order("set latency=0"));
		EXPECT_EQ(0, module_param_set("watchdog_ms", self->old_watchdog));
		EXPECT_EQ(0, chain.error);
		chain_check(&chain, false, false);
		EXPECT_EQ(0, chain.wrong);
		test_cmd_stream_clear(self->fd, stream, -ETIMEDOUT, (u64)i);
	}
}

PACCEL_TEST_MAIN
