// SPDX-License-Identifier: GPL-2.0-only
/* WAIT: sleeps until points have been reached, or until a deadline. */
#include <linux/freezer.h>
#include <linux/hrtimer.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "core/ctx.h"
#include "core/device.h"
#include "stream/stream.h"
#include "uapi/ucmd.h"

/* A point that the caller waits for. */
struct waited {
	struct paccel_stream *stream;
	u64 point;
	int error;
};

static void waited_put(struct waited *points, unsigned int nr)
{
	while (nr--)
		if (points[nr].stream)
			paccel_stream_put(points[nr].stream);
	kfree(points);
}

/* Reads a point of the caller and looks up its stream. */
static int waited_get(struct paccel_ctx *ctx, struct waited *w, void __user *user, u32 size)
{
	struct paccel_point point;
	int ret;

	ret = copy_struct_from_user(&point, sizeof(point), user, size);
	if (ret)
		return ret;
	w->point = point.point;
	return paccel_stream_get(ctx, point.stream, point.point, &w->stream);
}

/* Returns the number of points that have been reached, and sets their errors. */
static u32 wait_count_ended(struct paccel_ctx *ctx, struct waited *points, u32 nr, u64 *seen)
{
	u32 i, ended = 0;

	spin_lock(&ctx->work_lock);
	*seen = ctx->completions;
	for (i = 0; i < nr; i++) {
		struct waited *w = &points[i];
		bool done = w->point <= w->stream->done;

		w->error = done ? paccel_stream_error(w->stream, w->point) : -EINPROGRESS;
		ended += done;
	}
	spin_unlock(&ctx->work_lock);
	return ended;
}

static int wait_sleep(struct paccel_ctx *ctx, struct waited *points, struct paccel_wait *cmd,
		      u64 *seen)
{
	ktime_t deadline = ns_to_ktime(min_t(u64, cmd->deadline_ns, KTIME_MAX));
	DEFINE_WAIT(wait);
	bool over = false;
	int ret;

	for (;;) {
		prepare_to_wait(&ctx->wait, &wait, TASK_INTERRUPTIBLE | TASK_FREEZABLE);
		cmd->ended = wait_count_ended(ctx, points, cmd->nr_points, seen);
		ret = paccel_gone(ctx->pd) ? -ENODEV : READ_ONCE(ctx->lost) ? -ESTALE : 0;
		if (ret || cmd->ended == cmd->nr_points ||
		    (cmd->ended && (cmd->flags & PACCEL_WAIT_ANY)))
			break;
		ret = over ? -ETIME : signal_pending(current) ? -ERESTARTSYS : 0;
		if (ret)
			break;
		over = !schedule_hrtimeout(deadline == KTIME_MAX ? NULL : &deadline,
					   HRTIMER_MODE_ABS);
	}
	finish_wait(&ctx->wait, &wait);
	return ret;
}

static int wait_write_errors(const struct paccel_wait *cmd, const struct waited *points)
{
	u32 i;

	for (i = 0; i < cmd->nr_points; i++) {
		struct paccel_point __user *user =
			u64_to_user_ptr(cmd->points + (u64)i * cmd->point_size);

		if (put_user(points[i].error, &user->error))
			return -EFAULT;
	}
	return 0;
}

/* From now on poll() reports points that are reached after this WAIT. */
static void wait_mark_seen(struct paccel_ctx *ctx, u64 seen)
{
	spin_lock(&ctx->work_lock);
	ctx->seen = max(ctx->seen, seen);
	spin_unlock(&ctx->work_lock);
}

static int wait_check(const struct paccel_wait *cmd)
{
	if (cmd->flags & ~PACCEL_WAIT_ANY || cmd->reserved)
		return -EINVAL;
	/* The smallest size is that of the struct's first version. */
	if (cmd->point_size < offsetofend(struct paccel_point, point) ||
	    cmd->point_size > PAGE_SIZE)
		return -EINVAL;
	return cmd->nr_points > PACCEL_MAX_POINTS ? -E2BIG : 0;
}

int paccel_ioctl_wait(struct paccel_ucmd *ucmd)
{
	struct paccel_wait *cmd = ucmd->cmd;
	struct paccel_ctx *ctx = ucmd->ctx;
	struct waited *points;
	int ret, err;
	u64 seen;
	u32 i;

	ret = wait_check(cmd);
	if (ret)
		return ret;
	points = kcalloc(cmd->nr_points, sizeof(*points), GFP_KERNEL_ACCOUNT);
	if (!points)
		return -ENOMEM;
	for (i = 0; i < cmd->nr_points; i++) {
		ret = waited_get(ctx, &points[i],
				 u64_to_user_ptr(cmd->points + (u64)i * cmd->point_size),
				 cmd->point_size);
		if (ret)
			goto put;
	}
	ret = wait_sleep(ctx, points, cmd, &seen);
	if (ret && ret != -ETIME)
		goto put;
	err = wait_write_errors(cmd, points) ?: paccel_reply(ucmd);
	if (!err)
		wait_mark_seen(ctx, seen);
	ret = err ?: ret;
put:
	waited_put(points, cmd->nr_points);
	return ret;
}
