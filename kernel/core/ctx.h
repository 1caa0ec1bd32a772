/* SPDX-License-Identifier: GPL-2.0-only */
/* A context: one open file, and the process that opened it. */
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

#include "core/device.h"

struct paccel_queue;
struct paccel_stream;
struct paccel_user;

#define PACCEL_MAX_STREAMS	(PACCEL_PAGE_SLOTS - 1)
/*
 * mmap() offsets in pages: 0 is unused, 1 is the completion page, and HOST_ALLOC memory has offsets
 * from 2 on. Device memory begins at the byte offset PACCEL_MMAP_DEVICE. ("Cookie" of a DMA request
 * is something else: its number on the engine.)
 */
#define PACCEL_PAGE_COOKIE	1

/*
 * Part of a job in a stream: its place in ctx->releasing, from the end of the job until the job has
 * released its memory. Under ctx->work_lock.
 */
struct paccel_ended {
	struct list_head node;	/* in ctx->releasing */
	u64 nr;			/* the job was number @nr of the context to end */
};

/* Use of the device by one context, for fdinfo. */
struct paccel_usage {
	atomic64_t bytes[PACCEL_JOB_FILL + 1];	/* copied or filled, by operation */
	atomic64_t engine_ns;			/* time of DMA requests, all engines together */
};

/**
 * struct paccel_ctx - one open file, and the process that opened it
 * @ref: held by the file, by its streams and by its jobs
 * @id: number of the context, for traces and fdinfo
 * @pd: the device, a counted reference
 * @stop: paccel_streams_end(); a pointer, since the callers are in layers below stream/
 * @mm: address space of the opener; an mmgrab() reference, so its mappings may be gone
 * @user: the user that is charged for device memory
 * @node: in pd->ctxs
 * @lock: protects @maps, @hosts, @cookies, their counts and objects, and @next_cookie
 * @maps: device memory of the context, struct paccel_mem_ref by device address
 * @hosts: host ranges by user address
 * @cookies: HOST_ALLOC memory by mmap() offset in pages
 * @next_cookie: mmap() offset in pages of the next HOST_ALLOC memory; never decreases
 * @nr_maps: number of allocations in @maps
 * @nr_hosts: number of host ranges, including those not yet in the trees
 * @bytes: device memory of @maps, in whole granules
 * @host_bytes: bytes of the host ranges in @hosts and @cookies
 * @lost: a reset has lost its device memory: all ioctls but DEVICE_INFO and MEM_STATS fail; set
 *	once, read without a lock
 * @notifier: queues @end when the process of @mm exits
 * @end: work item that ends the context
 * @queues: array of queues of jobs, one for each engine
 * @usage: counters
 * @unreferenced: jobs whose last reference has been dropped; @release frees them
 * @release: work item that releases and frees the jobs in @unreferenced
 * @wait: wait queue of WAIT, of SUBMIT that waits for room, and of poll()
 * @settled: wait queue of paccel_ctx_wait_released(). It is not @wait, since edge-triggered epoll
 *	reports an event for each wake-up of @wait
 * @work_lock: protects the members below, and the streams of the context with their jobs
 * @streams: stream of number i + 1, or NULL
 * @page: the completion page; NULL before the first stream
 * @page_state: value for @page->state, kept here while @page is NULL
 * @queued: number of jobs queued in all streams
 * @nr_ended: number of jobs of its streams that have ended so far
 * @releasing: ended jobs that have not yet released their memory, struct paccel_ended, oldest first
 * @ended: 0, or the error that SUBMIT fails with since paccel_streams_end()
 * @completions: number of points that have ended so far
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
	struct mutex lock;		/* see above */
	struct rb_root maps;
	struct rb_root hosts;
	struct rb_root cookies;
	u64 next_cookie;
	u64 nr_maps;
	u32 nr_hosts;
	u64 bytes;
	u64 host_bytes;
	bool lost;
	struct mmu_notifier notifier;
	struct work_struct end;
	struct paccel_queue *queues;
	struct paccel_usage usage;
	struct llist_head unreferenced;
	struct work_struct release;
	wait_queue_head_t wait;
	wait_queue_head_t settled;
	spinlock_t work_lock;	/* see above */
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

/* Takes a reference and returns @ctx. Any context. */
struct paccel_ctx *paccel_ctx_get(struct paccel_ctx *ctx);
/* Drops a reference. May sleep. */
void paccel_ctx_put(struct paccel_ctx *ctx);
/*
 * A job in a stream keeps its host memory after its end, and device memory that was freed before,
 * until a work item releases them. paccel_ctx_releasing() returns 0 if no ended job of the context
 * does so, else a mark. A function that allocates takes the mark first. If the allocation then
 * fails and the mark is not 0, it calls paccel_ctx_wait_released(), which sleeps until all jobs
 * that had ended at the mark have released their memory, and tries once more. Returns 0, or -EINTR
 * after a fatal signal; none of the driver's locks is held.
 */
u64 paccel_ctx_releasing(struct paccel_ctx *ctx);
int paccel_ctx_wait_released(struct paccel_ctx *ctx, u64 mark);
/* A job has ended and will release its memory. ctx->work_lock is held. */
void paccel_ctx_work_ended(struct paccel_ctx *ctx, struct paccel_ended *ended);
/* A job has released its memory, or is dropped before its end. Takes ctx->work_lock. */
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
