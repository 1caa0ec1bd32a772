// SPDX-License-Identifier: GPL-2.0-only
/* ioctls for device memory. */
#include <linux/dma-buf.h>
#include <linux/log2.h>

#include "core/ctx.h"
#include "core/device.h"
#include "mem/mem.h"
#include "mem/pool.h"
#include "mem/share.h"
#include "uapi/ucmd.h"

static int mem_alloc_check(const struct paccel_mem_alloc *cmd)
{
	if (cmd->flags & ~PACCEL_MEM_MAPPABLE)
		return -EINVAL;
	if (!cmd->length || cmd->align > PACCEL_MAX_ALIGN)
		return -EINVAL;
	if (cmd->align && !is_power_of_2(cmd->align))
		return -EINVAL;
	return 0;
}

/* Copies the reply to the caller, and then adds the memory to the context; drops it on failure. */
static int mem_reply(struct paccel_ucmd *ucmd, struct paccel_mem_ref *map)
{
	int ret = paccel_reply(ucmd);

	if (!ret)
		return paccel_mem_publish(ucmd->ctx, map);
	paccel_mem_drop(map);
	return ret;
}

int paccel_ioctl_mem_alloc(struct paccel_ucmd *ucmd)
{
	struct paccel_device *pd = ucmd->ctx->pd;
	struct paccel_mem_alloc *cmd = ucmd->cmd;
	struct paccel_mem_ref *map;
	int ret;

	ret = mem_alloc_check(cmd);
	if (ret)
		return ret;
	if ((cmd->flags & PACCEL_MEM_MAPPABLE) && !(paccel_device_caps(pd) & PACCEL_CAP_MAPPABLE))
		return -EOPNOTSUPP;
	map = paccel_mem_alloc(ucmd->ctx, cmd->length, cmd->align);
	ret = PTR_ERR_OR_ZERO(map);
	if (!ret) {
		cmd->addr = map->buf->start;
		ret = mem_reply(ucmd, map);
	}
	if (!ret)
		atomic64_inc(&pd->count.allocs);
	else if (ret == -ENOMEM || ret == -EDQUOT)
		atomic64_inc(&pd->count.alloc_failures);
	return ret;
}

int paccel_ioctl_mem_free(struct paccel_ucmd *ucmd)
{
	struct paccel_mem_free *cmd = ucmd->cmd;

	if (cmd->flags)
		return -EINVAL;
	return paccel_mem_free(ucmd->ctx, cmd->addr, cmd->length);
}

int paccel_ioctl_mem_stats(struct paccel_ucmd *ucmd)
{
	struct paccel_mem_stats *cmd = ucmd->cmd;
	struct paccel_ctx *ctx = ucmd->ctx;
	struct paccel_counters *count = &ctx->pd->count;

	if (cmd->flags)
		return -EINVAL;
	*cmd = (struct paccel_mem_stats) {
		.size = cmd->size,
		.allocs = atomic64_read(&count->allocs),
		.alloc_failures = atomic64_read(&count->alloc_failures),
		.bytes_h2d = atomic64_read(&count->bytes[PACCEL_JOB_H2D]),
		.bytes_d2h = atomic64_read(&count->bytes[PACCEL_JOB_D2H]),
		.bytes_d2d = atomic64_read(&count->bytes[PACCEL_JOB_D2D]),
		.bytes_filled = atomic64_read(&count->bytes[PACCEL_JOB_FILL]),
		.bytes_scrubbed = atomic64_read(&count->scrubbed),
		.xfers = atomic64_read(&count->xfers),
	};
	mutex_lock(&ctx->lock);
	cmd->mine = ctx->bytes;
	cmd->mine_allocs = ctx->nr_maps;
	paccel_pool_stats(ctx->pd, ctx->user, cmd);
	mutex_unlock(&ctx->lock);
	return paccel_reply(ucmd);
}

int paccel_ioctl_mem_export(struct paccel_ucmd *ucmd)
{
	struct paccel_mem_export *cmd = ucmd->cmd;
	struct dma_buf *dmabuf;

	if (cmd->flags)
		return -EINVAL;
	if (cmd->kind == PACCEL_EXPORT_DEVICE)
		dmabuf = paccel_mem_export(ucmd->ctx, cmd->addr);
	else if (cmd->kind == PACCEL_EXPORT_HOST)
		dmabuf = paccel_host_export(ucmd->ctx, cmd->addr);
	else
		return -EINVAL;
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	return paccel_reply_file(ucmd, &cmd->fd, dmabuf->file);
}

int paccel_ioctl_mem_import(struct paccel_ucmd *ucmd)
{
	struct paccel_mem_import *cmd = ucmd->cmd;
	struct paccel_mem_ref *map;

	if (cmd->flags || cmd->reserved)
		return -EINVAL;
	map = paccel_mem_import(ucmd->ctx, cmd->fd);
	if (IS_ERR(map))
		return PTR_ERR(map);
	cmd->addr = map->buf->start;
	cmd->length = map->buf->length;
	return mem_reply(ucmd, map);
}
