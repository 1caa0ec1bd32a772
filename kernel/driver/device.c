// SPDX-License-Identifier: GPL-2.0-only
/*
 * Life cycle of a device: a struct device with a node, from probe until the last file is closed.
 * paccel_device_unregister() separates it from the hardware; afterwards all calls on open files
 * fail with -ENODEV.
 */
#include <linux/dma-mapping.h>
#include <linux/idr.h>
#include <linux/iommu.h>
#include <linux/log2.h>
#include <linux/pci.h>
#include <linux/slab.h>

#include "core/compat.h"
#include "core/device.h"
#include "core/module.h"
#include "driver/driver.h"
#include "exec/dump.h"
#include "exec/engine.h"
#include "exec/reset.h"
#include "include/paccel.h"
#include "mem/map.h"
#include "mem/pages.h"
#include "mem/pool.h"
#include "mem/pool_index.h"
#include "mem/share.h"
#include "uapi/file.h"

#define PACCEL_MINORS 256

static DEFINE_IDA(paccel_ida);
static atomic_t paccel_devices;
/* Devices that were unbound while they might still write host memory, until they are released. */
static LIST_HEAD(lost_devices);
static DEFINE_MUTEX(lost_lock);		/* lost_devices; no lock is taken while it is held */
static dev_t paccel_devt;

static char *paccel_devnode(PACCEL_DEVNODE_CONST struct device *dev, umode_t *mode)
{
	if (mode)
		*mode = 0660;
	return NULL;
}

/* The last reference was dropped: no file, allocation or job is left. */
static void paccel_device_release(struct device *dev)
{
	struct paccel_device *pd = container_of(dev, struct paccel_device, dev);

	mutex_lock(&lost_lock);
	list_del(&pd->lost);
	mutex_unlock(&lost_lock);
	paccel_pool_destroy(pd);
	paccel_scrub_free(pd);
	paccel_dump_free(pd);
	paccel_map_free(pd);
	paccel_engines_exit(pd);
	ida_free(&paccel_ida, MINOR(dev->devt));
	pci_dev_put(pd->hw.pdev);
	kfree(pd->saved);
	kfree(pd);
	if (atomic_dec_and_test(&paccel_devices))
		wake_up_var(&paccel_devices);
}

/*
 * Waits, when the module is unloaded, until all devices are released, and so their contexts,
 * streams and jobs. The remaining references are those of work items, which drop them without
 * outside help: open files and exported memory hold references on the module.
 */
void paccel_devices_wait_released(void)
{
	wait_var_event(&paccel_devices, !atomic_read(&paccel_devices));
}

static struct class paccel_class = {
	.name = "paccel",
	.devnode = paccel_devnode,
	.dev_release = paccel_device_release,
	.dev_groups = paccel_groups,
};

/* Allocates a device that is not registered. put_device() frees it. */
struct paccel_device *paccel_device_alloc(struct pci_dev *pdev, const struct paccel_hw_ops *ops)
{
	struct paccel_device *pd = kzalloc(sizeof(*pd), GFP_KERNEL);
	int minor, ret;

	if (!pd)
		return ERR_PTR(-ENOMEM);
	minor = ida_alloc_max(&paccel_ida, PACCEL_MINORS - 1, GFP_KERNEL);
	if (minor < 0) {
		kfree(pd);
		return ERR_PTR(minor);
	}
	atomic_inc(&paccel_devices);
	pd->hw.pdev = pci_dev_get(pdev);
	pd->ops = ops;
	pd->mem_ops = &paccel_mem_ops;
	strscpy(pd->backend, ops->name, sizeof(pd->backend));
	strscpy(pd->bus_addr, pci_name(pdev), sizeof(pd->bus_addr));
	mutex_init(&pd->reset_lock);
	mutex_init(&pd->ctxs_lock);
	mutex_init(&pd->mapped_lock);
	mutex_init(&pd->detach_lock);
	mutex_init(&pd->exports_lock);
	INIT_LIST_HEAD(&pd->lost);
	INIT_LIST_HEAD(&pd->ctxs);
	INIT_LIST_HEAD(&pd->mapped);
	INIT_LIST_HEAD(&pd->attached);
	INIT_LIST_HEAD(&pd->exports);
	INIT_WORK(&pd->recover, paccel_recover_work);
	INIT_WORK(&pd->dump_work, paccel_dump_work);
	INIT_WORK(&pd->revoke, paccel_exports_revoke_work);

	device_initialize(&pd->dev);
	pd->dev.class = &paccel_class;
	pd->dev.parent = &pdev->dev;
	pd->dev.devt = MKDEV(MAJOR(paccel_devt), minor);
	cdev_init(&pd->cdev, &paccel_fops);
	pd->cdev.owner = THIS_MODULE;
	ret = dev_set_name(&pd->dev, "paccel%d", minor);
	if (!ret)
		ret = paccel_engines_init(pd);
	if (!ret)
		ret = paccel_map_alloc(pd);
	if (ret) {
		put_device(&pd->dev);
		return ERR_PTR(ret);
	}
	return pd;
}

/*
 * Returns whether all host memory can be mapped for the device: behind an IOMMU, or if its DMA mask
 * covers all of RAM. If swiotlb may copy mapped memory (swiotlb=force, SEV, TDX), the answer is no:
 * registered memory would occupy slots, which all drivers share, for as long as it is registered.
 */
static bool device_can_map_all_memory(struct device *dev)
{
	struct iommu_domain *domain = iommu_get_domain_for_dev(dev);

	if (paccel_swiotlb_possible(dev))
		return false;
	if (domain && (domain->type & __IOMMU_DOMAIN_PAGING))
		return true;
	return dma_get_required_mask(dev) <= dma_get_mask(dev);
}

static int info_refuse(struct paccel_device *pd, const char *field, u64 value, const char *allowed)
{
	dev_err(&pd->hw.pdev->dev, "backend %s: %s=%llu: must be %s\n", pd->backend, field, value,
		allowed);
	return -EINVAL;
}

#define INFO_REFUSE(_pd, field, allowed)						\
({											\
	struct paccel_device *__pd = _pd;						\
											\
	info_refuse(__pd, #field, __pd->hw.info.field, allowed);			\
})

/* The index of the pool must be able to count the granules and to find every alignment. */
static int info_check_granules(struct paccel_device *pd)
{
	const struct paccel_hw_info *info = &pd->hw.info;
	u64 nr;

	if (!is_power_of_2(info->granule) || info->granule > PAGE_SIZE)
		return INFO_REFUSE(pd, granule, "a power of two, at most a page");
	nr = info->mem_size / info->granule;
	if (!nr || info->mem_size % info->granule || nr > POOL_MAX_GRANULES)
		return INFO_REFUSE(pd, mem_size, "whole granules, 1 to 2^32 - 1 of them");
	if (info->granule < PACCEL_MAX_ALIGN >> (POOL_ALIGN_ORDERS - 1) &&
	    nr > 1 << (POOL_ALIGN_ORDERS - 1))
		return INFO_REFUSE(pd, granule, "at least 4096, or memory at most 512 granules");
	return 0;
}

/* Device memory that can be mapped lies in whole pages of a BAR. */
static int info_check_bar(struct paccel_device *pd)
{
	const struct paccel_hw_info *info = &pd->hw.info;
	u64 bar;

	if (!paccel_mappable(pd))
		return 0;
	if (info->mem_bar >= PCI_STD_NUM_BARS ||
	    !(pci_resource_flags(pd->hw.pdev, info->mem_bar) & IORESOURCE_MEM))
		return INFO_REFUSE(pd, mem_bar, "a memory BAR");
	if (info->granule < PAGE_SIZE)
		return INFO_REFUSE(pd, granule, "a page, for programs map the memory");
	bar = pci_resource_len(pd->hw.pdev, info->mem_bar);
	if (info->mem_offset % PAGE_SIZE || info->mem_offset > bar)
		return INFO_REFUSE(pd, mem_offset, "whole pages, inside the BAR");
	if (info->mem_size > bar - info->mem_offset)
		return INFO_REFUSE(pd, mem_size, "inside the BAR from mem_offset on");
	return 0;
}

static int info_check_dma(struct paccel_device *pd)
{
	const struct paccel_hw_info *info = &pd->hw.info;
	struct device *dev = &pd->hw.pdev->dev;

	if (!info->dma_bits || info->dma_bits > 64)
		return INFO_REFUSE(pd, dma_bits, "1 to 64");
	if (dma_get_mask(dev) != DMA_BIT_MASK(info->dma_bits) ||
	    dev->coherent_dma_mask != DMA_BIT_MASK(info->dma_bits))
		return INFO_REFUSE(pd, dma_bits, "that of both DMA masks");
	return 0;
}

/* Size and alignment of requests and their segments. */
static int info_check_xfer(struct paccel_device *pd)
{
	const struct paccel_hw_info *info = &pd->hw.info;
	u32 align = paccel_dma_align(pd);

	if (!info->max_xfer || info->max_xfer > PACCEL_MAX_XFER || info->max_xfer % 8)
		return INFO_REFUSE(pd, max_xfer, "a multiple of 8, at most 2 MiB");
	if (!info->max_segs)
		return INFO_REFUSE(pd, max_segs, "at least 1");
	if (info->max_seg % 8)
		return INFO_REFUSE(pd, max_seg, "a multiple of 8, or 0");
	if (info->seg_boundary && (!is_power_of_2(info->seg_boundary) || info->seg_boundary < 8))
		return INFO_REFUSE(pd, seg_boundary, "a power of two, at least 8, or 0");
	if (!is_power_of_2(align) || info->granule % align || info->max_xfer % align ||
	    info->max_seg % align || (info->seg_boundary && info->seg_boundary < align))
		return info_refuse(pd, "dma_align", align,
				   "a power of two that divides granule, max_xfer, max_seg, seg_boundary");
	return 0;
}

static int info_check_engines(struct paccel_device *pd)
{
	const struct paccel_hw_info *info = &pd->hw.info;

	if (!is_power_of_2(info->depth) || info->depth > PACCEL_MAX_DEPTH)
		return INFO_REFUSE(pd, depth, "a power of two, at most 64");
	if (info->depth > 1 && !pd->ops->halt)
		return INFO_REFUSE(pd, depth, "1 without halt()");
	if (info->list_size > PACCEL_MAX_LIST)
		return INFO_REFUSE(pd, list_size, "at most 64 KiB");
	if (!info->engines || info->engines > PACCEL_MAX_ENGINES)
		return INFO_REFUSE(pd, engines, "1 to 8");
	if (info->flags & ~PACCEL_HW_FLAGS)
		return INFO_REFUSE(pd, flags, "PACCEL_HW_* only");
	if (info->flags & PACCEL_HW_MEM_NONVOLATILE && !(info->flags & PACCEL_HW_MEM_SURVIVES))
		return INFO_REFUSE(pd, flags, "MEM_SURVIVES with MEM_NONVOLATILE");
	return 0;
}

static bool device_some_engine_takes(struct paccel_device *pd, u32 ops)
{
	unsigned int i;

	for (i = 0; i < pd->hw.info.engines; i++)
		if (paccel_engine_takes(&pd->engines[i], ops))
			return true;
	return false;
}

/* Each kind of job needs an engine that supports all its requests. */
static int info_check_engine_ops(struct paccel_device *pd)
{
	const struct paccel_hw_info *info = &pd->hw.info;
	u32 copies = BIT(PACCEL_XFER_H2D) | BIT(PACCEL_XFER_D2H);
	u32 inside = BIT(PACCEL_XFER_D2D) |
		     (info->flags & PACCEL_HW_CHECKSUM ? BIT(PACCEL_XFER_CHECKSUM) : 0);
	u32 needs[] = {
		BIT(PACCEL_XFER_H2D),
		BIT(PACCEL_XFER_D2H),
		info->flags & PACCEL_HW_D2D ? inside : copies,
		info->flags & PACCEL_HW_FILL ? BIT(PACCEL_XFER_FILL) : 0,
	};
	unsigned int i;

	for (i = 0; i < info->engines; i++)
		if (info->engine_ops[i] >= BIT(PACCEL_XFER_CHECKSUM + 1))
			return info_refuse(pd, "engine_ops", info->engine_ops[i],
					   "bits of enum paccel_xfer_op");
	for (i = 0; i < ARRAY_SIZE(needs); i++)
		if (!device_some_engine_takes(pd, needs[i]))
			return info_refuse(pd, "engine_ops", needs[i],
					   "operations that one engine takes");
	return 0;
}

/* Checks what the driver relies on; see struct paccel_hw_info. */
static int info_check(struct paccel_device *pd)
{
	return info_check_granules(pd) ?: info_check_bar(pd) ?: info_check_dma(pd) ?:
	       info_check_xfer(pd) ?: info_check_engines(pd) ?: info_check_engine_ops(pd);
}

static bool pci_same_address(const struct pci_dev *a, const struct pci_dev *b)
{
	return a->bus == b->bus && a->devfn == b->devfn;
}

/*
 * Marks as quiet the lost devices at this PCI address: the backend's probe() has stopped the device
 * there, which is either the lost device or has replaced it.
 */
static void lost_devices_release(const struct pci_dev *pdev)
{
	struct paccel_device *pd, *next;
	LIST_HEAD(quiet);

	mutex_lock(&lost_lock);
	list_for_each_entry_safe(pd, next, &lost_devices, lost)
		if (pci_same_address(pd->hw.pdev, pdev) && kobject_get_unless_zero(&pd->dev.kobj))
			list_move(&pd->lost, &quiet);
	mutex_unlock(&lost_lock);
	list_for_each_entry_safe(pd, next, &quiet, lost) {
		list_del_init(&pd->lost);
		paccel_mark_quiet(pd);
		paccel_pages_unmap_all(pd);
		put_device(&pd->dev);
	}
}

/* Called after the backend's probe() has succeeded: makes the device available. */
int paccel_device_register(struct paccel_device *pd)
{
	int ret = info_check(pd);

	if (ret)
		return ret;
	dma_set_max_seg_size(&pd->hw.pdev->dev, UINT_MAX);
	dma_set_seg_boundary(&pd->hw.pdev->dev, ULONG_MAX);
	pd->direct = device_can_map_all_memory(&pd->hw.pdev->dev);
	ret = paccel_engines_alloc(pd);
	if (ret)
		return ret;
	ret = paccel_scrub_alloc(pd);
	if (ret)
		goto free_engines;
	ret = paccel_pool_init(pd);
	if (ret)
		goto free_engines;
	paccel_dump_alloc(pd);
	paccel_map_enable(pd);
	ret = cdev_device_add(&pd->cdev, &pd->dev);
	if (ret)
		goto end_map;
	dev_info(&pd->dev, "%s at %s: %llu bytes, granule %llu, %s\n", pd->backend, pd->bus_addr,
		 pd->hw.info.mem_size, pd->hw.info.granule,
		 pd->direct ? "direct DMA" : "all DMA through a bounce buffer");
	paccel_debugfs_add(pd);
	lost_devices_release(pd->hw.pdev);
	queue_work(paccel_wq, &pd->pool->scrub_work);
	return 0;

end_map:
	paccel_map_disable(pd);
free_engines:
	paccel_engines_free(pd);
	return ret;
}

/* Stops the device for good. If it cannot be quiesced, it is marked as unsafe. */
static void device_stop(struct paccel_device *pd)
{
	mutex_lock(&pd->reset_lock);
	paccel_set_state(pd, PACCEL_REMOVED);
	paccel_engines_hold(pd, -ENODEV);
	if (paccel_stop_dma(pd))
		dev_err(&pd->dev, "the device does not become idle: %s\n",
			paccel_is_unsafe(pd) ? "memory that it may write is kept" :
					       "it is cut off from memory");
	paccel_engines_abort(pd, -ENODEV);
	paccel_engines_withdraw(pd, -ENODEV);
	mutex_unlock(&pd->reset_lock);
	cancel_work_sync(&pd->recover);
	flush_work(&pd->dump_work);
}

static void device_refuse_calls(struct paccel_device *pd)
{
	guard(mutex)(&pd->reset_lock);
	paccel_set_state(pd, PACCEL_REMOVING);
	paccel_pool_answer(pd);
}

/* Called before shutdown and kexec. The device is not started again. */
void paccel_device_shutdown(struct paccel_device *pd)
{
	device_refuse_calls(pd);
	device_stop(pd);
}

/*
 * Separates the device from the hardware: it cannot be opened, calls on open files fail with
 * -ENODEV, waiters are woken, and nothing is mapped for DMA any more. The caller drops its
 * reference after the backend's remove().
 */
void paccel_device_unregister(struct paccel_device *pd)
{
	cdev_device_del(&pd->cdev, &pd->dev);
	paccel_debugfs_remove(pd);
	device_refuse_calls(pd);
	synchronize_srcu(&paccel_srcu);
	paccel_map_zap_all(pd);
	device_stop(pd);
	/* Nothing resets the device and queues this any more. */
	cancel_work_sync(&pd->revoke);
	/*
	 * Importers may use the memory until this returns. An importer that is being removed itself
	 * waits for DMA requests of this device in its memory, so the engines are stopped before.
	 */
	paccel_exports_revoke(pd);
	paccel_ctxs_end(pd, -ENODEV, PACCEL_PAGE_GONE);
	/*
	 * Every fence has been signalled when this returns. None of them depends on the device any
	 * more.
	 */
	wait_var_event(&pd->stream_jobs, !atomic_read(&pd->stream_jobs));
	/* New scrub jobs are rejected, so this run of the work item is the last. */
	flush_work(&pd->pool->scrub_work);
	paccel_pages_unmap_all(pd);
	if (paccel_is_unsafe(pd)) {
		mutex_lock(&lost_lock);
		list_add(&pd->lost, &lost_devices);
		mutex_unlock(&lost_lock);
	}
	paccel_engines_free(pd);
	paccel_map_disable(pd);
}

int paccel_devices_init(void)
{
	int ret = alloc_chrdev_region(&paccel_devt, 0, PACCEL_MINORS, "paccel");

	if (ret)
		return ret;
	ret = class_register(&paccel_class);
	if (ret)
		unregister_chrdev_region(paccel_devt, PACCEL_MINORS);
	return ret;
}

void paccel_devices_exit(void)
{
	class_unregister(&paccel_class);
	unregister_chrdev_region(paccel_devt, PACCEL_MINORS);
	ida_destroy(&paccel_ida);
}
