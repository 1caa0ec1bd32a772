// SPDX-License-Identifier: GPL-2.0-only
/*
 * Round-robin scheduler of an engine, and the end of jobs.
 *
 * Jobs wait in a queue per context. After each request the engine takes the next context, and of a
 * context the next job. So a small copy waits for at most one request of each other context, and
 * for the requests that have already been started. A context that is alone on an engine has several
 * requests in flight, of at most four times max_xfer, so that the device does not become idle. If
 * there are several contexts, each has one request in flight.
 *
 * A job of a stream may be submitted before its leader, the job before it in the stream, has ended.
 * It is parked, in no queue, until the leader has ended; with PACCEL_HW_LINK, until all requests of
 * the leader are in the ring: the device then links the two jobs, if it can.
 */
#include "exec/internal.h"
#include "exec/trace.h"
#include "mem/pool.h"

/* --- queues; eng->lock is held --- */

/*
 * Appends a queue that has jobs to eng->queues; or to eng->served while it has requests in flight,
 * where it is served only if no other queue has jobs.
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

/* Enqueues a job for the first time. */
static void sched_begin(struct paccel_engine *eng, struct paccel_job *job)
{
	job->counted = true;
	WRITE_ONCE(eng->load, eng->load + 1);
	paccel_sched_enqueue(eng, job);
}

/* A parked job is enqueued for the first time. */
void paccel_sched_unpark(struct paccel_engine *eng, struct paccel_job *job)
{
	if (job && !job->counted)
		sched_begin(eng, job);
}

void paccel_sched_submit(struct paccel_engine *eng, struct paccel_job *job,
			 struct paccel_job *leader)
{
	if (!leader || leader->over) {
		sched_begin(eng, job);
		return;
	}
	job->leader = leader;
	leader->follower = job;
	/* A leader with requests in flight that does not wait has started its last one. */
	if (eng->pd->hw.info.flags & PACCEL_HW_LINK && leader->in_flight && !leader->waits)
		sched_begin(eng, job);
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

/* Returns whether the newest request is the leader's last one. */
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

/*
 * Returns whether a single context has jobs waiting or requests in flight. It is in @served then.
 */
bool paccel_sched_is_alone(struct paccel_engine *eng)
{
	return list_empty(&eng->queues) && list_is_singular(&eng->served) &&
	       list_first_entry(&eng->served, struct paccel_queue, node)->in_flight ==
	       eng->tail - eng->head;
}

/*
 * Scrubbing runs when the engine is idle, or if an allocation waits for it. In that case one range
 * is scrubbed before other jobs; the next range is submitted when that has ended, and other
 * requests are started meanwhile.
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
 * Returns whether the job has failed, or has completed although a job before it had failed: its
 * followers may need data that was not written.
 */
bool paccel_sched_has_failed(const struct paccel_job *job)
{
	return job->error || job->stop == -ECANCELED;
}

/*
 * The job does not wait and has no request in flight. eng->report reports it to its stream. If it
 * is in none, its waiters are woken here, and it may be freed. If it has failed, its follower is
 * stopped, which engine_next_job() ends, so that a long chain is not ended at once.
 */
static void sched_end_job(struct paccel_engine *eng, struct paccel_job *job)
{
	struct paccel_job *follower = job->follower;

	/* A job that has completed does not fail because it was cancelled meanwhile. */
	if (job->complete)
		job->error = job_is_revoked(job) ? -EFAULT : 0;
	else if (!job->error)
		job->error = job->stop;
	job->end_ns = ktime_get_ns();
	/* Pairs with stream_job_advance(): @error and @end_ns are final. */
	smp_store_release(&job->over, true);
	trace_paccel_complete(job);
	if (job->counted)
		WRITE_ONCE(eng->load, eng->load - 1);
	job->counted = false;
	if (job->leader)
		job->leader->follower = NULL;
	job->leader = NULL;
	job->follower = NULL;
	if (!job->ops) {
		/* If the submitter has got a fatal signal, it does not call paccel_job_drop(). */
		paccel_job_unref_bufs(job);
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
	if (paccel_sched_has_failed(job) && !follower->stop)
		follower->stop = -ECANCELED;
	paccel_sched_unpark(eng, follower);
}

/*
 * No further request of the job is started. It ends with @error at once, or when its requests in
 * flight have left the ring.
 */
void paccel_sched_withdraw(struct paccel_engine *eng, struct paccel_job *job, int error)
{
	if (job->waits)
		paccel_sched_dequeue(eng, job);
	if (!job->stop)
		job->stop = error;
	if (!job->in_flight)
		sched_end_job(eng, job);
}

/* A request of the job has left the ring: the job ends or continues. */
void paccel_sched_settle(struct paccel_engine *eng, struct paccel_job *job)
{
	bool over = job->complete || job->error || job->stop;

	if (over && job->waits)
		paccel_sched_dequeue(eng, job);
	/* Jobs that were queued meanwhile are served first. */
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

/* The request is not in flight any more. */
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
	 * The queue is appended now and not when its request was started, so that queues that got
	 * jobs meanwhile come first: the next job of a stream is queued after the completion, as
	 * late as that of another process.
	 */
	list_del_init(&queue->node);
	paccel_sched_add_queue(eng, queue);
}
