/* SPDX-License-Identifier: GPL-2.0-only */
/* An engine: one DMA channel, with its ring of transfers and its queues of jobs. */
#ifndef PACCEL_ENGINE_H
#define PACCEL_ENGINE_H

#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "core/device.h"
#include "exec/job.h"

struct paccel_ctx;
struct paccel_mem_ops;
struct paccel_pages;

/* The jobs of one context on one engine; under eng->lock. */
struct paccel_queue {
	struct paccel_ctx *ctx;
	struct list_head node;	/* in eng->queues or eng->served while it has jobs */
	struct list_head jobs;
	unsigned int in_flight;	/* transfers */
};

enum paccel_tag_state {
	PACCEL_TAG_PICKED,	/* not started; eng->work fills the bounce buffer first, if used */
	PACCEL_TAG_FILLING,	/* eng->work is filling the bounce buffer */
	PACCEL_TAG_BUSY,	/* started; the device has not completed it */
	PACCEL_TAG_DONE,	/* completed or aborted; @status is valid */
	PACCEL_TAG_EMPTYING,	/* eng->work verifies the data and empties the bounce buffer */
	PACCEL_TAG_HUNG,	/* timed out, or completed with a wrong length; awaits the reset */
};

/* In-flight descriptor. @state says whether eng->work, the device or eng->lock's holder uses it. */
struct paccel_tag {
	enum paccel_tag_state state;
	struct paccel_job *job;
	struct paccel_step step;
	int status;
	u32 checksum;		/* as computed by the device */
	bool seen;		/* eng->work has verified or copied the data after completion */
	ktime_t started;	/* before ops->start() */
};

/**
 * enum paccel_engine_state - whether an engine starts requests
 * @PACCEL_ENGINE_RUNNING: it does
 * @PACCEL_ENGINE_HUNG: one timed out, or completed with a wrong length: none until recovery
 * @PACCEL_ENGINE_HELD: none between paccel_engine_hold() and paccel_engine_unhold(); those in
 *	flight may complete
 * @PACCEL_ENGINE_HALTED: the same, after ops->halt(): poll() is not called any more
 *
 * Which state may follow which is in exec/engine.c.
 */
enum paccel_engine_state {
	PACCEL_ENGINE_RUNNING,
	PACCEL_ENGINE_HUNG,
	PACCEL_ENGINE_HELD,
	PACCEL_ENGINE_HALTED,
};

/**
 * struct paccel_engine - one DMA channel
 * @pd: the card
 * @id: its number
 * @lock: all below down to @usual_ns, and its queues and jobs; taken in interrupts
 * @state: changed by paccel_engine_set_state(); may be read without the lock
 * @tags: ring of info.depth in-flight descriptors; the request with cookie c has index c % depth
 * @head: cookie of the oldest request in flight
 * @tail: cookie of the next request
 * @bytes: total length of all requests in flight
 * @kicked: cookie behind the newest request that the last kick() announced
 * @bouncing: a request in flight uses the bounce buffer
 * @reported: poll() has reported a completion
 * @load: number of jobs; read without the lock
 * @queues: round-robin list of queues with jobs and without requests in flight
 * @served: queues with jobs and with requests in flight; used only if one context is alone
 * @scrub: the scrub job while it waits, else NULL; see paccel_sched_next()
 * @issued: jobs of streams whose last request has been started, each with a reference, until
 *	@report tells the streams
 * @ended: jobs of streams that have ended, with the engine's reference, likewise
 * @deadline: time by which the oldest request in flight must have completed, once it is announced
 * @alarm: expiry of @watchdog in jiffies, if @armed
 * @armed: @watchdog is pending
 * @last_end: time of the last completion
 * @usual_ns: moving average of how long requests take; read without the lock
 * @bounce: bounce buffer, coherent, pd->bounce_size bytes; used by one request at a time
 * @bounce_dma: bus address of @bounce
 * @lists: coherent, info.list_size bytes for each entry of @tags
 * @lists_dma: bus address of @lists
 * @work: fills and empties the bounce buffer, verifies checksums, starts requests
 * @report: tells streams which jobs have been started or have ended
 * @watchdog: checks @deadline
 */
struct paccel_engine {
	struct paccel_device *pd;
	unsigned int id;
	spinlock_t lock;		/* see above */
	enum paccel_engine_state state;
	struct paccel_tag *tags;
	u64 head;
	u64 tail;
	u64 bytes;
	u64 kicked;
	bool bouncing;
	bool reported;
	unsigned int load;
	struct list_head queues;
	struct list_head served;
	struct paccel_job *scrub;
	struct list_head issued;
	struct list_head ended;
	ktime_t deadline;
	unsigned long alarm;
	bool armed;
	ktime_t last_end;
	u64 usual_ns;
	void *bounce;
	dma_addr_t bounce_dma;
	void *lists;
	dma_addr_t lists_dma;
	struct work_struct work;
	struct work_struct report;
	struct delayed_work watchdog;
};

static inline struct paccel_engine *paccel_engine_of(struct paccel_hw *hw, unsigned int engine)
{
	return &paccel_of_hw(hw)->engines[engine];
}

int paccel_engines_init(struct paccel_device *pd);
void paccel_engines_exit(struct paccel_device *pd);
int paccel_engines_alloc(struct paccel_device *pd);
void paccel_engines_free(struct paccel_device *pd);
struct paccel_queue *paccel_queues_alloc(struct paccel_ctx *ctx);
bool paccel_engine_takes(const struct paccel_engine *eng, u32 ops);
struct paccel_engine *paccel_engine_choose(struct paccel_device *pd, u32 ops);
int paccel_engine_submit(struct paccel_engine *eng, struct paccel_job *job,
			 struct paccel_job *leader, bool more);
void paccel_engine_kick(struct paccel_engine *eng);
void paccel_engine_cancel(struct paccel_job *job, int error);
/*
 * For reset, suspend and removal, with pd->reset_lock held. _hold(): start no further requests;
 * does nothing if the engine is held. If @error is not 0, the jobs of requests in flight end with
 * it, unless those requests complete them. _abort(): end the requests that the device has not
 * completed, with @error; 0: repeat them where possible. _withdraw(): fail queued jobs with @error;
 * new ones fail with paccel_state_error(), so the device's state is set before. _unhold(): start
 * requests again. paccel_engine_hung() and paccel_engines_evict() do not need pd->reset_lock.
 */
void paccel_engine_hold(struct paccel_engine *eng, int error);
void paccel_engine_abort(struct paccel_engine *eng, int error);
void paccel_engine_unhold(struct paccel_engine *eng);
bool paccel_engine_hung(struct paccel_engine *eng);
void paccel_engines_hold(struct paccel_device *pd, int error);
void paccel_engines_abort(struct paccel_device *pd, int error);
void paccel_engines_withdraw(struct paccel_device *pd, int error);
void paccel_engines_unhold(struct paccel_device *pd);
void paccel_engines_evict(struct paccel_device *pd, const struct paccel_pages *pages);

/* scrub.c */
extern const struct paccel_mem_ops paccel_mem_ops;
int paccel_scrub_alloc(struct paccel_device *pd);
void paccel_scrub_free(struct paccel_device *pd);

#endif
