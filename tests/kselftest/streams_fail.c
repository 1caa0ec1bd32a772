// SPDX-License-Identifier: MIT
/*
 * Work that fails: what is said of it, what is not run any more, and who goes on. Runs
 * with scrub=0.
 */
#include <sched.h>

#include "stream_test.h"

#define SIZE 192
#define LISTENERS 256

FIXTURE(fail) {
	struct rig r;
	struct foreign f;
	int in;			/* a foreign fence */
	struct doomed d;	/* a fence that waits for it, and can be made to fail */
};

FIXTURE_SETUP(fail)
{
	ASSERT_EQ(0, rig_open(&self->r, SIZE));
	if (!foreign_open(&self->f))
		SKIP(return, "neither sw_sync nor vgem");
	self->in = foreign_fence(&self->f);
	ASSERT_LE(0, self->in);
	ASSERT_EQ(0, doomed_open(&self->d, self->in));
}

FIXTURE_TEARDOWN(fail)
{
	foreign_close(&self->f);
	rig_close(&self->r);
}

static const struct paccel_slot *slot_of(struct rig *r, u32 stream)
{
	return &r->page->slots[stream - 1];
}

/* What the page and WAIT say of a stream that failed at @point and was given @last. */
static void has_failed(struct __test_metadata *_metadata, struct rig *r, u32 stream, u64 point,
		       int error, u64 last)
{
	const struct paccel_slot *slot = slot_of(r, stream);

	for (u64 n = 1; n <= last; n++)
		EXPECT_EQ(n < point ? 0 : n == point ? error : -ECANCELED,
			  outcome(r->fd, stream, n));
	EXPECT_EQ(last, slot->done);
	EXPECT_EQ(point, slot->failed_point);
	EXPECT_EQ(error, slot->error);
	EXPECT_TRUE(all_bytes(slot->reserved, sizeof(slot->reserved), 0));
}

/* Nothing but eventfds that are always signalled can be submitted, though all else is right. */
static void is_stuck(struct __test_metadata *_metadata, struct rig *r, u32 stream)
{
	struct paccel_op op = op_write(&r->own[100], 1);
	struct paccel_submit cmd = submit_of(stream, &op, 1);

	EXPECT_EQ(-ECANCELED, submit_call(r->fd, &cmd));
	EXPECT_EQ(1, cmd.bad_op);
	EXPECT_EQ(0, r->own[100]);
}

/* Usable again, and what it was is forgotten. */
static void clear(struct __test_metadata *_metadata, struct rig *r, u32 stream, u64 point,
		  int error, u64 last)
{
	test_cmd_stream_clear(r->fd, stream, error, point);
	for (u64 n = 1; n <= last; n++)
		EXPECT_EQ(0, standing(r->fd, stream, n));
	EXPECT_EQ(0, slot_of(r, stream)->failed_point);
	EXPECT_EQ(0, slot_of(r, stream)->error);
	EXPECT_EQ(last + 1, submit(r->fd, stream, op_write(&r->own[101], last)));
	EXPECT_EQ(0, outcome(r->fd, stream, last + 1));
	EXPECT_EQ(last, r->own[101]);
	/* Once. */
	test_cmd_stream_clear(r->fd, stream, 0, 0);
}

/* --- without the card: a wait that fails --------------------------------- */

TEST_F(fail, stays_until_it_is_cleared)
{
	struct rig *r = &self->r;
	u32 s = r->stream;

	EXPECT_EQ(1, submit(r->fd, s, op_write(&r->own[0], 1)));
	EXPECT_EQ(2, submit(r->fd, s, op_write(&r->own[1], 1), op_fence(self->d.fence),
			    op_write(&r->own[2], 1)));
	EXPECT_EQ(3, submit(r->fd, s, op_write(&r->own[3], 1)));
	EXPECT_EQ(4, submit(r->fd, s, op_fill(r->mem, 8, 1, 1)));
	doomed_fail(&self->d);
	has_failed(_metadata, r, s, 2, -ECANCELED, 4);
	/* As far as it was run, and not a step further. */
	EXPECT_EQ(1, r->own[0]);
	EXPECT_EQ(1, r->own[1]);
	EXPECT_EQ(0, r->own[2]);
	EXPECT_EQ(0, r->own[3]);
	is_stuck(_metadata, r, s);
	is_stuck(_metadata, r, s);
	has_failed(_metadata, r, s, 2, -ECANCELED, 4);
	clear(_metadata, r, s, 2, -ECANCELED, 4);
}

TEST_F(fail, more_than_once)
{
	struct rig *r = &self->r;

	EXPECT_EQ(1, submit(r->fd, r->stream, op_fence(self->d.fence)));
	doomed_fail(&self->d);
	has_failed(_metadata, r, r->stream, 1, -ECANCELED, 1);
	clear(_metadata, r, r->stream, 1, -ECANCELED, 1);
	EXPECT_EQ(3, submit(r->fd, r->stream, op_fence(self->d.fence)));
	EXPECT_EQ(-ECANCELED, outcome(r->fd, r->stream, 3));
	/* The old points are what they were made by STREAM_CLEAR. */
	EXPECT_EQ(0, standing(r->fd, r->stream, 1));
	clear(_metadata, r, r->stream, 3, -ECANCELED, 3);
}

/* The next stream of that number has not failed. */
TEST_F(fail, then_it_is_destroyed)
{
	struct rig *r = &self->r;
	struct paccel_stream_create again;

	EXPECT_EQ(1, submit(r->fd, r->stream, op_fence(self->d.fence)));
	doomed_fail(&self->d);
	EXPECT_EQ(-ECANCELED, outcome(r->fd, r->stream, 1));
	test_cmd_stream_destroy(r->fd, r->stream);
	ASSERT_EQ(0, _test_cmd_stream_create(r->fd, &again));
	EXPECT_EQ(r->stream, again.stream);
	EXPECT_EQ(1, again.point);
	EXPECT_EQ(0, slot_of(r, r->stream)->error);
	EXPECT_EQ(0, slot_of(r, r->stream)->failed_point);
	EXPECT_EQ(0, standing(r->fd, r->stream, 1));
	EXPECT_EQ(2, submit(r->fd, r->stream, op_write(r->own, 1)));
	EXPECT_EQ(1, r->own[0]);
}

/* Streams that wait for it fail with its error; the others go on. */
TEST_F(fail, spreads_to_who_waits)
{
	struct rig *r = &self->r;
	int waits, late, free;

	test_cmd_stream_create(r->fd, &waits);
	test_cmd_stream_create(r->fd, &late);
	test_cmd_stream_create(r->fd, &free);
	EXPECT_EQ(1, submit(r->fd, r->stream, op_write(r->own, 1)));
	EXPECT_EQ(2, submit(r->fd, r->stream, op_fence(self->d.fence)));
	EXPECT_EQ(1, submit(r->fd, waits, op_point(r->stream, 1), op_write(&r->own[1], 1)));
	EXPECT_EQ(2, submit(r->fd, waits, op_point(r->stream, 2), op_write(&r->own[2], 1)));
	doomed_fail(&self->d);
	has_failed(_metadata, r, waits, 2, -ECANCELED, 2);
	EXPECT_EQ(1, r->own[1]);
	EXPECT_EQ(0, r->own[2]);
	/* Of a point that has failed already. */
	EXPECT_EQ(1, submit(r->fd, late, op_point(r->stream, 1)));
	EXPECT_EQ(2, submit(r->fd, late, op_point(r->stream, 2), op_write(&r->own[3], 1)));
	has_failed(_metadata, r, late, 2, -ECANCELED, 2);
	EXPECT_EQ(1, submit(r->fd, free, op_write(&r->own[4], 1)));
	EXPECT_EQ(1, r->own[4]);
	/* Each is cleared by itself; then the point has not failed any more. */
	clear(_metadata, r, r->stream, 2, -ECANCELED, 2);
	is_stuck(_metadata, r, late);
	clear(_metadata, r, late, 2, -ECANCELED, 2);
	EXPECT_EQ(4, submit(r->fd, late, op_point(r->stream, 2), op_write(&r->own[3], 1)));
	EXPECT_EQ(0, outcome(r->fd, late, 4));
}

/*
 * A stream that has failed still waits: its points do not end before what they are ordered behind.
 */
TEST_F(fail, waits_keep_their_order)
{
	struct rig *r = &self->r;
	u32 busy = stream_create(r->fd), s[] = { r->stream, stream_create(r->fd) };
	int always = eventfd(0, EFD_NONBLOCK);

	EXPECT_EQ(1, submit(r->fd, busy, op_fence(self->in), op_write(&r->own[0], 1)));
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(1, submit(r->fd, s[i], op_fence(self->d.fence)));
		EXPECT_EQ(2, submit(r->fd, s[i], i ? op_fence(self->in) : op_point(busy, 1)));
		EXPECT_EQ(3, submit(r->fd, s[i], op_write(&r->own[1], 1)));
	}
	doomed_fail(&self->d);
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(-ECANCELED, outcome(r->fd, s[i], 1));
		EXPECT_EQ(-EINPROGRESS, standing(r->fd, s[i], 2));
		test_err_stream_clear(EBUSY, r->fd, s[i]);
		EXPECT_EQ(4, submit(r->fd, s[i], op_eventfd(always, PACCEL_OP_ALWAYS)));
		EXPECT_EQ(-EINPROGRESS, standing(r->fd, s[i], 4));
	}
	EXPECT_EQ(0, eventfd_sum(always, 0));
	foreign_signal(&self->f);
	for (int i = 0; i < 2; i++)
		has_failed(_metadata, r, s[i], 1, -ECANCELED, 4);
	EXPECT_EQ(2, eventfd_sum(always, 2));
	close(always);
	EXPECT_EQ(1, slot_of(r, busy)->done);
	EXPECT_EQ(0, r->own[1]);
}

/* Who must be told in any case uses ALWAYS; in its turn, and after the failure too. */
TEST_F(fail, eventfd_always)
{
	struct rig *r = &self->r;
	int plain = eventfd(0, EFD_NONBLOCK), always = eventfd(0, EFD_NONBLOCK);
	u64 n;

	EXPECT_EQ(1, submit(r->fd, r->stream, op_eventfd(always, PACCEL_OP_ALWAYS),
			    op_fence(self->d.fence), op_eventfd(plain, 0),
			    op_eventfd(always, PACCEL_OP_ALWAYS), op_eventfd(plain, 0)));
	EXPECT_EQ(2, submit(r->fd, r->stream, op_eventfd(always, PACCEL_OP_ALWAYS)));
	EXPECT_EQ(1, eventfd_sum(always, 1));
	doomed_fail(&self->d);
	has_failed(_metadata, r, r->stream, 1, -ECANCELED, 2);
	EXPECT_EQ(2, eventfd_sum(always, 2));
	EXPECT_EQ(-1, read(plain, &n, 8));
	/* Afterwards, and only if all of a SUBMIT is so. */
	EXPECT_EQ(3, submit(r->fd, r->stream, op_eventfd(always, PACCEL_OP_ALWAYS)));
	EXPECT_EQ(-ECANCELED, submit(r->fd, r->stream, op_eventfd(always, PACCEL_OP_ALWAYS),
				     op_eventfd(plain, 0)));
	has_failed(_metadata, r, r->stream, 1, -ECANCELED, 3);
	EXPECT_EQ(1, eventfd_sum(always, 1));
	clear(_metadata, r, r->stream, 1, -ECANCELED, 3);
	close(plain);
	close(always);
}

/* WAIT and poll() hear of failures as of all else. */
TEST_F(fail, is_an_end_like_others)
{
	struct rig *r = &self->r;
	struct paccel_point p[2] = {};
	int blocked, fence;
	u32 ended;

	test_cmd_stream_create(r->fd, &blocked);
	EXPECT_EQ(1, submit(r->fd, blocked, op_fence(self->in)));
	EXPECT_EQ(1, submit(r->fd, r->stream, op_fence(self->d.fence)));
	test_cmd_fence_export(&fence, r->fd, r->stream, 1);
	EXPECT_EQ(0, rearm(r->fd));
	EXPECT_EQ(0, polled(r->fd, 0));
	doomed_fail(&self->d);
	EXPECT_EQ(POLLIN, polled(r->fd, PATIENCE_MS));
	p[0] = (struct paccel_point){ .stream = blocked, .point = 1 };
	p[1] = (struct paccel_point){ .stream = r->stream, .point = 1 };
	EXPECT_EQ(0, _test_cmd_wait(r->fd, PACCEL_WAIT_ANY, FOR_EVER, p, 2, &ended));
	EXPECT_EQ(1, ended);
	EXPECT_EQ(-EINPROGRESS, p[0].error);
	EXPECT_EQ(-ECANCELED, p[1].error);
	EXPECT_EQ(-ECANCELED, fence_outcome(fence));
	close(fence);
}

struct sleeper {
	struct side_call call;
	struct rig *r;
};

static int side_submit(struct side_call *c)
{
	struct rig *r = ((struct sleeper *)c)->r;

	return submit(r->fd, r->stream, op_write(&r->own[3], 1));
}

/* As soon as the stream has failed it is cleared; notes what the page said then. */
struct clearer {
	struct side_call call;
	struct rig *r;
	struct paccel_stream_clear cleared;
	u64 done;
	int busy;
	bool ready;
};

/* Two threads that are not to disturb each other. */
static void use_cpu(int nr)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(nr % sysconf(_SC_NPROCESSORS_ONLN), &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		abort();
}

static int side_clear(struct side_call *call)
{
	struct clearer *c = (struct clearer *)call;
	const struct sched_param first = { .sched_priority = 1 };
	int rc;

	use_cpu(1);
	/* A worker that releases what has ended may be on that CPU. */
	if (sched_setscheduler(0, SCHED_FIFO, &first))
		abort();
	__atomic_store_n(&c->ready, true, __ATOMIC_RELEASE);
	do {
		rc = _test_cmd_stream_clear(c->r->fd, c->r->stream, &c->cleared);
		c->busy += rc == -EBUSY;
	} while (rc == -EBUSY || (!rc && !c->cleared.error));
	c->done = page_done(c->r->page, c->r->stream);
	return rc;
}

struct flood {
	struct side_call call;
	struct rig *r;
	int event;
	u64 submitted;		/* operations */
	bool stop;
};

static int side_flood(struct side_call *call)
{
	struct flood *flood = (struct flood *)call;
	struct paccel_op ops[32];
	s64 point;

	for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
		ops[i] = op_eventfd(flood->event, 0);
	while (!__atomic_load_n(&flood->stop, __ATOMIC_RELAXED)) {
		point = _test_cmd_submit(flood->r->fd, flood->r->stream, ops, ARRAY_SIZE(ops));
		if (point < 0)
			return point;
		__atomic_add_fetch(&flood->submitted, ARRAY_SIZE(ops), __ATOMIC_RELEASE);
	}
	return 0;
}

/* What has ended and is not signalled yet takes memory of the kernel: max_queued bounds that, too. */
TEST_F(fail, slow_eventfds_do_not_pile_up)
{
	u64 max_queued = info_of(self->r.fd).max_queued, signalled = 0, most = 0, more, submitted;
	struct flood flood = { .call = { .fn = side_flood }, .r = &self->r };
	int event = slow_eventfd(LISTENERS);

	ASSERT_LE(0, event);
	flood.event = event;
	side_call_start(&flood.call);
	while (signalled < 2 * max_queued) {
		/* Looked at before what is signalled, so that there is never less of it. */
		submitted = __atomic_load_n(&flood.submitted, __ATOMIC_ACQUIRE);
		signalled += read(event, &more, 8) == 8 ? more : 0;
		if (submitted > signalled + most)
			most = submitted - signalled;
		sched_yield();
	}
	__atomic_store_n(&flood.stop, true, __ATOMIC_RELAXED);
	EXPECT_EQ(0, side_call_end(&flood.call));
	/* Besides, 32 have ended and 32 are being signalled. */
	EXPECT_GE(max_queued + 64, most);
	/* On a debug kernel SUBMIT takes longer than the eventfds, so that fewer are pending. */
	printf("# fail.slow_eventfds_do_not_pile_up: %llu pending\n", (unsigned long long)most);
}

/* One that waits, then values that are not written any more and eventfds that are signalled. */
static struct paccel_op *ops_to_empty(struct rig *r, int fence, int event, u32 nr)
{
	struct paccel_op *ops = calloc(nr, sizeof(*ops));

	for (u32 i = 0; i < nr; i++)
		ops[i] = i % 2 ? op_write(&r->own[i], 1) : op_eventfd(event, PACCEL_OP_ALWAYS);
	ops[0] = op_fence(fence);
	return ops;
}

/*
 * With a queue that is full: a SUBMIT that waits for room fails, and while the queue is being
 * emptied it cannot be cleared. It is emptied on another CPU than the one that clears it, and for
 * so long that this one gets a turn.
 */
TEST_F(fail, with_a_full_queue)
{
	struct paccel_device_info info = info_of(self->r.fd);
	struct rig *r = &self->r;
	struct sleeper c = { .call = { .fn = side_submit }, .r = r };
	struct clearer clear = { .call = { .fn = side_clear }, .r = r };
	u64 points = info.max_queued / info.max_ops, signals = points * (info.max_ops / 2 - 1);
	int event = slow_eventfd(LISTENERS);
	struct paccel_op *ops;
	int rc;

	ASSERT_LE(0, event);
	memset((void *)r->own, 0, info.max_ops * 8);
	ops = ops_to_empty(r, self->d.fence, event, info.max_ops);
	for (u64 point = 1; point <= points; point++)
		ASSERT_EQ(point, _test_cmd_submit(r->fd, r->stream, ops, info.max_ops));
	side_call_start(&c.call);
	ASSERT_TRUE(WAIT_FOR(c.call.tid && thread_state(getpid(), c.call.tid) == 'S', 5000));
	side_call_start(&clear.call);
	ASSERT_TRUE(WAIT_FOR(__atomic_load_n(&clear.ready, __ATOMIC_ACQUIRE), 5000));
	use_cpu(0);
	doomed_fail(&self->d);
	ASSERT_TRUE(WAIT_FOR(side_call_done(&c.call) && side_call_done(&clear.call), PATIENCE_MS));
	EXPECT_EQ(0, side_call_end(&clear.call));
	printf("# fail.with_a_full_queue: %d times EBUSY\n", clear.busy);
	/* In virtual time the CPUs run in turn, and it may be empty after one turn. */
	EXPECT_TRUE(clear.busy || !strcmp(getenv("PACCEL_CLOCK") ?: "", "virtual"));
	/* Cleared, therefore empty. */
	EXPECT_LE(points, clear.done);
	EXPECT_EQ(-ECANCELED, clear.cleared.error);
	EXPECT_EQ(1, clear.cleared.failed_point);
	/* It may have been so slow that it found the stream cleared. */
	rc = side_call_end(&c.call);
	EXPECT_TRUE(rc == -ECANCELED || rc == (int)points + 1) TH_LOG("rc %d", rc);
	for (u32 i = 0; i < info.max_ops; i++)
		EXPECT_EQ(rc > 0 && i == 3, r->own[i]);
	EXPECT_EQ(signals, eventfd_sum(event, signals));
	free(ops);
}

/* --- transfers that fail ------------------------------------------------- */

FIXTURE(card_fail) {
	struct rig r, other;
	struct foreign f;
	int in;
};

FIXTURE_SETUP(card_fail)
{
	ASSERT_EQ(0, rig_open(&self->r, SIZE));
	ASSERT_EQ(0, rig_open(&self->other, SIZE));
	if (!foreign_open(&self->f))
		SKIP(return, "neither sw_sync nor vgem");
	self->in = foreign_fence(&self->f);
	ASSERT_LE(0, self->in);
}

/* A reset brings the card back, whatever has failed. */
FIXTURE_TEARDOWN(card_fail)
{
	card_bus_master(true);
	EXPECT_EQ(0, _test_cmd_reset(self->r.fd));
	foreign_close(&self->f);
	rig_close(&self->other);
	rig_close(&self->r);
}

/* Without bus mastering the card "completes" transfers and moves nothing. */
TEST_F(card_fail, transfer_fails)
{
	struct rig *r = &self->r, *other = &self->other;
	int event = eventfd(0, EFD_NONBLOCK), waits, free, at, behind;
	u64 xfers = stats_of(r->fd).xfers;

	test_cmd_stream_create(r->fd, &waits);
	test_cmd_stream_create(r->fd, &free);
	memset((void *)&r->own[1], 0xc3, 64);
	card_bus_master(false);
	EXPECT_EQ(1, submit(r->fd, r->stream, op_write(&r->own[0], 1)));
	EXPECT_EQ(2, submit(r->fd, r->stream, op_fence(self->in),
			    op_d2h(&r->own[1], r->mem, 8), op_d2h(&r->own[2], r->mem, 8),
			    op_eventfd(event, PACCEL_OP_ALWAYS)));
	EXPECT_EQ(3, submit(r->fd, r->stream, op_fill(r->mem, 8, 1, 1),
			    op_write(&r->own[3], 1)));
	test_cmd_fence_export(&at, r->fd, r->stream, 2);
	test_cmd_fence_export(&behind, r->fd, r->stream, 3);
	EXPECT_EQ(1, submit(r->fd, waits, op_point(r->stream, 2), op_write(&r->own[4], 1)));
	EXPECT_EQ(1, submit(other->fd, other->stream, op_fence(at)));
	EXPECT_EQ(1, submit(r->fd, free, op_write(&r->own[0], 2)));
	foreign_signal(&self->f);

	has_failed(_metadata, r, r->stream, 2, -EIO, 3);
	has_failed(_metadata, r, waits, 1, -EIO, 1);
	has_failed(_metadata, other, other->stream, 1, -EIO, 1);
	EXPECT_EQ(0, outcome(r->fd, free, 1));
	EXPECT_EQ(-EIO, fence_outcome(at));
	EXPECT_EQ(-ECANCELED, fence_outcome(behind));
	/* One was tried at most, or two that the card has linked; their target is as it was. */
	EXPECT_GE(xfers + (card_depth() > 1 ? 2 : 1), stats_of(r->fd).xfers);
	EXPECT_TRUE(all_bytes((void *)&r->own[1], 64, 0xc3));
	EXPECT_EQ(1, eventfd_sum(event, 1));
	is_stuck(_metadata, r, r->stream);

	card_bus_master(true);
	test_cmd_reset(r->fd);
	is_stuck(_metadata, r, r->stream);
	clear(_metadata, r, r->stream, 2, -EIO, 3);
	clear(_metadata, other, other->stream, 1, -EIO, 1);
	EXPECT_EQ(5, submit(r->fd, r->stream, op_fill(r->mem, 8, 0x21, 1),
			    op_d2h(&r->own[1], r->mem, 8)));
	EXPECT_EQ(0, outcome(r->fd, r->stream, 5));
	EXPECT_EQ(0x2121212121212121, r->own[1]);
	close(at);
	close(behind);
	close(event);
}

/* What runs fails; what waits, in whichever stream and file, goes on afterwards. */
TEST_F(card_fail, reset_under_a_copy)
{
	struct rig *r = &self->r, *other = &self->other;
	int second = stream_create(r->fd);
	u64 xfers = stats_of(r->fd).xfers;

	if (!card_can_hold())
		SKIP(return, "an edu in the host's time");
	memset((void *)r->own, 0x5a, 64);
	card_hold();
	EXPECT_EQ(1, submit(r->fd, r->stream,
			    op_rows(PACCEL_COPY_H2D, r->mem, (uintptr_t)r->own,
				    long_copy(card_depth() + 1)),
			    op_write(&r->own[9], 1)));
	/* All that its engine is given at once is of this copy. */
	ASSERT_TRUE(WAIT_FOR(stats_of(r->fd).xfers == xfers + card_depth() && card_is_held(), 5000));
	EXPECT_EQ(1, submit(r->fd, second, op_fill(r->mem + 32, 8, 0x31, 1),
			    op_d2h(&r->own[10], r->mem + 32, 8)));
	EXPECT_EQ(1, submit(other->fd, other->stream, op_fill(other->mem, 8, 0x41, 1),
			    op_d2h(&other->own[0], other->mem, 8)));
	/* Other engines, if there are any, do not wait for this one. */
	if (info_of(r->fd).engines > 1) {
		EXPECT_EQ(0, outcome(r->fd, second, 1));
		EXPECT_EQ(0, outcome(other->fd, other->stream, 1));
	}
	test_cmd_reset(r->fd);
	EXPECT_EQ(-EIO, outcome(r->fd, r->stream, 1));
	EXPECT_EQ(0, r->own[9]);
	EXPECT_EQ(0, outcome(r->fd, second, 1));
	EXPECT_EQ(0, outcome(other->fd, other->stream, 1));
	EXPECT_EQ(0x3131313131313131, r->own[10]);
	EXPECT_EQ(0x4141414141414141, other->own[0]);
	clear(_metadata, r, r->stream, 1, -EIO, 1);
}

static int copy_elsewhere(void *arg)
{
	struct rig r;

	(void)arg;
	CHILD_EQ(0, rig_open(&r, SIZE));
	CHILD_EQ(1, submit(r.fd, r.stream, op_fill(r.mem, 8, 0x51, 1),
			   op_d2h(r.own, r.mem, 8)));
	CHILD_EQ(0, outcome(r.fd, r.stream, 1));
	CHILD_CHECK(r.own[0] == 0x5151515151515151);
	return 0;
}

/* A stream that has failed and is never cleared holds up nobody. */
TEST_F(card_fail, others_go_on)
{
	struct rig *r = &self->r;
	int second = stream_create(r->fd);

	card_fail(true);
	EXPECT_EQ(1, submit(r->fd, r->stream, op_fill(r->mem, 8, 1, 1)));
	EXPECT_EQ(-EIO, outcome(r->fd, r->stream, 1));
	card_fail(false);
	test_cmd_reset(r->fd);
	EXPECT_EQ(0, run_in_child(copy_elsewhere, NULL));
	EXPECT_EQ(1, submit(r->fd, second, op_fill(r->mem, 8, 0x61, 1),
			    op_d2h(r->own, r->mem, 8)));
	EXPECT_EQ(0, outcome(r->fd, second, 1));
	EXPECT_EQ(0x6161616161616161, r->own[0]);
	EXPECT_EQ(0, _test_cmd_copy_d2h(r->fd, (void *)&r->own[1], r->mem, 8));
	is_stuck(_metadata, r, r->stream);
}

PACCEL_TEST_MAIN
