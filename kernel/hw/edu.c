// SPDX-License-Identifier: GPL-2.0-only
/*
 * QEMU's edu device: 4 KiB of memory that only DMA can access, one engine, 100 ms per request, no
 * abort, no error status. All numbers are from QEMU's docs/specs/edu.rst and hw/misc/edu.c.
 */
#include <linux/dma-mapping.h>
#include <linux/dmi.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/iopoll.h>
#include <linux/module.h>
#include <linux/pci.h>

#include "hw/backends.h"
#include "include/paccel.h"

#define EDU_ID			0x00
#define EDU_ID_MASK		0xffff
#define EDU_ID_VALUE		0x00ed
#define EDU_LIVENESS		0x04
#define EDU_IRQ_STATUS		0x24
#define EDU_IRQ_ACK		0x64
#define EDU_IRQ_DMA		0x100
#define EDU_DMA_SRC		0x80
#define EDU_DMA_DST		0x88
#define EDU_DMA_COUNT		0x90
#define EDU_DMA_CMD		0x98
#define EDU_DMA_RUN		BIT(0)
#define EDU_DMA_TO_HOST		BIT(1)
#define EDU_DMA_IRQ		BIT(2)

/* The device's own address of its memory in DMA requests; it is not in the BAR. */
#define EDU_BUF			0x40000
#define EDU_GRANULE		64
#define EDU_MEM_SIZE		(64 * EDU_GRANULE)
/* QEMU up to 8.2.0 aborts on a request that includes the last byte: one granule less. */
#define EDU_MEM_SIZE_OLD	(63 * EDU_GRANULE)
/* The first major version of QEMU whose edu accepts requests that include the last byte. */
#define EDU_QEMU_FIXED		9

#define EDU_GONE		(~0u)

static unsigned int edu_dma_bits = 28;
module_param(edu_dma_bits, uint, 0444);
MODULE_PARM_DESC(edu_dma_bits, "edu: width of its bus addresses, as its property dma_mask says (28)");

struct edu {
	void __iomem *bar;
	u32 mem_size;
	bool master;	/* this and all below: under the engine's lock, or the engine is held */
	bool started;
	u64 cookie;
	u32 len;
};

/*
 * With bus mastering off, a request completes without copying anything, and the device reports no
 * error. While configuration space does not respond (see core/bus_master.c), bus mastering cannot
 * be changed, and what was read last counts. If the device is absent, the caller has read that from
 * a register.
 */
static bool edu_bus_master(struct paccel_hw *hw)
{
	struct edu *edu = hw->priv;
	u16 command;

	if (!pci_read_config_word(hw->pdev, PCI_COMMAND, &command) && !PCI_POSSIBLE_ERROR(command))
		edu->master = command & PCI_COMMAND_MASTER;
	return edu->master;
}

static int edu_start(struct paccel_hw *hw, unsigned int engine, const struct paccel_xfer *x)
{
	struct edu *edu = hw->priv;
	bool to_host = x->op == PACCEL_XFER_D2H;
	u64 mem = EDU_BUF + x->dev, host;
	struct paccel_seg seg = x->segs;
	u32 cmd;

	/*
	 * A range that is out of bounds makes QEMU abort or overrun its own memory, so it is
	 * checked here in any case.
	 */
	if (WARN_ON_ONCE(!x->len || x->dev > edu->mem_size || x->len > edu->mem_size - x->dev))
		return -EIO;
	if (WARN_ON_ONCE(!paccel_seg_next(&seg) || seg.len != x->len))
		return -EIO;
	host = seg.addr;
	if (WARN_ON_ONCE((host + x->len - 1) & ~DMA_BIT_MASK(hw->info.dma_bits)))
		return -EIO;

	cmd = readl(edu->bar + EDU_DMA_CMD);
	if (cmd == EDU_GONE)
		return -EIO;
	/* The device ignores a request that is started while another one runs. */
	if (cmd & EDU_DMA_RUN)
		return -EBUSY;
	if (!edu_bus_master(hw))
		return -EIO;

	/* The address registers need one 8-byte write; two 4-byte writes do not work. */
	writeq(to_host ? mem : host, edu->bar + EDU_DMA_SRC);
	writeq(to_host ? host : mem, edu->bar + EDU_DMA_DST);
	writel(x->len, edu->bar + EDU_DMA_COUNT);
	writel(EDU_DMA_RUN | EDU_DMA_IRQ | (to_host ? EDU_DMA_TO_HOST : 0),
	       edu->bar + EDU_DMA_CMD);
	edu->started = true;
	edu->cookie = x->cookie;
	edu->len = x->len;
	return 0;
}

static void edu_poll(struct paccel_hw *hw, unsigned int engine)
{
	struct edu *edu = hw->priv;

	/* A device that is absent reads all ones, with RUN set: the request counts as running. */
	if (!edu->started || readl(edu->bar + EDU_DMA_CMD) & EDU_DMA_RUN)
		return;
	edu->started = false;
	paccel_xfer_done(hw, engine, edu->cookie, edu->len, edu_bus_master(hw) ? 0 : -EIO);
}

static irqreturn_t edu_irq(int irq, void *data)
{
	struct paccel_hw *hw = data;
	struct edu *edu = hw->priv;
	u32 status = readl(edu->bar + EDU_IRQ_STATUS);

	/* All status bits can be pending at once, so the ID shows whether the device is absent. */
	if (!status || (status == EDU_GONE && readl(edu->bar + EDU_ID) == EDU_GONE))
		return IRQ_NONE;
	writel(status, edu->bar + EDU_IRQ_ACK);

	/*
	 * A write to the raise register makes this interrupt, too. edu_poll() checks what has
	 * completed.
	 */
	if (!(status & EDU_IRQ_DMA) || !paccel_xfer_check(hw, 0))
		paccel_spurious_irq(hw);
	return IRQ_HANDLED;
}

static int edu_quiesce(struct paccel_hw *hw, unsigned int limit_ms)
{
	struct edu *edu = hw->priv;
	u32 cmd;
	int ret;

	ret = readl_poll_timeout(edu->bar + EDU_DMA_CMD, cmd,
				 cmd == EDU_GONE || !(cmd & EDU_DMA_RUN),
				 1000, limit_ms * 1000ULL);
	if (ret)
		return ret;
	/* That the device does not respond does not prove that it no longer writes. */
	if (cmd == EDU_GONE)
		return -ENODEV;
	writel(~0u, edu->bar + EDU_IRQ_ACK);
	return 0;
}

/* Returns -ENODEV if the device does not respond as an edu does. */
static int edu_alive(struct edu *edu)
{
	static const u32 probe = 0x5aa5c33c;

	if ((readl(edu->bar + EDU_ID) & EDU_ID_MASK) != EDU_ID_VALUE)
		return -ENODEV;
	writel(probe, edu->bar + EDU_LIVENESS);
	return readl(edu->bar + EDU_LIVENESS) == ~probe ? 0 : -ENODEV;
}

/* The device has no reset. It is ready if it is idle, responds and is bus master. */
static int edu_reset(struct paccel_hw *hw)
{
	struct edu *edu = hw->priv;
	int ret = edu_alive(edu);

	if (ret)
		return ret;
	writel(~0u, edu->bar + EDU_IRQ_ACK);
	edu->started = false;
	ret = paccel_bus_master(hw->pdev, true);
	edu->master = !ret;
	return ret;
}

/* All registers except the addresses of the request. */
static void edu_dump(struct paccel_hw *hw, struct seq_buf *out)
{
	struct edu *edu = hw->priv;

	paccel_dump_words(out, "id", edu->bar + EDU_ID, 8);
	paccel_dump_words(out, "interrupts", edu->bar + EDU_IRQ_STATUS, 4);
	paccel_dump_words(out, "count", edu->bar + EDU_DMA_COUNT, 4);
	paccel_dump_words(out, "command", edu->bar + EDU_DMA_CMD, 4);
}

static void edu_free_vectors(void *pdev)
{
	pci_free_irq_vectors(pdev);
}

static int edu_request_irq(struct paccel_hw *hw)
{
	struct device *dev = &hw->pdev->dev;
	int ret = pci_alloc_irq_vectors(hw->pdev, 1, 1, PCI_IRQ_ALL_TYPES);

	if (ret < 0)
		return ret;
	ret = devm_add_action_or_reset(dev, edu_free_vectors, hw->pdev);
	return ret ?: devm_request_irq(dev, pci_irq_vector(hw->pdev, 0), edu_irq, IRQF_SHARED,
				       pci_name(hw->pdev), hw);
}

/*
 * No register has the version of QEMU, but the name of the machine is that of its type, such as
 * "pc-q35-9.0", and no QEMU has a machine type of a later version than its own. A name of another
 * form, as distributions give, and a type of an old version mean the smaller size.
 */
static u32 edu_mem_size(void)
{
	const char *vendor = dmi_get_system_info(DMI_SYS_VENDOR);
	const char *machine = dmi_get_system_info(DMI_PRODUCT_VERSION);
	unsigned int major, minor;

	if (vendor && !strcmp(vendor, "QEMU") && machine &&
	    (sscanf(machine, "pc-q35-%u.%u", &major, &minor) == 2 ||
	     sscanf(machine, "pc-i440fx-%u.%u", &major, &minor) == 2 ||
	     sscanf(machine, "virt-%u.%u", &major, &minor) == 2) && major >= EDU_QEMU_FIXED)
		return EDU_MEM_SIZE;
	return EDU_MEM_SIZE_OLD;
}

static int edu_probe(struct paccel_hw *hw)
{
	struct device *dev = &hw->pdev->dev;
	u32 mem_size = edu_mem_size();
	struct edu *edu;
	int ret;

	if (edu_dma_bits < 28 || edu_dma_bits > 64)
		return dev_err_probe(dev, -EINVAL, "edu_dma_bits=%u: must be 28 to 64\n",
				     edu_dma_bits);
	hw->info = (struct paccel_hw_info) {
		.mem_size = mem_size,
		.granule = EDU_GRANULE,
		.max_xfer = mem_size,
		.max_segs = 1,
		.depth = 1,
		.dma_bits = edu_dma_bits,
		.engines = 1,
		.flags = PACCEL_HW_MEM_SURVIVES | PACCEL_HW_BM_STOPS,
	};
	ret = dma_set_mask_and_coherent(dev, DMA_BIT_MASK(edu_dma_bits));
	if (ret)
		return dev_err_probe(dev, ret, "no DMA with %u address bits\n", edu_dma_bits);

	edu = devm_kzalloc(dev, sizeof(*edu), GFP_KERNEL);
	if (!edu)
		return -ENOMEM;
	hw->priv = edu;
	edu->mem_size = mem_size;
	/* The core turns it on after this function. */
	edu->master = true;
	edu->bar = pcim_iomap(hw->pdev, 0, 0);
	if (!edu->bar)
		return -ENOMEM;
	ret = edu_alive(edu);
	if (ret)
		return dev_err_probe(dev, ret, "BAR 0 does not respond as an edu device does\n");
	/*
	 * State survives resets and a change of driver: an earlier request may still run, and an
	 * earlier interrupt may be pending.
	 */
	ret = paccel_quiesce(hw);
	if (ret)
		return dev_err_probe(dev, ret, "a DMA request of an earlier driver does not end\n");
	return edu_request_irq(hw);
}

const struct paccel_hw_ops paccel_edu = {
	.name = "edu",
	.probe = edu_probe,
	.start = edu_start,
	.poll = edu_poll,
	.quiesce = edu_quiesce,
	.reset = edu_reset,
	.dump = edu_dump,
};
