// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stopping an engine: for a reset of it or of the card, for suspend, when the card goes, and when
 * host memory is taken away. What the card had in hand fails, or is done again.
 */
#include "exec/internal.h"
#include "include/paccel.h"
#include "mem/pages.h"

/* Jobs that are withdrawn at once, with interrupts off. */
#define PACCEL_WITHDRAWN 64

/* Any job that waits, or NULL; eng->lock is held. */
static struct paccel_job *engine_waiting_job(struct paccel_engine *eng)
{
	struct list_head *queues = list_empty(&eng->queues) ? &eng->served : &eng->queues;
	struct paccel_queue *queue = list_first_entry_or_null(queues, struct paccel_queue, node);

	return queue ? list_first_entry(&queue->jobs, struct paccel_job, node) : eng->scrub;
}

/* --- stopping an engine; pd->reset_lock is held --- */

/*
 * The card goes no further than the transfer that it is at, and all that has ended until then has
 * been told: so nothing has begun of what is behind a transfer that is done again. What the card
 * says while it is reset is not listened to.
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
 * Nothing is started any more, and nobody but the card has a transfer in hand. What the card has
 * now are the last transfers of their jobs: unless they complete the job, it fails with @error (if
 * that is not 0). Scrubbing begins again instead.
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
 * Where the card had got to. An engine that links works in order: what it has passed without a word
 * cannot be done again, for what was behind it may have overwritten what it worked on.
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

/* How a transfer ends that the card still had in hand. */
static int tag_abort_status(struct paccel_engine *eng, struct paccel_tag *tag, bool passed,
			    int error)
{
	/* Nobody else has that memory. */
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
 * Takes back what the card had in hand: with @error, or to be done again if that is 0; what hung
 * has its own. The card has been quiesced, or this engine reset, or the card given up: a late
 * completion finds nothing that it could belong to.
 */
void paccel_engine_abort(struct paccel_engine *eng, int error)
{
	u64 i, passed;

	spin_lock_irq(&eng->lock);
	/* It may have ended well, and its interrupt not have come yet. */
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

/* New jobs are refused meanwhile. */
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

/* --- all engines of a card --- */

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
 * The pages are revoked: no transfer of theirs is planned any more. Waits until those that were
 * have ended. The watchdog sees to it that they do, once they are announced to the device.
 */
void paccel_engines_evict(struct paccel_device *pd, const struct paccel_pages *pages)
{
	struct paccel_engine *eng;

	for (eng = pd->engines; eng < engines_end(pd); eng++) {
		paccel_engine_kick(eng);
		wait_event(pd->evicted, !engine_has_pages(eng, pages));
	}
}
