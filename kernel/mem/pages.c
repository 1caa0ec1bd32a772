// SPDX-License-Identifier: GPL-2.0-only
/*
 * Host pages for DMA: pinned pages of a process, pages of the driver, or those of a dma-buf, and
 * their DMA mapping.
 *
 * Pages live as long as they are referenced, but a DMA mapping must not outlive the binding of the
 * driver. So all mappings are in pd->mapped, and paccel_pages_unmap_all() undoes them on unbind.
 */
#include <linux/dma-mapping.h>
#include <linux/highmem.h>
#include <linux/log2.h>
#include <linux/kmemleak.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "core/compat.h"
#include "core/device.h"
#include "include/paccel.h"
#include "mem/import.h"
#include "mem/pages.h"
#include "mem/segs.h"

/* Number of pages that are pinned and compared at once. */
#define PACCEL_COMPARE 64
/* Largest order of the blocks that HOST_ALLOC memory is allocated in: 2 MiB with 4 KiB pages. */
#define PACCEL_OWN_ORDER 9

static void pages_init(struct paccel_pages *p, struct paccel_device *pd, u64 offset, u64 length,
		       bool write)
{
	p->nr = PAGE_ALIGN(offset + length) >> PAGE_SHIFT;
	p->offset = offset;
	p->length = length;
	p->dir = write ? DMA_BIDIRECTIONAL : DMA_TO_DEVICE;
	p->pd = pd;
	INIT_LIST_HEAD(&p->mapped);
}

/* Allocates the array of pages. */
static int pages_reserve(struct paccel_pages *p)
{
	p->pages = kvcalloc(p->nr, sizeof(*p->pages), GFP_KERNEL_ACCOUNT);
	return p->pages ? 0 : -ENOMEM;
}

static void pages_forget(struct paccel_pages *p)
{
	kvfree(p->pages);
	p->pages = NULL;
	p->kind = PACCEL_PAGES_NONE;
}

/* Pins @nr pages from @addr on. On failure none stays pinned. */
static int pages_pin_range(u64 addr, unsigned long nr, unsigned int gup_flags, struct page **pages)
{
	unsigned long got = 0;
	int ret;

	while (got < nr) {
		ret = pin_user_pages_fast(addr + got * PAGE_SIZE,
					  min_t(unsigned long, nr - got, INT_MAX), gup_flags,
					  pages + got);
		if (ret <= 0) {
			unpin_user_pages(pages, got);
			return ret == -ENOMEM || ret == -EINTR ? ret : -EFAULT;
		}
		got += ret;
	}
	return 0;
}

int paccel_pages_pin(struct paccel_pages *p, struct paccel_device *pd, u64 addr, u64 length,
		     bool write, unsigned int gup_flags)
{
	int ret;

	pages_init(p, pd, offset_in_page(addr), length, write);
	ret = pages_reserve(p);
	if (ret)
		return ret;
	p->kind = PACCEL_PAGES_PINNED;
	if (write)
		gup_flags |= FOLL_WRITE;
	ret = pages_pin_range(addr & PAGE_MASK, p->nr, gup_flags, p->pages);
	if (ret)
		pages_forget(p);
	return ret;
}

/*
 * Allocates 1 to @nr pages that are physically contiguous and can be freed one by one. Fewer
 * segments make DMA faster, but blocks are only allocated where that needs no reclaim. Returns the
 * number; 0: no memory.
 */
static unsigned long pages_alloc_adjacent(struct page **pages, unsigned long nr)
{
	unsigned int order = min_t(unsigned int, ilog2(nr), PACCEL_OWN_ORDER);
	gfp_t easy = __GFP_NOWARN | __GFP_NORETRY, gfp = GFP_KERNEL_ACCOUNT | __GFP_ZERO;
	struct page *page = NULL;
	unsigned long i;

	for (; order && !page; order--)
		page = alloc_pages((gfp & ~__GFP_DIRECT_RECLAIM) | easy, order);
	if (page)
		split_page(page, ++order);
	else
		page = alloc_page(gfp);
	for (i = 0; page && i < 1UL << order; i++)
		pages[i] = page + i;
	return i;
}

int paccel_pages_alloc(struct paccel_pages *p, struct paccel_device *pd, u64 length)
{
	unsigned long i, got;
	int ret;

	pages_init(p, pd, 0, length, true);
	ret = pages_reserve(p);
	if (ret)
		return ret;
	p->kind = PACCEL_PAGES_OWN;
	for (i = 0; i < p->nr; i += got) {
		cond_resched();
		/* The signal may be that of the OOM killer because of this loop. */
		ret = fatal_signal_pending(current) ? -EINTR : -ENOMEM;
		got = ret == -EINTR ? 0 : pages_alloc_adjacent(p->pages + i, p->nr - i);
		if (!got)
			goto free_pages;
	}
	return 0;

free_pages:
	while (i--)
		__free_page(p->pages[i]);
	pages_forget(p);
	return ret;
}

void paccel_pages_borrow(struct paccel_pages *p, struct paccel_device *pd,
			 struct paccel_pages *lender, u64 length, bool write)
{
	pages_init(p, pd, 0, length, write);
	p->kind = PACCEL_PAGES_LENT;
	p->lender = lender;
	p->pages = lender->pages;
}

int paccel_pages_import(struct paccel_pages *p, struct paccel_device *pd, struct dma_buf *dmabuf,
			u64 length, bool write)
{
	int ret;

	pages_init(p, pd, 0, length, write);
	ret = paccel_import_get(p, dmabuf);
	if (!ret)
		p->kind = PACCEL_PAGES_IMPORTED;
	return ret;
}

/* A pin for reading suffices: it finds the page that has replaced a private page, too. */
int paccel_pages_same(struct paccel_pages *p, u64 addr)
{
	struct page *now[PACCEL_COMPARE];
	unsigned long done, i, nr;
	int ret = 0;

	for (done = 0; done < p->nr && !ret; done += nr) {
		nr = min_t(unsigned long, p->nr - done, PACCEL_COMPARE);
		ret = pages_pin_range((addr & PAGE_MASK) + done * PAGE_SIZE, nr, 0, now);
		if (ret)
			break;
		for (i = 0; i < nr; i++)
			if (now[i] != p->pages[done + i])
				ret = -EFAULT;
		unpin_user_pages(now, nr);
	}
	return ret;
}

/* --- DMA mapping --- */

/*
 * Returns whether a segment needs dma_sync_*(). It is not called where it does nothing, since the
 * DMA-API debugger reports the sync of a page that is mapped twice. Imports are synced by their
 * exporter.
 */
static bool pages_need_sync(struct paccel_pages *p)
{
	struct scatterlist *sg;
	unsigned int i;

	for_each_sgtable_dma_sg(&p->segs.sgt, sg, i)
		if (dma_need_sync(&p->pd->hw.pdev->dev, sg_dma_address(sg)))
			return true;
	return false;
}

/* Called in a paccel_enter() section. */
static void pages_map_device(struct paccel_pages *p)
{
	struct device *dev = &p->pd->hw.pdev->dev;

	if (sg_alloc_table_from_pages_segment(&p->segs.sgt, p->pages, p->nr, p->offset, p->length,
					      SZ_1G, GFP_KERNEL_ACCOUNT))
		return;
	/*
	 * Each DMA request syncs the bytes that it accesses. The process may write the others
	 * meanwhile.
	 */
	if (dma_map_sgtable(dev, &p->segs.sgt, p->dir, DMA_ATTR_NO_WARN | DMA_ATTR_SKIP_CPU_SYNC))
		goto free_segs;
	if (paccel_segs_mark(&p->segs))
		goto unmap;
	p->sync = pages_need_sync(p);
	p->unsafe_seq = READ_ONCE(p->pd->unsafe_seq);
	mutex_lock(&p->pd->mapped_lock);
	list_add(&p->mapped, &p->pd->mapped);
	mutex_unlock(&p->pd->mapped_lock);
	return;

unmap:
	dma_unmap_sgtable(dev, &p->segs.sgt, p->dir, DMA_ATTR_SKIP_CPU_SYNC);
free_segs:
	paccel_segs_free(&p->segs);
}

/* Returns whether the range that owns the pages has mapped them for the same device. */
static bool pages_are_shared(const struct paccel_pages *p)
{
	return p->kind == PACCEL_PAGES_LENT && p->lender->pd == p->pd;
}

void paccel_pages_map(struct paccel_pages *p)
{
	int idx;

	if (pages_are_shared(p) || !p->pd->direct || !paccel_enter(p->pd, &idx))
		return;
	pages_map_device(p);
	paccel_exit(idx);
}

static void pages_unmap_device(struct paccel_pages *p)
{
	/*
	 * Each DMA request has synced its bytes. Syncing all pages could overwrite later writes of
	 * the CPU.
	 */
	dma_unmap_sgtable(&p->pd->hw.pdev->dev, &p->segs.sgt, p->dir, DMA_ATTR_SKIP_CPU_SYNC);
	paccel_segs_free(&p->segs);
}

void paccel_pages_unmap_all(struct paccel_device *pd)
{
	struct paccel_pages *p, *next;

	if (!paccel_is_unsafe(pd))
		paccel_import_detach_all(pd);
	mutex_lock(&pd->mapped_lock);
	list_for_each_entry_safe(p, next, &pd->mapped, mapped) {
		if (paccel_may_write(pd, p->unsafe_seq))
			continue;
		list_del_init(&p->mapped);
		pages_unmap_device(p);
	}
	mutex_unlock(&pd->mapped_lock);
	/* Waits for calls of pages_unmap() that have removed pages from the list. */
	synchronize_srcu(&paccel_srcu);
}

/*
 * Undoes the DMA mapping. Returns false if the device may still write to the pages: the mapping is
 * kept, and the caller keeps the pages. Pages that were mapped while the device was out of service
 * have had no DMA requests.
 */
static bool pages_unmap(struct paccel_pages *p)
{
	/* paccel_pages_unmap_all() waits for this section, so the device stays bound. */
	int idx = srcu_read_lock(&paccel_srcu);
	bool is_mapped, lost;

	mutex_lock(&p->pd->mapped_lock);
	is_mapped = !list_empty(&p->mapped);
	list_del_init(&p->mapped);
	mutex_unlock(&p->pd->mapped_lock);
	lost = is_mapped && paccel_may_write(p->pd, p->unsafe_seq);
	if (is_mapped && !lost)
		pages_unmap_device(p);
	srcu_read_unlock(&paccel_srcu, idx);
	if (lost) {
		paccel_count_leak(p->pd, p->nr);
		kmemleak_not_leak(p->segs.sgt.sgl);
		kvfree(p->segs.marks);
	}
	return !lost;
}

/*
 * The pages are never freed. Pages of another range get a reference each, so that the range itself,
 * which holds a reference on its device, can be released.
 */
static void pages_keep(struct paccel_pages *p)
{
	unsigned long i;

	if (p->kind != PACCEL_PAGES_LENT) {
		kmemleak_not_leak(p->pages);
		return;
	}
	for (i = 0; i < p->nr; i++)
		get_page(p->pages[i]);
}

static void pages_put(struct paccel_pages *p)
{
	unsigned long i;

	if (p->kind == PACCEL_PAGES_LENT)
		return;
	if (p->kind == PACCEL_PAGES_PINNED)
		unpin_user_pages_dirty_lock(p->pages, p->nr, p->dir == DMA_BIDIRECTIONAL);
	else
		for (i = 0; i < p->nr; i++)
			__free_page(p->pages[i]);
	kvfree(p->pages);
}

void paccel_pages_release(struct paccel_pages *p)
{
	if (p->kind == PACCEL_PAGES_NONE)
		return;
	if (p->kind == PACCEL_PAGES_IMPORTED)
		paccel_import_put(p);
	else if (pages_unmap(p))
		pages_put(p);
	else
		pages_keep(p);
	p->pages = NULL;
	p->kind = PACCEL_PAGES_NONE;
}

/*
 * Returns the pages whose DMA mapping is used. Shared pages begin at the same byte as those of the
 * range that owns them, which lives longer.
 */
static struct paccel_pages *pages_mapping(struct paccel_pages *p)
{
	return pages_are_shared(p) ? p->lender : p;
}

enum dma_data_direction paccel_pages_dir(struct paccel_pages *p)
{
	return pages_mapping(p)->dir;
}

/*
 * With max_segs 1 the bounce buffer is used if it makes the request longer. An import cannot use
 * it, since the CPU cannot access it.
 */
bool paccel_pages_dma(struct paccel_pages *p, struct paccel_cursor *cursor, u64 off,
		      struct paccel_xfer *x)
{
	const struct paccel_hw_info *info = &p->pd->hw.info;
	u32 got = 0, nr = 0;
	struct paccel_seg seg;

	p = pages_mapping(p);
	if (list_empty(&p->mapped))
		return false;
	paccel_segs_seek(&p->segs, cursor, off);
	if (!IS_ALIGNED(sg_dma_address(cursor->sg) + off - cursor->base, paccel_dma_align(p->pd)))
		return false;
	x->segs = (struct paccel_seg) {
		.sg = cursor->sg,
		.skip = off - cursor->base,
		.left = x->len,
		.max = info->max_seg ?: U32_MAX,
		.mask = info->seg_boundary - 1,
	};
	for (seg = x->segs; nr < info->max_segs && paccel_seg_next(&seg); nr++)
		got += seg.len;
	if (info->max_segs == 1 && got < min(x->len, p->pd->bounce_size) &&
	    p->kind != PACCEL_PAGES_IMPORTED)
		return false;
	x->len = got;
	x->segs.left = got;
	x->nr_segs = nr;
	return true;
}

bool paccel_pages_sync(struct paccel_pages *p)
{
	return pages_mapping(p)->sync;
}

/* --- access by the CPU --- */

void paccel_pages_read(struct paccel_pages *p, u64 off, void *to, u32 len)
{
	u64 at = p->offset + off;

	if (p->kind == PACCEL_PAGES_IMPORTED)
		return paccel_import_read(p, off, to, len);
	while (len) {
		u32 part = min_t(u32, len, PAGE_SIZE - offset_in_page(at));

		memcpy_from_page(to, p->pages[at >> PAGE_SHIFT], offset_in_page(at), part);
		to += part;
		at += part;
		len -= part;
	}
}

void paccel_pages_write(struct paccel_pages *p, u64 off, const void *from, u32 len)
{
	u64 at = p->offset + off;

	if (p->kind == PACCEL_PAGES_IMPORTED)
		return paccel_import_write(p, off, from, len);
	while (len) {
		u32 part = min_t(u32, len, PAGE_SIZE - offset_in_page(at));

		memcpy_to_page(p->pages[at >> PAGE_SHIFT], offset_in_page(at), from, part);
		from += part;
		at += part;
		len -= part;
	}
}

bool paccel_pages_readable(const struct paccel_pages *p)
{
	return p->kind != PACCEL_PAGES_IMPORTED || paccel_import_is_readable(p);
}

u32 paccel_pages_crc32c(struct paccel_pages *p, u64 off, u32 len)
{
	u64 at = p->offset + off;
	u32 crc = ~0;

	while (len) {
		u32 part = min_t(u32, len, PAGE_SIZE - offset_in_page(at));
		char *from = kmap_local_page(p->pages[at >> PAGE_SHIFT]);

		crc = paccel_crc32c(crc, from + offset_in_page(at), part);
		kunmap_local(from);
		at += part;
		len -= part;
	}
	return ~crc;
}
