// SPDX-License-Identifier: GPL-2.0-only
/*
 * The card as the rest of the kernel sees it: a struct device with a node, from probe until the
 * last file is closed. Unplugging takes the card away and leaves the object: after
 * paccel_device_unregister() every call answers -ENODEV.
 */
#include <linux/dma-mapping.h>
#include <linux/idr.h>
#include <linux/iommu.h>
#include <linux/log2.h>
#include <linux/slab.h>

#include "paccel.h"

#define PACCEL_MINORS 256

DEFINE_SRCU(paccel_srcu);
static DEFINE_IDA(paccel_ida);
static dev_t paccel_devt;

static char *paccel_devnode(PACCEL_DEVNODE_CONST struct device *dev, umode_t *mode)
{
	if (mode)
		*mode = 0660;
	return NULL;
}

/* The last reference: every file is closed, every allocation and job is gone. */
static void paccel_device_release(struct device *dev)
{
	struct paccel_device *pd = container_of(dev, struct paccel_device, dev);

	paccel_pool_destroy(pd);
	ida_free(&paccel_ida, MINOR(dev->devt));
	pci_dev_put(pd->pdev);
	kfree(pd);
}

static struct class paccel_class = {
	.name = "paccel",
	.devnode = paccel_devnode,
	.dev_release = paccel_device_release,
	.dev_groups = paccel_groups,
};

/* An object without a card yet. put_device() ends it. */
struct paccel_device *paccel_device_alloc(struct pci_dev *pdev, const struct paccel_hw_ops *ops)
{
	struct paccel_device *pd = kzalloc(sizeof(*pd), GFP_KERNEL);
	int minor;

	if (!pd)
		return ERR_PTR(-ENOMEM);
	minor = ida_alloc_max(&paccel_ida, PACCEL_MINORS - 1, GFP_KERNEL);
	if (minor < 0) {
		kfree(pd);
		return ERR_PTR(minor);
	}
	pd->pdev = pci_dev_get(pdev);
	pd->ops = ops;
	strscpy(pd->bus_addr, pci_name(pdev), sizeof(pd->bus_addr));
	mutex_init(&pd->reset_lock);
	mutex_init(&pd->ctxs_lock);
	mutex_init(&pd->mapped_lock);
	INIT_LIST_HEAD(&pd->ctxs);
	INIT_LIST_HEAD(&pd->mapped);
	INIT_WORK(&pd->recover, paccel_recover_work);
	init_waitqueue_head(&pd->wait);
	paccel_engines_init(pd);

	device_initialize(&pd->dev);
	pd->dev.class = &paccel_class;
	pd->dev.parent = &pdev->dev;
	pd->dev.devt = MKDEV(MAJOR(paccel_devt), minor);
	cdev_init(&pd->cdev, &paccel_fops);
	pd->cdev.owner = THIS_MODULE;
	if (dev_set_name(&pd->dev, "paccel%d", minor)) {
		put_device(&pd->dev);
		return ERR_PTR(-ENOMEM);
	}
	return pd;
}

/*
 * Can every page of host memory be mapped for the card? An IOMMU puts it anywhere; without one
 * the card's mask must cover all of RAM.
 */
static bool reaches_all_memory(struct device *dev)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(dev);

	if (domain && (domain->type & __IOMMU_DOMAIN_PAGING))
		return true;
	return dma_get_required_mask(dev) <= dma_get_mask(dev);
}

/* What the core relies on; see struct paccel_hw_info. */
static int check_info(struct paccel_device *pd)
{
	const struct paccel_hw_info *info = &pd->info;

	if (is_power_of_2(info->granule) && info->mem_size &&
	    IS_ALIGNED(info->mem_size, info->granule) &&
	    info->max_xfer && info->max_xfer <= PACCEL_MAX_XFER && !(info->max_xfer % 8) &&
	    info->engines && info->engines <= PACCEL_MAX_ENGINES)
		return 0;
	dev_err(&pd->dev, "%s: sizes out of range: this card's file is wrong\n", pd->ops->name);
	return -EINVAL;
}

/* The card's file has probed it: makes the node. */
int paccel_device_register(struct paccel_device *pd)
{
	int ret = check_info(pd);

	if (ret)
		return ret;
	dma_set_max_seg_size(&pd->pdev->dev, UINT_MAX);
	dma_set_seg_boundary(&pd->pdev->dev, ULONG_MAX);
	pd->direct = reaches_all_memory(&pd->pdev->dev);
	ret = paccel_engines_alloc(pd);
	if (ret)
		return ret;
	ret = paccel_pool_init(pd);
	if (ret)
		goto free_engines;
	ret = cdev_device_add(&pd->cdev, &pd->dev);
	if (ret)
		goto free_engines;
	dev_info(&pd->dev, "%s at %s: %llu bytes, granule %llu, %s\n", pd->ops->name, pd->bus_addr,
		 pd->info.mem_size, pd->info.granule,
		 pd->direct ? "direct DMA" : "all DMA through a bounce buffer");
	queue_work(paccel_wq, &pd->pool.scrub_work);
	return 0;

free_engines:
	paccel_engines_free(pd);
	return ret;
}

/* The card is stopped for good, or proven unable to write. */
static void stop(struct paccel_device *pd)
{
	mutex_lock(&pd->reset_lock);
	paccel_engines_hold(pd, -ENODEV);
	if (pd->ops->quiesce(pd, READ_ONCE(paccel_quiesce_ms))) {
		dev_err(&pd->dev, "the card does not become idle: cut off from memory\n");
		paccel_give_up(pd);
	}
	paccel_engines_abort(pd, -ENODEV);
	paccel_engines_refuse(pd, -ENODEV);
	mutex_unlock(&pd->reset_lock);
	cancel_work_sync(&pd->recover);
}

/*
 * Unplugs: no new file, every call on an open one answers -ENODEV, everybody who waits is woken,
 * nothing is mapped for the card any more. The caller drops its reference after the card's file
 * has removed the card.
 */
void paccel_device_unregister(struct paccel_device *pd)
{
	cdev_device_del(&pd->cdev, &pd->dev);
	WRITE_ONCE(pd->gone, true);
	synchronize_srcu(&paccel_srcu);
	stop(pd);
	paccel_pool_wake(pd);
	wake_up_all(&pd->wait);
	/* Scrubbing is refused by now, so this one is the last. */
	flush_work(&pd->pool.scrub_work);
	if (!pd->unsafe)
		paccel_pages_unmap_all(pd);
	paccel_engines_free(pd);
}

u32 paccel_device_caps(struct paccel_device *pd)
{
	u32 caps = 0;

	if (pd->info.flags & PACCEL_HW_MEM_SURVIVES)
		caps |= PACCEL_CAP_MEM_SURVIVES_RESET;
	if (pd->direct)
		caps |= PACCEL_CAP_DIRECT_DMA;
	return caps;
}

int paccel_device_init(void)
{
	int ret = alloc_chrdev_region(&paccel_devt, 0, PACCEL_MINORS, "paccel");

	if (ret)
		return ret;
	ret = class_register(&paccel_class);
	if (ret)
		unregister_chrdev_region(paccel_devt, PACCEL_MINORS);
	return ret;
}

void paccel_device_exit(void)
{
	class_unregister(&paccel_class);
	unregister_chrdev_region(paccel_devt, PACCEL_MINORS);
	ida_destroy(&paccel_ida);
}
