// SPDX-License-Identifier: GPL-2.0-only
/* Interrupts of devices with one vector per engine. */
#include <linux/interrupt.h>
#include <linux/pci.h>

#include "core/compat.h"
#include "core/device.h"
#include "exec/engine.h"
#include "include/paccel.h"

static irqreturn_t engine_irq(int irq, void *data)
{
	struct paccel_engine *eng = data;

	/* One interrupt may report several completions, so that the next one finds none. */
	paccel_xfer_check(&eng->pd->hw, eng->id);
	return IRQ_HANDLED;
}

static void engine_free_vectors(void *pdev)
{
	pci_free_irq_vectors(pdev);
}

int paccel_engine_irqs(struct paccel_hw *hw, unsigned int first)
{
	unsigned int i, nr = first + hw->info.engines;
	struct device *dev = &hw->pdev->dev;
	int ret;

	/* Called in probe(), before info_check(). */
	if (!hw->info.engines || hw->info.engines > PACCEL_MAX_ENGINES)
		return dev_err_probe(dev, -EINVAL, "engines=%u: must be 1 to 8\n",
				     hw->info.engines);
	ret = pci_alloc_irq_vectors(hw->pdev, nr, nr, PCI_IRQ_MSIX | PCI_IRQ_MSI);
	if (ret < 0)
		return dev_err_probe(dev, ret, "no %u MSI-X or MSI vectors\n", nr);
	ret = devm_add_action_or_reset(dev, engine_free_vectors, hw->pdev);
	for (i = 0; !ret && i < hw->info.engines; i++) {
		unsigned int cpu = cpumask_local_spread(i, dev_to_node(dev));
		int irq = pci_irq_vector(hw->pdev, first + i);

		ret = devm_request_irq(dev, irq, engine_irq, 0, pci_name(hw->pdev),
				       paccel_engine_of(hw, i));
		/*
		 * paccel_engine_choose() assumes this affinity; it is a hint for performance only.
		 */
		if (!ret)
			irq_set_affinity(irq, cpumask_of(cpu));
	}
	return ret;
}
EXPORT_SYMBOL_PACCEL(paccel_engine_irqs);
