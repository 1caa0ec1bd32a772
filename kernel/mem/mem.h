/* SPDX-License-Identifier: GPL-2.0-only */
/* Allocations of device memory of a context. All functions may sleep. */
#ifndef PACCEL_MEM_H
#define PACCEL_MEM_H

#include <linux/types.h>

struct dma_buf;
struct paccel_buf;
struct paccel_ctx;
struct paccel_mem_ref;

/*
 * Allocates device memory, or imports the allocation that the dma-buf @fd was exported from.
 * Returns a struct paccel_mem_ref that is not in ctx->maps yet, or an ERR_PTR. The caller passes it
 * to paccel_mem_publish() or to paccel_mem_drop(). No lock is held.
 */
struct paccel_mem_ref *paccel_mem_alloc(struct paccel_ctx *ctx, u64 length, u64 align);
struct paccel_mem_ref *paccel_mem_import(struct paccel_ctx *ctx, int fd);
/*
 * Adds @map to ctx->maps. If the context has the same allocation already, increments the count of
 * that entry and drops @map. Consumes @map, also on failure. Returns 0 or -errno. No lock is held.
 */
int paccel_mem_publish(struct paccel_ctx *ctx, struct paccel_mem_ref *map);
/*
 * Frees @map, which is not in ctx->maps: zaps its user mappings, drops its reference. No lock is
 * held.
 */
void paccel_mem_drop(struct paccel_mem_ref *map);
/*
 * Decrements the count of the allocation that begins at @addr, and removes it at 0. Returns 0;
 * -ENOENT: no such allocation; -EINVAL: its length is not @length. No lock is held.
 */
int paccel_mem_free(struct paccel_ctx *ctx, u64 addr, u64 length);
/* The context has ended: drops all allocations. No lock is held. */
void paccel_mem_end(struct paccel_ctx *ctx);
/*
 * Returns a counted reference on the allocation that contains the range, or NULL. ctx->lock is
 * held.
 */
struct paccel_buf *paccel_mem_get(struct paccel_ctx *ctx, u64 addr, u64 length);
/*
 * Exports the allocation that begins at @addr. Returns a new dma-buf with one reference, which the
 * caller owns, or an ERR_PTR; -ENOENT if there is no such allocation. No lock is held.
 */
struct dma_buf *paccel_mem_export(struct paccel_ctx *ctx, u64 addr);

#endif
