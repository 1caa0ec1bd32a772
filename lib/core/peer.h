/* SPDX-License-Identifier: MIT */
/* Memory of one device in another one's reach. */
#ifndef LIBACCEL_PEER_H
#define LIBACCEL_PEER_H

#include "api.h"

struct device;

/* An allocation of device memory was freed, once; and the last close of a handle has come. */
void peers_freed(struct device *dev, uintptr_t ptr, uint64_t serial);
void peers_closed(struct device *dev);
/* Under the table lock. */
void peers_in_child(void);

#endif
