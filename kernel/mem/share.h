/* SPDX-License-Identifier: GPL-2.0-only */
/* Export of device memory and HOST_ALLOC memory as dma-bufs, and import of dma-bufs. */
#ifndef PACCEL_SHARE_H
#define PACCEL_SHARE_H

#include <linux/types.h>

struct dma_buf;
struct dma_buf_ops;
struct paccel_buf;
struct paccel_ctx;
struct paccel_device;
struct work_struct;

/* --- export.c: device memory --- */

/* Returns a new dma-buf with one reference, or an ERR_PTR. */
struct dma_buf *paccel_dmabuf_create(const struct dma_buf_ops *ops, void *priv, u64 size);
/* Returns a new dma-buf, which takes over the reference on @buf, or an ERR_PTR, which does not. */
struct dma_buf *paccel_export_buf(struct paccel_buf *buf);
/* Returns the device memory of a dma-buf, valid as long as that, or NULL. Takes no reference. */
struct paccel_buf *paccel_dmabuf_to_buf(struct dma_buf *dmabuf);
/*
 * MEM_IMPORT: returns a counted reference on the device memory of @pd behind @fd, or an ERR_PTR:
 * -EINVAL, -EXDEV, -ESTALE.
 */
struct paccel_buf *paccel_dmabuf_get_buf(struct paccel_device *pd, int fd);
/*
 * Revokes all exports if the device is being removed, else those whose contents a reset has lost.
 * Waits for DMA requests of other devices. No lock is held. _work() is pd->revoke.
 */
void paccel_exports_revoke(struct paccel_device *pd);
void paccel_exports_revoke_work(struct work_struct *work);

/* --- share.c --- */

/* Exports the HOST_ALLOC memory whose mapping begins at @addr, as paccel_mem_export() does. */
struct dma_buf *paccel_host_export(struct paccel_ctx *ctx, u64 addr);
/*
 * HOST_REGISTER of a dma-buf: adds a range at @addr that stands for its first @length bytes.
 * Returns 0 or -errno. May sleep; no lock is held.
 */
int paccel_host_import(struct paccel_ctx *ctx, u64 addr, u64 length, bool read_only, int fd);

#endif
