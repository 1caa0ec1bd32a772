/* SPDX-License-Identifier: GPL-2.0-only */
/* Device memory: its ranges, who pays for them, and the pool that gives them out. */
#ifndef PACCEL_POOL_H
#define PACCEL_POOL_H

#include <linux/genalloc.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/sizes.h>
#include <linux/types.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>

#include "mem/pool_index.h"
#include "core/range.h"

struct paccel_device;
struct paccel_pages;
struct paccel_mem_stats;

#define PACCEL_MEM_BASE		SZ_4G
#define PACCEL_MAX_ALIGN	SZ_2M

enum paccel_buf_state {
	PACCEL_BUF_USED,	/* has an owner */
	PACCEL_BUF_DIRTY,	/* freed, waits for scrubbing */
	PACCEL_BUF_SCRUBBING,	/* the card fills it with zero */
	PACCEL_BUF_FREE,	/* can be allocated */
	PACCEL_BUF_QUARANTINED,	/* could not be scrubbed */
	PACCEL_BUF_STATES,
};

/* A reference of one context to one allocation. MEM_FREE decrements @count and removes it at 0. */
struct paccel_mem_ref {
	struct paccel_range range;
	struct paccel_buf *buf;
	u64 count;
	bool touched;		/* a page of it may be mapped */
};

/**
 * struct paccel_buf - a range of device memory; all of them together tile the device
 * @start: device address
 * @size: bytes, whole granules
 * @state: under pool->lock
 * @length: while used: bytes that were asked for
 * @generation: while used: pool->generation when it was allocated
 * @ref: while used: the contexts and dma-bufs that hold it and the jobs that run on it
 * @user: while used: who pays
 * @pd: while used: the device, a counted reference
 * @first: while used: the map of the context that has allocated it, embedded to save an allocation;
 *	under the context's lock
 * @range: without an owner: in pool->index, unless it is quarantined; its list is in pool->dirty or
 *	pool->quarantined in that state; under pool->lock
 *
 * @start, @size, @length, @generation, @user and @pd do not change while a reference is held.
 */
struct paccel_buf {
	u64 start;
	u64 size;
	enum paccel_buf_state state;
	union {
		struct {
			u64 length;
			u64 generation;
			struct kref ref;
			struct paccel_user *user;
			struct paccel_device *pd;
			struct paccel_mem_ref first;
		};
		struct pool_range range;
	};
};

/* A user of a card, by real uid; under pool->lock. */
struct paccel_user {
	struct list_head node;
	kuid_t uid;
	unsigned int files;
	u64 used;
};

/**
 * struct paccel_pool - the memory of a device
 * @pd: the device
 * @lock: of all below and of every paccel_buf and paccel_user
 * @gen: genalloc pool of the device addresses; exactly the PACCEL_BUF_FREE ranges are free in it
 * @shift: a granule has 1 << @shift bytes
 * @index: the ranges without an owner, except the quarantined
 * @dirty: ranges that wait for scrubbing, the one that was freed first in front
 * @quarantined: ranges that could not be scrubbed
 * @scrubbing: the range that is scrubbed at the moment, or NULL
 * @scrub_ended: the device is done with @scrubbing; set without the lock
 * @scrub_error: how that ended, valid once @scrub_ended
 * @scrub_failures: pieces in a row that failed
 * @scrub_generation: @generation when scrubbing of @scrubbing began
 * @waiting: requests that wait for scrubbing, in the order of arrival; engines read without the
 *	lock whether it is empty
 * @users: all that have a file or memory
 * @bytes: of all ranges in each state
 * @max_user_bytes: quota, or 0
 * @generation: grows when the device loses its memory
 * @scrub_work: starts and ends scrubbing
 */
struct paccel_pool {
	struct paccel_device *pd;
	struct mutex lock;		/* all below, every paccel_buf and _user */
	struct gen_pool *gen;
	unsigned int shift;
	struct pool_index index;
	struct list_head dirty;
	struct list_head quarantined;
	struct paccel_buf *scrubbing;
	bool scrub_ended;
	int scrub_error;
	unsigned int scrub_failures;
	u64 scrub_generation;
	struct list_head waiting;
	struct list_head users;
	u64 bytes[PACCEL_BUF_STATES];
	u64 max_user_bytes;
	u64 generation;
	struct work_struct scrub_work;
};

/**
 * struct paccel_mem_ops - what memory asks of the engines, which are a layer above
 * @scrub: begin to fill a range of device memory with zero. On success, returns 0 and calls
 *	paccel_pool_scrubbed() when the fill has ended; the caller begins no other fill before that.
 *	On an error nothing has been begun. pool->lock is held
 * @evict: wait until no transfer of these pages is in flight. They are revoked, so that none is
 *	started. The reservation lock of their dma-buf is held
 */
struct paccel_mem_ops {
	int (*scrub)(struct paccel_device *pd, u64 addr, u64 size);
	void (*evict)(struct paccel_device *pd, const struct paccel_pages *pages);
};

int paccel_pool_init(struct paccel_device *pd);
void paccel_pool_destroy(struct paccel_device *pd);
struct paccel_user *paccel_user_get(struct paccel_device *pd, kuid_t uid);
void paccel_user_put(struct paccel_device *pd, struct paccel_user *user);
int paccel_pool_alloc(struct paccel_device *pd, struct paccel_user *user, u64 length, u64 align,
		      struct paccel_buf **bufp);
void paccel_buf_put(struct paccel_buf *buf);
void paccel_pool_stats(struct paccel_device *pd, struct paccel_user *user,
		       struct paccel_mem_stats *stats);
void paccel_pool_answer(struct paccel_device *pd);
/*
 * The fill that paccel_mem_ops.scrub() has begun has ended with @error, or 0. Any context, also
 * with pool->lock or the lock of an engine held.
 */
void paccel_pool_scrubbed(struct paccel_device *pd, int error);
/* A reset has lost device memory: new generation; free ranges become dirty, if scrub is set. */
void paccel_pool_mark_dirty(struct paccel_device *pd);
/* After a reset: quarantined ranges are scrubbed again. */
void paccel_pool_rescrub(struct paccel_device *pd);

#endif
