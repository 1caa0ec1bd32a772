/* SPDX-License-Identifier: MIT */
/* Resources. */
#ifndef LIBACCEL_POOL_RESOURCE_H
#define LIBACCEL_POOL_RESOURCE_H

#include <errno.h>
#include <stdbool.h>

struct accel_resource;
/* 0 if it has the functions that it needs. */
int resource_check(const struct accel_resource *resource);
/* What a resource has answered to a free: memory that was found to be damaged is gone, too. */
static inline bool taken_back(int err)
{
	return !err || err == -EFAULT;
}

#endif
