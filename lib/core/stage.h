/* SPDX-License-Identifier: MIT */
/* Bytes of pageable memory on their way to the device. */
#ifndef LIBACCEL_STAGE_H
#define LIBACCEL_STAGE_H

#include "api.h"

struct device;

void stage_free(struct device *dev);

#endif
