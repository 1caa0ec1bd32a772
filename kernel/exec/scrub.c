// SPDX-License-Identifier: GPL-2.0-only
/*
 * Functions of exec/ that mem/ calls: scrubbing device memory, and waiting for requests in memory
 * that is revoked.
 */
#include "core/device.h"
#include "exec/internal.h"
#include "mem/pool.h"

/* The scrub job of an engine. @buf: the range that it fills, or NULL: it is not in use. */
struct scrub {
	struct paccel_job job;
	struct paccel_buf *buf;
};

static struct scrub *engine_scrub(struct paccel_engine *eng)
{
	return container_of(eng->scrub_job, struct scrub, job);
}

/*
 * Uses the engine with the fewest jobs, which runs the scrub job when it is idle; see
 * paccel_sched_next().
 */
static int scrub_start(struct paccel_device *pd, struct paccel_buf *buf, bool idle)
{
	u32 ops = paccel_job_op_mask(pd->engines->scrub_job, pd);
	struct paccel_engine *eng = paccel_engine_choose(pd, ops);
	struct scrub *scrub = engine_scrub(eng);
	struct paccel_job *job = &scrub->job;
	int ret;

	/* Pairs with scrub_ended(), which is called after the job has left eng->load. */
	if (smp_load_acquire(&scrub->buf) || (idle && READ_ONCE(eng->load)))
		return -EBUSY;
	scrub->buf = buf;
	job->dst.start = buf->start;
	job->width = buf->size;
	paccel_job_verify(job, pd, false);
	job->at = (struct paccel_place){ };
	job->complete = false;
	job->stop = 0;
	job->over = false;
	job->error = 0;
	kref_get(&job->ref);
	ret = paccel_engine_submit(eng, job, NULL, false);
	if (ret) {
		scrub->buf = NULL;
		paccel_job_put(job);
	}
	return ret;
}

static void scrub_ended(struct paccel_job *job)
{
	struct scrub *scrub = container_of(job, struct scrub, job);
	struct paccel_device *pd = job->eng->pd;
	struct paccel_buf *buf = scrub->buf;
	int error = job->error;

	/* Pairs with scrub_start(), which uses the job again. */
	smp_store_release(&scrub->buf, NULL);
	paccel_pool_scrubbed(pd, buf, error);
}

const struct paccel_mem_ops paccel_mem_ops = {
	.scrub = scrub_start,
	.evict = paccel_engines_evict,
};

int paccel_scrub_alloc(struct paccel_device *pd)
{
	struct paccel_engine *eng;

	for (eng = pd->engines; eng < engines_end(pd); eng++) {
		eng->scrub_job = paccel_job_alloc(pd, NULL, PACCEL_JOB_SCRUB, sizeof(struct scrub));
		if (!eng->scrub_job)
			return -ENOMEM;
		eng->scrub_job->end = scrub_ended;
	}
	return 0;
}

/* Also called if paccel_scrub_alloc() has failed or was not called. No scrub is in progress. */
void paccel_scrub_free(struct paccel_device *pd)
{
	unsigned int i;

	for (i = 0; pd->engines && i < PACCEL_MAX_ENGINES; i++)
		if (pd->engines[i].scrub_job)
			paccel_job_drop(pd->engines[i].scrub_job);
}
