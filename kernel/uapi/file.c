// SPDX-License-Identifier: GPL-2.0-only
/* File operations, and the dispatcher of ioctls with the checks that all ioctls share. */
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/nospec.h>
#include <linux/poll.h>
#include <linux/seq_file.h>
#include <linux/uaccess.h>

#include "core/ctx.h"
#include "core/device.h"
#include "exec/reset.h"
#include "include/paccel.h"
#include "mem/host.h"
#include "mem/map.h"
#include "mem/mem.h"
#include "stream/stream.h"
#include "uapi/file.h"
#include "uapi/ucmd.h"

static int paccel_open(struct inode *inode, struct file *filp)
{
	struct paccel_device *pd = container_of(inode->i_cdev, struct paccel_device, cdev);
	struct paccel_ctx *ctx;

	if (paccel_gone(pd))
		return -ENODEV;
	ctx = paccel_ctx_open(pd);
	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	filp->private_data = ctx;
	filp->f_mapping = pd->inode->i_mapping;
	return nonseekable_open(inode, filp);
}

static int paccel_release(struct inode *inode, struct file *filp)
{
	paccel_ctx_close(filp->private_data);
	return 0;
}

static __poll_t paccel_poll(struct file *filp, poll_table *wait)
{
	struct paccel_ctx *ctx = filp->private_data;
	__poll_t mask = 0;

	poll_wait(filp, &ctx->wait, wait);
	spin_lock(&ctx->work_lock);
	if (ctx->completions != ctx->seen)
		mask |= EPOLLIN | EPOLLRDNORM;
	spin_unlock(&ctx->work_lock);
	if (paccel_gone(ctx->pd))
		mask |= EPOLLHUP;
	if (READ_ONCE(ctx->lost))
		mask |= EPOLLERR;
	return mask;
}

/* Access check of calls that are reserved for the process that opened the file, for writing. */
static int ctx_check_access(struct file *filp, struct paccel_ctx *ctx)
{
	if (!(filp->f_mode & FMODE_WRITE))
		return -EACCES;
	if (current->mm != ctx->mm)
		return -EPERM;
	if (READ_ONCE(ctx->lost))
		return -ESTALE;
	return 0;
}

static int paccel_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct paccel_ctx *ctx = filp->private_data;
	int ret;

	if (paccel_gone(ctx->pd))
		return -ENODEV;
	ret = ctx_check_access(filp, ctx);
	if (ret)
		return ret;
	if (paccel_map_owns_vma(vma))
		return paccel_map_mmap(ctx, vma);
	if (vma->vm_pgoff == PACCEL_PAGE_COOKIE)
		return paccel_page_mmap(ctx, vma);
	return paccel_host_mmap(ctx, vma);
}

/* Limit for the size of a caller's struct, whose unknown part is searched for non-zero bytes. */
#define PACCEL_MAX_STRUCT 4096
/* Largest struct of this version of the uAPI, and of a backend. */
#define PACCEL_MAX_CMD PACCEL_MAX_PRIVATE

/**
 * struct paccel_ioctl - one ioctl
 * @cmd: its number, which is compared as a whole
 * @size: size of its struct in this version of the uAPI
 * @min_size: size up to the last field of the struct's first version
 * @anyone: also for other processes, files opened read-only and lost contexts
 * @execute: the handler; @cmd->cmd is a kernel copy
 */
struct paccel_ioctl {
	unsigned int cmd;
	u32 size;
	u32 min_size;
	bool anyone;
	int (*execute)(struct paccel_ucmd *ucmd);
};

#define PACCEL_IOCTL(_NAME, _name, _last, _anyone)					\
	[PACCEL_NR_##_NAME] = {								\
		.cmd = PACCEL_IOC_##_NAME,						\
		.size = sizeof(struct paccel_##_name) +					\
			BUILD_BUG_ON_ZERO(sizeof(struct paccel_##_name) > PACCEL_MAX_CMD),	\
		.min_size = offsetofend(struct paccel_##_name, _last),			\
		.anyone = _anyone,							\
		.execute = paccel_ioctl_##_name,					\
	}

static const struct paccel_ioctl paccel_ioctls[] = {
	PACCEL_IOCTL(DEVICE_INFO, device_info, copy_align, true),
	PACCEL_IOCTL(MEM_ALLOC, mem_alloc, addr, false),
	PACCEL_IOCTL(MEM_FREE, mem_free, length, false),
	PACCEL_IOCTL(MEM_STATS, mem_stats, xfers, true),
	PACCEL_IOCTL(MEM_EXPORT, mem_export, fd, false),
	PACCEL_IOCTL(MEM_IMPORT, mem_import, length, false),
	PACCEL_IOCTL(HOST_ALLOC, host_alloc, offset, false),
	PACCEL_IOCTL(HOST_REGISTER, host_register, reserved, false),
	PACCEL_IOCTL(HOST_FREE, host_free, offset, false),
	PACCEL_IOCTL(COPY, copy, src_pitch, false),
	PACCEL_IOCTL(FILL, fill, reserved, false),
	PACCEL_IOCTL(STREAM_CREATE, stream_create, page_offset, false),
	PACCEL_IOCTL(STREAM_DESTROY, stream_destroy, reserved, false),
	PACCEL_IOCTL(STREAM_CLEAR, stream_clear, failed_point, false),
	PACCEL_IOCTL(SUBMIT, submit, point, false),
	PACCEL_IOCTL(WAIT, wait, reserved, false),
	PACCEL_IOCTL(FENCE_EXPORT, fence_export, point, false),
	PACCEL_IOCTL(RESET, reset, flags, false),
};

/* Looks up a private ioctl of the backend. */
static int ioctl_find_private(struct paccel_ucmd *ucmd, unsigned int cmd,
			      struct paccel_ioctl *found)
{
	const struct paccel_hw_ioctl *private;
	int idx, ret = -ENOTTY;

	if (!paccel_enter(ucmd->ctx->pd, &idx))
		return -ENODEV;
	for (private = ucmd->ctx->pd->ops->ioctls; private && private->execute; private++) {
		if (private->cmd != cmd)
			continue;
		ucmd->private = private;
		*found = (struct paccel_ioctl) {
			.cmd = cmd,
			.size = private->size,
			.min_size = private->min_size,
			.execute = paccel_ioctl_private,
		};
		ret = 0;
		break;
	}
	paccel_exit(idx);
	return ret;
}

static int ioctl_find(struct paccel_ucmd *ucmd, unsigned int cmd, struct paccel_ioctl *found)
{
	unsigned int nr = _IOC_NR(cmd);

	if (nr >= PACCEL_NR_PRIVATE)
		return ioctl_find_private(ucmd, cmd, found);
	if (nr >= ARRAY_SIZE(paccel_ioctls))
		return -ENOTTY;
	nr = array_index_nospec(nr, ARRAY_SIZE(paccel_ioctls));
	if (!paccel_ioctls[nr].execute || paccel_ioctls[nr].cmd != cmd)
		return -ENOTTY;
	*found = paccel_ioctls[nr];
	return 0;
}

static long paccel_unlocked_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct paccel_ioctl ioctl;
	u64 buf[PACCEL_MAX_CMD / sizeof(u64)];
	struct paccel_ucmd ucmd = {
		.ctx = filp->private_data,
		.user = (void __user *)arg,
		.cmd = buf,
	};
	int ret;

	if (paccel_gone(ucmd.ctx->pd))
		return -ENODEV;
	ret = ioctl_find(&ucmd, cmd, &ioctl);
	if (ret)
		return ret;
	ret = ioctl.anyone ? 0 : ctx_check_access(filp, ucmd.ctx);
	if (ret)
		return ret;

	if (get_user(ucmd.user_size, (u32 __user *)ucmd.user))
		return -EFAULT;
	if (ucmd.user_size < ioctl.min_size)
		return -EINVAL;
	if (ucmd.user_size > PACCEL_MAX_STRUCT)
		return -E2BIG;
	ucmd.size = ioctl.size;
	ret = copy_struct_from_user(ucmd.cmd, ucmd.size, ucmd.user, ucmd.user_size);
	if (ret)
		return ret;
	/* copy_struct_from_user() may have blocked, and the device been unbound meanwhile. */
	if (paccel_gone(ucmd.ctx->pd))
		return -ENODEV;
	return ioctl.execute(&ucmd);
}

/* Keys as in Documentation/gpu/drm-usage-stats.rst, which existing tools parse; sizes in bytes. */
static void paccel_show_fdinfo(struct seq_file *m, struct file *filp)
{
	struct paccel_ctx *ctx = filp->private_data;
	const atomic64_t *bytes = ctx->usage.bytes;
	u64 memory, host;

	mutex_lock(&ctx->lock);
	memory = ctx->bytes;
	host = ctx->host_bytes;
	mutex_unlock(&ctx->lock);
	seq_puts(m, "drm-driver:\tpaccel\n");
	seq_printf(m, "drm-client-id:\t%llu\n", ctx->id);
	seq_printf(m, "drm-pdev:\t%s\n", ctx->pd->bus_addr);
	seq_printf(m, "drm-engine-dma:\t%lld ns\n", atomic64_read(&ctx->usage.engine_ns));
	seq_printf(m, "drm-engine-capacity-dma:\t%u\n", ctx->pd->hw.info.engines);
	seq_printf(m, "drm-total-device:\t%llu\n", memory);
	seq_printf(m, "drm-resident-device:\t%llu\n", memory);
	seq_printf(m, "drm-total-host:\t%llu\n", host);
	seq_printf(m, "paccel-bytes-h2d:\t%lld\n", atomic64_read(&bytes[PACCEL_JOB_H2D]));
	seq_printf(m, "paccel-bytes-d2h:\t%lld\n", atomic64_read(&bytes[PACCEL_JOB_D2H]));
	seq_printf(m, "paccel-bytes-d2d:\t%lld\n", atomic64_read(&bytes[PACCEL_JOB_D2D]));
	seq_printf(m, "paccel-bytes-filled:\t%lld\n", atomic64_read(&bytes[PACCEL_JOB_FILL]));
}

const struct file_operations paccel_fops = {
	.owner = THIS_MODULE,
	.open = paccel_open,
	.release = paccel_release,
	.unlocked_ioctl = paccel_unlocked_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = paccel_mmap,
	.poll = paccel_poll,
	.show_fdinfo = paccel_show_fdinfo,
};
