// SPDX-License-Identifier: GPL-2.0-only
/* Interrupts of engines that have a vector each. */
#include <linux/interrupt.h>
#include <linux/pci.h>

#include "core/device.h"
#include "exec/engine.h"
#include "include/paccel.h"

static irqreturn_t engine_irq(int irq, void *eng)
{
	/* One may stand for several ends, and the next one find nothing. */
	paccel_xfer_check(eng);
	return IRQ_HANDLED;
}

static void free_vectors(void *pdev)
{
	pci_free_irq_vectors(pdev);
}

int paccel_engine_irqs(struct paccel_device *pd, unsigned int first)
{
	unsigned int i, nr = first + pd->info.engines;
	int ret = pci_alloc_irq_vectors(pd->pdev, nr, nr, PCI_IRQ_MSIX | PCI_IRQ_MSI);

	if (ret < 0)
		return dev_err_probe(&pd->pdev->dev, ret, "no %u MSI-X or MSI vectors\n", nr);
	ret = devm_add_action_or_reset(&pd->pdev->dev, free_vectors, pd->pdev);
	for (i = 0; !ret && i < pd->info.engines; i++) {
		unsigned int cpu = cpumask_local_spread(i, dev_to_node(&pd->pdev->dev));
		int irq = pci_irq_vector(pd->pdev, first + i);

		ret = devm_request_irq(&pd->pdev->dev, irq, engine_irq, 0, dev_name(&pd->dev),
				       &pd->engines[i]);
		/* As paccel_engine_choose() hopes; but everything works on any CPU. */
		if (!ret)
			irq_set_affinity(irq, cpumask_of(cpu));
	}
	return ret;
}
