/* SPDX-License-Identifier: GPL-2.0-only */
/* An open file. */
#ifndef PACCEL_FILE_H
#define PACCEL_FILE_H

#include <linux/fs.h>

struct paccel_ctx;
struct paccel_device;

struct paccel_ctx *paccel_ctx_open(struct paccel_device *pd);
void paccel_ctx_close(struct paccel_ctx *ctx);

extern const struct file_operations paccel_fops;

#endif
