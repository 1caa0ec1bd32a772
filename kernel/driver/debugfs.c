// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/debug/paccel/paccelN/state: state of a device, for root; documented in
 * Documentation/health.md. Removal of a device waits for readers before it frees anything. Later
 * reads fail with EIO.
 */
#include <linux/debugfs.h>
#include <linux/seq_buf.h>
#include <linux/seq_file.h>

#include "core/ctx.h"
#include "core/device.h"
#include "driver/driver.h"
#include "exec/dump.h"
#include "exec/job.h"
#include "mem/pool.h"
#include "stream/stream.h"

static struct dentry *debugfs_root;

static void debugfs_show_stream(struct seq_file *m, struct paccel_stream *stream)
{
	const struct paccel_stream_job *job = list_first_entry_or_null(&stream->jobs,
								       struct paccel_stream_job,
								       in_stream);

	seq_printf(m, "  stream %u: point %llu of %llu, %u operations queued%s", stream->id,
		   stream->done, stream->submitted, stream->queued,
		   stream->open ? "" : ", destroyed");
	if (job)
		seq_printf(m, ", first: %s of point %llu", paccel_op_name(job->base.op),
			   job->base.point);
	if (stream->error)
		seq_printf(m, ", failed at point %llu with %d", stream->failed_point,
			   stream->error);
	seq_putc(m, '\n');
}

static void debugfs_show_ctx(struct seq_file *m, struct paccel_ctx *ctx)
{
	unsigned int i;

	seq_printf(m, "ctx %llu: %llu bytes in %llu allocations, %u host ranges", ctx->id,
		   READ_ONCE(ctx->bytes), READ_ONCE(ctx->nr_maps), READ_ONCE(ctx->nr_hosts));
	spin_lock(&ctx->work_lock);
	seq_printf(m, ", %u operations queued", ctx->queued);
	if (ctx->ended)
		seq_printf(m, ", ended with %d", ctx->ended);
	seq_putc(m, '\n');
	for (i = 0; i < PACCEL_MAX_STREAMS; i++)
		if (ctx->streams[i])
			debugfs_show_stream(m, ctx->streams[i]);
	spin_unlock(&ctx->work_lock);
}

static int state_show(struct seq_file *m, void *unused)
{
	struct paccel_device *pd = m->private;
	struct paccel_ctx *ctx;
	struct seq_buf out;
	char *text;
	size_t size = seq_get_buf(m, &text);
	unsigned int waiting;

	seq_buf_init(&out, text, size);
	paccel_dump_device(&out, pd);
	/* -1: seq_file calls this function again with a larger buffer. */
	seq_commit(m, seq_buf_has_overflowed(&out) ? -1 : seq_buf_used(&out));
	waiting = paccel_pool_waiting(pd);
	if (waiting)
		seq_printf(m, "allocations that wait for scrubbing: %u\n", waiting);

	guard(mutex)(&pd->ctxs_lock);
	list_for_each_entry(ctx, &pd->ctxs, node)
		debugfs_show_ctx(m, ctx);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(state);

/* Errors are ignored: the driver works without this file. */
void paccel_debugfs_add(struct paccel_device *pd)
{
	pd->debugfs = debugfs_create_dir(dev_name(&pd->dev), debugfs_root);
	debugfs_create_file("state", 0400, pd->debugfs, pd, &state_fops);
}

/* Waits for readers. */
void paccel_debugfs_remove(struct paccel_device *pd)
{
	debugfs_remove(pd->debugfs);
}

void paccel_debugfs_init(void)
{
	debugfs_root = debugfs_create_dir("paccel", NULL);
}

void paccel_debugfs_exit(void)
{
	debugfs_remove(debugfs_root);
}
