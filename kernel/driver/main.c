// SPDX-License-Identifier: GPL-2.0-only
/* Beginning and end of the module. */
#include <linux/module.h>

#include "core/module.h"
#include "driver/driver.h"
#include "hw/table.h"
#include "include/paccel.h"

/* The first @count backends of the table, the last of them first. */
static void unregister_backends(unsigned int count)
{
	while (count--)
		paccel_backend_unregister(paccel_backends[count]);
}

static int __init register_backends(void)
{
	unsigned int i;
	int ret;

	for (i = 0; i < paccel_nr_backends; i++) {
		ret = paccel_backend_register(paccel_backends[i]);
		if (ret) {
			unregister_backends(i);
			return ret;
		}
	}
	return 0;
}

static int __init paccel_init(void)
{
	int ret = -ENOMEM;

	paccel_wq = alloc_workqueue("paccel", WQ_HIGHPRI | WQ_MEM_RECLAIM, 0);
	if (!paccel_wq)
		return ret;
	paccel_release_wq = alloc_workqueue("paccel_release", WQ_UNBOUND, 0);
	if (!paccel_release_wq)
		goto destroy_wq;
	ret = paccel_device_init();
	if (ret)
		goto destroy_release_wq;
	paccel_debugfs_init();
	ret = register_backends();
	if (ret)
		goto exit_debugfs;
	return 0;

exit_debugfs:
	paccel_debugfs_exit();
	paccel_device_exit();
destroy_release_wq:
	destroy_workqueue(paccel_release_wq);
destroy_wq:
	destroy_workqueue(paccel_wq);
	return ret;
}

static void __exit paccel_exit_module(void)
{
	unregister_backends(paccel_nr_backends);
	paccel_debugfs_exit();
	/* The last references to streams, contexts and cards may still be on their way. */
	paccel_devices_wait();
	destroy_workqueue(paccel_release_wq);
	destroy_workqueue(paccel_wq);
	paccel_device_exit();
	/* Fences that were released just now. */
	rcu_barrier();
}

module_init(paccel_init);
module_exit(paccel_exit_module);
MODULE_DESCRIPTION("PCIe accelerators: device memory and DMA for many programs");
MODULE_LICENSE("GPL");
