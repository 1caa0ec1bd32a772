// SPDX-License-Identifier: GPL-2.0-only
/*
 * One operation, cut into transfers. A job says what the next transfer is and moves bytes through
 * the bounce buffer; when and where it runs is the engine's business. It owns all that it touches
 * until it has ended, even if nobody waits for it any more.
 *
 * What the card cannot do by itself is made of what every card can. A fill is a transfer of the
 * pattern from the bounce buffer. A copy inside the device is read into the job's own stage and
 * written from there: as two transfers that other jobs may come between.
 */
#include <linux/slab.h>

#include "paccel.h"

static void job_release_work(struct work_struct *work);

struct paccel_job *paccel_job_alloc(struct paccel_device *pd, enum paccel_op op, gfp_t gfp)
{
	struct paccel_job *job = kzalloc(sizeof(*job), gfp);

	if (!job)
		return NULL;
	if (op == PACCEL_OP_D2D) {
		job->stage = kmalloc(pd->info.max_xfer, gfp);
		if (!job->stage) {
			kfree(job);
			return NULL;
		}
	}
	kref_init(&job->ref);
	INIT_LIST_HEAD(&job->node);
	INIT_WORK(&job->release, job_release_work);
	init_completion(&job->done);
	job->op = op;
	job->rows = 1;
	return job;
}

/*
 * Gives back all that the job holds, once. It has ended, or was never queued. May sleep, never
 * waits for a card.
 */
void paccel_job_release(struct paccel_job *job)
{
	unsigned int i;

	if (test_and_set_bit(0, &job->released))
		return;
	paccel_pages_release(&job->own);
	if (job->host)
		paccel_host_put(job->host);
	for (i = 0; i < ARRAY_SIZE(job->bufs); i++)
		if (job->bufs[i])
			paccel_buf_put(job->bufs[i]);
}

static void job_free(struct paccel_job *job)
{
	kfree(job->stage);
	kfree(job);
}

static void job_release_work(struct work_struct *work)
{
	struct paccel_job *job = container_of(work, struct paccel_job, release);

	paccel_job_release(job);
	job_free(job);
}

static void job_last_put(struct kref *ref)
{
	struct paccel_job *job = container_of(ref, struct paccel_job, ref);

	if (job->released)
		job_free(job);
	else
		queue_work(paccel_release_wq, &job->release);
}

/* Any context. */
void paccel_job_put(struct paccel_job *job)
{
	kref_put(&job->ref, job_last_put);
}

/*
 * Queues the job, waits for it and drops it; whatever happens the caller has lost its reference.
 * After a fatal signal the transfer that runs ends by itself, and the job with it.
 */
int paccel_job_run(struct paccel_ctx *ctx, struct paccel_job *job)
{
	struct paccel_engine *eng = paccel_engine_choose(ctx->pd);
	int ret;

	job->queue = &ctx->queues[eng->id];
	kref_get(&job->ref);
	ret = paccel_engine_submit(eng, job);
	if (ret) {
		paccel_job_put(job);
		goto release;
	}
	/* Freezable: a long copy must not keep the machine from suspending. */
	if (wait_for_completion_state(&job->done, TASK_KILLABLE | TASK_FREEZABLE)) {
		paccel_engine_cancel(job, -EINTR);
		ret = -EINTR;
		goto put;
	}
	ret = job->error;
release:
	/*
	 * Here and not by whoever drops the last reference: what the caller frees next is then
	 * really free.
	 */
	paccel_job_release(job);
put:
	paccel_job_put(job);
	return ret;
}

/* --- steps; the engine calls these one at a time for a job --- */

static u64 at(const struct paccel_rect *rect, u64 row, u64 col)
{
	return rect->start + row * rect->pitch + col;
}

static bool from_card(const struct paccel_job *job)
{
	return job->op == PACCEL_OP_D2H || (job->op == PACCEL_OP_D2D && !job->staged);
}

/* What the next transfer is. eng->lock is held. */
void paccel_job_plan(struct paccel_job *job, struct paccel_step *step)
{
	struct paccel_xfer *x = &step->x;
	u64 dst = at(&job->dst, job->row, job->col);
	u64 src = at(&job->src, job->row, job->col);

	/* max_xfer is a multiple of every pattern size, so a pattern is never cut. */
	x->len = min_t(u64, job->width - job->col, job->eng->pd->info.max_xfer);
	x->dir = from_card(job) ? DMA_FROM_DEVICE : DMA_TO_DEVICE;
	x->dev = (from_card(job) ? src : dst) - PACCEL_MEM_BASE;
	step->host = from_card(job) ? dst : src;
	step->bounce = !job->pages ||
		       !paccel_pages_dma(job->pages, &job->cursor, step->host, x->len, &x->host);
}

/* @pattern is 8 bytes of it: any start of those is right where the pattern is shorter. */
static void fill_pattern(void *to, u32 len, u64 pattern)
{
	memset64(to, pattern, len / sizeof(pattern));
	memcpy(to + round_down(len, sizeof(pattern)), &pattern, len % sizeof(pattern));
}

/* Makes the bounce buffer ready for the transfer. */
void paccel_job_before(struct paccel_job *job, const struct paccel_step *step, void *bounce)
{
	u32 len = step->x.len;

	if (from_card(job) || job->op == PACCEL_OP_SCRUB)
		/* From the card: if it copies nothing, what lies here is another program's. */
		memset(bounce, 0, len);
	else if (job->op == PACCEL_OP_FILL)
		fill_pattern(bounce, len, job->pattern);
	else if (job->op == PACCEL_OP_D2D)
		memcpy(bounce, job->stage, len);
	else
		paccel_pages_read(job->pages, step->host, bounce, len);
}

/*
 * Takes what the card has written out of the bounce buffer. Only after a transfer that went well.
 */
void paccel_job_after(struct paccel_job *job, const struct paccel_step *step, const void *bounce)
{
	if (job->op == PACCEL_OP_D2H)
		paccel_pages_write(job->pages, step->host, bounce, step->x.len);
	else if (from_card(job))
		memcpy(job->stage, bounce, step->x.len);
}

static void count_bytes(struct paccel_job *job, u32 len)
{
	struct paccel_counters *count = &job->eng->pd->count;

	switch (job->op) {
	case PACCEL_OP_H2D:
		atomic64_add(len, &count->h2d);
		break;
	case PACCEL_OP_D2H:
		atomic64_add(len, &count->d2h);
		break;
	case PACCEL_OP_D2D:
		atomic64_add(len, &count->d2d);
		break;
	case PACCEL_OP_FILL:
		atomic64_add(len, &count->filled);
		break;
	case PACCEL_OP_SCRUB:
		break;
	}
}

/* The step went well: true if it was the last one. eng->lock is held. */
bool paccel_job_advance(struct paccel_job *job, const struct paccel_step *step)
{
	if (job->op == PACCEL_OP_D2D) {
		job->staged = !job->staged;
		if (job->staged)
			return false;
	}
	count_bytes(job, step->x.len);
	job->col += step->x.len;
	if (job->col == job->width) {
		job->col = 0;
		job->row++;
	}
	return job->row == job->rows;
}
