/* SPDX-License-Identifier: GPL-2.0-only */
/* A context: one open file, and the one process that it serves. */
#ifndef PACCEL_CTX_H
#define PACCEL_CTX_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/mmu_notifier.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/paccel.h>

struct paccel_device;
struct paccel_queue;
struct paccel_stream;
struct paccel_user;

#define PACCEL_MAX_STREAMS	(PACCEL_PAGE_SLOTS - 1)
/* Pages of mmap offsets: 0 is nothing, 1 the completion page, the others are HOST_ALLOC's. */
#define PACCEL_PAGE_COOKIE	1

/* Of work that has ended and still has what it worked on; under ctx->work_lock. */
struct paccel_ended {
	struct list_head node;	/* in ctx->releasing */
	u64 nr;			/* ctx->nr_ended then */
};

/* What one context has had, for fdinfo. */
struct paccel_usage {
	atomic64_t h2d, d2h, d2d, filled;	/* bytes */
	atomic64_t engine_ns;
};

/**
 * struct paccel_ctx - one open file, and the one process that it serves
 * @ref: the file, its streams and its jobs
 * @id: its number, for traces and fdinfo
 * @pd: the card, a counted reference
 * @stop: ends the work of its streams, which are a layer above those that call this
 * @mm: the opener's address space (mmgrab: it may die before the file does)
 * @user: who pays for device memory
 * @node: in pd->ctxs
 * @lock: @maps, @hosts, @cookies and their counts
 * @maps: device memory, struct paccel_map
 * @hosts: host ranges by user address
 * @cookies: the driver's own memory by mmap offset
 * @next_cookie: never given twice
 * @nr_maps: allocations
 * @nr_hosts: host ranges, with those that are being made
 * @bytes: device memory, in whole granules
 * @lost: a reset has lost its memory
 * @notifier: tells of the end of @mm
 * @end: ends the context then
 * @queues: its jobs, by engine
 * @usage: counters
 * @unreferenced: jobs without a reference, to be freed by @release
 * @release: frees @unreferenced
 * @wait: WAIT, SUBMIT that waits for room, and poll()
 * @settled: paccel_ctx_wait_released(); not @wait, since each wake-up of that is an event for an
 *	edge-triggered poll()
 * @work_lock: all below, and its streams with their jobs; taken in interrupts
 * @streams: by number less 1
 * @page: the completion page, from the first stream on
 * @page_state: what it says, or will say
 * @queued: jobs in all streams
 * @nr_ended: jobs of streams that have ended
 * @releasing: those of them that still have what they worked on, struct paccel_ended, in order
 * @ended: 0, or why nothing can be submitted any more
 * @completions: points that have ended
 * @seen: what @completions was at the last WAIT
 */
struct paccel_ctx {
	struct kref ref;
	u64 id;
	struct paccel_device *pd;
	void (*stop)(struct paccel_ctx *ctx, int error, enum paccel_page_state state);
	struct mm_struct *mm;
	struct paccel_user *user;
	struct list_head node;
	struct mutex lock;		/* the trees and their counts */
	struct rb_root maps;
	struct rb_root hosts;
	struct rb_root cookies;
	u64 next_cookie;
	u64 nr_maps;
	u32 nr_hosts;
	u64 bytes;
	bool lost;
	struct mmu_notifier notifier;
	struct work_struct end;
	struct paccel_queue *queues;
	struct paccel_usage usage;
	struct llist_head unreferenced;
	struct work_struct release;
	wait_queue_head_t wait;
	wait_queue_head_t settled;
	spinlock_t work_lock;		/* all below, and streams with their jobs */
	struct paccel_stream *streams[PACCEL_MAX_STREAMS];
	struct paccel_page *page;
	enum paccel_page_state page_state;
	unsigned int queued;
	u64 nr_ended;
	struct list_head releasing;
	int ended;
	u64 completions;
	u64 seen;
};

struct paccel_ctx *paccel_ctx_get(struct paccel_ctx *ctx);
void paccel_ctx_put(struct paccel_ctx *ctx);
/*
 * A job that has ended keeps what it worked on until a worker has put it away. Who has found out
 * that memory is short, and then that this is not 0, waits for it and tries again.
 */
u64 paccel_ctx_releasing(struct paccel_ctx *ctx);
int paccel_ctx_wait_released(struct paccel_ctx *ctx, u64 mark);
void paccel_ctx_work_ended(struct paccel_ctx *ctx, struct paccel_ended *ended);
void paccel_ctx_work_released(struct paccel_ctx *ctx, struct paccel_ended *ended);

/*
 * The result of what takes all locks of an address space, which any signal interrupts, also one
 * that only stops the process: the system call is restarted.
 */
static inline int paccel_from_the_start(int ret)
{
	return ret == -EINTR ? -ERESTARTNOINTR : ret;
}

#endif
