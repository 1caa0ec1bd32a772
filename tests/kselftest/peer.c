// SPDX-License-Identifier: MIT
/*
 * Memory of one card as memory that another one reads and writes: two cards that are peers on the
 * bus. With p2p=force they reach each other, elsewhere the import is refused and nothing else is
 * different. The hard part is what happens when one of them goes.
 */
#include <linux/dma-buf.h>

#include "dmabuf.h"
#include "foreign.h"
#include "stream_test.h"
#include "touch.h"

#define SIZE (1 << 20)
/* What a card has in flight at most, in four transfers. */
#define LONG (8 << 20)

static bool forced(void)
{
	char value[16];

	return module_param("p2p", value, sizeof(value)) && !strncmp(value, "force", 5);
}

static bool ordered;

/* The process that is the card takes orders. */
static int order(int card, const char *text)
{
	char command[128];

	snprintf(command, sizeof(command), "guestctl fault card%d %s >/dev/null", card, text);
	ordered = true;
	return system(command);
}

/* Both, in bytes per second; 0 for all it can. A card that is bound scrubs all its memory. */
static void rate(const char *bytes)
{
	char text[32];

	snprintf(text, sizeof(text), "set rate=%s", bytes);
	if (order(0, text) || order(1, text))
		abort();
}

/* One end: a card, memory of it, and the other card's memory under addresses of ours. */
struct end {
	char bdf[32];
	int fd, dmabuf;
	u64 mem;
	u8 *range;
};

FIXTURE(peer) {
	struct end a, b;	/* the exporter, the importer */
	u8 *host;
	char watchdog[32], quiesce[32];
};

static bool end_open(struct end *e, int nth)
{
	if (!card_nth(nth, e->bdf))
		return false;
	e->fd = card_open_at(e->bdf, O_RDWR);
	e->range = mmap(NULL, LONG, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return e->fd >= 0 && !_test_cmd_mem_alloc(e->fd, LONG, 0, &e->mem);
}

FIXTURE_SETUP(peer)
{
	catch_bus();
	ASSERT_TRUE(end_open(&self->a, 0));
	ASSERT_TRUE(end_open(&self->b, 1));
	self->host = map_pages(LONG / page_size);
	test_cmd_mem_export(self->a.fd, PACCEL_EXPORT_DEVICE, self->a.mem, &self->a.dmabuf);
	test_cmd_mem_export(self->b.fd, PACCEL_EXPORT_DEVICE, self->b.mem, &self->b.dmabuf);
	module_param("watchdog_ms", self->watchdog, sizeof(self->watchdog));
	module_param("quiesce_ms", self->quiesce, sizeof(self->quiesce));
}

FIXTURE_TEARDOWN(peer)
{
	close(self->a.fd);
	close(self->b.fd);
	if (ordered) {
		order(0, "clear");
		order(1, "clear");
		rate("0");
	}
	module_param_set("watchdog_ms", self->watchdog);
	module_param_set("quiesce_ms", self->quiesce);
}

/* b has a's memory. */
#define LINKED()                                                               \
	do {                                                                   \
		if (!forced())                                                 \
			SKIP(return, "p2p=force is not set");                  \
		test_cmd_host_dmabuf(self->b.fd, self->b.range, LONG, self->a.dmabuf, 0); \
	} while (0)

TEST_F(peer, only_where_the_bus_allows_it)
{
	int rc = _test_cmd_host_dmabuf(self->b.fd, self->b.range, LONG, self->a.dmabuf, 0);

	EXPECT_EQ(forced() ? 0 : -EOPNOTSUPP, rc);
}

TEST_F(peer, own_memory_is_no_peers)
{
	test_err_host_dmabuf(EOPNOTSUPP, self->a.fd, self->a.range, LONG, self->a.dmabuf, 0);
}

/* Bytes go from card to card, in both directions of the importer, at odd places. */
TEST_F(peer, copies)
{
	struct paccel_mem_stats before, after, there;

	LINKED();
	pattern_fill(self->host, SIZE, 1);
	test_cmd_copy_h2d(self->a.fd, self->a.mem, self->host, SIZE);
	/* Scrubbing counts as transfers, too. */
	ASSERT_TRUE(card_settle(self->a.fd));
	before = stats_of(self->b.fd);
	there = stats_of(self->a.fd);
	test_cmd_copy_h2d(self->b.fd, self->b.mem + 5, self->b.range + 3, SIZE - 8);
	after = stats_of(self->b.fd);
	/* Nothing was staged: the importer has read, and the exporter done nothing. */
	EXPECT_EQ(before.bytes_h2d + SIZE - 8, after.bytes_h2d);
	EXPECT_EQ(there.xfers, stats_of(self->a.fd).xfers);
	memset(self->host, 0, SIZE);
	test_cmd_copy_d2h(self->b.fd, self->host + 3, self->b.mem + 5, SIZE - 8);
	pattern_fill(self->host + SIZE, SIZE, 1);
	EXPECT_EQ(-1, bytes_diff(self->host + 3, self->host + SIZE + 3, SIZE - 8));

	/* And back, to another place. */
	test_cmd_copy_d2h(self->b.fd, self->b.range + 2 * SIZE + 1, self->b.mem + 5, SIZE - 8);
	memset(self->host, 0, SIZE);
	test_cmd_copy_d2h(self->a.fd, self->host + 3, self->a.mem + 2 * SIZE + 1, SIZE - 8);
	EXPECT_EQ(-1, bytes_diff(self->host + 3, self->host + SIZE + 3, SIZE - 8));
	test_cmd_host_free(self->b.fd, self->b.range, 0);
}

TEST_F(peer, rows_and_streams)
{
	u64 point;
	u32 stream;

	LINKED();
	pattern_fill(self->host, SIZE, 2);
	test_cmd_copy_h2d(self->a.fd, self->a.mem, self->host, SIZE);
	test_cmd_copy_2d(self->b.fd, PACCEL_COPY_H2D, self->b.mem, (uintptr_t)self->b.range,
			 100, 10, 100, 300);
	for (int i = 0; i < 10; i++) {
		u8 row[100];

		test_cmd_copy_d2h(self->b.fd, row, self->b.mem + 100 * i, 100);
		EXPECT_EQ(-1, bytes_diff(row, self->host + 300 * i, 100));
	}
	test_cmd_stream_create(self->b.fd, &stream);
	test_cmd_submit(&point, self->b.fd, stream, op_h2d(self->b.mem, self->b.range, SIZE));
	EXPECT_EQ(0, outcome(self->b.fd, stream, point));
	test_cmd_copy_d2h(self->b.fd, self->host + SIZE, self->b.mem, SIZE);
	EXPECT_EQ(-1, bytes_diff(self->host, self->host + SIZE, SIZE));
}

/* What the owner frees stays with who has the dma-buf or a range of it. */
TEST_F(peer, freed_by_its_owner)
{
	LINKED();
	pattern_fill(self->host, SIZE, 3);
	test_cmd_copy_h2d(self->a.fd, self->a.mem, self->host, SIZE);
	test_cmd_mem_free(self->a.fd, self->a.mem, LONG);
	close(self->a.dmabuf);
	test_cmd_copy_h2d(self->b.fd, self->b.mem, self->b.range, SIZE);
	memset(self->host, 0, SIZE);
	test_cmd_copy_d2h(self->b.fd, self->host, self->b.mem, SIZE);
	EXPECT_EQ(-1, pattern_diff(self->host, SIZE, 3));
	EXPECT_LE(LONG, stats_of(self->a.fd).used);
	test_cmd_host_free(self->b.fd, self->b.range, 0);
	EXPECT_TRUE(WAIT_FOR(stats_of(self->a.fd).used == 0, 5000));
}

/* --- other importers ----------------------------------------------------- */

static int import_as(FIXTURE_DATA(peer) *self, const char *how)
{
	char parameters[128];

	snprintf(parameters, sizeof(parameters), "device=%s fd=%d how=%s", self->b.bdf,
		 self->a.dmabuf, how);
	return importer_load(parameters);
}

static bool importer_has_mapping(void)
{
	char text[8];

	return file_read("/sys/module/paccel_importer/parameters/mapped", text, sizeof(text)) > 0 &&
	       *text == 'Y';
}

/*
 * The device can be bound again, and its memory be another process's, while an importer still has what it
 * has mapped. So one that cannot unmap must have no mapping.
 */
TEST_F(peer, importers_must_unmap)
{
	if (!forced())
		SKIP(return, "p2p=force is not set");
	EXPECT_EQ(-EOPNOTSUPP, import_as(self, "static"));
	EXPECT_EQ(-EOPNOTSUPP, import_as(self, "pinned"));
	EXPECT_FALSE(importer_has_mapping());
	/* After a refusal as before it. */
	ASSERT_EQ(0, import_as(self, "dynamic"));
	EXPECT_TRUE(importer_has_mapping());
	EXPECT_EQ(0, importer_unload());
	ASSERT_EQ(0, import_as(self, "dynamic"));
	xfers_note();
	ASSERT_EQ(0, driver_unbind(self->a.bdf));
	EXPECT_FALSE(importer_has_mapping());
	EXPECT_EQ(0, importer_unload());
	ASSERT_EQ(0, driver_bind(self->a.bdf));
	EXPECT_EQ(-ENODEV, import_as(self, "dynamic"));
}

/* --- mapped -------------------------------------------------------------- */

static int sync_of(int dmabuf, u64 flags)
{
	struct dma_buf_sync sync = { .flags = flags };

	return ioctl(dmabuf, DMA_BUF_IOCTL_SYNC, &sync) ? -errno : 0;
}

TEST_F(peer, dmabuf_is_mapped)
{
	u8 *map = mmap(NULL, LONG, PROT_READ | PROT_WRITE, MAP_SHARED, self->a.dmabuf, 0), *part;
	u8 byte = 0;

	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(0, sync_of(self->a.dmabuf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW));
	map[5 * page_size + 7] = 0x42;
	EXPECT_EQ(0, sync_of(self->a.dmabuf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW));
	test_cmd_copy_d2h(self->a.fd, &byte, self->a.mem + 5 * page_size + 7, 1);
	EXPECT_EQ(0x42, byte);
	part = mmap(NULL, page_size, PROT_READ, MAP_SHARED, self->a.dmabuf, 5 * page_size);
	ASSERT_NE(MAP_FAILED, part);
	EXPECT_EQ(0x42, peek(part + 7));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, page_size, PROT_READ, MAP_SHARED, self->a.dmabuf, LONG));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, page_size, PROT_READ, MAP_PRIVATE, self->a.dmabuf, 0));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, page_size, PROT_READ | PROT_EXEC, MAP_SHARED,
				   self->a.dmabuf, 0));

	/* Freed by the context, it is still the dma-buf's. */
	test_cmd_mem_free(self->a.fd, self->a.mem, LONG);
	EXPECT_EQ(0x42, peek(part + 7));
	EXPECT_EQ(0x42, peek(map + 5 * page_size + 7));

	xfers_note();
	ASSERT_EQ(0, driver_unbind(self->a.bdf));
	EXPECT_EQ(-SIGBUS, peek(part + 7));
	EXPECT_EQ(-SIGBUS, peek(map + 5 * page_size + 7));
	EXPECT_EQ(-SIGBUS, peek(map));
	ASSERT_EQ(0, driver_bind(self->a.bdf));
	EXPECT_EQ(-SIGBUS, peek(map));
}

/* --- one of them goes ---------------------------------------------------- */

TEST_F(peer, exporter_unplugged)
{
	LINKED();
	test_cmd_copy_h2d(self->b.fd, self->b.mem, self->b.range, SIZE);
	xfers_note();
	ASSERT_EQ(0, driver_unbind(self->a.bdf));
	test_err_copy_h2d(EFAULT, self->b.fd, self->b.mem, self->b.range, SIZE);
	test_err_copy_d2h(EFAULT, self->b.fd, self->b.range, self->b.mem, SIZE);
	/* Only that range is dead. */
	test_cmd_copy_h2d(self->b.fd, self->b.mem, self->host, SIZE);
	test_cmd_host_free(self->b.fd, self->b.range, 0);
	test_err_host_dmabuf(EOPNOTSUPP, self->b.fd, self->b.range, LONG, self->a.dmabuf, 0);
	ASSERT_EQ(0, driver_bind(self->a.bdf));
	test_err_host_dmabuf(EOPNOTSUPP, self->b.fd, self->b.range, LONG, self->a.dmabuf, 0);
}

TEST_F(peer, importer_unplugged)
{
	LINKED();
	test_cmd_copy_h2d(self->b.fd, self->b.mem, self->b.range, SIZE);
	xfers_note();
	ASSERT_EQ(0, driver_unbind(self->b.bdf));
	test_err_copy_h2d(ENODEV, self->b.fd, self->b.mem, self->b.range, SIZE);
	/* The exporter can go although the dead file still has the range. */
	ASSERT_EQ(0, driver_unbind(self->a.bdf));
	ASSERT_EQ(0, driver_bind(self->a.bdf));
	ASSERT_EQ(0, driver_bind(self->b.bdf));
}

/* Less than the default of watchdog_ms, so that it is not the watchdog that ends a wait. */
#define PROMPT_MS 8000

/* All of it is in flight at once. So it takes a second at SECOND, and seconds at SECONDS. */
#define SECOND "8388608"
#define SECONDS "1048576"

/* Proof that it has begun is in here; the rate is the caller's. */
static void copy_begin(struct side_call *c, struct end *e, u32 dir)
{
	u64 before = stats_of(e->fd).xfers;

	*c = (struct side_call){
		.fn = side_copy, .fd = e->fd, .dir = dir,
		.dst = dir == PACCEL_COPY_H2D ? e->mem : (uintptr_t)e->range,
		.src = dir == PACCEL_COPY_H2D ? (uintptr_t)e->range : e->mem,
		.shape = { LONG, 1, 0, 0 },
	};
	side_call_start(c);
	if (!WAIT_FOR(xfers_passed(e->fd, before), 10000))
		abort();
}

/*
 * The importer's card is in the middle of the exporter's memory. What it has in hand ends, the
 * rest is not done, and only then the exporter is gone.
 */
TEST_F(peer, exporter_unplugged_under_a_copy)
{
	static const u32 dirs[] = { PACCEL_COPY_H2D, PACCEL_COPY_D2H };
	struct side_call c;
	u64 start;

	LINKED();
	for (int i = 0; i < 2; i++) {
		rate(SECOND);
		copy_begin(&c, &self->b, dirs[i]);
		xfers_note();
		start = now_ms();
		ASSERT_EQ(0, driver_unbind(self->a.bdf));
		EXPECT_LT(now_ms() - start, PROMPT_MS);
		EXPECT_EQ(-EFAULT, side_call_end(&c));
		rate("0");
		ASSERT_EQ(0, driver_bind(self->a.bdf));
		/* The next round, with the card that came back. */
		close(self->a.fd);
		close(self->a.dmabuf);
		test_cmd_host_free(self->b.fd, self->b.range, 0);
		self->a.fd = card_open_at(self->a.bdf, O_RDWR);
		test_cmd_mem_alloc(self->a.fd, LONG, 0, &self->a.mem);
		test_cmd_mem_export(self->a.fd, PACCEL_EXPORT_DEVICE, self->a.mem,
				    &self->a.dmabuf);
		test_cmd_host_dmabuf(self->b.fd, self->b.range, LONG, self->a.dmabuf, 0);
		test_cmd_copy_h2d(self->b.fd, self->b.mem, self->b.range, SIZE);
	}
}

/* What waits behind another stream, or was not begun, is not begun any more. */
TEST_F(peer, exporter_unplugged_under_streams)
{
	u64 start, points[4];
	u32 streams[2];

	LINKED();
	/* A second: each stream has an engine. */
	rate("16777216");
	for (int i = 0; i < 2; i++)
		test_cmd_stream_create(self->b.fd, &streams[i]);
	for (int i = 0; i < 4; i++)
		test_cmd_submit(&points[i], self->b.fd, streams[i % 2],
				op_h2d(self->b.mem, self->b.range, LONG));
	xfers_note();
	start = now_ms();
	ASSERT_EQ(0, driver_unbind(self->a.bdf));
	EXPECT_LT(now_ms() - start, PROMPT_MS);
	EXPECT_EQ(-EFAULT, outcome(self->b.fd, streams[0], points[0]));
	EXPECT_EQ(-EFAULT, outcome(self->b.fd, streams[1], points[1]));
	EXPECT_EQ(-ECANCELED, outcome(self->b.fd, streams[0], points[2]));
	EXPECT_EQ(-ECANCELED, outcome(self->b.fd, streams[1], points[3]));
	ASSERT_EQ(0, driver_bind(self->a.bdf));
}

TEST_F(peer, importer_unplugged_under_a_copy)
{
	struct side_call c;

	LINKED();
	rate(SECONDS);
	copy_begin(&c, &self->b, PACCEL_COPY_D2H);
	xfers_note();
	ASSERT_EQ(0, driver_unbind(self->b.bdf));
	EXPECT_EQ(-ENODEV, side_call_end(&c));
	ASSERT_EQ(0, driver_bind(self->b.bdf));
}

static u64 timeouts_of(const struct end *e)
{
	char node[32], path[64], text[32];

	if (!card_node(e->bdf, node))
		abort();
	snprintf(path, sizeof(path), "/sys/class/paccel/%s/timeouts", node);
	if (file_read(path, text, sizeof(text)) <= 0)
		abort();
	return strtoull(text, NULL, 10);
}

/* It never ends by itself: the watchdog's time, and the exporter can go. */
TEST_F(peer, exporter_unplugged_under_a_stuck_importer)
{
	struct side_call c;
	u64 start, before, timeouts = timeouts_of(&self->b);

	LINKED();
	ASSERT_EQ(0, module_param_set("watchdog_ms", "1500"));
	order(1, "stall");
	before = stats_of(self->b.fd).xfers;
	c = (struct side_call){
		.fn = side_copy, .fd = self->b.fd, .dir = PACCEL_COPY_H2D, .dst = self->b.mem,
		.src = (uintptr_t)self->b.range, .shape = { SIZE, 1, 0, 0 },
	};
	side_call_start(&c);
	ASSERT_TRUE(WAIT_FOR(xfers_passed(self->b.fd, before), 10000));
	xfers_note();
	start = now_ms();
	ASSERT_EQ(0, driver_unbind(self->a.bdf));
	EXPECT_LT(now_ms() - start, PROMPT_MS);
	/* Not before. */
	EXPECT_EQ(timeouts + 1, timeouts_of(&self->b));
	EXPECT_EQ(-ETIMEDOUT, side_call_end(&c));
	/* The importer is well again. */
	test_cmd_copy_h2d(self->b.fd, self->b.mem, self->host, SIZE);
	ASSERT_EQ(0, driver_bind(self->a.bdf));
}

static int unbinds(void *arg)
{
	return -driver_unbind(arg);
}

/* Each is in the other's memory, and both go at once: neither waits for the other for ever. */
TEST_F(peer, both_unplugged_under_copies)
{
	struct side_call c[2];
	pid_t child;

	LINKED();
	for (int i = 0; i < 3; i++) {
		test_cmd_host_dmabuf(self->a.fd, self->a.range, LONG, self->b.dmabuf, 0);
		rate(SECONDS);
		copy_begin(&c[0], &self->a, PACCEL_COPY_H2D);
		copy_begin(&c[1], &self->b, PACCEL_COPY_D2H);
		xfers_note();
		child = spawn(unbinds, self->a.bdf);
		ASSERT_EQ(0, driver_unbind(self->b.bdf));
		EXPECT_EQ(0, reap_within(child, 20000));
		EXPECT_GT(0, side_call_end(&c[0]));
		EXPECT_GT(0, side_call_end(&c[1]));
		rate("0");
		ASSERT_EQ(0, driver_bind(self->a.bdf));
		ASSERT_EQ(0, driver_bind(self->b.bdf));
		close(self->a.fd);
		close(self->b.fd);
		close(self->a.dmabuf);
		close(self->b.dmabuf);
		ASSERT_TRUE(end_open(&self->a, 0));
		ASSERT_TRUE(end_open(&self->b, 1));
		test_cmd_mem_export(self->a.fd, PACCEL_EXPORT_DEVICE, self->a.mem,
				    &self->a.dmabuf);
		test_cmd_mem_export(self->b.fd, PACCEL_EXPORT_DEVICE, self->b.mem,
				    &self->b.dmabuf);
		test_cmd_host_dmabuf(self->b.fd, self->b.range, LONG, self->a.dmabuf, 0);
	}
}

/* Each is stuck in the other's memory, and is stopped before it waits for the other. */
TEST_F(peer, both_unplugged_while_stuck)
{
	struct side_call c[2];
	pid_t children[2];

	LINKED();
	test_cmd_host_dmabuf(self->a.fd, self->a.range, LONG, self->b.dmabuf, 0);
	ASSERT_EQ(0, order(0, "stall"));
	ASSERT_EQ(0, order(1, "stall"));
	copy_begin(&c[0], &self->a, PACCEL_COPY_H2D);
	copy_begin(&c[1], &self->b, PACCEL_COPY_D2H);
	xfers_note();
	children[0] = spawn(unbinds, self->a.bdf);
	children[1] = spawn(unbinds, self->b.bdf);
	ASSERT_EQ(0, reap_within(children[0], 20000));
	ASSERT_EQ(0, reap_within(children[1], 20000));
	EXPECT_GT(0, side_call_end(&c[0]));
	EXPECT_GT(0, side_call_end(&c[1]));
	ASSERT_EQ(0, driver_bind(self->a.bdf));
	ASSERT_EQ(0, driver_bind(self->b.bdf));
}

static int side_host_free(struct side_call *c)
{
	return _test_cmd_host_free(c->fd, (void *)(uintptr_t)c->addr, 0);
}

/* The process or thread sleeps in the kernel, in a function of that name. */
static bool sleeps_in(pid_t pid, const char *function)
{
	char path[64], stack[4096];

	snprintf(path, sizeof(path), "/proc/%d/stack", pid);
	return file_read(path, stack, sizeof(stack)) > 0 && strstr(stack, function);
}

static int side_unbind(struct side_call *c)
{
	return driver_unbind((const char *)(uintptr_t)c->addr);
}

/*
 * A fence that is not signalled delays removal of the exporter, and neither the release of other memory of
 * it nor an importer of this memory.
 */
TEST_F(peer, exporter_unplugged_under_a_fence)
{
	struct dma_buf_import_sync_file import = { .flags = DMA_BUF_SYNC_RW };
	struct side_call unbind = { .fn = side_unbind, .addr = (uintptr_t)self->a.bdf };
	struct foreign foreign;
	int other;

	LINKED();
	ASSERT_TRUE(foreign_open(&foreign));
	test_cmd_mem_export(self->a.fd, PACCEL_EXPORT_DEVICE, self->a.mem, &other);
	import.fd = foreign_fence(&foreign);
	ASSERT_EQ(0, ioctl(self->a.dmabuf, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &import));
	xfers_note();
	side_call_start(&unbind);
	ASSERT_TRUE(WAIT_FOR(sleeps_in(unbind.tid, "dma_resv_wait_timeout"), 5000));
	close(other);
	EXPECT_EQ(0, fence_status(import.fd));
	test_cmd_host_free(self->b.fd, self->b.range, 0);
	EXPECT_EQ(0, fence_status(import.fd));
	EXPECT_TRUE(sleeps_in(unbind.tid, "dma_resv_wait_timeout"));
	foreign_signal(&foreign);
	EXPECT_EQ(0, side_call_end(&unbind));
	close(import.fd);
	foreign_close(&foreign);
	ASSERT_EQ(0, driver_bind(self->a.bdf));
}

/*
 * The exporter waits for the importer's stalled engine with the reservation lock. One call on the
 * importer waits for that lock, and delays no call for other memory. Removal of the importer waits for
 * that call: it ends only if the engine is recovered meanwhile.
 */
TEST_F(peer, both_unplugged_while_a_call_waits)
{
	struct side_call copy, frees;
	int foreign = vgem_dmabuf(SIZE, true);
	u8 *more = map_pages(2 * SIZE / page_size);
	char limit[16];
	pid_t children[2];

	LINKED();
	ASSERT_LE(0, foreign);
	test_cmd_host_dmabuf(self->b.fd, more, SIZE, self->a.dmabuf, 0);
	/* Long enough for all to wait. */
	snprintf(limit, sizeof(limit), "%u", 4000 * (unsigned int)slow_factor());
	ASSERT_EQ(0, module_param_set("watchdog_ms", limit));
	ASSERT_EQ(0, order(1, "stall"));
	copy_begin(&copy, &self->b, PACCEL_COPY_D2H);
	xfers_note();
	children[0] = spawn(unbinds, self->a.bdf);
	ASSERT_TRUE(WAIT_FOR(sleeps_in(children[0], "paccel_engines_evict"), 5000));
	frees = (struct side_call){ .fn = side_host_free, .fd = self->b.fd, .addr = (uintptr_t)more };
	side_call_start(&frees);
	EXPECT_TRUE(WAIT_FOR(frees.tid && thread_state(getpid(), frees.tid) == 'D', 5000));
	test_cmd_host_dmabuf(self->b.fd, more + SIZE, SIZE, foreign, 0);
	test_cmd_host_free(self->b.fd, more + SIZE, 0);
	EXPECT_FALSE(side_call_done(&frees));
	children[1] = spawn(unbinds, self->b.bdf);
	ASSERT_EQ(0, reap_within(children[0], 20000));
	ASSERT_EQ(0, reap_within(children[1], 20000));
	EXPECT_GT(0, side_call_end(&copy));
	EXPECT_EQ(0, side_call_end(&frees));
	ASSERT_EQ(0, driver_bind(self->a.bdf));
	ASSERT_EQ(0, driver_bind(self->b.bdf));
}

/* --- the importer is out of service ------------------------------------------ */

/*
 * The importer answers nothing, so nothing proves that it does not write any more. Afterwards devices have
 * their usual time to answer: the limits of this are too short for a busy host.
 */
static bool silence(FIXTURE_DATA(peer) *self)
{
	struct end *b = &self->b;

	return !module_param_set("watchdog_ms", "300") && !module_param_set("quiesce_ms", "100") &&
	       !order(1, "mute") &&
	       WAIT_FOR(_test_cmd_copy_d2h(b->fd, b->range, b->mem, SIZE) == -EIO, 10000) &&
	       !module_param_set("watchdog_ms", self->watchdog) &&
	       !module_param_set("quiesce_ms", self->quiesce);
}

/* The process gives up all that it has of the memory; what the device may still write is kept. */
static void leave_memory(struct __test_metadata *_metadata, FIXTURE_DATA(peer) *self)
{
	test_cmd_host_free(self->b.fd, self->b.range, 0);
	close(self->a.dmabuf);
	test_cmd_mem_free(self->a.fd, self->a.mem, LONG);
}

TEST_F(peer, kept_until_the_importer_is_reset)
{
	LINKED();
	ASSERT_TRUE(silence(self));
	leave_memory(_metadata, self);
	EXPECT_FALSE(WAIT_FOR(!stats_of(self->a.fd).used, 300));
	ASSERT_EQ(0, order(1, "clear"));
	test_cmd_reset(self->b.fd);
	EXPECT_TRUE(WAIT_FOR(!stats_of(self->a.fd).used, 5000));
}

/* Of what FIXTURE_SETUP() has made: an open file counts twice, a dma-buf once. An import counts once. */
#define USERS 6

static int module_users(void)
{
	char text[16];

	return file_read("/sys/module/paccel/refcnt", text, sizeof(text)) > 0 ? atoi(text) : -1;
}

/* The exporter can be unbound all the same: its memory is unmapped first. */
TEST_F(peer, kept_until_the_exporter_is_unplugged)
{
	int fd;

	LINKED();
	ASSERT_TRUE(silence(self));
	leave_memory(_metadata, self);
	xfers_note();
	ASSERT_EQ(0, driver_unbind(self->a.bdf));
	close(self->a.fd);
	/* What is left is the file and the dma-buf of the importer. */
	EXPECT_TRUE(WAIT_FOR(module_users() == 3, 5000)) TH_LOG("%d users", module_users());
	ASSERT_EQ(0, driver_bind(self->a.bdf));
	fd = card_open_at(self->a.bdf, O_RDWR);
	ASSERT_LE(0, fd);
	EXPECT_TRUE(WAIT_FOR(!stats_of(fd).used && card_settle(fd), 5000));
	close(fd);
	ASSERT_EQ(0, order(1, "clear"));
	test_cmd_reset(self->b.fd);
}

/* The importer is silent, and memory of another driver is kept for it. */
static void keep_vgem(struct __test_metadata *_metadata, FIXTURE_DATA(peer) *self)
{
	int dmabuf = vgem_dmabuf(LONG, true);

	ASSERT_LE(0, dmabuf);
	test_cmd_host_dmabuf(self->b.fd, self->b.range, LONG, dmabuf, 0);
	close(dmabuf);
	ASSERT_TRUE(silence(self));
	test_cmd_host_free(self->b.fd, self->b.range, 0);
}

/* Removal finds that the device is quiet, and leaves no mapping of it. */
TEST_F(peer, kept_until_the_importer_is_unbound)
{
	keep_vgem(_metadata, self);
	EXPECT_TRUE(WAIT_FOR(module_users() == USERS + 1, 5000));
	ASSERT_EQ(0, order(1, "clear"));
	xfers_note();
	ASSERT_EQ(0, driver_unbind(self->b.bdf));
	EXPECT_EQ(USERS, module_users());
	ASSERT_EQ(0, driver_bind(self->b.bdf));
}

/* It still answers configuration accesses when it is pulled. The next device there proves it gone. */
TEST_F(peer, kept_until_the_importer_is_replugged)
{
	keep_vgem(_metadata, self);
	xfers_note();
	expect_kept_mappings();
	ASSERT_EQ(0, system("guestctl device_del card1"));
	allow_warnings(NULL);
	EXPECT_TRUE(WAIT_FOR(module_users() == USERS + 1, 5000));
	ASSERT_EQ(0, order(1, "clear"));
	ASSERT_EQ(0, system("guestctl device_add card1"));
	EXPECT_TRUE(WAIT_FOR(module_users() == USERS, 10000)) TH_LOG("%d users", module_users());
}

static u64 leaked_pages(struct end *e)
{
	char node[32], path[96], text[32];

	snprintf(path, sizeof(path), "/sys/class/paccel/%s/leaked_pages",
		 card_node(e->bdf, node) ? node : "none");
	return file_read(path, text, sizeof(text)) > 0 ? strtoull(text, NULL, 0) : 0;
}

/* Host memory of the exporter that the importer may still write: the pages are lost, the range ends. */
TEST_F(peer, kept_pages_of_host_memory)
{
	u64 offset, leaked = leaked_pages(&self->b);
	long locked = locked_kb();
	int dmabuf;
	u8 *own;

	test_cmd_host_alloc(self->a.fd, LONG, &offset);
	own = host_map(self->a.fd, LONG, offset);
	ASSERT_NE(MAP_FAILED, own);
	test_cmd_mem_export(self->a.fd, PACCEL_EXPORT_HOST, (uintptr_t)own, &dmabuf);
	test_cmd_host_dmabuf(self->b.fd, self->b.range, LONG, dmabuf, 0);
	close(dmabuf);
	ASSERT_TRUE(silence(self));
	test_cmd_host_free(self->b.fd, self->b.range, 0);
	EXPECT_EQ(leaked + LONG / page_size, leaked_pages(&self->b));
	test_cmd_host_free(self->a.fd, own, 0);
	munmap(own, LONG);
	EXPECT_TRUE(WAIT_FOR(locked_kb() == locked, 5000));
	/* The pages are used for nothing else. */
	own = map_pages(16384);
	memset(own, 0x22, 16384 * page_size);
	ASSERT_EQ(0, order(1, "clear"));
	test_cmd_reset(self->b.fd);
	EXPECT_TRUE(all_bytes(own, 16384 * page_size, 0x22));
}

/* The module stays loaded for memory of another driver that is kept, until the device answers again. */
TEST_F(peer, kept_by_the_module)
{
	keep_vgem(_metadata, self);
	close(self->a.dmabuf);
	close(self->b.dmabuf);
	close(self->a.fd);
	close(self->b.fd);
	xfers_note();
	expect_kept_mappings();
	ASSERT_EQ(0, driver_unbind(self->b.bdf));
	allow_warnings(NULL);
	EXPECT_FALSE(WAIT_FOR(!module_users(), 300));
	ASSERT_EQ(-EWOULDBLOCK, module_unload());
	ASSERT_EQ(0, order(1, "clear"));
	ASSERT_EQ(0, driver_bind(self->b.bdf));
	EXPECT_TRUE(WAIT_FOR(!module_users(), 5000));
	/* What its engines had is lost, and is reported at each removal. */
	expect_kept_mappings();
	ASSERT_EQ(0, driver_unbind(self->b.bdf));
	allow_warnings(NULL);
	ASSERT_EQ(0, driver_bind(self->b.bdf));
}

/* Without memory that survives, importers lose what the card lost, a moment later. */
TEST_F(peer, exporter_reset)
{
	LINKED();
	test_cmd_copy_h2d(self->b.fd, self->b.mem, self->b.range, SIZE);
	test_cmd_reset(self->a.fd);
	if (info_of(self->a.fd).caps & PACCEL_CAP_MEM_SURVIVES_RESET) {
		test_cmd_copy_h2d(self->b.fd, self->b.mem, self->b.range, SIZE);
		return;
	}
	EXPECT_TRUE(WAIT_FOR(_test_cmd_copy_h2d(self->b.fd, self->b.mem, self->b.range, SIZE) ==
			     -EFAULT, 5000));
	test_err_host_dmabuf(EOPNOTSUPP, self->b.fd, self->b.range + LONG, page_size,
			     self->a.dmabuf, 0);
}

PACCEL_TEST_MAIN
