/* SPDX-License-Identifier: MIT */
/*
 * Buffers: memory of a resource, and the order of allocation, copy and free that leaves a buffer as
 * it was if one of them fails.
 */
#include "core/api.h"
#include "core/copy.h"
#include "core/error.h"
#include "core/stream.h"
#include "resource.h"

#pragma GCC visibility push(default)
#include <accel/buffer.h>
#pragma GCC visibility pop

#include <string.h>

static const struct accel_buffer empty = ACCEL_BUFFER_INIT;

int accel_async_memory_copy(struct accel_stream *stream, void *dst, const void *src, size_t size)
{
	KEEP_ERRNO;

	return copy_any(stream, dst, src, size);
}

static int check(const struct accel_buffer *buffer)
{
	if (!buffer)
		return fail(-EINVAL, "buffer is NULL");
	if (buffer->size > buffer->capacity || !buffer->capacity != !buffer->data)
		return fail(-EINVAL, "buffer was never initialised: data is %p, size %zu, capacity "
				     "%zu", buffer->data, buffer->size, buffer->capacity);
	return 0;
}

static int check_alignment(size_t alignment)
{
	if (alignment && !(alignment & (alignment - 1)))
		return 0;
	return fail(-EINVAL, "alignment is %zu: it has to be a power of two", alignment);
}

/* Of size 0 it is nothing, and nobody is asked. */
static int allocate(const struct accel_buffer *buffer, size_t size, void **ptr)
{
	*ptr = NULL;
	return size ? accel_resource_allocate(&buffer->resource, buffer->stream, size,
					      buffer->alignment, ptr)
		    : 0;
}

static int deallocate(const struct accel_buffer *buffer, void *ptr, size_t capacity)
{
	if (!capacity)
		return 0;
	return accel_resource_deallocate(&buffer->resource, buffer->stream, ptr, capacity,
					 buffer->alignment);
}

/* The sentence of what has failed first is the one to be read. */
static int copy_in(const struct accel_buffer *buffer, void *dst, const void *src, size_t size)
{
	return size ? copy_any(buffer->stream, dst, src, size) : 0;
}

/* ---- Create ---- */

int accel_buffer_create(struct accel_buffer *buffer, const struct accel_resource *resource,
			struct accel_stream *stream, size_t size, size_t alignment)
{
	struct accel_buffer made = ACCEL_BUFFER_INIT;
	int err;

	if (!buffer)
		return fail(-EINVAL, "buffer is NULL");
	/* Copied first: it may be the one that a release has left in @buffer. */
	if (resource)
		made.resource = *resource;
	*buffer = empty;
	err = resource_check(resource ? &made.resource : NULL) ?: check_alignment(alignment);
	if (err)
		return err;
	made.alignment = alignment;
	made.stream = stream;
	err = allocate(&made, size, &made.data);
	if (err)
		return err;
	made.size = made.capacity = size;
	*buffer = made;
	return 0;
}

int accel_buffer_create_from(struct accel_buffer *buffer, const struct accel_resource *resource,
			     struct accel_stream *stream, const void *src, size_t size,
			     size_t alignment)
{
	KEEP_ERRNO;
	int err;

	if (!src && size) {
		if (buffer)
			*buffer = empty;
		return fail(-EINVAL, "src is NULL, and size %zu", size);
	}
	err = accel_buffer_create(buffer, resource, stream, size, alignment);
	if (err)
		return err;
	err = copy_in(buffer, buffer->data, src, size);
	if (err) {
		deallocate(buffer, buffer->data, size);
		*buffer = empty;
	}
	return err;
}

/* What a copy is to be, without the memory. */
static int make_copy(struct accel_buffer *copy, const struct accel_buffer *other,
		     const struct accel_resource *resource, struct accel_stream *stream)
{
	if (!resource)
		resource = &other->resource;
	if (resource->ops || other->size)
		return accel_buffer_create_from(copy, resource, stream, other->data, other->size,
						other->alignment ? other->alignment : 1);
	*copy = empty;
	copy->stream = stream;
	return 0;
}

int accel_buffer_copy(struct accel_buffer *buffer, const struct accel_buffer *other,
		      const struct accel_resource *resource, struct accel_stream *stream)
{
	struct accel_buffer copy;
	int err = check(buffer) ?: check(other);

	if (!err && buffer == other)
		err = fail(-EINVAL, "buffer and other are the same one");
	if (!err)
		err = make_copy(&copy, other, resource, stream);
	if (err)
		return err;
	err = deallocate(buffer, buffer->data, buffer->capacity);
	if (taken_back(err))
		*buffer = copy;
	else
		deallocate(&copy, copy.data, copy.capacity);
	return err;
}

/* ---- Hand over ---- */

/* Without memory; how it would get some stays. */
static void forget(struct accel_buffer *buffer)
{
	buffer->data = NULL;
	buffer->size = buffer->capacity = 0;
}

int accel_buffer_move(struct accel_buffer *buffer, struct accel_buffer *other)
{
	int err = check(buffer) ?: check(other);

	if (err || buffer == other)
		return err;
	err = deallocate(buffer, buffer->data, buffer->capacity);
	if (!taken_back(err))
		return err;
	*buffer = *other;
	forget(other);
	other->stream = NULL;
	return err;
}

int accel_buffer_release(struct accel_buffer *buffer, void **ptr, size_t *capacity)
{
	int err = check(buffer);

	if (err)
		return err;
	if (!ptr || !capacity)
		return fail(-EINVAL, "%s is NULL: the memory would be lost",
			    ptr ? "capacity" : "ptr");
	*ptr = buffer->data;
	*capacity = buffer->capacity;
	forget(buffer);
	return 0;
}

int accel_buffer_destroy(struct accel_buffer *buffer)
{
	int err = check(buffer);

	if (err)
		return err;
	err = deallocate(buffer, buffer->data, buffer->capacity);
	*buffer = empty;
	return err;
}

/* ---- Change ---- */

/*
 * The copy is queued before the free, so the old memory is whole until then. If it cannot be freed
 * it stays what it was, and the new one goes.
 */
static int reallocate(struct accel_buffer *buffer, size_t capacity)
{
	void *data;
	int err = allocate(buffer, capacity, &data);

	if (err)
		return err;
	err = copy_in(buffer, data, buffer->data, buffer->size);
	if (err)
		goto give_back;
	err = deallocate(buffer, buffer->data, buffer->capacity);
	if (!taken_back(err))
		goto give_back;
	buffer->data = data;
	buffer->capacity = capacity;
	return err;

give_back:
	deallocate(buffer, data, capacity);
	return err;
}

static int check_change(const struct accel_buffer *buffer)
{
	int err = check(buffer);

	return err ? err : resource_check(&buffer->resource) ?: check_alignment(buffer->alignment);
}

int accel_buffer_reserve(struct accel_buffer *buffer, size_t capacity,
			 struct accel_stream *stream)
{
	KEEP_ERRNO;
	int err = check_change(buffer);

	if (err)
		return err;
	buffer->stream = stream;
	return capacity > buffer->capacity ? reallocate(buffer, capacity) : 0;
}

int accel_buffer_resize(struct accel_buffer *buffer, size_t size, struct accel_stream *stream)
{
	int err = accel_buffer_reserve(buffer, size, stream);

	/* Damaged memory is gone, and the new one is there, unless it was the copy that failed. */
	if (taken_back(err) && size <= buffer->capacity)
		buffer->size = size;
	return err;
}

int accel_buffer_shrink_to_fit(struct accel_buffer *buffer, struct accel_stream *stream)
{
	KEEP_ERRNO;
	int err = check_change(buffer);

	if (err)
		return err;
	buffer->stream = stream;
	return buffer->size < buffer->capacity ? reallocate(buffer, buffer->size) : 0;
}

int accel_buffer_set_stream(struct accel_buffer *buffer, struct accel_stream *stream)
{
	int err = check(buffer);

	if (!err)
		buffer->stream = stream;
	return err;
}
