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
 * ``-EINTR``      a signal arrived: any in WAIT and in a SUBMIT that waits for room,
 *                 elsewhere a fatal one, and the process never sees it
 * =============== ================================================================
 */

/**
 * DOC: Other calls
 *
 * open() of the node makes a context. mmap() takes offsets that HOST_ALLOC and STREAM_CREATE
 * returned, or those of device memory, and answers with the general errors above, or those that
 * stand there; offset 0 maps nothing. poll() reports EPOLLIN while points have been completed since
 * the last WAIT of this file, EPOLLHUP once the card is gone and EPOLLERR once the context is lost.
 * The context ends when the last descriptor is closed and its mappings are gone (each holds the
 * file open), and with the process that opened it: what waits is cancelled, what runs ends by
 * itself.
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

/**
 * DOC: Mapped device memory
 *
 * With PACCEL_CAP_MAPPABLE device memory can be mapped: mmap() at offset PACCEL_MMAP_DEVICE plus a
 * device address, MAP_SHARED, any whole pages of the card's memory. The range need not be allocated
 * when it is mapped, so a program can map all of it once: it is when a page is touched that the
 * driver asks whose it is, and where the context has no allocation it is SIGBUS. That begins with
 * the MEM_FREE of an allocation (the last one, if it was imported as well), with unplug and with
 * the loss of the context, for every thread at once: nobody ever sees what the next owner writes.
 * Bytes between the end of an allocation and the end of its granule can be accessed as well.
 *
 * mmap() answers with the general errors, ``-EOPNOTSUPP`` (no PACCEL_CAP_MAPPABLE), ``-EINVAL`` (a
 * private mapping; not wholly inside the card's memory) or ``-EACCES`` (PROT_EXEC). The mapping
 * cannot be split, moved or grown (munmap() or mprotect() of a part is ``-EINVAL``, mremap()
 * fails), fork() does not give it to the child, and it is not in core dumps. Programs of 32 bits
 * have no offsets of this size.
 *
 * The processor combines writes, and delays them. What a thread has written is there for the work
 * that it asks for afterwards by COPY, FILL and SUBMIT, and what such work has written is there for
 * whoever has seen that it is complete. Reading is slow: copy what is to be read much.
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
	PACCEL_NR_PRIVATE = 0x80, /* and above: commands of one kind of card */
};

/**
 * enum paccel_cap - what a card can do (bits of paccel_device_info.caps)
 * @PACCEL_CAP_MAPPABLE: device memory can be mapped by programs
 * @PACCEL_CAP_NATIVE_D2D: the card copies inside its memory by itself; without it such a copy is
 *	two transfers
 * @PACCEL_CAP_NATIVE_FILL: the card fills by itself; without it a fill is a transfer from the host
 * @PACCEL_CAP_MEM_SURVIVES_RESET: contents and contexts survive PACCEL_IOC_RESET
 * @PACCEL_CAP_DIRECT_DMA: host memory is given to the card where it lies; without it every transfer
 *	goes through the driver's bounce buffer, since the card does not reach all memory, or the
 *	kernel would copy what is mapped (swiotlb=force, SEV, TDX)
 * @PACCEL_CAP_VERIFY: the card computes checksums: PACCEL_COPY_VERIFY, PACCEL_FILL_VERIFY and
 *	PACCEL_OP_VERIFY
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
 * @max_streams: Out. Streams that one context can have, with those that still drain
 * @max_ops: Out. Operations of one SUBMIT
 * @max_queued: Out. Operations that can wait in one stream; SUBMIT sleeps while there is no room
 * @max_points: Out. Points of one WAIT
 * @max_queued_all: Out. Operations that can wait in all streams of one context together
 * @copy_align: Out. Bytes, a power of two, 1 for most cards: device addresses, device pitches,
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
	char card[32];
	char bus_addr[32];
	__u32 max_streams;
	__u32 max_ops;
	__u32 max_queued;
	__u32 max_points;
	__u32 max_queued_all;
	__u32 copy_align;
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
 * enum paccel_export_kind - what MEM_EXPORT exports
 * @PACCEL_EXPORT_DEVICE: an allocation of device memory
 * @PACCEL_EXPORT_HOST: memory of HOST_ALLOC
 */
enum paccel_export_kind {
	PACCEL_EXPORT_DEVICE = 1,
	PACCEL_EXPORT_HOST = 2,
};

/**
 * struct paccel_mem_export - ioctl(PACCEL_IOC_MEM_EXPORT)
 * @size: sizeof(struct paccel_mem_export)
 * @flags: In. Must be 0
 * @addr: In. First byte: what MEM_ALLOC returned, or where HOST_ALLOC's memory is mapped
 * @kind: In. One of enum paccel_export_kind
 * @fd: Out. A dma-buf, close-on-exec, readable and writable
 *
 * A dma-buf of the whole allocation, in whole granules or pages. It holds the memory: what the
 * context frees, and the context's own end, leave it to those who still have it, and the exporter
 * goes on paying: its user's quota, and for HOST_ALLOC memory RLIMIT_MEMLOCK.
 *
 * Device memory can be imported with MEM_IMPORT on the same card. It has no pages; what else can be
 * done with it needs PACCEL_CAP_MAPPABLE, and is ``-EOPNOTSUPP`` without (programs see that as the
 * answer of the importing call): mmap(), which gives what mmap() of the device memory gives, but to
 * whoever has the dma-buf, and for as long; and attachments by peer2peer importers, such as this
 * driver for another card (HOST_REGISTER), that the bus lets reach it. When the card goes, or has
 * lost its memory, both end: SIGBUS, and importers have let go before the card has gone.
 * HOST_ALLOC memory can
 * be attached by every driver whose device reaches it without copies of the DMA API (else
 * ``-EOPNOTSUPP``), mapped and read by the CPU. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (@kind); ``-ENOENT`` (no such allocation starts at @addr);
 * ``-ENOMEM`` (out of memory); ``-EMFILE`` (no file descriptor is left).
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
 * @fd: In. A dma-buf of device memory of the same card; it may be closed afterwards
 * @reserved: In. Must be 0
 * @addr: Out. Device address: the same in every context that has the allocation
 * @length: Out. Bytes, as they were given to MEM_ALLOC: these can be accessed, and are given to
 *	MEM_FREE
 *
 * Adds the allocation to this context. What the context already has, by MEM_ALLOC or an earlier
 * import, is counted: as many MEM_FREE end it. The memory is scrubbed when the last context,
 * dma-buf and job have let go of it. Costs this context's user no quota. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (@fd is no dma-buf); ``-EXDEV`` (not of this driver, not device memory,
 * or of another card: register it as host memory instead); ``-ESTALE`` (a reset has lost its
 * contents); ``-ENOMEM``.
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
 * Page-locked memory of the driver, all bytes 0, charged to the memory cgroup and twice to
 * RLIMIT_MEMLOCK: to the process, with all its ranges, and to its user, with such memory of all
 * processes, since it can outlive the process in mappings and dma-bufs.
 *
 * Map it once, MAP_SHARED, with the whole rounded length: any other length or a private mapping
 * is ``-EINVAL``, a second mapping is ``-EBUSY``, an unknown offset ``-EINVAL``, an address
 * inside a range that is already registered ``-EEXIST``. The mapping cannot be split, moved or
 * grown (munmap() of a part is ``-EINVAL``, mremap() fails); fork() shares it with the child. After
 * munmap() the range answers ``-EFAULT`` until it is freed. The pages live until HOST_FREE (or
 * close) and munmap() in all processes. Thread-safe.
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
/* The memory is that of the dma-buf fd; addr and length only name it. */
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
 * Pins the caller's own memory until HOST_FREE, so that copies need not pin it each time. Charged
 * to RLIMIT_MEMLOCK in whole pages. Ranges of one context never overlap. When the memory is
 * unmapped, moved or replaced under the registration, copies that use it answer ``-EFAULT`` until
 * it is freed. Thread-safe.
 *
 * With PACCEL_HOST_DMABUF the first @length bytes of the dma-buf stand under these addresses: an
 * address range that the program keeps free for them (a PROT_NONE mapping, say), or where it has
 * mapped the dma-buf itself. Nothing there is read, pinned or watched. RLIMIT_MEMLOCK is charged
 * for the whole of a dma-buf of another driver, which that driver then keeps where it is, and for
 * what is registered of HOST_ALLOC memory of another card. Device memory of another card costs
 * nothing; it can be registered if the module parameter p2p lets the cards reach each other. Memory
 * that its driver takes away (its card goes) is dead: copies that use it answer ``-EFAULT``, and
 * those that run fail so. Accesses are ordered by the program (with fences): the implicit fences of
 * the dma-buf are not looked at. Where the card cannot reach the memory by DMA the driver copies by
 * CPU: COPY and SUBMIT then wait for the writers (before PACCEL_COPY_D2H also for the readers) that
 * the dma-buf has fences of, killable, and answer ``-EIO`` if its driver refuses the access.
 *
 * Return: 0; ``-EINVAL`` (@addr is 0; @length, or the range wraps; @fd is no dma-buf, is given
 * without PACCEL_HOST_DMABUF, or is shorter than @length); ``-EEXIST`` (overlaps a range of this
 * context); ``-EFAULT`` (not mapped, not writable without PACCEL_HOST_READ_ONLY, or memory that
 * cannot be pinned: mapped device memory); ``-ENOMEM`` (RLIMIT_MEMLOCK, or out of memory);
 * ``-ENOSPC`` (max_host_ranges); ``-EACCES`` (the dma-buf was opened read-only, without
 * PACCEL_HOST_READ_ONLY); ``-EOPNOTSUPP`` (its driver gives neither pages that the card can reach
 * nor a mapping for the CPU; device memory of this card, or of one that the bus or p2p=off keeps
 * apart).
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
 * DOC: Verified transfers
 *
 * With PACCEL_COPY_VERIFY, PACCEL_FILL_VERIFY or PACCEL_OP_VERIFY the card computes a checksum
 * (CRC32C) of the bytes on its side of each transfer, as it has written or read them, and the
 * driver compares it with that of the other side: of host memory, of the source of a copy inside
 * the card, or of the pattern. If they differ the operation fails with ``-EBADMSG``, and what is
 * behind it in a stream is not run. So bytes that change on the way between host memory and the
 * card's memory are found; what happens to them before and afterwards is not.
 *
 * Bytes of host memory that the program writes before the operation has ended are taken for bytes
 * that have changed. To verify costs a pass over the bytes by the CPU, or, of a copy inside the
 * card, by the card; what is behind the operation in its stream is started when that is done.
 *
 * Without PACCEL_CAP_VERIFY it is ``-EOPNOTSUPP``, and so it is for host memory of a dma-buf that
 * the card alone can access. The module's parameter verify makes all transfers verified that can
 * be.
 */

/* Verify it; only with PACCEL_CAP_VERIFY. */
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
 * @dst_pitch: In. Bytes from one row of the destination to the next, at least @width; with one
 *	row also 0
 * @src_pitch: In. Likewise for the source
 *
 * Complete on return: the source may be reused and the destination holds the data for every later
 * operation. Device addresses, device pitches (of several rows) and @width are multiples of
 * copy_align of DEVICE_INFO; host memory has any alignment. Host memory wholly inside one host
 * range uses it, any other is pinned for the time of the copy, slice by slice. Sleeps, killable:
 * other signals do not end it; after a fatal one the transfer that runs ends by itself and the rest
 * is not done. If it fails the destination holds an undefined mixture of old and new bytes. Ordered
 * against nothing else in flight. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (@dir, @width, @rows, a pitch, a range that wraps; device ranges that
 * overlap: with equal pitches rows are compared, otherwise whole ranges; what is no multiple of
 * copy_align, also in host memory that only the card reaches: HOST_REGISTER); ``-EFAULT`` (a device
 * range not wholly inside one allocation of this context; host memory not accessible, not
 * writable for PACCEL_COPY_D2H, or a dead or read-only host range); ``-ENOMEM`` (out of kernel
 * memory); ``-EIO`` (the transfer failed, the card was reset under it or is out of service);
 * ``-ETIMEDOUT`` (the card did not finish the transfer in watchdog_ms); ``-EBADMSG`` (verified: the
 * bytes at the destination are not those of the source); ``-EOPNOTSUPP`` (PACCEL_COPY_VERIFY: the
 * card, or this host memory, cannot be verified).
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

/* Verify it; only with PACCEL_CAP_VERIFY. */
#define PACCEL_FILL_VERIFY (1 << 0)

/**
 * struct paccel_fill - ioctl(PACCEL_IOC_FILL)
 * @size: sizeof(struct paccel_fill)
 * @flags: In. 0 or PACCEL_FILL_VERIFY
 * @addr: In. Device address of the first byte, any alignment
 * @length: In. Bytes, at least 1, a multiple of @pattern_size
 * @pattern: In. The pattern, in its low @pattern_size bytes (native byte order); the others must
 *	be 0
 * @pattern_size: In. 1, 2, 4 or 8
 * @reserved: In. Must be 0
 *
 * Complete on return; waits and fails as COPY does. The pattern starts at @addr. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (@length, @pattern_size, @pattern, a range that wraps; @addr or @length is
 * no multiple of copy_align of DEVICE_INFO); ``-EFAULT`` (not wholly inside one allocation of this
 * context); ``-ENOMEM``, ``-EIO``, ``-ETIMEDOUT``, ``-EBADMSG``, ``-EOPNOTSUPP`` as for COPY.
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
 * A stream is a queue of operations that run one after the other; streams of a context run
 * independently of each other. SUBMIT queues an array of operations and answers with a *point*: a
 * number that belongs to this stream and grows by one with each SUBMIT. The point is complete when
 * all operations up to it have ended. Points start at 1 and never go back, not even when another
 * stream gets the same number later: what was complete stays so.
 *
 * Only the past can be waited for: a point that was not submitted yet is ``-EINVAL``, and a
 * sync_file is resolved when its operation is submitted. So waits can form no cycle: every wait
 * was submitted after what it waits for.
 *
 * **Failure.** When an operation fails the stream has failed: the operations behind it end with
 * ``-ECANCELED`` and are never run, since they may need the missing data, and SUBMIT answers
 * ``-ECANCELED`` until STREAM_CLEAR. (A card with rings that has lost one transfer without a word
 * may have run those that were in flight behind it before anybody knew: they are ``-ECANCELED``,
 * too, and what they write to holds anything.) The first error and its point stay readable until
 * then. A stream that waits for a point or fence that failed fails with that error. Other streams
 * go on.
 *
 * **Host memory** of operations must lie in a host range (HOST_ALLOC or HOST_REGISTER), since
 * nothing may be pinned once work is queued; it is found when the operation is submitted, and
 * freeing the range or the device memory afterwards does not touch work that is queued.
 */

/**
 * DOC: Completion page
 *
 * STREAM_CREATE returns an offset for mmap(), of one page, PROT_READ and MAP_SHARED: struct
 * paccel_page. It tells without a system call what is complete. The driver writes what an
 * operation has produced, then @failed_point and @error, and then @done with release semantics:
 * a program that loads @done with acquire semantics and finds a point complete sees all that
 * work up to that point has written, and whether it failed. Each field is written whole. Programs
 * of 32 bits, which cannot load 64 bits at once, use WAIT. The page stays mapped and readable after
 * unplug, after the end of the context and in a forked child.
 */

/**
 * enum paccel_page_state - of struct paccel_page
 * @PACCEL_PAGE_RUNNING: the context works
 * @PACCEL_PAGE_GONE: the card is gone; what was queued is ending with an error
 * @PACCEL_PAGE_LOST: a reset has lost the context, likewise
 * @PACCEL_PAGE_CLOSED: the context has ended, likewise
 */
enum paccel_page_state {
	PACCEL_PAGE_RUNNING = 0,
	PACCEL_PAGE_GONE = 1,
	PACCEL_PAGE_LOST = 2,
	PACCEL_PAGE_CLOSED = 3,
};

/**
 * struct paccel_slot - one stream in the completion page
 * @done: every point up to this one has ended
 * @failed_point: the point that failed first since STREAM_CREATE or STREAM_CLEAR, 0 if none
 * @error: why, a negative errno; 0 if none
 * @reserved: 0
 */
struct paccel_slot {
	__aligned_u64 done;
	__aligned_u64 failed_point;
	__s32 error;
	__u32 reserved[3];
};

#define PACCEL_PAGE_VERSION 1
#define PACCEL_PAGE_SLOTS 128

/**
 * struct paccel_page - the completion page
 * @version: PACCEL_PAGE_VERSION
 * @state: one of enum paccel_page_state
 * @reserved: 0
 * @slots: that of stream n is slots[n - 1]
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
 * @point: Out. Last point that this number has had; the first SUBMIT returns the next one
 * @page_offset: Out. Offset for mmap() of the completion page, the same for all streams of the
 *	context: one page, without PROT_WRITE (``-EACCES``) and MAP_SHARED (a private one is
 *	``-EINVAL``)
 *
 * A new stream, without work and without error. It lives until STREAM_DESTROY or the end of the
 * context. Thread-safe.
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
 * Nobody can submit to the stream or wait for it any more. What is queued still runs, its slot of
 * the completion page goes on counting, and its number is given out again only when it has
 * drained. Returns at once. Thread-safe.
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
 * @failed_point: Out. Its point, 0 if there was none
 *
 * Makes a failed stream usable again. What was cancelled stays so; that a point up to now has
 * failed is forgotten: WAIT for it reports 0 afterwards. Thread-safe.
 *
 * Return: 0; ``-ENOENT`` (no such stream); ``-EBUSY`` (what was cancelled has not all ended yet,
 * or an operation of another stream that waits for a point of this one: wait for the last point
 * of both first).
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
 * @PACCEL_OP_COPY: as PACCEL_IOC_COPY; host memory must lie in a host range
 * @PACCEL_OP_FILL: as PACCEL_IOC_FILL
 * @PACCEL_OP_WAIT_POINT: waits for a point of a stream of this context
 * @PACCEL_OP_WAIT_FENCE: waits for a sync_file
 * @PACCEL_OP_EVENTFD: adds 1 to an eventfd; if it is the last operation of its SUBMIT the point is
 *	complete by then. Who finds a point complete by other means may be there before it
 * @PACCEL_OP_WRITE: writes 8 bytes into memory of HOST_ALLOC
 * @PACCEL_OP_TIME: writes the time there: CLOCK_MONOTONIC of the initial time namespace, in
 *	nanoseconds, when everything before it in the stream has ended
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

/* PACCEL_OP_EVENTFD only: also when the stream has failed, so that nobody waits for ever. */
#define PACCEL_OP_ALWAYS (1 << 0)
/* PACCEL_OP_COPY and PACCEL_OP_FILL only: verify it; only with PACCEL_CAP_VERIFY. */
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
 * @point: A point of it that was submitted, or 0, which is complete
 */
struct paccel_op_point {
	__u32 stream;
	__u32 reserved;
	__aligned_u64 point;
};

/**
 * struct paccel_op_fd - PACCEL_OP_WAIT_FENCE and PACCEL_OP_EVENTFD
 * @fd: The sync_file, or the eventfd; it may be closed after SUBMIT
 * @reserved: Must be 0
 */
struct paccel_op_fd {
	__s32 fd;
	__u32 reserved;
};

/**
 * struct paccel_op_write - PACCEL_OP_WRITE and PACCEL_OP_TIME
 * @addr: Where to: an address inside mapped memory of HOST_ALLOC, a multiple of 8
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
 * @copy: of PACCEL_OP_COPY
 * @fill: of PACCEL_OP_FILL
 * @wait: of PACCEL_OP_WAIT_POINT
 * @fd: of PACCEL_OP_WAIT_FENCE and PACCEL_OP_EVENTFD
 * @write: of PACCEL_OP_WRITE and PACCEL_OP_TIME
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
 * @nr_ops: In. Operations, 1 to max_ops
 * @ops: In. Address of an array of struct paccel_op
 * @op_size: In. sizeof(struct paccel_op); as @size, it lets the struct grow
 * @bad_op: Out. If the call fails because of an operation: which one, from 0; else @nr_ops
 * @point: Out. The point of these operations; undefined if the call fails
 *
 * Queues the operations behind all that the stream has, and returns. All is checked, found, pinned
 * and allocated before anything is queued: a call that fails has queued nothing. Sleeps,
 * interruptible, while the stream would have more than max_queued operations or the context more
 * than max_queued_all. Operations of two threads are not mixed. Thread-safe.
 *
 * Return: 0; ``-EINVAL`` (@nr_ops 0, @op_size; an operation: unknown code, flag or non-zero rest,
 * values as in COPY and FILL, a point that was never submitted, a fd that is no sync_file or
 * eventfd); ``-E2BIG`` (more than max_ops; a larger struct paccel_op whose unknown part is not 0);
 * ``-ENOENT`` (no such stream; an operation: none to wait for); ``-EFAULT`` (@ops cannot be read;
 * an operation: as in COPY and FILL, or host memory outside host ranges; WRITE and TIME: not in
 * memory of HOST_ALLOC); ``-EOPNOTSUPP`` (PACCEL_OP_VERIFY, as in COPY); ``-ECANCELED`` (the
 * stream has failed); ``-ENOMEM``; ``-EIO`` (the card is out of service); ``-EINTR`` (a signal,
 * while there was no room).
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
 * @error: Out. 0 if the point is complete; its error if it has failed, ``-ECANCELED`` if it was
 *	behind one that has; ``-EINPROGRESS`` if it has not ended
 * @point: In. A point that was submitted, or 0, which is complete
 */
struct paccel_point {
	__u32 stream;
	__s32 error;
	__aligned_u64 point;
};

/* WAIT until one of the points has ended; else: until all have. */
#define PACCEL_WAIT_ANY (1 << 0)

/**
 * struct paccel_wait - ioctl(PACCEL_IOC_WAIT)
 * @size: sizeof(struct paccel_wait)
 * @flags: In. 0 or PACCEL_WAIT_ANY
 * @deadline_ns: In. When to give up: CLOCK_MONOTONIC of the initial time namespace (clock_ns of
 *	DEVICE_INFO), absolute, in nanoseconds. The past returns at once; from 2^63 - 1 on: never
 * @points: In. Address of an array of struct paccel_point, whose @error fields are written
 * @nr_points: In. Points, 0 to max_points; with none only poll() is armed again
 * @point_size: In. sizeof(struct paccel_point), also if there is none
 * @ended: Out. How many of the points have ended
 * @reserved: In. Must be 0
 *
 * Waits for points. errno speaks of this call, the @error fields of the work; they are written
 * for 0 and ``-ETIME``; after these poll() reports EPOLLIN only for what has been completed since
 * this call looked last. Interruptible; restarted by itself after a signal whose handler was set
 * with SA_RESTART. Thread-safe.
 *
 * Return: 0; ``-ETIME`` (the time is over and not all, or none, have ended); ``-EINVAL`` (a point
 * that was never submitted, @point_size); ``-E2BIG`` (more than max_points; a larger struct
 * paccel_point whose unknown part is not 0); ``-ENOENT`` (no such stream); ``-EFAULT`` (@points);
 * ``-EINTR`` (a signal).
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
 * @point: In. A point of it that was submitted
 *
 * A sync_file that is signalled when the point has ended, with its error if it failed. It always
 * is: at the latest by the watchdog, the end of the context or unplug, as far as the fences that
 * the stream waits for are. It keeps the module loaded, not the card. Thread-safe.
 *
 * Return: 0; ``-ENOENT`` (no such stream); ``-EINVAL`` (@point was never submitted); ``-ENOMEM``;
 * ``-EMFILE`` (no file descriptor is left).
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
