/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An engine: one DMA channel, or two of opposite directions, with queues of jobs and a ring of DMA
 * requests. A job is one operation as queued on an engine; it consists of one or more DMA requests
 * (struct paccel_step). A tag is the ring entry of a request in flight. A request is in flight from
 * its choice until it leaves the ring.
 */
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

/* The jobs of one context on one engine. Under eng->lock. */
struct paccel_queue {
	struct paccel_ctx *ctx;
	struct list_head node;	/* in eng->queues or eng->served while it has jobs */
	struct list_head jobs;
	unsigned int in_flight;	/* DMA requests */
};

enum paccel_tag_state {
	PACCEL_TAG_PICKED,	/* not started; eng->work fills the bounce buffer first, if used */
	PACCEL_TAG_FILLING,	/* eng->work is filling the bounce buffer */
	PACCEL_TAG_BUSY,	/* started; the device has not completed it */
	PACCEL_TAG_DONE,	/* completed, aborted or not started; @status is valid */
	PACCEL_TAG_EMPTYING,	/* eng->work verifies the data and empties the bounce buffer */
	PACCEL_TAG_HUNG,	/* timed out, or completed with a wrong length; awaits the reset */
};

/*
 * Ring entry of a request in flight. Used by eng->work alone in FILLING and EMPTYING, by the device
 * in BUSY and HUNG, else by the holder of eng->lock.
 */
struct paccel_tag {
	enum paccel_tag_state state;
	struct paccel_job *job;
	struct paccel_step step;
	int status;		/* 0 or -errno; -EAGAIN: the request is repeated */
	u32 checksum;		/* as reported by the device */
	bool seen;		/* eng->work has verified or copied the data after completion */
	ktime_t started;	/* before ops->start() */
};

/**
 * enum paccel_engine_state - whether an engine starts requests
 * @PACCEL_ENGINE_RUNNING: requests are started
 * @PACCEL_ENGINE_HUNG: a request has timed out, or completed with a wrong length; no request is
 *	started until recovery
 * @PACCEL_ENGINE_HELD: no request is started between paccel_engine_hold() and
 *	paccel_engine_unhold(); requests in flight may complete
 * @PACCEL_ENGINE_HALTED: as HELD, after ops->halt(): poll() is not called
 *
 * The allowed transitions are in exec/engine.c.
 */
enum paccel_engine_state {
	PACCEL_ENGINE_RUNNING,
	PACCEL_ENGINE_HUNG,
	PACCEL_ENGINE_HELD,
	PACCEL_ENGINE_HALTED,
};

/**
 * struct paccel_engine - an engine
 * @pd: the device
 * @id: number of the engine
 * @lock: protects the members from @state to @usual_ns, and queues and jobs of the engine; taken in
 *	interrupts
 * @state: set by paccel_engine_set_state(); may be read without the lock
 * @tags: ring of info.depth entries; the request with cookie c has index c % depth
 * @head: cookie of the oldest request in flight
 * @tail: cookie of the next request
 * @bytes: total length of all requests in flight
 * @kicked: first cookie that the last ops->kick() did not announce to the device
 * @bouncing: a request in flight uses the bounce buffer
 * @reported: paccel_xfer_done() was called during the current poll()
 * @load: number of jobs that have not ended and are not parked; read without the lock
 * @queues: round-robin list of queues with jobs and without requests in flight
 * @served: queues with jobs and with requests in flight; used only if all jobs and requests of the
 *	engine are of one context
 * @scrub: @scrub_job while it is queued, else NULL; see paccel_sched_next()
 * @ended: jobs of streams that have ended, with the engine's reference, until @report calls
 *	ops->ended()
 * @deadline: time by which the oldest request in flight must have completed; valid if it is below
 *	@kicked
 * @alarm: expiry of @watchdog in jiffies, if @armed
 * @armed: @watchdog is pending
 * @last_end: time of the last completion
 * @usual_ns: moving average of the duration of requests; read without the lock
 * @scrub_job: the job that scrubs device memory, one range at a time
 * @bounce: bounce buffer, coherent, pd->bounce_size bytes; used by one request at a time
 * @bounce_dma: bus address of @bounce
 * @lists: coherent memory, info.list_size bytes for each entry of @tags
 * @lists_dma: bus address of @lists
 * @work: fills and empties the bounce buffer, verifies checksums, starts requests
 * @report: notifies streams of ended jobs
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
	struct list_head ended;
	ktime_t deadline;
	unsigned long alarm;
	bool armed;
	ktime_t last_end;
	u64 usual_ns;
	struct paccel_job *scrub_job;
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

/*
 * Life cycle. _init() is called before ops->probe(), which may cause interrupts; _alloc() allocates
 * rings and buffers for the engines in use. Both return 0 or -ENOMEM. _exit() and _free() undo
 * them; for _free(), the engines are held for good.
 */
int paccel_engines_init(struct paccel_device *pd);
void paccel_engines_exit(struct paccel_device *pd);
int paccel_engines_alloc(struct paccel_device *pd);
void paccel_engines_free(struct paccel_device *pd);
/* Returns an array with a queue for each engine, to be freed with kfree(), or NULL. */
struct paccel_queue *paccel_queues_alloc(struct paccel_ctx *ctx);
/* Returns whether the engine supports all of @ops, BIT() of enum paccel_xfer_op. */
bool paccel_engine_takes(const struct paccel_engine *eng, u32 ops);
/* Returns the engine with the least load that supports @ops. */
struct paccel_engine *paccel_engine_choose(struct paccel_device *pd, u32 ops);
/*
 * Queues @job with a reference, which the engine drops when the job has ended. @leader: the
 * previous job of the stream, submitted to the same engine, or NULL. @job then runs when the leader
 * has ended, or its requests directly follow those of the leader; if the leader fails, @job is
 * cancelled. @more: the caller submits another job or calls paccel_engine_kick(). Returns 0, or
 * -errno: nothing was queued, and the caller keeps the reference. Never sleeps; takes eng->lock.
 */
int paccel_engine_submit(struct paccel_engine *eng, struct paccel_job *job,
			 struct paccel_job *leader, bool more);
/* Announces all started requests to the device. */
void paccel_engine_kick(struct paccel_engine *eng);
/*
 * Ends a submitted job with @error: now if it has no request in flight, else after those. A job
 * that completes meanwhile does not fail. The caller holds a reference. Does not wait.
 */
void paccel_engine_cancel(struct paccel_job *job, int error);
/*
 * For reset, suspend and removal, with pd->reset_lock held. May sleep, for eng->work and
 * ops->halt().
 * _hold(): starts no further requests; does nothing if the engine is held. If @error is not 0, the
 * jobs of requests in flight end with @error, unless those requests complete the jobs.
 * _abort(): ends the requests that the device has not completed, with @error; 0: repeats them where
 * possible. The device can no longer execute them.
 * _withdraw(): ends queued jobs with @error. The state of the device is set before, so that new
 * jobs fail as well.
 * _unhold(): starts requests again.
 */
void paccel_engine_hold(struct paccel_engine *eng, int error);
void paccel_engine_abort(struct paccel_engine *eng, int error);
void paccel_engine_unhold(struct paccel_engine *eng);
void paccel_engines_hold(struct paccel_device *pd, int error);
void paccel_engines_abort(struct paccel_device *pd, int error);
void paccel_engines_withdraw(struct paccel_device *pd, int error);
void paccel_engines_unhold(struct paccel_device *pd);
/* Returns whether the engine needs a reset. Any context. */
bool paccel_engine_hung(struct paccel_engine *eng);
/* paccel_mem_ops.evict(): waits until no request uses the revoked @pages. */
void paccel_engines_evict(struct paccel_device *pd, const struct paccel_pages *pages);

/* scrub.c: allocate and free the scrub jobs of the engines; _alloc() returns 0 or -ENOMEM. */
extern const struct paccel_mem_ops paccel_mem_ops;
int paccel_scrub_alloc(struct paccel_device *pd);
void paccel_scrub_free(struct paccel_device *pd);

#endif
