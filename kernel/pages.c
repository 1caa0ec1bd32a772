// SPDX-License-Identifier: GPL-2.0-only
/*
 * Host pages that the card is given: pinned from a program or our own, and mapped for the card
 * where it can reach them.
 *
 * A mapping belongs to the binding of the driver and may not outlive it, while pages live as long
 * as somebody uses them: so every mapping is on pd->mapped, and unregistering undoes them all.
 */
#include <linux/dma-mapping.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "paccel.h"

/* Pages that are compared at a time. */
#define PACCEL_COMPARE 64

static int pages_init(struct paccel_pages *p, struct paccel_device *pd, u64 offset, u64 length)
{
	p->nr = PAGE_ALIGN(offset + length) >> PAGE_SHIFT;
	p->offset = offset;
	p->length = length;
	p->pd = pd;
	INIT_LIST_HEAD(&p->mapped);
	p->pages = kvcalloc(p->nr, sizeof(*p->pages), GFP_KERNEL_ACCOUNT);
	return p->pages ? 0 : -ENOMEM;
}

static void pages_forget(struct paccel_pages *p)
{
	kvfree(p->pages);
	p->pages = NULL;
}

/* Pins @nr pages from @addr on, or none. */
static int pin_all(u64 addr, unsigned long nr, unsigned int gup_flags, struct page **pages)
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

/*
 * Pins the caller's own memory; @write: the card may write it. May sleep as long as a userfaultfd
 * likes: no lock, no paccel_enter(). On failure there is nothing to release.
 */
int paccel_pages_pin(struct paccel_pages *p, struct paccel_device *pd, u64 addr, u64 length,
		     bool write, unsigned int gup_flags)
{
	int ret = pages_init(p, pd, offset_in_page(addr), length);

	if (ret)
		return ret;
	p->pinned = true;
	p->dir = write ? DMA_BIDIRECTIONAL : DMA_TO_DEVICE;
	ret = pin_all(addr & PAGE_MASK, p->nr, gup_flags | (write ? FOLL_WRITE : 0), p->pages);
	if (ret)
		pages_forget(p);
	return ret;
}

/* Our own pages, all bytes 0. */
int paccel_pages_alloc(struct paccel_pages *p, struct paccel_device *pd, u64 length)
{
	int ret = pages_init(p, pd, 0, length);
	unsigned long i;

	if (ret)
		return ret;
	p->dir = DMA_BIDIRECTIONAL;
	for (i = 0; i < p->nr; i++) {
		cond_resched();
		/* Also if the OOM killer has chosen us for this very loop. */
		ret = fatal_signal_pending(current) ? -EINTR : -ENOMEM;
		p->pages[i] = ret == -EINTR ? NULL : alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);
		if (!p->pages[i])
			goto free_pages;
	}
	return 0;

free_pages:
	while (i--)
		__free_page(p->pages[i]);
	pages_forget(p);
	return ret;
}

/*
 * Are these still the pages that the caller has at @addr? 0; -EFAULT if not; another error if that
 * could not be found out. To look needs no right to write: where a private page was thrown away,
 * reading finds another one.
 */
int paccel_pages_same(struct paccel_pages *p, u64 addr)
{
	struct page *now[PACCEL_COMPARE];
	unsigned long done, i, nr;
	int ret = 0;

	for (done = 0; done < p->nr && !ret; done += nr) {
		nr = min_t(unsigned long, p->nr - done, PACCEL_COMPARE);
		ret = pin_all((addr & PAGE_MASK) + done * PAGE_SIZE, nr, 0, now);
		if (ret)
			break;
		for (i = 0; i < nr; i++)
			if (now[i] != p->pages[done + i])
				ret = -EFAULT;
		unpin_user_pages(now, nr);
	}
	return ret;
}

/* --- mapping --- */

static void map_locked(struct paccel_pages *p)
{
	struct device *dev = &p->pd->pdev->dev;
	size_t max = min_t(size_t, dma_max_mapping_size(dev), SZ_1G) & PAGE_MASK;

	if (sg_alloc_table_from_pages_segment(&p->sgt, p->pages, p->nr, p->offset, p->length, max,
					      GFP_KERNEL_ACCOUNT))
		return;
	/* Each transfer syncs its own bytes; the rest is the program's, which goes on writing. */
	if (dma_map_sgtable(dev, &p->sgt, p->dir, DMA_ATTR_NO_WARN | DMA_ATTR_SKIP_CPU_SYNC))
		sg_free_table(&p->sgt);
	else
		list_add(&p->mapped, &p->pd->mapped);
}

/*
 * Maps the pages for the card if it can reach them. That it cannot is no error: they go through
 * the bounce buffer. Where RAM lies beyond the card's mask it is not even tried, for a mapping
 * that fails warns.
 */
void paccel_pages_map(struct paccel_pages *p)
{
	int idx;

	if (!p->pd->direct || !paccel_enter(p->pd, &idx))
		return;
	mutex_lock(&p->pd->mapped_lock);
	map_locked(p);
	mutex_unlock(&p->pd->mapped_lock);
	paccel_exit(idx);
}

static void unmap_locked(struct paccel_pages *p)
{
	if (list_empty(&p->mapped))
		return;
	list_del_init(&p->mapped);
	/*
	 * Every transfer has synced its own part; all of it again would undo what the CPU wrote
	 * since.
	 */
	dma_unmap_sgtable(&p->pd->pdev->dev, &p->sgt, p->dir, DMA_ATTR_SKIP_CPU_SYNC);
	sg_free_table(&p->sgt);
}

/* The driver is being unbound and the card writes nothing any more. */
void paccel_pages_unmap_all(struct paccel_device *pd)
{
	struct paccel_pages *p, *next;

	mutex_lock(&pd->mapped_lock);
	list_for_each_entry_safe(p, next, &pd->mapped, mapped)
		unmap_locked(p);
	mutex_unlock(&pd->mapped_lock);
}

/* The card may still write these pages and cannot be stopped: they are lost, on purpose. */
static void leak(struct paccel_pages *p)
{
	paccel_count_leak(p->pd, p->nr);
	p->pages = NULL;
}

/* Unmaps and gives the pages back. No transfer of theirs runs. Also of a zeroed or released one. */
void paccel_pages_release(struct paccel_pages *p)
{
	bool mapped;
	unsigned long i;

	if (!p->pages)
		return;
	mutex_lock(&p->pd->mapped_lock);
	mapped = !list_empty(&p->mapped);
	if (mapped && p->pd->unsafe) {
		list_del_init(&p->mapped);
		leak(p);
	} else {
		unmap_locked(p);
	}
	mutex_unlock(&p->pd->mapped_lock);
	if (!p->pages)
		return;

	if (p->pinned)
		unpin_user_pages_dirty_lock(p->pages, p->nr, p->dir == DMA_BIDIRECTIONAL);
	else
		for (i = 0; i < p->nr; i++)
			__free_page(p->pages[i]);
	pages_forget(p);
}

static void seek(struct paccel_pages *p, struct paccel_cursor *cursor, u64 off)
{
	if (!cursor->sg || off < cursor->base)
		*cursor = (struct paccel_cursor){ .sg = p->sgt.sgl };
	while (off - cursor->base >= sg_dma_len(cursor->sg)) {
		cursor->base += sg_dma_len(cursor->sg);
		cursor->sg = sg_next(cursor->sg);
	}
}

/* The long way to where a job begins is gone here, and not in the interrupt that starts it. */
void paccel_pages_seek(struct paccel_pages *p, struct paccel_cursor *cursor, u64 off)
{
	int idx;

	if (!paccel_enter(p->pd, &idx))
		return;
	if (!list_empty(&p->mapped))
		seek(p, cursor, off);
	paccel_exit(idx);
}

/*
 * The bus address of @len bytes at @off, if the pages are mapped and these bytes are contiguous for
 * the card. Whoever asks runs an engine that has not been stopped, so the mapping stays.
 */
bool paccel_pages_dma(struct paccel_pages *p, struct paccel_cursor *cursor, u64 off, u32 len,
		      dma_addr_t *dma)
{
	if (list_empty(&p->mapped))
		return false;
	seek(p, cursor, off);
	off -= cursor->base;
	*dma = sg_dma_address(cursor->sg) + off;
	return len <= sg_dma_len(cursor->sg) - off;
}

/* --- by CPU --- */

/* Copies the bytes at @off out of the pages. */
void paccel_pages_read(struct paccel_pages *p, u64 off, void *to, u32 len)
{
	u64 at = p->offset + off;

	while (len) {
		u32 part = min_t(u32, len, PAGE_SIZE - offset_in_page(at));

		memcpy_from_page(to, p->pages[at >> PAGE_SHIFT], offset_in_page(at), part);
		to += part;
		at += part;
		len -= part;
	}
}

/* Copies bytes into the pages at @off. */
void paccel_pages_write(struct paccel_pages *p, u64 off, const void *from, u32 len)
{
	u64 at = p->offset + off;

	while (len) {
		u32 part = min_t(u32, len, PAGE_SIZE - offset_in_page(at));

		memcpy_to_page(p->pages[at >> PAGE_SHIFT], offset_in_page(at), from, part);
		from += part;
		at += part;
		len -= part;
	}
}
