/* SPDX-License-Identifier: GPL-2.0-only */
/* File operations, and opening and closing of contexts. */
#ifndef PACCEL_FILE_H
#define PACCEL_FILE_H

#include <linux/fs.h>

struct paccel_ctx;
struct paccel_device;

/*
 * Creates a context for the calling process. Returns a context with one reference, or an ERR_PTR.
 * The caller keeps @pd alive.
 */
struct paccel_ctx *paccel_ctx_open(struct paccel_device *pd);
/*
 * The last reference on the file has been dropped: cancels queued jobs, drops all memory and the
 * reference of paccel_ctx_open(). Does not wait for the device.
 */
void paccel_ctx_close(struct paccel_ctx *ctx);

extern const struct file_operations paccel_fops;

#endif
