// SPDX-License-Identifier: GPL-2.0-only
/* Module parameters, beginning and end. */
#include <linux/module.h>

#include "paccel.h"

bool paccel_scrub = true;
module_param_named(scrub, paccel_scrub, bool, 0444);
MODULE_PARM_DESC(scrub, "clear freed device memory before anybody else can have it (Y)");

/* A parameter of milliseconds, with its limits. */
struct paccel_ms {
	unsigned int *value;
	unsigned int min;
	unsigned int max;
};

static int paccel_ms_set(const char *text, const struct kernel_param *kp)
{
	const struct paccel_ms *ms = kp->arg;
	unsigned int value;

	if (kstrtouint(text, 0, &value) || value < ms->min || value > ms->max) {
		pr_err("paccel: %s must be %u to %u milliseconds\n", kp->name, ms->min, ms->max);
		return -EINVAL;
	}
	WRITE_ONCE(*ms->value, value);
	return 0;
}

static int paccel_ms_get(char *buffer, const struct kernel_param *kp)
{
	const struct paccel_ms *ms = kp->arg;

	return sysfs_emit(buffer, "%u\n", READ_ONCE(*ms->value));
}

static const struct kernel_param_ops paccel_ms_ops = {
	.set = paccel_ms_set,
	.get = paccel_ms_get,
};

unsigned int paccel_watchdog_ms = 10000;
static const struct paccel_ms watchdog_ms = { &paccel_watchdog_ms, 10, 600000 };
module_param_cb(watchdog_ms, &paccel_ms_ops, (void *)&watchdog_ms, 0644);
MODULE_PARM_DESC(watchdog_ms, "longest time for one transfer, in ms, 10 to 600000 (10000)");

unsigned int paccel_quiesce_ms = 5000;
static const struct paccel_ms quiesce_ms = { &paccel_quiesce_ms, 1, 60000 };
module_param_cb(quiesce_ms, &paccel_ms_ops, (void *)&quiesce_ms, 0644);
MODULE_PARM_DESC(quiesce_ms, "longest wait for a card to stop, in ms, 1 to 60000 (5000)");

struct workqueue_struct *paccel_wq;
struct workqueue_struct *paccel_release_wq;

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
	ret = pci_register_driver(&paccel_pci_driver);
	if (ret)
		goto exit_device;
	return 0;

exit_device:
	paccel_device_exit();
destroy_release_wq:
	destroy_workqueue(paccel_release_wq);
destroy_wq:
	destroy_workqueue(paccel_wq);
	return ret;
}

static void __exit paccel_exit_module(void)
{
	pci_unregister_driver(&paccel_pci_driver);
	/* The last references to contexts and cards may still be on their way. */
	destroy_workqueue(paccel_release_wq);
	destroy_workqueue(paccel_wq);
	paccel_device_exit();
}

module_init(paccel_init);
module_exit(paccel_exit_module);
MODULE_DESCRIPTION("PCIe accelerators: device memory and DMA for many programs");
MODULE_LICENSE("GPL");
