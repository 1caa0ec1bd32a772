// SPDX-License-Identifier: GPL-2.0-only
/*
 * User mappings of device memory.
 *
 * A mapping is a range of device addresses; the allocation is looked up at a page fault, and
 * without one the process gets SIGBUS. The lookup and the insertion of the page are one step under
 * ctx->lock. So when an allocation has been removed from the tree of a context and then zapped, no
 * page of it is left mapped there, and the memory can be given to another owner.
 *
 * All mappings of a device, of all its nodes and dma-bufs, are in one inode of the driver's own: a
 * node that was made with mknod() has another inode, and zapping is done by inode.
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
/* What is put in with the page that was touched, if it is the same allocation's: bytes. */
#define PACCEL_FAULT_AROUND SZ_64K

static struct vfsmount *map_fs_mount;
static int map_fs_count;

static int map_fs_init_context(struct fs_context *fc)
{
	return init_pseudo(fc, PACCEL_FS_MAGIC) ? 0 : -ENOMEM;
}

/*
 * Without an owner: the module would keep itself loaded as long as there is a card. The last card
 * unmounts it, and the module's exit waits for that one.
 */
static struct file_system_type map_fs_type = {
	.name = "paccel",
	.init_fs_context = map_fs_init_context,
	.kill_sb = kill_anon_super,
};

/* For the object of a card. */
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

/* Also after a paccel_map_alloc() that failed, or did not run. No file is open any more. */
void paccel_map_free(struct paccel_device *pd)
{
	if (!pd->inode)
		return;
	iput(pd->inode);
	simple_release_fs(&map_fs_mount, &map_fs_count);
}

/*
 * Called when the device is bound. Reserves the range as write-combining: without the reservation
 * x86 maps it uncached, whatever the mapping says. If the range is reserved otherwise that is no
 * error, but slow.
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

/* It is being unbound, and nothing is mapped any more. */
void paccel_map_disable(struct paccel_device *pd)
{
	if (pd->write_combined)
		arch_io_free_memtype_wc(pd->mem_phys, pd->hw.info.mem_size);
}

/* The same offset in every file, so that one range of the inode is one range of the card. */
static u64 map_offset(u64 addr)
{
	return PACCEL_MMAP_DEVICE + addr;
}

/* The device address that a user address of the mapping stands for. */
static u64 map_device_addr(const struct vm_area_struct *vma, unsigned long user)
{
	return ((u64)vma->vm_pgoff << PAGE_SHIFT) - PACCEL_MMAP_DEVICE + (user - vma->vm_start);
}

/*
 * Unmaps the range from all processes. A process that may access the memory faults it in again. No
 * lock is held.
 */
void paccel_map_zap(struct paccel_device *pd, u64 addr, u64 size)
{
	unmap_mapping_range(pd->inode->i_mapping, map_offset(addr), size, 1);
}

/*
 * All of it. A fault that has not seen why comes to its end first; none of those waits for the card
 * or for a program.
 */
void paccel_map_zap_all(struct paccel_device *pd)
{
	if (!paccel_mappable(pd))
		return;
	synchronize_srcu(&paccel_srcu);
	paccel_map_zap(pd, PACCEL_MEM_BASE, pd->hw.info.mem_size);
}

/*
 * Maps the page and those around it that are of the same allocation. The caller prevents @buf from
 * being freed meanwhile.
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
	/* A whole page belongs to the allocation: a granule is a page or more. */
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

/* The addresses are what a program makes pointers of: they come and go, and stay, as a whole. */
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

/* What every mapping of device memory is, with more @flags. */
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
 * Called with mmap_lock held for writing. What the context has is asked when it is touched, so a
 * program can map all of the card once. The context lives as long as the file, and that as the
 * mapping.
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
 * The mapping holds a reference on the dma-buf, and that on the memory. So the memory stays until
 * the device is removed or loses it.
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

/* For a dma-buf, which has checked the range, and whose file has the card's inode. */
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
