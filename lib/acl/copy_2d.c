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

/* A stream is of its device alone, as with aclrtMemcpyAsync(). */
static aclError check_stream(const struct on_stream *on, const struct rows *rows)
{
	struct accel_pointer_info info;
	aclError err = call_failed(accel_pointer_get_info(is_device_memory(rows->dst) ? rows->dst
										      : rows->src,
							  &info));

	if (err || info.device == on->here.device->dev)
		return err;
	return call_fail(ACL_ERROR_RT_PARAM_INVALID,
			 "stream is of device %d, the device memory is of another one",
			 on->here.device->id);
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
		err = check_stream(&on, &rows);
	if (!err)
		err = call_failed(accel_async_memory_copy_2d(on.stream, dst, dpitch, src, spitch,
							     width, height, 0));
	stream_leave(&on);
	return err;
}
