// SPDX-License-Identifier: GPL-2.0-only
/* One row for each kind of card. */
#include <linux/module.h>
#include <linux/pci.h>

#include "hw.h"

const struct pci_device_id paccel_pci_ids[] = {
	/* QEMU's edu: the id stands in its docs/specs/edu.rst */
	{ PCI_DEVICE(0x1234, 0x11e8), .driver_data = (kernel_ulong_t)&paccel_edu },
	{ }
};
MODULE_DEVICE_TABLE(pci, paccel_pci_ids);
