/* SPDX-License-Identifier: MIT */
/*
 * Where memory comes from, as a value: a table of functions that the driver, the pool and a program's
 * own allocator implement, and adaptors that go in between.
 */
#ifndef ACCEL_RESOURCE_H
#define ACCEL_RESOURCE_H

#include <accel/accel.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * DOC: Resources
 *
 * A *resource* is an allocator: a table of functions (struct accel_resource_ops) and a context for
 * them. The driver, pools and adaptors are resources, and an application can write its own. A
 * struct accel_resource is a value of two words: a function that is given one copies it.
 *
 * Allocations are *ordered by streams*: memory may be used by work that is queued on the stream of
 * its allocation, and by what is ordered behind that. A free on a stream says that work which was
 * queued there so far may still use the memory; work on other streams that does has to be ordered
 * before it, with an event. Stream NULL is the program itself: at the allocation the memory is used
 * by no other work, and at the free no queued work uses it.
 *
 * *Thread safety.* The functions for resources may be called from several threads at once, with the
 * same resource too. The functions of an application's own table have to be thread-safe as well.
 *
 * *Lifetime.* Memory is freed by accel_resource_deallocate(), with the resource that allocated it
 * or an equal one, and the size and alignment of the allocation. A resource itself is neither
 * opened nor closed. What its context points to (a device handle, a pool, an adaptor) has to exist
 * as long as the resource is used and as memory from it is allocated.
 *
 * Example, page-locked host memory from the driver::
 *
 *     struct accel_resource host;
 *
 *     accel_resource_of_device(dev, ACCEL_MEMORY_HOST, &host);
 *     accel_resource_allocate(&host, NULL, size, 64, &ptr);
 *     accel_memory_copy_d2h(dev, ptr, device_ptr, size);
 *     accel_resource_deallocate(&host, NULL, ptr, size, 64);
 *
 * *Examples.* See also examples/pool.c in the sources: a pool, an adaptor in front of it, and a
 * buffer that allocates from both.
 */

/**
 * struct accel_resource_ops - the functions of a resource
 * @allocate: allocates at least @size bytes, aligned to @alignment, and writes their address to
 *	*@ptr; returns 0, or a negative errno with NULL in *@ptr. @size is at least 1, @alignment a
 *	power of two, @stream may be NULL
 * @deallocate: frees what @allocate returned, with the same @size and @alignment; returns 0, or a
 *	negative errno, and then the memory is allocated as before. The exception is ``-EFAULT``: it
 *	was freed and found to be damaged. @stream need not be that of the allocation
 * @equal: returns whether memory of one of two resources with this table can be freed by the other;
 *	not 0: yes. NULL: only if their contexts are the same
 * @reserved: NULL
 *
 * The functions have to be thread-safe, and may not call back into their caller.
 */
struct accel_resource_ops {
	int (*allocate)(void *context, struct accel_stream *stream, size_t size, size_t alignment,
			void **ptr);
	int (*deallocate)(void *context, struct accel_stream *stream, void *ptr, size_t size,
			  size_t alignment);
	int (*equal)(const void *context, const void *other);
	void (*reserved[4])(void);
};

/**
 * struct accel_resource - an allocator
 * @ops: its functions; have to exist as long as the resource
 * @context: passed to the functions
 */
struct accel_resource {
	const struct accel_resource_ops *ops;
	void *context;
};

/**
 * accel_resource_of_device() - memory of the driver as a resource
 * @dev: handle; has to be open as long as the resource is used
 * @kind: ACCEL_MEMORY_DEVICE, ACCEL_MEMORY_HOST (pinned) or ACCEL_MEMORY_UNIFIED
 * @resource: receives the resource, zeroed on failure
 *
 * Each allocation and each free calls the driver, which is one or two system calls; a pool is
 * faster. Streams make no difference, because the driver does not reuse memory before the work that
 * uses it has ended. Alignments go up to accel_device_info.max_alignment for device memory, and up
 * to the page size for the other kinds.
 *
 * Return: 0; ``-EINVAL`` (NULL; another @kind); or a general error.
 */
int accel_resource_of_device(struct accel_device *dev, enum accel_memory_kind kind,
			     struct accel_resource *resource);

/**
 * accel_resource_allocate() - allocate memory from a resource
 * @resource: resource
 * @stream: stream whose work is the first to use the memory; NULL: the program
 * @size: bytes, at least 1
 * @alignment: bytes, a power of two; 1 if any address will do
 * @ptr: receives the address, NULL on failure
 *
 * Calls the allocate function of the resource, and checks the arguments and the result. The caller
 * frees the memory with accel_resource_deallocate().
 *
 * Return: 0; ``-EINVAL`` (NULL; @size is 0; @alignment is not a power of two; the resource has no
 * functions; the resource returned a positive number); ``-ENOMEM`` (the resource has no memory, or
 * returned 0 and no address); or what the resource returns.
 */
int accel_resource_allocate(const struct accel_resource *resource, struct accel_stream *stream,
			    size_t size, size_t alignment, void **ptr);

/**
 * accel_resource_deallocate() - free memory of a resource
 * @resource: resource that allocated it, or an equal one
 * @stream: stream whose work is the last to use the memory; NULL: no work that is queued uses it
 * @ptr: what accel_resource_allocate() returned
 * @size: as it was given to the allocation
 * @alignment: as it was given to the allocation
 *
 * Calls the deallocate function of the resource. If the call fails the memory is still allocated,
 * except for ``-EFAULT``.
 *
 * Return: 0; ``-EINVAL`` (NULL; @size is 0; @alignment is not a power of two; the resource returned
 * a positive number); ``-EFAULT`` (the memory was damaged: it is freed all the same); or what the
 * resource returns.
 */
int accel_resource_deallocate(const struct accel_resource *resource, struct accel_stream *stream,
			      void *ptr, size_t size, size_t alignment);

/**
 * accel_resource_equal() - whether memory of one resource can be freed by another
 * @a: resource
 * @b: resource
 *
 * Resources are equal if they have the same table, and the same context or the equal function of
 * the table says so.
 *
 * Return: 1 if they are equal, 0 if not; ``-EINVAL`` (NULL; a resource has no functions).
 */
int accel_resource_equal(const struct accel_resource *a, const struct accel_resource *b);

/* ---- Adaptors -------------------------------------------------------------------------------- */

/**
 * DOC: Adaptors
 *
 * An *adaptor* is a resource that passes each allocation and free on to another resource, its
 * *upstream*, and does something besides: it counts, enforces a limit, writes a log, or records the
 * allocations that are live. Adaptors can be stacked in any order. All of them count, also for a
 * part of the run: see accel_adaptor_push_scope().
 *
 * An adaptor adds no bytes to an allocation. A free of more bytes than are allocated through it is
 * ``-ENOENT``.
 *
 * *Thread safety.* The functions for adaptors may be called from several threads at once, with the
 * same adaptor too. The exception is accel_adaptor_destroy(): no other thread may use the adaptor
 * during that call or later.
 *
 * *Lifetime.* An adaptor is ended by accel_adaptor_destroy(), which is refused while memory that
 * was allocated through it is live. What the context of its upstream points to has to exist until
 * then. The resource of accel_adaptor_resource() is valid until then too. After fork() the child's
 * calls are ``-EPERM``, but accel_adaptor_destroy() works. A struct accel_adaptor is a pointer,
 * unlike the handles of accel.h: after accel_adaptor_destroy() a call with it is undefined.
 *
 * Example, the most memory that a part of a program has in use::
 *
 *     accel_adaptor_create_statistics(&upstream, &adaptor);
 *     accel_adaptor_resource(adaptor, &resource);
 *     run(&resource);
 *     accel_adaptor_get_statistics(adaptor, &counts);
 *     printf("%llu bytes\n", (unsigned long long)counts.peak_bytes);
 *     accel_adaptor_destroy(adaptor);
 *
 * *Examples.* See also examples/pool.c in the sources, with an adaptor in front of a pool.
 */

/** struct accel_adaptor - a resource in front of another one; opaque */
struct accel_adaptor;

/**
 * struct accel_adaptor_statistics - what went through an adaptor
 * @bytes: bytes that are allocated now, as they were requested
 * @peak_bytes: largest value of @bytes so far
 * @total_bytes: sum of the sizes of all allocations so far
 * @count: allocations that are live now
 * @peak_count: largest value of @count so far
 * @total_count: number of allocations so far
 * @failures: allocations that failed, for any reason
 * @allocate_ns: nanoseconds that upstream took for @total_count + @failures allocations; this and
 *	the next three are counted by accel_adaptor_create_timing(), and else 0
 * @longest_allocate_ns: longest of them
 * @deallocate_ns: nanoseconds that upstream took for @total_count - @count frees
 * @longest_deallocate_ns: longest of them
 * @reserved: 0
 */
struct accel_adaptor_statistics {
	uint64_t bytes;
	uint64_t peak_bytes;
	uint64_t total_bytes;
	uint64_t count;
	uint64_t peak_count;
	uint64_t total_count;
	uint64_t failures;
	uint64_t allocate_ns;
	uint64_t longest_allocate_ns;
	uint64_t deallocate_ns;
	uint64_t longest_deallocate_ns;
	uint64_t reserved[1];
};

/**
 * struct accel_adaptor_allocation - a live allocation that a tracking adaptor has recorded
 * @ptr: address
 * @size: bytes that were requested
 * @alignment: alignment that was requested
 * @stream: of the allocation; it may have been destroyed since
 * @sequence: number of the allocation, from 1
 * @frames: return addresses, innermost first; backtrace_symbols_fd() prints them
 * @nr_frames: number of @frames
 * @reserved: 0
 */
struct accel_adaptor_allocation {
	void *ptr;
	size_t size;
	size_t alignment;
	struct accel_stream *stream;
	uint64_t sequence;
	void *const *frames;
	uint32_t nr_frames;
	uint32_t reserved[5];
};

/** ACCEL_ADAPTOR_FRAMES - most frames of a backtrace that are kept */
#define ACCEL_ADAPTOR_FRAMES 32

/**
 * accel_adaptor_create_statistics() - make an adaptor that counts
 * @upstream: where its memory comes from, copied
 * @adaptor: receives the adaptor, NULL on failure
 *
 * Makes an adaptor that counts bytes, allocations and failures: see accel_adaptor_get_statistics().
 * All other adaptors count too.
 *
 * Return: 0; ``-EINVAL`` (NULL; a resource has no functions); ``-ENOMEM``.
 */
int accel_adaptor_create_statistics(const struct accel_resource *upstream,
				    struct accel_adaptor **adaptor);

/**
 * accel_adaptor_create_timing() - make an adaptor that measures the time of upstream
 * @upstream: where its memory comes from, copied
 * @adaptor: receives the adaptor, NULL on failure
 *
 * Makes an adaptor that counts as that of accel_adaptor_create_statistics(), and reads
 * CLOCK_MONOTONIC before and after each call of upstream. The times of calls that run at once in
 * several threads are added.
 *
 * Return: as accel_adaptor_create_statistics().
 */
int accel_adaptor_create_timing(const struct accel_resource *upstream,
				struct accel_adaptor **adaptor);

/**
 * accel_adaptor_create_fallback() - make an adaptor with a second resource
 * @first: where its memory comes from, copied
 * @second: copied; serves the allocations for which @first has no memory (``-ENOMEM``, ``-EDQUOT``)
 * @adaptor: receives the adaptor, NULL on failure
 *
 * Makes an adaptor that allocates from @first and, if that has no memory, from @second. A free goes
 * to the resource that has allocated. Memory of @second has to be freed through the adaptor. The
 * application has to work with memory of both: with unified memory behind device memory, for
 * example, copies between them are as between any two allocations. Statistics count both.
 *
 * Example, unified memory when the device is full::
 *
 *     accel_resource_of_device(dev, ACCEL_MEMORY_DEVICE, &device);
 *     accel_resource_of_device(dev, ACCEL_MEMORY_UNIFIED, &unified);
 *     accel_adaptor_create_fallback(&device, &unified, &adaptor);
 *
 * Return: as accel_adaptor_create_statistics().
 */
int accel_adaptor_create_fallback(const struct accel_resource *first,
				  const struct accel_resource *second,
				  struct accel_adaptor **adaptor);

/**
 * accel_adaptor_create_limiting() - make an adaptor with a limit
 * @upstream: where its memory comes from, copied
 * @limit: bytes that may be allocated at a time
 * @adaptor: receives the adaptor, NULL on failure
 *
 * Makes an adaptor with a limit of @limit bytes. An allocation that would exceed the limit fails
 * with ``-EDQUOT``, and upstream is not called.
 *
 * Return: as accel_adaptor_create_statistics().
 */
int accel_adaptor_create_limiting(const struct accel_resource *upstream, uint64_t limit,
				  struct accel_adaptor **adaptor);

/**
 * accel_adaptor_create_logging() - make an adaptor that writes a log
 * @upstream: where its memory comes from, copied
 * @path: file to write; one that exists is replaced
 * @adaptor: receives the adaptor, NULL on failure
 *
 * Makes an adaptor that writes a line of CSV for each call of upstream, in the format of RMM's
 * logs, so that its tools read them: ``Thread,Time,Action,Pointer,Size,Stream``. Action is
 * ``allocate``, ``allocate failure`` or ``free``, Time that of the day in UTC. Lines are complete
 * when the call returns, in the order of the calls of upstream; the lines of concurrent calls may
 * be in another order than the calls. The adaptor holds no lock while it writes a line. An error of
 * the file does not fail an allocation: accel_adaptor_destroy() returns it.
 *
 * Return: as accel_adaptor_create_statistics(); or the negative errno of opening @path.
 */
int accel_adaptor_create_logging(const struct accel_resource *upstream, const char *path,
				 struct accel_adaptor **adaptor);

/**
 * accel_adaptor_create_spilling() - make an adaptor that calls the application when memory is short
 * @upstream: where its memory comes from, copied
 * @fn: called with @data and the bytes of an allocation for which upstream has no memory
 *	(``-ENOMEM``, ``-EDQUOT``); returns 0 if it has freed some, and otherwise a negative errno
 * @data: passed on; has to stay valid until accel_adaptor_destroy()
 * @adaptor: receives the adaptor, NULL on failure
 *
 * Makes an adaptor that calls @fn when upstream has no memory. When @fn returns 0 upstream is
 * called once more, and the caller gets its result. Otherwise the allocation fails with the first
 * errno of upstream. @fn runs in the thread that allocates, without a lock of the adaptor: it may
 * free, copy and allocate through the adaptor, but an allocation in it does not call it again.
 * Several threads may call it at once. Memory that it frees on a stream is available to others when
 * the work of that stream has ended, or as the resource orders it.
 *
 * Return: as accel_adaptor_create_statistics(); ``-EINVAL`` (@fn is NULL).
 */
int accel_adaptor_create_spilling(const struct accel_resource *upstream,
				  int (*fn)(void *data, size_t size), void *data,
				  struct accel_adaptor **adaptor);

/**
 * accel_adaptor_create_tracking() - make an adaptor that records live allocations
 * @upstream: where its memory comes from, copied
 * @frames: how many return addresses to keep of each, at most ACCEL_ADAPTOR_FRAMES; 0: none
 * @adaptor: receives the adaptor, NULL on failure
 *
 * Makes an adaptor that records the address, size, stream and backtrace of each live allocation:
 * see accel_adaptor_outstanding(). A free of an address that is not live, or with another size, is
 * refused before upstream is called. Memory that was freed without the adaptor counts as live until
 * upstream returns the same memory again.
 *
 * Return: as accel_adaptor_create_statistics(); ``-EINVAL`` (@frames is too large).
 */
int accel_adaptor_create_tracking(const struct accel_resource *upstream, unsigned int frames,
				  struct accel_adaptor **adaptor);

/**
 * accel_adaptor_destroy() - end an adaptor
 * @adaptor: adaptor
 *
 * Ends the adaptor, and the scopes of it that are open. Resources that accel_adaptor_resource() has
 * returned are not valid any more. The adaptor stays as it is if the call fails, except for a
 * logging adaptor, which ends also if its file could not be written.
 *
 * Return: 0; ``-EINVAL`` (NULL); ``-EBUSY`` (memory that was allocated through it is live); of a
 * logging adaptor the negative errno of writing its file.
 */
int accel_adaptor_destroy(struct accel_adaptor *adaptor);

/**
 * accel_adaptor_resource() - an adaptor as a resource
 * @adaptor: adaptor
 * @resource: receives the resource, zeroed on failure
 *
 * Makes a resource whose allocations go through the adaptor. It is equal to that of another adaptor
 * only if it is the same one.
 *
 * Return: 0; ``-EINVAL`` (NULL).
 */
int accel_adaptor_resource(struct accel_adaptor *adaptor, struct accel_resource *resource);

/**
 * accel_adaptor_get_statistics() - what went through an adaptor
 * @adaptor: adaptor of any kind
 * @statistics: filled whole; one consistent snapshot
 *
 * Returns the counters of the adaptor since it was made. Scopes do not affect them.
 *
 * Return: 0; ``-EINVAL`` (NULL); ``-EPERM`` (the adaptor is from before a fork()).
 */
int accel_adaptor_get_statistics(struct accel_adaptor *adaptor,
				 struct accel_adaptor_statistics *statistics);

/**
 * accel_adaptor_push_scope() - start to count anew
 * @adaptor: adaptor of any kind
 *
 * Opens a scope, inside the one that was opened before. A scope counts what all threads do. An
 * allocation does not take longer for it. accel_adaptor_get_statistics() is not affected.
 * accel_adaptor_destroy() ends scopes that are left.
 *
 * Example, the peak of one step::
 *
 *     accel_adaptor_push_scope(adaptor);
 *     run_step();
 *     accel_adaptor_pop_scope(adaptor, &counts);
 *     printf("%llu bytes\n", (unsigned long long)counts.peak_bytes);
 *
 * Return: 0; ``-EINVAL`` (NULL); ``-ENOMEM``; ``-EPERM`` (the adaptor is from before a fork()).
 */
int accel_adaptor_push_scope(struct accel_adaptor *adaptor);

/**
 * accel_adaptor_pop_scope() - what went through an adaptor in a scope
 * @adaptor: adaptor of any kind
 * @statistics: filled whole: what was counted since the last accel_adaptor_push_scope() that was
 *	not popped. @bytes and @count are relative to that: negative, as int64_t, if more was freed
 *	than allocated. @peak_bytes and @peak_count are the most that they were, at least 0
 *
 * Closes the scope that was opened last, and returns its counters.
 *
 * Example, the peak of one step::
 *
 *     accel_adaptor_push_scope(adaptor);
 *     run_step();
 *     accel_adaptor_pop_scope(adaptor, &counts);
 *     printf("%llu bytes\n", (unsigned long long)counts.peak_bytes);
 *
 * Return: 0; ``-EINVAL`` (NULL); ``-ENOENT`` (no scope is open); ``-EPERM`` (the adaptor is from
 * before a fork()).
 */
int accel_adaptor_pop_scope(struct accel_adaptor *adaptor,
			    struct accel_adaptor_statistics *statistics);

/**
 * accel_adaptor_outstanding() - list the allocations that are live
 * @adaptor: adaptor of accel_adaptor_create_tracking()
 * @fn: called with @data and each live allocation, oldest first, until it returns something else
 *	than 0
 * @data: passed on
 *
 * Calls @fn for each allocation that was made through the adaptor and has not been freed. @fn gets
 * a copy of what was live at one time during the call, which is valid until @fn returns. No lock of
 * the adaptor is held then, so @fn may allocate and free through @adaptor. An allocation that was
 * freed since is in the copy, a later one is not.
 *
 * Example, a list of leaks::
 *
 *     static int show(void *file, const struct accel_adaptor_allocation *live)
 *     {
 *         fprintf(file, "%p, %zu bytes\n", live->ptr, live->size);
 *         return 0;
 *     }
 *
 *     accel_adaptor_outstanding(adaptor, show, stderr);
 *
 * Return: 0; what @fn returned; ``-EINVAL`` (NULL; @adaptor does not track); ``-ENOMEM``;
 * ``-EPERM`` (the adaptor is from before a fork()).
 */
int accel_adaptor_outstanding(struct accel_adaptor *adaptor,
			      int (*fn)(void *data, const struct accel_adaptor_allocation *live),
			      void *data);

#ifdef __cplusplus
}
#endif

#endif /* ACCEL_RESOURCE_H */
