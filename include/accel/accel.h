/* SPDX-License-Identifier: MIT */
/*
 * libaccel: the memory of PCIe accelerators for user space, over the paccel driver.
 */
#ifndef ACCEL_ACCEL_H
#define ACCEL_ACCEL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * DOC: Object model
 *
 * A *device* is one accelerator with memory of its own. accel_device_open() gives a handle to it. A
 * process has one handle per device however often it opens it: later opens return the same handle and
 * count, and the last accel_device_close() frees all that was allocated through it. The devices are the
 * nodes /dev/paccelN, counted from 0 in order of N. Attributes of a device, such as the quota
 * max_user_bytes, are files in /sys/class/paccel/paccelN/.
 *
 * Handles of devices, streams, events and batches are numbers in the form of pointers, which the
 * library never dereferences. A handle is valid until its object is destroyed or its device is closed
 * for the last time. Its number is not used again (in 32-bit programs it may be, after some 8000 other
 * objects). Every function returns ``-EINVAL`` for a handle that is not valid any more, a handle of
 * another kind, and any other value.
 *
 * A handle owns *ranges* of memory, of four kinds (enum accel_memory_kind):
 *
 * - *device* memory, on the device. Its pointers lie in a window of addresses that belongs to the
 *   device alone and that the processor cannot access: a stray dereference is a clean SIGSEGV.
 *   With ACCEL_CAP_MAPPABLE the processor can access allocated memory; an access to anything else
 *   in the window, or after the device was removed, is a SIGBUS.
 *   Pointer arithmetic and interior pointers work. Windows of different devices never overlap;
 * - *host* memory, page-locked, in the machine: an ordinary pointer that both sides use, the device
 *   without pinning;
 * - *unified* memory: host memory that counts as device memory of its device too, in every copy and
 *   fill;
 * - *registered* memory: the program's own, pinned until it is unregistered.
 *
 * Every other address is *pageable* host memory. Copies take it as well.
 *
 * An allocation is exactly the bytes asked for: that size bounds every access and has to be given
 * to free it. All sizes are in bytes. New memory is filled with 0 (device memory unless the driver
 * was loaded with ``scrub=0``). Allocations are contiguous and aligned to
 * accel_device_info.granule (host memory: to the page).
 *
 * A handle whose device was removed stays valid and has to be closed. Host and unified memory stays
 * mapped until then. When the device is back, accel_device_open() gives a new handle.
 *
 * Structures keep their size. Later versions name fields that are reserved now: 0 there means "not
 * known" in what the library fills, and the default in what the program fills.
 */

/**
 * DOC: Errors
 *
 * Every function returns 0 or a negative errno, but the few that return a count or a string. errno
 * itself is left alone, and nothing is ever printed. accel_strerror() explains a number,
 * accel_last_error() gives a sentence about the last call that failed in this thread: which
 * argument, what is allowed, what to do.
 *
 * A call that fails has changed nothing, unless its text says otherwise, and leaves NULL in an
 * output pointer. Every function that takes a handle can return these, and what stands at its text:
 *
 * ============== =================================================================
 * ``-EINVAL``    an argument is wrong in itself: a NULL pointer, size 0, a range
 *                that wraps, an unknown flag, a handle that was closed or destroyed
 *                or is of another kind
 * ``-EPERM``     the handle was opened by the process that this one was forked from
 * ``-ENODEV``    the device has been removed: the handle will do nothing more, but
 *                has to be closed
 * ``-ESTALE``    a reset of the device has lost this handle's memory: close it and
 *                open again
 * ``-EIO``       the device failed, or is out of service
 * ``-ETIMEDOUT`` the device did not answer in time; it has been reset
 * ``-ENOMEM``    out of memory (which memory: see the call)
 * ``-ENOTTY``    the driver that is loaded is older than this library; so is
 *                ``-E2BIG``, but for a batch that is full
 * ============== =================================================================
 */

/**
 * DOC: Threads and fork
 *
 * All functions are thread-safe. No lock is held while the device works: a free, a second copy or a
 * fork() never waits for a copy of another thread. The caller orders three things: no thread starts
 * to use a range that another thread is freeing (the driver lets running copies end first, later
 * ones get ``-EFAULT``); no thread uses a stream, event or batch while another one destroys it, or
 * later; and the last close of a handle comes after the last call that uses it. Pools, adaptors and
 * buffers have rules of their own.
 *
 * After fork() the child has none of its parent's devices. Its calls on inherited handles, also
 * those of streams, events and batches, return ``-EPERM`` (accel_device_close() works and releases
 * what was inherited). It may open devices itself: handles, windows and allocations are then its
 * own, and device pointers from before the fork are refused. Host and unified memory of the parent
 * stays mapped in the child, shared with the parent, as memory that the library does not know.
 * While the child has such memory mapped, the parent's handle keeps all of its memory allocated,
 * also after its last close; the child ends that by unmapping it, by exec() or by its end.
 * Otherwise the parent is not affected. Use fork() or posix_spawn(): a raw clone() runs no fork
 * handlers, and its child may not call the library.
 */

/* ---- Versions -------------------------------------------------------------------------------- */

/**
 * DOC: Versions
 *
 * The header has a version, ACCEL_VERSION, and the library that runs has one,
 * accel_version_number(). Both are numbers that ACCEL_MAKE_VERSION() makes, so they can be
 * compared.
 *
 * *Thread safety.* The functions may be called from several threads at once, and the macros are
 * constants.
 *
 * *Lifetime.* Nothing is kept, and nothing has to be freed.
 *
 * Example, a check that the library is not older than the header::
 *
 *     if (accel_version_number() < ACCEL_VERSION)
 *         errx(1, "libaccel %s is too old", accel_version());
 */

#define ACCEL_VERSION_MAJOR 0
#define ACCEL_VERSION_MINOR 1
#define ACCEL_VERSION_PATCH 0

/**
 * ACCEL_MAKE_VERSION() - a version as one number
 * @major: 0 to 127
 * @minor: 0 to 255
 * @patch: 0 to 255
 *
 * A later version is a larger number. The macro can be used in ``#if``.
 */
#define ACCEL_MAKE_VERSION(major, minor, patch) (((major) << 16) | ((minor) << 8) | (patch))

/** ACCEL_VERSION - version of this header, for ``#if ACCEL_VERSION >= ACCEL_MAKE_VERSION(0, 1, 0)`` */
#define ACCEL_VERSION \
	ACCEL_MAKE_VERSION(ACCEL_VERSION_MAJOR, ACCEL_VERSION_MINOR, ACCEL_VERSION_PATCH)

/** struct accel_device - a device that this process has opened; opaque */
struct accel_device;

/** struct accel_stream - an ordered queue of work of one device; opaque */
struct accel_stream;

/** struct accel_event - a point of a stream, and the time at which it was reached; opaque */
struct accel_event;

/** struct accel_batch - operations that are queued together; opaque */
struct accel_batch;

/**
 * enum accel_memory_kind - what an address is
 * @ACCEL_MEMORY_PAGEABLE: any address that the library does not know
 * @ACCEL_MEMORY_DEVICE: from accel_device_memory_allocate()
 * @ACCEL_MEMORY_HOST: from accel_host_memory_allocate()
 * @ACCEL_MEMORY_UNIFIED: from accel_unified_memory_allocate()
 * @ACCEL_MEMORY_REGISTERED: given to accel_host_register()
 */
enum accel_memory_kind {
	ACCEL_MEMORY_PAGEABLE = 0,
	ACCEL_MEMORY_DEVICE = 1,
	ACCEL_MEMORY_HOST = 2,
	ACCEL_MEMORY_UNIFIED = 3,
	ACCEL_MEMORY_REGISTERED = 4,
};

/**
 * enum accel_capability - what a device can do (bits of accel_device_info.capabilities)
 * @ACCEL_CAP_MAPPABLE: its memory is mapped: the processor can load from device pointers of this
 *	handle, and store to them
 * @ACCEL_CAP_NATIVE_D2D: copies inside its memory by itself; without it such a copy goes through
 *	the host
 * @ACCEL_CAP_NATIVE_FILL: fills its memory by itself
 * @ACCEL_CAP_MEM_SURVIVES_RESET: memory and handles survive a reset of the device
 * @ACCEL_CAP_DIRECT_DMA: reads and writes host memory where it lies, without a bounce buffer
 * @ACCEL_CAP_VERIFY: computes checksums, so that the driver can verify what it copies
 */
enum accel_capability {
	ACCEL_CAP_MAPPABLE = 1 << 0,
	ACCEL_CAP_NATIVE_D2D = 1 << 1,
	ACCEL_CAP_NATIVE_FILL = 1 << 2,
	ACCEL_CAP_MEM_SURVIVES_RESET = 1 << 3,
	ACCEL_CAP_DIRECT_DMA = 1 << 4,
	ACCEL_CAP_VERIFY = 1 << 5,
};

/**
 * struct accel_device_info - what a device is
 * @name: name of the kind of device, NUL-terminated
 * @bus_address: PCI address such as ``0000:01:00.0``, NUL-terminated
 * @memory_size: bytes of device memory
 * @granule: unit of allocation in bytes, a power of two; statistics move by it
 * @max_transfer: bytes that the device moves in one transfer; longer copies are cut by the driver
 * @max_alignment: largest alignment that the driver can give an allocation, in bytes
 * @max_host_bytes: largest host, unified or registered range, in bytes
 * @max_host_ranges: host, unified and registered ranges that one handle can have
 * @capabilities: bits of enum accel_capability
 * @engines: DMA channels
 * @dma_bits: width of the bus addresses that the device can reach
 * @node: N of its node /dev/paccelN
 * @copy_align: what device addresses, widths and device pitches of copies and fills must be multiples
 *	of, in bytes, a power of two: 1 for most devices. Others are ``-EINVAL``
 * @reserved: 0; later versions put new fields here, 0 then means "not known"
 */
struct accel_device_info {
	char name[32];
	char bus_address[32];
	uint64_t memory_size;
	uint64_t granule;
	uint64_t max_transfer;
	uint64_t max_alignment;
	uint64_t max_host_bytes;
	uint32_t max_host_ranges;
	uint32_t capabilities;
	uint32_t engines;
	uint32_t dma_bits;
	uint32_t node;
	uint32_t copy_align;
	uint32_t reserved[10];
};

/**
 * enum accel_pointer_flag - bits of accel_pointer_info.flags
 * @ACCEL_POINTER_ACCESSIBLE: the processor can access the whole allocation: host, unified and
 *	registered memory, and device memory that is mapped. Not set for what
 *	accel_host_register_dmabuf() gave, and for pageable memory, of which the library knows nothing
 */
enum accel_pointer_flag {
	ACCEL_POINTER_ACCESSIBLE = 1 << 0,
};

/**
 * struct accel_pointer_info - what an address is
 * @device: handle that it belongs to, not counted as an open; NULL for pageable memory
 * @base: first byte of the allocation or registration; NULL for pageable memory
 * @size: its exact size in bytes; 0 for pageable memory
 * @serial: number of the allocation, never used twice in a process: it tells a new allocation from
 *	an old one at the same address; 0 for pageable memory
 * @kind: kind of the memory
 * @flags: bits of enum accel_pointer_flag
 * @reserved: 0
 */
struct accel_pointer_info {
	struct accel_device *device;
	void *base;
	size_t size;
	uint64_t serial;
	enum accel_memory_kind kind;
	uint32_t flags;
	uint32_t reserved[6];
};

/**
 * struct accel_memory_stats - the memory of a device, and what was done with it
 * @total: bytes of device memory: @used + @free + @dirty + @quarantined
 * @used: bytes in allocations of all processes, in whole granules. One that was freed before the end
 *	of operations that use it counts until shortly after their end, in @user as well, but not in
 *	@mine
 * @free: bytes that can be allocated at once
 * @dirty: bytes that were freed and are being cleared before they are allocated again; an
 *	allocation waits for them
 * @quarantined: bytes out of use until a reset of the device, because they could not be cleared
 * @mine: bytes in allocations of this handle, in whole granules
 * @mine_allocs: number of allocations of this handle
 * @user: bytes charged to this user, over all processes
 * @user_max: quota of each user in bytes, 0 for none
 * @largest_free: longest contiguous part of @free, in bytes
 * @allocs: number of allocations. This and all that follows counts for all processes, since the
 *	driver was bound to the device
 * @alloc_failures: number of allocations refused for want of memory or quota
 * @bytes_h2d: bytes copied from host to device
 * @bytes_d2h: bytes copied from device to host
 * @bytes_d2d: bytes copied inside the device
 * @bytes_filled: bytes filled
 * @bytes_scrubbed: bytes cleared after they were freed
 * @transfers: DMA requests to the device
 * @reserved: 0
 */
struct accel_memory_stats {
	uint64_t total;
	uint64_t used;
	uint64_t free;
	uint64_t dirty;
	uint64_t quarantined;
	uint64_t mine;
	uint64_t mine_allocs;
	uint64_t user;
	uint64_t user_max;
	uint64_t largest_free;
	uint64_t allocs;
	uint64_t alloc_failures;
	uint64_t bytes_h2d;
	uint64_t bytes_d2h;
	uint64_t bytes_d2d;
	uint64_t bytes_filled;
	uint64_t bytes_scrubbed;
	uint64_t transfers;
	uint64_t reserved[6];
};

/* ---- Devices --------------------------------------------------------------------------------- */

/**
 * DOC: Devices
 *
 * A *device handle* stands for a device that this process has open. It owns all that is made with
 * it: memory, registrations, streams, events and batches.
 *
 * *Thread safety.* The functions for devices may be called from several threads at once, with the
 * same handle too. The exception is the last accel_device_close() of a handle: when it is called,
 * no other thread may be in a call that uses the handle, and none may use the handle later.
 *
 * *Lifetime.* accel_device_open() and accel_device_open_name() open a handle, and each of these
 * calls is undone by one accel_device_close(). The last close ends the handle and all that the
 * handle owns. A handle whose device was removed or reset stays valid and has to be closed: until
 * then its calls return ``-ENODEV`` or ``-ESTALE``. File descriptors that the library returns
 * (accel_device_lost_fd(), accel_memory_export(), accel_stream_export_fence()) belong to the
 * caller, who closes them before or after the handle.
 *
 * Example, the first device of the machine::
 *
 *     struct accel_device_info info;
 *     struct accel_device *dev;
 *
 *     if (accel_device_open(0, &dev) || accel_device_get_info(dev, &info))
 *         errx(1, "%s", accel_last_error());
 *     printf("%s at %s\n", info.name, info.bus_address);
 *     accel_device_close(dev);
 *
 * *Examples.* See also examples/roundtrip.c in the sources, a program that copies to the first
 * device and back.
 */

/**
 * accel_device_count() - number of devices
 *
 * Counts the nodes /dev/paccelN, including those that the caller may not open. Each number below
 * the result is an index for accel_device_open().
 *
 * Return: the number, 0 without device or driver (accel_device_open() then says which); or the
 * negative errno of reading /dev.
 */
int accel_device_count(void);

/**
 * accel_device_open() - open a device by its index
 * @index: 0 to accel_device_count() - 1: position in order of node number
 * @dev: receives the handle, NULL on failure
 *
 * If this process has the device open already, the call returns the same handle and counts the
 * open. A handle whose device was removed, or whose memory was lost in a reset, is not returned
 * again: the call then makes a new handle for the device that is present now. A new handle reserves
 * as much address space as the device has memory, for device pointers.
 *
 * Return: 0; ``-EINVAL`` (@index is negative; @dev is NULL); ``-ENODEV`` (no driver, no device, or
 * none with this index); ``-EACCES`` (the caller may not open the node); ``-ENOMEM`` (no memory, or
 * no address space: ``ulimit -v``, mlockall(MCL_FUTURE)); ``-EMFILE``, ``-ENFILE`` (too many open
 * files).
 */
int accel_device_open(int index, struct accel_device **dev);

/**
 * accel_device_open_name() - open a device by its path or PCI address
 * @name: path of its node, such as ``/dev/paccel0`` or a symbolic link to it; or its PCI address,
 *	such as ``0000:01:00.0``, or ``01:00.0`` in domain 0
 * @dev: receives the handle, NULL on failure
 *
 * A name with a slash is a path. To find a PCI address, the library opens the nodes in order of
 * node number and asks each for its address. The handle is the one that accel_device_open() returns
 * for the device, and the open is counted in the same way.
 *
 * Return: 0; ``-EINVAL`` (NULL; @name is empty, is neither a path nor a PCI address, or is the path
 * of something else); ``-ENODEV`` (no driver, no such path, no device with this address; or it was
 * removed or replaced meanwhile); ``-EACCES`` (the caller may not open the node, or the node of a
 * device that may have the address); or as accel_device_open().
 */
int accel_device_open_name(const char *name, struct accel_device **dev);

/**
 * accel_device_close() - close a device
 * @dev: handle
 *
 * Undoes one accel_device_open() or accel_device_open_name(). The last close of a handle
 *
 * - frees all memory that was allocated or imported with the handle, and ends all its
 *   registrations. Pointers to that memory must not be used any more. (After a fork() the memory
 *   may stay allocated: see DOC: Threads and fork);
 * - releases the range of addresses that was reserved for device pointers. The process may map
 *   something else there, so old device pointers must not be used either;
 * - ends all streams, events and batches of the handle, and cancels what is queued in its streams;
 * - runs callbacks that have not run, and waits for them. They get ``-ECANCELED`` if the work
 *   before them has not ended.
 *
 * The call does not wait for the device. It also closes a handle whose device was removed, and one
 * that was inherited through fork().
 *
 * Return: 0; ``-EINVAL`` (@dev is NULL; @dev was closed); ``-EDEADLK`` (the last close, inside a
 * callback).
 */
int accel_device_close(struct accel_device *dev);

/**
 * accel_device_get_info() - properties of a device
 * @dev: handle
 * @info: filled whole
 *
 * Fills @info with the device's name, its addresses, the size of its memory, its limits and its
 * capabilities.
 *
 * Return: 0; ``-EINVAL`` (NULL); or a general error.
 */
int accel_device_get_info(struct accel_device *dev, struct accel_device_info *info);

/**
 * accel_device_reset() - reset a device, for all processes that use it
 * @dev: handle
 *
 * Resets the device, and returns when that is done. Operations that are running fail with ``-EIO``;
 * queued ones run afterwards. A reset also brings back a device that is out of service. Without
 * ACCEL_CAP_MEM_SURVIVES_RESET it loses the memory of all handles of all processes: every later
 * call with one of these handles, also with @dev, returns ``-ESTALE``, and the device has to be
 * closed and opened again.
 *
 * Return: 0; ``-EACCES`` (the caller has no CAP_SYS_ADMIN); ``-EIO`` (the device could not be
 * reset: it is out of service); or a general error.
 */
int accel_device_reset(struct accel_device *dev);

/**
 * accel_device_lost_fd() - a file descriptor that is readable when a handle is lost
 * @dev: handle
 * @fd: receives a file descriptor, close-on-exec, the caller's to close; -1 on failure
 *
 * The file descriptor becomes readable (POLLIN) for poll(), epoll and io_uring when the device is
 * removed, or when a reset loses the memory of the handle, and stays readable. Calls on the handle
 * then return ``-ENODEV`` or ``-ESTALE``, and the handle has to be closed. Nothing can be read from
 * the descriptor. The descriptor keeps neither the handle nor its memory, and reports nothing after
 * the last accel_device_close().
 *
 * Example, a wait for work of the application and for the end of the device::
 *
 *     accel_device_open_name("0000:01:00.0", &dev);
 *     accel_device_lost_fd(dev, &fds[0].fd);
 *     fds[0].events = POLLIN;
 *     while (poll(fds, 2, -1) > 0 && !fds[0].revents)
 *         handle(&fds[1]);
 *
 * Return: 0; ``-EINVAL`` (NULL); ``-EMFILE``, ``-ENFILE`` (too many open files); ``-ENOSPC`` (the
 * user's limit of epoll watches); ``-ENOMEM``; or a general error.
 */
int accel_device_lost_fd(struct accel_device *dev, int *fd);

/* ---- Allocation ------------------------------------------------------------------------------ */

/**
 * DOC: Allocations
 *
 * *Thread safety.* The functions that allocate, free and register memory may be called from several
 * threads at once, with the same handle too. The caller makes sure that no other thread starts to
 * use a range that is being freed or unregistered: operations that run already end first, later
 * ones fail with ``-EFAULT``, unless a new allocation has the same address.
 *
 * *Lifetime.* Each kind of memory has a function that frees it, with the handle, pointer and size
 * of the allocation: accel_device_memory_deallocate(), accel_host_memory_deallocate(),
 * accel_unified_memory_deallocate(). A registration is ended by accel_host_unregister(), before or
 * after the program frees the memory itself. The last accel_device_close() of the handle frees and
 * unregisters what is left. Memory may be freed or unregistered while queued work uses it: the
 * driver keeps it until that work has ended. The program must not access it any more.
 *
 * Example, device memory and page-locked host memory::
 *
 *     accel_device_memory_allocate(dev, &ptr, size);
 *     accel_host_memory_allocate(dev, &host, size);
 *     memset(host, 1, size);
 *     accel_memory_copy_h2d(dev, ptr, host, size);
 *     accel_host_memory_deallocate(dev, host, size);
 *     accel_device_memory_deallocate(dev, ptr, size);
 *
 * Example, memory of malloc() that is pinned once for many copies::
 *
 *     accel_host_register(dev, data, size, 0);
 *     for (int i = 0; i < steps; i++) {
 *         compute(data, size);
 *         accel_async_memory_copy_h2d(dev, stream, ptr, data, size);
 *         accel_stream_synchronize(stream);
 *     }
 *     accel_host_unregister(dev, data);
 */

/**
 * accel_device_memory_allocate() - allocate memory of a device
 * @dev: handle
 * @ptr: receives the device pointer, NULL on failure
 * @size: bytes, at least 1
 *
 * Allocates contiguous device memory, aligned to the allocation granularity of the device (granule
 * of struct accel_device_info). All bytes are 0, unless the driver was loaded with ``scrub=0``. The
 * call waits while freed memory that would serve the request is being cleared.
 *
 * Return: 0; ``-EINVAL`` (NULL; @size is 0); ``-EDQUOT`` (@size is more than the quota leaves to
 * this user); ``-ENOMEM`` (no contiguous range of @size bytes is free, or there is no host memory);
 * or a general error.
 */
int accel_device_memory_allocate(struct accel_device *dev, void **ptr, size_t size);

/**
 * accel_device_memory_deallocate() - free memory of a device
 * @dev: handle that allocated it
 * @ptr: pointer that accel_device_memory_allocate() or accel_memory_import() returned
 * @size: size that was given to accel_device_memory_allocate(), or that accel_memory_import()
 *	returned
 *
 * Frees an allocation, or one import of it. The call never waits: operations that still run on the
 * range end first, then the driver clears it.
 *
 * Return: 0; ``-EINVAL`` (NULL; @size is 0, or not the size of the allocation, which stays);
 * ``-ENOENT`` (no such allocation of this handle starts at @ptr: freed, interior, another kind,
 * another device's); or a general error.
 */
int accel_device_memory_deallocate(struct accel_device *dev, void *ptr, size_t size);

/**
 * accel_host_memory_allocate() - allocate page-locked host memory
 * @dev: handle of the device that will use it
 * @ptr: receives the pointer, NULL on failure
 * @size: bytes, at least 1; occupies whole pages
 *
 * Allocates host memory that @dev reads and writes without pinning it for each copy. The memory is
 * aligned to the page, and all bytes are 0. It is charged to RLIMIT_MEMLOCK, which limits the
 * locked memory of all processes of the user together. The program must not unmap, split or move
 * it.
 *
 * Return: 0; ``-EINVAL`` (NULL; @size is 0); ``-ENOMEM`` (RLIMIT_MEMLOCK is exceeded, @size is more
 * than max_host_bytes of struct accel_device_info, or there is no memory); ``-ENOSPC`` (the handle
 * has max_host_ranges of struct accel_device_info already); ``-EEXIST`` (the address that the
 * kernel chose lies in a registration whose memory was unmapped: unregister it); or a general
 * error.
 */
int accel_host_memory_allocate(struct accel_device *dev, void **ptr, size_t size);

/**
 * accel_host_memory_deallocate() - free page-locked host memory
 * @dev: handle that allocated it
 * @ptr: pointer that accel_host_memory_allocate() returned
 * @size: size that was given to it
 *
 * The address range is unmapped on return. The call does not wait for copies that still use the
 * memory: the driver keeps the pages until they have ended.
 *
 * Return: as accel_device_memory_deallocate().
 */
int accel_host_memory_deallocate(struct accel_device *dev, void *ptr, size_t size);

/**
 * accel_unified_memory_allocate() - allocate memory that counts as host and as device memory
 * @dev: handle
 * @ptr: receives the pointer, NULL on failure
 * @size: bytes, at least 1; occupies whole pages
 *
 * Allocates memory as accel_host_memory_allocate() does. Besides, every copy and fill of @dev takes
 * it where device memory is required. The memory lies in the host: nothing migrates.
 *
 * Return: as accel_host_memory_allocate().
 */
int accel_unified_memory_allocate(struct accel_device *dev, void **ptr, size_t size);

/**
 * accel_unified_memory_deallocate() - free unified memory
 * @dev: handle that allocated it
 * @ptr: pointer that accel_unified_memory_allocate() returned
 * @size: size that was given to it
 *
 * The address range is unmapped on return, as by accel_host_memory_deallocate().
 *
 * Return: as accel_device_memory_deallocate().
 */
int accel_unified_memory_deallocate(struct accel_device *dev, void *ptr, size_t size);

/**
 * ACCEL_REGISTER_READ_ONLY - the device only reads the range: it may be memory that the program
 * cannot write
 */
#define ACCEL_REGISTER_READ_ONLY (1u << 0)

/**
 * accel_host_register() - pin the program's own memory for a device
 * @dev: handle
 * @ptr: first byte, any alignment
 * @size: bytes, at least 1 and at most max_host_bytes of struct accel_device_info
 * @flags: 0 or ACCEL_REGISTER_READ_ONLY
 *
 * Copies between registered memory and @dev need not pin it each time, and can be queued in
 * streams. The memory is charged to RLIMIT_MEMLOCK in whole pages. Ranges of one handle never
 * overlap. The memory still belongs to the program; if it is unmapped or replaced, copies return
 * ``-EFAULT`` until it is unregistered.
 *
 * Return: 0; ``-EINVAL`` (NULL; @size is 0 or too large; the range wraps around the end of the
 * address space; @flags has an unknown bit); ``-EEXIST`` (the range overlaps a host, unified or
 * registered range of this handle); ``-EFAULT`` (the range is not mapped, not writable without
 * ACCEL_REGISTER_READ_ONLY, or device memory); ``-ENOMEM`` (RLIMIT_MEMLOCK is exceeded, or there is
 * no memory); ``-ENOSPC`` (the handle has max_host_ranges of struct accel_device_info already); or
 * a general error.
 */
int accel_host_register(struct accel_device *dev, void *ptr, size_t size, unsigned int flags);

/**
 * accel_host_unregister() - end a registration
 * @dev: handle that registered it
 * @ptr: address that was given to accel_host_register(), or that accel_host_register_dmabuf()
 *	returned
 *
 * Unpins the memory. The call does not wait for copies that still use the memory: it stays pinned
 * until they have ended.
 *
 * Return: 0; ``-EINVAL`` (NULL); ``-ENOENT`` (no registration of this handle starts at @ptr); or a
 * general error.
 */
int accel_host_unregister(struct accel_device *dev, void *ptr);

/* ---- Copy and fill --------------------------------------------------------------------------- */

/**
 * DOC: Copies
 *
 * A copy takes any length from 1 and any alignment. A few devices are an exception, where
 * accel_device_info.copy_align is more than 1: device addresses, sizes, widths and pitches of rows
 * in device memory have to be multiples of it. Each operand lies wholly inside one allocation, at
 * interior addresses too. Host operands may also be pageable memory. In the descriptions "device
 * memory of @dev" is device or unified memory that @dev allocated, and "host memory" is all other
 * memory but device memory. Ranges that overlap are ``-EINVAL`` in device memory, and copied as by
 * memmove() in host memory. When a copy fails half-way, its destination holds a mixture of old and
 * new bytes. Signals do not interrupt a copy; a fatal one ends the process at once.
 *
 * A function without stream, or with stream NULL, is *synchronous*: on return the operation is
 * complete, the source may be reused, and the destination holds the data for every later operation.
 * A function with a stream orders the operation behind all that was queued there before. It is
 * *queued*, so that the call returns before it is complete, if
 *
 * - one side is device memory of the stream's device, and the other side is host memory that is
 *   allocated, unified or registered with that device, all of it in one such range;
 * - both sides are device memory of the stream's device, and not both are unified;
 * - the source is device memory of the stream's device, and the destination is device memory of
 *   another one to which it has direct access, without ACCEL_VERIFY; or
 * - the destination is device memory of the stream's device, the source is any other host memory,
 *   and at most 64 KiB are copied. The bytes are copied to a staging buffer before the call
 *   returns. The buffer of a handle holds 1 MiB; while it has no room for the bytes, they are not
 *   queued.
 *
 * In every other case the call waits until the stream has done its work, and the copy is complete
 * on return.
 *
 * All copies and fills can return, besides the general errors: ``-EINVAL`` (NULL; a size is 0; a
 * range wraps around the end of the address space; ranges of device memory overlap; an address,
 * size or pitch is no multiple of accel_device_info.copy_align); ``-EFAULT`` (an operand is not
 * wholly inside one live allocation, is of the wrong kind, or belongs to another device or process;
 * host memory is not mapped, or not writable where it is written).
 *
 * *Thread safety.* The functions that copy and fill may be called from several threads at once, for
 * the same memory too. Operations of different threads that access the same bytes are not ordered,
 * unless the program orders them, for example by one stream.
 *
 * *Lifetime.* The memory of a synchronous operation is in use until the call returns. The memory of
 * a queued operation is in use until the operation has ended, as accel_stream_synchronize(), an
 * event, an eventfd, a fence or a callback reports: until then the source may not be written, and
 * the destination may not be read. A source whose bytes were staged may be reused on return. Memory
 * may be freed or unregistered while a queued operation uses it: the driver keeps it until the
 * operation has ended.
 *
 * Example, synchronous and queued copies::
 *
 *     accel_memory_copy(ptr, input, size);
 *
 *     accel_host_memory_allocate(dev, &host, size);
 *     accel_async_memory_copy_d2h(dev, stream, host, ptr, size);
 *     accel_async_device_memory_set(dev, stream, ptr, 0, size);
 *     accel_stream_synchronize(stream);
 *
 * *Examples.* See also examples/roundtrip.c, examples/tile.c (rows) and examples/overlap.c (two
 * streams) in the sources.
 */

/**
 * ACCEL_VERIFY - a flag of copies and fills: the device verifies what it has done
 *
 * The device computes a checksum (CRC32C) of its memory, and the driver compares it with the
 * checksum of the source, or of the pattern. If they differ the operation fails with ``-EBADMSG``;
 * on a stream, the stream fails. Verification costs a further access to all bytes. The flag is
 * ``-EOPNOTSUPP`` on a device without ACCEL_CAP_VERIFY, for what the processor does (copies between
 * host memory, fills of unified memory), and for memory of accel_host_register_dmabuf() that the
 * processor cannot access.
 *
 * Between two devices each half of the copy is verified, so it goes through host memory. The module
 * parameter verify of the driver verifies everything that can be verified, without this flag.
 */
#define ACCEL_VERIFY (1u << 0)

/**
 * accel_memory_copy_h2d() - copy from host to device memory
 * @dev: handle
 * @dst: device memory of @dev
 * @src: host memory
 * @size: bytes, at least 1
 *
 * The copy is complete on return, and @src may be reused.
 *
 * Return: 0, or an error of copies.
 */
int accel_memory_copy_h2d(struct accel_device *dev, void *dst, const void *src, size_t size);

/**
 * accel_memory_copy_d2h() - copy from device to host memory
 * @dev: handle
 * @dst: host memory
 * @src: device memory of @dev
 * @size: bytes, at least 1
 *
 * The copy is complete on return, and @dst holds the bytes.
 *
 * Return: 0, or an error of copies.
 */
int accel_memory_copy_d2h(struct accel_device *dev, void *dst, const void *src, size_t size);

/**
 * accel_memory_copy_d2d() - copy inside the memory of one device
 * @dev: handle
 * @dst: device memory of @dev
 * @src: device memory of @dev, not overlapping @dst
 * @size: bytes, at least 1
 *
 * The copy is complete on return. A device without ACCEL_CAP_NATIVE_D2D copies through the host.
 *
 * Return: 0, or an error of copies.
 */
int accel_memory_copy_d2d(struct accel_device *dev, void *dst, const void *src, size_t size);

/**
 * accel_memory_copy_p2p() - copy from one device to another
 * @dst_dev: handle of the device that receives
 * @src_dev: handle of the device that sends; the same one twice is accel_memory_copy_d2d()
 * @dst: device memory of @dst_dev
 * @src: device memory of @src_dev
 * @size: bytes, at least 1
 *
 * The copy is complete on return. It goes directly from device to device if @src_dev has direct
 * access to the memory of @dst_dev, and otherwise through host memory, in blocks of 1 MiB. For more
 * than one block both devices work at once. For that the library locks 4 MiB of memory, and uses a
 * stream and host ranges of each handle. It keeps these for the next copy, until another call needs
 * them. If they are not available the devices work in turn.
 *
 * Return: 0, or an error of copies.
 */
int accel_memory_copy_p2p(struct accel_device *dst_dev, struct accel_device *src_dev, void *dst,
			  const void *src, size_t size);

/**
 * accel_async_memory_copy_h2d() - accel_memory_copy_h2d() on a stream
 * @dev: handle
 * @stream: stream of @dev; NULL: the copy is complete on return
 * @dst: device memory of @dev
 * @src: host memory
 * @size: bytes, at least 1
 *
 * From host memory that is allocated, unified or registered with @dev, all of it in one range, the
 * copy is queued, and @src is in use until the copy has ended. From any other memory @src may be
 * reused on return: up to 64 KiB are copied to a staging buffer and queued; if they are more, or
 * the staging buffer is full, the call waits for the stream, and the copy is complete on return.
 *
 * Return: 0; ``-EINVAL`` (@stream is not of @dev); an error of copies; or an error of streams.
 */
int accel_async_memory_copy_h2d(struct accel_device *dev, struct accel_stream *stream, void *dst,
				const void *src, size_t size);

/**
 * accel_async_memory_copy_d2h() - accel_memory_copy_d2h() on a stream
 * @dev: handle
 * @stream: stream of @dev; NULL: the copy is complete on return
 * @dst: host memory
 * @src: device memory of @dev
 * @size: bytes, at least 1
 *
 * To host memory that is allocated, unified or registered with @dev, all of it in one range, the
 * copy is queued, and @dst holds the bytes when the copy has ended. To any other memory the call
 * waits for the stream, and the copy is complete on return.
 *
 * Return: 0; ``-EINVAL`` (@stream is not of @dev); an error of copies; or an error of streams.
 */
int accel_async_memory_copy_d2h(struct accel_device *dev, struct accel_stream *stream, void *dst,
				const void *src, size_t size);

/**
 * accel_async_memory_copy_d2d() - accel_memory_copy_d2d() on a stream
 * @dev: handle
 * @stream: stream of @dev; NULL: the copy is complete on return
 * @dst: device memory of @dev
 * @src: device memory of @dev, not overlapping @dst
 * @size: bytes, at least 1
 *
 * The copy is queued. Only if both sides are unified memory the processor copies: the call waits
 * for the stream, and the copy is complete on return.
 *
 * Return: 0; ``-EINVAL`` (@stream is not of @dev); an error of copies; or an error of streams.
 */
int accel_async_memory_copy_d2d(struct accel_device *dev, struct accel_stream *stream, void *dst,
				const void *src, size_t size);

/**
 * accel_async_memory_copy_p2p() - accel_memory_copy_p2p() on a stream
 * @dst_dev: handle of the device that receives
 * @src_dev: handle of the device that sends
 * @stream: stream of either device; NULL: the copy is complete on return
 * @dst: device memory of @dst_dev
 * @src: device memory of @src_dev
 * @size: bytes, at least 1
 *
 * The copy is queued on a stream of @src_dev, if that device has direct access to the memory of
 * @dst_dev. Otherwise, and on a stream of @dst_dev, the call waits for the stream, and the copy is
 * complete on return. With the same device twice the call is accel_async_memory_copy_d2d().
 *
 * Return: 0; ``-EINVAL`` (@stream is of neither device); an error of copies; or an error of
 * streams.
 */
int accel_async_memory_copy_p2p(struct accel_device *dst_dev, struct accel_device *src_dev,
				struct accel_stream *stream, void *dst, const void *src,
				size_t size);

/**
 * accel_memory_copy() - copy between any two addresses
 * @dst: host memory, or device memory of any device that this process has open
 * @src: host memory, or device memory of any device that this process has open
 * @size: bytes, at least 1
 *
 * Finds the direction from the addresses: host to device, device to host, inside a device, between
 * devices, or host to host, which is memmove(). The copy is complete on return.
 *
 * Return: 0; ``-EPERM`` (an operand is a device pointer from before a fork()); or an error of
 * copies.
 */
int accel_memory_copy(void *dst, const void *src, size_t size);

/**
 * accel_memory_copy_2d() - copy rows between any two addresses
 * @dst: first byte of the first row: host memory, or device memory of any device that this process
 *	has open
 * @dpitch: bytes from the start of one row of @dst to the start of the next, at least @width; with
 *	one row also 0
 * @src: first byte of the first row: host memory, or device memory of any device that this process
 *	has open
 * @spitch: bytes from the start of one row of @src to the start of the next, at least @width; with
 *	one row also 0
 * @width: bytes of each row, at least 1
 * @rows: number of rows, at least 1
 *
 * Copies @rows rows of @width bytes. The direction is found from the addresses, and the copy is
 * complete on return. Bytes between the rows are not accessed, but have to lie inside the same
 * allocation. A row of @dst may not overlap a row of @src, not in host memory either. If the
 * pitches differ, the whole ranges from the first row to the last may not overlap. A copy of one
 * row is accel_memory_copy().
 *
 * On a device where accel_device_info.copy_align is more than 1, @width, the addresses in device
 * memory and their pitches have to be multiples of it.
 *
 * Example, a tile of a matrix to the device, packed::
 *
 *     accel_memory_copy_2d(tile, TILE, &matrix[y][x], SIDE, TILE, TILE);
 *
 * Return: 0; ``-EINVAL`` (@width or @rows is 0; a pitch is less than @width; rows overlap);
 * ``-EPERM`` (as accel_memory_copy()); or an error of copies.
 */
int accel_memory_copy_2d(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
			 size_t rows);

/**
 * accel_async_memory_copy_2d() - copy rows on a stream, verified on request
 * @stream: stream of any device; NULL: the copy is complete on return
 * @dst: as for accel_memory_copy_2d()
 * @dpitch: as for accel_memory_copy_2d()
 * @src: as for accel_memory_copy_2d()
 * @spitch: as for accel_memory_copy_2d()
 * @width: bytes of each row, at least 1
 * @rows: number of rows, at least 1
 * @flags: 0 or ACCEL_VERIFY
 *
 * Copies rows as accel_memory_copy_2d() does, behind all that was queued on @stream before. The
 * copy is queued, as one operation, if one side is device memory of the device of @stream, and the
 * other side is device memory of the same device, or host memory that is allocated, unified or
 * registered with it. On a stream of a third device, and in most other cases, the call waits for
 * the stream, and the copy is complete on return. DOC: Copies lists all cases. Where it says 64 KiB
 * that are @rows times @width, without the bytes between the rows.
 *
 * On a device where accel_device_info.copy_align is more than 1, @width, the addresses in device
 * memory and their pitches have to be multiples of it.
 *
 * Example, a tile of a matrix to the device, on a stream and verified::
 *
 *     accel_async_memory_copy_2d(stream, tile, TILE, &matrix[y][x], SIDE, TILE, TILE,
 *                                ACCEL_VERIFY);
 *
 * Return: 0; ``-EINVAL`` (@width or @rows is 0; a pitch is less than @width; rows overlap; @flags
 * has an unknown bit); ``-EPERM`` (as accel_memory_copy()); ``-EOPNOTSUPP``, ``-EBADMSG``
 * (ACCEL_VERIFY); an error of copies; or an error of streams.
 */
int accel_async_memory_copy_2d(struct accel_stream *stream, void *dst, size_t dpitch,
			       const void *src, size_t spitch, size_t width, size_t rows,
			       unsigned int flags);

/**
 * accel_device_memory_set() - fill device memory
 * @dev: handle
 * @ptr: device memory of @dev
 * @value: every byte gets this value
 * @size: bytes, at least 1
 *
 * The fill is complete on return. The processor fills unified memory.
 *
 * Return: 0, or an error of copies.
 */
int accel_device_memory_set(struct accel_device *dev, void *ptr, unsigned char value, size_t size);

/**
 * accel_async_device_memory_set() - accel_device_memory_set() on a stream
 * @dev: handle
 * @stream: stream of @dev; NULL: complete on return
 * @ptr: device memory of @dev
 * @value: every byte gets this value
 * @size: bytes, at least 1
 *
 * The fill is queued. Only unified memory is filled by the processor: the call waits for the
 * stream, and the fill is complete on return.
 *
 * Return: 0; ``-EINVAL`` (@stream is not of @dev); an error of copies; or an error of streams.
 */
int accel_async_device_memory_set(struct accel_device *dev, struct accel_stream *stream, void *ptr,
				  unsigned char value, size_t size);

/**
 * accel_device_memory_fill() - fill device memory with a pattern
 * @dev: handle
 * @ptr: device memory of @dev; need not be aligned to @pattern_size
 * @pattern: what is repeated from @ptr on, at least @pattern_size bytes; not used after the call
 * @pattern_size: 1, 2, 4 or 8 bytes
 * @size: bytes to fill, at least 1, a multiple of @pattern_size
 * @flags: 0 or ACCEL_VERIFY
 *
 * The fill is complete on return. The processor fills unified memory.
 *
 * Example, a thousand numbers that are all 0.5::
 *
 *     float half = 0.5f;
 *
 *     accel_device_memory_fill(dev, ptr, &half, sizeof(half), 1000 * sizeof(half), 0);
 *
 * Return: 0; ``-EINVAL`` (@pattern is NULL; @pattern_size is not 1, 2, 4 or 8; @size is no multiple
 * of @pattern_size; @flags has an unknown bit); ``-EOPNOTSUPP``, ``-EBADMSG`` (ACCEL_VERIFY); or an
 * error of copies.
 */
int accel_device_memory_fill(struct accel_device *dev, void *ptr, const void *pattern,
			     size_t pattern_size, size_t size, unsigned int flags);

/**
 * accel_async_device_memory_fill() - accel_device_memory_fill() on a stream
 * @dev: handle
 * @stream: stream of @dev; NULL: complete on return
 * @ptr: device memory of @dev; need not be aligned to @pattern_size
 * @pattern: as for accel_device_memory_fill()
 * @pattern_size: 1, 2, 4 or 8 bytes
 * @size: bytes to fill, at least 1, a multiple of @pattern_size
 * @flags: 0 or ACCEL_VERIFY
 *
 * The fill is queued. Only unified memory is filled by the processor: the call waits for the
 * stream, and the fill is complete on return.
 *
 * Return: 0; ``-EINVAL`` (as accel_device_memory_fill(); @stream is not of @dev); ``-EOPNOTSUPP``
 * (ACCEL_VERIFY); an error of copies; or an error of streams.
 */
int accel_async_device_memory_fill(struct accel_device *dev, struct accel_stream *stream, void *ptr,
				   const void *pattern, size_t pattern_size, size_t size,
				   unsigned int flags);

/* ---- Streams --------------------------------------------------------------------------------- */

/**
 * DOC: Streams
 *
 * A *stream* is a queue of work of one device: copies, fills, waits, and records of events. The
 * operations of one stream run one after another in the order of the calls. Different streams run
 * independently of each other. Work is submitted by functions that take a stream, such as
 * accel_async_memory_copy_h2d() or accel_event_record(). They return before the work has ended;
 * accel_stream_synchronize() waits for it.
 *
 * *Waits of submissions.* A function that submits work waits while the stream is full: the driver
 * takes up to 4096 operations for one stream, and 16384 for all streams of a handle. It also waits
 * while a callback of the stream has not run.
 *
 * *Failure.* When an operation fails, its stream has failed: what is queued behind it is not done,
 * and later submissions are ``-ECANCELED``. Waits and queries return the first error until
 * accel_stream_clear(). A stream that waits for an event or fence whose work failed, fails too.
 * Other streams are not affected.
 *
 * All functions with a stream, event or batch can return, besides the general errors: ``-EINVAL``
 * (NULL; a stream, event or batch was destroyed, or the handle is of another kind); ``-EDEADLK`` (a
 * callback calls into its own stream, or waits for a stream that has a callback to run). Those that
 * submit work: ``-ECANCELED`` (the stream has failed: nothing was queued), ``-ENOMEM``. No function
 * returns ``-EAGAIN``.
 *
 * *Thread safety.* The functions for streams may be called from several threads at once, with the
 * same stream too. Submissions of different threads are queued in the order in which they reach the
 * driver. The exception is accel_stream_destroy(): no other thread may use the stream during that
 * call or later.
 *
 * *Lifetime.* A stream is ended by accel_stream_destroy(), or by the last accel_device_close() of
 * its device. A destroyed stream completes what is queued, a closed device cancels it. The memory
 * of queued work may be freed or unregistered: the driver keeps it until the work has ended. But
 * the source of a queued copy may not be written, nor its destination be read, before the work has
 * ended. That is when accel_stream_synchronize(), accel_stream_query() or their counterparts for an
 * event have reported it to the thread, or an eventfd, fence or callback has.
 *
 * Example, a copy to the device, a fill and a copy back::
 *
 *     accel_stream_create(dev, &stream);
 *     accel_async_memory_copy_h2d(dev, stream, ptr, host, size);
 *     accel_async_device_memory_set(dev, stream, ptr, 0, size / 2);
 *     accel_async_memory_copy_d2h(dev, stream, host, ptr, size);
 *     if (accel_stream_synchronize(stream))
 *         errx(1, "%s", accel_last_error());
 *     accel_stream_destroy(stream);
 *
 * *Examples.* See also examples/overlap.c (two streams that wait for each other),
 * examples/pollloop.c (an eventfd) and examples/uring.c (a fence in an io_uring) in the sources.
 */

/**
 * accel_stream_create() - make a stream
 * @dev: handle
 * @stream: receives the stream, NULL on failure
 *
 * Makes a queue for copies, fills, waits and events of @dev. Operations of one stream run in order,
 * those of different streams run independently.
 *
 * Return: 0; ``-EINVAL`` (NULL); ``-ENOSPC`` (the handle has 127 streams, which is the limit of the
 * driver: a destroyed stream counts until its work has ended); ``-ENOMEM``; or a general error.
 */
int accel_stream_create(struct accel_device *dev, struct accel_stream **stream);

/**
 * accel_stream_destroy() - end a stream
 * @stream: stream
 *
 * Returns at once. Work that is queued still runs, and so do callbacks. Events that were recorded
 * on the stream stay valid.
 *
 * Return: 0; ``-EINVAL`` (NULL; @stream was destroyed); ``-EDEADLK`` (in its callback); or a
 * general error.
 */
int accel_stream_destroy(struct accel_stream *stream);

/**
 * accel_stream_query() - whether a stream has completed all its work
 * @stream: stream
 *
 * Returns the state of the stream, and does not wait. It makes no system call, except in 32-bit
 * programs.
 *
 * Return: 0 if all work that was submitted so far has ended without error, and its callbacks have
 * run; ``-EINPROGRESS`` (the work has not ended; accel_last_error() is left alone); the stream's
 * error if it has failed; ``-EINVAL``, ``-EDEADLK`` as for all streams; or a general error.
 */
int accel_stream_query(struct accel_stream *stream);

/**
 * accel_stream_synchronize() - wait until a stream has completed all its work
 * @stream: stream
 *
 * Waits for all work that was submitted before the call, and for its callbacks. Signals do not end
 * the wait.
 *
 * Return: 0; the stream's error if it has failed; ``-EINVAL``, ``-EDEADLK`` as for all streams; or
 * a general error.
 */
int accel_stream_synchronize(struct accel_stream *stream);

/**
 * accel_stream_synchronize_until() - accel_stream_synchronize() up to a time
 * @stream: stream
 * @deadline: when to give up: CLOCK_MONOTONIC as this process sees it, in nanoseconds, absolute; a
 *	time in the past does not wait, UINT64_MAX is never
 *
 * Waits as accel_stream_synchronize() does, but not after @deadline. The work is not affected if
 * the time is over.
 *
 * Example, a wait of at most a second::
 *
 *     struct timespec now;
 *
 *     clock_gettime(CLOCK_MONOTONIC, &now);
 *     err = accel_stream_synchronize_until(stream, (now.tv_sec + 1) * 1000000000ull + now.tv_nsec);
 *
 * Return: as accel_stream_synchronize(); ``-ETIME`` (not done by @deadline).
 */
int accel_stream_synchronize_until(struct accel_stream *stream, uint64_t deadline);

/**
 * accel_stream_clear() - make a stream that has failed usable again
 * @stream: stream
 *
 * Clears the error of a stream that has failed. Work that was cancelled stays cancelled. Events
 * that were recorded before the call are reported as having happened, without error. The call waits
 * until all that was cancelled has ended. This includes the events and fences that the stream waits
 * for, its callbacks, and waits of other streams for @stream, which fail first. On a stream that
 * has not failed the call does nothing.
 *
 * Example, a step that is repeated after an error::
 *
 *     if (accel_stream_synchronize(stream)) {
 *         fprintf(stderr, "step failed: %s\n", accel_last_error());
 *         accel_stream_clear(stream);
 *         submit_step(stream);
 *     }
 *
 * Return: 0; ``-EINVAL``, ``-EDEADLK`` as for all streams; or a general error.
 */
int accel_stream_clear(struct accel_stream *stream);

/**
 * accel_stream_clear_until() - accel_stream_clear() up to a time
 * @stream: stream
 * @deadline: when to give up: CLOCK_MONOTONIC as this process sees it, in nanoseconds, absolute; a
 *	time in the past does not wait, UINT64_MAX is never
 *
 * Waits as accel_stream_clear() does, but not after @deadline. If the time is over the stream stays
 * failed, and can be cleared by another call.
 *
 * Return: as accel_stream_clear(); ``-ETIME`` (what was cancelled has not ended by @deadline).
 */
int accel_stream_clear_until(struct accel_stream *stream, uint64_t deadline);

/**
 * accel_stream_add_callback() - call a function after the work of a stream
 * @stream: stream
 * @fn: called with @data, and with 0 or the error of the work before it
 * @data: passed on; has to stay valid until @fn has returned
 *
 * Lets the library call @fn with @data. @fn runs exactly once, after all work that was submitted to
 * @stream before and ahead of all that is submitted later: later submissions wait until it has run.
 * It also runs when the stream fails or has failed before, when the device is removed, and when the
 * handle is closed (with ``-ECANCELED``).
 *
 * Callbacks run in threads of the library, which block all signals and end with the last close of
 * the devices that had callbacks. Those of one stream run one after another, those of different
 * streams may run at the same time. So @fn may block, which holds up @stream only, unless the
 * process can start no further thread. @fn must not call into @stream, nor wait for a stream that
 * has a callback to run.
 *
 * Example, a buffer that is free again when it has been copied::
 *
 *     static void copied(void *data, int status)
 *     {
 *         buffer_put(data, status);
 *     }
 *
 *     accel_async_memory_copy_h2d(dev, stream, ptr, buffer->host, buffer->size);
 *     accel_stream_add_callback(stream, copied, buffer);
 *
 * Return: 0; ``-EINVAL`` (NULL; @stream was destroyed); ``-EDEADLK`` (in a callback of @stream);
 * ``-ENOMEM``, ``-EMFILE``, ``-ENFILE`` (the thread cannot be started); or a general error. @fn is
 * not called if the call fails.
 */
int accel_stream_add_callback(struct accel_stream *stream, void (*fn)(void *data, int status),
			      void *data);

/**
 * accel_stream_wait_event() - let a stream wait for an event
 * @stream: stream
 * @event: event of any device; one that was never recorded has happened
 *
 * Work that is submitted to @stream later does not start before @event, as it is recorded now, has
 * happened. The caller does not wait for the event. It may be recorded again, or destroyed, after
 * the call.
 *
 * Example, a stream that uses the result of another one::
 *
 *     accel_event_record(event, producer);
 *     accel_stream_wait_event(consumer, event);
 *     accel_async_memory_copy_d2h(dev, consumer, host, ptr, size);
 *
 * Return: 0; the error of @event, if it has failed and its stream was destroyed; or an error of
 * streams.
 */
int accel_stream_wait_event(struct accel_stream *stream, struct accel_event *event);

/**
 * accel_stream_eventfd() - signal an eventfd after the work of a stream
 * @stream: stream
 * @fd: eventfd; may be closed after the call
 *
 * Adds 1 to @fd when all work that was submitted before has ended, also when it fails or has failed
 * before: accel_stream_query() then returns the error. So a stream that has failed does not refuse
 * this call.
 *
 * Return: 0; ``-EINVAL`` (@fd is no eventfd); or an error of streams.
 */
int accel_stream_eventfd(struct accel_stream *stream, int fd);

/**
 * accel_stream_export_fence() - a sync_file of the work of a stream
 * @stream: stream
 * @fd: receives a file descriptor, close-on-exec, the caller's to close; -1 on failure
 *
 * Makes a sync_file that is signalled, with the error if there is one, when all work that was
 * submitted before has ended. It works with poll(), and other drivers accept it. It stays valid
 * after @stream was destroyed or its device was closed.
 *
 * Return: 0; ``-EINVAL`` (NULL); ``-EMFILE`` (no file descriptor is left); ``-ENOMEM``
 * (RLIMIT_MEMLOCK is exceeded, and nothing was ever queued on @stream); ``-ENOSPC`` (the handle has
 * max_host_ranges of struct accel_device_info already, and nothing was ever queued on @stream); or
 * an error of streams.
 */
int accel_stream_export_fence(struct accel_stream *stream, int *fd);

/**
 * accel_stream_wait_fence() - let a stream wait for a sync_file
 * @stream: stream
 * @fd: sync_file of any driver; may be closed after the call
 *
 * Work that is submitted to @stream later does not start before the fence is signalled. If it is
 * signalled with an error, the stream fails. The caller does not wait for the fence.
 *
 * Return: 0; ``-EINVAL`` (@fd is no sync_file); or an error of streams.
 */
int accel_stream_wait_fence(struct accel_stream *stream, int fd);

/**
 * accel_device_synchronize() - wait for all streams of this process on a device
 * @dev: handle
 *
 * Waits for the work and the callbacks of all streams of @dev, including those that were destroyed
 * and have work left.
 *
 * All layers of a process share one handle of a device, so the call waits for streams of other
 * layers too. It does not report their errors: an error belongs to its stream. It reports errors of
 * the caller's own streams, which are the live streams that the calling thread has created. A
 * program that creates streams in several threads calls accel_stream_query() for each stream, which
 * does not wait after this call.
 *
 * Return: 0; the error of a stream of the calling thread that has failed (the one with the lowest
 * number); ``-EDEADLK`` (in a callback); or a general error.
 */
int accel_device_synchronize(struct accel_device *dev);

/**
 * accel_device_synchronize_until() - accel_device_synchronize() up to a time
 * @dev: handle
 * @deadline: when to give up: CLOCK_MONOTONIC as this process sees it, in nanoseconds, absolute; a
 *	time in the past does not wait, UINT64_MAX is never
 *
 * Waits as accel_device_synchronize() does, but not after @deadline. The work is not affected if
 * the time is over.
 *
 * Return: as accel_device_synchronize(); ``-ETIME`` (work of a stream has not ended by @deadline,
 * which is returned before an error of another stream).
 */
int accel_device_synchronize_until(struct accel_device *dev, uint64_t deadline);

/* ---- Events ---------------------------------------------------------------------------------- */

/**
 * DOC: Events
 *
 * An *event* marks a position in a stream. accel_event_record() places it behind all work that was
 * submitted to the stream so far, and it *happens* when that work has ended. The driver takes the
 * time then. An event that was never recorded counts as having happened. A recorded event can be
 * waited for by other streams (accel_stream_wait_event()) and by the program.
 *
 * *Thread safety.* The functions for events may be called from several threads at once, with the
 * same event too. The exception is accel_event_destroy(): no other thread may use the event during
 * that call or later.
 *
 * *Lifetime.* An event is ended by accel_event_destroy(), or by the last accel_device_close() of
 * its device. It may be destroyed before it has happened: streams that wait for it still do. It
 * stays valid when the stream on which it was recorded is destroyed.
 *
 * Example, the time that a copy takes::
 *
 *     int64_t ns;
 *
 *     accel_event_record(start, stream);
 *     accel_async_memory_copy_h2d(dev, stream, ptr, host, size);
 *     accel_event_record(end, stream);
 *     accel_event_synchronize(end);
 *     accel_event_elapsed_time(start, end, &ns);
 *
 * *Examples.* See also examples/overlap.c in the sources: two streams that wait for events of each
 * other.
 */

/**
 * accel_event_create() - make an event
 * @dev: handle
 * @event: receives the event, NULL on failure
 *
 * Makes an event that can be recorded on every stream of @dev, any number of times. It counts as
 * having happened until then.
 *
 * Return: 0; ``-EINVAL`` (NULL); ``-ENOMEM``; or a general error.
 */
int accel_event_create(struct accel_device *dev, struct accel_event **event);

/**
 * accel_event_destroy() - end an event
 * @event: event
 *
 * Returns at once, also if the event has not happened. Streams that wait for it still do.
 *
 * Return: 0; ``-EINVAL`` (NULL; @event was destroyed); or a general error.
 */
int accel_event_destroy(struct accel_event *event);

/**
 * accel_event_record() - mark the current end of a stream
 * @event: event
 * @stream: stream of the same device
 *
 * Records the event at the current end of @stream: it happens when all work that was submitted to
 * @stream before has ended. An event that is recorded again stands for its new position only. What
 * waits already for its old position still waits for that.
 *
 * Return: 0; ``-EINVAL`` (@stream is of another device); ``-ENOMEM`` (RLIMIT_MEMLOCK is exceeded:
 * the driver writes the times of events into locked memory, of which the library allocates a page
 * for 512 events); ``-ENOSPC`` as accel_host_memory_allocate(); or an error of streams.
 */
int accel_event_record(struct accel_event *event, struct accel_stream *stream);

/**
 * accel_event_query() - whether an event has happened
 * @event: event
 *
 * Returns the state of the event, and does not wait. It makes no system call, except in 32-bit
 * programs.
 *
 * Return: 0 if it has happened, or was never recorded; ``-EINPROGRESS`` (it has not happened yet;
 * accel_last_error() is left alone); the error of the stream if that failed before the event (until
 * the stream is cleared, or destroyed and its number used by a new stream); ``-EINVAL`` (NULL;
 * @event was destroyed); or a general error.
 */
int accel_event_query(struct accel_event *event);

/**
 * accel_event_synchronize() - wait for an event
 * @event: event
 *
 * Waits until the event, as it is recorded at the time of the call, has happened. Signals do not
 * end the wait.
 *
 * Return: 0; or as accel_event_query(), but never ``-EINPROGRESS``.
 */
int accel_event_synchronize(struct accel_event *event);

/**
 * accel_event_synchronize_until() - accel_event_synchronize() up to a time
 * @event: event
 * @deadline: as for accel_stream_synchronize_until()
 *
 * Waits as accel_event_synchronize() does, but not after @deadline.
 *
 * Return: as accel_event_synchronize(); ``-ETIME`` (it has not happened by @deadline).
 */
int accel_event_synchronize_until(struct accel_event *event, uint64_t deadline);

/**
 * accel_event_elapsed_time() - time between two events
 * @start: event
 * @end: event, of any device
 * @ns: receives nanoseconds; negative if @end happened first
 *
 * Subtracts the times at which two events have happened. The driver takes them as it completes the
 * work, by CLOCK_MONOTONIC. Both events have to be recorded and to have happened.
 *
 * Return: 0; ``-EINVAL`` (NULL; an event was destroyed, or was never recorded); ``-EINPROGRESS``
 * (one of them has not happened); the error of a stream that failed before the event; or a general
 * error.
 */
int accel_event_elapsed_time(struct accel_event *start, struct accel_event *end, int64_t *ns);

/* ---- Batches --------------------------------------------------------------------------------- */

/**
 * DOC: Batches
 *
 * A *batch* collects operations, and accel_batch_submit() queues them in a stream with one system
 * call: all or none. Operations are counted from 0 in the order in which they were added. Events
 * that a batch records happen when the whole batch has ended, though their times are those of their
 * places in it. A batch has at most 1024 operations.
 *
 * *Thread safety.* The functions for batches may be called from several threads at once, with the
 * same batch too. The exception is accel_batch_destroy(): no other thread may use the batch during
 * that call or later.
 *
 * *Lifetime.* A batch is ended by accel_batch_destroy(), or by the last accel_device_close() of its
 * device; what was submitted still runs. The memory, events and eventfds that an operation names
 * have to stay until the batch is submitted (after accel_batch_keep(): for the last time). From
 * then on the rules of the stream hold: the driver keeps the memory, and the program leaves its
 * contents alone until the work has ended. accel_stream_synchronize(), or an event, tells when.
 *
 * Example, two fills and the time that they took, with one system call::
 *
 *     accel_batch_create(dev, &batch);
 *     accel_batch_record_event(batch, start);
 *     accel_batch_device_memory_set(batch, a, 0, size);
 *     accel_batch_device_memory_set(batch, b, 0xff, size);
 *     accel_batch_record_event(batch, end);
 *     accel_batch_submit(batch, stream, NULL);
 *     accel_stream_synchronize(stream);
 *     accel_batch_destroy(batch);
 */

/**
 * accel_batch_create() - make a batch
 * @dev: handle
 * @batch: receives the batch, NULL on failure
 *
 * Makes an empty batch for operations of @dev.
 *
 * Return: 0; ``-EINVAL`` (NULL); ``-ENOMEM``; or a general error.
 */
int accel_batch_create(struct accel_device *dev, struct accel_batch **batch);

/**
 * accel_batch_keep() - keep the operations of a batch when it is submitted
 * @batch: batch
 *
 * After this call accel_batch_submit() leaves the operations in @batch, so that it can be submitted
 * again, on any stream of the device: recorded once, replayed with one system call each time.
 * Further operations can be added. A wait for an event is for the position that was recorded when
 * the wait was added, and an event that the batch records stands for the latest submission. Only
 * accel_batch_destroy() undoes the call.
 *
 * Example, a step that is recorded once and replayed::
 *
 *     accel_batch_keep(batch);
 *     accel_batch_copy(batch, input, staging, size);
 *     accel_batch_copy(batch, previous, input, size);
 *     for (int i = 0; i < steps; i++) {
 *         prepare(staging, i);
 *         accel_batch_submit(batch, stream, NULL);
 *         accel_stream_synchronize(stream);
 *     }
 *
 * Return: 0; ``-EINVAL`` (NULL; @batch was destroyed); or a general error.
 */
int accel_batch_keep(struct accel_batch *batch);

/**
 * accel_batch_destroy() - end a batch
 * @batch: batch
 *
 * Discards the operations in the batch. Operations that were submitted still run.
 *
 * Return: 0; ``-EINVAL`` (NULL; @batch was destroyed); or a general error.
 */
int accel_batch_destroy(struct accel_batch *batch);

/**
 * accel_batch_copy() - add a copy to a batch
 * @batch: batch
 * @dst: device memory of the batch's device, or host memory that is allocated, unified or
 *	registered with it
 * @src: as @dst; one of the two is device memory
 * @size: bytes, at least 1
 *
 * The copy runs when the batch is submitted, after the operations that were added before.
 *
 * Return: 0; ``-EINVAL`` (neither @dst nor @src is device memory); ``-EFAULT`` (an operand is
 * pageable host memory, or memory of another device); ``-E2BIG`` (the batch is full:
 * accel_last_error() says with how many); an error of copies; or an error of streams.
 */
int accel_batch_copy(struct accel_batch *batch, void *dst, const void *src, size_t size);

/**
 * accel_batch_copy_2d() - add a copy of rows to a batch
 * @batch: batch
 * @dst: as for accel_batch_copy()
 * @dpitch: as for accel_memory_copy_2d()
 * @src: as for accel_batch_copy()
 * @spitch: as for accel_memory_copy_2d()
 * @width: bytes of each row, at least 1
 * @rows: number of rows, at least 1
 * @flags: 0 or ACCEL_VERIFY; accel_batch_submit() is ``-EOPNOTSUPP`` where the device does not
 *	verify
 *
 * Adds a copy of rows as accel_memory_copy_2d() makes it, as one operation.
 *
 * Return: as accel_batch_copy(); ``-EINVAL`` (@width or @rows is 0; a pitch is less than @width;
 * rows overlap; @flags has an unknown bit).
 */
int accel_batch_copy_2d(struct accel_batch *batch, void *dst, size_t dpitch, const void *src,
			size_t spitch, size_t width, size_t rows, unsigned int flags);

/**
 * accel_batch_device_memory_set() - add a fill to a batch
 * @batch: batch
 * @ptr: device memory of the batch's device, not unified memory
 * @value: every byte gets this value
 * @size: bytes, at least 1
 *
 * The fill runs when the batch is submitted, after the operations that were added before.
 *
 * Return: 0; ``-E2BIG`` (the batch is full); an error of copies; or an error of streams.
 */
int accel_batch_device_memory_set(struct accel_batch *batch, void *ptr, unsigned char value,
				  size_t size);

/**
 * accel_batch_device_memory_fill() - add a fill with a pattern to a batch
 * @batch: batch
 * @ptr: device memory of the batch's device, not unified memory
 * @pattern: as for accel_device_memory_fill()
 * @pattern_size: 1, 2, 4 or 8 bytes
 * @size: bytes to fill, at least 1, a multiple of @pattern_size
 * @flags: as for accel_batch_copy_2d()
 *
 * The fill runs when the batch is submitted, after the operations that were added before.
 *
 * Return: as accel_batch_device_memory_set(); ``-EINVAL`` (@pattern is NULL; @pattern_size is not
 * 1, 2, 4 or 8; @size is no multiple of @pattern_size; @flags has an unknown bit).
 */
int accel_batch_device_memory_fill(struct accel_batch *batch, void *ptr, const void *pattern,
				   size_t pattern_size, size_t size, unsigned int flags);

/**
 * accel_batch_wait_event() - add a wait for an event to a batch
 * @batch: batch
 * @event: event of the same device, as it is recorded now
 *
 * Operations that are added later do not start before the event has happened. The event may be
 * recorded again after the call: the batch waits for the old position.
 *
 * Return: 0; ``-EINVAL`` (@event is of another device); ``-E2BIG`` (the batch is full); or an error
 * of streams.
 */
int accel_batch_wait_event(struct accel_batch *batch, struct accel_event *event);

/**
 * accel_batch_record_event() - add the record of an event to a batch
 * @batch: batch
 * @event: event of the same device, which must live until the batch is submitted
 *
 * The event is recorded by accel_batch_submit(): until then @event stands for what it stood for
 * before.
 *
 * Return: as accel_batch_wait_event().
 */
int accel_batch_record_event(struct accel_batch *batch, struct accel_event *event);

/**
 * accel_batch_eventfd() - add a signal of an eventfd to a batch
 * @batch: batch
 * @fd: eventfd; must stay open until the batch is submitted, which also checks it
 *
 * Adds 1 to the eventfd when the operations that were added before have ended, also when the stream
 * fails.
 *
 * Return: 0; ``-E2BIG`` (the batch is full); or an error of streams.
 */
int accel_batch_eventfd(struct accel_batch *batch, int fd);

/**
 * accel_batch_submit() - queue the operations of a batch
 * @batch: batch; empty afterwards, unless accel_batch_keep() was called
 * @stream: stream of the same device
 * @failed: NULL, or receives the number of the operation that is wrong, from 0, if the call fails.
 *	It receives the number of operations in the batch if none of them is wrong, and 0 if @batch
 *	is not valid. Not written on success
 *
 * Queues all operations of @batch in @stream, or none: if the call fails, @batch is as before. The
 * work has ended when accel_stream_synchronize() returns, when an event that the batch records
 * behind it has happened, or when the eventfd of an operation behind it is signalled.
 *
 * The call waits for callbacks of @stream, and while @stream has no room for all operations of the
 * batch (the driver takes 4096 operations for one stream). During the wait other threads and
 * callbacks can add to @batch: what they add is not part of this submission, and stays in @batch.
 * Operations that are being submitted count as part of @batch, and no other call submits them.
 *
 * Return: 0; ``-EINVAL`` (the batch is empty; @stream is of another device; an operation signals a
 * file descriptor that is no eventfd; an operation names an event that was destroyed); ``-EFAULT``
 * (an operation uses memory that was freed since it was added); ``-EOPNOTSUPP`` (an operation has
 * ACCEL_VERIFY, and the device does not verify it); ``-ENOMEM`` and ``-ENOSPC`` as
 * accel_event_record(); the error of an event that is waited for, if it has failed and its stream
 * was destroyed; or an error of streams.
 */
int accel_batch_submit(struct accel_batch *batch, struct accel_stream *stream, size_t *failed);

/* ---- Sharing --------------------------------------------------------------------------------- */

/**
 * DOC: Sharing
 *
 * Memory is shared between processes and drivers as a dma-buf, a file descriptor that can be passed
 * over a socket. accel_memory_export() makes one of an allocation. accel_memory_import() gives
 * another process, which has the same device open, the same device memory.
 * accel_host_register_dmabuf() lets a device copy from and to memory of any other driver.
 *
 * *Thread safety.* The functions that share memory may be called from several threads at once. The
 * order of accesses to shared memory is up to the processes that share it:
 * accel_stream_export_fence() and accel_stream_wait_fence() order work of devices.
 *
 * *Lifetime.* Memory that is shared is freed when nothing uses it any more: not the allocation, no
 * open dma-buf, no import, no queued work. Each of these is ended on its own: the allocation by its
 * deallocate function, the file descriptor by close(), an import by
 * accel_device_memory_deallocate(), a registration by accel_host_unregister(); imports and
 * registrations also by the last accel_device_close() of their handle. The file descriptor may be
 * closed as soon as it was imported.
 *
 * Example, device memory for another process::
 *
 *     accel_device_memory_allocate(dev, &ptr, size);
 *     accel_memory_export(dev, ptr, &fd);
 *     send_fd(socket, fd);
 *     close(fd);
 *
 * Example, the other process::
 *
 *     fd = receive_fd(socket);
 *     accel_memory_import(dev, fd, &ptr, &size);
 *     close(fd);
 *     accel_memory_copy(ptr, data, size);
 *     accel_device_memory_deallocate(dev, ptr, size);
 *
 * *Examples.* See also examples/share.c in the sources, the whole program.
 */

/**
 * accel_memory_export() - make a dma-buf of an allocation
 * @dev: handle that allocated it
 * @ptr: what accel_device_memory_allocate(), accel_host_memory_allocate(),
 *	accel_unified_memory_allocate(), accel_memory_import() or accel_pool_allocate_exportable()
 *	returned
 * @fd: receives a file descriptor, close-on-exec, the caller's to close; -1 on failure
 *
 * The dma-buf stands for the whole allocation, and keeps the memory until it is closed, also if the
 * allocation is freed or the process ends. The memory stays charged to the exporting user (quota,
 * RLIMIT_MEMLOCK). Device memory can be imported by a process that has the same device open, not by
 * other drivers. Host and unified memory can be attached by every driver and mapped by every
 * process. Other memory of a pool is refused, because other blocks would be exported with it.
 *
 * Return: 0; ``-EINVAL`` (NULL); ``-ENOENT`` (no such allocation of this handle starts at @ptr, or
 * a pool has memory in it); ``-ENOMEM``; ``-EMFILE`` (no file descriptor is left); or a general
 * error.
 */
int accel_memory_export(struct accel_device *dev, void *ptr, int *fd);

/**
 * accel_memory_import() - use device memory of another process
 * @dev: handle of the device that has the memory
 * @fd: file descriptor of accel_memory_export(); may be closed after the call
 * @ptr: receives the device pointer, NULL on failure
 * @size: receives the bytes that were allocated; 0 on failure
 *
 * Gives the handle the memory that the other process has exported: both access the same bytes.
 * Memory that this handle has already, by allocation or import, has the same address again, and has
 * to be freed once more. The memory costs no quota of this process.
 *
 * Return: 0; ``-EINVAL`` (NULL; @fd is no dma-buf); ``-EXDEV`` (@fd is not device memory of this
 * device); ``-ESTALE`` (a reset has lost the contents of the memory); ``-ENOMEM``; or a general
 * error.
 */
int accel_memory_import(struct accel_device *dev, int fd, void **ptr, size_t *size);

/**
 * accel_host_register_dmabuf() - use memory of another driver as host memory
 * @dev: handle of the device that will use it
 * @fd: dma-buf of any driver; may be closed after the call
 * @size: bytes from its start, at least 1 and at most what it has
 * @flags: 0 or ACCEL_REGISTER_READ_ONLY
 * @ptr: receives an address that stands for the first byte, NULL on failure
 *
 * Copies between @dev and the memory take the address as that of registered memory. The processor
 * cannot access the memory at this address: map @fd for that. Nothing is charged. Implicit fences
 * of the dma-buf are ignored: order accesses with accel_stream_wait_fence() and
 * accel_stream_export_fence().
 *
 * Example, a frame of a camera driver::
 *
 *     accel_host_register_dmabuf(dev, camera_fd, size, ACCEL_REGISTER_READ_ONLY, &frame);
 *     accel_memory_copy(ptr, frame, size);
 *     accel_host_unregister(dev, frame);
 *
 * Return: 0; ``-EINVAL`` (NULL; @size is 0 or more than @fd has; @flags has an unknown bit; @fd is
 * no dma-buf); ``-EACCES`` (@fd is read-only, without ACCEL_REGISTER_READ_ONLY); ``-EOPNOTSUPP``
 * (the driver of @fd gives neither pages that the device reaches nor a mapping for the processor;
 * @fd is device memory of this driver); ``-ENOMEM``; ``-ENOSPC`` (the handle has max_host_ranges of
 * struct accel_device_info already); or a general error.
 */
int accel_host_register_dmabuf(struct accel_device *dev, int fd, size_t size, unsigned int flags,
			       void **ptr);

/* ---- Information ----------------------------------------------------------------------------- */

/**
 * DOC: Information
 *
 * *Thread safety.* These functions may be called from several threads at once.
 *
 * *Lifetime.* The functions fill structures of the caller and keep nothing. Strings that they
 * return belong to the library and are not freed: that of accel_last_error() is valid until the
 * next call of this thread that fails, the others as long as the library is loaded.
 *
 * Example, the memory of a device, and what an address is::
 *
 *     size_t total, free;
 *     struct accel_pointer_info info;
 *
 *     if (accel_device_memory_stats(dev, &total, &free))
 *         errx(1, "%s", accel_last_error());
 *     printf("%zu of %zu bytes are free\n", free, total);
 *     if (!accel_pointer_get_info(ptr, &info) && info.kind == ACCEL_MEMORY_DEVICE)
 *         printf("%zu bytes from %p\n", info.size, info.base);
 */

/**
 * accel_device_memory_stats() - size and free bytes of the memory of a device
 * @dev: handle
 * @total: receives the bytes of the device
 * @free: receives the bytes that an allocation can get, with those that are being cleared; at most
 *	@total
 *
 * Returns what the driver counts for all processes. Other processes allocate too: what is free now
 * may not be free at the next call. Free memory need not be contiguous: accel_memory_stats_full()
 * gives the longest part.
 *
 * Return: 0; ``-EINVAL`` (NULL); or a general error.
 */
int accel_device_memory_stats(struct accel_device *dev, size_t *total, size_t *free);

/**
 * accel_memory_stats_full() - all counters of the memory of a device
 * @dev: handle
 * @stats: filled whole; one consistent snapshot for total to largest_free
 *
 * Fills @stats with the memory of the device by its state, the use of this handle and user, and the
 * operations of all processes since the driver was bound to the device.
 *
 * Return: 0; ``-EINVAL`` (NULL); or a general error.
 */
int accel_memory_stats_full(struct accel_device *dev, struct accel_memory_stats *stats);

/**
 * accel_pointer_get_info() - what memory an address belongs to
 * @ptr: any address, never accessed
 * @info: filled whole
 *
 * Finds the allocation or registration that an address lies in; interior addresses give their
 * allocation. Memory registered with several devices gives the one that was opened first. An
 * address that the library does not know is pageable, also if nothing is mapped there.
 *
 * Return: 0; ``-EINVAL`` (NULL); ``-ENOENT`` (the address is a device pointer, but in no live
 * allocation).
 */
int accel_pointer_get_info(const void *ptr, struct accel_pointer_info *info);

/**
 * accel_pointer_node() - the device whose memory an address is, in a few nanoseconds
 * @ptr: any address, never accessed
 *
 * Compares @ptr with the windows of the devices that this process has open: without a lock, a system
 * call or a search for the allocation, for programs that have to tell device pointers from other
 * addresses at every call. The address need not be in a live allocation. Unified memory is host
 * memory here.
 *
 * Return: N of the device's node /dev/paccelN; or ``-ENOENT`` for every other address, also NULL,
 * which is no failure: accel_last_error() keeps its text.
 */
int accel_pointer_node(const void *ptr);

/**
 * accel_strerror() - a sentence for an error number of this library
 * @err: what a function returned; the sign does not matter
 *
 * Explains what the number means for the functions of this library, where strerror() has only a
 * general text. accel_last_error() says more about the last failure.
 *
 * Example, an error that a callback is given::
 *
 *     static void done(void *data, int status)
 *     {
 *         if (status)
 *             fprintf(stderr, "%s\n", accel_strerror(status));
 *     }
 *
 * Return: a sentence that lives as long as the program, never NULL.
 */
const char *accel_strerror(int err);

/**
 * accel_last_error() - a sentence about the last call that failed in this thread
 *
 * Returns a sentence that names the argument, what is allowed, and what to do. Calls that succeed
 * leave it alone. Each thread has its own.
 *
 * Example, the message "/dev/paccel0: no 5000 contiguous bytes are free: 4032 of 4032 bytes are,
 * the longest part has 4032"::
 *
 *     if (accel_device_memory_allocate(dev, &ptr, 5000))
 *         fprintf(stderr, "%s\n", accel_last_error());
 *
 * Return: the sentence; empty when no call of this thread has failed. Never NULL. It is valid until
 * the next call that fails in this thread, or until the thread ends.
 */
const char *accel_last_error(void);

/* ---- Versions -------------------------------------------------------------------------------- */

/**
 * accel_version() - version of the library that runs
 *
 * The version as text, for people; accel_version_number() is for comparisons.
 *
 * Return: ``"MAJOR.MINOR.PATCH"``.
 */
const char *accel_version(void);

/**
 * accel_version_number() - version of the library that runs, as a number
 *
 * Compare it with ACCEL_VERSION, the version of the header that the program was compiled with.
 * Before version 1.0 releases with different minor versions are not compatible.
 *
 * Return: what ACCEL_MAKE_VERSION() makes of the version; never negative.
 */
int accel_version_number(void);

#ifdef __cplusplus
}
#endif

#endif /* ACCEL_ACCEL_H */
