/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Interface between the core of the driver and a backend, the device-specific code for one type of
 * PCI function. A backend is a file in hw/ with a row in hw/table.c, or a module that calls
 * paccel_backend_register(). It includes no other header of the driver.
 */
#ifndef PACCEL_BACKEND_H
#define PACCEL_BACKEND_H

#include <linux/module.h>
#include <linux/pci.h>
#include <linux/sizes.h>
#include <linux/types.h>

#include "include/paccel_xfer.h"

#define PACCEL_MAX_ENGINES	8
#define PACCEL_MAX_XFER		SZ_2M	/* bytes of a DMA request */
#define PACCEL_MAX_DEPTH	64	/* DMA requests in flight on one engine */
#define PACCEL_MAX_LIST		SZ_64K	/* bytes of paccel_xfer.list */
#define PACCEL_BACKEND_NAME_MAX	31	/* bytes of a name, without the terminating NUL */
#define PACCEL_MAX_PRIVATE	256	/* bytes of the struct of a private ioctl */

struct seq_buf;

/**
 * DOC: Flags of struct paccel_hw_info
 *
 * PACCEL_HW_MEM_SURVIVES
 *	The contents of device memory survive reset() and the resets of the PCI core.
 * PACCEL_HW_BM_STOPS
 *	After bus mastering has been cleared, the requests that were in flight never write host
 *	memory again, not even when bus mastering is set again.
 * PACCEL_HW_MAPPABLE
 *	Device memory lies in a BAR and can be accessed at any time, also during reset().
 * PACCEL_HW_D2D
 *	The device supports PACCEL_XFER_D2D.
 * PACCEL_HW_FILL
 *	The device supports PACCEL_XFER_FILL.
 * PACCEL_HW_LINK
 *	An engine supports paccel_xfer.linked. It then completes requests in the order of start():
 *	when a request has completed, all requests that were started before it have completed.
 * PACCEL_HW_CHECKSUM
 *	The device computes the CRC32C of the bytes that a request writes to or reads from device
 *	memory. With PACCEL_HW_D2D, it also supports PACCEL_XFER_CHECKSUM.
 * PACCEL_HW_MEM_NONVOLATILE
 *	The contents of device memory survive suspend to RAM. Requires PACCEL_HW_MEM_SURVIVES.
 */
#define PACCEL_HW_MEM_SURVIVES		BIT(0)
#define PACCEL_HW_BM_STOPS		BIT(1)
#define PACCEL_HW_MAPPABLE		BIT(2)
#define PACCEL_HW_D2D			BIT(3)
#define PACCEL_HW_FILL			BIT(4)
#define PACCEL_HW_LINK			BIT(5)
#define PACCEL_HW_CHECKSUM		BIT(6)
#define PACCEL_HW_MEM_NONVOLATILE	BIT(7)
#define PACCEL_HW_FLAGS			GENMASK(7, 0)	/* all flags */

/**
 * struct paccel_hw_info - properties of a device
 * @mem_size: bytes of device memory that may be allocated, a multiple of @granule. At most U32_MAX
 *	granules; if @granule is less than 4096, at most 512 granules, since alignments of up to
 *	2 MiB are supported by MEM_ALLOC and of up to 512 granules by the allocator
 * @granule: allocation granularity in bytes, a power of two, at most PAGE_SIZE
 * @max_xfer: largest DMA request in bytes, a multiple of 8 (the largest fill pattern), at most
 *	PACCEL_MAX_XFER
 * @max_segs: number of host memory segments of a DMA request, at least 1
 * @max_seg: largest segment in bytes, a multiple of 8; 0: no limit
 * @seg_boundary: no segment crosses a bus address that is a multiple of this power of two, at least
 *	8; 0: no limit
 * @depth: number of DMA requests in flight on one engine, a power of two, at most PACCEL_MAX_DEPTH;
 *	more than 1 requires halt()
 * @list_size: bytes of paccel_xfer.list, at most PACCEL_MAX_LIST
 * @dma_align: alignment in bytes of the bus addresses, device memory offsets and lengths of DMA
 *	requests and segments: a power of two that divides @granule, @max_xfer, @max_seg and
 *	@seg_boundary. 0 or 1: no constraint. If larger, applications can copy and fill only aligned
 *	ranges of device memory, and the CPU copies host memory that is not aligned
 * @dma_bits: width of the bus addresses that the device can drive, 1 to 64; probe() sets both DMA
 *	masks to DMA_BIT_MASK(dma_bits)
 * @engines: number of engines (DMA channels), 1 to PACCEL_MAX_ENGINES
 * @engine_ops: operations that each engine supports, BIT() of enum paccel_xfer_op; 0: all that
 *	@flags allow. At least one engine supports each of: H2D; D2H; FILL, with PACCEL_HW_FILL;
 *	D2D, together with CHECKSUM if @flags allow it, with PACCEL_HW_D2D; H2D together with D2H,
 *	without PACCEL_HW_D2D. Two channels, one for each direction, may form one engine
 * @flags: PACCEL_HW_*
 * @mem_bar: with PACCEL_HW_MAPPABLE: number of the BAR of device memory; @granule is PAGE_SIZE
 * @mem_offset: with PACCEL_HW_MAPPABLE: offset in bytes of device memory in that BAR, a multiple of
 *	PAGE_SIZE
 *
 * If a value is not allowed, the device is not bound, and the kernel log names the field.
 */
struct paccel_hw_info {
	u64 mem_size;
	u64 granule;
	u32 max_xfer;
	u32 max_segs;
	u32 max_seg;
	u64 seg_boundary;
	u32 depth;
	u32 list_size;
	u32 dma_align;
	u32 dma_bits;
	u32 engines;
	u32 engine_ops[PACCEL_MAX_ENGINES];
	u32 flags;
	u32 mem_bar;
	u64 mem_offset;
};

/**
 * struct paccel_hw - a device, as its backend sees it
 * @pdev: the PCI function
 * @info: filled in by probe(), not changed after that
 * @priv: private data of the backend
 */
struct paccel_hw {
	struct pci_dev *pdev;
	struct paccel_hw_info info;
	void *priv;
};

/**
 * struct paccel_hw_ioctl - a private ioctl of a backend
 * @cmd: _IO(PACCEL_IOC_TYPE, number), with a number from PACCEL_NR_PRIVATE to 0xff
 * @size: bytes of its struct, which begins with ``__u32 size``, at most PACCEL_MAX_PRIVATE
 * @min_size: bytes up to the end of the last field of the struct's first version
 * @execute: execute the command. @cmd is a kernel copy of the struct, with zeroes where that of the
 *	caller is shorter; the core copies it back if the result is 0. Rejects unknown flags, and
 *	reserved fields that are not 0, with -EINVAL. The device stays bound until this returns, and
 *	removal waits for it, so no access to user memory and no long waits. May sleep. May be
 *	called concurrently. Returns 0 or -errno
 *
 * The core checks the size and the caller as for its own commands: only the process that opened the
 * file, with the file open for writing, and not after its context has been lost.
 */
struct paccel_hw_ioctl {
	unsigned int cmd;
	u32 size;
	u32 min_size;
	int (*execute)(struct paccel_hw *hw, void *cmd);
};

/**
 * struct paccel_hw_ops - functions of a backend
 * @name: name of the backend, as DEVICE_INFO reports it
 * @probe: map BARs, check that the device responds and is idle, fill hw->info, set both DMA masks,
 *	request interrupts. The PCI function is enabled. Bus mastering is off on entry; probe() may
 *	enable it once the device is idle, and the core does so after success. After success no
 *	earlier DMA of this PCI function may write host memory: the core then frees the host memory
 *	that it kept because a device at this PCI address could not be quiesced when it was unbound.
 *	devm_*() resources of the PCI function are released after remove(), or if probe() fails.
 *	May sleep. Returns 0, or -errno and has undone everything
 * @remove: undo what probe() has done without devm_*(), or NULL. The device has been quiesced, is
 *	absent, or could not be quiesced; if its registration failed, no request was started. May
 *	sleep
 * @start: start one DMA request. @x is valid during the call only; @x->list and the segments stay
 *	valid until the request ends. At most paccel_hw_info.depth requests are in flight. Returns
 *	0, or -errno and has started nothing, for example if bus mastering is off. The core does
 *	not retry: every error fails the job with -EIO. Called with the engine's lock held
 * @kick: make the device begin all requests that start() has prepared since the last kick(), with
 *	one doorbell write. NULL if start() itself begins the request. Called with the engine's lock
 *	held
 * @poll: call paccel_xfer_done() for each request that has completed since the last call. An
 *	all-ones read is not a completion. Called with the engine's lock held
 * @halt: make the engine begin no further request, and wait for the request that it executes, for
 *	as long as one request takes, some 20 ms at most; if it hangs, this is no error. The core
 *	then calls poll() once, and not again until the reset has ended. NULL if depth is 1. May
 *	sleep
 * @quiesce: end all DMA within @limit_ms, by waiting for it or by aborting it. Returns 0 only if
 *	the device provably no longer writes to host or device memory, which others get after that;
 *	-ENODEV if its registers read all-ones, also if that begins during the wait. That is no
 *	proof: the core looks whether configuration space reads all-ones, too. After any other
 *	error the device never counts as absent. Called after halt() of each engine, and again if
 *	the device was left quiesced. May sleep
 * @reset: make the quiesced device ready for start() again, with bus mastering. After a PCI error
 *	configuration space is as it was before probe(). Returns 0, or -errno: the device is
 *	then out of service. May sleep
 * @reset_engine: abort all requests of this engine and make it ready for start() again, without
 *	effect on other engines. Returns 0 only if none of those requests can still write to
 *	host or device memory. NULL if the device cannot do this: the core then resets the device.
 *	May sleep
 * @dump: print registers and rings, also of a device that hangs, or is absent and reads all ones.
 *	Prints no bus addresses and no data of applications, such as patterns. Changes nothing and
 *	allocates no memory. Process context, concurrently with all functions except probe() and
 *	remove(). May be NULL
 * @ioctls: array of private ioctls, terminated by an entry without execute(), or NULL
 *
 * Engines are numbered from 0 to paccel_hw_info.engines - 1. The interrupt handler of the device
 * calls paccel_xfer_check() when a request may have completed.
 *
 * The engine's lock is a spinlock that disables interrupts. A mutex serializes halt(), quiesce(),
 * reset() and reset_engine() of a device. While they run, no request is started on the engine (all
 * engines, for quiesce() and reset()), but poll() may be called if @halt is NULL. Other engines go
 * on during halt() and reset_engine(). poll() may be called as soon as probe() requests interrupts.
 */
struct paccel_hw_ops {
	const char *name;
	int (*probe)(struct paccel_hw *hw);
	void (*remove)(struct paccel_hw *hw);
	int (*start)(struct paccel_hw *hw, unsigned int engine, const struct paccel_xfer *x);
	void (*kick)(struct paccel_hw *hw, unsigned int engine);
	void (*poll)(struct paccel_hw *hw, unsigned int engine);
	void (*halt)(struct paccel_hw *hw, unsigned int engine);
	int (*quiesce)(struct paccel_hw *hw, unsigned int limit_ms);
	int (*reset)(struct paccel_hw *hw);
	int (*reset_engine)(struct paccel_hw *hw, unsigned int engine);
	void (*dump)(struct paccel_hw *hw, struct seq_buf *out);
	const struct paccel_hw_ioctl *ioctls;
};

/**
 * struct paccel_backend - a backend in a module of its own
 * @ops: its functions: name, probe(), start(), poll(), quiesce() and reset() at least
 * @ids: PCI IDs of its devices, terminated by an empty entry, or NULL. An administrator can bind
 *	other devices with driver_override or new_id
 * @driver: filled in and used by the core only
 * @driver_name: filled in and used by the core only: ``paccel_``, then the name in @ops
 */
struct paccel_backend {
	const struct paccel_hw_ops *ops;
	const struct pci_device_id *ids;
	struct pci_driver driver;
	char driver_name[sizeof("paccel_") + PACCEL_BACKEND_NAME_MAX];
};

/* Called by paccel_backend_register(), which adds @owner. */
int __paccel_backend_register(struct paccel_backend *backend, struct module *owner);
/**
 * paccel_backend_register() - register a backend
 * @backend: with its @ops and @ids; not registered. Valid until paccel_backend_unregister()
 *
 * Calls probe() for each matching device that has no driver. A device whose probe() fails stays
 * without a driver, which is no error of this function. May sleep.
 *
 * Return: 0; -EINVAL: a function is missing, the name does not have 1 to PACCEL_BACKEND_NAME_MAX
 * bytes, or a field of an ioctl is not allowed; -EBUSY: the name is taken; -ENOMEM
 */
#define paccel_backend_register(backend) __paccel_backend_register(backend, THIS_MODULE)
/**
 * paccel_backend_unregister() - unregister a backend
 * @backend: registered by paccel_backend_register()
 *
 * Unbinds its devices. When this returns, no function of the backend runs or will be called, even
 * if files are still open. May sleep.
 */
void paccel_backend_unregister(struct paccel_backend *backend);
/* Defines the init and exit functions of a module that only registers @backend. */
#define module_paccel_backend(backend)							\
	MODULE_INFO(import_ns, "PACCEL");						\
	module_driver(backend, paccel_backend_register, paccel_backend_unregister)

#endif /* PACCEL_BACKEND_H */
