/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The interface between the driver and a backend, which drives one kind of card: a file in hw/ with
 * a row in hw/table.c.
 */
#ifndef PACCEL_BACKEND_H
#define PACCEL_BACKEND_H

#include <linux/sizes.h>
#include <linux/types.h>

#define PACCEL_MAX_ENGINES	8
#define PACCEL_MAX_XFER		SZ_2M
#define PACCEL_MAX_DEPTH	64

struct paccel_device;
struct paccel_engine;
struct scatterlist;
struct seq_buf;

enum paccel_xfer_op {
	PACCEL_XFER_H2D,	/* host to card */
	PACCEL_XFER_D2H,	/* card to host */
	PACCEL_XFER_D2D,	/* inside the card; only with PACCEL_HW_D2D */
	PACCEL_XFER_FILL,	/* of card memory; only with PACCEL_HW_FILL */
	PACCEL_XFER_CHECKSUM,	/* of card memory, nothing moves; only with PACCEL_HW_CHECKSUM */
};

/**
 * struct paccel_seg - a piece of the host side of a transfer, and how to find the next one
 * @addr: its bus address, once paccel_seg_next() has been called
 * @len: bytes of it
 * @sg: where the next one lies
 * @skip: bytes of @sg that come before it
 * @left: bytes of the transfer from it on
 */
struct paccel_seg {
	dma_addr_t addr;
	u32 len;
	struct scatterlist *sg;
	u32 skip;
	u32 left;
};

/**
 * struct paccel_xfer - one DMA transfer, the only thing a card is ever asked for
 * @op: what to do
 * @linked: only if the transfer that was started before this one on the engine ends well; only
 *	with PACCEL_HW_LINK
 * @verify: the checksum is wanted: see paccel_xfer_checksum(); only with PACCEL_HW_CHECKSUM
 * @list: paccel_hw_info.list_size bytes of coherent memory, of this transfer as long as it is in
 *	flight: for a list of its pieces, or whatever the card wants
 * @list_dma: where the card finds that
 * @quiet: no interrupt is needed when it has ended well, if another transfer is started behind it
 *	before kick(); only a hint
 * @cookie: of this transfer alone; to be given to paccel_xfer_done()
 * @dev: offset into the card's memory, in bytes: where to, or, of D2H, where from; CHECKSUM: 0
 * @dev_src: D2D, CHECKSUM: where from
 * @pattern: FILL: 8 bytes, the lowest first, repeated: what is filled begins with the first of them
 * @len: bytes, 1 to paccel_hw_info.max_xfer
 * @segs: H2D, D2H: the host side, by value: a copy is to be walked with paccel_seg_next()
 * @nr_segs: how many pieces that are, 1 to paccel_hw_info.max_segs
 *
 * All ranges lie inside the card's memory and within its DMA mask: the core has checked.
 */
struct paccel_xfer {
	enum paccel_xfer_op op;
	bool linked;
	bool verify;
	bool quiet;
	u64 cookie;
	void *list;
	dma_addr_t list_dma;
	u64 dev;
	u64 dev_src;
	u64 pattern;
	u32 len;
	struct paccel_seg segs;
	u32 nr_segs;
};

/* The next piece of the host side; false: there is none. */
bool paccel_seg_next(struct paccel_seg *seg);

/* Contents of the device memory survive reset(). */
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
 * An engine can make a transfer depend on the one before it. It works in order then: when one has
 * ended, those that were started before it have.
 */
#define PACCEL_HW_LINK		BIT(5)
/*
 * It computes checksums of what it writes to, and reads from, its memory. With PACCEL_HW_D2D, also
 * without moving anything.
 */
#define PACCEL_HW_CHECKSUM	BIT(6)

/**
 * struct paccel_hw_info - what probe() finds out about a card
 * @mem_size: bytes of device memory that may be allocated, a multiple of @granule
 * @granule: smallest unit of allocation, a power of two, at least 4096 unless device memory has at
 *	most 512 of them; it has at most U32_MAX
 * @max_xfer: largest transfer in bytes, a multiple of 8 (the largest fill pattern), at most
 *	PACCEL_MAX_XFER
 * @max_segs: pieces of host memory that one transfer can have, at least 1
 * @depth: transfers that an engine can be given before the first has ended, a power of two, at most
 *	PACCEL_MAX_DEPTH
 * @list_size: bytes of coherent memory for each transfer in flight, or 0
 * @dma_bits: width of the bus addresses that the card can drive
 * @engines: DMA channels, 1 to PACCEL_MAX_ENGINES
 * @flags: PACCEL_HW_*
 * @mem_bar: with PACCEL_HW_MAPPABLE: the BAR that device memory lies in, and @granule is at least
 *	a page
 * @mem_offset: with PACCEL_HW_MAPPABLE: of its first byte in that BAR, whole pages
 */
struct paccel_hw_info {
	u64 mem_size;
	u64 granule;
	u32 max_xfer;
	u32 max_segs;
	u32 depth;
	u32 list_size;
	u32 dma_bits;
	u32 engines;
	u32 flags;
	u32 mem_bar;
	u64 mem_offset;
};

/**
 * struct paccel_hw_ops - a kind of card
 * @name: as DEVICE_INFO shows it
 * @probe: map BARs, check that the card is alive and idle, fill pd->info, set the DMA mask,
 *	request interrupts. The PCI function is enabled and is not bus master before this succeeds.
 *	Success proves that a device that was lost at this place of the bus no longer writes host
 *	memory.
 *	What it takes with devm_...() of the PCI function is given back after remove(), or when it
 *	fails. May sleep
 * @remove: undo what else probe() has done, or NULL. The card has been quiesced, or is gone, or
 *	could not be stopped. May sleep
 * @start: start one transfer, or return an error and have started nothing: -EBUSY, -EIO (bus
 *	mastering is off, or no answer). At most paccel_hw_info.depth are in flight. Called with the
 *	engine's lock held, interrupts off
 * @kick: NULL; or start() only prepares, and what it has prepared begins at the next kick(): so one
 *	doorbell does for many. Called as start() is
 * @poll: call paccel_xfer_done() for each transfer that has ended since the last time. That the
 *	card does not answer is no end. Called with the engine's lock held, interrupts off
 * @halt: before quiesce() or reset_engine(), so that poll() can tell all that has ended: begin no
 *	transfer behind the one that the engine is at, and wait for that a moment. NULL where no
 *	more than one is in flight. May sleep
 * @quiesce: wait until nothing runs, at most this many milliseconds; 0 only if the card is proven
 *	to write host memory no longer: that it does not answer is no proof. poll() may report
 *	completions until reset(). May sleep
 * @reset: make the idle card ready for start() again. May sleep
 * @reset_engine: end what this engine does and make it ready for start() again, without harm to
 *	others; 0 only if it is proven to write host memory no longer of what it was asked for
 *	before. NULL where a card cannot. May sleep
 * @dump: print registers and rings, of a card that may hang, or be gone and read all ones, while
 *	transfers go on. No bus addresses, and nothing that programs have given, such as patterns.
 *	Changes nothing. May be NULL
 *
 * The interrupt handler of the card calls paccel_xfer_check() when a transfer may have ended.
 */
struct paccel_hw_ops {
	const char *name;
	int (*probe)(struct paccel_device *pd);
	void (*remove)(struct paccel_device *pd);
	int (*start)(struct paccel_engine *eng, const struct paccel_xfer *x);
	void (*kick)(struct paccel_engine *eng);
	void (*poll)(struct paccel_engine *eng);
	void (*halt)(struct paccel_engine *eng);
	int (*quiesce)(struct paccel_device *pd, unsigned int limit_ms);
	int (*reset)(struct paccel_device *pd);
	int (*reset_engine)(struct paccel_engine *eng);
	void (*dump)(struct paccel_device *pd, struct seq_buf *out);
};

/*
 * For probe(), of a card with an interrupt vector for each engine, from number @first on: requests
 * them, and checks the engine at each. They are given back as all that is managed.
 */
int paccel_engine_irqs(struct paccel_device *pd, unsigned int first);
/*
 * For the interrupt handler of a card: calls poll(), under the engine's lock. Returns whether that
 * has reported a completion. Any context; the engine's lock must not be held.
 */
bool paccel_xfer_check(struct paccel_engine *eng);
/*
 * For poll(): the transfer with this cookie has ended. @bytes: as many as the card says that it has
 * moved. @status: 0, -ECANCELED if it was linked and what it depended on had failed, or another
 * error. What matches no transfer in flight is counted and dropped; success of another length is
 * not believed.
 */
void paccel_xfer_done(struct paccel_engine *eng, u64 cookie, u64 bytes, int status);
/*
 * For poll(), before paccel_xfer_done() of a transfer that is verified: the CRC32C (initial value
 * and final inversion of all ones) of its bytes as the card has written them to its memory, or, of
 * D2H and CHECKSUM, read them from it. What matches no transfer in flight is dropped.
 */
void paccel_xfer_checksum(struct paccel_engine *eng, u64 cookie, u32 checksum);
/* For poll(): the card has said something that cannot be. It is counted. */
void paccel_xfer_bogus(struct paccel_engine *eng);
/* An interrupt that belongs to nothing is counted. Any context. */
void paccel_spurious_irq(struct paccel_device *pd);

/* For dump(): prints @bytes of registers, a multiple of 4, as words of 32 bits. */
void paccel_dump_words(struct seq_buf *out, const char *name, const void __iomem *from,
		       u32 bytes);

#endif /* PACCEL_BACKEND_H */
