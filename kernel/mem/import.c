// SPDX-License-Identifier: GPL-2.0-only
/*
 * Imported dma-bufs as host memory. The exporter maps the memory for the device or, if the device
 * cannot reach it, for the CPU, and requests go through the bounce buffer. The memory is never
 * mapped for both, since the two views would not be kept coherent.
 *
 * Functions of the exporter that can sleep are called when a range or a job is created and when it
 * is released. No reservation lock is taken while a job runs, so CPU access is not begun or ended
 * then.
 *
 * A device that is out of service may still write to its mappings. If the pages of an import are
 * released meanwhile, the import is kept with its attachment, until the device provably writes
 * nothing or the exporter has revoked the memory. A kept import holds a reference on the module.
 */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/dma-resv.h>
#include <linux/iosys-map.h>
#include <linux/pci.h>
#include <linux/slab.h>

#include "core/compat.h"
#include "core/device.h"
#include "core/module.h"
#include "mem/import.h"
#include "mem/pages.h"
#include "mem/pool.h"
#include "mem/segs.h"
#include "mem/share.h"

/**
 * struct paccel_import - an import: a dma-buf as host memory
 * @pd: the device; a counted reference, and one on the module
 * @dmabuf: a counted reference
 * @pages: the pages of the host range that uses the import; NULL when they have ended. Under the
 *	reservation lock
 * @attach: for the device, from when @pages are in pd->attached until @detached
 * @detached: @attach has been ended
 * @sgt: its mapping, which belongs to the other driver; NULL if that driver has revoked it. Under
 *	the reservation lock. The segments are copied to the pages, where no lock is needed
 * @dir: what the device may do
 * @unsafe_seq: of the device, before it was mapped
 * @kept: in kept_imports
 * @map: where the CPU sees it, else null
 */
struct paccel_import {
	struct paccel_device *pd;
	struct dma_buf *dmabuf;
	struct paccel_pages *pages;
	struct dma_buf_attachment *attach;
	struct completion detached;
	struct sg_table *sgt;
	enum dma_data_direction dir;
	unsigned int unsafe_seq;
	struct list_head kept;
	struct iosys_map map;
};

static void kept_imports_release(struct work_struct *work);

/* Imports without pages, of devices that may still write to the memory. */
static LIST_HEAD(kept_imports);
static DEFINE_MUTEX(kept_lock);		/* kept_imports; innermost */
static DECLARE_WORK(kept_work, kept_imports_release);

/* Returns whether the mapping has @length bytes and its segments are aligned to @align. */
static bool import_sgt_usable(struct sg_table *sgt, u64 length, u32 align)
{
	struct scatterlist *sg;
	unsigned int i;
	u64 bytes = 0;

	for_each_sgtable_dma_sg(sgt, sg, i) {
		if (!IS_ALIGNED(sg_dma_address(sg) | sg_dma_len(sg), align))
			return false;
		bytes += sg_dma_len(sg);
	}
	return bytes >= length;
}

/*
 * Returns whether the device may still write to the mapping. False is final, unless the device goes
 * out of service again.
 */
static bool import_is_written(const struct paccel_import *imp)
{
	return READ_ONCE(imp->sgt) && paccel_may_write(imp->pd, imp->unsafe_seq);
}

/*
 * The exporter revokes the memory. It holds the reservation lock and waits: when this returns no
 * DMA request of the device uses the memory, and none will. That takes as long as one DMA request,
 * and at most until the watchdog has ended it or the device has been removed; neither takes a
 * reservation lock.
 */
static void import_invalidate(struct dma_buf_attachment *attach)
{
	struct paccel_import *imp = attach->importer_priv;

	if (!imp->sgt)
		return;
	if (imp->pages) {
		WRITE_ONCE(imp->pages->revoked, true);
		imp->pd->mem_ops->evict(imp->pd, imp->pages);
	}
	if (import_is_written(imp))
		dev_err(&imp->pd->dev, "cannot be stopped, and may go on in memory of another device\n");
	dma_buf_unmap_attachment(attach, imp->sgt, imp->dir);
	WRITE_ONCE(imp->sgt, NULL);
	paccel_import_release_kept();
}

static const struct dma_buf_attach_ops import_attach_ops = {
	.allow_peer2peer = true,
	.invalidate_mappings = import_invalidate,
};

/* Copies the segments, so that they can be read without a lock. */
static int import_copy_segs(struct paccel_pages *p, struct sg_table *from)
{
	struct scatterlist *sg, *to;
	unsigned int i;
	int ret = sg_alloc_table(&p->segs.sgt, from->nents, GFP_KERNEL_ACCOUNT);

	if (ret)
		return ret;
	to = p->segs.sgt.sgl;
	for_each_sgtable_dma_sg(from, sg, i) {
		sg_dma_address(to) = sg_dma_address(sg);
		sg_dma_len(to) = sg_dma_len(sg);
		to = sg_next(to);
	}
	ret = paccel_segs_mark(&p->segs);
	if (ret)
		paccel_segs_free(&p->segs);
	return ret;
}

/*
 * Pins the memory, since queued jobs have its addresses. The process is charged for it. Device
 * memory of a paccel device never moves and is not pinned: if it is revoked, the range is dead. The
 * reservation lock is held.
 */
static int import_pin(struct paccel_import *imp)
{
	return paccel_dmabuf_to_buf(imp->dmabuf) ? 0 : dma_buf_pin(imp->attach);
}

static void import_unpin(struct paccel_import *imp)
{
	if (!paccel_dmabuf_to_buf(imp->dmabuf))
		dma_buf_unpin(imp->attach);
}

/* The reservation lock is held. */
static int import_map_locked(struct paccel_pages *p)
{
	struct paccel_import *imp = p->import;
	struct sg_table *sgt;
	long ret = import_pin(imp);

	if (ret)
		return ret;
	sgt = dma_buf_map_attachment(imp->attach, p->dir);
	if (IS_ERR(sgt)) {
		ret = PTR_ERR(sgt);
		goto unpin;
	}
	/* A dynamic importer waits itself for the last move of the memory. */
	ret = dma_resv_wait_timeout(imp->dmabuf->resv, DMA_RESV_USAGE_KERNEL, true,
				    MAX_SCHEDULE_TIMEOUT);
	if (ret < 0)
		goto unmap;
	ret = -EOPNOTSUPP;
	if (import_sgt_usable(sgt, p->length, paccel_dma_align(p->pd)))
		ret = import_copy_segs(p, sgt);
	if (ret)
		goto unmap;
	imp->sgt = sgt;
	return 0;

unmap:
	dma_buf_unmap_attachment(imp->attach, sgt, p->dir);
unpin:
	import_unpin(imp);
	return ret;
}

/* Called in a paccel_enter() section. The exporter may wait for devices, and not for user space. */
static int import_map_device(struct paccel_pages *p)
{
	struct device *dev = &p->pd->hw.pdev->dev;
	struct paccel_import *imp = p->import;
	int ret;

	imp->unsafe_seq = READ_ONCE(p->pd->unsafe_seq);
	imp->attach = dma_buf_dynamic_attach(imp->dmabuf, dev, &import_attach_ops, imp);
	if (IS_ERR(imp->attach))
		return PTR_ERR(imp->attach);
	dma_resv_lock(imp->dmabuf->resv, NULL);
	ret = import_map_locked(p);
	dma_resv_unlock(imp->dmabuf->resv);
	if (ret) {
		dma_buf_detach(imp->dmabuf, imp->attach);
		return ret;
	}
	mutex_lock(&p->pd->detach_lock);
	list_add(&p->mapped, &p->pd->attached);
	mutex_unlock(&p->pd->detach_lock);
	return 0;
}

static bool import_interrupted(int ret)
{
	return ret == -ERESTARTSYS || ret == -EINTR;
}

static int import_map(struct paccel_pages *p)
{
	int ret = -EOPNOTSUPP, first, idx;

	if (p->pd->direct) {
		if (!paccel_enter(p->pd, &idx))
			return -ENODEV;
		ret = import_map_device(p);
		paccel_exit(idx);
	}
	first = ret;
	if (ret && !import_interrupted(ret))
		ret = dma_buf_vmap_unlocked(p->import->dmabuf, &p->import->map);
	/* If the mapping for the device has failed for lack of memory only, that is the error. */
	if (ret && !import_interrupted(ret) && first == -ENOMEM)
		ret = first;
	/*
	 * Any signal interrupts the wait for fences. The ioctl is restarted, even without
	 * SA_RESTART.
	 */
	if (import_interrupted(ret))
		return -ERESTARTNOINTR;
	return !ret || ret == -ENOMEM ? ret : -EOPNOTSUPP;
}

/*
 * For paccel_pages_import(), which has set up @p. Takes its own reference on @dmabuf. On failure
 * there is nothing to release.
 */
int paccel_import_get(struct paccel_pages *p, struct dma_buf *dmabuf)
{
	struct paccel_import *imp = kzalloc(sizeof(*imp), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!imp)
		return -ENOMEM;
	imp->pd = p->pd;
	imp->dmabuf = dmabuf;
	imp->pages = p;
	imp->dir = p->dir;
	init_completion(&imp->detached);
	p->import = imp;
	ret = import_map(p);
	if (ret) {
		p->import = NULL;
		kfree(imp);
		return ret;
	}
	get_dma_buf(dmabuf);
	get_device(&imp->pd->dev);
	__module_get(THIS_MODULE);
	return 0;
}

/*
 * No DMA request of the device uses the mapping. May wait for the exporter: the caller holds no
 * lock, and has removed the import from pd->attached or kept_imports.
 */
static void import_detach(struct paccel_import *imp)
{
	dma_resv_lock(imp->dmabuf->resv, NULL);
	if (imp->sgt)
		dma_buf_unmap_attachment(imp->attach, imp->sgt, imp->dir);
	WRITE_ONCE(imp->sgt, NULL);
	import_unpin(imp);
	dma_resv_unlock(imp->dmabuf->resv);
	dma_buf_detach(imp->dmabuf, imp->attach);
	complete(&imp->detached);
}

/* Removes an import from pd->attached and returns it; NULL if there is none. */
static struct paccel_import *import_take_first(struct paccel_device *pd)
{
	struct paccel_pages *p;

	guard(mutex)(&pd->detach_lock);
	p = list_first_entry_or_null(&pd->attached, struct paccel_pages, mapped);
	if (!p)
		return NULL;
	list_del_init(&p->mapped);
	return p->import;
}

/*
 * The device is quiet, and is being unbound or was unbound. No mapping for it is left when this
 * returns. No lock of the driver is held.
 */
void paccel_import_detach_all(struct paccel_device *pd)
{
	struct paccel_import *imp;

	while ((imp = import_take_first(pd)))
		import_detach(imp);
	/* Then the imports that import_end() has removed are detached, or in kept_imports. */
	wait_var_event(&pd->detaching, !atomic_read(&pd->detaching));
	paccel_import_release_kept();
	flush_work(&kept_work);
}

static void import_free(struct paccel_import *imp)
{
	if (iosys_map_is_set(&imp->map))
		dma_buf_vunmap_unlocked(imp->dmabuf, &imp->map);
	dma_buf_put(imp->dmabuf);
	put_device(&imp->pd->dev);
	kfree(imp);
	/*
	 * This code stays loaded until it has returned: it is called with a file open, or by work
	 * on paccel_release_wq, which the module's exit drains.
	 */
	module_put(THIS_MODULE);
}

/* The pages of the import end. Returns whether the device may still write to the mapping. */
static bool import_leave_pages(struct paccel_import *imp)
{
	bool written;

	dma_resv_lock(imp->dmabuf->resv, NULL);
	imp->pages = NULL;
	written = import_is_written(imp);
	dma_resv_unlock(imp->dmabuf->resv);
	return written;
}

/* Removes the import from pd->attached. Returns false if paccel_import_detach_all() has done so. */
static bool import_take(struct paccel_import *imp, struct paccel_pages *p)
{
	guard(mutex)(&imp->pd->detach_lock);
	if (list_empty(&p->mapped))
		return false;
	list_del_init(&p->mapped);
	atomic_inc(&imp->pd->detaching);
	return true;
}

/* Ends the attachment. Returns false if the import is kept instead; kept_work then frees it. */
static bool import_end(struct paccel_import *imp, struct paccel_pages *p)
{
	struct paccel_device *pd = imp->pd;
	bool kept;

	if (!import_take(imp, p)) {
		wait_for_completion(&imp->detached);
		return true;
	}
	kept = import_leave_pages(imp);
	if (kept) {
		dev_warn(&pd->dev,
			 "%lu pages of a dma-buf are kept: the device might still write\n", p->nr);
		mutex_lock(&kept_lock);
		list_add(&imp->kept, &kept_imports);
		mutex_unlock(&kept_lock);
	} else {
		import_detach(imp);
	}
	if (atomic_dec_and_test(&pd->detaching))
		wake_up_var(&pd->detaching);
	return !kept;
}

void paccel_import_put(struct paccel_pages *p)
{
	struct paccel_import *imp = p->import;
	bool ended = paccel_import_is_readable(p) || import_end(imp, p);

	/* There are none if the memory is mapped for the CPU. */
	paccel_segs_free(&p->segs);
	if (ended)
		import_free(imp);
	else
		/* The device may have been proven quiet before the import was in the list. */
		paccel_import_release_kept();
}

void paccel_import_release_kept(void)
{
	queue_work(paccel_release_wq, &kept_work);
}

static void kept_imports_release(struct work_struct *work)
{
	struct paccel_import *imp, *next;
	LIST_HEAD(over);

	mutex_lock(&kept_lock);
	list_for_each_entry_safe(imp, next, &kept_imports, kept)
		if (!import_is_written(imp))
			list_move(&imp->kept, &over);
	mutex_unlock(&kept_lock);
	list_for_each_entry_safe(imp, next, &over, kept) {
		import_detach(imp);
		import_free(imp);
	}
}

bool paccel_import_is_readable(const struct paccel_pages *p)
{
	return iosys_map_is_set(&p->import->map);
}

static bool import_is_copied(const struct paccel_pages *p)
{
	return p->kind == PACCEL_PAGES_IMPORTED && paccel_import_is_readable(p);
}

/* A write may be partial, and the other bytes must be kept. */
static enum dma_data_direction import_access_dir(bool write)
{
	return write ? DMA_BIDIRECTIONAL : DMA_FROM_DEVICE;
}

int paccel_import_begin_cpu(struct paccel_pages *p, bool write)
{
	int ret;

	if (!import_is_copied(p))
		return 0;
	ret = dma_buf_begin_cpu_access(p->import->dmabuf, import_access_dir(write));
	if (import_interrupted(ret))
		return -ERESTARTNOINTR;
	return !ret || ret == -ENOMEM ? ret : -EIO;
}

void paccel_import_end_cpu(struct paccel_pages *p, bool write)
{
	if (import_is_copied(p))
		dma_buf_end_cpu_access(p->import->dmabuf, import_access_dir(write));
}

void paccel_import_read(struct paccel_pages *p, u64 off, void *to, u32 len)
{
	iosys_map_memcpy_from(to, &p->import->map, off, len);
}

void paccel_import_write(struct paccel_pages *p, u64 off, const void *from, u32 len)
{
	iosys_map_memcpy_to(&p->import->map, off, from, len);
}
