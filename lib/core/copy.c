/* SPDX-License-Identifier: MIT */
/*
 * Copies and fills: what the arguments mean, then one of the ways of transfer.c.
 */
#include "api.h"
#include "copy.h"
#include "device.h"
#include "error.h"
#include "operand.h"
#include "stream.h"

#include <string.h>

/* Unified memory is copied without its device, but not on behalf of one that is gone. */
static int unified_alive(const struct operand *operand)
{
	return operand->want_dev && !operand->dev ? device_alive(operand->want_dev) : 0;
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

/* Host memory may overlap where a copy is plainly from host to host, as memmove() allows it. */
static bool may_overlap(const struct copy *copy)
{
	bool device_copy = copy->dst.want_dev && copy->src.want_dev;

	return !copy->dst.dev && !copy->src.dev && !device_copy && copy->rows == 1;
}

static int check_overlap(const struct copy *copy)
{
	if (may_overlap(copy) || !rows_overlap(copy))
		return 0;
	return fail(-EINVAL, "dst " ADDR " and src " ADDR ", %zu bytes, overlap", copy->dst.ptr,
		    copy->src.ptr, copy->dst.size);
}

int copy_begin(struct copy *copy)
{
	struct operand *dst = &copy->dst, *src = &copy->src;

	return operand_check(dst) ?: operand_check(src) ?:
	       operand_resolve(dst, copy->pin_dev) ?: operand_resolve(src, copy->pin_dev) ?:
	       check_overlap(copy) ?: unified_alive(dst) ?: unified_alive(src);
}

void copy_end(const struct copy *copy)
{
	if (copy->dst.dev)
		device_drop(copy->dst.dev);
	if (copy->src.dev)
		device_drop(copy->src.dev);
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

/* By a stream of one of its devices, or complete on return without a stream. */
static int copy_run(struct copy *copy, struct stream *stream)
{
	int err;

	copy->stream = stream;
	copy->pin_dev = stream ? stream->dev : NULL;
	err = copy_begin(copy) ?: copy_transfer(copy);
	copy_end(copy);
	return err;
}

/* NULL stays NULL. */
static int get_stream(const struct accel_stream *handle, struct stream **stream)
{
	*stream = NULL;
	return handle ? stream_get(handle, stream) : 0;
}

static int check_stream(const struct stream *stream, const struct device *dev)
{
	return stream ? stream_check_of(stream, dev) : 0;
}

/* Memory of a device each, or of the host where that is NULL. The stream may be of either device. */
static int copy_typed(struct device *dst_dev, struct device *src_dev,
		      const struct accel_stream *handle, void *dst, const void *src, size_t size)
{
	KEEP_ERRNO;
	struct copy copy = copy_make(dst, src, size);
	struct stream *stream;
	int err = get_stream(handle, &stream);
	bool by_source = !dst_dev || (stream && stream->dev == src_dev);

	if (!err)
		err = check_stream(stream, by_source ? src_dev : dst_dev);
	copy.dst.want_dev = dst_dev;
	copy.dst.want_host = !dst_dev;
	copy.src.want_dev = src_dev;
	copy.src.want_host = !src_dev;
	return err ? err : copy_run(&copy, stream);
}

int accel_async_memory_copy_h2d(struct accel_device *handle, struct accel_stream *stream, void *dst,
				const void *src, size_t size)
{
	struct device *dev;

	return device_get(handle, &dev) ?: copy_typed(dev, NULL, stream, dst, src, size);
}

int accel_async_memory_copy_d2h(struct accel_device *handle, struct accel_stream *stream, void *dst,
				const void *src, size_t size)
{
	struct device *dev;

	return device_get(handle, &dev) ?: copy_typed(NULL, dev, stream, dst, src, size);
}

int accel_async_memory_copy_d2d(struct accel_device *dev, struct accel_stream *stream, void *dst,
				const void *src, size_t size)
{
	return accel_async_memory_copy_p2p(dev, dev, stream, dst, src, size);
}

int accel_async_memory_copy_p2p(struct accel_device *dst_handle, struct accel_device *src_handle,
				struct accel_stream *stream, void *dst, const void *src,
				size_t size)
{
	struct device *dst_dev, *src_dev;

	return device_get(dst_handle, &dst_dev) ?: device_get(src_handle, &src_dev) ?:
	       copy_typed(dst_dev, src_dev, stream, dst, src, size);
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

int copy_any(struct accel_stream *handle, void *dst, const void *src, size_t size)
{
	struct copy copy = copy_make(dst, src, size);
	struct stream *stream;
	int err = get_stream(handle, &stream);

	return err ? err : copy_run(&copy, stream);
}

int accel_memory_copy(void *dst, const void *src, size_t size)
{
	KEEP_ERRNO;

	return copy_any(NULL, dst, src, size);
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

int accel_async_memory_copy_2d(struct accel_stream *handle, void *dst, size_t dpitch,
			       const void *src, size_t spitch, size_t width, size_t rows,
			       unsigned int flags)
{
	KEEP_ERRNO;
	struct stream *stream;
	struct copy copy;
	int err = get_stream(handle, &stream);

	if (!err)
		err = copy_make_2d(&copy, dst, dpitch, src, spitch, width, rows, flags);
	return err ? err : copy_run(&copy, stream);
}

int accel_memory_copy_2d(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
			 size_t rows)
{
	return accel_async_memory_copy_2d(NULL, dst, dpitch, src, spitch, width, rows, 0);
}

/* ---- Fills ---- */

int fill_make(struct fill *fill, struct device *dev, void *ptr, const void *pattern,
	      size_t pattern_size, size_t size, unsigned int flags)
{
	int err;

	*fill = (struct fill){
		.memory = { .name = "ptr", .ptr = (uintptr_t)ptr, .size = size,
			    .want_dev = dev, .written = true },
		.pattern = pattern,
		.pattern_size = pattern_size,
		.verify = flags & ACCEL_VERIFY,
	};
	err = operand_check(&fill->memory) ?: check_flags(flags);
	if (err)
		return err;
	if (!pattern)
		return fail(-EINVAL, "pattern is NULL");
	if (!pattern_size || pattern_size > 8 || pattern_size & (pattern_size - 1))
		return fail(-EINVAL, "pattern_size is %zu: 1, 2, 4 and 8 bytes can be repeated",
			    pattern_size);
	if (size % pattern_size)
		return fail(-EINVAL, "size is %zu: it has to be a multiple of pattern_size, %zu",
			    size, pattern_size);
	return 0;
}

/* What is written already is the source of as much again: few calls, whatever the size. */
static void fill_bytes(const struct fill *fill)
{
	char *to = (char *)fill->memory.ptr;
	size_t size = fill->memory.size, done = fill->pattern_size;

	memcpy(to, fill->pattern, done);
	while (done < size) {
		size_t more = size - done < done ? size - done : done;

		memcpy(to + done, to, more);
		done += more;
	}
}

/* Unified memory is the processor's to fill, after what the stream has to do with it. */
static int fill_host(const struct fill *fill, struct stream *stream)
{
	int err = fill->verify ? verify_by_processor() : unified_alive(&fill->memory);

	if (!err && stream)
		err = stream_settle(stream, NEVER);
	if (!err)
		fill_bytes(fill);
	return err;
}

static int fill_run(struct fill *fill, struct stream *stream)
{
	int err = operand_resolve(&fill->memory, NULL);

	if (err)
		return err;
	if (!fill->memory.dev)
		return fill_host(fill, stream);
	err = fill_transfer(fill, stream);
	device_drop(fill->memory.dev);
	return err;
}

int accel_async_device_memory_fill(struct accel_device *dev_handle,
				   struct accel_stream *stream_handle, void *ptr,
				   const void *pattern, size_t pattern_size, size_t size,
				   unsigned int flags)
{
	KEEP_ERRNO;
	struct device *dev;
	struct stream *stream;
	struct fill fill;
	int err = device_get(dev_handle, &dev) ?: get_stream(stream_handle, &stream) ?:
		  check_stream(stream, dev) ?: fill_make(&fill, dev, ptr, pattern, pattern_size, size, flags);

	return err ? err : fill_run(&fill, stream);
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
