// SPDX-License-Identifier: GPL-2.0-only
/*
 * Job: one operation, split into DMA requests. A job plans its next request and copies data to and
 * from the bounce buffer. The engine decides when and where a request runs. A job holds references
 * on all memory that it accesses until it has ended, even if its submitter no longer waits for it.
 *
 * Operations that the device does not support are made of H2D and D2H requests. A fill is an H2D
 * request with the pattern in the bounce buffer. A D2D copy is a D2H request into a staging buffer
 * and an H2D request from there; requests of other jobs may run in between.
 */
#include <linux/slab.h>

#include "core/compat.h"
#include "core/ctx.h"
#include "core/device.h"
#include "core/module.h"
#include "exec/engine.h"
#include "exec/job.h"
#include "include/paccel.h"
#include "mem/import.h"
#include "mem/host.h"
#include "mem/pages.h"
#include "mem/pool.h"

/*
 * @ctx: the context that the job belongs to and is accounted to; NULL for jobs of the driver.
 * @size: size of struct paccel_job, or of a struct that begins with one.
 */
struct paccel_job *paccel_job_alloc(struct paccel_device *pd, struct paccel_ctx *ctx,
				    enum paccel_job_op op, size_t size)
{
	struct paccel_job *job = kzalloc(size, ctx ? GFP_KERNEL_ACCOUNT : GFP_KERNEL);

	if (!job)
		return NULL;
	kref_init(&job->ref);
	INIT_LIST_HEAD(&job->node);
	init_completion(&job->done);
	job->ctx = ctx ? paccel_ctx_get(ctx) : NULL;
	job->op = op;
	job->rows = 1;
	return job;
}

/*
 * Allocates the staging buffer of a D2D copy without PACCEL_HW_D2D. Returns NULL if there is no
 * memory.
 */
void *paccel_job_stage(const struct paccel_job *job)
{
	return kmalloc(job->ctx->pd->bounce_size, GFP_KERNEL_ACCOUNT);
}

/*
 * Drops the references that the job holds. Only the first call has an effect. The job has ended, or
 * was never queued. May sleep; never waits for a device.
 */
static void job_release(struct paccel_job *job)
{
	unsigned int i;

	if (test_and_set_bit(0, &job->released))
		return;
	for (i = 0; i < ARRAY_SIZE(job->bufs); i++)
		if (job->bufs[i])
			paccel_buf_put(job->bufs[i]);
	paccel_pages_release(&job->own);
	if (job->host) {
		paccel_import_end_cpu(&job->host->pages, job->op == PACCEL_JOB_D2H);
		paccel_host_put(job->host);
	}
	if (job->ops)
		job->ops->release(job);
	if (job->ctx)
		paccel_ctx_put(job->ctx);
}

void paccel_job_unref_bufs(struct paccel_job *job)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(job->bufs); i++)
		if (job->bufs[i] && paccel_buf_put_not_last(job->bufs[i]))
			job->bufs[i] = NULL;
}

static void job_free(struct paccel_job *job)
{
	kfree(job->stage);
	kfree(job);
}

/* Frees, in process context, the jobs of a context whose last reference has been dropped. */
void paccel_ctx_release_jobs(struct work_struct *work)
{
	struct paccel_ctx *ctx = container_of(work, struct paccel_ctx, release);
	struct llist_node *jobs = llist_reverse_order(llist_del_all(&ctx->unreferenced));
	struct paccel_job *job, *next;

	/* The last job may hold the last reference on the context. */
	llist_for_each_entry_safe(job, next, jobs, unreferenced) {
		job_release(job);
		job_free(job);
		cond_resched();
	}
}

static void job_last_put(struct kref *ref)
{
	struct paccel_job *job = container_of(ref, struct paccel_job, ref);

	/* A job that is not released holds a reference on its context. */
	if (job->released)
		job_free(job);
	else if (llist_add(&job->unreferenced, &job->ctx->unreferenced))
		queue_work(paccel_release_wq, &job->ctx->release);
}

/* May be called in any context. */
void paccel_job_put(struct paccel_job *job)
{
	kref_put(&job->ref, job_last_put);
}

/* Releases a job that was never queued or has ended, and drops a reference. May sleep. */
void paccel_job_drop(struct paccel_job *job)
{
	job_release(job);
	paccel_job_put(job);
}

/* --- DMA requests of a job; the engine calls these functions one at a time for a job --- */

static u64 rect_address(const struct paccel_rect *rect, const struct paccel_place *place)
{
	return rect->start + place->row * rect->pitch + place->col;
}

static bool job_is_fill(const struct paccel_job *job)
{
	return job->op == PACCEL_JOB_FILL || job->op == PACCEL_JOB_SCRUB;
}

/*
 * Called before the job is queued, when its pages are known. Sets whether its requests are
 * verified: if @wanted, or if the module parameter says so and it is possible.
 */
int paccel_job_verify(struct paccel_job *job, struct paccel_device *pd, bool wanted)
{
	bool can = pd->hw.info.flags & PACCEL_HW_CHECKSUM &&
		   (!job->pages || paccel_pages_readable(job->pages));

	if (wanted && !can)
		return -EOPNOTSUPP;
	job->verify = can && (wanted || READ_ONCE(paccel_verify));
	return 0;
}

/* Returns whether the device executes the job without access to host memory. */
bool paccel_job_is_on_device(const struct paccel_job *job, const struct paccel_device *pd)
{
	return (job_is_fill(job) && pd->hw.info.flags & PACCEL_HW_FILL) ||
	       (job->op == PACCEL_JOB_D2D && pd->hw.info.flags & PACCEL_HW_D2D);
}

/* Returns the operations of the requests of a job, BIT() of enum paccel_xfer_op. */
u32 paccel_job_op_mask(const struct paccel_job *job, const struct paccel_device *pd)
{
	bool inside = paccel_job_is_on_device(job, pd);

	switch (job->op) {
	case PACCEL_JOB_D2H:
		return BIT(PACCEL_XFER_D2H);
	case PACCEL_JOB_D2D:
		if (!inside)
			return BIT(PACCEL_XFER_D2H) | BIT(PACCEL_XFER_H2D);
		return BIT(PACCEL_XFER_D2D) | (job->verify ? BIT(PACCEL_XFER_CHECKSUM) : 0);
	default:
		return inside ? BIT(PACCEL_XFER_FILL) : BIT(PACCEL_XFER_H2D);
	}
}

/*
 * A verified D2D copy on the device needs a CHECKSUM request for its source before each D2D
 * request: the checksum of a D2D request is that of the destination.
 */
static bool job_is_verified_d2d(const struct paccel_job *job)
{
	return job->op == PACCEL_JOB_D2D && job->verify;
}

static void job_plan_on_device(struct paccel_job *job, struct paccel_xfer *x)
{
	x->dev = rect_address(&job->dst, &job->at) - PACCEL_MEM_BASE;
	if (job_is_fill(job)) {
		x->op = PACCEL_XFER_FILL;
		x->pattern = job->pattern;
		return;
	}
	x->op = PACCEL_XFER_D2D;
	x->dev_src = rect_address(&job->src, &job->at) - PACCEL_MEM_BASE;
	if (job_is_verified_d2d(job) && !job->at.staged) {
		x->op = PACCEL_XFER_CHECKSUM;
		x->dev = 0;
	}
}

static void job_plan_host(struct paccel_job *job, struct paccel_step *step)
{
	bool from_card = job->op == PACCEL_JOB_D2H ||
			 (job->op == PACCEL_JOB_D2D && !job->at.staged);
	u64 dst = rect_address(&job->dst, &job->at), src = rect_address(&job->src, &job->at);
	struct paccel_xfer *x = &step->x;

	x->op = from_card ? PACCEL_XFER_D2H : PACCEL_XFER_H2D;
	x->dev = (from_card ? src : dst) - PACCEL_MEM_BASE;
	step->host = from_card ? dst : src;
	step->bounce = !job->pages || !paccel_pages_dma(job->pages, &job->cursor, step->host, x);
	if (step->bounce)
		x->len = min(x->len, job->eng->pd->bounce_size);
	else
		step->sync = paccel_pages_sync(job->pages);
}

/* Plans the next request of a job. eng->lock is held. */
void paccel_job_plan(struct paccel_job *job, struct paccel_step *step)
{
	struct paccel_device *pd = job->eng->pd;

	*step = (struct paccel_step) {
		.at = job->at,
		/*
		 * As the size of the bounce buffer, this is a multiple of 8, so no request splits a
		 * pattern.
		 */
		.x.len = min_t(u64, job->width - job->at.col, pd->hw.info.max_xfer),
		.x.verify = job->verify,
	};
	if (paccel_job_is_on_device(job, pd))
		job_plan_on_device(job, &step->x);
	else
		job_plan_host(job, step);
}

/*
 * Advances the job past a request that is in the ring. Returns whether it was the last one.
 * eng->lock is held.
 */
bool paccel_job_issue(struct paccel_job *job, const struct paccel_step *step)
{
	struct paccel_place *at = &job->at;

	if (job->op == PACCEL_JOB_D2D &&
	    (step->x.op != PACCEL_XFER_D2D || job_is_verified_d2d(job))) {
		at->staged = !at->staged;
		if (at->staged)
			return false;
	}
	at->col += step->x.len;
	if (at->col == job->width) {
		at->col = 0;
		at->row++;
	}
	return at->row == job->rows;
}

/* @pattern is 8 bytes, in which a shorter pattern is repeated; so any prefix of it is right. */
static void pattern_fill(void *to, u32 len, u64 pattern)
{
	memset64(to, pattern, len / sizeof(pattern));
	memcpy(to + round_down(len, sizeof(pattern)), &pattern, len % sizeof(pattern));
}

/* Fills the bounce buffer for a request. */
void paccel_job_copy_in(struct paccel_job *job, const struct paccel_step *step, void *bounce)
{
	u32 len = step->x.len;

	if (step->x.op == PACCEL_XFER_D2H || job->op == PACCEL_JOB_SCRUB)
		/*
		 * If the device fails to write the buffer, it must not contain data of another
		 * process.
		 */
		memset(bounce, 0, len);
	else if (job->op == PACCEL_JOB_FILL)
		pattern_fill(bounce, len, job->pattern);
	else if (job->op == PACCEL_JOB_D2D)
		memcpy(bounce, job->stage, len);
	else
		paccel_pages_read(job->pages, step->host, bounce, len);
}

/*
 * Copies data that the device has written out of the bounce buffer, after a request that has
 * succeeded.
 */
void paccel_job_copy_out(struct paccel_job *job, const struct paccel_step *step,
			 const void *bounce)
{
	if (job->op == PACCEL_JOB_D2H)
		paccel_pages_write(job->pages, step->host, bounce, step->x.len);
	else
		memcpy(job->stage, bounce, step->x.len);
}

static u32 pattern_checksum(u64 pattern, u32 len)
{
	u64 piece[32];
	u32 crc = ~0, part;

	memset64(piece, pattern, ARRAY_SIZE(piece));
	for (; len; len -= part) {
		part = min_t(u32, len, sizeof(piece));
		crc = paccel_crc32c(crc, piece, part);
	}
	return ~crc;
}

/* Returns the expected checksum of a verified request that has succeeded. */
u32 paccel_job_checksum(struct paccel_job *job, const struct paccel_step *step, const void *bounce)
{
	if (step->x.op == PACCEL_XFER_D2D)
		return job->source;
	if (step->x.op == PACCEL_XFER_FILL)
		return pattern_checksum(job->pattern, step->x.len);
	if (step->bounce)
		return ~paccel_crc32c(~0, bounce, step->x.len);
	return paccel_pages_crc32c(job->pages, step->host, step->x.len);
}

/* Counts the bytes of a request that has succeeded. eng->lock is held. */
void paccel_job_count(struct paccel_job *job, const struct paccel_step *step)
{
	enum paccel_xfer_op op = step->x.op;

	/* Scrubs are counted by the pool. */
	if (job->op == PACCEL_JOB_SCRUB)
		return;
	/* The first of the two requests of a D2D copy writes nothing to its destination. */
	if (job->op == PACCEL_JOB_D2D && (op == PACCEL_XFER_D2H || op == PACCEL_XFER_CHECKSUM))
		return;
	atomic64_add(step->x.len, &job->eng->pd->count.bytes[job->op]);
	atomic64_add(step->x.len, &job->ctx->usage.bytes[job->op]);
}
