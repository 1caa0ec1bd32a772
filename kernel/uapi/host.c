// SPDX-License-Identifier: GPL-2.0-only
/* ioctls for host memory. */
#include <linux/uaccess.h>

#include "core/ctx.h"
#include "mem/host.h"
#include "mem/share.h"
#include "uapi/ucmd.h"

int paccel_ioctl_host_alloc(struct paccel_ucmd *ucmd)
{
	struct paccel_host_alloc *cmd = ucmd->cmd;
	struct paccel_ctx *ctx = ucmd->ctx;
	struct paccel_host *host;
	int ret;

	if (cmd->flags || !cmd->length || cmd->length > PACCEL_MAX_HOST_BYTES)
		return -EINVAL;
	host = paccel_host_alloc(ctx, cmd->length);
	if (IS_ERR(host))
		return PTR_ERR(host);
	cmd->offset = host->cookie.start << PAGE_SHIFT;
	ret = paccel_reply(ucmd);
	if (!ret)
		ret = paccel_host_publish(ctx, host);
	if (ret)
		paccel_host_discard(ctx, host);
	return ret;
}

static int host_register_check(const struct paccel_host_register *cmd)
{
	if (cmd->flags & ~(PACCEL_HOST_READ_ONLY | PACCEL_HOST_DMABUF) || cmd->reserved)
		return -EINVAL;
	if (cmd->fd && !(cmd->flags & PACCEL_HOST_DMABUF))
		return -EINVAL;
	/* Address 0 is invalid, since HOST_FREE with address 0 names memory by its offset. */
	if (!cmd->addr || !cmd->length || cmd->length > PACCEL_MAX_HOST_BYTES)
		return -EINVAL;
	if (cmd->addr + cmd->length - 1 < cmd->addr)
		return -EINVAL;
	return access_ok(u64_to_user_ptr(cmd->addr), cmd->length) ? 0 : -EFAULT;
}

int paccel_ioctl_host_register(struct paccel_ucmd *ucmd)
{
	struct paccel_host_register *cmd = ucmd->cmd;
	bool read_only = cmd->flags & PACCEL_HOST_READ_ONLY;
	int ret = host_register_check(cmd);

	if (ret)
		return ret;
	if (cmd->flags & PACCEL_HOST_DMABUF)
		return paccel_host_import(ucmd->ctx, cmd->addr, cmd->length, read_only, cmd->fd);
	return paccel_host_register(ucmd->ctx, cmd->addr, cmd->length, read_only);
}

int paccel_ioctl_host_free(struct paccel_ucmd *ucmd)
{
	struct paccel_host_free *cmd = ucmd->cmd;

	if (cmd->flags || !cmd->addr == !cmd->offset)
		return -EINVAL;
	return cmd->addr ? paccel_host_free(ucmd->ctx, cmd->addr) :
			   paccel_host_free_own(ucmd->ctx, cmd->offset);
}
