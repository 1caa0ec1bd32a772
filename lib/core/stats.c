/* SPDX-License-Identifier: MIT */
/*
 * Statistics of device memory. Each call asks the driver, so that it fails on a removed device.
 */
#include "api.h"
#include "device.h"
#include "error.h"

#include <linux/paccel.h>

static int query_stats(struct accel_device *handle, struct paccel_mem_stats *stats)
{
	struct device *dev;
	int err = device_get(handle, &dev);

	if (err)
		return err;
	*stats = (struct paccel_mem_stats){ .size = sizeof(*stats) };
	err = device_ioctl(dev, PACCEL_IOC_MEM_STATS, stats);
	return err ? general_error(dev, err) : 0;
}

int accel_device_memory_stats(struct accel_device *dev, size_t *total, size_t *free)
{
	KEEP_ERRNO;
	struct paccel_mem_stats stats;
	int err;

	if (!total || !free)
		return fail(-EINVAL, "%s is NULL", total ? "free" : "total");
	err = query_stats(dev, &stats);
	if (err)
		return err;
	*total = stats.total;
	*free = stats.free + stats.dirty;
	return 0;
}

int accel_memory_stats_full(struct accel_device *dev, struct accel_memory_stats *stats)
{
	KEEP_ERRNO;
	struct paccel_mem_stats cmd;
	int err;

	if (!stats)
		return fail(-EINVAL, "stats is NULL");
	err = query_stats(dev, &cmd);
	if (err)
		return err;
	*stats = (struct accel_memory_stats){
		.total = cmd.total,
		.used = cmd.used,
		.free = cmd.free,
		.dirty = cmd.dirty,
		.quarantined = cmd.quarantined,
		.mine = cmd.mine,
		.mine_allocs = cmd.mine_allocs,
		.user = cmd.user,
		.user_max = cmd.user_max,
		.largest_free = cmd.largest_free,
		.allocs = cmd.allocs,
		.alloc_failures = cmd.alloc_failures,
		.bytes_h2d = cmd.bytes_h2d,
		.bytes_d2h = cmd.bytes_d2h,
		.bytes_d2d = cmd.bytes_d2d,
		.bytes_filled = cmd.bytes_filled,
		.bytes_scrubbed = cmd.bytes_scrubbed,
		.transfers = cmd.xfers,
	};
	return 0;
}
