// SPDX-License-Identifier: GPL-2.0-only
/* What device memory asks of the engines: to fill it with zero, and to end transfers. */
#include "core/device.h"
#include "exec/engine.h"
#include "exec/job.h"
#include "mem/pool.h"

/* On whichever engine has least to do; engines run it when nothing else is there to do. */
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

/* Also after a paccel_scrub_alloc() that failed, or did not run. It does not run any more. */
void paccel_scrub_free(struct paccel_device *pd)
{
	if (pd->scrub_job)
		paccel_job_drop(pd->scrub_job);
}
