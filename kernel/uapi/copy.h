/* SPDX-License-Identifier: GPL-2.0-only */
/* Jobs of the operations that COPY, FILL and SUBMIT are given. */
#ifndef PACCEL_COPY_H
#define PACCEL_COPY_H

#include <linux/types.h>

struct paccel_ctx;
struct paccel_job;
struct paccel_op_copy;
struct paccel_op_fill;

/* @verify: the program wants it. */
int paccel_copy_job(struct paccel_ctx *ctx, const struct paccel_op_copy *copy, bool verify,
		    struct paccel_job **jobp);
int paccel_fill_job(struct paccel_ctx *ctx, const struct paccel_op_fill *fill, bool verify,
		    struct paccel_job **jobp);

#endif
