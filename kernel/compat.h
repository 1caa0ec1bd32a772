/* SPDX-License-Identifier: GPL-2.0-only */
/* The only place that knows kernel versions. Each block names the change that made it necessary. */
#ifndef PACCEL_COMPAT_H
#define PACCEL_COMPAT_H

#include <linux/cleanup.h>
#include <linux/mm.h>
#include <linux/pci.h>
#include <linux/version.h>

#define PACCEL_BEFORE(major, minor) (LINUX_VERSION_CODE < KERNEL_VERSION(major, minor, 0))

#ifndef CONFIG_64BIT
#error "paccel needs a 64-bit kernel: bus and user addresses are kept in unsigned long"
#endif
#ifndef CONFIG_MMU_NOTIFIER
#error "paccel needs CONFIG_MMU_NOTIFIER: registered memory is watched for unmapping"
#endif
#if PACCEL_BEFORE(6, 1)
#error "paccel supports kernels from 6.1 on"
#endif

/*
 * 6.2: struct class.devnode takes a const device ("driver core: make struct class.devnode() take
 * a const *").
 */
#if PACCEL_BEFORE(6, 2)
#define PACCEL_DEVNODE_CONST
#else
#define PACCEL_DEVNODE_CONST const
#endif

/*
 * 6.3: vm_flags became read-only outside of helpers ("mm: introduce vma->vm_flags wrapper
 * functions").
 */
#if PACCEL_BEFORE(6, 3)
static inline void vm_flags_set(struct vm_area_struct *vma, unsigned long flags)
{
	vma->vm_flags |= flags;
}
#endif

/* 6.8: PCI_IRQ_LEGACY got its new name ("PCI: Rename PCI_IRQ_LEGACY to PCI_IRQ_INTX"). */
#ifndef PCI_IRQ_INTX
#define PCI_IRQ_INTX PCI_IRQ_LEGACY
#endif

#endif /* PACCEL_COMPAT_H */
