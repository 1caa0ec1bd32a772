// SPDX-License-Identifier: MIT
/*
 * The allocator of device memory: where memory goes, who may have how much, and
 * every refusal. Runs with scrub=0: not one transfer is needed, which the teardown
 * checks.
 */
#include <sys/stat.h>

#include "paccel_test.h"

FIXTURE(alloc) {
	int fd;
	u64 total, granule, base, max_align;
	struct paccel_mem_stats before;
};

FIXTURE_SETUP(alloc)
{
	struct paccel_device_info info;

	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	if (scrub_is_on())
		SKIP(return, "needs the module loaded with scrub=0");
	info = info_of(self->fd);
	self->total = info.mem_size;
	self->granule = info.granule;
	self->base = info.mem_base;
	self->max_align = info.max_align;
	self->before = stats_of(self->fd);
	ASSERT_EQ(0, self->before.used);
	ASSERT_EQ(self->total, self->before.free);
}

FIXTURE_TEARDOWN(alloc)
{
	int fd = card_open();
	struct paccel_mem_stats after;

	close(self->fd);
	after = stats_of(fd);
	EXPECT_TRUE(stats_add_up(&after));
	EXPECT_EQ(0, after.used);
	EXPECT_EQ(self->total, after.largest_free);
	EXPECT_EQ(0, after.dirty);
	EXPECT_EQ(self->before.xfers, after.xfers);
	close(fd);
}

static u64 alloc_granules(struct __test_metadata *_metadata, int fd, u64 granule,
			  u64 n)
{
	u64 addr = 0;

	test_cmd_mem_alloc(fd, n * granule, 0, &addr);
	return addr;
}

#define ALLOC(n) alloc_granules(_metadata, self->fd, self->granule, n)
#define FREE(addr, n) test_cmd_mem_free(self->fd, addr, (n) * self->granule)

/* --- one allocation ------------------------------------------------------ */

TEST_F(alloc, refusals_change_nothing)
{
	struct paccel_mem_stats s;

	test_err_mem_alloc(EINVAL, self->fd, 0, 0);
	test_err_mem_alloc(EINVAL, self->fd, 1, 3);
	test_err_mem_alloc(EINVAL, self->fd, 1, self->granule + 1);
	test_err_mem_alloc(EINVAL, self->fd, 1, self->max_align * 2);
	test_err_mem_alloc(EINVAL, self->fd, 1, self->max_align + self->granule);
	test_err_mem_alloc(EINVAL, self->fd, 1, 1ull << 63);
	test_err_mem_alloc(EINVAL, self->fd, 1, ~0ull);
	EXPECT_EQ(self->before.alloc_failures, stats_of(self->fd).alloc_failures);

	test_err_mem_alloc(ENOMEM, self->fd, self->total + 1, 0);
	test_err_mem_alloc(ENOMEM, self->fd, self->total + self->granule, 0);
	test_err_mem_alloc(ENOMEM, self->fd, 1ull << 32, 0);
	test_err_mem_alloc(ENOMEM, self->fd, 1ull << 63, 0);
	/* Rounding up to a granule must not wrap to little or nothing. */
	test_err_mem_alloc(ENOMEM, self->fd, ~0ull - self->granule + 2, 0);
	test_err_mem_alloc(ENOMEM, self->fd, ~0ull, 0);
	test_err_mem_alloc(ENOMEM, self->fd, ~0ull, self->max_align);

	s = stats_of(self->fd);
	EXPECT_EQ(self->before.alloc_failures + 7, s.alloc_failures);
	EXPECT_EQ(self->before.allocs, s.allocs);
	EXPECT_EQ(0, s.used);
	EXPECT_EQ(self->total, s.largest_free);
}

TEST_F(alloc, statistics_move_by_granules)
{
	struct paccel_mem_stats s;
	u64 a, b;

	test_cmd_mem_alloc(self->fd, 1, 0, &a);
	s = stats_of(self->fd);
	EXPECT_TRUE(stats_add_up(&s));
	EXPECT_EQ(self->granule, s.used);
	EXPECT_EQ(self->granule, s.mine);
	EXPECT_EQ(self->granule, s.user);
	EXPECT_EQ(1, s.mine_allocs);
	EXPECT_EQ(self->before.allocs + 1, s.allocs);
	EXPECT_EQ(self->total - self->granule, s.free);

	test_cmd_mem_alloc(self->fd, self->granule + 1, 0, &b);
	s = stats_of(self->fd);
	EXPECT_TRUE(stats_add_up(&s));
	EXPECT_EQ(3 * self->granule, s.used);
	EXPECT_EQ(2, s.mine_allocs);
	EXPECT_LE(self->base, a);
	EXPECT_EQ(0, a % self->granule);
	EXPECT_EQ(0, b % self->granule);

	test_cmd_mem_free(self->fd, a, 1);
	s = stats_of(self->fd);
	EXPECT_TRUE(stats_add_up(&s));
	EXPECT_EQ(2 * self->granule, s.mine);
	EXPECT_EQ(1, s.mine_allocs);
	test_cmd_mem_free(self->fd, b, self->granule + 1);
}

TEST_F(alloc, free_wants_the_exact_address)
{
	u64 n = 4 * self->granule, addr;

	test_cmd_mem_alloc(self->fd, n, 0, &addr);
	test_err_mem_free(ENOENT, self->fd, addr + 1, n);
	test_err_mem_free(ENOENT, self->fd, addr + 1, n - 1);
	test_err_mem_free(ENOENT, self->fd, addr + self->granule, self->granule);
	test_err_mem_free(ENOENT, self->fd, addr + n, self->granule);
	test_err_mem_free(ENOENT, self->fd, addr - 1, n);
	/* Cut to 32 bits, as a careless program does. */
	test_err_mem_free(ENOENT, self->fd, (u32)addr, n);
	test_err_mem_free(ENOENT, self->fd, 0, n);
	test_err_mem_free(ENOENT, self->fd, ~0ull, n);
	test_err_mem_free(ENOENT, self->fd, self->base + self->total, n);
	EXPECT_EQ(n, stats_of(self->fd).mine);
	test_cmd_mem_free(self->fd, addr, n);
	test_err_mem_free(ENOENT, self->fd, addr, n);
	EXPECT_EQ(0, stats_of(self->fd).used);
}

TEST_F(alloc, alignment)
{
	u64 addr;

	/* All of them live at once, so that each has to look for its place. */
	for (u64 align = 1; align < self->total / 2 && align <= 512; align *= 2) {
		test_cmd_mem_alloc(self->fd, 1, align, &addr);
		EXPECT_EQ(0, addr % align);
		EXPECT_EQ(0, addr % self->granule);
	}
	EXPECT_EQ(10, stats_of(self->fd).mine_allocs);
}

TEST_F(alloc, alignment_larger_than_the_card)
{
	u64 addr;

	/* Only the very first byte is aligned like that. */
	test_cmd_mem_alloc(self->fd, 1, self->max_align, &addr);
	EXPECT_EQ(self->base, addr);
	if (self->total <= self->max_align) {
		test_err_mem_alloc(ENOMEM, self->fd, 1, self->max_align);
		test_err_mem_alloc(ENOMEM, self->fd, 1, 4096);
	}
	test_cmd_mem_free(self->fd, addr, 1);
	test_cmd_mem_alloc(self->fd, 1, 4096, &addr);
	EXPECT_EQ(self->base, addr);
}

/* --- many allocations ---------------------------------------------------- */

TEST_F(alloc, exhaustion_to_the_last_granule)
{
	u64 n = self->total / self->granule, addr, got = 0;
	u8 *seen = calloc(n, 1);
	struct paccel_mem_stats s;

	while (!_test_cmd_mem_alloc(self->fd, 1, 0, &addr)) {
		ASSERT_LE(self->base, addr);
		ASSERT_GT(self->base + self->total, addr);
		EXPECT_EQ(0, seen[(addr - self->base) / self->granule]++);
		got++;
	}
	EXPECT_EQ(n, got);
	s = stats_of(self->fd);
	EXPECT_TRUE(stats_add_up(&s));
	EXPECT_EQ(0, s.free);
	EXPECT_EQ(0, s.largest_free);
	EXPECT_EQ(n, s.mine_allocs);
	test_err_mem_alloc(ENOMEM, self->fd, 1, 0);

	/* One granule back, and it is the one that is found. */
	test_cmd_mem_free(self->fd, self->base + 5 * self->granule, 1);
	EXPECT_EQ(self->granule, stats_of(self->fd).largest_free);
	test_err_mem_alloc(ENOMEM, self->fd, self->granule + 1, 0);
	test_cmd_mem_alloc(self->fd, self->granule, 0, &addr);
	EXPECT_EQ(self->base + 5 * self->granule, addr);
}

/* Every second granule is a hole, and none of them is aligned. */
TEST_F(alloc, aligned_place_among_many_holes)
{
	u64 g = self->granule, n = self->total / g & ~1ull, place = self->base + 8 * g, addr;

	for (u64 i = 0; i < self->total / g; i++)
		ASSERT_EQ(self->base + i * g, ALLOC(1));
	ASSERT_EQ(0, self->base % (2 * g));
	for (u64 i = 1; i < n; i += 2)
		FREE(self->base + i * g, 1);
	test_err_mem_alloc(ENOMEM, self->fd, g, 2 * g);
	/* A hole of two granules, of which the first is aligned. */
	test_cmd_mem_alloc(self->fd, g, 0, &addr);
	EXPECT_EQ(self->base + g, addr);
	FREE(self->base + 2 * g, 1);
	test_cmd_mem_alloc(self->fd, g, 2 * g, &addr);
	EXPECT_EQ(self->base + 2 * g, addr);
	/* A hole of three has an aligned granule wherever it begins. */
	FREE(place, 1);
	test_cmd_mem_alloc(self->fd, g, 2 * g, &addr);
	EXPECT_EQ(place, addr);
	test_err_mem_alloc(ENOMEM, self->fd, g, 2 * g);
}

TEST_F(alloc, whole_card_at_once)
{
	u64 addr;

	test_cmd_mem_alloc(self->fd, self->total, 0, &addr);
	EXPECT_EQ(self->base, addr);
	test_err_mem_alloc(ENOMEM, self->fd, 1, 0);
	test_cmd_mem_free(self->fd, addr, self->total);
	/* Not rounded to less than what was asked for. */
	test_cmd_mem_alloc(self->fd, self->total - 1, 0, &addr);
	test_err_mem_alloc(ENOMEM, self->fd, 1, 0);
}

TEST_F(alloc, best_fit)
{
	u64 rest = self->total / self->granule - 10;
	u64 a = ALLOC(2), b = ALLOC(1), c = ALLOC(3), d = ALLOC(1), e = ALLOC(2),
	    f = ALLOC(1), g = ALLOC(rest), addr;

	/* Holes of 3 and 2: the tightest, although the other is lower. */
	FREE(c, 3);
	FREE(e, 2);
	EXPECT_EQ(3 * self->granule, stats_of(self->fd).largest_free);
	EXPECT_EQ(e, addr = ALLOC(2));
	/* Holes of 2, 3 and 2: the lower of the equal ones. */
	FREE(addr, 2);
	FREE(a, 2);
	EXPECT_EQ(a, ALLOC(2));
	EXPECT_EQ(e, ALLOC(2));
	/* Only the hole of 3 is left, and is cut from its low end. */
	EXPECT_EQ(c, ALLOC(1));
	EXPECT_EQ(2 * self->granule, stats_of(self->fd).largest_free);
	EXPECT_EQ(c + self->granule, ALLOC(2));
	test_err_mem_alloc(ENOMEM, self->fd, 1, 0);
	FREE(b, 1);
	FREE(d, 1);
	FREE(f, 1);
	FREE(g, rest);
}

/* The tightest hole may not hold an aligned place; then the next one has to. */
TEST_F(alloc, best_fit_with_alignment)
{
	u64 g = self->granule, rest = self->total / g - 10;
	u64 a = ALLOC(1), hole2 = ALLOC(2), b = ALLOC(1), hole4 = ALLOC(4), addr;

	ALLOC(2);
	ALLOC(rest);
	ASSERT_EQ(self->base, a);
	ASSERT_EQ(a + 3 * g, b);
	FREE(hole2, 2);
	FREE(hole4, 4);
	/* hole2 begins at granule 1: two granules aligned to two do not fit. */
	test_cmd_mem_alloc(self->fd, 2 * g, 2 * g, &addr);
	EXPECT_EQ(hole4, addr);
	/* Holes of two and two: the lower one, whose second granule is aligned. */
	test_cmd_mem_alloc(self->fd, g, 2 * g, &addr);
	EXPECT_EQ(hole2 + g, addr);
	test_cmd_mem_alloc(self->fd, g, 2 * g, &addr);
	EXPECT_EQ(hole4 + 2 * g, addr);
	test_err_mem_alloc(ENOMEM, self->fd, g, 2 * g);
	EXPECT_EQ(2 * g, stats_of(self->fd).free);
	test_cmd_mem_alloc(self->fd, g, g, &addr);
	test_cmd_mem_alloc(self->fd, g, g, &addr);
	EXPECT_EQ(0, stats_of(self->fd).free);
}

/*
 * Where @n granules at a multiple of @align granules belong: into the smallest hole that holds them, the
 * lowest of equals. ~0 if there is none.
 */
static u64 best_place(const bool *used, u64 granules, u64 n, u64 align)
{
	u64 best = ~0ull, least = ~0ull;

	for (u64 first = 0, end; first < granules; first = end + 1) {
		u64 at = (first + align - 1) / align * align;

		for (end = first; end < granules && !used[end]; end++)
			;
		if (at + n <= end && end - first < least) {
			least = end - first;
			best = at;
		}
	}
	return best;
}

#define BLOCKS 200
#define STEPS 3000

TEST_F(alloc, random_best_fit)
{
	u64 granules = self->total / self->granule, at, addr, failed = 0;
	struct { u64 at, n; } blocks[BLOCKS] = { };
	bool *used = calloc(granules, 1);
	unsigned int seed = 1;
	int rc;

	ASSERT_NE(NULL, used);
	for (int i = 0; i < STEPS; i++) {
		int k = rand_r(&seed) % BLOCKS;
		u64 n = blocks[k].n, align;

		if (n) {
			test_cmd_mem_free(self->fd, self->base + blocks[k].at * self->granule,
					  n * self->granule);
			memset(used + blocks[k].at, 0, n);
			blocks[k].n = 0;
			continue;
		}
		n = 1 + rand_r(&seed) % (granules / 40);
		align = 1 << rand_r(&seed) % 10;
		at = best_place(used, granules, n, align);
		rc = _test_cmd_mem_alloc(self->fd, n * self->granule, align * self->granule, &addr);
		if (at == ~0ull) {
			ASSERT_EQ(-ENOMEM, rc) TH_LOG("step %d: %llu at %llu", i,
						      (unsigned long long)n,
						      (unsigned long long)align);
			failed++;
			continue;
		}
		ASSERT_EQ(0, rc) TH_LOG("step %d", i);
		ASSERT_EQ(self->base + at * self->granule, addr) TH_LOG("step %d", i);
		memset(used + at, 1, n);
		blocks[k].at = at;
		blocks[k].n = n;
	}
	printf("# %llu of %d steps found no place\n", (unsigned long long)failed, STEPS);
	EXPECT_LT(0, failed);
	free(used);
}

TEST_F(alloc, fragmentation)
{
	u64 n = self->total / self->granule, *addr = calloc(n, sizeof(*addr));
	struct paccel_mem_stats s;

	for (u64 i = 0; i < n; i++)
		addr[i] = ALLOC(1);
	for (u64 i = 0; i < n; i += 2) {
		FREE(addr[i], 1);
		s = stats_of(self->fd);
		EXPECT_TRUE(stats_add_up(&s));
		EXPECT_EQ(self->granule, s.largest_free);
	}
	/* Half of the card is free, and no two granules of it are neighbours. */
	EXPECT_LE(self->total / 2, s.free);
	test_err_mem_alloc(ENOMEM, self->fd, self->granule + 1, 0);
	EXPECT_EQ(self->before.alloc_failures + 1, stats_of(self->fd).alloc_failures);

	/* Neighbours on both sides become one. */
	FREE(addr[1], 1);
	EXPECT_EQ(3 * self->granule, stats_of(self->fd).largest_free);
	EXPECT_EQ(addr[0], ALLOC(3));
	test_cmd_mem_free(self->fd, addr[0], 3 * self->granule);
	for (u64 i = 3; i < n; i += 2)
		FREE(addr[i], 1);
	EXPECT_EQ(self->total, stats_of(self->fd).largest_free);
}

TEST_F(alloc, free_memory_is_back_at_once)
{
	u64 addr;

	for (int i = 0; i < 20; i++) {
		test_cmd_mem_alloc(self->fd, self->total, 0, &addr);
		test_cmd_mem_free(self->fd, addr, self->total);
		EXPECT_EQ(self->total, stats_of(self->fd).free);
	}
}

/* --- several files ------------------------------------------------------- */

TEST_F(alloc, each_file_has_its_own)
{
	int other = card_open();
	struct paccel_mem_stats s;
	u64 a, b;

	ASSERT_LE(0, other);
	test_cmd_mem_alloc(self->fd, self->granule, 0, &a);
	test_cmd_mem_alloc(other, 2 * self->granule, 0, &b);
	s = stats_of(self->fd);
	EXPECT_EQ(self->granule, s.mine);
	EXPECT_EQ(3 * self->granule, s.used);
	EXPECT_EQ(3 * self->granule, s.user);
	EXPECT_EQ(2 * self->granule, stats_of(other).mine);
	test_err_mem_free(ENOENT, other, a, self->granule);
	test_err_mem_free(ENOENT, self->fd, b, 2 * self->granule);

	/* Close gives back all that is left. */
	close(other);
	EXPECT_TRUE(WAIT_FOR(stats_of(self->fd).used == self->granule, 5000));
	test_cmd_mem_free(self->fd, a, self->granule);
}

static int close_fd(void *arg)
{
	return close(*(int *)arg);
}

TEST_F(alloc, a_duplicate_keeps_it_open)
{
	int copy = dup(self->fd);
	u64 addr;

	test_cmd_mem_alloc(self->fd, 1, 0, &addr);
	EXPECT_EQ(0, run_in_child(close_fd, &self->fd));
	close(self->fd);
	EXPECT_EQ(1, stats_of(copy).mine_allocs);
	test_cmd_mem_free(copy, addr, 1);
	self->fd = copy;
}

/* --- quota --------------------------------------------------------------- */

FIXTURE(quota) {
	int fd, other;
	u64 granule;
	char node[64];
};

static int limit(u64 bytes)
{
	char text[32];

	snprintf(text, sizeof(text), "%llu", (unsigned long long)bytes);
	return card_attr_write("max_user_bytes", text);
}

FIXTURE_SETUP(quota)
{
	char name[32];

	self->fd = card_open();
	self->other = card_open();
	ASSERT_LE(0, self->fd);
	ASSERT_LE(0, self->other);
	if (scrub_is_on())
		SKIP(return, "needs the module loaded with scrub=0");
	self->granule = info_of(self->fd).granule;
	ASSERT_TRUE(card_node(card_bdf(), name));
	snprintf(self->node, sizeof(self->node), "/dev/%s", name);
	ASSERT_EQ(0, limit(16 * self->granule));
}

FIXTURE_TEARDOWN(quota)
{
	EXPECT_EQ(0, card_attr_write("max_user_bytes", "0"));
	EXPECT_EQ(0, chmod(self->node, 0660));
	close(self->fd);
	close(self->other);
}

TEST_F(quota, counts_all_files_of_a_user)
{
	u64 g = self->granule, a, b;
	struct paccel_mem_stats s;

	test_cmd_mem_alloc(self->fd, 8 * g, 0, &a);
	test_cmd_mem_alloc(self->other, 7 * g, 0, &b);
	test_err_mem_alloc(EDQUOT, self->fd, g + 1, 0);
	test_err_mem_alloc(EDQUOT, self->other, g + 1, 0);
	s = stats_of(self->fd);
	EXPECT_EQ(16 * g, s.user_max);
	EXPECT_EQ(15 * g, s.user);
	EXPECT_EQ(8 * g, s.mine);
	/* Up to the last byte. */
	test_cmd_mem_alloc(self->fd, g, 0, &a);
	test_err_mem_alloc(EDQUOT, self->fd, 1, 0);
	EXPECT_EQ(s.alloc_failures + 1, stats_of(self->fd).alloc_failures);

	/* What is freed or closed counts no more. */
	test_cmd_mem_free(self->fd, a, g);
	test_cmd_mem_alloc(self->other, 1, 0, &a);
	test_err_mem_alloc(EDQUOT, self->fd, 1, 0);
	close(self->other);
	EXPECT_TRUE(WAIT_FOR(stats_of(self->fd).user == 8 * g, 5000));
	test_cmd_mem_alloc(self->fd, 8 * g, 0, &a);
}

TEST_F(quota, lowered_below_what_is_used)
{
	u64 g = self->granule, a;

	test_cmd_mem_alloc(self->fd, 16 * g, 0, &a);
	ASSERT_EQ(0, limit(g));
	EXPECT_EQ(16 * g, stats_of(self->fd).user);
	test_err_mem_alloc(EDQUOT, self->fd, 1, 0);
	test_cmd_mem_free(self->fd, a, 16 * g);
	test_cmd_mem_alloc(self->fd, g, 0, &a);
	ASSERT_EQ(0, limit(0));
	test_cmd_mem_alloc(self->fd, 32 * g, 0, &a);
}

static int alloc_as_other_user(void *arg)
{
	u64 g = *(u64 *)arg, addr;
	int fd;

	CHILD_CHECK(setgid(65534) == 0 && setuid(65534) == 0);
	fd = card_open();
	CHILD_CHECK(fd >= 0);
	CHILD_EQ(0, _test_cmd_mem_alloc(fd, 16 * g, 0, &addr));
	CHILD_EQ(16 * g, stats_of(fd).user);
	CHILD_EQ(-EDQUOT, _test_cmd_mem_alloc(fd, 1, 0, &addr));
	return 0;
}

TEST_F(quota, is_per_user)
{
	u64 g = self->granule, a;

	ASSERT_EQ(0, chmod(self->node, 0666));
	test_cmd_mem_alloc(self->fd, 16 * g, 0, &a);
	EXPECT_EQ(0, run_in_child(alloc_as_other_user, &g));
	EXPECT_EQ(16 * g, stats_of(self->fd).user);
}

/* --- many threads -------------------------------------------------------- */

#define THREADS 8
#define ROUNDS 200

struct storm {
	pthread_t thread;
	int fd, nr;
	u64 base, granule;
	u8 *owner;	/* one byte per granule: who has it */
	const char *wrong;
};

static bool claim(struct storm *s, u64 addr, u64 length, u8 from, u8 to)
{
	u64 first = (addr - s->base) / s->granule;
	u64 n = (length + s->granule - 1) / s->granule;

	for (u64 i = first; i < first + n; i++)
		if (!__atomic_compare_exchange_n(&s->owner[i], &from, to, false,
						 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			return false;
	return true;
}

static void *storm_main(void *arg)
{
	struct storm *s = arg;
	unsigned int seed = s->nr;
	u64 addr, length;

	for (int i = 0; i < ROUNDS && !s->wrong; i++) {
		length = rand_r(&seed) % (11 * s->granule) + 1;
		if (_test_cmd_mem_alloc(s->fd, length, 0, &addr))
			continue;
		if (!claim(s, addr, length, 0, s->nr))
			s->wrong = "got memory that somebody else has";
		if (!claim(s, addr, length, s->nr, 0))
			s->wrong = "somebody else got my memory";
		if (_test_cmd_mem_free(s->fd, addr, length))
			s->wrong = "could not free";
	}
	return NULL;
}

TEST_F(alloc, threads_never_share_memory)
{
	int other = card_open();
	u8 *owner = calloc(self->total / self->granule, 1);
	struct storm storm[THREADS] = {};

	for (int i = 0; i < THREADS; i++) {
		storm[i] = (struct storm){ .fd = i % 2 ? self->fd : other,
					   .nr = i + 1,
					   .base = self->base,
					   .granule = self->granule,
					   .owner = owner };
		ASSERT_EQ(0, pthread_create(&storm[i].thread, NULL, storm_main,
					    &storm[i]));
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(storm[i].thread, NULL);
		EXPECT_EQ(NULL, storm[i].wrong) TH_LOG("%s", storm[i].wrong);
	}
	EXPECT_EQ(0, stats_of(self->fd).used);
	EXPECT_GT(stats_of(self->fd).allocs, self->before.allocs + ROUNDS);
	close(other);
}

PACCEL_TEST_MAIN
