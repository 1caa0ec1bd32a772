/* SPDX-License-Identifier: GPL-2.0-only */
/* Dma-bufs of other drivers, or of device memory of other devices, as host memory. */
#ifndef PACCEL_IMPORT_H
#define PACCEL_IMPORT_H

#include <linux/types.h>

struct dma_buf;
struct paccel_device;
struct paccel_pages;

/*
 * Attaches the device to the first @p->length bytes of @dmabuf and maps them for DMA, or, if that
 * is not possible, maps them for the CPU. Takes a reference on @dmabuf. Returns 0, or -errno and
 * has nothing to release. May wait for fences of other drivers: no lock of the driver is held.
 * paccel_import_put() undoes it; no DMA request uses the pages then.
 */
int paccel_import_get(struct paccel_pages *p, struct dma_buf *dmabuf);
void paccel_import_put(struct paccel_pages *p);
/* Ends all attachments of a device that no longer accesses host memory. No lock is held. */
void paccel_import_detach_all(struct paccel_device *pd);
/*
 * Queues work that releases imports which were kept because a device might still write to them, and
 * no longer does. Any context.
 */
void paccel_import_release_kept(void);
/* Returns whether the import is mapped for the CPU, and not for the device. */
bool paccel_import_is_readable(const struct paccel_pages *p);
/*
 * Begin and end accesses of a job by the CPU. They do nothing if @p is not an import that is mapped
 * for the CPU. _begin_cpu() waits, interruptibly, for fences of other drivers, so it is called
 * without a lock and before the job is submitted. Returns 0; -ERESTARTNOINTR: a signal, and the
 * system call is restarted; -ENOMEM; or -EIO. After 0, the caller calls _end_cpu(), which may
 * sleep.
 */
int paccel_import_begin_cpu(struct paccel_pages *p, bool write);
void paccel_import_end_cpu(struct paccel_pages *p, bool write);
/* Copy bytes from and to an import that is mapped for the CPU, between the two functions above. */
void paccel_import_read(struct paccel_pages *p, u64 off, void *to, u32 len);
void paccel_import_write(struct paccel_pages *p, u64 off, const void *from, u32 len);

#endif
