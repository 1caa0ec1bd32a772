// SPDX-License-Identifier: GPL-2.0-only
/* PCI driver of all backends: probe, removal, power management, error recovery. */
#include <linux/paccel.h>
#include <linux/pci.h>
#include <linux/suspend.h>

#include "core/compat.h"
#include "core/device.h"
#include "driver/driver.h"
#include "exec/reset.h"
#include "include/paccel.h"

static int paccel_pci_enable(struct pci_dev *pdev)
{
	/*
	 * A request that an earlier driver has started must not write memory that has been freed.
	 * Also waits until configuration space responds, without which the function would not be
	 * enabled.
	 */
	int ret = paccel_bus_master(pdev, false);

	if (ret)
		return dev_err_probe(&pdev->dev, ret, "bus mastering cannot be turned off\n");
	ret = pci_enable_device(pdev);
	if (ret)
		return ret;
	ret = pci_request_regions(pdev, dev_driver_string(&pdev->dev));
	if (ret)
		pci_disable_device(pdev);
	return ret;
}

static void paccel_pci_disable(struct pci_dev *pdev)
{
	pci_clear_master(pdev);
	pci_release_regions(pdev);
	pci_disable_device(pdev);
}

static void hw_remove(struct paccel_device *pd)
{
	if (pd->ops->remove)
		pd->ops->remove(&pd->hw);
}

static int paccel_pci_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct paccel_backend *backend = container_of(to_pci_driver(pdev->dev.driver),
						      struct paccel_backend, driver);
	const struct paccel_hw_ops *ops = backend->ops ?: (void *)id->driver_data;
	struct paccel_device *pd;
	int ret;

	/* A device ID that was added by driver_override or new_id has no backend. */
	if (!ops)
		return -ENODEV;
	pd = paccel_device_alloc(pdev, ops);
	if (IS_ERR(pd))
		return PTR_ERR(pd);
	ret = paccel_pci_enable(pdev);
	if (ret)
		goto put;
	pci_save_state(pdev);
	pd->saved = pci_store_saved_state(pdev);
	ret = -ENOMEM;
	if (!pd->saved || !devres_open_group(&pdev->dev, pd, GFP_KERNEL))
		goto disable;
	ret = pd->ops->probe(&pd->hw);
	/* The PCI core would take a positive value for success. */
	if (ret > 0) {
		dev_err(&pdev->dev, "backend %s: probe() returned %d\n", pd->backend, ret);
		ret = -EINVAL;
	}
	if (ret)
		goto release;
	devres_close_group(&pdev->dev, pd);
	ret = paccel_bus_master(pdev, true);
	if (ret)
		dev_err(&pdev->dev, "bus mastering cannot be turned on (%d)\n", ret);
	ret = ret ?: paccel_device_register(pd);
	if (ret)
		goto remove;
	pci_set_drvdata(pdev, pd);
	return 0;

remove:
	hw_remove(pd);
release:
	devres_release_group(&pdev->dev, pd);
disable:
	paccel_pci_disable(pdev);
put:
	put_device(&pd->dev);
	return ret;
}

static void paccel_pci_remove(struct pci_dev *pdev)
{
	struct paccel_device *pd = pci_get_drvdata(pdev);

	paccel_device_unregister(pd);
	hw_remove(pd);
	/*
	 * Resources that probe() has taken with devm_*(). They are released now, since the handlers
	 * of its interrupts use pd.
	 */
	devres_release_group(&pdev->dev, pd);
	/* The backend's module may be unloaded before the last file is closed. */
	pd->ops = NULL;
	paccel_pci_disable(pdev);
	put_device(&pd->dev);
}

/* A device that continues after kexec would write memory of the next kernel. */
static void paccel_pci_shutdown(struct pci_dev *pdev)
{
	paccel_device_shutdown(pci_get_drvdata(pdev));
	paccel_bus_master(pdev, false);
}

static int paccel_pm_suspend(struct device *dev)
{
	int ret = paccel_suspend(dev_get_drvdata(dev));

	/*
	 * Once the state has been saved, the PCI core does not change the power state. Firmware
	 * turns the power off.
	 */
	if (!ret && !pm_suspend_via_firmware())
		pci_save_state(to_pci_dev(dev));
	return ret;
}

/* Also called if suspend was aborted: even then some devices have been without power. */
static int paccel_pm_resume(struct device *dev)
{
	struct paccel_device *pd = dev_get_drvdata(dev);

	return paccel_resume(pd, pm_suspend_via_firmware() &&
				 !(pd->hw.info.flags & PACCEL_HW_MEM_NONVOLATILE));
}

/* The hibernation image has been made. The device had power all the time. */
static int paccel_pm_thaw(struct device *dev)
{
	return paccel_resume(dev_get_drvdata(dev), false);
}

/*
 * The hibernation image has been restored. This kernel, after it had made the image, and another
 * one may have used the device meanwhile.
 */
static int paccel_pm_restore(struct device *dev)
{
	return paccel_resume(dev_get_drvdata(dev), true);
}

static const struct dev_pm_ops paccel_pm_ops = {
	.suspend = pm_sleep_ptr(paccel_pm_suspend),
	.resume = pm_sleep_ptr(paccel_pm_resume),
	.freeze = pm_sleep_ptr(paccel_pm_suspend),
	.thaw = pm_sleep_ptr(paccel_pm_thaw),
	.poweroff = pm_sleep_ptr(paccel_pm_suspend),
	.restore = pm_sleep_ptr(paccel_pm_restore),
};

static pci_ers_result_t paccel_error_detected(struct pci_dev *pdev, pci_channel_state_t state)
{
	paccel_set_failed(pci_get_drvdata(pdev));
	return state == pci_channel_io_perm_failure ? PCI_ERS_RESULT_DISCONNECT :
						      PCI_ERS_RESULT_NEED_RESET;
}

static pci_ers_result_t paccel_slot_reset(struct pci_dev *pdev)
{
	struct paccel_device *pd = pci_get_drvdata(pdev);

	/*
	 * The state before probe(), without bus mastering: after an error that is not fatal, the
	 * device was not reset, and may still be running.
	 */
	pci_load_saved_state(pdev, pd->saved);
	pci_restore_state(pdev);
	return paccel_reset(pd) ? PCI_ERS_RESULT_DISCONNECT : PCI_ERS_RESULT_RECOVERED;
}

static void paccel_reset_prepare(struct pci_dev *pdev)
{
	/* On failure the device is out of service until paccel_reset_done(). */
	paccel_suspend(pci_get_drvdata(pdev));
}

static void paccel_reset_done(struct pci_dev *pdev)
{
	paccel_resume(pci_get_drvdata(pdev), false);
}

static const struct pci_error_handlers paccel_error_handlers = {
	.error_detected = paccel_error_detected,
	.slot_reset = paccel_slot_reset,
	.reset_prepare = paccel_reset_prepare,
	.reset_done = paccel_reset_done,
};

/* @backend: if it has no ops, driver_data of each ID points to those of its devices. */
int paccel_pci_register(struct paccel_backend *backend, struct module *owner, const char *name)
{
	backend->driver = (struct pci_driver) {
		.name = name,
		.id_table = backend->ids,
		.probe = paccel_pci_probe,
		.remove = paccel_pci_remove,
		.shutdown = paccel_pci_shutdown,
		.driver.pm = pm_sleep_ptr(&paccel_pm_ops),
		.err_handler = &paccel_error_handlers,
	};
	return __pci_register_driver(&backend->driver, owner, KBUILD_MODNAME);
}

/* Returns the name of a mandatory field that is missing, or NULL. */
static const char *backend_missing(const struct paccel_hw_ops *ops)
{
	if (!ops)
		return "ops";
	if (!ops->name)
		return "name";
	if (!ops->probe)
		return "probe()";
	if (!ops->start)
		return "start()";
	if (!ops->poll)
		return "poll()";
	if (!ops->quiesce)
		return "quiesce()";
	return ops->reset ? NULL : "reset()";
}

/* Logs why it is not valid. */
static bool backend_ioctl_is_valid(const struct paccel_hw_ioctl *ioctl)
{
	unsigned int cmd = ioctl->cmd;

	if (cmd != _IO(PACCEL_IOC_TYPE, _IOC_NR(cmd)) || _IOC_NR(cmd) < PACCEL_NR_PRIVATE) {
		pr_err("paccel: ioctl 0x%x of a backend: must be _IO(PACCEL_IOC_TYPE, 0x80 to 0xff)\n",
		       cmd);
		return false;
	}
	if (ioctl->size > PACCEL_MAX_PRIVATE || ioctl->min_size > ioctl->size ||
	    ioctl->min_size < sizeof(u32)) {
		pr_err("paccel: ioctl 0x%x of a backend: size %u, min_size %u: must be 4 to %d\n",
		       cmd, ioctl->size, ioctl->min_size, PACCEL_MAX_PRIVATE);
		return false;
	}
	return true;
}

int __paccel_backend_register(struct paccel_backend *backend, struct module *owner)
{
	const char *what = backend_missing(backend->ops);
	const struct paccel_hw_ioctl *ioctl;

	if (what) {
		pr_err("paccel: a backend has no %s\n", what);
		return -EINVAL;
	}
	if (!*backend->ops->name || strlen(backend->ops->name) > PACCEL_BACKEND_NAME_MAX) {
		pr_err("paccel: name of a backend, \"%s\": must have 1 to %d bytes\n",
		       backend->ops->name, PACCEL_BACKEND_NAME_MAX);
		return -EINVAL;
	}
	for (ioctl = backend->ops->ioctls; ioctl && ioctl->execute; ioctl++)
		if (!backend_ioctl_is_valid(ioctl))
			return -EINVAL;
	snprintf(backend->driver_name, sizeof(backend->driver_name), "paccel_%s",
		 backend->ops->name);
	return paccel_pci_register(backend, owner, backend->driver_name);
}
EXPORT_SYMBOL_PACCEL(__paccel_backend_register);

void paccel_backend_unregister(struct paccel_backend *backend)
{
	pci_unregister_driver(&backend->driver);
}
EXPORT_SYMBOL_PACCEL(paccel_backend_unregister);
