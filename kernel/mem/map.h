/* SPDX-License-Identifier: GPL-2.0-only */
/* Device memory that programs map. */
#ifndef PACCEL_MAP_H
#define PACCEL_MAP_H

#include <linux/types.h>

struct paccel_buf;
struct paccel_ctx;
struct paccel_device;
struct vm_area_struct;

int paccel_map_alloc(struct paccel_device *pd);
void paccel_map_free(struct paccel_device *pd);
void paccel_map_enable(struct paccel_device *pd);
void paccel_map_disable(struct paccel_device *pd);
bool paccel_map_owns_vma(const struct vm_area_struct *vma);
/* For the vm_ops of mappings that exist as a whole: munmap() of a part and mremap() fail. */
int paccel_map_may_split(struct vm_area_struct *vma, unsigned long addr);
int paccel_map_mremap(struct vm_area_struct *vma);
int paccel_map_mmap(struct paccel_ctx *ctx, struct vm_area_struct *vma);
int paccel_map_buf(struct paccel_buf *buf, struct vm_area_struct *vma);
void paccel_map_zap(struct paccel_device *pd, u64 addr, u64 size);
void paccel_map_zap_all(struct paccel_device *pd);

#endif
