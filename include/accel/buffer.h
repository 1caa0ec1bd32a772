/* SPDX-License-Identifier: MIT */
/*
 * Buffers: a block of memory with an owner.
 */
#ifndef ACCEL_BUFFER_H
#define ACCEL_BUFFER_H

#include <accel/accel.h>
#include <accel/resource.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * DOC: Buffers
 *
 * A *buffer* owns one allocation of a resource, and knows its size, its capacity and the stream that
 * it will be freed on. Its bytes are not initialised. It is a structure of the program's: it may lie
 * anywhere, also in another structure, but only accel_buffer_move() moves what it owns.
 *
 * All that a buffer does is ordered by the stream that is given: memory is allocated on it, copied
 * on it, and the old memory freed on it. Nothing waits for the stream that was used before: where
 * work is queued on another one, order the two with an event first. With stream NULL everything is
 * complete on return.
 *
 * A call that fails has left size, capacity and contents as they were. The stream that it was given
 * is that of the buffer from then on, as with RMM's device_buffer, unless an argument is refused.
 *
 * One exception: a resource that looks for damage (ACCEL_POOL_DEBUG) answers a free with ``-EFAULT``
 * and has freed all the same. Then the call is done, too, as the capacity tells, and returns that.
 *
 * A buffer is not thread-safe; different buffers are independent.
 */

/**
 * struct accel_buffer - memory and who owns it
 * @data: first byte; NULL if @capacity is 0
 * @size: bytes in use, at most @capacity
 * @capacity: bytes that were allocated, exactly as they were asked for
 * @alignment: of every allocation of this buffer
 * @resource: where its memory comes from; without a table only in a buffer that is empty
 * @stream: given last: what the buffer is freed on; has to live as long
 * @reserved: 0
 *
 * To be read, and written by the functions alone. ACCEL_BUFFER_INIT, or all bytes 0, is an empty
 * buffer without resource, which can be destroyed, moved from and moved to.
 */
struct accel_buffer {
	void *data;
	size_t size;
	size_t capacity;
	size_t alignment;
	struct accel_resource resource;
	struct accel_stream *stream;
	uintptr_t reserved[2];
};

/** ACCEL_BUFFER_INIT - an empty buffer */
#define ACCEL_BUFFER_INIT \
	{ \
		NULL, 0, 0, 0, { NULL, NULL }, NULL, { 0, 0 } \
	}

/** ACCEL_BUFFER_ALIGNMENT - what to ask for if nothing else is known */
#define ACCEL_BUFFER_ALIGNMENT ((size_t)256)

/**
 * accel_async_memory_copy() - accel_memory_copy() on a stream
 * @stream: stream of any device; NULL: the copy is complete on return
 * @dst: host memory, or device memory of any device this process has open
 * @src: likewise
 * @size: bytes, at least 1
 *
 * Finds the direction from the addresses. Queued where the copy in that direction is (between the
 * device of @stream and host, unified or registered memory of it, inside the device); elsewhere the
 * call waits for the stream, and the copy is complete on return. What may be reused on return is as
 * with accel_async_memory_copy_h2d() and the others. Thread-safe.
 *
 * Return: 0; an error of copies; or an error of streams.
 */
int accel_async_memory_copy(struct accel_stream *stream, void *dst, const void *src, size_t size);

/**
 * accel_buffer_create() - a buffer with bytes that are not initialised
 * @buffer: filled whole; empty on failure. What was in it is not looked at
 * @resource: where to have memory from, copied
 * @stream: what it is allocated on, and freed on unless another is given later; or NULL
 * @size: bytes; 0: nothing is allocated, and the resource is not asked
 * @alignment: bytes, a power of two
 *
 * Return: 0; ``-EINVAL`` (NULL, @alignment, a table without functions); or what the resource says.
 */
int accel_buffer_create(struct accel_buffer *buffer, const struct accel_resource *resource,
			struct accel_stream *stream, size_t size, size_t alignment);

/**
 * accel_buffer_create_from() - a buffer with a copy of bytes
 * @buffer: as for accel_buffer_create()
 * @resource: likewise
 * @stream: likewise; the copy is queued on it
 * @src: host memory, or device memory of any device, at any address; NULL only with size 0
 * @size: bytes
 * @alignment: as for accel_buffer_create()
 *
 * @src has to stay as it is until the copy has ended, unless it is pageable memory. Nothing stays
 * allocated if the copy fails.
 *
 * Return: as accel_buffer_create(); ``-EINVAL`` (@src is NULL and @size is not 0); or as
 * accel_async_memory_copy().
 */
int accel_buffer_create_from(struct accel_buffer *buffer, const struct accel_resource *resource,
			     struct accel_stream *stream, const void *src, size_t size,
			     size_t alignment);

/**
 * accel_buffer_copy() - make a buffer a copy of another one
 * @buffer: an initialised buffer, other than @other; what it owned before is freed, on its own
 *	stream
 * @other: buffer whose bytes are copied; work on it has to be ordered before @stream
 * @resource: where to have memory from; NULL: that of @other
 * @stream: as for accel_buffer_create_from()
 *
 * Copies what is in use, not what is reserved: size and capacity are the size of @other, the
 * alignment is its. If the call fails, @buffer is as it was before.
 *
 * Return: as accel_buffer_create_from(); ``-EINVAL`` (@buffer was never initialised; @other is
 * @buffer; neither it nor the call has a resource, and it is not empty); or what the resource of
 * @buffer says about the free.
 */
int accel_buffer_copy(struct accel_buffer *buffer, const struct accel_buffer *other,
		      const struct accel_resource *resource, struct accel_stream *stream);

/**
 * accel_buffer_move() - hand over what a buffer owns
 * @buffer: receives all of it; what it owned before is freed, on its own stream
 * @other: empty afterwards, without stream; its resource and alignment stay. The same as @buffer:
 *	nothing happens
 *
 * Return: 0; ``-EINVAL`` (NULL); or what the resource of @buffer says about the free: nothing was
 * moved then.
 */
int accel_buffer_move(struct accel_buffer *buffer, struct accel_buffer *other);

/**
 * accel_buffer_release() - take the memory away from its buffer
 * @buffer: empty afterwards; resource, alignment and stream stay
 * @ptr: receives what it owned, NULL if that was nothing
 * @capacity: receives its bytes, which have to be given to free it, with the alignment
 *
 * From now on it is the caller's to give it back, by accel_resource_deallocate().
 *
 * Return: 0; ``-EINVAL`` (NULL).
 */
int accel_buffer_release(struct accel_buffer *buffer, void **ptr, size_t *capacity);

/**
 * accel_buffer_destroy() - free what a buffer owns
 * @buffer: empty afterwards in any case, as ACCEL_BUFFER_INIT
 *
 * On the stream that was given last.
 *
 * Return: 0; ``-EINVAL`` (NULL); or what the resource says.
 */
int accel_buffer_destroy(struct accel_buffer *buffer);

/**
 * accel_buffer_reserve() - have room for more
 * @buffer: buffer
 * @capacity: bytes; up to the capacity nothing happens but that @stream is kept
 * @stream: what the new memory is allocated, written and the old one freed on; or NULL
 *
 * The bytes in use are copied, size stays. New memory is had before the old one is freed, and exactly
 * as much as was asked for: programs that append reserve more.
 *
 * Return: 0; ``-EINVAL`` (NULL, a buffer without resource); what the resource says; or as
 * accel_async_memory_copy().
 */
int accel_buffer_reserve(struct accel_buffer *buffer, size_t capacity,
			 struct accel_stream *stream);

/**
 * accel_buffer_resize() - have more or fewer bytes in use
 * @buffer: buffer
 * @size: bytes; up to the capacity only the size changes
 * @stream: as for accel_buffer_reserve()
 *
 * Bytes beyond the old size are not initialised.
 *
 * Return: as accel_buffer_reserve().
 */
int accel_buffer_resize(struct accel_buffer *buffer, size_t size, struct accel_stream *stream);

/**
 * accel_buffer_shrink_to_fit() - give back what is not in use
 * @buffer: buffer
 * @stream: as for accel_buffer_reserve()
 *
 * If capacity is larger than size the bytes in use move to memory of their own; with size 0 nothing
 * stays allocated.
 *
 * Return: as accel_buffer_reserve().
 */
int accel_buffer_shrink_to_fit(struct accel_buffer *buffer, struct accel_stream *stream);

/**
 * accel_buffer_set_stream() - choose the stream that a buffer is freed on
 * @buffer: buffer
 * @stream: stream, or NULL; work on the buffer has to be ordered before it
 *
 * Return: 0; ``-EINVAL`` (NULL).
 */
int accel_buffer_set_stream(struct accel_buffer *buffer, struct accel_stream *stream);

#ifdef __cplusplus
}
#endif

#endif /* ACCEL_BUFFER_H */
