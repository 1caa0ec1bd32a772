/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * paccel: user space interface of the kernel driver.
 *
 * Every command is an ioctl on /dev/paccelN that takes one extensible struct. Its first field,
 * size, is sizeof(the struct) as the caller was compiled. If the caller's struct is smaller
 * (older), the missing fields are taken as 0. If it is larger (newer), all bytes that this kernel
 * does not know must be 0.
 */
#ifndef _UAPI_LINUX_PACCEL_H
#define _UAPI_LINUX_PACCEL_H

#include <linux/ioctl.h>
#include <linux/types.h>

/**
 * DOC: Errors
 *
 * Every command can fail with the errors below; further errors are listed at its struct. A command
 * that fails has changed nothing and written nothing into its struct, unless its text says
 * otherwise.
 *
 * =============== ================================================================
 * ``-ENODEV``     the device has been removed; permanent for this file
 * ``-ENOTTY``     unknown command
 * ``-EACCES``     the file is open read-only (all but DEVICE_INFO, MEM_STATS)
 * ``-EPERM``      the caller is not the process (address space) that opened the
 *                 file (all but DEVICE_INFO, MEM_STATS)
 * ``-ESTALE``     the context is lost: a reset has lost the contents of device
 *                 memory (all but DEVICE_INFO, MEM_STATS). Open the device again
 * ``-EFAULT``     the struct, or memory that it refers to, cannot be accessed
 * ``-EINVAL``     size below that of the first version, an unknown flag, a reserved
 *                 field that is not 0, a value outside its documented range
 * ``-E2BIG``      a larger struct whose unknown part is not 0, or a struct of more
 *                 than 4096 bytes
 * ``-EOPNOTSUPP`` a known flag that this device does not support
 * ``-ENOMEM``     out of memory (which memory: see the command)
 * ``-EINTR``      a signal: any signal in WAIT and in a SUBMIT that waits for room;
 *                 elsewhere a fatal signal only
 * =============== ================================================================
 *
 * A device that could not be stopped or reset is *out of service*: commands that need the hardware
 * fail with ``-EIO`` until a PACCEL_IOC_RESET succeeds.
 */

/**
 * DOC: Other calls
 *
 * open() creates a context, which belongs to the open file and to the process that opened it.
 * mmap() takes the offsets that HOST_ALLOC and STREAM_CREATE return, and offsets of device memory;
 * it fails with the general errors above and with those that are described there. Other offsets,
 * such as 0, are ``-EINVAL``. poll() reports EPOLLIN if a point has ended since the last WAIT on
 * this file, EPOLLHUP once the device has been removed and EPOLLERR once the context is lost.
 *
 * The context ends when the last file descriptor is closed and the last mapping is gone (each
 * mapping holds the file open), or when the process that opened it exits. Queued operations are
 * then cancelled; DMA requests in flight are not aborted.
 */

/**
 * DOC: Addresses
 *
 * Device memory has 64-bit device addresses, which begin at mem_base (never 0). MEM_ALLOC returns
 * the address of the first byte of an allocation; commands also take addresses inside the
 * allocation, at byte granularity (but see copy_align). An address alone grants no access: a range
 * that is not wholly inside one live allocation of the calling context is ``-EFAULT``. Host memory
 * is named by virtual addresses of the caller.
 */

/**
 * DOC: Mapped device memory
 *
 * With PACCEL_CAP_MAPPABLE, mmap() with MAP_SHARED at offset PACCEL_MMAP_DEVICE plus a device
 * address maps whole pages of device memory. The range need not be allocated, so a process can map
 * all device memory once. Access is checked at page fault: SIGBUS if the context has no allocation
 * there. Pages are unmapped in all threads by the last MEM_FREE of an allocation, by removal of the
 * device and by loss of the context, before the memory is allocated again. Bytes between the end of
 * an allocation and the next multiple of the granule can be accessed as well.
 *
 * mmap() fails with the general errors, ``-EOPNOTSUPP`` (no PACCEL_CAP_MAPPABLE), ``-EINVAL`` (a
 * private mapping; not wholly inside device memory) or ``-EACCES`` (PROT_EXEC). The mapping cannot
 * be split, moved or grown (munmap() or mprotect() of a part is ``-EINVAL``, mremap() fails), is
 * not inherited by fork() and is not in core dumps. 32-bit processes have no mmap() offsets of this
 * size.
 *
 * The mapping is write-combined: stores are buffered. COPY, FILL and SUBMIT order the earlier loads
 * and stores of the calling thread before the DMA of their operations. What an operation has
 * written to device memory is visible to every thread that has observed its end. Loads are uncached
 * and slow: use COPY for data that is read often.
 */

/* mmap() offset of device address 0. */
#define PACCEL_MMAP_DEVICE (1ULL << 62)

#define PACCEL_IOC_TYPE 0xBD

/* Numbers of commands. */
enum {
	PACCEL_NR_DEVICE_INFO = 0x00,
	PACCEL_NR_MEM_ALLOC = 0x01,
	PACCEL_NR_MEM_FREE = 0x02,
	PACCEL_NR_MEM_STATS = 0x03,
	PACCEL_NR_MEM_EXPORT = 0x04,
	PACCEL_NR_MEM_IMPORT = 0x05,
	PACCEL_NR_HOST_ALLOC = 0x06,
	PACCEL_NR_HOST_REGISTER = 0x07,
	PACCEL_NR_HOST_FREE = 0x08,
	PACCEL_NR_COPY = 0x09,
	PACCEL_NR_FILL = 0x0a,
	PACCEL_NR_STREAM_CREATE = 0x0b,
	PACCEL_NR_STREAM_DESTROY = 0x0c,
	PACCEL_NR_STREAM_CLEAR = 0x0d,
	PACCEL_NR_SUBMIT = 0x0e,
	PACCEL_NR_WAIT = 0x0f,
	PACCEL_NR_FENCE_EXPORT = 0x10,
	PACCEL_NR_RESET = 0x11,
	PACCEL_NR_PRIVATE = 0x80, /* and above: private commands of a backend */
};

/**
 * enum paccel_cap - capabilities of a device (bits of paccel_device_info.caps)
 * @PACCEL_CAP_MAPPABLE: applications can map device memory
 * @PACCEL_CAP_NATIVE_D2D: the device copies within its memory; without it the driver copies through
 *	a staging buffer in host memory
 * @PACCEL_CAP_NATIVE_FILL: the device fills its memory; without it the driver copies the pattern
 *	from host memory
 * @PACCEL_CAP_MEM_SURVIVES_RESET: the contents of device memory and the contexts survive
 *	PACCEL_IOC_RESET
 * @PACCEL_CAP_DIRECT_DMA: the device accesses host memory by DMA where it lies; without it all DMA
 *	goes through a bounce buffer, since the device cannot address all host memory, or the DMA
 *	API may use swiotlb (swiotlb=force, SEV, TDX)
 * @PACCEL_CAP_VERIFY: the device computes checksums: PACCEL_COPY_VERIFY, PACCEL_FILL_VERIFY and
 *	PACCEL_OP_VERIFY are supported
 */
enum paccel_cap {
	PACCEL_CAP_MAPPABLE = 1 << 0,
	PACCEL_CAP_NATIVE_D2D = 1 << 1,
	PACCEL_CAP_NATIVE_FILL = 1 << 2,
	PACCEL_CAP_MEM_SURVIVES_RESET = 1 << 3,
	PACCEL_CAP_DIRECT_DMA = 1 << 4,
	PACCEL_CAP_VERIFY = 1 << 5,
};

/**
 * struct paccel_device_info - ioctl(PACCEL_IOC_DEVICE_INFO)
 * @size: sizeof(struct paccel_device_info)
 * @flags: In. Must be 0
 * @mem_base: Out. Lowest device address, 4 GiB
 * @mem_size: Out. Bytes of device memory, a multiple of @granule
 * @granule: Out. Allocation granularity in bytes, a power of two, at most the page size; the page
 *	size with PACCEL_CAP_MAPPABLE
 * @max_xfer: Out. Largest DMA request in bytes; longer operations are split
 * @max_align: Out. Largest alignment that MEM_ALLOC supports, in bytes
 * @max_host_bytes: Out. Largest length of one host range, in bytes
 * @clock_ns: Out. CLOCK_MONOTONIC of the initial time namespace, in nanoseconds, at the time of the
 *	call
 * @caps: Out. Bits of enum paccel_cap
 * @max_host_ranges: Out. Maximum number of host ranges of one context
 * @engines: Out. Number of engines (DMA channels) of the device
 * @dma_bits: Out. Width in bits of the bus addresses that the device can drive
 * @reserved: Out. 0
 * @backend: Out. Name of the backend that drives the device, NUL-terminated
 * @bus_addr: Out. PCI address (``0000:01:00.0``), NUL-terminated
 * @max_streams: Out. Maximum number of streams of one context, including destroyed streams that
 *	still have queued operations
 * @max_ops: Out. Maximum number of operations of one SUBMIT
 * @max_queued: Out. Maximum number of operations queued in one stream; SUBMIT sleeps until they fit
 * @max_points: Out. Maximum number of points of one WAIT
 * @max_queued_all: Out. Maximum number of operations queued in all streams of one context together
 * @copy_align: Out. Bytes, a power of two, 1 for most devices: device addresses, device pitches,
 *	widths and lengths of COPY, FILL and their operations must be multiples of it
 *
 * Any process that holds the file may call it, also on a file opened read-only. Thread-safe.
 *
 * Return: 0, or a general error.
 */
struct paccel_device_info {
	__u32 size;
	__u32 flags;
	__aligned_u64 mem_base;
	__aligned_u64 mem_size;
	__aligned_u64 granule;
	__aligned_u64 max_xfer;
	__aligned_u64 max_align;
	__aligned_u64 max_host_bytes;
	__aligned_u64 clock_ns;
	__u32 caps;
	__u32 max_host_ranges;
	__u32 engines;
	__u32 dma_bits;
	__aligned_u64 reserved;
	char backend[32];
	char bus_addr[32];
	__u32 max_streams;
	__u32 max_ops;
	__u32 max_queued;
	__u32 max_points;
	__u32 max_queued_all;
	__u32 copy_align;
};

#define PACCEL_IOC_DEVICE_INFO _IO(PACCEL_IOC_TYPE, PACCEL_NR_DEVICE_INFO)

/* Fails with -EOPNOTSUPP if device memory cannot be mapped. mmap() does not require this flag. */
#define PACCEL_MEM_MAPPABLE (1 << 0)

/**
 * struct paccel_mem_alloc - ioctl(PACCEL_IOC_MEM_ALLOC)
 * @size: sizeof(struct paccel_mem_alloc)
 * @flags: In. 0 or PACCEL_MEM_MAPPABLE
 * @length: In. Bytes, at least 1. Commands can access exactly these bytes, and MEM_FREE takes the
 *	same length. The allocation occupies @length rounded up to the granule
 * @align: In. Alignment of the address in bytes, a power of two up to max_align; 0: the granule
 * @addr: Out. Device address of the first byte
 *
 * Allocates contiguous device memory. All bytes are 0, unless the module parameter scrub is N. The
 * allocation belongs to the context until MEM_FREE or the end of the context. Sleeps, killable,
 * while the request can be served only by freed memory that is not scrubbed yet, or by memory that
 * earlier requests sleep for. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (@length is 0, @align is not a power of two or above max_align);
 * ``-EOPNOTSUPP`` (PACCEL_MEM_MAPPABLE without PACCEL_CAP_MAPPABLE); ``-EDQUOT`` (exceeds the quota
 * of the user, sysfs max_user_bytes); ``-ENOMEM`` (no range is long enough, even after scrubbing;
 * or out of kernel memory); ``-EIO`` (the device is out of service).
 */
struct paccel_mem_alloc {
	__u32 size;
	__u32 flags;
	__aligned_u64 length;
	__aligned_u64 align;
	__aligned_u64 addr;
};

#define PACCEL_IOC_MEM_ALLOC _IO(PACCEL_IOC_TYPE, PACCEL_NR_MEM_ALLOC)

/**
 * struct paccel_mem_free - ioctl(PACCEL_IOC_MEM_FREE)
 * @size: sizeof(struct paccel_mem_free)
 * @flags: In. Must be 0
 * @addr: In. Address that MEM_ALLOC or MEM_IMPORT returned
 * @length: In. Length that was passed to MEM_ALLOC, or that MEM_IMPORT returned
 *
 * Undoes one MEM_ALLOC or MEM_IMPORT. The last of them removes the allocation from the context,
 * which can no longer access it. Returns at once: operations that use the memory go on. The memory
 * is scrubbed and can be allocated again after they have ended and no other context and no dma-buf
 * holds it. Thread-safe.
 *
 * Return: 0; ``-ENOENT`` (no allocation of this context starts at @addr); ``-EINVAL`` (@length is
 * not that of the allocation).
 */
struct paccel_mem_free {
	__u32 size;
	__u32 flags;
	__aligned_u64 addr;
	__aligned_u64 length;
};

#define PACCEL_IOC_MEM_FREE _IO(PACCEL_IOC_TYPE, PACCEL_NR_MEM_FREE)

/**
 * enum paccel_export_kind - what MEM_EXPORT exports
 * @PACCEL_EXPORT_DEVICE: an allocation of device memory
 * @PACCEL_EXPORT_HOST: memory that HOST_ALLOC has allocated
 */
enum paccel_export_kind {
	PACCEL_EXPORT_DEVICE = 1,
	PACCEL_EXPORT_HOST = 2,
};

/**
 * struct paccel_mem_export - ioctl(PACCEL_IOC_MEM_EXPORT)
 * @size: sizeof(struct paccel_mem_export)
 * @flags: In. Must be 0
 * @addr: In. Address that MEM_ALLOC or MEM_IMPORT returned, or at which HOST_ALLOC memory is mapped
 * @kind: In. One of enum paccel_export_kind
 * @fd: Out. A dma-buf, close-on-exec, readable and writable
 *
 * Creates a dma-buf of the whole allocation, in whole pages. The dma-buf holds a reference on the
 * memory, which outlives MEM_FREE, HOST_FREE and the context. The memory stays charged as before:
 * to the quota of the user who allocated it or, for HOST_ALLOC memory, to RLIMIT_MEMLOCK.
 *
 * A dma-buf of device memory can be imported with MEM_IMPORT on the same device. Other uses require
 * PACCEL_CAP_MAPPABLE; without it they fail with ``-EOPNOTSUPP`` in the call that maps or imports.
 * mmap() of the dma-buf gives the same kind of mapping as mmap() of device memory, but grants
 * access by itself, in any process, until munmap(). Importers of peer-to-peer memory can attach,
 * such as HOST_REGISTER on another device, if the module parameter p2p allows it. Both are revoked
 * when the device is removed or loses its memory: access to a mapping raises SIGBUS, and importers
 * no longer access the memory when removal ends.
 *
 * HOST_ALLOC memory can be mapped, accessed by the CPU, and attached to every device that reaches
 * it without bounce buffers of the DMA API (else ``-EOPNOTSUPP``). Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (@kind); ``-ENOENT`` (no such allocation starts at @addr); ``-ENOMEM``
 * (out of memory); ``-EMFILE`` (no file descriptor is left).
 */
struct paccel_mem_export {
	__u32 size;
	__u32 flags;
	__aligned_u64 addr;
	__u32 kind;
	__s32 fd;
};

#define PACCEL_IOC_MEM_EXPORT _IO(PACCEL_IOC_TYPE, PACCEL_NR_MEM_EXPORT)

/**
 * struct paccel_mem_import - ioctl(PACCEL_IOC_MEM_IMPORT)
 * @size: sizeof(struct paccel_mem_import)
 * @flags: In. Must be 0
 * @fd: In. A dma-buf of device memory of the same device; it may be closed afterwards
 * @reserved: In. Must be 0
 * @addr: Out. Device address: the same in every context that has the allocation
 * @length: Out. Length that was passed to MEM_ALLOC; MEM_FREE takes the same
 *
 * Adds the allocation to this context. If the context already has it, by MEM_ALLOC or by an earlier
 * import, a count is incremented: each of them needs its own MEM_FREE. The memory is scrubbed when
 * all contexts, dma-bufs and operations have dropped their references. It is not charged to the
 * quota of the importing user. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (@fd is no dma-buf); ``-EXDEV`` (of another driver, of host memory or of
 * another device: use HOST_REGISTER); ``-ESTALE`` (also: a reset has lost the contents of this
 * allocation); ``-ENOMEM``.
 */
struct paccel_mem_import {
	__u32 size;
	__u32 flags;
	__s32 fd;
	__u32 reserved;
	__aligned_u64 addr;
	__aligned_u64 length;
};

#define PACCEL_IOC_MEM_IMPORT _IO(PACCEL_IOC_TYPE, PACCEL_NR_MEM_IMPORT)

/**
 * struct paccel_mem_stats - ioctl(PACCEL_IOC_MEM_STATS)
 * @size: sizeof(struct paccel_mem_stats)
 * @flags: In. Must be 0
 * @total: Out. Bytes of device memory: @used + @free + @dirty + @quarantined
 * @used: Out. Bytes of all allocations, in whole granules. One that was freed before the end of
 *	operations that use it counts until a work item of the driver has run after their end
 * @free: Out. Bytes that can be allocated at once
 * @dirty: Out. Bytes freed that are not @free yet, because of scrubbing
 * @quarantined: Out. Bytes quarantined because their scrubbing failed twice; a RESET scrubs them
 *	again
 * @mine: Out. Bytes of the allocations of this context, in whole granules, imported ones included
 * @mine_allocs: Out. Number of allocations of this context, imported ones included
 * @user: Out. Bytes charged to the user (real user ID) of this context on this device
 * @user_max: Out. Quota of each user in bytes (sysfs max_user_bytes), 0: none
 * @largest_free: Out. Length in bytes of the longest contiguous range of @free
 * @allocs: Out. Number of successful MEM_ALLOC
 * @alloc_failures: Out. Number of MEM_ALLOC that failed with ``-ENOMEM`` or ``-EDQUOT``
 * @bytes_h2d: Out. Bytes copied from host memory to device memory
 * @bytes_d2h: Out. Bytes copied from device memory to host memory
 * @bytes_d2d: Out. Bytes copied within device memory
 * @bytes_filled: Out. Bytes filled by FILL
 * @bytes_scrubbed: Out. Bytes scrubbed
 * @xfers: Out. Number of DMA requests that were started
 *
 * One consistent snapshot for @total to @largest_free. The counters from @allocs on are of all
 * contexts, since the driver was bound. Any process that holds the file may call it, also on a file
 * opened read-only. Thread-safe.
 *
 * Return: 0, or a general error.
 */
struct paccel_mem_stats {
	__u32 size;
	__u32 flags;
	__aligned_u64 total;
	__aligned_u64 used;
	__aligned_u64 free;
	__aligned_u64 dirty;
	__aligned_u64 quarantined;
	__aligned_u64 mine;
	__aligned_u64 mine_allocs;
	__aligned_u64 user;
	__aligned_u64 user_max;
	__aligned_u64 largest_free;
	__aligned_u64 allocs;
	__aligned_u64 alloc_failures;
	__aligned_u64 bytes_h2d;
	__aligned_u64 bytes_d2h;
	__aligned_u64 bytes_d2d;
	__aligned_u64 bytes_filled;
	__aligned_u64 bytes_scrubbed;
	__aligned_u64 xfers;
};

#define PACCEL_IOC_MEM_STATS _IO(PACCEL_IOC_TYPE, PACCEL_NR_MEM_STATS)

/**
 * struct paccel_host_alloc - ioctl(PACCEL_IOC_HOST_ALLOC)
 * @size: sizeof(struct paccel_host_alloc)
 * @flags: In. Must be 0
 * @length: In. Bytes, 1 to max_host_bytes; rounded up to whole pages
 * @offset: Out. Offset for the one mmap() that gives the memory its address; never 0
 *
 * Allocates page-locked host memory, all bytes 0. The memory is charged to the memory cgroup and to
 * two sums, each of which RLIMIT_MEMLOCK limits: that of all host ranges of the process, and that
 * of the HOST_ALLOC memory of all processes of the user, since the memory can outlive the process
 * in mappings and dma-bufs.
 *
 * The memory is mapped once, with MAP_SHARED and the whole rounded length. mmap() fails with
 * ``-EINVAL`` (another length, a private mapping, an unknown offset), ``-EBUSY`` (a second mapping)
 * or ``-EEXIST`` (the addresses overlap a host range of this context). The mapping cannot be split,
 * moved or grown (munmap() of a part is ``-EINVAL``, mremap() fails); fork() shares it with the
 * child. After munmap(), commands that use the range fail with ``-EFAULT`` until it is freed. The
 * pages are freed after HOST_FREE (or the end of the context), munmap() in all processes and the
 * release of all dma-bufs. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (@length); ``-ENOMEM`` (RLIMIT_MEMLOCK, or out of memory); ``-ENOSPC``
 * (max_host_ranges).
 */
struct paccel_host_alloc {
	__u32 size;
	__u32 flags;
	__aligned_u64 length;
	__aligned_u64 offset;
};

#define PACCEL_IOC_HOST_ALLOC _IO(PACCEL_IOC_TYPE, PACCEL_NR_HOST_ALLOC)

/* The device only reads the range, and the process need not be able to write it. */
#define PACCEL_HOST_READ_ONLY (1 << 0)
/* The range stands for memory of the dma-buf fd, and not of the process. */
#define PACCEL_HOST_DMABUF (1 << 1)

/**
 * struct paccel_host_register - ioctl(PACCEL_IOC_HOST_REGISTER)
 * @size: sizeof(struct paccel_host_register)
 * @flags: In. PACCEL_HOST_READ_ONLY, PACCEL_HOST_DMABUF or both
 * @addr: In. First byte, any alignment, not 0
 * @length: In. Bytes, 1 to max_host_bytes
 * @fd: In. A dma-buf of any driver with PACCEL_HOST_DMABUF, else 0; it may be closed afterwards
 * @reserved: In. Must be 0
 *
 * Pins memory of the caller until HOST_FREE. Copies then need not pin it each time, and streams can
 * use it. Charged to RLIMIT_MEMLOCK in whole pages. Host ranges of one context cannot overlap. If
 * pages of the range are unmapped, moved or replaced, commands that use the range fail with
 * ``-EFAULT`` until it is freed. Thread-safe.
 *
 * With PACCEL_HOST_DMABUF, the addresses from @addr on stand for the first @length bytes of the
 * dma-buf. The process must not use them for other memory: it reserves them, for example with a
 * PROT_NONE mapping, or maps the dma-buf there. The driver neither accesses nor pins nor watches
 * what is mapped there. RLIMIT_MEMLOCK is charged with the whole size of a dma-buf of another
 * driver, which that driver pins; with the registered length for HOST_ALLOC memory of another
 * device; and not at all for HOST_ALLOC memory of this device and for device memory of another
 * device. The latter can be registered if the module parameter p2p allows it.
 *
 * If the exporter revokes the memory, for example because its device is removed, operations that
 * use it fail with ``-EFAULT``. Implicit fences of the dma-buf are ignored: the application orders
 * accesses, for example with PACCEL_OP_WAIT_FENCE. Where the device cannot reach the memory by DMA,
 * the CPU copies it: COPY and SUBMIT then wait for the write fences of the dma-buf, before
 * PACCEL_COPY_D2H also for the read fences, and fail with ``-EIO`` if the exporter refuses the
 * access. A signal restarts this wait, and a fatal signal ends it. In a stream the access ends with
 * the job, shortly after its point: on a machine without coherent DMA, another device may not see
 * the results of such a copy at once.
 *
 * Return: 0; ``-EINVAL`` (@addr is 0; @length, or the range wraps; @fd is no dma-buf, is given
 * without PACCEL_HOST_DMABUF, or is shorter than @length); ``-EEXIST`` (overlaps a host range of
 * this context); ``-EFAULT`` (not mapped, not writable without PACCEL_HOST_READ_ONLY, or memory
 * that cannot be pinned, such as mapped device memory); ``-ENOMEM`` (RLIMIT_MEMLOCK, or out of
 * memory); ``-ENOSPC`` (max_host_ranges); ``-EACCES`` (the dma-buf was opened read-only, without
 * PACCEL_HOST_READ_ONLY); ``-EOPNOTSUPP`` (the exporter offers neither a mapping that the device
 * can reach nor one for the CPU; device memory of this device, or of a device that the bus or the
 * module parameter p2p keeps apart).
 */
struct paccel_host_register {
	__u32 size;
	__u32 flags;
	__aligned_u64 addr;
	__aligned_u64 length;
	__s32 fd;
	__u32 reserved;
};

#define PACCEL_IOC_HOST_REGISTER _IO(PACCEL_IOC_TYPE, PACCEL_NR_HOST_REGISTER)

/**
 * struct paccel_host_free - ioctl(PACCEL_IOC_HOST_FREE)
 * @size: sizeof(struct paccel_host_free)
 * @flags: In. Must be 0
 * @addr: In. First byte of the range, as registered or as mapped; or 0
 * @offset: In. Offset that HOST_ALLOC returned, whether mapped or not; or 0. Exactly one of the two
 *	is not 0
 *
 * Removes a host range from the context. Returns at once: operations that use the range go on, and
 * the memory is unpinned or freed after they have ended. Mappings of HOST_ALLOC memory stay until
 * munmap(). Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (@addr and @offset are both 0, or both not 0); ``-ENOENT`` (no range of
 * this context starts there).
 */
struct paccel_host_free {
	__u32 size;
	__u32 flags;
	__aligned_u64 addr;
	__aligned_u64 offset;
};

#define PACCEL_IOC_HOST_FREE _IO(PACCEL_IOC_TYPE, PACCEL_NR_HOST_FREE)

/**
 * enum paccel_copy_dir - direction of a copy
 * @PACCEL_COPY_H2D: from host memory to device memory
 * @PACCEL_COPY_D2H: from device memory to host memory
 * @PACCEL_COPY_D2D: within the device memory of one device
 */
enum paccel_copy_dir {
	PACCEL_COPY_H2D = 1,
	PACCEL_COPY_D2H = 2,
	PACCEL_COPY_D2D = 3,
};

/**
 * DOC: Verified transfers
 *
 * With PACCEL_COPY_VERIFY, PACCEL_FILL_VERIFY or PACCEL_OP_VERIFY, the device computes the CRC32C
 * of the bytes that each DMA request writes to or reads from device memory. The driver compares it
 * with that of the other side: host memory, the source of a copy within device memory, or the
 * pattern. If they differ, the operation fails with ``-EBADMSG``, and later operations of its
 * stream are cancelled. This detects bytes that change between host memory and device memory, but
 * not before or afterwards.
 *
 * A change of the host memory before the operation has ended is reported as ``-EBADMSG`` as well.
 * Verification costs one pass over the bytes by the CPU or, for a copy within device memory, by the
 * device. Later operations of the stream start after verification.
 *
 * Verification is ``-EOPNOTSUPP`` without PACCEL_CAP_VERIFY, and for host memory of a dma-buf that
 * only the device can access. The module parameter verify verifies all operations for which it is
 * supported.
 */

/* Verify the copy; requires PACCEL_CAP_VERIFY. */
#define PACCEL_COPY_VERIFY (1 << 0)

/**
 * struct paccel_copy - ioctl(PACCEL_IOC_COPY)
 * @size: sizeof(struct paccel_copy)
 * @flags: In. 0 or PACCEL_COPY_VERIFY
 * @dir: In. One of enum paccel_copy_dir
 * @reserved: In. Must be 0
 * @dst: In. First byte written: a device address, or the caller's address for PACCEL_COPY_D2H
 * @src: In. First byte read: a device address, or the caller's address for PACCEL_COPY_H2D
 * @width: In. Bytes of each row, at least 1
 * @rows: In. Number of rows, at least 1
 * @dst_pitch: In. Distance in bytes of the rows of the destination, at least @width; with one row
 *	also 0
 * @src_pitch: In. Distance in bytes of the rows of the source, at least @width; with one row also 0
 *
 * Returns after the copy has ended: the source may be reused, and every later operation finds the
 * data at the destination. Device addresses, device pitches (of several rows) and @width are
 * multiples of copy_align of DEVICE_INFO. Host memory may have any alignment, except memory of a
 * dma-buf that only the device can access (HOST_REGISTER): its offsets in the dma-buf and pitches
 * are multiples of copy_align, too.
 *
 * Host memory that lies wholly inside one host range is used as it is. Other host memory is pinned
 * during the copy, in slices of bounded size. Sleeps, killable: other signals do not end the copy.
 * After a fatal signal the DMA requests in flight end, and the rest is not copied. If the copy
 * fails, the contents of the destination are undefined. Not ordered against other operations in
 * flight. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (@dir, @width, @rows, a pitch, a range that wraps; device ranges that
 * overlap: with equal pitches their rows are compared, otherwise whole ranges; not a multiple of
 * copy_align); ``-EFAULT`` (a device range not wholly inside one allocation of this context; host
 * memory that is not accessible, not writable for PACCEL_COPY_D2H, or in a read-only or no longer
 * valid host range); ``-ENOMEM`` (out of kernel memory); ``-EIO`` (the DMA request failed, the
 * device was reset meanwhile or is out of service); ``-ETIMEDOUT`` (a DMA request did not complete
 * within the module parameter watchdog_ms); ``-EBADMSG`` (verification failed); ``-EOPNOTSUPP``
 * (PACCEL_COPY_VERIFY: the device does not support it, or not for this host memory).
 */
struct paccel_copy {
	__u32 size;
	__u32 flags;
	__u32 dir;
	__u32 reserved;
	__aligned_u64 dst;
	__aligned_u64 src;
	__aligned_u64 width;
	__aligned_u64 rows;
	__aligned_u64 dst_pitch;
	__aligned_u64 src_pitch;
};

#define PACCEL_IOC_COPY _IO(PACCEL_IOC_TYPE, PACCEL_NR_COPY)

/* Verify the fill; requires PACCEL_CAP_VERIFY. */
#define PACCEL_FILL_VERIFY (1 << 0)

/**
 * struct paccel_fill - ioctl(PACCEL_IOC_FILL)
 * @size: sizeof(struct paccel_fill)
 * @flags: In. 0 or PACCEL_FILL_VERIFY
 * @addr: In. Device address of the first byte, a multiple of copy_align
 * @length: In. Bytes, at least 1, a multiple of @pattern_size and of copy_align
 * @pattern: In. The pattern, in the low @pattern_size bytes (native byte order); the other bytes
 *	must be 0
 * @pattern_size: In. 1, 2, 4 or 8
 * @reserved: In. Must be 0
 *
 * Returns after the fill has ended; sleeps and fails as COPY does. The pattern starts at @addr.
 * Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (@length, @pattern_size, @pattern, a range that wraps; @addr or @length is
 * not a multiple of copy_align of DEVICE_INFO); ``-EFAULT`` (not wholly inside one allocation of
 * this context); ``-ENOMEM``, ``-EIO``, ``-ETIMEDOUT``, ``-EBADMSG``, ``-EOPNOTSUPP`` as for COPY.
 */
struct paccel_fill {
	__u32 size;
	__u32 flags;
	__aligned_u64 addr;
	__aligned_u64 length;
	__aligned_u64 pattern;
	__u32 pattern_size;
	__u32 reserved;
};

#define PACCEL_IOC_FILL _IO(PACCEL_IOC_TYPE, PACCEL_NR_FILL)

/**
 * DOC: Streams
 *
 * A stream is a queue of operations that run one after the other. The streams of a context run
 * independently of each other. SUBMIT queues an array of operations and returns a *point*: a
 * sequence number of the stream, incremented by each SUBMIT. A point has *ended* when all
 * operations up to it have ended, and it is *complete* if they have ended without error. Points
 * start at 1 and never decrease, not even when another stream gets the same number later: a point
 * that has ended stays so.
 *
 * An operation can wait only for earlier work: a point that was not submitted yet is ``-EINVAL``,
 * and the fence of a sync_file is looked up by SUBMIT. Every wait is submitted after the work that
 * it waits for, so waits cannot form a cycle.
 *
 * **Failure.** When an operation fails, the stream has failed: the operations behind it are not run
 * and end with ``-ECANCELED``, since they may need the missing data, and SUBMIT returns
 * ``-ECANCELED`` until STREAM_CLEAR, unless all that it queues is PACCEL_OP_ALWAYS. The first error
 * and its point can be read until then. Waits behind it still end no earlier than what they wait
 * for: so no point ends before the work that it is ordered behind, and memory of that work may be
 * reused after the point. If the device has lost a DMA request, it may have executed requests that
 * were in flight behind it: their operations end with ``-ECANCELED``, too, and the contents of
 * their destinations are undefined. A stream that waits for a point or fence that failed fails with
 * that error. Other streams continue.
 *
 * **Host memory** of operations must lie in a host range (HOST_ALLOC or HOST_REGISTER), since
 * queued operations cannot pin memory. SUBMIT looks up host ranges and allocations; freeing them
 * afterwards does not affect queued operations.
 */

/**
 * DOC: Completion page
 *
 * STREAM_CREATE returns an mmap() offset of one page, to be mapped with PROT_READ and MAP_SHARED:
 * struct paccel_page. It shows without a system call which points have ended. The results of the
 * operations are visible before the driver stores @failed_point and @error, and these before it
 * stores @done with release semantics. A process that loads @done with acquire semantics therefore
 * sees the results of all operations up to that point, and whether they failed. Each field is
 * written with a single store. 32-bit processes, which cannot load 64 bits at once, use WAIT. The
 * page stays mapped and readable after removal of the device, after the end of the context and in a
 * forked child.
 */

/**
 * enum paccel_page_state - state of a context, in struct paccel_page
 * @PACCEL_PAGE_RUNNING: operations can be submitted
 * @PACCEL_PAGE_GONE: the device has been removed; queued operations end with an error
 * @PACCEL_PAGE_LOST: a reset has lost device memory; queued operations end with an error
 * @PACCEL_PAGE_CLOSED: the context has ended; queued operations end with an error
 */
enum paccel_page_state {
	PACCEL_PAGE_RUNNING = 0,
	PACCEL_PAGE_GONE = 1,
	PACCEL_PAGE_LOST = 2,
	PACCEL_PAGE_CLOSED = 3,
};

/**
 * struct paccel_slot - one stream in the completion page
 * @done: the last point that has ended
 * @failed_point: the first point that failed since STREAM_CREATE or STREAM_CLEAR, 0 if none
 * @error: error of @failed_point, a negative errno; 0 if none
 * @reserved: 0
 */
struct paccel_slot {
	__aligned_u64 done;
	__aligned_u64 failed_point;
	__s32 error;
	__u32 reserved[3];
};

#define PACCEL_PAGE_VERSION 1
/* Units of 32 bytes in the page. The header occupies the first, so there are 127 slots. */
#define PACCEL_PAGE_SLOTS 128

/**
 * struct paccel_page - the completion page
 * @version: PACCEL_PAGE_VERSION
 * @state: one of enum paccel_page_state
 * @reserved: 0
 * @slots: slot of stream n is slots[n - 1]
 */
struct paccel_page {
	__u32 version;
	__u32 state;
	__u32 reserved[6];
	struct paccel_slot slots[PACCEL_PAGE_SLOTS - 1];
};

/**
 * struct paccel_stream_create - ioctl(PACCEL_IOC_STREAM_CREATE)
 * @size: sizeof(struct paccel_stream_create)
 * @flags: In. Must be 0
 * @stream: Out. Number of the stream, 1 to max_streams
 * @reserved: In. Must be 0
 * @point: Out. Last point of an earlier stream with this number, else 0; the first SUBMIT returns
 *	the next
 * @page_offset: Out. Offset for mmap() of the completion page, the same for all streams of the
 *	context: one page, MAP_SHARED (else ``-EINVAL``), without PROT_WRITE (else ``-EACCES``)
 *
 * Creates a stream, without operations and without error. It exists until STREAM_DESTROY or the end
 * of the context. Thread-safe.
 *
 * Return: 0; ``-ENOSPC`` (max_streams); ``-ENOMEM``.
 */
struct paccel_stream_create {
	__u32 size;
	__u32 flags;
	__u32 stream;
	__u32 reserved;
	__aligned_u64 point;
	__aligned_u64 page_offset;
};

#define PACCEL_IOC_STREAM_CREATE _IO(PACCEL_IOC_TYPE, PACCEL_NR_STREAM_CREATE)

/**
 * struct paccel_stream_destroy - ioctl(PACCEL_IOC_STREAM_DESTROY)
 * @size: sizeof(struct paccel_stream_destroy)
 * @flags: In. Must be 0
 * @stream: In. Number of the stream
 * @reserved: In. Must be 0
 *
 * Destroys a stream: commands no longer find its number. Returns at once. Queued operations still
 * run, and the slot in the completion page is updated. The number is not used for another stream
 * until all of them have ended. A WAIT in progress continues. Thread-safe.
 *
 * Return: 0; ``-ENOENT`` (no such stream).
 */
struct paccel_stream_destroy {
	__u32 size;
	__u32 flags;
	__u32 stream;
	__u32 reserved;
};

#define PACCEL_IOC_STREAM_DESTROY _IO(PACCEL_IOC_TYPE, PACCEL_NR_STREAM_DESTROY)

/**
 * struct paccel_stream_clear - ioctl(PACCEL_IOC_STREAM_CLEAR)
 * @size: sizeof(struct paccel_stream_clear)
 * @flags: In. Must be 0
 * @stream: In. Number of the stream
 * @error: Out. The error that was cleared, 0 if there was none
 * @failed_point: Out. The first point that failed, 0 if there was none
 *
 * Clears the error of a failed stream, which can then be used again. Cancelled operations are not
 * run. All points that have ended are reported as complete from now on, failed and cancelled ones
 * included. Thread-safe.
 *
 * Return: 0; ``-ENOENT`` (no such stream); ``-EBUSY`` (the stream has failed, and operations are
 * still queued in it, or an operation of another stream still waits for a point of it: WAIT for the
 * last point of both streams first).
 */
struct paccel_stream_clear {
	__u32 size;
	__u32 flags;
	__u32 stream;
	__s32 error;
	__aligned_u64 failed_point;
};

#define PACCEL_IOC_STREAM_CLEAR _IO(PACCEL_IOC_TYPE, PACCEL_NR_STREAM_CLEAR)

/**
 * enum paccel_op_code - what an operation of SUBMIT does
 * @PACCEL_OP_COPY: copies as PACCEL_IOC_COPY does; host memory must lie in a host range
 * @PACCEL_OP_FILL: fills as PACCEL_IOC_FILL does
 * @PACCEL_OP_WAIT_POINT: waits for a point of a stream of this context
 * @PACCEL_OP_WAIT_FENCE: waits for the fence of a sync_file
 * @PACCEL_OP_EVENTFD: adds 1 to an eventfd. If it is the last operation of its SUBMIT, the point
 *	has ended when the eventfd is signalled. WAIT and the completion page may report the point
 *	earlier, and WRITE, TIME and waits behind it may run earlier; copies and fills do not
 * @PACCEL_OP_WRITE: writes 8 bytes to HOST_ALLOC memory
 * @PACCEL_OP_TIME: writes to HOST_ALLOC memory when all operations before it in the stream have
 *	ended: CLOCK_MONOTONIC of the initial time namespace, in nanoseconds
 */
enum paccel_op_code {
	PACCEL_OP_COPY = 1,
	PACCEL_OP_FILL = 2,
	PACCEL_OP_WAIT_POINT = 3,
	PACCEL_OP_WAIT_FENCE = 4,
	PACCEL_OP_EVENTFD = 5,
	PACCEL_OP_WRITE = 6,
	PACCEL_OP_TIME = 7,
};

/*
 * For PACCEL_OP_EVENTFD only: signal the eventfd also if an earlier operation has failed. A SUBMIT
 * of nothing else is accepted by a stream that has failed.
 */
#define PACCEL_OP_ALWAYS (1 << 0)
/* For PACCEL_OP_COPY and PACCEL_OP_FILL only: verify; requires PACCEL_CAP_VERIFY. */
#define PACCEL_OP_VERIFY (1 << 1)

/**
 * struct paccel_op_copy - PACCEL_OP_COPY
 * @dir: One of enum paccel_copy_dir
 * @reserved: Must be 0
 * @dst: As in struct paccel_copy
 * @src: As in struct paccel_copy
 * @width: As in struct paccel_copy
 * @rows: As in struct paccel_copy
 * @dst_pitch: As in struct paccel_copy
 * @src_pitch: As in struct paccel_copy
 */
struct paccel_op_copy {
	__u32 dir;
	__u32 reserved;
	__aligned_u64 dst;
	__aligned_u64 src;
	__aligned_u64 width;
	__aligned_u64 rows;
	__aligned_u64 dst_pitch;
	__aligned_u64 src_pitch;
};

/**
 * struct paccel_op_fill - PACCEL_OP_FILL
 * @addr: As in struct paccel_fill
 * @length: As in struct paccel_fill
 * @pattern: As in struct paccel_fill
 * @pattern_size: As in struct paccel_fill
 * @reserved: Must be 0
 */
struct paccel_op_fill {
	__aligned_u64 addr;
	__aligned_u64 length;
	__aligned_u64 pattern;
	__u32 pattern_size;
	__u32 reserved;
};

/**
 * struct paccel_op_point - PACCEL_OP_WAIT_POINT
 * @stream: Number of a stream of this context
 * @reserved: Must be 0
 * @point: A point of that stream that was submitted, or 0, which is always complete
 */
struct paccel_op_point {
	__u32 stream;
	__u32 reserved;
	__aligned_u64 point;
};

/**
 * struct paccel_op_fd - PACCEL_OP_WAIT_FENCE and PACCEL_OP_EVENTFD
 * @fd: The sync_file or the eventfd; it may be closed after SUBMIT
 * @reserved: Must be 0
 */
struct paccel_op_fd {
	__s32 fd;
	__u32 reserved;
};

/**
 * struct paccel_op_write - PACCEL_OP_WRITE and PACCEL_OP_TIME
 * @addr: Destination: an address inside mapped HOST_ALLOC memory, a multiple of 8
 * @value: What PACCEL_OP_WRITE writes, native byte order; 0 for PACCEL_OP_TIME
 */
struct paccel_op_write {
	__aligned_u64 addr;
	__aligned_u64 value;
};

/**
 * struct paccel_op - one operation of SUBMIT
 * @op: One of enum paccel_op_code
 * @flags: 0, PACCEL_OP_ALWAYS for PACCEL_OP_EVENTFD, or PACCEL_OP_VERIFY for PACCEL_OP_COPY and
 *	PACCEL_OP_FILL
 * @copy: For PACCEL_OP_COPY
 * @fill: For PACCEL_OP_FILL
 * @wait: For PACCEL_OP_WAIT_POINT
 * @fd: For PACCEL_OP_WAIT_FENCE and PACCEL_OP_EVENTFD
 * @write: For PACCEL_OP_WRITE and PACCEL_OP_TIME
 *
 * Bytes behind the member that @op uses must be 0.
 */
struct paccel_op {
	__u32 op;
	__u32 flags;
	union {
		struct paccel_op_copy copy;
		struct paccel_op_fill fill;
		struct paccel_op_point wait;
		struct paccel_op_fd fd;
		struct paccel_op_write write;
	};
};

/**
 * struct paccel_submit - ioctl(PACCEL_IOC_SUBMIT)
 * @size: sizeof(struct paccel_submit)
 * @flags: In. Must be 0
 * @stream: In. Number of the stream
 * @nr_ops: In. Number of operations, 1 to max_ops
 * @ops: In. Address of an array of struct paccel_op
 * @op_size: In. sizeof(struct paccel_op); allows that struct to be extended, as @size does for this
 *	one
 * @bad_op: Out. Also if the call fails: index of the operation that is the cause, else @nr_ops
 * @point: Out. The point of these operations; undefined if the call fails
 *
 * Queues the operations behind those of the stream, and returns. Before any is queued, all are
 * checked, their memory is looked up, and all resources are allocated: a call that fails has queued
 * nothing. Sleeps, interruptible, while the stream would have more than max_queued operations or
 * the context more than max_queued_all. The operations of one call are not interleaved with those
 * of other threads. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (@nr_ops is 0, @op_size; an operation: unknown code, flag or non-zero
 * rest, values as in COPY and FILL, a point that was not submitted, an fd that is no sync_file or
 * eventfd); ``-E2BIG`` (more than max_ops; a larger struct paccel_op whose unknown part is not 0);
 * ``-ENOENT`` (no such stream; WAIT_POINT: no such stream to wait for); ``-EFAULT`` (@ops cannot be
 * read; an operation: as in COPY and FILL, or host memory outside host ranges; WRITE and TIME: not
 * in HOST_ALLOC memory); ``-EOPNOTSUPP`` (PACCEL_OP_VERIFY, as in COPY); ``-ECANCELED`` (the stream
 * has failed, and an operation is without PACCEL_OP_ALWAYS); ``-ENOMEM``; ``-EIO`` (the device is
 * out of service; or as in HOST_REGISTER); ``-EINTR`` (a signal, while the operations did not fit).
 */
struct paccel_submit {
	__u32 size;
	__u32 flags;
	__u32 stream;
	__u32 nr_ops;
	__aligned_u64 ops;
	__u32 op_size;
	__u32 bad_op;
	__aligned_u64 point;
};

#define PACCEL_IOC_SUBMIT _IO(PACCEL_IOC_TYPE, PACCEL_NR_SUBMIT)

/**
 * struct paccel_point - one point of WAIT
 * @stream: In. Number of a stream of this context
 * @error: Out. 0: complete; ``-EINPROGRESS``: not ended; ``-ECANCELED``: an earlier point of the
 *	stream has failed; else the error of this point
 * @point: In. A point that was submitted, or 0, which is always complete
 */
struct paccel_point {
	__u32 stream;
	__s32 error;
	__aligned_u64 point;
};

/* Wait until one of the points has ended; without this flag, until all have. */
#define PACCEL_WAIT_ANY (1 << 0)

/**
 * struct paccel_wait - ioctl(PACCEL_IOC_WAIT)
 * @size: sizeof(struct paccel_wait)
 * @flags: In. 0 or PACCEL_WAIT_ANY
 * @deadline_ns: In. Absolute time of CLOCK_MONOTONIC of the initial time namespace (clock_ns of
 *	DEVICE_INFO), in nanoseconds. A time in the past: returns at once; 2^63 - 1 and above: no
 *	deadline
 * @points: In. Address of an array of struct paccel_point, whose @error fields are written
 * @nr_points: In. Number of points, 0 to max_points; 0: returns at once and only clears EPOLLIN
 * @point_size: In. sizeof(struct paccel_point), also if @nr_points is 0
 * @ended: Out. Number of the points that have ended
 * @reserved: In. Must be 0
 *
 * Waits until points have ended. The return value is that of the wait; the results of the points
 * are in their @error fields, which are written if the call returns 0 or ``-ETIME``. From then on
 * poll() reports EPOLLIN only for points that ended after this call had read them. Removal of the
 * device and loss of the context end the wait with ``-ENODEV`` and ``-ESTALE``. Interruptible;
 * restarted after a signal handler with SA_RESTART. Thread-safe.
 *
 * Return: 0; ``-ETIME`` (the deadline has passed before all points, with PACCEL_WAIT_ANY one, had
 * ended); ``-EINVAL`` (a point that was not submitted, @point_size); ``-E2BIG`` (more than
 * max_points; a larger struct paccel_point whose unknown part is not 0); ``-ENOENT`` (no such
 * stream); ``-EFAULT`` (@points cannot be accessed); ``-EINTR`` (a signal).
 */
struct paccel_wait {
	__u32 size;
	__u32 flags;
	__aligned_u64 deadline_ns;
	__aligned_u64 points;
	__u32 nr_points;
	__u32 point_size;
	__u32 ended;
	__u32 reserved;
};

#define PACCEL_IOC_WAIT _IO(PACCEL_IOC_TYPE, PACCEL_NR_WAIT)

/**
 * struct paccel_fence_export - ioctl(PACCEL_IOC_FENCE_EXPORT)
 * @size: sizeof(struct paccel_fence_export)
 * @flags: In. Must be 0
 * @stream: In. Number of the stream
 * @fd: Out. A sync_file, close-on-exec
 * @point: In. A point of the stream that was submitted, not 0
 *
 * Creates a sync_file whose fence is signalled when the point has ended, with the error of the
 * point if it failed. The fence is signalled in bounded time, provided that the fences of
 * WAIT_FENCE operations before it are: the watchdog bounds DMA requests, and the end of the context
 * and removal of the device cancel all operations. The sync_file keeps the module loaded, but not
 * the device bound. Thread-safe.
 *
 * Return: 0; ``-ENOENT`` (no such stream); ``-EINVAL`` (@point was not submitted, or is 0);
 * ``-ENOMEM``; ``-EMFILE`` (no file descriptor is left).
 */
struct paccel_fence_export {
	__u32 size;
	__u32 flags;
	__u32 stream;
	__s32 fd;
	__aligned_u64 point;
};

#define PACCEL_IOC_FENCE_EXPORT _IO(PACCEL_IOC_TYPE, PACCEL_NR_FENCE_EXPORT)

/**
 * struct paccel_reset - ioctl(PACCEL_IOC_RESET)
 * @size: sizeof(struct paccel_reset)
 * @flags: In. Must be 0
 *
 * Quiesces and resets the device, also if it is out of service. Operations with DMA requests in
 * flight fail with ``-EIO``; queued operations run afterwards. Quarantined memory is scrubbed
 * again. Without PACCEL_CAP_MEM_SURVIVES_RESET, all open contexts are lost (``-ESTALE``).
 * Thread-safe.
 *
 * Return: 0; ``-EPERM`` (no CAP_SYS_ADMIN); ``-EIO`` (the device could not be reset: it is out of
 * service).
 */
struct paccel_reset {
	__u32 size;
	__u32 flags;
};

#define PACCEL_IOC_RESET _IO(PACCEL_IOC_TYPE, PACCEL_NR_RESET)

#endif /* _UAPI_LINUX_PACCEL_H */
