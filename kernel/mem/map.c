// SPDX-License-Identifier: GPL-2.0-only
/*
 * User mappings of device memory.
 *
 * A mapping covers a range of device addresses. The allocation is looked up at each page fault; if
 * the context has none at the address, the process gets SIGBUS. Lookup and insertion of the page
 * are one step under ctx->lock. So once an allocation has been removed from its context and zapped,
 * no page of it is mapped there, and the memory can be given to another context.
 *
 * All mappings of a device, through any node or dma-buf, use one inode of the driver, since zapping
 * is by inode and a node that was made with mknod() has an inode of its own.
 */
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/mount.h>
#include <linux/pci.h>
#include <linux/pseudo_fs.h>
#include <linux/sizes.h>

#include "core/compat.h"
#include "core/ctx.h"
#include "core/device.h"
#include "core/range.h"
#include "include/paccel.h"
#include "mem/map.h"
#include "mem/pool.h"

#define PACCEL_FS_MAGIC 0x70616363
/* Bytes that are mapped at one page fault, if they are in the same allocation. */
#define PACCEL_FAULT_AROUND SZ_64K

static struct vfsmount *map_fs_mount;
static int map_fs_count;

static int map_fs_init_context(struct fs_context *fc)
{
	return init_pseudo(fc, PACCEL_FS_MAGIC) ? 0 : -ENOMEM;
}

/*
 * No owner, since the mount would then keep the module loaded while a device exists. The last
 * device unmounts it, and the module's exit waits for all devices to be released.
 */
static struct file_system_type map_fs_type = {
	.name = "paccel",
	.init_fs_context = map_fs_init_context,
	.kill_sb = kill_anon_super,
};

int paccel_map_alloc(struct paccel_device *pd)
{
	struct inode *inode;
	int ret = simple_pin_fs(&map_fs_type, &map_fs_mount, &map_fs_count);

	if (ret)
		return ret;
	inode = alloc_anon_inode(map_fs_mount->mnt_sb);
	if (IS_ERR(inode)) {
		simple_release_fs(&map_fs_mount, &map_fs_count);
		return PTR_ERR(inode);
	}
	pd->inode = inode;
	return 0;
}

/* Also called if paccel_map_alloc() has failed or was not called. No file is open any more. */
void paccel_map_free(struct paccel_device *pd)
{
	if (!pd->inode)
		return;
	iput(pd->inode);
	simple_release_fs(&map_fs_mount, &map_fs_count);
}

/*
 * Without the reservation, x86 maps the range uncached even if the page protection asks for
 * write-combining. A failure makes accesses slow, and is no error.
 */
void paccel_map_enable(struct paccel_device *pd)
{
	const struct paccel_hw_info *info = &pd->hw.info;

	if (!paccel_mappable(pd))
		return;
	pd->mem_phys = pci_resource_start(pd->hw.pdev, info->mem_bar) + info->mem_offset;
	pd->write_combined = !arch_io_reserve_memtype_wc(pd->mem_phys, info->mem_size);
	if (!pd->write_combined)
		dev_info(&pd->dev, "device memory is mapped uncached, which is slow\n");
}

/* No page is mapped any more. */
void paccel_map_disable(struct paccel_device *pd)
{
	if (pd->write_combined)
		arch_io_free_memtype_wc(pd->mem_phys, pd->hw.info.mem_size);
}

/*
 * The offset is the same in every file, so that a range of the inode is a range of device memory.
 */
static u64 map_offset(u64 addr)
{
	return PACCEL_MMAP_DEVICE + addr;
}

/* Returns the device address that the user address @user is mapped to. */
static u64 map_device_addr(const struct vm_area_struct *vma, unsigned long user)
{
	return ((u64)vma->vm_pgoff << PAGE_SHIFT) - PACCEL_MMAP_DEVICE + (user - vma->vm_start);
}

void paccel_map_zap(struct paccel_device *pd, u64 addr, u64 size)
{
	unmap_mapping_range(pd->inode->i_mapping, map_offset(addr), size, 1);
}

/*
 * Waits for page faults that may not have seen the reason for the zap. None of them waits for the
 * device or for a process.
 */
void paccel_map_zap_all(struct paccel_device *pd)
{
	if (!paccel_mappable(pd))
		return;
	synchronize_srcu(&paccel_srcu);
	paccel_map_zap(pd, PACCEL_MEM_BASE, pd->hw.info.mem_size);
}

/*
 * Maps the page that was accessed, and pages around it that are in the same allocation. The caller
 * prevents @buf from being freed.
 */
static vm_fault_t map_insert_pages(struct vm_fault *vmf, const struct paccel_buf *buf)
{
	struct vm_area_struct *vma = vmf->vma;
	u64 at = map_device_addr(vma, vmf->address & PAGE_MASK);
	u64 from = max3(round_down(at, PACCEL_FAULT_AROUND), buf->start,
			map_device_addr(vma, vma->vm_start));
	u64 to = min3(round_down(at, PACCEL_FAULT_AROUND) + PACCEL_FAULT_AROUND,
		      buf->start + buf->size, map_device_addr(vma, vma->vm_end));
	unsigned long user = vma->vm_start + (from - map_device_addr(vma, vma->vm_start));
	unsigned long pfn = PHYS_PFN(buf->pd->mem_phys + (from - PACCEL_MEM_BASE));
	vm_fault_t ret = VM_FAULT_NOPAGE;

	for (; from < to && ret == VM_FAULT_NOPAGE; from += PAGE_SIZE, user += PAGE_SIZE)
		ret = vmf_insert_pfn(vma, user, pfn++);
	return ret;
}

/*
 * Returns the allocation of the context at @addr, or NULL, and marks its map so that
 * paccel_mem_drop() zaps it. ctx->lock is held until the page has been inserted.
 */
static const struct paccel_buf *map_touch(struct paccel_ctx *ctx, u64 addr)
{
	struct paccel_mem_ref *map;
	/* The granule is at least a page, so the whole page is in the allocation. */
	struct paccel_range *range = paccel_range_find(&ctx->maps, addr, 1);

	if (!range)
		return NULL;
	map = container_of(range, struct paccel_mem_ref, range);
	map->touched = true;
	return map->buf;
}

static vm_fault_t map_fault(struct vm_fault *vmf)
{
	struct paccel_ctx *ctx = vmf->vma->vm_private_data;
	u64 addr = map_device_addr(vmf->vma, vmf->address & PAGE_MASK);
	vm_fault_t ret = VM_FAULT_SIGBUS;
	const struct paccel_buf *buf;
	int idx;

	if (!paccel_enter(ctx->pd, &idx))
		return VM_FAULT_SIGBUS;
	mutex_lock(&ctx->lock);
	buf = READ_ONCE(ctx->lost) ? NULL : map_touch(ctx, addr);
	if (buf)
		ret = map_insert_pages(vmf, buf);
	mutex_unlock(&ctx->lock);
	paccel_exit(idx);
	return ret;
}

int paccel_map_may_split(struct vm_area_struct *vma, unsigned long addr)
{
	return -EINVAL;
}

int paccel_map_mremap(struct vm_area_struct *vma)
{
	return -EINVAL;
}

static const struct vm_operations_struct map_vm_ops = {
	.fault = map_fault,
	.may_split = paccel_map_may_split,
	.mremap = paccel_map_mremap,
};

bool paccel_map_owns_vma(const struct vm_area_struct *vma)
{
	return vma->vm_pgoff >= PHYS_PFN(PACCEL_MMAP_DEVICE);
}

/* Sets up a mapping of device memory; @flags are added to vma->vm_flags. */
static int map_prepare(struct vm_area_struct *vma, unsigned long flags)
{
	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC)
		return -EACCES;
	vm_flags_clear(vma, VM_MAYEXEC);
	vm_flags_set(vma, VM_PFNMAP | VM_IO | VM_DONTEXPAND | VM_DONTDUMP | flags);
	vma->vm_page_prot = pgprot_decrypted(pgprot_writecombine(vma->vm_page_prot));
	return 0;
}

/*
 * Any range of device memory can be mapped, allocated or not, since allocations are looked up at
 * page faults. The mapping holds the file, and the file the context.
 */
int paccel_map_mmap(struct paccel_ctx *ctx, struct vm_area_struct *vma)
{
	u64 offset = map_device_addr(vma, vma->vm_start) - PACCEL_MEM_BASE;
	u64 length = vma->vm_end - vma->vm_start;
	struct paccel_device *pd = ctx->pd;
	int ret;

	if (!paccel_mappable(pd))
		return -EOPNOTSUPP;
	if (offset >= pd->hw.info.mem_size || length > pd->hw.info.mem_size - offset)
		return -EINVAL;
	ret = map_prepare(vma, VM_DONTCOPY);
	if (ret)
		return ret;
	vma->vm_private_data = ctx;
	vma->vm_ops = &map_vm_ops;
	return 0;
}

/* --- dma-bufs of device memory --- */

/*
 * The mapping holds a reference on the dma-buf, and the dma-buf one on the memory. So the memory
 * stays allocated until the device is removed or has lost it.
 */
static vm_fault_t map_buf_fault(struct vm_fault *vmf)
{
	const struct paccel_buf *buf = vmf->vma->vm_private_data;
	vm_fault_t ret = VM_FAULT_SIGBUS;
	int idx;

	if (!paccel_enter(buf->pd, &idx))
		return VM_FAULT_SIGBUS;
	if (buf->generation == READ_ONCE(buf->pd->pool->generation))
		ret = map_insert_pages(vmf, buf);
	paccel_exit(idx);
	return ret;
}

static const struct vm_operations_struct map_buf_vm_ops = {
	.fault = map_buf_fault,
};

/* mmap() of a dma-buf. The core has checked the range, and the file uses pd->inode. */
int paccel_map_buf(struct paccel_buf *buf, struct vm_area_struct *vma)
{
	int ret;

	if (!paccel_mappable(buf->pd))
		return -EOPNOTSUPP;
	ret = map_prepare(vma, 0);
	if (ret)
		return ret;
	vma->vm_pgoff += PHYS_PFN(map_offset(buf->start));
	vma->vm_private_data = buf;
	vma->vm_ops = &map_buf_vm_ops;
	return 0;
}
