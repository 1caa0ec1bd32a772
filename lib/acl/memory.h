/* SPDX-License-Identifier: MIT */
/* Device memory. */
#ifndef LIBACCEL_ACL_MEMORY_H
#define LIBACCEL_ACL_MEMORY_H

#include "state.h"

#define HUGE_PAGE ((size_t)2 << 20)
#define HUGE_1G_PAGE ((size_t)1 << 30)

/* An address that has to be the start of memory of a kind; its device is counted if it is. */
aclError memory_enter(const void *ptr, enum accel_memory_kind kind, const char *argument,
		      struct accel_pointer_info *info, struct device **device);
aclError config_check(const aclrtMallocConfig *cfg, bool host);

#endif
