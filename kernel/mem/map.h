/* SPDX-License-Identifier: GPL-2.0-only */
/* User mappings of device memory in a BAR (PACCEL_HW_MAPPABLE). */
#ifndef PACCEL_MAP_H
#define PACCEL_MAP_H

#include <linux/types.h>

struct paccel_buf;
struct paccel_ctx;
struct paccel_device;
struct vm_area_struct;

/* Allocate and free pd->inode, which all mappings share. _alloc() returns 0 or -errno. */
int paccel_map_alloc(struct paccel_device *pd);
void paccel_map_free(struct paccel_device *pd);
/* Called on bind and unbind; _enable() reserves device memory as write-combining. */
void paccel_map_enable(struct paccel_device *pd);
void paccel_map_disable(struct paccel_device *pd);
/* Returns whether the mmap() offset is one of device memory. */
bool paccel_map_owns_vma(const struct vm_area_struct *vma);
/* For the vm_ops of mappings that exist as a whole: munmap() of a part and mremap() fail. */
int paccel_map_may_split(struct vm_area_struct *vma, unsigned long addr);
int paccel_map_mremap(struct vm_area_struct *vma);
/* mmap() of device memory of a context, and of a dma-buf. mmap_lock is held for writing. */
int paccel_map_mmap(struct paccel_ctx *ctx, struct vm_area_struct *vma);
int paccel_map_buf(struct paccel_buf *buf, struct vm_area_struct *vma);
/*
 * Unmaps a range of device addresses, or all device memory, from all user mappings. A later access
 * faults again. _all() also waits for faults in progress. No lock of the driver is held, except
 * pd->reset_lock for _all(). May sleep.
 */
void paccel_map_zap(struct paccel_device *pd, u64 addr, u64 size);
void paccel_map_zap_all(struct paccel_device *pd);

#endif
