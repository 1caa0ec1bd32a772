// SPDX-License-Identifier: GPL-2.0-only
/* Device memory of a context: its allocations. */
#include <linux/slab.h>

#include "core/ctx.h"
#include "core/range.h"
#include "mem/map.h"
#include "mem/mem.h"
#include "mem/pool.h"
#include "mem/share.h"

static struct paccel_mem_ref *to_mem_ref(struct paccel_range *r)
{
	return r ? container_of(r, struct paccel_mem_ref, range) : NULL;
}

struct paccel_buf *paccel_mem_get(struct paccel_ctx *ctx, u64 addr, u64 length)
{
	struct paccel_mem_ref *map;

	lockdep_assert_held(&ctx->lock);
	map = to_mem_ref(paccel_range_find(&ctx->maps, addr, length));
	if (!map)
		return NULL;
	kref_get(&map->buf->ref);
	return map->buf;
}

static void mem_ref_init(struct paccel_mem_ref *map, struct paccel_buf *buf)
{
	map->buf = buf;
	map->count = 1;
	map->touched = false;
	map->range.start = buf->start;
	map->range.last = buf->start + buf->length - 1;
}

static int mem_insert(struct paccel_ctx *ctx, struct paccel_mem_ref *map)
{
	int ret;

	lockdep_assert_held(&ctx->lock);
	ret = paccel_range_insert(&ctx->maps, &map->range);
	/* Allocations do not overlap. */
	if (WARN_ON_ONCE(ret))
		return ret;
	ctx->nr_maps++;
	ctx->bytes += map->buf->size;
	return 0;
}

/* If there is no room, waits for jobs that have ended to drop their references on freed memory. */
static int mem_alloc_buf(struct paccel_ctx *ctx, u64 length, u64 align, struct paccel_buf **bufp)
{
	u64 mark = paccel_ctx_releasing(ctx);
	int ret = paccel_pool_alloc(ctx->pd, ctx->user, length, align, bufp);

	if ((ret != -ENOMEM && ret != -EDQUOT) || !mark)
		return ret;
	ret = paccel_ctx_wait_released(ctx, mark);
	return ret ?: paccel_pool_alloc(ctx->pd, ctx->user, length, align, bufp);
}

struct paccel_mem_ref *paccel_mem_alloc(struct paccel_ctx *ctx, u64 length, u64 align)
{
	struct paccel_buf *buf;
	int ret = mem_alloc_buf(ctx, length, align, &buf);

	if (ret)
		return ERR_PTR(ret);
	mem_ref_init(&buf->first, buf);
	return &buf->first;
}

struct paccel_mem_ref *paccel_mem_import(struct paccel_ctx *ctx, int fd)
{
	struct paccel_buf *buf = paccel_dmabuf_get_buf(ctx->pd, fd);
	struct paccel_mem_ref *map;

	if (IS_ERR(buf))
		return ERR_CAST(buf);
	map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	if (!map) {
		paccel_buf_put(buf);
		return ERR_PTR(-ENOMEM);
	}
	mem_ref_init(map, buf);
	return map;
}

struct dma_buf *paccel_mem_export(struct paccel_ctx *ctx, u64 addr)
{
	struct dma_buf *dmabuf = ERR_PTR(-ENOENT);
	struct paccel_buf *buf;

	mutex_lock(&ctx->lock);
	buf = paccel_mem_get(ctx, addr, 1);
	mutex_unlock(&ctx->lock);
	if (!buf)
		return dmabuf;
	if (buf->start == addr)
		dmabuf = paccel_export_buf(buf);
	if (IS_ERR(dmabuf))
		paccel_buf_put(buf);
	return dmabuf;
}

/* Removes the allocation from the context. ctx->lock is held. The caller drops the reference. */
static void mem_detach(struct paccel_ctx *ctx, struct paccel_mem_ref *map)
{
	rb_erase(&map->range.node, &ctx->maps);
	ctx->nr_maps--;
	ctx->bytes -= map->buf->size;
}

void paccel_mem_drop(struct paccel_mem_ref *map)
{
	struct paccel_buf *buf = map->buf;

	if (map->touched)
		paccel_map_zap(buf->pd, buf->start, buf->size);
	if (map != &buf->first)
		kfree(map);
	paccel_buf_put(buf);
}

/* Returns the allocation to free, or an ERR_PTR. ctx->lock is held. */
static struct paccel_mem_ref *mem_find(struct paccel_ctx *ctx, u64 addr, u64 length)
{
	struct paccel_mem_ref *map = to_mem_ref(paccel_range_at(&ctx->maps, addr));

	if (!map)
		return ERR_PTR(-ENOENT);
	if (map->range.last - map->range.start + 1 != length)
		return ERR_PTR(-EINVAL);
	return map;
}

int paccel_mem_publish(struct paccel_ctx *ctx, struct paccel_mem_ref *map)
{
	struct paccel_mem_ref *first;
	bool again;
	int ret = 0;

	mutex_lock(&ctx->lock);
	first = to_mem_ref(paccel_range_at(&ctx->maps, map->range.start));
	again = first && first->buf == map->buf;
	if (again)
		first->count++;
	else
		ret = mem_insert(ctx, map);
	mutex_unlock(&ctx->lock);
	if (again || ret)
		paccel_mem_drop(map);
	return ret;
}

int paccel_mem_free(struct paccel_ctx *ctx, u64 addr, u64 length)
{
	struct paccel_mem_ref *map;
	bool last;

	mutex_lock(&ctx->lock);
	map = mem_find(ctx, addr, length);
	last = !IS_ERR(map) && !--map->count;
	if (last)
		mem_detach(ctx, map);
	mutex_unlock(&ctx->lock);
	if (!last)
		return PTR_ERR_OR_ZERO(map);
	paccel_mem_drop(map);
	return 0;
}

void paccel_mem_end(struct paccel_ctx *ctx)
{
	struct paccel_mem_ref *map;
	struct rb_node *node;

	for (;;) {
		mutex_lock(&ctx->lock);
		node = rb_first(&ctx->maps);
		map = node ? container_of(node, struct paccel_mem_ref, range.node) : NULL;
		if (map)
			mem_detach(ctx, map);
		mutex_unlock(&ctx->lock);
		if (!map)
			return;
		paccel_mem_drop(map);
	}
}
