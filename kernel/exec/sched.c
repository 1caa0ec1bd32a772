// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whose turn it is on an engine, and the end of jobs.
 *
 * Jobs wait in a queue per context; between transfers the engine goes round the contexts, and
 * round the jobs of each, so that a small copy waits for one transfer of each busy context at
 * most, and for what the card has been given already. A context that is alone has several in
 * flight, of four transfers' bytes at most, so that the card never waits for us; if there are
 * several contexts each has one.
 *
 * A job of a stream may be given to the engine while its leader, the one before it, is in flight.
 * It gets a turn only directly behind that, linked by the card, or when the leader has ended.
 */
#include "exec/internal.h"
#include "exec/trace.h"
#include "mem/pool.h"

/* The first one, and those of the same stream behind it: its lock is taken once for all of them. */
static void sched_report_stream(struct list_head *ended)
{
	struct paccel_job *first = list_first_entry(ended, struct paccel_job, node), *job, *next;
	LIST_HEAD(jobs);

	list_for_each_entry_safe(job, next, ended, node) {
		if (job->ctx != first->ctx || job->stream_id != first->stream_id)
			break;
		list_move_tail(&job->node, &jobs);
	}
	first->ops->ended(&jobs);
}

/* Tells the streams of jobs that were in eng->issued and eng->ended. In a worker, without locks. */
void paccel_sched_report(struct list_head *issued, struct list_head *ended)
{
	struct paccel_job *job, *next;

	list_for_each_entry_safe(job, next, issued, issued_node) {
		list_del_init(&job->issued_node);
		job->ops->issued(job);
		paccel_job_put(job);
		cond_resched();
	}
	while (!list_empty(ended)) {
		sched_report_stream(ended);
		cond_resched();
	}
}

/* --- queues; eng->lock is held --- */

/*
 * A context that has work is behind all others that have; or, while the card has something of it,
 * among those that get a turn only if there is no other.
 */
void paccel_sched_add_queue(struct paccel_engine *eng, struct paccel_queue *queue)
{
	if (!list_empty(&queue->jobs) && list_empty(&queue->node))
		list_add_tail(&queue->node, queue->in_flight ? &eng->served : &eng->queues);
}

void paccel_sched_enqueue(struct paccel_engine *eng, struct paccel_job *job)
{
	job->waits = true;
	if (job->op == PACCEL_JOB_SCRUB) {
		eng->scrub = job;
		return;
	}
	list_add_tail(&job->node, &job->queue->jobs);
	paccel_sched_add_queue(eng, job->queue);
}

void paccel_sched_dequeue(struct paccel_engine *eng, struct paccel_job *job)
{
	job->waits = false;
	if (job->op == PACCEL_JOB_SCRUB) {
		eng->scrub = NULL;
		return;
	}
	list_del_init(&job->node);
	if (list_empty(&job->queue->jobs))
		list_del_init(&job->queue->node);
}

/* A leader has to be directly before it in the card, or out of it. */
static bool job_is_behind_leader(struct paccel_engine *eng, struct paccel_job *job)
{
	struct paccel_tag *last = engine_last_tag(eng);

	return last && last->job == job->leader && !job->leader->waits;
}

static struct paccel_job *sched_first_job(struct paccel_engine *eng, struct list_head *queues)
{
	struct paccel_queue *queue;
	struct paccel_job *job;

	list_for_each_entry(queue, queues, node)
		list_for_each_entry(job, &queue->jobs, node)
			if (!job->leader || job_is_behind_leader(eng, job))
				return job;
	return NULL;
}

/* Is there one context only that has anything waiting or in flight? It is in @served then. */
bool paccel_sched_is_alone(struct paccel_engine *eng)
{
	return list_empty(&eng->queues) && list_is_singular(&eng->served) &&
	       list_first_entry(&eng->served, struct paccel_queue, node)->in_flight ==
	       eng->tail - eng->head;
}

/*
 * Scrubbing waits for an idle engine, unless an allocation waits for it. Then a piece goes ahead of
 * copies; the next piece is submitted when it has ended, and meanwhile copies are started.
 */
struct paccel_job *paccel_sched_next(struct paccel_engine *eng)
{
	struct paccel_job *job;

	if (eng->scrub && !list_empty(&eng->pd->pool->waiting))
		return eng->scrub;
	job = sched_first_job(eng, &eng->queues);
	if (!job && paccel_sched_is_alone(eng))
		job = sched_first_job(eng, &eng->served);
	return job ?: eng->scrub;
}

/* --- the end of jobs; eng->lock is held --- */

/*
 * Nothing of it is in flight or waits. Its stream gets it later, from eng->report. If it is in none,
 * its waiters are woken now, and it may be freed then.
 */
static void sched_end_job(struct paccel_engine *eng, struct paccel_job *job)
{
	struct paccel_job *follower = job->follower;

	/* All done is done, whatever wanted to stop it meanwhile. */
	if (job->complete)
		job->error = job_is_revoked(job) ? -EFAULT : 0;
	else if (!job->error)
		job->error = job->stop;
	job->over = true;
	job->end_ns = ktime_get_ns();
	trace_paccel_complete(job);
	WRITE_ONCE(eng->load, eng->load - 1);
	if (job->leader)
		job->leader->follower = NULL;
	job->leader = NULL;
	job->follower = NULL;
	if (!job->ops) {
		complete_all(&job->done);
		if (job->end)
			job->end(job);
		paccel_job_put(job);
		return;
	}
	list_add_tail(&job->node, &eng->ended);
	if (!follower)
		return;
	follower->leader = NULL;
	/* It may need what is missing now. */
	if (job->error)
		paccel_sched_withdraw(eng, follower, -ECANCELED);
}

/* A job gets no turn any more; what is in flight of it is the last. */
void paccel_sched_withdraw(struct paccel_engine *eng, struct paccel_job *job, int error)
{
	if (job->waits)
		paccel_sched_dequeue(eng, job);
	if (!job->stop)
		job->stop = error;
	if (!job->in_flight)
		sched_end_job(eng, job);
}

/* A transfer of the job has left the ring: the job ends, or goes on. */
void paccel_sched_settle(struct paccel_engine *eng, struct paccel_job *job)
{
	bool over = job->complete || job->error || job->stop;

	if (over && job->waits)
		paccel_sched_dequeue(eng, job);
	/* Whoever came meanwhile is first. */
	if (job->waits && job->queue)
		list_move_tail(&job->node, &job->queue->jobs);
	if (job->in_flight)
		return;
	job->rewound = false;
	if (over)
		sched_end_job(eng, job);
	else if (!job->waits)
		paccel_sched_enqueue(eng, job);
}

/* The transfer is not in flight any more. */
void paccel_sched_retire(struct paccel_engine *eng, struct paccel_tag *tag)
{
	struct paccel_queue *queue = tag->job->queue;

	eng->bytes -= tag->step.x.len;
	if (tag->step.bounce)
		eng->bouncing = false;
	tag->job->in_flight--;
	if (job_is_revoked(tag->job))
		wake_up(&eng->pd->evicted);
	if (!queue || --queue->in_flight)
		return;
	/*
	 * Not when the turn began: whoever came meanwhile is first, and the next job of a stream is
	 * there as late as that of another process.
	 */
	list_del_init(&queue->node);
	paccel_sched_add_queue(eng, queue);
}
