/* SPDX-License-Identifier: GPL-2.0-only */
/* dma_fence of a point of a stream. */
#ifndef PACCEL_FENCE_H
#define PACCEL_FENCE_H

#include <linux/dma-fence.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct paccel_stream;

/**
 * struct paccel_fence - dma_fence of a point of a stream
 * @base: the fence
 * @lock: lock of @base, since a fence can outlive its stream
 * @node: in stream->fences until the point has ended; under ctx->work_lock
 * @point: the point
 * @error: error to signal, or 0; set when the point has ended
 * @timeline: name of the device, context and stream
 *
 * Holds a reference on the module.
 */
struct paccel_fence {
	struct dma_fence base;
	spinlock_t lock;		/* see above */
	struct list_head node;
	u64 point;
	int error;
	char timeline[48];
};

/*
 * Returns a counted reference on the fence of @point, or NULL if there is no memory. @point has
 * been submitted and is not 0. If it has ended, the fence is already signalled. Process context;
 * takes ctx->work_lock.
 */
struct dma_fence *paccel_fence_get(struct paccel_stream *stream, u64 point);
/* Signals the fence with fence->error and drops a reference. Process context, no lock held. */
void paccel_fence_signal(struct paccel_fence *fence);

#endif
