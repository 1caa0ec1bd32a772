/* SPDX-License-Identifier: GPL-2.0-only */
/* A point of a stream as others see it. */
#ifndef PACCEL_FENCE_H
#define PACCEL_FENCE_H

#include <linux/dma-fence.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct paccel_stream;

/* A point as others see it, in stream->fences until it has ended. */
struct paccel_fence {
	struct dma_fence base;
	spinlock_t lock;		/* base's: lives as long as that, unlike a stream */
	struct list_head node;
	u64 point;
	int error;
	char timeline[48];
};

/*
 * A counted reference on the fence of @point, which is not 0 and was submitted: it is signalled if
 * that has ended. NULL: no memory.
 */
struct dma_fence *paccel_fence_get(struct paccel_stream *stream, u64 point);
void paccel_fence_signal(struct paccel_fence *fence);

#endif
