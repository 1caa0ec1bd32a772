// SPDX-License-Identifier: MIT
/*
 * Every allocation and every access to user memory on the way of a call that succeeds
 * fails once: the first, then the second, and so on until the call gets through. Each
 * time the error is one that the contract names, nothing is left behind, and the next
 * call succeeds. What a card cannot do is refused, with nothing left behind, too. Needs a kernel
 * with fault injection.
 *
 * Runs with scrub=0, so that allocations cost no transfers.
 */
#include "inject.h"
#include "stream_test.h"

#define LIMIT 400
#define SIZE 128

/* --- what is called ------------------------------------------------------ */

struct world {
	char node[64];
	int fd, opened;
	int device, shared, dmabuf;	/* dma-bufs of mem, of host memory; a new one */
	u64 mem, size, addr, offset;	/* size: of mem, whole granules */
	u8 *host;	/* registered */
	u8 *pageable;
	u8 *own;

	struct rig r;
	u64 point;		/* its stream's last, complete */
	int event, fence;	/* the fence is that of point 1 */
	struct foreign f;
	int pending;		/* a foreign fence */
	struct rig fresh;	/* a file that lives for one call */
	int made;
	u8 *lent;	/* driver's own, of shared */
	int peer;	/* a dma-buf of the memory of a card that this one reaches, or of its own */
	bool reaches;

	struct paccel_mem_stats rest;	/* between calls */
	long locked;
};

struct call {
	int (*call)(struct world *w);
	/* Before each call; without failures. */
	void (*prepare)(struct world *w);
	/* After it has succeeded, and after it has failed. */
	void (*undo)(struct world *w);
	void (*drop)(struct world *w);
	/* True if this device can do it at all. If not, the errno is EOPNOTSUPP. */
	bool (*served)(struct world *w);
	int transfers;
	int must_see; /* an error that one of the failures has to end in */
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

static int call_export_device(struct world *w)
{
	return _test_cmd_mem_export(w->fd, PACCEL_EXPORT_DEVICE, w->mem, &w->dmabuf);
}

static int call_export_host(struct world *w)
{
	return _test_cmd_mem_export(w->fd, PACCEL_EXPORT_HOST, (uintptr_t)w->lent, &w->dmabuf);
}

static void close_dmabuf(struct world *w)
{
	MUST(close(w->dmabuf));
}

static int call_import(struct world *w)
{
	u64 length;

	return _test_cmd_mem_import(w->fd, w->device, &w->addr, &length);
}

static void free_import(struct world *w)
{
	MUST(_test_cmd_mem_free(w->fd, w->addr, w->size));
}

static int call_import_elsewhere(struct world *w)
{
	u64 length;

	return _test_cmd_mem_import(w->opened, w->device, &w->addr, &length);
}

static void open_other(struct world *w)
{
	w->opened = open(w->node, O_RDWR | O_CLOEXEC);
}

/* --- device memory in a BAR ---------------------------------------------- */

#define MAPPED 0x5d
/* Where nothing else is: no page table either, each is made and freed by the call. */
#define FAR ((void *)0x100000000000)

static bool can_map(struct world *w)
{
	return info_of(w->fd).caps & PACCEL_CAP_MAPPABLE;
}

/* Want of memory while a page is put in is the kernel's to mend: it tries again. */
static int map_and_touch(struct world *w, int fd, u64 offset)
{
	w->own = mmap(FAR, page_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE, fd,
		      offset);
	if (w->own == MAP_FAILED)
		return -errno;
	return *(volatile u8 *)w->own == MAPPED ? 0 : -EIO;
}

static int call_map_device(struct world *w)
{
	return map_and_touch(w, w->fd, PACCEL_MMAP_DEVICE + (w->mem & ~(page_size - 1)));
}

static int call_map_dmabuf(struct world *w)
{
	return map_and_touch(w, w->device, 0);
}

static void unmap_device(struct world *w)
{
	MUST(munmap(w->own, page_size));
}

static bool can_reach(struct world *w)
{
	return w->reaches;
}

static int call_register_peer(struct world *w)
{
	return _test_cmd_host_dmabuf(w->fd, w->pageable, w->size, w->peer, 0);
}

static int call_register_dmabuf(struct world *w)
{
	return _test_cmd_host_dmabuf(w->fd, w->pageable, page_size, w->shared, 0);
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

/* --- verified ------------------------------------------------------------ */

static bool can_verify(struct world *w)
{
	return info_of(w->fd).caps & PACCEL_CAP_VERIFY;
}

static int copy_verified(struct world *w, u32 dir, u64 dst, u64 src)
{
	struct paccel_copy copy = {
		.size = sizeof(copy), .flags = PACCEL_COPY_VERIFY, .dir = dir, .dst = dst,
		.src = src, .width = 16, .rows = 1,
	};

	return paccel_call(w->fd, PACCEL_IOC_COPY, &copy);
}

static int call_h2d_verified(struct world *w)
{
	return copy_verified(w, PACCEL_COPY_H2D, w->mem, (uintptr_t)w->pageable + page_size - 8);
}

static int call_d2h_verified(struct world *w)
{
	return copy_verified(w, PACCEL_COPY_D2H, (uintptr_t)w->pageable + page_size - 8, w->mem);
}

static int call_d2d_verified(struct world *w)
{
	return copy_verified(w, PACCEL_COPY_D2D, w->mem + 32, w->mem);
}

static int call_fill_verified(struct world *w)
{
	struct paccel_fill fill = {
		.size = sizeof(fill), .flags = PACCEL_FILL_VERIFY, .addr = w->mem, .length = SIZE,
		.pattern = 7, .pattern_size = 1,
	};

	return paccel_call(w->fd, PACCEL_IOC_FILL, &fill);
}

static int call_reset(struct world *w)
{
	return _test_cmd_reset(w->fd);
}

/* --- streams ------------------------------------------------------------- */

/* With the first stream of a file comes the completion page. */
static void open_fresh(struct world *w)
{
	w->opened = open(w->node, O_RDWR | O_CLOEXEC);
	MUST(w->opened < 0);
}

static int call_stream_create(struct world *w)
{
	int stream = stream_create(w->opened);

	return stream < 0 ? stream : 0;
}

static void do_stream_create(struct world *w)
{
	w->made = stream_create(w->r.fd);
	MUST(w->made < 0);
}

static int call_stream_destroy(struct world *w)
{
	return _test_cmd_stream_destroy(w->r.fd, w->made);
}

static void drop_stream(struct world *w)
{
	MUST(_test_cmd_stream_destroy(w->r.fd, w->made));
}

static int call_stream_clear(struct world *w)
{
	struct paccel_stream_clear clear;

	return _test_cmd_stream_clear(w->r.fd, w->r.stream, &clear);
}

static int call_page_map(struct world *w)
{
	w->own = (u8 *)page_map(w->r.fd, w->r.page_offset);
	return w->own == MAP_FAILED ? -errno : 0;
}

static void undo_page_map(struct world *w)
{
	munmap(w->own, page_size);
}

/* One of each that ends without the card. */
static int call_submit(struct world *w)
{
	s64 rc = submit(w->r.fd, w->r.stream, op_write(&w->r.own[0], 1), op_time(&w->r.own[1]),
			op_eventfd(w->event, 0), op_point(w->r.stream, 1),
			op_fence(w->fence), op_write(&w->r.own[2], w->point + 1));

	return rc < 0 ? rc : 0;
}

static void undo_submit(struct world *w)
{
	w->point++;
	MUST(outcome(w->r.fd, w->r.stream, w->point));
	MUST(w->r.own[2] != w->point);
}

/* It has queued nothing. */
static void drop_submit(struct world *w)
{
	MUST(standing(w->r.fd, w->r.stream, w->point + 1) != -EINVAL);
	MUST(w->r.own[2] == w->point + 1);
}

/* Copies, behind a fence that does not come: they cost no transfer. */
static void open_rig(struct world *w)
{
	MUST(rig_open(&w->fresh, SIZE));
}

static int submit_copies(struct world *w, u32 flags)
{
	struct rig *r = &w->fresh;
	struct paccel_op ops[] = {
		op_fence(w->pending), op_h2d(r->mem, r->own, 16),
		op_copy(PACCEL_COPY_D2D, r->mem, r->mem + 16, 16), op_fill(r->mem, 16, 1, 1),
		op_d2h(r->own, r->mem, 16),
	};
	s64 rc;

	for (size_t i = 1; i < ARRAY_SIZE(ops); i++)
		ops[i].flags = flags;
	rc = _test_cmd_submit(r->fd, r->stream, ops, ARRAY_SIZE(ops));
	return rc < 0 ? rc : 0;
}

static int call_submit_copies(struct world *w)
{
	return submit_copies(w, 0);
}

static int call_submit_verified(struct world *w)
{
	return submit_copies(w, PACCEL_OP_VERIFY);
}

static void close_rig(struct world *w)
{
	rig_close(&w->fresh);
}

static int call_wait(struct world *w)
{
	struct paccel_point p[3] = { { .stream = w->r.stream, .point = 1 },
				     { .stream = w->r.stream },
				     { .stream = w->r.stream, .point = w->point } };

	return _test_cmd_wait(w->r.fd, 0, FOR_EVER, p, 3, NULL);
}

static int call_fence_export(struct world *w)
{
	w->made = fence_export(w->r.fd, w->r.stream, 1);
	return w->made < 0 ? w->made : 0;
}

static void undo_fence_export(struct world *w)
{
	MUST(close(w->made));
}

/* --- the sweep ----------------------------------------------------------- */

FIXTURE(fail_nth) {
	struct world w;
	int nth_fd;
	bool seen;	/* a failure has ended in what variant->c.must_see says */
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
CASE(export_device, .undo = close_dmabuf, .must_see = -ENOMEM);
CASE(export_host, .undo = close_dmabuf);
CASE(import, .undo = free_import, .must_see = -ENOMEM);
CASE(import_elsewhere, .prepare = open_other, .undo = undo_open, .drop = undo_open);
CASE(register_dmabuf, .undo = unregister);
CASE(register_peer, .undo = unregister, .served = can_reach);
CASE(map_device, .undo = unmap_device, .served = can_map);
CASE(map_dmabuf, .undo = unmap_device, .served = can_map);
CASE(host_free, .prepare = do_register, .drop = unregister);
CASE(h2d, .transfers = 1, .must_see = -ENOMEM);
CASE(d2h, .transfers = 1);
CASE(h2d_registered, .transfers = 1);
CASE(d2d, .transfers = 2);
CASE(fill, .transfers = 1, .must_see = -ENOMEM);
CASE(h2d_verified, .served = can_verify, .transfers = 1);
CASE(d2h_verified, .served = can_verify, .transfers = 1);
CASE(d2d_verified, .served = can_verify, .transfers = 2);
CASE(fill_verified, .served = can_verify, .transfers = 1);
CASE(stream_create, .prepare = open_fresh, .undo = undo_open, .drop = undo_open,
     .must_see = -ENOMEM);
CASE(stream_destroy, .prepare = do_stream_create, .drop = drop_stream);
CASE(stream_clear);
CASE(page_map, .undo = undo_page_map);
CASE(submit, .undo = undo_submit, .drop = drop_submit, .must_see = -ENOMEM);
CASE(submit_copies, .prepare = open_rig, .undo = close_rig, .drop = close_rig);
CASE(submit_verified, .prepare = open_rig, .undo = close_rig, .drop = close_rig,
     .served = can_verify);
CASE(wait);
CASE(fence_export, .undo = undo_fence_export, .must_see = -ENOMEM);
CASE(reset);

/* With p2p=force cards reach each other; the memory is another card's then. */
static void find_peer(struct world *w)
{
	char value[16], bdf[32];
	u64 mem;

	w->peer = w->device;
	if (!module_param("p2p", value, sizeof(value)) || strncmp(value, "force", 5))
		return;
	for (int i = 0; card_nth(i, bdf) && !w->reaches; i++) {
		int fd = strcmp(bdf, card_bdf()) ? card_open_at(bdf, O_RDWR) : -1;

		if (fd < 0)
			continue;
		MUST(_test_cmd_mem_alloc(fd, w->size, 0, &mem));
		MUST(_test_cmd_mem_export(fd, PACCEL_EXPORT_DEVICE, mem, &w->peer));
		w->reaches = true;
	}
}

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
	/* The card is this program's alone: what is left is of a test before, and on its way out. */
	ASSERT_TRUE(WAIT_FOR(stats_of(self->w.fd).used == 0, PATIENCE_MS));
	ASSERT_TRUE(card_settle(self->w.fd));
	self->w.size = in_granules(self->w.fd, SIZE);
	ASSERT_EQ(0, _test_cmd_mem_alloc(self->w.fd, self->w.size, 0, &self->w.mem));
	if (can_map(&self->w))
		ASSERT_EQ(0, _test_cmd_fill(self->w.fd, self->w.mem, SIZE, MAPPED, 1));
	self->w.host = map_pages(1);
	self->w.pageable = map_pages(2);
	memset(self->w.pageable, 1, 2 * page_size);
	ASSERT_EQ(0, _test_cmd_host_register(self->w.fd, self->w.host, page_size, 0));
	ASSERT_EQ(0, rig_open(&self->w.r, 0));
	self->w.event = eventfd(0, EFD_NONBLOCK);
	ASSERT_EQ(1, submit(self->w.r.fd, self->w.r.stream, op_write(self->w.r.own, 1)));
	self->w.point = 1;
	self->w.fence = fence_export(self->w.r.fd, self->w.r.stream, 1);
	ASSERT_LE(0, self->w.fence);
	ASSERT_TRUE(foreign_open(&self->w.f));
	self->w.pending = foreign_fence(&self->w.f);
	ASSERT_LE(0, self->w.pending);
	ASSERT_EQ(0, _test_cmd_host_alloc(self->w.fd, page_size, &self->w.offset));
	self->w.lent = host_map(self->w.fd, page_size, self->w.offset);
	ASSERT_NE(MAP_FAILED, self->w.lent);
	ASSERT_EQ(0, _test_cmd_mem_export(self->w.fd, PACCEL_EXPORT_DEVICE, self->w.mem,
					  &self->w.device));
	ASSERT_EQ(0, _test_cmd_mem_export(self->w.fd, PACCEL_EXPORT_HOST, (uintptr_t)self->w.lent,
					  &self->w.shared));
	find_peer(&self->w);
	self->w.rest = stats_of(self->w.fd);
	self->w.locked = locked_kb();
}

FIXTURE_TEARDOWN(fail_nth)
{
	foreign_close(&self->w.f);
	rig_close(&self->w.r);
	close(self->w.fd);
}

static void maybe(void (*fn)(struct world *), struct world *w)
{
	if (fn)
		fn(w);
}

static bool at_rest(struct world *w)
{
	struct paccel_mem_stats now = stats_of(w->fd);

	return now.used == w->rest.used && now.mine == w->rest.mine &&
	       now.mine_allocs == w->rest.mine_allocs && now.user == w->rest.user &&
	       now.quarantined == w->rest.quarantined && locked_kb() == w->locked;
}

/*
 * Queued work gives back what it holds by and by, on workers, after its file is closed. Nothing is
 * compared, and no call begins, before that is over.
 */
static void nothing_left(struct __test_metadata *_metadata, struct world *w)
{
	bool settled = WAIT_FOR(at_rest(w), PATIENCE_MS);
	struct paccel_mem_stats now = stats_of(w->fd);

	EXPECT_TRUE(stats_add_up(&now));
	EXPECT_TRUE(settled) TH_LOG("still not as it was before");
	EXPECT_EQ(w->rest.used, now.used);
	EXPECT_EQ(w->rest.mine, now.mine);
	EXPECT_EQ(w->rest.mine_allocs, now.mine_allocs);
	EXPECT_EQ(w->rest.user, now.user);
	EXPECT_EQ(w->rest.quarantined, now.quarantined);
	EXPECT_EQ(w->locked, locked_kb());
}

/* How the call ends if nothing fails. */
static int end_of(const struct call *c, struct world *w)
{
	return !c->served || c->served(w) ? 0 : -EOPNOTSUPP;
}

/* One call whose nth failure point fails: false if it has none so many. */
static bool fail_at(struct __test_metadata *_metadata, FIXTURE_DATA(fail_nth) *self,
		    const struct call *c, int nth)
{
	int rc, end = end_of(c, &self->w);
	bool taken;

	maybe(c->prepare, &self->w);
	nth_arm(self->nth_fd, nth);
	rc = c->call(&self->w);
	taken = nth_disarm(self->nth_fd);
	if (!rc)
		maybe(c->undo, &self->w);
	else
		maybe(c->drop, &self->w);
	ASSERT_TRUE(rc == end || rc == -ENOMEM || rc == -EFAULT)
		TH_LOG("failure %d: rc %d", nth, rc);
	self->seen |= taken && rc == c->must_see;
	/* A failure that was not taken is none. */
	ASSERT_TRUE(taken || rc == end) TH_LOG("not taken: rc %d", rc);
	nothing_left(_metadata, &self->w);
	return taken;
}

TEST_F(fail_nth, sweep)
{
	const struct call *c = &variant->c;
	int nth = 1, failed = 0, end = end_of(c, &self->w);

	while (fail_at(_metadata, self, c, nth)) {
		/* Without a failure it works, as if nothing had been; transfers are dear. */
		if (!c->transfers || nth % 8 == 0) {
			maybe(c->prepare, &self->w);
			ASSERT_EQ(end, c->call(&self->w));
			maybe(end ? c->drop : c->undo, &self->w);
			nothing_left(_metadata, &self->w);
		}
		failed++;
		nth++;
		ASSERT_GT(LIMIT, nth);
	}
	printf("# %d failure points\n", failed);
	/* Each of these reads its struct from user memory at least. */
	EXPECT_LT(0, failed);
	EXPECT_TRUE(self->seen || !c->must_see)
		TH_LOG("no failure ended in %d", c->must_see);
}

PACCEL_TEST_MAIN
