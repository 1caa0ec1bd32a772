/* SPDX-License-Identifier: GPL-2.0-only */
/* Device memory of a context. */
#ifndef PACCEL_MEM_H
#define PACCEL_MEM_H

#include <linux/types.h>

struct paccel_buf;
struct paccel_ctx;
struct paccel_map;

/*
 * Device memory that the context does not have yet, or an ERR_PTR: an allocation, or what the
 * dma-buf @fd is of. paccel_mem_publish() or paccel_mem_drop() ends that state.
 */
struct paccel_map *paccel_mem_alloc(struct paccel_ctx *ctx, u64 length, u64 align);
struct paccel_map *paccel_mem_import(struct paccel_ctx *ctx, int fd);
/* Gives it to the context; what that has already counts once more. Takes @map, also on failure. */
int paccel_mem_publish(struct paccel_ctx *ctx, struct paccel_map *map);
/* Of no context: ends its mappings and puts the memory. No lock is held. */
void paccel_mem_drop(struct paccel_map *map);
int paccel_mem_free(struct paccel_ctx *ctx, u64 addr, u64 length);
void paccel_mem_end(struct paccel_ctx *ctx);
/* A counted reference on the allocation that wholly holds the range, or NULL; ctx->lock is held. */
struct paccel_buf *paccel_mem_get(struct paccel_ctx *ctx, u64 addr, u64 length);

const struct paccel_buf *paccel_mem_touch(struct paccel_ctx *ctx, u64 addr);

#endif
