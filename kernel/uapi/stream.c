// SPDX-License-Identifier: GPL-2.0-only
/* ioctls that create, destroy and clear streams and export their points. */
#include <linux/sync_file.h>

#include "core/ctx.h"
#include "stream/fence.h"
#include "stream/stream.h"
#include "uapi/ucmd.h"

int paccel_ioctl_stream_create(struct paccel_ucmd *ucmd)
{
	struct paccel_stream_create *cmd = ucmd->cmd;
	struct paccel_stream *stream;
	int ret;

	if (cmd->flags || cmd->reserved)
		return -EINVAL;
	stream = paccel_stream_create(ucmd->ctx);
	if (IS_ERR(stream))
		return PTR_ERR(stream);
	cmd->stream = stream->id;
	cmd->point = stream->submitted;
	cmd->page_offset = (u64)PACCEL_PAGE_COOKIE << PAGE_SHIFT;
	ret = paccel_reply(ucmd);
	if (ret)
		paccel_stream_close(stream);
	else
		paccel_stream_open(stream);
	paccel_stream_put(stream);
	return ret;
}

int paccel_ioctl_stream_destroy(struct paccel_ucmd *ucmd)
{
	struct paccel_stream_destroy *cmd = ucmd->cmd;

	if (cmd->flags || cmd->reserved)
		return -EINVAL;
	return paccel_stream_destroy(ucmd->ctx, cmd->stream);
}

int paccel_ioctl_stream_clear(struct paccel_ucmd *ucmd)
{
	struct paccel_stream_clear *cmd = ucmd->cmd;
	struct paccel_stream *stream;
	int ret;

	if (cmd->flags)
		return -EINVAL;
	ret = paccel_stream_get(ucmd->ctx, cmd->stream, 0, &stream);
	if (ret)
		return ret;
	ret = paccel_stream_failure(stream, &cmd->error, &cmd->failed_point);
	if (!ret)
		ret = paccel_reply(ucmd);
	if (!ret)
		paccel_stream_clear(stream, cmd->failed_point);
	paccel_stream_put(stream);
	return ret;
}

static int stream_export_point(struct paccel_ucmd *ucmd, struct paccel_stream *stream)
{
	struct paccel_fence_export *cmd = ucmd->cmd;
	struct dma_fence *fence = paccel_fence_get(stream, cmd->point);
	struct sync_file *sync;

	if (!fence)
		return -ENOMEM;
	sync = sync_file_create(fence);
	dma_fence_put(fence);
	if (!sync)
		return -ENOMEM;
	return paccel_reply_file(ucmd, &cmd->fd, sync->file);
}

int paccel_ioctl_fence_export(struct paccel_ucmd *ucmd)
{
	struct paccel_fence_export *cmd = ucmd->cmd;
	struct paccel_stream *stream;
	int ret;

	if (cmd->flags)
		return -EINVAL;
	ret = paccel_stream_get(ucmd->ctx, cmd->stream, cmd->point, &stream);
	if (ret)
		return ret;
	/* Point 0 is complete, but was never submitted. */
	ret = cmd->point ? stream_export_point(ucmd, stream) : -EINVAL;
	paccel_stream_put(stream);
	return ret;
}
