/* SPDX-License-Identifier: GPL-2.0-only */
/* Beginning and end of devices, and what the rest of the kernel sees of them. */
#ifndef PACCEL_DRIVER_H
#define PACCEL_DRIVER_H

struct attribute_group;
struct paccel_device;
struct paccel_hw_ops;
struct paccel_backend;
struct module;
struct pci_dev;

struct paccel_device *paccel_device_alloc(struct pci_dev *pdev, const struct paccel_hw_ops *ops);
int paccel_device_register(struct paccel_device *pd);
void paccel_device_unregister(struct paccel_device *pd);
void paccel_device_shutdown(struct paccel_device *pd);
void paccel_devices_wait_released(void);
void paccel_devices_exit(void);
int paccel_devices_init(void);

int paccel_pci_register(struct paccel_backend *backend, struct module *owner, const char *name);

void paccel_debugfs_init(void);
void paccel_debugfs_exit(void);
void paccel_debugfs_add(struct paccel_device *pd);
void paccel_debugfs_remove(struct paccel_device *pd);

extern const struct attribute_group *paccel_groups[];

#endif
