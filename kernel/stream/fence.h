/* SPDX-License-Identifier: GPL-2.0-only */
/* A point of a stream as others see it. */
#ifndef PACCEL_FENCE_H
#define PACCEL_FENCE_H

#include <linux/dma-fence.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct paccel_stream;

/* The dma_fence of a timeline point; in stream->fences until the point has been reached. */
struct paccel_fence {
	struct dma_fence base;
	spinlock_t lock;		/* of @base; a fence may outlive its stream */
	struct list_head node;
	u64 point;
	int error;
	char timeline[48];
};

/*
 * Returns a counted reference on the fence of @point, or NULL if there is no memory. @point is not
 * 0 and has been submitted. If it has been reached, the fence is already signalled.
 */
struct dma_fence *paccel_fence_get(struct paccel_stream *stream, u64 point);
/* Signals the fence with fence->error and drops a reference. Process context, no lock held. */
void paccel_fence_signal(struct paccel_fence *fence);

#endif
