/* SPDX-License-Identifier: GPL-2.0-only */
/* A job: one operation, split into DMA requests. */
#ifndef PACCEL_JOB_H
#define PACCEL_JOB_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/types.h>
#include <linux/paccel.h>

#include "core/ctx.h"
#include "include/paccel.h"
#include "mem/pages.h"

struct paccel_buf;
struct paccel_device;
struct paccel_engine;
struct paccel_host;
struct paccel_queue;
struct work_struct;

/* Position of a request in its job: row, byte in the row, and which of two requests. */
struct paccel_place {
	u64 row;
	u64 col;
	bool staged;	/* D2D in two requests: the first one (D2H or CHECKSUM) has been issued */
};

/*
 * One side of a copy: rows of job->width bytes, @pitch bytes apart. A contiguous range has one row.
 * @start is a device address, or an offset in job->pages.
 */
struct paccel_rect {
	u64 start;
	u64 pitch;
};

struct paccel_job;

/**
 * struct paccel_job_ops - functions of stream/ that exec/ calls for a job in a stream
 * @ended: the job has ended: the stream may continue. Called in eng->report, without locks
 * @release: drop the references that only jobs in a stream have. Called by job_release(), in
 *	process context without locks. May sleep
 */
struct paccel_job_ops {
	void (*ended)(struct paccel_job *job);
	void (*release)(struct paccel_job *job);
};

/**
 * struct paccel_job - one operation on its way through an engine
 * @ref: held by the engine until the job has ended, by the stream, and by waiters
 * @node: in @queue, or in eng->ended; under eng->lock
 * @waits: the job is in @queue; under eng->lock
 * @ctx: the context, a counted reference; NULL for a scrub job
 * @queue: queue of @ctx on @eng; NULL for a scrub job
 * @eng: the engine
 * @since: time of submission to the engine, in jiffies
 * @op: the operation
 * @dst: destination
 * @src: source
 * @width: bytes of each row
 * @rows: number of rows
 * @pattern: of a fill, repeated to 8 bytes
 * @verify: the requests of the job are verified
 * @source: verified D2D on the device: CRC32C of the source of the next D2D request
 * @bufs: allocations that the job uses, counted references; NULL: none, or dropped after the end
 * @host: the host range that @pages belong to, a counted reference; or NULL
 * @pages: host memory: that of @host, or @own; or NULL
 * @own: pages pinned for this job alone
 * @cursor: position of the last request in @pages
 * @stage: staging buffer of a D2D copy without PACCEL_HW_D2D, freed with the job. In a stream it
 *	belongs to the stream, whose jobs use it one after the other, and ops->release() sets it to
 *	NULL
 * @at: position of the next request; this and the members down to @over are under eng->lock
 * @in_flight: number of requests of the job in flight
 * @rewound: @at has been set back to an aborted request, which is repeated once no request of the
 *	job is in flight; requests that succeed meanwhile do not count
 * @complete: all requests of the job have succeeded
 * @stop: 0, or the error that the job ends with once none of its requests is in flight, unless they
 *	complete it
 * @leader: the previous job of the stream, until that has ended; else NULL. Requests of this job
 *	are started directly after those of the leader, or when the leader has ended. Until then the
 *	job is parked: it is in no queue, and the leader's @follower alone points to it
 * @follower: the job whose @leader this job is, or NULL
 * @over: the job has ended, with any result; @error is final. Set with release semantics under
 *	eng->lock; read without it by the stream
 * @counted: counted in eng->load: the job has been enqueued and has not ended
 * @released: bit 0: job_release() has dropped the references that the job holds
 * @error: 0 or the error of the job; under eng->lock until it has ended
 * @ops: for a job in a stream, else NULL
 * @end: for a job in no stream, or NULL: called once when the job has ended, with eng->lock held
 *	and interrupts off
 * @done: completed when a job in no stream has ended
 * @unreferenced: in ctx->unreferenced
 * @stream_id: number of the stream, or 0. No other stream of @ctx has this number while the job is
 *	queued
 * @point: number of its SUBMIT in that stream
 * @end_ns: CLOCK_MONOTONIC time in nanoseconds at which the job ended on the engine
 */
struct paccel_job {
	struct kref ref;
	struct list_head node;
	bool waits;
	struct paccel_ctx *ctx;
	struct paccel_queue *queue;
	struct paccel_engine *eng;
	unsigned long since;
	enum paccel_job_op op;
	struct paccel_rect dst;
	struct paccel_rect src;
	u64 width;
	u64 rows;
	u64 pattern;
	bool verify;
	u32 source;
	struct paccel_buf *bufs[2];
	struct paccel_host *host;
	struct paccel_pages *pages;
	struct paccel_pages own;
	struct paccel_cursor cursor;
	void *stage;
	struct paccel_place at;
	unsigned int in_flight;
	bool rewound;
	bool complete;
	int stop;
	struct paccel_job *leader;
	struct paccel_job *follower;
	bool over;
	bool counted;
	unsigned long released;
	int error;
	const struct paccel_job_ops *ops;
	void (*end)(struct paccel_job *job);
	struct completion done;
	struct llist_node unreferenced;
	u32 stream_id;
	u64 point;
	u64 end_ns;
};

/**
 * struct paccel_step - a DMA request of a job
 * @x: the request as the backend gets it
 * @bounce: the request uses the bounce buffer
 * @sync: the host segments need dma_sync_*(), see struct paccel_pages
 * @last: the request is the last of its job
 * @host: offset of the host side in job->pages
 * @at: position of the request in the job
 */
struct paccel_step {
	struct paccel_xfer x;
	bool bounce;
	bool sync;
	bool last;
	u64 host;
	struct paccel_place at;
};

/*
 * Allocates a job with one reference, or returns NULL. @ctx: NULL for the scrub job. @size: of
 * struct paccel_job, or of a struct that begins with it.
 */
struct paccel_job *paccel_job_alloc(struct paccel_device *pd, struct paccel_ctx *ctx,
				    enum paccel_job_op op, size_t size);
/* Drops a reference. Any context. */
void paccel_job_put(struct paccel_job *job);
/* Work item ctx->release. */
void paccel_ctx_release_jobs(struct work_struct *work);
/*
 * Drops the references that the job holds, once, and the caller's reference on the job. The job has
 * ended, or was never submitted. May sleep, but never waits for the device.
 */
void paccel_job_drop(struct paccel_job *job);
/*
 * Drops those references of a job on device memory that are not the last ones. A process that frees
 * memory after it has seen the end of the jobs that use it then drops the last reference, and the
 * memory is available at once. Called when the job has ended, before its submitter can see that;
 * job_release() drops the other references. Any context.
 */
void paccel_job_unref_bufs(struct paccel_job *job);
/* Allocates a staging buffer of pd->bounce_size bytes, to be freed with kfree(), or NULL. */
void *paccel_job_stage(const struct paccel_job *job);
/*
 * Sets job->verify, before submission: if @wanted, or if the module parameter verify is set and
 * verification is supported. Returns 0; -EOPNOTSUPP: @wanted and not supported.
 */
int paccel_job_verify(struct paccel_job *job, struct paccel_device *pd, bool wanted);
/* Returns whether the device executes the job without host memory. */
bool paccel_job_is_on_device(const struct paccel_job *job, const struct paccel_device *pd);
/* Returns the operations of the job's requests, BIT() of enum paccel_xfer_op. */
u32 paccel_job_op_mask(const struct paccel_job *job, const struct paccel_device *pd);
/*
 * For the engine. _plan() describes the next request, _issue() advances job->at behind it and
 * returns whether it was the last, _count() counts a request that has succeeded: with eng->lock
 * held.
 * _copy_in() and _copy_out() fill and empty the bounce buffer; _checksum() returns the CRC32C that
 * the device should have reported: without locks.
 */
void paccel_job_plan(struct paccel_job *job, struct paccel_step *step);
void paccel_job_copy_in(struct paccel_job *job, const struct paccel_step *step, void *bounce);
void paccel_job_copy_out(struct paccel_job *job, const struct paccel_step *step,
			 const void *bounce);
u32 paccel_job_checksum(struct paccel_job *job, const struct paccel_step *step, const void *bounce);
bool paccel_job_issue(struct paccel_job *job, const struct paccel_step *step);
void paccel_job_count(struct paccel_job *job, const struct paccel_step *step);

/*
 * run.c. Chooses an engine and submits the job to it. The caller keeps its reference. Arguments and
 * result: paccel_engine_submit().
 */
int paccel_job_submit(struct paccel_job *job, struct paccel_job *leader, bool more);
/* Waits for a submitted job, killable, and drops the job. Returns its error, or -EINTR. */
int paccel_job_finish(struct paccel_job *job);
/* paccel_job_submit() and paccel_job_finish(). Drops the job on failure, too. */
int paccel_job_run(struct paccel_job *job);

#endif
