// SPDX-License-Identifier: GPL-2.0-only
/*
 * PCI IDs of the backends in this module. They share one PCI driver, so that devices are numbered
 * in the order of the bus.
 */
#include <linux/module.h>
#include <linux/pci.h>

#include "hw/backends.h"

const struct pci_device_id paccel_pci_ids[] = {
	/* QEMU's edu: docs/specs/edu.rst */
	{ PCI_DEVICE(0x1234, 0x11e8), .driver_data = (kernel_ulong_t)&paccel_edu },
	/*
	 * QEMU's ivshmem, which a ring device is made of: docs/specs/ivshmem-spec.rst. Other
	 * devices have this ID, too, so probe() checks what it is.
	 */
	{ PCI_DEVICE(0x1af4, 0x1110), .driver_data = (kernel_ulong_t)&paccel_ring },
	{ }
};
MODULE_DEVICE_TABLE(pci, paccel_pci_ids);
