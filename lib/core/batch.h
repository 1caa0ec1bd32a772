/* SPDX-License-Identifier: MIT */
/* Operations that are queued together. */
#ifndef LIBACCEL_BATCH_H
#define LIBACCEL_BATCH_H

#include "copy.h"

/* Adds the copy to its batch. */
int batch_add_copy(const struct copy *copy);
void batches_free(struct accel_device *dev);

#endif
