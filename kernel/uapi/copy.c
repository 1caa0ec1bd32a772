// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks copies and fills and makes their jobs. All errors of the caller are found here.
 *
 * Host memory in a host range is used directly. Other host memory is pinned for the duration of the
 * copy, in slices of bounded size, each of which is a job of its own.
 */
#include <linux/overflow.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "core/ctx.h"
#include "core/device.h"
#include "exec/job.h"
#include "mem/import.h"
#include "mem/host.h"
#include "mem/mem.h"
#include "mem/pages.h"
#include "mem/pool.h"
#include "stream/stream.h"
#include "uapi/copy.h"
#include "uapi/ucmd.h"

/* Largest slice of pageable memory that is pinned at once. */
#define PACCEL_SLICE	SZ_1M

/*
 * A copy or fill that has been checked: rows of @width bytes in two rectangles, and the memory that
 * these are in. @verify: the caller requires verification. @pattern: of a fill.
 */
struct paccel_transfer {
	enum paccel_job_op op;
	bool verify;
	u64 pattern;
	struct paccel_rect dst;
	struct paccel_rect src;
	u64 width;
	u64 rows;
	struct paccel_buf *dst_buf;
	struct paccel_buf *src_buf;
	struct paccel_host *host;
};

/*
 * Sets @span to the number of bytes from the first byte of the rectangle to its last. Returns
 * -EINVAL if it wraps, or if the rows overlap.
 */
static int rect_span(const struct paccel_rect *rect, u64 width, u64 rows, u64 *span)
{
	u64 end;

	/* A pitch that is given must be valid also if there is one row. */
	if ((rows > 1 || rect->pitch) && rect->pitch < width)
		return -EINVAL;
	if (check_mul_overflow(rows - 1, rect->pitch, span) ||
	    check_add_overflow(*span, width, span))
		return -EINVAL;
	return check_add_overflow(rect->start, *span - 1, &end) ? -EINVAL : 0;
}

/*
 * Returns whether rows of two rectangles of equal pitch overlap. @delta is the distance of their
 * starts: row i of one and row i - k of the other are @delta - k * pitch apart.
 */
static bool rows_overlap(u64 delta, u64 pitch, u64 width, u64 rows)
{
	u64 k;

	if (rows == 1)
		return delta < width;
	k = div64_u64(delta, pitch);
	if (k < rows && delta - k * pitch < width)
		return true;
	return k + 1 < rows && (k + 1) * pitch - delta < width;
}

static bool transfer_overlaps(const struct paccel_transfer *t, u64 dst_span, u64 src_span)
{
	u64 low = min(t->dst.start, t->src.start);
	u64 delta = max(t->dst.start, t->src.start) - low;

	if (delta >= (low == t->dst.start ? dst_span : src_span))
		return false;
	if (t->rows > 1 && t->dst.pitch != t->src.pitch)
		return true;
	return rows_overlap(delta, t->dst.pitch, t->width, t->rows);
}

/* Rows that are contiguous on both sides are one row. */
static void transfer_flatten(struct paccel_transfer *t)
{
	if (t->rows > 1 && t->dst.pitch == t->width && t->src.pitch == t->width) {
		t->width *= t->rows;
		t->rows = 1;
	}
}

static bool dst_is_host(const struct paccel_transfer *t)
{
	return t->op == PACCEL_JOB_D2H;
}

static bool src_is_host(const struct paccel_transfer *t)
{
	return t->op == PACCEL_JOB_H2D;
}

static bool rect_is_aligned(const struct paccel_rect *rect, u64 rows, u32 align)
{
	return IS_ALIGNED(rect->start, align) && (rows == 1 || IS_ALIGNED(rect->pitch, align));
}

static void transfer_put(struct paccel_transfer *t)
{
	if (t->dst_buf)
		paccel_buf_put(t->dst_buf);
	if (t->src_buf)
		paccel_buf_put(t->src_buf);
	if (t->host)
		paccel_host_put(t->host);
}

/*
 * Looks up the memory of both sides and takes references. On failure the caller drops those that
 * were taken.
 */
static int transfer_get(struct paccel_ctx *ctx, struct paccel_transfer *t,
			u64 dst_span, u64 src_span)
{
	guard(mutex)(&ctx->lock);
	if (dst_is_host(t))
		t->host = paccel_host_get(ctx, t->dst.start, dst_span);
	else
		t->dst_buf = paccel_mem_get(ctx, t->dst.start, dst_span);
	if (src_is_host(t))
		t->host = paccel_host_get(ctx, t->src.start, src_span);
	else if (t->op != PACCEL_JOB_FILL)
		t->src_buf = paccel_mem_get(ctx, t->src.start, src_span);
	if (!dst_is_host(t) && !t->dst_buf)
		return -EFAULT;
	if (!src_is_host(t) && t->op != PACCEL_JOB_FILL && !t->src_buf)
		return -EFAULT;
	return 0;
}

/* Sets what @job does, and takes references on its device memory. */
static void transfer_describe(const struct paccel_transfer *t, struct paccel_job *job)
{
	job->op = t->op;
	job->pattern = t->pattern;
	job->dst = t->dst;
	job->src = t->src;
	job->width = t->width;
	job->rows = t->rows;
	job->bufs[0] = t->dst_buf;
	job->bufs[1] = t->src_buf;
	if (t->dst_buf)
		kref_get(&t->dst_buf->ref);
	if (t->src_buf)
		kref_get(&t->src_buf->ref);
}

static int transfer_use_host(const struct paccel_transfer *t, struct paccel_job *job)
{
	struct paccel_rect *side = dst_is_host(t) ? &job->dst : &job->src;
	int ret = paccel_host_validate(t->host, dst_is_host(t));

	side->start -= t->host->addr.start;
	/*
	 * The CPU cannot copy this memory, so its offset must be aligned for DMA. The start of the
	 * range is.
	 */
	if (!ret && !paccel_pages_readable(&t->host->pages) &&
	    !rect_is_aligned(side, t->rows, paccel_dma_align(t->host->pages.pd)))
		ret = -EINVAL;
	if (!ret)
		ret = paccel_import_begin_cpu(&t->host->pages, dst_is_host(t));
	if (ret)
		return ret;
	kref_get(&t->host->ref);
	job->host = t->host;
	job->pages = &t->host->pages;
	return 0;
}

/* Makes @job the single one of a transfer in device memory or with a host range. */
static int transfer_prepare(const struct paccel_transfer *t, struct paccel_job *job)
{
	int ret = 0;

	transfer_describe(t, job);
	if (t->host)
		ret = transfer_use_host(t, job);
	return ret ?: paccel_job_verify(job, job->ctx->pd, t->verify);
}

static int transfer_run_whole(struct paccel_ctx *ctx, const struct paccel_transfer *t)
{
	struct paccel_job *job = paccel_job_alloc(ctx->pd, ctx, t->op, sizeof(*job));
	int ret;

	if (!job)
		return -ENOMEM;
	ret = transfer_prepare(t, job);
	if (!ret && job->op == PACCEL_JOB_D2D && !paccel_job_is_on_device(job, ctx->pd)) {
		job->stage = paccel_job_stage(job);
		ret = job->stage ? 0 : -ENOMEM;
	}
	if (!ret)
		return paccel_job_run(job);
	paccel_job_drop(job);
	return ret;
}

/* Makes the job of a slice of pageable memory and pins it. Returns an ERR_PTR on failure. */
static struct paccel_job *slice_job(struct paccel_ctx *ctx, const struct paccel_transfer *t)
{
	const struct paccel_rect *host = dst_is_host(t) ? &t->dst : &t->src;
	u64 span = (t->rows - 1) * host->pitch + t->width;
	struct paccel_job *job = paccel_job_alloc(ctx->pd, ctx, t->op, sizeof(*job));
	int ret;

	if (!job)
		return ERR_PTR(-ENOMEM);
	transfer_describe(t, job);
	ret = paccel_job_verify(job, ctx->pd, t->verify);
	if (!ret)
		ret = paccel_pages_pin(&job->own, ctx->pd, host->start, span, dst_is_host(t), 0);
	if (ret) {
		paccel_job_drop(job);
		return ERR_PTR(ret);
	}
	paccel_pages_map(&job->own);
	job->pages = &job->own;
	if (dst_is_host(t))
		job->dst.start = 0;
	else
		job->src.start = 0;
	return job;
}

/*
 * Submits a slice and waits for the slice before it, @running. So the next slice is pinned while
 * the device works on one.
 */
static int transfer_run_slice(struct paccel_ctx *ctx, const struct paccel_transfer *t,
			      struct paccel_job **running)
{
	struct paccel_job *job = slice_job(ctx, t), *before = *running;
	int ret;

	if (IS_ERR(job))
		return PTR_ERR(job);
	ret = paccel_job_submit(job, NULL, false);
	if (ret) {
		paccel_job_drop(job);
		return ret;
	}
	*running = job;
	return before ? paccel_job_finish(before) : 0;
}

/*
 * Returns the number of rows per slice; 0 if a row is larger than a slice. If there may be whole
 * pages between rows, which the copy does not access and which need not be mapped, each row is a
 * slice.
 */
static u64 rows_per_slice(const struct paccel_rect *host, u64 width)
{
	if (width > PACCEL_SLICE)
		return 0;
	if (host->pitch - width >= PAGE_SIZE)
		return 1;
	return (PACCEL_SLICE - width) / host->pitch + 1;
}

static int transfer_run_pageable(struct paccel_ctx *ctx, const struct paccel_transfer *t)
{
	const struct paccel_rect *host = dst_is_host(t) ? &t->dst : &t->src;
	u64 per_slice = t->rows == 1 ? t->width <= PACCEL_SLICE : rows_per_slice(host, t->width);
	struct paccel_job *running = NULL;
	u64 row = 0, col = 0;
	int ret = 0, last;

	while (!ret && row < t->rows) {
		struct paccel_transfer s = *t;

		s.dst.start += row * t->dst.pitch + col;
		s.src.start += row * t->src.pitch + col;
		if (per_slice) {
			s.rows = min(per_slice, t->rows - row);
			row += s.rows;
		} else {
			s.rows = 1;
			s.width = min_t(u64, PACCEL_SLICE, t->width - col);
			col += s.width;
			if (col == t->width) {
				col = 0;
				row++;
			}
		}
		ret = transfer_run_slice(ctx, &s, &running);
	}
	last = running ? paccel_job_finish(running) : 0;
	return ret ?: last;
}

/* Host memory outside of host ranges, which only COPY may pin. */
static bool transfer_is_pageable(const struct paccel_transfer *t)
{
	return !t->host && (dst_is_host(t) || src_is_host(t));
}

/* Returns whether the device memory of the transfer is aligned for DMA. */
static bool transfer_is_aligned(const struct paccel_transfer *t, u32 align)
{
	if (!IS_ALIGNED(t->width, align))
		return false;
	if (!dst_is_host(t) && !rect_is_aligned(&t->dst, t->rows, align))
		return false;
	return src_is_host(t) || rect_is_aligned(&t->src, t->rows, align);
}

/* Checks all that does not depend on memory, and sets @t and the spans of both sides. */
static int copy_check(struct paccel_device *pd, const struct paccel_op_copy *copy,
		      struct paccel_transfer *t, u64 *dst_span, u64 *src_span)
{
	*t = (struct paccel_transfer) {
		.op = (enum paccel_job_op)copy->dir,
		.dst = { .start = copy->dst, .pitch = copy->dst_pitch },
		.src = { .start = copy->src, .pitch = copy->src_pitch },
		.width = copy->width,
		.rows = copy->rows,
	};
	if (copy->reserved || !copy->width || !copy->rows)
		return -EINVAL;
	if (copy->dir < PACCEL_COPY_H2D || copy->dir > PACCEL_COPY_D2D)
		return -EINVAL;
	if (rect_span(&t->dst, t->width, t->rows, dst_span) ||
	    rect_span(&t->src, t->width, t->rows, src_span))
		return -EINVAL;
	if (t->op == PACCEL_JOB_D2D && transfer_overlaps(t, *dst_span, *src_span))
		return -EINVAL;
	if (!transfer_is_aligned(t, paccel_dma_align(pd)))
		return -EINVAL;
	if ((dst_is_host(t) && !access_ok(u64_to_user_ptr(copy->dst), *dst_span)) ||
	    (src_is_host(t) && !access_ok(u64_to_user_ptr(copy->src), *src_span)))
		return -EFAULT;
	return 0;
}

/* A checked copy, with references on its memory until transfer_put(). */
static int copy_get(struct paccel_ctx *ctx, const struct paccel_op_copy *copy,
		    struct paccel_transfer *t)
{
	u64 dst_span, src_span;
	int ret = copy_check(ctx->pd, copy, t, &dst_span, &src_span);

	if (!ret)
		ret = transfer_get(ctx, t, dst_span, src_span);
	if (ret)
		transfer_put(t);
	else
		transfer_flatten(t);
	return ret;
}

/*
 * Repeats a pattern to 8 bytes. Returns -EINVAL if its size is invalid or it is larger than that.
 */
static int pattern_repeat(u64 pattern, u32 size, u64 *repeated)
{
	u32 bits = size * 8;

	if (size != 1 && size != 2 && size != 4 && size != 8)
		return -EINVAL;
	if (size < 8 && pattern >> bits)
		return -EINVAL;
	for (; bits < 64; bits *= 2)
		pattern |= pattern << bits;
	*repeated = pattern;
	return 0;
}

/* A checked fill, as copy_get(). */
static int fill_get(struct paccel_ctx *ctx, const struct paccel_op_fill *fill,
		    struct paccel_transfer *t)
{
	u64 span;
	int ret;

	*t = (struct paccel_transfer) {
		.op = PACCEL_JOB_FILL,
		.dst = { .start = fill->addr },
		.width = fill->length,
		.rows = 1,
	};
	if (fill->reserved || !fill->length)
		return -EINVAL;
	ret = pattern_repeat(fill->pattern, fill->pattern_size, &t->pattern);
	if (ret)
		return ret;
	if (fill->length % fill->pattern_size || rect_span(&t->dst, t->width, 1, &span) ||
	    !transfer_is_aligned(t, paccel_dma_align(ctx->pd)))
		return -EINVAL;
	ret = transfer_get(ctx, t, span, 0);
	if (ret)
		transfer_put(t);
	return ret;
}

int paccel_ioctl_copy(struct paccel_ucmd *ucmd)
{
	struct paccel_copy *cmd = ucmd->cmd;
	struct paccel_op_copy copy = {
		.dir = cmd->dir,
		.reserved = cmd->reserved,
		.dst = cmd->dst,
		.src = cmd->src,
		.width = cmd->width,
		.rows = cmd->rows,
		.dst_pitch = cmd->dst_pitch,
		.src_pitch = cmd->src_pitch,
	};
	struct paccel_transfer t;
	int ret;

	if (cmd->flags & ~PACCEL_COPY_VERIFY)
		return -EINVAL;
	paccel_order_cpu(ucmd->ctx->pd);
	ret = copy_get(ucmd->ctx, &copy, &t);
	if (ret)
		return ret;
	t.verify = cmd->flags & PACCEL_COPY_VERIFY;
	if (transfer_is_pageable(&t))
		ret = transfer_run_pageable(ucmd->ctx, &t);
	else
		ret = transfer_run_whole(ucmd->ctx, &t);
	transfer_put(&t);
	return ret;
}

int paccel_ioctl_fill(struct paccel_ucmd *ucmd)
{
	struct paccel_fill *cmd = ucmd->cmd;
	struct paccel_op_fill fill = {
		.addr = cmd->addr,
		.length = cmd->length,
		.pattern = cmd->pattern,
		.pattern_size = cmd->pattern_size,
		.reserved = cmd->reserved,
	};
	struct paccel_transfer t;
	int ret;

	if (cmd->flags & ~PACCEL_FILL_VERIFY)
		return -EINVAL;
	paccel_order_cpu(ucmd->ctx->pd);
	ret = fill_get(ucmd->ctx, &fill, &t);
	if (ret)
		return ret;
	t.verify = cmd->flags & PACCEL_FILL_VERIFY;
	ret = transfer_run_whole(ucmd->ctx, &t);
	transfer_put(&t);
	return ret;
}

/* In a stream host memory is not pinned, since that may not happen once the job is queued. */
int paccel_copy_prepare(struct paccel_stream_job *job, const struct paccel_op *op)
{
	struct paccel_ctx *ctx = job->stream->ctx;
	struct paccel_transfer t;
	int ret = op->op == PACCEL_OP_FILL ? fill_get(ctx, &op->fill, &t) :
					     copy_get(ctx, &op->copy, &t);

	if (ret)
		return ret;
	t.verify = op->flags & PACCEL_OP_VERIFY;
	ret = transfer_is_pageable(&t) ? -EFAULT : transfer_prepare(&t, &job->base);
	transfer_put(&t);
	return ret;
}
