// SPDX-License-Identifier: MIT
/* debugfs shows the state of a device to root, and to no other user. */
#include <sys/stat.h>

#include "card.h"
#include "stream_test.h"

#define DEBUGFS "/sys/kernel/debug/paccel"
#define STREAMS 16

FIXTURE(debugfs) {
	struct rig r;
	char folder[96];
	char text[1 << 18];
	u32 streams[STREAMS];
	u64 size;
};

static void path_of(char path[160], const char *folder)
{
	snprintf(path, 160, "%s/state", folder);
}

/* All of it; the length, or -errno. */
static int look(const char *folder, char *text, size_t size)
{
	char path[160];
	int fd, n, used = 0;

	path_of(path, folder);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while ((n = read(fd, text + used, size - 1 - used)) > 0)
		used += n;
	n = n < 0 ? -errno : used;
	close(fd);
	text[used] = 0;
	return n;
}

FIXTURE_SETUP(debugfs)
{
	char node[32];

	/* Enough that an engine cannot be given all of it at once. */
	self->size = strcmp(card_kind(), "ring") ? 64 : 8 << 20;
	ASSERT_EQ(0, rig_open(&self->r, self->size));
	ASSERT_TRUE(card_node(card_bdf(), node));
	snprintf(self->folder, sizeof(self->folder), DEBUGFS "/%s", node);
	for (int i = 0; i < STREAMS; i++) {
		struct paccel_stream_create create;

		ASSERT_EQ(0, _test_cmd_stream_create(self->r.fd, &create));
		self->streams[i] = create.stream;
	}
	ASSERT_TRUE(card_settle(self->r.fd));
}

FIXTURE_TEARDOWN(debugfs)
{
	card_behave();
	rig_close(&self->r);
}

#define LOOK() look(self->folder, self->text, sizeof(self->text))

static int look_as_nobody(void *arg)
{
	FIXTURE_DATA(debugfs) *self = arg;

	CHILD_CHECK(!setresgid(65534, 65534, 65534) && !setresuid(65534, 65534, 65534));
	CHILD_EQ(-EACCES, LOOK());
	return 0;
}

TEST_F(debugfs, for_root_alone)
{
	char path[160];
	struct stat st;

	path_of(path, self->folder);
	ASSERT_EQ(0, stat(path, &st));
	EXPECT_EQ(0400, st.st_mode & 0777);
	EXPECT_EQ(0, st.st_uid);
	EXPECT_LT(0, LOOK());
	EXPECT_EQ(0, run_in_child(look_as_nobody, self));
}

TEST_F(debugfs, idle)
{
	ASSERT_LT(0, LOOK());
	EXPECT_TRUE(strstr(self->text, "engine 0: 0 jobs, 0 requests of 0 bytes in flight, "
					   "running\n"));
	EXPECT_FALSE(strstr(self->text, "wait"));
	EXPECT_TRUE(strstr(self->text, strcmp(card_kind(), "ring") ? "id 000: 010000ed" :
								      "device 000: 474e4952"));
}

/* What runs, what waits for its turn, and what waits in its stream. */
TEST_F(debugfs, busy)
{
	char line[96];
	u64 xfers = stats_of(self->r.fd).xfers;
	s64 point = 0;

	card_slow();
	for (int i = 0; i < STREAMS; i++) {
		point = submit(self->r.fd, self->streams[i],
			       op_fill(self->r.mem, self->size, 0x77, 1),
			       op_write(&self->r.own[0], 1));
		ASSERT_LT(0, point);
	}
	/* A worker starts what goes through the bounce buffer. */
	ASSERT_TRUE(WAIT_FOR(xfers_passed(self->r.fd, xfers), 5000));
	ASSERT_LT(0, LOOK());
	EXPECT_TRUE(strstr(self->text, " busy fill, ")) TH_LOG("%s", self->text);
	EXPECT_TRUE(strstr(self->text, " jobs wait, ")) TH_LOG("%s", self->text);
	EXPECT_TRUE(strstr(self->text, "first: fill of stream "));
	snprintf(line, sizeof(line), "  stream %u: point 0 of 1, 2 operations queued, first: fill",
		 self->streams[STREAMS - 1]);
	EXPECT_TRUE(strstr(self->text, line)) TH_LOG("%s", self->text);
	card_behave();
	for (int i = 0; i < STREAMS; i++)
		EXPECT_EQ(0, outcome(self->r.fd, self->streams[i], 1));
	ASSERT_LT(0, LOOK());
	snprintf(line, sizeof(line), "  stream %u: point 1 of 1, 0 operations queued\n",
		 self->streams[0]);
	EXPECT_TRUE(strstr(self->text, line)) TH_LOG("%s", self->text);
}

struct reader {
	FIXTURE_DATA(debugfs) *self;
	struct line line;
};

static int reader_main(void *arg)
{
	struct reader *reader = arg;
	FIXTURE_DATA(debugfs) *self = reader->self;
	int rc = 0;

	/* Until there is nothing to read any more. */
	for (size_t i = 0; rc >= 0; i++) {
		rc = LOOK();
		if (i == 1)
			say(&reader->line, 1);
	}
	return rc == -ENOENT || rc == -EIO ? 0 : -rc;
}

/* A file that is open has no answer any more; those who read get one or the other. */
TEST_F(debugfs, unplug)
{
	struct reader reader = { .self = self, .line = line_open() };
	char path[160], bdf[32], node[32], text[64];
	pid_t readers[3];
	int fd;

	snprintf(bdf, sizeof(bdf), "%s", card_bdf());
	path_of(path, self->folder);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ASSERT_LE(0, fd);
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++)
		readers[i] = spawn(reader_main, &reader);
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++)
		ASSERT_TRUE(hear(&reader.line, 0));
	ASSERT_EQ(0, driver_unbind(bdf));
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++)
		EXPECT_EQ(0, reap_within(readers[i], 10000 * slow_factor()));
	EXPECT_EQ(-1, read(fd, text, sizeof(text)));
	EXPECT_EQ(EIO, errno);
	close(fd);
	ASSERT_EQ(0, driver_bind(bdf));
	ASSERT_TRUE(WAIT_FOR(card_node(bdf, node), 5000));
	snprintf(self->folder, sizeof(self->folder), DEBUGFS "/%s", node);
	EXPECT_LT(0, LOOK());
}

PACCEL_TEST_MAIN
