/* SPDX-License-Identifier: GPL-2.0-only */
/* The kinds of cards that there are. */
#ifndef PACCEL_TABLE_H
#define PACCEL_TABLE_H

struct paccel_hw_ops;
struct pci_device_id;

extern const struct paccel_hw_ops paccel_edu;
extern const struct paccel_hw_ops paccel_ring;
extern const struct pci_device_id paccel_pci_ids[];

#endif
