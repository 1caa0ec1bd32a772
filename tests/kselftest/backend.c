// SPDX-License-Identifier: MIT
/*
 * Backends that are modules of their own: tests/module/backend.c, here an edu with something wrong. Nothing
 * else may use the card.
 */
#include "paccel_test.h"

FIXTURE(backend) {
	int log;
};

FIXTURE_SETUP(backend)
{
	if (!getenv("PACCEL_TEST_KO") || access(getenv("PACCEL_TEST_KO"), R_OK))
		SKIP(return, "there is no paccel_test.ko: make kernel builds it");
	self->log = kmsg_open();
	ASSERT_LE(0, self->log);
	xfers_note();
}

FIXTURE_TEARDOWN(backend)
{
	EXPECT_EQ(0, backend_unload());
	EXPECT_EQ(0, driver_bind(card_bdf()));
	close(self->log);
}

TEST_F(backend, drives_a_card)
{
	char there[8] = "1234567", back[8] = "";
	struct paccel_device_info info;
	u64 mem;
	int fd;

	ASSERT_EQ(0, backend_load(""));
	fd = card_open();
	ASSERT_LE(0, fd);
	info = info_of(fd);
	EXPECT_STREQ("test", info.backend);
	test_cmd_mem_alloc(fd, 8, 0, &mem);
	test_cmd_copy_h2d(fd, mem, there, 8);
	test_cmd_copy_d2h(fd, back, mem, 8);
	EXPECT_STREQ(there, back);
	/* The driver is in use by the backend, the backend is not by the file. */
	EXPECT_EQ(-EWOULDBLOCK, module_unload());
	EXPECT_EQ(0, backend_unload());
	test_err_copy_d2h(ENODEV, fd, back, mem, 8);
	close(fd);
}

/* What probe() says, and what is said of that. */
static const char *const wrong[][2] = {
	{ "granule=0", "granule=0: must be a power of two" },
	{ "granule=48", "granule=48: must be a power of two" },
	{ "granule=8192", "granule=8192: must be a power of two, at most a page" },
	{ "mem_size=0", "mem_size=0: must be whole granules" },
	{ "mem_size=100", "mem_size=100: must be whole granules" },
	{ "mem_size=0x4000000000,granule=64", "mem_size=274877906944: must be whole granules, 1 to 2^32 - 1" },
	{ "mem_size=32832", "granule=64: must be at least 4096, or memory at most 512 granules" },
	{ "max_xfer=0", "max_xfer=0: must be a multiple of 8" },
	{ "max_xfer=12", "max_xfer=12: must be a multiple of 8" },
	{ "max_xfer=2097160", "max_xfer=2097160: must be a multiple of 8, at most 2 MiB" },
	{ "max_segs=0", "max_segs=0: must be at least 1" },
	{ "max_seg=12", "max_seg=12: must be a multiple of 8, or 0" },
	{ "seg_boundary=96", "seg_boundary=96: must be a power of two, at least 8, or 0" },
	{ "seg_boundary=4", "seg_boundary=4: must be a power of two, at least 8, or 0" },
	{ "dma_align=12", "dma_align=12: must be a power of two that divides granule" },
	{ "dma_align=128", "dma_align=128: must be a power of two that divides granule" },
	{ "dma_align=64,max_xfer=96", "dma_align=64: must be a power of two that divides granule, max_xfer" },
	{ "dma_align=64,max_seg=96", "dma_align=64: must be a power of two that divides granule, max_xfer" },
	{ "dma_align=64,seg_boundary=32", "dma_align=64: must be a power of two that divides granule" },
	{ "engine_ops[0]=32", "engine_ops=32: must be bits of enum paccel_xfer_op" },
	/* edu has one engine, and copies inside the card are made of both. */
	{ "engine_ops[0]=1", "engine_ops=2: must be operations that one engine takes" },
	{ "engine_ops[0]=2", "engine_ops=1: must be operations that one engine takes" },
	{ "depth=0", "depth=0: must be a power of two" },
	{ "depth=3", "depth=3: must be a power of two" },
	{ "depth=128", "depth=128: must be a power of two, at most 64" },
	{ "depth=2", "depth=2: must be 1 without halt()" },
	{ "list_size=65544", "list_size=65544: must be at most 64 KiB" },
	{ "dma_bits=0", "dma_bits=0: must be 1 to 64" },
	{ "dma_bits=65", "dma_bits=65: must be 1 to 64" },
	{ "dma_bits=32", "dma_bits=32: must be that of both DMA masks" },
	{ "engines=0", "engines=0: must be 1 to 8" },
	{ "engines=9", "engines=9: must be 1 to 8" },
	{ "flags=0x100", "flags=256: must be PACCEL_HW_* only" },
	/* With PACCEL_HW_MAPPABLE. BAR 0 of edu has 1 MiB. */
	{ "flags=0x80", "flags=128: must be MEM_SURVIVES with MEM_NONVOLATILE" },
	{ "flags=4", "granule=64: must be a page" },
	{ "flags=4,granule=4096,mem_size=4096,mem_bar=6", "mem_bar=6: must be a memory BAR" },
	{ "flags=4,granule=4096,mem_size=4096,mem_offset=2048", "mem_offset=2048: must be whole pages" },
	{ "flags=4,granule=4096,mem_size=4096,mem_offset=0x101000",
	  "mem_offset=1052672: must be whole pages, inside the BAR" },
	{ "flags=4,granule=4096,mem_size=8192,mem_offset=0xff000",
	  "mem_size=8192: must be inside the BAR from mem_offset on" },
	{ "flags=4,granule=4096,mem_size=4096,mem_bar=1", "mem_bar=1: must be a memory BAR" },
};

TEST_F(backend, wrong_values_are_refused)
{
	char parameters[128], text[128];

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		snprintf(parameters, sizeof(parameters), "set=%s", wrong[i][0]);
		EXPECT_EQ(0, backend_load(parameters)) TH_LOG("%s", parameters);
		EXPECT_GT(0, card_open()) TH_LOG("%s", parameters);
		snprintf(text, sizeof(text), "backend test: %s", wrong[i][1]);
		EXPECT_TRUE(log_says(self->log, text)) TH_LOG("%s: no '%s'", parameters, text);
		EXPECT_EQ(0, backend_unload()) TH_LOG("%s", parameters);
	}
}

static const char *const incomplete[] = { "probe", "start", "poll", "quiesce", "reset" };

TEST_F(backend, incomplete_ones_are_refused)
{
	char parameters[64], text[64];

	for (size_t i = 0; i < sizeof(incomplete) / sizeof(*incomplete); i++) {
		snprintf(parameters, sizeof(parameters), "without=%s", incomplete[i]);
		EXPECT_EQ(-EINVAL, backend_load(parameters)) TH_LOG("%s", parameters);
		snprintf(text, sizeof(text), "a backend has no %s()", incomplete[i]);
		EXPECT_TRUE(log_says(self->log, text)) TH_LOG("no '%s'", text);
	}
}

/* A positive result is no success, and an error leaves nothing. */
TEST_F(backend, results_of_probe)
{
	static const char *const results[] = { "result=1", "result=-5" };

	for (size_t i = 0; i < 2; i++) {
		EXPECT_EQ(0, backend_load(results[i]));
		EXPECT_GT(0, card_open());
		EXPECT_EQ(-ENOENT, driver_unbind(card_bdf())) TH_LOG("%s", results[i]);
		EXPECT_EQ(0, backend_unload());
	}
}

TEST_F(backend, names_are_checked)
{
	EXPECT_EQ(-EINVAL, backend_load("name="));
	EXPECT_TRUE(log_says(self->log, "name of a backend, \"\": must have 1 to 31 bytes"));
	EXPECT_EQ(-EINVAL, backend_load("name=a123456789012345678901234567890b"));
	EXPECT_TRUE(log_says(self->log, "must have 1 to 31 bytes"));
}

/* What the backend's ioctl takes, in its second version, and something behind that. */
struct doubled {
	u32 size, flags;
	u64 value, added, later;
};

#define FIRST_VERSION 16
#define SECOND_VERSION 24

static int double_it(int fd, struct doubled *c, u32 size)
{
	c->size = size;
	return ioctl(fd, _IO(PACCEL_IOC_TYPE, PACCEL_NR_PRIVATE), c) ? -errno : 0;
}

TEST_F(backend, private_ioctls)
{
	struct doubled c = { .value = 20, .added = 2 };
	int fd = card_open();

	ASSERT_LE(0, fd);
	/* Another backend does not have it. */
	EXPECT_EQ(-ENOTTY, double_it(fd, &c, SECOND_VERSION));
	close(fd);
	ASSERT_EQ(0, backend_load(""));
	fd = card_open();
	ASSERT_LE(0, fd);
	EXPECT_EQ(0, double_it(fd, &c, SECOND_VERSION));
	EXPECT_EQ(42, c.value);
	EXPECT_EQ(0, double_it(fd, &c, FIRST_VERSION));
	EXPECT_EQ(84, c.value);
	EXPECT_EQ(-EINVAL, double_it(fd, &c, FIRST_VERSION - 1));
	EXPECT_EQ(0, double_it(fd, &c, sizeof(c)));
	EXPECT_EQ(170, c.value);
	c.later = 1;
	EXPECT_EQ(-E2BIG, double_it(fd, &c, sizeof(c)));
	c.flags = 1;
	EXPECT_EQ(-EINVAL, double_it(fd, &c, SECOND_VERSION));
	EXPECT_EQ(170, c.value);
	EXPECT_EQ(-1, ioctl(fd, _IO(PACCEL_IOC_TYPE, PACCEL_NR_PRIVATE + 1), &c));
	EXPECT_EQ(ENOTTY, errno);
	EXPECT_EQ(-1, ioctl(fd, _IOR(PACCEL_IOC_TYPE, PACCEL_NR_PRIVATE, u64), &c));
	EXPECT_EQ(ENOTTY, errno);
	EXPECT_EQ(0, backend_unload());
	c.flags = 0;
	EXPECT_EQ(-ENODEV, double_it(fd, &c, SECOND_VERSION));
	close(fd);
}

TEST_F(backend, wrong_ioctls_are_refused)
{
	static const char *const bad[][2] = {
		{ "ioctl_nr=0x7f", "ioctl 0xbd7f of a backend: must be _IO(PACCEL_IOC_TYPE, 0x80 to 0xff)" },
		{ "ioctl_nr=0", "ioctl 0xbd00 of a backend: must be _IO(PACCEL_IOC_TYPE, 0x80 to 0xff)" },
		{ "ioctl_size=257", "ioctl 0xbd80 of a backend: size 257, min_size 16: must be 4 to 256" },
		{ "ioctl_size=12", "ioctl 0xbd80 of a backend: size 12, min_size 16: must be 4 to 256" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-EINVAL, backend_load(bad[i][0])) TH_LOG("%s", bad[i][0]);
		EXPECT_TRUE(log_says(self->log, bad[i][1])) TH_LOG("no '%s'", bad[i][1]);
	}
}

PACCEL_TEST_MAIN
