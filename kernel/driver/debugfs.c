// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/debug/paccel/paccelN/: state of a device, for root; documented in
 * Documentation/health.md. Removal of a device waits for readers before it frees anything. Later
 * reads fail with EIO.
 */
#include <linux/debugfs.h>
#include <linux/seq_buf.h>
#include <linux/seq_file.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "core/ctx.h"
#include "core/device.h"
#include "driver/driver.h"
#include "exec/dump.h"
#include "exec/engine.h"
#include "exec/job.h"
#include "stream/stream.h"

#define DEBUGFS_TEXT SZ_16K

static struct dentry *debugfs_root;

/* The text is made in parts, since interrupts are off while one engine is printed. */
static int debugfs_show_text(struct seq_file *m, size_t size,
			     void (*show)(struct seq_buf *out, struct paccel_engine *eng),
			     struct paccel_engine *eng)
{
	char *text = kvmalloc(size, GFP_KERNEL);
	struct seq_buf out;

	if (!text)
		return -ENOMEM;
	seq_buf_init(&out, text, size);
	show(&out, eng);
	/* After an overflow seq_buf_used() counts the final NUL. */
	seq_write(m, text, strnlen(text, seq_buf_used(&out)));
	kvfree(text);
	return 0;
}

static int debugfs_show_engines(struct seq_file *m,
				void (*show)(struct seq_buf *out, struct paccel_engine *eng))
{
	struct paccel_device *pd = m->private;
	unsigned int i;
	int ret = 0;

	for (i = 0; !ret && i < pd->hw.info.engines; i++)
		ret = debugfs_show_text(m, DEBUGFS_TEXT, show, &pd->engines[i]);
	return ret;
}

static int engines_show(struct seq_file *m, void *unused)
{
	return debugfs_show_engines(m, paccel_show_engine);
}
DEFINE_SHOW_ATTRIBUTE(engines);

static int queues_show(struct seq_file *m, void *unused)
{
	return debugfs_show_engines(m, paccel_show_queues);
}
DEFINE_SHOW_ATTRIBUTE(queues);

static void debugfs_dump_registers(struct seq_buf *out, struct paccel_engine *eng)
{
	eng->pd->ops->dump(&eng->pd->hw, out);
}

static int registers_show(struct seq_file *m, void *unused)
{
	struct paccel_device *pd = m->private;

	return debugfs_show_text(m, (1 + pd->hw.info.engines) * DEBUGFS_TEXT,
				 debugfs_dump_registers, pd->engines);
}
DEFINE_SHOW_ATTRIBUTE(registers);

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

static int streams_show(struct seq_file *m, void *unused)
{
	struct paccel_device *pd = m->private;
	struct paccel_ctx *ctx;

	guard(mutex)(&pd->ctxs_lock);
	list_for_each_entry(ctx, &pd->ctxs, node)
		debugfs_show_ctx(m, ctx);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(streams);

/* Errors are ignored: the driver works without these files. */
void paccel_debugfs_add(struct paccel_device *pd)
{
	struct dentry *dir = debugfs_create_dir(dev_name(&pd->dev), debugfs_root);

	pd->debugfs = dir;
	debugfs_create_file("engines", 0400, dir, pd, &engines_fops);
	debugfs_create_file("queues", 0400, dir, pd, &queues_fops);
	debugfs_create_file("streams", 0400, dir, pd, &streams_fops);
	if (pd->ops->dump)
		debugfs_create_file("registers", 0400, dir, pd, &registers_fops);
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
