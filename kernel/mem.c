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

static int mem_publish(struct paccel_ctx *ctx, struct paccel_map *map)
{
	int ret;

	guard(mutex)(&ctx->lock);
	ret = paccel_range_insert(&ctx->maps, &map->range);
	/* The pool gives no byte twice. */
	if (WARN_ON_ONCE(ret))
		return ret;
	ctx->nr_maps++;
	ctx->bytes += map->buf->size;
	return 0;
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

static int mem_alloc(struct paccel_ctx *ctx, struct paccel_ucmd *ucmd)
{
	struct paccel_mem_alloc *cmd = ucmd->cmd;
	struct paccel_map *map;
	int ret;

	map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	if (!map)
		return -ENOMEM;
	ret = paccel_pool_alloc(ctx->pd, ctx->user, cmd->length, cmd->align, &map->buf);
	if (ret)
		goto free_map;
	map->range.start = map->buf->start;
	map->range.last = map->buf->start + cmd->length - 1;

	cmd->addr = map->buf->start;
	ret = paccel_reply(ucmd);
	if (ret)
		goto put_buf;
	ret = mem_publish(ctx, map);
	if (ret)
		goto put_buf;
	return 0;

put_buf:
	paccel_buf_put(map->buf);
free_map:
	kfree(map);
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

/* Takes the allocation out of the context; ctx->lock is held. The caller puts its buf. */
static void mem_detach(struct paccel_ctx *ctx, struct paccel_map *map)
{
	rb_erase(&map->range.node, &ctx->maps);
	ctx->nr_maps--;
	ctx->bytes -= map->buf->size;
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

	if (cmd->flags)
		return -EINVAL;
	mutex_lock(&ctx->lock);
	map = mem_find(ctx, cmd->addr, cmd->length);
	if (!IS_ERR(map))
		mem_detach(ctx, map);
	mutex_unlock(&ctx->lock);
	if (IS_ERR(map))
		return PTR_ERR(map);
	paccel_buf_put(map->buf);
	kfree(map);
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
		paccel_buf_put(map->buf);
		kfree(map);
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
