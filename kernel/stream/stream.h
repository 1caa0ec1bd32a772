/* SPDX-License-Identifier: GPL-2.0-only */
/* A stream: operations one after the other. */
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

#define PACCEL_MAX_QUEUED	4096
#define PACCEL_MAX_QUEUED_ALL	16384

/* What has been taken out of a stream under the lock and is signalled without it. */
struct paccel_stream_todo {
	struct list_head ended;			/* jobs */
	struct list_head fences;
	struct paccel_stream_job *watch;	/* a WAIT_FENCE whose callback is to be added */
	bool wake;				/* ctx->wait */
};

/**
 * struct paccel_stream - operations one after the other
 * @ref: the context's table, jobs in it, jobs that wait for it, calls that use it
 * @ctx: whose it is, a counted reference
 * @id: its number
 * @slot: in the completion page; this and all below under ctx->work_lock
 * @jobs: in order
 * @queued: how many those are
 * @newest: the copy or fill job that was last given to an engine, while it is in @jobs, else NULL
 * @stage: staging buffer of its jobs, allocated for the first that needs one; not under the lock
 * @fences: exported fences that are not signalled, sorted by point
 * @waiters: WAIT_POINT jobs, each the first of its stream, that wait for a point of this stream
 * @dependents: number of WAIT_POINT jobs, in all streams, that name a point of this stream
 * @submitted: the point of the last SUBMIT
 * @done: the last point that has been reached
 * @failed_point: the first point that failed, 0 if none
 * @error: the error of @failed_point, 0 if none
 * @open: STREAM_CREATE has returned its number, and STREAM_DESTROY has not been called
 * @ended_ns: when the job before the first one ended, if that was a transfer, else 0
 * @todo: what the next round of stream_run() signals
 * @running: stream_run() is in progress; another call returns at once
 * @fence_context: dma_fence context of its fences
 * @work: calls stream_run() when a job is ready that no engine has
 */
struct paccel_stream {
	struct kref ref;
	struct paccel_ctx *ctx;
	u32 id;
	struct paccel_slot *slot;
	struct list_head jobs;
	unsigned int queued;
	struct paccel_stream_job *newest;
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

/* Under ctx->work_lock. */
enum paccel_stream_job_state {
	PACCEL_JOB_QUEUED,
	PACCEL_JOB_WATCHING,	/* its callback is being added to the fence */
	PACCEL_JOB_RUNNING,	/* the engine has it */
	PACCEL_JOB_ENDED,
};

/**
 * struct paccel_stream_job - an operation of a SUBMIT
 * @base: the job, as engines know it; the first, because it is what is freed
 * @stream: its stream, a counted reference
 * @in_stream: in stream->jobs; this and all below under ctx->work_lock once it is queued
 * @state: how far it is
 * @issued: nothing of it is left to start: the next one can be given to the engine
 * @cancelled: the engine has been asked to cancel it
 * @last: it is the last job of its SUBMIT
 * @always: runs also in a stream that has failed
 * @ended: in ctx->releasing from its end until it is released
 * @what: WAIT_POINT: the stream that it waits for, a counted reference
 * @what_point: WAIT_POINT: the point
 * @waiter: WAIT_POINT: in what->waiters
 * @fence: WAIT_FENCE: the fence, a counted reference
 * @fence_cb: WAIT_FENCE: callback of @fence, added when the job is the first of its stream
 * @watched: WAIT_FENCE: @fence_cb has been added, or @fence was already signalled
 * @fence_error: WAIT_FENCE: of the fence, valid once @fence_done
 * @fence_done: WAIT_FENCE: it is signalled; set with release semantics
 * @eventfd: EVENTFD: a counted reference
 * @value: WRITE: what; TIME: when it was submitted
 */
struct paccel_stream_job {
	struct paccel_job base;
	struct paccel_stream *stream;
	struct list_head in_stream;
	enum paccel_stream_job_state state;
	bool issued;
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
 * Creates a stream that lookups do not find yet. Returns a counted reference or an ERR_PTR. The
 * caller calls paccel_stream_open() or paccel_stream_close(), and then paccel_stream_put().
 */
struct paccel_stream *paccel_stream_create(struct paccel_ctx *ctx);
void paccel_stream_open(struct paccel_stream *stream);
/*
 * Lookups do not find the stream any more. Drops the reference of ctx->streams if no job is queued;
 * else that is done when the last job has ended. Returns whether the stream was open.
 */
bool paccel_stream_close(struct paccel_stream *stream);
int paccel_stream_destroy(struct paccel_ctx *ctx, u32 id);
/*
 * Gets the error of the stream and its first failed point; both are 0 if it has not failed. -EBUSY:
 * it has failed, and jobs are still queued in it or wait for a point of it.
 */
int paccel_stream_failure(struct paccel_stream *stream, int *error, u64 *failed_point);
/* Clears the error, if @failed_point is still the stream's first failed point. */
void paccel_stream_clear(struct paccel_stream *stream, u64 failed_point);
/* A counted reference on the stream of that number, or NULL. */
struct paccel_stream *paccel_stream_get(struct paccel_ctx *ctx, u32 id);
/*
 * As paccel_stream_get(), in @streamp. -ENOENT: no such stream. -EINVAL: @point has not been
 * submitted, so that a wait for it might never end.
 */
int paccel_stream_get_point(struct paccel_ctx *ctx, u32 id, u64 point,
			    struct paccel_stream **streamp);
void paccel_stream_put(struct paccel_stream *stream);
/* How a point that has ended did end: 0 or its error; ctx->work_lock is held. */
static inline int paccel_stream_error(struct paccel_stream *stream, u64 point)
{
	if (!stream->failed_point || point < stream->failed_point)
		return 0;
	return point == stream->failed_point ? stream->error : -ECANCELED;
}

/* Is there room for so many operations? ctx->work_lock is held. */
bool paccel_stream_fits(struct paccel_stream *stream, unsigned int nr);
int paccel_stream_queue(struct paccel_stream *stream, struct list_head *jobs, unsigned int nr,
			u64 point);
/* A job of this stream that is not queued, or NULL. paccel_job_drop() undoes it. */
struct paccel_stream_job *paccel_stream_job_alloc(struct paccel_stream *stream,
						  enum paccel_job_op op);
void paccel_streams_end(struct paccel_ctx *ctx, int error, enum paccel_page_state state);
void paccel_streams_close(struct paccel_ctx *ctx);
int paccel_page_alloc(struct paccel_ctx *ctx);
int paccel_page_mmap(struct paccel_ctx *ctx, struct vm_area_struct *vma);

#endif
