/* SPDX-License-Identifier: MIT */
/* Operations that are queued together. */
#ifndef LIBACCEL_BATCH_H
#define LIBACCEL_BATCH_H

#include "api.h"

void batches_free(struct accel_device *dev);

#endif
