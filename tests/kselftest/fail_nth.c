// SPDX-License-Identifier: MIT
/*
 * Every allocation and every access to user memory on the way of a call that succeeds
 * fails once: the first, then the second, and so on until the call gets through. Each
 * time the error is one that the contract names, nothing is left behind, and the next
 * call succeeds. Needs a kernel with fault injection.
 *
 * Runs with scrub=0, so that allocations cost no transfers.
 */
#include <sys/syscall.h>

#include "paccel_test.h"

#define DEBUGFS "/sys/kernel/debug/"
#define LIMIT 400
#define SIZE 128

/* --- arming -------------------------------------------------------------- */

static bool have_injection(void)
{
	const char *settings[][2] = {
		{ DEBUGFS "failslab/ignore-gfp-wait", "N" },
		{ DEBUGFS "failslab/verbose", "0" },
		{ DEBUGFS "fail_page_alloc/ignore-gfp-wait", "N" },
		{ DEBUGFS "fail_page_alloc/ignore-gfp-highmem", "N" },
		{ DEBUGFS "fail_page_alloc/min-order", "0" },
		{ DEBUGFS "fail_page_alloc/verbose", "0" },
		{ DEBUGFS "fail_usercopy/verbose", "0" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		if (file_write(settings[i][0], settings[i][1]))
			return false;
	return true;
}

static int nth_open(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%ld/fail-nth", syscall(SYS_gettid));
	return open(path, O_RDWR | O_CLOEXEC);
}

static void nth_arm(int nth_fd, int nth)
{
	char text[16];
	int n = snprintf(text, sizeof(text), "%d", nth);

	if (pwrite(nth_fd, text, n, 0) != n)
		abort();
}

/*
 * Was the failure taken? Reading and disarming copy to and from user memory, too, so
 * the failure may hit these: then the call before has got through.
 */
static bool nth_disarm(int nth_fd)
{
	char text[16] = {};
	bool taken = pread(nth_fd, text, sizeof(text) - 1, 0) > 0 && atoi(text) == 0;

	if (pwrite(nth_fd, "0", 1, 0) == 1)
		return taken;
	if (pwrite(nth_fd, "0", 1, 0) != 1)
		abort();
	return false;
}

/* --- what is called ------------------------------------------------------ */

struct world {
	char node[64];
	int fd, opened;
	u64 mem, addr, offset;
	u8 *host;	/* registered */
	u8 *pageable;
	u8 *own;
};

struct call {
	int (*call)(struct world *w);
	/* Before each call; without failures. */
	void (*prepare)(struct world *w);
	/* After it has succeeded, and after it has failed. */
	void (*undo)(struct world *w);
	void (*drop)(struct world *w);
	int transfers;
};

#define MUST(call)                                                             \
	do {                                                                   \
		int _rc = (call);                                              \
		if (_rc) {                                                     \
			fprintf(stderr, "# %s: %d\n", #call, _rc);             \
			abort();                                               \
		}                                                              \
	} while (0)

static int call_device_info(struct world *w)
{
	struct paccel_device_info info;

	return _test_cmd_device_info(w->fd, &info);
}

static int call_mem_stats(struct world *w)
{
	struct paccel_mem_stats stats;

	return _test_cmd_mem_stats(w->fd, &stats);
}

static int call_open(struct world *w)
{
	w->opened = open(w->node, O_RDWR | O_CLOEXEC);
	return w->opened < 0 ? -errno : 0;
}

static void undo_open(struct world *w)
{
	close(w->opened);
}

static int call_mem_alloc(struct world *w)
{
	return _test_cmd_mem_alloc(w->fd, SIZE, 512, &w->addr);
}

static void free_mem(struct world *w)
{
	MUST(_test_cmd_mem_free(w->fd, w->addr, SIZE));
}

static void alloc_mem(struct world *w)
{
	MUST(_test_cmd_mem_alloc(w->fd, SIZE, 0, &w->addr));
}

static int call_mem_free(struct world *w)
{
	return _test_cmd_mem_free(w->fd, w->addr, SIZE);
}

static int call_host_alloc(struct world *w)
{
	return _test_cmd_host_alloc(w->fd, 3 * page_size, &w->offset);
}

static void free_own(struct world *w)
{
	MUST(_test_cmd_host_free(w->fd, NULL, w->offset));
}

static void alloc_own(struct world *w)
{
	MUST(_test_cmd_host_alloc(w->fd, 3 * page_size, &w->offset));
}

static int call_mmap(struct world *w)
{
	w->own = host_map(w->fd, 3 * page_size, w->offset);
	return w->own == MAP_FAILED ? -errno : 0;
}

/*
 * An mmap() that failed in the kernel may have been the one mapping or not; freeing it
 * has to work in both cases.
 */
static void unmap_own(struct world *w)
{
	munmap(w->own, 3 * page_size);
	free_own(w);
}

static int call_host_register(struct world *w)
{
	return _test_cmd_host_register(w->fd, w->pageable, 2 * page_size, 0);
}

static void unregister(struct world *w)
{
	MUST(_test_cmd_host_free(w->fd, w->pageable, 0));
}

static void do_register(struct world *w)
{
	MUST(_test_cmd_host_register(w->fd, w->pageable, 2 * page_size, 0));
}

static int call_host_free(struct world *w)
{
	return _test_cmd_host_free(w->fd, w->pageable, 0);
}

static int call_h2d(struct world *w)
{
	return _test_cmd_copy_h2d(w->fd, w->mem, w->pageable + page_size - 8, 16);
}

static int call_d2h(struct world *w)
{
	return _test_cmd_copy_d2h(w->fd, w->pageable + page_size - 8, w->mem, 16);
}

static int call_h2d_registered(struct world *w)
{
	return _test_cmd_copy_h2d(w->fd, w->mem, w->host, 16);
}

static int call_d2d(struct world *w)
{
	return _test_cmd_copy_d2d(w->fd, w->mem + 32, w->mem, 16);
}

static int call_fill(struct world *w)
{
	return _test_cmd_fill(w->fd, w->mem, SIZE, 7, 1);
}

static int call_reset(struct world *w)
{
	return _test_cmd_reset(w->fd);
}

/* --- the sweep ----------------------------------------------------------- */

FIXTURE(fail_nth) {
	struct world w;
	int nth_fd;
};

FIXTURE_VARIANT(fail_nth) {
	struct call c;
};

#define CASE(name, ...) \
	FIXTURE_VARIANT_ADD(fail_nth, name) { .c = { .call = call_##name, __VA_ARGS__ } }

CASE(open, .undo = undo_open);
CASE(device_info);
CASE(mem_stats);
CASE(mem_alloc, .undo = free_mem);
CASE(mem_free, .prepare = alloc_mem, .drop = free_mem);
CASE(host_alloc, .undo = free_own);
CASE(mmap, .prepare = alloc_own, .undo = unmap_own, .drop = free_own);
CASE(host_register, .undo = unregister);
CASE(host_free, .prepare = do_register, .drop = unregister);
CASE(h2d, .transfers = 1);
CASE(d2h, .transfers = 1);
CASE(h2d_registered, .transfers = 1);
CASE(d2d, .transfers = 2);
CASE(fill, .transfers = 1);
CASE(reset);

FIXTURE_SETUP(fail_nth)
{
	char name[32];

	if (!have_injection())
		SKIP(return, "this kernel has no fault injection");
	self->nth_fd = nth_open();
	ASSERT_LE(0, self->nth_fd);
	ASSERT_TRUE(card_node(card_bdf(), name));
	snprintf(self->w.node, sizeof(self->w.node), "/dev/%s", name);
	self->w.fd = card_open();
	ASSERT_LE(0, self->w.fd);
	ASSERT_TRUE(card_settle(self->w.fd));
	ASSERT_EQ(0, _test_cmd_mem_alloc(self->w.fd, SIZE, 0, &self->w.mem));
	self->w.host = map_pages(1);
	self->w.pageable = map_pages(2);
	memset(self->w.pageable, 1, 2 * page_size);
	ASSERT_EQ(0, _test_cmd_host_register(self->w.fd, self->w.host, page_size, 0));
}

FIXTURE_TEARDOWN(fail_nth)
{
	close(self->w.fd);
}

static void maybe(void (*fn)(struct world *), struct world *w)
{
	if (fn)
		fn(w);
}

static void nothing_left(struct __test_metadata *_metadata, struct world *w,
			 const struct paccel_mem_stats *before, long locked)
{
	struct paccel_mem_stats now = stats_of(w->fd);

	EXPECT_TRUE(stats_add_up(&now));
	EXPECT_EQ(before->used, now.used);
	EXPECT_EQ(before->mine, now.mine);
	EXPECT_EQ(before->mine_allocs, now.mine_allocs);
	EXPECT_EQ(before->user, now.user);
	EXPECT_EQ(before->set_aside, now.set_aside);
	EXPECT_TRUE(WAIT_FOR(locked_kb() == locked, 5000))
		TH_LOG("%ld kB locked, %ld before", locked_kb(), locked);
}

/* One call whose nth failure point fails: false if it has none so many. */
static bool fail_at(struct __test_metadata *_metadata, FIXTURE_DATA(fail_nth) *self,
		    const struct call *c, int nth)
{
	struct paccel_mem_stats before = stats_of(self->w.fd);
	long locked = locked_kb();
	bool taken;
	int rc;

	maybe(c->prepare, &self->w);
	nth_arm(self->nth_fd, nth);
	rc = c->call(&self->w);
	taken = nth_disarm(self->nth_fd);
	if (!rc)
		maybe(c->undo, &self->w);
	else
		maybe(c->drop, &self->w);
	ASSERT_TRUE(rc == 0 || rc == -ENOMEM || rc == -EFAULT)
		TH_LOG("failure %d: rc %d", nth, rc);
	/* A failure that was not taken is none. */
	ASSERT_TRUE(taken || rc == 0) TH_LOG("not taken: rc %d", rc);
	nothing_left(_metadata, &self->w, &before, locked);
	return taken;
}

TEST_F(fail_nth, sweep)
{
	const struct call *c = &variant->c;
	int nth = 1, failed = 0;

	while (fail_at(_metadata, self, c, nth)) {
		/* Without a failure it works, as if nothing had been; transfers are dear. */
		if (!c->transfers || nth % 8 == 0) {
			maybe(c->prepare, &self->w);
			ASSERT_EQ(0, c->call(&self->w));
			maybe(c->undo, &self->w);
		}
		failed++;
		nth++;
		ASSERT_GT(LIMIT, nth);
	}
	printf("# %d failure points\n", failed);
	/* Each of these reads its struct from user memory at least. */
	EXPECT_LT(0, failed);
}

PACCEL_TEST_MAIN
