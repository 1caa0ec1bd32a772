// SPDX-License-Identifier: MIT
/*
 * What is left behind of a card that did not answer: a device core dump. The parameters are the
 * module's: nothing else may run meanwhile.
 */
#include <dirent.h>
#include <sys/stat.h>

#include "ring_test.h"

#define DUMPS "/sys/class/devcoredump"
#define SIZE 4096
/* What no dump may have, as a pattern and as a program's bytes. */
#define SECRET 0x5ec2e7015ec2e701ull

FIXTURE(dump) {
	struct rig r;
	char text[1 << 18];
	char path[128];
	char old_watchdog[16];
};

/* The dump of the program's card, or false. */
static bool dump_find(char path[128])
{
	DIR *dir = opendir(DUMPS);
	struct dirent *entry;
	char link[160], target[256];
	bool found = false;
	ssize_t n;

	while (dir && !found && (entry = readdir(dir))) {
		snprintf(link, sizeof(link), DUMPS "/%.64s/failing_device", entry->d_name);
		n = readlink(link, target, sizeof(target) - 1);
		if (n < 0)
			continue;
		target[n] = 0;
		found = !strcmp(strrchr(target, '/') + 1, card_bdf());
		snprintf(path, 128, DUMPS "/%.64s/data", entry->d_name);
	}
	if (dir)
		closedir(dir);
	return found;
}

static bool dump_read(const char *path, char *text, size_t size)
{
	FILE *file = fopen(path, "r");
	size_t n = file ? fread(text, 1, size - 1, file) : 0;

	text[n] = 0;
	if (file)
		fclose(file);
	return n;
}

static void dump_delete(void)
{
	char path[128];

	while (dump_find(path) && !file_write(path, "1"))
		;
}

FIXTURE_SETUP(dump)
{
	ASSERT_STREQ("ring", card_kind());
	ASSERT_EQ(0, rig_open(&self->r, SIZE));
	ASSERT_TRUE(module_param("watchdog_ms", self->old_watchdog, 16));
	ASSERT_EQ(0, module_param_set("watchdog_ms", "300"));
	dump_delete();
}

FIXTURE_TEARDOWN(dump)
{
	ring_order("clear");
	EXPECT_EQ(0, module_param_set("watchdog_ms", self->old_watchdog));
	dump_delete();
	rig_close(&self->r);
}

static void fill_with_secret(struct rig *r)
{
	for (size_t i = 0; i < SIZE / sizeof(u64); i++)
		r->own[i] = SECRET;
}

/* Something that can be found again if it should not be there. */
static bool tells_secrets(const char *text)
{
	return strstr(text, "5ec2e701") || strstr(text, "01e7c25e") ||
	       strstr(text, "ffff8") || strstr(text, "ffffc") || strstr(text, "ffffe");
}

TEST_F(dump, of_an_engine_that_hung)
{
	u64 resets = card_counter("engine_resets");
	char line[64];
	struct stat st;

	fill_with_secret(&self->r);
	ASSERT_EQ(0, ring_order("stall"));
	EXPECT_EQ(1, submit(self->r.fd, self->r.stream, op_h2d(self->r.mem, self->r.own, SIZE),
			    op_fill(self->r.mem, SIZE, SECRET, 8),
			    op_d2h(self->r.own, self->r.mem, 64)));
	EXPECT_EQ(-ETIMEDOUT, outcome(self->r.fd, self->r.stream, 1));
	ASSERT_TRUE(WAIT_FOR(dump_find(self->path), 5000));
	ASSERT_EQ(0, stat(self->path, &st));
	EXPECT_EQ(0600, st.st_mode & 0777);
	ASSERT_TRUE(dump_read(self->path, self->text, sizeof(self->text)));

	EXPECT_TRUE(strstr(self->text, "why: a DMA request timed out or had an invalid completion\n") == self->text);
	EXPECT_TRUE(strstr(self->text, "health: recovering\n"));
	EXPECT_TRUE(strstr(self->text, ": hung h2d, 4096 bytes at 0x"));
	EXPECT_TRUE(strstr(self->text, "timeouts: "));
	snprintf(line, sizeof(line), "engine_resets: %llu\n", (unsigned long long)resets);
	EXPECT_TRUE(strstr(self->text, line));
	/* What the backend adds: MAGIC, an engine's indices, a completion of it. */
	EXPECT_TRUE(strstr(self->text, "device 000: 474e4952 "));
	EXPECT_TRUE(strstr(self->text, "engine 0: generation "));
	EXPECT_TRUE(strstr(self->text, "\ncompletion 000: "));
	EXPECT_FALSE(tells_secrets(self->text)) TH_LOG("%s", self->text);
	EXPECT_TRUE(WAIT_FOR(card_health_is("ok"), 5000));
	EXPECT_EQ(resets + 1, card_counter("engine_resets"));
}

static int hang_once(struct rig *r, const char *order)
{
	struct paccel_stream_clear cleared;
	s64 point;
	int rc;

	if (ring_order("%s", order))
		return -1;
	point = submit(r->fd, r->stream, op_fill(r->mem, SIZE, SECRET, 8));
	rc = point > 0 ? outcome(r->fd, r->stream, point) : point;
	_test_cmd_stream_clear(r->fd, r->stream, &cleared);
	return rc;
}

/* The first one stays until somebody has read it, and nothing grows meanwhile. */
TEST_F(dump, one_at_a_time)
{
	char path[128], time[32] = "";
	const char *at;

	EXPECT_EQ(-ETIMEDOUT, hang_once(&self->r, "stall"));
	ASSERT_TRUE(WAIT_FOR(dump_find(self->path), 5000));
	ASSERT_TRUE(dump_read(self->path, self->text, sizeof(self->text)));
	at = strstr(self->text, "\ntime: ");
	ASSERT_TRUE(at);
	snprintf(time, sizeof(time), "%s", at);

	EXPECT_EQ(-ETIMEDOUT, hang_once(&self->r, "stall"));
	EXPECT_TRUE(WAIT_FOR(card_health_is("ok"), 5000));
	usleep(200000);
	ASSERT_TRUE(dump_find(path));
	EXPECT_STREQ(self->path, path);
	ASSERT_TRUE(dump_read(path, self->text, sizeof(self->text)));
	EXPECT_TRUE(strstr(self->text, time));

	dump_delete();
	EXPECT_FALSE(dump_find(path));
	EXPECT_EQ(-ETIMEDOUT, hang_once(&self->r, "stall"));
	ASSERT_TRUE(WAIT_FOR(dump_find(path), 5000));
	ASSERT_TRUE(dump_read(path, self->text, sizeof(self->text)));
	EXPECT_FALSE(strstr(self->text, time));
	EXPECT_FALSE(tells_secrets(self->text)) TH_LOG("%s", self->text);
}

/* The engine's reset does not help, that of the card does: one dump tells of both. */
TEST_F(dump, of_a_card_that_was_reset)
{
	u64 resets = card_counter("resets");

	EXPECT_EQ(-ETIMEDOUT, hang_once(&self->r, "stall until=card"));
	EXPECT_TRUE(WAIT_FOR(card_counter("resets") == resets + 1, 5000));
	EXPECT_TRUE(WAIT_FOR(card_health_is("ok"), 5000));
	ASSERT_TRUE(WAIT_FOR(dump_find(self->path), 5000));
	ASSERT_TRUE(dump_read(self->path, self->text, sizeof(self->text)));
	EXPECT_TRUE(strstr(self->text, "\nthen: the engine does not come back\n"));
}

static bool reload(void)
{
	return (!module_loaded() || !module_unload_unused(5000)) && !module_load("") &&
	       WAIT_FOR(card_count() > 0, 5000);
}

/*
 * A card that is not there reads all ones. Nothing proves that it does not write, so pages are
 * kept: the module is loaded anew.
 */
TEST_F(dump, of_a_card_out_of_service)
{
	ASSERT_EQ(0, ring_order("link-down"));
	EXPECT_EQ(-ETIMEDOUT, hang_once(&self->r, "link-down"));
	EXPECT_TRUE(WAIT_FOR(card_health_is("failed"), 10000));
	ASSERT_TRUE(WAIT_FOR(dump_find(self->path), 5000));
	ASSERT_TRUE(dump_read(self->path, self->text, sizeof(self->text)));
	EXPECT_TRUE(strstr(self->text, "device 000: ffffffff ffffffff "));
	EXPECT_TRUE(strstr(self->text, "\nthen: the device does not become idle\n"));
	EXPECT_EQ(0, ring_order("link-up"));
	allow_warnings(KEPT_MAPPINGS);
	rig_close(&self->r);
	EXPECT_TRUE(reload());
	allow_warnings(NULL);
	EXPECT_TRUE(card_health_is("ok"));
	ASSERT_EQ(0, rig_open(&self->r, SIZE));
}

PACCEL_TEST_MAIN
