/* SPDX-License-Identifier: GPL-2.0-only */
/* The backends that are part of this module. */
#ifndef PACCEL_BACKENDS_H
#define PACCEL_BACKENDS_H

#include <linux/mod_devicetable.h>

struct paccel_hw_ops;

extern const struct paccel_hw_ops paccel_edu;
extern const struct paccel_hw_ops paccel_ring;
/* PCI IDs of these backends. driver_data points to the struct paccel_hw_ops. */
extern const struct pci_device_id paccel_pci_ids[];

#endif
