// SPDX-License-Identifier: GPL-2.0-only
/*
 * Device memory as a dma-buf. MEM_IMPORT on the same device gives another context access to the
 * allocation. Memory in a BAR can also be mapped by processes, and accessed by other devices
 * through importers that support memory without struct page and with revocation (allow_peer2peer).
 *
 * An importer has to unmap in invalidate_mappings(): the device can be bound again, and give the
 * addresses to another process, while the importer still has the dma-buf. One that cannot unmap
 * gets no mapping: a static importer is refused when it attaches, one that pins when it pins or
 * maps.
 *
 * The memory is revoked when the device is removed or loses its memory. invalidate_mappings() of
 * each importer is called under the reservation lock. The importers no longer use the memory when
 * that has returned or when their fences are signalled. The BAR is released after that. The engines
 * of the device are stopped before, since an importer may wait for them.
 */
#include <linux/dcache.h>
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/pci-p2pdma.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "core/compat.h"
#include "core/device.h"
#include "core/module.h"
#include "mem/map.h"
#include "mem/pool.h"
#include "mem/share.h"

/* Longest wait for the fences of importers of revoked memory, for all exports together. */
#define PACCEL_REVOKE_MS 10000

/**
 * struct paccel_export - device memory that is exported; the dma-buf's priv
 * @buf: the memory, a counted reference
 * @dmabuf: the dma-buf, which is freed with the last reference on @dentry
 * @dentry: its dentry, which lives longer than its file if it is open with O_PATH
 * @node: in pd->exports, under pd->exports_lock
 * @revoking: in the list of paccel_exports_revoke(), which then has a reference on @dentry
 * @revoked: it cannot be mapped any more; under the reservation lock
 */
struct paccel_export {
	struct paccel_buf *buf;
	struct dma_buf *dmabuf;
	struct dentry *dentry;
	struct list_head node;
	struct list_head revoking;
	bool revoked;
};

/*
 * Returns whether @dev can reach the BAR of @pd. p2p=force is for machines of which the kernel does
 * not know it, and for kernels without CONFIG_PCI_P2PDMA.
 */
static bool export_can_reach(struct paccel_device *pd, struct device *dev)
{
	switch (paccel_p2p) {
	case PACCEL_P2P_FORCE:
		return true;
	case PACCEL_P2P_AUTO:
		return pci_p2pdma_distance(pd->hw.pdev, dev, false) >= 0;
	default:
		return false;
	}
}

static int export_attach(struct dma_buf *dmabuf, struct dma_buf_attachment *attach)
{
	struct paccel_export *export = dmabuf->priv;
	struct paccel_device *pd = export->buf->pd;
	int idx, ret;

	if (!paccel_mappable(pd) || !attach->peer2peer)
		return -EOPNOTSUPP;
	if (!paccel_enter(pd, &idx))
		return -ENODEV;
	ret = export_can_reach(pd, attach->dev) ? 0 : -EOPNOTSUPP;
	paccel_exit(idx);
	return ret;
}

/*
 * The memory does not move, but it is revoked, so an importer that relies on a pin must not map it.
 * attach->priv is set while the attachment is pinned. The reservation lock is held.
 */
static int export_pin(struct dma_buf_attachment *attach)
{
	if (!paccel_may_pin(attach, attach->priv))
		return -EOPNOTSUPP;
	attach->priv = attach->dmabuf->priv;
	return 0;
}

static void export_unpin(struct dma_buf_attachment *attach)
{
	attach->priv = NULL;
}

static void export_unmap_segs(struct device *dev, struct sg_table *sgt, enum dma_data_direction dir)
{
	struct scatterlist *sg;
	unsigned int i;

	for_each_sgtable_sg(sgt, sg, i)
		if (sg_dma_len(sg))
			dma_unmap_resource(dev, sg_dma_address(sg), sg_dma_len(sg), dir,
					   DMA_ATTR_SKIP_CPU_SYNC);
	sg_free_table(sgt);
	kfree(sgt);
}

/* Several segments, since the length of a segment has 32 bits. */
static int export_map_segs(const struct paccel_buf *buf, struct device *dev, struct sg_table *sgt,
			   enum dma_data_direction dir)
{
	phys_addr_t phys = buf->pd->mem_phys + (buf->start - PACCEL_MEM_BASE);
	u64 left = buf->size;
	struct scatterlist *sg;
	unsigned int i;

	for_each_sgtable_sg(sgt, sg, i) {
		u32 len = min_t(u64, left, SZ_1G);
		dma_addr_t addr = dma_map_resource(dev, phys, len, dir, DMA_ATTR_SKIP_CPU_SYNC);

		if (dma_mapping_error(dev, addr))
			return -EOPNOTSUPP;
		sg_set_page(sg, NULL, len, 0);
		sg_dma_address(sg) = addr;
		sg_dma_len(sg) = len;
		phys += len;
		left -= len;
	}
	return 0;
}

static struct sg_table *export_map_buf(const struct paccel_buf *buf, struct device *dev,
				       enum dma_data_direction dir)
{
	struct sg_table *sgt = kzalloc(sizeof(*sgt), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!sgt)
		return ERR_PTR(-ENOMEM);
	ret = sg_alloc_table(sgt, DIV_ROUND_UP(buf->size, SZ_1G), GFP_KERNEL_ACCOUNT);
	if (ret) {
		kfree(sgt);
		return ERR_PTR(ret);
	}
	ret = export_map_segs(buf, dev, sgt, dir);
	if (ret) {
		export_unmap_segs(dev, sgt, dir);
		return ERR_PTR(ret);
	}
	return sgt;
}

/* Called with the reservation lock held, as export_unmap(). */
static struct sg_table *export_map(struct dma_buf_attachment *attach, enum dma_data_direction dir)
{
	struct paccel_export *export = attach->dmabuf->priv;
	const struct paccel_buf *buf = export->buf;
	struct sg_table *sgt = ERR_PTR(-ENODEV);
	int idx;

	if (!paccel_enter(buf->pd, &idx))
		return sgt;
	if (!export->revoked && buf->generation == READ_ONCE(buf->pd->pool->generation))
		sgt = export_map_buf(buf, attach->dev, dir);
	paccel_exit(idx);
	return sgt;
}

/* The mapping is one of the importer's device. The exporting device may be gone. */
static void export_unmap(struct dma_buf_attachment *attach, struct sg_table *sgt,
			 enum dma_data_direction dir)
{
	export_unmap_segs(attach->dev, sgt, dir);
}

/* Device memory is not cached by the CPU. Only write-combined stores may be pending. */
static int export_cpu_access(struct dma_buf *dmabuf, enum dma_data_direction dir)
{
	struct paccel_export *export = dmabuf->priv;

	if (!paccel_mappable(export->buf->pd))
		return -EOPNOTSUPP;
	paccel_order_cpu(export->buf->pd);
	return 0;
}

static int export_mmap(struct dma_buf *dmabuf, struct vm_area_struct *vma)
{
	struct paccel_export *export = dmabuf->priv;

	return paccel_map_buf(export->buf, vma);
}

static void export_release(struct dma_buf *dmabuf)
{
	struct paccel_export *export = dmabuf->priv;
	struct paccel_device *pd = export->buf->pd;

	mutex_lock(&pd->exports_lock);
	list_del(&export->node);
	mutex_unlock(&pd->exports_lock);
	paccel_buf_put(export->buf);
	kfree(export);
}

/* There is no vmap(): the kernel warns if one fails, and returns an error if there is none. */
static const struct dma_buf_ops export_ops = {
	.attach = export_attach,
	.pin = export_pin,
	.unpin = export_unpin,
	.map_dma_buf = export_map,
	.unmap_dma_buf = export_unmap,
	.begin_cpu_access = export_cpu_access,
	.end_cpu_access = export_cpu_access,
	.mmap = export_mmap,
	.release = export_release,
};

struct dma_buf *paccel_dmabuf_create(const struct dma_buf_ops *ops, void *priv, u64 size)
{
	DEFINE_DMA_BUF_EXPORT_INFO(info);

	info.ops = ops;
	info.priv = priv;
	info.size = size;
	info.flags = O_RDWR;
	return dma_buf_export(&info);
}

struct dma_buf *paccel_export_buf(struct paccel_buf *buf)
{
	struct paccel_export *export = kzalloc(sizeof(*export), GFP_KERNEL_ACCOUNT);
	struct paccel_device *pd = buf->pd;
	struct dma_buf *dmabuf;

	if (!export)
		return ERR_PTR(-ENOMEM);
	export->buf = buf;
	/* The size of a dma-buf is expected to be in whole pages. */
	dmabuf = paccel_dmabuf_create(&export_ops, export, PAGE_ALIGN(buf->size));
	if (IS_ERR(dmabuf)) {
		kfree(export);
		return dmabuf;
	}
	export->dmabuf = dmabuf;
	export->dentry = dmabuf->file->f_path.dentry;
	/* Zapping a range of device memory also zaps mappings of its dma-bufs. */
	dmabuf->file->f_mapping = pd->inode->i_mapping;
	mutex_lock(&pd->exports_lock);
	list_add(&export->node, &pd->exports);
	mutex_unlock(&pd->exports_lock);
	return dmabuf;
}

struct paccel_buf *paccel_dmabuf_to_buf(struct dma_buf *dmabuf)
{
	struct paccel_export *export = dmabuf->priv;

	return dmabuf->ops == &export_ops ? export->buf : NULL;
}

/*
 * If a reset loses device memory after the check here, it marks the calling context as lost. A
 * context that is opened later sees the new generation.
 */
struct paccel_buf *paccel_dmabuf_get_buf(struct paccel_device *pd, int fd)
{
	struct dma_buf *dmabuf = dma_buf_get(fd);
	struct paccel_buf *buf;

	if (IS_ERR(dmabuf))
		return ERR_PTR(-EINVAL);
	buf = paccel_dmabuf_to_buf(dmabuf);
	if (!buf || buf->pd != pd)
		buf = ERR_PTR(-EXDEV);
	else if (buf->generation != READ_ONCE(pd->pool->generation))
		buf = ERR_PTR(-ESTALE);
	else
		kref_get(&buf->ref);
	dma_buf_put(dmabuf);
	return buf;
}

/* Ends all mappings of the dma-buf by importers, and refuses new ones. */
static void export_invalidate(struct paccel_export *export)
{
	dma_resv_lock(export->dmabuf->resv, NULL);
	export->revoked = true;
	dma_buf_invalidate_mappings(export->dmabuf);
	dma_resv_unlock(export->dmabuf->resv);
}

/* Lists the exports that are to be revoked, but not those whose last reference has been dropped. */
static void exports_collect(struct paccel_device *pd, struct list_head *list)
{
	struct paccel_export *export;

	guard(mutex)(&pd->exports_lock);
	list_for_each_entry(export, &pd->exports, node)
		if (!export->revoked &&
		    (paccel_gone(pd) ||
		     export->buf->generation != READ_ONCE(pd->pool->generation)) &&
		    lockref_get_not_zero(&export->dentry->d_lockref))
			list_add(&export->revoking, list);
}

/*
 * Revokes all exports if the device is gone, else those whose contents are lost. Waits for
 * importing devices and for fences, which any process that has the dma-buf can add: no lock of the
 * driver is held, and no reservation lock while it waits for fences.
 */
void paccel_exports_revoke(struct paccel_device *pd)
{
	long left = msecs_to_jiffies(PACCEL_REVOKE_MS), ret;
	struct paccel_export *export, *next;
	bool released = true;
	LIST_HEAD(list);

	exports_collect(pd, &list);
	list_for_each_entry(export, &list, revoking)
		export_invalidate(export);
	list_for_each_entry_safe(export, next, &list, revoking) {
		ret = dma_resv_wait_timeout(export->dmabuf->resv, DMA_RESV_USAGE_BOOKKEEP, false,
					    left);
		/* An error of one fence does not use up the time for the others. */
		if (ret >= 0)
			left = ret;
		released = released && ret > 0;
		dput(export->dentry);
	}
	if (!released)
		dev_err(&pd->dev, "another driver does not release device memory\n");
}

void paccel_exports_revoke_work(struct work_struct *work)
{
	paccel_exports_revoke(container_of(work, struct paccel_device, revoke));
}

PACCEL_IMPORT_NS(DMA_BUF);
