/* SPDX-License-Identifier: MIT */
/*
 * Pools: many small allocations out of few large ones, without a system call.
 */
#ifndef ACCEL_POOL_H
#define ACCEL_POOL_H

#include <accel/accel.h>
#include <accel/resource.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * DOC: Pools
 *
 * A *pool* allocates *blocks* of any size out of a few large allocations, its *chunks*. It takes
 * chunks from a resource, its *upstream*, and makes no system call for a block as long as it need
 * not grow. Its tables lie in ordinary memory of the process: the pool does not access the memory
 * of its blocks, unless ACCEL_POOL_DEBUG is set. Sizes are rounded up to the granule of the pool,
 * to which every block is aligned. An allocation takes the smallest free block that serves; what is
 * left over stays free, and adjacent free blocks are merged.
 *
 * *Streams.* Allocations are ordered by streams. A block that was freed on a stream is available on
 * the same stream at once, because its new work runs behind the old. It is available to all others
 * when the work that was queued on the stream before the free has ended. If nothing else serves, an
 * allocation takes a block whose work has not ended. Then its stream waits for that work or, with
 * stream NULL, the caller does. A stream that waits so for work that fails, fails too.
 *
 * Every use of a block has to be ordered behind its allocation and before its free, as with
 * accel_stream_wait_event() where another stream than that of the allocation uses or frees it.
 *
 * *Thread safety.* The functions for pools may be called from several threads at once, with the
 * same pool too. The exception is accel_pool_destroy(): no other thread may use the pool during
 * that call or later.
 *
 * *Lifetime.* A block is freed by accel_pool_deallocate() and by nothing else: a pool with blocks
 * that are allocated cannot be destroyed. The pool holds its device open until
 * accel_pool_destroy(). What the context of upstream points to has to exist until then too. Streams
 * that blocks were allocated and freed on may be destroyed earlier. After fork() the pool is the
 * parent's: in the child its functions return ``-EPERM``, but accel_pool_destroy() works. A
 * struct accel_pool is a pointer, unlike the handles of accel.h, because a look-up would slow down
 * allocations: after accel_pool_destroy() a call with it is undefined.
 *
 * Example, blocks of device memory that are used by one stream::
 *
 *     struct accel_pool_options options = { .initial_size = 64 << 20 };
 *
 *     accel_pool_create(dev, NULL, &options, &pool);
 *     for (int i = 0; i < steps; i++) {
 *         accel_pool_allocate(pool, stream, size, 1, &ptr);
 *         accel_async_memory_copy_h2d(dev, stream, ptr, input[i], size);
 *         submit_step(stream, ptr);
 *         accel_pool_deallocate(pool, stream, ptr, size, 1);
 *     }
 *     accel_stream_synchronize(stream);
 *     accel_pool_destroy(pool);
 *
 * *Examples.* See also examples/pool.c in the sources, with a resource, an adaptor and a buffer.
 */

/** struct accel_pool - a suballocator; opaque */
struct accel_pool;

/**
 * enum accel_pool_flag - bits of accel_pool_options.flags
 * @ACCEL_POOL_DEBUG: look for misuse. Each block has room behind it that is filled with a pattern,
 *	and so is all free memory. A free detects what was written behind its block, and an
 *	allocation what was written after a free; both wait for the stream, and for
 *	accel_pool_check() while it reads that memory. Slow: all memory is written and read when it
 *	is allocated and freed. The memory has to be device memory, or memory that the processor can
 *	access
 * @ACCEL_POOL_RELEASE: give memory back to upstream: when a free leaves a chunk wholly free, the
 *	chunk is given back if at least @release_threshold bytes are free without it. A block that
 *	waits for the work of a stream is not free: the first free after that work, on any stream,
 *	gives its chunk back. Without this flag only accel_pool_trim() gives memory back
 */
enum accel_pool_flag {
	ACCEL_POOL_DEBUG = 1 << 0,
	ACCEL_POOL_RELEASE = 1 << 1,
};

/**
 * struct accel_pool_options - size, growth and checks of a pool
 * @flags: bits of enum accel_pool_flag
 * @granule: unit of blocks in bytes, a power of two from 16 to 2 MiB; 0: 256, or the granule of the
 *	device if that is less and the device has less than 1 MiB
 * @initial_size: bytes that accel_pool_create() takes from upstream; 0: none until they are needed
 * @growth_size: least bytes of a chunk when more memory is needed; 0: a 32nd of the device's
 *	memory, and without a device 64 MiB
 * @maximum_size: most bytes that the pool has from upstream at any time; 0: no limit
 * @release_threshold: with ACCEL_POOL_RELEASE, the free bytes to keep; 0: none
 * @reserve_blocks: number of blocks for which accel_pool_create() makes room in the tables, so that
 *	the first allocations need no memory of the process
 * @reserved: 0
 *
 * A field that is 0 stands for the default.
 */
struct accel_pool_options {
	uint32_t flags;
	uint32_t reserve_blocks;
	size_t granule;
	size_t initial_size;
	size_t growth_size;
	size_t maximum_size;
	size_t release_threshold;
	size_t reserved[4];
};

/**
 * struct accel_pool_stats - what a pool has, and what was done with it
 * @chunk_bytes: bytes that it has from upstream: @used_bytes + @free_bytes
 * @peak_chunk_bytes: largest value of @chunk_bytes so far
 * @used_bytes: bytes of allocated blocks, in whole granules
 * @free_bytes: bytes that are not allocated
 * @waiting_bytes: those of @free_bytes that are available to one stream only, until its work has
 *	ended
 * @largest_free: size of the largest block that is available to every stream, in bytes. Blocks that
 *	wait for a stream do not count, although one of them and its neighbours may be larger
 *	together
 * @bytes: bytes that are allocated, as they were requested
 * @peak_bytes: largest value of @bytes so far
 * @total_bytes: sum of the sizes of all allocations so far
 * @count: blocks that are allocated
 * @total_count: number of allocations so far
 * @failures: allocations that failed for want of memory
 * @free_blocks: number of blocks that @free_bytes consist of
 * @chunks: chunks, and exportable blocks, each of which is an allocation of upstream too
 * @grown: chunks and exportable blocks that were taken from upstream so far
 * @taken_over: how often a stream, or the caller, had to wait for the work of another stream
 * @corruptions: number of writes outside of blocks that ACCEL_POOL_DEBUG has found
 * @metadata_bytes: bytes of process memory that the tables of the pool occupy
 * @fragmentation: 1 - @largest_free / @free_bytes; 0 if nothing is free
 * @reserved: 0
 */
struct accel_pool_stats {
	uint64_t chunk_bytes;
	uint64_t peak_chunk_bytes;
	uint64_t used_bytes;
	uint64_t free_bytes;
	uint64_t waiting_bytes;
	uint64_t largest_free;
	uint64_t bytes;
	uint64_t peak_bytes;
	uint64_t total_bytes;
	uint64_t count;
	uint64_t total_count;
	uint64_t failures;
	uint64_t free_blocks;
	uint64_t chunks;
	uint64_t grown;
	uint64_t taken_over;
	uint64_t corruptions;
	uint64_t metadata_bytes;
	double fragmentation;
	uint64_t reserved[6];
};

/**
 * accel_pool_create() - make a pool
 * @dev: device whose streams order the blocks, held open until the pool is destroyed; NULL: no
 *	device, and every stream has to be NULL
 * @upstream: where chunks come from, copied; NULL: device memory of @dev
 * @options: copied; NULL: the defaults
 * @pool: receives the pool, NULL on failure
 *
 * Makes a pool, and takes the first chunk from upstream if options.initial_size is not 0.
 *
 * Return: 0; ``-EINVAL`` (@pool is NULL; neither @dev nor @upstream is given; an option is out of
 * its range); ``-ENOMEM``; what upstream returns for options.initial_size; or a general error.
 */
int accel_pool_create(struct accel_device *dev, const struct accel_resource *upstream,
		      const struct accel_pool_options *options, struct accel_pool **pool);

/**
 * accel_pool_destroy() - end a pool
 * @pool: pool
 *
 * Waits for work that was queued before a free, and gives all chunks back to upstream. In the child
 * of a fork() it only frees the tables.
 *
 * Return: 0; ``-EINVAL`` (NULL); ``-EBUSY`` (blocks are allocated: the pool stays as it is);
 * ``-EDEADLK`` (in a callback, if only the pool holds the device open: the pool stays as it is).
 */
int accel_pool_destroy(struct accel_pool *pool);

/**
 * accel_pool_allocate() - allocate a block from a pool
 * @pool: pool
 * @stream: stream of the pool's device whose work is the first to use the block; NULL: the program
 *	is, or the work of several streams
 * @size: bytes, at least 1
 * @alignment: bytes, a power of two. Every block is aligned to the granule of the pool, so 1 asks
 *	for no more than that. If no free block has a larger @alignment, the pool requests a chunk
 *	with that alignment from upstream, or, if upstream refuses it with ``-EINVAL``, a chunk that
 *	is longer by @alignment. All later calls with this @alignment or more request the longer
 *	chunk at once
 * @ptr: receives the address, NULL on failure
 *
 * Allocates a block, whose bytes are not initialised. The caller frees it with
 * accel_pool_deallocate(). The call makes no system call, unless the pool has to grow, to wait for
 * the work of a stream, to enlarge its tables, or to sleep because another thread holds its lock.
 *
 * A failure takes no longer than a success, except with an @alignment above the granule: then all
 * free blocks from @size up to @size + @alignment bytes are examined. A request that upstream has
 * refused is not repeated for 100 ms, unless the pool has given memory back to upstream since.
 *
 * If another thread takes a chunk from upstream or gives one back at the time of the call, and the
 * pool may have enough memory afterwards, the call waits for that thread before it fails. In a
 * callback of a stream, and in a callback of the application from upstream, it does not wait. So
 * upstream must not wait for a thread that may be in this call. A call waits once, for the chunks
 * that are being taken or given back when it has found no block, and not for exportable blocks that
 * are being allocated. Before the wait it requests a chunk of accel_pool_options.growth_size bytes
 * from upstream and then one of what it needs; after the wait only the latter. So the call returns
 * whatever other threads do, if upstream does.
 *
 * Return: 0; ``-EINVAL`` (NULL; @size is 0; @alignment is not a power of two; @stream is of another
 * device or was destroyed); ``-ENOMEM`` (no such block is free, and the pool cannot grow enough for
 * it; the host has no memory for the tables of the pool: accel_last_error() says which);
 * ``-EFAULT`` (ACCEL_POOL_DEBUG: the block was written to after it had been freed); ``-EDEADLK``
 * (in a callback of @stream); ``-EPERM`` (the pool is from before a fork()); ``-ENODEV``,
 * ``-ESTALE`` (the device of @stream was removed, or has lost its memory in a reset).
 */
int accel_pool_allocate(struct accel_pool *pool, struct accel_stream *stream, size_t size,
			size_t alignment, void **ptr);

/**
 * accel_pool_allocate_exportable() - allocate a block that other processes can import
 * @pool: pool
 * @stream: as for accel_pool_allocate()
 * @size: bytes, at least 1
 * @alignment: bytes, a power of two that upstream aligns to: device memory to at most
 *	accel_device_info.max_alignment
 * @ptr: receives the address, NULL on failure
 *
 * The block is an allocation of upstream of its own. So accel_memory_export() makes a dma-buf of
 * this block alone, in whole pages, whereas it refuses the other blocks of pools. The call takes as
 * long as an allocation of upstream. The block counts for maximum_size and in all statistics;
 * ACCEL_POOL_DEBUG does not check it. If upstream has no memory, the pool gives back its wholly
 * free chunks and asks again. It does not wait for other threads that take or give back chunks.
 *
 * accel_pool_deallocate() gives the block back to upstream, and no other block gets its memory.
 * Importers are not notified. They have the memory until all of them have freed it and every
 * descriptor of it is closed. Until then this process is charged for it, and the driver neither
 * reuses nor clears it. So no importer depends on the block, the pool or the process. An upstream
 * of the application's own must not keep such memory for other allocations: importers would have
 * these. The order of accesses is up to the processes, for example with
 * accel_stream_export_fence().
 *
 * Example, a block for another process::
 *
 *     accel_pool_allocate_exportable(pool, NULL, size, 1, &ptr);
 *     accel_memory_export(dev, ptr, &fd);
 *     send_fd(socket, fd);
 *     close(fd);
 *     accel_pool_deallocate(pool, NULL, ptr, size, 1);
 *
 * Return: 0; ``-EINVAL`` (NULL; @size is 0; @alignment is not a power of two; @stream is of another
 * device or was destroyed); ``-ENOMEM`` (maximum_size; more than the granule allows in a chunk; the
 * host has no memory for the tables of the pool); ``-EOPNOTSUPP`` (upstream gave something else
 * than a whole allocation of the driver: memory of the process, a block of a pool); ``-EPERM`` (the
 * pool is from before a fork()); or what upstream returns.
 */
int accel_pool_allocate_exportable(struct accel_pool *pool, struct accel_stream *stream, size_t size,
				   size_t alignment, void **ptr);

/**
 * accel_pool_deallocate() - free a block
 * @pool: pool that allocated it
 * @stream: stream whose work is the last to use the block; NULL: no work that is queued uses it
 * @ptr: what accel_pool_allocate() or accel_pool_allocate_exportable() returned
 * @size: as it was given to the allocation
 * @alignment: as it was given to the allocation
 *
 * Frees a block. Work that is queued on @stream may still use it; work of other streams has to be
 * ordered before, with accel_stream_wait_event(). The call waits only for callbacks that @stream
 * has to run, as submissions do. It makes no system call, unless a chunk is given back
 * (ACCEL_POOL_RELEASE) or the block is an exportable one. A call that fails has freed nothing,
 * except for ``-EFAULT``.
 *
 * Return: 0; ``-EINVAL`` (NULL; @size is not that of the block; @alignment is not a power of two,
 * or @ptr is not aligned to it; @stream is of another device or was destroyed); ``-ENOENT`` (no
 * block starts at @ptr: freed, interior, not of this pool); ``-EFAULT`` (ACCEL_POOL_DEBUG: bytes
 * behind the block were written; it is freed all the same); ``-EDEADLK``, ``-EPERM`` as
 * accel_pool_allocate().
 */
int accel_pool_deallocate(struct accel_pool *pool, struct accel_stream *stream, void *ptr,
			  size_t size, size_t alignment);

/**
 * accel_pool_resource() - a pool as a resource
 * @pool: pool
 * @resource: receives the resource, zeroed on failure
 *
 * Makes a resource whose memory is blocks of the pool, for adaptors, buffers, other pools, and
 * everything else that takes a struct accel_resource. It is valid until the pool is destroyed.
 *
 * Return: 0; ``-EINVAL`` (NULL).
 */
int accel_pool_resource(struct accel_pool *pool, struct accel_resource *resource);

/**
 * accel_pool_trim() - give free chunks back
 * @pool: pool
 * @keep: bytes that shall stay free
 *
 * Gives wholly free chunks back to upstream, largest first, as long as at least @keep bytes stay
 * free.
 *
 * Return: 0; ``-EINVAL`` (NULL); ``-EPERM`` (the pool is from before a fork()).
 */
int accel_pool_trim(struct accel_pool *pool, size_t keep);

/**
 * accel_pool_get_stats() - statistics of a pool
 * @pool: pool
 * @stats: filled whole; one consistent snapshot
 *
 * Reads the counters of the pool. Blocks whose work has ended since their free become available to
 * all streams first, which takes longer the more there are.
 *
 * Return: 0; ``-EINVAL`` (NULL); ``-EPERM`` (the pool is from before a fork()).
 */
int accel_pool_get_stats(struct accel_pool *pool, struct accel_pool_stats *stats);

/**
 * accel_pool_check() - check the tables and patterns of a pool
 * @pool: pool
 *
 * Checks that the tables of the pool are consistent, and with ACCEL_POOL_DEBUG that the patterns in
 * all free memory and behind all blocks are intact. It reads one free block, or the room behind one
 * allocated block, after the other; a call that needs memory which is being read waits until that is
 * done. Blocks that are allocated or freed meanwhile may be left out. For tests: the call takes long.
 *
 * Return: 0; ``-EINVAL`` (NULL); ``-EFAULT`` (ACCEL_POOL_DEBUG: something was written behind a
 * block or after a free); ``-EUCLEAN`` (the tables of the pool are wrong: overwritten, or a bug of
 * the library); ``-EPERM`` (the pool is from before a fork()).
 */
int accel_pool_check(struct accel_pool *pool);

#ifdef __cplusplus
}
#endif

#endif /* ACCEL_POOL_H */
