// SPDX-License-Identifier: GPL-2.0-only
/*
 * State of a device and its engines as text: the device core dump that is made when an engine or
 * the device is restarted or taken out of service, and the file in debugfs.
 *
 * The text has no user data, no fill patterns, no bus addresses and no kernel pointers.
 *
 * paccel_dump() is called with pd->reset_lock held, while fences wait for the recovery. So it does
 * not allocate: its buffer is allocated when the device is registered, and pd->dump_work, which no
 * other code waits for with the lock held, copies the text. One recovery makes one dump. The kernel
 * keeps one dump per device until it is deleted or five minutes old, and drops dumps that are made
 * meanwhile.
 */
#include <linux/devcoredump.h>
#include <linux/io.h>
#include <linux/pci.h>
#include <linux/seq_buf.h>
#include <linux/sizes.h>
#include <linux/vmalloc.h>

#include "core/compat.h"
#include "core/ctx.h"
#include "core/device.h"
#include "exec/dump.h"
#include "exec/engine.h"
#include "exec/job.h"
#include "include/paccel.h"

/* Upper bounds of the text of a device and of an engine with a full ring, with a reserve. */
#define DUMP_DEVICE	SZ_8K
#define DUMP_ENGINE	SZ_16K

/*
 * Limits for one engine, whose lock is held: contexts that are listed, and jobs that are counted
 * for each.
 */
#define DUMP_QUEUES	64
#define DUMP_JOBS	64

static const char * const op_names[] = {
	[PACCEL_JOB_H2D] = "h2d",
	[PACCEL_JOB_D2H] = "d2h",
	[PACCEL_JOB_D2D] = "d2d",
	[PACCEL_JOB_FILL] = "fill",
	[PACCEL_JOB_SCRUB] = "scrub",
	[PACCEL_JOB_WAIT_POINT] = "wait for a point",
	[PACCEL_JOB_WAIT_FENCE] = "wait for a fence",
	[PACCEL_JOB_EVENTFD] = "eventfd",
	[PACCEL_JOB_WRITE] = "write",
	[PACCEL_JOB_TIME] = "time",
};

static const char * const state_names[] = {
	[PACCEL_TAG_PICKED] = "picked",
	[PACCEL_TAG_FILLING] = "filling",
	[PACCEL_TAG_BUSY] = "busy",
	[PACCEL_TAG_DONE] = "done",
	[PACCEL_TAG_EMPTYING] = "emptying",
	[PACCEL_TAG_HUNG] = "hung",
};

const char *paccel_health(struct paccel_device *pd)
{
	unsigned int i;

	switch (READ_ONCE(pd->state)) {
	case PACCEL_FAILED:
		return "failed";
	case PACCEL_RESETTING:
	case PACCEL_MEM_LOST:
		return "recovering";
	default:
		break;
	}
	for (i = 0; i < pd->hw.info.engines; i++)
		if (paccel_engine_hung(&pd->engines[i]))
			return "recovering";
	return "ok";
}

const char *paccel_op_name(enum paccel_job_op op)
{
	return op_names[op];
}

void paccel_dump_words(struct seq_buf *out, const char *name, const void __iomem *from,
		       u32 bytes)
{
	u32 i;

	for (i = 0; i < bytes; i += sizeof(u32)) {
		if (i % 32 == 0)
			seq_buf_printf(out, "%s%s %03x:", i ? "\n" : "", name, i);
		seq_buf_printf(out, " %08x", readl(from + i));
	}
	seq_buf_printf(out, "\n");
}
EXPORT_SYMBOL_PACCEL(paccel_dump_words);

static void dump_tag(struct seq_buf *out, const struct paccel_tag *tag)
{
	const struct paccel_job *job = tag->job;
	const struct paccel_xfer *x = &tag->step.x;

	seq_buf_printf(out, "  %llu: %s %s, %u bytes at 0x%llx", x->cookie,
		       state_names[tag->state], op_names[job->op], x->len, x->dev);
	if (x->op == PACCEL_XFER_D2D)
		seq_buf_printf(out, " from 0x%llx", x->dev_src);
	seq_buf_printf(out, ", ctx %llu stream %u point %llu", job->ctx ? job->ctx->id : 0,
		       job->stream_id, job->point);
	if (tag->state == PACCEL_TAG_BUSY || tag->state == PACCEL_TAG_HUNG)
		seq_buf_printf(out, ", for %lld us",
			       ktime_us_delta(ktime_get(), tag->started));
	if (x->verify)
		seq_buf_printf(out, ", %s",
			       x->op == PACCEL_XFER_CHECKSUM ? "checksum" : "verified");
	seq_buf_printf(out, "%s%s, status %d\n", x->linked ? ", linked" : "",
		       tag->step.bounce ? ", bounced" : "", tag->status);
}

static const char *const engine_states[] = {
	[PACCEL_ENGINE_RUNNING] = "running",
	[PACCEL_ENGINE_HUNG] = "hung",
	[PACCEL_ENGINE_HELD] = "held",
	[PACCEL_ENGINE_HALTED] = "halted",
};

static void dump_engine(struct seq_buf *out, struct paccel_engine *eng)
{
	u64 i;

	spin_lock_irq(&eng->lock);
	seq_buf_printf(out, "engine %u: %u jobs, %llu requests of %llu bytes in flight, %s\n",
		       eng->id, eng->load, eng->tail - eng->head, eng->bytes,
		       engine_states[eng->state]);
	for (i = eng->head; i != eng->tail; i++)
		dump_tag(out, &eng->tags[i & (eng->pd->hw.info.depth - 1)]);
	spin_unlock_irq(&eng->lock);
}

static void dump_queue(struct seq_buf *out, const struct paccel_queue *queue)
{
	const struct paccel_job *first = list_first_entry(&queue->jobs, struct paccel_job, node);
	const struct paccel_job *job;
	unsigned int jobs = 0;

	list_for_each_entry(job, &queue->jobs, node)
		if (++jobs == DUMP_JOBS)
			break;
	seq_buf_printf(out, "  ctx %llu: %u%s jobs wait, %u requests in flight, first: %s",
		       queue->ctx->id, jobs, jobs == DUMP_JOBS ? " or more" : "",
		       queue->in_flight, op_names[first->op]);
	seq_buf_printf(out, " of stream %u point %llu, for %u ms\n",
		       first->stream_id, first->point,
		       jiffies_to_msecs(jiffies - first->since));
}

static void dump_queues(struct seq_buf *out, struct paccel_engine *eng)
{
	struct list_head *lists[] = { &eng->queues, &eng->served };
	unsigned int i, left = DUMP_QUEUES;
	struct paccel_queue *queue;

	spin_lock_irq(&eng->lock);
	seq_buf_printf(out, "engine %u: in order of their turns\n", eng->id);
	for (i = 0; i < ARRAY_SIZE(lists); i++)
		list_for_each_entry(queue, lists[i], node)
			if (left && left--)
				dump_queue(out, queue);
	if (!left)
		seq_buf_printf(out, "  perhaps more\n");
	if (eng->scrub)
		seq_buf_printf(out, "  scrubbing, for %u ms\n",
			       jiffies_to_msecs(jiffies - eng->scrub->since));
	spin_unlock_irq(&eng->lock);
}

static void dump_counters(struct seq_buf *out, struct paccel_device *pd)
{
	struct paccel_counters *count = &pd->count;

	seq_buf_printf(out, "requests: %lld\n", atomic64_read(&count->xfers));
	seq_buf_printf(out, "timeouts: %lld\n", atomic64_read(&count->timeouts));
	seq_buf_printf(out, "lost_irqs: %lld\n", atomic64_read(&count->lost_irqs));
	seq_buf_printf(out, "spurious_irqs: %lld\n", atomic64_read(&count->spurious_irqs));
	seq_buf_printf(out, "bogus: %lld\n", atomic64_read(&count->bogus));
	seq_buf_printf(out, "corrupt: %lld\n", atomic64_read(&count->corrupt));
	seq_buf_printf(out, "resets: %lld\n", atomic64_read(&count->resets));
	seq_buf_printf(out, "engine_resets: %lld\n", atomic64_read(&count->engine_resets));
	seq_buf_printf(out, "leaked_pages: %lld\n", atomic64_read(&count->leaked_pages));
}

void paccel_dump_device(struct seq_buf *out, struct paccel_device *pd)
{
	struct paccel_engine *eng;

	seq_buf_printf(out, "device: %s, %s, %s\n", dev_name(&pd->dev), pd->backend, pd->bus_addr);
	seq_buf_printf(out, "memory: %llu bytes\n", pd->hw.info.mem_size);
	seq_buf_printf(out, "health: %s\n", paccel_health(pd));
	dump_counters(out, pd);
	for (eng = pd->engines; eng < pd->engines + pd->hw.info.engines; eng++) {
		dump_engine(out, eng);
		dump_queues(out, eng);
	}
	if (pd->ops->dump)
		pd->ops->dump(&pd->hw, out);
}

/*
 * Called before the recovery changes the state of the device. The state is dumped once per
 * recovery, as the first state shows the cause; later calls add one line. The device is bound.
 */
void paccel_dump(struct paccel_device *pd, const char *why)
{
	struct seq_buf *out = &pd->dump;
	bool first = !seq_buf_used(out);

	lockdep_assert_held(&pd->reset_lock);
	if (!out->buffer)
		return;
	seq_buf_printf(out, "%s: %s\ntime: %lld ns since boot, %lld s since 1970\n",
		       first ? "why" : "then", why, ktime_get_boottime_ns(),
		       ktime_get_real_seconds());
	if (first)
		paccel_dump_device(out, pd);
	queue_work(system_unbound_wq, &pd->dump_work);
}

void paccel_dump_work(struct work_struct *work)
{
	struct paccel_device *pd = container_of(work, struct paccel_device, dump_work);
	char *text = vmalloc(pd->dump.size);
	unsigned int used;

	/* This waits for the recovery to end. The recovery does not wait for this work item. */
	mutex_lock(&pd->reset_lock);
	/* After an overflow seq_buf_used() counts the final NUL. */
	used = strnlen(pd->dump.buffer, seq_buf_used(&pd->dump));
	if (text)
		memcpy(text, pd->dump.buffer, used);
	seq_buf_clear(&pd->dump);
	mutex_unlock(&pd->reset_lock);
	if (text && used)
		/* Belongs to the PCI function, since the dump may outlive the paccel device. */
		dev_coredumpv(&pd->hw.pdev->dev, text, used, GFP_KERNEL);
	else
		vfree(text);
}

/* If there is no memory or no CONFIG_DEV_COREDUMP, paccel_dump() does nothing. */
void paccel_dump_alloc(struct paccel_device *pd)
{
	size_t size = DUMP_DEVICE + pd->hw.info.engines * DUMP_ENGINE;
	char *text = IS_ENABLED(CONFIG_DEV_COREDUMP) ? vmalloc(size) : NULL;

	if (text)
		seq_buf_init(&pd->dump, text, size);
}

void paccel_dump_free(struct paccel_device *pd)
{
	vfree(pd->dump.buffer);
}
