// SPDX-License-Identifier: GPL-2.0-only
/*
 * One DMA channel: what runs, what waits, and what is done when the card does not answer.
 *
 * Jobs wait in a queue per context; between transfers the engine goes round the contexts, and
 * round the jobs of each, so that a small copy waits for one transfer of each busy context at
 * most. At any time one party owns the engine: the lock's holder (IDLE, PICKED, DONE), the worker
 * (WORK) or the card (BUSY). Where the CPU has no byte to move, the next transfer is started
 * in the interrupt itself; else the worker moves the bytes first.
 */
#include <linux/dma-mapping.h>
#include <linux/slab.h>

#include "paccel.h"

static void engine_queue_work(struct paccel_engine *eng)
{
	queue_work(paccel_wq, &eng->work);
}

/* Tells whoever waits. The job is nobody's any more; no lock is held. */
static void job_end(struct paccel_job *job)
{
	void (*end)(struct paccel_job *job) = job->end;

	complete_all(&job->done);
	if (end)
		end(job);
	paccel_job_put(job);
}

/* --- queues; eng->lock is held --- */

static void enqueue(struct paccel_engine *eng, struct paccel_job *job)
{
	if (job->op == PACCEL_OP_SCRUB) {
		eng->scrub = job;
		return;
	}
	job->waits = true;
	list_add_tail(&job->node, &job->queue->jobs);
	if (list_empty(&job->queue->node))
		list_add_tail(&job->queue->node, &eng->queues);
}

static void dequeue(struct paccel_engine *eng, struct paccel_job *job)
{
	if (job->op == PACCEL_OP_SCRUB) {
		eng->scrub = NULL;
		return;
	}
	job->waits = false;
	list_del_init(&job->node);
	if (list_empty(&job->queue->jobs))
		list_del_init(&job->queue->node);
}

/* Scrubbing waits for an idle engine, unless an allocation waits for it. */
static struct paccel_job *next_job(struct paccel_engine *eng)
{
	struct paccel_queue *queue;

	if (eng->scrub && (list_empty(&eng->queues) || READ_ONCE(eng->pd->pool.waiters)))
		return eng->scrub;
	if (list_empty(&eng->queues))
		return NULL;
	queue = list_first_entry(&eng->queues, struct paccel_queue, node);
	return list_first_entry(&queue->jobs, struct paccel_job, node);
}

/* Chooses the next step, if there is one and the engine is not held. */
static bool eng_pick(struct paccel_engine *eng)
{
	struct paccel_job *job;

	if (eng->hold)
		return false;
	job = next_job(eng);
	if (!job)
		return false;
	dequeue(eng, job);
	if (job->queue && !list_empty(&job->queue->node))
		list_move_tail(&job->queue->node, &eng->queues);
	job->restart = false;
	eng->job = job;
	paccel_job_plan(job, &eng->step);
	eng->state = PACCEL_ENGINE_PICKED;
	return true;
}

/* --- one step; eng->lock is held where nothing else is said --- */

/*
 * Elsewhere a sync does nothing; and the DMA debugger takes one of a page that is mapped twice for
 * an error.
 */
static bool needs_sync(struct paccel_engine *eng)
{
	return !eng->step.bounce && dma_need_sync(&eng->pd->pdev->dev, eng->step.x.host);
}

static void sync_for_card(struct paccel_engine *eng)
{
	struct paccel_xfer *x = &eng->step.x;

	if (needs_sync(eng))
		dma_sync_single_for_device(&eng->pd->pdev->dev, x->host, x->len,
					   eng->job->pages->dir);
}

static void sync_for_cpu(struct paccel_engine *eng)
{
	struct paccel_xfer *x = &eng->step.x;

	/* What the card has only read is as it was, or the program has written it since. */
	if (x->dir == DMA_FROM_DEVICE && needs_sync(eng))
		dma_sync_single_for_cpu(&eng->pd->pdev->dev, x->host, x->len,
					eng->job->pages->dir);
}

static void eng_start(struct paccel_engine *eng)
{
	unsigned long limit = msecs_to_jiffies(READ_ONCE(paccel_watchdog_ms));
	struct paccel_xfer *x = &eng->step.x;
	int ret;

	if (eng->hold || eng->job->error) {
		/* Stopped while the worker had it: back, or to its end. */
		eng->state = PACCEL_ENGINE_DONE;
		eng->status = eng->job->error ?: -EAGAIN;
		return;
	}
	if (eng->step.bounce)
		x->host = eng->bounce_dma;
	sync_for_card(eng);
	eng->state = PACCEL_ENGINE_BUSY;
	eng->deadline = jiffies + limit;
	ret = eng->pd->ops->start(eng, x);
	if (ret) {
		eng->state = PACCEL_ENGINE_DONE;
		eng->status = -EIO;
		return;
	}
	atomic64_inc(&eng->pd->count.xfers);
	mod_delayed_work(paccel_wq, &eng->watchdog, limit + 1);
}

/* A step has ended: returns the job if that ended with it, else puts it back in its turn. */
static struct paccel_job *eng_finish(struct paccel_engine *eng)
{
	struct paccel_job *job = eng->job;
	int status = eng->status;
	bool last = false;

	eng->job = NULL;
	eng->state = PACCEL_ENGINE_IDLE;
	if (!status) {
		last = paccel_job_advance(job, &eng->step);
	} else if (status == -EAGAIN && !job->error) {
		/* Was never started. */
	} else if (job->restart && !job->error) {
		job->row = 0;
		job->col = 0;
	} else if (!job->error) {
		job->error = status;
	}
	if (last || job->error) {
		/* All done is done, whatever wanted to stop it meanwhile. */
		if (last)
			job->error = 0;
		WRITE_ONCE(eng->load, eng->load - 1);
		return job;
	}
	enqueue(eng, job);
	return NULL;
}

/* The worker's part of a step, without the lock. */
static void move_bytes(struct paccel_engine *eng, enum paccel_engine_state was)
{
	struct paccel_step *step = &eng->step;

	if (!step->bounce)
		return;
	if (was == PACCEL_ENGINE_PICKED)
		paccel_job_before(eng->job, step, eng->bounce);
	else if (!eng->status)
		paccel_job_after(eng->job, step, eng->bounce);
}

/* One turn of the worker: false if there is nothing for it to do. */
static bool engine_turn(struct paccel_engine *eng)
{
	struct paccel_job *ended = NULL;
	enum paccel_engine_state was;

	spin_lock_irq(&eng->lock);
	if (eng->state == PACCEL_ENGINE_IDLE)
		eng_pick(eng);
	was = eng->state;
	if (was != PACCEL_ENGINE_PICKED && was != PACCEL_ENGINE_DONE) {
		spin_unlock_irq(&eng->lock);
		return false;
	}
	eng->state = PACCEL_ENGINE_WORK;
	spin_unlock_irq(&eng->lock);

	move_bytes(eng, was);

	spin_lock_irq(&eng->lock);
	if (was == PACCEL_ENGINE_PICKED)
		eng_start(eng);
	else
		ended = eng_finish(eng);
	spin_unlock_irq(&eng->lock);
	if (ended)
		job_end(ended);
	return true;
}

static void engine_work(struct work_struct *work)
{
	struct paccel_engine *eng = container_of(work, struct paccel_engine, work);

	while (engine_turn(eng))
		;
}

/*
 * The card has ended the step, as @polled says. Goes on without the worker as far as no byte has to
 * be moved by the CPU; returns a job that has ended, or NULL.
 */
static struct paccel_job *eng_done(struct paccel_engine *eng, int polled)
{
	struct paccel_job *ended;

	eng->state = PACCEL_ENGINE_DONE;
	eng->status = polled < 0 ? -EIO : 0;
	sync_for_cpu(eng);
	/* Only what the card has written has to be moved. */
	if (eng->step.bounce && eng->step.x.dir == DMA_FROM_DEVICE && !eng->status) {
		engine_queue_work(eng);
		return NULL;
	}
	ended = eng_finish(eng);
	if (eng_pick(eng) && !eng->step.bounce)
		eng_start(eng);
	if (eng->state == PACCEL_ENGINE_PICKED || eng->state == PACCEL_ENGINE_DONE)
		engine_queue_work(eng);
	return ended;
}

void paccel_xfer_check(struct paccel_engine *eng)
{
	struct paccel_job *ended = NULL;
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&eng->lock, flags);
	if (eng->state == PACCEL_ENGINE_BUSY)
		ret = eng->pd->ops->poll(eng);
	if (ret)
		ended = eng_done(eng, ret);
	spin_unlock_irqrestore(&eng->lock, flags);
	if (!ret)
		paccel_spurious_irq(eng->pd);
	if (ended)
		job_end(ended);
}

void paccel_spurious_irq(struct paccel_device *pd)
{
	atomic64_inc(&pd->count.spurious_irqs);
}

/* --- watchdog --- */

/* The deadline has passed: either the interrupt was lost, or the card hangs. eng->lock is held. */
static struct paccel_job *overdue(struct paccel_engine *eng)
{
	int ret = eng->pd->ops->poll(eng);

	if (!ret) {
		atomic64_inc(&eng->pd->count.timeouts);
		eng->state = PACCEL_ENGINE_HUNG;
		/* Not on paccel_wq: it waits for works of that one. */
		queue_work(system_long_wq, &eng->pd->recover);
		return NULL;
	}
	atomic64_inc(&eng->pd->count.lost_irqs);
	return eng_done(eng, ret);
}

static void engine_watchdog(struct work_struct *work)
{
	struct paccel_engine *eng = container_of(to_delayed_work(work), struct paccel_engine,
						 watchdog);
	struct paccel_job *ended = NULL;

	spin_lock_irq(&eng->lock);
	/* A transfer that was started after this work had begun to run armed it again. */
	if (eng->state == PACCEL_ENGINE_BUSY && time_after_eq(jiffies, eng->deadline))
		ended = overdue(eng);
	spin_unlock_irq(&eng->lock);
	if (ended)
		job_end(ended);
}

/* --- for the rest of the driver --- */

/* The engine with the least to do. */
struct paccel_engine *paccel_engine_choose(struct paccel_device *pd)
{
	struct paccel_engine *best = &pd->engines[0];
	unsigned int i;

	for (i = 1; i < pd->info.engines; i++)
		if (READ_ONCE(pd->engines[i].load) < READ_ONCE(best->load))
			best = &pd->engines[i];
	return best;
}

/*
 * Queues the job, which brings the engine's reference with it; on failure that stays with the
 * caller.
 */
int paccel_engine_submit(struct paccel_engine *eng, struct paccel_job *job)
{
	int ret;

	job->eng = eng;
	spin_lock_irq(&eng->lock);
	ret = eng->refuse;
	/* It was not when the call began; jobs are accepted again only after it is marked. */
	if (!ret && job->queue && READ_ONCE(job->queue->ctx->lost))
		ret = -ESTALE;
	if (!ret) {
		WRITE_ONCE(eng->load, eng->load + 1);
		enqueue(eng, job);
	}
	spin_unlock_irq(&eng->lock);
	if (!ret)
		engine_queue_work(eng);
	return ret;
}

/* Takes a waiting job out for good; eng->lock is held. */
static void withdraw(struct paccel_engine *eng, struct paccel_job *job, int error)
{
	dequeue(eng, job);
	job->error = error;
	WRITE_ONCE(eng->load, eng->load - 1);
}

/* Ends the job now if it waits, after its transfer if that runs. The caller has a reference. */
void paccel_engine_cancel(struct paccel_job *job, int error)
{
	struct paccel_engine *eng = job->eng;
	bool waits;

	spin_lock_irq(&eng->lock);
	waits = job->waits;
	if (waits)
		withdraw(eng, job, error);
	else if (eng->job == job && !job->error)
		job->error = error;
	spin_unlock_irq(&eng->lock);
	if (waits)
		job_end(job);
}

static void end_all(struct list_head *jobs)
{
	struct paccel_job *job, *next;

	list_for_each_entry_safe(job, next, jobs, node) {
		list_del_init(&job->node);
		job_end(job);
	}
}

/* Withdraws all jobs of the queue; eng->lock is held. */
static void withdraw_queue(struct paccel_engine *eng, struct paccel_queue *queue, int error,
			   struct list_head *ended)
{
	struct paccel_job *job, *next;

	list_for_each_entry_safe(job, next, &queue->jobs, node) {
		withdraw(eng, job, error);
		list_add_tail(&job->node, ended);
	}
}

/* --- stopping a card; pd->reset_lock is held --- */

/*
 * Nothing is started any more, and nobody but the card has a step in hand. What the card runs now
 * is the last transfer of its job: unless that completes the job, it fails with @error (if that
 * is not 0). Scrubbing begins again instead.
 */
void paccel_engines_hold(struct paccel_device *pd, int error)
{
	unsigned int i;

	for (i = 0; i < pd->info.engines; i++) {
		struct paccel_engine *eng = &pd->engines[i];

		spin_lock_irq(&eng->lock);
		eng->hold++;
		if (eng->state == PACCEL_ENGINE_BUSY && eng->job->op != PACCEL_OP_SCRUB &&
		    !eng->job->error)
			eng->job->error = error;
		spin_unlock_irq(&eng->lock);
		flush_work(&eng->work);
	}
}

/*
 * The status of what the card had in hand when it was stopped. With no @error it may have ended
 * well, and its interrupt not have come yet.
 */
static int abort_status(struct paccel_engine *eng, int error)
{
	if (eng->state == PACCEL_ENGINE_HUNG)
		return -ETIMEDOUT;
	if (!error && eng->pd->ops->poll(eng) > 0)
		return 0;
	return error ?: -EIO;
}

/*
 * Takes back what the card had in hand, with @error, or -ETIMEDOUT if it was that which hung. The
 * card has been quiesced or given up: a late completion finds nothing that it could belong to.
 */
void paccel_engines_abort(struct paccel_device *pd, int error)
{
	unsigned int i;

	for (i = 0; i < pd->info.engines; i++) {
		struct paccel_engine *eng = &pd->engines[i];

		spin_lock_irq(&eng->lock);
		if (eng->state == PACCEL_ENGINE_BUSY || eng->state == PACCEL_ENGINE_HUNG) {
			eng->status = abort_status(eng, error);
			eng->job->restart = eng->job->op == PACCEL_OP_SCRUB &&
					    eng->state == PACCEL_ENGINE_BUSY;
			eng->state = PACCEL_ENGINE_DONE;
			sync_for_cpu(eng);
			engine_queue_work(eng);
		}
		spin_unlock_irq(&eng->lock);
		flush_work(&eng->work);
	}
}

/* New jobs are refused with @error; if that is not 0, so are all that wait. */
void paccel_engines_refuse(struct paccel_device *pd, int error)
{
	unsigned int i;

	for (i = 0; i < pd->info.engines; i++) {
		struct paccel_engine *eng = &pd->engines[i];
		struct paccel_queue *queue, *next;
		struct paccel_job *scrub = NULL;
		LIST_HEAD(ended);

		spin_lock_irq(&eng->lock);
		eng->refuse = error;
		list_for_each_entry_safe(queue, next, &eng->queues, node)
			if (error)
				withdraw_queue(eng, queue, error, &ended);
		if (error && eng->scrub) {
			scrub = eng->scrub;
			withdraw(eng, scrub, error);
		}
		spin_unlock_irq(&eng->lock);
		end_all(&ended);
		if (scrub)
			job_end(scrub);
	}
}

void paccel_engines_unhold(struct paccel_device *pd)
{
	unsigned int i;

	for (i = 0; i < pd->info.engines; i++) {
		struct paccel_engine *eng = &pd->engines[i];

		spin_lock_irq(&eng->lock);
		eng->hold--;
		spin_unlock_irq(&eng->lock);
		engine_queue_work(eng);
	}
}

void paccel_engines_init(struct paccel_device *pd)
{
	unsigned int i;

	for (i = 0; i < PACCEL_MAX_ENGINES; i++) {
		struct paccel_engine *eng = &pd->engines[i];

		eng->pd = pd;
		eng->id = i;
		spin_lock_init(&eng->lock);
		INIT_LIST_HEAD(&eng->queues);
		INIT_WORK(&eng->work, engine_work);
		INIT_DELAYED_WORK(&eng->watchdog, engine_watchdog);
	}
}

/* Coherent memory is within every card's reach, however few address bits it has. */
int paccel_engines_alloc(struct paccel_device *pd)
{
	unsigned int i;

	for (i = 0; i < pd->info.engines; i++) {
		struct paccel_engine *eng = &pd->engines[i];

		eng->bounce = dma_alloc_coherent(&pd->pdev->dev, pd->info.max_xfer,
						 &eng->bounce_dma, GFP_KERNEL);
		if (!eng->bounce) {
			paccel_engines_free(pd);
			return -ENOMEM;
		}
	}
	return 0;
}

/* The engines are idle and held for good. What the card might still write stays where it is. */
void paccel_engines_free(struct paccel_device *pd)
{
	unsigned int i;

	for (i = 0; i < pd->info.engines; i++) {
		struct paccel_engine *eng = &pd->engines[i];

		cancel_delayed_work_sync(&eng->watchdog);
		cancel_work_sync(&eng->work);
		if (!eng->bounce)
			continue;
		if (pd->unsafe)
			paccel_count_leak(pd, PAGE_ALIGN(pd->info.max_xfer) >> PAGE_SHIFT);
		else
			dma_free_coherent(&pd->pdev->dev, pd->info.max_xfer, eng->bounce,
					  eng->bounce_dma);
		eng->bounce = NULL;
	}
}
