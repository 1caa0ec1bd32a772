/* SPDX-License-Identifier: MIT */
/*
 * The ways of a copy, once copy.c and operand.c have found out whose memory it is:
 *
 *   one device moves the bytes               at once or on the stream: here
 *   pageable memory to the stream's device   queued out of locked memory: stage.c
 *   between two devices that reach each      at once or on the stream: peer.c
 *   between two devices otherwise            at once through host memory: staged.c
 *   none of it is device memory              at once by the processor: here
 *
 * The driver takes host memory of queued copies only where it is pinned already. A copy of a stream
 * that has no way on the stream waits for it and is complete on return.
 */
#define _GNU_SOURCE
#include "api.h"
#include "copy.h"
#include "device.h"
#include "error.h"
#include "operand.h"
#include "stream.h"

#include <linux/paccel.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- Errors ---- */

static int not_accessible(const struct operand *host, uintptr_t ptr, size_t size)
{
	return fail(-EFAULT, "%s: host memory at " ADDR ", %zu bytes, cannot be %s", host->name,
		    ptr, size,
		    host->written ? "written: not mapped, read-only, or a dead registration"
				  : "read: not mapped, or a dead registration");
}

int verify_by_processor(void)
{
	return fail(-EOPNOTSUPP, "no device takes part, only the processor: there is nothing that "
				 "could verify it");
}

/* What does not come from the operands. */
static int operation_failed(const struct device *dev, const struct stream *stream,
			    int err)
{
	if (err == -EOPNOTSUPP)
		return fail(err,
			    "%s does not verify this: that needs ACCEL_CAP_VERIFY, and memory that "
			    "not only another driver can access",
			    dev->name);
	return stream ? submit_error(stream, err) : general_error(dev, err);
}

int copy_failed(const struct device *dev, int err, const struct copy *copy)
{
	const struct operand *host = copy->dst.dev ? &copy->src : &copy->dst;

	if (err != -EFAULT)
		return operation_failed(dev, copy->stream, err);
	if (!host->dev)
		return not_accessible(host, host->ptr, host->size);
	return fail(err, "dst " ADDR " or src " ADDR " was freed by another thread", copy->dst.ptr,
		    copy->src.ptr);
}

/* ---- By one device ---- */

/* The structs of the ioctls are those of the operations, with the size in place of the code. */
union command {
	struct paccel_op op;
	struct paccel_copy copy;
	struct paccel_fill fill;
};

#define SAME_PLACE(a, b) \
	_Static_assert(offsetof(union command, a) == offsetof(union command, b), "one place")
SAME_PLACE(copy.flags, op.flags);
SAME_PLACE(copy.dir, op.copy.dir);
SAME_PLACE(copy.dst, op.copy.dst);
SAME_PLACE(copy.src, op.copy.src);
SAME_PLACE(copy.width, op.copy.width);
SAME_PLACE(copy.rows, op.copy.rows);
SAME_PLACE(copy.dst_pitch, op.copy.dst_pitch);
SAME_PLACE(copy.src_pitch, op.copy.src_pitch);
SAME_PLACE(fill.addr, op.fill.addr);
SAME_PLACE(fill.length, op.fill.length);
SAME_PLACE(fill.pattern, op.fill.pattern);
SAME_PLACE(fill.pattern_size, op.fill.pattern_size);
/* The operation sets all bytes of both, and one flag serves both. */
_Static_assert(sizeof(struct paccel_copy) <= sizeof(struct paccel_op) &&
		       sizeof(struct paccel_fill) <= sizeof(struct paccel_op) &&
		       (int)PACCEL_FILL_VERIFY == (int)PACCEL_COPY_VERIFY,
	       "an operation is a command");

/* At once or on a stream; without a sentence. */
static int operation_run(struct device *dev, struct stream *stream,
			 const struct paccel_op *op)
{
	union command cmd = { .op = *op };
	bool is_fill = op->op == PACCEL_OP_FILL;
	struct submitted done;

	if (stream)
		return stream_submit(stream, op, 1, &done);
	cmd.copy.size = is_fill ? sizeof(cmd.fill) : sizeof(cmd.copy);
	cmd.copy.flags = op->flags & PACCEL_OP_VERIFY ? PACCEL_COPY_VERIFY : 0;
	return device_ioctl(dev, is_fill ? PACCEL_IOC_FILL : PACCEL_IOC_COPY, &cmd);
}

static uint64_t wire_address(const struct operand *operand)
{
	return operand->dev ? device_address(operand->dev, operand->ptr) : operand->ptr;
}

uint32_t copy_direction(const struct copy *copy)
{
	const struct device *to = copy->dst.dev, *from = copy->src.dev;
	const struct device *dev = to ? to : from;

	if (!dev || (to && from && to != from) || (copy->pin_dev && dev != copy->pin_dev))
		return 0;
	if (to && from)
		return PACCEL_COPY_D2D;
	if (copy->pin_dev && !(to ? &copy->src : &copy->dst)->pinned)
		return 0;
	return to ? PACCEL_COPY_H2D : PACCEL_COPY_D2H;
}

void copy_operation(const struct copy *copy, uint32_t dir, struct paccel_op *op)
{
	op_init(op, PACCEL_OP_COPY);
	op->flags = copy->verify ? PACCEL_OP_VERIFY : 0;
	op->copy = (struct paccel_op_copy){
		.dir = dir,
		.dst = wire_address(&copy->dst),
		.src = wire_address(&copy->src),
		.width = copy->width,
		.rows = copy->rows,
		.dst_pitch = copy->dpitch,
		.src_pitch = copy->spitch,
	};
}

int copy_execute(struct device *dev, uint32_t dir, const struct copy *copy)
{
	struct paccel_op op;

	copy_operation(copy, dir, &op);
	return operation_run(dev, copy->stream, &op);
}

void fill_operation(const struct fill *fill, struct paccel_op *op)
{
	uint64_t pattern = 0;
	char *low = (char *)&pattern;

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	low += sizeof(pattern) - fill->pattern_size;
#endif
	memcpy(low, fill->pattern, fill->pattern_size);
	op_init(op, PACCEL_OP_FILL);
	op->flags = fill->verify ? PACCEL_OP_VERIFY : 0;
	op->fill = (struct paccel_op_fill){
		.addr = wire_address(&fill->memory),
		.length = fill->memory.size,
		.pattern = pattern,
		.pattern_size = (uint32_t)fill->pattern_size,
	};
}

int fill_transfer(const struct fill *fill, struct stream *stream)
{
	const struct operand *memory = &fill->memory;
	struct paccel_op op;
	int err;

	fill_operation(fill, &op);
	err = operation_run(memory->dev, stream, &op);
	if (err == -EFAULT)
		return fail(err, "ptr " ADDR " was freed by another thread", memory->ptr);
	return err ? operation_failed(memory->dev, stream, err) : 0;
}

/* ---- By the processor ---- */

/*
 * Pageable memory that is not there must be -EFAULT for the processor as it is for the device:
 * populating the pages is the check (in Linux since 5.14).
 */
static int host_touch(const struct operand *host, uintptr_t ptr, size_t size)
{
	uintptr_t offset;

	if (host->known)
		return 0;
	offset = ptr & ((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
	if (!madvise((void *)(ptr - offset), offset + size,
		     host->written ? MADV_POPULATE_WRITE : MADV_POPULATE_READ))
		return 0;
	return not_accessible(host, ptr, size);
}

int copy_rows(const struct copy *copy)
{
	int err = 0;

	for (size_t row = 0; row < copy->rows && !err; row++) {
		uintptr_t dst = copy->dst.ptr + row * copy->dpitch;
		uintptr_t src = copy->src.ptr + row * copy->spitch;

		err = host_touch(&copy->dst, dst, copy->width) ?:
		      host_touch(&copy->src, src, copy->width);
		if (!err)
			memmove((void *)dst, (const void *)src, copy->width);
	}
	return err;
}

/* ---- All ways ---- */

int copy_transfer(struct copy *copy)
{
	struct device *to = copy->dst.dev, *from = copy->src.dev, *dev = to ? to : from;
	const struct device *queue_dev = copy->stream ? copy->stream->dev : NULL;
	uint32_t dir = copy_direction(copy);
	bool done = false;
	int err = 0;

	if (dir) {
		err = copy_execute(dev, dir, copy);
		return err ? copy_failed(dev, err, copy) : 0;
	}
	if (to && from && (!queue_dev || from == queue_dev))
		err = copy_linked(copy, &done);
	else if (to && !from && to == queue_dev)
		err = copy_pageable(copy, &done);
	if (err || done)
		return err;
	if (copy->stream) {
		err = stream_settle(copy->stream, NEVER);
		copy->stream = NULL;
		copy->pin_dev = NULL;
		return err ? err : copy_transfer(copy);
	}
	if (dev)
		return copy_staged(copy);
	return copy->verify ? verify_by_processor() : copy_rows(copy);
}
