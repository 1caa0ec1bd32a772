/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by sched.c, engine.c and stop.c: the ring of tags and the queues of an engine. */
#ifndef PACCEL_EXEC_INTERNAL_H
#define PACCEL_EXEC_INTERNAL_H

#include "core/device.h"
#include "core/module.h"
#include "exec/engine.h"

static inline struct paccel_engine *engines_end(struct paccel_device *pd)
{
	return pd->engines + pd->hw.info.engines;
}

static inline void engine_queue_work(struct paccel_engine *eng)
{
	queue_work(paccel_wq, &eng->work);
}

/* Called before eng->lock is released: eng->report will notify streams of ended jobs. */
static inline void engine_report_later(struct paccel_engine *eng)
{
	if (!list_empty(&eng->ended))
		queue_work(paccel_stream_wq, &eng->report);
}

/* --- the ring of tags; eng->lock is held --- */

static inline struct paccel_tag *engine_tag(struct paccel_engine *eng, u64 cookie)
{
	return &eng->tags[cookie & (eng->pd->hw.info.depth - 1)];
}

/* Returns the tag of the newest request in flight, or NULL. */
static inline struct paccel_tag *engine_last_tag(struct paccel_engine *eng)
{
	return eng->head == eng->tail ? NULL : engine_tag(eng, eng->tail - 1);
}

/* Returns whether the job's host memory has been revoked. Its data is not valid then. */
static inline bool job_is_revoked(const struct paccel_job *job)
{
	return job->pages && READ_ONCE(job->pages->revoked);
}

/* sched.c. eng->lock is held. */

/* Puts a queue that has jobs at the end of eng->queues or eng->served. */
void paccel_sched_add_queue(struct paccel_engine *eng, struct paccel_queue *queue);
/* Add a job to its queue and remove a job from its queue. */
void paccel_sched_enqueue(struct paccel_engine *eng, struct paccel_job *job);
/* Adds a parked job to its queue. Does nothing if the job is not parked, or NULL. */
void paccel_sched_unpark(struct paccel_engine *eng, struct paccel_job *job);
/* Returns whether the followers of a job that is over have to be cancelled. */
bool paccel_sched_has_failed(const struct paccel_job *job);
/* Takes a new job: enqueues it, or parks it until its leader, or NULL, has been started. */
void paccel_sched_submit(struct paccel_engine *eng, struct paccel_job *job,
			 struct paccel_job *leader);
void paccel_sched_dequeue(struct paccel_engine *eng, struct paccel_job *job);
/* Returns whether all jobs and requests in flight are of one context, which has both. */
bool paccel_sched_is_alone(struct paccel_engine *eng);
/* Returns the queued job that may start a request next, or NULL. */
struct paccel_job *paccel_sched_next(struct paccel_engine *eng);
/* Ends a queued job with @error, after its requests in flight. */
void paccel_sched_withdraw(struct paccel_engine *eng, struct paccel_job *job, int error);
/* A request of the job has left the ring: ends the job, or queues it for its next request. */
void paccel_sched_settle(struct paccel_engine *eng, struct paccel_job *job);
/* Undoes the accounting of a request that leaves the ring; paccel_sched_settle() follows. */
void paccel_sched_retire(struct paccel_engine *eng, struct paccel_tag *tag);

/* engine.c. eng->lock is held. */

void paccel_engine_set_state(struct paccel_engine *eng, enum paccel_engine_state state);
/* dma_sync_*_for_cpu() of what a request has written, where needed. */
void paccel_tag_sync_for_cpu(struct paccel_engine *eng, struct paccel_tag *tag);
/* Announces all started requests to the device. */
void paccel_engine_kick_now(struct paccel_engine *eng);
/* Calls ops->poll(), unless halted. Returns whether it has reported a completion. */
bool paccel_engine_poll(struct paccel_engine *eng);

#endif
