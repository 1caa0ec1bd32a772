/* SPDX-License-Identifier: MIT */
/*
 * Bytes that one device moves, or the processor: complete on return, or on a stream. The driver takes
 * host memory of a stream's copies only where it is pinned already: what is not goes through the
 * stage, or waits for the stream and is complete on return.
 */
#define _GNU_SOURCE
#include "api.h"
#include "copy.h"
#include "device.h"
#include "error.h"
#include "operand.h"
#include "stage.h"
#include "stream.h"

#include <linux/paccel.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int not_accessible(const struct operand *host, uintptr_t ptr, size_t size)
{
	return fail(-EFAULT, "%s: host memory at " ADDR ", %zu bytes, cannot be %s", host->name,
		    ptr, size,
		    host->written ? "written: not mapped, read-only, or a dead registration"
				  : "read: not mapped, or a dead registration");
}

int verify_refused(const struct accel_device *dev)
{
	return fail(-EOPNOTSUPP,
		    "%s does not verify this: that needs ACCEL_CAP_VERIFY, and memory that not "
		    "only another driver can access",
		    dev->name);
}

int verify_by_processor(void)
{
	return fail(-EOPNOTSUPP, "no device takes part, only the processor: there is nothing that "
				 "could verify it");
}

int copy_failed(const struct accel_device *dev, int err, const struct copy *copy)
{
	const struct operand *host = copy->dst.dev ? &copy->src : &copy->dst;

	if (err == -EOPNOTSUPP)
		return verify_refused(dev);
	if (err != -EFAULT)
		return general_error(dev, err);
	if (!host->dev)
		return not_accessible(host, host->ptr, host->size);
	return fail(err, "dst " ADDR " or src " ADDR " was freed by another thread", copy->dst.ptr,
		    copy->src.ptr);
}

uint64_t wire_address(const struct operand *operand)
{
	return operand->dev ? device_address(operand->dev, operand->ptr) : operand->ptr;
}

int copy_ioctl(struct accel_device *dev, uint32_t dir, const struct copy *copy)
{
	struct paccel_copy cmd = {
		.size = sizeof(cmd),
		.flags = copy->verify ? PACCEL_COPY_VERIFY : 0,
		.dir = dir,
		.dst = wire_address(&copy->dst),
		.src = wire_address(&copy->src),
		.width = copy->width,
		.rows = copy->rows,
		.dst_pitch = copy->dpitch,
		.src_pitch = copy->spitch,
	};

	return device_ioctl(dev, PACCEL_IOC_COPY, &cmd);
}

int copy_submit(struct accel_device *dev, uint32_t dir, const struct copy *copy)
{
	int err = copy_ioctl(dev, dir, copy);

	return err ? copy_failed(dev, err, copy) : 0;
}

/*
 * Pageable memory that is not there must be -EFAULT for the processor as it is for the device:
 * populating the pages is the check (in Linux since 5.14).
 */
int host_touch(const struct operand *host, uintptr_t ptr, size_t size)
{
	uintptr_t first = ptr & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
	int advice = host->written ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;

	if (host->known || !madvise((void *)first, ptr - first + size, advice))
		return 0;
	return not_accessible(host, ptr, size);
}

int copy_host(const struct copy *copy)
{
	if (copy->verify)
		return verify_by_processor();
	for (size_t row = 0; row < copy->rows; row++) {
		uintptr_t dst = copy->dst.ptr + row * copy->dpitch;
		uintptr_t src = copy->src.ptr + row * copy->spitch;
		int err = host_touch(&copy->dst, dst, copy->width);

		if (!err)
			err = host_touch(&copy->src, src, copy->width);
		if (err)
			return err;
		memmove((void *)dst, (const void *)src, copy->width);
	}
	return 0;
}

/* ---- On a stream ---- */

uint32_t copy_direction(const struct copy *copy)
{
	const struct accel_device *to = copy->dst.dev, *from = copy->src.dev;

	if ((to && to != copy->pin_dev) || (from && from != copy->pin_dev))
		return 0;
	if (to && from)
		return PACCEL_COPY_D2D;
	if (to)
		return copy->src.pinned ? PACCEL_COPY_H2D : 0;
	return from && copy->dst.pinned ? PACCEL_COPY_D2H : 0;
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

static int queue_pinned(const struct copy *copy, uint32_t dir)
{
	struct submitted done;
	struct paccel_op op;
	int err;

	copy_operation(copy, dir, &op);
	err = stream_submit(copy->stream, &op, 1, &done);
	if (err == -EFAULT || err == -EOPNOTSUPP)
		return copy_failed(copy->stream->dev, err, copy);
	return err ? submit_error(copy->stream, err) : 0;
}

/* The rows, packed. */
static int stage_rows(const struct copy *copy, char *place)
{
	int err = 0;

	for (size_t row = 0; row < copy->rows && !err; row++) {
		uintptr_t src = copy->src.ptr + row * copy->spitch;

		err = host_touch(&copy->src, src, copy->width);
		if (!err)
			memcpy(place + row * copy->width, (const void *)src, copy->width);
	}
	return err;
}

/* Nothing is queued where there was no room for the bytes. */
static int queue_staged(const struct copy *copy, bool *queued)
{
	struct accel_device *dev = copy->stream->dev;
	struct submitted done = { .ticket = 0 };
	struct stage_piece *piece;
	struct copy staged = *copy;
	struct paccel_op op;
	void *place;
	int err;

	piece = stage_take(dev, copy->width * copy->rows, &place);
	*queued = piece;
	if (!piece)
		return 0;
	err = stage_rows(copy, place);
	if (!err) {
		staged.src.ptr = (uintptr_t)place;
		staged.spitch = copy->width;
		copy_operation(&staged, PACCEL_COPY_H2D, &op);
		err = stream_submit(copy->stream, &op, 1, &done);
		if (err == -EFAULT || err == -EOPNOTSUPP)
			err = copy_failed(dev, err, copy);
		else if (err)
			err = submit_error(copy->stream, err);
	}
	stage_give(dev, piece, done.ticket);
	return err;
}

static int after_stream(const struct copy *copy)
{
	return stream_settle(copy->stream, NEVER) ?: copy_now(copy);
}

int copy_queue(const struct copy *copy)
{
	const struct accel_device *dev = copy->stream->dev;
	uint32_t dir = copy_direction(copy);
	bool queued = false;
	int err = 0;

	if (dir)
		return queue_pinned(copy, dir);
	if (copy->dst.dev == dev && !copy->src.dev)
		err = queue_staged(copy, &queued);
	else if (copy->dst.dev && copy->src.dev == dev)
		err = copy_between_queue(copy, &queued);
	return err || queued ? err : after_stream(copy);
}

void fill_operation(const struct operand *memory, const struct pattern *pattern,
		    struct paccel_op *op)
{
	op_init(op, PACCEL_OP_FILL);
	op->flags = pattern->verify ? PACCEL_OP_VERIFY : 0;
	op->fill = (struct paccel_op_fill){
		.addr = wire_address(memory),
		.length = memory->size,
		.pattern = pattern->value,
		.pattern_size = pattern->size,
	};
}

int fill_queue(struct accel_stream *stream, const struct operand *memory,
	       const struct pattern *pattern)
{
	struct submitted done;
	struct paccel_op op;
	int err;

	fill_operation(memory, pattern, &op);
	err = stream_submit(stream, &op, 1, &done);
	if (err == -EFAULT || err == -EOPNOTSUPP)
		return fill_failed(stream->dev, err, memory);
	return err ? submit_error(stream, err) : 0;
}
