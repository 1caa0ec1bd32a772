// SPDX-License-Identifier: MIT
/*
 * What a context can have at once: streams, host ranges, operations that wait; and what becomes of
 * those that run and wait when there is a RESET, or another engine.
 */
#define _GNU_SOURCE
#include "contract.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static void streams(const struct test *test, const struct command *command)
{
	struct paccel_stream_create cmd = { .size = sizeof(cmd) };
	uint32_t more, first = 0;
	struct world w;

	(void)test;
	world_open(&w);
	for (more = w.streams; more < w.info.max_streams; more++)
		first = stream_create(w.fd);
	ok(command_call(w.fd, command, (union argument *)&cmd) == ENOSPC);
	/* The number of the one that has drained is given again, with its points. */
	ok(submit(&w, first, op_write(w.own, 1)) == 1);
	ok(!outcome(w.fd, first, 1));
	stream_destroy(w.fd, first);
	ok(!command_call(w.fd, command, (union argument *)&cmd));
	ok(cmd.stream == first && cmd.point == 1);
	for (more = 1; more <= w.info.max_streams; more++)
		if (more != w.stream)
			stream_destroy(w.fd, more);
	world_close(&w);
}

/* A stream that is destroyed keeps its number until it has drained. */
static void streams_that_drain(const struct test *test, const struct command *command)
{
	struct paccel_stream_create cmd = { .size = sizeof(cmd) };
	uint32_t stream, other;
	struct world w;

	(void)test;
	world_open(&w);
	w.extra.fence = target_fence();
	MUST(w.extra.fence >= 0);
	stream = stream_create(w.fd);
	submit(&w, stream, op_fence(w.extra.fence));
	stream_destroy(w.fd, stream);
	ok(command_call(w.fd, command_named("STREAM_DESTROY"),
			&(union argument){ .stream_destroy = { .size = 16, .stream = stream } }) ==
	   ENOENT);
	other = stream_create(w.fd);
	ok(other != stream);
	stream_destroy(w.fd, other);
	ok(!command_call(w.fd, command, (union argument *)&cmd));
	stream_destroy(w.fd, cmd.stream);
	/* Once its work has ended world_close() finds as many as before. */
	world_close(&w);
}

/* In a context of their own, which ends them all; memory of HOST_ALLOC is the quickest to make. */
static void fill_ranges(struct world *w, const struct command *alloc)
{
	const struct command *reg = command_named("HOST_REGISTER");
	union argument more, other;
	uint64_t last = 0;

	command_prepare(w, alloc, &more);
	command_prepare(w, reg, &other);
	for (uint32_t i = 0; i < w->info.max_host_ranges; i++)
		last = host_alloc(w->fd, 1);
	ok(command_call(w->fd, alloc, &more) == ENOSPC);
	ok(command_call(w->fd, reg, &other) == ENOSPC);
	/* One goes, one comes, of whichever kind. */
	host_free(w->fd, NULL, last);
	ok(!command_call(w->fd, reg, &other));
	ok(command_call(w->fd, alloc, &more) == ENOSPC);
	reg->undo(w, &other);
	ok(!command_call(w->fd, alloc, &more));
}

static void ranges(const struct test *test, const struct command *command)
{
	struct world w, full;

	(void)test;
	if (target_is_slow()) {
		tap_skip("so many ranges take minutes");
		return;
	}
	world_open(&w);
	full = w;
	full.fd = target_open(O_RDWR | O_CLOEXEC);
	MUST(full.fd >= 0);
	fill_ranges(&full, command);
	close(full.fd);
	world_close(&w);
}

/* ---- Operations that wait ---- */

static void submit_many(struct world *w, uint32_t stream, uint32_t nr)
{
	struct paccel_op *ops = calloc(nr, sizeof(*ops));
	struct paccel_submit cmd = {
		.size = sizeof(cmd), .stream = stream, .ops = (uintptr_t)ops, .op_size = sizeof(*ops)
	};

	MUST(ops);
	for (uint32_t i = 0; i < nr; i++)
		ops[i] = op_write(w->own, i);
	for (; nr; nr -= cmd.nr_ops) {
		cmd.nr_ops = nr < w->info.max_ops ? nr : w->info.max_ops;
		MUST(!ioctl(w->fd, PACCEL_IOC_SUBMIT, &cmd));
	}
	free(ops);
}

/* A call that waits in a thread of its own. */
struct waiting {
	pthread_t thread;
	struct world *w;
	uint32_t stream;
	int (*call)(struct waiting *waiting); /* 0 or an errno */
	pid_t tid;
	int err;
	bool done;
	uint64_t point;
};

static void *call_waits(void *arg)
{
	struct waiting *waiting = arg;

	__atomic_store_n(&waiting->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	waiting->err = waiting->call(waiting);
	__atomic_store_n(&waiting->done, true, __ATOMIC_RELEASE);
	return NULL;
}

static int submit_one(struct waiting *waiting)
{
	struct paccel_op op = op_write(waiting->w->own + 1, 1);
	struct paccel_submit cmd = {
		.size = sizeof(cmd), .stream = waiting->stream, .nr_ops = 1, .ops = (uintptr_t)&op,
		.op_size = sizeof(op)
	};
	int err = ioctl(waiting->w->fd, PACCEL_IOC_SUBMIT, &cmd) ? errno : 0;

	waiting->point = cmd.point;
	return err;
}

/* True while the thread sleeps in a system call that a signal can end; false once it is done. */
static bool sleeps(const struct waiting *waiting)
{
	char path[64], line[512], *paren;
	pid_t tid = __atomic_load_n(&waiting->tid, __ATOMIC_ACQUIRE);
	size_t n = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = fopen(path, "re");
	if (file)
		n = fread(line, 1, sizeof(line) - 1, file);
	if (file)
		fclose(file);
	line[n] = 0;
	paren = strrchr(line, ')');
	return paren && !strncmp(paren, ") S", 3);
}

/* One operation more than there is room for waits until there is, and is queued then. */
static void expect_full(struct world *w, uint32_t stream)
{
	struct waiting late = { .w = w, .stream = stream, .call = submit_one };
	bool slept = false;

	MUST(!pthread_create(&late.thread, NULL, call_waits, &late));
	while (!slept && !__atomic_load_n(&late.done, __ATOMIC_ACQUIRE))
		slept = sleeps(&late);
	ok(slept && !__atomic_load_n(&late.done, __ATOMIC_ACQUIRE));
	target_fence_signal(w->extra.fence);
	pthread_join(late.thread, NULL);
	ok(late.done && !late.err && !outcome(w->fd, stream, late.point));
	close(w->extra.fence);
	w->extra.fence = 0;
}

static void operations_of_a_stream(const struct test *test, const struct command *command)
{
	struct world w;

	(void)test;
	(void)command;
	world_open(&w);
	w.extra.fence = target_fence();
	MUST(w.extra.fence >= 0);
	submit(&w, w.stream, op_fence(w.extra.fence));
	submit_many(&w, w.stream, w.info.max_queued - 1);
	expect_full(&w, w.stream);
	world_close(&w);
}

/* A stream of its own has room, the context has none. */
static void operations_of_a_context(const struct test *test, const struct command *command)
{
	uint32_t made[PACCEL_PAGE_SLOTS], nr = 0, left, now;
	struct world w;

	(void)test;
	(void)command;
	world_open(&w);
	w.extra.fence = target_fence();
	MUST(w.extra.fence >= 0);
	for (left = w.info.max_queued_all; left; left -= now) {
		now = left < w.info.max_queued ? left : w.info.max_queued;
		made[nr] = stream_create(w.fd);
		submit(&w, made[nr], op_fence(w.extra.fence));
		submit_many(&w, made[nr++], now - 1);
	}
	expect_full(&w, w.stream);
	while (nr--)
		stream_destroy(w.fd, made[nr]);
	world_close(&w);
}

/* ---- Signals ---- */

static int signals;

static void on_signal(int number)
{
	(void)number;
	__atomic_add_fetch(&signals, 1, __ATOMIC_RELEASE);
}

/* A thread also sleeps for a lock, which no signal ends: it is signalled until the call has ended. */
static int end_by_signal(struct world *w, int (*call)(struct waiting *waiting))
{
	struct waiting waiting = { .w = w, .stream = w->stream, .call = call };
	struct sigaction action = { .sa_handler = on_signal }, old;

	MUST(!sigaction(SIGUSR1, &action, &old));
	MUST(!pthread_create(&waiting.thread, NULL, call_waits, &waiting));
	while (!__atomic_load_n(&waiting.done, __ATOMIC_ACQUIRE))
		if (sleeps(&waiting))
			pthread_kill(waiting.thread, SIGUSR1);
	pthread_join(waiting.thread, NULL);
	MUST(!sigaction(SIGUSR1, &old, NULL));
	if (waiting.err != EINTR)
		printf("# errno %d, not EINTR\n", waiting.err);
	return waiting.err;
}

static int wait_until(struct waiting *waiting, uint64_t deadline)
{
	struct paccel_point point = { .stream = waiting->stream, .point = 2 };
	struct paccel_wait cmd = {
		.size = sizeof(cmd), .deadline_ns = deadline, .points = (uintptr_t)&point,
		.nr_points = 1, .point_size = sizeof(point)
	};

	return ioctl(waiting->w->fd, PACCEL_IOC_WAIT, &cmd) ? errno : 0;
}

static int wait_for_second(struct waiting *waiting)
{
	return wait_until(waiting, UINT64_MAX);
}

/* With a deadline, which is too far away to be met. */
static int wait_an_hour(struct waiting *waiting)
{
	struct paccel_device_info info = { .size = sizeof(info) };

	MUST(!ioctl(waiting->w->fd, PACCEL_IOC_DEVICE_INFO, &info));
	return wait_until(waiting, info.clock_ns + 3600000000000);
}

/* While it waits for room. Nothing is queued. */
static void submit_and_signal(const struct test *test, const struct command *command)
{
	struct world w;

	(void)test;
	(void)command;
	world_open(&w);
	w.extra.fence = target_fence();
	MUST(w.extra.fence >= 0);
	submit(&w, w.stream, op_fence(w.extra.fence));
	submit_many(&w, w.stream, w.info.max_queued - 1);
	w.own[1] = 0;
	ok(end_by_signal(&w, submit_one) == EINTR);
	target_fence_signal(w.extra.fence);
	ok(!outcome(w.fd, w.stream, submit(&w, w.stream, op_write(w.own, 1))));
	ok(!w.own[1]);
	world_close(&w);
}

static void wait_and_signal(const struct test *test, const struct command *command)
{
	struct world w;

	(void)test;
	(void)command;
	world_open(&w);
	w.extra.fence = target_fence();
	MUST(w.extra.fence >= 0);
	ok(submit(&w, w.stream, op_fence(w.extra.fence)) == 2);
	ok(end_by_signal(&w, wait_for_second) == EINTR);
	target_fence_signal(w.extra.fence);
	ok(!outcome(w.fd, w.stream, 2));
	world_close(&w);
}

/* A signal whose handler was set with SA_RESTART ends no WAIT, with or without a deadline. */
static void restarted(int (*call)(struct waiting *waiting))
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART }, old;
	struct waiting waiting = { .call = call };
	struct world w;

	world_open(&w);
	w.extra.fence = target_fence();
	MUST(w.extra.fence >= 0);
	ok(submit(&w, w.stream, op_fence(w.extra.fence)) == 2);
	waiting.w = &w;
	waiting.stream = w.stream;
	MUST(!sigaction(SIGUSR1, &action, &old));
	MUST(!pthread_create(&waiting.thread, NULL, call_waits, &waiting));
	for (int i = 1, handled; i <= 5; i++) {
		handled = __atomic_load_n(&signals, __ATOMIC_ACQUIRE);
		while (!sleeps(&waiting) && !__atomic_load_n(&waiting.done, __ATOMIC_ACQUIRE))
			;
		if (__atomic_load_n(&waiting.done, __ATOMIC_ACQUIRE))
			break;
		pthread_kill(waiting.thread, SIGUSR1);
		while (__atomic_load_n(&signals, __ATOMIC_ACQUIRE) == handled)
			;
	}
	ok(!__atomic_load_n(&waiting.done, __ATOMIC_ACQUIRE));
	target_fence_signal(w.extra.fence);
	pthread_join(waiting.thread, NULL);
	MUST(!sigaction(SIGUSR1, &old, NULL));
	ok(!waiting.err);
	world_close(&w);
}

static void wait_restarted(const struct test *test, const struct command *command)
{
	(void)test;
	(void)command;
	restarted(wait_for_second);
}

static void wait_with_a_deadline_restarted(const struct test *test, const struct command *command)
{
	(void)test;
	(void)command;
	restarted(wait_an_hour);
}

/* ---- Operations that run ---- */

#define ROWS 128 /* more than a device is given at once */

static struct paccel_op op_that_lasts(const struct world *w)
{
	struct paccel_op op = { .op = PACCEL_OP_COPY };

	op.copy.dir = PACCEL_COPY_H2D;
	op.copy.dst = w->mem;
	op.copy.src = (uintptr_t)w->own;
	op.copy.width = 1;
	op.copy.rows = ROWS;
	op.copy.dst_pitch = op.copy.src_pitch = BLOCK / ROWS;
	return op;
}

static struct paccel_op op_short(const struct world *w)
{
	struct paccel_op op = { .op = PACCEL_OP_FILL };

	op.fill.addr = w->mem;
	op.fill.length = 8;
	op.fill.pattern_size = 1;
	return op;
}

static int reset(struct world *w)
{
	union argument c = { .reset = { .size = sizeof(c.reset) } };

	return command_call(w->fd, command_named("RESET"), &c);
}

/* The operation that runs fails, and with it its stream. */
static void stream_that_runs(const struct test *test, const struct command *command)
{
	uint64_t runs, behind;
	struct world w;

	(void)test;
	(void)command;
	world_open(&w);
	target_hold();
	runs = submit(&w, w.stream, op_that_lasts(&w));
	behind = submit(&w, w.stream, op_write(w.own, 1));
	target_wait_held();
	ok(!reset(&w));
	ok(outcome(w.fd, w.stream, runs) == EIO);
	ok(outcome(w.fd, w.stream, behind) == ECANCELED && !*w.own);
	world_close(&w);
}

/* While one engine is busy another stream goes on with the next, if there is one. */
static void engines(const struct test *test, const struct command *command)
{
	uint64_t runs, other;
	struct world w;

	(void)test;
	(void)command;
	world_open(&w);
	w.extra.stream = stream_create(w.fd);
	target_hold();
	runs = submit(&w, w.stream, op_that_lasts(&w));
	target_wait_held();
	other = submit(&w, w.extra.stream, op_short(&w));
	/* If it waited for the first one, that would be for ever. */
	if (w.info.engines > 1)
		ok(!outcome_by(w.fd, w.extra.stream, other,
			       w.info.clock_ns + 60000000000ull));
	/* By now the first one has not: only this ends it. */
	ok(!reset(&w));
	ok(outcome(w.fd, w.stream, runs) == EIO);
	ok(!outcome(w.fd, w.extra.stream, other));
	world_close(&w);
}

static void *copy_that_lasts(void *arg)
{
	struct world *w = arg;
	struct paccel_copy cmd = {
		.size = sizeof(cmd), .dir = PACCEL_COPY_H2D, .dst = w->mem, .src = (uintptr_t)w->own,
		.width = 1, .rows = ROWS, .dst_pitch = BLOCK / ROWS, .src_pitch = BLOCK / ROWS
	};

	return (void *)(uintptr_t)(ioctl(w->fd, PACCEL_IOC_COPY, &cmd) ? errno : 0);
}

static void copy_that_runs(const struct test *test, const struct command *command)
{
	pthread_t thread;
	struct world w;
	void *err;

	(void)test;
	(void)command;
	world_open(&w);
	target_hold();
	MUST(!pthread_create(&thread, NULL, copy_that_lasts, &w));
	target_wait_held();
	ok(!reset(&w));
	pthread_join(thread, &err);
	ok((uintptr_t)err == EIO);
	ok(!outcome(w.fd, w.stream, submit(&w, w.stream, op_short(&w))));
	world_close(&w);
}

#define QUEUE(_about, _name, _err) { .about = #_about, .name = #_name, .err = _err, .run = _name }

const struct test queues[] = {
	QUEUE(STREAM_CREATE, streams, ENOSPC),
	QUEUE(STREAM_CREATE, streams_that_drain, 0),
	QUEUE(HOST_ALLOC, ranges, ENOSPC),
	QUEUE(SUBMIT, operations_of_a_stream, 0),
	QUEUE(SUBMIT, operations_of_a_context, 0),
	QUEUE(SUBMIT, submit_and_signal, EINTR),
	QUEUE(WAIT, wait_and_signal, EINTR),
	QUEUE(WAIT, wait_restarted, 0),
	QUEUE(WAIT, wait_with_a_deadline_restarted, 0),
	QUEUE(SUBMIT, engines, 0),
	QUEUE(RESET, stream_that_runs, 0),
	QUEUE(RESET, copy_that_runs, 0),
};
const size_t nr_queues = COUNT(queues);
