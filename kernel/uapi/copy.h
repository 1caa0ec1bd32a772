/* SPDX-License-Identifier: GPL-2.0-only */
/* Make the jobs of copies in SUBMIT, and of fills in SUBMIT and FILL. */
#ifndef PACCEL_COPY_H
#define PACCEL_COPY_H

#include <linux/types.h>

struct paccel_ctx;
struct paccel_job;
struct paccel_op_copy;
struct paccel_op_fill;
struct paccel_stream;

/*
 * @verify: the caller requires verification; -EOPNOTSUPP if it is not possible. @stream: the job is
 * a struct paccel_stream_job of that stream, which has the context @ctx; paccel_fill_job() only: or
 * NULL, and it is of no stream.
 */
int paccel_copy_job(struct paccel_stream *stream, const struct paccel_op_copy *copy, bool verify,
		    struct paccel_job **jobp);
int paccel_fill_job(struct paccel_ctx *ctx, struct paccel_stream *stream,
		    const struct paccel_op_fill *fill, bool verify, struct paccel_job **jobp);

#endif
