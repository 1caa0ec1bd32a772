/* SPDX-License-Identifier: MIT */
/*
 * Copies of rows, between host and device.
 */
#include "private.h"

struct rows {
	char *dst;
	size_t dpitch;
	const char *src;
	size_t spitch;
	size_t width, height;
};

static aclError check_shape(const struct rows *rows)
{
	if (!rows->dst)
		return call_null("dst");
	if (!rows->src)
		return call_null("src");
	if (!rows->width)
		return call_fail(ACL_ERROR_INVALID_PARAM, "width is 0: at least 1 byte");
	if (!rows->height)
		return call_fail(ACL_ERROR_INVALID_PARAM, "height is 0: at least 1 row");
	if (rows->dpitch < rows->width)
		return call_fail(ACL_ERROR_RT_PARAM_INVALID, "dpitch is %zu: width is %zu",
				 rows->dpitch, rows->width);
	if (rows->spitch < rows->width)
		return call_fail(ACL_ERROR_RT_PARAM_INVALID, "spitch is %zu: width is %zu",
				 rows->spitch, rows->width);
	return ACL_SUCCESS;
}

static aclError check(const struct rows *rows, aclrtMemcpyKind kind)
{
	aclError err = check_shape(rows);

	if (err)
		return err;
	if (kind != ACL_MEMCPY_HOST_TO_DEVICE && kind != ACL_MEMCPY_DEVICE_TO_HOST &&
	    kind != ACL_MEMCPY_DEFAULT)
		return call_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
				 "kind is %d: %d (to device), %d (to host) and %d are supported",
				 (int)kind, ACL_MEMCPY_HOST_TO_DEVICE, ACL_MEMCPY_DEVICE_TO_HOST,
				 ACL_MEMCPY_DEFAULT);
	if (is_device_memory(rows->dst) == is_device_memory(rows->src))
		return call_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
				 "dst and src are both %s memory: only copies between the two are "
				 "supported", is_device_memory(rows->dst) ? "device" : "host");
	return ACL_SUCCESS;
}

aclError aclrtMemcpy2d(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
		       size_t height, aclrtMemcpyKind kind)
{
	const struct rows rows = { dst, dpitch, src, spitch, width, height };
	struct here here;
	aclError err = here_enter(__func__, &here);

	if (err)
		return err;
	err = check(&rows, kind);
	if (!err)
		err = call_failed(accel_memory_copy_2d(dst, dpitch, src, spitch, width, height));
	here_leave(&here);
	return err;
}

/* ---- On a stream ---- */

/* Of one device row by row, as many with one system call as a batch takes. */
static int fill_batch(struct accel_batch *batch, const struct rows *rows, size_t *row)
{
	int err = 0;

	for (; !err && *row < rows->height; *row += !err)
		err = accel_batch_copy(batch, rows->dst + *row * rows->dpitch,
				       rows->src + *row * rows->spitch, rows->width);
	return err;
}

static int queue_rows(const struct on_stream *on, const struct rows *rows)
{
	struct accel_batch *batch;
	size_t row = 0, before;
	int err = accel_batch_create(on->here.card->dev, &batch);

	if (err)
		return err;
	do {
		before = row;
		err = fill_batch(batch, rows, &row);
		if (!err || (err == -E2BIG && row > before))
			err = accel_batch_submit(batch, on->stream, NULL);
	} while (!err && row < rows->height);
	accel_batch_destroy(batch);
	return err;
}

/* Row by row they could go on in the next allocation. */
static aclError check_inside(const char *name, const char *ptr, size_t pitch,
			     const struct rows *rows)
{
	struct accel_pointer_info info;
	aclError err = call_failed(accel_pointer_info(ptr, &info));
	size_t left, whole;

	if (err)
		return err;
	left = info.size - (size_t)(ptr - (char *)info.base);
	if (!__builtin_mul_overflow(rows->height - 1, pitch, &whole) && whole < left &&
	    rows->width <= left - whole)
		return ACL_SUCCESS;
	return call_fail(ACL_ERROR_RT_PARAM_INVALID,
			 "%s %p has %zu bytes in its allocation: too few for %zu rows with pitch "
			 "%zu", name, (const void *)ptr, left, rows->height, pitch);
}

/* All of it lies in page-locked memory of the card: a batch takes no other. */
static bool is_locked(const struct on_stream *on, const struct rows *rows)
{
	const char *host = is_device_memory(rows->dst) ? rows->src : rows->dst;
	struct accel_pointer_info info;

	return !accel_pointer_info(host, &info) && info.device == on->here.card->dev;
}

static aclError queue(const struct on_stream *on, const struct rows *rows)
{
	aclError err;

	if (is_locked(on, rows)) {
		err = check_inside("dst", rows->dst, rows->dpitch, rows);
		err = err ? err : check_inside("src", rows->src, rows->spitch, rows);
		return err ? err : call_failed(queue_rows(on, rows));
	}
	/* With other memory a copy is complete on return, after what was queued before. */
	err = stream_told(on->stream, accel_stream_synchronize(on->stream));
	return err ? err : call_failed(accel_memory_copy_2d(rows->dst, rows->dpitch, rows->src,
							    rows->spitch, rows->width,
							    rows->height));
}

aclError aclrtMemcpy2dAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
			    size_t height, aclrtMemcpyKind kind, aclrtStream stream)
{
	const struct rows rows = { dst, dpitch, src, spitch, width, height };
	struct on_stream on;
	aclError err = stream_enter(__func__, stream, &on);

	if (err)
		return err;
	err = check(&rows, kind);
	if (!err)
		err = queue(&on, &rows);
	stream_leave(&on);
	return err;
}
