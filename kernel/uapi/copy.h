/* SPDX-License-Identifier: GPL-2.0-only */
/* Creation of the jobs of copies and fills in SUBMIT. */
#ifndef PACCEL_COPY_H
#define PACCEL_COPY_H

struct paccel_job;
struct paccel_op;
struct paccel_stream;

/*
 * Check the arguments, take references on the memory and create a job with one reference in @jobp:
 * a struct paccel_stream_job of @stream, which is not queued. Return 0, or the error of SUBMIT.
 * -EOPNOTSUPP: @op has PACCEL_OP_VERIFY, and verification is not supported. May sleep; no lock is
 * held.
 */
int paccel_copy_job(struct paccel_stream *stream, const struct paccel_op *op,
		    struct paccel_job **jobp);
int paccel_fill_job(struct paccel_stream *stream, const struct paccel_op *op,
		    struct paccel_job **jobp);

#endif
