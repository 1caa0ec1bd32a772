// SPDX-License-Identifier: GPL-2.0-only
/*
 * Functions of exec/ that mem/ calls: scrubbing device memory, and waiting for requests in memory
 * that is revoked.
 */
#include "core/device.h"
#include "exec/engine.h"
#include "exec/job.h"
#include "mem/pool.h"

/*
 * Uses the engine with the fewest jobs, which runs the scrub job when it is idle; see
 * paccel_sched_next().
 */
static int scrub_start(struct paccel_device *pd, u64 addr, u64 size)
{
	struct paccel_job *job = pd->scrub_job;
	int ret;

	job->eng = paccel_engine_choose(pd, paccel_job_op_mask(job, pd));
	job->dst.start = addr;
	job->width = size;
	paccel_job_verify(job, pd, false);
	job->at = (struct paccel_place){ };
	job->complete = false;
	job->stop = 0;
	job->over = false;
	job->error = 0;
	reinit_completion(&job->done);
	kref_get(&job->ref);
	ret = paccel_engine_submit(job->eng, job, NULL, false);
	if (ret < 0)
		paccel_job_put(job);
	return min(ret, 0);
}

static void scrub_ended(struct paccel_job *job)
{
	paccel_pool_scrubbed(job->eng->pd, job->error);
}

const struct paccel_mem_ops paccel_mem_ops = {
	.scrub = scrub_start,
	.evict = paccel_engines_evict,
};

int paccel_scrub_alloc(struct paccel_device *pd)
{
	pd->scrub_job = paccel_job_alloc(pd, NULL, PACCEL_JOB_SCRUB, sizeof(*pd->scrub_job));
	if (!pd->scrub_job)
		return -ENOMEM;
	pd->scrub_job->end = scrub_ended;
	return 0;
}

/* Also after paccel_scrub_alloc() has failed or was not called. No scrub is in progress. */
void paccel_scrub_free(struct paccel_device *pd)
{
	if (pd->scrub_job)
		paccel_job_drop(pd->scrub_job);
}
