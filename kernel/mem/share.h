/* SPDX-License-Identifier: GPL-2.0-only */
/* Dma-bufs of our memory, and memory of dma-bufs. */
#ifndef PACCEL_SHARE_H
#define PACCEL_SHARE_H

#include <linux/types.h>

struct dma_buf;
struct dma_buf_ops;
struct paccel_buf;
struct paccel_ctx;
struct paccel_device;
struct work_struct;

/* --- export.c: of device memory --- */

struct dma_buf *paccel_dmabuf_create(const struct dma_buf_ops *ops, void *priv, u64 size);
struct dma_buf *paccel_export_buf(struct paccel_buf *buf);
struct paccel_buf *paccel_dmabuf_to_buf(struct dma_buf *dmabuf);
struct paccel_buf *paccel_dmabuf_get_buf(struct paccel_device *pd, int fd);
void paccel_exports_revoke(struct paccel_device *pd);
void paccel_exports_revoke_work(struct work_struct *work);

/* --- share.c --- */

/* Exports the HOST_ALLOC memory whose mapping begins at @addr, as paccel_mem_export() does. */
struct dma_buf *paccel_host_export(struct paccel_ctx *ctx, u64 addr);
/* Registers the first @length bytes of the dma-buf @fd as a range at @addr. */
int paccel_host_import(struct paccel_ctx *ctx, u64 addr, u64 length, bool read_only, int fd);

#endif
