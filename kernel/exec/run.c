// SPDX-License-Identifier: GPL-2.0-only
/* Submission of a job to an engine, and the wait for its end. */
#include <linux/completion.h>
#include <linux/sched.h>

#include "core/ctx.h"
#include "exec/engine.h"
#include "exec/job.h"

/*
 * Longest average request time at which a thread polls before it sleeps; a longer one would keep
 * the CPU busy.
 */
#define PACCEL_POLL_NS (100 * NSEC_PER_USEC)

/*
 * Submits a job to an engine, which takes a reference of its own unless this fails. @leader, @more
 * and the result are those of paccel_engine_submit(). The caller has a reference.
 */
int paccel_job_submit(struct paccel_job *job, struct paccel_job *leader, bool more)
{
	struct paccel_device *pd = job->ctx->pd;
	struct paccel_engine *eng = leader ? leader->eng :
					     paccel_engine_choose(pd, paccel_job_op_mask(job, pd));
	int ret;

	job->queue = &job->ctx->queues[eng->id];
	kref_get(&job->ref);
	ret = paccel_engine_submit(eng, job, leader, more);
	if (ret < 0)
		paccel_job_put(job);
	return ret;
}

/*
 * Polls for twice the average request time, if the job is the only one of its engine: sleeping and
 * waking up takes as long as a short request.
 */
static void job_poll_done(struct paccel_job *job)
{
	u64 usual = READ_ONCE(job->eng->usual_ns), end = ktime_get_ns() + 2 * usual;

	if (usual > PACCEL_POLL_NS)
		return;
	while (!completion_done(&job->done) && !need_resched() &&
	       READ_ONCE(job->eng->load) <= 1 && ktime_get_ns() < end)
		cpu_relax();
}

/*
 * Waits for a submitted job and drops it. After a fatal signal the job is cancelled; it ends by
 * itself when its requests in flight have completed.
 */
int paccel_job_finish(struct paccel_job *job)
{
	int ret;

	job_poll_done(job);
	/* Freezable, so that a long copy does not prevent suspend. */
	if (wait_for_completion_state(&job->done, TASK_KILLABLE | TASK_FREEZABLE)) {
		paccel_engine_cancel(job, -EINTR);
		paccel_job_put(job);
		return -EINTR;
	}
	ret = job->error;
	/*
	 * The memory is released here and not when the last reference is dropped, so that memory
	 * which the caller frees next is available at once.
	 */
	paccel_job_drop(job);
	return ret;
}

/* Submits a job, waits for it and drops it, on failure too. */
int paccel_job_run(struct paccel_job *job)
{
	int ret = paccel_job_submit(job, NULL, false);

	if (!ret)
		return paccel_job_finish(job);
	paccel_job_drop(job);
	return ret;
}
