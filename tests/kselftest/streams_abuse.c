// SPDX-License-Identifier: MIT
/*
 * All that can happen to a process and to a card while work is queued and running:
 * every fence is signalled, every point ends, nothing is left.
 */
#include <sys/socket.h>
#include <sys/stat.h>

#include "stream_test.h"

#define SIZE 256
#define ROWS 40		/* transfers of a copy that is cancelled before its end */

FIXTURE(abuse) {
	int fd;		/* sees what becomes of others */
	u64 total;
	u8 *host;
	struct line line;
	struct foreign f;
	int in;		/* a foreign fence */
};

FIXTURE_SETUP(abuse)
{
	self->fd = card_open();
	ASSERT_LE(0, self->fd);
	self->total = info_of(self->fd).mem_size;
	self->host = map_pages(self->total / page_size + 1);
	self->line = line_open();
	ASSERT_TRUE(card_settle(self->fd));
	if (!foreign_open(&self->f))
		SKIP(return, "neither sw_sync nor vgem");
	self->in = foreign_fence(&self->f);
	ASSERT_LE(0, self->in);
}

FIXTURE_TEARDOWN(abuse)
{
	foreign_close(&self->f);
	close(self->fd);
}

static bool begun(int fd, u64 before)
{
	return stats_of(fd).xfers > before;
}

/* --- a process with work in flight --------------------------------------- */

enum end { KILLED, EXITS, CLOSES, LEAVES_A_CHILD };

struct victim {
	struct line *line;
	int in;
	enum end end;
};

#define STREAMS 3

/*
 * One stream runs a long copy, one waits for it, one waits for a foreign fence with a
 * copy behind. A fence of each goes to the parent.
 */
static void work(struct victim *v, struct rig *r, int stream[STREAMS], int fence[STREAMS])
{
	CHILD_EQ(0, rig_open(r, SIZE));
	memset((void *)r->own, 0x99, page_size);
	stream[0] = r->stream;
	for (int i = 1; i < STREAMS; i++) {
		stream[i] = stream_create(r->fd);
		CHILD_CHECK(stream[i] > 0);
	}
	CHILD_EQ(1, submit(r->fd, stream[0], op_rows(PACCEL_COPY_H2D, r->mem,
						     (uintptr_t)r->own, long_copy(ROWS)),
			   op_write(&r->own[0], 1)));
	CHILD_EQ(1, submit(r->fd, stream[1], op_point(stream[0], 1),
			   op_d2h(&r->own[8], r->mem, 8)));
	CHILD_EQ(1, submit(r->fd, stream[2], op_fence(v->in), op_d2h(&r->own[9], r->mem, 8)));
	for (int i = 0; i < STREAMS; i++) {
		fence[i] = fence_export(r->fd, stream[i], 1);
		CHILD_CHECK(fence[i] >= 0);
	}
}

/* In a child that has the file and the page of a process that is gone. */
static int watch_the_end(struct victim *v, struct rig *r, int stream[STREAMS])
{
	say(v->line, 1);
	CHILD_CHECK(WAIT_FOR(page_state(r->page) == PACCEL_PAGE_CLOSED, 10000));
	for (int i = 0; i < STREAMS; i++) {
		const struct paccel_slot *slot = &r->page->slots[stream[i] - 1];

		CHILD_CHECK(WAIT_FOR(page_done(r->page, stream[i]) == 1, 10000));
		CHILD_EQ(-ECANCELED, slot->error);
		CHILD_EQ(1, slot->failed_point);
	}
	CHILD_EQ(-EPERM, submit(r->fd, stream[0], op_write(r->own, 1)));
	/* The memory is there still, and not a byte of it was written meanwhile. */
	CHILD_CHECK(r->own[0] == 0x9999999999999999);
	CHILD_CHECK(r->own[8] == 0x9999999999999999);
	say(v->line, 1);
	return 0;
}

static int victim_main(void *arg)
{
	struct victim *v = arg;
	int stream[STREAMS], fence[STREAMS];
	struct rig r;

	work(v, &r, stream, fence);
	for (int i = 0; i < STREAMS; i++) {
		CHILD_CHECK(send_fd(v->line->fd[1], fence[i]) == 0);
		close(fence[i]);
	}
	if (v->end == LEAVES_A_CHILD && fork() == 0)
		_exit(watch_the_end(v, &r, stream));
	CHILD_CHECK(v->end == KILLED || v->end == LEAVES_A_CHILD || hear(v->line, 1));
	switch (v->end) {
	case EXITS:
		return 7;
	case CLOSES:
		rig_close(&r);
		say(v->line, 1);
		CHILD_CHECK(hear(v->line, 1));
		return 0;
	default:
		pause();
		return 1;
	}
}

static void end_with_work_in_flight(struct __test_metadata *_metadata,
				    FIXTURE_DATA(abuse) *self, enum end end)
{
	struct victim v = { &self->line, self->in, end };
	u64 xfers = stats_of(self->fd).xfers, at_end;
	int fence[STREAMS], waits = stream_create(self->fd);
	pid_t pid;

	card_slow();
	pid = spawn(victim_main, &v);
	for (int i = 0; i < STREAMS; i++) {
		fence[i] = receive_fd(self->line.fd[0]);
		ASSERT_LE(0, fence[i]);
		EXPECT_EQ(0, fence_status(fence[i]));
	}
	/* Somebody else waits for its work. */
	EXPECT_EQ(1, submit(self->fd, waits, op_fence(fence[2])));
	/* The child is there. */
	if (v.end == LEAVES_A_CHILD)
		EXPECT_TRUE(hear(&self->line, 0));
	ASSERT_TRUE(WAIT_FOR(begun(self->fd, xfers), 5000));
	at_end = stats_of(self->fd).xfers;
	if (v.end == EXITS || v.end == CLOSES)
		say(&self->line, 0);
	else
		kill(pid, SIGKILL);
	if (v.end == CLOSES || v.end == LEAVES_A_CHILD)
		EXPECT_TRUE(hear(&self->line, 0));
	for (int i = 0; i < STREAMS; i++) {
		EXPECT_EQ(-ECANCELED, fence_outcome(fence[i]));
		close(fence[i]);
	}
	EXPECT_EQ(-ECANCELED, outcome(self->fd, waits, 1));
	/* It was not the whole copy that has run after all. */
	EXPECT_TRUE(WAIT_FOR(stats_of(self->fd).used == 0, 10000));
	EXPECT_GT(at_end + ROWS / 2, stats_of(self->fd).xfers);
	NOTHING_LEFT();
	if (v.end == CLOSES)
		say(&self->line, 0);
	EXPECT_EQ(v.end == EXITS ? 7 : v.end == CLOSES ? 0 : 128 + SIGKILL, reap(pid));
}

TEST_F(abuse, killed_with_work_in_flight)
{
	end_with_work_in_flight(_metadata, self, KILLED);
}

TEST_F(abuse, exit_with_work_in_flight)
{
	end_with_work_in_flight(_metadata, self, EXITS);
}

TEST_F(abuse, close_with_work_in_flight)
{
	end_with_work_in_flight(_metadata, self, CLOSES);
}

/* The file does not end with its process, the work does. */
TEST_F(abuse, killed_while_a_child_holds_the_file)
{
	end_with_work_in_flight(_metadata, self, LEAVES_A_CHILD);
}

/* --- a process that queues until it has no memory left -------------------- */

static const char *cgroup(const char *file)
{
	static char path[128];

	/* The same test may run beside it on another card. */
	snprintf(path, sizeof(path), "/sys/fs/cgroup/paccel-test-%s/%s", card_kind(), file);
	return path;
}

static int queue_without_end(void *arg)
{
	struct victim *v = arg;
	struct paccel_op ops[1024];
	struct paccel_device_info info;
	int fence, stream, streams;
	char pid[16];
	struct rig r;
	s64 rc = 0;

	CHILD_EQ(0, rig_open(&r, SIZE));
	info = info_of(r.fd);
	snprintf(pid, sizeof(pid), "%d", getpid());
	file_write(cgroup("cgroup.procs"), pid);
	/* As many as do not make it wait for room. */
	streams = info.max_queued_all / 4096;
	for (int i = 0; i < 1024; i++)
		ops[i] = op_h2d(r.mem, r.own, 8);
	fence = -1;
	for (int n = 0; n < streams && rc >= 0; n++) {
		stream = n ? stream_create(r.fd) : (int)r.stream;
		ops[0] = op_fence(v->in);
		for (int k = 0; k < 4 && rc >= 0; k++) {
			rc = _test_cmd_submit(r.fd, stream, ops, 1024);
			if (fence < 0) {
				fence = fence_export(r.fd, stream, 1);
				CHILD_CHECK(send_fd(v->line->fd[1], fence) == 0);
			}
			ops[0] = ops[1];
		}
	}
	CHILD_CHECK(rc > 0 || rc == -ENOMEM);
	say(v->line, 1);
	pause();
	return 0;
}

/* Killed by the kernel or refused: what it has queued goes with it, unseen by others. */
TEST_F(abuse, out_of_memory)
{
	struct victim v = { &self->line, self->in, KILLED };
	u64 xfers;
	bool limited;
	int fence;
	pid_t pid;

	file_write("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	mkdir(cgroup(""), 0755);
	limited = !file_write(cgroup("memory.max"), "6291456");
	xfers = stats_of(self->fd).xfers;
	/*
	 * The kernel may kill it, and then shows a trace, which belongs to no report that
	 * could be allowed: so there is one.
	 */
	allow_warnings("out of memory on purpose");
	file_write("/dev/kmsg", "WARNING: out of memory on purpose");
	pid = spawn(queue_without_end, &v);
	fence = receive_fd(self->line.fd[0]);
	ASSERT_LE(0, fence);
	/* The line ends with the process. */
	close(self->line.fd[1]);
	hear(&self->line, 0);
	kill(pid, SIGKILL);
	EXPECT_EQ(128 + SIGKILL, reap(pid));
	allow_warnings(NULL);
	EXPECT_EQ(-ECANCELED, fence_outcome(fence));
	EXPECT_TRUE(WAIT_FOR(stats_of(self->fd).used == 0, 10000));
	/* Nothing of it was run. */
	EXPECT_TRUE(card_settle(self->fd));
	EXPECT_GE(xfers + 1, stats_of(self->fd).xfers);
	printf("# memory was %slimited\n", limited ? "" : "not ");
	EXPECT_TRUE(WAIT_FOR(!limited || !rmdir(cgroup("")), 10000));
	close(fence);
}

/* --- under the work of this process -------------------------------------- */

/* It is the queue's own now: of program, stream and ranges nothing need be left. */
TEST_F(abuse, all_is_freed_under_queued_work)
{
	struct rig r;
	u8 *registered = map_pages(2);
	long locked = locked_kb();
	int fence;

	ASSERT_EQ(0, rig_open(&r, SIZE));
	test_cmd_host_register(r.fd, registered, 2 * page_size, 0);
	pattern_fill((void *)r.own, SIZE, 5);
	EXPECT_EQ(1, submit(r.fd, r.stream, op_fence(self->in), op_h2d(r.mem, r.own, SIZE),
			    op_d2h(registered, r.mem, SIZE),
			    op_d2h(registered + page_size, r.mem, SIZE),
			    op_write(&r.own[page_size / 8], 0x77)));
	test_cmd_fence_export(&fence, r.fd, r.stream, 1);
	test_cmd_host_free(r.fd, NULL, r.own_offset);
	test_cmd_host_free(r.fd, registered, 0);
	test_cmd_mem_free(r.fd, r.mem, SIZE);
	/* One of its pages goes altogether. */
	ASSERT_EQ(0, munmap(registered + page_size, page_size));
	test_cmd_stream_destroy(r.fd, r.stream);
	test_err_submit(ENOENT, r.fd, r.stream, op_point(r.stream, 0));
	foreign_signal(&self->f);
	EXPECT_EQ(1, fence_outcome(fence));
	EXPECT_EQ(-1, pattern_diff(registered, SIZE, 5));
	EXPECT_EQ(0x77, r.own[page_size / 8]);
	EXPECT_EQ(1, page_done(r.page, r.stream));
	munmap((void *)r.own, OWN_PAGES * page_size);
	r.own = MAP_FAILED;
	EXPECT_TRUE(WAIT_FOR(locked_kb() == locked, 5000));
	rig_close(&r);
	close(fence);
	NOTHING_LEFT();
}

TEST_F(abuse, own_memory_unmapped_under_queued_work)
{
	struct rig r;

	ASSERT_EQ(0, rig_open(&r, SIZE));
	EXPECT_EQ(1, submit(r.fd, r.stream, op_fence(self->in), op_write(&r.own[0], 1),
			    op_time(&r.own[1]), op_h2d(r.mem, r.own, 8)));
	munmap((void *)r.own, OWN_PAGES * page_size);
	r.own = MAP_FAILED;
	foreign_signal(&self->f);
	EXPECT_EQ(0, outcome(r.fd, r.stream, 1));
	rig_close(&r);
}

/* Work that runs is not disturbed by the end of its stream. */
TEST_F(abuse, stream_destroyed_under_running_work)
{
	u64 xfers = stats_of(self->fd).xfers;
	struct rig r;
	int fence;

	ASSERT_EQ(0, rig_open(&r, SIZE));
	card_slow();
	EXPECT_EQ(1, submit(r.fd, r.stream, op_fill(r.mem, 16, 0x2b, 1),
			    op_d2h(&r.own[0], r.mem, 16)));
	test_cmd_fence_export(&fence, r.fd, r.stream, 1);
	ASSERT_TRUE(WAIT_FOR(begun(self->fd, xfers), 5000));
	test_cmd_stream_destroy(r.fd, r.stream);
	EXPECT_EQ(1, fence_outcome(fence));
	EXPECT_EQ(0x2b2b2b2b2b2b2b2b, r.own[1]);
	EXPECT_EQ(1, page_done(r.page, r.stream));
	rig_close(&r);
	close(fence);
}

static int try_all(void *arg)
{
	struct rig *r = arg;

	CHILD_EQ(-EPERM, submit(r->fd, r->stream, op_write(r->own, 9)));
	CHILD_EQ(-EPERM, stream_create(r->fd));
	CHILD_EQ(-EPERM, _test_cmd_stream_destroy(r->fd, r->stream));
	CHILD_EQ(-EPERM, fence_export(r->fd, r->stream, 1));
	CHILD_EQ(-EPERM, rearm(r->fd));
	CHILD_EQ(-EPERM, standing(r->fd, r->stream, 1));
	close(r->fd);
	return 0;
}

/* A child is born and dies meanwhile; what the card writes is the parent's. */
TEST_F(abuse, fork_under_queued_work)
{
	u8 *registered = map_pages(1);
	struct rig r;

	ASSERT_EQ(0, rig_open(&r, SIZE));
	memset(registered, 1, page_size);
	test_cmd_host_register(r.fd, registered, page_size, 0);
	EXPECT_EQ(1, submit(r.fd, r.stream, op_fence(self->in), op_fill(r.mem, 16, 0x3c, 1),
			    op_d2h(registered, r.mem, 16), op_write(&r.own[2], 1)));
	EXPECT_EQ(0, run_in_child(try_all, &r));
	EXPECT_EQ(-EINPROGRESS, standing(r.fd, r.stream, 1));
	foreign_signal(&self->f);
	EXPECT_EQ(0, outcome(r.fd, r.stream, 1));
	EXPECT_TRUE(all_bytes(registered, 16, 0x3c));
	EXPECT_EQ(1, r.own[2]);
	rig_close(&r);
}

/* --- signals ------------------------------------------------------------- */

struct helper {
	pthread_t thread;
	struct foreign *f;
	int *interrupted;
};

/* Lets the queue go when enough calls have been interrupted. */
static void *let_go(void *arg)
{
	struct helper *h = arg;
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	WAIT_FOR(__atomic_load_n(h->interrupted, __ATOMIC_ACQUIRE) >= 5, 60000);
	foreign_signal(h->f);
	return NULL;
}

/* A call that was interrupted has queued nothing, one that was not has queued once. */
TEST_F(abuse, signal_storm)
{
	struct helper h = { .f = &self->f };
	struct paccel_op ops[512];
	int interrupted = 0, event = eventfd(0, EFD_NONBLOCK);
	u64 last = 0;
	struct rig r;

	ASSERT_EQ(0, rig_open(&r, SIZE));
	for (int i = 0; i < 512; i++)
		ops[i] = op_write(&r.own[i], i);
	h.interrupted = &interrupted;
	ASSERT_EQ(0, pthread_create(&h.thread, NULL, let_go, &h));
	storm_begin(slow_factor());
	EXPECT_EQ(++last, submit(r.fd, r.stream, op_fence(self->in)));
	/* More than there is room for, and some copies. */
	for (int i = 0; i < 12; i++) {
		s64 rc;

		ops[5] = op_eventfd(event, 0);
		ops[6] = i % 4 == 0 ? op_fill(r.mem, 8, i + 1, 1) : op_write(&r.own[6], i);
		do {
			rc = _test_cmd_submit(r.fd, r.stream, ops, 512);
			__atomic_fetch_add(&interrupted, rc == -EINTR, __ATOMIC_RELEASE);
		} while (rc == -EINTR);
		ASSERT_EQ(++last, rc);
	}
	EXPECT_EQ(0, outcome(r.fd, r.stream, last));
	storm_end();
	pthread_join(h.thread, NULL);
	EXPECT_LE(5, interrupted);
	EXPECT_EQ(12, eventfd_sum(event, 12));
	EXPECT_EQ(-EINVAL, standing(r.fd, r.stream, last + 1));
	rig_close(&r);
	close(event);
}

/* --- the card goes away -------------------------------------------------- */

FIXTURE(pulled) {
	struct foreign f;
	int in, other;
};

FIXTURE_VARIANT(pulled) {
	int (*take)(FIXTURE_DATA(pulled) *self);
	int (*give)(FIXTURE_DATA(pulled) *self);
};

static int unbind(FIXTURE_DATA(pulled) *self)
{
	(void)self;
	return driver_unbind(card_bdf());
}

static int rebind(FIXTURE_DATA(pulled) *self)
{
	(void)self;
	return driver_bind(card_bdf());
}

static int guestctl(const char *verb)
{
	char command[64];

	snprintf(command, sizeof(command), "guestctl %s card%d", verb, card_index());
	return system(command);
}

static int pull(FIXTURE_DATA(pulled) *self)
{
	(void)self;
	return guestctl("device_del");
}

static int plug(FIXTURE_DATA(pulled) *self)
{
	(void)self;
	return guestctl("device_add");
}

FIXTURE_VARIANT_ADD(pulled, driver_unbind) { .take = unbind, .give = rebind };
FIXTURE_VARIANT_ADD(pulled, device_del) { .take = pull, .give = plug };

FIXTURE_SETUP(pulled)
{
	if (!foreign_open(&self->f))
		SKIP(return, "neither sw_sync nor vgem");
	self->in = foreign_fence(&self->f);
	ASSERT_LE(0, self->in);
}

FIXTURE_TEARDOWN(pulled)
{
	int fd = -1;

	foreign_close(&self->f);
	if (!WAIT_FOR((fd = card_open()) >= 0, 2000))
		variant->give(self);
	close(fd);
}

struct sleeper {
	struct side_call call;
	struct rig *r;
	int stream;
};

static int side_wait(struct side_call *c)
{
	struct sleeper *s = (struct sleeper *)c;
	struct paccel_point p = { .stream = s->stream, .point = 1 };

	return _test_cmd_wait(s->r->fd, 0, FOR_EVER, &p, 1, NULL);
}

static int side_submit(struct side_call *c)
{
	struct sleeper *s = (struct sleeper *)c;

	return submit(s->r->fd, s->stream, op_write(s->r->own, 1));
}

static int side_poll(struct side_call *c)
{
	struct pollfd p = { .fd = ((struct sleeper *)c)->r->fd, .events = POLLPRI };

	return poll(&p, 1, -1) == 1 ? p.revents : -1;
}

static void all_calls_fail(struct rig *r)
{
	struct paccel_stream_clear clear;

	CHILD_EQ(-ENODEV, submit(r->fd, r->stream, op_write(r->own, 1)));
	CHILD_EQ(-ENODEV, stream_create(r->fd));
	CHILD_EQ(-ENODEV, _test_cmd_stream_destroy(r->fd, r->stream));
	CHILD_EQ(-ENODEV, _test_cmd_stream_clear(r->fd, r->stream, &clear));
	CHILD_EQ(-ENODEV, fence_export(r->fd, r->stream, 1));
	CHILD_EQ(-ENODEV, rearm(r->fd));
	CHILD_EQ(-ENODEV, standing(r->fd, r->stream, 1));
	CHILD_CHECK(page_map(r->fd, r->page_offset) == MAP_FAILED && errno == ENODEV);
}

struct pulled_process {
	struct line *line;
	int in;
};

/* Five streams: one runs, one waits for it, one for a fence, one is full, one idle. */
static int use_the_card(void *arg)
{
	struct pulled_process *p = arg;
	struct sleeper sleeper[3] = { { .call = { .fn = side_wait } },
				      { .call = { .fn = side_submit } },
				      { .call = { .fn = side_poll } } };
	int event = eventfd(0, EFD_NONBLOCK), fence[5], stream[5];
	struct paccel_op ops[1024];
	u64 xfers, points[5] = { 2, 1, 1, 4, 1 };
	struct rig r;

	CHILD_EQ(0, rig_open(&r, SIZE));
	card_slow();
	xfers = stats_of(r.fd).xfers;
	stream[0] = r.stream;
	for (int i = 1; i < 5; i++)
		stream[i] = stream_create(r.fd);
	CHILD_EQ(1, submit(r.fd, stream[0], op_rows(PACCEL_COPY_H2D, r.mem, (uintptr_t)r.own,
						    long_copy(120))));
	CHILD_EQ(2, submit(r.fd, stream[0], op_write(&r.own[1], 1),
			   op_eventfd(event, PACCEL_OP_ALWAYS)));
	CHILD_EQ(1, submit(r.fd, stream[1], op_point(stream[0], 2)));
	CHILD_EQ(1, submit(r.fd, stream[2], op_fence(p->in), op_write(&r.own[2], 1)));
	for (int i = 0; i < 1024; i++)
		ops[i] = op_write(&r.own[3], 1);
	ops[0] = op_fence(p->in);
	for (u64 point = 1; point <= 4; point++)
		CHILD_EQ(point, _test_cmd_submit(r.fd, stream[3], ops, 1024));
	CHILD_EQ(1, submit(r.fd, stream[4], op_write(&r.own[4], 1)));
	for (int i = 0; i < 5; i++) {
		fence[i] = fence_export(r.fd, stream[i], points[i]);
		CHILD_CHECK(fence[i] >= 0);
	}
	for (int i = 0; i < 3; i++) {
		sleeper[i].r = &r;
		sleeper[i].stream = stream[i == 1 ? 3 : 0];
		side_call_start(&sleeper[i].call);
		CHILD_CHECK(WAIT_FOR(sleeper[i].call.tid &&
				     thread_state(getpid(), sleeper[i].call.tid) == 'S', 5000));
	}
	CHILD_CHECK(WAIT_FOR(begun(r.fd, xfers), 5000));
	CHILD_EQ(PACCEL_PAGE_RUNNING, page_state(r.page));
	CHILD_CHECK(send_fd(p->line->fd[1], fence[2]) == 0);
	CHILD_CHECK(hear(p->line, 1));
	/* The card is gone. */
	for (int i = 0; i < 3; i++)
		CHILD_CHECK(WAIT_FOR(side_call_done(&sleeper[i].call), 10000));
	CHILD_EQ(-ENODEV, side_call_end(&sleeper[0].call));
	CHILD_EQ(-ENODEV, side_call_end(&sleeper[1].call));
	CHILD_EQ(POLLHUP, side_call_end(&sleeper[2].call));
	CHILD_CHECK(polled(r.fd, 0) & POLLHUP);
	CHILD_CHECK(WAIT_FOR(page_state(r.page) == PACCEL_PAGE_GONE, 10000));
	for (int i = 0; i < 5; i++) {
		const struct paccel_slot *slot = &r.page->slots[stream[i] - 1];

		CHILD_CHECK(WAIT_FOR(page_done(r.page, stream[i]) == points[i], 10000));
		CHILD_EQ(i == 4 ? 0 : -ENODEV, slot->error);
		CHILD_EQ(i == 4 ? 0 : 1, slot->failed_point);
		/* Of the first two the last point is not the one that failed. */
		CHILD_EQ(i == 4 ? 1 : i == 0 || i == 3 ? -ECANCELED : -ENODEV,
			 fence_outcome(fence[i]));
		close(fence[i]);
	}
	CHILD_EQ(1, eventfd_sum(event, 1));
	CHILD_CHECK(r.own[1] == 0 && r.own[2] == 0 && r.own[3] == 0 && r.own[4] == 1);
	all_calls_fail(&r);
	say(p->line, 1);
	CHILD_CHECK(hear(p->line, 1));
	/* Another card is there; for this file that changes nothing. */
	all_calls_fail(&r);
	CHILD_EQ(PACCEL_PAGE_GONE, page_state(r.page));
	close(r.fd);
	CHILD_EQ(2, page_done(r.page, stream[0]));
	return 0;
}

TEST_F(pulled, with_work_in_flight)
{
	struct line line = line_open();
	struct pulled_process p = { &line, self->in };
	pid_t pid = spawn(use_the_card, &p);
	int fence = receive_fd(line.fd[0]), fd = -1;
	struct rig r;

	ASSERT_LE(0, fence);
	EXPECT_EQ(0, fence_status(fence));
	xfers_note();
	EXPECT_EQ(0, variant->take(self));
	EXPECT_EQ(-ENODEV, fence_outcome(fence));
	say(&line, 0);
	EXPECT_TRUE(hear(&line, 0));
	card_behave();
	EXPECT_EQ(0, variant->give(self));
	ASSERT_TRUE(WAIT_FOR((fd = card_open()) >= 0, 20000));
	say(&line, 0);
	EXPECT_EQ(0, reap(pid));
	/* What it waited for ends only now, and finds nobody. */
	foreign_signal(&self->f);
	ASSERT_EQ(0, rig_open(&r, 64));
	EXPECT_EQ(1, submit(r.fd, r.stream, op_d2h(r.own, r.mem, 8)));
	EXPECT_EQ(0, outcome(r.fd, r.stream, 1));
	EXPECT_EQ(0, r.own[0]);
	/* An old fence is as good as any: this stream fails with its error. */
	EXPECT_EQ(2, submit(r.fd, r.stream, op_fence(fence)));
	EXPECT_EQ(-ENODEV, outcome(r.fd, r.stream, 2));
	rig_close(&r);
	close(fence);
	close(fd);
}

PACCEL_TEST_MAIN
