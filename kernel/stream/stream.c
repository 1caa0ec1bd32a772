// SPDX-License-Identifier: GPL-2.0-only
/*
 * Streams: jobs that run in order, and the signalling of points that have been reached.
 *
 * stream_run() advances a stream. It is called by eng->report of an engine that has ended jobs of
 * the stream, and by stream->work. stream->running serializes these calls: another call returns at
 * once, since the one in progress checks the stream again before it returns. With ctx->work_lock
 * held it removes jobs that have ended and submits jobs to engines. It signals fences, eventfds and
 * waiters with no lock held. SUBMIT does only what is done with the lock held and leaves the
 * signalling to stream->work: its thread may have a low priority or be throttled, and no fence may
 * depend on that. None of these functions allocates memory, so fences are signalled also when there
 * is none.
 *
 * Copy and fill jobs that follow each other are submitted to one engine, some of them at a time,
 * each with the one before it as its leader. The engine runs them in order, and cancels those whose
 * leader fails. Any other job waits until the jobs before it have ended.
 *
 * A job can only wait for points that were submitted before it, so waits cannot form a cycle.
 */
#include <linux/eventfd.h>
#include <linux/highmem.h>
#include <linux/nospec.h>
#include <linux/slab.h>

#include "core/compat.h"
#include "core/ctx.h"
#include "core/device.h"
#include "core/module.h"
#include "exec/engine.h"
#include "exec/job.h"
#include "exec/trace.h"
#include "stream/fence.h"
#include "stream/stream.h"

/*
 * Rounds of one stream_run() before it continues in stream->work: slow eventfds of a stream must
 * not delay other streams. A round removes jobs that have ended, or starts transfers if there are
 * none.
 */
#define PACCEL_STREAM_ROUNDS 2

/* Largest number of jobs that are removed or started in one round, since the lock is held. */
#define PACCEL_STREAM_JOBS 32

/*
 * Largest number of jobs of a stream that an engine has at a time: as many as it can have in
 * flight, and as many that follow them while stream_run() removes those that have ended.
 */
#define PACCEL_STREAM_STARTED (2 * PACCEL_MAX_DEPTH)

static void stream_free(struct kref *ref)
{
	struct paccel_stream *stream = container_of(ref, struct paccel_stream, ref);

	/* The work item may have been queued before the last reference was dropped. */
	cancel_work_sync(&stream->work);
	paccel_ctx_put(stream->ctx);
	kfree(stream->stage);
	kfree(stream);
}

/* May sleep. stream->work does not drop the last reference. */
void paccel_stream_put(struct paccel_stream *stream)
{
	kref_put(&stream->ref, stream_free);
}

/* Returns the open stream with that number, or NULL. ctx->work_lock is held. */
static struct paccel_stream *stream_find(struct paccel_ctx *ctx, u32 id)
{
	struct paccel_stream *stream;

	if (!id || id > PACCEL_MAX_STREAMS)
		return NULL;
	stream = ctx->streams[array_index_nospec(id - 1, PACCEL_MAX_STREAMS)];
	return stream && stream->open ? stream : NULL;
}

int paccel_stream_get(struct paccel_ctx *ctx, u32 id, u64 point, struct paccel_stream **streamp)
{
	struct paccel_stream *stream;
	int ret = 0;

	spin_lock(&ctx->work_lock);
	stream = stream_find(ctx, id);
	if (!stream)
		ret = -ENOENT;
	else if (point > stream->submitted)
		ret = -EINVAL;
	else
		kref_get(&stream->ref);
	spin_unlock(&ctx->work_lock);
	if (!ret)
		*streamp = stream;
	return ret;
}

/* --- the end of jobs; ctx->work_lock is held --- */

static void stream_fail(struct paccel_stream *stream, int error, u64 point)
{
	if (stream->error)
		return;
	trace_paccel_error(stream->ctx, stream->id, point, error);
	stream->error = error;
	stream->failed_point = point;
	WRITE_ONCE(stream->slot->failed_point, point);
	WRITE_ONCE(stream->slot->error, error);
}

/*
 * Sets the point that has been reached, in the completion page too, and collects its fences.
 * Waiting streams are advanced.
 */
static void stream_reach(struct paccel_stream *stream, u64 point)
{
	struct paccel_stream_todo *todo = &stream->todo;
	struct paccel_ctx *ctx = stream->ctx;
	struct paccel_fence *fence, *next_fence;
	struct paccel_stream_job *waiter, *next;

	stream->done = point;
	/*
	 * Pairs with a load-acquire in the process: results and errors are visible before the
	 * point.
	 */
	smp_store_release(&stream->slot->done, point);
	ctx->completions++;
	todo->wake = true;

	list_for_each_entry_safe(fence, next_fence, &stream->fences, node) {
		if (fence->point > point)
			break;
		fence->error = paccel_stream_error(stream, fence->point);
		list_move_tail(&fence->node, &todo->fences);
	}
	list_for_each_entry_safe(waiter, next, &stream->waiters, waiter) {
		if (waiter->what_point > point)
			continue;
		list_del_init(&waiter->waiter);
		queue_work(paccel_stream_wq, &waiter->stream->work);
	}
}

static void stream_remove_job(struct paccel_stream *stream, struct paccel_stream_job *job)
{
	struct paccel_ctx *ctx = stream->ctx;

	if (job->base.error)
		stream_fail(stream, job->base.error, job->base.point);
	if (stream->newest == job)
		stream->newest = NULL;
	if (job->state == PACCEL_JOB_RUNNING)
		stream->started--;
	stream->ended_ns = job->base.end_ns;
	stream->queued--;
	ctx->queued--;
	paccel_ctx_work_ended(ctx, &job->ended);
	paccel_job_unref_bufs(&job->base);
	if (job->what)
		job->what->dependents--;
	list_del_init(&job->waiter);
	list_move_tail(&job->in_stream, &stream->todo.ended);
	stream->todo.nr_ended++;
	if (job->last)
		stream_reach(stream, job->base.point);
}

/* --- the first job; ctx->work_lock is held --- */

/*
 * Returns whether the wait of the job is over, and sets the job's error then. Otherwise the stream
 * is advanced when it is.
 */
static bool stream_job_wait_is_over(struct paccel_stream_job *job)
{
	struct paccel_stream *what = job->what;

	if (job->base.op == PACCEL_JOB_WAIT_FENCE) {
		/* Pairs with stream_fence_signalled(). */
		if (!smp_load_acquire(&job->fence_done))
			return false;
		job->base.error = job->fence_error;
		return true;
	}
	if (what->done < job->what_point) {
		if (list_empty(&job->waiter))
			list_add_tail(&job->waiter, &what->waiters);
		return false;
	}
	if (paccel_stream_error(what, job->what_point))
		job->base.error = what->error;
	return true;
}

static void stream_job_write(struct paccel_stream_job *job, u64 value)
{
	u64 off = job->base.dst.start;
	u64 *to = kmap_local_page(job->base.pages->pages[off >> PAGE_SHIFT]) + offset_in_page(off);

	/*
	 * Pairs with a load-acquire in the process: a thread that has loaded the value sees what
	 * earlier operations of the stream have written, other WRITE operations included. The data
	 * of DMA requests was ordered when their completion was read.
	 */
	smp_store_release(to, value);
	kunmap_local(to);
}

static bool stream_job_is_wait(const struct paccel_stream_job *job)
{
	return job->base.op == PACCEL_JOB_WAIT_POINT || job->base.op == PACCEL_JOB_WAIT_FENCE;
}

static bool stream_job_is_transfer(const struct paccel_stream_job *job)
{
	return job->base.op <= PACCEL_JOB_FILL;
}

/*
 * Returns the time at which the job before this one ended, since this function runs later; but at
 * least the time of submission.
 */
static u64 stream_job_time(const struct paccel_stream *stream, const struct paccel_stream_job *job)
{
	return stream->ended_ns ? max(stream->ended_ns, job->value) : ktime_get_ns();
}

/*
 * Advances the first job of the stream. Returns whether it has ended. A stream that has failed
 * still waits, so that no point is reached before the work that it is ordered behind: a process
 * may then reuse memory that this work accesses.
 */
static bool stream_job_advance(struct paccel_stream *stream, struct paccel_stream_job *job)
{
	if (job->state != PACCEL_JOB_QUEUED)
		/* Pairs with sched_end_job(): the error and the time are final. */
		return smp_load_acquire(&job->base.over);
	if (stream->ctx->ended)
		stream_fail(stream, stream->ctx->ended, job->base.point);
	if (stream->error && !job->always && (stream->ctx->ended || !stream_job_is_wait(job))) {
		job->base.error = -ECANCELED;
		return true;
	}
	switch (job->base.op) {
	case PACCEL_JOB_WAIT_POINT:
		return stream_job_wait_is_over(job);
	case PACCEL_JOB_WAIT_FENCE:
		if (job->watched)
			return stream_job_wait_is_over(job);
		job->state = PACCEL_JOB_WATCHING;
		stream->todo.watch = job;
		return false;
	case PACCEL_JOB_WRITE:
		stream_job_write(job, job->value);
		return true;
	case PACCEL_JOB_TIME:
		stream_job_write(job, stream_job_time(stream, job));
		return true;
	case PACCEL_JOB_EVENTFD:
		/* stream_notify() signals the eventfd, after the job's point has been reached. */
		return true;
	default:
		/* stream_start_transfers() submits the job to an engine. */
		return false;
	}
}

static bool stream_job_suits_engine(const struct paccel_stream_job *job,
				    const struct paccel_stream_job *leader)
{
	struct paccel_engine *eng = leader->base.eng;

	return paccel_engine_takes(eng, paccel_job_op_mask(&job->base, eng->pd));
}

/*
 * Returns the copy or fill job that can be submitted to an engine now, or NULL. It is the first job
 * of the stream, or the next one behind @leader if that has not ended and its engine supports the
 * job.
 */
static struct paccel_stream_job *stream_next_transfer(struct paccel_stream *stream,
						      struct paccel_stream_job **leader)
{
	struct paccel_stream_job *newest = stream->newest, *job;

	*leader = newest;
	if (stream->error || stream->ctx->ended || list_empty(&stream->jobs) ||
	    stream->started == PACCEL_STREAM_STARTED)
		return NULL;
	if (!newest)
		job = list_first_entry(&stream->jobs, struct paccel_stream_job, in_stream);
	else if (!READ_ONCE(newest->base.over) && !list_is_last(&newest->in_stream, &stream->jobs))
		job = list_next_entry(newest, in_stream);
	else
		return NULL;
	if (job->state != PACCEL_JOB_QUEUED || !stream_job_is_transfer(job))
		return NULL;
	return !newest || stream_job_suits_engine(job, newest) ? job : NULL;
}

static void stream_start_transfer(struct paccel_stream *stream, struct paccel_stream_job *job,
				  struct paccel_stream_job *leader)
{
	int ret = paccel_job_submit(&job->base, leader ? &leader->base : NULL, true);

	stream->newest = job;
	stream->started++;
	job->state = PACCEL_JOB_RUNNING;
	if (!ret)
		return;
	job->base.error = ret;
	job->base.over = true;
	queue_work(paccel_stream_wq, &stream->work);
}

/* Submits jobs to an engine. Returns whether there may be more. */
static bool stream_start_transfers(struct paccel_stream *stream)
{
	struct paccel_stream_job *job, *leader;
	struct paccel_engine *unkicked = NULL;
	unsigned int i;

	for (i = 0; i < PACCEL_STREAM_JOBS; i++) {
		job = stream_next_transfer(stream, &leader);
		if (!job)
			break;
		stream_start_transfer(stream, job, leader);
		unkicked = job->base.eng;
	}
	if (unkicked)
		paccel_engine_kick(unkicked);
	return i == PACCEL_STREAM_JOBS;
}

/*
 * One round, with the lock held. @signalling: stream_run() is signalling what an earlier round has
 * collected. Returns false if nothing is left to do.
 */
static bool stream_run_locked(struct paccel_stream *stream, bool signalling)
{
	struct paccel_stream_job *job;

	/* Removed jobs no longer count as queued: nr_ended bounds those that await notification. */
	while (stream->todo.nr_ended < PACCEL_STREAM_JOBS && !list_empty(&stream->jobs)) {
		job = list_first_entry(&stream->jobs, struct paccel_stream_job, in_stream);
		if (!stream_job_advance(stream, job))
			break;
		stream_remove_job(stream, job);
	}
	/* An eventfd is signalled before the copies and fills behind it are started. */
	if (signalling || !list_empty(&stream->todo.ended))
		return true;
	return stream_start_transfers(stream) || stream->todo.watch;
}

static void stream_todo_init(struct paccel_stream_todo *todo)
{
	INIT_LIST_HEAD(&todo->ended);
	INIT_LIST_HEAD(&todo->fences);
	todo->nr_ended = 0;
	todo->watch = NULL;
	todo->wake = false;
}

/* Moves everything from @from to @to, which is overwritten. */
static void stream_todo_take(struct paccel_stream_todo *from, struct paccel_stream_todo *to)
{
	*to = *from;
	list_replace(&from->ended, &to->ended);
	list_replace(&from->fences, &to->fences);
	stream_todo_init(from);
}

/*
 * Frees the number of a stream that is closed and has no jobs. Returns true if the caller has to
 * drop the reference of ctx->streams.
 */
static bool stream_free_id(struct paccel_stream *stream)
{
	if (stream->open || stream->queued || stream->ctx->streams[stream->id - 1] != stream)
		return false;
	stream->ctx->streams[stream->id - 1] = NULL;
	return true;
}

/* --- without the lock --- */

/* Called with the fence's lock held, in any context. */
static void stream_fence_signalled(struct dma_fence *fence, struct dma_fence_cb *cb)
{
	struct paccel_stream_job *job = container_of(cb, struct paccel_stream_job, fence_cb);

	job->fence_error = fence->error;
	/* Pairs with stream_job_wait_is_over(). */
	smp_store_release(&job->fence_done, true);
	queue_work(paccel_stream_wq, &job->stream->work);
}

/*
 * Adds the callback to the fence of a WAIT_FENCE job. Only the first job of a stream does so, since
 * all callbacks of a fence are called with interrupts off. No lock of the driver is held, since
 * other users of the fence may take its lock with interrupts enabled.
 */
static void stream_watch_fence(struct paccel_ctx *ctx, struct paccel_stream_job *job)
{
	bool over = dma_fence_add_callback(job->fence, &job->fence_cb, stream_fence_signalled);
	int error = over ? min(dma_fence_get_status(job->fence), 0) : 0;

	spin_lock(&ctx->work_lock);
	job->watched = true;
	job->state = PACCEL_JOB_QUEUED;
	if (over) {
		job->fence_error = error;
		job->fence_done = true;
	}
	spin_unlock(&ctx->work_lock);
}

static void stream_notify(struct paccel_stream *stream, struct paccel_stream_todo *todo)
{
	struct paccel_device *pd = stream->ctx->pd;
	struct paccel_fence *fence, *next_fence;
	struct paccel_stream_job *job, *next;

	list_for_each_entry_safe(fence, next_fence, &todo->fences, node) {
		list_del_init(&fence->node);
		paccel_fence_signal(fence);
	}
	if (todo->wake)
		wake_up_all(&stream->ctx->wait);
	list_for_each_entry_safe(job, next, &todo->ended, in_stream) {
		list_del_init(&job->in_stream);
		if (job->base.op == PACCEL_JOB_EVENTFD && !job->base.error)
			paccel_eventfd_signal(job->eventfd);
		paccel_job_put(&job->base);
		cond_resched();
	}
	if (todo->nr_ended && atomic_sub_and_test(todo->nr_ended, &pd->stream_jobs))
		wake_up_var(&pd->stream_jobs);
}

/* Advances the stream. Process context, no lock held; the caller has a reference. */
static void stream_run(struct paccel_stream *stream)
{
	struct paccel_ctx *ctx = stream->ctx;
	bool cookie = dma_fence_begin_signalling(), forgotten;
	unsigned int rounds = PACCEL_STREAM_ROUNDS;
	struct paccel_stream_todo todo;

	spin_lock(&ctx->work_lock);
	if (stream->running)
		goto unlock;
	stream->running = true;
	while (stream_run_locked(stream, false)) {
		stream_todo_take(&stream->todo, &todo);
		forgotten = stream_free_id(stream);
		spin_unlock(&ctx->work_lock);
		/* This is not the last reference: the jobs in todo.ended have references. */
		if (forgotten)
			paccel_stream_put(stream);
		stream_notify(stream, &todo);
		if (todo.watch)
			stream_watch_fence(ctx, todo.watch);
		cond_resched();
		spin_lock(&ctx->work_lock);
		if (!--rounds) {
			queue_work(paccel_stream_wq, &stream->work);
			break;
		}
	}
	stream->running = false;
unlock:
	spin_unlock(&ctx->work_lock);
	dma_fence_end_signalling(cookie);
}

static void stream_work(struct work_struct *work)
{
	stream_run(container_of(work, struct paccel_stream, work));
}

/*
 * Called in a work item with no lock held; the caller has a reference. If the job has been removed
 * from its stream already, the remover continues the stream.
 */
static void stream_job_ended(struct paccel_job *base)
{
	struct paccel_stream_job *job = paccel_stream_job_of(base);
	bool removed;

	spin_lock(&base->ctx->work_lock);
	removed = job->ended.nr;
	spin_unlock(&base->ctx->work_lock);
	if (!removed)
		stream_run(job->stream);
}

static void stream_job_release(struct paccel_job *base)
{
	struct paccel_stream_job *job = paccel_stream_job_of(base);

	paccel_ctx_work_released(base->ctx, &job->ended);
	if (job->fence) {
		/* Afterwards the callback does not run and will not be called. */
		dma_fence_remove_callback(job->fence, &job->fence_cb);
		dma_fence_put(job->fence);
	}
	if (job->eventfd)
		eventfd_ctx_put(job->eventfd);
	if (job->what)
		paccel_stream_put(job->what);
	base->stage = NULL;
	paccel_stream_put(job->stream);
}

static const struct paccel_job_ops stream_job_ops = {
	.ended = stream_job_ended,
	.release = stream_job_release,
};

/* --- for SUBMIT --- */

struct paccel_stream_job *paccel_stream_job_alloc(struct paccel_stream *stream)
{
	struct paccel_ctx *ctx = stream->ctx;
	struct paccel_stream_job *job;
	struct paccel_job *base = paccel_job_alloc(ctx->pd, ctx, 0, sizeof(*job));

	if (!base)
		return NULL;
	base->stream_id = stream->id;
	base->ops = &stream_job_ops;
	job = paccel_stream_job_of(base);
	kref_get(&stream->ref);
	job->stream = stream;
	INIT_LIST_HEAD(&job->in_stream);
	INIT_LIST_HEAD(&job->ended.node);
	INIT_LIST_HEAD(&job->waiter);
	INIT_LIST_HEAD(&job->fence_cb.node);
	return job;
}

bool paccel_stream_fits(struct paccel_stream *stream, unsigned int nr)
{
	return stream->queued + nr <= PACCEL_MAX_QUEUED &&
	       stream->ctx->queued + nr <= PACCEL_MAX_QUEUED_ALL;
}

int paccel_stream_refusal(struct paccel_stream *stream, const struct list_head *jobs)
{
	struct paccel_stream_job *job;

	if (stream->ctx->ended)
		return stream->ctx->ended;
	if (!stream->open)
		return -ENOENT;
	if (!stream->error)
		return 0;
	list_for_each_entry(job, jobs, in_stream)
		if (!job->always)
			return -ECANCELED;
	return 0;
}

/*
 * Queues @nr jobs as @point and empties the list, or fails without effect. -EAGAIN: @point is not
 * the next point any more. -EBUSY: there is no room. Other errors are those of SUBMIT.
 */
int paccel_stream_queue(struct paccel_stream *stream, struct list_head *jobs, unsigned int nr,
			u64 point)
{
	struct paccel_ctx *ctx = stream->ctx;
	struct paccel_stream_job *job;
	u64 now = ktime_get_ns();
	int ret;

	spin_lock(&ctx->work_lock);
	ret = paccel_stream_refusal(stream, jobs);
	if (!ret && point != stream->submitted + 1)
		ret = -EAGAIN;
	if (!ret && !paccel_stream_fits(stream, nr))
		ret = -EBUSY;
	if (ret) {
		spin_unlock(&ctx->work_lock);
		return ret;
	}
	list_for_each_entry(job, jobs, in_stream) {
		job->base.point = point;
		if (job->what)
			job->what->dependents++;
		if (job->base.op == PACCEL_JOB_TIME)
			job->value = now;
	}
	list_last_entry(jobs, struct paccel_stream_job, in_stream)->last = true;
	list_splice_tail_init(jobs, &stream->jobs);
	atomic_add(nr, &ctx->pd->stream_jobs);
	stream->queued += nr;
	ctx->queued += nr;
	stream->submitted = point;
	trace_paccel_submit(ctx, stream->id, point, nr, stream->queued);
	/* A stream_run() in progress checks the stream again before it returns. */
	if (stream_run_locked(stream, stream->running) && !stream->running)
		queue_work(paccel_stream_wq, &stream->work);
	spin_unlock(&ctx->work_lock);
	return 0;
}

/* --- the end of streams --- */

bool paccel_stream_close(struct paccel_stream *stream)
{
	struct paccel_ctx *ctx = stream->ctx;
	bool was_open, forgotten;

	spin_lock(&ctx->work_lock);
	was_open = stream->open;
	stream->open = false;
	forgotten = stream_free_id(stream);
	spin_unlock(&ctx->work_lock);
	wake_up_all(&ctx->wait);
	if (forgotten)
		paccel_stream_put(stream);
	return was_open;
}

/*
 * Returns a counted reference on a job that an engine has and that has not been cancelled, or NULL.
 */
static struct paccel_stream_job *stream_running_job(struct paccel_stream *stream)
{
	struct paccel_stream_job *job, *found = NULL;

	spin_lock(&stream->ctx->work_lock);
	list_for_each_entry(job, &stream->jobs, in_stream) {
		if (job->state == PACCEL_JOB_QUEUED)
			break;
		if (job->state == PACCEL_JOB_RUNNING && !job->cancelled) {
			job->cancelled = true;
			kref_get(&job->base.ref);
			found = job;
			break;
		}
	}
	spin_unlock(&stream->ctx->work_lock);
	return found;
}

/* Returns a counted reference on the stream with that index, open or not, or NULL. */
static struct paccel_stream *stream_at(struct paccel_ctx *ctx, unsigned int i)
{
	struct paccel_stream *stream;

	spin_lock(&ctx->work_lock);
	stream = ctx->streams[i];
	if (stream)
		kref_get(&stream->ref);
	spin_unlock(&ctx->work_lock);
	return stream;
}

/*
 * SUBMIT fails from now on. Queued jobs are cancelled, and jobs in flight end when their requests
 * have completed. Does not wait for them. May be called again; the first error is kept.
 */
void paccel_streams_end(struct paccel_ctx *ctx, int error, enum paccel_page_state state)
{
	unsigned int i;

	spin_lock(&ctx->work_lock);
	if (!ctx->ended) {
		ctx->ended = error;
		ctx->page_state = state;
		if (ctx->page)
			WRITE_ONCE(ctx->page->state, state);
	}
	spin_unlock(&ctx->work_lock);
	wake_up_all(&ctx->wait);

	for (i = 0; i < PACCEL_MAX_STREAMS; i++) {
		struct paccel_stream *stream = stream_at(ctx, i);
		struct paccel_stream_job *job;

		if (!stream)
			continue;
		while ((job = stream_running_job(stream))) {
			paccel_engine_cancel(&job->base, error);
			paccel_job_put(&job->base);
		}
		queue_work(paccel_stream_wq, &stream->work);
		paccel_stream_put(stream);
	}
}

/* The context has ended. Its streams are freed when they have no jobs. */
void paccel_streams_close(struct paccel_ctx *ctx)
{
	unsigned int i;

	for (i = 0; i < PACCEL_MAX_STREAMS; i++) {
		struct paccel_stream *stream = stream_at(ctx, i);

		if (!stream)
			continue;
		paccel_stream_close(stream);
		paccel_stream_put(stream);
	}
}

/* --- for STREAM_CREATE, STREAM_DESTROY and STREAM_CLEAR --- */

/* Gives the stream a number. It is not open yet, so lookups do not find it. */
static int stream_place(struct paccel_stream *stream)
{
	struct paccel_ctx *ctx = stream->ctx;
	u32 i;

	spin_lock(&ctx->work_lock);
	for (i = 0; i < PACCEL_MAX_STREAMS && ctx->streams[i]; i++)
		;
	if (i < PACCEL_MAX_STREAMS) {
		kref_get(&stream->ref);
		ctx->streams[i] = stream;
		stream->id = i + 1;
		stream->slot = &ctx->page->slots[i];
		/*
		 * Points of a number never decrease, so that a wait for a point of an earlier
		 * stream is over.
		 */
		stream->done = stream->slot->done;
		stream->submitted = stream->done;
		WRITE_ONCE(stream->slot->error, 0);
		WRITE_ONCE(stream->slot->failed_point, 0);
	}
	spin_unlock(&ctx->work_lock);
	return i < PACCEL_MAX_STREAMS ? 0 : -ENOSPC;
}

struct paccel_stream *paccel_stream_create(struct paccel_ctx *ctx)
{
	struct paccel_stream *stream;
	int ret = paccel_page_alloc(ctx);

	if (ret)
		return ERR_PTR(ret);
	stream = kzalloc(sizeof(*stream), GFP_KERNEL_ACCOUNT);
	if (!stream)
		return ERR_PTR(-ENOMEM);
	kref_init(&stream->ref);
	stream->ctx = paccel_ctx_get(ctx);
	INIT_LIST_HEAD(&stream->jobs);
	INIT_LIST_HEAD(&stream->fences);
	INIT_LIST_HEAD(&stream->waiters);
	stream_todo_init(&stream->todo);
	INIT_WORK(&stream->work, stream_work);
	stream->fence_context = dma_fence_context_alloc(1);
	ret = stream_place(stream);
	if (!ret)
		return stream;
	paccel_stream_put(stream);
	return ERR_PTR(ret);
}

void paccel_stream_open(struct paccel_stream *stream)
{
	spin_lock(&stream->ctx->work_lock);
	stream->open = true;
	spin_unlock(&stream->ctx->work_lock);
}

int paccel_stream_destroy(struct paccel_ctx *ctx, u32 id)
{
	struct paccel_stream *stream;
	int ret = paccel_stream_get(ctx, id, 0, &stream);
	bool was_open;

	if (ret)
		return ret;
	was_open = paccel_stream_close(stream);
	paccel_stream_put(stream);
	return was_open ? 0 : -ENOENT;
}

int paccel_stream_failure(struct paccel_stream *stream, int *error, u64 *failed_point)
{
	int ret;

	spin_lock(&stream->ctx->work_lock);
	*error = stream->error;
	*failed_point = stream->failed_point;
	/* Jobs that wait for a failed point must still find its error. */
	ret = stream->error && (stream->queued || stream->dependents) ? -EBUSY : 0;
	spin_unlock(&stream->ctx->work_lock);
	return ret;
}

void paccel_stream_clear(struct paccel_stream *stream, u64 failed_point)
{
	struct paccel_ctx *ctx = stream->ctx;

	spin_lock(&ctx->work_lock);
	/*
	 * Another thread may have cleared the error, and the stream may have failed again; or it is
	 * closed, and its slot is that of another stream.
	 */
	if (stream_find(ctx, stream->id) == stream && stream->failed_point == failed_point) {
		stream->error = 0;
		stream->failed_point = 0;
		WRITE_ONCE(stream->slot->error, 0);
		WRITE_ONCE(stream->slot->failed_point, 0);
	}
	spin_unlock(&ctx->work_lock);
}
