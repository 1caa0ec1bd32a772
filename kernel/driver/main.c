// SPDX-License-Identifier: GPL-2.0-only
/* Loading and unloading of the module. */
#include <linux/module.h>

#include "core/module.h"
#include "driver/driver.h"
#include "hw/backends.h"
#include "include/paccel.h"

static struct paccel_backend backends = { .ids = paccel_pci_ids };

/* No backend is registered and no device is bound. */
static void paccel_end(void)
{
	paccel_debugfs_exit();
	/* Work items may still drop the last references on streams, contexts and devices. */
	paccel_devices_wait_released();
	destroy_workqueue(paccel_release_wq);
	destroy_workqueue(paccel_recovery_wq);
	destroy_workqueue(paccel_stream_wq);
	destroy_workqueue(paccel_wq);
	paccel_devices_exit();
	/* For fence_free(), which is called after an RCU grace period. */
	rcu_barrier();
}

static int __init paccel_init(void)
{
	int ret = -ENOMEM;

	/* WQ_UNBOUND: a long work item does not delay others of its CPU. */
	paccel_wq = alloc_workqueue("paccel", WQ_UNBOUND | WQ_HIGHPRI | WQ_MEM_RECLAIM, 0);
	if (!paccel_wq)
		return ret;
	paccel_stream_wq = alloc_workqueue("paccel_stream", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!paccel_stream_wq)
		goto destroy_wq;
	paccel_recovery_wq = alloc_workqueue("paccel_recovery", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!paccel_recovery_wq)
		goto destroy_stream_wq;
	paccel_release_wq = alloc_workqueue("paccel_release", WQ_UNBOUND, 0);
	if (!paccel_release_wq)
		goto destroy_recovery_wq;
	ret = paccel_devices_init();
	if (ret)
		goto destroy_release_wq;
	paccel_debugfs_init();
	ret = paccel_pci_register(&backends, THIS_MODULE, "paccel");
	if (ret)
		paccel_end();
	return ret;

destroy_release_wq:
	destroy_workqueue(paccel_release_wq);
destroy_recovery_wq:
	destroy_workqueue(paccel_recovery_wq);
destroy_stream_wq:
	destroy_workqueue(paccel_stream_wq);
destroy_wq:
	destroy_workqueue(paccel_wq);
	return ret;
}

static void __exit paccel_exit_module(void)
{
	paccel_backend_unregister(&backends);
	paccel_end();
}

module_init(paccel_init);
module_exit(paccel_exit_module);
MODULE_DESCRIPTION("PCIe accelerators: device memory and DMA for many programs");
MODULE_LICENSE("GPL");
MODULE_VERSION(PACCEL_VERSION);
