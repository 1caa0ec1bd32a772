/* SPDX-License-Identifier: MIT */
/*
 * Fills: of device memory by the device, of host memory by the processor.
 */
#define _GNU_SOURCE
#include "copy.h"
#include "state.h"
#include "stream.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The program maps registered memory, and may have made it read-only or unmapped it. */
static bool is_writable(const struct accel_pointer_info *info, void *ptr, size_t count)
{
	uintptr_t offset = (uintptr_t)ptr & ((uintptr_t)sysconf(_SC_PAGESIZE) - 1);

	return info->kind != ACCEL_MEMORY_REGISTERED ||
	       !madvise((char *)ptr - offset, offset + count, MADV_POPULATE_WRITE);
}

static aclError check(void *ptr, size_t max, size_t count, struct accel_pointer_info *info)
{
	aclError err = ptr ? check_size("count", count, "maxCount", max) : call_null("devPtr");

	if (err)
		return err;
	err = call_failed(accel_pointer_get_info(ptr, info));
	if (err || info->kind == ACCEL_MEMORY_DEVICE)
		return err;
	/* Of other host memory it is not known whether there is anything at all. */
	if (info->kind == ACCEL_MEMORY_PAGEABLE)
		return call_fail(ACL_ERROR_RT_INVALID_MEMORY_TYPE,
				 "devPtr %p is neither device memory nor host memory of "
				 "aclrtMallocHost()", ptr);
	/* Of a dma-buf that was registered there are only addresses. */
	if (!(info->flags & ACCEL_POINTER_ACCESSIBLE))
		return call_fail(ACL_ERROR_RT_INVALID_MEMORY_TYPE,
				 "devPtr %p is memory of another driver, which the processor cannot "
				 "access", ptr);
	if (count > info->size - ((uintptr_t)ptr - (uintptr_t)info->base))
		return call_fail(ACL_ERROR_RT_PARAM_INVALID,
				 "count is %zu: the allocation has %zu bytes from devPtr on", count,
				 info->size - ((uintptr_t)ptr - (uintptr_t)info->base));
	if (!is_writable(info, ptr, count))
		return call_fail(ACL_ERROR_RT_INVALID_MEMORY_TYPE,
				 "devPtr %p, %zu bytes, cannot be written: it is mapped read-only, or "
				 "was unmapped after aclrtHostRegisterV2()", ptr, count);
	return ACL_SUCCESS;
}

static aclError fill_device(const struct accel_pointer_info *info, void *ptr, int32_t value,
			    size_t count)
{
	struct device *device = device_with(info->device);
	aclError err;

	if (!device)
		return call_fail(ACL_ERROR_RT_PARAM_INVALID,
				 "devPtr %p is of a device that is not open by aclrtSetDevice()",
				 ptr);
	err = call_failed(accel_device_memory_set(device->dev, ptr, (unsigned char)value, count));
	device_put(device);
	return err;
}

aclError aclrtMemset(void *devPtr, size_t maxCount, int32_t value, size_t count)
{
	struct accel_pointer_info info;
	struct here here;
	aclError err = here_enter(__func__, &here);

	if (err)
		return err;
	err = check(devPtr, maxCount, count, &info);
	if (!err && info.kind == ACCEL_MEMORY_DEVICE)
		err = fill_device(&info, devPtr, value, count);
	else if (!err)
		memset(devPtr, value, count);
	here_leave(&here);
	return err;
}

static aclError queue(const struct on_stream *on, const struct accel_pointer_info *info, void *ptr,
		      int32_t value, size_t count)
{
	aclError err;

	if (info->kind == ACCEL_MEMORY_DEVICE)
		return call_failed(accel_async_device_memory_set(on->here.device->dev, on->stream,
								 ptr, (unsigned char)value, count));
	err = stream_told(on->stream, accel_stream_synchronize(on->stream));
	if (!err)
		memset(ptr, value, count);
	return err;
}

aclError aclrtMemsetAsync(void *devPtr, size_t maxCount, int32_t value, size_t count,
			  aclrtStream stream)
{
	struct accel_pointer_info info;
	struct on_stream on;
	aclError err = stream_enter(__func__, stream, &on);

	if (err)
		return err;
	err = check(devPtr, maxCount, count, &info);
	if (!err)
		err = queue(&on, &info, devPtr, value, count);
	stream_leave(&on);
	return err;
}
