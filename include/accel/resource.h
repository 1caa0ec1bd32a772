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
 * A *resource* is something that memory can be had from. It is two words, a table of functions and a
 * context for them, and passed on by copying: whoever is given one copies it. What the context points
 * to has to live as long as anybody uses the resource, and as any memory from it.
 *
 * Allocations are *ordered by streams*: memory may be used by work that is queued on the stream of
 * its allocation, and by what is ordered behind that. A free on a stream says that work which was
 * queued there so far may still use the memory; work on other streams that does has to be ordered
 * before it, with an event. Stream NULL is the program itself: everything of interest is complete.
 */

/**
 * struct accel_resource_ops - what a resource can do
 * @allocate: gives at least @size bytes, aligned to @alignment, in *@ptr; 0 or a negative errno, and
 *	then *@ptr is NULL. @size is at least 1, @alignment a power of two, @stream may be NULL
 * @deallocate: takes back what @allocate gave, with the same @size and @alignment; 0, or a negative
 *	errno, and then it is live as before, but for ``-EFAULT``: it was taken back and found to be
 *	damaged. @stream need not be that of the allocation
 * @equal: whether what one of two resources with this table gave can be given back to the other;
 *	NULL: only if their contexts are the same. Not 0: yes
 * @reserved: NULL
 *
 * The functions have to be thread-safe, and may not call back into who called them.
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
 * struct accel_resource - somewhere to have memory from
 * @ops: what it can do; has to live as long as the resource
 * @context: passed to the functions
 */
struct accel_resource {
	const struct accel_resource_ops *ops;
	void *context;
};

/**
 * accel_resource_of_device() - memory of the driver
 * @dev: handle; has to be open as long as the resource is used
 * @kind: ACCEL_MEMORY_DEVICE, ACCEL_MEMORY_HOST (pinned) or ACCEL_MEMORY_UNIFIED
 * @resource: receives the resource, zeroed on failure
 *
 * Each allocation and each free is one of the driver, and so a system call or two; streams make no
 * difference, because the driver lets work that uses memory end before it gives it to anybody else.
 * Alignments: up to accel_device_info.max_alignment for device memory, to the page for the others.
 * Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL, another @kind); or a general error.
 */
int accel_resource_of_device(struct accel_device *dev, enum accel_memory_kind kind,
			     struct accel_resource *resource);

/**
 * accel_resource_allocate() - have memory from a resource
 * @resource: resource
 * @stream: whose work will use it first; NULL: the program
 * @size: bytes, at least 1
 * @alignment: bytes, a power of two
 * @ptr: receives the address, NULL on failure
 *
 * Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL, @size, @alignment, a table without functions); ``-ENOMEM`` also if the
 * resource says 0 and gives no address; or what the resource says, a positive number being
 * ``-EINVAL``.
 */
int accel_resource_allocate(const struct accel_resource *resource, struct accel_stream *stream,
			    size_t size, size_t alignment, void **ptr);

/**
 * accel_resource_deallocate() - give memory back
 * @resource: resource that gave it, or one that is equal
 * @stream: whose work was the last to use it; NULL: none of it is pending
 * @ptr: what accel_resource_allocate() gave
 * @size: as it was asked for
 * @alignment: likewise
 *
 * Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL, @size, @alignment); ``-EFAULT`` (the memory was damaged: it was taken
 * back all the same); or what the resource says, a positive number being ``-EINVAL``.
 */
int accel_resource_deallocate(const struct accel_resource *resource, struct accel_stream *stream,
			      void *ptr, size_t size, size_t alignment);

/**
 * accel_resource_equal() - whether memory of one resource can be given back to another
 * @a: resource
 * @b: resource
 *
 * Thread-safe.
 *
 * Return: 1 if it can, 0 if not; ``-EINVAL`` (NULL, a table without functions).
 */
int accel_resource_equal(const struct accel_resource *a, const struct accel_resource *b);

/* ---- Adaptors -------------------------------------------------------------------------------- */

/**
 * DOC: Adaptors
 *
 * An *adaptor* is a resource that passes all on to another one, its upstream, and does something
 * besides: it counts, keeps a limit, writes a log, or remembers what is live. Adaptors can be stacked
 * in any order. All of them count, also for a part of the run: see accel_adaptor_push_scope().
 *
 * An adaptor adds nothing to an allocation. A free of more than came through it is ``-ENOENT``. It
 * lives until accel_adaptor_destroy(), and its upstream has to live longer. After fork() the child's
 * calls are ``-EPERM``, but accel_adaptor_destroy() works.
 */

/** struct accel_adaptor - a resource in front of another one; opaque */
struct accel_adaptor;

/**
 * struct accel_adaptor_statistics - what went through an adaptor
 * @bytes: bytes that are allocated now, as they were asked for
 * @peak_bytes: most that were at a time
 * @total_bytes: all that were ever allocated
 * @count: allocations that are live now
 * @peak_count: most that were at a time
 * @total_count: all that were ever made
 * @failures: allocations that failed, for whatever reason
 * @allocate_ns: nanoseconds that upstream took for @total_count + @failures allocations; this and the
 *	next three of accel_adaptor_create_timing(), else 0
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
 * struct accel_adaptor_allocation - a live allocation that a tracking adaptor remembers
 * @ptr: address
 * @size: bytes that were asked for
 * @alignment: likewise
 * @stream: of the allocation; it may have been destroyed since
 * @sequence: number of the allocation, from 1
 * @frames: return addresses, innermost first; backtrace_symbols_fd() shows them
 * @nr_frames: how many
 */
struct accel_adaptor_allocation {
	void *ptr;
	size_t size;
	size_t alignment;
	struct accel_stream *stream;
	uint64_t sequence;
	void *const *frames;
	unsigned int nr_frames;
};

/** ACCEL_ADAPTOR_FRAMES - most frames of a backtrace that are kept */
#define ACCEL_ADAPTOR_FRAMES 32

/**
 * accel_adaptor_create_statistics() - an adaptor that counts
 * @upstream: where its memory comes from, copied
 * @adaptor: receives the adaptor, NULL on failure
 *
 * Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL, a table without functions); ``-ENOMEM``.
 */
int accel_adaptor_create_statistics(const struct accel_resource *upstream,
				    struct accel_adaptor **adaptor);

/**
 * accel_adaptor_create_timing() - an adaptor that measures the time of upstream
 * @upstream: copied
 * @adaptor: receives the adaptor, NULL on failure
 *
 * Counts as accel_adaptor_create_statistics(), and reads CLOCK_MONOTONIC before and after each call of
 * upstream. Calls of several threads at once count with the time of each. Thread-safe.
 *
 * Return: as accel_adaptor_create_statistics().
 */
int accel_adaptor_create_timing(const struct accel_resource *upstream,
				struct accel_adaptor **adaptor);

/**
 * accel_adaptor_create_fallback() - an adaptor with a second resource
 * @first: where its memory comes from, copied
 * @second: copied; gets what @first has no memory for (``-ENOMEM``, ``-EDQUOT``)
 * @adaptor: receives the adaptor, NULL on failure
 *
 * A free goes to the resource that has allocated. Memory of @second has to be freed through the
 * adaptor. The application has to work with memory of both: with unified memory behind device memory,
 * for example, copies between them are as between any two allocations. Statistics count both.
 * Thread-safe.
 *
 * Return: as accel_adaptor_create_statistics().
 */
int accel_adaptor_create_fallback(const struct accel_resource *first,
				  const struct accel_resource *second,
				  struct accel_adaptor **adaptor);

/**
 * accel_adaptor_create_limiting() - an adaptor with a limit
 * @upstream: where its memory comes from, copied
 * @limit: bytes that may be allocated at a time
 * @adaptor: receives the adaptor, NULL on failure
 *
 * What would go over the limit is ``-EDQUOT``, and upstream is not asked. Thread-safe.
 *
 * Return: as accel_adaptor_create_statistics().
 */
int accel_adaptor_create_limiting(const struct accel_resource *upstream, uint64_t limit,
				  struct accel_adaptor **adaptor);

/**
 * accel_adaptor_create_logging() - an adaptor that writes a log
 * @upstream: where its memory comes from, copied
 * @path: file to write; one that exists is replaced
 * @adaptor: receives the adaptor, NULL on failure
 *
 * A line of CSV for each call upstream, in the format of RMM's logs, so that its tools read them:
 * ``Thread,Time,Action,Pointer,Size,Stream``. Action is ``allocate``, ``allocate failure`` or
 * ``free``, Time that of the day in UTC. Lines are complete when the call returns, in the order of
 * the calls upstream. An error of the file does not fail an allocation: accel_adaptor_destroy()
 * tells of it. Thread-safe.
 *
 * Return: as accel_adaptor_create_statistics(); or the negative errno of opening @path.
 */
int accel_adaptor_create_logging(const struct accel_resource *upstream, const char *path,
				 struct accel_adaptor **adaptor);

/**
 * accel_adaptor_create_spilling() - an adaptor that has memory freed when there is none
 * @upstream: where its memory comes from, copied
 * @fn: called with @data and the bytes of an allocation for which upstream has no memory
 *	(``-ENOMEM``, ``-EDQUOT``); returns 0 if it has freed some, and otherwise a negative errno
 * @data: passed on; has to stay valid until accel_adaptor_destroy()
 * @adaptor: receives the adaptor, NULL on failure
 *
 * When @fn returns 0 upstream is asked once more, and the caller gets its answer. Otherwise the
 * allocation fails with the first errno of upstream. @fn runs in the thread that allocates, without a
 * lock of the adaptor: it may free, copy and allocate through the adaptor, but an allocation in it
 * does not call it again. Several threads may call it at once. Memory that it frees on a stream serves
 * others when the work of that stream is done, or as the resource orders it. Thread-safe.
 *
 * Return: as accel_adaptor_create_statistics(); ``-EINVAL`` (@fn is NULL).
 */
int accel_adaptor_create_spilling(const struct accel_resource *upstream,
				  int (*fn)(void *data, size_t size), void *data,
				  struct accel_adaptor **adaptor);

/**
 * accel_adaptor_create_tracking() - an adaptor that remembers live allocations
 * @upstream: where its memory comes from, copied
 * @frames: how many return addresses to keep of each, at most ACCEL_ADAPTOR_FRAMES; 0: none
 * @adaptor: receives the adaptor, NULL on failure
 *
 * A free of an address that is not live, or with another size, is refused before upstream sees it.
 * What was freed without the adaptor counts as live until upstream gives that memory again.
 * Thread-safe.
 *
 * Return: as accel_adaptor_create_statistics(); ``-EINVAL`` (@frames).
 */
int accel_adaptor_create_tracking(const struct accel_resource *upstream, unsigned int frames,
				  struct accel_adaptor **adaptor);

/**
 * accel_adaptor_destroy() - end an adaptor
 * @adaptor: adaptor
 *
 * No other thread may use it at the same time, or later.
 *
 * Return: 0; ``-EINVAL`` (NULL); ``-EBUSY`` (memory that came through it is live: it goes on); of a
 * logging adaptor the negative errno of writing its file, which has ended all the same.
 */
int accel_adaptor_destroy(struct accel_adaptor *adaptor);

/**
 * accel_adaptor_resource() - an adaptor as a resource
 * @adaptor: adaptor
 * @resource: receives the resource, zeroed on failure
 *
 * Equal to that of another adaptor only if it is the same one. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL).
 */
int accel_adaptor_resource(struct accel_adaptor *adaptor, struct accel_resource *resource);

/**
 * accel_adaptor_get_statistics() - what went through an adaptor
 * @adaptor: adaptor of any kind
 * @statistics: filled whole; one consistent snapshot
 *
 * Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL); ``-EPERM`` (from before a fork).
 */
int accel_adaptor_get_statistics(struct accel_adaptor *adaptor,
				 struct accel_adaptor_statistics *statistics);

/**
 * accel_adaptor_push_scope() - start to count anew
 * @adaptor: adaptor of any kind
 *
 * Opens a scope, inside the one that was pushed before. A scope counts what all threads do. An
 * allocation does not take longer for it. accel_adaptor_get_statistics() counts on as before.
 * accel_adaptor_destroy() ends scopes that are left. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL); ``-ENOMEM``; ``-EPERM`` (from before a fork).
 */
int accel_adaptor_push_scope(struct accel_adaptor *adaptor);

/**
 * accel_adaptor_pop_scope() - what went through an adaptor in a scope
 * @adaptor: adaptor of any kind
 * @statistics: filled whole: what was counted since the last accel_adaptor_push_scope() that was not
 *	popped. @bytes and @count are relative to that: negative, as int64_t, if more was freed than
 *	allocated. @peak_bytes and @peak_count are the most that they were, at least 0
 *
 * Closes that scope. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL); ``-ENOENT`` (no scope is open); ``-EPERM`` (from before a fork).
 */
int accel_adaptor_pop_scope(struct accel_adaptor *adaptor,
			    struct accel_adaptor_statistics *statistics);

/**
 * accel_adaptor_outstanding() - what is live
 * @adaptor: adaptor of accel_adaptor_create_tracking()
 * @fn: called with @data and each live allocation, oldest first, until it returns something else
 *	than 0; must not call into @adaptor
 * @data: passed on
 *
 * Thread-safe; other threads that use @adaptor wait meanwhile.
 *
 * Return: 0; what @fn returned; ``-EINVAL`` (NULL, @adaptor does not track); ``-EPERM`` (from before
 * a fork).
 */
int accel_adaptor_outstanding(struct accel_adaptor *adaptor,
			      int (*fn)(void *data, const struct accel_adaptor_allocation *live),
			      void *data);

#ifdef __cplusplus
}
#endif

#endif /* ACCEL_RESOURCE_H */
