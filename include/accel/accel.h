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
 *                that wraps, an unknown flag
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
 * fork() never waits for a copy of another thread. What the caller has to order: a range may not be
 * freed while another thread uses it (the driver lets running copies end first, later ones get
 * ``-EFAULT``), a stream, event or batch may not be destroyed while another thread uses it, and the
 * last close of a handle comes after the last call that uses it.
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

#define ACCEL_VERSION_MAJOR 0
#define ACCEL_VERSION_MINOR 1
#define ACCEL_VERSION_PATCH 0

/**
 * ACCEL_MAKE_VERSION() - a version as one number, so that a later version is a larger number
 * @major: 0 to 127
 * @minor: 0 to 255
 * @patch: 0 to 255
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
 * @serial: number of the allocation, never used twice in a process: tells a new block at an old
 *	address; 0 for pageable memory
 * @kind: what made it
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
 * @used: bytes in allocations of all processes, in whole granules
 * @free: bytes that can be allocated at once
 * @dirty: bytes that were freed and are cleared before anybody can have them; an allocation waits
 *	for them
 * @quarantined: bytes out of use until a reset of the device, because they could not be cleared
 * @mine: bytes in allocations of this handle, in whole granules
 * @mine_allocs: allocations of this handle
 * @user: bytes charged to this user, over all processes
 * @user_max: quota of each user in bytes, 0 for none
 * @largest_free: longest contiguous part of @free, in bytes
 * @allocs: allocations made since the driver was bound, by all processes
 * @alloc_failures: allocations refused for want of memory or quota, likewise
 * @bytes_h2d: bytes copied from host to device, likewise
 * @bytes_d2h: bytes copied from device to host, likewise
 * @bytes_d2d: bytes copied inside the device, likewise
 * @bytes_filled: bytes filled, likewise
 * @bytes_scrubbed: bytes cleared after they were freed, likewise
 * @transfers: transfers that the device was asked for, likewise
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
 * accel_device_count() - number of devices
 *
 * Counts the nodes /dev/paccelN, also those that the caller may not open. Thread-safe.
 *
 * Return: the number, 0 without device or driver (accel_device_open() then says which); or the
 * negative errno of reading /dev.
 */
int accel_device_count(void);

/**
 * accel_device_open() - open a device
 * @index: 0 to accel_device_count() - 1: position in order of node number
 * @dev: receives the handle, NULL on failure
 *
 * A device that this process has open already gives the same handle, counted. A handle whose device
 * was removed, or lost its memory in a reset, is not given out again: open then makes a new one for
 * the device that is there now. Reserves as much address space as the device has memory.
 * Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (@index is negative, @dev is NULL); ``-ENODEV`` (no driver, no device, or
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
 * A name with a slash is a path. To find a PCI address, nodes are opened and asked in order of node
 * number. The handle is the same that accel_device_open() gives for the device, counted.
 * Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL, empty, neither a path nor a PCI address, a path of something else);
 * ``-ENODEV`` (no driver, no such path, no device with this address; or it was removed or replaced
 * meanwhile); ``-EACCES`` (the caller may not open the node, or the node of a device that may have
 * the address); or as accel_device_open().
 */
int accel_device_open_name(const char *name, struct accel_device **dev);

/**
 * accel_device_close() - close a device
 * @dev: handle
 *
 * Undoes one open. The last one frees all memory of the handle (after a fork(): see DOC: Threads
 * and fork), unregisters all registrations, and gives the window back: pointers into either must
 * not be used any more. It ends all streams, events and batches of the handle: what waits in a
 * stream is cancelled, and those handles must not be used either. Callbacks that have not run are
 * run before it returns, with ``-ECANCELED`` if their work has not ended. Never waits for the
 * device. Also closes a handle whose device is gone, and one inherited through fork(). No other
 * thread may use the handle at the last close, or later. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (@dev is NULL, or was closed, as long as its memory serves no new handle);
 * ``-EDEADLK`` (the last close, inside a callback).
 */
int accel_device_close(struct accel_device *dev);

/**
 * accel_device_get_info() - what a device is
 * @dev: handle
 * @info: filled whole
 *
 * Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL); or a general error.
 */
int accel_device_get_info(struct accel_device *dev, struct accel_device_info *info);

/**
 * accel_device_reset() - reset a device, for all processes that use it
 * @dev: handle
 *
 * Operations that are running fail with ``-EIO``; queued ones run afterwards. Also brings back a
 * device that is out of service. Without ACCEL_CAP_MEM_SURVIVES_RESET the memory of all handles is
 * lost, also of this one: every call is then ``-ESTALE``, and the device has to be closed and opened
 * again. Returns when the device has been reset. Thread-safe.
 *
 * Return: 0; ``-EACCES`` (the caller has no CAP_SYS_ADMIN); ``-EIO`` (the device could not be reset:
 * it is out of service); or a general error.
 */
int accel_device_reset(struct accel_device *dev);

/**
 * accel_device_lost_fd() - a file descriptor that tells when a handle is lost
 * @dev: handle
 * @fd: receives a file descriptor, close-on-exec, the caller's to close; -1 on failure
 *
 * It becomes readable (POLLIN) for poll(), epoll and io_uring when the device is removed, or when a
 * reset loses the memory of the handle, and stays so. Calls on the handle are then ``-ENODEV`` or
 * ``-ESTALE``: close it. Nothing can be read from the descriptor. It keeps neither the handle nor its
 * memory, and is of no use after the last accel_device_close(). Thread-safe.
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
 * accel_device_memory_allocate() - allocate memory of a device
 * @dev: handle
 * @ptr: receives the device pointer, NULL on failure
 * @size: bytes, at least 1
 *
 * Contiguous, aligned to the granule, all bytes 0. The memory belongs to the handle until it is freed
 * or closed. Waits while freed memory that would serve the request is being cleared. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL, size 0); ``-EDQUOT`` (more than the quota leaves to this user);
 * ``-ENOMEM`` (no such contiguous range is free, or out of host memory); or a general error.
 */
int accel_device_memory_allocate(struct accel_device *dev, void **ptr, size_t size);

/**
 * accel_device_memory_deallocate() - free memory of a device
 * @dev: handle that allocated it
 * @ptr: pointer that accel_device_memory_allocate() returned
 * @size: size that was given to it
 *
 * Never waits: operations that still run on the range end first, then it is cleared. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL, size 0, another size than was allocated: the allocation stays);
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
 * Page-aligned, all bytes 0. Charged to RLIMIT_MEMLOCK, which such memory of all processes of the
 * user must not exceed. The memory belongs to the handle until it is freed or
 * closed; it must not be unmapped, split or moved. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL, size 0); ``-ENOMEM`` (RLIMIT_MEMLOCK, more than max_host_bytes of
 * struct accel_device_info, or out of memory); ``-ENOSPC`` (max_host_ranges of struct accel_device_info
 * in use); ``-EEXIST`` (the address that the kernel chose lies in a registration whose memory was
 * unmapped: unregister it); or a general error.
 */
int accel_host_memory_allocate(struct accel_device *dev, void **ptr, size_t size);

/**
 * accel_host_memory_deallocate() - free page-locked host memory
 * @dev: handle that allocated it
 * @ptr: pointer that accel_host_memory_allocate() returned
 * @size: size that was given to it
 *
 * The address range is unmapped on return. Copies that still use the memory end first; the call
 * does not wait for them. Thread-safe.
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
 * As accel_host_memory_allocate(), and every copy or fill of @dev takes it where device memory is
 * wanted too. It lies in the host: nothing migrates. Thread-safe.
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
 * Thread-safe.
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
 * Copies between it and @dev need not pin it each time. Charged to RLIMIT_MEMLOCK in whole pages.
 * Ranges of one handle never overlap. The memory stays the program's; when it is unmapped or
 * replaced, copies answer ``-EFAULT`` until it is unregistered. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL, size, a range that wraps, @flags); ``-EEXIST`` (overlaps a host,
 * unified or registered range of this handle); ``-EFAULT`` (not mapped, not writable without
 * ACCEL_REGISTER_READ_ONLY, or device memory); ``-ENOMEM`` (RLIMIT_MEMLOCK, or out of memory);
 * ``-ENOSPC`` (max_host_ranges of struct accel_device_info in use); or a general error.
 */
int accel_host_register(struct accel_device *dev, void *ptr, size_t size, unsigned int flags);

/**
 * accel_host_unregister() - end a registration
 * @dev: handle that registered it
 * @ptr: address that was given to accel_host_register()
 *
 * Copies that still use the memory end first; the call does not wait for them. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL); ``-ENOENT`` (no registration of this handle starts at @ptr); or a
 * general error.
 */
int accel_host_unregister(struct accel_device *dev, void *ptr);

/* ---- Copy and fill --------------------------------------------------------------------------- */

/**
 * DOC: Copies
 *
 * A copy takes any length from 1 and any alignment, and is complete on return: the source may be
 * reused, and the destination holds the data for every later operation. Each operand lies wholly
 * inside one allocation, at interior addresses too; host operands may also be pageable memory.
 * "Device memory of @dev" below means device or unified memory that @dev allocated, "host memory"
 * everything else but device memory. One that overlaps itself is ``-EINVAL`` between device memory,
 * and safe between host memory. When a copy fails half-way its destination holds a mixture of old
 * and new bytes. Signals do not interrupt a copy; a fatal one ends the process at once.
 *
 * All copies and fills can return, besides the general errors: ``-EINVAL`` (NULL, size 0, a range
 * that wraps, device memory that overlaps); ``-EFAULT`` (not wholly inside one live allocation,
 * freed, the wrong kind, another device's or another process's memory; host memory that is not
 * mapped, or not writable where it is written).
 */

/**
 * ACCEL_VERIFY - a flag of copies and fills: the device verifies what it has done
 *
 * The device computes a checksum (CRC32C) of its memory, and the driver compares it with the
 * checksum of the source, or of the pattern. If they differ the operation fails with ``-EBADMSG``;
 * on a stream, the stream fails. Verification costs a further access to all bytes. It is
 * ``-EOPNOTSUPP`` on a device without ACCEL_CAP_VERIFY, where no device takes part, and for memory
 * of accel_host_register_dmabuf() that the processor cannot access.
 *
 * Between two devices each half of the copy is verified, so it goes through host memory. The module
 * parameter verify of the driver verifies everything that can be, without this flag.
 */
#define ACCEL_VERIFY (1u << 0)

/**
 * accel_memory_copy_h2d() - copy from host to device memory
 * @dev: handle
 * @dst: device memory of @dev
 * @src: host memory
 * @size: bytes, at least 1
 *
 * Thread-safe.
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
 * Thread-safe.
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
 * Thread-safe.
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
 * Goes directly where the devices reach each other, and through host memory elsewhere: there both
 * devices work at once if 4 MiB can be locked, and each handle has a stream and a host range left,
 * which are kept until a call of the library needs them. Otherwise, and for up to 1 MiB, they take
 * turns. Thread-safe.
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
 * copy is queued, and @src is in use until it has ended. From any other memory the program has @src
 * back when the call returns. Up to 64 KiB are copied aside and queued; more, or when 1 MiB of such
 * bytes is on its way, wait for the stream and are complete on return. Thread-safe.
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
 * copy is queued, and @dst holds the bytes when it has ended. To any other the call waits for the
 * stream, and the copy is complete on return. Thread-safe.
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
 * Queued; unified memory on both sides is copied by the processor, after the stream and complete on
 * return. Thread-safe.
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
 * On a stream of @src_dev the copy is queued where the devices reach each other. Elsewhere, and on
 * a stream of @dst_dev, the call waits for the stream, and the copy is complete on return. With the
 * same device twice it is accel_async_memory_copy_d2d(). Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (@stream is of neither device); an error of copies; or an error of
 * streams.
 */
int accel_async_memory_copy_p2p(struct accel_device *dst_dev, struct accel_device *src_dev,
				struct accel_stream *stream, void *dst, const void *src,
				size_t size);

/**
 * accel_memory_copy() - copy between any two addresses
 * @dst: host memory, or device memory of any device this process has open
 * @src: likewise
 * @size: bytes, at least 1
 *
 * Finds the direction from the addresses: host to device, device to host, inside a device, between
 * devices, or host to host, which is memmove(). Thread-safe.
 *
 * Return: 0; ``-EPERM`` (a device pointer from before a fork()); or an error of copies.
 */
int accel_memory_copy(void *dst, const void *src, size_t size);

/**
 * accel_memory_copy_2d() - copy rows between any two addresses
 * @dst: first byte of the first row; as for accel_memory_copy()
 * @dpitch: bytes from the start of one row of @dst to the next, at least @width; with one row also
 *	0
 * @src: first byte of the first row
 * @spitch: likewise for @src
 * @width: bytes of each row, at least 1
 * @rows: number of rows, at least 1
 *
 * Bytes between the rows are not touched, but lie inside the same allocation. Rows may not overlap,
 * not in host memory either: with equal pitches rows are compared, otherwise the whole ranges. One
 * row is accel_memory_copy(). Thread-safe.
 *
 * Example, a tile of a matrix to the device, packed::
 *
 *     accel_memory_copy_2d(tile, TILE, &matrix[y][x], SIDE, TILE, TILE);
 *
 * Return: 0; ``-EINVAL`` (@width, @rows, a pitch, overlap); ``-EPERM`` (as accel_memory_copy()); or
 * an error of copies.
 */
int accel_memory_copy_2d(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
			 size_t rows);

/**
 * accel_async_memory_copy_2d() - accel_memory_copy_2d() on a stream, verified on request
 * @stream: stream of any device; NULL: the copy is complete on return
 * @dst: first byte of the first row; as for accel_memory_copy()
 * @dpitch: as for accel_memory_copy_2d()
 * @src: first byte of the first row
 * @spitch: as for accel_memory_copy_2d()
 * @width: bytes of each row, at least 1
 * @rows: number of rows, at least 1
 * @flags: 0 or ACCEL_VERIFY
 *
 * Queued, as one operation, where a copy of one row is: see accel_async_memory_copy(). What may be
 * reused on return is the same too; the 64 KiB that are copied aside count the rows without what
 * lies between them. One row is a plain copy. Thread-safe.
 *
 * Example, a tile of a matrix to the device, on a stream and verified::
 *
 *     accel_async_memory_copy_2d(stream, tile, TILE, &matrix[y][x], SIDE, TILE, TILE,
 *                                ACCEL_VERIFY);
 *
 * Return: 0; ``-EINVAL`` (@width, @rows, a pitch, overlap, @flags); ``-EPERM`` (as
 * accel_memory_copy()); ``-EOPNOTSUPP``, ``-EBADMSG`` (ACCEL_VERIFY); an error of copies; or an
 * error of streams.
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
 * Complete on return. Thread-safe.
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
 * Queued; unified memory is filled by the processor, after the stream and complete on return.
 * Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (@stream is not of @dev); an error of copies; or an error of streams.
 */
int accel_async_device_memory_set(struct accel_device *dev, struct accel_stream *stream, void *ptr,
				  unsigned char value, size_t size);

/**
 * accel_device_memory_fill() - fill device memory with a pattern
 * @dev: handle
 * @ptr: device memory of @dev, of any alignment
 * @pattern: what is repeated from @ptr on, at least @pattern_size bytes; not used after the call
 * @pattern_size: 1, 2, 4 or 8 bytes
 * @size: bytes to fill, at least 1, a multiple of @pattern_size
 * @flags: 0 or ACCEL_VERIFY
 *
 * Complete on return. Thread-safe.
 *
 * Example, a thousand numbers that are all 0.5::
 *
 *     float half = 0.5f;
 *
 *     accel_device_memory_fill(dev, ptr, &half, sizeof(half), 1000 * sizeof(half), 0);
 *
 * Return: 0; ``-EINVAL`` (@pattern is NULL, @pattern_size, @size, @flags); ``-EOPNOTSUPP``,
 * ``-EBADMSG`` (ACCEL_VERIFY); or an error of copies.
 */
int accel_device_memory_fill(struct accel_device *dev, void *ptr, const void *pattern,
			     size_t pattern_size, size_t size, unsigned int flags);

/**
 * accel_async_device_memory_fill() - accel_device_memory_fill() on a stream
 * @dev: handle
 * @stream: stream of @dev; NULL: complete on return
 * @ptr: device memory of @dev, of any alignment
 * @pattern: as for accel_device_memory_fill()
 * @pattern_size: 1, 2, 4 or 8 bytes
 * @size: bytes to fill, at least 1, a multiple of @pattern_size
 * @flags: 0 or ACCEL_VERIFY
 *
 * Queued; unified memory is filled by the processor, after the stream and complete on return.
 * Thread-safe.
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
 * A *stream* is a queue of work of one device: copies, fills, waits, records of events. They run
 * one after the other in the order of the calls; streams run independently of each other. Calls
 * that queue return at once, but wait while the stream has as much queued as the driver takes, and
 * while a callback of the stream is to run.
 *
 * Memory that queued work uses may be freed or unregistered: the driver keeps it until the work has
 * ended. Its contents are the caller's to leave alone: what is copied from may be written, and what
 * is copied to may be read, when the work has ended. That is when accel_stream_synchronize(),
 * accel_stream_query() or their counterparts for an event have said so to the thread, or an
 * eventfd, fence or callback.
 *
 * *Failure.* When an operation fails, its stream has failed: what is queued behind it is not done,
 * and later calls that queue are ``-ECANCELED``. Waits and queries return the first error until
 * accel_stream_clear(). A stream that waits for an event or fence whose work failed, fails too.
 * Other streams go on.
 *
 * All functions with a stream, event or batch can return, besides the general errors: ``-EINVAL``
 * (NULL, or a handle that was destroyed, as long as its memory serves no new one);
 * ``-EDEADLK`` (a call into a stream from its own callback, or one that would wait for another
 * callback from a callback). Those that queue: ``-ECANCELED`` (the stream has failed: nothing was
 * queued), ``-ENOMEM``. No function returns ``-EAGAIN``.
 */

/**
 * accel_stream_create() - make a stream
 * @dev: handle
 * @stream: receives the stream, NULL on failure
 *
 * The stream lives until accel_stream_destroy() or the last close of @dev. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL); ``-ENOSPC`` (as many streams as the driver has for one handle, 127
 * on today's; those that are destroyed and still busy count); ``-ENOMEM``; or a general error.
 */
int accel_stream_create(struct accel_device *dev, struct accel_stream **stream);

/**
 * accel_stream_destroy() - end a stream
 * @stream: stream
 *
 * Returns at once. What is queued still runs, callbacks too, and events that were recorded stay
 * valid. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL, destroyed); ``-EDEADLK`` (in its callback); or a general error.
 */
int accel_stream_destroy(struct accel_stream *stream);

/**
 * accel_stream_query() - whether a stream has done all its work
 * @stream: stream
 *
 * Makes no system call (a program of 32 bits makes one). Thread-safe.
 *
 * Return: 0 if all that was queued so far has ended well, and its callbacks have run;
 * ``-EINPROGRESS`` (not done yet: accel_last_error() is left alone); the stream's error if it has
 * failed; ``-EINVAL``, ``-EDEADLK`` as for all streams; or a general error.
 */
int accel_stream_query(struct accel_stream *stream);

/**
 * accel_stream_synchronize() - wait until a stream has done all its work
 * @stream: stream
 *
 * Waits for all that was queued before the call, and for callbacks. Signals do not end it.
 * Thread-safe.
 *
 * Return: 0; the stream's error if it has failed; ``-EINVAL``, ``-EDEADLK`` as for all streams; or
 * a general error.
 */
int accel_stream_synchronize(struct accel_stream *stream);

/**
 * accel_stream_synchronize_until() - accel_stream_synchronize() up to a time
 * @stream: stream
 * @deadline: when to give up: CLOCK_MONOTONIC as this process sees it, in nanoseconds, absolute;
 *	the past does not wait, UINT64_MAX is never
 *
 * Thread-safe.
 *
 * Return: as accel_stream_synchronize(); ``-ETIME`` (not done by @deadline).
 */
int accel_stream_synchronize_until(struct accel_stream *stream, uint64_t deadline);

/**
 * accel_stream_clear() - make a stream that has failed usable again
 * @stream: stream
 *
 * What was cancelled stays so. That work up to now has failed is forgotten, for its events too:
 * they have just happened. Waits until all that was cancelled has ended, which is not before the
 * events and fences have ended for which it waits, until callbacks have been told, and until other
 * streams that wait for @stream have found out. On a stream that has not failed it does nothing.
 * Thread-safe.
 *
 * Return: 0; ``-EINVAL``, ``-EDEADLK`` as for all streams; or a general error.
 */
int accel_stream_clear(struct accel_stream *stream);

/**
 * accel_stream_add_callback() - call a function when a stream has come so far
 * @stream: stream
 * @fn: called with @data, and with 0 or the error of the work before it
 * @data: passed on
 *
 * @fn runs exactly once, after all that was queued before and before all that is queued later:
 * calls that queue wait until it has run. It also runs when the stream fails, or has failed before,
 * when the device is removed, and when the handle is closed (``-ECANCELED``). Callbacks run in
 * threads of the library, which block all signals and end with the last close of the devices that
 * had callbacks. Those of one stream run one after the other, those of different streams may run at
 * the same time. So @fn may block, which holds @stream only, unless the process can start no further
 * thread; but it must not call into @stream, nor wait for a stream that has a callback to run. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL, destroyed); ``-EDEADLK`` (in a callback of @stream); ``-ENOMEM``,
 * ``-EMFILE``, ``-ENFILE`` (the thread cannot be started); or a general error. @fn is not called if
 * the call fails.
 */
int accel_stream_add_callback(struct accel_stream *stream, void (*fn)(void *data, int status),
			      void *data);

/**
 * accel_stream_wait_event() - let a stream wait for an event
 * @stream: stream
 * @event: event of any device; one that was never recorded has happened
 *
 * What is queued later on @stream does not start before the event as it is recorded now has
 * happened. The caller does not wait. Thread-safe.
 *
 * Return: 0; the error of @event, if it has failed and its stream was destroyed; or an error of
 * streams.
 */
int accel_stream_wait_event(struct accel_stream *stream, struct accel_event *event);

/**
 * accel_stream_eventfd() - signal an eventfd when a stream has come so far
 * @stream: stream
 * @fd: eventfd; may be closed after the call
 *
 * Adds 1 to @fd when all that was queued before has ended, also when it fails or has failed before:
 * accel_stream_query() then tells. So a stream that has failed does not refuse this. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (@fd is no eventfd); or an error of streams.
 */
int accel_stream_eventfd(struct accel_stream *stream, int fd);

/**
 * accel_stream_export_fence() - a sync_file of all that is queued
 * @stream: stream
 * @fd: receives a file descriptor, close-on-exec, the caller's to close; -1 on failure
 *
 * It is signalled, with the error if there is one, when all that was queued before has ended.
 * poll() works on it, and other drivers take it. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL); ``-EMFILE`` (no file descriptor is left); ``-ENOMEM`` and
 * ``-ENOSPC`` as accel_event_record(), if nothing was ever queued on @stream; or an error of
 * streams.
 */
int accel_stream_export_fence(struct accel_stream *stream, int *fd);

/**
 * accel_stream_wait_fence() - let a stream wait for a sync_file
 * @stream: stream
 * @fd: sync_file of any driver; may be closed after the call
 *
 * What is queued later on @stream does not start before @fd is signalled; if it is with an error,
 * the stream fails. The caller does not wait. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (@fd is no sync_file); or an error of streams.
 */
int accel_stream_wait_fence(struct accel_stream *stream, int fd);

/**
 * accel_device_synchronize() - wait for all streams of this process on a device
 * @dev: handle
 *
 * Also for those that are destroyed and still busy, and for callbacks.
 *
 * All layers of a process share one handle of a device, so the call waits for streams of other
 * layers too. It does not report their errors: an error belongs to its stream. It reports errors
 * of the caller's own streams, which are the live streams that the calling thread has created. A
 * program that creates streams in several threads calls accel_stream_query() for each stream,
 * which does not wait after this call. Thread-safe.
 *
 * Return: 0; the error of a stream of the calling thread that has failed (the one with the lowest
 * number); ``-EDEADLK`` (in a callback); or a general error.
 */
int accel_device_synchronize(struct accel_device *dev);

/* ---- Events ---------------------------------------------------------------------------------- */

/**
 * accel_event_create() - make an event
 * @dev: handle
 * @event: receives the event, NULL on failure
 *
 * The event lives until accel_event_destroy() or the last close of @dev. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL); ``-ENOMEM``; or a general error.
 */
int accel_event_create(struct accel_device *dev, struct accel_event **event);

/**
 * accel_event_destroy() - end an event
 * @event: event
 *
 * Returns at once, also if the event has not happened; streams that wait for it still do.
 * Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL, destroyed); or a general error.
 */
int accel_event_destroy(struct accel_event *event);

/**
 * accel_event_record() - mark the point that a stream has come to
 * @event: event
 * @stream: stream of the same device
 *
 * The event happens when all that was queued before on @stream has ended. An event that is recorded
 * again stands for the new point alone; who waits for the old one still does. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (@stream is of another device); ``-ENOMEM`` (times lie in locked memory, a
 * page for some 500 events: RLIMIT_MEMLOCK); ``-ENOSPC`` as accel_host_memory_allocate(); or an
 * error of streams.
 */
int accel_event_record(struct accel_event *event, struct accel_stream *stream);

/**
 * accel_event_query() - whether an event has happened
 * @event: event
 *
 * Makes no system call (a program of 32 bits makes one). Thread-safe.
 *
 * Return: 0 if it has, or was never recorded; ``-EINPROGRESS`` (it has not: accel_last_error() is
 * left alone); the error of the stream, if that failed before the event, until the stream is
 * cleared, or destroyed and a new one has its place; ``-EINVAL`` (NULL, destroyed); or a general
 * error.
 */
int accel_event_query(struct accel_event *event);

/**
 * accel_event_synchronize() - wait for an event
 * @event: event
 *
 * Signals do not end it. Thread-safe.
 *
 * Return: 0; or as accel_event_query(), but never ``-EINPROGRESS``.
 */
int accel_event_synchronize(struct accel_event *event);

/**
 * accel_event_synchronize_until() - accel_event_synchronize() up to a time
 * @event: event
 * @deadline: as for accel_stream_synchronize_until()
 *
 * Thread-safe.
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
 * The driver takes the times as it completes the work, by CLOCK_MONOTONIC. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL, destroyed, never recorded); ``-EINPROGRESS`` (one has not
 * happened); the error of a stream that failed before the event; or a general error.
 */
int accel_event_elapsed_time(struct accel_event *start, struct accel_event *end, int64_t *ns);

/* ---- Batches --------------------------------------------------------------------------------- */

/**
 * DOC: Batches
 *
 * A *batch* collects operations and queues all of them with one system call: all or none.
 * Operations are counted from 0 in the order in which they were added. Events that a batch records
 * happen when the whole batch has ended, though their times are those of their places in it.
 */

/**
 * accel_batch_create() - make a batch
 * @dev: handle
 * @batch: receives the batch, NULL on failure
 *
 * The batch lives until accel_batch_destroy() or the last close of @dev. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL); ``-ENOMEM``; or a general error.
 */
int accel_batch_create(struct accel_device *dev, struct accel_batch **batch);

/**
 * accel_batch_keep() - keep the operations of a batch when it is submitted
 * @batch: batch
 *
 * From now on accel_batch_submit() leaves the operations in @batch, so that it can be submitted again,
 * on any stream of the device: recorded once, replayed with one system call each time. Further
 * operations can be added. Until the last submission, the memory, events and eventfds that the
 * operations name have to stay; a wait for an event is for the point that was recorded when the wait
 * was added, and an event that the batch records stands for the latest submission. Undone by
 * accel_batch_destroy() only. Thread-safe.
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
 * Return: 0; ``-EINVAL`` (NULL, destroyed); or a general error.
 */
int accel_batch_keep(struct accel_batch *batch);

/**
 * accel_batch_destroy() - end a batch
 * @batch: batch
 *
 * What it holds is forgotten; what was submitted runs. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL, destroyed); or a general error.
 */
int accel_batch_destroy(struct accel_batch *batch);

/**
 * accel_batch_copy() - add a copy
 * @batch: batch
 * @dst: device memory of the batch's device, or host memory that is allocated, unified or
 *	registered with it
 * @src: likewise; one of the two is device memory
 * @size: bytes, at least 1
 *
 * Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (neither is device memory); ``-EFAULT`` (pageable host memory, memory of
 * another device); ``-E2BIG`` (the batch is full: accel_last_error() says with how many); an error
 * of copies; or an error of streams.
 */
int accel_batch_copy(struct accel_batch *batch, void *dst, const void *src, size_t size);

/**
 * accel_batch_copy_2d() - add a copy of rows
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
 * One operation. Thread-safe.
 *
 * Return: as accel_batch_copy(); ``-EINVAL`` (@width, @rows, a pitch, overlap, @flags).
 */
int accel_batch_copy_2d(struct accel_batch *batch, void *dst, size_t dpitch, const void *src,
			size_t spitch, size_t width, size_t rows, unsigned int flags);

/**
 * accel_batch_device_memory_set() - add a fill
 * @batch: batch
 * @ptr: device memory of the batch's device, not unified memory
 * @value: every byte gets this value
 * @size: bytes, at least 1
 *
 * Thread-safe.
 *
 * Return: 0; ``-E2BIG`` (the batch is full); an error of copies; or an error of streams.
 */
int accel_batch_device_memory_set(struct accel_batch *batch, void *ptr, unsigned char value,
				  size_t size);

/**
 * accel_batch_device_memory_fill() - add a fill with a pattern
 * @batch: batch
 * @ptr: device memory of the batch's device, not unified memory
 * @pattern: as for accel_device_memory_fill()
 * @pattern_size: 1, 2, 4 or 8 bytes
 * @size: bytes to fill, at least 1, a multiple of @pattern_size
 * @flags: as for accel_batch_copy_2d()
 *
 * Thread-safe.
 *
 * Return: as accel_batch_device_memory_set(); ``-EINVAL`` (@pattern is NULL, @pattern_size, @size,
 * @flags).
 */
int accel_batch_device_memory_fill(struct accel_batch *batch, void *ptr, const void *pattern,
				   size_t pattern_size, size_t size, unsigned int flags);

/**
 * accel_batch_wait_event() - add a wait for an event
 * @batch: batch
 * @event: event of the same device, as it is recorded now
 *
 * Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (@event is of another device); ``-E2BIG`` (the batch is full); or an error
 * of streams.
 */
int accel_batch_wait_event(struct accel_batch *batch, struct accel_event *event);

/**
 * accel_batch_record_event() - add the record of an event
 * @batch: batch
 * @event: event of the same device, which must live until the batch is submitted
 *
 * Recorded by accel_batch_submit(): until then @event stands for what it stood before. Thread-safe.
 *
 * Return: as accel_batch_wait_event().
 */
int accel_batch_record_event(struct accel_batch *batch, struct accel_event *event);

/**
 * accel_batch_eventfd() - add a signal of an eventfd
 * @batch: batch
 * @fd: eventfd; must stay open until the batch is submitted, which also checks it
 *
 * Adds 1 when what stands before it has ended, also when the stream fails. Thread-safe.
 *
 * Return: 0; ``-E2BIG`` (the batch is full); or an error of streams.
 */
int accel_batch_eventfd(struct accel_batch *batch, int fd);

/**
 * accel_batch_submit() - queue a batch
 * @batch: batch; empty afterwards, unless accel_batch_keep() was called
 * @stream: stream of the same device
 * @failed: NULL, or receives which operation was wrong, if the call fails: from 0, or as many as
 *	the batch has if it was none of them; 0 if @batch is no batch. Not written on success
 *
 * If it fails nothing is queued, and @batch is as before. The call waits for callbacks of @stream
 * and for room in it, as every submission does. Meanwhile other threads and callbacks can add to
 * @batch: what they add is not part of this submission, and stays in @batch. The operations that
 * are being submitted still count as those of @batch, but no other call submits them.
 * Thread-safe.
 *
 * Example, two fills and the time that they took, with one system call::
 *
 *     accel_batch_record_event(batch, start);
 *     accel_batch_device_memory_set(batch, a, 0, size);
 *     accel_batch_device_memory_set(batch, b, 0xff, size);
 *     accel_batch_record_event(batch, end);
 *     accel_batch_submit(batch, stream, NULL);
 *
 * Return: 0; ``-EINVAL`` (the batch is empty; @stream is of another device; an operation: no eventfd,
 * an event that was destroyed); ``-EFAULT`` (an operation: memory that was freed since);
 * ``-EOPNOTSUPP`` (an operation: ACCEL_VERIFY, and the device does not verify it); ``-ENOMEM`` and
 * ``-ENOSPC`` as accel_event_record(); the error of an event that is waited for, if it has failed
 * and its stream was destroyed; or an error of streams.
 */
int accel_batch_submit(struct accel_batch *batch, struct accel_stream *stream, size_t *failed);

/* ---- Sharing --------------------------------------------------------------------------------- */

/**
 * accel_memory_export() - a dma-buf of an allocation
 * @dev: handle that allocated it
 * @ptr: what accel_device_memory_allocate(), accel_host_memory_allocate(),
 *	accel_unified_memory_allocate(), accel_memory_import() or accel_pool_allocate_exportable()
 *	returned
 * @fd: receives a file descriptor, close-on-exec, the caller's to close; -1 on failure
 *
 * Holds the memory until it is closed, whatever becomes of the allocation and of the process, which
 * goes on paying for it (quota, RLIMIT_MEMLOCK). Device memory can be imported by a process that
 * has the same device open, not by other drivers. Host and unified memory can be attached by every
 * driver and mapped by every process. Other memory of a pool is refused, because other blocks would be
 * exported with it. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL); ``-ENOENT`` (no such allocation of this handle starts at @ptr, or a
 * pool has memory in it); ``-ENOMEM``; ``-EMFILE`` (no file descriptor is left); or a general error.
 */
int accel_memory_export(struct accel_device *dev, void *ptr, int *fd);

/**
 * accel_memory_import() - use device memory of another process
 * @dev: handle of the device that has the memory
 * @fd: file descriptor of accel_memory_export(); may be closed after the call
 * @ptr: receives the device pointer, NULL on failure
 * @size: receives the bytes that were allocated; 0 on failure
 *
 * The same memory, for as long as somebody has it. What this handle has already, by allocation or
 * import, comes back at the same address, and has to be freed once more. To be freed by
 * accel_device_memory_deallocate(). Costs no quota. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL, @fd is no dma-buf); ``-EXDEV`` (not device memory of this device);
 * ``-ESTALE`` (a reset has lost what was in it); ``-ENOMEM``; or a general error.
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
 * cannot access it there: map @fd for that. Nothing is charged. Do not rely on implicit fences of
 * the dma-buf: order accesses with accel_stream_wait_fence() and accel_stream_export_fence(). Ended
 * by accel_host_unregister(). Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL, size, @flags, @fd is no dma-buf or too short); ``-EACCES`` (@fd is
 * read-only, without ACCEL_REGISTER_READ_ONLY); ``-EOPNOTSUPP`` (its driver gives neither pages
 * that the device reaches nor a mapping for the processor; device memory of this driver);
 * ``-ENOMEM``; ``-ENOSPC`` (max_host_ranges of struct accel_device_info in use); or a general error.
 */
int accel_host_register_dmabuf(struct accel_device *dev, int fd, size_t size, unsigned int flags,
			       void **ptr);

/* ---- Information ----------------------------------------------------------------------------- */

/**
 * accel_device_memory_stats() - how much memory a device has
 * @dev: handle
 * @total: receives the bytes of the device
 * @free: receives the bytes that an allocation can get, with those that are being cleared; at most
 *	@total
 *
 * Other processes allocate too: what is free now may not be free at the next call. It need not be
 * contiguous: accel_memory_stats_full() gives the longest part. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL); or a general error.
 */
int accel_device_memory_stats(struct accel_device *dev, size_t *total, size_t *free);

/**
 * accel_memory_stats_full() - all that a device counts
 * @dev: handle
 * @stats: filled whole; one consistent snapshot for total to largest_free
 *
 * Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL); or a general error.
 */
int accel_memory_stats_full(struct accel_device *dev, struct accel_memory_stats *stats);

/**
 * accel_pointer_get_info() - what an address is
 * @ptr: any address, never accessed
 * @info: filled whole
 *
 * Interior addresses give their allocation. Memory registered with several devices gives the one
 * that was opened first. An address that the library does not know is pageable, also if nothing is
 * mapped there. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL); ``-ENOENT`` (in the window of a device, but in no live
 * allocation).
 */
int accel_pointer_get_info(const void *ptr, struct accel_pointer_info *info);

/**
 * accel_strerror() - what an error of this library means
 * @err: what a function returned; the sign does not matter
 *
 * Return: a sentence that lives as long as the program, never NULL. Thread-safe.
 */
const char *accel_strerror(int err);

/**
 * accel_last_error() - what was wrong with the last call that failed in this thread
 *
 * Example, the message "/dev/paccel0: no 5000 contiguous bytes are free: 4032 of 4032 bytes are, the
 * longest part has 4032"::
 *
 *     if (accel_device_memory_allocate(dev, &ptr, 5000))
 *         fprintf(stderr, "%s\n", accel_last_error());
 *
 * Return: a sentence with the argument, what is allowed and what to do; empty when no call of this
 * thread has failed. Never NULL. Calls that succeed leave it alone; it is valid until the next one
 * that fails in this thread, or until the thread ends. Thread-safe.
 */
const char *accel_last_error(void);

/**
 * accel_version() - version of the library that runs
 *
 * Return: ``"MAJOR.MINOR.PATCH"``, for people; accel_version_number() is for comparisons.
 * Thread-safe.
 */
const char *accel_version(void);

/**
 * accel_version_number() - version of the library that runs, as a number
 *
 * Compare it with ACCEL_VERSION, the version of the header that the program was compiled with. Before
 * version 1.0 releases with different minor versions are not compatible. Thread-safe.
 *
 * Example, a check that the library is not older than the header::
 *
 *     if (accel_version_number() < ACCEL_VERSION)
 *         errx(1, "libaccel %s is too old", accel_version());
 *
 * Return: what ACCEL_MAKE_VERSION() makes of the version; never negative.
 */
int accel_version_number(void);

#ifdef __cplusplus
}
#endif

#endif /* ACCEL_ACCEL_H */
