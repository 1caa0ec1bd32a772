/* SPDX-License-Identifier: GPL-2.0-only */
/* A job: one operation, cut into transfers. */
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

/* How far a job has been started. */
struct paccel_place {
	u64 row;
	u64 col;
	bool staged;	/* D2D in two requests: the first one (D2H or CHECKSUM) has been issued */
};

/* A rectangle: rows of width bytes, pitch bytes apart; one row is an ordinary range. */
struct paccel_rect {
	u64 start;
	u64 pitch;
};

struct paccel_job;

enum paccel_job_op {
	PACCEL_JOB_H2D = PACCEL_COPY_H2D,
	PACCEL_JOB_D2H = PACCEL_COPY_D2H,
	PACCEL_JOB_D2D = PACCEL_COPY_D2D,
	PACCEL_JOB_FILL,
	PACCEL_JOB_SCRUB,
	/* Of streams only, and no transfers: */
	PACCEL_JOB_WAIT_POINT,
	PACCEL_JOB_WAIT_FENCE,
	PACCEL_JOB_EVENTFD,
	PACCEL_JOB_WRITE,
	PACCEL_JOB_TIME,
};

/**
 * struct paccel_job_ops - functions of stream/ that exec/ calls for a job in a stream
 * @issued: the job's last request has been started: the stream may submit its next job
 * @ended: the listed jobs of one stream have ended; takes over the engine's references
 * @release: drop the references that only jobs in a stream have. May sleep
 *
 * In eng->report, with no lock held.
 */
struct paccel_job_ops {
	void (*issued)(struct paccel_job *job);
	void (*ended)(struct list_head *jobs);
	void (*release)(struct paccel_job *job);
};

/**
 * struct paccel_job - one operation on its way through an engine
 * @ref: the engine until the job has ended, and those that wait for it
 * @node: in its queue, under eng->lock
 * @waits: is in its queue; under eng->lock
 * @ctx: whose it is, a counted reference; NULL for a scrub job
 * @queue: where it waits; NULL for a scrub job
 * @eng: who runs it
 * @since: when the engine got it, in jiffies
 * @op: what to do
 * @dst: where to: a device address, or an offset into @pages
 * @src: where from, likewise
 * @width: bytes of each row
 * @rows: rows
 * @pattern: of a fill, repeated to 8 bytes
 * @verify: its transfers are verified
 * @source: verified D2D on the device: checksum of the source of the next D2D request
 * @bufs: allocations that the job uses, counted references
 * @host: host range whose pages these are, or NULL
 * @pages: the host side: of @host, or @own
 * @own: pages pinned for this job alone
 * @cursor: where the last transfer was in @pages
 * @stage: staging buffer of a D2D copy without PACCEL_HW_D2D, freed with the job; in a stream it is
 *	the stream's, whose jobs use it in turn, and ops->release() sets it to NULL
 * @at: position of the next request; this and all down to @over under eng->lock
 * @in_flight: transfers of it that have been started and have not left the ring
 * @rewound: @at has been set back to an aborted request, which is repeated once no request of the
 *	job is in flight; requests that succeed meanwhile do not count
 * @complete: all requests of the job have succeeded
 * @stop: 0, or the error that the job ends with once none of its requests is in flight, unless they
 *	complete it
 * @leader: the job before it in its stream, until that job has ended; else NULL. Requests of this
 *	job are started directly after those of the leader, or when the leader has ended
 * @follower: the job whose @leader this job is, or NULL
 * @over: the job has ended; @error is final
 * @issue_reported: the last request has been started, and the stream is notified of that by
 *	ops->issued() or by the return value of paccel_engine_submit()
 * @issued_node: in the list of jobs for which ops->issued() is to be called
 * @released: bit 0: paccel_job_release() has dropped the references that the job holds
 * @error: 0 or why it failed; under eng->lock until it has ended
 * @ops: of a job in a stream, else NULL
 * @end: of a job in no stream: called once when it has ended, with eng->lock held
 * @done: for those who wait
 * @unreferenced: in ctx->unreferenced
 * @stream_id: number of the stream that it is in, or 0. No other stream of @ctx has it while an
 *	engine has the job
 * @point: number of its SUBMIT in that stream
 * @end_ns: when it has ended, of CLOCK_MONOTONIC
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
	bool issue_reported;
	struct list_head issued_node;
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
 * @bounce: it uses the bounce buffer
 * @sync: its host segments need dma_sync_*(), see struct paccel_pages
 * @last: it is the last request of its job
 * @host: offset of its host side in job->pages
 * @at: its position in the job
 */
struct paccel_step {
	struct paccel_xfer x;
	bool bounce;
	bool sync;
	bool last;
	u64 host;
	struct paccel_place at;
};

struct paccel_job *paccel_job_alloc(struct paccel_device *pd, struct paccel_ctx *ctx,
				    enum paccel_job_op op, size_t size);
void paccel_job_put(struct paccel_job *job);
void paccel_ctx_release_jobs(struct work_struct *work);
void paccel_job_release(struct paccel_job *job);
void paccel_job_drop(struct paccel_job *job);
void *paccel_job_stage(const struct paccel_job *job);
int paccel_job_verify(struct paccel_job *job, struct paccel_device *pd, bool wanted);
bool paccel_job_is_on_device(const struct paccel_job *job, const struct paccel_device *pd);
u32 paccel_job_op_mask(const struct paccel_job *job, const struct paccel_device *pd);
void paccel_job_plan(struct paccel_job *job, struct paccel_step *step);
void paccel_job_copy_in(struct paccel_job *job, const struct paccel_step *step, void *bounce);
void paccel_job_copy_out(struct paccel_job *job, const struct paccel_step *step,
			 const void *bounce);
u32 paccel_job_checksum(struct paccel_job *job, const struct paccel_step *step, const void *bounce);
bool paccel_job_issue(struct paccel_job *job, const struct paccel_step *step);
void paccel_job_count(struct paccel_job *job, const struct paccel_step *step);

/* run.c */
int paccel_job_submit(struct paccel_job *job, struct paccel_job *leader, bool more);
int paccel_job_finish(struct paccel_job *job);
int paccel_job_run(struct paccel_job *job);

#endif
