/* SPDX-License-Identifier: GPL-2.0-only */
/* Make the jobs of copies and fills in SUBMIT. */
#ifndef PACCEL_COPY_H
#define PACCEL_COPY_H

struct paccel_job;
struct paccel_op;
struct paccel_stream;

/*
 * The job is a struct paccel_stream_job of @stream, which is not queued. -EOPNOTSUPP: @op has
 * PACCEL_OP_VERIFY, and verification is not possible.
 */
int paccel_copy_job(struct paccel_stream *stream, const struct paccel_op *op,
		    struct paccel_job **jobp);
int paccel_fill_job(struct paccel_stream *stream, const struct paccel_op *op,
		    struct paccel_job **jobp);

#endif
