// SPDX-License-Identifier: MIT
/* Calls about streams. Operations and points are gathered until the next SUBMIT or WAIT of their thread. */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <linux/paccel.h>

#include "calls.h"

#define MAX_GATHERED 8
#define MAX_SUBMITTED 256
#define MAX_POINTS 8

static __thread struct paccel_op gathered[MAX_GATHERED];
static __thread u32 nr_gathered;
static __thread struct paccel_point points[MAX_POINTS];
static __thread u32 nr_points;

void calls_forget(void)
{
	nr_gathered = 0;
	nr_points = 0;
}

/* file */
long call_stream_create(const u64 *a)
{
	struct paccel_stream_create cmd = { .size = sizeof(cmd) };

	return ioctl((int)a[0], PACCEL_IOC_STREAM_CREATE, &cmd) ? -errno : (long)cmd.stream;
}

/* file, stream */
long call_stream_destroy(const u64 *a)
{
	struct paccel_stream_destroy cmd = { .size = sizeof(cmd), .stream = (u32)a[1] };

	return call_result(ioctl((int)a[0], PACCEL_IOC_STREAM_DESTROY, &cmd));
}

/* file, stream */
long call_stream_clear(const u64 *a)
{
	struct paccel_stream_clear cmd = { .size = sizeof(cmd), .stream = (u32)a[1] };

	return call_result(ioctl((int)a[0], PACCEL_IOC_STREAM_CLEAR, &cmd));
}

/* file, any stream of it: the completion page */
long call_map_page(const u64 *a)
{
	return arena_map(4096, PROT_READ, MAP_SHARED, (int)a[0], 4096);
}

static long gather(struct paccel_op op)
{
	if (nr_gathered == MAX_GATHERED)
		return -ENOSPC;
	gathered[nr_gathered++] = op;
	return 0;
}

/* to the host, device address, host address, width, rows, pitch, flags */
long call_op_copy(const u64 *a)
{
	return gather((struct paccel_op){
		.op = PACCEL_OP_COPY,
		.flags = (u32)a[6],
		.copy = {
			.dir = a[0] ? PACCEL_COPY_D2H : PACCEL_COPY_H2D,
			.dst = a[0] ? a[2] : a[1],
			.src = a[0] ? a[1] : a[2],
			.width = a[3],
			.rows = a[4],
			.dst_pitch = a[5],
			.src_pitch = a[5],
		},
	});
}

/* destination, offset of the source in it, source, width, rows, pitch, flags */
long call_op_inside(const u64 *a)
{
	return gather((struct paccel_op){
		.op = PACCEL_OP_COPY,
		.flags = (u32)a[6],
		.copy = {
			.dir = PACCEL_COPY_D2D,
			.dst = a[0],
			.src = a[2] + a[1],
			.width = a[3],
			.rows = a[4],
			.dst_pitch = a[5],
			.src_pitch = a[5],
		},
	});
}

/* address, length, pattern, size of the pattern, flags */
long call_op_fill(const u64 *a)
{
	return gather((struct paccel_op){
		.op = PACCEL_OP_FILL,
		.flags = (u32)a[4],
		.fill = {
			.addr = a[0],
			.length = a[1],
			.pattern = a[2],
			.pattern_size = (u32)a[3],
		},
	});
}

/* stream, point */
long call_op_wait(const u64 *a)
{
	return gather((struct paccel_op){
		.op = PACCEL_OP_WAIT_POINT,
		.wait = { .stream = (u32)a[0], .point = a[1] },
	});
}

/* sync_file */
long call_op_fence(const u64 *a)
{
	return gather((struct paccel_op){
		.op = PACCEL_OP_WAIT_FENCE,
		.fd = { .fd = (int)a[0] },
	});
}

/* eventfd, flags */
long call_op_event(const u64 *a)
{
	return gather((struct paccel_op){
		.op = PACCEL_OP_EVENTFD,
		.flags = (u32)a[1],
		.fd = { .fd = (int)a[0] },
	});
}

/* address, offset, value */
long call_op_write(const u64 *a)
{
	return gather((struct paccel_op){
		.op = PACCEL_OP_WRITE,
		.write = { .addr = a[0] + a[1], .value = a[2] },
	});
}

/* address, offset */
long call_op_time(const u64 *a)
{
	return gather((struct paccel_op){
		.op = PACCEL_OP_TIME,
		.write = { .addr = a[0] + a[1] },
	});
}

/* file, stream, how many times the operations; returns the point */
long call_submit(const u64 *a)
{
	struct paccel_op ops[MAX_SUBMITTED];
	struct paccel_submit cmd = {
		.size = sizeof(cmd),
		.stream = (u32)a[1],
		.ops = (uintptr_t)ops,
		.op_size = sizeof(ops[0]),
	};

	for (u64 i = 0; i < a[2] && i < MAX_SUBMITTED &&
	     cmd.nr_ops + nr_gathered <= MAX_SUBMITTED; i++) {
		memcpy(&ops[cmd.nr_ops], gathered, nr_gathered * sizeof(ops[0]));
		cmd.nr_ops += nr_gathered;
	}
	nr_gathered = 0;
	return ioctl((int)a[0], PACCEL_IOC_SUBMIT, &cmd) ? -errno : (long)cmd.point;
}

static u64 now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (u64)now.tv_sec * 1000000000 + (u64)now.tv_nsec;
}

/* stream, point */
long call_point(const u64 *a)
{
	/* One is WAIT's own. */
	if (nr_points == MAX_POINTS - 1)
		return -ENOSPC;
	points[nr_points++] = (struct paccel_point){ .stream = (u32)a[0], .point = a[1] };
	return 0;
}

/* file, stream, point, flags, milliseconds: this point and those that were gathered */
long call_wait(const u64 *a)
{
	struct paccel_wait cmd = {
		.size = sizeof(cmd),
		.flags = (u32)a[3],
		.deadline_ns = now_ns() + a[4] % 1000 * 1000000,
		.points = (uintptr_t)points,
		.nr_points = nr_points + 1,
		.point_size = sizeof(points[0]),
	};

	points[nr_points] = (struct paccel_point){ .stream = (u32)a[1], .point = a[2] };
	nr_points = 0;
	return call_result(ioctl((int)a[0], PACCEL_IOC_WAIT, &cmd));
}

/* file, stream, point; returns a sync_file */
long call_fence_export(const u64 *a)
{
	struct paccel_fence_export cmd = {
		.size = sizeof(cmd),
		.stream = (u32)a[1],
		.point = a[2],
	};

	return ioctl((int)a[0], PACCEL_IOC_FENCE_EXPORT, &cmd) ? -errno : cmd.fd;
}

long call_eventfd(const u64 *a)
{
	(void)a;
	return call_result(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
}

/* eventfd */
long call_read_event(const u64 *a)
{
	u64 value;

	return call_result((int)read((int)a[0], &value, sizeof(value)));
}
