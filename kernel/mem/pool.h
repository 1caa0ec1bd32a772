/* SPDX-License-Identifier: GPL-2.0-only */
/* Device memory: allocation, quota and scrubbing. */
#ifndef PACCEL_POOL_H
#define PACCEL_POOL_H

#include <linux/genalloc.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/sizes.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>

#include "mem/pool_index.h"
#include "core/range.h"

struct paccel_device;
struct paccel_pages;
struct paccel_mem_stats;

#define PACCEL_MEM_BASE		SZ_4G	/* lowest device address */
#define PACCEL_MAX_ALIGN	SZ_2M	/* of MEM_ALLOC */

enum paccel_buf_state {
	PACCEL_BUF_USED,	/* allocated */
	PACCEL_BUF_DIRTY,	/* freed, not yet zeroed */
	PACCEL_BUF_SCRUBBING,	/* being filled with 0, or behind one that is; DIRTY in the uAPI */
	PACCEL_BUF_FREE,	/* can be allocated */
	PACCEL_BUF_QUARANTINED,	/* scrubbing failed; "quarantined" in the uAPI */
	PACCEL_BUF_STATES,
};

/*
 * A reference of one context to one allocation, in ctx->maps. MEM_ALLOC and each MEM_IMPORT add 1
 * to @count, MEM_FREE subtracts 1 and removes the reference at 0. Under ctx->lock.
 */
struct paccel_mem_ref {
	struct paccel_range range;
	struct paccel_buf *buf;
	u64 count;
	bool touched;		/* user mappings may have a page of it */
};

/**
 * struct paccel_buf - a range of device memory; each byte of device memory is in exactly one
 * @start: device address
 * @size: bytes, a multiple of the granule
 * @state: state of the range; under pool->lock
 * @failures: number of fills that failed since a RESET or a success; under pool->lock
 * @scrub_ended: SCRUBBING: the fill has ended; set without the lock
 * @clean: SCRUBBING: the fill has succeeded; under pool->lock
 * @scrub_error: its error, valid once @scrub_ended
 * @generation: USED: pool->generation when the range was allocated; SCRUBBING: when the fill began
 * @length: USED: bytes that were requested
 * @ref: USED: held by the contexts and dma-bufs that have the allocation and by the jobs that use
 *	it
 * @user: USED: the user that is charged
 * @pd: USED: the device, a counted reference
 * @first: USED: reference of the context that made the allocation, embedded to save an allocation;
 *	under ctx->lock
 * @range: not USED: in pool->index, unless QUARANTINED; its list is in pool->dirty,
 *	pool->scrubbing or pool->quarantined in those states; under pool->lock
 *
 * @start, @size, @length, @generation, @user and @pd do not change while a reference is held.
 */
struct paccel_buf {
	u64 start;
	u64 size;
	enum paccel_buf_state state;
	u8 failures : 7;
	u8 clean : 1;
	bool scrub_ended;
	s16 scrub_error;
	u64 generation;
	union {
		struct {
			u64 length;
			struct kref ref;
			struct paccel_user *user;
			struct paccel_device *pd;
			struct paccel_mem_ref first;
		};
		struct pool_range range;
	};
};

/* A user of a device, by real user ID; under pool->lock. Exists while it has files or memory. */
struct paccel_user {
	struct list_head node;
	kuid_t uid;
	unsigned int files;	/* open contexts */
	u64 used;		/* bytes charged */
};

/**
 * struct paccel_pool - device memory
 * @pd: the device
 * @lock: protects the members below and every paccel_buf and paccel_user
 * @gen: genalloc pool of the device addresses; exactly the FREE ranges are free in it
 * @shift: log2 of the granule in bytes
 * @index: the ranges that are not USED or QUARANTINED
 * @dirty: DIRTY ranges; the first is the next to be scrubbed
 * @quarantined: QUARANTINED ranges
 * @scrubbing: SCRUBBING ranges in the order in which they were started; the first is not @clean
 * @scrub_hangs: number of consecutive fills that timed out, since a RESET
 * @waiting: allocations that wait for scrubbing, in order of arrival; engines read without the lock
 *	whether it is empty
 * @kept_first: first granule of the place that is kept for the first of @waiting
 * @kept_end: granule behind it; 0: no request waits
 * @users: list of paccel_user
 * @bytes: bytes of all ranges in each state
 * @max_user_bytes: quota of each user, 0: none
 * @generation: incremented when the device loses its memory
 * @scrub_work: work item that starts and ends fills
 */
struct paccel_pool {
	struct paccel_device *pd;
	struct mutex lock;		/* see above */
	struct gen_pool *gen;
	unsigned int shift;
	struct pool_index index;
	struct list_head dirty;
	struct list_head quarantined;
	struct list_head scrubbing;
	unsigned int scrub_hangs;
	struct list_head waiting;
	u32 kept_first;
	u32 kept_end;
	struct list_head users;
	u64 bytes[PACCEL_BUF_STATES];
	u64 max_user_bytes;
	u64 generation;
	struct work_struct scrub_work;
};

/**
 * struct paccel_mem_ops - functions of exec/ that mem/ calls
 * @scrub: start to fill a range of device memory with 0. Returns 0, and calls
 *	paccel_pool_scrubbed() when the fill has ended. @idle: only on an engine that has no jobs;
 *	without it, no other fill is in progress. Or returns -errno and has started nothing. Called
 *	with pool->lock held; does not sleep
 * @evict: wait until no DMA request uses these pages, which are revoked, so that no request is
 *	started. Called with the reservation lock of their dma-buf held
 */
struct paccel_mem_ops {
	int (*scrub)(struct paccel_device *pd, struct paccel_buf *buf, bool idle);
	void (*evict)(struct paccel_device *pd, const struct paccel_pages *pages);
};

/* Set up and free pd->pool. _init() returns 0 or -errno; after that, _destroy() is needed, too. */
int paccel_pool_init(struct paccel_device *pd);
void paccel_pool_destroy(struct paccel_device *pd);
/* Finds or creates the user of a new context, or returns NULL. _put(): the context is closed. */
struct paccel_user *paccel_user_get(struct paccel_device *pd, kuid_t uid);
void paccel_user_put(struct paccel_device *pd, struct paccel_user *user);
/*
 * MEM_ALLOC: returns 0 with a buf with one reference in @bufp, or an error of MEM_ALLOC. @align: a
 * power of two up to PACCEL_MAX_ALIGN, or 0. Sleeps, killable, for scrubbing; no lock is held. Of
 * the requests that sleep, the first has a place, free or dirty, that no other request gets; those
 * that come later than the second wait for it.
 */
int paccel_pool_alloc(struct paccel_device *pd, struct paccel_user *user, u64 length, u64 align,
		      struct paccel_buf **bufp);
/* Drops a reference; the last makes the range dirty. May sleep, but never waits for the device. */
void paccel_buf_put(struct paccel_buf *buf);
/* Drops a reference unless it is the last one; returns whether it did. Any context. */
static inline bool paccel_buf_put_not_last(struct paccel_buf *buf)
{
	return refcount_dec_not_one(&buf->ref.refcount);
}

/* Fills in @stats->total to @stats->largest_free, except @mine and @mine_allocs. */
void paccel_pool_stats(struct paccel_device *pd, struct paccel_user *user,
		       struct paccel_mem_stats *stats);
/* Returns the number of allocations that wait for scrubbing. */
unsigned int paccel_pool_waiting(struct paccel_device *pd);
/* The device is being removed or out of service: allocations that wait for scrubbing fail. */
void paccel_pool_answer(struct paccel_device *pd);
/*
 * The fill that paccel_mem_ops.scrub() has started has ended with @error, or 0. Any context, also
 * with pool->lock or the lock of an engine held.
 */
void paccel_pool_scrubbed(struct paccel_device *pd, struct paccel_buf *buf, int error);
/*
 * A reset has lost device memory: increments pool->generation; free ranges become dirty if the
 * module parameter scrub is set. All fills have ended and scrub_work was flushed, so that no range
 * is SCRUBBING. May sleep.
 */
void paccel_pool_mark_dirty(struct paccel_device *pd);
/*
 * RESET and resume, before PACCEL_RUNNING: quarantined ranges become dirty, and scrubbing starts
 * anew. May sleep.
 */
void paccel_pool_rescrub(struct paccel_device *pd);

#endif
