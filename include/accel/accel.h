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
 * A *card* is one accelerator with memory of its own. accel_device_open() gives a handle to it. A
 * process has one handle per card however often it opens it: later opens return the same handle and
 * count, and the last accel_device_close() frees all that was allocated through it.
 *
 * A handle owns *ranges* of memory, of four kinds (enum accel_memory_kind):
 *
 * - *device* memory, on the card. Its pointers lie in a window of addresses that belongs to the
 *   card alone and that the processor cannot access: a stray dereference is a clean SIGSEGV.
 *   Pointer arithmetic and interior pointers work. Windows of different cards never overlap;
 * - *host* memory, page-locked, in the machine: an ordinary pointer that both sides use, the card
 *   without pinning;
 * - *unified* memory: host memory that counts as device memory of its card too, in every copy and
 *   fill;
 * - *registered* memory: the program's own, pinned until it is unregistered.
 *
 * Every other address is *pageable* host memory. Copies take it as well.
 *
 * An allocation is exactly the bytes asked for: that size bounds every access and has to be given
 * to free it. All sizes are in bytes. New memory is filled with 0 (device memory unless the driver
 * was loaded with ``scrub=0``). Allocations are contiguous and aligned to
 * accel_device_min_chunk_size() (host memory: to the page).
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
 * ``-ENODEV``    the card has been removed: the handle will do nothing more, but
 *                has to be closed
 * ``-ESTALE``    a reset of the card has lost this handle's memory: close it and
 *                open again
 * ``-EIO``       the card failed, or is out of service
 * ``-ETIMEDOUT`` the card did not answer in time; it has been reset
 * ``-ENOMEM``    out of memory (which memory: see the call)
 * ``-ENOTTY``    the driver that is loaded is older than this library; so is
 *                ``-E2BIG``
 * ============== =================================================================
 */

/**
 * DOC: Threads and fork
 *
 * All functions are thread-safe. No lock is held while the card works: a free, a second copy or a
 * fork() never waits for a copy of another thread. What the caller has to order: a range may not be
 * freed while another thread uses it (the driver lets running copies end first, later ones get
 * ``-EFAULT``), and the last close of a handle comes after the last call that uses it.
 *
 * After fork() the child has none of its parent's cards. Its calls on inherited handles return
 * ``-EPERM`` (accel_device_close() works and releases what was inherited). It may open cards
 * itself: handles, windows and allocations are then its own, and device pointers from before the
 * fork are refused. Host and unified memory of the parent stays mapped in the child, shared with
 * the parent, as memory that the library does not know. The parent is not affected. Use fork() or
 * posix_spawn(); a raw clone() runs no fork handlers, and the driver refuses its calls.
 */

#define ACCEL_VERSION_MAJOR 0
#define ACCEL_VERSION_MINOR 1
#define ACCEL_VERSION_PATCH 0

/** struct accel_device - a card that this process has opened; opaque */
struct accel_device;

/** struct accel_stream - an ordered queue of work; opaque. No function makes one yet: pass NULL */
struct accel_stream;

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
 * enum accel_capability - what a card can do (bits of accel_device_info.capabilities)
 * @ACCEL_CAP_MAPPABLE: its memory can be mapped by programs
 * @ACCEL_CAP_NATIVE_D2D: copies inside its memory by itself; without it such a copy goes through
 *	the host
 * @ACCEL_CAP_NATIVE_FILL: fills its memory by itself
 * @ACCEL_CAP_MEM_SURVIVES_RESET: memory and handles survive a reset of the card
 * @ACCEL_CAP_DIRECT_DMA: reads and writes host memory where it lies, without a bounce buffer
 */
enum accel_capability {
	ACCEL_CAP_MAPPABLE = 1 << 0,
	ACCEL_CAP_NATIVE_D2D = 1 << 1,
	ACCEL_CAP_NATIVE_FILL = 1 << 2,
	ACCEL_CAP_MEM_SURVIVES_RESET = 1 << 3,
	ACCEL_CAP_DIRECT_DMA = 1 << 4,
};

/**
 * struct accel_device_info - what a card is
 * @name: name of the kind of card, NUL-terminated
 * @bus_address: PCI address such as ``0000:01:00.0``, NUL-terminated
 * @memory_size: bytes of device memory
 * @granule: unit of allocation in bytes, a power of two; statistics move by it
 * @max_transfer: bytes that the card moves in one transfer; longer copies are cut by the driver
 * @max_alignment: largest alignment that the driver can give an allocation, in bytes
 * @max_host_bytes: largest host, unified or registered range, in bytes
 * @max_host_ranges: host, unified and registered ranges that one handle can have
 * @capabilities: bits of enum accel_capability
 * @engines: DMA channels
 * @dma_bits: width of the bus addresses that the card can reach
 * @node: N of its node /dev/paccelN
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
	uint32_t reserved[11];
};

/**
 * struct accel_pointer_info - what an address is
 * @device: handle that it belongs to, not counted as an open; NULL for pageable memory
 * @base: first byte of the allocation or registration; NULL for pageable memory
 * @size: its exact size in bytes; 0 for pageable memory
 * @serial: number of the allocation, never used twice in a process: tells a new block at an old
 *	address; 0 for pageable memory
 * @kind: what made it
 * @reserved: 0
 */
struct accel_pointer_info {
	struct accel_device *device;
	void *base;
	size_t size;
	uint64_t serial;
	enum accel_memory_kind kind;
	uint32_t reserved[7];
};

/**
 * struct accel_memory_stats - the memory of a card, and what was done with it
 * @total: bytes of device memory: @used + @free + @waiting + @set_aside
 * @used: bytes in allocations of all processes, in whole granules
 * @free: bytes that can be allocated at once
 * @waiting: bytes that were freed and are cleared before anybody can have them; an allocation waits
 *	for them
 * @set_aside: bytes out of use until a reset of the card, because they could not be cleared
 * @mine: bytes in allocations of this handle, in whole granules
 * @mine_allocs: allocations of this handle
 * @user: bytes charged to this user, over all processes
 * @user_max: quota of each user in bytes, 0 for none
 * @largest_free: longest contiguous part of @free, in bytes
 * @allocs: allocations made since the driver was bound, by all processes
 * @alloc_failures: allocations refused for want of memory or quota, likewise
 * @bytes_h2d: bytes copied from host to card, likewise
 * @bytes_d2h: bytes copied from card to host, likewise
 * @bytes_d2d: bytes copied inside the card, likewise
 * @bytes_filled: bytes filled, likewise
 * @bytes_scrubbed: bytes cleared after they were freed, likewise
 * @transfers: transfers that the card was asked for, likewise
 * @reserved: 0
 */
struct accel_memory_stats {
	uint64_t total;
	uint64_t used;
	uint64_t free;
	uint64_t waiting;
	uint64_t set_aside;
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
 * accel_device_count() - number of cards
 *
 * Counts the nodes /dev/paccelN, also those that the caller may not open. Thread-safe.
 *
 * Return: the number, 0 without card or driver (accel_device_open() then says which); or the
 * negative errno of reading /dev.
 */
int accel_device_count(void);

/**
 * accel_device_open() - open a card
 * @index: 0 to accel_device_count() - 1: position in order of node number
 * @dev: receives the handle, NULL on failure
 *
 * A card that this process has open already gives the same handle, counted. A handle whose card was
 * removed, or lost its memory in a reset, is not given out again: open then makes a new one for the
 * card that is there now. Reserves as much address space as the card has memory. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (@index is negative, @dev is NULL); ``-ENODEV`` (no driver, no card, or
 * none with this index); ``-EACCES`` (the caller may not open the node); ``-ENOMEM`` (no memory, or
 * no address space: ``ulimit -v``, mlockall(MCL_FUTURE)); ``-EMFILE``, ``-ENFILE`` (too many open
 * files).
 */
int accel_device_open(int index, struct accel_device **dev);

/**
 * accel_device_close() - close a card
 * @dev: handle
 *
 * Undoes one open. The last one frees all memory of the handle, unregisters all registrations, and
 * gives the window back: pointers into either must not be used any more. Never waits for the card.
 * Also closes a handle whose card is gone, and one inherited through fork(). No other thread may
 * use the handle at the last close, or later. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (@dev is NULL).
 */
int accel_device_close(struct accel_device *dev);

/**
 * accel_device_info() - what a card is
 * @dev: handle
 * @info: filled whole
 *
 * Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL); or a general error.
 */
int accel_device_info(struct accel_device *dev, struct accel_device_info *info);

/* ---- Allocation ------------------------------------------------------------------------------ */

/**
 * accel_device_memory_allocate() - allocate memory of a card
 * @dev: handle
 * @ptr: receives the device pointer, NULL on failure
 * @size: bytes, at least 1
 *
 * Contiguous, aligned to the granule, all bytes 0. Belongs to the handle until it is freed or
 * closed. Waits while freed memory that would serve the request is being cleared. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL, size 0); ``-EDQUOT`` (more than the quota leaves to this user);
 * ``-ENOMEM`` (no such contiguous range is free, or out of host memory); or a general error.
 */
int accel_device_memory_allocate(struct accel_device *dev, void **ptr, size_t size);

/**
 * accel_device_memory_deallocate() - free memory of a card
 * @dev: handle that allocated it
 * @ptr: pointer that accel_device_memory_allocate() returned
 * @size: size that was given to it
 *
 * Never waits: operations that still run on the range end first, then it is cleared. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL, size 0, another size than was allocated: the allocation stays);
 * ``-ENOENT`` (no device allocation of this handle starts at @ptr: freed, interior, another kind,
 * another card's); or a general error.
 */
int accel_device_memory_deallocate(struct accel_device *dev, void *ptr, size_t size);

/**
 * accel_host_memory_allocate() - allocate page-locked host memory
 * @dev: handle of the card that will use it
 * @ptr: receives the pointer, NULL on failure
 * @size: bytes, at least 1; occupies whole pages
 *
 * Page-aligned, all bytes 0. Charged to RLIMIT_MEMLOCK. Belongs to the handle until it is freed or
 * closed; must not be unmapped, split or moved. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL, size 0); ``-ENOMEM`` (RLIMIT_MEMLOCK, more than max_host_bytes, or
 * out of memory); ``-ENOSPC`` (max_host_ranges in use); ``-EEXIST`` (the address that the kernel
 * chose lies in a registration whose memory was unmapped: unregister it); or a general error.
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
 * ACCEL_REGISTER_READ_ONLY - the card only reads the range: it may be memory that the program
 * cannot write
 */
#define ACCEL_REGISTER_READ_ONLY (1u << 0)

/**
 * accel_host_register() - pin the program's own memory for a card
 * @dev: handle
 * @ptr: first byte, any alignment
 * @size: bytes, at least 1 and at most max_host_bytes
 * @flags: 0 or ACCEL_REGISTER_READ_ONLY
 *
 * Copies between it and @dev need not pin it each time. Charged to RLIMIT_MEMLOCK in whole pages.
 * Ranges of one handle never overlap. The memory stays the program's; when it is unmapped or
 * replaced, copies answer ``-EFAULT`` until it is unregistered. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL, size, a range that wraps, @flags); ``-EEXIST`` (overlaps a host,
 * unified or registered range of this handle); ``-EFAULT`` (not mapped, not writable without
 * ACCEL_REGISTER_READ_ONLY, or device memory); ``-ENOMEM`` (RLIMIT_MEMLOCK, or out of memory);
 * ``-ENOSPC`` (max_host_ranges in use); or a general error.
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
 * freed, the wrong kind, another card's or another process's memory; host memory that is not
 * mapped, or not writable where it is written).
 */

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
 * accel_memory_copy_d2d() - copy inside the memory of one card
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
 * accel_memory_copy_p2p() - copy from one card to another
 * @dst_dev: handle of the card that receives
 * @src_dev: handle of the card that sends; the same one twice is accel_memory_copy_d2d()
 * @dst: device memory of @dst_dev
 * @src: device memory of @src_dev
 * @size: bytes, at least 1
 *
 * Goes through host memory, in pieces of at most 1 MiB. Thread-safe.
 *
 * Return: 0, or an error of copies.
 */
int accel_memory_copy_p2p(struct accel_device *dst_dev, struct accel_device *src_dev, void *dst,
			  const void *src, size_t size);

/**
 * accel_async_memory_copy_h2d() - accel_memory_copy_h2d() on a stream
 * @dev: handle
 * @stream: NULL: there are no streams yet, and the copy is complete on return
 * @dst: device memory of @dev
 * @src: host memory
 * @size: bytes, at least 1
 *
 * Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (@stream is not NULL); or an error of copies.
 */
int accel_async_memory_copy_h2d(struct accel_device *dev, struct accel_stream *stream, void *dst,
				const void *src, size_t size);

/**
 * accel_async_memory_copy_d2h() - accel_memory_copy_d2h() on a stream
 * @dev: handle
 * @stream: NULL: there are no streams yet, and the copy is complete on return
 * @dst: host memory
 * @src: device memory of @dev
 * @size: bytes, at least 1
 *
 * Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (@stream is not NULL); or an error of copies.
 */
int accel_async_memory_copy_d2h(struct accel_device *dev, struct accel_stream *stream, void *dst,
				const void *src, size_t size);

/**
 * accel_async_memory_copy_d2d() - accel_memory_copy_d2d() on a stream
 * @dev: handle
 * @stream: NULL: there are no streams yet, and the copy is complete on return
 * @dst: device memory of @dev
 * @src: device memory of @dev, not overlapping @dst
 * @size: bytes, at least 1
 *
 * Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (@stream is not NULL); or an error of copies.
 */
int accel_async_memory_copy_d2d(struct accel_device *dev, struct accel_stream *stream, void *dst,
				const void *src, size_t size);

/**
 * accel_async_memory_copy_p2p() - accel_memory_copy_p2p() on a stream
 * @dst_dev: handle of the card that receives
 * @src_dev: handle of the card that sends
 * @stream: NULL: there are no streams yet, and the copy is complete on return
 * @dst: device memory of @dst_dev
 * @src: device memory of @src_dev
 * @size: bytes, at least 1
 *
 * Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (@stream is not NULL); or an error of copies.
 */
int accel_async_memory_copy_p2p(struct accel_device *dst_dev, struct accel_device *src_dev,
				struct accel_stream *stream, void *dst, const void *src,
				size_t size);

/**
 * accel_memory_copy() - copy between any two addresses
 * @dst: host memory, or device memory of any card this process has open
 * @src: likewise
 * @size: bytes, at least 1
 *
 * Finds the direction from the addresses: host to device, device to host, inside a card, between
 * cards, or host to host, which is memmove(). Thread-safe.
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
 * Return: 0; ``-EINVAL`` (@width, @rows, a pitch, overlap); ``-EPERM`` (as accel_memory_copy()); or
 * an error of copies.
 */
int accel_memory_copy_2d(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
			 size_t rows);

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

/* ---- Information ----------------------------------------------------------------------------- */

/**
 * accel_device_memory_stats() - how much memory a card has
 * @dev: handle
 * @total: receives the bytes of the card
 * @free: receives the bytes that an allocation can get, with those that are being cleared; at most
 *	@total
 *
 * Other processes allocate too: what is free now may not be free at the next call. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL); or a general error.
 */
int accel_device_memory_stats(struct accel_device *dev, size_t *total, size_t *free);

/**
 * accel_memory_stats_full() - all that a card counts
 * @dev: handle
 * @stats: filled whole; one consistent snapshot for total to largest_free
 *
 * Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL); or a general error.
 */
int accel_memory_stats_full(struct accel_device *dev, struct accel_memory_stats *stats);

/**
 * accel_device_min_chunk_size() - unit of allocation: the granule of the card, a power of two
 * @dev: handle
 * @size: receives the bytes
 *
 * Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL); or a general error.
 */
int accel_device_min_chunk_size(struct accel_device *dev, size_t *size);

/**
 * accel_device_max_chunk_size() - largest block worth taking for a pool:
 * accel_device_max_alloc_size()
 * @dev: handle
 * @size: receives the bytes
 *
 * Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL); or a general error.
 */
int accel_device_max_chunk_size(struct accel_device *dev, size_t *size);

/**
 * accel_device_max_alloc_size() - largest allocation on an empty card: all its memory
 * @dev: handle
 * @size: receives the bytes
 *
 * Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL); or a general error.
 */
int accel_device_max_alloc_size(struct accel_device *dev, size_t *size);

/**
 * accel_device_extra_padding_size() - bytes to add to each allocation for the card's sake: 0
 * @dev: handle
 * @size: receives the bytes
 *
 * Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL); or a general error.
 */
int accel_device_extra_padding_size(struct accel_device *dev, size_t *size);

/**
 * accel_device_init_alloc_size() - first block worth taking for a pool:
 * accel_device_max_alloc_size()
 * @dev: handle
 * @size: receives the bytes
 *
 * Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL); or a general error.
 */
int accel_device_init_alloc_size(struct accel_device *dev, size_t *size);

/**
 * accel_device_realloc_size() - further blocks worth taking for a pool:
 * accel_device_max_alloc_size()
 * @dev: handle
 * @size: receives the bytes
 *
 * Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL); or a general error.
 */
int accel_device_realloc_size(struct accel_device *dev, size_t *size);

/**
 * accel_pointer_info() - what an address is
 * @ptr: any address, never accessed
 * @info: filled whole
 *
 * Interior addresses give their allocation. Memory registered with several cards gives the one that
 * was opened first. An address that the library does not know is pageable, also if nothing is
 * mapped there. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (NULL); ``-ENOENT`` (in the window of a card, but in no live allocation).
 */
int accel_pointer_info(const void *ptr, struct accel_pointer_info *info);

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
 * Return: a sentence with the argument, what is allowed and what to do; empty when no call of this
 * thread has failed. Never NULL. Calls that succeed leave it alone; it is valid until the next one
 * that fails in this thread, or until the thread ends. Thread-safe.
 */
const char *accel_last_error(void);

/**
 * accel_version() - version of the library that runs
 *
 * Return: ``"MAJOR.MINOR.PATCH"``; compare with the ACCEL_VERSION_* macros of the header that was
 * compiled. Thread-safe.
 */
const char *accel_version(void);

#ifdef __cplusplus
}
#endif

#endif /* ACCEL_ACCEL_H */
