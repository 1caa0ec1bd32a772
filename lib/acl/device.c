/* SPDX-License-Identifier: MIT */
/*
 * Devices: which one a thread uses, and waiting for one.
 */
#include "memory.h"
#include "report.h"
#include "state.h"
#include "stream.h"

#include <limits.h>

aclError aclrtGetRunMode(aclrtRunMode *runMode)
{
	call_begin(__func__);
	if (!runMode)
		return call_null("runMode");
	*runMode = ACL_HOST;
	return ACL_SUCCESS;
}

aclError aclrtGetDeviceCount(uint32_t *count)
{
	int found;

	call_begin(__func__);
	if (!count)
		return call_null("count");
	found = accel_device_count();
	*count = found < 0 ? 0 : (uint32_t)found;
	return call_failed(found < 0 ? found : 0);
}

/* False if another thread is about to reset it. */
static bool set_device(struct device *device)
{
	bool is_open;

	state_lock();
	is_open = device->state == DEVICE_OPEN;
	if (is_open) {
		device->sets++;
		context_use(device->context);
	}
	state_unlock();
	device_put(device);
	return is_open;
}

aclError aclrtSetDevice(int32_t deviceId)
{
	aclError err = call_enter(__func__);
	struct device *device;

	/* One that is being reset is opened anew, when that is done. */
	do {
		err = err ? err : device_open(deviceId, &device);
	} while (!err && !set_device(device));
	return err;
}

aclError aclrtResetDevice(int32_t deviceId)
{
	aclError err = call_enter(__func__);

	return err ? err : device_reset(deviceId, false);
}

aclError aclrtResetDeviceForce(int32_t deviceId)
{
	aclError err = call_enter(__func__);

	return err ? err : device_reset(deviceId, true);
}

aclError aclrtGetDevice(int32_t *deviceId)
{
	struct here here;
	aclError err = here_enter(__func__, &here);

	if (err)
		return err;
	if (deviceId)
		*deviceId = here.device->id;
	else
		err = call_null("deviceId");
	here_leave(&here);
	return err;
}

/* Without a timeout streams that were destroyed are waited for, too. */
static aclError synchronize(const char *name, int32_t timeout)
{
	struct here here;
	aclError err = here_enter(name, &here);

	if (err)
		return err;
	if (timeout < -1 || !timeout)
		err = call_fail(ACL_ERROR_RT_PARAM_INVALID,
				"timeout is %d: -1 for ever, or milliseconds", timeout);
	else if (timeout == -1)
		err = device_synchronize(here.device);
	else
		err = reports_check(here.device, NULL, NULL) ?:
		      streams_wait(here.device, deadline_after(timeout));
	here_leave(&here);
	return err;
}

aclError aclrtSynchronizeDevice(void)
{
	return synchronize(__func__, -1);
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout)
{
	return synchronize(__func__, timeout);
}

/* Percent, so that some is never none. */
static int32_t share(uint64_t part, uint64_t whole)
{
	return whole ? (int32_t)((part * 100 + whole - 1) / whole) : 0;
}

aclError aclrtGetDeviceUtilizationRate(int32_t deviceId, aclrtUtilizationInfo *utilizationInfo)
{
	aclError err = call_enter(__func__);
	struct accel_memory_stats stats;
	struct device *device;

	if (err)
		return err;
	if (!utilizationInfo)
		return call_null("utilizationInfo");
	if (utilizationInfo->utilizationExtend)
		return call_fail(ACL_ERROR_RT_PARAM_INVALID,
				 "utilizationInfo: its field utilizationExtend has to be NULL");
	err = device_open(deviceId, &device);
	if (err)
		return err;
	err = call_failed(accel_memory_stats_full(device->dev, &stats));
	device_put(device);
	if (err)
		return err;
	*utilizationInfo = (aclrtUtilizationInfo){
		.cubeUtilization = DEVICE_UTILIZATION_NOT_SUPPORT,
		.vectorUtilization = DEVICE_UTILIZATION_NOT_SUPPORT,
		.aicpuUtilization = DEVICE_UTILIZATION_NOT_SUPPORT,
		.memoryUtilization = share(stats.used, stats.total),
	};
	return ACL_SUCCESS;
}

/* ---- Memory ---- */

/* What pages the attribute speaks of; 0 if it is none. */
static size_t page_of(aclrtMemAttr attr)
{
	switch (attr) {
	case ACL_DDR_MEM:
	case ACL_HBM_MEM:
	case ACL_DDR_MEM_NORMAL:
	case ACL_HBM_MEM_NORMAL:
	case ACL_DDR_MEM_P2P_NORMAL:
	case ACL_HBM_MEM_P2P_NORMAL:
		return 1;
	case ACL_DDR_MEM_HUGE:
	case ACL_HBM_MEM_HUGE:
	case ACL_DDR_MEM_P2P_HUGE:
	case ACL_HBM_MEM_P2P_HUGE:
		return HUGE_PAGE;
	case ACL_HBM_MEM_HUGE1G:
	case ACL_HBM_MEM_P2P_HUGE1G:
		return HUGE_1G_PAGE;
	}
	return 0;
}

static aclError get_mem_info(const struct device *device, size_t page, size_t *free, size_t *total)
{
	aclError err = call_failed(accel_device_memory_stats(device->dev, total, free));

	*free = err ? 0 : *free / page * page;
	*total = err ? 0 : *total / page * page;
	return err;
}

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t *free, size_t *total)
{
	struct here here;
	aclError err = here_enter(__func__, &here);

	if (err)
		return err;
	if (!free)
		err = call_null("free");
	else if (!total)
		err = call_null("total");
	else if (!page_of(attr))
		err = call_fail(ACL_ERROR_RT_PARAM_INVALID, "attr is %d: 0 to %d are known",
				(int)attr, ACL_HBM_MEM_P2P_HUGE1G);
	else
		err = get_mem_info(here.device, page_of(attr), free, total);
	here_leave(&here);
	return err;
}
