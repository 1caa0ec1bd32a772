// SPDX-License-Identifier: MIT
/*
 * Points as sync_files, and sync_files of others as what work waits for. Runs with
 * scrub=0. No test needs transfers, so it runs on one kind of device.
 */
#include <sys/resource.h>
#include <sys/socket.h>

#include "stream_test.h"

FIXTURE(fence) {
	struct rig r;
	struct foreign f;
	int in;		/* a foreign fence */
};

FIXTURE_SETUP(fence)
{
	ASSERT_EQ(0, rig_open(&self->r, 0));
	if (!foreign_open(&self->f))
		SKIP(return, "neither sw_sync nor vgem");
	self->in = foreign_fence(&self->f);
	ASSERT_LE(0, self->in);
}

FIXTURE_TEARDOWN(fence)
{
	foreign_close(&self->f);
	rig_close(&self->r);
}

/* --- what is exported ---------------------------------------------------- */

TEST_F(fence, of_a_point_that_has_ended)
{
	int fence;

	EXPECT_EQ(1, submit(self->r.fd, self->r.stream, op_write(self->r.own, 1)));
	test_cmd_fence_export(&fence, self->r.fd, self->r.stream, 1);
	EXPECT_EQ(1, fence_status(fence));
	EXPECT_EQ(POLLIN, polled(fence, 0));
	EXPECT_EQ(FD_CLOEXEC, fcntl(fence, F_GETFD));
	close(fence);
}

TEST_F(fence, of_a_point_to_come)
{
	int first, second;

	EXPECT_EQ(1, submit(self->r.fd, self->r.stream, op_write(self->r.own, 1),
			    op_fence(self->in)));
	EXPECT_EQ(2, submit(self->r.fd, self->r.stream, op_write(self->r.own, 2)));
	/* Later ones first: they are told in the order of points. */
	test_cmd_fence_export(&second, self->r.fd, self->r.stream, 2);
	test_cmd_fence_export(&first, self->r.fd, self->r.stream, 1);
	EXPECT_EQ(0, fence_status(first));
	EXPECT_EQ(0, polled(first, 20));
	EXPECT_EQ(0, fence_status(second));
	foreign_signal(&self->f);
	EXPECT_EQ(1, fence_outcome(second));
	EXPECT_EQ(1, fence_status(first));
	EXPECT_EQ(POLLIN, polled(first, 0));
	close(first);
	close(second);
}

static bool fence_info(int fence, struct sync_fence_info *one)
{
	struct sync_file_info info = { .num_fences = 1, .sync_fence_info = (uintptr_t)one };

	return ioctl(fence, SYNC_IOC_FILE_INFO, &info) == 0 && info.num_fences == 1;
}

/* From 7.x on the driver's names are reported only while a fence is pending. */
TEST_F(fence, says_whose_it_is)
{
	struct sync_fence_info one = {};
	u64 before = clock_ns();
	char node[32], name[64];
	int fence;

	EXPECT_EQ(1, submit(self->r.fd, self->r.stream, op_fence(self->in)));
	test_cmd_fence_export(&fence, self->r.fd, self->r.stream, 1);
	ASSERT_TRUE(fence_info(fence, &one));
	EXPECT_EQ(0, one.status);
	EXPECT_STREQ("paccel", one.driver_name);
	/* The node, the context's number, the stream's. */
	ASSERT_TRUE(card_node(card_bdf(), node));
	EXPECT_EQ(0, strncmp(node, one.obj_name, strlen(node)));
	snprintf(name, sizeof(name), ".%u", self->r.stream);
	EXPECT_STREQ(name, strrchr(one.obj_name, '.'));
	foreign_signal(&self->f);
	EXPECT_EQ(1, fence_outcome(fence));
	ASSERT_TRUE(fence_info(fence, &one));
	EXPECT_EQ(1, one.status);
	EXPECT_LE(before, one.timestamp_ns);
	EXPECT_GE(clock_ns(), one.timestamp_ns);
	close(fence);
}

TEST_F(fence, no_descriptor_left)
{
	struct rlimit old, none;
	int fence;

	EXPECT_EQ(1, submit(self->r.fd, self->r.stream, op_fence(self->in)));
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &old));
	none = old;
	none.rlim_cur = dup(0);
	close(none.rlim_cur);
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
	for (int i = 0; i < 3; i++)
		test_err_fence_export(EMFILE, self->r.fd, self->r.stream, 1);
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &old));
	test_cmd_fence_export(&fence, self->r.fd, self->r.stream, 1);
	foreign_signal(&self->f);
	EXPECT_EQ(1, fence_outcome(fence));
	close(fence);
}

#define MANY 100

/* All of them are told, in whatever order they were made, closed or not. */
TEST_F(fence, many_of_one_stream)
{
	int fence[MANY];

	EXPECT_EQ(1, submit(self->r.fd, self->r.stream, op_fence(self->in)));
	for (int i = 2; i <= 10; i++)
		EXPECT_EQ(i, submit(self->r.fd, self->r.stream, op_write(self->r.own, i)));
	for (int i = 0; i < MANY; i++)
		test_cmd_fence_export(&fence[i], self->r.fd, self->r.stream, i * 7 % 10 + 1);
	for (int i = 0; i < MANY; i += 3)
		close(fence[i]);
	for (int i = 0; i < MANY; i++)
		EXPECT_EQ(i % 3 ? 0 : -EBADF, fence_status(fence[i]));
	foreign_signal(&self->f);
	EXPECT_EQ(0, outcome(self->r.fd, self->r.stream, 10));
	for (int i = 0; i < MANY; i++) {
		if (i % 3 == 0)
			continue;
		EXPECT_EQ(1, fence_outcome(fence[i]));
		close(fence[i]);
	}
}

/* It is of a point, not of a stream: with that gone it is signalled as before. */
TEST_F(fence, of_a_stream_that_is_destroyed)
{
	int fence;

	EXPECT_EQ(1, submit(self->r.fd, self->r.stream, op_fence(self->in),
			    op_write(self->r.own, 1)));
	test_cmd_fence_export(&fence, self->r.fd, self->r.stream, 1);
	test_cmd_stream_destroy(self->r.fd, self->r.stream);
	EXPECT_EQ(0, fence_status(fence));
	foreign_signal(&self->f);
	EXPECT_EQ(1, fence_outcome(fence));
	EXPECT_EQ(1, self->r.own[0]);
	close(fence);
}

/* --- what is waited for -------------------------------------------------- */

TEST_F(fence, work_begins_when_it_is_signalled)
{
	volatile u64 *own = self->r.own;

	EXPECT_EQ(1, submit(self->r.fd, self->r.stream, op_write(&own[0], 1),
			    op_fence(self->in), op_write(&own[1], 1)));
	/* The descriptor is not needed any more. */
	close(self->in);
	EXPECT_EQ(-EINPROGRESS, standing(self->r.fd, self->r.stream, 1));
	EXPECT_EQ(1, own[0]);
	EXPECT_EQ(0, own[1]);
	foreign_signal(&self->f);
	EXPECT_EQ(0, outcome(self->r.fd, self->r.stream, 1));
	EXPECT_EQ(1, own[1]);
}

TEST_F(fence, signalled_already)
{
	foreign_signal(&self->f);
	EXPECT_EQ(1, fence_outcome(self->in));
	EXPECT_EQ(1, submit(self->r.fd, self->r.stream, op_fence(self->in),
			    op_write(self->r.own, 1)));
	EXPECT_EQ(0, outcome(self->r.fd, self->r.stream, 1));
	EXPECT_EQ(1, self->r.own[0]);
}

/* One fence, many who wait: several times in one stream, in streams of two files. */
TEST_F(fence, waited_for_by_many)
{
	struct rig other;
	int stream[8];

	ASSERT_EQ(0, rig_open(&other, 0));
	EXPECT_EQ(1, submit(other.fd, other.stream, op_fence(self->in), op_fence(self->in),
			    op_write(other.own, 1), op_fence(self->in)));
	for (int i = 0; i < 8; i++) {
		test_cmd_stream_create(self->r.fd, &stream[i]);
		EXPECT_EQ(1, submit(self->r.fd, stream[i], op_fence(self->in),
				    op_write(&self->r.own[i], i + 1)));
	}
	EXPECT_EQ(0, other.own[0]);
	foreign_signal(&self->f);
	for (int i = 0; i < 8; i++) {
		EXPECT_EQ(0, outcome(self->r.fd, stream[i], 1));
		EXPECT_EQ((u64)i + 1, self->r.own[i]);
	}
	EXPECT_EQ(0, outcome(other.fd, other.stream, 1));
	EXPECT_EQ(1, other.own[0]);
	rig_close(&other);
}

/* Its driver has ended it with an error, as sw_sync can: so does the stream. */
TEST_F(fence, that_fails)
{
	int expected = self->f.sw_sync ? -ENOENT : 0;

	EXPECT_EQ(1, submit(self->r.fd, self->r.stream, op_fence(self->in),
			    op_write(self->r.own, 1)));
	foreign_close(&self->f);
	EXPECT_EQ(expected, outcome(self->r.fd, self->r.stream, 1));
	EXPECT_EQ(expected ? 0 : 1, self->r.own[0]);
	if (expected)
		test_cmd_stream_clear(self->r.fd, self->r.stream, expected, 1);
	/* What has failed already says so as well. */
	EXPECT_EQ(2, submit(self->r.fd, self->r.stream, op_fence(self->in)));
	EXPECT_EQ(expected, outcome(self->r.fd, self->r.stream, 2));
	self->f.fd = -1;
}

/* --- from one stream to another ------------------------------------------ */

TEST_F(fence, between_streams_and_files)
{
	struct rig other;
	int mine, theirs, stream;

	ASSERT_EQ(0, rig_open(&other, 0));
	test_cmd_stream_create(self->r.fd, &stream);
	EXPECT_EQ(1, submit(self->r.fd, self->r.stream, op_fence(self->in)));
	test_cmd_fence_export(&mine, self->r.fd, self->r.stream, 1);
	EXPECT_EQ(1, submit(other.fd, other.stream, op_fence(mine), op_write(other.own, 5)));
	test_cmd_fence_export(&theirs, other.fd, other.stream, 1);
	EXPECT_EQ(1, submit(self->r.fd, stream, op_fence(theirs),
			    op_write(self->r.own, 6)));
	EXPECT_EQ(0, other.own[0]);
	foreign_signal(&self->f);
	EXPECT_EQ(0, outcome(self->r.fd, stream, 1));
	EXPECT_EQ(5, other.own[0]);
	EXPECT_EQ(6, self->r.own[0]);
	close(mine);
	close(theirs);
	rig_close(&other);
}

#define LINKS 100

/* A long chain to and fro between two files. */
TEST_F(fence, chain)
{
	struct rig other, *r[] = { &self->r, &other };
	int last = self->in;

	ASSERT_EQ(0, rig_open(&other, 0));
	for (int i = 0; i < LINKS; i++) {
		struct rig *to = r[i % 2];
		s64 point = submit(to->fd, to->stream, op_fence(last),
				   op_write(to->own, i + 1));

		ASSERT_EQ(i / 2 + 1, point);
		close(last);
		test_cmd_fence_export(&last, to->fd, to->stream, point);
	}
	EXPECT_EQ(0, fence_status(last));
	EXPECT_EQ(0, self->r.own[0] + other.own[0]);
	foreign_signal(&self->f);
	EXPECT_EQ(1, fence_outcome(last));
	EXPECT_EQ(LINKS - 1, self->r.own[0]);
	EXPECT_EQ(LINKS, other.own[0]);
	rig_close(&other);
}

/* A stream that waits for itself waits for its past. */
TEST_F(fence, of_the_stream_itself)
{
	int fence;

	EXPECT_EQ(1, submit(self->r.fd, self->r.stream, op_fence(self->in)));
	test_cmd_fence_export(&fence, self->r.fd, self->r.stream, 1);
	EXPECT_EQ(2, submit(self->r.fd, self->r.stream, op_fence(fence),
			    op_write(self->r.own, 1)));
	foreign_signal(&self->f);
	EXPECT_EQ(0, outcome(self->r.fd, self->r.stream, 2));
	EXPECT_EQ(1, self->r.own[0]);
	close(fence);
}

/* Of the other card, if there is one. */
TEST_F(fence, between_cards)
{
	struct rig other;
	char bdf[32];
	int fence, nth = 0;

	while (card_nth(nth, bdf) && !strcmp(bdf, card_bdf()))
		nth++;
	if (!card_nth(nth, bdf))
		SKIP(return, "there is one card only");
	ASSERT_EQ(0, rig_open_at(&other, bdf, 0));
	EXPECT_EQ(1, submit(other.fd, other.stream, op_fence(self->in)));
	test_cmd_fence_export(&fence, other.fd, other.stream, 1);
	EXPECT_EQ(1, submit(self->r.fd, self->r.stream, op_fence(fence),
			    op_write(self->r.own, 1)));
	EXPECT_EQ(-EINPROGRESS, standing(self->r.fd, self->r.stream, 1));
	foreign_signal(&self->f);
	EXPECT_EQ(0, outcome(self->r.fd, self->r.stream, 1));
	rig_close(&other);
	close(fence);
}

/* --- merged -------------------------------------------------------------- */

static int merge(int a, int b)
{
	struct sync_merge_data data = { .name = "merged", .fd2 = b };

	return ioctl(a, SYNC_IOC_MERGE, &data) ? -errno : data.fence;
}

static u32 fences_in(int fence)
{
	struct sync_file_info info = {};

	return ioctl(fence, SYNC_IOC_FILE_INFO, &info) ? 0 : info.num_fences;
}

/* Ours and another driver's: over when both are. Ours first, then theirs first. */
static void merged(struct __test_metadata *_metadata, FIXTURE_DATA(fence) *self,
		   struct foreign *first, struct foreign *second, struct foreign *theirs)
{
	int ours, both, foreign = foreign_fence(theirs), stream;

	EXPECT_EQ(1, submit(self->r.fd, self->r.stream, op_fence(self->in)));
	test_cmd_fence_export(&ours, self->r.fd, self->r.stream, 1);
	both = merge(ours, foreign);
	ASSERT_LE(0, both);
	EXPECT_EQ(2, fences_in(both));
	test_cmd_stream_create(self->r.fd, &stream);
	EXPECT_EQ(1, submit(self->r.fd, stream, op_fence(both), op_write(self->r.own, 1)));
	foreign_signal(first);
	EXPECT_EQ(1, fence_outcome(first == theirs ? foreign : ours));
	EXPECT_EQ(0, fence_status(both));
	EXPECT_EQ(0, self->r.own[0]);
	foreign_signal(second);
	EXPECT_EQ(1, fence_outcome(both));
	EXPECT_EQ(0, outcome(self->r.fd, stream, 1));
	EXPECT_EQ(1, self->r.own[0]);
	close(both);
	close(ours);
	close(foreign);
}

TEST_F(fence, merged_with_a_foreign_one)
{
	struct foreign theirs;

	ASSERT_TRUE(foreign_open(&theirs));
	merged(_metadata, self, &self->f, &theirs, &theirs);
	foreign_close(&theirs);
}

TEST_F(fence, merged_with_a_foreign_one_that_is_first)
{
	struct foreign theirs;

	ASSERT_TRUE(foreign_open(&theirs));
	merged(_metadata, self, &theirs, &self->f, &theirs);
	foreign_close(&theirs);
}

/* Two of one stream are one: the later. */
TEST_F(fence, merged_with_one_of_the_same_stream)
{
	int first, second, both;

	EXPECT_EQ(1, submit(self->r.fd, self->r.stream, op_fence(self->in)));
	EXPECT_EQ(2, submit(self->r.fd, self->r.stream, op_write(self->r.own, 1)));
	test_cmd_fence_export(&first, self->r.fd, self->r.stream, 1);
	test_cmd_fence_export(&second, self->r.fd, self->r.stream, 2);
	both = merge(first, second);
	ASSERT_LE(0, both);
	EXPECT_EQ(1, fences_in(both));
	EXPECT_EQ(0, fence_status(both));
	foreign_signal(&self->f);
	EXPECT_EQ(1, fence_outcome(both));
	close(first);
	close(second);
	close(both);
}

/* One of the two fails. */
TEST_F(fence, merged_with_one_that_fails)
{
	struct doomed d;
	int ours, both;

	ASSERT_EQ(0, doomed_open(&d, self->in));
	EXPECT_EQ(1, submit(self->r.fd, self->r.stream, op_write(self->r.own, 1)));
	test_cmd_fence_export(&ours, self->r.fd, self->r.stream, 1);
	both = merge(d.fence, ours);
	ASSERT_LE(0, both);
	EXPECT_EQ(2, submit(self->r.fd, self->r.stream, op_fence(both)));
	doomed_fail(&d);
	EXPECT_EQ(-ECANCELED, fence_outcome(both));
	EXPECT_EQ(-ECANCELED, outcome(self->r.fd, self->r.stream, 2));
	close(ours);
	close(both);
}

/* --- fences that outlive ------------------------------------------------- */

/* Closing the file ends what waits, and says so; what had ended had ended. */
TEST_F(fence, file_is_closed)
{
	struct rig other;
	int done, pending, behind;

	ASSERT_EQ(0, rig_open(&other, 0));
	EXPECT_EQ(1, submit(other.fd, other.stream, op_write(other.own, 1)));
	EXPECT_EQ(2, submit(other.fd, other.stream, op_fence(self->in)));
	EXPECT_EQ(3, submit(other.fd, other.stream, op_write(other.own, 2)));
	test_cmd_fence_export(&done, other.fd, other.stream, 1);
	test_cmd_fence_export(&pending, other.fd, other.stream, 2);
	test_cmd_fence_export(&behind, other.fd, other.stream, 3);
	EXPECT_EQ(1, submit(self->r.fd, self->r.stream, op_fence(pending),
			    op_write(self->r.own, 1)));
	rig_close(&other);
	EXPECT_EQ(-ECANCELED, fence_outcome(pending));
	EXPECT_EQ(-ECANCELED, fence_outcome(behind));
	EXPECT_EQ(1, fence_status(done));
	/* Whoever waited has failed with it. */
	EXPECT_EQ(-ECANCELED, outcome(self->r.fd, self->r.stream, 1));
	EXPECT_EQ(0, self->r.own[0]);
	test_cmd_stream_clear(self->r.fd, self->r.stream, -ECANCELED, 1);
	/* The foreign one may end now: nobody waits for it any more. */
	foreign_signal(&self->f);
	EXPECT_EQ(2, submit(self->r.fd, self->r.stream, op_fence(self->in),
			    op_fence(done), op_write(self->r.own, 1)));
	EXPECT_EQ(0, outcome(self->r.fd, self->r.stream, 2));
	close(done);
	close(pending);
	close(behind);
}

/* Told once for each: fences keep the error that STREAM_CLEAR makes points forget. */
TEST_F(fence, error_stays_in_the_fence)
{
	struct doomed d;
	int before, after, later;

	ASSERT_EQ(0, doomed_open(&d, self->in));
	EXPECT_EQ(1, submit(self->r.fd, self->r.stream, op_fence(d.fence)));
	test_cmd_fence_export(&before, self->r.fd, self->r.stream, 1);
	doomed_fail(&d);
	EXPECT_EQ(-ECANCELED, fence_outcome(before));
	test_cmd_fence_export(&later, self->r.fd, self->r.stream, 1);
	EXPECT_EQ(-ECANCELED, fence_status(later));
	test_cmd_stream_clear(self->r.fd, self->r.stream, -ECANCELED, 1);
	test_cmd_fence_export(&after, self->r.fd, self->r.stream, 1);
	EXPECT_EQ(-ECANCELED, fence_status(before));
	EXPECT_EQ(-ECANCELED, fence_status(later));
	EXPECT_EQ(1, fence_status(after));
	close(before);
	close(after);
	close(later);
}

/* --- from another process ------------------------------------------------ */

struct other_process {
	struct line *line;
	int in;
};

/* Makes a fence, gives it away, and waits to be killed. */
static int give_a_fence(void *arg)
{
	struct other_process *o = arg;
	struct rig r;
	int fence;

	CHILD_EQ(0, rig_open(&r, 0));
	CHILD_EQ(1, submit(r.fd, r.stream, op_fence(o->in), op_write(r.own, 1)));
	fence = fence_export(r.fd, r.stream, 1);
	CHILD_CHECK(fence >= 0);
	CHILD_CHECK(send_fd(o->line->fd[1], fence) == 0);
	pause();
	return 0;
}

TEST_F(fence, of_another_process)
{
	struct line line = line_open();
	struct other_process o = { &line, self->in };
	pid_t pid = spawn(give_a_fence, &o);
	int fence = receive_fd(line.fd[0]);

	ASSERT_LE(0, fence);
	EXPECT_EQ(1, submit(self->r.fd, self->r.stream, op_fence(fence),
			    op_write(self->r.own, 1)));
	EXPECT_EQ(0, fence_status(fence));
	foreign_signal(&self->f);
	EXPECT_EQ(0, outcome(self->r.fd, self->r.stream, 1));
	EXPECT_EQ(1, self->r.own[0]);
	kill(pid, SIGKILL);
	EXPECT_EQ(128 + SIGKILL, reap(pid));
	EXPECT_EQ(1, fence_status(fence));
	close(fence);
}

/* A wait for a process that has been killed ends. */
TEST_F(fence, of_a_process_that_is_killed)
{
	struct line line = line_open();
	struct other_process o = { &line, self->in };
	pid_t pid = spawn(give_a_fence, &o);
	int fence = receive_fd(line.fd[0]);

	ASSERT_LE(0, fence);
	EXPECT_EQ(1, submit(self->r.fd, self->r.stream, op_fence(fence),
			    op_write(self->r.own, 1)));
	kill(pid, SIGKILL);
	EXPECT_EQ(128 + SIGKILL, reap(pid));
	EXPECT_EQ(-ECANCELED, fence_outcome(fence));
	EXPECT_EQ(-ECANCELED, outcome(self->r.fd, self->r.stream, 1));
	EXPECT_EQ(0, self->r.own[0]);
	close(fence);
}

PACCEL_TEST_MAIN
