/* SPDX-License-Identifier: GPL-2.0-only */
/* What sched.c, engine.c and stop.c share: an engine's ring of tags, and its queues. */
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

/* Before eng->lock is released: eng->report tells streams what has become of their jobs. */
static inline void engine_report_later(struct paccel_engine *eng)
{
	if (!list_empty(&eng->issued) || !list_empty(&eng->ended))
		queue_work(paccel_stream_wq, &eng->report);
}

/* --- the ring of tags; eng->lock is held --- */

static inline struct paccel_tag *engine_tag(struct paccel_engine *eng, u64 cookie)
{
	return &eng->tags[cookie & (eng->pd->hw.info.depth - 1)];
}

/* The one that was chosen last, if any is in flight. */
static inline struct paccel_tag *engine_last_tag(struct paccel_engine *eng)
{
	return eng->head == eng->tail ? NULL : engine_tag(eng, eng->tail - 1);
}

/* Returns whether the job's host memory has been revoked. Its data is not valid then. */
static inline bool job_is_revoked(const struct paccel_job *job)
{
	return job->pages && READ_ONCE(job->pages->revoked);
}

/* sched.c: eng->lock is held, but not for paccel_sched_report(). */
void paccel_sched_report(struct list_head *issued, struct list_head *ended);
void paccel_sched_add_queue(struct paccel_engine *eng, struct paccel_queue *queue);
void paccel_sched_enqueue(struct paccel_engine *eng, struct paccel_job *job);
void paccel_sched_dequeue(struct paccel_engine *eng, struct paccel_job *job);
bool paccel_sched_is_alone(struct paccel_engine *eng);
struct paccel_job *paccel_sched_next(struct paccel_engine *eng);
void paccel_sched_withdraw(struct paccel_engine *eng, struct paccel_job *job, int error);
void paccel_sched_settle(struct paccel_engine *eng, struct paccel_job *job);
void paccel_sched_retire(struct paccel_engine *eng, struct paccel_tag *tag);

/* engine.c: eng->lock is held. */
void paccel_engine_set_state(struct paccel_engine *eng, enum paccel_engine_state state);
void paccel_tag_sync_for_cpu(struct paccel_engine *eng, struct paccel_tag *tag);
void paccel_engine_kick_now(struct paccel_engine *eng);
bool paccel_engine_poll(struct paccel_engine *eng);

#endif
