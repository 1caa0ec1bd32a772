/* SPDX-License-Identifier: MIT */
/*
 * Host memory that is page-locked: allocated, or the program's own; and what an address is.
 */
#include "allocation.h"
#include "memory.h"
#include "state.h"
#include "stream.h"

#include <unistd.h>

/* ---- Allocation ---- */

static aclError allocate_host(const char *name, void **ptr, size_t size,
			      const aclrtMallocConfig *cfg, const char *argument)
{
	struct here here;
	aclError err = here_enter(name, &here);

	if (ptr)
		*ptr = NULL;
	if (err)
		return err;
	if (!ptr)
		err = call_null(argument);
	else if (!size)
		err = call_fail(ACL_ERROR_INVALID_PARAM, "size is 0: at least 1 byte");
	else
		err = config_check(cfg, true);
	if (!err)
		err = call_failed_for(accel_host_memory_allocate(here.device->dev, ptr, size),
				      ACL_ERROR_RT_MEMORY_ALLOCATION);
	if (!err)
		err = allocation_keep(here.device, ACCEL_MEMORY_HOST, *ptr, size);
	if (err && ptr)
		*ptr = NULL;
	here_leave(&here);
	return err;
}

aclError aclrtMallocHost(void **hostPtr, size_t size)
{
	return allocate_host(__func__, hostPtr, size, NULL, "hostPtr");
}

aclError aclrtMallocHostWithCfg(void **ptr, uint64_t size, aclrtMallocConfig *cfg)
{
	return allocate_host(__func__, ptr, (size_t)size, cfg, "ptr");
}

static aclError free_host(const char *name, void *ptr, bool wait)
{
	aclError err = call_enter(name);
	struct accel_pointer_info info;
	struct device *device;

	if (!err)
		err = memory_enter(ptr, ACCEL_MEMORY_HOST, "hostPtr", &info, &device);
	if (err)
		return err;
	if (wait)
		err = device_synchronize(device);
	if (!err)
		err = call_failed(allocation_free(device, ACCEL_MEMORY_HOST, ptr, info.size));
	device_put(device);
	return err;
}

aclError aclrtFreeHost(void *hostPtr)
{
	return free_host(__func__, hostPtr, false);
}

aclError aclrtFreeHostWithDevSync(void *hostPtr)
{
	return free_host(__func__, hostPtr, true);
}

/* ---- The program's own ---- */

aclError aclrtHostRegister(void *ptr, uint64_t size, aclrtHostRegisterType type, void **devPtr)
{
	aclError err = call_enter(__func__);

	(void)ptr;
	(void)size;
	(void)type;
	if (devPtr)
		*devPtr = NULL;
	return err ? err : call_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
				     "the device cannot map host memory; aclrtHostRegisterV2() "
				     "with ACL_HOST_REG_PINNED locks it for copies");
}

static aclError check_registration(const void *ptr, uint64_t size, uint32_t flag)
{
	if (!ptr)
		return call_null("ptr");
	if (!size)
		return call_fail(ACL_ERROR_INVALID_PARAM, "size is 0: at least 1 byte");
	if (flag & ACL_HOST_REG_MAPPED)
		return call_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
				 "flag has ACL_HOST_REG_MAPPED: the device cannot map host memory");
	if (flag != ACL_HOST_REG_PINNED)
		return call_fail(ACL_ERROR_RT_PARAM_INVALID,
				 "flag is %#x: ACL_HOST_REG_PINNED (%#lx) is known", flag,
				 ACL_HOST_REG_PINNED);
	return ACL_SUCCESS;
}

aclError aclrtHostRegisterV2(void *ptr, uint64_t size, uint32_t flag)
{
	struct here here;
	aclError err = here_enter(__func__, &here);

	if (err)
		return err;
	err = check_registration(ptr, size, flag);
	if (!err)
		err = call_failed_for(accel_host_register(here.device->dev, ptr, (size_t)size, 0),
				      ACL_ERROR_RT_MEMORY_ALLOCATION);
	if (!err)
		err = allocation_keep(here.device, ACCEL_MEMORY_REGISTERED, ptr, (size_t)size);
	here_leave(&here);
	return err;
}

static aclError why_not_registered(const void *ptr)
{
	struct accel_pointer_info info;
	struct device *device;
	aclError err = memory_enter(ptr, ACCEL_MEMORY_REGISTERED, "ptr", &info, &device);

	if (err)
		return err;
	device_put(device);
	return call_fail(ACL_ERROR_RT_PARAM_INVALID, "ptr %p: another thread has just registered it",
			 ptr);
}

/* What lies there for one device may be part of a range, or other memory, for another. */
aclError aclrtHostUnregister(void *ptr)
{
	aclError code = call_enter(__func__);
	int at = 0, err = -ENOENT;
	struct device *device;

	if (code)
		return code;
	if (!ptr)
		return call_null("ptr");
	while (err == -ENOENT && (device = device_next(&at))) {
		err = allocation_free(device, ACCEL_MEMORY_REGISTERED, ptr, 0);
		device_put(device);
	}
	return err == -ENOENT ? why_not_registered(ptr) : call_failed(err);
}

/* ---- Addresses ---- */

static aclError describe(const struct accel_pointer_info *info, aclrtPtrAttributes *attributes)
{
	aclrtPtrAttributes found = {
		.location = { 0, ACL_MEM_LOCATION_TYPE_UNREGISTERED },
		.pageSize = (uint32_t)sysconf(_SC_PAGESIZE),
	};
	struct device *device = device_with(info->device);
	struct accel_device_info device_info;
	aclError err = ACL_SUCCESS;

	if (device) {
		found.location.id = (uint32_t)device->id;
		found.location.type = ACL_MEM_LOCATION_TYPE_HOST;
	}
	if (device && info->kind == ACCEL_MEMORY_DEVICE) {
		err = call_failed(accel_device_get_info(device->dev, &device_info));
		found.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
		found.pageSize = err ? 0 : (uint32_t)device_info.granule;
	}
	if (device)
		device_put(device);
	if (!err)
		*attributes = found;
	return err;
}

aclError aclrtPointerGetAttributes(const void *ptr, aclrtPtrAttributes *attributes)
{
	aclError err = call_enter(__func__);
	struct accel_pointer_info info;

	if (err)
		return err;
	if (!ptr)
		return call_null("ptr");
	if (!attributes)
		return call_null("attributes");
	err = call_failed(accel_pointer_get_info(ptr, &info));
	return err ? err : describe(&info, attributes);
}
