// SPDX-License-Identifier: GPL-2.0-only
/*
 * One row for each kind of card. All of them have one driver, so that cards are numbered in the
 * order of the bus.
 */
#include <linux/module.h>
#include <linux/pci.h>

#include "hw/backends.h"

const struct pci_device_id paccel_pci_ids[] = {
	/* QEMU's edu: the id stands in its docs/specs/edu.rst */
	{ PCI_DEVICE(0x1234, 0x11e8), .driver_data = (kernel_ulong_t)&paccel_edu },
	/*
	 * QEMU's ivshmem, behind which a ring card may sit: docs/specs/ivshmem-spec.rst has the id.
	 * Others use it, too: probe() asks.
	 */
	{ PCI_DEVICE(0x1af4, 0x1110), .driver_data = (kernel_ulong_t)&paccel_ring },
	{ }
};
MODULE_DEVICE_TABLE(pci, paccel_pci_ids);
