/* SPDX-License-Identifier: MIT */
/*
 * Copies between two devices that do not reach each other: through host memory, in blocks.
 *
 * Both devices work at once. There are two locked buffers: while the one device writes a block into
 * one of them, the other device reads the block before out of the other. Each device has a stream
 * for that, and waits for fences of the other one: that a buffer is full, and that it is empty
 * again.
 *
 * To make all that takes longer than to copy some MiB, so the last one is kept. As the program does
 * not know of what it has (locked memory, streams, host ranges), it is given up as soon as a command
 * finds a limit reached. Where it cannot be made, and for what is one block, the devices take turns
 * with ordinary memory.
 *
 * The buffers are not the bytes of stage.c: those are locked by one device, for as long as its handle
 * is open, and a piece of 64 KiB is too short for a block.
 */
#define _GNU_SOURCE
#include "api.h"
#include "copy.h"
#include "device.h"
#include "error.h"
#include "host.h"
#include "operand.h"
#include "stream.h"

#include <linux/paccel.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* RLIMIT_MEMLOCK, 8 MiB by default, is charged 4 times: 2 buffers, registered with 2 devices. */
#define BUFFER_BYTES ((size_t)1 << 20)

/* ---- Blocks ---- */

struct blocks {
	const struct copy *copy;
	size_t row, column; /* where the next one begins */
};

static size_t min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Into a buffer, in which its rows are packed, and out of it. False: there is none any more. */
static bool next_block(struct blocks *at, void *buffer, struct copy *in, struct copy *out)
{
	const struct copy *whole = at->copy;
	size_t width = min_size(whole->width - at->column, BUFFER_BYTES), rows = 1;

	if (at->row == whole->rows)
		return false;
	if (width == whole->width)
		rows = min_size(whole->rows - at->row, BUFFER_BYTES / width);
	*in = *out = *whole;
	in->src.ptr += at->row * whole->spitch + at->column;
	out->dst.ptr += at->row * whole->dpitch + at->column;
	in->dst = out->src = (struct operand){ "buffer", (uintptr_t)buffer, .size = rows * width };
	in->dpitch = out->spitch = width;
	in->rows = out->rows = rows;
	in->width = out->width = width;
	at->column += width;
	if (at->column == whole->width) {
		at->column = 0;
		at->row += rows;
	}
	return true;
}

/* ---- One after the other ---- */

static int step(struct device *dev, uint32_t dir, const struct copy *half,
		const struct copy *whole)
{
	int err = copy_execute(dev, dir, half);

	if (err != -EFAULT)
		return err ? copy_failed(dev, err, whole) : 0;
	return fail(err,
		    "dst " ADDR " or src " ADDR " was freed by another thread, or memory was "
		    "unmapped that is still registered",
		    whole->dst.ptr, whole->src.ptr);
}

static int copy_stepwise(const struct copy *copy)
{
	struct blocks blocks = { .copy = copy };
	void *buffer = malloc(min_size(copy->width * copy->rows, BUFFER_BYTES));
	int err = buffer ? 0 : fail(-ENOMEM, "out of memory");
	struct copy in, out;

	while (!err && next_block(&blocks, buffer, &in, &out))
		err = step(in.src.dev, PACCEL_COPY_D2H, &in, copy) ?:
		      step(out.dst.dev, PACCEL_COPY_H2D, &out, copy);
	free(buffer);
	return err;
}

/* ---- Both at once ---- */

/* What one of the two devices has of it. A block is one point of its stream. */
struct end {
	struct device *dev;
	bool registered;
	uint32_t stream; /* 0: none */
	uint64_t first, last; /* points: before this copy, and the last one that is queued */
	uint64_t failed; /* the block that failed first */
	int error;
};

struct pipe {
	struct end from, to;
	char *buffers;
	int empty[2]; /* fences of the device that reads them; -1 if nothing was ever in there */
};

static bool end_open(struct end *end, const void *buffers)
{
	struct paccel_host_register pin = { .size = sizeof(pin),
					    .addr = (uintptr_t)buffers,
					    .length = 2 * BUFFER_BYTES };
	struct paccel_stream_create create = { .size = sizeof(create) };

	end->registered = !device_ioctl(end->dev, PACCEL_IOC_HOST_REGISTER, &pin);
	if (!end->registered || device_ioctl(end->dev, PACCEL_IOC_STREAM_CREATE, &create))
		return false;
	end->stream = create.stream;
	end->last = create.point;
	return true;
}

static void end_close(const struct end *end, const void *buffers)
{
	struct paccel_stream_destroy destroy = { .size = sizeof(destroy), .stream = end->stream };
	struct paccel_host_free unpin = { .size = sizeof(unpin), .addr = (uintptr_t)buffers };

	if (end->stream)
		device_ioctl(end->dev, PACCEL_IOC_STREAM_DESTROY, &destroy);
	if (end->registered)
		device_ioctl(end->dev, PACCEL_IOC_HOST_FREE, &unpin);
}

static void fence_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void pipe_close(struct pipe *pipe)
{
	end_close(&pipe->from, pipe->buffers);
	end_close(&pipe->to, pipe->buffers);
	munmap(pipe->buffers, 2 * BUFFER_BYTES);
	device_drop(pipe->from.dev);
	device_drop(pipe->to.dev);
	free(pipe);
}

static struct pipe *pipe_make(struct device *from, struct device *to)
{
	struct pipe *pipe = malloc(sizeof(*pipe));
	void *buffers = MAP_FAILED;

	if (pipe)
		buffers = mmap(NULL, 2 * BUFFER_BYTES, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (buffers == MAP_FAILED) {
		free(pipe);
		return NULL;
	}
	*pipe = (struct pipe){
		.from.dev = from, .to.dev = to, .buffers = buffers, .empty = { -1, -1 }
	};
	keep_from_children(buffers, 2 * BUFFER_BYTES);
	device_hold(from);
	device_hold(to);
	if (end_open(&pipe->from, buffers) && end_open(&pipe->to, buffers))
		return pipe;
	pipe_close(pipe);
	return NULL;
}

/* The one that is kept, and idle. Atomic: it belongs to the thread that takes it out. */
static struct pipe *kept;

static struct pipe *take_out(void)
{
	return __atomic_exchange_n(&kept, NULL, __ATOMIC_SEQ_CST);
}

bool staged_give_up(void)
{
	struct pipe *pipe = take_out();

	if (pipe)
		pipe_close(pipe);
	return pipe;
}

/* It is the parent's, with its memory and its references. */
void staged_in_child(void)
{
	free(take_out());
}

/* A pipe serves both directions. A kept pipe of other devices is closed. */
static struct pipe *take_kept(const struct device *from, const struct device *to)
{
	struct pipe *pipe = take_out();

	if (pipe && pipe->from.dev == to) {
		struct end end = pipe->from;

		pipe->from = pipe->to;
		pipe->to = end;
	}
	if (pipe && (pipe->from.dev != from || pipe->to.dev != to)) {
		pipe_close(pipe);
		pipe = NULL;
	}
	return pipe;
}

/*
 * The last close of a device closes the kept pipe. No pipe of that device is kept afterwards:
 * either the close finds the pipe, or this function finds the device closed.
 */
static void keep(struct pipe *pipe)
{
	const struct device *from = pipe->from.dev, *to = pipe->to.dev;
	struct pipe *other = __atomic_exchange_n(&kept, pipe, __ATOMIC_SEQ_CST);

	if (!device_is_open(from) || !device_is_open(to))
		staged_give_up();
	if (other)
		pipe_close(other);
}

static struct pipe *pipe_open(struct device *from, struct device *to)
{
	struct pipe *pipe = take_kept(from, to);

	if (!pipe)
		pipe = pipe_make(from, to);
	if (pipe) {
		pipe->from.first = pipe->from.last;
		pipe->to.first = pipe->to.last;
	}
	return pipe;
}

/* Queues a half of a block, behind a fence if there is one, and gives the fence of its end. */
static int push(struct end *end, uint32_t dir, const struct copy *half, int behind, int *fence)
{
	struct paccel_op ops[2];
	struct paccel_submit submit = { .size = sizeof(submit),
					.stream = end->stream,
					.ops = (uintptr_t)ops,
					.op_size = sizeof(ops[0]) };
	struct paccel_fence_export export = { .size = sizeof(export), .stream = end->stream };
	int err;

	if (behind >= 0) {
		op_init(&ops[0], PACCEL_OP_WAIT_FENCE);
		ops[0].fd.fd = behind;
		submit.nr_ops++;
	}
	copy_operation(half, dir, &ops[submit.nr_ops++]);
	err = device_ioctl(end->dev, PACCEL_IOC_SUBMIT, &submit);
	if (err)
		return err;
	end->last = export.point = submit.point;
	err = device_ioctl(end->dev, PACCEL_IOC_FENCE_EXPORT, &export);
	if (!err)
		*fence = export.fd;
	return err;
}

static int push_block(struct pipe *pipe, int *empty, const struct copy *in, const struct copy *out)
{
	int full = -1;
	int err = push(&pipe->from, PACCEL_COPY_D2H, in, *empty, &full);

	fence_close(empty);
	if (!err)
		err = push(&pipe->to, PACCEL_COPY_H2D, out, full, empty);
	fence_close(&full);
	return err;
}

/* Waits for all that is queued, and asks what has failed. */
static int settle(struct end *end)
{
	struct paccel_point point = { .stream = end->stream, .point = end->last };
	struct paccel_wait wait = {
		.size = sizeof(wait),
		.deadline_ns = INT64_MAX,
		.points = (uintptr_t)&point,
		.nr_points = 1,
		.point_size = sizeof(point),
	};
	struct paccel_stream_clear clear = { .size = sizeof(clear), .stream = end->stream };
	int err = device_ioctl(end->dev, PACCEL_IOC_WAIT, &wait);

	if (err || !point.error)
		return err;
	err = device_ioctl(end->dev, PACCEL_IOC_STREAM_CLEAR, &clear);
	end->error = clear.error;
	end->failed = clear.failed_point - end->first;
	return err;
}

/* A device that waits for a block that has failed fails too, two blocks later or at the end. */
static const struct end *who_failed(const struct pipe *pipe)
{
	if (pipe->from.error && (!pipe->to.error || pipe->from.failed <= pipe->to.failed))
		return &pipe->from;
	return pipe->to.error ? &pipe->to : NULL;
}

/*
 * False if this is no way for the copy: something could not be had, or a device does not even tell
 * what it has done. The other way works then, or finds out what is wrong.
 */
static bool copy_pipelined(const struct copy *copy, int *result)
{
	struct pipe *pipe = pipe_open(copy->src.dev, copy->dst.dev);
	struct blocks blocks = { .copy = copy };
	const struct end *failed;
	struct copy in, out;
	unsigned int i = 0;
	int err = 0, lost;

	if (!pipe)
		return false;
	while (!err && next_block(&blocks, pipe->buffers + i * BUFFER_BYTES, &in, &out)) {
		err = push_block(pipe, &pipe->empty[i], &in, &out);
		i = !i;
	}
	fence_close(&pipe->empty[0]);
	fence_close(&pipe->empty[1]);
	lost = settle(&pipe->from);
	lost = settle(&pipe->to) ?: lost;
	failed = lost ? NULL : who_failed(pipe);
	*result = failed ? copy_failed(failed->dev, failed->error, copy) : 0;
	if (lost || err || failed)
		pipe_close(pipe);
	else
		keep(pipe);
	return failed || !(lost || err);
}

int copy_staged(const struct copy *copy)
{
	int err;

	if (copy->width * copy->rows > BUFFER_BYTES && copy_pipelined(copy, &err))
		return err;
	return copy_stepwise(copy);
}
