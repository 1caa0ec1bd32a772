// SPDX-License-Identifier: MIT
/*
 * Memory that is shared as dma-bufs: device memory with another context of the same
 * card, HOST_ALLOC memory with every driver, and other drivers' memory as what copies
 * read and write. Who may do what, who pays, and when it ends.
 */
#include <sys/resource.h>
#include <sys/socket.h>

#include "stream_test.h"
#include "dmabuf.h"

#define SIZE 500

FIXTURE(share) {
	int fd, other;
	u64 mem;
	u8 *got, *range;
	int sock[2];
	long locked;
	u64 granules;	/* bytes of those that SIZE takes */
	struct paccel_mem_stats before;
};

FIXTURE_SETUP(share)
{
	self->fd = card_open();
	self->other = card_open();
	ASSERT_LE(0, self->fd);
	ASSERT_LE(0, self->other);
	if (scrub_is_on())
		ASSERT_TRUE(card_settle(self->fd));
	self->got = map_pages(4);
	memset(self->got, 0xc3, 4 * page_size);
	/* Addresses that nothing else has. */
	self->range = mmap(NULL, 4 * page_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, self->sock));
	self->locked = locked_kb();
	self->granules = in_granules(self->fd, SIZE);
	self->before = stats_of(self->fd);
	ASSERT_EQ(0, _test_cmd_mem_alloc(self->fd, SIZE, 0, &self->mem));
}

FIXTURE_TEARDOWN(share)
{
	struct paccel_mem_stats s = stats_of(self->fd);

	EXPECT_TRUE(stats_add_up(&s));
	close(self->fd);
	close(self->other);
}

/* Closing a dma-buf is done by whoever returns to user space last. */
#define USED_BECOMES(n) \
	EXPECT_TRUE(WAIT_FOR(stats_of(self->fd).used == self->before.used + (n), 5000)) \
		TH_LOG("%llu bytes used", stats_of(self->fd).used)

/* --- device memory ------------------------------------------------------- */

static int read_and_answer(void *arg)
{
	FIXTURE_DATA(share) *self = arg;
	int dmabuf = receive_fd(self->sock[1]), fd = card_open();
	u64 addr, length;

	CHILD_CHECK(dmabuf >= 0 && fd >= 0);
	CHILD_EQ(0, _test_cmd_mem_import(fd, dmabuf, &addr, &length));
	CHILD_CHECK(addr == self->mem);
	CHILD_EQ(SIZE, length);
	close(dmabuf);
	CHILD_EQ(0, _test_cmd_copy_d2h(fd, self->got, addr, length));
	CHILD_EQ(-1, pattern_diff(self->got, SIZE, 1));
	pattern_fill(self->got, SIZE, 2);
	CHILD_EQ(0, _test_cmd_copy_h2d(fd, addr, self->got, length));
	/* Not a byte beyond what was allocated, though the granule has more. */
	CHILD_EQ(-EFAULT, _test_cmd_copy_h2d(fd, addr, self->got, SIZE + 1));
	return 0;
}

TEST_F(share, between_processes)
{
	int dmabuf;
	pid_t pid;

	pattern_fill(self->got, SIZE, 1);
	test_cmd_copy_h2d(self->fd, self->mem, self->got, SIZE);
	pid = spawn(read_and_answer, self);
	test_cmd_mem_export(self->fd, PACCEL_EXPORT_DEVICE, self->mem, &dmabuf);
	EXPECT_EQ(FD_CLOEXEC, fcntl(dmabuf, F_GETFD));
	EXPECT_EQ(O_RDWR, fcntl(dmabuf, F_GETFL) & O_ACCMODE);
	ASSERT_EQ(0, send_fd(self->sock[0], dmabuf));
	EXPECT_EQ(0, reap(pid));
	test_cmd_copy_d2h(self->fd, self->got, self->mem, SIZE);
	EXPECT_EQ(-1, pattern_diff(self->got, SIZE, 2));
}

/* Real uid, which pays; may still open the node. */
#define PAYER 4711

static int export_and_exit(void *arg)
{
	FIXTURE_DATA(share) *self = arg;
	int fd, dmabuf;
	u64 mem;

	CHILD_EQ(0, setresuid(PAYER, 0, 0));
	fd = card_open();
	CHILD_CHECK(fd >= 0);
	CHILD_EQ(0, _test_cmd_mem_alloc(fd, SIZE, 0, &mem));
	pattern_fill(self->got, SIZE, 3);
	CHILD_EQ(0, _test_cmd_copy_h2d(fd, mem, self->got, SIZE));
	CHILD_EQ(0, _test_cmd_mem_export(fd, PACCEL_EXPORT_DEVICE, mem, &dmabuf));
	CHILD_CHECK(send_fd(self->sock[1], dmabuf) == 0);
	return 0;
}

static int payer_pays(void *arg)
{
	int fd;

	CHILD_EQ(0, setresuid(PAYER, 0, 0));
	fd = card_open();
	CHILD_CHECK(fd >= 0);
	CHILD_EQ(*(u64 *)arg, stats_of(fd).user);
	return 0;
}

/* The exporter is gone; it pays until nobody has the memory, and only then it is scrubbed. */
TEST_F(share, outlives_its_exporter)
{
	u64 paid = self->granules, nothing = 0, scrubbed, addr, length;
	int dmabuf;

	EXPECT_EQ(0, run_in_child(export_and_exit, self));
	dmabuf = receive_fd(self->sock[0]);
	ASSERT_LE(0, dmabuf);
	scrubbed = stats_of(self->fd).bytes_scrubbed;
	EXPECT_EQ(0, run_in_child(payer_pays, &paid));
	test_cmd_mem_import(self->fd, dmabuf, &addr, &length);
	EXPECT_EQ(self->before.user + self->granules, stats_of(self->fd).user);
	close(dmabuf);
	EXPECT_EQ(0, run_in_child(payer_pays, &paid));
	test_cmd_copy_d2h(self->fd, self->got + page_size, addr, length);
	pattern_fill(self->got, SIZE, 3);
	EXPECT_EQ(-1, bytes_diff(self->got, self->got + page_size, SIZE));
	EXPECT_EQ(2 * self->granules, stats_of(self->fd).mine);
	EXPECT_EQ(scrubbed, stats_of(self->fd).bytes_scrubbed);
	USED_BECOMES(2 * self->granules);

	test_cmd_mem_free(self->fd, addr, length);
	USED_BECOMES(self->granules);
	EXPECT_EQ(0, run_in_child(payer_pays, &nothing));
	EXPECT_TRUE(card_settle(self->fd));
	EXPECT_EQ(scrubbed + (scrub_is_on() ? self->granules : 0),
		  stats_of(self->fd).bytes_scrubbed);
}

/* A dma-buf alone keeps the memory, and so does one that is on its way in a socket. */
TEST_F(share, the_dmabuf_is_a_holder)
{
	u64 addr, length;
	int dmabuf;

	test_cmd_mem_export(self->fd, PACCEL_EXPORT_DEVICE, self->mem, &dmabuf);
	ASSERT_EQ(0, send_fd(self->sock[0], dmabuf));
	close(dmabuf);
	test_cmd_mem_free(self->fd, self->mem, SIZE);
	EXPECT_EQ(0, stats_of(self->fd).mine);
	EXPECT_EQ(self->granules, stats_of(self->fd).used - self->before.used);
	test_err_mem_free(ENOENT, self->fd, self->mem, SIZE);
	dmabuf = receive_fd(self->sock[1]);
	test_cmd_mem_import(self->other, dmabuf, &addr, &length);
	EXPECT_EQ(self->mem, addr);
	test_cmd_mem_free(self->other, addr, length);
	USED_BECOMES(self->granules);
	close(dmabuf);
	USED_BECOMES(0);
}

TEST_F(share, imports_are_counted)
{
	u64 addr, length;
	int dmabuf;

	test_cmd_mem_export(self->fd, PACCEL_EXPORT_DEVICE, self->mem, &dmabuf);
	for (int i = 0; i < 2; i++) {
		test_cmd_mem_import(self->fd, dmabuf, &addr, &length);
		EXPECT_EQ(self->mem, addr);
		EXPECT_EQ(SIZE, length);
		test_cmd_mem_import(self->other, dmabuf, &addr, &length);
		EXPECT_EQ(self->mem, addr);
	}
	close(dmabuf);
	EXPECT_EQ(self->granules, stats_of(self->fd).mine);
	EXPECT_EQ(1, stats_of(self->fd).mine_allocs);
	EXPECT_EQ(1, stats_of(self->other).mine_allocs);
	EXPECT_EQ(self->granules, stats_of(self->fd).used - self->before.used);
	/* What is refused does not count. */
	test_err_mem_free(EINVAL, self->fd, self->mem, SIZE + 1);
	for (int i = 0; i < 3; i++)
		test_cmd_mem_free(self->fd, self->mem, SIZE);
	test_err_mem_free(ENOENT, self->fd, self->mem, SIZE);
	EXPECT_EQ(0, stats_of(self->fd).mine);
	test_cmd_mem_free(self->other, self->mem, SIZE);
	/* One is left, and has all its rights. */
	test_cmd_copy_h2d(self->other, self->mem, self->got, SIZE);
	test_cmd_mem_free(self->other, self->mem, SIZE);
	test_err_mem_free(ENOENT, self->other, self->mem, SIZE);
	test_err_copy_h2d(EFAULT, self->other, self->mem, self->got, SIZE);
	USED_BECOMES(0);
}

/* A context that ends drops all that it has counted. */
TEST_F(share, close_drops_all_imports)
{
	u64 addr, length;
	int dmabuf;

	test_cmd_mem_export(self->fd, PACCEL_EXPORT_DEVICE, self->mem, &dmabuf);
	for (int i = 0; i < 3; i++)
		test_cmd_mem_import(self->other, dmabuf, &addr, &length);
	close(dmabuf);
	test_cmd_mem_free(self->fd, self->mem, SIZE);
	close(self->other);
	USED_BECOMES(0);
	self->other = card_open();
}

TEST_F(share, import_refusals)
{
	int memfd = memfd_create("share", MFD_CLOEXEC), dmabuf;
	u64 offset;
	u8 *own;

	test_err_mem_import(EINVAL, self->fd, -1);
	test_err_mem_import(EINVAL, self->fd, memfd);
	test_err_mem_import(EINVAL, self->fd, self->fd);
	test_err_mem_import(EINVAL, self->fd, 1 << 20);
	test_cmd_host_alloc(self->fd, page_size, &offset);
	own = host_map(self->fd, page_size, offset);
	ASSERT_NE(MAP_FAILED, own);
	test_cmd_mem_export(self->fd, PACCEL_EXPORT_HOST, (uintptr_t)own, &dmabuf);
	test_err_mem_import(EXDEV, self->fd, dmabuf);
	for (enum maker m = 0; m < makers(); m++) {
		dmabuf = foreign_dmabuf(m, page_size);
		ASSERT_LE(0, dmabuf) TH_LOG("maker %d", m);
		test_err_mem_import(EXDEV, self->fd, dmabuf);
		close(dmabuf);
	}
	EXPECT_EQ(1, stats_of(self->fd).mine_allocs);
	munmap(own, page_size);
}

TEST_F(share, export_refusals)
{
	struct rlimit full = { 0, 1024 }, old;
	u64 offset, hole;
	u8 *own;

	test_err_mem_export(EINVAL, self->fd, 0, self->mem);
	test_err_mem_export(EINVAL, self->fd, 3, self->mem);
	test_err_mem_export(ENOENT, self->fd, PACCEL_EXPORT_DEVICE, self->mem + 1);
	test_err_mem_export(ENOENT, self->fd, PACCEL_EXPORT_DEVICE, 0);
	test_err_mem_export(ENOENT, self->other, PACCEL_EXPORT_DEVICE, self->mem);
	test_err_mem_export(ENOENT, self->fd, PACCEL_EXPORT_HOST, self->mem);
	hole = self->mem + self->granules;
	test_err_mem_export(ENOENT, self->fd, PACCEL_EXPORT_DEVICE, hole);
	/* Memory that the program has made itself is not ours to give. */
	test_cmd_host_register(self->fd, self->got, page_size, 0);
	test_err_mem_export(ENOENT, self->fd, PACCEL_EXPORT_HOST, (uintptr_t)self->got);

	test_cmd_host_alloc(self->fd, 2 * page_size, &offset);
	own = host_map(self->fd, 2 * page_size, offset);
	ASSERT_NE(MAP_FAILED, own);
	test_err_mem_export(ENOENT, self->fd, PACCEL_EXPORT_HOST, (uintptr_t)own + page_size);
	test_err_mem_export(ENOENT, self->fd, PACCEL_EXPORT_DEVICE, (uintptr_t)own);
	test_err_mem_export(ENOENT, self->other, PACCEL_EXPORT_HOST, (uintptr_t)own);
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &old));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &full));
	test_err_mem_export(EMFILE, self->fd, PACCEL_EXPORT_DEVICE, self->mem);
	test_err_mem_export(EMFILE, self->fd, PACCEL_EXPORT_HOST, (uintptr_t)own);
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &old));
	munmap(own, 2 * page_size);
	test_err_mem_export(ENOENT, self->fd, PACCEL_EXPORT_HOST, (uintptr_t)own);
	test_cmd_host_free(self->fd, NULL, offset);
}

/* There are no pages behind it; what lies in a BAR programs can map, and map.c does. */
TEST_F(share, device_memory_has_no_pages)
{
	bool mappable = info_of(self->fd).caps & PACCEL_CAP_MAPPABLE;
	int rc = mappable ? 0 : -EOPNOTSUPP;
	int dmabuf, vgem = vgem_open();

	ASSERT_LE(0, vgem);
	test_cmd_mem_export(self->fd, PACCEL_EXPORT_DEVICE, self->mem, &dmabuf);
	if (!mappable) {
		EXPECT_EQ(MAP_FAILED, dmabuf_map(dmabuf, page_size));
		EXPECT_EQ(EOPNOTSUPP, errno);
	}
	EXPECT_EQ(rc, dmabuf_sync(dmabuf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ));
	EXPECT_EQ(rc, dmabuf_sync(dmabuf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ));
	EXPECT_EQ(-EOPNOTSUPP, vgem_import(vgem, dmabuf));
	test_err_host_dmabuf(EOPNOTSUPP, self->fd, self->range, SIZE, dmabuf, 0);
	test_err_host_dmabuf(EOPNOTSUPP, self->other, self->range, SIZE, dmabuf, 0);
	EXPECT_EQ(page_size, lseek(dmabuf, 0, SEEK_END));
}

/* --- HOST_ALLOC memory ---------------------------------------------------- */

FIXTURE(host_share) {
	int fd, dmabuf;
	u64 mem, offset;
	u8 *own, *got, *range;
	long locked;
};

FIXTURE_SETUP(host_share)
{
	self->locked = locked_kb();
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, _test_cmd_mem_alloc(self->fd, SIZE, 0, &self->mem));
	ASSERT_EQ(0, _test_cmd_host_alloc(self->fd, 3 * page_size, &self->offset));
	self->own = host_map(self->fd, 3 * page_size, self->offset);
	ASSERT_NE(MAP_FAILED, self->own);
	ASSERT_EQ(0, _test_cmd_mem_export(self->fd, PACCEL_EXPORT_HOST, (uintptr_t)self->own,
					  &self->dmabuf));
	self->got = map_pages(3);
	self->range = mmap(NULL, 3 * page_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

FIXTURE_TEARDOWN(host_share)
{
	close(self->fd);
	close(self->dmabuf);
	unmap_nodes();
	EXPECT_TRUE(WAIT_FOR(locked_kb() == self->locked, 5000))
		TH_LOG("%ld kB locked before, %ld after", self->locked, locked_kb());
}

/* Mappings of the dma-buf come and go; the one with the addresses stays what it is. */
TEST_F(host_share, mapped_by_the_cpu)
{
	u8 *map = dmabuf_map(self->dmabuf, 3 * page_size), *part;

	ASSERT_NE(MAP_FAILED, map);
	EXPECT_EQ(3 * page_size, lseek(self->dmabuf, 0, SEEK_END));
	pattern_fill(self->own, 3 * page_size, 4);
	EXPECT_EQ(-1, bytes_diff(map, self->own, 3 * page_size));
	part = mmap(NULL, page_size, PROT_READ, MAP_SHARED, self->dmabuf, 2 * page_size);
	ASSERT_NE(MAP_FAILED, part);
	EXPECT_EQ(-1, bytes_diff(part, self->own + 2 * page_size, page_size));
	/* A private one would not see what the card writes. */
	EXPECT_EQ(MAP_FAILED, mmap(NULL, page_size, PROT_READ, MAP_PRIVATE, self->dmabuf, 0));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, page_size, PROT_READ, MAP_SHARED, self->dmabuf,
				   3 * page_size));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(MAP_FAILED, mremap(map, 3 * page_size, 4 * page_size, MREMAP_MAYMOVE));
	/* These may be split, unlike the first. */
	EXPECT_EQ(0, munmap(map + page_size, page_size));
	EXPECT_EQ(0, munmap(part, page_size));

	test_cmd_copy_h2d(self->fd, self->mem, self->own, SIZE);
	memset(self->own, 0, page_size);
	EXPECT_EQ(0, dmabuf_sync(self->dmabuf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW));
	EXPECT_TRUE(all_bytes(map, SIZE, 0));
	EXPECT_EQ(0, dmabuf_sync(self->dmabuf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW));
	test_cmd_copy_d2h(self->fd, self->own, self->mem, SIZE);
	EXPECT_EQ(-1, pattern_diff(map, SIZE, 4));
	munmap(map, 3 * page_size);
}

/* What the exporter has freed and closed is there still, and still charged. */
TEST_F(host_share, outlives_its_context)
{
	long kb = 3 * page_size / 1024;
	u8 *map = dmabuf_map(self->dmabuf, 3 * page_size);

	ASSERT_NE(MAP_FAILED, map);
	pattern_fill(self->own, 3 * page_size, 5);
	test_cmd_host_free(self->fd, NULL, self->offset);
	close(self->fd);
	EXPECT_EQ(0, munmap(self->own, 3 * page_size));
	close(self->dmabuf);
	EXPECT_EQ(-1, pattern_diff(map, 3 * page_size, 5));
	EXPECT_EQ(self->locked + kb, locked_kb());
	EXPECT_EQ(0, munmap(map, 3 * page_size));
	EXPECT_TRUE(WAIT_FOR(locked_kb() == self->locked, 5000));
	self->fd = card_open();
	self->dmabuf = -1;
}

/* The DMA API copies all that is mapped: no other device can be given memory of the card's. */
static bool all_bounces(void)
{
	char cmdline[4096] = {};

	return file_read("/proc/cmdline", cmdline, sizeof(cmdline)) > 0 &&
	       strstr(cmdline, "swiotlb=force");
}

/* A driver that has never heard of us maps the pages for its device, and gives them back. */
TEST_F(host_share, vgem_imports)
{
	int vgem = vgem_open(), handle, again;
	u8 *map;

	ASSERT_LE(0, vgem);
	handle = vgem_import(vgem, self->dmabuf);
	if (all_bounces()) {
		EXPECT_EQ(-EOPNOTSUPP, handle);
		return;
	}
	ASSERT_LT(0, handle);
	again = vgem_export(vgem, handle, DRM_CLOEXEC | DRM_RDWR);
	ASSERT_LE(0, again);
	map = dmabuf_map(again, 3 * page_size);
	ASSERT_NE(MAP_FAILED, map);
	pattern_fill(self->got, SIZE, 6);
	test_cmd_copy_h2d(self->fd, self->mem, self->got, SIZE);
	test_cmd_copy_d2h(self->fd, self->own + page_size - 100, self->mem, SIZE);
	EXPECT_EQ(0, dmabuf_sync(again, DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ));
	EXPECT_EQ(-1, bytes_diff(map + page_size - 100, self->got, SIZE));
	EXPECT_EQ(0, dmabuf_sync(again, DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ));

	/* vgem alone has it now, and the one mapping. */
	close(again);
	close(self->dmabuf);
	close(self->fd);
	munmap(self->own, 3 * page_size);
	EXPECT_EQ(-1, bytes_diff(map + page_size - 100, self->got, SIZE));
	munmap(map, 3 * page_size);
	EXPECT_NE(self->locked, locked_kb());
	EXPECT_EQ(0, vgem_close(vgem, handle));
	EXPECT_TRUE(WAIT_FOR(locked_kb() == self->locked, 5000));
	close(vgem);
	self->fd = card_open();
	self->dmabuf = -1;
}

static int use_as_host_memory(void *arg)
{
	FIXTURE_DATA(host_share) *self = arg;
	int fd = card_open();
	u64 mem;

	CHILD_CHECK(fd >= 0);
	CHILD_EQ(0, _test_cmd_mem_alloc(fd, SIZE, 0, &mem));
	CHILD_EQ(0, _test_cmd_host_dmabuf(fd, self->range, 2 * page_size, self->dmabuf, 0));
	/* Across a page, then into the first bytes. */
	CHILD_EQ(0, _test_cmd_copy_h2d(fd, mem, self->range + page_size - 100, SIZE));
	CHILD_EQ(0, _test_cmd_copy_d2h(fd, self->range, mem, SIZE));
	/* The third page is not part of the range, and nothing else is mapped there. */
	CHILD_EQ(-EFAULT, _test_cmd_copy_h2d(fd, mem, self->range + 2 * page_size - 1, 2));
	return 0;
}

TEST_F(host_share, as_host_memory_of_another_process)
{
	pattern_fill(self->own + page_size - 100, SIZE, 7);
	EXPECT_EQ(0, run_in_child(use_as_host_memory, self));
	EXPECT_EQ(-1, bytes_diff(self->own, self->own + page_size - 100, SIZE));
	EXPECT_TRUE(WAIT_FOR(locked_kb() == self->locked + 3 * (long)page_size / 1024, 5000));
}

/* The borrower has it when the owner has freed it. */
TEST_F(host_share, lent_memory_stays)
{
	int other = card_open();
	u64 mem;

	ASSERT_LE(0, other);
	test_cmd_mem_alloc(other, SIZE, 0, &mem);
	test_cmd_host_dmabuf(other, self->range, page_size, self->dmabuf, PACCEL_HOST_READ_ONLY);
	pattern_fill(self->own, SIZE, 8);
	close(self->dmabuf);
	close(self->fd);
	munmap(self->own, 3 * page_size);
	self->fd = other;
	self->dmabuf = -1;
	test_cmd_copy_h2d(other, mem, self->range, SIZE);
	test_err_copy_d2h(EFAULT, other, self->range, mem, SIZE);
	test_cmd_copy_d2h(other, self->got, mem, SIZE);
	EXPECT_EQ(-1, pattern_diff(self->got, SIZE, 8));
	test_cmd_host_free(other, self->range, 0);
	EXPECT_TRUE(WAIT_FOR(locked_kb() == self->locked, 5000));
}

/* --- other drivers' memory ------------------------------------------------ */

TEST_F(share, foreign_source_and_target)
{
	for (enum maker m = 0; m < makers(); m++) {
		int dmabuf = foreign_dmabuf(m, 2 * page_size);
		u8 *map = dmabuf_map(dmabuf, 2 * page_size);

		ASSERT_NE(MAP_FAILED, map) TH_LOG("maker %d", m);
		EXPECT_EQ(0, dmabuf_sync(dmabuf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW));
		memset(map, 0x55, 2 * page_size);
		pattern_fill(map + page_size - 100, SIZE, 10 + m);
		EXPECT_EQ(0, dmabuf_sync(dmabuf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW));
		/* All of it is pinned. */
		test_cmd_host_dmabuf(self->fd, self->range, 1, dmabuf, 0);
		EXPECT_EQ(self->locked + 2 * (long)page_size / 1024, locked_kb());
		test_cmd_host_free(self->fd, self->range, 0);
		EXPECT_EQ(self->locked, locked_kb());
		test_cmd_host_dmabuf(self->fd, self->range, 2 * page_size, dmabuf, 0);
		/* The range holds it, not the descriptor. */
		close(dmabuf);
		EXPECT_EQ(self->locked + 2 * (long)page_size / 1024, locked_kb());
		test_cmd_copy_h2d(self->fd, self->mem, self->range + page_size - 100, SIZE);
		test_cmd_copy_d2h(self->fd, self->range + 3, self->mem, SIZE);
		EXPECT_EQ(-1, bytes_diff(map + 3, map + page_size - 100, SIZE))
			TH_LOG("maker %d", m);
		EXPECT_TRUE(all_bytes(map, 3, 0x55));
		EXPECT_TRUE(all_bytes(map + 3 + SIZE, 16, 0x55));
		test_cmd_host_free(self->fd, self->range, 0);
		munmap(map, 2 * page_size);
	}
}

/* The exporter keeps it where it is, so a process can register as much as it can lock. */
TEST_F(share, foreign_memory_is_limited)
{
	int dmabuf = vgem_dmabuf(2 * page_size, true);

	ASSERT_LE(0, dmabuf);
	limit_memlock(self->locked * 1024 + 3 * page_size);
	test_cmd_host_dmabuf(self->fd, self->range, 1, dmabuf, 0);
	test_err_host_dmabuf(ENOMEM, self->fd, self->range + page_size, 1, dmabuf, 0);
	test_cmd_host_free(self->fd, self->range, 0);
	test_cmd_host_dmabuf(self->fd, self->range + page_size, 1, dmabuf, 0);
}

struct writer {
	int vgem;
	u32 fence;
	pid_t waits;
	_Atomic bool waited, returned, written;
};

/* True once the waiting thread has gone to sleep and signals have woken it several times since. */
static bool sleeps_on(struct writer *w)
{
	int signals = storm_signals();

	return WAIT_FOR(w->returned || thread_state(getpid(), w->waits) == 'S', 5000) &&
	       WAIT_FOR(w->returned || storm_signals() > signals + 2, 5000);
}

/* Writes until somebody waits for it, or does not. */
static void *write_for_a_while(void *arg)
{
	struct writer *w = arg;
	struct vgem_signal signal = { .fence = w->fence };

	w->waited = sleeps_on(w) && !w->returned;
	w->written = true;
	return (void *)(long)ioctl(w->vgem, VGEM_FENCE_SIGNAL, &signal);
}

static int queue_copy(int fd, u32 stream, u32 dir, u64 dst, u64 src, u64 *point)
{
	struct paccel_op op = {
		.op = PACCEL_OP_COPY,
		.copy = { .dir = dir, .dst = dst, .src = src, .width = SIZE, .rows = 1 },
	};
	struct paccel_submit cmd = {
		.size = sizeof(cmd), .stream = stream, .nr_ops = 1,
		.ops = (uintptr_t)&op, .op_size = sizeof(op),
	};
	int rc = ioctl(fd, PACCEL_IOC_SUBMIT, &cmd) ? -errno : 0;

	*point = cmd.point;
	return rc;
}

/* How the work up to the point has ended. */
static int outcome_of(int fd, u32 stream, u64 point)
{
	struct paccel_point p = { .stream = stream, .point = point };
	struct paccel_wait cmd = {
		.size = sizeof(cmd), .deadline_ns = ~0ull, .points = (uintptr_t)&p,
		.nr_points = 1, .point_size = sizeof(p),
	};

	return ioctl(fd, PACCEL_IOC_WAIT, &cmd) ? -errno : p.error;
}

/* A call that uses the range while vgem writes to its memory; signals do not end the wait. */
struct reader {
	int fd, vgem;
	u32 handle, stream;
	u64 mem, range, point;
};

static int copy_now(struct reader *r)
{
	return _test_cmd_copy_h2d(r->fd, r->mem, (void *)r->range, SIZE);
}

static int submit_copy(struct reader *r)
{
	return queue_copy(r->fd, r->stream, PACCEL_COPY_H2D, r->mem, r->range, &r->point);
}

static void read_while_written(struct __test_metadata *_metadata, struct reader *r,
			       int (*call)(struct reader *r))
{
	struct vgem_fence fence = { .handle = r->handle, .flags = VGEM_FENCE_WRITE };
	struct writer writer = { .vgem = r->vgem, .waits = gettid() };
	pthread_t thread;
	sigset_t alarm;
	bool written;

	ASSERT_EQ(0, ioctl(r->vgem, VGEM_FENCE_ATTACH, &fence));
	writer.fence = fence.out_fence;
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarm, NULL);
	ASSERT_EQ(0, pthread_create(&thread, NULL, write_for_a_while, &writer));
	pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
	/* Each begins the call anew. */
	storm_begin(20 * slow_factor());
	EXPECT_EQ(0, call(r));
	written = writer.written;
	writer.returned = true;
	storm_end();
	pthread_join(thread, NULL);
	/* The card itself is told when it may by whoever queues work. */
	if (!(info_of(r->fd).caps & PACCEL_CAP_DIRECT_DMA)) {
		EXPECT_TRUE(writer.waited);
		EXPECT_TRUE(written);
	}
}

/* Each copy by the CPU begins when those who write have ended, also those who came later. */
TEST_F(share, copies_by_cpu_wait_for_writers)
{
	struct paccel_stream_create create = { .size = sizeof(create) };
	struct reader r = {
		.fd = self->fd, .vgem = vgem_open(),
		.mem = self->mem, .range = (uintptr_t)self->range,
	};
	int dmabuf;

	r.handle = vgem_create(r.vgem, page_size);
	dmabuf = vgem_export(r.vgem, r.handle, DRM_CLOEXEC | DRM_RDWR);
	ASSERT_LE(0, dmabuf);
	test_cmd_host_dmabuf(self->fd, self->range, page_size, dmabuf, 0);
	ASSERT_EQ(0, ioctl(self->fd, PACCEL_IOC_STREAM_CREATE, &create));
	r.stream = create.stream;
	read_while_written(_metadata, &r, copy_now);
	read_while_written(_metadata, &r, submit_copy);
	EXPECT_EQ(0, outcome_of(r.fd, r.stream, r.point));
}

/* Work that is queued has the dma-buf when everybody else has let go of it. */
TEST_F(share, foreign_in_a_stream)
{
	struct paccel_stream_create create = { .size = sizeof(create) };
	u64 point, refused, range = (uintptr_t)self->range;
	int dmabuf = foreign_dmabuf(makers() - 1, 2 * page_size);
	u8 *map = dmabuf_map(dmabuf, 2 * page_size);

	ASSERT_EQ(0, ioctl(self->fd, PACCEL_IOC_STREAM_CREATE, &create));
	ASSERT_NE(MAP_FAILED, map);
	pattern_fill(map + page_size - 100, SIZE, 30);
	test_cmd_host_dmabuf(self->fd, self->range, 2 * page_size, dmabuf, 0);
	EXPECT_EQ(0, queue_copy(self->fd, create.stream, PACCEL_COPY_H2D, self->mem,
				range + page_size - 100, &point));
	EXPECT_EQ(0, queue_copy(self->fd, create.stream, PACCEL_COPY_D2H, range, self->mem,
				&point));
	test_cmd_host_free(self->fd, self->range, 0);
	close(dmabuf);
	EXPECT_EQ(-EFAULT, queue_copy(self->fd, create.stream, PACCEL_COPY_H2D, self->mem, range,
				      &refused));
	EXPECT_EQ(0, outcome_of(self->fd, create.stream, point));
	EXPECT_EQ(-1, pattern_diff(map, SIZE, 30));
	munmap(map, 2 * page_size);
}

/* Under the very addresses where the program has mapped the dma-buf. */
TEST_F(share, under_its_own_mapping)
{
	int dmabuf = vgem_dmabuf(page_size, true);
	u8 *map = dmabuf_map(dmabuf, page_size);

	ASSERT_NE(MAP_FAILED, map);
	test_cmd_host_dmabuf(self->fd, map, page_size, dmabuf, 0);
	pattern_fill(map, SIZE, 20);
	test_cmd_copy_h2d(self->fd, self->mem, map, SIZE);
	/* It is the dma-buf that is registered, and not what is mapped there. */
	EXPECT_EQ(map, mmap(map, page_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
			    -1, 0));
	test_cmd_copy_d2h(self->fd, map + 1000, self->mem, SIZE);
	map = dmabuf_map(dmabuf, page_size);
	EXPECT_EQ(-1, bytes_diff(map, map + 1000, SIZE));
}

TEST_F(share, read_only_dmabuf)
{
	int dmabuf = vgem_dmabuf(page_size, false);
	u8 *map = mmap(NULL, page_size, PROT_READ, MAP_SHARED, dmabuf, 0);

	ASSERT_NE(MAP_FAILED, map);
	test_err_host_dmabuf(EACCES, self->fd, self->range, page_size, dmabuf, 0);
	test_cmd_host_dmabuf(self->fd, self->range, page_size, dmabuf, PACCEL_HOST_READ_ONLY);
	test_cmd_copy_h2d(self->fd, self->mem, self->range, SIZE);
	test_err_copy_d2h(EFAULT, self->fd, self->range, self->mem, SIZE);
	test_cmd_copy_d2h(self->fd, self->got, self->mem, SIZE);
	EXPECT_EQ(-1, bytes_diff(map, self->got, SIZE));
}

TEST_F(share, register_refusals)
{
	int dmabuf = vgem_dmabuf(2 * page_size, true), memfd = memfd_create("share", MFD_CLOEXEC);
	struct paccel_host_register cmd = {
		.size = sizeof(cmd), .addr = (uintptr_t)self->got, .length = 1, .fd = dmabuf,
	};

	ASSERT_LT(0, dmabuf);
	test_err_host_dmabuf(EINVAL, self->fd, self->range, 1, -1, 0);
	test_err_host_dmabuf(EINVAL, self->fd, self->range, 1, memfd, 0);
	test_err_host_dmabuf(EINVAL, self->fd, self->range, 1, self->fd, 0);
	test_err_host_dmabuf(EINVAL, self->fd, self->range, 0, dmabuf, 0);
	test_err_host_dmabuf(EINVAL, self->fd, self->range, 2 * page_size + 1, dmabuf, 0);
	test_err_host_dmabuf(EINVAL, self->fd, (void *)-1ul, 2, dmabuf, 0);
	test_err_host_dmabuf(EFAULT, self->fd, (void *)(1ul << 63), 2, dmabuf, 0);
	/* A descriptor that nobody asked for. */
	EXPECT_EQ(-EINVAL, paccel_call(self->fd, PACCEL_IOC_HOST_REGISTER, &cmd));
	cmd.flags = PACCEL_HOST_DMABUF;
	cmd.reserved = 1;
	EXPECT_EQ(-EINVAL, paccel_call(self->fd, PACCEL_IOC_HOST_REGISTER, &cmd));
	/* Ranges do not overlap, whatever they are made of. */
	test_cmd_host_dmabuf(self->fd, self->range, page_size + 1, dmabuf, 0);
	test_err_host_dmabuf(EEXIST, self->fd, self->range + page_size, 1, dmabuf, 0);
	test_cmd_host_dmabuf(self->fd, self->range + page_size + 1, 1, dmabuf, 0);
	test_err_mem_export(ENOENT, self->fd, PACCEL_EXPORT_HOST, (uintptr_t)self->range);
	test_cmd_host_free(self->fd, self->range, 0);
	test_cmd_host_free(self->fd, self->range + page_size + 1, 0);
	test_err_host_free(ENOENT, self->fd, self->range, 0);
}

/* --- a fence behind a transfer ------------------------------------------- */

#define UNPRIVILEGED 65534

/*
 * A sync_file of a dma-buf that has no fence holds the kernel's stub fence, which is signalled. All
 * stub fences share one lock, which dma_fence_get_stub() takes with interrupts enabled.
 */
static int stub_fence(int dmabuf)
{
	struct dma_buf_export_sync_file sync = { .flags = DMA_BUF_SYNC_RW };

	return ioctl(dmabuf, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &sync) ? -errno : sync.fd;
}

struct stub_thread {
	pthread_t id;
	int dmabuf;
	bool stop;
	int rc;
};

static void *make_stub_fences(void *arg)
{
	struct stub_thread *t = arg;

	while (!__atomic_load_n(&t->stop, __ATOMIC_RELAXED) && !t->rc) {
		int fence = stub_fence(t->dmabuf);

		if (fence < 0)
			t->rc = fence;
		else
			close(fence);
	}
	return NULL;
}

/*
 * The completion handler of a transfer advances the stream to an operation that waits for a fence
 * of another driver. It must not take that fence's lock: a process without privileges would lock up
 * the CPU whose interrupt finds the lock taken.
 */
TEST(fence_lock_is_not_taken_in_interrupts)
{
	int rounds = strcmp(card_kind(), "edu") ? 4000 / slow_factor() : 5;
	struct stub_thread thread[2] = {};
	struct rig r;
	int fence;

	ASSERT_EQ(0, rig_open(&r, 64));
	ASSERT_EQ(0, setresuid(UNPRIVILEGED, UNPRIVILEGED, UNPRIVILEGED));
	for (int i = 0; i < 2; i++) {
		test_cmd_mem_export(r.fd, PACCEL_EXPORT_HOST, (uintptr_t)r.own, &thread[i].dmabuf);
		ASSERT_EQ(0, pthread_create(&thread[i].id, NULL, make_stub_fences, &thread[i]));
	}
	fence = stub_fence(thread[0].dmabuf);
	EXPECT_EQ(1, fence_status(fence));
	for (int i = 1; i <= rounds; i++) {
		ASSERT_EQ(i, submit(r.fd, r.stream, op_fill(r.mem, 64, i & 0xff, 1),
				    op_fence(fence)));
		ASSERT_EQ(0, outcome(r.fd, r.stream, i));
	}
	for (int i = 0; i < 2; i++) {
		__atomic_store_n(&thread[i].stop, true, __ATOMIC_RELAXED);
		pthread_join(thread[i].id, NULL);
		EXPECT_EQ(0, thread[i].rc);
		close(thread[i].dmabuf);
	}
	close(fence);
	rig_close(&r);
}

/* --- the card goes away ----------------------------------------------------- */

/* An O_PATH descriptor keeps a dma-buf whose file is gone, and can keep it while the memory is revoked. */
TEST_F(share, path_outlives_the_file)
{
	char path[64];
	int dmabuf, held;

	test_cmd_mem_export(self->fd, PACCEL_EXPORT_DEVICE, self->mem, &dmabuf);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", dmabuf);
	held = open(path, O_PATH | O_CLOEXEC);
	ASSERT_LE(0, held);
	close(dmabuf);
	ASSERT_EQ(0, driver_unbind(card_bdf()));
	close(held);
	ASSERT_EQ(0, driver_bind(card_bdf()));
	close(self->fd);
	ASSERT_TRUE(WAIT_FOR((self->fd = card_open()) >= 0, 5000));
}

/* What is shared outlives the card; nothing of it is mapped for the card any more. */
TEST_F(host_share, unplugged)
{
	struct paccel_stream_create create = { .size = sizeof(create) };
	int vgem = vgem_open(), handle, device, foreign[MAKERS], fresh;
	u64 point;
	u8 *map = dmabuf_map(self->dmabuf, 3 * page_size), *lent;
	u64 addr, length;

	ASSERT_LE(0, vgem);
	handle = vgem_import(vgem, self->dmabuf);
	EXPECT_EQ(all_bounces(), handle < 0);
	test_cmd_mem_export(self->fd, PACCEL_EXPORT_DEVICE, self->mem, &device);
	test_cmd_mem_import(self->fd, device, &addr, &length);
	lent = mmap(NULL, (MAKERS + 1) * page_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	test_cmd_host_dmabuf(self->fd, lent, page_size, self->dmabuf, 0);
	for (enum maker m = 0; m < makers(); m++) {
		foreign[m] = foreign_dmabuf(m, page_size);
		test_cmd_host_dmabuf(self->fd, lent + (m + 1) * page_size, page_size,
				     foreign[m], 0);
	}
	pattern_fill(self->own, 3 * page_size, 9);
	/* On its way when the card goes: 100 ms each. */
	ASSERT_EQ(0, ioctl(self->fd, PACCEL_IOC_STREAM_CREATE, &create));
	for (enum maker m = 0; m < makers(); m++)
		EXPECT_EQ(0, queue_copy(self->fd, create.stream, PACCEL_COPY_H2D, self->mem,
					(uintptr_t)lent + (m + 1) * page_size, &point));

	xfers_note();
	ASSERT_EQ(0, driver_unbind(card_bdf()));
	test_err_mem_export(ENODEV, self->fd, PACCEL_EXPORT_DEVICE, self->mem);
	test_err_mem_import(ENODEV, self->fd, device);
	test_err_host_dmabuf(ENODEV, self->fd, self->range, 1, self->dmabuf, 0);
	EXPECT_EQ(-1, pattern_diff(map, 3 * page_size, 9));
	EXPECT_EQ(0, dmabuf_sync(self->dmabuf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW));
	EXPECT_EQ(0, dmabuf_sync(self->dmabuf, DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW));
	ASSERT_EQ(0, driver_bind(card_bdf()));

	ASSERT_TRUE(WAIT_FOR((fresh = card_open()) >= 0, 5000));
	/* Another card, though in the same slot. */
	test_err_mem_import(EXDEV, fresh, device);
	EXPECT_EQ(0, stats_of(fresh).used);
	/* Memory of a card that is gone is memory. */
	test_cmd_host_dmabuf(fresh, self->range, page_size, self->dmabuf, 0);
	test_cmd_mem_alloc(fresh, SIZE, 0, &addr);
	test_cmd_copy_h2d(fresh, addr, self->range, SIZE);
	test_cmd_copy_d2h(fresh, self->got, addr, SIZE);
	EXPECT_EQ(-1, bytes_diff(self->got, self->own, SIZE));
	close(fresh);
	for (enum maker m = 0; m < makers(); m++)
		close(foreign[m]);
	if (handle > 0)
		EXPECT_EQ(0, vgem_close(vgem, handle));
	close(vgem);
	close(device);
	munmap(map, 3 * page_size);
}

PACCEL_TEST_MAIN
