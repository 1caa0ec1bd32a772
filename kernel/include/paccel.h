/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interface between the driver and a backend, which drives one kind of card. A backend is a
 * file in hw/ with a row in hw/table.c, or a module of its own. It needs nothing else of the
 * driver.
 */
#ifndef PACCEL_BACKEND_H
#define PACCEL_BACKEND_H

#include <linux/module.h>
#include <linux/pci.h>
#include <linux/sizes.h>
#include <linux/types.h>

#include "include/paccel_xfer.h"

#define PACCEL_MAX_ENGINES	8
#define PACCEL_MAX_XFER		SZ_2M
#define PACCEL_MAX_DEPTH	64
#define PACCEL_MAX_LIST		SZ_64K
#define PACCEL_BACKEND_NAME_MAX	31	/* bytes of a name; DEVICE_INFO has room for them */
#define PACCEL_MAX_PRIVATE	256	/* bytes of the struct of a private ioctl */

struct seq_buf;

/* Contents of the device memory survive reset(), and the resets of the PCI core. */
#define PACCEL_HW_MEM_SURVIVES	BIT(0)
/* With bus mastering off the card cannot write host memory any more. */
#define PACCEL_HW_BM_STOPS	BIT(1)
/* Device memory lies in a BAR, where programs may map it. */
#define PACCEL_HW_MAPPABLE	BIT(2)
/* It copies inside its memory by itself. */
#define PACCEL_HW_D2D		BIT(3)
/* It fills its memory by itself. */
#define PACCEL_HW_FILL		BIT(4)
/*
 * An engine supports paccel_xfer.linked. It then completes requests in the order of start(): when
 * a request has completed, all requests that were started before it have completed.
 */
#define PACCEL_HW_LINK		BIT(5)
/*
 * The device computes the CRC32C of the bytes that a request writes to or reads from device memory.
 * With PACCEL_HW_D2D, it also supports PACCEL_XFER_CHECKSUM.
 */
#define PACCEL_HW_CHECKSUM	BIT(6)
/* Contents of the device memory survive suspend to RAM. Only with PACCEL_HW_MEM_SURVIVES. */
#define PACCEL_HW_MEM_NONVOLATILE BIT(7)
/* All of them. */
#define PACCEL_HW_FLAGS		GENMASK(7, 0)

/**
 * struct paccel_hw_info - what probe() finds out about a card
 * @mem_size: bytes of device memory that may be allocated, a multiple of @granule
 * @granule: allocation granularity in bytes, a power of two, at most a page. @mem_size is at most
 *	U32_MAX granules, and at most 512 granules if @granule is less than 4096
 * @max_xfer: largest transfer in bytes, a multiple of 8 (the largest fill pattern), at most
 *	PACCEL_MAX_XFER
 * @max_segs: pieces of host memory that one transfer can have, at least 1
 * @max_seg: largest piece in bytes, a multiple of 8; 0: as large as a transfer
 * @seg_boundary: no piece crosses a bus address that is a multiple of this: a power of two, at
 *	least 8; 0: it may cross any
 * @depth: transfers that an engine can be given before the first has ended, a power of two, at most
 *	PACCEL_MAX_DEPTH; more than 1 only with halt()
 * @list_size: bytes of coherent memory for each transfer in flight, at most PACCEL_MAX_LIST
 * @dma_align: bus addresses, offsets in device memory and lengths, of transfers and of pieces, are
 *	multiples of this: a power of two that divides @granule, @max_xfer, @max_seg and
 *	@seg_boundary. 0 or 1: they need not be. Programs then can copy and fill aligned ranges of
 *	device memory only; host memory is copied by the CPU where it is not aligned
 * @dma_bits: width of the bus addresses that the card can drive, 1 to 64; probe() sets both DMA
 *	masks to DMA_BIT_MASK(dma_bits)
 * @engines: DMA channels, 1 to PACCEL_MAX_ENGINES
 * @engine_ops: for each engine the operations that it takes, BIT() of enum paccel_xfer_op; 0: all
 *	that @flags allow. Some engine takes H2D, some D2H, some all of D2D and CHECKSUM and some
 *	FILL, as far as @flags allow them; without PACCEL_HW_D2D some engine takes both H2D and D2H.
 *	Channels of one direction can be an engine in pairs
 * @flags: PACCEL_HW_*
 * @mem_bar: with PACCEL_HW_MAPPABLE: the BAR that device memory lies in, and @granule is a page
 * @mem_offset: with PACCEL_HW_MAPPABLE: of its first byte in that BAR, whole pages
 *
 * A card with a value that is not allowed is not bound, and the kernel log names the field.
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
 * struct paccel_hw - a card, as its backend sees it
 * @pdev: the PCI function
 * @info: filled in by probe(), not changed after that
 * @priv: data of the backend
 */
struct paccel_hw {
	struct pci_dev *pdev;
	struct paccel_hw_info info;
	void *priv;
};

/**
 * struct paccel_hw_ioctl - an ioctl that only this backend has
 * @cmd: _IO(PACCEL_IOC_TYPE, number), with a number from PACCEL_NR_PRIVATE to 0xff
 * @size: bytes of its struct, which begins with ``__u32 size``, at most PACCEL_MAX_PRIVATE
 * @min_size: bytes up to the end of the last field of the struct's first version
 * @execute: do it. @cmd is a kernel copy of the struct, with zeroes where the caller's is shorter;
 *	it is copied back if the result is 0. A field or flag that is not known and not 0 is to be
 *	refused with -EINVAL. The device stays bound until this returns, so removal waits for it: no
 *	access to user memory, no long waits. May sleep. Called by several threads at once.
 *	Returns 0 or -errno
 *
 * The core checks the size and the caller as for its own commands: the opener alone, with a file
 * that is open for writing, and not after its context has been lost.
 */
struct paccel_hw_ioctl {
	unsigned int cmd;
	u32 size;
	u32 min_size;
	int (*execute)(struct paccel_hw *hw, void *cmd);
};

/**
 * struct paccel_hw_ops - functions of a backend
 * @name: as DEVICE_INFO shows it
 * @probe: map BARs, check that the device responds and is idle, fill hw->info, set both DMA masks,
 *	request interrupts. The PCI function is enabled. Bus mastering is off on entry; probe() may
 *	enable it once the device is idle, and the core does so after success. After success no
 *	earlier DMA of this PCI function may write host memory: the core then frees what it kept for
 *	a device that was unbound from the same PCI address and might still write.
 *	devm_*() resources of the PCI function are released after remove(), or if probe() fails.
 *	May sleep. Returns 0, or -errno and has undone everything
 * @remove: undo what probe() has done without devm_*(), or NULL. The device has been quiesced, is
 *	absent, or could not be quiesced; or no request was started since probe(), because the
 *	card could not be registered. May sleep
 * @start: start one transfer, or return an error and have started nothing: -EBUSY, -EIO (bus
 *	mastering is off, or no answer). At most paccel_hw_info.depth are in flight. Called with the
 *	engine's lock held, interrupts off
 * @kick: make the device begin all requests that start() has prepared since the last kick(), with
 *	one doorbell write. NULL if start() itself begins the request. Called with the engine's lock
 *	held, interrupts off
 * @poll: call paccel_xfer_done() for each request that has completed since the last call. That the
 *	device reads all ones is not a completion. Called with the engine's lock held, interrupts
 *	off
 * @halt: make the engine begin no further request, and wait briefly for the request that it is
 *	executing. The core calls it before quiesce() and reset_engine(), poll() once after it, and
 *	then not before the reset has ended. NULL if depth is 1. May sleep
 * @quiesce: end all DMA, by waiting or by aborting it, within @limit_ms. Returns 0 only if the
 *	device provably no longer writes host memory; that it does not respond is no proof. Without
 *	@halt, poll() may be called until reset() or remove(). May sleep
 * @reset: make the quiesced device ready for start() again. May sleep
 * @reset_engine: abort all requests of this engine and make it ready for start() again, without
 *	effect on other engines. Returns 0 only if none of those requests can still write host
 *	memory. NULL if the device cannot do this: the core then resets the device. May sleep
 * @dump: print registers and rings, of a card that may hang, or be gone and read all ones, while
 *	transfers go on. No bus addresses, and nothing that programs have given, such as patterns.
 *	Changes nothing. May be NULL
 * @ioctls: ioctls of its own, ended by one without a function; or NULL
 *
 * Engines are numbered from 0 to paccel_hw_info.engines - 1.
 *
 * The interrupt handler of the card calls paccel_xfer_check() when a transfer may have ended.
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
 * struct paccel_backend - a kind of card
 * @ops: its functions: name, probe(), start(), poll(), quiesce() and reset() at least
 * @ids: PCI IDs of its cards, ended by an empty one, or NULL. An administrator can have probe()
 *	called for others, with driver_override or new_id
 * @driver: the core's
 * @driver_name: the core's: "paccel_", then the name in @ops
 */
struct paccel_backend {
	const struct paccel_hw_ops *ops;
	const struct pci_device_id *ids;
	struct pci_driver driver;
	char driver_name[sizeof("paccel_") + PACCEL_BACKEND_NAME_MAX];
};

int __paccel_backend_register(struct paccel_backend *backend, struct module *owner);
/**
 * paccel_backend_register() - have a backend drive all cards that it knows
 * @backend: with its @ops and @ids; not registered. Valid until paccel_backend_unregister()
 *
 * Calls probe() for each card that has no driver. A card whose probe() fails has no driver
 * afterwards, which is no error of this function. May sleep.
 *
 * Return: 0; -EINVAL: a function is missing, the name does not have 1 to
 * PACCEL_BACKEND_NAME_MAX bytes, or a field of an ioctl is not as it has to be; -EBUSY: the name
 * is taken; -ENOMEM
 */
#define paccel_backend_register(backend) __paccel_backend_register(backend, THIS_MODULE)
/**
 * paccel_backend_unregister() - end that
 * @backend: registered by paccel_backend_register()
 *
 * Unbinds its cards. When this returns, no function of the backend runs or is called any more, also
 * for files that are still open. May sleep.
 */
void paccel_backend_unregister(struct paccel_backend *backend);
/* For a module that is a backend and does nothing else when it is loaded and unloaded. */
#define module_paccel_backend(backend)							\
	MODULE_INFO(import_ns, "PACCEL");						\
	module_driver(backend, paccel_backend_register, paccel_backend_unregister)

/**
 * paccel_engine_irqs() - an interrupt vector for each engine
 * @hw: the card; hw->info.engines is set
 * @first: vector of engine 0; engine n has @first + n
 *
 * For probe(). Requests the interrupts, whose handlers call paccel_xfer_check() for their engine.
 * They are device-managed resources of the PCI function. May sleep.
 *
 * Return: 0; -EINVAL: hw->info.engines is not 1 to PACCEL_MAX_ENGINES; or an error of the PCI core
 */
int paccel_engine_irqs(struct paccel_hw *hw, unsigned int first);
/**
 * paccel_quiesce() - call quiesce() with the limit that the module parameter quiesce_ms sets
 * @hw: the card
 *
 * For probe(), where no halt() comes before it. May sleep.
 *
 * Return: as quiesce()
 */
int paccel_quiesce(struct paccel_hw *hw);
/**
 * paccel_spurious_irq() - count an interrupt that has no known cause
 * @hw: the card
 *
 * Any context.
 */
void paccel_spurious_irq(struct paccel_hw *hw);
/**
 * paccel_dump_words() - print registers as words of 32 bits
 * @out: as dump() has got it
 * @name: what they are
 * @from: the first
 * @bytes: how many bytes, a multiple of 4
 *
 * For dump().
 */
void paccel_dump_words(struct seq_buf *out, const char *name, const void __iomem *from,
		       u32 bytes);

#endif /* PACCEL_BACKEND_H */
