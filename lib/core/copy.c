/* SPDX-License-Identifier: MIT */
/*
 * Copies and fills: what the arguments mean, then one of the ways of transfer.c.
 */
#include "api.h"
#include "batch.h"
#include "copy.h"
#include "device.h"
#include "error.h"
#include "operand.h"
#include "stream.h"

#include <linux/paccel.h>
#include <string.h>

/* Unified memory is copied without its device, but not on behalf of one that is gone. */
static int unified_alive(const struct operand *operand)
{
	return operand->want == WANT_DEVICE && !operand->dev ? device_alive(operand->want_dev) : 0;
}

static int copy_resolve(struct copy *copy)
{
	int err = operand_check(&copy->dst) ?: operand_check(&copy->src);

	if (!err)
		err = operand_resolve(&copy->dst, copy->pin_dev) ?:
		      operand_resolve(&copy->src, copy->pin_dev);
	return err;
}

/*
 * Rows of equal pitch overlap if the distance of the operands is within a row's width of a multiple
 * of the pitch that is smaller than the whole; otherwise the whole ranges are compared.
 */
static bool rows_overlap(const struct copy *copy)
{
	uintptr_t dst = copy->dst.ptr, src = copy->src.ptr;
	uintptr_t distance = dst > src ? dst - src : src - dst;
	size_t pitch = copy->dpitch;

	if (copy->rows == 1 || pitch != copy->spitch)
		return distance < (dst > src ? copy->src.size : copy->dst.size);
	return (distance / pitch < copy->rows && distance % pitch < copy->width) ||
	       (distance / pitch + 1 < copy->rows && pitch - distance % pitch < copy->width);
}

static int check_overlap(const struct copy *copy)
{
	if (!rows_overlap(copy))
		return 0;
	return fail(-EINVAL, "dst " ADDR " and src " ADDR ", %zu bytes, overlap", copy->dst.ptr,
		    copy->src.ptr, copy->dst.size);
}

static int copy_dispatch( struct copy *copy)
{
	if (copy->batch)
		return batch_add_copy(copy);
	return copy_transfer(copy);
}

/* Host memory may overlap where a copy is plainly from host to host, as memmove() allows it. */
static bool may_overlap(const struct copy *copy)
{
	bool device_copy = copy->dst.want == WANT_DEVICE && copy->src.want == WANT_DEVICE;

	return !copy->dst.dev && !copy->src.dev && !device_copy && copy->rows == 1;
}

int copy_run(struct copy *copy)
{
	int err = copy_resolve(copy);

	if (!err && !may_overlap(copy))
		err = check_overlap(copy);
	if (!err)
		err = unified_alive(&copy->dst) ?: unified_alive(&copy->src);
	if (!err)
		err = copy_dispatch(copy);
	if (copy->dst.dev)
		device_drop(copy->dst.dev);
	if (copy->src.dev)
		device_drop(copy->src.dev);
	return err;
}

struct copy copy_make(void *dst, const void *src, size_t size)
{
	return (struct copy){
		.dst = { .name = "dst", .ptr = (uintptr_t)dst, .size = size, .written = true },
		.src = { .name = "src", .ptr = (uintptr_t)src, .size = size },
		.width = size,
		.rows = 1,
	};
}

static void want_device(struct operand *operand, struct accel_device *dev)
{
	operand->want = WANT_DEVICE;
	operand->want_dev = dev;
}

/* A copy by a stream of one of its devices, or complete on return without a stream. */
static int run_on(struct copy *copy, struct accel_stream *stream)
{
	if (stream) {
		copy->stream = stream;
		copy->pin_dev = stream->dev;
	}
	return copy_run(copy);
}

static int check_on(const struct accel_device *dev, const struct accel_stream *stream)
{
	int err = device_check(dev);

	return err || !stream ? err : stream_check_of(stream, dev);
}

int accel_async_memory_copy_h2d(struct accel_device *dev, struct accel_stream *stream, void *dst,
				const void *src, size_t size)
{
	KEEP_ERRNO;
	struct copy copy = copy_make(dst, src, size);
	int err = check_on(dev, stream);

	want_device(&copy.dst, dev);
	copy.src.want = WANT_HOST;
	return err ? err : run_on(&copy, stream);
}

int accel_async_memory_copy_d2h(struct accel_device *dev, struct accel_stream *stream, void *dst,
				const void *src, size_t size)
{
	KEEP_ERRNO;
	struct copy copy = copy_make(dst, src, size);
	int err = check_on(dev, stream);

	copy.dst.want = WANT_HOST;
	want_device(&copy.src, dev);
	return err ? err : run_on(&copy, stream);
}

int accel_async_memory_copy_d2d(struct accel_device *dev, struct accel_stream *stream, void *dst,
				const void *src, size_t size)
{
	return accel_async_memory_copy_p2p(dev, dev, stream, dst, src, size);
}

/* The stream may be of either device. */
static int check_on_one(const struct accel_device *dst_dev, const struct accel_device *src_dev,
			const struct accel_stream *stream)
{
	int err = device_check(dst_dev) ?: device_check(src_dev);

	if (err || !stream)
		return err;
	err = stream_check(stream);
	if (err)
		return err;
	return stream_check_of(stream, stream->dev == src_dev ? src_dev : dst_dev);
}

int accel_async_memory_copy_p2p(struct accel_device *dst_dev, struct accel_device *src_dev,
				struct accel_stream *stream, void *dst, const void *src,
				size_t size)
{
	KEEP_ERRNO;
	struct copy copy = copy_make(dst, src, size);
	int err = check_on_one(dst_dev, src_dev, stream);

	want_device(&copy.dst, dst_dev);
	want_device(&copy.src, src_dev);
	return err ? err : run_on(&copy, stream);
}

int accel_memory_copy_h2d(struct accel_device *dev, void *dst, const void *src, size_t size)
{
	return accel_async_memory_copy_h2d(dev, NULL, dst, src, size);
}

int accel_memory_copy_d2h(struct accel_device *dev, void *dst, const void *src, size_t size)
{
	return accel_async_memory_copy_d2h(dev, NULL, dst, src, size);
}

int accel_memory_copy_d2d(struct accel_device *dev, void *dst, const void *src, size_t size)
{
	return accel_async_memory_copy_p2p(dev, dev, NULL, dst, src, size);
}

int accel_memory_copy_p2p(struct accel_device *dst_dev, struct accel_device *src_dev, void *dst,
			  const void *src, size_t size)
{
	return accel_async_memory_copy_p2p(dst_dev, src_dev, NULL, dst, src, size);
}

int copy_any(struct accel_stream *stream, void *dst, const void *src, size_t size)
{
	struct copy copy = copy_make(dst, src, size);
	int err = stream ? stream_check(stream) : 0;

	return err ? err : run_on(&copy, stream);
}

int accel_memory_copy(void *dst, const void *src, size_t size)
{
	KEEP_ERRNO;
	struct copy copy = copy_make(dst, src, size);

	return copy_run(&copy);
}

/* The bytes from the first row's start to the last row's end. */
static int rows_span(const char *pitch_name, size_t pitch, size_t width, size_t rows, size_t *span)
{
	if (pitch < width && !(rows == 1 && !pitch))
		return fail(-EINVAL, "%s is %zu: it has to be at least the width, %zu", pitch_name,
			    pitch, width);
	if (__builtin_mul_overflow(pitch, rows - 1, span) ||
	    __builtin_add_overflow(*span, width, span))
		return fail(-EINVAL, "%s %zu times %zu rows is larger than the address space",
			    pitch_name, pitch, rows);
	return 0;
}

static int check_flags(unsigned int flags)
{
	return flags & ~ACCEL_VERIFY ? fail(-EINVAL, "flags is %#x: 0 or ACCEL_VERIFY (%#x)", flags,
					    ACCEL_VERIFY)
				     : 0;
}

int copy_make_2d(struct copy *copy, void *dst, size_t dpitch, const void *src, size_t spitch,
		 size_t width, size_t rows, unsigned int flags)
{
	int err = check_flags(flags);

	if (err)
		return err;
	if (!width || !rows)
		return fail(-EINVAL, "%s is 0: it has to be at least 1", width ? "rows" : "width");
	*copy = copy_make(dst, src, width);
	copy->dpitch = dpitch;
	copy->spitch = spitch;
	copy->rows = rows;
	copy->verify = flags & ACCEL_VERIFY;
	return rows_span("dpitch", dpitch, width, rows, &copy->dst.size) ?:
	       rows_span("spitch", spitch, width, rows, &copy->src.size);
}

int accel_async_memory_copy_2d(struct accel_stream *stream, void *dst, size_t dpitch,
			       const void *src, size_t spitch, size_t width, size_t rows,
			       unsigned int flags)
{
	KEEP_ERRNO;
	struct copy copy;
	int err = stream ? stream_check(stream) : 0;

	if (!err)
		err = copy_make_2d(&copy, dst, dpitch, src, spitch, width, rows, flags);
	return err ? err : run_on(&copy, stream);
}

int accel_memory_copy_2d(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
			 size_t rows)
{
	return accel_async_memory_copy_2d(NULL, dst, dpitch, src, spitch, width, rows, 0);
}

/* ---- Fills ---- */

int pattern_make(struct pattern *pattern, const void *bytes, size_t pattern_size, size_t size,
		 unsigned int flags)
{
	int err = check_flags(flags);

	if (err)
		return err;
	if (!bytes)
		return fail(-EINVAL, "pattern is NULL");
	if (!pattern_size || pattern_size > 8 || pattern_size & (pattern_size - 1))
		return fail(-EINVAL, "pattern_size is %zu: 1, 2, 4 and 8 bytes can be repeated",
			    pattern_size);
	if (size % pattern_size)
		return fail(-EINVAL, "size is %zu: it has to be a multiple of pattern_size, %zu",
			    size, pattern_size);
	*pattern = (struct pattern){ .size = (uint32_t)pattern_size,
				     .verify = flags & ACCEL_VERIFY };
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	memcpy(&pattern->value, bytes, pattern_size);
#else
	memcpy((char *)&pattern->value + 8 - pattern_size, bytes, pattern_size);
#endif
	return 0;
}

/* What is written already is the source of as much again: few calls, whatever the size. */
static void fill_bytes(char *to, size_t size, const void *bytes, size_t pattern_size)
{
	size_t done = pattern_size;

	memcpy(to, bytes, pattern_size);
	while (done < size) {
		size_t more = size - done < done ? size - done : done;

		memcpy(to + done, to, more);
		done += more;
	}
}

/* Unified memory is the processor's to fill, after what the stream has to do with it. */
static int fill_host(const struct operand *memory, struct accel_stream *stream,
		     const struct pattern *pattern, const void *bytes)
{
	int err = pattern->verify ? verify_by_processor() : unified_alive(memory);

	if (!err && stream)
		err = stream_settle(stream, NEVER);
	if (!err)
		fill_bytes((char *)memory->ptr, memory->size, bytes, pattern->size);
	return err;
}

static int fill_resolved(struct operand *memory, struct accel_stream *stream,
		    const struct pattern *pattern, const void *bytes)
{
	int err = operand_resolve(memory, NULL);

	if (err)
		return err;
	if (!memory->dev)
		return fill_host(memory, stream, pattern, bytes);
	err = fill_run(stream, memory, pattern);
	device_drop(memory->dev);
	return err;
}

int accel_async_device_memory_fill(struct accel_device *dev, struct accel_stream *stream, void *ptr,
				   const void *pattern, size_t pattern_size, size_t size,
				   unsigned int flags)
{
	KEEP_ERRNO;
	struct operand memory = {
		.name = "ptr", .ptr = (uintptr_t)ptr, .size = size, .written = true
	};
	struct pattern made;
	int err = check_on(dev, stream) ?: operand_check(&memory) ?:
		  pattern_make(&made, pattern, pattern_size, size, flags);

	want_device(&memory, dev);
	return err ? err : fill_resolved(&memory, stream, &made, pattern);
}

int accel_device_memory_fill(struct accel_device *dev, void *ptr, const void *pattern,
			     size_t pattern_size, size_t size, unsigned int flags)
{
	return accel_async_device_memory_fill(dev, NULL, ptr, pattern, pattern_size, size, flags);
}

int accel_async_device_memory_set(struct accel_device *dev, struct accel_stream *stream, void *ptr,
				  unsigned char value, size_t size)
{
	return accel_async_device_memory_fill(dev, stream, ptr, &value, 1, size, 0);
}

int accel_device_memory_set(struct accel_device *dev, void *ptr, unsigned char value, size_t size)
{
	return accel_async_device_memory_set(dev, NULL, ptr, value, size);
}
