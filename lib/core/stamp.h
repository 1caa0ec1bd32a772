/* SPDX-License-Identifier: MIT */
/* Where the driver writes times. */
#ifndef LIBACCEL_STAMP_H
#define LIBACCEL_STAMP_H

#include <stdint.h>

struct device;

struct stamp {
	struct stamp *next;
	uint64_t *at;
	uint64_t ticket; /* when the driver has written for the last time */
};

struct stamps {
	struct stamp *unused;
	struct stamp *retired; /* the driver may still write there */
	struct stamp_block *blocks;
};

/* Takes the device's lock. Says what is wrong if there is no locked memory for it. */
int stamp_take(struct device *dev, struct stamp **stamp);
/* Gives it back once the ticket has ended; under the device's lock. */
void stamp_retire(struct device *dev, struct stamp *stamp, uint64_t ticket);
void stamps_free(struct device *dev);

#endif
