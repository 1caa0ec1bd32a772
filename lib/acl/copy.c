/* SPDX-License-Identifier: MIT */
/*
 * Copies, of one range or of rows. The addresses say which way, and libaccel looks at them; the kind
 * is only checked.
 */
#include "copy.h"
#include "state.h"
#include "stream.h"

aclError check_size(const char *count_name, size_t count, const char *max_name, size_t max)
{
	if (!count)
		return call_fail(ACL_ERROR_INVALID_PARAM, "%s is 0: at least 1 byte", count_name);
	if (count > max)
		return call_fail(ACL_ERROR_RT_PARAM_INVALID, "%s is %zu: %s allows %zu", count_name,
				 count, max_name, max);
	return ACL_SUCCESS;
}

static aclError check_range(const void *dst, size_t max, const void *src, size_t count,
			    aclrtMemcpyKind kind)
{
	if (!dst)
		return call_null("dst");
	if (!src)
		return call_null("src");
	if ((unsigned int)kind > ACL_MEMCPY_INTER_DEVICE_TO_DEVICE)
		return call_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "kind is %d: 0 to %d are known",
				 (int)kind, ACL_MEMCPY_INTER_DEVICE_TO_DEVICE);
	return check_size("count", count, "destMax", max);
}

/* ---- Whose memory it is ---- */

struct operand {
	bool is_device;
	struct device *device; /* that is open here and has the memory, counted */
};

static aclError operand_enter(struct operand *operand, const void *ptr)
{
	struct accel_pointer_info info;
	int err = accel_pointer_get_info(ptr, &info);

	*operand = (struct operand){ false, NULL };
	if (err)
		return call_failed(err);
	operand->is_device = info.kind == ACCEL_MEMORY_DEVICE;
	if (operand->is_device)
		operand->device = device_with(info.device);
	return ACL_SUCCESS;
}

struct operands {
	struct operand dst, src;
};

static void operands_leave(const struct operands *operands)
{
	if (operands->dst.device)
		device_put(operands->dst.device);
	if (operands->src.device)
		device_put(operands->src.device);
}

static aclError check_peers(const struct device *dst, const struct device *src)
{
	bool may;

	if (!dst || !src || dst == src)
		return ACL_SUCCESS;
	state_lock();
	may = (dst->peers >> src->id | src->peers >> dst->id) & 1;
	state_unlock();
	return may ? ACL_SUCCESS :
		     call_fail(ACL_ERROR_RT_PARAM_INVALID,
			       "dst is memory of device %d and src of device %d: "
			       "aclrtDeviceEnablePeerAccess() comes first", dst->id, src->id);
}

/* The devices stay open until operands_leave(). */
static aclError operands_enter(struct operands *operands, const void *dst, const void *src)
{
	aclError err = operand_enter(&operands->dst, dst);

	operands->src = (struct operand){ false, NULL };
	if (!err)
		err = operand_enter(&operands->src, src);
	if (!err)
		err = check_peers(operands->dst.device, operands->src.device);
	if (err)
		operands_leave(operands);
	return err;
}

/* ---- At once ---- */

aclError memcpy_now(const struct here *here, void *dst, size_t max, const void *src, size_t count,
		    aclrtMemcpyKind kind)
{
	aclError err = check_range(dst, max, src, count, kind);
	struct operands operands = { { false, NULL }, { false, NULL } };

	/* Of one that is opened later there can be no address yet. */
	if (!err && !here->is_alone)
		err = operands_enter(&operands, dst, src);
	if (err)
		return err;
	err = call_failed(accel_memory_copy(dst, src, count));
	operands_leave(&operands);
	return err;
}

aclError aclrtMemcpy(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind)
{
	struct here here;
	aclError err = here_enter(__func__, &here);

	if (err)
		return err;
	err = memcpy_now(&here, dst, destMax, src, count, kind);
	here_leave(&here);
	return err;
}

/* ---- On a stream ---- */

struct rows {
	void *dst;
	size_t dpitch;
	const void *src;
	size_t spitch;
	size_t width, height;
};

/* A stream is of its device alone. */
static aclError rows_queue(const struct on_stream *on, const struct operands *operands,
			   const struct rows *rows)
{
	const struct device *device = on->here.device;

	if (operands->dst.device != device && operands->src.device != device)
		return call_fail(ACL_ERROR_RT_PARAM_INVALID,
				 "stream is of device %d, the device memory is of another one",
				 device->id);
	return call_failed(accel_async_memory_copy_2d(on->stream, rows->dst, rows->dpitch,
						      rows->src, rows->spitch, rows->width,
						      rows->height, 0));
}

aclError memcpy_queue(const struct on_stream *on, void *dst, size_t max, const void *src,
		      size_t count, aclrtMemcpyKind kind)
{
	const struct rows row = { dst, count, src, count, count, 1 };
	aclError err = check_range(dst, max, src, count, kind);
	struct operands operands;

	if (!err && kind == ACL_MEMCPY_HOST_TO_HOST)
		err = call_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
				"kind is ACL_MEMCPY_HOST_TO_HOST: no device would copy");
	if (!err)
		err = operands_enter(&operands, dst, src);
	if (err)
		return err;
	if (!operands.dst.is_device && !operands.src.is_device)
		err = call_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
				"dst and src are host memory: no device would copy");
	else
		err = rows_queue(on, &operands, &row);
	operands_leave(&operands);
	/* The program has its memory back on return. */
	if (!err && kind == ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE)
		err = stream_told(on->stream, accel_stream_synchronize(on->stream));
	return err;
}

aclError aclrtMemcpyAsync(void *dst, size_t destMax, const void *src, size_t count,
			  aclrtMemcpyKind kind, aclrtStream stream)
{
	struct on_stream on;
	aclError err = stream_enter(__func__, stream, &on);

	if (err)
		return err;
	err = memcpy_queue(&on, dst, destMax, src, count, kind);
	stream_leave(&on);
	return err;
}

static bool is_pageable(const void *ptr)
{
	struct accel_pointer_info info;

	return !accel_pointer_get_info(ptr, &info) && info.kind == ACCEL_MEMORY_PAGEABLE;
}

aclError aclrtMemcpyAsyncWithCondition(void *dst, size_t destMax, const void *src, size_t count,
				       aclrtMemcpyKind kind, aclrtStream stream)
{
	struct on_stream on;
	aclError err = stream_enter(__func__, stream, &on);

	if (err)
		return err;
	err = memcpy_queue(&on, dst, destMax, src, count, kind);
	if (!err && (is_pageable(dst) || is_pageable(src)))
		err = stream_told(on.stream, accel_stream_synchronize(on.stream));
	stream_leave(&on);
	return err;
}

/* ---- Rows, between host and device ---- */

static aclError check_shape(const struct rows *rows, aclrtMemcpyKind kind)
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
	if (kind != ACL_MEMCPY_HOST_TO_DEVICE && kind != ACL_MEMCPY_DEVICE_TO_HOST &&
	    kind != ACL_MEMCPY_DEFAULT)
		return call_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
				 "kind is %d: %d (to device), %d (to host) and %d are supported",
				 (int)kind, ACL_MEMCPY_HOST_TO_DEVICE, ACL_MEMCPY_DEVICE_TO_HOST,
				 ACL_MEMCPY_DEFAULT);
	return ACL_SUCCESS;
}

static aclError rows_enter(const struct rows *rows, aclrtMemcpyKind kind, struct operands *operands)
{
	aclError err = check_shape(rows, kind);

	if (!err)
		err = operands_enter(operands, rows->dst, rows->src);
	if (err || operands->dst.is_device != operands->src.is_device)
		return err;
	operands_leave(operands);
	return call_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
			 "dst and src are both %s memory: only copies between the two are supported",
			 operands->dst.is_device ? "device" : "host");
}

aclError aclrtMemcpy2d(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
		       size_t height, aclrtMemcpyKind kind)
{
	const struct rows rows = { dst, dpitch, src, spitch, width, height };
	struct operands operands;
	struct here here;
	aclError err = here_enter(__func__, &here);

	if (err)
		return err;
	err = rows_enter(&rows, kind, &operands);
	if (!err) {
		err = call_failed(accel_memory_copy_2d(dst, dpitch, src, spitch, width, height));
		operands_leave(&operands);
	}
	here_leave(&here);
	return err;
}

aclError aclrtMemcpy2dAsync(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
			    size_t height, aclrtMemcpyKind kind, aclrtStream stream)
{
	const struct rows rows = { dst, dpitch, src, spitch, width, height };
	struct operands operands;
	struct on_stream on;
	aclError err = stream_enter(__func__, stream, &on);

	if (err)
		return err;
	err = rows_enter(&rows, kind, &operands);
	if (!err) {
		err = rows_queue(&on, &operands, &rows);
		operands_leave(&operands);
	}
	stream_leave(&on);
	return err;
}
