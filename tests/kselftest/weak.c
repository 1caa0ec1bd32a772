// SPDX-License-Identifier: MIT
/*
 * Cards of which less is known: one whose memory does not survive a reset, one that
 * bus mastering does not stop. The driver takes a backend's word for it, and the one for
 * tests says so (tests/module/backend.c). Parameters of the module are changed as well, so it is
 * loaded anew: nothing else may run meanwhile.
 */
#include "stream_test.h"

#define SIZE 300
/* Single bytes, each a transfer of its own: long enough to be met in flight. */
#define ROWS 10

static bool reload(const char *parameters)
{
	xfers_note();
	return (!module_loaded() || !module_unload_unused(5000)) &&
	       !module_load(parameters) && WAIT_FOR(card_count() > 0, 5000);
}

/* A file of the card of which these flags are said, with SIZE bytes. */
static int open_weak(const char *parameters, const char *flags, u64 *mem)
{
	int fd = reload(parameters) && !backend_load(flags) ? card_open() : -1;

	return fd < 0 || _test_cmd_mem_alloc(fd, SIZE, 0, mem) ? -1 : fd;
}

FIXTURE(weak) {
	int fd;
	u64 mem;
	u8 *host;
};

FIXTURE_SETUP(weak)
{
	self->fd = -1;
	self->host = map_pages(1);
}

FIXTURE_TEARDOWN(weak)
{
	close(self->fd);
	EXPECT_EQ(0, backend_unload());
	EXPECT_TRUE(reload(""));
}

static int copy_rows(int fd, u64 dst, const void *src)
{
	struct paccel_copy cmd = {
		.size = sizeof(cmd), .dir = PACCEL_COPY_H2D, .dst = dst,
		.src = (unsigned long)src, .width = 1, .rows = ROWS,
		.dst_pitch = 2, .src_pitch = 2,
	};

	return ioctl(fd, PACCEL_IOC_COPY, &cmd) ? -errno : 0;
}

struct copier {
	pthread_t thread;
	int fd;
	u64 dst;
	void *src;
	int rc;
};

static void *copier_main(void *arg)
{
	struct copier *c = arg;

	c->rc = copy_rows(c->fd, c->dst, c->src);
	return NULL;
}

/*
 * What runs fails with -EIO, what waits with -ESTALE, and so does everything later;
 * a file that is opened afterwards finds all memory scrubbed.
 */
TEST_F(weak, reset_loses_contexts)
{
	struct copier c[2];
	struct paccel_mem_stats before, after;
	struct pollfd poller;
	u64 all;
	int fresh, dmabuf;

	/* Bus mastering stops it, but a reset loses its memory. */
	self->fd = open_weak("", "set=flags=2", &self->mem);
	ASSERT_LE(0, self->fd);
	test_cmd_mem_export(self->fd, PACCEL_EXPORT_DEVICE, self->mem, &dmabuf);
	before = stats_of(self->fd);
	for (int i = 0; i < 2; i++) {
		c[i] = (struct copier){ .fd = self->fd, .dst = self->mem, .src = self->host };
		ASSERT_EQ(0, pthread_create(&c[i].thread, NULL, copier_main, &c[i]));
	}
	/* Each has had a turn. */
	ASSERT_TRUE(WAIT_FOR(stats_of(self->fd).xfers >= before.xfers + 2, 5000));
	EXPECT_EQ(0, _test_cmd_reset(self->fd));
	for (int i = 0; i < 2; i++)
		pthread_join(c[i].thread, NULL);
	/* In the host's time, a transfer may have just ended, so that both wait. */
	EXPECT_TRUE((c[0].rc == -EIO && c[1].rc == -ESTALE) ||
		    (c[1].rc == -EIO && c[0].rc == -ESTALE) ||
		    (!card_can_hold() && c[0].rc == -ESTALE && c[1].rc == -ESTALE))
		TH_LOG("%d and %d", c[0].rc, c[1].rc);

	poller = (struct pollfd){ .fd = self->fd };
	EXPECT_EQ(1, poll(&poller, 1, 0));
	EXPECT_EQ(POLLERR, poller.revents);
	EXPECT_EQ(-ESTALE, _test_cmd_copy_h2d(self->fd, self->mem, self->host, 8));
	EXPECT_EQ(-ESTALE, _test_cmd_mem_alloc(self->fd, SIZE, 0, &all));
	EXPECT_EQ(-ESTALE, _test_cmd_mem_free(self->fd, self->mem, SIZE));
	EXPECT_EQ(MAP_FAILED, mmap(NULL, 4096, PROT_READ, MAP_SHARED, self->fd, 4096));
	EXPECT_EQ(ESTALE, errno);
	/* Nothing is clean that was before; what the lost context had stays its until close. */
	after = stats_of(self->fd);
	EXPECT_EQ(before.used, after.used);
	EXPECT_EQ(before.free + before.dirty, after.free + after.dirty);

	fresh = card_open();
	ASSERT_LE(0, fresh);
	/* What was lost comes back by no way. */
	test_err_mem_import(ESTALE, fresh, dmabuf);
	close(dmabuf);
	close(self->fd);
	EXPECT_EQ(0, _test_cmd_mem_alloc(fresh, after.total, 0, &all));
	EXPECT_GE(stats_of(fresh).bytes_scrubbed, before.bytes_scrubbed + after.total);
	EXPECT_EQ(0, _test_cmd_copy_d2h(fresh, self->host, all, after.total));
	EXPECT_TRUE(all_bytes(self->host, after.total, 0));
	self->fd = fresh;
}

/* What runs, what waits for the card and what waits for a fence: all of it has ended. */
TEST_F(weak, reset_ends_streams)
{
	const struct paccel_page *page;
	struct foreign f;
	int waits, fence;
	struct rig r;
	u64 xfers;

	if (!foreign_open(&f))
		SKIP(return, "neither sw_sync nor vgem");
	self->fd = open_weak("", "set=flags=2", &self->mem);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, rig_open(&r, 64));
	test_cmd_stream_create(r.fd, &waits);
	page = r.page;
	xfers = stats_of(r.fd).xfers;
	EXPECT_EQ(1, submit(r.fd, r.stream, op_rows(PACCEL_COPY_H2D, r.mem, (uintptr_t)r.own,
						    (struct copy_2d){ 1, ROWS, 2, 2 }),
			    op_write(&r.own[9], 1)));
	EXPECT_EQ(2, submit(r.fd, r.stream, op_write(&r.own[9], 1)));
	EXPECT_EQ(1, submit(r.fd, waits, op_fence(foreign_fence(&f)),
			    op_write(&r.own[9], 1)));
	test_cmd_fence_export(&fence, r.fd, waits, 1);
	ASSERT_TRUE(WAIT_FOR(xfers_passed(r.fd, xfers), 5000));
	EXPECT_EQ(PACCEL_PAGE_RUNNING, page_state(page));
	EXPECT_EQ(0, _test_cmd_reset(self->fd));
	EXPECT_EQ(-ESTALE, fence_outcome(fence));
	EXPECT_TRUE(WAIT_FOR(page_done(page, r.stream) == 2, 5000));
	EXPECT_EQ(PACCEL_PAGE_LOST, page_state(page));
	EXPECT_EQ(1, page->slots[r.stream - 1].failed_point);
	/* The one that ran is the reset's. */
	EXPECT_TRUE(page->slots[r.stream - 1].error == -EIO ||
		    page->slots[r.stream - 1].error == -ESTALE);
	EXPECT_EQ(-ESTALE, page->slots[waits - 1].error);
	EXPECT_EQ(0, r.own[9]);
	test_err_submit(ESTALE, r.fd, r.stream, op_write(r.own, 1));
	EXPECT_EQ(-ESTALE, standing(r.fd, r.stream, 1));
	test_err_stream_create(ESTALE, r.fd);
	test_err_fence_export(ESTALE, r.fd, waits, 1);
	EXPECT_EQ(POLLERR, polled(r.fd, 0) & POLLERR);
	rig_close(&r);
	foreign_close(&f);
	close(fence);
}

/*
 * It hangs, cannot be stopped, and nothing proves that it does not write: what it was
 * given is never given back, and the log says so. The DMA debugger, where it is there,
 * takes that for a leak, rightly; if it does not, the pages have been given back.
 */
TEST_F(weak, unstoppable_card_keeps_its_pages)
{
	int kmsg, copy_rc, mem_rc, unbind_rc;
	char bdf[32];
	u64 mem;

	kmsg = kmsg_open();
	ASSERT_LE(0, kmsg);
	self->fd = open_weak("watchdog_ms=10 scrub=0", "set=flags=1 hangs=1", &self->mem);
	ASSERT_LE(0, self->fd);
	snprintf(bdf, sizeof(bdf), "%s", card_bdf());
	expect_kept_mappings();
	copy_rc = _test_cmd_copy_h2d(self->fd, self->mem, self->host, 8);
	mem_rc = _test_cmd_mem_alloc(self->fd, SIZE, 0, &mem);
	unbind_rc = driver_unbind(bdf);
	allow_warnings(NULL);
	EXPECT_EQ(0, unbind_rc);
	EXPECT_EQ(-ETIMEDOUT, copy_rc);
	EXPECT_EQ(-EIO, mem_rc);
	EXPECT_TRUE(log_says(kmsg, "out of service until RESET"));
	EXPECT_TRUE(log_says(kmsg, "1 pages are kept: the device might still write to them"));
	EXPECT_EQ(-ENODEV, _test_cmd_copy_h2d(self->fd, self->mem, self->host, 8));
	close(kmsg);
}

PACCEL_TEST_MAIN
