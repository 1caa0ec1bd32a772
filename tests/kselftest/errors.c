// SPDX-License-Identifier: MIT
/*
 * Errors of the bus and of other drivers: AER's recovery, by errors that aer_inject puts into the root
 * port above the device, and an importer that keeps device memory in use.
 */
#include <limits.h>

#include <linux/dma-buf.h>

#include "ring_test.h"

#define SIZE 64
#define REVOKE_MS 10000		/* PACCEL_REVOKE_MS of kernel/mem/export.c */

/* Uncorrectable errors of the AER capability. */
#define DATA_LINK_PROTOCOL 0x10		/* fatal: the link is reset */
#define COMPLETION_TIMEOUT 0x4000	/* not fatal */

/* What /dev/aer_inject takes; the kernel has no header of it. */
struct aer_error_inj {
	u8 bus, device, function;
	u32 uncorrectable, correctable, header[4], domain;
};

/* Reports of the errors that a test has injected. */
#define INJECTED "AER|PCIe Bus Error"

static bool have_aer_inject(void)
{
	if (access("/dev/aer_inject", W_OK))
		return !system("modprobe aer_inject 2>/dev/null") && !access("/dev/aer_inject", W_OK);
	return true;
}

/* Into the root port: neither device has the capability. 0 or -errno. */
static int inject(u32 uncorrectable)
{
	struct aer_error_inj error = { .uncorrectable = uncorrectable };
	unsigned int bus, device, function;
	char path[128], target[PATH_MAX];
	int fd, rc;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/..", card_bdf());
	if (!realpath(path, target) ||
	    sscanf(strrchr(target, '/'), "/%x:%x:%x.%x", &error.domain, &bus, &device,
		   &function) != 4)
		return -ENOENT;
	error.bus = bus;
	error.device = device;
	error.function = function;
	fd = open("/dev/aer_inject", O_WRONLY | O_CLOEXEC);
	rc = write(fd, &error, sizeof(error)) == sizeof(error) ? 0 : -errno;
	close(fd);
	return rc;
}

FIXTURE(aer) {
	int fd;
	u64 mem, resets;
	u8 host[SIZE];
	char patience[16];
};

FIXTURE_SETUP(aer)
{
	int rc;

	if (!have_aer_inject())
		SKIP(return, "this kernel has no aer_inject");
	allow_warnings(INJECTED);
	/* No error at all: this only finds out whether the port's AER service runs. */
	rc = inject(0);
	/* Without a complete set-up there is no teardown. */
	if (rc)
		allow_warnings(NULL);
	if (rc == -EPROTONOSUPPORT || rc == -ENODEV)
		SKIP(return, "the kernel does not handle AER of the root port");
	ASSERT_EQ(0, rc);
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	test_cmd_mem_alloc(self->fd, SIZE, 0, &self->mem);
	pattern_fill(self->host, SIZE, 1);
	test_cmd_copy_h2d(self->fd, self->mem, self->host, SIZE);
	ASSERT_TRUE(module_param("quiesce_ms", self->patience, sizeof(self->patience)));
	self->resets = card_counter("resets");
}

FIXTURE_TEARDOWN(aer)
{
	EXPECT_EQ(0, module_param_set("quiesce_ms", self->patience));
	allow_warnings(NULL);
	close(self->fd);
}

static bool recovered(FIXTURE_DATA(aer) *self)
{
	return card_counter("resets") > self->resets && card_health_is("ok");
}

/* Memory of both kinds survives a reset. */
static void expect_works(struct __test_metadata *_metadata, FIXTURE_DATA(aer) *self)
{
	memset(self->host, 0, SIZE);
	test_cmd_copy_d2h(self->fd, self->host, self->mem, SIZE);
	EXPECT_EQ(-1, pattern_diff(self->host, SIZE, 1));
}

/*
 * What runs fails, or completes if the device cannot be stopped, as edu. The device is reset, and
 * goes on with what it has in its memory. Before the PCI core touches the link the driver has
 * stopped it: the reset would end the copy in the same way.
 */
static void meets(struct __test_metadata *_metadata, FIXTURE_DATA(aer) *self, u32 error)
{
	struct side_call copy = { .fn = side_copy, .fd = self->fd, .dir = PACCEL_COPY_D2H,
				  .src = self->mem, .dst = (uintptr_t)self->host,
				  .shape = { SIZE, 1, 0, 0 } };
	int log = kmsg_open();
	u64 xfers = stats_of(self->fd).xfers;
	int rc;

	ASSERT_LE(0, log);
	card_hold();
	side_call_start(&copy);
	ASSERT_TRUE(WAIT_FOR(xfers_passed(self->fd, xfers) && card_is_held(), 5000));
	ASSERT_EQ(0, inject(error));
	rc = side_call_end(&copy);
	EXPECT_TRUE(rc == -EIO || (!rc && !strcmp(card_kind(), "edu"))) TH_LOG("rc %d", rc);
	EXPECT_TRUE(WAIT_FOR(recovered(self), 10000));
	EXPECT_TRUE(log_says(log, "a PCI error: out of service until RESET"));
	close(log);
	card_behave();
	expect_works(_metadata, self);
}

TEST_F(aer, fatal_error)
{
	meets(_metadata, self, DATA_LINK_PROTOCOL);
}

TEST_F(aer, error_that_is_not_fatal)
{
	meets(_metadata, self, COMPLETION_TIMEOUT);
}

/* Whether bus mastering was on when the driver last stopped the device: "Y" or "N". */
static bool mastered_is(const char *value)
{
	char text[8];

	return file_read("/sys/module/paccel_test/parameters/mastered", text, sizeof(text)) > 0 &&
	       !strcmp(text, value);
}

/*
 * After an error that is not fatal, the device was not reset and may still be running. It is stopped before bus
 * mastering is turned on.
 */
TEST_F(aer, stopped_before_bus_mastering)
{
	char parameters[32];

	if (!getenv("PACCEL_TEST_KO"))
		SKIP(return, "PACCEL_TEST_KO does not say where paccel_test.ko is");
	close(self->fd);
	xfers_note();
	snprintf(parameters, sizeof(parameters), "backend=%s", card_kind());
	ASSERT_EQ(0, backend_load(parameters));
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	test_cmd_reset(self->fd);
	EXPECT_TRUE(mastered_is("Y"));
	self->resets = card_counter("resets");
	ASSERT_EQ(0, inject(COMPLETION_TIMEOUT));
	EXPECT_TRUE(WAIT_FOR(recovered(self), 10000));
	EXPECT_TRUE(mastered_is("N"));
	test_cmd_mem_alloc(self->fd, SIZE, 0, &self->mem);
	test_cmd_copy_h2d(self->fd, self->mem, self->host, SIZE);
	expect_works(_metadata, self);
	close(self->fd);
	EXPECT_EQ(0, backend_unload());
	EXPECT_EQ(0, driver_bind(card_bdf()));
	self->fd = card_open();
}

/* It counts as disconnected, until the PCI core finds it anew. */
TEST_F(aer, device_does_not_come_back)
{
	int log;

	if (strcmp(card_kind(), "ring"))
		SKIP(return, "a %s always answers", card_kind());
	log = kmsg_open();
	ASSERT_LE(0, log);
	ASSERT_EQ(0, module_param_set("quiesce_ms", "100"));
	ASSERT_EQ(0, ring_order("stop"));
	ASSERT_EQ(0, inject(DATA_LINK_PROTOCOL));
	EXPECT_TRUE(WAIT_FOR(log_says(log, "device recovery failed"), 10000));
	EXPECT_TRUE(card_health_is("failed"));
	test_err_fill(EIO, self->fd, self->mem, SIZE, 0, 1);
	close(self->fd);
	ASSERT_EQ(0, ring_order("cont"));
	xfers_note();
	allow_warnings(NULL);
	allow_warnings(KEPT_MAPPINGS);
	ASSERT_EQ(0, pci_attr_write(card_bdf(), "remove", "1"));
	allow_warnings(NULL);
	allow_warnings(INJECTED);
	ASSERT_EQ(0, file_write("/sys/bus/pci/rescan", "1"));
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	EXPECT_TRUE(card_health_is("ok"));
	test_cmd_mem_alloc(self->fd, SIZE, 0, &self->mem);
	test_cmd_copy_h2d(self->fd, self->mem, self->host, SIZE);
	expect_works(_metadata, self);
	close(log);
}

/*
 * A fence in the dma-buf's reservation object that is not signalled is an importer whose device still
 * works on it. Removal waits for it, but not for ever, and not longer for several dma-bufs.
 */
TEST(importer_does_not_release)
{
	struct dma_buf_import_sync_file import = { .flags = DMA_BUF_SYNC_RW };
	int fd = card_open(), dmabufs[2], log;
	struct foreign foreign;
	u64 mem, start;

	ASSERT_LE(0, fd);
	if (!foreign_open(&foreign) || !foreign.sw_sync)
		SKIP(return, "no sw_sync: fences of vgem end by themselves");
	log = kmsg_open();
	ASSERT_LE(0, log);
	test_cmd_mem_alloc(fd, SIZE, 0, &mem);
	import.fd = foreign_fence(&foreign);
	ASSERT_LE(0, import.fd);
	for (int i = 0; i < 2; i++) {
		test_cmd_mem_export(fd, PACCEL_EXPORT_DEVICE, mem, &dmabufs[i]);
		ASSERT_EQ(0, ioctl(dmabufs[i], DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &import));
	}
	xfers_note();
	start = now_ms();
	EXPECT_EQ(0, driver_unbind(card_bdf()));
	EXPECT_LE((u64)REVOKE_MS, now_ms() - start);
	EXPECT_GT(2 * (u64)REVOKE_MS, now_ms() - start);
	EXPECT_TRUE(log_says(log, "another driver does not"));
	foreign_signal(&foreign);
	close(import.fd);
	close(dmabufs[0]);
	close(dmabufs[1]);
	close(fd);
	foreign_close(&foreign);
	EXPECT_EQ(0, driver_bind(card_bdf()));
}

PACCEL_TEST_MAIN
