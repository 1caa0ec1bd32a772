/* SPDX-License-Identifier: GPL-2.0-only */
/* A stream: jobs that run one after the other. */
#ifndef PACCEL_STREAM_H
#define PACCEL_STREAM_H

#include <linux/dma-fence.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <linux/paccel.h>

#include "core/ctx.h"
#include "exec/job.h"

struct eventfd_ctx;
struct vm_area_struct;

#define PACCEL_MAX_QUEUED	4096	/* jobs in one stream */
#define PACCEL_MAX_QUEUED_ALL	16384	/* jobs in all streams of a context */

/* Collected with ctx->work_lock held, to be signalled without it. */
struct paccel_stream_todo {
	struct list_head ended;			/* jobs that have been removed from the stream */
	unsigned int nr_ended;
	struct list_head fences;		/* of points that have ended */
	struct paccel_stream_job *watch;	/* WAIT_FENCE job whose callback is to be added */
	bool wake;				/* wake ctx->wait */
};

/**
 * struct paccel_stream - jobs that run one after the other
 * @ref: held by ctx->streams, by the jobs of the stream, by jobs that wait for the stream, and by
 *	calls that use it
 * @ctx: the context, a counted reference
 * @id: number of the stream
 * @slot: its slot in the completion page
 * @jobs: queued jobs in order of submission
 * @queued: number of jobs in @jobs
 * @newest: the copy or fill job that was last submitted to an engine, while it is in @jobs, else
 *	NULL
 * @started: number of jobs in @jobs that have been submitted to an engine
 * @stage: staging buffer of the jobs, allocated by the first that needs it; set once with
 *	cmpxchg(), without a lock
 * @fences: exported fences that are not signalled, sorted by point
 * @waiters: WAIT_POINT jobs, each the first of its stream, that wait for a point of this stream
 * @dependents: number of queued WAIT_POINT jobs, in all streams, that name a point of this stream
 * @submitted: the point of the last SUBMIT
 * @done: the last point that has ended
 * @failed_point: the first point that failed, 0 if none
 * @error: the error of @failed_point, 0 if none
 * @open: STREAM_CREATE has returned the number, and STREAM_DESTROY has not been called
 * @ended_ns: CLOCK_MONOTONIC time in nanoseconds at which the job before the first of @jobs ended,
 *	if that job had DMA requests, else 0
 * @todo: what the next round of stream_run() signals
 * @running: stream_run() is in progress; another call returns at once
 * @fence_context: dma_fence context of its fences
 * @work: calls stream_run(). Queued when a job that no engine executes may be able to proceed, or
 *	something is to be signalled
 *
 * ctx->work_lock protects the members from @slot to @running, except @stage and the pointer @slot.
 * The others do not change.
 */
struct paccel_stream {
	struct kref ref;
	struct paccel_ctx *ctx;
	u32 id;
	struct paccel_slot *slot;
	struct list_head jobs;
	unsigned int queued;
	struct paccel_stream_job *newest;
	unsigned int started;
	void *stage;
	struct list_head fences;
	struct list_head waiters;
	unsigned int dependents;
	u64 submitted;
	u64 done;
	u64 failed_point;
	int error;
	bool open;
	u64 ended_ns;
	struct paccel_stream_todo todo;
	bool running;
	u64 fence_context;
	struct work_struct work;
};

/* State of a job in a stream; under ctx->work_lock. */
enum paccel_stream_job_state {
	PACCEL_JOB_QUEUED,	/* not started, or waiting for a point or fence */
	PACCEL_JOB_WATCHING,	/* the callback is being added to the fence */
	PACCEL_JOB_RUNNING,	/* submitted to an engine, until base.over */
};

/**
 * struct paccel_stream_job - an operation of a SUBMIT
 * @base: the job as engines use it; must be the first member, since it is what is freed
 * @stream: the stream, a counted reference
 * @in_stream: in stream->jobs; this and the members below are under ctx->work_lock once the job is
 *	queued, except where they do not change
 * @state: state of the job
 * @cancelled: paccel_engine_cancel() has been called
 * @last: the job is the last of its SUBMIT
 * @always: the job runs also in a stream that has failed
 * @ended: in ctx->releasing from the end of the job until it has released its memory
 * @what: WAIT_POINT: the stream to wait for, a counted reference
 * @what_point: WAIT_POINT: the point
 * @waiter: WAIT_POINT: in what->waiters
 * @fence: WAIT_FENCE: the fence, a counted reference
 * @fence_cb: WAIT_FENCE: callback of @fence, added when the job is the first of its stream
 * @watched: WAIT_FENCE: @fence_cb has been added, or @fence was already signalled
 * @fence_error: WAIT_FENCE: error of the fence, valid once @fence_done
 * @fence_done: WAIT_FENCE: the fence is signalled; set with release semantics, without the lock
 * @eventfd: EVENTFD: a counted reference
 * @value: WRITE: the value; TIME: CLOCK_MONOTONIC time of submission, in nanoseconds
 */
struct paccel_stream_job {
	struct paccel_job base;
	struct paccel_stream *stream;
	struct list_head in_stream;
	enum paccel_stream_job_state state;
	bool cancelled;
	bool last;
	bool always;
	struct paccel_ended ended;
	struct paccel_stream *what;
	u64 what_point;
	struct list_head waiter;
	struct dma_fence *fence;
	struct dma_fence_cb fence_cb;
	bool watched;
	int fence_error;
	bool fence_done;
	struct eventfd_ctx *eventfd;
	u64 value;
};

static_assert(!offsetof(struct paccel_stream_job, base));

static inline struct paccel_stream_job *paccel_stream_job_of(struct paccel_job *job)
{
	return container_of(job, struct paccel_stream_job, base);
}

/*
 * Life of a stream. None of these functions waits for the device; all take ctx->work_lock.
 *
 * _create(): creates a stream that lookups do not find yet. Returns a counted reference or an
 * ERR_PTR. The caller calls _open() or _close(), and then paccel_stream_put().
 * _open(): lookups find the stream.
 * _close(): lookups do not find the stream any more. Drops the reference of ctx->streams if no job
 * is queued; else that is done when the last job has ended. Returns whether the stream was open.
 * _destroy(): looks up the stream and closes it. Returns 0 or -ENOENT.
 */
struct paccel_stream *paccel_stream_create(struct paccel_ctx *ctx);
void paccel_stream_open(struct paccel_stream *stream);
bool paccel_stream_close(struct paccel_stream *stream);
int paccel_stream_destroy(struct paccel_ctx *ctx, u32 id);
/*
 * Gets the error of the stream and its first failed point; both are 0 if it has not failed. Returns
 * 0; -EBUSY if it has failed and either jobs are queued in it, or queued jobs of other streams wait
 * for a point of it: these must still see the error.
 */
int paccel_stream_failure(struct paccel_stream *stream, int *error, u64 *failed_point);
/* Clears the error, if @failed_point is still the stream's first failed point. */
void paccel_stream_clear(struct paccel_stream *stream, u64 failed_point);
/*
 * Gets a counted reference on the open stream of that number, in @streamp, which is only set on
 * success. Returns 0; -ENOENT: no such stream; -EINVAL: @point has not been submitted, so that a
 * wait for it might never end. Point 0 has always been reached.
 */
int paccel_stream_get(struct paccel_ctx *ctx, u32 id, u64 point, struct paccel_stream **streamp);
/* Drops a reference. May sleep. stream->work does not drop the last one. */
void paccel_stream_put(struct paccel_stream *stream);
/* Returns the error of a point that has ended, 0 if it is complete. ctx->work_lock is held. */
static inline int paccel_stream_error(struct paccel_stream *stream, u64 point)
{
	if (!stream->failed_point || point < stream->failed_point)
		return 0;
	return point == stream->failed_point ? stream->error : -ECANCELED;
}

/* Returns whether @nr more jobs can be queued. ctx->work_lock is held. */
bool paccel_stream_fits(struct paccel_stream *stream, unsigned int nr);
/*
 * Returns the error with which the jobs are refused whatever room there is, or 0. A stream that has
 * failed accepts only submissions whose jobs all run in a failed stream. ctx->work_lock is held.
 */
int paccel_stream_refusal(struct paccel_stream *stream, const struct list_head *jobs);
/*
 * Queues the @nr jobs of the list, in order, as @point. On success, takes over the list and its
 * references and returns 0. Otherwise the caller keeps them: -EAGAIN: @point is not the next point
 * any more; -EBUSY: the jobs do not fit; else the error of SUBMIT. Process context, no lock held.
 */
int paccel_stream_queue(struct paccel_stream *stream, struct list_head *jobs, unsigned int nr,
			u64 point);
/*
 * Returns a job of this stream that is not queued and has no job->base.op yet, or NULL.
 * paccel_job_drop() frees it.
 */
struct paccel_stream_job *paccel_stream_job_alloc(struct paccel_stream *stream);
/*
 * _end(): SUBMIT fails with @error from now on, @state is shown in the completion page, and queued
 * jobs are cancelled; jobs with requests in flight end after those. The first @error
 * stays. Does not wait. May be called under pd->ctxs_lock.
 * _close(): closes all streams of the context.
 */
void paccel_streams_end(struct paccel_ctx *ctx, int error, enum paccel_page_state state);
void paccel_streams_close(struct paccel_ctx *ctx);
/* Allocates ctx->page, unless it exists. Returns 0 or -ENOMEM. */
int paccel_page_alloc(struct paccel_ctx *ctx);
/* Maps the completion page. mmap_lock is held for writing. Returns 0 or the error of mmap(). */
int paccel_page_mmap(struct paccel_ctx *ctx, struct vm_area_struct *vma);

#endif
