// SPDX-License-Identifier: GPL-2.0-only
/* ioctls DEVICE_INFO and RESET, and private ioctls of backends. */
#include <linux/capability.h>
#include <linux/device.h>
#include <linux/ktime.h>
#include <linux/pci.h>
#include <linux/string.h>

#include "core/ctx.h"
#include "core/device.h"
#include "exec/reset.h"
#include "include/paccel.h"
#include "mem/host.h"
#include "mem/pool.h"
#include "stream/stream.h"
#include "uapi/ucmd.h"

int paccel_ioctl_device_info(struct paccel_ucmd *ucmd)
{
	struct paccel_device_info *cmd = ucmd->cmd;
	struct paccel_device *pd = ucmd->ctx->pd;

	if (cmd->flags)
		return -EINVAL;
	*cmd = (struct paccel_device_info) {
		.size = cmd->size,
		.mem_base = PACCEL_MEM_BASE,
		.mem_size = pd->hw.info.mem_size,
		.granule = pd->hw.info.granule,
		.max_xfer = pd->hw.info.max_xfer,
		.max_align = PACCEL_MAX_ALIGN,
		.max_host_bytes = PACCEL_MAX_HOST_BYTES,
		.clock_ns = ktime_get_ns(),
		.caps = paccel_device_caps(pd),
		.max_host_ranges = PACCEL_MAX_HOST_RANGES,
		.engines = pd->hw.info.engines,
		.dma_bits = pd->hw.info.dma_bits,
		.max_streams = PACCEL_MAX_STREAMS,
		.max_ops = PACCEL_MAX_OPS,
		.max_queued = PACCEL_MAX_QUEUED,
		.max_points = PACCEL_MAX_POINTS,
		.max_queued_all = PACCEL_MAX_QUEUED_ALL,
		.copy_align = paccel_dma_align(pd),
	};
	static_assert(sizeof(cmd->backend) > PACCEL_BACKEND_NAME_MAX);
	strscpy(cmd->backend, pd->backend, sizeof(cmd->backend));
	strscpy(cmd->bus_addr, pd->bus_addr, sizeof(cmd->bus_addr));
	return paccel_reply(ucmd);
}

int paccel_ioctl_reset(struct paccel_ucmd *ucmd)
{
	struct paccel_reset *cmd = ucmd->cmd;
	struct device *dev = &ucmd->ctx->pd->hw.pdev->dev;
	int ret;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	if (cmd->flags)
		return -EINVAL;
	/* The PCI core holds this lock during its resets, which must not overlap with this one. */
	if (device_lock_interruptible(dev))
		return -ERESTARTNOINTR;
	/*
	 * PCI error recovery drops the lock between its steps, and ends with paccel_reset() itself.
	 */
	ret = pci_channel_offline(to_pci_dev(dev)) ? -EIO : paccel_reset(ucmd->ctx->pd);
	device_unlock(dev);
	return ret;
}

int paccel_ioctl_private(struct paccel_ucmd *ucmd)
{
	struct paccel_device *pd = ucmd->ctx->pd;
	int idx, ret;

	if (!paccel_enter(pd, &idx))
		return -ENODEV;
	ret = ucmd->private->execute(&pd->hw, ucmd->cmd);
	paccel_exit(idx);
	return ret ?: paccel_reply(ucmd);
}
