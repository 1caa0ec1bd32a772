// SPDX-License-Identifier: GPL-2.0-only
/*
 * Completion page: a process reads from it which points of its streams have been reached, without a
 * system call. The context and each mapping hold references on the page, so it may outlive the
 * device and the file.
 */
#include <linux/mm.h>

#include "core/compat.h"
#include "core/ctx.h"
#include "stream/stream.h"

static_assert(sizeof(struct paccel_page) == 4096);
static_assert(sizeof(struct paccel_slot) == 32);

/* Called before the first stream of the context is created. */
int paccel_page_alloc(struct paccel_ctx *ctx)
{
	struct paccel_page *page;

	if (READ_ONCE(ctx->page))
		return 0;
	page = (struct paccel_page *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
	if (!page)
		return -ENOMEM;
	page->version = PACCEL_PAGE_VERSION;

	spin_lock(&ctx->work_lock);
	if (!ctx->page) {
		page->state = ctx->page_state;
		/* Pairs with the address dependency of a read without the lock. */
		smp_store_release(&ctx->page, page);
		page = NULL;
	}
	spin_unlock(&ctx->work_lock);
	free_page((unsigned long)page);
	return 0;
}

static void page_vm_open(struct vm_area_struct *vma)
{
	get_page(vma->vm_private_data);
}

static void page_vm_close(struct vm_area_struct *vma)
{
	put_page(vma->vm_private_data);
}

static vm_fault_t page_vm_fault(struct vm_fault *vmf)
{
	vmf->page = vmf->vma->vm_private_data;
	get_page(vmf->page);
	return 0;
}

static const struct vm_operations_struct page_vm_ops = {
	.open = page_vm_open,
	.close = page_vm_close,
	.fault = page_vm_fault,
};

/* Called with mmap_lock held for writing. */
int paccel_page_mmap(struct paccel_ctx *ctx, struct vm_area_struct *vma)
{
	struct paccel_page *page = READ_ONCE(ctx->page);

	if (!page || vma->vm_end - vma->vm_start != PAGE_SIZE || !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (vma->vm_flags & VM_WRITE)
		return -EACCES;
	vm_flags_clear(vma, VM_MAYWRITE);
	vm_flags_set(vma, VM_DONTEXPAND);
	vma->vm_private_data = virt_to_page(page);
	vma->vm_ops = &page_vm_ops;
	page_vm_open(vma);
	return 0;
}
