/* SPDX-License-Identifier: MIT */
/*
 * Resources: the checks that all of them need, and those of the driver.
 */
#include "core/api.h"
#include "core/device.h"
#include "core/error.h"
#include "core/memory.h"
#include "core/stream.h"
#include "resource.h"

#pragma GCC visibility push(default)
#include <accel/resource.h>
#pragma GCC visibility pop

#include <string.h>
#include <unistd.h>

int resource_check(const struct accel_resource *resource)
{
	const struct accel_resource_ops *ops;

	if (!resource)
		return fail(-EINVAL, "resource is NULL");
	ops = resource->ops;
	if (!ops)
		return fail(-EINVAL, "resource has no table of functions: ops is NULL");
	if (!ops->allocate || !ops->deallocate)
		return fail(-EINVAL, "resource: %s is NULL in its table",
			    ops->allocate ? "deallocate" : "allocate");
	for (int i = 0; i < 4; i++)
		if (ops->reserved[i])
			return fail(-EINVAL, "resource: reserved is not NULL in its table");
	return 0;
}

static int check_size(size_t size, size_t alignment)
{
	if (!size)
		return fail(-EINVAL, "size is 0: an allocation has at least 1 byte");
	if (!alignment || alignment & (alignment - 1))
		return fail(-EINVAL, "alignment is %zu: it has to be a power of two", alignment);
	return 0;
}

/* What a resource answers is its own, but who sees a positive number would not know what it is. */
static int checked(int answer, const char *function)
{
	if (answer <= 0)
		return answer;
	return fail(-EINVAL, "resource: %s has answered %d: it has to be 0 or a negative errno",
		    function, answer);
}

int accel_resource_allocate(const struct accel_resource *resource, struct accel_stream *stream,
			    size_t size, size_t alignment, void **ptr)
{
	int err;

	if (!ptr)
		return fail(-EINVAL, "ptr is NULL: the address has to go somewhere");
	*ptr = NULL;
	err = resource_check(resource) ?: check_size(size, alignment);
	if (err)
		return err;
	err = checked(resource->ops->allocate(resource->context, stream, size, alignment, ptr),
		      "allocate");
	if (err)
		*ptr = NULL;
	else if (!*ptr)
		err = fail(-ENOMEM, "resource: allocate has said 0, and given no address for %zu "
				    "bytes", size);
	return err;
}

int accel_resource_deallocate(const struct accel_resource *resource, struct accel_stream *stream,
			      void *ptr, size_t size, size_t alignment)
{
	int err = resource_check(resource);

	if (err)
		return err;
	if (!ptr)
		return fail(-EINVAL, "ptr is NULL");
	err = check_size(size, alignment);
	if (err)
		return err;
	return checked(resource->ops->deallocate(resource->context, stream, ptr, size, alignment),
		       "deallocate");
}

int accel_resource_equal(const struct accel_resource *a, const struct accel_resource *b)
{
	int err = resource_check(a) ?: resource_check(b);

	if (err)
		return err;
	if (a->ops != b->ops)
		return 0;
	return a->context == b->context ||
	       (a->ops->equal && a->ops->equal(a->context, b->context));
}

/* ---- The driver's ---- */

static int device_allocate(void *context, struct accel_stream *stream, size_t size,
			   size_t alignment, void **ptr)
{
	KEEP_ERRNO;

	(void)stream;
	return device_memory_allocate(context, ptr, size, alignment);
}

static int device_deallocate(void *context, struct accel_stream *stream, void *ptr, size_t size,
			     size_t alignment)
{
	(void)stream;
	(void)alignment;
	return accel_device_memory_deallocate(context, ptr, size);
}

static int check_page(size_t alignment)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (alignment <= page)
		return 0;
	return fail(-EINVAL, "alignment is %zu: host memory is aligned to pages of %zu", alignment,
		    page);
}

static int host_allocate(void *context, struct accel_stream *stream, size_t size, size_t alignment,
			 void **ptr)
{
	(void)stream;
	return check_page(alignment) ?: accel_host_memory_allocate(context, ptr, size);
}

static int host_deallocate(void *context, struct accel_stream *stream, void *ptr, size_t size,
			   size_t alignment)
{
	(void)stream;
	(void)alignment;
	return accel_host_memory_deallocate(context, ptr, size);
}

static int unified_allocate(void *context, struct accel_stream *stream, size_t size,
			    size_t alignment, void **ptr)
{
	(void)stream;
	return check_page(alignment) ?: accel_unified_memory_allocate(context, ptr, size);
}

static int unified_deallocate(void *context, struct accel_stream *stream, void *ptr, size_t size,
			      size_t alignment)
{
	(void)stream;
	(void)alignment;
	return accel_unified_memory_deallocate(context, ptr, size);
}

static const struct accel_resource_ops of_device[] = {
	[ACCEL_MEMORY_DEVICE] = { .allocate = device_allocate,
				  .deallocate = device_deallocate },
	[ACCEL_MEMORY_HOST] = { .allocate = host_allocate,
				.deallocate = host_deallocate },
	[ACCEL_MEMORY_UNIFIED] = { .allocate = unified_allocate,
				   .deallocate = unified_deallocate },
};

int accel_resource_of_device(struct accel_device *handle, enum accel_memory_kind kind,
			     struct accel_resource *resource)
{
	struct device *dev;
	int err;

	if (!resource)
		return fail(-EINVAL, "resource is NULL");
	memset(resource, 0, sizeof(*resource));
	err = device_get(handle, &dev);
	if (err)
		return err;
	if (kind != ACCEL_MEMORY_DEVICE && kind != ACCEL_MEMORY_HOST &&
	    kind != ACCEL_MEMORY_UNIFIED)
		return fail(-EINVAL, "kind is %d: the driver allocates device (%d), host (%d) and "
				     "unified memory (%d)",
			    (int)kind, ACCEL_MEMORY_DEVICE, ACCEL_MEMORY_HOST, ACCEL_MEMORY_UNIFIED);
	*resource = (struct accel_resource){ .ops = &of_device[kind], .context = handle };
	return 0;
}
