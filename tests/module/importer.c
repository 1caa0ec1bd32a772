// SPDX-License-Identifier: GPL-2.0-only
/*
 * Importer for tests, a module of its own: attaches a PCI device to a dma-buf while the module is
 * loaded, and does no DMA.
 */
#include <linux/dma-buf.h>
#include <linux/dma-resv.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/string.h>

#include "core/compat.h"

static int fd = -1;
module_param(fd, int, 0);
MODULE_PARM_DESC(fd, "the dma-buf, a descriptor of the process that loads the module");

static char *device = "";
module_param(device, charp, 0);
MODULE_PARM_DESC(device, "name of a PCI function");

static char *how = "";
module_param(how, charp, 0);
MODULE_PARM_DESC(how, "static, pinned (an importer that cannot unmap) or dynamic (one that can)");

static bool mapped;
module_param(mapped, bool, 0444);
MODULE_PARM_DESC(mapped, "the device has a mapping of the dma-buf");

static struct device *dev;
static struct dma_buf *dmabuf;
static struct dma_buf_attachment *attach;
static struct sg_table *sgt;

/* The reservation lock is held, as in the functions below. */
static void importer_unmap(void)
{
	if (mapped)
		dma_buf_unmap_attachment(attach, sgt, DMA_BIDIRECTIONAL);
	mapped = false;
}

static void importer_invalidate(struct dma_buf_attachment *attach)
{
	importer_unmap();
}

/* As that of an RDMA device without on-demand paging, which relies on its pin. */
static void importer_ignore(struct dma_buf_attachment *attach)
{
}

static const struct dma_buf_attach_ops dynamic_ops = {
	.allow_peer2peer = true,
	.invalidate_mappings = importer_invalidate,
};

static const struct dma_buf_attach_ops pinned_ops = {
	.allow_peer2peer = true,
	.invalidate_mappings = importer_ignore,
};

static int importer_map(bool pinned)
{
	int ret = pinned ? dma_buf_pin(attach) : 0;

	if (ret)
		return ret;
	sgt = dma_buf_map_attachment(attach, DMA_BIDIRECTIONAL);
	mapped = !IS_ERR(sgt);
	if (!mapped && pinned)
		dma_buf_unpin(attach);
	return PTR_ERR_OR_ZERO(sgt);
}

static int importer_attach(bool pinned)
{
	const struct dma_buf_attach_ops *ops = pinned ? &pinned_ops : &dynamic_ops;
	int ret;

	if (!strcmp(how, "static"))
		ops = NULL;
	attach = dma_buf_dynamic_attach(dmabuf, dev, ops, NULL);
	if (IS_ERR(attach))
		return PTR_ERR(attach);
	dma_resv_lock(dmabuf->resv, NULL);
	ret = importer_map(pinned);
	dma_resv_unlock(dmabuf->resv);
	if (ret)
		dma_buf_detach(dmabuf, attach);
	return ret;
}

static int __init importer_init(void)
{
	int ret;

	dev = bus_find_device_by_name(&pci_bus_type, NULL, device);
	if (!dev)
		return -ENXIO;
	dmabuf = dma_buf_get(fd);
	if (IS_ERR(dmabuf)) {
		ret = PTR_ERR(dmabuf);
		goto put_device;
	}
	ret = importer_attach(!strcmp(how, "pinned"));
	if (ret)
		goto put_dmabuf;
	return 0;

put_dmabuf:
	dma_buf_put(dmabuf);
put_device:
	put_device(dev);
	return ret;
}

static void __exit importer_exit(void)
{
	dma_resv_lock(dmabuf->resv, NULL);
	importer_unmap();
	if (!strcmp(how, "pinned"))
		dma_buf_unpin(attach);
	dma_resv_unlock(dmabuf->resv);
	dma_buf_detach(dmabuf, attach);
	dma_buf_put(dmabuf);
	put_device(dev);
}

module_init(importer_init);
module_exit(importer_exit);
PACCEL_IMPORT_NS(DMA_BUF);
MODULE_DESCRIPTION("paccel: an importer of its dma-bufs");
MODULE_LICENSE("GPL");
