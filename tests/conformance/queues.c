// SPDX-License-Identifier: MIT
/* What a context can have at once: streams, host ranges, operations that wait. */
#define _GNU_SOURCE
#include "contract.h"

#include <fcntl.h>
#include <pthread.h>
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

struct late {
	pthread_t thread;
	struct world *w;
	uint32_t stream;
	pid_t tid;
	bool done;
	uint64_t point;
};

static void *submit_late(void *arg)
{
	struct late *late = arg;

	__atomic_store_n(&late->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	late->point = submit(late->w, late->stream, op_write(late->w->own, 0));
	__atomic_store_n(&late->done, true, __ATOMIC_RELEASE);
	return NULL;
}

/* True while the thread sleeps in a system call that a signal can end; false once it is done. */
static bool sleeps(struct late *late)
{
	char path[64], line[512], *paren;
	pid_t tid = __atomic_load_n(&late->tid, __ATOMIC_ACQUIRE);
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
	struct late late = { .w = w, .stream = stream };
	bool slept = false;

	MUST(!pthread_create(&late.thread, NULL, submit_late, &late));
	while (!slept && !__atomic_load_n(&late.done, __ATOMIC_ACQUIRE))
		slept = sleeps(&late);
	ok(slept && !__atomic_load_n(&late.done, __ATOMIC_ACQUIRE));
	target_fence_signal(w->extra.fence);
	pthread_join(late.thread, NULL);
	ok(late.done && !outcome(w->fd, stream, late.point));
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

#define QUEUE(_about, _name, _err) { .about = #_about, .name = #_name, .err = _err, .run = _name }

const struct test queues[] = {
	QUEUE(STREAM_CREATE, streams, ENOSPC),
	QUEUE(STREAM_CREATE, streams_that_drain, 0),
	QUEUE(HOST_ALLOC, ranges, ENOSPC),
	QUEUE(SUBMIT, operations_of_a_stream, 0),
	QUEUE(SUBMIT, operations_of_a_context, 0),
};
const size_t nr_queues = COUNT(queues);
