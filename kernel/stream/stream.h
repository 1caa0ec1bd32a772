/* SPDX-License-Identifier: GPL-2.0-only */
/* A stream: operations one after the other. */
#ifndef PACCEL_STREAM_H
#define PACCEL_STREAM_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <linux/paccel.h>

struct paccel_ctx;
struct paccel_job;
struct vm_area_struct;

#define PACCEL_MAX_QUEUED	4096
#define PACCEL_MAX_QUEUED_ALL	16384

/**
 * struct paccel_stream - operations one after the other
 * @ref: the context's table, jobs in it, jobs that wait for it, calls that use it
 * @ctx: whose it is, a counted reference
 * @id: its number
 * @slot: in the completion page; this and all below under ctx->work_lock
 * @jobs: in order
 * @queued: how many those are
 * @newest: the last transfer that was given to an engine, while it is in @jobs
 * @stage: of its jobs, from the first that needs one on; not under the lock
 * @fences: exported, not signalled, by point
 * @waiters: jobs of other streams that wait for a point of this one
 * @dependents: queued jobs of streams that wait for a point of this one
 * @submitted: the last point that was given
 * @done: the last point that has ended
 * @failed_point: the first that failed, 0 if none
 * @error: why
 * @open: STREAM_CREATE has returned its number, and STREAM_DESTROY has not been called
 * @running: one thread or interrupt advances it
 * @fence_context: of its fences
 * @work: runs it where the one who noticed cannot
 */
struct paccel_stream {
	struct kref ref;
	struct paccel_ctx *ctx;
	u32 id;
	struct paccel_slot *slot;
	struct list_head jobs;
	unsigned int queued;
	struct paccel_job *newest;
	void *stage;
	struct list_head fences;
	struct list_head waiters;
	unsigned int dependents;
	u64 submitted;
	u64 done;
	u64 failed_point;
	int error;
	bool open;
	bool running;
	u64 fence_context;
	struct work_struct work;
};

/* A counted reference, or an ERR_PTR. It is put after paccel_stream_open() or _close(). */
struct paccel_stream *paccel_stream_create(struct paccel_ctx *ctx);
void paccel_stream_open(struct paccel_stream *stream);
/* It is not found any more. Drops the table's reference if it has drained. */
void paccel_stream_close(struct paccel_stream *stream);
int paccel_stream_destroy(struct paccel_ctx *ctx, u32 id);
/* How it has failed; 0, 0 if it has not. -EBUSY: work of it, or that waits for it, is left. */
int paccel_stream_failure(struct paccel_stream *stream, int *error, u64 *failed_point);
/* Unless it has failed differently since. */
void paccel_stream_clear(struct paccel_stream *stream, u64 failed_point);
/* A counted reference on the stream of that number, or NULL. */
struct paccel_stream *paccel_stream_get(struct paccel_ctx *ctx, u32 id);
/* Likewise, if @point was submitted to it: else -ENOENT or -EINVAL, for it might never end. */
int paccel_stream_get_point(struct paccel_ctx *ctx, u32 id, u64 point,
			    struct paccel_stream **streamp);
void paccel_stream_put(struct paccel_stream *stream);
/* How a point that has ended did end: 0 or its error; ctx->work_lock is held. */
int paccel_stream_error(struct paccel_stream *stream, u64 point);
/* Is there room for so many operations? ctx->work_lock is held. */
bool paccel_stream_fits(struct paccel_stream *stream, unsigned int nr);
int paccel_stream_queue(struct paccel_stream *stream, struct list_head *jobs, unsigned int nr,
			u64 point);
/*
 * The job, just made, is this stream's; only from then on a release of the job drops what is of
 * streams alone: fence, eventfd and the stream that it waits for.
 */
void paccel_stream_adopt(struct paccel_stream *stream, struct paccel_job *job);
void paccel_streams_end(struct paccel_ctx *ctx, int error, enum paccel_page_state state);
void paccel_streams_close(struct paccel_ctx *ctx);
int paccel_page_alloc(struct paccel_ctx *ctx);
int paccel_page_mmap(struct paccel_ctx *ctx, struct vm_area_struct *vma);

#endif
