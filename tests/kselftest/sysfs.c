// SPDX-License-Identifier: MIT
/* The attributes in /sys/class/paccel/paccelN and the module's parameters. */
#include <dirent.h>
#include <sys/stat.h>

#include "paccel_test.h"

FIXTURE(sysfs) {
	int fd;
	struct paccel_device_info info;
};

FIXTURE_SETUP(sysfs)
{
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	self->info = info_of(self->fd);
	ASSERT_TRUE(card_settle(self->fd));
}

FIXTURE_TEARDOWN(sysfs)
{
	EXPECT_EQ(0, card_attr_write("max_user_bytes", "0"));
	close(self->fd);
}

static u64 attr(const char *name)
{
	u64 value = ~0ull;
	int rc = card_attr_u64(name, &value);

	if (rc)
		fprintf(stderr, "# %s: %d\n", name, rc);
	return value;
}

TEST_F(sysfs, card)
{
	char text[64];

	ASSERT_LT(0, card_attr_read("backend", text, sizeof(text)));
	EXPECT_STREQ(self->info.backend, text);
	ASSERT_LT(0, card_attr_read("health", text, sizeof(text)));
	EXPECT_STREQ("ok", text);
	EXPECT_EQ(self->info.mem_size, attr("mem_size"));
	EXPECT_EQ(self->info.granule, attr("granule"));
}

TEST_F(sysfs, memory)
{
	u64 used = in_granules(self->fd, 100), addr;

	EXPECT_EQ(self->info.mem_size, attr("free"));
	test_cmd_mem_alloc(self->fd, 100, 0, &addr);
	EXPECT_EQ(used, attr("used"));
	EXPECT_EQ(self->info.mem_size - used, attr("free"));
	EXPECT_EQ(0, attr("dirty"));
	EXPECT_EQ(0, attr("quarantined"));
	/* Its scrub does not end while the device is held; edu's ends by itself. */
	card_hold();
	test_cmd_mem_free(self->fd, addr, 100);
	EXPECT_EQ(0, attr("used"));
	if (!strcmp(card_kind(), "ring")) {
		EXPECT_EQ(used, attr("dirty"));
		EXPECT_EQ(self->info.mem_size - used, attr("free"));
	}
	card_behave();
	EXPECT_TRUE(WAIT_FOR(attr("dirty") == 0, 5000));
	EXPECT_EQ(self->info.mem_size, attr("free"));
}

TEST_F(sysfs, counters)
{
	u64 resets = attr("resets");

	EXPECT_EQ(0, attr("leaked_pages"));
	EXPECT_NE(~0ull, attr("timeouts"));
	EXPECT_NE(~0ull, attr("lost_irqs"));
	EXPECT_NE(~0ull, attr("spurious_irqs"));
	EXPECT_NE(~0ull, attr("bogus"));
	EXPECT_NE(~0ull, attr("corrupt"));
	EXPECT_NE(~0ull, attr("engine_resets"));
	test_cmd_reset(self->fd);
	EXPECT_EQ(resets + 1, attr("resets"));
}

TEST_F(sysfs, max_user_bytes)
{
	const char *junk[] = { "", "\n", "x", "-1", "12k", "1 2", "0x", "1.5", "08" };

	ASSERT_EQ(0, card_attr_write("max_user_bytes", "4096\n"));
	EXPECT_EQ(4096, attr("max_user_bytes"));
	EXPECT_EQ(4096, stats_of(self->fd).user_max);
	for (size_t i = 0; i < ARRAY_SIZE(junk); i++) {
		/* An empty write does not even reach the driver. */
		if (*junk[i])
			EXPECT_EQ(-EINVAL, card_attr_write("max_user_bytes", junk[i]));
		EXPECT_EQ(4096, attr("max_user_bytes"));
	}
	EXPECT_EQ(-ERANGE, card_attr_write("max_user_bytes", "18446744073709551616"));
	EXPECT_EQ(4096, attr("max_user_bytes"));
	ASSERT_EQ(0, card_attr_write("max_user_bytes", "0x40"));
	EXPECT_EQ(64, attr("max_user_bytes"));
	ASSERT_EQ(0, card_attr_write("max_user_bytes", "18446744073709551615"));
	EXPECT_EQ(~0ull, stats_of(self->fd).user_max);
}

/* Every attribute can be read by everybody, and only one be written, by root. */
TEST_F(sysfs, modes)
{
	const char *names[] = {
		"backend", "mem_size", "granule", "health", "max_user_bytes", "used",
		"free", "dirty", "quarantined", "timeouts", "lost_irqs",
		"spurious_irqs", "bogus", "corrupt", "resets", "engine_resets", "leaked_pages",
	};
	char node[32], path[128];
	struct stat st;

	ASSERT_TRUE(card_node(card_bdf(), node));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		bool rw = !strcmp(names[i], "max_user_bytes");

		snprintf(path, sizeof(path), "/sys/class/paccel/%s/%s", node, names[i]);
		ASSERT_EQ(0, stat(path, &st)) TH_LOG("%s", path);
		EXPECT_EQ(rw ? 0644 : 0444, st.st_mode & 0777);
	}
	snprintf(path, sizeof(path), "/dev/%s", node);
	ASSERT_EQ(0, stat(path, &st));
	EXPECT_EQ(0660, st.st_mode & 0777);
	EXPECT_TRUE(S_ISCHR(st.st_mode));
}

TEST_F(sysfs, parameters)
{
	const char *names[] = { "scrub", "watchdog_ms", "quiesce_ms", "edu_dma_bits" };
	char value[32];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		EXPECT_TRUE(module_param(names[i], value, sizeof(value)));
	/* What is decided when the module is loaded stays. */
	EXPECT_NE(0, module_param_set("scrub", "0"));
	EXPECT_NE(0, module_param_set("edu_dma_bits", "64"));
}

PACCEL_TEST_MAIN
