/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trace events of jobs and DMA requests: submitted, started, completed. ctx is the number of the
 * context, which fdinfo shows as drm-client-id; 0: none. device is the number N of paccelN.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM paccel

#if !defined(PACCEL_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define PACCEL_TRACE_H

#include <linux/tracepoint.h>

#include "core/ctx.h"
#include "core/device.h"
#include "exec/engine.h"

#define paccel_show_op(op)				\
	__print_symbolic(op,				\
			 { PACCEL_JOB_H2D, "h2d" },	\
			 { PACCEL_JOB_D2H, "d2h" },	\
			 { PACCEL_JOB_D2D, "d2d" },	\
			 { PACCEL_JOB_FILL, "fill" },	\
			 { PACCEL_JOB_SCRUB, "scrub" })

/* @ops jobs have been queued as @point; @queued jobs are now queued in the stream. */
TRACE_EVENT(paccel_submit,
	TP_PROTO(struct paccel_ctx *ctx, u32 stream, u64 point, unsigned int ops,
		 unsigned int queued),
	TP_ARGS(ctx, stream, point, ops, queued),
	TP_STRUCT__entry(
		__field(unsigned int, device)
		__field(u64, ctx)
		__field(u32, stream)
		__field(u64, point)
		__field(unsigned int, ops)
		__field(unsigned int, queued)
	),
	TP_fast_assign(
		__entry->device = MINOR(ctx->pd->dev.devt);
		__entry->ctx = ctx->id;
		__entry->stream = stream;
		__entry->point = point;
		__entry->ops = ops;
		__entry->queued = queued;
	),
	TP_printk("device=%u ctx=%llu stream=%u point=%llu ops=%u queued=%u",
		  __entry->device, __entry->ctx, __entry->stream, __entry->point, __entry->ops,
		  __entry->queued)
);

/*
 * A DMA request has been passed to ops->start(), which returned @ret. op is the operation of the
 * job, not of the request: a D2D job can consist of D2H and H2D requests.
 */
TRACE_EVENT(paccel_start,
	TP_PROTO(struct paccel_engine *eng, struct paccel_tag *tag, int ret),
	TP_ARGS(eng, tag, ret),
	TP_STRUCT__entry(
		__field(unsigned int, device)
		__field(unsigned int, engine)
		__field(u64, cookie)
		__field(u64, ctx)
		__field(u32, stream)
		__field(u64, point)
		__field(int, op)
		__field(u64, dev)
		__field(u32, len)
		__field(bool, bounce)
		__field(int, ret)
	),
	TP_fast_assign(
		__entry->device = MINOR(eng->pd->dev.devt);
		__entry->engine = eng->id;
		__entry->cookie = tag->step.x.cookie;
		__entry->ctx = tag->job->ctx ? tag->job->ctx->id : 0;
		__entry->stream = tag->job->stream_id;
		__entry->point = tag->job->point;
		__entry->op = tag->job->op;
		__entry->dev = tag->step.x.dev;
		__entry->len = tag->step.x.len;
		__entry->bounce = tag->step.bounce;
		__entry->ret = ret;
	),
	TP_printk("device=%u engine=%u cookie=%llu ctx=%llu stream=%u point=%llu op=%s dev=0x%llx len=%u bounce=%d ret=%d",
		  __entry->device, __entry->engine, __entry->cookie, __entry->ctx, __entry->stream,
		  __entry->point, paccel_show_op(__entry->op), __entry->dev, __entry->len,
		  __entry->bounce, __entry->ret)
);

/*
 * A DMA request has completed with @status, which the backend reported. ns is the time from before
 * ops->start() until poll() reported the completion. A request that ops->start() rejected, that was
 * aborted, or that completed with a wrong length has no such event.
 */
TRACE_EVENT(paccel_done,
	TP_PROTO(struct paccel_engine *eng, struct paccel_tag *tag, int status),
	TP_ARGS(eng, tag, status),
	TP_STRUCT__entry(
		__field(unsigned int, device)
		__field(unsigned int, engine)
		__field(u64, cookie)
		__field(int, status)
		__field(s64, ns)
	),
	TP_fast_assign(
		__entry->device = MINOR(eng->pd->dev.devt);
		__entry->engine = eng->id;
		__entry->cookie = tag->step.x.cookie;
		__entry->status = status;
		__entry->ns = ktime_to_ns(ktime_sub(ktime_get(), tag->started));
	),
	TP_printk("device=%u engine=%u cookie=%llu status=%d ns=%lld", __entry->device,
		  __entry->engine, __entry->cookie, __entry->status, __entry->ns)
);

/* A job has ended, with any result. */
TRACE_EVENT(paccel_complete,
	TP_PROTO(struct paccel_job *job),
	TP_ARGS(job),
	TP_STRUCT__entry(
		__field(unsigned int, device)
		__field(u64, ctx)
		__field(u32, stream)
		__field(u64, point)
		__field(int, op)
		__field(u64, bytes)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->device = MINOR(job->eng->pd->dev.devt);
		__entry->ctx = job->ctx ? job->ctx->id : 0;
		__entry->stream = job->stream_id;
		__entry->point = job->point;
		__entry->op = job->op;
		__entry->bytes = job->width * job->rows;
		__entry->error = job->error;
	),
	TP_printk("device=%u ctx=%llu stream=%u point=%llu op=%s bytes=%llu error=%d",
		  __entry->device, __entry->ctx, __entry->stream, __entry->point,
		  paccel_show_op(__entry->op), __entry->bytes, __entry->error)
);

/*
 * A stream has failed at @point: until STREAM_CLEAR its other jobs are cancelled, except those with
 * PACCEL_OP_ALWAYS.
 */
TRACE_EVENT(paccel_error,
	TP_PROTO(struct paccel_ctx *ctx, u32 stream, u64 point, int error),
	TP_ARGS(ctx, stream, point, error),
	TP_STRUCT__entry(
		__field(unsigned int, device)
		__field(u64, ctx)
		__field(u32, stream)
		__field(u64, point)
		__field(int, error)
	),
	TP_fast_assign(
		__entry->device = MINOR(ctx->pd->dev.devt);
		__entry->ctx = ctx->id;
		__entry->stream = stream;
		__entry->point = point;
		__entry->error = error;
	),
	TP_printk("device=%u ctx=%llu stream=%u point=%llu error=%d",
		  __entry->device, __entry->ctx, __entry->stream, __entry->point, __entry->error)
);

#endif /* PACCEL_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH exec
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
