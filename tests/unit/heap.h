/* SPDX-License-Identifier: MIT */
/*
 * A resource for tests: memory of the process, counted, that fails when it is told to.
 */
#ifndef HEAP_H
#define HEAP_H

#include "fixture.h"

#include <accel/resource.h>
#include <pthread.h>

struct heap {
	unsigned int allocations, frees, fail_nth; /* the nth next allocation fails */
	unsigned int fail_free_nth; /* so does the nth next free, with EIO */
	int fail_err, free_err; /* what every free is answered with */
	size_t bytes, limit; /* live, and at most; 0: no limit */
	size_t last_size, last_alignment, max_alignment; /* more is EINVAL; 0: none is */
	unsigned int too_aligned; /* requests that were answered so */
	struct accel_stream *last_stream;
	size_t shift; /* added to every address */
	pthread_mutex_t lock; /* of all of this, for threads; 0 is a mutex that nobody has */
};

static inline int heap_take(struct heap *heap, struct accel_stream *stream, size_t size,
			    size_t alignment, void **ptr)
{
	size_t room = (size + alignment - 1) & ~(alignment - 1);

	heap->last_size = size;
	heap->last_alignment = alignment;
	heap->last_stream = stream;
	if (heap->max_alignment && alignment > heap->max_alignment) {
		heap->too_aligned++;
		return -EINVAL;
	}
	if ((heap->fail_nth && !--heap->fail_nth) ||
	    (heap->limit && heap->bytes + size > heap->limit)) {
		/* Not NULL: who calls has to see to it. */
		*ptr = heap;
		return heap->fail_err ? heap->fail_err : -ENOMEM;
	}
	*ptr = aligned_alloc(alignment, room + (heap->shift ? alignment : 0));
	if (!*ptr)
		return -ENOMEM;
	*ptr = (char *)*ptr + heap->shift;
	heap->allocations++;
	heap->bytes += size;
	return 0;
}

static inline int heap_allocate(void *context, struct accel_stream *stream, size_t size,
				size_t alignment, void **ptr)
{
	struct heap *heap = context;
	int err;

	pthread_mutex_lock(&heap->lock);
	err = heap_take(heap, stream, size, alignment, ptr);
	pthread_mutex_unlock(&heap->lock);
	return err;
}

static inline int heap_give(struct heap *heap, struct accel_stream *stream, void *ptr, size_t size,
			    size_t alignment)
{
	heap->last_size = size;
	heap->last_alignment = alignment;
	heap->last_stream = stream;
	if (heap->fail_free_nth && !--heap->fail_free_nth)
		return -EIO;
	if (heap->free_err)
		return heap->free_err;
	free((char *)ptr - heap->shift);
	heap->frees++;
	heap->bytes -= size;
	return 0;
}

static inline int heap_deallocate(void *context, struct accel_stream *stream, void *ptr,
				  size_t size, size_t alignment)
{
	struct heap *heap = context;
	int err;

	pthread_mutex_lock(&heap->lock);
	err = heap_give(heap, stream, ptr, size, alignment);
	pthread_mutex_unlock(&heap->lock);
	return err;
}

static inline int heap_equal(const void *context, const void *other)
{
	return ((const struct heap *)context)->limit == ((const struct heap *)other)->limit;
}

static const struct accel_resource_ops heap_ops = {
	.allocate = heap_allocate,
	.deallocate = heap_deallocate,
	.equal = heap_equal,
};

static inline struct accel_resource heap_resource(struct heap *heap)
{
	return (struct accel_resource){ .ops = &heap_ops, .context = heap };
}

#endif
