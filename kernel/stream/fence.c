// SPDX-License-Identifier: GPL-2.0-only
/*
 * Timeline point exported as a dma_fence. A fence has a lock of its own and a reference on the
 * module, since it may outlive the stream, the file and the device, and its ops are called until it
 * is freed.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "core/compat.h"
#include "core/ctx.h"
#include "core/device.h"
#include "stream/fence.h"
#include "stream/stream.h"

static const char *fence_driver_name(struct dma_fence *base)
{
	return "paccel";
}

static const char *fence_timeline_name(struct dma_fence *base)
{
	return container_of(base, struct paccel_fence, base)->timeline;
}

static void fence_free(struct rcu_head *rcu)
{
	kfree(container_of(rcu, struct paccel_fence, base.rcu));
	/* paccel_end() calls rcu_barrier(), which waits until this function has returned. */
	module_put(THIS_MODULE);
}

/* RCU readers may still access the fence. */
static void fence_release(struct dma_fence *base)
{
	call_rcu(&base->rcu, fence_free);
}

static const struct dma_fence_ops paccel_fence_ops = {
	PACCEL_FENCE_64BIT
	.get_driver_name = fence_driver_name,
	.get_timeline_name = fence_timeline_name,
	.release = fence_release,
};

/* Signals the fence and drops a reference. Process context, no lock held. */
void paccel_fence_signal(struct paccel_fence *fence)
{
	if (fence->error)
		dma_fence_set_error(&fence->base, fence->error);
	dma_fence_signal(&fence->base);
	dma_fence_put(&fence->base);
}

static struct paccel_fence *fence_new(struct paccel_stream *stream, u64 point)
{
	struct paccel_fence *fence = kzalloc(sizeof(*fence), GFP_KERNEL_ACCOUNT);

	if (!fence)
		return NULL;
	/* The caller has an open file of the driver, so the module cannot be unloading. */
	__module_get(THIS_MODULE);
	spin_lock_init(&fence->lock);
	INIT_LIST_HEAD(&fence->node);
	fence->point = point;
	snprintf(fence->timeline, sizeof(fence->timeline), "%s.%llu.%u",
		 dev_name(&stream->ctx->pd->dev), stream->ctx->id, stream->id);
	dma_fence_init64(&fence->base, &paccel_fence_ops, &fence->lock, stream->fence_context,
			 point);
	return fence;
}

/*
 * Returns the fence of @point, or NULL and in @before where to insert it. ctx->work_lock is held.
 */
static struct paccel_fence *fence_find(struct paccel_stream *stream, u64 point,
				       struct list_head **before)
{
	struct paccel_fence *fence;

	/* The list is sorted by point, and most exports are of the last point. */
	list_for_each_entry_reverse(fence, &stream->fences, node)
		if (fence->point <= point)
			break;
	*before = &fence->node;
	return list_entry_is_head(fence, &stream->fences, node) || fence->point != point ?
	       NULL : fence;
}

/*
 * All exports of a point share its fence, which bounds the number of fences of a stream. Each
 * export of a point that has been reached gets a fence of its own, which is already signalled.
 */
struct dma_fence *paccel_fence_get(struct paccel_stream *stream, u64 point)
{
	struct paccel_fence *shared = NULL, *fresh = fence_new(stream, point);
	struct list_head *before;
	bool ended;

	if (!fresh)
		return NULL;
	spin_lock(&stream->ctx->work_lock);
	ended = point <= stream->done;
	if (ended)
		fresh->error = paccel_stream_error(stream, point);
	else
		shared = fence_find(stream, point, &before);
	/* The second reference on @fresh is for stream->fences, or for paccel_fence_signal(). */
	dma_fence_get(shared ? &shared->base : &fresh->base);
	if (!shared && !ended)
		list_add(&fresh->node, before);
	spin_unlock(&stream->ctx->work_lock);
	if (ended)
		paccel_fence_signal(fresh);
	if (!shared)
		return &fresh->base;
	/* @fresh has never been in use, so it is freed without being signalled. */
	dma_fence_put(&fresh->base);
	return &shared->base;
}
