/* SPDX-License-Identifier: MIT */
/*
 * Which DRM devices there are, and what they can share.
 */
#include "private.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xf86drm.h>

static uint32_t capabilities(int drm)
{
	uint32_t found = 0;
	uint64_t value;

	if (!drmGetCap(drm, DRM_CAP_PRIME, &value)) {
		found |= value & DRM_PRIME_CAP_IMPORT ? ACCEL_DRM_IMPORT : 0;
		found |= value & DRM_PRIME_CAP_EXPORT ? ACCEL_DRM_EXPORT : 0;
	}
	if (!drmGetCap(drm, DRM_CAP_SYNCOBJ, &value) && value)
		found |= ACCEL_DRM_SYNCOBJ;
	if (!drmGetCap(drm, DRM_CAP_SYNCOBJ_TIMELINE, &value) && value)
		found |= ACCEL_DRM_TIMELINE;
	return found;
}

/* False if it cannot be opened: then it is not ours to use. */
static bool describe(const drmDevicePtr device, struct accel_drm_info *info)
{
	int type = device->available_nodes & 1 << DRM_NODE_RENDER ? DRM_NODE_RENDER :
								    DRM_NODE_PRIMARY;
	drmVersionPtr version;
	int drm;

	memset(info, 0, sizeof(*info));
	if (!(device->available_nodes & 1 << type))
		return false;
	drm = open(device->nodes[type], O_RDWR | O_CLOEXEC);
	if (drm < 0)
		return false;
	snprintf(info->node, sizeof(info->node), "%s", device->nodes[type]);
	version = drmGetVersion(drm);
	if (version)
		snprintf(info->driver, sizeof(info->driver), "%s", version->name);
	drmFreeVersion(version);
	info->capabilities = capabilities(drm);
	close(drm);
	if (device->bustype == DRM_BUS_PCI)
		snprintf(info->bus_address, sizeof(info->bus_address), "%04x:%02x:%02x.%x",
			 device->businfo.pci->domain, device->businfo.pci->bus,
			 device->businfo.pci->dev, device->businfo.pci->func);
	return true;
}

int accel_drm_list(struct accel_drm_info *infos, unsigned int count)
{
	KEEP_ERRNO;
	unsigned int found = 0;
	drmDevicePtr *devices;
	int total;

	if (count && !infos)
		return -EINVAL;
	/* Devices may come while we look; no more than there were are listed. */
	total = drmGetDevices2(0, NULL, 0);
	if (total <= 0)
		return 0;
	devices = calloc((size_t)total, sizeof(*devices));
	if (!devices)
		return -ENOMEM;
	total = drmGetDevices2(0, devices, total);
	for (int i = 0; i < total; i++) {
		struct accel_drm_info info;

		if (!describe(devices[i], &info))
			continue;
		if (found < count)
			infos[found] = info;
		found++;
	}
	if (total > 0)
		drmFreeDevices(devices, total);
	free(devices);
	return (int)found;
}
