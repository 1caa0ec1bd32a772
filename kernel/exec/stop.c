// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stopping an engine: for reset, recovery, suspend and removal, and when host memory is revoked.
 * Requests in flight fail or are repeated.
 */
#include "exec/internal.h"
#include "include/paccel.h"
#include "mem/pages.h"

/* Largest number of jobs that are withdrawn at once, since interrupts are off. */
#define PACCEL_WITHDRAWN 64

/* Returns a job that waits, or NULL. eng->lock is held. */
static struct paccel_job *engine_waiting_job(struct paccel_engine *eng)
{
	struct list_head *queues = list_empty(&eng->queues) ? &eng->served : &eng->queues;
	struct paccel_queue *queue = list_first_entry_or_null(queues, struct paccel_queue, node);

	return queue ? list_first_entry(&queue->jobs, struct paccel_job, node) : eng->scrub;
}

/* --- stopping an engine; pd->reset_lock is held --- */

/*
 * The device executes at most the request that it is at, and all earlier completions are processed
 * here. So no request behind one that will be repeated has been executed. From here until the end
 * of the reset completions are ignored.
 */
static void engine_halt(struct paccel_engine *eng)
{
	eng->pd->ops->halt(&eng->pd->hw, eng->id);
	spin_lock_irq(&eng->lock);
	paccel_engine_poll(eng);
	paccel_engine_set_state(eng, PACCEL_ENGINE_HALTED);
	spin_unlock_irq(&eng->lock);
}

/*
 * Starts no further request, and waits until eng->work uses none. Requests that the device has are
 * the last of their jobs: a job that they do not complete fails with @error, if that is not 0.
 * Scrub jobs are repeated instead.
 */
void paccel_engine_hold(struct paccel_engine *eng, int error)
{
	u64 i;

	spin_lock_irq(&eng->lock);
	if (eng->state >= PACCEL_ENGINE_HELD) {
		spin_unlock_irq(&eng->lock);
		return;
	}
	paccel_engine_kick_now(eng);
	paccel_engine_set_state(eng, PACCEL_ENGINE_HELD);
	for (i = eng->head; i != eng->tail; i++) {
		struct paccel_tag *tag = engine_tag(eng, i);

		if (tag->state == PACCEL_TAG_BUSY && tag->job->op != PACCEL_JOB_SCRUB &&
		    !tag->job->stop)
			tag->job->stop = error;
	}
	spin_unlock_irq(&eng->lock);
	flush_work(&eng->work);
	if (eng->pd->ops->halt)
		engine_halt(eng);
}

/*
 * Returns the cookie of the first request that the device has not passed. An engine with
 * PACCEL_HW_LINK works in order. A request that it has passed without reporting it cannot be
 * repeated, since later requests may have overwritten its source.
 */
static u64 engine_passed_to(struct paccel_engine *eng)
{
	u64 i = eng->tail;

	if (!(eng->pd->hw.info.flags & PACCEL_HW_LINK))
		return eng->head;
	while (i != eng->head && engine_tag(eng, i - 1)->state == PACCEL_TAG_BUSY)
		i--;
	return i;
}

/* Returns the status of a request that the device had not completed. */
static int tag_abort_status(struct paccel_engine *eng, struct paccel_tag *tag, bool passed,
			    int error)
{
	/* Memory that is being scrubbed is in no allocation, so it can be scrubbed again. */
	if (tag->job->op == PACCEL_JOB_SCRUB)
		return -EAGAIN;
	if (error)
		return error;
	if (!passed)
		return -EAGAIN;
	atomic64_inc(&eng->pd->count.timeouts);
	return -ETIMEDOUT;
}

/*
 * Ends the requests that the device has not completed, with @error, or to be repeated if that is 0.
 * Hung requests have their own error. The device has been quiesced, the engine reset, or the device
 * taken out of service. A late completion matches no request.
 */
void paccel_engine_abort(struct paccel_engine *eng, int error)
{
	u64 i, passed;

	spin_lock_irq(&eng->lock);
	/* A request may have completed whose interrupt has not come yet. */
	if (!error)
		paccel_engine_poll(eng);
	passed = engine_passed_to(eng);
	for (i = eng->head; i != eng->tail; i++) {
		struct paccel_tag *tag = engine_tag(eng, i);

		if (tag->state == PACCEL_TAG_BUSY) {
			tag->status = tag_abort_status(eng, tag, i < passed, error);
			paccel_tag_sync_for_cpu(eng, tag);
		} else if (tag->state != PACCEL_TAG_HUNG) {
			continue;
		}
		tag->state = PACCEL_TAG_DONE;
	}
	spin_unlock_irq(&eng->lock);
	engine_queue_work(eng);
	flush_work(&eng->work);
}

void paccel_engine_unhold(struct paccel_engine *eng)
{
	spin_lock_irq(&eng->lock);
	paccel_engine_set_state(eng, PACCEL_ENGINE_RUNNING);
	spin_unlock_irq(&eng->lock);
	engine_queue_work(eng);
}

bool paccel_engine_hung(struct paccel_engine *eng)
{
	return READ_ONCE(eng->state) == PACCEL_ENGINE_HUNG;
}

/* New jobs are rejected meanwhile. */
static void engine_withdraw(struct paccel_engine *eng, int error)
{
	struct paccel_job *job;
	unsigned int i;

	do {
		spin_lock_irq(&eng->lock);
		for (i = 0; i < PACCEL_WITHDRAWN; i++) {
			job = engine_waiting_job(eng);
			if (!job)
				break;
			paccel_sched_withdraw(eng, job, error);
		}
		engine_report_later(eng);
		spin_unlock_irq(&eng->lock);
		cond_resched();
	} while (job);
}

/* --- all engines of a device --- */

void paccel_engines_hold(struct paccel_device *pd, int error)
{
	struct paccel_engine *eng;

	for (eng = pd->engines; eng < engines_end(pd); eng++)
		paccel_engine_hold(eng, error);
}

void paccel_engines_abort(struct paccel_device *pd, int error)
{
	struct paccel_engine *eng;

	for (eng = pd->engines; eng < engines_end(pd); eng++)
		paccel_engine_abort(eng, error);
}

void paccel_engines_withdraw(struct paccel_device *pd, int error)
{
	struct paccel_engine *eng;

	for (eng = pd->engines; eng < engines_end(pd); eng++)
		engine_withdraw(eng, error);
}

void paccel_engines_unhold(struct paccel_device *pd)
{
	struct paccel_engine *eng;

	for (eng = pd->engines; eng < engines_end(pd); eng++)
		paccel_engine_unhold(eng);
}

static bool engine_has_pages(struct paccel_engine *eng, const struct paccel_pages *pages)
{
	bool found = false;
	u64 i;

	spin_lock_irq(&eng->lock);
	for (i = eng->head; i != eng->tail; i++)
		found = found || engine_tag(eng, i)->job->pages == pages;
	spin_unlock_irq(&eng->lock);
	return found;
}

/*
 * The pages are revoked, so no new request uses them. Waits until the requests that use them have
 * ended. kick() is called first, since the watchdog bounds the wait only for requests that have
 * been announced.
 */
void paccel_engines_evict(struct paccel_device *pd, const struct paccel_pages *pages)
{
	struct paccel_engine *eng;

	for (eng = pd->engines; eng < engines_end(pd); eng++) {
		paccel_engine_kick(eng);
		wait_event(pd->evicted, !engine_has_pages(eng, pages));
	}
}
