// SPDX-License-Identifier: GPL-2.0-only
/*
 * One DMA channel: what runs, what waits, and what is done when the card does not answer.
 *
 * Jobs wait in a queue per context; between transfers the engine goes round the contexts, and
 * round the jobs of each, so that a small copy waits for one transfer of each busy context at
 * most, and for what the card has been given already. A context that is alone has several in
 * flight, of four transfers' bytes at most, so that the card never waits for us; if there are
 * several contexts each has one.
 *
 * Transfers in flight stand in a ring of tags, in the order in which they were chosen, and leave it
 * in that order. Each is in the hands of one party: the lock's holder (PICKED, DONE), the worker
 * (WORK) or the card (BUSY). Where the CPU has no byte to move the next transfer is started in the
 * interrupt itself; else the worker moves the bytes first. It is also the one who verifies bytes.
 * There is one bounce buffer, so one transfer at a time can need it.
 *
 * A job of a stream may be given to the engine while its leader, the one before it, is in flight.
 * It is started only directly behind that, linked by the card, or when the leader has ended.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/slab.h>

#include "paccel.h"
#include "trace.h"

/* Of one engine: what a transfer that goes through it has at most. */
#define PACCEL_BOUNCE SZ_256K

/* So many transfers are announced to the card at once, at most. */
#define PACCEL_UNKICKED 16

/* What others are to be told once the lock is dropped. */
struct engine_news {
	struct list_head issued;	/* jobs of which nothing is left to start, referenced */
	struct list_head ended;
};

static void no_news(struct engine_news *news)
{
	INIT_LIST_HEAD(&news->issued);
	INIT_LIST_HEAD(&news->ended);
}

static void engine_queue_work(struct paccel_engine *eng)
{
	queue_work(paccel_wq, &eng->work);
}

/* Tells whoever waits. The job is nobody's any more; no lock is held. */
static void job_end(struct paccel_job *job)
{
	void (*end)(struct paccel_job *job) = job->end;

	list_del_init(&job->node);
	trace_paccel_complete(job);
	complete_all(&job->done);
	if (end)
		end(job);
	paccel_job_put(job);
}

/* Likewise the first one, and those of the same stream behind it: one lock is enough for them. */
static void stream_jobs_end(struct list_head *ended)
{
	struct paccel_job *first = list_first_entry(ended, struct paccel_job, node), *job, *next;
	LIST_HEAD(jobs);

	list_for_each_entry_safe(job, next, ended, node) {
		if (job->stream != first->stream || job->deferred != first->deferred)
			break;
		trace_paccel_complete(job);
		list_move_tail(&job->node, &jobs);
	}
	paccel_stream_jobs_end(&jobs);
}

static void deliver(struct engine_news *news)
{
	struct paccel_job *job, *next;

	list_for_each_entry_safe(job, next, &news->issued, issued_node) {
		list_del_init(&job->issued_node);
		paccel_stream_job_issued(job);
		paccel_job_put(job);
	}
	while (!list_empty(&news->ended)) {
		job = list_first_entry(&news->ended, struct paccel_job, node);
		if (job->stream)
			stream_jobs_end(&news->ended);
		else
			job_end(job);
	}
}

/* --- the ring of tags; eng->lock is held --- */

static struct paccel_tag *tag_at(struct paccel_engine *eng, u64 cookie)
{
	return &eng->tags[cookie & (eng->pd->info.depth - 1)];
}

/* The one that was chosen last, if any is in flight. */
static struct paccel_tag *last_tag(struct paccel_engine *eng)
{
	return eng->head == eng->tail ? NULL : tag_at(eng, eng->tail - 1);
}

/* --- queues; eng->lock is held --- */

/*
 * A context that has work is behind all others that have; or, while the card has something of it,
 * among those that get a turn only if there is no other.
 */
static void take_turn(struct paccel_engine *eng, struct paccel_queue *queue)
{
	if (!list_empty(&queue->jobs) && list_empty(&queue->node))
		list_add_tail(&queue->node, queue->in_flight ? &eng->served : &eng->queues);
}

static void enqueue(struct paccel_engine *eng, struct paccel_job *job)
{
	job->waits = true;
	if (job->op == PACCEL_JOB_SCRUB) {
		eng->scrub = job;
		return;
	}
	list_add_tail(&job->node, &job->queue->jobs);
	take_turn(eng, job->queue);
}

static void dequeue(struct paccel_engine *eng, struct paccel_job *job)
{
	job->waits = false;
	if (job->op == PACCEL_JOB_SCRUB) {
		eng->scrub = NULL;
		return;
	}
	list_del_init(&job->node);
	if (list_empty(&job->queue->jobs))
		list_del_init(&job->queue->node);
}

/* A leader has to be directly before it in the card, or out of it. */
static bool behind_leader(struct paccel_engine *eng, struct paccel_job *job)
{
	struct paccel_tag *last = last_tag(eng);

	return last && last->job == job->leader && !job->leader->waits;
}

static struct paccel_job *first_job(struct paccel_engine *eng, struct list_head *queues)
{
	struct paccel_queue *queue;
	struct paccel_job *job;

	list_for_each_entry(queue, queues, node)
		list_for_each_entry(job, &queue->jobs, node)
			if (!job->leader || behind_leader(eng, job))
				return job;
	return NULL;
}

/* Is there one context only that has anything waiting or in flight? It is in @served then. */
static bool is_alone(struct paccel_engine *eng)
{
	return list_empty(&eng->queues) && list_is_singular(&eng->served) &&
	       list_first_entry(&eng->served, struct paccel_queue, node)->in_flight ==
	       eng->tail - eng->head;
}

/* Scrubbing waits for an idle engine, unless an allocation waits for it. */
static struct paccel_job *next_job(struct paccel_engine *eng)
{
	struct paccel_job *job;

	if (eng->scrub && READ_ONCE(eng->pd->pool.waiters))
		return eng->scrub;
	job = first_job(eng, &eng->queues);
	if (!job && is_alone(eng))
		job = first_job(eng, &eng->served);
	return job ?: eng->scrub;
}

/* --- the end of jobs; eng->lock is held --- */

/* Has its host memory been taken away? What the card has read or written there may be anything. */
static bool is_revoked(const struct paccel_job *job)
{
	return job->pages && READ_ONCE(job->pages->revoked);
}

/* Nothing of it is in flight or waits. */
static void job_over(struct paccel_engine *eng, struct paccel_job *job, struct list_head *ended)
{
	struct paccel_job *follower = job->follower;

	/* All done is done, whatever wanted to stop it meanwhile. */
	if (job->complete)
		job->error = is_revoked(job) ? -EFAULT : 0;
	else if (!job->error)
		job->error = job->stop;
	job->over = true;
	WRITE_ONCE(eng->load, eng->load - 1);
	if (job->leader)
		job->leader->follower = NULL;
	job->leader = NULL;
	job->follower = NULL;
	list_add_tail(&job->node, ended);
	if (!follower)
		return;
	follower->leader = NULL;
	if (!job->error)
		return;
	/* It may need what is missing now. */
	if (!follower->stop)
		follower->stop = -ECANCELED;
	follower->deferred |= job->deferred;
	if (follower->waits)
		dequeue(eng, follower);
	if (!follower->in_flight)
		job_over(eng, follower, ended);
}

/* A waiting job gets no turn any more; what is in flight of it is the last. */
static void withdraw(struct paccel_engine *eng, struct paccel_job *job, int error,
		     struct list_head *ended)
{
	dequeue(eng, job);
	job->deferred = true;
	if (!job->stop)
		job->stop = error;
	if (!job->in_flight)
		job_over(eng, job, ended);
}

/* A transfer of the job has left the ring: the job ends, or goes on. */
static void settle(struct paccel_engine *eng, struct paccel_job *job, struct list_head *ended)
{
	bool over = job->complete || job->error || job->stop;

	if (over && job->waits)
		dequeue(eng, job);
	if (job->in_flight) {
		/* Whoever came meanwhile is first. */
		if (job->waits && job->queue)
			list_move_tail(&job->node, &job->queue->jobs);
		return;
	}
	job->rewound = false;
	if (over)
		job_over(eng, job, ended);
	else if (!job->waits)
		enqueue(eng, job);
	else if (job->queue)
		list_move_tail(&job->node, &job->queue->jobs);
}

/* The transfer is not in flight any more. */
static void drop_tag(struct paccel_engine *eng, struct paccel_tag *tag)
{
	struct paccel_queue *queue = tag->job->queue;

	eng->bytes -= tag->step.x.len;
	if (tag->step.bounce)
		eng->bouncing = false;
	tag->job->in_flight--;
	if (!queue)
		return;
	if (--queue->in_flight)
		return;
	/*
	 * Not when the turn began: whoever came meanwhile is first, and the next job of a stream is
	 * there as late as that of another process.
	 */
	list_del_init(&queue->node);
	if (!list_empty(&queue->jobs))
		list_add_tail(&queue->node, &eng->queues);
}

/* --- one transfer; eng->lock is held where nothing else is said --- */

static void sync_for_card(struct paccel_engine *eng, struct paccel_tag *tag)
{
	struct paccel_seg seg = tag->step.x.segs;

	if (tag->step.sync)
		while (paccel_seg_next(&seg))
			dma_sync_single_for_device(&eng->pd->pdev->dev, seg.addr, seg.len,
						   paccel_pages_dir(tag->job->pages));
}

static void sync_for_cpu(struct paccel_engine *eng, struct paccel_tag *tag)
{
	struct paccel_seg seg = tag->step.x.segs;

	/* What the card has only read is as it was, or the program has written it since. */
	if (tag->step.sync && tag->step.x.op == PACCEL_XFER_D2H)
		while (paccel_seg_next(&seg))
			dma_sync_single_for_cpu(&eng->pd->pdev->dev, seg.addr, seg.len,
						paccel_pages_dir(tag->job->pages));
}

/* The watchdog looks once the deadline has passed; if it is woken too early it looks again later. */
static void set_alarm(struct paccel_engine *eng)
{
	s64 left = max_t(s64, ktime_ms_delta(eng->deadline, ktime_get()), 0);
	unsigned long alarm = jiffies + msecs_to_jiffies(left + 1) + 1;

	if (eng->armed && time_before_eq(eng->alarm, alarm))
		return;
	eng->armed = true;
	eng->alarm = alarm;
	mod_delayed_work(paccel_wq, &eng->watchdog, alarm - jiffies);
}

/* The oldest transfer in flight must have ended by then. Not in jiffies: those may lag behind. */
static void set_deadline(struct paccel_engine *eng)
{
	eng->deadline = ktime_add_ms(ktime_get(), READ_ONCE(paccel_watchdog_ms));
	set_alarm(eng);
}

/* Chosen and not started: as if it had never been. It is the last one. */
static void take_back(struct paccel_engine *eng, struct paccel_tag *tag, struct engine_news *news)
{
	eng->tail--;
	drop_tag(eng, tag);
	tag->job->at = tag->step.at;
	settle(eng, tag->job, &news->ended);
}

/* The card begins what was started. */
static void kick(struct paccel_engine *eng)
{
	if (eng->unkicked && eng->pd->ops->kick)
		eng->pd->ops->kick(eng);
	eng->unkicked = 0;
}

static void start_tag(struct paccel_engine *eng, struct paccel_tag *tag, struct engine_news *news)
{
	struct paccel_job *job = tag->job;
	struct paccel_step *step = &tag->step;
	int ret;

	if (eng->hold || job->stop) {
		/* Stopped while the worker had it. */
		take_back(eng, tag, news);
		return;
	}
	if (step->bounce) {
		step->x.segs = (struct paccel_seg){ .addr = eng->bounce_dma, .left = step->x.len };
		step->x.nr_segs = 1;
	}
	sync_for_card(eng, tag);
	tag->state = PACCEL_TAG_BUSY;
	tag->started = ktime_get();
	if (eng->tail - eng->head == 1)
		set_deadline(eng);
	ret = eng->pd->ops->start(eng, &step->x);
	trace_paccel_start(eng, tag, ret);
	if (ret) {
		tag->state = PACCEL_TAG_DONE;
		tag->status = -EIO;
		return;
	}
	eng->unkicked++;
	atomic64_inc(&eng->pd->count.xfers);
	/* It may be started more than once. */
	if (step->last && job->stream && !job->told && eng->pd->info.flags & PACCEL_HW_LINK) {
		job->told = true;
		kref_get(&job->ref);
		list_add_tail(&job->issued_node, &news->issued);
	}
}

/* Is there something in the bounce buffer? Only what the card has written. */
static bool must_move(const struct paccel_tag *tag)
{
	return tag->step.bounce && tag->step.x.op == PACCEL_XFER_D2H;
}

/* What will be done again need not be right, and what it is compared with may be newer. */
static bool must_verify(const struct paccel_tag *tag)
{
	return tag->step.x.verify && tag->step.x.op != PACCEL_XFER_CHECKSUM && !tag->job->rewound;
}

/* Is it the worker's turn, before it leaves the ring? It is the oldest one. */
static bool must_see(const struct paccel_tag *tag)
{
	return !tag->status && !tag->seen && (must_move(tag) || must_verify(tag));
}

static void retire(struct paccel_engine *eng, struct paccel_tag *tag, struct engine_news *news)
{
	struct paccel_job *job = tag->job;

	eng->head++;
	drop_tag(eng, tag);
	if (tag->status == -EAGAIN) {
		/* To be done again, and with it what was started behind it. */
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
	settle(eng, job, &news->ended);
}

/* Takes the oldest out of the ring, as far as they have ended. */
static void retire_all(struct paccel_engine *eng, struct engine_news *news)
{
	u64 head = eng->head;

	while (eng->head != eng->tail) {
		struct paccel_tag *tag = tag_at(eng, eng->head);

		if (tag->state != PACCEL_TAG_DONE)
			break;
		if (must_see(tag)) {
			engine_queue_work(eng);
			break;
		}
		retire(eng, tag, news);
	}
	if (eng->head != head && eng->head != eng->tail)
		set_deadline(eng);
}

/* --- choosing; eng->lock is held --- */

/* May something be put into the ring? */
static bool has_room(struct paccel_engine *eng)
{
	struct paccel_tag *last = last_tag(eng);

	if (eng->hold || eng->hung || eng->tail - eng->head == eng->pd->info.depth)
		return false;
	/* Three behind the one that runs: an interrupt can take as long as a transfer or two. */
	if (eng->bytes > 3 * (u64)eng->pd->info.max_xfer)
		return false;
	return !last || (last->state != PACCEL_TAG_PICKED && last->state != PACCEL_TAG_FILLING);
}

/*
 * Must the step wait for something in flight? If not because the card sees to it, it is linked. The
 * CPU has no part in two that are linked: it would come too late, or too early.
 */
static bool must_wait(struct paccel_engine *eng, struct paccel_job *job, struct paccel_step *step)
{
	struct paccel_job *leader = job->leader;
	struct paccel_tag *last = last_tag(eng);

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

/* The next one that may run. Under the lock, so that paccel_engines_evict() misses none. */
static struct paccel_job *next_valid_job(struct paccel_engine *eng, struct engine_news *news)
{
	struct paccel_job *job;

	for (;;) {
		job = next_job(eng);
		if (!job || !is_revoked(job))
			return job;
		withdraw(eng, job, -EFAULT, &news->ended);
	}
}

/* Chooses the next step, if there is one: it has the next tag then. */
static struct paccel_tag *pick(struct paccel_engine *eng, struct engine_news *news)
{
	struct paccel_job *job = has_room(eng) ? next_valid_job(eng, news) : NULL;
	struct paccel_tag *tag = tag_at(eng, eng->tail);

	if (!job)
		return NULL;
	paccel_job_plan(job, &tag->step);
	if (must_wait(eng, job, &tag->step))
		return NULL;
	dequeue(eng, job);
	tag->job = job;
	tag->state = PACCEL_TAG_PICKED;
	tag->status = 0;
	tag->checksum = 0;
	tag->seen = false;
	tag->step.x.cookie = eng->tail;
	tag->step.x.list = eng->lists + (tag - eng->tags) * eng->pd->info.list_size;
	tag->step.x.list_dma = eng->lists_dma + (tag - eng->tags) * eng->pd->info.list_size;
	eng->tail++;
	eng->bytes += tag->step.x.len;
	if (tag->step.bounce)
		eng->bouncing = true;
	job->in_flight++;
	if (job->queue) {
		job->queue->in_flight++;
		list_del_init(&job->queue->node);
		take_turn(eng, job->queue);
	}
	tag->step.last = paccel_job_issue(job, &tag->step);
	if (!tag->step.last)
		enqueue(eng, job);
	return tag;
}

/* Goes on without the worker as far as no byte has to be moved by the CPU. */
static void go_on_unkicked(struct paccel_engine *eng, struct engine_news *news)
{
	struct paccel_tag *tag;

	for (;;) {
		retire_all(eng, news);
		tag = pick(eng, news);
		if (!tag)
			return;
		if (tag->step.bounce) {
			engine_queue_work(eng);
			return;
		}
		start_tag(eng, tag, news);
	}
}

static void go_on(struct paccel_engine *eng, struct engine_news *news)
{
	go_on_unkicked(eng, news);
	kick(eng);
}

/* --- the worker --- */

static bool is_right(struct paccel_engine *eng, struct paccel_tag *tag)
{
	if (!must_verify(tag) ||
	    paccel_job_checksum(tag->job, &tag->step, eng->bounce) == tag->checksum)
		return true;
	atomic64_inc(&eng->pd->count.corrupt);
	dev_warn_ratelimited(&eng->pd->dev, "engine %u: bytes have changed in a transfer\n",
			     eng->id);
	return false;
}

/* The worker's part of a transfer, without the lock. */
static void move_bytes(struct paccel_engine *eng, struct paccel_tag *tag)
{
	if (tag->state == PACCEL_TAG_FILLING)
		paccel_job_before(tag->job, &tag->step, eng->bounce);
	else if (!is_right(eng, tag))
		tag->status = -EBADMSG;
	else if (must_move(tag))
		paccel_job_after(tag->job, &tag->step, eng->bounce);
}

/* What there is for the CPU to do, in a state that is the worker's alone; or NULL. */
static struct paccel_tag *take_work(struct paccel_engine *eng)
{
	struct paccel_tag *tag = last_tag(eng);

	if (!tag)
		return NULL;
	if (tag->state == PACCEL_TAG_PICKED) {
		tag->state = PACCEL_TAG_FILLING;
		return tag;
	}
	tag = tag_at(eng, eng->head);
	if (tag->state != PACCEL_TAG_DONE || !must_see(tag))
		return NULL;
	tag->state = PACCEL_TAG_EMPTYING;
	return tag;
}

/* One turn of the worker: false if there is nothing for it to do. */
static bool engine_turn(struct paccel_engine *eng)
{
	struct engine_news news;
	struct paccel_tag *tag;

	no_news(&news);
	spin_lock_irq(&eng->lock);
	go_on(eng, &news);
	tag = take_work(eng);
	spin_unlock_irq(&eng->lock);
	if (tag) {
		move_bytes(eng, tag);
		spin_lock_irq(&eng->lock);
		if (tag->state == PACCEL_TAG_FILLING) {
			start_tag(eng, tag, &news);
		} else {
			tag->seen = true;
			tag->state = PACCEL_TAG_DONE;
		}
		go_on(eng, &news);
		spin_unlock_irq(&eng->lock);
	}
	deliver(&news);
	return tag;
}

static void engine_work(struct work_struct *work)
{
	struct paccel_engine *eng = container_of(work, struct paccel_engine, work);

	bool cookie = dma_fence_begin_signalling();

	/* With bytes to verify the card can be faster than we are, for as long as it likes. */
	while (engine_turn(eng))
		cond_resched();
	dma_fence_end_signalling(cookie);
}

/* --- what the card says; eng->lock is held --- */

static void count_time(struct paccel_engine *eng, struct paccel_tag *tag)
{
	ktime_t now = ktime_get();
	/* Until the one before it had ended it waited in the card. */
	ktime_t from = max(tag->started, eng->last_end);

	eng->last_end = now;
	if (tag->job->ctx)
		atomic64_add(ktime_to_ns(ktime_sub(now, from)), &tag->job->ctx->usage.engine_ns);
}

/* What the engine does is not to be trusted any more, until it has been reset. */
static void hang(struct paccel_engine *eng, struct paccel_tag *tag, int error)
{
	tag->state = PACCEL_TAG_HUNG;
	tag->status = error;
	eng->hung = true;
	/* Not on paccel_wq: it waits for works of that one. */
	queue_work(system_long_wq, &eng->pd->recover);
}

void paccel_xfer_bogus(struct paccel_engine *eng)
{
	atomic64_inc(&eng->pd->count.bogus);
	dev_warn_ratelimited(&eng->pd->dev, "engine %u: a completion that matches no transfer\n",
			     eng->id);
}

/* What the card has in hand and calls so, or NULL. */
static struct paccel_tag *busy_tag(struct paccel_engine *eng, u64 cookie)
{
	struct paccel_tag *tag = tag_at(eng, cookie);

	return cookie - eng->head < eng->tail - eng->head && tag->state == PACCEL_TAG_BUSY ? tag :
											     NULL;
}

void paccel_xfer_checksum(struct paccel_engine *eng, u64 cookie, u32 checksum)
{
	struct paccel_tag *tag = busy_tag(eng, cookie);

	if (tag)
		tag->checksum = checksum;
}

void paccel_xfer_done(struct paccel_engine *eng, u64 cookie, u64 bytes, int status)
{
	struct paccel_tag *tag = busy_tag(eng, cookie);

	eng->heard = true;
	if (!tag) {
		paccel_xfer_bogus(eng);
		return;
	}
	if (!status && bytes != tag->step.x.len) {
		paccel_xfer_bogus(eng);
		hang(eng, tag, -EIO);
		return;
	}
	tag->state = PACCEL_TAG_DONE;
	tag->status = !status || status == -ECANCELED ? status : -EIO;
	count_time(eng, tag);
	trace_paccel_done(eng, tag, status);
	sync_for_cpu(eng, tag);
}

/* Asks the card: has anything ended? */
static bool ask(struct paccel_engine *eng)
{
	eng->heard = false;
	if (!eng->deaf)
		eng->pd->ops->poll(eng);
	return eng->heard;
}

bool paccel_xfer_check(struct paccel_engine *eng)
{
	struct engine_news news;
	unsigned long flags;
	bool heard;

	no_news(&news);
	spin_lock_irqsave(&eng->lock, flags);
	heard = ask(eng);
	if (heard)
		go_on(eng, &news);
	spin_unlock_irqrestore(&eng->lock, flags);
	deliver(&news);
	return heard;
}

void paccel_spurious_irq(struct paccel_device *pd)
{
	atomic64_inc(&pd->count.spurious_irqs);
}

/* --- watchdog --- */

static bool overdue(struct paccel_engine *eng)
{
	return eng->head != eng->tail && ktime_compare(ktime_get(), eng->deadline) >= 0 &&
	       tag_at(eng, eng->head)->state == PACCEL_TAG_BUSY;
}

/* The deadline has passed: either the interrupt was lost, or the card hangs. eng->lock is held. */
static void look_after(struct paccel_engine *eng, struct engine_news *news)
{
	if (ask(eng) && !overdue(eng)) {
		atomic64_inc(&eng->pd->count.lost_irqs);
		go_on(eng, news);
	}
	if (overdue(eng)) {
		atomic64_inc(&eng->pd->count.timeouts);
		hang(eng, tag_at(eng, eng->head), -ETIMEDOUT);
	}
}

static void engine_watchdog(struct work_struct *work)
{
	struct paccel_engine *eng = container_of(to_delayed_work(work), struct paccel_engine,
						 watchdog);
	bool cookie = dma_fence_begin_signalling();
	struct engine_news news;

	no_news(&news);
	spin_lock_irq(&eng->lock);
	eng->armed = false;
	if (overdue(eng))
		look_after(eng, &news);
	/* What is in flight now may be younger than the alarm. */
	if (eng->head != eng->tail && !eng->hung)
		set_alarm(eng);
	spin_unlock_irq(&eng->lock);
	deliver(&news);
	dma_fence_end_signalling(cookie);
}

/* --- for the rest of the driver --- */

/*
 * The engine with the least to do; of several the one that interrupts this CPU: to wake a sleeper
 * on another one takes an interrupt more.
 */
struct paccel_engine *paccel_engine_choose(struct paccel_device *pd)
{
	unsigned int nr = pd->info.engines, first = raw_smp_processor_id() % nr, i;
	struct paccel_engine *best = &pd->engines[first], *eng;

	for (i = 1; i < nr; i++) {
		eng = &pd->engines[(first + i) % nr];
		if (READ_ONCE(eng->load) < READ_ONCE(best->load))
			best = eng;
	}
	return best;
}

/*
 * Queues the job, which brings the engine's reference with it; on failure that stays with the
 * caller. @leader: the job that must end well before it, on the same engine and wholly started, or
 * NULL. @more: another one follows at once, and paccel_engine_kick() behind the last. Returns 1 if
 * nothing of it is left to start, where else paccel_stream_job_issued() will be told. Any context.
 */
int paccel_engine_submit(struct paccel_engine *eng, struct paccel_job *job,
			 struct paccel_job *leader, bool more)
{
	struct engine_news news;
	unsigned long flags;
	int ret;

	no_news(&news);
	job->eng = eng;
	job->since = jiffies;
	spin_lock_irqsave(&eng->lock, flags);
	ret = eng->refuse;
	/* It was not when the call began; jobs are accepted again only after it is marked. */
	if (!ret && job->queue && READ_ONCE(job->queue->ctx->lost))
		ret = -ESTALE;
	if (!ret && leader && leader->over && leader->error)
		ret = -ECANCELED;
	if (!ret) {
		if (leader && !leader->over) {
			job->leader = leader;
			leader->follower = job;
		}
		WRITE_ONCE(eng->load, eng->load + 1);
		enqueue(eng, job);
		go_on_unkicked(eng, &news);
		if (!more || eng->unkicked >= PACCEL_UNKICKED)
			kick(eng);
		if (!list_empty(&job->issued_node)) {
			list_del_init(&job->issued_node);
			/* Not the last: the caller has one. */
			paccel_job_put(job);
			ret = 1;
		}
	}
	spin_unlock_irqrestore(&eng->lock, flags);
	deliver(&news);
	return ret;
}

void paccel_engine_kick(struct paccel_engine *eng)
{
	unsigned long flags;

	spin_lock_irqsave(&eng->lock, flags);
	kick(eng);
	spin_unlock_irqrestore(&eng->lock, flags);
}

/* Ends the job now if it waits, after its transfers if those run. The caller has a reference. */
void paccel_engine_cancel(struct paccel_job *job, int error)
{
	struct paccel_engine *eng = job->eng;
	struct engine_news news;
	unsigned long flags;

	no_news(&news);
	spin_lock_irqsave(&eng->lock, flags);
	if (job->waits)
		withdraw(eng, job, error, &news.ended);
	else if (!job->over && !job->stop)
		job->stop = error;
	spin_unlock_irqrestore(&eng->lock, flags);
	deliver(&news);
}

/* Withdraws all jobs of the queues; eng->lock is held. */
static void withdraw_all(struct paccel_engine *eng, struct list_head *queues, int error,
			 struct list_head *ended)
{
	while (!list_empty(queues)) {
		struct paccel_queue *queue = list_first_entry(queues, struct paccel_queue, node);

		withdraw(eng, list_first_entry(&queue->jobs, struct paccel_job, node), error,
			 ended);
	}
}

/* --- stopping an engine; pd->reset_lock is held --- */

/*
 * The card goes no further than the transfer that it is at, and all that has ended until then has
 * been told: so nothing has begun of what is behind a transfer that is done again. What the card
 * says while it is reset is not listened to.
 */
static void engine_halt(struct paccel_engine *eng)
{
	eng->pd->ops->halt(eng);
	spin_lock_irq(&eng->lock);
	ask(eng);
	eng->deaf = true;
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
	kick(eng);
	eng->hold++;
	for (i = eng->head; i != eng->tail; i++) {
		struct paccel_tag *tag = tag_at(eng, i);

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
static u64 passed_to(struct paccel_engine *eng)
{
	u64 i = eng->tail;

	if (!(eng->pd->info.flags & PACCEL_HW_LINK))
		return eng->head;
	while (i != eng->head && tag_at(eng, i - 1)->state == PACCEL_TAG_BUSY)
		i--;
	return i;
}

/* How a transfer ends that the card still had in hand. */
static int abort_status(struct paccel_engine *eng, struct paccel_tag *tag, bool passed, int error)
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
		ask(eng);
	passed = passed_to(eng);
	for (i = eng->head; i != eng->tail; i++) {
		struct paccel_tag *tag = tag_at(eng, i);

		if (tag->state == PACCEL_TAG_BUSY) {
			tag->status = abort_status(eng, tag, i < passed, error);
			sync_for_cpu(eng, tag);
		} else if (tag->state != PACCEL_TAG_HUNG) {
			continue;
		}
		tag->state = PACCEL_TAG_DONE;
	}
	eng->hung = false;
	spin_unlock_irq(&eng->lock);
	engine_queue_work(eng);
	flush_work(&eng->work);
}

void paccel_engine_unhold(struct paccel_engine *eng)
{
	spin_lock_irq(&eng->lock);
	if (!--eng->hold)
		eng->deaf = false;
	spin_unlock_irq(&eng->lock);
	engine_queue_work(eng);
}

bool paccel_engine_hung(struct paccel_engine *eng)
{
	return READ_ONCE(eng->hung);
}

/* New jobs are refused with @error; if that is not 0, so are all that wait. */
static void engine_refuse(struct paccel_engine *eng, int error)
{
	struct engine_news news;

	no_news(&news);
	spin_lock_irq(&eng->lock);
	eng->refuse = error;
	if (error) {
		withdraw_all(eng, &eng->queues, error, &news.ended);
		withdraw_all(eng, &eng->served, error, &news.ended);
		if (eng->scrub)
			withdraw(eng, eng->scrub, error, &news.ended);
	}
	spin_unlock_irq(&eng->lock);
	deliver(&news);
}

/* --- all engines of a card --- */

static struct paccel_engine *engines_end(struct paccel_device *pd)
{
	return pd->engines + pd->info.engines;
}

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

void paccel_engines_refuse(struct paccel_device *pd, int error)
{
	struct paccel_engine *eng;

	for (eng = pd->engines; eng < engines_end(pd); eng++)
		engine_refuse(eng, error);
}

void paccel_engines_unhold(struct paccel_device *pd)
{
	struct paccel_engine *eng;

	for (eng = pd->engines; eng < engines_end(pd); eng++)
		paccel_engine_unhold(eng);
}

static bool in_hand(struct paccel_engine *eng, const struct paccel_pages *pages)
{
	bool found = false;
	u64 i;

	spin_lock_irq(&eng->lock);
	for (i = eng->head; i != eng->tail; i++)
		found = found || tag_at(eng, i)->job->pages == pages;
	spin_unlock_irq(&eng->lock);
	return found;
}

/*
 * The pages are revoked: no transfer of theirs is planned any more. Waits until those that were
 * have ended; the watchdog sees to it that they do.
 */
void paccel_engines_evict(struct paccel_device *pd, const struct paccel_pages *pages)
{
	struct paccel_engine *eng;

	for (eng = pd->engines; eng < engines_end(pd); eng++)
		while (in_hand(eng, pages))
			usleep_range(100, 1000);
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
		INIT_LIST_HEAD(&eng->served);
		INIT_WORK(&eng->work, engine_work);
		INIT_DELAYED_WORK(&eng->watchdog, engine_watchdog);
	}
}

static u32 lists_size(struct paccel_device *pd)
{
	return pd->info.depth * pd->info.list_size;
}

/* Coherent memory is within every card's reach, however few address bits it has. */
static int engine_alloc(struct paccel_engine *eng)
{
	struct paccel_device *pd = eng->pd;
	struct device *dev = &pd->pdev->dev;

	eng->tags = kcalloc(pd->info.depth, sizeof(*eng->tags), GFP_KERNEL);
	if (!eng->tags)
		return -ENOMEM;
	eng->bounce = dma_alloc_coherent(dev, pd->bounce_size, &eng->bounce_dma, GFP_KERNEL);
	if (!eng->bounce)
		return -ENOMEM;
	if (!lists_size(pd))
		return 0;
	eng->lists = dma_alloc_coherent(dev, lists_size(pd), &eng->lists_dma, GFP_KERNEL);
	return eng->lists ? 0 : -ENOMEM;
}

int paccel_engines_alloc(struct paccel_device *pd)
{
	struct paccel_engine *eng;
	int ret;

	pd->bounce_size = min_t(u32, pd->info.max_xfer, PACCEL_BOUNCE);
	for (eng = pd->engines; eng < engines_end(pd); eng++) {
		ret = engine_alloc(eng);
		if (ret) {
			paccel_engines_free(pd);
			return ret;
		}
	}
	return 0;
}

/* What the card might still write, or read, stays where it is. */
static void free_coherent(struct paccel_device *pd, u32 size, void *at, dma_addr_t dma)
{
	if (!at)
		return;
	if (pd->unsafe)
		paccel_count_leak(pd, PAGE_ALIGN(size) >> PAGE_SHIFT);
	else
		dma_free_coherent(&pd->pdev->dev, size, at, dma);
}

/* The engines are idle and held for good. */
void paccel_engines_free(struct paccel_device *pd)
{
	struct paccel_engine *eng;

	for (eng = pd->engines; eng < engines_end(pd); eng++) {
		cancel_delayed_work_sync(&eng->watchdog);
		cancel_work_sync(&eng->work);
		free_coherent(pd, pd->bounce_size, eng->bounce, eng->bounce_dma);
		free_coherent(pd, lists_size(pd), eng->lists, eng->lists_dma);
		kfree(eng->tags);
		eng->bounce = NULL;
		eng->lists = NULL;
		eng->tags = NULL;
	}
}
