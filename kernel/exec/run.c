// SPDX-License-Identifier: GPL-2.0-only
/* Running a job: it is submitted to an engine, and the caller may wait for its end. */
#include <linux/completion.h>
#include <linux/sched.h>

#include "core/ctx.h"
#include "exec/engine.h"
#include "exec/job.h"

/* A thread does not poll for transfers that usually take longer: that would keep a CPU busy. */
#define PACCEL_POLL_NS (100 * NSEC_PER_USEC)

/*
 * Gives the job to an engine, which takes a reference of its own unless this fails. @leader: as of
 * paccel_engine_submit(), as @more and what it returns; the caller has a reference.
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
 * Twice as long as transfers usually take, if the job is the only one of its engine: to fall asleep
 * and to be woken takes as long as a short transfer.
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
 * Waits for a job that has been submitted and drops it. After a fatal signal the transfer that runs
 * ends by itself, and the job with it.
 */
int paccel_job_finish(struct paccel_job *job)
{
	int ret;

	job_poll_done(job);
	/* Freezable: a long copy must not keep the machine from suspending. */
	if (wait_for_completion_state(&job->done, TASK_KILLABLE | TASK_FREEZABLE)) {
		paccel_engine_cancel(job, -EINTR);
		paccel_job_put(job);
		return -EINTR;
	}
	ret = job->error;
	/*
	 * Here and not by whoever drops the last reference: what the caller frees next is then
	 * really free.
	 */
	paccel_job_drop(job);
	return ret;
}

/* Queues the job, waits for it and drops it; whatever happens the caller has lost its reference. */
int paccel_job_run(struct paccel_job *job)
{
	int ret = paccel_job_submit(job, NULL, false);

	if (!ret)
		return paccel_job_finish(job);
	paccel_job_drop(job);
	return ret;
}
