// SPDX-License-Identifier: GPL-2.0-only
/*
 * Host ranges: registered memory of a process, HOST_ALLOC memory, and registered dma-bufs. A range
 * is pinned and mapped for DMA once, and found by its user address at each copy.
 *
 * DMA to pinned pages is safe even if the process unmaps or remaps their addresses, so the mmu
 * notifier only marks the range: it does not sleep and does not wait for the device.
 */
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>
#include <linux/slab.h>

#include "core/compat.h"
#include "core/ctx.h"
#include "core/device.h"
#include "core/range.h"
#include "mem/host.h"
#include "mem/map.h"
#include "mem/pages.h"

static struct paccel_host *addr_to_host(struct paccel_range *r)
{
	return r ? container_of(r, struct paccel_host, addr) : NULL;
}

static struct paccel_host *cookie_to_host(struct paccel_range *r)
{
	return r ? container_of(r, struct paccel_host, cookie) : NULL;
}

/* --- mmu notifier of registered memory --- */

static bool host_invalidate(struct mmu_interval_notifier *notifier,
			    const struct mmu_notifier_range *range, unsigned long seq)
{
	struct paccel_host *host = container_of(notifier, struct paccel_host, notifier);

	spin_lock(&host->lock);
	mmu_interval_set_seq(notifier, seq);
	switch (range->event) {
	case MMU_NOTIFY_UNMAP:
	case MMU_NOTIFY_RELEASE:
		WRITE_ONCE(host->dead, true);
		break;
	case MMU_NOTIFY_CLEAR:
	case MMU_NOTIFY_MIGRATE:
		/* MADV_DONTNEED, or a migration, which fails since the pages are pinned. */
		host->changes++;
		break;
	default:
		/* Changes of protection, fork, soft-dirty tracking: the pages are not replaced. */
		break;
	}
	spin_unlock(&host->lock);
	return true;
}

static const struct mmu_interval_notifier_ops host_notifier_ops = {
	.invalidate = host_invalidate,
};

/*
 * Pins the pages again and compares them, if they may have been replaced since the last comparison.
 * The notifier counts a change when it begins; mmu_interval_read_begin() waits for its end. A
 * change that begins later is counted again. After an error the next use of the range compares
 * again.
 */
static int host_recheck(struct paccel_host *host)
{
	unsigned int changes;
	int ret;

	spin_lock(&host->lock);
	changes = host->changes;
	spin_unlock(&host->lock);
	if (changes == READ_ONCE(host->checked))
		return 0;
	mmu_interval_read_begin(&host->notifier);
	ret = paccel_pages_same(&host->pages, host->addr.start);
	if (ret == -EFAULT)
		WRITE_ONCE(host->dead, true);
	/* Concurrent callers may store the older number, which costs a further comparison. */
	if (!ret)
		WRITE_ONCE(host->checked, changes);
	return ret;
}

int paccel_host_validate(struct paccel_host *host, bool write)
{
	int ret;

	if (READ_ONCE(host->dead) || READ_ONCE(host->pages.revoked) || (write && host->read_only))
		return -EFAULT;
	ret = host->watched ? host_recheck(host) : 0;
	if (ret)
		return ret;
	return READ_ONCE(host->dead) ? -EFAULT : 0;
}

/* --- creation and release --- */

/* Adds @pages to @counter, unless RLIMIT_MEMLOCK is exceeded together with @others. */
static int host_charge_counter(atomic_long_t *counter, unsigned long others, unsigned long pages)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;
	unsigned long now = atomic_long_read(counter);

	do {
		if (now + pages + others > limit && !capable(CAP_IPC_LOCK))
			return -ENOMEM;
	} while (!atomic_long_try_cmpxchg(counter, &now, now + pages));
	return 0;
}

/*
 * The pages are charged to mm->pinned_vm, as RDMA does. account_locked_vm() would take mmap_lock
 * for writing. A page fault that waits for a FUSE server can hold mmap_lock without limit, and
 * close() and other processes that release ranges would wait for it.
 *
 * HOST_ALLOC memory can outlive the address space, in dma-bufs and in mappings of forked children.
 * So it is also charged to the user, as memory of io_uring and perf is.
 */
static int host_try_charge(struct paccel_host *host, unsigned long pages, bool own)
{
	int ret;

	ret = host_charge_counter(&host->mm->pinned_vm, READ_ONCE(host->mm->locked_vm), pages);
	if (ret)
		return ret;
	if (own && host_charge_counter(&current_user()->locked_vm, 0, pages)) {
		atomic64_sub(pages, &host->mm->pinned_vm);
		return -ENOMEM;
	}
	host->charged = pages;
	if (own)
		host->payer = get_current_cred();
	return 0;
}

/* If the limit is exceeded, waits for jobs that have ended to release memory, and charges again. */
int paccel_host_charge(struct paccel_ctx *ctx, struct paccel_host *host, unsigned long pages,
		       bool own)
{
	u64 mark = paccel_ctx_releasing(ctx);
	int ret = host_try_charge(host, pages, own);

	if (!ret || !mark)
		return ret;
	ret = paccel_ctx_wait_released(ctx, mark);
	return ret ?: host_try_charge(host, pages, own);
}

static void host_release(struct kref *ref)
{
	struct paccel_host *host = container_of(ref, struct paccel_host, ref);
	struct paccel_device *pd = host->pages.pd;

	if (host->watched)
		mmu_interval_notifier_remove(&host->notifier);
	paccel_pages_release(&host->pages);
	if (host->lender)
		paccel_host_put(host->lender);
	atomic64_sub(host->charged, &host->mm->pinned_vm);
	if (host->payer) {
		atomic_long_sub(host->charged, &host->payer->user->locked_vm);
		put_cred(host->payer);
	}
	mmdrop(host->mm);
	kfree(host);
	put_device(&pd->dev);
}

void paccel_host_put(struct paccel_host *host)
{
	kref_put(&host->ref, host_release);
}

/* Counts a new range of the context. Returns 0 or -ENOSPC. */
static int host_count(struct paccel_ctx *ctx)
{
	guard(mutex)(&ctx->lock);
	if (ctx->nr_hosts >= PACCEL_MAX_HOST_RANGES)
		return -ENOSPC;
	ctx->nr_hosts++;
	return 0;
}

struct paccel_host *paccel_host_new(struct paccel_ctx *ctx, u64 addr, u64 length, bool read_only)
{
	struct paccel_host *host = kzalloc(sizeof(*host), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!host)
		return ERR_PTR(-ENOMEM);
	ret = host_count(ctx);
	if (ret) {
		kfree(host);
		return ERR_PTR(ret);
	}
	kref_init(&host->ref);
	spin_lock_init(&host->lock);
	host->addr.start = addr;
	host->addr.last = addr + length - 1;
	host->read_only = read_only;
	host->mm = ctx->mm;
	mmgrab(host->mm);
	/* User mappings and dma-bufs may keep the range after the context has ended. */
	get_device(&ctx->pd->dev);
	host->pages.pd = ctx->pd;
	return host;
}

void paccel_host_discard(struct paccel_ctx *ctx, struct paccel_host *host)
{
	paccel_host_put(host);
	mutex_lock(&ctx->lock);
	ctx->nr_hosts--;
	mutex_unlock(&ctx->lock);
}

/*
 * Removes the range from the trees of the context. ctx->lock is held. The caller drops the
 * reference of the trees after unlocking.
 */
static void host_detach(struct paccel_ctx *ctx, struct paccel_host *host)
{
	lockdep_assert_held(&ctx->lock);
	if (host->placed)
		rb_erase(&host->addr.node, &ctx->hosts);
	if (host->own)
		rb_erase(&host->cookie.node, &ctx->cookies);
	host->placed = false;
	ctx->nr_hosts--;
	ctx->host_bytes -= host->pages.length;
}

static struct paccel_host *host_first(struct paccel_ctx *ctx)
{
	struct rb_node *node = rb_first(&ctx->hosts);

	if (node)
		return container_of(node, struct paccel_host, addr.node);
	node = rb_first(&ctx->cookies);
	return node ? container_of(node, struct paccel_host, cookie.node) : NULL;
}

struct paccel_host *paccel_host_get(struct paccel_ctx *ctx, u64 addr, u64 length)
{
	struct paccel_host *host;

	lockdep_assert_held(&ctx->lock);
	host = addr_to_host(paccel_range_find(&ctx->hosts, addr, length));
	if (host)
		kref_get(&host->ref);
	return host;
}

struct paccel_host *paccel_host_get_own(struct paccel_ctx *ctx, u64 addr)
{
	struct paccel_host *host;

	guard(mutex)(&ctx->lock);
	host = addr_to_host(paccel_range_at(&ctx->hosts, addr));
	if (!host || !host->own || READ_ONCE(host->dead))
		return NULL;
	kref_get(&host->ref);
	return host;
}

void paccel_host_end(struct paccel_ctx *ctx)
{
	struct paccel_host *host;

	for (;;) {
		mutex_lock(&ctx->lock);
		host = host_first(ctx);
		if (host)
			host_detach(ctx, host);
		mutex_unlock(&ctx->lock);
		if (!host)
			return;
		paccel_host_put(host);
	}
}

/* --- registered memory --- */

/*
 * Read-only registered memory is pinned for writing if possible. After a read-only pin of a private
 * page that was never written, the pin would hold the zero page while the process writes to another
 * page.
 */
static int host_pin(struct paccel_host *host, u64 addr, u64 length)
{
	struct paccel_pages *p = &host->pages;
	struct paccel_device *pd = p->pd;
	int ret = paccel_pages_pin(p, pd, addr, length, true, FOLL_LONGTERM);

	if (ret == -EFAULT && host->read_only)
		ret = paccel_pages_pin(p, pd, addr, length, false, FOLL_LONGTERM);
	/* The IOMMU then rejects writes of the device, and no page is marked dirty at the end. */
	if (!ret && host->read_only)
		p->dir = DMA_TO_DEVICE;
	return ret;
}

int paccel_host_place(struct paccel_ctx *ctx, struct paccel_host *host)
{
	int ret;

	guard(mutex)(&ctx->lock);
	if (READ_ONCE(host->dead))
		return -EFAULT;
	ret = paccel_range_insert(&ctx->hosts, &host->addr);
	if (ret)
		return ret;
	host->placed = true;
	ctx->host_bytes += host->pages.length;
	return 0;
}

/* Pins, watches and maps the range, then publishes it. On failure the caller discards it. */
static int host_build(struct paccel_ctx *ctx, struct paccel_host *host)
{
	u64 addr = host->addr.start, length = host->addr.last - addr + 1;
	unsigned long first = addr & PAGE_MASK, bytes = PAGE_ALIGN(addr + length) - first;
	int ret;

	ret = paccel_host_charge(ctx, host, bytes >> PAGE_SHIFT, false);
	if (ret)
		return ret;
	/* The notifier is inserted first, so that no change after the pinning is missed. */
	ret = mmu_interval_notifier_insert(&host->notifier, host->mm, first, bytes,
					   &host_notifier_ops);
	if (ret)
		return paccel_restart_on_eintr(ret);
	host->watched = true;
	/* Waits for changes that began before the notifier was inserted, which it does not see. */
	mmu_interval_read_begin(&host->notifier);
	ret = host_pin(host, addr, length);
	if (ret)
		return ret;
	paccel_pages_map(&host->pages);
	return paccel_host_place(ctx, host);
}

int paccel_host_register(struct paccel_ctx *ctx, u64 addr, u64 length, bool read_only)
{
	struct paccel_host *host = paccel_host_new(ctx, addr, length, read_only);
	int ret;

	if (IS_ERR(host))
		return PTR_ERR(host);
	ret = host_build(ctx, host);
	if (ret)
		paccel_host_discard(ctx, host);
	return ret;
}

/* --- HOST_ALLOC memory and its user mapping --- */

/*
 * Sets the mmap() offset of the range. Offsets are not reused. In a 32-bit process an mmap() offset
 * has 32 bits of pages.
 */
static int host_reserve_cookie(struct paccel_ctx *ctx, struct paccel_host *host)
{
	guard(mutex)(&ctx->lock);
	if (ctx->next_cookie >> 32)
		return -ENOSPC;
	host->cookie.start = ctx->next_cookie;
	host->cookie.last = ctx->next_cookie;
	ctx->next_cookie++;
	return 0;
}

static int host_build_own(struct paccel_ctx *ctx, struct paccel_host *host, u64 length)
{
	int ret = paccel_host_charge(ctx, host, length >> PAGE_SHIFT, true);

	if (ret)
		return ret;
	ret = paccel_pages_alloc(&host->pages, ctx->pd, length);
	if (ret)
		return ret;
	paccel_pages_map(&host->pages);
	return host_reserve_cookie(ctx, host);
}

struct paccel_host *paccel_host_alloc(struct paccel_ctx *ctx, u64 length)
{
	struct paccel_host *host = paccel_host_new(ctx, 0, length, false);
	int ret;

	if (IS_ERR(host))
		return host;
	ret = host_build_own(ctx, host, PAGE_ALIGN(length));
	if (!ret)
		return host;
	paccel_host_discard(ctx, host);
	return ERR_PTR(ret);
}

int paccel_host_publish(struct paccel_ctx *ctx, struct paccel_host *host)
{
	int ret;

	guard(mutex)(&ctx->lock);
	ret = paccel_range_insert(&ctx->cookies, &host->cookie);
	if (ret)
		return ret;
	host->own = true;
	ctx->host_bytes += host->pages.length;
	return 0;
}

static void host_vm_open(struct vm_area_struct *vma)
{
	struct paccel_host *host = vma->vm_private_data;

	kref_get(&host->ref);
}

static void host_vm_close(struct vm_area_struct *vma)
{
	struct paccel_host *host = vma->vm_private_data;

	/*
	 * Only the mapping that gave the range its address ends the use of that address: not a copy
	 * in a forked child, and not the temporary copy of an mremap() that fails.
	 */
	if (vma->vm_mm == host->mm && vma->vm_start == host->addr.start)
		WRITE_ONCE(host->dead, true);
	paccel_host_put(host);
}

static vm_fault_t host_vm_fault(struct vm_fault *vmf)
{
	struct paccel_host *host = vmf->vma->vm_private_data;
	unsigned long i = (vmf->address - vmf->vma->vm_start) >> PAGE_SHIFT;

	if (i >= host->pages.nr)
		return VM_FAULT_SIGBUS;
	vmf->page = host->pages.pages[i];
	get_page(vmf->page);
	return 0;
}

static const struct vm_operations_struct host_vm_ops = {
	.open = host_vm_open,
	.close = host_vm_close,
	/* After unmapping a part, the range would be neither mapped nor dead. */
	.may_split = paccel_map_may_split,
	.mremap = paccel_map_mremap,
	.fault = host_vm_fault,
};

int paccel_host_mmap(struct paccel_ctx *ctx, struct vm_area_struct *vma)
{
	u64 length = vma->vm_end - vma->vm_start;
	struct paccel_host *host;
	int ret;

	guard(mutex)(&ctx->lock);
	host = cookie_to_host(paccel_range_at(&ctx->cookies, vma->vm_pgoff));
	if (!host || length != host->pages.length || !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (host->placed)
		return -EBUSY;
	host->addr.start = vma->vm_start;
	host->addr.last = vma->vm_end - 1;
	ret = paccel_range_insert(&ctx->hosts, &host->addr);
	if (ret)
		return ret;
	host->placed = true;
	kref_get(&host->ref);
	vma->vm_private_data = host;
	vma->vm_ops = &host_vm_ops;
	vm_flags_set(vma, VM_DONTEXPAND);
	return 0;
}

/* --- freeing --- */

static int host_free(struct paccel_ctx *ctx, struct rb_root *tree, u64 at,
		     struct paccel_host *(*to_host)(struct paccel_range *r))
{
	struct paccel_host *host;

	mutex_lock(&ctx->lock);
	host = to_host(paccel_range_at(tree, at));
	if (host)
		host_detach(ctx, host);
	mutex_unlock(&ctx->lock);
	if (!host)
		return -ENOENT;
	paccel_host_put(host);
	return 0;
}

int paccel_host_free(struct paccel_ctx *ctx, u64 addr)
{
	return host_free(ctx, &ctx->hosts, addr, addr_to_host);
}

int paccel_host_free_own(struct paccel_ctx *ctx, u64 offset)
{
	if (offset_in_page(offset))
		return -ENOENT;
	return host_free(ctx, &ctx->cookies, offset >> PAGE_SHIFT, cookie_to_host);
}
