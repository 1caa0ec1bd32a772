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
struct paccel_pages;
struct work_struct;

/* --- export.c: of device memory --- */

struct dma_buf *paccel_export_buf(struct paccel_buf *buf);
struct paccel_buf *paccel_dmabuf_to_buf(struct dma_buf *dmabuf);
void paccel_exports_revoke(struct paccel_device *pd);
void paccel_exports_revoke_work(struct work_struct *work);

/* --- share.c --- */

struct dma_buf *paccel_dmabuf_create(const struct dma_buf_ops *ops, void *priv, u64 size);

/*
 * Exports the allocation that begins at @addr, or the HOST_ALLOC memory whose mapping begins at
 * @addr. Returns a new dma-buf with one reference, which the caller owns, or an ERR_PTR; -ENOENT if
 * there is no such memory.
 */
struct dma_buf *paccel_export_mem(struct paccel_ctx *ctx, u64 addr);
struct dma_buf *paccel_export_host(struct paccel_ctx *ctx, u64 addr);
struct paccel_buf *paccel_import_buf(struct paccel_device *pd, int fd);
int paccel_import_check(struct paccel_device *pd, struct dma_buf *dmabuf, u64 length, bool write);
unsigned long paccel_import_cost(struct paccel_device *pd, struct dma_buf *dmabuf, u64 length);
int paccel_pages_import(struct paccel_pages *p, struct paccel_device *pd, struct dma_buf *dmabuf,
			u64 length, bool write);

#endif
