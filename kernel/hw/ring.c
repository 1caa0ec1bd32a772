// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ring device: memory in a BAR, 1 to 8 engines with a ring of descriptors and an interrupt
 * vector each. All numbers are from its data sheet, Documentation/ringdev.md.
 */
#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/iopoll.h>
#include <linux/pci.h>
#include <linux/seq_buf.h>
#include <linux/sizes.h>

#include "hw/backends.h"
#include "include/paccel.h"

#define RING_DOORBELL		0x0c	/* in BAR 0: BIT(16) | n rings doorbell n */

/* BAR 2: registers of the device, and of an engine in the page of the engine */
enum {
	RING_MAGIC = 0x00, RING_VERSION = 0x04, RING_CAPS = 0x08, RING_ENGINES = 0x0c,
	RING_MEM_OFFSET = 0x10, RING_MEM_SIZE = 0x18, RING_MAX_XFER = 0x20,
	RING_MAX_SEGMENTS = 0x24, RING_ENTRIES = 0x28, RING_DMA_BITS = 0x2c,
	RING_STATUS = 0x80, RING_COMMAND_DONE = 0x88 /* of the device, or of an engine */,
	RING_CONTROL = 0x100, RING_COMMAND = 0x104, RING_BAR_ADDRESS = 0x108,
};

enum {
	RING_SQ_TAIL = 0x00, RING_CQ_HEAD = 0x04, RING_ENGINE_COMMAND = 0x08,
	RING_CQ_TAIL = 0x84, RING_GENERATION = 0x90, RING_ENGINE_STATUS = 0x94,
};

enum { RING_RUNNING = 1, RING_HALTED = 2 /* engines */, RING_OK = 1, RING_CANCELLED = 13 };

#define RING_CONTROL_SIZE	SZ_1M

#define RING_STATUS_MASTER	BIT(1)
#define RING_CONTROL_MASTER	BIT(0)
#define RING_COMMAND_RESET	2
#define RING_COMMAND_TAG	BIT(8)
#define RING_MAGIC_VALUE	0x474e4952
#define RING_MAJOR		1
/* Lists, D2D, FILL and checksums are required; the other known bits are optional. */
#define RING_CAPS_NEEDED	0x0f
#define RING_CAPS_KNOWN		0x7f
#define RING_CAP_MEM_SURVIVES	BIT(5)
#define RING_CAP_LINK		BIT(6)

/* Word 0 of a descriptor: opcode, flags, pieces from bit 16, generation from bit 32. */
#define RING_FLAG_IRQ		BIT_ULL(8 + 0)
#define RING_FLAG_LIST		BIT_ULL(8 + 1)
#define RING_FLAG_CHECKSUM	BIT_ULL(8 + 2)
#define RING_FLAG_LINK		BIT_ULL(8 + 5)
/* Of descriptors and completions. */
#define RING_WORDS		8
#define RING_GONE		(~0u)
#define RING_DEPTH		64	/* per engine, whose rings have at least as many entries */
#define RING_SEGS		256

/* Under the engine's lock, or while the engine is held. */
struct ring_engine {
	void __iomem *regs, *sq, *cq;
	u64 last;	/* word 0 of the last descriptor */
	u32 generation, sq_tail, cq_head, first_cookie;
};

struct ring {
	void __iomem *doorbell, *regs;
	u32 entries;
	struct ring_engine engines[PACCEL_MAX_ENGINES];
};

static struct ring_engine *ring_engine(struct paccel_hw *hw, unsigned int engine)
{
	struct ring *ring = hw->priv;

	return &ring->engines[engine];
}

static void __iomem *ring_entry(struct ring *ring, void __iomem *base, u32 index)
{
	return base + index % ring->entries * RING_WORDS * sizeof(u64);
}

static void ring_bell(struct ring *ring, unsigned int number)
{
	writel(BIT(16) | number, ring->doorbell + RING_DOORBELL);
}

/* Returns the bus address of the host memory, or of a list of its segments. */
static u64 ring_host(const struct paccel_xfer *x, u64 *head)
{
	struct paccel_seg seg = x->segs;
	__le64 *list = x->list;

	if (x->nr_segs == 1 && paccel_seg_next(&seg))
		return seg.addr;
	*head |= RING_FLAG_LIST | (u64)x->nr_segs << 16;
	while (paccel_seg_next(&seg)) {
		*list++ = cpu_to_le64(seg.addr);
		*list++ = cpu_to_le64(seg.len);
	}
	return x->list_dma;
}

static int ring_start(struct paccel_hw *hw, unsigned int engine, const struct paccel_xfer *x)
{
	static const u8 opcodes[] = {
		[PACCEL_XFER_H2D] = 1, [PACCEL_XFER_D2H] = 2, [PACCEL_XFER_D2D] = 3,
		[PACCEL_XFER_FILL] = 4, [PACCEL_XFER_CHECKSUM] = 5,
	};
	struct ring_engine *re = ring_engine(hw, engine);
	void __iomem *entry = ring_entry(hw->priv, re->sq, re->sq_tail);
	u64 d[RING_WORDS] = { };
	unsigned int i;

	d[0] = opcodes[x->op] | (x->quiet ? 0 : RING_FLAG_IRQ) | (u64)re->generation << 32 |
	       (x->linked ? RING_FLAG_LINK : 0) | (x->verify ? RING_FLAG_CHECKSUM : 0);
	d[1] = x->cookie;
	d[2] = x->op == PACCEL_XFER_H2D ? ring_host(x, &d[0]) :
	       x->op == PACCEL_XFER_D2H ? x->dev : x->dev_src;
	d[3] = x->op == PACCEL_XFER_D2H ? ring_host(x, &d[0]) : x->dev;
	d[4] = x->len;
	if (x->op == PACCEL_XFER_FILL) {
		/* The pattern has 1, 2, 4 or 8 bytes, and the length is a multiple of that. */
		d[6] = 1 << min(__ffs(x->len), 3ul);
		d[5] = x->pattern & (~0ULL >> (64 - d[6] * 8));
	}
	for (i = 0; i < RING_WORDS; i++)
		writeq(d[i], entry + i * sizeof(u64));
	re->last = d[0];
	re->first_cookie = x->cookie - re->sq_tail++;
	return 0;
}

static void ring_kick(struct paccel_hw *hw, unsigned int engine)
{
	struct ring_engine *re = ring_engine(hw, engine);

	/* The last request always has a completion interrupt, even if it is quiet. */
	writeq(re->last | RING_FLAG_IRQ, ring_entry(hw->priv, re->sq, re->sq_tail - 1));
	/* Pairs with the device's read of SQ_TAIL: descriptors and data are visible before. */
	wmb();
	writel(re->sq_tail, re->regs + RING_SQ_TAIL);
	/*
	 * Pairs with the device's barrier between its write of STATUS and its last read of
	 * SQ_TAIL: an engine that reports after this barrier that it runs will read the index
	 * again.
	 */
	mb();
	if (readl(re->regs + RING_ENGINE_STATUS) != RING_RUNNING)
		ring_bell(hw->priv, 1 + engine);
}

static void ring_poll(struct paccel_hw *hw, unsigned int engine)
{
	struct ring *ring = hw->priv;
	struct ring_engine *re = ring_engine(hw, engine);
	u32 status, tail = readl(re->regs + RING_CQ_TAIL);
	u64 c[RING_WORDS];
	unsigned int i;

	/* A device that is absent reads all ones, which reports no completion. */
	if (tail == re->cq_head || tail - re->cq_head > ring->entries)
		return;
	/*
	 * Pairs with the device's write of CQ_TAIL behind completions and data, which are read
	 * after the index. Not dma_rmb(), since the completions are in the BAR.
	 */
	rmb();
	for (; re->cq_head != tail; re->cq_head++) {
		for (i = 0; i < RING_WORDS; i++)
			c[i] = readq(ring_entry(ring, re->cq, re->cq_head) + i * sizeof(u64));
		status = c[1] >> 32;
		/*
		 * A completion is valid if its number and generation are right, and its cookie is
		 * that of its descriptor.
		 */
		if ((u32)c[5] != re->cq_head || (u32)c[1] != re->generation ||
		    (u32)c[0] != re->first_cookie + (u32)(c[5] >> 32)) {
			paccel_xfer_bogus(hw, engine);
			continue;
		}
		paccel_xfer_checksum(hw, engine, c[0], c[4]);
		paccel_xfer_done(hw, engine, c[0], c[2], status == RING_OK ? 0 :
				 status == RING_CANCELLED ? -ECANCELED : -EIO);
	}
	writel(tail, re->regs + RING_CQ_HEAD);
}

static int ring_wait(void __iomem *reg, u32 mask, u32 want, u64 us)
{
	u32 value;
	int ret;

	ret = readl_poll_timeout(reg, value, value == RING_GONE || (value & mask) == want, 10, us);
	return value == RING_GONE ? -ENODEV : ret;
}

/* Resets the device or an engine, and waits until it reports the end of the reset. May sleep. */
static int ring_command_reset(struct ring *ring, unsigned int bell, void __iomem *regs,
			      unsigned int command, unsigned int limit_ms)
{
	u32 code = readl(regs + RING_COMMAND_DONE);

	if (code == RING_GONE)
		return -ENODEV;
	code = ((code + RING_COMMAND_TAG) & ~(RING_COMMAND_TAG - 1)) | RING_COMMAND_RESET;
	writel(code, regs + command);
	ring_bell(ring, bell);
	return ring_wait(regs + RING_COMMAND_DONE, ~0u, code, limit_ms * 1000ULL);
}

/* A reset sets the indices to 0. */
static int ring_begin(struct ring_engine *re)
{
	re->sq_tail = 0;
	re->cq_head = 0;
	re->generation = readl(re->regs + RING_GENERATION);
	return re->generation == RING_GONE ? -ENODEV : 0;
}

static int ring_reset_engine(struct paccel_hw *hw, unsigned int engine)
{
	struct ring_engine *re = ring_engine(hw, engine);
	struct ring *ring = hw->priv;
	int ret = ring_command_reset(ring, 1 + engine, re->regs, RING_ENGINE_COMMAND, 1000);

	/* If the bus master gate is off, the device has reset itself and needs ring_reset(). */
	return ret ?: readl(ring->regs + RING_STATUS) & RING_STATUS_MASTER ? ring_begin(re) : -EIO;
}

/* An invalid index makes the engine halt when it would fetch the next descriptor. */
static void ring_halt(struct paccel_hw *hw, unsigned int engine)
{
	struct ring_engine *re = ring_engine(hw, engine);

	writel(re->sq_tail + BIT(31), re->regs + RING_SQ_TAIL);
	ring_bell(hw->priv, 1 + engine);
	ring_wait(re->regs + RING_ENGINE_STATUS, ~0u, RING_HALTED, 20 * USEC_PER_MSEC);
}

/*
 * The reset aborts running requests, which the core repeats. Afterwards the bus master gate is off.
 */
static int ring_quiesce(struct paccel_hw *hw, unsigned int limit_ms)
{
	struct ring *ring = hw->priv;

	return ring_command_reset(ring, 0, ring->regs, RING_COMMAND, limit_ms);
}

static int ring_reset(struct paccel_hw *hw)
{
	struct ring *ring = hw->priv;
	unsigned int i;
	int ret = paccel_bus_master(hw->pdev, true);

	if (ret)
		return ret;
	writeq(pci_bus_address(hw->pdev, 2), ring->regs + RING_BAR_ADDRESS);
	writel(RING_CONTROL_MASTER, ring->regs + RING_CONTROL);
	ring_bell(ring, 0);
	/* Hardware responds at once; the model has taken more than a second on a loaded host. */
	ret = ring_wait(ring->regs + RING_STATUS, RING_STATUS_MASTER, RING_STATUS_MASTER,
			5 * USEC_PER_SEC);
	for (i = 0; !ret && i < hw->info.engines; i++)
		ret = ring_begin(&ring->engines[i]);
	return ret;
}

/* Prints no descriptors, since they contain bus addresses and patterns of users. */
static void ring_dump(struct paccel_hw *hw, struct seq_buf *out)
{
	struct ring *ring = hw->priv;
	struct ring_engine *re;
	unsigned int n;

	paccel_dump_words(out, "device", ring->regs, RING_BAR_ADDRESS);
	for (re = ring->engines; re < ring->engines + hw->info.engines; re++) {
		seq_buf_printf(out, "engine %zu: generation %u, sq_tail %u, cq_head %u\n",
			       re - ring->engines, re->generation, re->sq_tail, re->cq_head);
		paccel_dump_words(out, "registers", re->regs, 0xa0);
		for (n = 0; n < 16; n++)
			paccel_dump_words(out, "completion",
					  ring_entry(ring, re->cq, re->cq_head - 8 + n), 32);
	}
}

/* Checks that this is a ring device of a supported version, and fills hw->info. */
static int ring_check(struct paccel_hw *hw, struct ring *ring)
{
	u32 caps = readl(ring->regs + RING_CAPS), engines = readl(ring->regs + RING_ENGINES);
	u64 offset = readq(ring->regs + RING_MEM_OFFSET);
	u32 bits = readl(ring->regs + RING_DMA_BITS);
	const char *bad = NULL;

	ring->entries = readl(ring->regs + RING_ENTRIES);
	if (readl(ring->regs + RING_MAGIC) != RING_MAGIC_VALUE)
		bad = "MAGIC";
	else if (readl(ring->regs + RING_VERSION) >> 16 != RING_MAJOR)
		bad = "VERSION";
	else if (caps & ~RING_CAPS_KNOWN || ~caps & RING_CAPS_NEEDED)
		bad = "CAPS";
	else if (!engines || engines > PACCEL_MAX_ENGINES)
		bad = "ENGINES";
	else if (offset < RING_CONTROL_SIZE)
		bad = "MEM_OFFSET";
	else if (!bits || bits > 64)
		bad = "DMA_BITS";
	else if (!is_power_of_2(ring->entries) || ring->entries < RING_DEPTH || ring->entries > 256)
		bad = "ENTRIES";
	if (bad)
		return dev_err_probe(&hw->pdev->dev, -ENODEV,
				     "%s: not a ring device, or an unsupported version\n", bad);
	hw->info = (struct paccel_hw_info) {
		.mem_size = readq(ring->regs + RING_MEM_SIZE),
		.granule = PAGE_SIZE,
		.max_xfer = min_t(u32, readl(ring->regs + RING_MAX_XFER), PACCEL_MAX_XFER),
		.max_segs = min_t(u32, readl(ring->regs + RING_MAX_SEGMENTS), RING_SEGS),
		.depth = RING_DEPTH,
		.list_size = 2 * sizeof(__le64) * RING_SEGS,
		.dma_bits = bits,
		.engines = engines,
		.flags = PACCEL_HW_MAPPABLE | PACCEL_HW_D2D | PACCEL_HW_FILL | PACCEL_HW_CHECKSUM |
			 (caps & RING_CAP_MEM_SURVIVES ? PACCEL_HW_MEM_SURVIVES : 0) |
			 (caps & RING_CAP_LINK ? PACCEL_HW_LINK : 0),
		.mem_bar = 2,
		.mem_offset = offset,
	};
	return dma_set_mask_and_coherent(&hw->pdev->dev, DMA_BIT_MASK(bits));
}

static int ring_probe(struct paccel_hw *hw)
{
	struct device *dev = &hw->pdev->dev;
	struct ring *ring = devm_kzalloc(dev, sizeof(*ring), GFP_KERNEL);
	unsigned int i;
	int ret;

	if (!ring)
		return -ENOMEM;
	if (pci_resource_len(hw->pdev, 2) <= RING_CONTROL_SIZE)
		return dev_err_probe(dev, -ENODEV, "BAR 2 is too small for a ring device\n");
	hw->priv = ring;
	ring->doorbell = pcim_iomap(hw->pdev, 0, 0);
	ring->regs = pcim_iomap(hw->pdev, 2, RING_CONTROL_SIZE);
	if (!ring->doorbell || !ring->regs)
		return -ENOMEM;
	for (i = 0; i < PACCEL_MAX_ENGINES; i++) {
		ring->engines[i].regs = ring->regs + 0x1000 * (i + 1);
		ring->engines[i].sq = ring->regs + 0x10000 * (i + 1);
		ring->engines[i].cq = ring->engines[i].sq + 0x8000;
	}
	ret = ring_check(hw, ring);
	/* An earlier driver may have left requests running. */
	ret = ret ?: paccel_quiesce(hw);
	/*
	 * Vector 0 is for events of the device and unused: commands are polled for, and a halted
	 * engine is found by the watchdog.
	 */
	return ret ?: paccel_engine_irqs(hw, 1) ?: ring_reset(hw);
}

const struct paccel_hw_ops paccel_ring = {
	.name = "ring",
	.probe = ring_probe,
	.start = ring_start,
	.kick = ring_kick,
	.poll = ring_poll,
	.halt = ring_halt,
	.quiesce = ring_quiesce,
	.reset = ring_reset,
	.reset_engine = ring_reset_engine,
	.dump = ring_dump,
};
