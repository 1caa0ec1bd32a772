/* SPDX-License-Identifier: GPL-2.0-only */
/* Host memory that is another driver's dma-buf. */
#ifndef PACCEL_IMPORT_H
#define PACCEL_IMPORT_H

#include <linux/types.h>

struct dma_buf;
struct paccel_device;
struct paccel_pages;

int paccel_import_get(struct paccel_pages *p, struct dma_buf *dmabuf);
void paccel_import_put(struct paccel_pages *p);
void paccel_import_detach_all(struct paccel_device *pd);
void paccel_import_release_kept(void);
bool paccel_import_is_readable(const struct paccel_pages *p);
/*
 * Around a job's accesses to what the CPU copies; nothing where the card reaches the memory, or of
 * other pages. _begin_cpu() may wait, interruptibly, for fences of other drivers, so it is called
 * without a lock and before the job is submitted. Each that returns 0 is followed by an
 * _end_cpu(), which may sleep.
 */
int paccel_import_begin_cpu(struct paccel_pages *p, bool write);
void paccel_import_end_cpu(struct paccel_pages *p, bool write);
void paccel_import_read(struct paccel_pages *p, u64 off, void *to, u32 len);
void paccel_import_write(struct paccel_pages *p, u64 off, const void *from, u32 len);

#endif
