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

/* ---- Buffers --------------------------------------------------------------------------------- */

/**
 * DOC: Buffers
 *
 * A *buffer* owns one allocation of a resource, and knows its size, its capacity and the stream
 * that it will be freed on. Its bytes are not initialised. It is a structure of the program: it may
 * lie anywhere, also in another structure, but only accel_buffer_move() moves what it owns.
 *
 * All operations of a buffer are ordered by the stream that is given: memory is allocated on it,
 * copied on it, and the old memory is freed on it. Nothing waits for the stream that was used
 * before: where work is queued on another one, order the two with an event first. With stream NULL
 * everything is complete on return.
 *
 * A call that fails has left size, capacity and contents as they were. The stream that it was given
 * is that of the buffer from then on, as with RMM's device_buffer, unless an argument is refused.
 * There is one exception: a resource that looks for damage (ACCEL_POOL_DEBUG) returns ``-EFAULT``
 * from a free, and has freed all the same. Then the call has been done too, and returns
 * ``-EFAULT``.
 *
 * *Thread safety.* A buffer is not thread-safe: only one thread at a time may call a function with
 * it. Different buffers are independent, also if they have the same resource.
 *
 * *Lifetime.* Every buffer that a create function has filled is ended by accel_buffer_destroy(),
 * which frees its memory on the stream that was given last. That stream, and the resource, have to
 * exist until then. The address in data is valid until the next call that resizes, moves or
 * destroys the buffer. Memory that accel_buffer_release() takes out of a buffer is freed by
 * accel_resource_deallocate().
 *
 * Example, a buffer that grows, in the order of a stream::
 *
 *     struct accel_buffer buffer;
 *
 *     accel_buffer_create_from(&buffer, &resource, stream, first, 100, ACCEL_BUFFER_ALIGNMENT);
 *     accel_buffer_resize(&buffer, 200, stream);
 *     accel_async_memory_copy(stream, (char *)buffer.data + 100, second, 100);
 *     accel_stream_synchronize(stream);
 *     accel_buffer_destroy(&buffer);
 *
 * *Examples.* See also examples/pool.c in the sources, with a buffer in a pool.
 */

/**
 * struct accel_buffer - memory and its owner
 * @data: first byte; NULL if @capacity is 0
 * @size: bytes in use, at most @capacity
 * @capacity: bytes that are allocated, exactly as they were requested
 * @alignment: of every allocation of this buffer
 * @resource: where its memory comes from; only an empty buffer may have none
 * @stream: given last: the buffer is freed on it, so it has to exist as long as the buffer
 * @reserved: 0
 *
 * The program may read the fields; only the functions write them. ACCEL_BUFFER_INIT, or all bytes
 * 0, is an empty buffer without resource, which can be destroyed, moved from and moved to.
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

/** ACCEL_BUFFER_ALIGNMENT - an alignment for buffers that need no special one */
#define ACCEL_BUFFER_ALIGNMENT ((size_t)256)

/* ---- Copy and fill --------------------------------------------------------------------------- */

/**
 * accel_async_memory_copy() - accel_memory_copy() on a stream
 * @stream: stream of any device; NULL: the copy is complete on return
 * @dst: host memory, or device memory of any device that this process has open
 * @src: host memory, or device memory of any device that this process has open
 * @size: bytes, at least 1
 *
 * Finds the direction from the addresses, as accel_memory_copy() does, and copies behind all that
 * was queued on @stream before. The copy is queued if one side is device memory of the device of
 * @stream, and the other side is device memory of the same device, or host memory that is
 * allocated, unified or registered with it. Up to 64 KiB of other host memory are staged and
 * queued. On a stream of a third device, and in most other cases, the call waits for the stream,
 * and the copy is complete on return. DOC: Copies lists all cases.
 *
 * Return: 0; an error of copies; or an error of streams.
 */
int accel_async_memory_copy(struct accel_stream *stream, void *dst, const void *src, size_t size);

/* ---- Buffers --------------------------------------------------------------------------------- */

/**
 * accel_buffer_create() - make a buffer whose bytes are not initialised
 * @buffer: filled whole; empty on failure. What was in it is not looked at
 * @resource: where its memory comes from, copied
 * @stream: what it is allocated on, and freed on unless another is given later; or NULL
 * @size: bytes; 0: nothing is allocated, and the resource is not called
 * @alignment: bytes, a power of two
 *
 * Allocates @size bytes, which are the size and the capacity of the buffer.
 *
 * Return: 0; ``-EINVAL`` (NULL; @alignment is not a power of two; the resource has no functions);
 * or what the resource returns.
 */
int accel_buffer_create(struct accel_buffer *buffer, const struct accel_resource *resource,
			struct accel_stream *stream, size_t size, size_t alignment);

/**
 * accel_buffer_create_from() - make a buffer with a copy of bytes
 * @buffer: as for accel_buffer_create()
 * @resource: as for accel_buffer_create()
 * @stream: as for accel_buffer_create(); the copy is queued on it
 * @src: host memory, or device memory of any device, at any address; NULL only with size 0
 * @size: bytes
 * @alignment: as for accel_buffer_create()
 *
 * Allocates @size bytes, and copies as accel_async_memory_copy() does. @src has to stay as it is
 * until the copy has ended, unless it is pageable memory. Nothing stays allocated if the copy
 * fails.
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
 * @resource: where its memory comes from; NULL: that of @other
 * @stream: as for accel_buffer_create_from()
 *
 * Copies the bytes that are in use: the size and the capacity of @buffer are the size of @other
 * then, and it has the alignment of @other. If the call fails, @buffer is as it was before.
 *
 * Return: as accel_buffer_create_from(); ``-EINVAL`` (@buffer was never initialised; @other is
 * @buffer; neither it nor the call has a resource, and it is not empty); or what the resource of
 * @buffer returns from the free.
 */
int accel_buffer_copy(struct accel_buffer *buffer, const struct accel_buffer *other,
		      const struct accel_resource *resource, struct accel_stream *stream);

/**
 * accel_buffer_move() - move what a buffer owns to another one
 * @buffer: receives all of it; what it owned before is freed, on its own stream
 * @other: empty afterwards, without stream; its resource and alignment stay. If it is @buffer
 *	nothing happens
 *
 * Moves the memory, and with it resource, alignment and stream. Nothing is copied.
 *
 * Return: 0; ``-EINVAL`` (NULL); or what the resource of @buffer returns from the free: nothing was
 * moved then.
 */
int accel_buffer_move(struct accel_buffer *buffer, struct accel_buffer *other);

/**
 * accel_buffer_release() - take the memory out of a buffer
 * @buffer: empty afterwards; resource, alignment and stream stay
 * @ptr: receives the address of the memory, NULL if the buffer had none
 * @capacity: receives its bytes, which have to be given to free it, with the alignment
 *
 * From now on the memory is the caller's, who frees it with accel_resource_deallocate().
 *
 * Return: 0; ``-EINVAL`` (NULL).
 */
int accel_buffer_release(struct accel_buffer *buffer, void **ptr, size_t *capacity);

/**
 * accel_buffer_destroy() - free what a buffer owns
 * @buffer: empty afterwards in any case, as ACCEL_BUFFER_INIT
 *
 * Frees the memory of the buffer on the stream that was given last.
 *
 * Return: 0; ``-EINVAL`` (NULL); or what the resource returns.
 */
int accel_buffer_destroy(struct accel_buffer *buffer);

/**
 * accel_buffer_reserve() - enlarge the capacity of a buffer
 * @buffer: buffer
 * @capacity: bytes; up to the capacity nothing happens but that @stream is kept
 * @stream: what the new memory is allocated, written and the old one freed on; or NULL
 *
 * Allocates exactly @capacity bytes, copies the bytes that are in use, and then frees the old
 * memory. The size stays. A program that appends piece by piece should reserve more than it needs
 * next.
 *
 * Return: 0; ``-EINVAL`` (NULL; the buffer has no resource); what the resource returns; or as
 * accel_async_memory_copy().
 */
int accel_buffer_reserve(struct accel_buffer *buffer, size_t capacity,
			 struct accel_stream *stream);

/**
 * accel_buffer_resize() - change the size of a buffer
 * @buffer: buffer
 * @size: bytes; up to the capacity only the size changes
 * @stream: as for accel_buffer_reserve()
 *
 * Above the capacity the call reserves @size bytes as accel_buffer_reserve() does. Bytes beyond the
 * old size are not initialised.
 *
 * Return: as accel_buffer_reserve().
 */
int accel_buffer_resize(struct accel_buffer *buffer, size_t size, struct accel_stream *stream);

/**
 * accel_buffer_shrink_to_fit() - free the capacity that is not in use
 * @buffer: buffer
 * @stream: as for accel_buffer_reserve()
 *
 * If the capacity is larger than the size, the bytes in use are copied to an allocation of their
 * size; with size 0 nothing stays allocated.
 *
 * Return: as accel_buffer_reserve().
 */
int accel_buffer_shrink_to_fit(struct accel_buffer *buffer, struct accel_stream *stream);

/**
 * accel_buffer_set_stream() - set the stream that a buffer is freed on
 * @buffer: buffer
 * @stream: stream, or NULL; work on the buffer has to be ordered before it
 *
 * The stream replaces the one that was given last. Nothing is queued, and nothing waits.
 *
 * Return: 0; ``-EINVAL`` (NULL).
 */
int accel_buffer_set_stream(struct accel_buffer *buffer, struct accel_stream *stream);

#ifdef __cplusplus
}
#endif

#endif /* ACCEL_BUFFER_H */
