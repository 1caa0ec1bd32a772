/* SPDX-License-Identifier: GPL-2.0-only */
/* An engine: one DMA channel, with its ring of transfers and its queues of jobs. */
#ifndef PACCEL_ENGINE_H
#define PACCEL_ENGINE_H

#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "exec/job.h"

struct paccel_ctx;
struct paccel_device;
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
	PACCEL_TAG_PICKED,	/* the worker has to fill the bounce buffer first */
	PACCEL_TAG_FILLING,	/* it does */
	PACCEL_TAG_BUSY,	/* the card has it */
	PACCEL_TAG_DONE,	/* the card has ended it: status */
	PACCEL_TAG_EMPTYING,	/* the worker looks at, and takes, what the card has written */
	PACCEL_TAG_HUNG,	/* the card is not to be trusted with it any more */
};

/* A transfer in flight. The party that @state names has it. */
struct paccel_tag {
	enum paccel_tag_state state;
	struct paccel_job *job;
	struct paccel_step step;
	int status;
	u32 checksum;		/* what the card says */
	bool seen;		/* the worker has had it after the card */
	ktime_t started;	/* when the card was asked */
};

/**
 * struct paccel_engine - one DMA channel
 * @pd: the card
 * @id: its number
 * @lock: all below down to @last_end, and its queues and jobs; taken in interrupts
 * @tags: info.depth of them: the transfer with cookie c has the place c modulo that
 * @head: cookie of the oldest transfer in flight
 * @tail: cookie of the next one
 * @bytes: in flight
 * @unkicked: transfers started since the last doorbell
 * @bouncing: one of those in flight needs the bounce buffer
 * @hung: waits for the recovery: nothing is started
 * @reported: poll() has reported a completion
 * @poll_off: poll() is not called: the engine is being reset
 * @hold: > 0: start nothing
 * @refuse: 0, or the error of every new job
 * @load: jobs; read without the lock
 * @queues: contexts that have work, in turn
 * @served: those that have something in flight as well, and a turn only if there is no other
 * @scrub: waits for the engine to be idle
 * @deadline: of the oldest transfer in flight
 * @alarm: when @watchdog comes, in jiffies
 * @armed: and that it does
 * @last_end: when the card ended something
 * @bounce: coherent, pd->bounce_size bytes; of the transfer in flight that needs it
 * @bounce_dma: where the card finds it
 * @lists: coherent, info.list_size bytes for each tag
 * @lists_dma: where the card finds them
 * @work: moves bytes, goes on
 * @watchdog: looks after @deadline
 */
struct paccel_engine {
	struct paccel_device *pd;
	unsigned int id;
	spinlock_t lock;		/* see above */
	struct paccel_tag *tags;
	u64 head;
	u64 tail;
	u64 bytes;
	unsigned int unkicked;
	bool bouncing;
	bool hung;
	bool reported;
	bool poll_off;
	unsigned int hold;
	int refuse;
	unsigned int load;
	struct list_head queues;
	struct list_head served;
	struct paccel_job *scrub;
	ktime_t deadline;
	unsigned long alarm;
	bool armed;
	ktime_t last_end;
	void *bounce;
	dma_addr_t bounce_dma;
	void *lists;
	dma_addr_t lists_dma;
	struct work_struct work;
	struct delayed_work watchdog;
};

int paccel_engines_init(struct paccel_device *pd);
void paccel_engines_exit(struct paccel_device *pd);
int paccel_engines_alloc(struct paccel_device *pd);
void paccel_engines_free(struct paccel_device *pd);
struct paccel_queue *paccel_queues_alloc(struct paccel_ctx *ctx);
struct paccel_engine *paccel_engine_choose(struct paccel_device *pd);
int paccel_engine_submit(struct paccel_engine *eng, struct paccel_job *job,
			 struct paccel_job *leader, bool more);
void paccel_engine_kick(struct paccel_engine *eng);
void paccel_engine_cancel(struct paccel_job *job, int error);
/* The steps of stopping an engine, or a card; pd->reset_lock is held. */
void paccel_engine_hold(struct paccel_engine *eng, int error);
void paccel_engine_abort(struct paccel_engine *eng, int error);
void paccel_engine_unhold(struct paccel_engine *eng);
bool paccel_engine_hung(struct paccel_engine *eng);
void paccel_engines_hold(struct paccel_device *pd, int error);
void paccel_engines_abort(struct paccel_device *pd, int error);
void paccel_engines_refuse(struct paccel_device *pd, int error);
void paccel_engines_unhold(struct paccel_device *pd);
void paccel_engines_evict(struct paccel_device *pd, const struct paccel_pages *pages);

/* scrub.c */
extern const struct paccel_mem_ops paccel_mem_ops;
int paccel_scrub_alloc(struct paccel_device *pd);
void paccel_scrub_free(struct paccel_device *pd);

#endif
