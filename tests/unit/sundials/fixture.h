/* SPDX-License-Identifier: MIT */
/*
 * Tests of the helper over the mock, with the core library of SUNDIALS itself: what a card or the
 * machine would not do on request.
 */
#ifndef SUNDIALS_FIXTURE_H
#define SUNDIALS_FIXTURE_H

#include "../fixture.h"
#include "../../clients/sundials/sundials.h"

#define SIZE 64

/* As many cards of 4032 bytes, and a helper for the first. */
static inline void begin_with(unsigned int cards)
{
	for (unsigned int i = 0; i < cards; i++)
		mock_add(i);
	begin();
}

/* The card of a helper: a share of the handle, which the caller closes. */
static inline struct accel_device *card_of(unsigned int index)
{
	struct accel_device *dev = NULL;

	expect(accel_device_open((int)index, &dev), 0);
	return dev;
}

#endif
