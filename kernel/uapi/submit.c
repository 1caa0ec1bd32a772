// SPDX-License-Identifier: GPL-2.0-only
/*
 * SUBMIT: makes the jobs of the operations and queues them. All that can fail, sleep or allocate is
 * done before the first job is queued. If an operation is invalid, the jobs of those before it are
 * dropped.
 */
#include <linux/eventfd.h>
#include <linux/nospec.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sync_file.h>
#include <linux/uaccess.h>

#include "core/ctx.h"
#include "core/device.h"
#include "exec/job.h"
#include "mem/host.h"
#include "stream/stream.h"
#include "uapi/copy.h"
#include "uapi/ucmd.h"

static int op_prepare_wait_point(struct paccel_stream_job *job, const struct paccel_op *op)
{
	if (op->wait.reserved)
		return -EINVAL;
	job->base.op = PACCEL_JOB_WAIT_POINT;
	job->what_point = op->wait.point;
	return paccel_stream_get(job->stream->ctx, op->wait.stream, op->wait.point, &job->what);
}

static int op_prepare_wait_fence(struct paccel_stream_job *job, const struct paccel_op *op)
{
	int status;

	if (op->fd.reserved)
		return -EINVAL;
	job->base.op = PACCEL_JOB_WAIT_FENCE;
	job->fence = sync_file_get_fence(op->fd.fd);
	if (!job->fence)
		return -EINVAL;
	/* A fence that is signalled needs no callback. */
	status = dma_fence_get_status(job->fence);
	if (status) {
		job->fence_error = min(status, 0);
		job->fence_done = true;
		job->watched = true;
	}
	return 0;
}

static int op_prepare_eventfd(struct paccel_stream_job *job, const struct paccel_op *op)
{
	struct eventfd_ctx *eventfd;

	if (op->fd.reserved)
		return -EINVAL;
	eventfd = eventfd_ctx_fdget(op->fd.fd);
	if (IS_ERR(eventfd))
		return -EINVAL;
	job->base.op = PACCEL_JOB_EVENTFD;
	job->eventfd = eventfd;
	job->always = op->flags & PACCEL_OP_ALWAYS;
	return 0;
}

/* Only memory of HOST_ALLOC: its pages can be written at any time and without a lock. */
static int op_prepare_write(struct paccel_stream_job *job, const struct paccel_op *op)
{
	struct paccel_ctx *ctx = job->stream->ctx;
	struct paccel_host *host;
	int ret;

	if (op->write.addr % sizeof(u64) || (op->op == PACCEL_OP_TIME && op->write.value))
		return -EINVAL;
	mutex_lock(&ctx->lock);
	host = paccel_host_get(ctx, op->write.addr, sizeof(u64));
	mutex_unlock(&ctx->lock);
	if (!host)
		return -EFAULT;
	ret = host->own ? paccel_host_validate(host, true) : -EFAULT;
	if (ret) {
		paccel_host_put(host);
		return ret;
	}
	job->base.op = op->op == PACCEL_OP_TIME ? PACCEL_JOB_TIME : PACCEL_JOB_WRITE;
	job->base.host = host;
	job->base.pages = &host->pages;
	job->base.dst.start = op->write.addr - host->addr.start;
	job->value = op->write.value;
	return 0;
}

/**
 * struct op_kind - one operation code
 * @used: bytes of struct paccel_op that it uses; the rest must be 0
 * @flags: flags that it supports
 * @prepare: checks the operation and makes the new job one of it. On failure the caller drops the
 *	job, with the references that it has
 */
struct op_kind {
	size_t used;
	u32 flags;
	int (*prepare)(struct paccel_stream_job *job, const struct paccel_op *op);
};

#define OP_KIND(_member, _flags, _prepare) \
	{ .used = offsetofend(struct paccel_op, _member), .flags = _flags, .prepare = _prepare }

static const struct op_kind op_kinds[] = {
	[PACCEL_OP_COPY] = OP_KIND(copy, PACCEL_OP_VERIFY, paccel_copy_prepare),
	[PACCEL_OP_FILL] = OP_KIND(fill, PACCEL_OP_VERIFY, paccel_copy_prepare),
	[PACCEL_OP_WAIT_POINT] = OP_KIND(wait, 0, op_prepare_wait_point),
	[PACCEL_OP_WAIT_FENCE] = OP_KIND(fd, 0, op_prepare_wait_fence),
	[PACCEL_OP_EVENTFD] = OP_KIND(fd, PACCEL_OP_ALWAYS, op_prepare_eventfd),
	[PACCEL_OP_WRITE] = OP_KIND(write, 0, op_prepare_write),
	[PACCEL_OP_TIME] = OP_KIND(write, 0, op_prepare_write),
};

static void submit_drop_jobs(struct list_head *jobs)
{
	struct paccel_stream_job *job, *next;

	list_for_each_entry_safe(job, next, jobs, in_stream) {
		list_del_init(&job->in_stream);
		paccel_job_drop(&job->base);
	}
}

/*
 * Sets the staging buffer of a job. All jobs of a stream share one, since they run one at a time.
 */
static int submit_give_stage(struct paccel_stream *stream, struct paccel_job *job)
{
	if (!READ_ONCE(stream->stage)) {
		void *fresh = paccel_job_stage(job);

		if (!fresh)
			return -ENOMEM;
		if (cmpxchg(&stream->stage, NULL, fresh))
			kfree(fresh);
	}
	job->stage = READ_ONCE(stream->stage);
	return 0;
}

/* Adds the job of an operation to @jobs. On failure that job may be there, too. */
static int submit_make_job(struct paccel_stream *stream, const struct paccel_op *op,
			   struct list_head *jobs)
{
	const struct op_kind *kind;
	struct paccel_stream_job *job;
	int ret;

	if (op->op >= ARRAY_SIZE(op_kinds))
		return -EINVAL;
	kind = &op_kinds[array_index_nospec(op->op, ARRAY_SIZE(op_kinds))];
	if (!kind->prepare || (op->flags & ~kind->flags))
		return -EINVAL;
	if (memchr_inv((const u8 *)op + kind->used, 0, sizeof(*op) - kind->used))
		return -EINVAL;
	job = paccel_stream_job_alloc(stream);
	if (!job)
		return -ENOMEM;
	list_add_tail(&job->in_stream, jobs);
	ret = kind->prepare(job, op);
	if (!ret && job->base.op == PACCEL_JOB_D2D &&
	    !paccel_job_is_on_device(&job->base, stream->ctx->pd))
		ret = submit_give_stage(stream, &job->base);
	return ret;
}

/* Makes all jobs. On failure cmd->bad_op is the operation that failed. */
static int submit_make_jobs(struct paccel_stream *stream, struct paccel_submit *cmd,
			    struct list_head *jobs)
{
	for (cmd->bad_op = 0; cmd->bad_op < cmd->nr_ops; cmd->bad_op++) {
		u64 at = cmd->ops + (u64)cmd->bad_op * cmd->op_size;
		struct paccel_op op;
		int ret;

		ret = copy_struct_from_user(&op, sizeof(op), u64_to_user_ptr(at), cmd->op_size);
		if (!ret)
			ret = submit_make_job(stream, &op, jobs);
		if (ret)
			return ret;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

/*
 * Returns whether paccel_stream_queue() is to be called: there is room, or it will fail. Sets the
 * next point.
 */
static bool submit_has_room(struct paccel_stream *stream, const struct list_head *jobs,
			    struct paccel_submit *cmd)
{
	bool room;

	spin_lock(&stream->ctx->work_lock);
	room = paccel_stream_fits(stream, cmd->nr_ops) || paccel_stream_refusal(stream, jobs);
	cmd->point = stream->submitted + 1;
	spin_unlock(&stream->ctx->work_lock);
	return room;
}

/*
 * The reply is written first, since nothing may fail once the jobs are queued. It contains the
 * point that the jobs will get; if another thread has submitted meanwhile, it is written again.
 */
static int submit_queue_jobs(struct paccel_ucmd *ucmd, struct paccel_stream *stream,
			     struct list_head *jobs)
{
	struct paccel_submit *cmd = ucmd->cmd;
	int ret;

	do {
		ret = wait_event_interruptible(stream->ctx->wait,
					       submit_has_room(stream, jobs, cmd));
		if (ret)
			return ret;
		ret = paccel_reply(ucmd);
		if (ret)
			return ret;
		ret = paccel_stream_queue(stream, jobs, cmd->nr_ops, cmd->point);
	} while (ret == -EAGAIN || ret == -EBUSY);
	return ret;
}

static int submit_check(const struct paccel_submit *cmd)
{
	if (cmd->flags || !cmd->nr_ops)
		return -EINVAL;
	/* The smallest size is that of the struct's first version. */
	if (cmd->op_size < offsetofend(struct paccel_op, copy.src_pitch) ||
	    cmd->op_size > PAGE_SIZE)
		return -EINVAL;
	return cmd->nr_ops > PACCEL_MAX_OPS ? -E2BIG : 0;
}

static int submit_ops(struct paccel_ucmd *ucmd)
{
	struct paccel_submit *cmd = ucmd->cmd;
	struct paccel_stream *stream;
	LIST_HEAD(jobs);
	int ret = paccel_stream_get(ucmd->ctx, cmd->stream, 0, &stream);

	if (ret)
		return ret;
	paccel_order_cpu(ucmd->ctx->pd);
	ret = submit_make_jobs(stream, cmd, &jobs);
	if (!ret)
		ret = submit_queue_jobs(ucmd, stream, &jobs);
	if (ret)
		submit_drop_jobs(&jobs);
	paccel_stream_put(stream);
	return ret;
}

int paccel_ioctl_submit(struct paccel_ucmd *ucmd)
{
	struct paccel_submit __user *user = ucmd->user;
	struct paccel_submit *cmd = ucmd->cmd;
	int ret = submit_check(cmd);

	cmd->bad_op = cmd->nr_ops;
	/* The error that the first job would fail with is returned at once. */
	if (!ret)
		ret = READ_ONCE(ucmd->ctx->pd->state) == PACCEL_FAILED ? -EIO : submit_ops(ucmd);
	if (!ret || ret == -ERESTARTSYS)
		return ret;
	/* The number of the operation that failed is written, although the call fails. */
	return put_user(cmd->bad_op, &user->bad_op) ? -EFAULT : ret;
}
