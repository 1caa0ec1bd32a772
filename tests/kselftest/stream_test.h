/* SPDX-License-Identifier: MIT */
/*
 * What tests of streams share: the commands of paccel_test.h's kind, operations, and a
 * file with all that operations need.
 */
#ifndef PACCEL_KSELFTEST_STREAM_H
#define PACCEL_KSELFTEST_STREAM_H

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <linux/sync_file.h>

#include "foreign.h"
#include "paccel_test.h"

/* Limits in milliseconds; longer than anything here takes on a stock kernel. */
#define PATIENCE_MS 20000

/* In a test with a fixture that has `f`. */
#define NEED_FOREIGN()                                                         \
	do {                                                                   \
		if (!foreign_open(&self->f))                                   \
			SKIP(return, "neither sw_sync nor vgem");              \
	} while (0)

/* --- STREAM_CREATE, STREAM_DESTROY, STREAM_CLEAR ------------------------- */

static inline int _test_cmd_stream_create(int fd, struct paccel_stream_create *cmd)
{
	memset(cmd, 0xff, sizeof(*cmd));
	cmd->size = sizeof(*cmd);
	cmd->flags = 0;
	cmd->reserved = 0;
	return paccel_call(fd, PACCEL_IOC_STREAM_CREATE, cmd);
}

/* The number of a new stream, or a negative errno. */
static inline int stream_create(int fd)
{
	struct paccel_stream_create cmd;
	int rc = _test_cmd_stream_create(fd, &cmd);

	return rc ? rc : (int)cmd.stream;
}
#define test_cmd_stream_create(fd, stream) \
	ASSERT_LT(0, *(stream) = stream_create(fd))
#define test_err_stream_create(err, fd) EXPECT_EQ(-(err), stream_create(fd))

static inline int _test_cmd_stream_destroy(int fd, u32 stream)
{
	struct paccel_stream_destroy cmd = { .size = sizeof(cmd), .stream = stream };

	return paccel_call(fd, PACCEL_IOC_STREAM_DESTROY, &cmd);
}
#define test_cmd_stream_destroy(fd, stream) \
	ASSERT_EQ(0, _test_cmd_stream_destroy(fd, stream))
#define test_err_stream_destroy(err, fd, stream) \
	EXPECT_EQ(-(err), _test_cmd_stream_destroy(fd, stream))

static inline int _test_cmd_stream_clear(int fd, u32 stream, struct paccel_stream_clear *cmd)
{
	memset(cmd, 0xff, sizeof(*cmd));
	cmd->size = sizeof(*cmd);
	cmd->flags = 0;
	cmd->stream = stream;
	return paccel_call(fd, PACCEL_IOC_STREAM_CLEAR, cmd);
}
#define test_err_stream_clear(err, fd, stream)                                 \
	({                                                                     \
		struct paccel_stream_clear _clear;                             \
		EXPECT_EQ(-(err), _test_cmd_stream_clear(fd, stream, &_clear)); \
	})
/* Clears a stream that has failed so. */
#define test_cmd_stream_clear(fd, stream, _error, _point)                      \
	do {                                                                   \
		struct paccel_stream_clear _clear;                             \
		ASSERT_EQ(0, _test_cmd_stream_clear(fd, stream, &_clear));     \
		EXPECT_EQ(_error, _clear.error);                               \
		EXPECT_EQ(_point, _clear.failed_point);                        \
	} while (0)

/* --- operations ---------------------------------------------------------- */

static inline struct paccel_op op_rows(u32 dir, u64 dst, u64 src, struct copy_2d shape)
{
	return (struct paccel_op){
		.op = PACCEL_OP_COPY,
		.copy = { .dir = dir, .dst = dst, .src = src, .width = shape.width,
			  .rows = shape.rows, .dst_pitch = shape.dst_pitch,
			  .src_pitch = shape.src_pitch },
	};
}

static inline struct paccel_op op_copy(u32 dir, u64 dst, u64 src, u64 n)
{
	return op_rows(dir, dst, src, (struct copy_2d){ n, 1, 0, 0 });
}

static inline struct paccel_op op_h2d(u64 dst, const volatile void *src, u64 n)
{
	return op_copy(PACCEL_COPY_H2D, dst, (uintptr_t)src, n);
}

static inline struct paccel_op op_d2h(const volatile void *dst, u64 src, u64 n)
{
	return op_copy(PACCEL_COPY_D2H, (uintptr_t)dst, src, n);
}

static inline struct paccel_op op_fill(u64 addr, u64 length, u64 pattern, u32 pattern_size)
{
	return (struct paccel_op){
		.op = PACCEL_OP_FILL,
		.fill = { .addr = addr, .length = length, .pattern = pattern,
			  .pattern_size = pattern_size },
	};
}

static inline struct paccel_op op_point(u32 stream, u64 point)
{
	return (struct paccel_op){ .op = PACCEL_OP_WAIT_POINT,
				   .wait = { .stream = stream, .point = point } };
}

static inline struct paccel_op op_fence(int fd)
{
	return (struct paccel_op){ .op = PACCEL_OP_WAIT_FENCE, .fd = { .fd = fd } };
}

static inline struct paccel_op op_eventfd(int fd, u32 flags)
{
	return (struct paccel_op){ .op = PACCEL_OP_EVENTFD, .flags = flags,
				   .fd = { .fd = fd } };
}

static inline struct paccel_op op_write(const volatile u64 *to, u64 value)
{
	return (struct paccel_op){
		.op = PACCEL_OP_WRITE,
		.write = { .addr = (uintptr_t)to, .value = value },
	};
}

static inline struct paccel_op op_time(const volatile u64 *to)
{
	return (struct paccel_op){ .op = PACCEL_OP_TIME,
				   .write = { .addr = (uintptr_t)to } };
}

/* --- SUBMIT -------------------------------------------------------------- */

#define BAD_OP_UNTOUCHED 0xbadbad

/*
 * The whole call. A failure may change bad_op and point alone: bad_op is
 * BAD_OP_UNTOUCHED if it has not been written.
 */
static inline int submit_call(int fd, struct paccel_submit *cmd)
{
	struct paccel_submit before = *cmd, after;
	int rc;

	cmd->bad_op = BAD_OP_UNTOUCHED;
	rc = ioctl(fd, PACCEL_IOC_SUBMIT, cmd) ? -errno : 0;
	after = *cmd;
	after.bad_op = before.bad_op;
	after.point = before.point;
	return memcmp(&before, &after, sizeof(after)) ? -PACCEL_CLOBBERED : rc;
}

static inline struct paccel_submit submit_of(u32 stream, const struct paccel_op *ops, u32 nr)
{
	return (struct paccel_submit){
		.size = sizeof(struct paccel_submit),
		.stream = stream,
		.nr_ops = nr,
		.ops = (uintptr_t)ops,
		.op_size = sizeof(struct paccel_op),
	};
}

/* The point, which is above 0, or a negative errno. */
static inline s64 _test_cmd_submit(int fd, u32 stream, const struct paccel_op *ops, u32 nr)
{
	struct paccel_submit cmd = submit_of(stream, ops, nr);
	int rc = submit_call(fd, &cmd);

	return rc ? rc : (s64)cmd.point;
}

/* One or more operations behind the stream's number. */
#define submit(fd, stream, ...)                                                \
	({                                                                     \
		struct paccel_op _ops[] = { __VA_ARGS__ };                     \
		_test_cmd_submit(fd, stream, _ops, ARRAY_SIZE(_ops));          \
	})
#define test_cmd_submit(point, fd, stream, ...) \
	ASSERT_LT(0, *(point) = submit(fd, stream, __VA_ARGS__))
#define test_err_submit(err, fd, stream, ...) \
	EXPECT_EQ(-(err), submit(fd, stream, __VA_ARGS__))

/* --- WAIT ---------------------------------------------------------------- */

#define FOR_EVER (~0ull)

static inline u64 clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline u64 in_ms(u64 ms)
{
	return clock_ns() + ms * 1000000;
}

/* error fields are written for 0 and -ETIME: paccel_call() cannot look at those. */
static inline int _test_cmd_wait(int fd, u32 flags, u64 deadline, struct paccel_point *points,
				 u32 nr, u32 *ended)
{
	struct paccel_wait cmd = {
		.size = sizeof(cmd),
		.flags = flags,
		.deadline_ns = deadline,
		.points = (uintptr_t)points,
		.nr_points = nr,
		.point_size = sizeof(*points),
		.ended = 0xbadbad,
	};
	int rc = ioctl(fd, PACCEL_IOC_WAIT, &cmd) ? -errno : 0;

	if (ended)
		*ended = cmd.ended;
	if (rc && rc != -ETIME && cmd.ended != 0xbadbad)
		return -PACCEL_CLOBBERED;
	return rc;
}

/* How a point has ended: 0 or its error; -ETIME if it does not end. */
static inline int outcome(int fd, u32 stream, u64 point)
{
	struct paccel_point p = { .stream = stream, .error = 0xbad, .point = point };
	int rc;

	do {
		rc = _test_cmd_wait(fd, 0, in_ms((u64)PATIENCE_MS * slow_factor()), &p, 1,
				    NULL);
	} while (rc == -EINTR);
	return rc ? rc : p.error;
}

/* How it stands now. */
static inline int standing(int fd, u32 stream, u64 point)
{
	struct paccel_point p = { .stream = stream, .error = 0xbad, .point = point };
	int rc = _test_cmd_wait(fd, 0, 0, &p, 1, NULL);

	return rc && rc != -ETIME ? rc : p.error;
}

/* poll() is silent until something new ends. */
static inline int rearm(int fd)
{
	return _test_cmd_wait(fd, 0, 0, NULL, 0, NULL);
}

static inline short polled(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, timeout_ms) > 0 ? p.revents : 0;
}

/* --- the completion page ------------------------------------------------- */

/*
 * What was added to an eventfd that does not block; waits until it is so much. A point is complete
 * before eventfds are signalled: who has found it there may come too early for the last of them.
 */
static inline u64 eventfd_sum(int fd, u64 expected)
{
	u64 sum = 0, more;

	if (!WAIT_FOR((sum += read(fd, &more, 8) == 8 ? more : 0) >= expected, 10000))
		return sum;
	return sum + (read(fd, &more, 8) == 8 ? more : 0);
}

/*
 * An eventfd that takes long to signal: an epoll instance watches this many descriptors of it. -1:
 * an error. The process keeps the descriptors until it ends.
 */
static inline int slow_eventfd(unsigned int listeners)
{
	struct rlimit limit = { listeners + 256, listeners + 256 };
	int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event in = { .events = EPOLLIN };

	if (event < 0 || epoll < 0 || setrlimit(RLIMIT_NOFILE, &limit))
		return -1;
	while (listeners--)
		if (epoll_ctl(epoll, EPOLL_CTL_ADD, dup(event), &in))
			return -1;
	return event;
}

static inline u64 page_done(const struct paccel_page *page, u32 stream)
{
	return __atomic_load_n(&page->slots[stream - 1].done, __ATOMIC_ACQUIRE);
}

static inline u32 page_state(const struct paccel_page *page)
{
	return __atomic_load_n(&page->state, __ATOMIC_ACQUIRE);
}

/* --- FENCE_EXPORT and sync_files ----------------------------------------- */

/* A sync_file or a negative errno. */
static inline int fence_export(int fd, u32 stream, u64 point)
{
	struct paccel_fence_export cmd = {
		.size = sizeof(cmd),
		.stream = stream,
		.fd = -77,
		.point = point,
	};
	int rc = paccel_call(fd, PACCEL_IOC_FENCE_EXPORT, &cmd);

	return rc ? rc : cmd.fd;
}
#define test_cmd_fence_export(fence, fd, stream, point) \
	ASSERT_LE(0, *(fence) = fence_export(fd, stream, point))
#define test_err_fence_export(err, fd, stream, point) \
	EXPECT_EQ(-(err), fence_export(fd, stream, point))

/* Of the whole sync_file: 1 signalled, 0 not yet, or its error. */
static inline int fence_status(int fence)
{
	struct sync_file_info info = {};

	return ioctl(fence, SYNC_IOC_FILE_INFO, &info) ? -errno : info.status;
}

/* Waits for the end of it: its status then, or 0. */
static inline int fence_outcome(int fence)
{
	polled(fence, PATIENCE_MS * slow_factor());
	return fence_status(fence);
}

/* --- a file with everything ---------------------------------------------- */

#define OWN_PAGES 4

/* Memory of HOST_ALLOC, the completion page, one stream; device memory if wanted. */
struct rig {
	int fd;
	u32 stream;
	u64 own_offset, page_offset;
	union {
		volatile u64 *own;
		volatile u8 *bytes;
	};
	const struct paccel_page *page;
	u64 mem, mem_size;
};

static inline const struct paccel_page *page_map(int fd, u64 offset)
{
	return mmap(NULL, page_size, PROT_READ, MAP_SHARED, fd, offset);
}

/* 0, or the number of the line that failed. */
static inline int rig_open_at(struct rig *r, const char *bdf, u64 mem_size)
{
	struct paccel_stream_create create;

	r->fd = card_open_at(bdf, O_RDWR);
	if (r->fd < 0)
		return __LINE__;
	if (_test_cmd_stream_create(r->fd, &create))
		return __LINE__;
	r->stream = create.stream;
	r->page_offset = create.page_offset;
	r->page = page_map(r->fd, create.page_offset);
	if (r->page == MAP_FAILED)
		return __LINE__;
	if (_test_cmd_host_alloc(r->fd, OWN_PAGES * page_size, &r->own_offset))
		return __LINE__;
	r->own = host_map(r->fd, OWN_PAGES * page_size, r->own_offset);
	if (r->own == MAP_FAILED)
		return __LINE__;
	r->mem_size = mem_size;
	if (mem_size && _test_cmd_mem_alloc(r->fd, mem_size, 0, &r->mem))
		return __LINE__;
	return 0;
}

static inline int rig_open(struct rig *r, u64 mem_size)
{
	return rig_open_at(r, card_bdf(), mem_size);
}

/* A mapping holds the file, so the context ends here and not before. */
static inline void rig_close(struct rig *r)
{
	if (r->page != MAP_FAILED)
		munmap((void *)r->page, page_size);
	if (r->own != MAP_FAILED)
		munmap((void *)r->own, OWN_PAGES * page_size);
	close(r->fd);
}

/*
 * A fence of a context that waits for @fence, and fails with -ECANCELED when that context
 * is closed before it is signalled.
 */
struct doomed {
	struct rig r;
	int fence;
};

static inline int doomed_open(struct doomed *d, int fence)
{
	int line = rig_open(&d->r, 0);

	if (line)
		return line;
	if (submit(d->r.fd, d->r.stream, op_fence(fence)) != 1)
		return __LINE__;
	d->fence = fence_export(d->r.fd, d->r.stream, 1);
	return d->fence < 0 ? __LINE__ : 0;
}

static inline void doomed_fail(struct doomed *d)
{
	rig_close(&d->r);
}

#endif
