// SPDX-License-Identifier: MIT
/*
 * Loading and unloading: refused while somebody uses the driver, clean otherwise, and
 * no byte of device memory passes from before to after. Nothing else may run.
 *
 * PACCEL_CYCLES=N is how often the module is loaded anew.
 */
#include "stream_test.h"

static int cycles(void)
{
	const char *text = getenv("PACCEL_CYCLES");

	return text ? atoi(text) : 5;
}

static bool unload(void)
{
	xfers_note();
	return module_unload_unused(10000) == 0;
}

FIXTURE(module) {
	char parameters[256];
	u8 *host;
	u64 total;
};

FIXTURE_SETUP(module)
{
	int fd = card_open();

	ASSERT_LE(0, fd);
	if (!getenv("PACCEL_KO"))
		SKIP(return, "PACCEL_KO does not say where the module is");
	module_parameters(self->parameters, sizeof(self->parameters));
	self->total = info_of(fd).mem_size;
	self->host = map_pages(self->total / page_size + 1);
	close(fd);
}

FIXTURE_TEARDOWN(module)
{
	if (!module_loaded())
		EXPECT_EQ(0, module_load(self->parameters));
	EXPECT_LT(0, card_count());
}

TEST_F(module, stays_while_a_file_is_open)
{
	int fd = card_open();

	ASSERT_LE(0, fd);
	EXPECT_EQ(-EWOULDBLOCK, module_unload());
	EXPECT_EQ(self->total, info_of(fd).mem_size);
	close(fd);
	EXPECT_TRUE(unload());
	EXPECT_EQ(0, card_count());
	EXPECT_EQ(-ENXIO, card_open());
}

TEST_F(module, stays_while_host_memory_is_mapped)
{
	int fd = card_open();
	u64 offset;
	u8 *p;

	ASSERT_LE(0, fd);
	test_cmd_host_alloc(fd, page_size, &offset);
	p = host_map(fd, page_size, offset);
	ASSERT_NE(MAP_FAILED, p);
	close(fd);
	EXPECT_EQ(-EWOULDBLOCK, module_unload());
	memset(p, 1, page_size);
	munmap(p, page_size);
	EXPECT_TRUE(unload());
}

/* Fences call the driver as long as they live. */
TEST_F(module, stays_while_a_fence_is_open)
{
	int done, cancelled;
	struct foreign f;
	struct rig r;

	if (!foreign_open(&f))
		SKIP(return, "neither sw_sync nor vgem");
	ASSERT_EQ(0, rig_open(&r, 0));
	EXPECT_EQ(1, submit(r.fd, r.stream, op_write(r.own, 1)));
	EXPECT_EQ(2, submit(r.fd, r.stream, op_fence(foreign_fence(&f))));
	test_cmd_fence_export(&done, r.fd, r.stream, 1);
	test_cmd_fence_export(&cancelled, r.fd, r.stream, 2);
	rig_close(&r);
	EXPECT_EQ(-ECANCELED, fence_outcome(cancelled));
	close(cancelled);
	/* Not for a moment only. */
	EXPECT_FALSE(WAIT_FOR(module_unload() == 0, 300));
	EXPECT_EQ(1, fence_status(done));
	close(done);
	EXPECT_TRUE(unload());
	foreign_close(&f);
}

/* Nothing but a dma-buf is left, and its end is code of the driver's. */
TEST_F(module, stays_while_a_dmabuf_is_open)
{
	u64 offset, mem;
	int fd, dmabuf[2];
	void *p;

	fd = card_open();
	ASSERT_LE(0, fd);
	test_cmd_mem_alloc(fd, 64, 0, &mem);
	test_cmd_host_alloc(fd, page_size, &offset);
	p = host_map(fd, page_size, offset);
	ASSERT_NE(MAP_FAILED, p);
	test_cmd_mem_export(fd, PACCEL_EXPORT_DEVICE, mem, &dmabuf[0]);
	test_cmd_mem_export(fd, PACCEL_EXPORT_HOST, (uintptr_t)p, &dmabuf[1]);
	munmap(p, page_size);
	close(fd);
	EXPECT_EQ(-EWOULDBLOCK, module_unload());
	close(dmabuf[0]);
	EXPECT_EQ(-EWOULDBLOCK, module_unload());
	xfers_note();
	close(dmabuf[1]);
	EXPECT_TRUE(unload());
	EXPECT_EQ(0, module_load(""));
}

/* What one driver's programs have left in the card, the next driver's do not see. */
TEST_F(module, loaded_again_and_again)
{
	/* Whole granules, of which there is an odd number. */
	u64 low, high, half;
	int fd = card_open();

	half = self->total / 2 / info_of(fd).granule * info_of(fd).granule;
	close(fd);

	for (int i = 0; i < cycles(); i++) {
		fd = card_open();
		ASSERT_LE(0, fd);
		test_cmd_mem_alloc(fd, half, 0, &low);
		test_cmd_mem_alloc(fd, half, 0, &high);
		test_cmd_copy_d2h(fd, self->host, high, half);
		EXPECT_TRUE(all_bytes(self->host, half, 0));
		memset(self->host, 0xa7, half);
		test_cmd_copy_h2d(fd, high, self->host, half);
		/*
		 * While the scrub of one half seems to go on for ever, the other one
		 * stays as it is: the next probe has to see to it.
		 */
		card_mute_irq(true);
		test_cmd_mem_free(fd, low, half);
		close(fd);
		ASSERT_TRUE(unload());
		card_behave();
		ASSERT_EQ(0, module_load(self->parameters));
	}
}

static int copy_until_killed(void *arg)
{
	struct line *l = arg;
	u8 *p = map_pages(1);
	int fd = card_open();
	u64 addr;

	CHILD_CHECK(fd >= 0);
	CHILD_EQ(0, _test_cmd_mem_alloc(fd, 64, 0, &addr));
	say(l, 1);
	_test_cmd_copy_2d(fd, PACCEL_COPY_D2H, (uintptr_t)p, addr, long_copy(20));
	return 1;
}

/* Unloaded while the card still works for a process that is no more. */
TEST_F(module, unloaded_during_dma)
{
	struct line l = line_open();
	int fd = card_open();
	u64 xfers;
	pid_t pid;

	ASSERT_TRUE(card_settle(fd));
	card_slow();
	xfers = stats_of(fd).xfers;
	pid = spawn(copy_until_killed, &l);
	ASSERT_TRUE(hear(&l, 0));
	ASSERT_TRUE(WAIT_FOR(xfers_passed(fd, xfers), 5000));
	close(fd);
	kill(pid, SIGKILL);
	EXPECT_EQ(128 + SIGKILL, reap(pid));
	EXPECT_TRUE(unload());
	card_behave();
	EXPECT_EQ(0, module_load(self->parameters));
}

/* --- parameters ---------------------------------------------------------- */

TEST_F(module, bad_parameters_are_refused)
{
	const char *bad[][2] = {
		{ "watchdog_ms=9", "watchdog_ms must be 10 to" },
		{ "watchdog_ms=600001", "watchdog_ms must be 10 to" },
		{ "watchdog_ms=soon", "watchdog_ms must be 10 to" },
		{ "watchdog_ms=-1", "watchdog_ms must be 10 to" },
		{ "quiesce_ms=0", "quiesce_ms must be 1 to" },
		{ "quiesce_ms=60001", "quiesce_ms must be 1 to" },
		{ "scrub=maybe", "scrub" },
		{ "verify=maybe", "invalid for parameter `verify'" },
		{ "verify=2", "invalid for parameter `verify'" },
		{ "verify=", "invalid for parameter `verify'" },
		{ "p2p=maybe", "p2p must be auto, force or off" },
		{ "p2p=Force", "p2p must be auto, force or off" },
		{ "p2p=1", "p2p must be auto, force or off" },
		{ "p2p=force,off", "p2p must be auto, force or off" },
		{ "p2p=", "p2p must be auto, force or off" },
		{ "p2p", "invalid for parameter `p2p'" },
		{ "edu_dma_bits=many", "edu_dma_bits" },
	};
	int kmsg = kmsg_open();

	ASSERT_LE(0, kmsg);
	ASSERT_TRUE(unload());
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		lseek(kmsg, 0, SEEK_END);
		EXPECT_EQ(-EINVAL, module_load(bad[i][0])) TH_LOG("%s", bad[i][0]);
		EXPECT_FALSE(module_loaded());
		/* And the log says what would be right. */
		EXPECT_TRUE(log_says(kmsg, bad[i][1])) TH_LOG("%s", bad[i][1]);
		/* What was taken must not hide the next one. */
		EXPECT_TRUE(!module_loaded() || unload());
	}
	close(kmsg);
}

/* A width that no edu has: the module loads, but drives none with it. Others have their own. */
TEST_F(module, bad_dma_bits_bind_no_edu)
{
	const char *bad[] = { "edu_dma_bits=27", "edu_dma_bits=65", "edu_dma_bits=0" };
	bool is_edu = !strcmp(card_kind(), "edu");
	char node[32];

	ASSERT_TRUE(unload());
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(0, module_load(bad[i]));
		EXPECT_EQ(!is_edu, card_node(card_bdf(), node));
		EXPECT_TRUE(unload());
	}
}

TEST_F(module, without_scrubbing)
{
	u64 addr, xfers;
	int fd;

	ASSERT_TRUE(unload());
	ASSERT_EQ(0, module_load("scrub=0"));
	fd = card_open();
	ASSERT_LE(0, fd);
	/* Nothing is dirty, nothing is cleaned, and what was freed is there at once. */
	EXPECT_EQ(0, stats_of(fd).xfers);
	EXPECT_EQ(self->total, stats_of(fd).free);
	test_cmd_mem_alloc(fd, self->total, 0, &addr);
	pattern_fill(self->host, self->total, 2);
	test_cmd_copy_h2d(fd, addr, self->host, self->total);
	xfers = stats_of(fd).xfers;
	test_cmd_mem_free(fd, addr, self->total);
	EXPECT_EQ(self->total, stats_of(fd).free);
	test_cmd_mem_alloc(fd, self->total, 0, &addr);
	EXPECT_EQ(xfers, stats_of(fd).xfers);
	memset(self->host, 0, self->total);
	test_cmd_copy_d2h(fd, self->host, addr, self->total);
	EXPECT_EQ(-1, pattern_diff(self->host, self->total, 2));
	EXPECT_EQ(0, stats_of(fd).bytes_scrubbed);
	close(fd);
	EXPECT_TRUE(unload());

	/* With scrubbing again nobody sees those bytes. */
	ASSERT_EQ(0, module_load("scrub=1"));
	fd = card_open();
	test_cmd_mem_alloc(fd, self->total, 0, &addr);
	test_cmd_copy_d2h(fd, self->host, addr, self->total);
	EXPECT_TRUE(all_bytes(self->host, self->total, 0));
	close(fd);
	EXPECT_TRUE(unload());
}

/*
 * The parameter is for devices with checksums, and no error on others. Not beside other programs:
 * verified requests are not linked.
 */
TEST_F(module, verify_is_no_error)
{
	u8 *host = map_pages(1), *back = map_pages(1);
	int fd = card_open();
	u64 mem;

	ASSERT_LE(0, fd);
	test_cmd_mem_alloc(fd, 64, 0, &mem);
	pattern_fill(host, 64, 1);
	ASSERT_EQ(0, module_param_set("verify", "1"));
	EXPECT_EQ(0, _test_cmd_fill(fd, mem, 64, 0, 1));
	EXPECT_EQ(0, _test_cmd_copy_h2d(fd, mem, host, 64));
	EXPECT_EQ(0, _test_cmd_copy_d2h(fd, back, mem, 64));
	EXPECT_EQ(0, module_param_set("verify", "0"));
	EXPECT_EQ(-1, pattern_diff(back, 64, 1));
	close(fd);
}

PACCEL_TEST_MAIN
