/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a card's file and the core know of each other. A new card is one file here and one row in
 * table.c.
 */
#ifndef PACCEL_HW_H
#define PACCEL_HW_H

#include <linux/dma-direction.h>
#include <linux/sizes.h>
#include <linux/types.h>

#define PACCEL_MAX_ENGINES	8
#define PACCEL_MAX_XFER		SZ_1M

struct paccel_device;
struct paccel_engine;

/**
 * struct paccel_xfer - one DMA transfer, the only thing a card is ever asked for
 * @dir: DMA_TO_DEVICE (host to card) or DMA_FROM_DEVICE
 * @dev: offset into the card's memory, in bytes
 * @host: bus address of the host side
 * @len: bytes, 1 to paccel_hw_info.max_xfer
 *
 * @dev + @len lies inside the card's memory and @host + @len inside its DMA mask: the core has
 *	checked.
 */
struct paccel_xfer {
	enum dma_data_direction dir;
	u64 dev;
	dma_addr_t host;
	u32 len;
};

/* Contents of the device memory survive reset(). */
#define PACCEL_HW_MEM_SURVIVES	BIT(0)
/* With bus mastering off the card cannot write host memory any more. */
#define PACCEL_HW_BM_STOPS	BIT(1)

/**
 * struct paccel_hw_info - what probe() finds out about a card
 * @mem_size: bytes of device memory that may be allocated, a multiple of @granule
 * @granule: smallest unit of allocation, a power of two
 * @max_xfer: largest transfer in bytes, a multiple of 8 (the largest fill pattern), at most
 *	PACCEL_MAX_XFER: as much is allocated contiguously for each engine
 * @dma_bits: width of the bus addresses that the card can drive
 * @engines: DMA channels, 1 to PACCEL_MAX_ENGINES
 * @flags: PACCEL_HW_*
 */
struct paccel_hw_info {
	u64 mem_size;
	u64 granule;
	u32 max_xfer;
	u32 dma_bits;
	u32 engines;
	u32 flags;
};

/**
 * struct paccel_hw_ops - a kind of card
 * @name: as DEVICE_INFO shows it
 * @probe: map BARs, check that the card is alive and idle, fill pd->info, set the DMA mask,
 *	request interrupts. The PCI function is enabled and is not bus master before this succeeds.
 *	May sleep
 * @remove: undo probe(). The card has been quiesced, or is gone, or has been given up. May sleep
 * @start: start one transfer, or return an error and have started nothing: -EBUSY, -EIO (bus
 *	mastering is off, or no answer). Called with the engine's lock held, interrupts off
 * @poll: 1 if the transfer that was started has ended well, an error if it has ended otherwise, 0
 *	if it still runs or the card does not answer. Called with the engine's lock held, interrupts
 *	off
 * @quiesce: wait until nothing runs, at most this many milliseconds; 0 only if the card is proven
 *	to write host memory no longer: that it does not answer is no proof. May sleep
 * @reset: make the idle card ready for start() again. May sleep
 *
 * The interrupt handler of the card calls paccel_xfer_check() when a transfer may have ended.
 */
struct paccel_hw_ops {
	const char *name;
	int (*probe)(struct paccel_device *pd);
	void (*remove)(struct paccel_device *pd);
	int (*start)(struct paccel_engine *eng, const struct paccel_xfer *x);
	int (*poll)(struct paccel_engine *eng);
	int (*quiesce)(struct paccel_device *pd, unsigned int limit_ms);
	int (*reset)(struct paccel_device *pd);
};

/*
 * For the interrupt handler of a card whose interrupts name no transfer: has the one that runs
 * ended? poll() decides, under the engine's lock, so that it is never about the next one. Any
 * context; the engine's lock must not be held.
 */
void paccel_xfer_check(struct paccel_engine *eng);
/* An interrupt that belongs to nothing is counted. Any context. */
void paccel_spurious_irq(struct paccel_device *pd);

extern const struct paccel_hw_ops paccel_edu;
extern const struct pci_device_id paccel_pci_ids[];

#endif /* PACCEL_HW_H */
