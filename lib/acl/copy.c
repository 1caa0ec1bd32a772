/* SPDX-License-Identifier: MIT */
/*
 * Copies of one range. The addresses say which way; what the program says is only checked.
 */
#include "private.h"

bool is_device_memory(const void *ptr)
{
	struct accel_pointer_info info;

	/* What was freed was device memory. */
	return accel_pointer_get_info(ptr, &info) || info.kind == ACCEL_MEMORY_DEVICE;
}

aclError check_size(const char *count_name, size_t count, const char *max_name, size_t max)
{
	if (!count)
		return call_fail(ACL_ERROR_INVALID_PARAM, "%s is 0: at least 1 byte", count_name);
	if (count > max)
		return call_fail(ACL_ERROR_RT_PARAM_INVALID, "%s is %zu: %s allows %zu", count_name,
				 count, max_name, max);
	return ACL_SUCCESS;
}

static aclError check(const void *dst, size_t max, const void *src, size_t count,
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

/* ---- Between two devices ---- */

/* The device that has the memory, counted; NULL for everything but device memory. */
static struct device *device_of_memory(const void *ptr)
{
	struct accel_pointer_info info;

	if (accel_pointer_get_info(ptr, &info) || info.kind != ACCEL_MEMORY_DEVICE)
		return NULL;
	return device_with(info.device);
}

static bool may_copy(const struct device *a, const struct device *b)
{
	bool may;

	state_lock();
	may = (a->peers >> b->id | b->peers >> a->id) & 1;
	state_unlock();
	return may;
}

struct devices {
	struct device *dst, *src; /* NULL for host memory */
};

static void devices_put(const struct devices *devices)
{
	if (devices->dst)
		device_put(devices->dst);
	if (devices->src)
		device_put(devices->src);
}

/* Both stay open until devices_put(). */
static aclError devices_enter(struct devices *devices, const void *dst, const void *src)
{
	*devices = (struct devices){ device_of_memory(dst), device_of_memory(src) };
	if (!devices->dst || !devices->src || devices->dst == devices->src ||
	    may_copy(devices->dst, devices->src))
		return ACL_SUCCESS;
	call_fail(0, "dst is memory of device %d and src of device %d: "
		  "aclrtDeviceEnablePeerAccess() comes first", devices->dst->id, devices->src->id);
	devices_put(devices);
	return ACL_ERROR_RT_PARAM_INVALID;
}

/* ---- At once ---- */

aclError memcpy_now(const struct here *here, void *dst, size_t max, const void *src, size_t count,
		    aclrtMemcpyKind kind)
{
	aclError err = check(dst, max, src, count, kind);
	struct devices devices = { NULL, NULL };

	/* Of one that is opened later there can be no address yet. */
	if (!err && !here->is_alone)
		err = devices_enter(&devices, dst, src);
	if (err)
		return err;
	err = call_failed(accel_memory_copy(dst, src, count));
	devices_put(&devices);
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

static int queue_between(const struct on_stream *on, const struct devices *devices, void *dst,
			 const void *src, size_t count)
{
	return accel_async_memory_copy_p2p(devices->dst->dev, devices->src->dev, on->stream, dst,
					   src, count);
}

static int queue(const struct on_stream *on, const struct devices *devices, void *dst,
		 const void *src, size_t count)
{
	struct accel_device *dev = on->here.device->dev;

	if (devices->dst && devices->src && devices->dst != devices->src)
		return queue_between(on, devices, dst, src, count);
	if (is_device_memory(dst) && is_device_memory(src))
		return accel_async_memory_copy_d2d(dev, on->stream, dst, src, count);
	if (is_device_memory(dst))
		return accel_async_memory_copy_h2d(dev, on->stream, dst, src, count);
	return accel_async_memory_copy_d2h(dev, on->stream, dst, src, count);
}

aclError memcpy_queue(const struct on_stream *on, void *dst, size_t max, const void *src,
		    size_t count, aclrtMemcpyKind kind)
{
	aclError err = check(dst, max, src, count, kind);
	struct devices devices;

	if (!err && kind == ACL_MEMCPY_HOST_TO_HOST)
		err = call_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
				"kind is ACL_MEMCPY_HOST_TO_HOST: no device would copy");
	if (!err && !is_device_memory(dst) && !is_device_memory(src))
		err = call_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
				"dst and src are host memory: no device would copy");
	if (!err)
		err = devices_enter(&devices, dst, src);
	if (err)
		return err;
	err = call_failed(queue(on, &devices, dst, src, count));
	devices_put(&devices);
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
