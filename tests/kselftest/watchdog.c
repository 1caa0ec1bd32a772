// SPDX-License-Identifier: MIT
/*
 * Devices that do not answer. A transfer of edu takes 100 ms, one of a ring device does not end: a
 * watchdog of 10 ms finds every one of them hung. The parameters are the module's: nothing else may
 * run meanwhile.
 *
 * In the host's time an edu can have ended before a busy guest looks, and that is no fault. So those
 * tests are about ring devices, and about edu in virtual time.
 */
#include "stream_test.h"

#define SIZE 300
#define TOO_SHORT "10"

#define PCI_COMMAND 0x04
#define PCI_COMMAND_MASTER 0x4

/* More than a transfer takes, also where everything is slow. */
static const char *soon(void)
{
	static char ms[16];

	snprintf(ms, sizeof(ms), "%d", 500 * slow_factor());
	return ms;
}

static bool watchdog(const char *watchdog_ms, const char *quiesce_ms)
{
	return !module_param_set("watchdog_ms", watchdog_ms) &&
	       !module_param_set("quiesce_ms", quiesce_ms);
}

FIXTURE(watchdog) {
	int fd;
	u64 mem, total;
	u8 *host;
	char old_watchdog[16], old_quiesce[16];
};

static u64 counter(const char *name)
{
	u64 n = ~0ull;

	card_attr_u64(name, &n);
	return n;
}

FIXTURE_SETUP(watchdog)
{
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	self->total = info_of(self->fd).mem_size;
	self->host = map_pages(1);
	ASSERT_TRUE(module_param("watchdog_ms", self->old_watchdog, 16));
	ASSERT_TRUE(module_param("quiesce_ms", self->old_quiesce, 16));
	ASSERT_TRUE(card_settle(self->fd));
	ASSERT_EQ(0, _test_cmd_mem_alloc(self->fd, SIZE, 0, &self->mem));
	pattern_fill(self->host, SIZE, 8);
	ASSERT_EQ(0, _test_cmd_copy_h2d(self->fd, self->mem, self->host, SIZE));
}

/* Whatever has happened to the card, with sane parameters a reset brings it back. */
FIXTURE_TEARDOWN(watchdog)
{
	pci_bus_restore(card_bdf());
	EXPECT_TRUE(watchdog(self->old_watchdog, self->old_quiesce));
	card_behave();
	card_bus_master(true);
	EXPECT_EQ(0, _test_cmd_reset(self->fd));
	EXPECT_TRUE(card_health_is("ok"));
	pattern_fill(self->host, SIZE, 9);
	EXPECT_EQ(0, _test_cmd_copy_h2d(self->fd, self->mem, self->host, SIZE));
	memset(self->host, 0, SIZE);
	EXPECT_EQ(0, _test_cmd_copy_d2h(self->fd, self->host, self->mem, SIZE));
	EXPECT_EQ(-1, pattern_diff(self->host, SIZE, 9));
	EXPECT_EQ(0, _test_cmd_mem_free(self->fd, self->mem, SIZE));
	EXPECT_TRUE(WAIT_FOR(stats_of(self->fd).free == self->total, 5000));
	EXPECT_EQ(0, counter("leaked_pages"));
	close(self->fd);
}

/* The transfer has ended, only nobody was told. It is no failure. */
TEST_F(watchdog, lost_interrupts)
{
	u64 lost = counter("lost_irqs"), timeouts = counter("timeouts");
	u64 resets = counter("resets");

	ASSERT_TRUE(watchdog(soon(), self->old_quiesce));
	card_mute_irq(true);
	memset(self->host, 0, SIZE);
	EXPECT_EQ(0, _test_cmd_copy_d2h(self->fd, self->host, self->mem, SIZE));
	EXPECT_EQ(-1, pattern_diff(self->host, SIZE, 8));
	EXPECT_EQ(0, _test_cmd_fill(self->fd, self->mem, SIZE, 0x55, 1));
	card_mute_irq(false);
	EXPECT_EQ(lost + 2, counter("lost_irqs"));
	EXPECT_EQ(timeouts, counter("timeouts"));
	EXPECT_EQ(resets, counter("resets"));
	test_cmd_copy_d2h(self->fd, self->host, self->mem, SIZE);
	EXPECT_TRUE(all_bytes(self->host, SIZE, 0x55));
	EXPECT_EQ(lost + 2, counter("lost_irqs"));
}

/* Of the card, or of an engine where that is enough. */
static u64 restarts(void)
{
	return counter("resets") + counter("engine_resets");
}

TEST_F(watchdog, hung_transfer)
{
	struct side_call c[3];
	u64 timeouts = counter("timeouts"), resets = restarts();

	if (!card_can_hold())
		SKIP(return, "an edu in the host's time");
	card_hang();
	ASSERT_TRUE(watchdog(TOO_SHORT, self->old_quiesce));
	for (int i = 0; i < 3; i++) {
		c[i] = (struct side_call){ .fn = side_copy, .fd = self->fd,
					   .dir = PACCEL_COPY_H2D, .dst = self->mem,
					   .src = (uintptr_t)self->host,
					   .shape = { 8, 1, 0, 0 } };
		side_call_start(&c[i]);
	}
	/* Each hangs by itself: the ones behind the first have their turn. */
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(-ETIMEDOUT, side_call_end(&c[i]));
	test_err_fill(ETIMEDOUT, self->fd, self->mem, 8, 0, 1);
	EXPECT_EQ(timeouts + 4, counter("timeouts"));
	/* The last restart may still be under way: the call does not wait for it. */
	EXPECT_TRUE(WAIT_FOR(restarts() == resets + 4, 5000));
	EXPECT_TRUE(WAIT_FOR(card_health_is("ok"), 5000));
	/* Without a reset by hand the card is as good as new. */
	card_behave();
	ASSERT_TRUE(watchdog(self->old_watchdog, self->old_quiesce));
	test_cmd_copy_h2d(self->fd, self->mem, self->host, 8);
}

/* A long copy ends with its first transfer that hangs. */
TEST_F(watchdog, hung_long_copy)
{
	u64 xfers = stats_of(self->fd).xfers, rows = 2 * card_depth(), mem;

	if (!card_can_hold())
		SKIP(return, "an edu in the host's time");
	test_cmd_mem_alloc(self->fd, LONG_COPY_BYTES(rows), 0, &mem);
	card_hang();
	ASSERT_TRUE(watchdog(TOO_SHORT, self->old_quiesce));
	test_err_copy_2d(ETIMEDOUT, self->fd, PACCEL_COPY_H2D, mem, (uintptr_t)self->host, 1, rows,
			 2, 2);
	EXPECT_EQ(xfers + card_depth(), stats_of(self->fd).xfers);
	card_behave();
	test_cmd_mem_free(self->fd, mem, LONG_COPY_BYTES(rows));
}

/*
 * Memory whose scrubbing hangs is scrubbed again after the recovery. If that hangs as well it is quarantined,
 * which ends this, and a RESET brings it back.
 */
TEST_F(watchdog, hung_scrub)
{
	u64 size = 2 * in_granules(self->fd, SIZE), most = self->total - size / 2, addr;
	u64 timeouts = counter("timeouts");

	if (!card_can_hold())
		SKIP(return, "an edu in the host's time");
	card_hang();
	ASSERT_TRUE(watchdog(TOO_SHORT, self->old_quiesce));
	test_cmd_mem_alloc(self->fd, size, 0, &addr);
	test_cmd_mem_free(self->fd, addr, size);
	/* An allocation that needs it fails then. */
	test_err_mem_alloc(ENOMEM, self->fd, most, 0);
	EXPECT_TRUE(WAIT_FOR(stats_of(self->fd).quarantined == size, 5000));
	EXPECT_EQ(timeouts + 2, counter("timeouts"));
	card_behave();
	ASSERT_TRUE(watchdog(self->old_watchdog, self->old_quiesce));
	/* It does not come back by itself. */
	test_cmd_copy_h2d(self->fd, self->mem, self->host, 8);
	EXPECT_EQ(size, stats_of(self->fd).quarantined);
	test_cmd_reset(self->fd);
	test_cmd_mem_alloc(self->fd, most, 0, &addr);
	test_cmd_mem_free(self->fd, addr, most);
}

/* A card that was given up keeps what it had for as long as this driver has it. */
static void bind_again(struct __test_metadata *_metadata, FIXTURE_DATA(watchdog) *self)
{
	char bdf[32];

	EXPECT_LT(0, counter("leaked_pages"));
	snprintf(bdf, sizeof(bdf), "%s", card_bdf());
	close(self->fd);
	xfers_note();
	allow_warnings(KEPT_MAPPINGS);
	EXPECT_EQ(0, driver_unbind(bdf));
	allow_warnings(NULL);
	EXPECT_EQ(0, driver_bind(bdf));
	ASSERT_TRUE(WAIT_FOR((self->fd = card_open()) >= 0, 5000));
	test_cmd_mem_alloc(self->fd, SIZE, 0, &self->mem);
}

/*
 * The card does not stop in time either: it is given up. What it does when it wakes
 * up reaches nobody's memory.
 */
TEST_F(watchdog, out_of_service)
{
	struct side_call hung = { .fn = side_copy, .fd = self->fd,
				  .dir = PACCEL_COPY_D2H, .src = self->mem,
				  .shape = { SIZE, 1, 0, 0 } };
	struct side_call behind = { .fn = side_copy, .fd = card_open(),
				    .dir = PACCEL_COPY_H2D, .shape = { 8, 1, 0, 0 } };
	u64 xfers = stats_of(self->fd).xfers, leaked, addr, offset;
	int stream;
	u8 *own;

	if (!card_can_hold())
		SKIP(return, "an edu in the host's time");
	/* No pages of programs: they might be kept. */
	test_cmd_host_alloc(self->fd, page_size, &offset);
	own = host_map(self->fd, page_size, offset);
	ASSERT_NE(MAP_FAILED, own);
	memset(own, 0xc3, SIZE);
	hung.dst = (uintptr_t)own;
	test_cmd_host_alloc(behind.fd, page_size, &offset);
	behind.src = (uintptr_t)host_map(behind.fd, page_size, offset);
	test_cmd_mem_alloc(behind.fd, 8, 0, &behind.dst);
	card_ignore_stop(true);
	ASSERT_TRUE(watchdog(TOO_SHORT, "10"));
	side_call_start(&hung);
	ASSERT_TRUE(WAIT_FOR(xfers_passed(self->fd, xfers), 5000));
	side_call_start(&behind);
	EXPECT_EQ(-ETIMEDOUT, side_call_end(&hung));
	/* It has not even been started, or never again. */
	EXPECT_EQ(-EIO, side_call_end(&behind));
	EXPECT_FALSE(card_health_is("ok"));

	/* What needs the card says so at once, and nothing is started. */
	xfers = stats_of(self->fd).xfers;
	test_err_copy_h2d(EIO, self->fd, self->mem, own, 8);
	test_err_copy_d2h(EIO, self->fd, own, self->mem, 8);
	test_err_fill(EIO, self->fd, self->mem, 8, 0, 1);
	test_err_mem_alloc(EIO, self->fd, 1, 0);
	stream = stream_create(self->fd);
	EXPECT_LT(0, stream);
	test_err_submit(EIO, self->fd, stream, op_point(stream, 0));
	EXPECT_EQ(-EINVAL, standing(self->fd, stream, 1));
	EXPECT_EQ(xfers, stats_of(self->fd).xfers);
	/* What does not need it works, so that a program can clean up. */
	leaked = counter("leaked_pages");
	test_cmd_host_alloc(self->fd, 1, &offset);
	test_cmd_host_free(self->fd, NULL, offset);
	EXPECT_EQ(leaked, counter("leaked_pages"));
	test_cmd_mem_free(behind.fd, behind.dst, 8);
	/* Lost are pages that the device was given before, if it may still write them. */
	munmap((void *)behind.src, page_size);
	close(behind.fd);
	EXPECT_TRUE(WAIT_FOR(counter("leaked_pages") == leaked + !card_can_be_cut_off(), 5000));

	/* The transfer ends now, long after it was given up. */
	card_ignore_stop(false);
	ASSERT_TRUE(watchdog(self->old_watchdog, self->old_quiesce));
	test_cmd_reset(self->fd);
	EXPECT_TRUE(card_health_is("ok"));
	EXPECT_EQ(1, submit(self->fd, stream, op_point(stream, 0)));
	EXPECT_TRUE(all_bytes(own, SIZE, 0xc3));
	test_cmd_mem_alloc(self->fd, 1, 0, &addr);
	test_cmd_mem_free(self->fd, addr, 1);
	munmap(own, page_size);
	if (!card_can_be_cut_off())
		bind_again(_metadata, self);
}

/*
 * That configuration space does not respond proves neither that the device is absent nor that bus
 * mastering is off: the pages that were mapped for it are kept.
 */
TEST_F(watchdog, out_of_service_without_configuration_space)
{
	u64 leaked, mem, offset;
	int fd;
	u8 *own;

	if (!card_can_hold())
		SKIP(return, "an edu in the host's time");
	if (!(info_of(self->fd).caps & PACCEL_CAP_DIRECT_DMA))
		SKIP(return, "no pages are mapped for the device");
	fd = card_open();
	test_cmd_mem_alloc(fd, SIZE, 0, &mem);
	test_cmd_host_alloc(fd, page_size, &offset);
	own = host_map(fd, page_size, offset);
	ASSERT_NE(MAP_FAILED, own);
	leaked = counter("leaked_pages");
	card_ignore_stop(true);
	card_hang();
	ASSERT_TRUE(watchdog(TOO_SHORT, "10"));
	pci_bus_change(card_bdf(), 0);
	test_err_copy_d2h(ETIMEDOUT, fd, own, mem, SIZE);
	EXPECT_TRUE(card_health_is("failed"));
	pci_bus_restore(card_bdf());
	munmap(own, page_size);
	close(fd);
	EXPECT_TRUE(WAIT_FOR(counter("leaked_pages") == leaked + 1, 5000));

	card_ignore_stop(false);
	card_behave();
	ASSERT_TRUE(watchdog(self->old_watchdog, self->old_quiesce));
	test_cmd_reset(self->fd);
	EXPECT_TRUE(card_health_is("ok"));
	bind_again(_metadata, self);
}

/* The data has arrived all the same, perhaps without an interrupt: its sender is named by the bus. */
TEST_F(watchdog, configuration_space_does_not_respond)
{
	ASSERT_TRUE(watchdog(soon(), self->old_quiesce));
	pci_bus_change(card_bdf(), 0);
	EXPECT_EQ(~0u, pci_config_read(card_bdf(), 0, 4));
	memset(self->host, 0, SIZE);
	test_cmd_copy_d2h(self->fd, self->host, self->mem, SIZE);
	EXPECT_EQ(-1, pattern_diff(self->host, SIZE, 8));
	test_cmd_fill(self->fd, self->mem, SIZE, 0x55, 1);
	pci_bus_restore(card_bdf());
	test_cmd_copy_d2h(self->fd, self->host, self->mem, SIZE);
	EXPECT_TRUE(all_bytes(self->host, SIZE, 0x55));
}

static int side_reset(struct side_call *c)
{
	return _test_cmd_reset(c->fd);
}

/* Bus mastering cannot be turned on meanwhile: a reset waits. */
TEST_F(watchdog, reset_without_configuration_space)
{
	struct side_call reset = { .fn = side_reset, .fd = self->fd };
	u32 command = pci_config_read(card_bdf(), PCI_COMMAND, 2);

	pci_config_write(card_bdf(), PCI_COMMAND, 2, command & ~PCI_COMMAND_MASTER);
	pci_bus_change(card_bdf(), 0);
	side_call_start(&reset);
	EXPECT_FALSE(WAIT_FOR(side_call_done(&reset), 100));
	pci_bus_restore(card_bdf());
	EXPECT_EQ(0, side_call_end(&reset));
	EXPECT_EQ(command, pci_config_read(card_bdf(), PCI_COMMAND, 2));
	test_cmd_copy_d2h(self->fd, self->host, self->mem, SIZE);
}

/* Bus mastering is taken away in the middle of a transfer: the data never came. */
TEST_F(watchdog, bus_master_lost_in_flight)
{
	struct side_call copy = { .fn = side_copy, .fd = self->fd,
				  .dir = PACCEL_COPY_D2H, .src = self->mem,
				  .dst = (uintptr_t)self->host,
				  .shape = { SIZE, 1, 0, 0 } };
	u64 xfers = stats_of(self->fd).xfers;

	if (!card_can_hold())
		SKIP(return, "an edu in the host's time");
	memset(self->host, 0, SIZE);
	card_hold();
	side_call_start(&copy);
	ASSERT_TRUE(WAIT_FOR(xfers_passed(self->fd, xfers) && card_is_held(), 5000));
	card_bus_master(false);
	card_behave();
	EXPECT_EQ(-EIO, side_call_end(&copy));
	EXPECT_TRUE(all_bytes(self->host, SIZE, 0));
}

/* The same to a stream: what is behind the copy is not run. */
TEST_F(watchdog, bus_master_lost_under_a_stream)
{
	u64 xfers = stats_of(self->fd).xfers;
	struct rig r;

	if (!card_can_hold())
		SKIP(return, "an edu in the host's time");
	ASSERT_EQ(0, rig_open(&r, 64));
	memset((void *)r.own, 0xc3, 64);
	card_hold();
	EXPECT_EQ(1, submit(r.fd, r.stream, op_d2h(&r.own[0], r.mem, 16),
			    op_write(&r.own[4], 0)));
	EXPECT_EQ(2, submit(r.fd, r.stream, op_d2h(&r.own[2], r.mem, 16)));
	ASSERT_TRUE(WAIT_FOR(xfers_passed(self->fd, xfers) && card_is_held(), 5000));
	card_bus_master(false);
	card_behave();
	EXPECT_EQ(-EIO, outcome(r.fd, r.stream, 1));
	EXPECT_EQ(-ECANCELED, outcome(r.fd, r.stream, 2));
	EXPECT_TRUE(all_bytes((void *)r.own, 64, 0xc3));
	EXPECT_EQ(xfers + 1, stats_of(self->fd).xfers);
	rig_close(&r);
}

/* Its point tells, and what is behind it. */
TEST_F(watchdog, hung_transfer_of_a_stream)
{
	struct paccel_stream_clear cleared;
	int fence, other;
	struct rig r;

	if (!card_can_hold())
		SKIP(return, "an edu in the host's time");
	ASSERT_EQ(0, rig_open(&r, 64));
	test_cmd_stream_create(r.fd, &other);
	ASSERT_EQ(1, submit(r.fd, r.stream, op_fill(r.mem, 8, 1, 1), op_write(&r.own[1], 1)));
	ASSERT_EQ(0, outcome(r.fd, r.stream, 1));
	card_hang();
	ASSERT_TRUE(watchdog(TOO_SHORT, self->old_quiesce));
	for (u64 point = 2; point <= 4; point++)
		ASSERT_EQ(point, submit(r.fd, r.stream, op_fill(r.mem, 8, 1, 1),
					op_write(&r.own[point], 1)));
	test_cmd_fence_export(&fence, r.fd, r.stream, 4);
	EXPECT_EQ(-ETIMEDOUT, outcome(r.fd, r.stream, 2));
	EXPECT_EQ(-ECANCELED, outcome(r.fd, r.stream, 4));
	EXPECT_EQ(2, r.page->slots[r.stream - 1].failed_point);
	EXPECT_EQ(-ETIMEDOUT, r.page->slots[r.stream - 1].error);
	EXPECT_EQ(-ECANCELED, fence_outcome(fence));
	for (u64 point = 1; point <= 4; point++)
		EXPECT_EQ(point == 1, r.own[point]);
	card_behave();
	ASSERT_TRUE(watchdog(self->old_watchdog, self->old_quiesce));
	/* The card has been restarted: another stream and, cleared, this one work. */
	EXPECT_EQ(1, submit(r.fd, other, op_fill(r.mem, 8, 1, 1)));
	EXPECT_EQ(0, outcome(r.fd, other, 1));
	ASSERT_EQ(0, _test_cmd_stream_clear(r.fd, r.stream, &cleared));
	EXPECT_EQ(-ETIMEDOUT, cleared.error);
	EXPECT_EQ(2, cleared.failed_point);
	EXPECT_EQ(5, submit(r.fd, r.stream, op_fill(r.mem, 8, 1, 1)));
	EXPECT_EQ(0, outcome(r.fd, r.stream, 5));
	close(fence);
	rig_close(&r);
	EXPECT_TRUE(card_settle(self->fd));
}

TEST_F(watchdog, parameters_have_limits)
{
	const char *bad[] = { "", "0", "9", "-1", "600001", "junk", "1e3", "4294967296" };
	char value[16];

	for (size_t i = 1; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-EINVAL, module_param_set("watchdog_ms", bad[i]));
		ASSERT_TRUE(module_param("watchdog_ms", value, sizeof(value)));
		EXPECT_STREQ(self->old_watchdog, value);
	}
	EXPECT_EQ(-EINVAL, module_param_set("quiesce_ms", "0"));
	EXPECT_EQ(-EINVAL, module_param_set("quiesce_ms", "60001"));
	EXPECT_EQ(-EINVAL, module_param_set("quiesce_ms", "soon"));
	EXPECT_TRUE(watchdog("10", "1"));
	EXPECT_TRUE(watchdog("600000", "60000"));
}

PACCEL_TEST_MAIN
