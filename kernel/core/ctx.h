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
/*
 * mmap offsets in pages: 0 is unused, 1 is the completion page, and HOST_ALLOC memory has offsets
 * from 2 on. Device memory begins at the byte offset PACCEL_MMAP_DEVICE.
 */
#define PACCEL_PAGE_COOKIE	1

/* Part of a job in a stream: it has ended and not yet released its memory. Under ctx->work_lock. */
struct paccel_ended {
	struct list_head node;	/* in ctx->releasing */
	u64 nr;			/* ctx->nr_ended when the job ended */
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
 * @stop: cancels the work of all its streams; a pointer, since the callers may not call stream/
 * @mm: the opener's address space (mmgrab: it may die before the file does)
 * @user: who pays for device memory
 * @node: in pd->ctxs
 * @lock: @maps, @hosts, @cookies and their counts
 * @maps: device memory, struct paccel_mem_ref
 * @hosts: host ranges by user address
 * @cookies: the driver's own memory by mmap offset
 * @next_cookie: never given twice
 * @nr_maps: allocations
 * @nr_hosts: host ranges, with those that are being made
 * @bytes: device memory, in whole granules
 * @lost: a reset has lost its device memory: all ioctls but DEVICE_INFO and MEM_STATS fail
 * @notifier: queues @end when the process of @mm exits
 * @end: work item that ends the context
 * @queues: its jobs, by engine
 * @usage: counters
 * @unreferenced: jobs without a reference, to be freed by @release
 * @release: frees @unreferenced
 * @wait: WAIT, SUBMIT that waits for room, and poll()
 * @settled: wait queue of paccel_ctx_wait_released(). It is not @wait, since edge-triggered epoll
 *	reports an event for each wake-up of @wait
 * @work_lock: all below, and its streams with their jobs
 * @streams: by number less 1
 * @page: the completion page, from the first stream on
 * @page_state: value for @page->state, kept here while @page is NULL
 * @queued: number of jobs queued in all streams
 * @nr_ended: number of jobs of its streams that have ended so far
 * @releasing: ended jobs that have not yet released their memory, struct paccel_ended, oldest first
 * @ended: 0, or the error that SUBMIT fails with: the context has ended, see paccel_streams_end()
 * @completions: number of points that have been reached so far
 * @seen: value of @completions at the last WAIT; poll() reports EPOLLIN if they differ
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
 * A job in a stream keeps its memory after its end, until a work item releases it.
 * paccel_ctx_releasing() returns 0 if no ended job of the context does so, else a mark. A function
 * that allocates takes the mark first. If the allocation then fails and the mark is not 0, the
 * function calls paccel_ctx_wait_released() with the mark and tries once more.
 */
u64 paccel_ctx_releasing(struct paccel_ctx *ctx);
int paccel_ctx_wait_released(struct paccel_ctx *ctx, u64 mark);
void paccel_ctx_work_ended(struct paccel_ctx *ctx, struct paccel_ended *ended);
void paccel_ctx_work_released(struct paccel_ctx *ctx, struct paccel_ended *ended);

/*
 * Converts the result of registering an mmu notifier. mm_take_all_locks() fails with -EINTR on any
 * pending signal, also on SIGSTOP. The system call is then restarted.
 */
static inline int paccel_restart_on_eintr(int ret)
{
	return ret == -EINTR ? -ERESTARTNOINTR : ret;
}

#endif
