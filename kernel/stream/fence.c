// SPDX-License-Identifier: GPL-2.0-only
/*
 * A point as the rest of the kernel sees it: a dma_fence. It has a lock of its own and a reference
 * on the module, because a fence outlives the stream, the file and the card, and calls its ops as
 * long as it lives.
 */
#include <linux/module.h>
#include <linux/slab.h>

#include "core/compat.h"
#include "core/ctx.h"
#include "core/device.h"
#include "stream/fence.h"
#include "stream/stream.h"

static struct paccel_fence *to_paccel_fence(struct dma_fence *base)
{
	return container_of(base, struct paccel_fence, base);
}

static const char *fence_driver_name(struct dma_fence *base)
{
	return "paccel";
}

static const char *fence_timeline_name(struct dma_fence *base)
{
	return to_paccel_fence(base)->timeline;
}

static void fence_free(struct rcu_head *rcu)
{
	kfree(container_of(rcu, struct paccel_fence, base.rcu));
	/* paccel_exit_module() waits until this function has returned. */
	module_put(THIS_MODULE);
}

/* Readers under RCU may still look at it. */
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

/* Takes over a reference. Process context, no lock held. */
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
	/* The caller has an open file of ours. */
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

/* The fence of that point, or where it belongs; ctx->work_lock is held. */
static struct paccel_fence *fence_find(struct paccel_stream *stream, u64 point,
				       struct list_head **before)
{
	struct paccel_fence *fence;

	/* In order of points; most are asked for at the end. */
	list_for_each_entry_reverse(fence, &stream->fences, node)
		if (fence->point <= point)
			break;
	*before = &fence->node;
	return list_entry_is_head(fence, &stream->fences, node) || fence->point != point ?
	       NULL : fence;
}

/*
 * The fence that all exports of a point share, which bounds how many a stream has: a counted
 * reference. @fresh is used if there is none yet. A point that has ended gets its own, which is
 * signalled.
 */
static struct paccel_fence *fence_get(struct paccel_stream *stream, struct paccel_fence *fresh)
{
	struct paccel_ctx *ctx = stream->ctx;
	struct paccel_fence *fence = NULL;
	struct list_head *before;
	bool ended;

	dma_fence_get(&fresh->base);
	spin_lock(&ctx->work_lock);
	ended = fresh->point <= stream->done;
	if (ended)
		fresh->error = paccel_stream_error(stream, fresh->point);
	else
		fence = fence_find(stream, fresh->point, &before);
	if (fence) {
		dma_fence_get(&fence->base);
	} else if (!ended) {
		dma_fence_get(&fresh->base);
		list_add(&fresh->node, before);
	}
	spin_unlock(&ctx->work_lock);
	if (ended) {
		dma_fence_get(&fresh->base);
		paccel_fence_signal(fresh);
	}
	if (!fence)
		return fresh;
	dma_fence_put(&fresh->base);
	return fence;
}

struct dma_fence *paccel_fence_get(struct paccel_stream *stream, u64 point)
{
	struct paccel_fence *fence, *fresh = fence_new(stream, point);

	if (!fresh)
		return NULL;
	fence = fence_get(stream, fresh);
	/* If another one is used, nobody has seen this, so it may go unsignalled. */
	dma_fence_put(&fresh->base);
	return &fence->base;
}
