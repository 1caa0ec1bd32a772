// SPDX-License-Identifier: GPL-2.0-only
/*
 * COPY and FILL: all that a caller can get wrong is found here, before a job exists.
 *
 * Host memory that lies in a host range is used as it is. Any other is pinned for the time of the
 * copy, slice by slice, each slice a job of its own, so that a copy of any size holds a bounded
 * number of pages.
 */
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "paccel.h"

/* A checked copy: rows of @width bytes between two rectangles, and what they lie in. */
struct paccel_transfer {
	enum paccel_op op;
	struct paccel_rect dst;
	struct paccel_rect src;
	u64 width;
	u64 rows;
	struct paccel_buf *dst_buf;
	struct paccel_buf *src_buf;
	struct paccel_host *host;
};

/* From the first byte of the rectangle to its last: @span bytes. Returns -EINVAL if that wraps. */
static int rect_span(const struct paccel_rect *rect, u64 width, u64 rows, u64 *span)
{
	u64 end;

	if (rows > 1 && rect->pitch < width)
		return -EINVAL;
	if (check_mul_overflow(rows - 1, rect->pitch, span) ||
	    check_add_overflow(*span, width, span))
		return -EINVAL;
	return check_add_overflow(rect->start, *span - 1, &end) ? -EINVAL : 0;
}

/*
 * Do the rows of two rectangles of equal pitch share a byte? @delta is the distance of their
 * starts; row i of one and row i - k of the other are @delta - k * pitch apart.
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

static bool overlap(const struct paccel_transfer *t, u64 dst_span, u64 src_span)
{
	u64 low = min(t->dst.start, t->src.start);
	u64 delta = max(t->dst.start, t->src.start) - low;

	if (delta >= (low == t->dst.start ? dst_span : src_span))
		return false;
	if (t->rows > 1 && t->dst.pitch != t->src.pitch)
		return true;
	return rows_overlap(delta, t->dst.pitch, t->width, t->rows);
}

/* Rows that lie without a gap on both sides are one row. */
static void flatten(struct paccel_transfer *t)
{
	if (t->rows > 1 && t->dst.pitch == t->width && t->src.pitch == t->width) {
		t->width *= t->rows;
		t->rows = 1;
	}
}

static bool dst_is_host(const struct paccel_transfer *t)
{
	return t->op == PACCEL_OP_D2H;
}

static bool src_is_host(const struct paccel_transfer *t)
{
	return t->op == PACCEL_OP_H2D;
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

/* Finds what the two sides lie in and takes references, so that it stays for the whole copy. */
static int transfer_get(struct paccel_ctx *ctx, struct paccel_transfer *t,
			u64 dst_span, u64 src_span)
{
	struct paccel_range *r = NULL;

	guard(mutex)(&ctx->lock);
	if (dst_is_host(t))
		r = paccel_range_find(&ctx->hosts, t->dst.start, dst_span);
	else
		t->dst_buf = paccel_mem_get(ctx, t->dst.start, dst_span);
	if (src_is_host(t))
		r = paccel_range_find(&ctx->hosts, t->src.start, src_span);
	else if (t->op != PACCEL_OP_FILL)
		t->src_buf = paccel_mem_get(ctx, t->src.start, src_span);
	if (r) {
		t->host = container_of(r, struct paccel_host, addr);
		kref_get(&t->host->ref);
	}
	if (!dst_is_host(t) && !t->dst_buf)
		return -EFAULT;
	if (!src_is_host(t) && t->op != PACCEL_OP_FILL && !t->src_buf)
		return -EFAULT;
	return 0;
}

static struct paccel_job *job_of(struct paccel_ctx *ctx, const struct paccel_transfer *t)
{
	struct paccel_job *job = paccel_job_alloc(ctx->pd, t->op, GFP_KERNEL_ACCOUNT);

	if (!job)
		return NULL;
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
	return job;
}

/* In one job: inside the device, or with a host range. */
static int run_whole(struct paccel_ctx *ctx, const struct paccel_transfer *t)
{
	struct paccel_job *job;
	int ret;

	if (t->host) {
		ret = paccel_host_use(t->host, dst_is_host(t));
		if (ret)
			return ret;
	}
	job = job_of(ctx, t);
	if (!job)
		return -ENOMEM;
	if (t->host) {
		struct paccel_rect *side = dst_is_host(t) ? &job->dst : &job->src;

		kref_get(&t->host->ref);
		job->host = t->host;
		job->pages = &t->host->pages;
		side->start -= t->host->addr.start;
		paccel_pages_seek(job->pages, &job->cursor, side->start);
	}
	return paccel_job_run(ctx, job);
}

/* One slice of pageable memory: pinned, copied, unpinned. */
static int run_slice(struct paccel_ctx *ctx, const struct paccel_transfer *t)
{
	const struct paccel_rect *host = dst_is_host(t) ? &t->dst : &t->src;
	u64 span = (t->rows - 1) * host->pitch + t->width;
	struct paccel_job *job = job_of(ctx, t);
	int ret;

	if (!job)
		return -ENOMEM;
	ret = paccel_pages_pin(&job->own, ctx->pd, host->start, span, dst_is_host(t), 0);
	if (ret) {
		paccel_job_release(job);
		paccel_job_put(job);
		return ret;
	}
	paccel_pages_map(&job->own);
	job->pages = &job->own;
	if (dst_is_host(t))
		job->dst.start = 0;
	else
		job->src.start = 0;
	return paccel_job_run(ctx, job);
}

/*
 * How many whole rows fit into a slice; 0: not even one. Where whole pages may lie between rows
 * that the copy does not touch, and that need not be mapped, rows are taken one by one.
 */
static u64 rows_per_slice(const struct paccel_rect *host, u64 width)
{
	if (width > PACCEL_SLICE)
		return 0;
	if (host->pitch - width >= PAGE_SIZE)
		return 1;
	return (PACCEL_SLICE - width) / host->pitch + 1;
}

static int run_pageable(struct paccel_ctx *ctx, const struct paccel_transfer *t)
{
	const struct paccel_rect *host = dst_is_host(t) ? &t->dst : &t->src;
	u64 per_slice = t->rows == 1 ? t->width <= PACCEL_SLICE : rows_per_slice(host, t->width);
	u64 row = 0, col = 0;
	int ret = 0;

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
		ret = run_slice(ctx, &s);
	}
	return ret;
}

static int transfer_run(struct paccel_ctx *ctx, struct paccel_transfer *t,
			u64 dst_span, u64 src_span)
{
	int ret = transfer_get(ctx, t, dst_span, src_span);

	if (!ret) {
		flatten(t);
		if (!t->host && (dst_is_host(t) || src_is_host(t)))
			ret = run_pageable(ctx, t);
		else
			ret = run_whole(ctx, t);
	}
	transfer_put(t);
	return ret;
}

int paccel_ioctl_copy(struct paccel_ucmd *ucmd)
{
	struct paccel_copy *cmd = ucmd->cmd;
	struct paccel_transfer t = {
		.op = cmd->dir,
		.dst = { .start = cmd->dst, .pitch = cmd->dst_pitch },
		.src = { .start = cmd->src, .pitch = cmd->src_pitch },
		.width = cmd->width,
		.rows = cmd->rows,
	};
	u64 dst_span, src_span;

	if (cmd->flags || cmd->reserved || !cmd->width || !cmd->rows)
		return -EINVAL;
	if (cmd->dir < PACCEL_COPY_H2D || cmd->dir > PACCEL_COPY_D2D)
		return -EINVAL;
	/* With one row a pitch is either not given or could be one. */
	if ((cmd->dst_pitch && cmd->dst_pitch < cmd->width) ||
	    (cmd->src_pitch && cmd->src_pitch < cmd->width))
		return -EINVAL;
	if (rect_span(&t.dst, t.width, t.rows, &dst_span) ||
	    rect_span(&t.src, t.width, t.rows, &src_span))
		return -EINVAL;
	if (t.op == PACCEL_OP_D2D && overlap(&t, dst_span, src_span))
		return -EINVAL;
	if ((dst_is_host(&t) && !access_ok(u64_to_user_ptr(cmd->dst), dst_span)) ||
	    (src_is_host(&t) && !access_ok(u64_to_user_ptr(cmd->src), src_span)))
		return -EFAULT;
	return transfer_run(ucmd->ctx, &t, dst_span, src_span);
}

/* The pattern as often as it fits into 8 bytes; -EINVAL if it is larger than its size. */
static int repeat_pattern(u64 pattern, u32 size, u64 *repeated)
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

int paccel_ioctl_fill(struct paccel_ucmd *ucmd)
{
	struct paccel_fill *cmd = ucmd->cmd;
	struct paccel_transfer t = {
		.op = PACCEL_OP_FILL,
		.dst = { .start = cmd->addr },
		.width = cmd->length,
		.rows = 1,
	};
	struct paccel_job *job;
	u64 pattern, span;
	int ret;

	if (cmd->flags || cmd->reserved || !cmd->length)
		return -EINVAL;
	ret = repeat_pattern(cmd->pattern, cmd->pattern_size, &pattern);
	if (ret)
		return ret;
	if (cmd->length % cmd->pattern_size || rect_span(&t.dst, t.width, 1, &span))
		return -EINVAL;
	ret = transfer_get(ucmd->ctx, &t, span, 0);
	if (ret)
		goto put;
	ret = -ENOMEM;
	job = job_of(ucmd->ctx, &t);
	if (!job)
		goto put;
	job->pattern = pattern;
	ret = paccel_job_run(ucmd->ctx, job);
put:
	transfer_put(&t);
	return ret;
}
