/* SPDX-License-Identifier: GPL-2.0-only */
/* Device memory of a context. */
#ifndef PACCEL_MEM_H
#define PACCEL_MEM_H

#include <linux/types.h>

struct dma_buf;
struct paccel_buf;
struct paccel_ctx;
struct paccel_mem_ref;

/*
 * Allocates device memory, or imports the allocation that the dma-buf @fd was exported from.
 * Returns a map that is not in the context's tree yet, or an ERR_PTR. The caller passes the map to
 * paccel_mem_publish() or to paccel_mem_drop().
 */
struct paccel_mem_ref *paccel_mem_alloc(struct paccel_ctx *ctx, u64 length, u64 align);
struct paccel_mem_ref *paccel_mem_import(struct paccel_ctx *ctx, int fd);
/*
 * Adds @map to the context. If the context has the same allocation already, increments the count of
 * that map and drops @map. Consumes @map, also on failure.
 */
int paccel_mem_publish(struct paccel_ctx *ctx, struct paccel_mem_ref *map);
/* Frees a map that is in no tree: zaps its user mappings, drops its reference. No lock is held. */
void paccel_mem_drop(struct paccel_mem_ref *map);
int paccel_mem_free(struct paccel_ctx *ctx, u64 addr, u64 length);
void paccel_mem_end(struct paccel_ctx *ctx);
/* A counted reference on the allocation that wholly holds the range, or NULL; ctx->lock is held. */
struct paccel_buf *paccel_mem_get(struct paccel_ctx *ctx, u64 addr, u64 length);
/*
 * Exports the allocation that begins at @addr. Returns a new dma-buf with one reference, which the
 * caller owns, or an ERR_PTR; -ENOENT if there is no such allocation.
 */
struct dma_buf *paccel_mem_export(struct paccel_ctx *ctx, u64 addr);

#endif
