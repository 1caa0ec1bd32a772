/* SPDX-License-Identifier: GPL-2.0-only */
/* Creation of the jobs of copies and fills in SUBMIT. */
#ifndef PACCEL_COPY_H
#define PACCEL_COPY_H

struct paccel_op;
struct paccel_stream_job;

/*
 * Checks a PACCEL_OP_COPY or PACCEL_OP_FILL, and makes the new job @job one of it, with references
 * on the memory. Returns 0, or the error of SUBMIT: the caller drops the job. -EOPNOTSUPP: @op has
 * PACCEL_OP_VERIFY, and verification is not supported. May sleep; no lock is held.
 */
int paccel_copy_prepare(struct paccel_stream_job *job, const struct paccel_op *op);

#endif
