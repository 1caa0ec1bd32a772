/* SPDX-License-Identifier: MIT */
/*
 * The three ways in which bytes move: by one card, between two cards through host memory, by the
 * processor.
 */
#define _GNU_SOURCE
#include "private.h"

#include <linux/paccel.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STAGE_BYTES ((size_t)1 << 20)

static size_t min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

static int not_accessible(const struct operand *host, uintptr_t ptr, size_t size)
{
	return fail(-EFAULT, "%s: host memory at " ADDR ", %zu bytes, cannot be %s", host->name,
		    ptr, size,
		    host->written ? "written: not mapped, read-only, or a dead registration"
				  : "read: not mapped, or a dead registration");
}

int copy_failed(const struct accel_device *dev, int err, const struct copy *copy)
{
	const struct operand *host = copy->dst.dev ? &copy->src : &copy->dst;

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

int copy_submit(struct accel_device *dev, uint32_t dir, const struct copy *copy)
{
	struct paccel_copy cmd = {
		.size = sizeof(cmd),
		.dir = dir,
		.dst = wire_address(&copy->dst),
		.src = wire_address(&copy->src),
		.width = copy->width,
		.rows = copy->rows,
		.dst_pitch = copy->dpitch,
		.src_pitch = copy->spitch,
	};
	int err = device_ioctl(dev, PACCEL_IOC_COPY, &cmd);

	return err ? copy_failed(dev, err, copy) : 0;
}

/* One block of a copy, with its rows packed in the buffer. */
static int stage_block(const struct copy *whole, size_t row, size_t column, size_t rows,
		       size_t width, void *buffer)
{
	struct copy out = *whole, in = *whole;
	int err;

	out.src.ptr += row * whole->spitch + column;
	in.dst.ptr += row * whole->dpitch + column;
	out.dst = in.src = (struct operand){ "buffer", (uintptr_t)buffer, .size = rows * width };
	out.dpitch = in.spitch = width;
	out.rows = in.rows = rows;
	out.width = in.width = width;
	err = copy_submit(out.src.dev, PACCEL_COPY_D2H, &out);
	return err ? err : copy_submit(in.dst.dev, PACCEL_COPY_H2D, &in);
}

int copy_staged(const struct copy *copy)
{
	size_t width = min_size(copy->width, STAGE_BYTES);
	size_t rows = min_size(copy->rows, STAGE_BYTES / width);
	void *buffer = malloc(width * rows);
	int err = buffer ? 0 : fail(-ENOMEM, "out of memory");

	for (size_t row = 0; row < copy->rows && !err; row += rows)
		for (size_t column = 0; column < copy->width && !err; column += width)
			err = stage_block(copy, row, column, min_size(rows, copy->rows - row),
					  min_size(width, copy->width - column), buffer);
	free(buffer);
	return err;
}

/*
 * Pageable memory that is not there must be -EFAULT for the processor as it is for the card:
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
