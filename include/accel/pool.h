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
 * A *pool* takes memory from a resource in large pieces, its *chunks*, and gives it out in *blocks* of
 * any size. All that it knows about them lies in ordinary memory of the process; it never touches
 * what it gives out, unless it is asked to (ACCEL_POOL_DEBUG). A block is the smallest free piece
 * that serves; what is left over stays free, and free neighbours become one.
 *
 * Blocks are ordered by streams. One that was freed on a stream can be had on the same stream at
 * once: its new work runs behind the old. Another stream gets it when the work that was queued before
 * the free has ended. Only where nothing else serves does an allocation take memory that is not
 * that far: then its stream waits for that work, or, with stream NULL, the caller does. A stream that
 * waits so for one that fails, fails too.
 *
 * Every use of a block has to be ordered behind its allocation and before its free, as with
 * accel_stream_wait_event() where another stream than that of the allocation uses or frees it.
 */

/** struct accel_pool - a suballocator; opaque */
struct accel_pool;

/**
 * enum accel_pool_flag - bits of accel_pool_options.flags
 * @ACCEL_POOL_DEBUG: look for misuse. Each block has room behind it that is filled with a pattern,
 *	and so is all that is free. A free finds what was written behind its block, and an allocation
 *	what was written after a free; both wait for the stream. Slow: it writes and reads all memory
 *	that changes hands. The memory has to be device memory, or memory that the
 *	processor can access
 * @ACCEL_POOL_RELEASE: give memory back to the resource: when a free leaves a chunk wholly free, it is
 *	given back if as many bytes as @release_threshold are free without it. What waits for the work
 *	of a stream is not free: the first free after that work gives it back, on any stream.
 *	Otherwise only accel_pool_trim() gives memory back
 */
enum accel_pool_flag {
	ACCEL_POOL_DEBUG = 1 << 0,
	ACCEL_POOL_RELEASE = 1 << 1,
};

/**
 * struct accel_pool_options - how a pool behaves
 * @flags: bits of enum accel_pool_flag
 * @granule: unit of blocks in bytes, a power of two from 16 to 2 MiB; 0: 256, and that of the
 *	device if it is less and the device has less than 1 MiB
 * @initial_size: bytes that accel_pool_create() takes; 0: none until they are needed
 * @growth_size: bytes that are taken at least, when more are needed; 0: a 32nd of the device's
 *	memory, and without a device 64 MiB
 * @maximum_size: bytes that are taken at most in all; 0: as many as there are
 * @release_threshold: with ACCEL_POOL_RELEASE, the free bytes to keep; 0: none
 * @reserve_blocks: blocks to have room for from the beginning, so that the first allocations need no
 *	memory of the process
 * @reserved: 0
 *
 * Whatever is 0 is a default.
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
 * @chunk_bytes: bytes that it has from its resource: @used_bytes + @free_bytes
 * @peak_chunk_bytes: most that it had at a time
 * @used_bytes: bytes in blocks that are allocated, in whole granules
 * @free_bytes: the others
 * @waiting_bytes: those of @free_bytes that only one stream can have at once
 * @largest_free: longest block that any stream can have at once, in bytes. Blocks that wait for a
 *	stream are not in it, although one of them and its neighbours may be longer together
 * @bytes: bytes that are allocated, as they were asked for
 * @peak_bytes: most that were at a time
 * @total_bytes: all that were ever allocated
 * @count: blocks that are allocated
 * @total_count: all that were ever allocated
 * @failures: allocations for which there was no memory
 * @free_blocks: pieces that @free_bytes consist of
 * @chunks: chunks
 * @grown: chunks that were ever taken
 * @taken_over: how often a stream, or the caller, had to wait for another one's work
 * @corruptions: what ACCEL_POOL_DEBUG found
 * @metadata_bytes: bytes of the process that all this takes
 * @fragmentation: 1 - @largest_free / @free_bytes; 0 without any
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
 * @dev: device whose streams order the blocks, kept open until the pool ends; NULL: no device, and
 *	every stream has to be NULL
 * @upstream: where chunks come from, copied; NULL: device memory of @dev
 * @options: how it behaves, copied; NULL: the defaults
 * @pool: receives the pool, NULL on failure
 *
 * Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (@pool is NULL, neither @dev nor @upstream, an option); ``-ENOMEM``; what
 * upstream says about @initial_size; or a general error.
 */
int accel_pool_create(struct accel_device *dev, const struct accel_resource *upstream,
		      const struct accel_pool_options *options, struct accel_pool **pool);

/**
 * accel_pool_destroy() - end a pool
 * @pool: pool
 *
 * Waits for work that was queued before a free, and gives all chunks back. In the child of a fork()
 * it only forgets them. No other thread may use the pool at the same time, or later.
 *
 * Return: 0; ``-EINVAL`` (NULL); ``-EBUSY`` (blocks are allocated) and ``-EDEADLK`` (in a callback, if
 * only the pool keeps the device open): the pool stays as it is.
 */
int accel_pool_destroy(struct accel_pool *pool);

/**
 * accel_pool_allocate() - have a block
 * @pool: pool
 * @stream: whose work will use it first, of the pool's device; NULL: the program, or several
 *	streams
 * @size: bytes, at least 1
 * @alignment: bytes, a power of two; the granule is had without asking. Where no free block is
 *	aligned so, upstream is asked for a chunk that is; if its answer is ``-EINVAL``, for one that
 *	is longer by @alignment and has such an address, and so are all later calls with this
 *	@alignment or more
 * @ptr: receives the address, NULL on failure
 *
 * Makes no system call, unless the pool has to grow, wait, double its tables, or sleep until another
 * thread gives its lock. A failure takes no longer than a success, except for an @alignment above the
 * granule: before that fails, all free pieces from @size up to @size + @alignment are looked at. What
 * upstream has refused is not requested again for 100 ms, unless something was given back. The bytes
 * are not initialized. Thread-safe.
 *
 * While another thread takes a chunk from upstream or gives one back, and there may be enough when
 * it has, the call waits for that instead of failing; but not in a callback of a stream, or in one
 * that upstream makes. So upstream must not wait for a thread that may be in this call. A call waits
 * once, for the chunks that move when it has found nothing, and not for exportable blocks that are
 * being allocated. It requests a chunk from upstream before and after that, each time of
 * accel_pool_options.growth_size bytes and then of what it needs. So it returns whatever other threads
 * do, if upstream does.
 *
 * Return: 0; ``-EINVAL`` (NULL, @size, @alignment, @stream is of another device or was destroyed);
 * ``-ENOMEM`` (no such block is free, and the pool cannot grow enough for it; or the host has no
 * memory for the tables of the pool: accel_last_error() says which); ``-EFAULT`` (ACCEL_POOL_DEBUG:
 * the block was written to after it had been freed); ``-EDEADLK`` (in a callback of @stream);
 * ``-EPERM`` (from before a fork); ``-ENODEV``, ``-ESTALE`` (the device of @stream was removed, or
 * has lost its memory in a reset).
 */
int accel_pool_allocate(struct accel_pool *pool, struct accel_stream *stream, size_t size,
			size_t alignment, void **ptr);

/**
 * accel_pool_allocate_exportable() - have a block that other processes can import
 * @pool: pool
 * @stream: as in accel_pool_allocate()
 * @size: bytes, at least 1
 * @alignment: bytes, a power of two that upstream aligns to: device memory to at most
 *	accel_device_info.max_alignment
 * @ptr: receives the address, NULL on failure
 *
 * The block is an allocation of upstream of its own. So accel_memory_export() makes a dma-buf of it
 * alone, in whole pages, where it refuses the other blocks of pools. It takes as long as an allocation of
 * upstream, and counts in maximum_size and in all statistics; ACCEL_POOL_DEBUG leaves it out. If
 * upstream has no memory, the pool gives back its wholly free chunks first. It does not wait for
 * chunks that other threads move. Thread-safe.
 *
 * accel_pool_deallocate() gives the block back to upstream, and no other block gets its memory.
 * Importers are not notified. They have the memory until all of them have freed it and every
 * descriptor of it is closed. Until then this process is charged for it, and the driver neither reuses
 * nor clears it. So no importer depends on the block, the pool or the process. An upstream of the
 * application's own must not keep such memory for other allocations: importers would have these.
 * The order of accesses is up to the processes, for example with accel_stream_export_fence().
 *
 * Return: 0; ``-EINVAL`` (NULL, @size, @alignment, @stream is of another device or was destroyed);
 * ``-ENOMEM`` (maximum_size, more than the granule allows in a chunk, or the host has no memory for
 * the tables of the pool); ``-EOPNOTSUPP`` (upstream gave something else than a whole allocation of the
 * driver: memory of the process, a block of a pool); ``-EPERM`` (from before a fork); or what upstream
 * says.
 */
int accel_pool_allocate_exportable(struct accel_pool *pool, struct accel_stream *stream, size_t size,
				   size_t alignment, void **ptr);

/**
 * accel_pool_deallocate() - free a block
 * @pool: pool
 * @stream: whose work was the last to use it; NULL: no work that is queued uses it
 * @ptr: what accel_pool_allocate() or accel_pool_allocate_exportable() gave
 * @size: as it was asked for
 * @alignment: likewise
 *
 * Waits only for callbacks that @stream has to run, as calls that queue do. Makes no system call,
 * unless a chunk is given back (ACCEL_POOL_RELEASE) or the block is an exportable one. A call that
 * fails has freed nothing, but see ``-EFAULT``. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL, @size or @alignment is not that of the block, @stream is of another
 * device or was destroyed); ``-ENOENT`` (no block starts at @ptr: freed, interior, not of this
 * pool); ``-EFAULT`` (ACCEL_POOL_DEBUG: bytes behind the block were written; it is freed all the
 * same); ``-EDEADLK``, ``-EPERM`` as accel_pool_allocate().
 */
int accel_pool_deallocate(struct accel_pool *pool, struct accel_stream *stream, void *ptr,
			  size_t size, size_t alignment);

/**
 * accel_pool_resource() - a pool as a resource
 * @pool: pool
 * @resource: receives the resource, zeroed on failure
 *
 * Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL).
 */
int accel_pool_resource(struct accel_pool *pool, struct accel_resource *resource);

/**
 * accel_pool_trim() - give back what is not needed
 * @pool: pool
 * @keep: bytes that shall stay free
 *
 * Gives wholly free chunks back, largest first, as long as at least @keep bytes stay free.
 * Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL); ``-EPERM`` (from before a fork).
 */
int accel_pool_trim(struct accel_pool *pool, size_t keep);

/**
 * accel_pool_get_stats() - what a pool has
 * @pool: pool
 * @stats: filled whole; one consistent snapshot
 *
 * Reads counters. Blocks whose streams have passed the free are released first, which takes longer the
 * more there are. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL); ``-EPERM`` (from before a fork).
 */
int accel_pool_get_stats(struct accel_pool *pool, struct accel_pool_stats *stats);

/**
 * accel_pool_check() - look whether all is in order
 * @pool: pool
 *
 * Goes through all that the pool knows, and with ACCEL_POOL_DEBUG through all memory that it does
 * not expect anybody to have written. For tests: it takes long, and all threads wait. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL); ``-EFAULT`` (ACCEL_POOL_DEBUG: something was written behind a block
 * or after a free); ``-EUCLEAN`` (the tables of the pool are wrong: overwritten, or a bug of the
 * library); ``-EPERM`` (from before a fork).
 */
int accel_pool_check(struct accel_pool *pool);

#ifdef __cplusplus
}
#endif

#endif /* ACCEL_POOL_H */
