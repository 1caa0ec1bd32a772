/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * paccel: the contract between the kernel driver and user space.
 *
 * Every command is an ioctl on /dev/paccelN that takes one extensible struct. Its first field,
 * size, is sizeof(the struct) as the caller was compiled: a smaller (older) struct is as if the
 * missing fields were 0, a larger (newer) one is accepted if all that this kernel does not know
 * is 0.
 */
#ifndef _UAPI_LINUX_PACCEL_H
#define _UAPI_LINUX_PACCEL_H

#include <linux/ioctl.h>
#include <linux/types.h>

/**
 * DOC: Errors
 *
 * Every command can fail with these; what else it can answer stands at its struct. A command that
 * fails has changed nothing and written nothing into its struct, unless its text says otherwise.
 *
 * =============== ================================================================
 * ``-ENODEV``     the card is gone; it stays so for this file
 * ``-ENOTTY``     no such command
 * ``-EACCES``     the file was opened read-only (all but DEVICE_INFO, MEM_STATS)
 * ``-EPERM``      another process (address space) than the one that opened the
 *                 file (all but DEVICE_INFO, MEM_STATS)
 * ``-ESTALE``     a reset of the card has lost the memory of this context (all
 *                 but DEVICE_INFO, MEM_STATS): open the node again
 * ``-EFAULT``     the struct itself, or memory that it names, cannot be accessed
 * ``-EINVAL``     size below the first version's, an unknown flag, a reserved
 *                 field that is not 0, a value outside its documented range
 * ``-E2BIG``      a larger struct whose unknown part is not 0, or one of more
 *                 than 4096 bytes
 * ``-EOPNOTSUPP`` a known flag that this card cannot serve
 * ``-ENOMEM``     out of memory (which memory: see the command)
 * ``-EINTR``      a fatal signal arrived; the process never sees it
 * =============== ================================================================
 */

/**
 * DOC: Other calls
 *
 * open() of the node makes a context. mmap() takes offsets that HOST_ALLOC returned and answers
 * with the general errors above, or those that stand at HOST_ALLOC; offset 0 maps nothing. poll()
 * reports EPOLLHUP once the card is gone and EPOLLERR once the context is lost. close() ends the
 * context, and so does the end of the process that opened it: what runs ends by itself.
 */

/**
 * DOC: Addresses
 *
 * Device memory is named by 64-bit device addresses, from mem_base on (never 0). MEM_ALLOC
 * returns the start of an allocation; every command takes interior addresses too, at byte
 * granularity. An address is a name and not a right: a range that is not wholly inside one live
 * allocation of the calling context is ``-EFAULT``. Host memory is named by the caller's own
 * addresses. A context is one open file and serves the process that opened it.
 */

#define PACCEL_IOC_TYPE 0xBD

/* Numbers of commands. Gaps belong to commands that are planned. */
enum {
	PACCEL_NR_DEVICE_INFO = 0x00,
	PACCEL_NR_MEM_ALLOC = 0x01,
	PACCEL_NR_MEM_FREE = 0x02,
	PACCEL_NR_MEM_STATS = 0x03,
	PACCEL_NR_HOST_ALLOC = 0x06,
	PACCEL_NR_HOST_REGISTER = 0x07,
	PACCEL_NR_HOST_FREE = 0x08,
	PACCEL_NR_COPY = 0x09,
	PACCEL_NR_FILL = 0x0a,
	PACCEL_NR_RESET = 0x11,
};

/**
 * enum paccel_cap - what a card can do (bits of paccel_device_info.caps)
 * @PACCEL_CAP_MAPPABLE: device memory can be mapped by programs
 * @PACCEL_CAP_NATIVE_D2D: the card copies inside its memory by itself; without it such a copy is
 *	two transfers
 * @PACCEL_CAP_NATIVE_FILL: the card fills by itself; without it a fill is a transfer from the host
 * @PACCEL_CAP_MEM_SURVIVES_RESET: contents and contexts survive PACCEL_IOC_RESET
 * @PACCEL_CAP_DIRECT_DMA: host memory is given to the card where it lies, as far as the card can
 *	reach it; without it every transfer goes through the driver's bounce buffer
 */
enum paccel_cap {
	PACCEL_CAP_MAPPABLE = 1 << 0,
	PACCEL_CAP_NATIVE_D2D = 1 << 1,
	PACCEL_CAP_NATIVE_FILL = 1 << 2,
	PACCEL_CAP_MEM_SURVIVES_RESET = 1 << 3,
	PACCEL_CAP_DIRECT_DMA = 1 << 4,
};

/**
 * struct paccel_device_info - ioctl(PACCEL_IOC_DEVICE_INFO)
 * @size: sizeof(struct paccel_device_info)
 * @flags: In. Must be 0
 * @mem_base: Out. Lowest device address, 4 GiB
 * @mem_size: Out. Bytes of device memory, a multiple of @granule
 * @granule: Out. Unit of allocation in bytes, a power of two: 64 where memory is reached by DMA
 *	only, the page size where programs can map it
 * @max_xfer: Out. Largest single DMA transfer in bytes; longer operations are cut
 * @max_align: Out. Largest alignment that MEM_ALLOC honours, in bytes
 * @max_host_bytes: Out. Largest length of one host range, in bytes
 * @clock_ns: Out. CLOCK_MONOTONIC of the initial time namespace, in nanoseconds, at the time of
 *	the call
 * @caps: Out. Bits of enum paccel_cap
 * @max_host_ranges: Out. Host ranges that one context can have
 * @engines: Out. DMA channels of the card
 * @dma_bits: Out. Width of the bus addresses that the card can reach
 * @reserved: Out. 0
 * @card: Out. Name of the kind of card, NUL-terminated
 * @bus_addr: Out. PCI address (``0000:01:00.0``), NUL-terminated
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
	char card[32];
	char bus_addr[32];
};

#define PACCEL_IOC_DEVICE_INFO _IO(PACCEL_IOC_TYPE, PACCEL_NR_DEVICE_INFO)

/* The allocation will be mapped by the program: only with PACCEL_CAP_MAPPABLE. */
#define PACCEL_MEM_MAPPABLE (1 << 0)

/**
 * struct paccel_mem_alloc - ioctl(PACCEL_IOC_MEM_ALLOC)
 * @size: sizeof(struct paccel_mem_alloc)
 * @flags: In. 0 or PACCEL_MEM_MAPPABLE
 * @length: In. Bytes wanted, at least 1; exactly these can be accessed and must be given to
 *	MEM_FREE. They occupy
 *	@length rounded up to the granule
 * @align: In. Alignment of the address in bytes, a power of two up to max_align; 0 stands for the
 *	granule
 * @addr: Out. Device address of the first byte
 *
 * Contiguous device memory, all bytes 0 (unless the module was loaded with scrub=0). It belongs
 * to the context until MEM_FREE, close, or the end of the process. Sleeps, killable, while memory
 * that was freed is still being scrubbed and would serve the request. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (@length 0, @align not a power of two or above max_align);
 * ``-EOPNOTSUPP`` (PACCEL_MEM_MAPPABLE without PACCEL_CAP_MAPPABLE); ``-EDQUOT`` (more than
 * max_user_bytes leaves to this user); ``-ENOMEM`` (no such range is free, not even after
 * scrubbing; or out of kernel memory); ``-EIO`` (the card is out of service).
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
 * @addr: In. Address that MEM_ALLOC returned
 * @length: In. Length that was given to MEM_ALLOC
 *
 * The range cannot be used any more; operations that still run on it end first. It is scrubbed
 * before anybody can have it again. Never waits for the card. Thread-safe.
 *
 * Return: 0; ``-ENOENT`` (no allocation of this context starts at @addr); ``-EINVAL`` (another
 * @length than was allocated: the allocation stays).
 */
struct paccel_mem_free {
	__u32 size;
	__u32 flags;
	__aligned_u64 addr;
	__aligned_u64 length;
};

#define PACCEL_IOC_MEM_FREE _IO(PACCEL_IOC_TYPE, PACCEL_NR_MEM_FREE)

/**
 * struct paccel_mem_stats - ioctl(PACCEL_IOC_MEM_STATS)
 * @size: sizeof(struct paccel_mem_stats)
 * @flags: In. Must be 0
 * @total: Out. Bytes of device memory; @used + @free + @waiting + @set_aside
 * @used: Out. Bytes in allocations of all contexts, in whole granules
 * @free: Out. Bytes that can be allocated at once
 * @waiting: Out. Bytes that were freed and wait for scrubbing
 * @set_aside: Out. Bytes whose scrubbing failed: out of use until a RESET has scrubbed them
 * @mine: Out. Bytes in allocations of this context, in whole granules
 * @mine_allocs: Out. Live allocations of this context
 * @user: Out. Bytes charged to the user of this context, over all its contexts on this card
 * @user_max: Out. Quota of each user in bytes (sysfs max_user_bytes), 0 for none
 * @largest_free: Out. Longest contiguous range of @free, in bytes
 * @allocs: Out. Successful MEM_ALLOC since the driver was bound, by all contexts
 * @alloc_failures: Out. MEM_ALLOC that ended in ``-ENOMEM`` or ``-EDQUOT``, likewise
 * @bytes_h2d: Out. Bytes copied from the host to the card, likewise
 * @bytes_d2h: Out. Bytes copied from the card to the host, likewise
 * @bytes_d2d: Out. Bytes copied inside the card, likewise
 * @bytes_filled: Out. Bytes filled by FILL, likewise
 * @bytes_scrubbed: Out. Bytes scrubbed, likewise
 * @xfers: Out. DMA transfers that the card was asked for, likewise
 *
 * One consistent snapshot for @total to @largest_free. Any process that holds the file may call
 * it, also on a file opened read-only. Thread-safe.
 *
 * Return: 0, or a general error.
 */
struct paccel_mem_stats {
	__u32 size;
	__u32 flags;
	__aligned_u64 total;
	__aligned_u64 used;
	__aligned_u64 free;
	__aligned_u64 waiting;
	__aligned_u64 set_aside;
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
 * Page-locked memory of the driver, all bytes 0, charged to RLIMIT_MEMLOCK and the memory cgroup.
 * Map it once, MAP_SHARED, with the whole rounded length: any other length or a private mapping
 * is ``-EINVAL``, a second mapping is ``-EBUSY``, an unknown offset ``-EINVAL``, an address
 * inside a range that is already registered ``-EEXIST``. The mapping cannot be split, moved or
 * grown (munmap() of a part is ``-EINVAL``, mremap() fails); fork() shares it with the child. After
 * munmap() the range answers ``-EFAULT`` until it is freed. The pages live until HOST_FREE (or
 * close) and munmap(). Thread-safe.
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

/* The card will only read the range: it may be memory that the program cannot write. */
#define PACCEL_HOST_READ_ONLY (1 << 0)

/**
 * struct paccel_host_register - ioctl(PACCEL_IOC_HOST_REGISTER)
 * @size: sizeof(struct paccel_host_register)
 * @flags: In. 0 or PACCEL_HOST_READ_ONLY
 * @addr: In. First byte, any alignment
 * @length: In. Bytes, 1 to max_host_bytes
 *
 * Pins the caller's own memory until HOST_FREE, so that copies need not pin it each time. Charged
 * to RLIMIT_MEMLOCK in whole pages. Ranges of one context never overlap. When the memory is
 * unmapped, moved or replaced under the registration, copies that use it answer ``-EFAULT`` until
 * it is freed. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (@length, or the range wraps); ``-EEXIST`` (overlaps a range of this
 * context); ``-EFAULT`` (not mapped, not writable without PACCEL_HOST_READ_ONLY, or memory that
 * cannot be pinned: mapped device memory); ``-ENOMEM`` (RLIMIT_MEMLOCK, or out of memory);
 * ``-ENOSPC`` (max_host_ranges).
 */
struct paccel_host_register {
	__u32 size;
	__u32 flags;
	__aligned_u64 addr;
	__aligned_u64 length;
};

#define PACCEL_IOC_HOST_REGISTER _IO(PACCEL_IOC_TYPE, PACCEL_NR_HOST_REGISTER)

/**
 * struct paccel_host_free - ioctl(PACCEL_IOC_HOST_FREE)
 * @size: sizeof(struct paccel_host_free)
 * @flags: In. Must be 0
 * @addr: In. First byte of the range (as registered, or as mapped), or 0
 * @offset: In. Offset that HOST_ALLOC returned, mapped or not, or 0; exactly one of @addr and
 *	@offset is given
 *
 * Ends a registration or gives back the driver's memory; what a program still has mapped stays
 * until munmap(). Copies that still use the range end first. Never waits for the card.
 * Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (both or none given); ``-ENOENT`` (no range of this context starts there).
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
 * @PACCEL_COPY_D2D: inside the device memory of one card
 */
enum paccel_copy_dir {
	PACCEL_COPY_H2D = 1,
	PACCEL_COPY_D2H = 2,
	PACCEL_COPY_D2D = 3,
};

/**
 * struct paccel_copy - ioctl(PACCEL_IOC_COPY)
 * @size: sizeof(struct paccel_copy)
 * @flags: In. Must be 0
 * @dir: In. One of enum paccel_copy_dir
 * @reserved: In. Must be 0
 * @dst: In. First byte written: a device address, or the caller's address for PACCEL_COPY_D2H
 * @src: In. First byte read: a device address, or the caller's address for PACCEL_COPY_H2D
 * @width: In. Bytes of each row, at least 1
 * @rows: In. Number of rows, at least 1
 * @dst_pitch: In. Bytes from one row of the destination to the next, at least @width; with one
 *	row also 0
 * @src_pitch: In. Likewise for the source
 *
 * Complete on return: the source may be reused and the destination holds the data for every later
 * operation. Any length and alignment. Host memory wholly inside one host range uses it, any
 * other is pinned for the time of the copy, slice by slice. Sleeps, killable: other signals do
 * not end it; after a fatal one the transfer that runs ends by itself and the rest is not done.
 * If it fails the destination holds an undefined mixture of old and new bytes. Ordered against
 * nothing else in flight. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (@dir, @width, @rows, a pitch, a range that wraps; device ranges that
 * overlap: with equal pitches rows are compared, otherwise whole ranges); ``-EFAULT`` (a device
 * range not wholly inside one allocation of this context; host memory not accessible, not
 * writable for PACCEL_COPY_D2H, or a dead or read-only host range); ``-ENOMEM`` (out of kernel
 * memory); ``-EIO`` (the transfer failed, the card was reset under it or is out of service);
 * ``-ETIMEDOUT`` (the card did not finish the transfer in watchdog_ms).
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

/**
 * struct paccel_fill - ioctl(PACCEL_IOC_FILL)
 * @size: sizeof(struct paccel_fill)
 * @flags: In. Must be 0
 * @addr: In. Device address of the first byte, any alignment
 * @length: In. Bytes, at least 1, a multiple of @pattern_size
 * @pattern: In. The pattern, in its low @pattern_size bytes (native byte order); the others must
 *	be 0
 * @pattern_size: In. 1, 2, 4 or 8
 * @reserved: In. Must be 0
 *
 * Complete on return; waits and fails as COPY does. The pattern starts at @addr. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (@length, @pattern_size, @pattern, a range that wraps); ``-EFAULT`` (not
 * wholly inside one allocation of this context); ``-ENOMEM``, ``-EIO``, ``-ETIMEDOUT`` as for
 * COPY.
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
 * struct paccel_reset - ioctl(PACCEL_IOC_RESET)
 * @size: sizeof(struct paccel_reset)
 * @flags: In. Must be 0
 *
 * Stops the card, restarts it and puts it back into service. The operation that runs fails with
 * ``-EIO``, what waits goes on afterwards. Memory that was set aside is scrubbed again. Without
 * PACCEL_CAP_MEM_SURVIVES_RESET every context that is open is lost (``-ESTALE``). Thread-safe.
 *
 * Return: 0; ``-EPERM`` (no CAP_SYS_ADMIN); ``-EIO`` (the card does not come back: it is out of
 * service).
 */
struct paccel_reset {
	__u32 size;
	__u32 flags;
};

#define PACCEL_IOC_RESET _IO(PACCEL_IOC_TYPE, PACCEL_NR_RESET)

#endif /* _UAPI_LINUX_PACCEL_H */
