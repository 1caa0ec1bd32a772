// SPDX-License-Identifier: MIT
/* WAIT and poll(): who waits for what and until when. Needs no transfer. */
#include <sys/epoll.h>

#include "stream_test.h"

#define PAST_MS 5000	/* "at once" on a machine that is busy */

FIXTURE(wait) {
	struct rig r;
	struct foreign f;
	int fence, blocked;	/* a stream whose point 1 waits for it */
	struct paccel_device_info info;
};

FIXTURE_SETUP(wait)
{
	ASSERT_EQ(0, rig_open(&self->r, 0));
	self->info = info_of(self->r.fd);
	if (!foreign_open(&self->f))
		SKIP(return, "neither sw_sync nor vgem");
	self->fence = foreign_fence(&self->f);
	ASSERT_LE(0, self->fence);
	self->blocked = stream_create(self->r.fd);
	ASSERT_EQ(1, submit(self->r.fd, self->blocked, op_fence(self->fence)));
	ASSERT_EQ(1, submit(self->r.fd, self->r.stream, op_write(self->r.own, 1)));
}

FIXTURE_TEARDOWN(wait)
{
	foreign_close(&self->f);
	rig_close(&self->r);
}

#define DONE(n) { .stream = self->r.stream, .error = 77, .point = n }
#define BLOCKED { .stream = self->blocked, .error = 77, .point = 1 }

/* --- all and any --------------------------------------------------------- */

TEST_F(wait, for_what_has_ended)
{
	struct paccel_point p[] = { DONE(1), DONE(0), DONE(1) };
	u32 ended;

	EXPECT_EQ(0, _test_cmd_wait(self->r.fd, 0, FOR_EVER, p, 3, &ended));
	EXPECT_EQ(3, ended);
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(0, p[i].error);
	EXPECT_EQ(0, _test_cmd_wait(self->r.fd, PACCEL_WAIT_ANY, FOR_EVER, p, 3, &ended));
	EXPECT_EQ(3, ended);
}

/* Point 0 is complete from the beginning, on every stream. */
TEST_F(wait, for_point_0)
{
	struct paccel_point p[] = { { .stream = self->blocked, .error = 77 } };

	EXPECT_EQ(0, _test_cmd_wait(self->r.fd, 0, FOR_EVER, p, 1, NULL));
	EXPECT_EQ(0, p[0].error);
}

TEST_F(wait, all_of_them)
{
	struct paccel_point p[] = { DONE(1), BLOCKED, DONE(0) };
	u32 ended;

	EXPECT_EQ(-ETIME, _test_cmd_wait(self->r.fd, 0, 0, p, 3, &ended));
	EXPECT_EQ(2, ended);
	EXPECT_EQ(0, p[0].error);
	EXPECT_EQ(-EINPROGRESS, p[1].error);
	EXPECT_EQ(0, p[2].error);
	foreign_signal(&self->f);
	EXPECT_EQ(0, _test_cmd_wait(self->r.fd, 0, FOR_EVER, p, 3, &ended));
	EXPECT_EQ(3, ended);
	EXPECT_EQ(0, p[1].error);
}

TEST_F(wait, any_of_them)
{
	struct paccel_point p[] = { BLOCKED, DONE(1), BLOCKED };
	u32 ended;

	EXPECT_EQ(0, _test_cmd_wait(self->r.fd, PACCEL_WAIT_ANY, FOR_EVER, p, 3, &ended));
	EXPECT_EQ(1, ended);
	EXPECT_EQ(-EINPROGRESS, p[0].error);
	EXPECT_EQ(0, p[1].error);
	EXPECT_EQ(-EINPROGRESS, p[2].error);
	/* None of these. */
	p[1] = p[0];
	EXPECT_EQ(-ETIME, _test_cmd_wait(self->r.fd, PACCEL_WAIT_ANY, 0, p, 3, &ended));
	EXPECT_EQ(0, ended);
	EXPECT_EQ(-EINPROGRESS, p[1].error);
}

TEST_F(wait, for_as_many_as_there_may_be)
{
	u32 max = self->info.max_points;
	struct paccel_point *p = calloc(max + 1, sizeof(*p));
	u32 ended;

	for (u32 i = 0; i <= max; i++)
		p[i] = (struct paccel_point)DONE(i % 2);
	EXPECT_EQ(0, _test_cmd_wait(self->r.fd, 0, FOR_EVER, p, max, &ended));
	EXPECT_EQ(max, ended);
	EXPECT_EQ(0, p[max - 1].error);
	EXPECT_EQ(77, p[max].error);
	EXPECT_EQ(-E2BIG, _test_cmd_wait(self->r.fd, 0, FOR_EVER, p, max + 1, &ended));
	EXPECT_EQ(-E2BIG, _test_cmd_wait(self->r.fd, 0, FOR_EVER, p, ~0u, &ended));
	free(p);
}

/* --- refusals: nothing is written ---------------------------------------- */

static void refuse(struct __test_metadata *_metadata, int fd, int err, u32 flags,
		   struct paccel_point *p, u32 nr, u32 bad)
{
	u32 ended = 0;

	EXPECT_EQ(-err, _test_cmd_wait(fd, flags, 0, p, nr, &ended));
	EXPECT_EQ(0xbadbad, ended);
	for (u32 i = 0; i < nr; i++)
		EXPECT_EQ(77, p[i].error) TH_LOG("point %u of %u is bad", bad, nr);
}

TEST_F(wait, point_that_was_never_submitted)
{
	const u64 bad[] = { 2, 3, 1ull << 32, 1ull << 63, ~0ull };

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		for (u32 at = 0; at < 3; at++) {
			struct paccel_point p[] = { DONE(1), DONE(1), DONE(1) };

			p[at].point = bad[i];
			refuse(_metadata, self->r.fd, EINVAL, 0, p, 3, at);
			/* Even if another one has ended. */
			refuse(_metadata, self->r.fd, EINVAL, PACCEL_WAIT_ANY, p, 3, at);
		}
	}
}

TEST_F(wait, size_of_points)
{
	u8 bytes[2 * 64] = {};
	struct paccel_wait cmd = {
		.size = sizeof(cmd),
		.points = (uintptr_t)bytes,
		.nr_points = 2,
	};
	const u32 bad[] = { 0, 8, 15, 4097, ~0u };
	struct paccel_point *first = (void *)bytes, *second = (void *)(bytes + 64);

	*first = *second = (struct paccel_point)DONE(1);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		cmd.point_size = bad[i];
		cmd.nr_points = 2;
		EXPECT_EQ(-EINVAL, paccel_call(self->r.fd, PACCEL_IOC_WAIT, &cmd));
		/* Also if there is none. */
		cmd.nr_points = 0;
		EXPECT_EQ(-EINVAL, paccel_call(self->r.fd, PACCEL_IOC_WAIT, &cmd));
	}
	cmd.nr_points = 2;
	cmd.point_size = 64;
	bytes[127] = 1;
	EXPECT_EQ(-E2BIG, paccel_call(self->r.fd, PACCEL_IOC_WAIT, &cmd));
	EXPECT_EQ(77, first->error);
	bytes[127] = 0;
	EXPECT_EQ(0, paccel_call(self->r.fd, PACCEL_IOC_WAIT, &cmd));
	EXPECT_EQ(2, cmd.ended);
	EXPECT_EQ(0, first->error);
	EXPECT_EQ(0, second->error);
	EXPECT_TRUE(all_bytes(bytes + 16, 48, 0));
}

TEST_F(wait, points_that_cannot_be_accessed)
{
	struct paccel_point good = DONE(1), *p = guarded(2 * sizeof(*p));
	void *page = map_pages(1);

	p[0] = p[1] = good;
	EXPECT_EQ(-EFAULT, _test_cmd_wait(self->r.fd, 0, 0, p, 3, NULL));
	EXPECT_EQ(-EFAULT, _test_cmd_wait(self->r.fd, 0, 0, NULL, 1, NULL));
	EXPECT_EQ(-EFAULT, _test_cmd_wait(self->r.fd, 0, 0, (void *)(~0ul << 47), 1, NULL));
	EXPECT_EQ(77, p[0].error);
	EXPECT_EQ(0, _test_cmd_wait(self->r.fd, 0, 0, p, 2, NULL));
	/* Read but not written. */
	memcpy(page, &good, sizeof(good));
	ASSERT_EQ(0, mprotect(page, page_size, PROT_READ));
	EXPECT_EQ(-EFAULT, _test_cmd_wait(self->r.fd, 0, 0, page, 1, NULL));
	EXPECT_EQ(77, ((struct paccel_point *)page)->error);
}

/* --- time ---------------------------------------------------------------- */

TEST_F(wait, past_deadlines)
{
	const u64 past[] = { 0, 1, clock_ns() - 1000000000, clock_ns() };
	struct paccel_point p[] = { BLOCKED };
	u64 before = now_ms();

	for (size_t i = 0; i < ARRAY_SIZE(past); i++) {
		EXPECT_EQ(-ETIME, _test_cmd_wait(self->r.fd, 0, past[i], p, 1, NULL));
		EXPECT_EQ(-EINPROGRESS, p[0].error);
	}
	/* And what has ended has ended. */
	p[0] = (struct paccel_point)DONE(1);
	EXPECT_EQ(0, _test_cmd_wait(self->r.fd, 0, 0, p, 1, NULL));
	EXPECT_GT(before + PAST_MS * slow_factor(), now_ms());
}

TEST_F(wait, deadline_is_absolute)
{
	struct paccel_point p[] = { DONE(1), BLOCKED };
	u64 deadline = in_ms(60);
	u32 ended;

	EXPECT_EQ(-ETIME, _test_cmd_wait(self->r.fd, 0, deadline, p, 2, &ended));
	EXPECT_LE(deadline, clock_ns());
	EXPECT_EQ(1, ended);
	/* The same one again is over. */
	EXPECT_EQ(-ETIME, _test_cmd_wait(self->r.fd, 0, deadline, p, 2, &ended));
	EXPECT_EQ(-EINPROGRESS, p[1].error);
}

struct waiter {
	struct side_call call;
	struct paccel_point p[2];
	u32 flags, nr, ended;
	u64 deadline;
};

static int side_wait(struct side_call *c)
{
	struct waiter *w = (struct waiter *)c;

	return _test_cmd_wait(c->fd, w->flags, w->deadline, w->p, w->nr, &w->ended);
}

static bool sleeps(struct side_call *c)
{
	pid_t tid = __atomic_load_n(&c->tid, __ATOMIC_ACQUIRE);

	return tid && thread_state(getpid(), tid) == 'S';
}

static void waiter_start(struct __test_metadata *_metadata, struct waiter *w, int fd)
{
	w->call.fn = side_wait;
	w->call.fd = fd;
	w->nr = w->nr ? w->nr : 1;
	side_call_start(&w->call);
	ASSERT_TRUE(WAIT_FOR(sleeps(&w->call), 5000));
	EXPECT_FALSE(side_call_done(&w->call));
}

static int waiter_end(struct waiter *w)
{
	return WAIT_FOR(side_call_done(&w->call), 5000) ? side_call_end(&w->call) : -ETIME;
}

/* Each value that means for ever, and one that is merely far away. */
TEST_F(wait, woken_by_the_end)
{
	const u64 deadlines[] = { FOR_EVER, 1ull << 63, (1ull << 63) - 1, in_ms(1000000) };
	struct waiter w[ARRAY_SIZE(deadlines)] = {};

	for (size_t i = 0; i < ARRAY_SIZE(deadlines); i++) {
		w[i].p[0] = (struct paccel_point)BLOCKED;
		w[i].deadline = deadlines[i];
		waiter_start(_metadata, &w[i], self->r.fd);
	}
	/* They sleep in nobody's way. */
	EXPECT_EQ(2, submit(self->r.fd, self->r.stream, op_write(self->r.own, 2)));
	foreign_signal(&self->f);
	for (size_t i = 0; i < ARRAY_SIZE(deadlines); i++) {
		EXPECT_EQ(0, waiter_end(&w[i]));
		EXPECT_EQ(0, w[i].p[0].error);
		EXPECT_EQ(1, w[i].ended);
	}
}

/* Of two that are not there yet: any by the first, all by the second. */
TEST_F(wait, woken_by_one_of_two)
{
	struct waiter any = { .flags = PACCEL_WAIT_ANY, .nr = 2, .deadline = FOR_EVER };
	struct waiter all = { .nr = 2, .deadline = FOR_EVER };
	int other = stream_create(self->r.fd), fence;
	struct foreign f;

	ASSERT_TRUE(foreign_open(&f));
	fence = foreign_fence(&f);
	EXPECT_EQ(1, submit(self->r.fd, other, op_fence(fence)));
	any.p[0] = (struct paccel_point)BLOCKED;
	any.p[1] = (struct paccel_point){ .stream = other, .point = 1 };
	memcpy(all.p, any.p, sizeof(any.p));
	waiter_start(_metadata, &any, self->r.fd);
	waiter_start(_metadata, &all, self->r.fd);
	foreign_signal(&f);
	EXPECT_EQ(0, waiter_end(&any));
	EXPECT_EQ(1, any.ended);
	EXPECT_EQ(-EINPROGRESS, any.p[0].error);
	EXPECT_EQ(0, any.p[1].error);
	EXPECT_FALSE(side_call_done(&all.call));
	foreign_signal(&self->f);
	EXPECT_EQ(0, waiter_end(&all));
	EXPECT_EQ(2, all.ended);
	foreign_close(&f);
}

/* Who waits already, waits to the end. */
TEST_F(wait, stream_destroyed_meanwhile)
{
	struct waiter w = { .p = { BLOCKED }, .deadline = FOR_EVER };

	waiter_start(_metadata, &w, self->r.fd);
	test_cmd_stream_destroy(self->r.fd, self->blocked);
	EXPECT_FALSE(side_call_done(&w.call));
	foreign_signal(&self->f);
	EXPECT_EQ(0, waiter_end(&w));
	EXPECT_EQ(0, w.p[0].error);
}

/* --- signals ------------------------------------------------------------- */

static void no_handler(int sig)
{
	(void)sig;
}

static void on_signal(int sig, int flags)
{
	struct sigaction action = { .sa_handler = no_handler, .sa_flags = flags };

	if (sigaction(sig, &action, NULL))
		abort();
}

TEST_F(wait, ended_by_a_signal)
{
	struct waiter w = { .p = { BLOCKED }, .deadline = FOR_EVER };

	on_signal(SIGUSR1, 0);
	waiter_start(_metadata, &w, self->r.fd);
	pthread_kill(w.call.thread, SIGUSR1);
	EXPECT_EQ(-EINTR, waiter_end(&w));
	EXPECT_EQ(77, w.p[0].error);
	EXPECT_EQ(0xbadbad, w.ended);
}

TEST_F(wait, restarted_after_a_signal)
{
	struct waiter w = { .p = { BLOCKED }, .deadline = FOR_EVER };

	on_signal(SIGUSR1, SA_RESTART);
	waiter_start(_metadata, &w, self->r.fd);
	for (int i = 0; i < 5; i++) {
		pthread_kill(w.call.thread, SIGUSR1);
		ASSERT_TRUE(WAIT_FOR(sleeps(&w.call), 5000));
	}
	EXPECT_FALSE(side_call_done(&w.call));
	foreign_signal(&self->f);
	EXPECT_EQ(0, waiter_end(&w));
	EXPECT_EQ(0, w.p[0].error);
}

/* A deadline that began anew with each restart would never come. */
TEST_F(wait, restarts_do_not_move_the_deadline)
{
	struct waiter w = { .p = { BLOCKED }, .deadline = in_ms(200) };

	on_signal(SIGUSR1, SA_RESTART);
	w.call.fn = side_wait;
	w.call.fd = self->r.fd;
	w.nr = 1;
	side_call_start(&w.call);
	ASSERT_TRUE(WAIT_FOR((pthread_kill(w.call.thread, SIGUSR1),
			      side_call_done(&w.call)), 10000));
	EXPECT_EQ(-ETIME, side_call_end(&w.call));
	EXPECT_LE(w.deadline, clock_ns());
	EXPECT_EQ(-EINPROGRESS, w.p[0].error);
}

/* --- poll() -------------------------------------------------------------- */

/* There was a completion in the setup. */
TEST_F(wait, poll_tells_of_completions)
{
	struct paccel_point p[] = { DONE(1) };
	struct pollfd out = { .fd = self->r.fd, .events = POLLOUT };

	EXPECT_EQ(POLLIN, polled(self->r.fd, 0));
	EXPECT_EQ(POLLIN, polled(self->r.fd, 0));
	EXPECT_EQ(0, rearm(self->r.fd));
	EXPECT_EQ(0, polled(self->r.fd, 0));
	/* A WAIT with points clears it as well, and one whose time is over. */
	EXPECT_EQ(2, submit(self->r.fd, self->r.stream, op_write(self->r.own, 1)));
	EXPECT_EQ(POLLIN, polled(self->r.fd, 0));
	EXPECT_EQ(0, _test_cmd_wait(self->r.fd, 0, 0, p, 1, NULL));
	EXPECT_EQ(0, polled(self->r.fd, 0));
	EXPECT_EQ(3, submit(self->r.fd, self->r.stream, op_write(self->r.own, 1)));
	EXPECT_EQ(-EINPROGRESS, standing(self->r.fd, self->blocked, 1));
	EXPECT_EQ(0, polled(self->r.fd, 0));
	/* One that fails changes nothing. */
	EXPECT_EQ(4, submit(self->r.fd, self->r.stream, op_write(self->r.own, 1)));
	EXPECT_EQ(-EINVAL, standing(self->r.fd, self->r.stream, 5));
	EXPECT_EQ(POLLIN, polled(self->r.fd, 0));
	EXPECT_EQ(0, poll(&out, 1, 0));
}

/* What a WAIT has seen that a signal ended, nobody was told. */
TEST_F(wait, poll_after_an_interrupted_wait)
{
	struct waiter w = { .p = { BLOCKED }, .deadline = FOR_EVER };

	on_signal(SIGUSR1, 0);
	EXPECT_EQ(0, rearm(self->r.fd));
	EXPECT_EQ(2, submit(self->r.fd, self->r.stream, op_write(self->r.own, 1)));
	waiter_start(_metadata, &w, self->r.fd);
	pthread_kill(w.call.thread, SIGUSR1);
	EXPECT_EQ(-EINTR, waiter_end(&w));
	EXPECT_EQ(POLLIN, polled(self->r.fd, 0));
}

TEST_F(wait, none_with_no_points)
{
	u32 ended;

	EXPECT_EQ(0, _test_cmd_wait(self->r.fd, 0, FOR_EVER, NULL, 0, &ended));
	EXPECT_EQ(0, ended);
	EXPECT_EQ(0, _test_cmd_wait(self->r.fd, PACCEL_WAIT_ANY, FOR_EVER, NULL, 0, &ended));
	EXPECT_EQ(0, ended);
}

static int side_poll(struct side_call *c)
{
	struct pollfd p = { .fd = c->fd, .events = POLLIN };

	return poll(&p, 1, -1) == 1 ? p.revents : -1;
}

TEST_F(wait, poll_sleeps_and_is_woken)
{
	struct side_call c = { .fn = side_poll, .fd = self->r.fd };

	EXPECT_EQ(0, rearm(self->r.fd));
	side_call_start(&c);
	ASSERT_TRUE(WAIT_FOR(sleeps(&c), 5000));
	EXPECT_FALSE(side_call_done(&c));
	foreign_signal(&self->f);
	ASSERT_TRUE(WAIT_FOR(side_call_done(&c), 5000));
	EXPECT_EQ(POLLIN, side_call_end(&c));
}

/* What another file's work does is nothing to this one. */
TEST_F(wait, poll_is_of_one_file)
{
	struct rig other;

	ASSERT_EQ(0, rig_open(&other, 0));
	EXPECT_EQ(0, rearm(self->r.fd));
	EXPECT_EQ(1, submit(other.fd, other.stream, op_write(other.own, 1)));
	EXPECT_EQ(POLLIN, polled(other.fd, 0));
	EXPECT_EQ(0, polled(self->r.fd, 0));
	rig_close(&other);
}

/* Nothing that is completed between two looks gets lost. */
TEST_F(wait, poll_edge_triggered)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET, .data.u32 = 5 }, got;
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	EXPECT_EQ(0, rearm(self->r.fd));
	ASSERT_EQ(0, epoll_ctl(epoll, EPOLL_CTL_ADD, self->r.fd, &event));
	EXPECT_EQ(0, epoll_wait(epoll, &got, 1, 0));
	for (int i = 0; i < 3; i++) {
		submit(self->r.fd, self->r.stream, op_write(self->r.own, 1));
		EXPECT_EQ(1, epoll_wait(epoll, &got, 1, 5000 * slow_factor()));
		EXPECT_EQ(EPOLLIN, got.events);
		EXPECT_EQ(5, got.data.u32);
		/* Told once. */
		EXPECT_EQ(0, epoll_wait(epoll, &got, 1, 0));
		EXPECT_EQ(0, rearm(self->r.fd));
		EXPECT_EQ(0, epoll_wait(epoll, &got, 1, 0));
	}
	/* By whoever it is completed. */
	foreign_signal(&self->f);
	EXPECT_EQ(1, epoll_wait(epoll, &got, 1, 5000 * slow_factor()));
	close(epoll);
}

PACCEL_TEST_MAIN
