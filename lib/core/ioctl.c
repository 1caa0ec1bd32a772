/* SPDX-License-Identifier: MIT */
/*
 * The one place that talks to the driver.
 */
#include "api.h"
#include "copy.h"
#include "device.h"
#include "error.h"

#include <linux/paccel.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

static int command(struct device *dev, unsigned long request, void *arg)
{
	int rc;

	do
		rc = ioctl(dev->fd, request, arg);
	while (rc < 0 && errno == EINTR);
	return rc < 0 ? -errno : 0;
}

/* Those that need what the library may have kept for itself: locked memory, ranges, streams. */
static bool meets_limit(unsigned long request, int err)
{
	return (err == -ENOMEM || err == -ENOSPC) &&
	       (request == PACCEL_IOC_HOST_ALLOC || request == PACCEL_IOC_HOST_REGISTER ||
		request == PACCEL_IOC_STREAM_CREATE);
}

int device_ioctl(struct device *dev, unsigned long request, void *arg)
{
	int err = command(dev, request, arg);

	while (meets_limit(request, err) && staged_give_up())
		err = command(dev, request, arg);
	return err;
}

int general_error(const struct device *dev, int err)
{
	const char *name = dev->name;

	switch (err) {
	case -ENODEV:
		return fail(err, "%s: the device was removed; close the handle, open when it is back",
			    name);
	case -ESTALE:
		return fail(err, "%s: a reset has lost this handle's memory; close it, open again",
			    name);
	case -EPERM:
		return fail(err, "%s was opened by another process; open it in this one", name);
	case -EIO:
		return fail(err, "%s: the device failed or is out of service; see the kernel log",
			    name);
	case -ETIMEDOUT:
		return fail(err, "%s: the device did not answer in time and was reset; try again",
			    name);
	default:
		return fail(err, "%s: %s", name, accel_strerror(err));
	}
}
