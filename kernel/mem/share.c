// SPDX-License-Identifier: GPL-2.0-only
/*
 * Export of HOST_ALLOC memory as dma-bufs, and host ranges of dma-bufs. Exports of device memory
 * are in export.c.
 *
 * A dma-buf holds a reference on its memory, so that the context can free the memory and end, and
 * the device can be removed. HOST_ALLOC memory consists of ordinary pages, which every importer can
 * use.
 */
#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <linux/iosys-map.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "core/compat.h"
#include "core/ctx.h"
#include "core/device.h"
#include "mem/host.h"
#include "mem/pages.h"
#include "mem/pool.h"
#include "mem/share.h"

/* --- host memory; dmabuf->priv is a paccel_shared --- */

/**
 * struct paccel_shared - host memory that is exported
 * @host: the memory, a counted reference
 * @lock: @maps; the innermost of all locks
 * @maps: where other drivers have mapped it, struct paccel_shared_map
 */
struct paccel_shared {
	struct paccel_host *host;
	struct mutex lock;		/* maps */
	struct list_head maps;
};

struct paccel_shared_map {
	struct list_head node;
	struct device *dev;
	struct sg_table sgt;
	enum dma_data_direction dir;
};

static int shared_attach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	return paccel_swiotlb_possible(attach->dev) ? -EOPNOTSUPP : 0;
}

static int shared_sgt(struct paccel_shared *shared, struct paccel_shared_map *map)
{
	struct paccel_pages *p = &shared->host->pages;
	size_t max = min_t(size_t, dma_get_max_seg_size(map->dev), dma_max_mapping_size(map->dev));

	max = min_t(size_t, max, SZ_1G) & PAGE_MASK;
	if (!max)
		return -EOPNOTSUPP;
	return sg_alloc_table_from_pages_segment(&map->sgt, p->pages, p->nr, 0, p->length, max,
						 GFP_KERNEL_ACCOUNT);
}

/*
 * Maps with DMA_ATTR_SKIP_CPU_SYNC and syncs afterwards: the DMA-API debugger reports a page that
 * two devices have mapped otherwise, and this page is shared on purpose.
 */
static struct sg_table *shared_map(struct dma_buf_attachment *attach, enum dma_data_direction dir)
{
	struct paccel_shared *shared = attach->dmabuf->priv;
	struct paccel_shared_map *map = kzalloc(sizeof(*map), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!map)
		return ERR_PTR(-ENOMEM);
	map->dev = attach->dev;
	map->dir = dir;
	ret = shared_sgt(shared, map);
	if (ret)
		goto free_map;
	ret = dma_map_sgtable(map->dev, &map->sgt, dir, DMA_ATTR_NO_WARN | DMA_ATTR_SKIP_CPU_SYNC);
	if (ret)
		goto free_sgt;
	dma_sync_sgtable_for_device(map->dev, &map->sgt, dir);
	mutex_lock(&shared->lock);
	list_add(&map->node, &shared->maps);
	mutex_unlock(&shared->lock);
	return &map->sgt;

free_sgt:
	sg_free_table(&map->sgt);
free_map:
	kfree(map);
	return ERR_PTR(ret);
}

static void shared_unmap(struct dma_buf_attachment *attach, struct sg_table *sgt,
			 enum dma_data_direction dir)
{
	struct paccel_shared_map *map = container_of(sgt, struct paccel_shared_map, sgt);
	struct paccel_shared *shared = attach->dmabuf->priv;

	mutex_lock(&shared->lock);
	list_del(&map->node);
	mutex_unlock(&shared->lock);
	dma_sync_sgtable_for_cpu(map->dev, &map->sgt, map->dir);
	dma_unmap_sgtable(map->dev, &map->sgt, map->dir, DMA_ATTR_SKIP_CPU_SYNC);
	sg_free_table(&map->sgt);
	kfree(map);
}

/*
 * Makes writes of importing devices visible to the CPU. The mapping of the exporting device is not
 * synced here: each DMA request syncs its own bytes, and syncing all of them could overwrite later
 * writes of the CPU.
 */
static int shared_begin_cpu_access(struct dma_buf *dmabuf, enum dma_data_direction dir)
{
	struct paccel_shared *shared = dmabuf->priv;
	struct paccel_shared_map *map;

	guard(mutex)(&shared->lock);
	list_for_each_entry(map, &shared->maps, node)
		if (map->dir != DMA_TO_DEVICE)
			dma_sync_sgtable_for_cpu(map->dev, &map->sgt, map->dir);
	return 0;
}

static int shared_end_cpu_access(struct dma_buf *dmabuf, enum dma_data_direction dir)
{
	struct paccel_shared *shared = dmabuf->priv;
	struct paccel_shared_map *map;

	guard(mutex)(&shared->lock);
	list_for_each_entry(map, &shared->maps, node)
		dma_sync_sgtable_for_device(map->dev, &map->sgt, map->dir);
	return 0;
}

static vm_fault_t shared_vm_fault(struct vm_fault *vmf)
{
	struct paccel_host *host = vmf->vma->vm_private_data;

	if (vmf->pgoff >= host->pages.nr)
		return VM_FAULT_SIGBUS;
	vmf->page = host->pages.pages[vmf->pgoff];
	get_page(vmf->page);
	return 0;
}

static const struct vm_operations_struct shared_vm_ops = {
	.fault = shared_vm_fault,
};

/*
 * Any part can be mapped, any number of times. These mappings hold the file of the dma-buf, and so
 * the memory. They are independent of the mapping that gives the range its user address.
 */
static int shared_mmap(struct dma_buf *dmabuf, struct vm_area_struct *vma)
{
	struct paccel_shared *shared = dmabuf->priv;

	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	vma->vm_private_data = shared->host;
	vma->vm_ops = &shared_vm_ops;
	vm_flags_set(vma, VM_DONTEXPAND);
	return 0;
}

static int shared_vmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
	struct paccel_shared *shared = dmabuf->priv;
	struct paccel_pages *p = &shared->host->pages;
	void *addr = vmap(p->pages, p->nr, VM_MAP, PAGE_KERNEL);

	if (!addr)
		return -ENOMEM;
	iosys_map_set_vaddr(map, addr);
	return 0;
}

static void shared_vunmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
	vunmap(map->vaddr);
}

static void shared_free(struct paccel_shared *shared)
{
	paccel_host_put(shared->host);
	kfree(shared);
}

static void shared_release(struct dma_buf *dmabuf)
{
	shared_free(dmabuf->priv);
}

static const struct dma_buf_ops shared_ops = {
	.attach = shared_attach,
	.map_dma_buf = shared_map,
	.unmap_dma_buf = shared_unmap,
	.begin_cpu_access = shared_begin_cpu_access,
	.end_cpu_access = shared_end_cpu_access,
	.mmap = shared_mmap,
	.vmap = shared_vmap,
	.vunmap = shared_vunmap,
	.release = shared_release,
};

/* --- export --- */

struct dma_buf *paccel_host_export(struct paccel_ctx *ctx, u64 addr)
{
	struct paccel_host *host = paccel_host_get_own(ctx, addr);
	struct paccel_shared *shared;
	struct dma_buf *dmabuf;

	if (!host)
		return ERR_PTR(-ENOENT);
	shared = kzalloc(sizeof(*shared), GFP_KERNEL_ACCOUNT);
	if (!shared) {
		paccel_host_put(host);
		return ERR_PTR(-ENOMEM);
	}
	shared->host = host;
	mutex_init(&shared->lock);
	INIT_LIST_HEAD(&shared->maps);
	dmabuf = paccel_dmabuf_create(&shared_ops, shared, host->pages.length);
	if (IS_ERR(dmabuf))
		shared_free(shared);
	return dmabuf;
}

/* --- registration --- */

/* Returns 0 if the dma-buf may be registered, or -errno. */
static int host_import_check(struct paccel_host *host, struct dma_buf *dmabuf, u64 length)
{
	struct paccel_buf *buf = paccel_dmabuf_to_buf(dmabuf);

	/* The device would access its own BAR. */
	if (buf && buf->pd == host->pages.pd)
		return -EOPNOTSUPP;
	if (length > dmabuf->size)
		return -EINVAL;
	return host->read_only || dmabuf->file->f_mode & FMODE_WRITE ? 0 : -EACCES;
}

/* Returns the number of pages that are charged for the registration. */
static unsigned long host_import_cost(struct paccel_host *host, struct dma_buf *dmabuf, u64 length)
{
	struct paccel_shared *shared = dmabuf->priv;

	/*
	 * Device memory is not pinned. Other memory is pinned as a whole, even if a part is
	 * registered.
	 */
	if (dmabuf->ops != &shared_ops)
		return paccel_dmabuf_to_buf(dmabuf) ? 0 : PAGE_ALIGN(dmabuf->size) >> PAGE_SHIFT;
	/* A mapping of HOST_ALLOC memory for another device needs memory for its segments. */
	return shared->host->pages.pd == host->pages.pd ? 0 : PAGE_ALIGN(length) >> PAGE_SHIFT;
}

/* Registering HOST_ALLOC memory shares its pages, without an attachment to the dma-buf. */
static int host_import_pages(struct paccel_host *host, struct dma_buf *dmabuf, u64 length)
{
	struct paccel_shared *shared = dmabuf->priv;
	struct paccel_pages *p = &host->pages;

	if (dmabuf->ops != &shared_ops)
		return paccel_pages_import(p, p->pd, dmabuf, length, !host->read_only);
	kref_get(&shared->host->ref);
	host->lender = shared->host;
	paccel_pages_borrow(p, p->pd, &shared->host->pages, length, !host->read_only);
	paccel_pages_map(p);
	return 0;
}

/* The addresses of the range need not be mapped by the process. */
static int host_import_build(struct paccel_ctx *ctx, struct paccel_host *host, u64 length, int fd)
{
	struct dma_buf *dmabuf = dma_buf_get(fd);
	unsigned long cost;
	int ret;

	if (IS_ERR(dmabuf))
		return -EINVAL;
	ret = host_import_check(host, dmabuf, length);
	cost = host_import_cost(host, dmabuf, length);
	if (!ret && cost)
		ret = paccel_host_charge(ctx, host, cost, false);
	if (!ret)
		ret = host_import_pages(host, dmabuf, length);
	dma_buf_put(dmabuf);
	return ret ?: paccel_host_place(ctx, host);
}

int paccel_host_import(struct paccel_ctx *ctx, u64 addr, u64 length, bool read_only, int fd)
{
	struct paccel_host *host = paccel_host_new(ctx, addr, length, read_only);
	int ret;

	if (IS_ERR(host))
		return PTR_ERR(host);
	ret = host_import_build(ctx, host, length, fd);
	if (ret)
		paccel_host_discard(ctx, host);
	return ret;
}

PACCEL_IMPORT_NS(DMA_BUF);
