/* SPDX-License-Identifier: MIT */
/*
 * The adaptor with a second resource for what the first one has no memory for. The addresses of the
 * second one are in an AVL tree, so that each free goes to the resource that has allocated.
 */
#include "adaptor.h"
#include "core/api.h"
#include "core/error.h"
#include "core/range.h"
#include "core/stream.h"
#include "resource.h"

#include <stdlib.h>

struct fallback {
	struct accel_adaptor base; /* its upstream is this adaptor's own table of functions */
	struct accel_resource first, second;
	struct range *ranges; /* of the second one; under the lock of the adaptor */
};

static void fallback_insert(struct fallback *fallback, struct range *range)
{
	pthread_mutex_lock(&fallback->base.lock);
	range_insert(&fallback->ranges, range);
	pthread_mutex_unlock(&fallback->base.lock);
}

/* The range that begins at an address, taken out of the tree; NULL: it is the first resource's. */
static struct range *fallback_remove(struct fallback *fallback, uintptr_t addr)
{
	struct range *range;

	pthread_mutex_lock(&fallback->base.lock);
	range = range_below(fallback->ranges, addr);
	if (range && range->base == addr)
		range_remove(&fallback->ranges, range);
	else
		range = NULL;
	pthread_mutex_unlock(&fallback->base.lock);
	return range;
}

static int second_allocate(struct fallback *fallback, struct accel_stream *stream, size_t size,
			   size_t alignment, void **ptr)
{
	struct range *range = calloc(1, sizeof(*range));
	int err;

	if (!range)
		return fail(-ENOMEM, "out of memory");
	err = accel_resource_allocate(&fallback->second, stream, size, alignment, ptr);
	if (err) {
		free(range);
		return err;
	}
	range->base = (uintptr_t)*ptr;
	range->size = size;
	fallback_insert(fallback, range);
	return 0;
}

static int fallback_allocate(void *context, struct accel_stream *stream, size_t size,
			     size_t alignment, void **ptr)
{
	struct fallback *fallback = context;
	int err = accel_resource_allocate(&fallback->first, stream, size, alignment, ptr);

	if (err != -ENOMEM && err != -EDQUOT)
		return err;
	return second_allocate(fallback, stream, size, alignment, ptr);
}

static int fallback_deallocate(void *context, struct accel_stream *stream, void *ptr, size_t size,
			       size_t alignment)
{
	struct fallback *fallback = context;
	struct range *range = fallback_remove(fallback, (uintptr_t)ptr);
	int err;

	if (!range)
		return accel_resource_deallocate(&fallback->first, stream, ptr, size, alignment);
	err = accel_resource_deallocate(&fallback->second, stream, ptr, size, alignment);
	if (err && !taken_back(err))
		fallback_insert(fallback, range);
	else
		free(range);
	return err;
}

static const struct accel_resource_ops fallback_ops = {
	.allocate = fallback_allocate,
	.deallocate = fallback_deallocate,
};

/* In the child of a fork there may be some. */
static int fallback_destroy(struct accel_adaptor *adaptor)
{
	struct fallback *fallback = (struct fallback *)adaptor;
	struct range *range;

	while ((range = fallback->ranges)) {
		range_remove(&fallback->ranges, range);
		free(range);
	}
	return 0;
}

static const struct adaptor_kind fallback_kind = { .destroy = fallback_destroy };

int accel_adaptor_create_fallback(const struct accel_resource *first,
				  const struct accel_resource *second,
				  struct accel_adaptor **adaptor)
{
	struct fallback *made;
	int err = adaptor_create(&fallback_kind, sizeof(*made), first, adaptor);

	if (err)
		return err;
	made = (struct fallback *)*adaptor;
	err = resource_check(second);
	if (err) {
		accel_adaptor_destroy(&made->base);
		*adaptor = NULL;
		return err;
	}
	made->first = *first;
	made->second = *second;
	made->base.upstream = (struct accel_resource){ .ops = &fallback_ops, .context = made };
	return 0;
}
