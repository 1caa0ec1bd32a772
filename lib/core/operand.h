/* SPDX-License-Identifier: MIT */
/* What an address means. */
#ifndef LIBACCEL_OPERAND_H
#define LIBACCEL_OPERAND_H

#include "api.h"

#include <stdbool.h>
#include <stdint.h>

struct operand {
	const char *name; /* of the argument */
	uintptr_t ptr;
	size_t size; /* from the first byte to the last */
	struct device *want_dev; /* device or unified memory of this device; NULL: any */
	bool want_host; /* anything but device memory */
	bool written;
	/* Found out by operand_resolve(): */
	bool known; /* host memory that is mapped for certain: host or unified */
	bool pinned; /* wholly in one host range of the device that is asked */
	struct device *dev; /* whose device memory it is; NULL: the processor's to access */
	uint64_t serial; /* with dev: of the allocation */
};

/* What can be said without a look-up: NULL, size 0, wrapping. */
int operand_check(const struct operand *operand);
/*
 * Finds out whose memory it is, or says what is wrong. Holds dev. Takes no lock. pin_dev: NULL,
 * or the device whose host ranges count as pinned.
 */
int operand_resolve(struct operand *operand, const struct device *pin_dev);
/* 0 if it does not start in a window. */
int operand_is_host(const struct operand *operand);
/* The handle in whose window an address lies, or NULL; under the table lock or READ_SHARED(). */
struct device *window_owner(uintptr_t ptr);

#endif
