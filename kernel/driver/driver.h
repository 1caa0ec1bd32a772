/* SPDX-License-Identifier: GPL-2.0-only */
/* Device registration, PCI drivers, and debugfs and sysfs files. */
#ifndef PACCEL_DRIVER_H
#define PACCEL_DRIVER_H

struct attribute_group;
struct paccel_device;
struct paccel_hw_ops;
struct paccel_backend;
struct module;
struct pci_dev;

/*
 * Allocates a device before ops->probe(). Returns an object that put_device() frees, or an ERR_PTR.
 */
struct paccel_device *paccel_device_alloc(struct pci_dev *pdev, const struct paccel_hw_ops *ops);
/*
 * Checks hw.info after ops->probe(), starts the engines and creates the device node. Returns 0 or
 * -errno; on failure the caller calls ops->remove() and put_device().
 */
int paccel_device_register(struct paccel_device *pd);
/*
 * Removes the node and stops the engines; system calls on open files fail with -ENODEV. When this
 * returns, all jobs have ended, all fences are signalled, and no DMA mapping is left but those that
 * the device may still write to. The caller calls ops->remove() and put_device(). May sleep.
 */
void paccel_device_unregister(struct paccel_device *pd);
/* Stops the engines for shutdown and kexec. */
void paccel_device_shutdown(struct paccel_device *pd);
/* For module exit: waits until the last reference on every device has been dropped. */
void paccel_devices_wait_released(void);
/* Register and unregister the class and the character device numbers. */
int paccel_devices_init(void);
void paccel_devices_exit(void);

/*
 * Registers a PCI driver for a backend. Without backend->ops, the driver_data of each PCI ID is its
 * struct paccel_hw_ops. Returns 0 or -errno.
 */
int paccel_pci_register(struct paccel_backend *backend, struct module *owner, const char *name);

/* Failures of debugfs are ignored. _remove() waits for readers. */
void paccel_debugfs_init(void);
void paccel_debugfs_exit(void);
void paccel_debugfs_add(struct paccel_device *pd);
void paccel_debugfs_remove(struct paccel_device *pd);

/* sysfs attributes, see Documentation/ABI/testing/sysfs-class-paccel. */
extern const struct attribute_group *paccel_groups[];

#endif
