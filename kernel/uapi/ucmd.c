// SPDX-License-Identifier: GPL-2.0-only
/* Replies of ioctls to the caller. */
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/uaccess.h>

#include "uapi/ucmd.h"

int paccel_reply(struct paccel_ucmd *ucmd)
{
	if (copy_to_user(ucmd->user, ucmd->cmd, min(ucmd->size, ucmd->user_size)))
		return -EFAULT;
	return 0;
}

int paccel_reply_file(struct paccel_ucmd *ucmd, s32 *fd, struct file *file)
{
	int ret = get_unused_fd_flags(O_CLOEXEC);

	if (ret < 0)
		goto put_file;
	*fd = ret;
	ret = paccel_reply(ucmd);
	if (ret)
		goto put_fd;
	fd_install(*fd, file);
	return 0;

put_fd:
	put_unused_fd(*fd);
put_file:
	fput(file);
	return ret;
}
