// SPDX-License-Identifier: GPL-2.0-only
/* Device memory of a context: which allocations it has, and the ioctls about them. */
#include <linux/log2.h>
#include <linux/slab.h>

#include "paccel.h"

static struct paccel_map *to_map(struct paccel_range *r)
{
	return r ? container_of(r, struct paccel_map, range) : NULL;
}

struct paccel_buf *paccel_mem_get(struct paccel_ctx *ctx, u64 addr, u64 length)
{
	struct paccel_map *map;

	lockdep_assert_held(&ctx->lock);
	map = to_map(paccel_range_find(&ctx->maps, addr, length));
	if (!map)
		return NULL;
	kref_get(&map->buf->ref);
	return map->buf;
}

/*
 * The allocation that a page at this address is all of, or NULL: whatever takes it out of the
 * context zaps the page. ctx->lock is held, and is until the page has been put in.
 */
const struct paccel_buf *paccel_mem_touch(struct paccel_ctx *ctx, u64 addr)
{
	struct paccel_map *map;

	lockdep_assert_held(&ctx->lock);
	/* Bytes are the program's own up to the end of the granule, and that is a page at least. */
	map = to_map(paccel_range_find(&ctx->maps, addr, 1));
	if (!map)
		return NULL;
	map->touched = true;
	return map->buf;
}

static void map_set(struct paccel_map *map, struct paccel_buf *buf)
{
	map->buf = buf;
	map->count = 1;
	map->touched = false;
	map->range.start = buf->start;
	map->range.last = buf->start + buf->length - 1;
}

static int mem_insert(struct paccel_ctx *ctx, struct paccel_map *map)
{
	int ret;

	lockdep_assert_held(&ctx->lock);
	ret = paccel_range_insert(&ctx->maps, &map->range);
	/* The pool gives no byte twice. */
	if (WARN_ON_ONCE(ret))
		return ret;
	ctx->nr_maps++;
	ctx->bytes += map->buf->size;
	return 0;
}

static int mem_publish(struct paccel_ctx *ctx, struct paccel_map *map)
{
	guard(mutex)(&ctx->lock);
	return mem_insert(ctx, map);
}

static int alloc_check(const struct paccel_mem_alloc *cmd)
{
	if (cmd->flags & ~PACCEL_MEM_MAPPABLE)
		return -EINVAL;
	if (!cmd->length || cmd->align > PACCEL_MAX_ALIGN)
		return -EINVAL;
	if (cmd->align && !is_power_of_2(cmd->align))
		return -EINVAL;
	return 0;
}

/* What was freed after a point had been reached is free, too, once the work has let go of it. */
static int pool_alloc(struct paccel_ctx *ctx, u64 length, u64 align, struct paccel_buf **bufp)
{
	u64 mark = paccel_ctx_releasing(ctx);
	int ret = paccel_pool_alloc(ctx->pd, ctx->user, length, align, bufp);

	if ((ret != -ENOMEM && ret != -EDQUOT) || !mark)
		return ret;
	ret = paccel_ctx_wait_released(ctx, mark);
	return ret ?: paccel_pool_alloc(ctx->pd, ctx->user, length, align, bufp);
}

static int mem_alloc(struct paccel_ctx *ctx, struct paccel_ucmd *ucmd)
{
	struct paccel_mem_alloc *cmd = ucmd->cmd;
	struct paccel_buf *buf;
	int ret;

	ret = pool_alloc(ctx, cmd->length, cmd->align, &buf);
	if (ret)
		return ret;
	map_set(&buf->first, buf);

	cmd->addr = buf->start;
	ret = paccel_reply(ucmd);
	if (ret)
		goto put_buf;
	ret = mem_publish(ctx, &buf->first);
	if (ret)
		goto put_buf;
	return 0;

put_buf:
	paccel_buf_put(buf);
	return ret;
}

int paccel_ioctl_mem_alloc(struct paccel_ucmd *ucmd)
{
	struct paccel_device *pd = ucmd->ctx->pd;
	struct paccel_mem_alloc *cmd = ucmd->cmd;
	int ret;

	ret = alloc_check(cmd);
	if (ret)
		return ret;
	if ((cmd->flags & PACCEL_MEM_MAPPABLE) && !(paccel_device_caps(pd) & PACCEL_CAP_MAPPABLE))
		return -EOPNOTSUPP;
	ret = mem_alloc(ucmd->ctx, ucmd);
	if (!ret)
		atomic64_inc(&pd->count.allocs);
	else if (ret == -ENOMEM || ret == -EDQUOT)
		atomic64_inc(&pd->count.alloc_failures);
	return ret;
}

/* Counts once more what the context has already, and then has no use for @map; else inserts it. */
static int import_publish(struct paccel_ctx *ctx, struct paccel_map *map, bool *again)
{
	struct paccel_map *first;

	guard(mutex)(&ctx->lock);
	first = to_map(paccel_range_at(&ctx->maps, map->range.start));
	*again = first && first->buf == map->buf;
	if (!*again)
		return mem_insert(ctx, map);
	first->count++;
	return 0;
}

static int mem_import(struct paccel_ctx *ctx, struct paccel_ucmd *ucmd, struct paccel_buf *buf)
{
	struct paccel_map *map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	struct paccel_mem_import *cmd = ucmd->cmd;
	bool again = false;
	int ret = -ENOMEM;

	if (!map)
		goto put_buf;
	map_set(map, buf);
	cmd->addr = buf->start;
	cmd->length = buf->length;
	ret = paccel_reply(ucmd);
	if (!ret)
		ret = import_publish(ctx, map, &again);
	if (!ret && !again)
		return 0;
	kfree(map);
put_buf:
	paccel_buf_put(buf);
	return ret;
}

int paccel_ioctl_mem_import(struct paccel_ucmd *ucmd)
{
	struct paccel_mem_import *cmd = ucmd->cmd;
	struct paccel_buf *buf;

	if (cmd->flags || cmd->reserved)
		return -EINVAL;
	buf = paccel_share_buf(ucmd->ctx->pd, cmd->fd);
	return IS_ERR(buf) ? PTR_ERR(buf) : mem_import(ucmd->ctx, ucmd, buf);
}

/* Takes the allocation out of the context; ctx->lock is held. The caller drops it. */
static void mem_detach(struct paccel_ctx *ctx, struct paccel_map *map)
{
	rb_erase(&map->range.node, &ctx->maps);
	ctx->nr_maps--;
	ctx->bytes -= map->buf->size;
}

/* What has been taken out, with no lock held: nobody has it by the context when this returns. */
static void mem_drop(struct paccel_map *map)
{
	struct paccel_buf *buf = map->buf;

	if (map->touched)
		paccel_map_zap(buf->pd, buf->start, buf->size);
	if (map != &buf->first)
		kfree(map);
	paccel_buf_put(buf);
}

/* The map to free, or an ERR_PTR; ctx->lock is held. */
static struct paccel_map *mem_find(struct paccel_ctx *ctx, u64 addr, u64 length)
{
	struct paccel_map *map = to_map(paccel_range_at(&ctx->maps, addr));

	if (!map)
		return ERR_PTR(-ENOENT);
	if (map->range.last - map->range.start + 1 != length)
		return ERR_PTR(-EINVAL);
	return map;
}

int paccel_ioctl_mem_free(struct paccel_ucmd *ucmd)
{
	struct paccel_mem_free *cmd = ucmd->cmd;
	struct paccel_ctx *ctx = ucmd->ctx;
	struct paccel_map *map;
	bool last;

	if (cmd->flags)
		return -EINVAL;
	mutex_lock(&ctx->lock);
	map = mem_find(ctx, cmd->addr, cmd->length);
	last = !IS_ERR(map) && !--map->count;
	if (last)
		mem_detach(ctx, map);
	mutex_unlock(&ctx->lock);
	if (!last)
		return PTR_ERR_OR_ZERO(map);
	mem_drop(map);
	return 0;
}

/* The context has ended: drops all that it has. */
void paccel_mem_end(struct paccel_ctx *ctx)
{
	struct paccel_map *map;
	struct rb_node *node;

	for (;;) {
		mutex_lock(&ctx->lock);
		node = rb_first(&ctx->maps);
		map = node ? container_of(node, struct paccel_map, range.node) : NULL;
		if (map)
			mem_detach(ctx, map);
		mutex_unlock(&ctx->lock);
		if (!map)
			return;
		mem_drop(map);
	}
}

int paccel_ioctl_mem_stats(struct paccel_ucmd *ucmd)
{
	struct paccel_mem_stats *cmd = ucmd->cmd;
	struct paccel_ctx *ctx = ucmd->ctx;
	struct paccel_counters *count = &ctx->pd->count;

	if (cmd->flags)
		return -EINVAL;
	*cmd = (struct paccel_mem_stats) {
		.size = cmd->size,
		.allocs = atomic64_read(&count->allocs),
		.alloc_failures = atomic64_read(&count->alloc_failures),
		.bytes_h2d = atomic64_read(&count->h2d),
		.bytes_d2h = atomic64_read(&count->d2h),
		.bytes_d2d = atomic64_read(&count->d2d),
		.bytes_filled = atomic64_read(&count->filled),
		.bytes_scrubbed = atomic64_read(&count->scrubbed),
		.xfers = atomic64_read(&count->xfers),
	};
	mutex_lock(&ctx->lock);
	cmd->mine = ctx->bytes;
	cmd->mine_allocs = ctx->nr_maps;
	paccel_pool_stats(ctx->pd, ctx->user, cmd);
	mutex_unlock(&ctx->lock);
	return paccel_reply(ucmd);
}
