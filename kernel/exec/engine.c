// SPDX-License-Identifier: GPL-2.0-only
/*
 * Engine: one DMA channel. This file starts and completes its DMA requests and detects hangs.
 * sched.c selects the next job, stop.c stops an engine.
 *
 * Requests in flight are in a ring of tags, in the order in which they were picked, and leave it in
 * that order. The state of a tag says which party uses it: the holder of eng->lock (PICKED, DONE),
 * eng->work (FILLING, EMPTYING) or the device (BUSY, HUNG). A request that needs no copy by the CPU
 * is started from the completion interrupt of an earlier one. Otherwise eng->work fills the bounce
 * buffer first. eng->work also verifies data. An engine has one bounce buffer, which one request at
 * a time uses. eng->report notifies streams of jobs that have ended. How long that takes depends on
 * the eventfds and fences of applications, so no request and no reset waits for eng->report.
 */
#include <linux/bits.h>
#include <linux/dma-mapping.h>
#include <linux/pci.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "core/compat.h"
#include "core/ctx.h"
#include "exec/internal.h"
#include "exec/trace.h"
#include "include/paccel.h"
#include "mem/pages.h"

/* Largest bounce buffer of an engine, and so the largest request that uses it. */
#define PACCEL_BOUNCE SZ_256K

/* Largest number of requests that are started before one kick(). */
#define PACCEL_UNKICKED 16

/* Largest number of stopped or revoked jobs that are ended at once, since interrupts are off. */
#define PACCEL_REVOKED 16

/* Largest number of requests that are started at once, since interrupts are off. Each can fail. */
#define PACCEL_STARTED (2 * PACCEL_MAX_DEPTH)

/* Rounds of eng->work before it is queued again, so that other work items can run. */
#define PACCEL_TURNS 64

/* The states that may follow each state. */
static const u8 next_states[] = {
	[PACCEL_ENGINE_RUNNING] = BIT(PACCEL_ENGINE_HUNG) | BIT(PACCEL_ENGINE_HELD),
	[PACCEL_ENGINE_HUNG] = BIT(PACCEL_ENGINE_HUNG) | BIT(PACCEL_ENGINE_HELD),
	[PACCEL_ENGINE_HELD] = BIT(PACCEL_ENGINE_HALTED) | BIT(PACCEL_ENGINE_RUNNING),
	[PACCEL_ENGINE_HALTED] = BIT(PACCEL_ENGINE_RUNNING),
};

/* A transition that is not allowed is stored, too; see paccel_set_state(). */
void paccel_engine_set_state(struct paccel_engine *eng, enum paccel_engine_state state)
{
	lockdep_assert_held(&eng->lock);
	WARN(!(next_states[eng->state] & BIT(state)), "paccel: engine state %d after %d\n", state,
	     eng->state);
	WRITE_ONCE(eng->state, state);
}

/* --- one DMA request; eng->lock is held unless stated otherwise --- */

/*
 * Calls @sync for the host memory of a request, in parts that do not cross a 4 KiB boundary, the
 * smallest page of an IOMMU: pages with consecutive bus addresses need not be consecutive in
 * physical memory, and @sync translates only its first address.
 */
static void tag_sync_pages(struct paccel_engine *eng, struct paccel_tag *tag,
			   void (*sync)(struct device *dev, dma_addr_t addr, size_t len,
					enum dma_data_direction dir))
{
	enum dma_data_direction dir = paccel_pages_dir(tag->job->pages);
	struct paccel_seg seg = tag->step.x.segs;
	u32 done, part;

	while (paccel_seg_next(&seg))
		for (done = 0; done < seg.len; done += part) {
			dma_addr_t addr = seg.addr + done;

			part = min_t(u32, seg.len - done, SZ_4K - (addr & (SZ_4K - 1)));
			sync(&eng->pd->hw.pdev->dev, addr, part, dir);
		}
}

void paccel_tag_sync_for_cpu(struct paccel_engine *eng, struct paccel_tag *tag)
{
	/*
	 * Memory that the device only reads is not changed by it, and may have been written since.
	 */
	if (tag->step.sync && tag->step.x.op == PACCEL_XFER_D2H)
		tag_sync_pages(eng, tag, dma_sync_single_for_cpu);
}

/* Arms the watchdog for the deadline. If it expires early, it is armed again. */
static void engine_set_alarm(struct paccel_engine *eng)
{
	s64 left = max_t(s64, ktime_ms_delta(eng->deadline, ktime_get()), 0);
	unsigned long alarm = jiffies + msecs_to_jiffies(left + 1) + 1;

	if (eng->armed && time_before_eq(eng->alarm, alarm))
		return;
	eng->armed = true;
	eng->alarm = alarm;
	mod_delayed_work(paccel_wq, &eng->watchdog, alarm - jiffies);
}

/* Returns whether the newest request waits for eng->work to fill the bounce buffer. */
static bool engine_last_is_unstarted(struct paccel_engine *eng)
{
	struct paccel_tag *last = engine_last_tag(eng);

	return last && (last->state == PACCEL_TAG_PICKED || last->state == PACCEL_TAG_FILLING);
}

/* Returns the cookie behind the newest request that has been started. */
static u64 engine_started_end(struct paccel_engine *eng)
{
	return eng->tail - engine_last_is_unstarted(eng);
}

/* Returns whether the oldest request in flight has been announced by kick(). */
static bool engine_oldest_is_kicked(struct paccel_engine *eng)
{
	return eng->head != eng->tail && eng->head < eng->kicked;
}

/* The oldest request in flight must complete by then. In ktime, since jiffies may lag behind. */
static void engine_set_deadline(struct paccel_engine *eng)
{
	eng->deadline = ktime_add_ms(ktime_get(), READ_ONCE(paccel_watchdog_ms.value));
	engine_set_alarm(eng);
}

/* Removes the newest request, which has been picked and not started. */
static void tag_unpick(struct paccel_engine *eng, struct paccel_tag *tag)
{
	eng->tail--;
	paccel_sched_retire(eng, tag);
	tag->job->at = tag->step.at;
	paccel_sched_settle(eng, tag->job);
}

/* Announces all started requests. The deadline is set if none had been announced. */
void paccel_engine_kick_now(struct paccel_engine *eng)
{
	bool was_kicked = engine_oldest_is_kicked(eng);

	if (engine_started_end(eng) <= max(eng->kicked, eng->head))
		return;
	if (eng->pd->ops->kick)
		eng->pd->ops->kick(&eng->pd->hw, eng->id);
	eng->kicked = engine_started_end(eng);
	if (!was_kicked)
		engine_set_deadline(eng);
}

static void tag_start(struct paccel_engine *eng, struct paccel_tag *tag)
{
	struct paccel_step *step = &tag->step;
	int ret;

	if (eng->state != PACCEL_ENGINE_RUNNING || tag->job->stop) {
		/* The engine or the job was stopped while eng->work filled the bounce buffer. */
		tag_unpick(eng, tag);
		return;
	}
	if (step->bounce) {
		step->x.segs = (struct paccel_seg){ .addr = eng->bounce_dma, .left = step->x.len };
		step->x.nr_segs = 1;
	}
	if (step->sync)
		tag_sync_pages(eng, tag, dma_sync_single_for_device);
	tag->state = PACCEL_TAG_BUSY;
	tag->started = ktime_get();
	ret = eng->pd->ops->start(&eng->pd->hw, eng->id, &step->x);
	trace_paccel_start(eng, tag, ret);
	if (ret) {
		tag->state = PACCEL_TAG_DONE;
		tag->status = -EIO;
		return;
	}
	atomic64_inc(&eng->pd->count.xfers);
}

/* Returns whether the bounce buffer has data that the device has written. */
static bool tag_needs_copy_out(const struct paccel_tag *tag)
{
	return tag->step.bounce && tag->step.x.op == PACCEL_XFER_D2H;
}

/*
 * A request of a rewound job is not verified: it is repeated, and the data that its checksum is
 * compared with may already have changed.
 */
static bool tag_needs_verify(const struct paccel_tag *tag)
{
	return tag->step.x.verify && tag->step.x.op != PACCEL_XFER_CHECKSUM && !tag->job->rewound;
}

/* Returns whether eng->work has to process the request, the oldest one, before it is retired. */
static bool tag_needs_work(const struct paccel_tag *tag)
{
	return !tag->status && !tag->seen && (tag_needs_copy_out(tag) || tag_needs_verify(tag));
}

static void engine_retire(struct paccel_engine *eng, struct paccel_tag *tag)
{
	struct paccel_job *job = tag->job;

	eng->head++;
	paccel_sched_retire(eng, tag);
	if (tag->status == -EAGAIN) {
		/*
		 * The job continues from this request. Later requests of the job are repeated too.
		 */
		if (!job->rewound)
			job->at = tag->step.at;
		job->rewound = true;
	} else if (tag->status) {
		if (!job->error)
			job->error = tag->status;
	} else if (!job->rewound) {
		if (tag->step.x.op == PACCEL_XFER_CHECKSUM)
			job->source = tag->checksum;
		paccel_job_count(job, &tag->step);
		job->complete = tag->step.last && !job->error;
	}
	paccel_sched_settle(eng, job);
}

/* Retires requests from the oldest on, up to the first that has not completed. */
static void engine_retire_all(struct paccel_engine *eng)
{
	u64 head = eng->head;

	while (eng->head != eng->tail) {
		struct paccel_tag *tag = engine_tag(eng, eng->head);

		if (tag->state != PACCEL_TAG_DONE)
			break;
		if (tag_needs_work(tag)) {
			engine_queue_work(eng);
			break;
		}
		engine_retire(eng, tag);
	}
	if (eng->head != head && engine_oldest_is_kicked(eng))
		engine_set_deadline(eng);
}

/* --- picking requests; eng->lock is held --- */

static bool engine_has_room(struct paccel_engine *eng)
{
	if (eng->state != PACCEL_ENGINE_RUNNING ||
	    eng->tail - eng->head == eng->pd->hw.info.depth)
		return false;
	/*
	 * Three requests besides the running one, since the latency of an interrupt can be the time
	 * of one or two requests.
	 */
	return eng->bytes <= 3 * (u64)eng->pd->hw.info.max_xfer;
}

/* No request is picked while the newest is unstarted: it would be started before that one. */
static bool engine_may_pick(struct paccel_engine *eng)
{
	return engine_has_room(eng) && !engine_last_is_unstarted(eng);
}

/*
 * Returns whether the request must wait for requests in flight. It need not wait for the leader of
 * its job if the device orders the two; the request is linked then. A request that the CPU copies
 * or syncs data for is never linked, since the CPU cannot act between two linked requests.
 */
static bool engine_must_wait(struct paccel_engine *eng, struct paccel_job *job,
			     struct paccel_step *step)
{
	struct paccel_job *leader = job->leader;
	struct paccel_tag *last = engine_last_tag(eng);

	if (step->bounce && eng->bouncing)
		return true;
	if (!leader)
		return false;
	step->x.linked = leader->in_flight == 1 && !leader->stop && !leader->error &&
			 (last->state == PACCEL_TAG_BUSY ||
			  (last->state == PACCEL_TAG_DONE && !last->status)) &&
			 !last->step.bounce && !last->step.sync && !last->step.x.verify &&
			 !step->bounce && !step->sync;
	return !step->x.linked;
}

/*
 * Returns the next job. Jobs that were stopped, or whose pages are revoked, are withdrawn. That is
 * checked with eng->lock held, so that paccel_engines_evict() sees every request that uses the
 * pages.
 */
static struct paccel_job *engine_next_job(struct paccel_engine *eng)
{
	struct paccel_job *job;
	unsigned int i;

	for (i = 0; i < PACCEL_REVOKED; i++) {
		job = paccel_sched_next(eng);
		if (!job || (!job->stop && !job_is_revoked(job)))
			return job;
		paccel_sched_withdraw(eng, job, -EFAULT);
	}
	/*
	 * There may be thousands of such jobs. eng->work continues, with interrupts enabled in
	 * between.
	 */
	engine_queue_work(eng);
	return NULL;
}

/*
 * Returns whether the request needs no completion interrupt: every other request of a job does not
 * if the next one follows at once. The interrupt of the next request comes while two more are in
 * flight, so the engine does not become idle.
 */
static bool tag_is_quiet(struct paccel_engine *eng, struct paccel_tag *tag)
{
	const struct paccel_step *step = &tag->step;

	return !(step->x.cookie & 1) && !step->last && !step->bounce && !step->x.verify &&
	       paccel_sched_is_alone(eng) && engine_has_room(eng);
}

/* Plans the next request and puts it into the ring. Returns NULL if there is none. */
static struct paccel_tag *engine_pick(struct paccel_engine *eng)
{
	struct paccel_job *job = engine_may_pick(eng) ? engine_next_job(eng) : NULL;
	struct paccel_tag *tag = engine_tag(eng, eng->tail);

	if (!job)
		return NULL;
	paccel_job_plan(job, &tag->step);
	if (engine_must_wait(eng, job, &tag->step))
		return NULL;
	paccel_sched_dequeue(eng, job);
	tag->job = job;
	tag->state = PACCEL_TAG_PICKED;
	tag->status = 0;
	tag->checksum = 0;
	tag->seen = false;
	tag->step.x.cookie = eng->tail;
	tag->step.x.list = eng->lists + (tag - eng->tags) * eng->pd->hw.info.list_size;
	tag->step.x.list_dma = eng->lists_dma + (tag - eng->tags) * eng->pd->hw.info.list_size;
	eng->tail++;
	eng->bytes += tag->step.x.len;
	if (tag->step.bounce)
		eng->bouncing = true;
	job->in_flight++;
	if (job->queue) {
		job->queue->in_flight++;
		list_del_init(&job->queue->node);
		paccel_sched_add_queue(eng, job->queue);
	}
	tag->step.last = paccel_job_issue(job, &tag->step);
	if (!tag->step.last)
		paccel_sched_enqueue(eng, job);
	else if (eng->pd->hw.info.flags & PACCEL_HW_LINK)
		paccel_sched_unpark(eng, job->follower);
	tag->step.x.quiet = tag_is_quiet(eng, tag);
	return tag;
}

/* Retires and starts requests until eng->work has to copy data or none is left to start. */
static void engine_advance_unkicked(struct paccel_engine *eng)
{
	struct paccel_tag *tag;
	unsigned int i;

	for (i = 0; i < PACCEL_STARTED; i++) {
		engine_retire_all(eng);
		tag = engine_pick(eng);
		if (!tag)
			return;
		if (tag->step.bounce) {
			engine_queue_work(eng);
			return;
		}
		tag_start(eng, tag);
	}
	engine_queue_work(eng);
}

static void engine_advance(struct paccel_engine *eng)
{
	engine_advance_unkicked(eng);
	paccel_engine_kick_now(eng);
}

/* --- eng->work --- */

static bool tag_is_intact(struct paccel_engine *eng, struct paccel_tag *tag)
{
	if (!tag_needs_verify(tag) ||
	    paccel_job_checksum(tag->job, &tag->step, eng->bounce) == tag->checksum)
		return true;
	atomic64_inc(&eng->pd->count.corrupt);
	dev_warn_ratelimited(&eng->pd->dev, "engine %u: wrong checksum of a DMA request\n",
			     eng->id);
	return false;
}

/* Copies or verifies the data of a request in state FILLING or EMPTYING. eng->lock is not held. */
static void tag_copy(struct paccel_engine *eng, struct paccel_tag *tag)
{
	if (tag->state == PACCEL_TAG_FILLING)
		paccel_job_copy_in(tag->job, &tag->step, eng->bounce);
	else if (!tag_is_intact(eng, tag))
		tag->status = -EBADMSG;
	else if (tag_needs_copy_out(tag))
		paccel_job_copy_out(tag->job, &tag->step, eng->bounce);
}

/* Returns the request that eng->work has to process, in state FILLING or EMPTYING, or NULL. */
static struct paccel_tag *engine_take_tag(struct paccel_engine *eng)
{
	struct paccel_tag *tag = engine_last_tag(eng);

	if (!tag)
		return NULL;
	if (tag->state == PACCEL_TAG_PICKED) {
		tag->state = PACCEL_TAG_FILLING;
		return tag;
	}
	tag = engine_tag(eng, eng->head);
	if (tag->state != PACCEL_TAG_DONE || !tag_needs_work(tag))
		return NULL;
	tag->state = PACCEL_TAG_EMPTYING;
	return tag;
}

/* One round of eng->work. Returns false if nothing is left to do. */
static bool engine_work_once(struct paccel_engine *eng)
{
	struct paccel_tag *tag;

	spin_lock_irq(&eng->lock);
	engine_advance(eng);
	tag = engine_take_tag(eng);
	engine_report_later(eng);
	spin_unlock_irq(&eng->lock);
	if (!tag)
		return false;
	tag_copy(eng, tag);
	spin_lock_irq(&eng->lock);
	if (tag->state == PACCEL_TAG_FILLING) {
		tag_start(eng, tag);
	} else {
		tag->seen = true;
		tag->state = PACCEL_TAG_DONE;
	}
	engine_advance(eng);
	engine_report_later(eng);
	spin_unlock_irq(&eng->lock);
	return true;
}

/*
 * Queues eng->work again and returns true. If the engine is held, returns false: the number of
 * rounds is bounded then, since no request is started, and paccel_engine_hold() flushes the work.
 */
static bool engine_requeue_work(struct paccel_engine *eng)
{
	bool running;

	spin_lock_irq(&eng->lock);
	running = eng->state == PACCEL_ENGINE_RUNNING;
	if (running)
		engine_queue_work(eng);
	spin_unlock_irq(&eng->lock);
	return running;
}

/* Verification can be slower than the device, so that there is always a next round. */
static void engine_work(struct work_struct *work)
{
	struct paccel_engine *eng = container_of(work, struct paccel_engine, work);
	bool cookie = dma_fence_begin_signalling();
	unsigned int turns = 0;

	while (engine_work_once(eng)) {
		cond_resched();
		if (++turns >= PACCEL_TURNS && engine_requeue_work(eng))
			break;
	}
	dma_fence_end_signalling(cookie);
}

static void engine_report(struct work_struct *work)
{
	struct paccel_engine *eng = container_of(work, struct paccel_engine, report);
	bool cookie = dma_fence_begin_signalling();
	struct paccel_job *job, *next;
	LIST_HEAD(ended);

	spin_lock_irq(&eng->lock);
	list_splice_init(&eng->ended, &ended);
	spin_unlock_irq(&eng->lock);
	list_for_each_entry_safe(job, next, &ended, node) {
		job->ops->ended(job);
		paccel_job_put(job);
		cond_resched();
	}
	dma_fence_end_signalling(cookie);
}

/* --- completions; eng->lock is held --- */

static void tag_count_time(struct paccel_engine *eng, struct paccel_tag *tag)
{
	ktime_t now = ktime_get();
	/* Until the request before it completed, this one waited in the device. */
	ktime_t from = max(tag->started, eng->last_end);
	u64 ns = ktime_to_ns(ktime_sub(now, from));

	eng->last_end = now;
	WRITE_ONCE(eng->usual_ns, (7 * eng->usual_ns + ns) / 8);
	if (tag->job->ctx)
		atomic64_add(ns, &tag->job->ctx->usage.engine_ns);
}

/* The engine starts no request until it has been reset. */
static void engine_hang(struct paccel_engine *eng, struct paccel_tag *tag, int error)
{
	tag->state = PACCEL_TAG_HUNG;
	tag->status = error;
	/* The caller of paccel_engine_hold() ends the requests with paccel_engine_abort(). */
	if (eng->state >= PACCEL_ENGINE_HELD)
		return;
	paccel_engine_set_state(eng, PACCEL_ENGINE_HUNG);
	queue_work(paccel_recovery_wq, &eng->pd->recover);
}

void paccel_xfer_bogus(struct paccel_hw *hw, unsigned int engine)
{
	struct paccel_device *pd = paccel_of_hw(hw);

	atomic64_inc(&pd->count.bogus);
	dev_warn_ratelimited(&pd->dev, "engine %u: a completion that matches no DMA request\n",
			     engine);
}
EXPORT_SYMBOL_PACCEL(paccel_xfer_bogus);

/* Returns the started request with that cookie, or NULL. */
static struct paccel_tag *engine_busy_tag(struct paccel_engine *eng, u64 cookie)
{
	struct paccel_tag *tag = engine_tag(eng, cookie);

	return cookie - eng->head < eng->tail - eng->head && tag->state == PACCEL_TAG_BUSY ? tag :
											     NULL;
}

void paccel_xfer_checksum(struct paccel_hw *hw, unsigned int engine, u64 cookie, u32 checksum)
{
	struct paccel_tag *tag = engine_busy_tag(paccel_engine_of(hw, engine), cookie);

	if (tag)
		tag->checksum = checksum;
}
EXPORT_SYMBOL_PACCEL(paccel_xfer_checksum);

void paccel_xfer_done(struct paccel_hw *hw, unsigned int engine, u64 cookie, u64 bytes, int status)
{
	struct paccel_engine *eng = paccel_engine_of(hw, engine);
	struct paccel_tag *tag = engine_busy_tag(eng, cookie);

	eng->reported = true;
	if (!tag) {
		paccel_xfer_bogus(hw, engine);
		return;
	}
	if (!status && bytes != tag->step.x.len) {
		paccel_xfer_bogus(hw, engine);
		engine_hang(eng, tag, -EIO);
		return;
	}
	tag->state = PACCEL_TAG_DONE;
	tag->status = !status || status == -ECANCELED ? status : -EIO;
	tag_count_time(eng, tag);
	trace_paccel_done(eng, tag, status);
	paccel_tag_sync_for_cpu(eng, tag);
}
EXPORT_SYMBOL_PACCEL(paccel_xfer_done);

/* Returns whether a request has completed since the last call. */
bool paccel_engine_poll(struct paccel_engine *eng)
{
	eng->reported = false;
	if (eng->state != PACCEL_ENGINE_HALTED)
		eng->pd->ops->poll(&eng->pd->hw, eng->id);
	return eng->reported;
}

bool paccel_xfer_check(struct paccel_hw *hw, unsigned int engine)
{
	struct paccel_engine *eng = paccel_engine_of(hw, engine);
	unsigned long flags;
	bool reported;

	spin_lock_irqsave(&eng->lock, flags);
	reported = paccel_engine_poll(eng);
	if (reported)
		engine_advance(eng);
	engine_report_later(eng);
	spin_unlock_irqrestore(&eng->lock, flags);
	return reported;
}
EXPORT_SYMBOL_PACCEL(paccel_xfer_check);

void paccel_spurious_irq(struct paccel_hw *hw)
{
	atomic64_inc(&paccel_of_hw(hw)->count.spurious_irqs);
}
EXPORT_SYMBOL_PACCEL(paccel_spurious_irq);

/* --- watchdog --- */

static bool engine_is_overdue(struct paccel_engine *eng)
{
	return engine_oldest_is_kicked(eng) && ktime_compare(ktime_get(), eng->deadline) >= 0 &&
	       engine_tag(eng, eng->head)->state == PACCEL_TAG_BUSY;
}

/* The deadline has passed: an interrupt was lost, or the engine hangs. eng->lock is held. */
static void engine_check_overdue(struct paccel_engine *eng)
{
	bool quiet = engine_tag(eng, eng->head)->step.x.quiet;

	if (paccel_engine_poll(eng) && !engine_is_overdue(eng)) {
		if (!quiet)
			atomic64_inc(&eng->pd->count.lost_irqs);
		engine_advance(eng);
	}
	if (engine_is_overdue(eng)) {
		atomic64_inc(&eng->pd->count.timeouts);
		engine_hang(eng, engine_tag(eng, eng->head), -ETIMEDOUT);
	}
}

static void engine_watchdog(struct work_struct *work)
{
	struct paccel_engine *eng = container_of(to_delayed_work(work), struct paccel_engine,
						 watchdog);
	bool cookie = dma_fence_begin_signalling();

	spin_lock_irq(&eng->lock);
	eng->armed = false;
	if (eng->state == PACCEL_ENGINE_RUNNING && engine_is_overdue(eng))
		engine_check_overdue(eng);
	/* The requests in flight may have been started after the watchdog was armed. */
	if (eng->state == PACCEL_ENGINE_RUNNING && engine_oldest_is_kicked(eng))
		engine_set_alarm(eng);
	engine_report_later(eng);
	spin_unlock_irq(&eng->lock);
	dma_fence_end_signalling(cookie);
}

/* --- interface --- */

/* @ops: BIT() of enum paccel_xfer_op. */
bool paccel_engine_takes(const struct paccel_engine *eng, u32 ops)
{
	u32 can = eng->pd->hw.info.engine_ops[eng->id];

	return !can || !(ops & ~can);
}

/*
 * Returns, of the engines that support @ops, the one with the fewest jobs. Among equals it is the
 * one whose interrupt is on this CPU, since waking a thread of another CPU needs an interrupt more.
 */
struct paccel_engine *paccel_engine_choose(struct paccel_device *pd, u32 ops)
{
	unsigned int nr = pd->hw.info.engines, first = raw_smp_processor_id() % nr, i;
	struct paccel_engine *best = NULL, *eng;

	for (i = 0; i < nr; i++) {
		eng = &pd->engines[(first + i) % nr];
		if (paccel_engine_takes(eng, ops) &&
		    (!best || READ_ONCE(eng->load) < READ_ONCE(best->load)))
			best = eng;
	}
	return best;
}

/* Takes over a reference of the caller's, unless it fails. */
int paccel_engine_submit(struct paccel_engine *eng, struct paccel_job *job,
			 struct paccel_job *leader, bool more)
{
	int ret;

	job->eng = eng;
	job->since = jiffies;
	spin_lock_irq(&eng->lock);
	ret = paccel_state_error(eng->pd);
	/*
	 * The context may have been marked as lost since the call began. The device accepts jobs
	 * again only after all contexts have been marked.
	 */
	if (!ret && job->queue && READ_ONCE(job->queue->ctx->lost))
		ret = -ESTALE;
	if (!ret && leader && leader->over && paccel_sched_has_failed(leader))
		ret = -ECANCELED;
	if (!ret) {
		paccel_sched_submit(eng, job, leader);
		engine_advance_unkicked(eng);
		if (!more || engine_started_end(eng) - eng->kicked >= PACCEL_UNKICKED)
			paccel_engine_kick_now(eng);
		engine_report_later(eng);
	}
	spin_unlock_irq(&eng->lock);
	return ret;
}

void paccel_engine_kick(struct paccel_engine *eng)
{
	spin_lock_irq(&eng->lock);
	paccel_engine_kick_now(eng);
	spin_unlock_irq(&eng->lock);
}

/*
 * Ends a job that waits at once, and a job with requests in flight when those have completed. The
 * caller has a reference.
 */
void paccel_engine_cancel(struct paccel_job *job, int error)
{
	struct paccel_engine *eng = job->eng;

	spin_lock_irq(&eng->lock);
	/* After removal the job is over, and eng->work is not queued any more. */
	if (!job->over) {
		paccel_sched_withdraw(eng, job, error);
		/* Ends the followers. */
		engine_queue_work(eng);
	}
	engine_report_later(eng);
	spin_unlock_irq(&eng->lock);
}

/*
 * For PACCEL_MAX_ENGINES engines: called before the backend's probe(), in which an interrupt may
 * come and the number is not known yet.
 */
int paccel_engines_init(struct paccel_device *pd)
{
	unsigned int i;

	pd->engines = kcalloc(PACCEL_MAX_ENGINES, sizeof(*pd->engines), GFP_KERNEL);
	if (!pd->engines)
		return -ENOMEM;
	init_waitqueue_head(&pd->evicted);
	for (i = 0; i < PACCEL_MAX_ENGINES; i++) {
		struct paccel_engine *eng = &pd->engines[i];

		eng->pd = pd;
		eng->id = i;
		spin_lock_init(&eng->lock);
		INIT_LIST_HEAD(&eng->queues);
		INIT_LIST_HEAD(&eng->served);
		INIT_LIST_HEAD(&eng->ended);
		INIT_WORK(&eng->work, engine_work);
		INIT_WORK(&eng->report, engine_report);
		INIT_DELAYED_WORK(&eng->watchdog, engine_watchdog);
	}
	return 0;
}

/* Also after paccel_engines_init() has failed or was not called. No job is left. */
void paccel_engines_exit(struct paccel_device *pd)
{
	kfree(pd->engines);
}

/* Allocates one queue per engine, to be freed with kfree(). Returns NULL if there is no memory. */
struct paccel_queue *paccel_queues_alloc(struct paccel_ctx *ctx)
{
	unsigned int i, nr = ctx->pd->hw.info.engines;
	struct paccel_queue *queues = kcalloc(nr, sizeof(*queues), GFP_KERNEL_ACCOUNT);

	for (i = 0; queues && i < nr; i++) {
		queues[i].ctx = ctx;
		INIT_LIST_HEAD(&queues[i].node);
		INIT_LIST_HEAD(&queues[i].jobs);
	}
	return queues;
}

static u32 engine_lists_size(struct paccel_device *pd)
{
	return pd->hw.info.depth * pd->hw.info.list_size;
}

/* Coherent memory is below the coherent DMA mask, so every device can address it. */
static int engine_alloc(struct paccel_engine *eng)
{
	struct paccel_device *pd = eng->pd;
	struct device *dev = &pd->hw.pdev->dev;

	eng->tags = kcalloc(pd->hw.info.depth, sizeof(*eng->tags), GFP_KERNEL);
	if (!eng->tags)
		return -ENOMEM;
	eng->bounce = dma_alloc_coherent(dev, pd->bounce_size, &eng->bounce_dma, GFP_KERNEL);
	if (!eng->bounce)
		return -ENOMEM;
	if (!engine_lists_size(pd))
		return 0;
	eng->lists = dma_alloc_coherent(dev, engine_lists_size(pd), &eng->lists_dma, GFP_KERNEL);
	return eng->lists ? 0 : -ENOMEM;
}

int paccel_engines_alloc(struct paccel_device *pd)
{
	const struct paccel_hw_info *info = &pd->hw.info;
	struct paccel_engine *eng;
	int ret;

	/*
	 * The bounce buffer is one segment: coherent memory is aligned to its size, rounded up to a
	 * power of two.
	 */
	pd->bounce_size = min_not_zero(min_t(u32, info->max_xfer, PACCEL_BOUNCE), info->max_seg);
	pd->bounce_size = min_not_zero((u64)pd->bounce_size, info->seg_boundary);
	for (eng = pd->engines; eng < engines_end(pd); eng++) {
		ret = engine_alloc(eng);
		if (ret) {
			paccel_engines_free(pd);
			return ret;
		}
	}
	return 0;
}

/* Memory that the device might still access is not freed. */
static void engine_free_coherent(struct paccel_device *pd, u32 size, void *at, dma_addr_t dma)
{
	if (!at)
		return;
	if (paccel_is_unsafe(pd))
		paccel_count_leak(pd, PAGE_ALIGN(size) >> PAGE_SHIFT);
	else
		dma_free_coherent(&pd->hw.pdev->dev, size, at, dma);
}

/* The engines are idle and held, and no request is started any more. */
void paccel_engines_free(struct paccel_device *pd)
{
	struct paccel_engine *eng;

	for (eng = pd->engines; eng < engines_end(pd); eng++) {
		cancel_delayed_work_sync(&eng->watchdog);
		cancel_work_sync(&eng->work);
		/* A stream may have found that its jobs are over before they were reported. */
		flush_work(&eng->report);
		engine_free_coherent(pd, pd->bounce_size, eng->bounce, eng->bounce_dma);
		engine_free_coherent(pd, engine_lists_size(pd), eng->lists, eng->lists_dma);
		kfree(eng->tags);
		eng->bounce = NULL;
		eng->lists = NULL;
		eng->tags = NULL;
	}
}
