/* SPDX-License-Identifier: GPL-2.0-only */
/* Dispatch of ioctls: the command in progress, and its handlers. */
#ifndef PACCEL_UCMD_H
#define PACCEL_UCMD_H

#include <linux/types.h>

struct file;
struct paccel_ctx;
struct paccel_hw_ioctl;

#define PACCEL_MAX_OPS		1024	/* of one SUBMIT */
#define PACCEL_MAX_POINTS	128	/* of one WAIT */

/**
 * struct paccel_ucmd - an ioctl in progress
 * @ctx: context of the file
 * @user: struct of the caller
 * @user_size: size of the struct of the caller, which may be smaller or larger than @size
 * @size: size of the struct in this version of the uAPI
 * @cmd: kernel copy of the struct, @size bytes
 * @private: for a private ioctl: valid only in a paccel_enter() section
 */
struct paccel_ucmd {
	struct paccel_ctx *ctx;
	void __user *user;
	u32 user_size;
	u32 size;
	void *cmd;
	const struct paccel_hw_ioctl *private;
};

/*
 * Copies the struct back to the caller. Called directly before the new object is published, so that
 * the object can be discarded if the copy fails. Returns 0 or -EFAULT.
 */
int paccel_reply(struct paccel_ucmd *ucmd);
/*
 * As paccel_reply(), with a new file descriptor for @file in @fd, a field of the struct. Consumes
 * the caller's reference on @file, also on failure. Returns 0, -EFAULT or -EMFILE.
 */
int paccel_reply_file(struct paccel_ucmd *ucmd, s32 *fd, struct file *file);

/*
 * Handlers. The caller may use the command, @cmd is filled in, and no lock is held. Unknown flags
 * and reserved fields are checked by the handler. Return 0 or -errno.
 */
int paccel_ioctl_device_info(struct paccel_ucmd *ucmd);
int paccel_ioctl_mem_alloc(struct paccel_ucmd *ucmd);
int paccel_ioctl_mem_free(struct paccel_ucmd *ucmd);
int paccel_ioctl_mem_stats(struct paccel_ucmd *ucmd);
int paccel_ioctl_mem_export(struct paccel_ucmd *ucmd);
int paccel_ioctl_mem_import(struct paccel_ucmd *ucmd);
int paccel_ioctl_host_alloc(struct paccel_ucmd *ucmd);
int paccel_ioctl_host_register(struct paccel_ucmd *ucmd);
int paccel_ioctl_host_free(struct paccel_ucmd *ucmd);
int paccel_ioctl_copy(struct paccel_ucmd *ucmd);
int paccel_ioctl_fill(struct paccel_ucmd *ucmd);
int paccel_ioctl_stream_create(struct paccel_ucmd *ucmd);
int paccel_ioctl_stream_destroy(struct paccel_ucmd *ucmd);
int paccel_ioctl_stream_clear(struct paccel_ucmd *ucmd);
int paccel_ioctl_submit(struct paccel_ucmd *ucmd);
int paccel_ioctl_wait(struct paccel_ucmd *ucmd);
int paccel_ioctl_fence_export(struct paccel_ucmd *ucmd);
int paccel_ioctl_reset(struct paccel_ucmd *ucmd);
int paccel_ioctl_private(struct paccel_ucmd *ucmd);

#endif
