/* SPDX-License-Identifier: MIT */
/* Page-locked host memory. */
#ifndef LIBACCEL_HOST_H
#define LIBACCEL_HOST_H

#include "range.h"

struct device;

/* Page-locked memory of the driver for a range whose size is set; without a sentence. */
int host_pages(struct device *dev, struct range *range);
/* Memory that only this process needs: in a child it would keep the driver's file open. */
void keep_from_children(void *map, size_t size);
/* The sentence for its errors. */
int host_failed(const struct device *dev, int err, size_t size);
int size_above_max(const struct device *dev, int err, size_t size);

#endif
