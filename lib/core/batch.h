/* SPDX-License-Identifier: MIT */
/* Operations that are queued together. */
#ifndef LIBACCEL_BATCH_H
#define LIBACCEL_BATCH_H

struct device;

void batches_end_handles(struct device *dev);
void batches_free(struct device *dev);

#endif
