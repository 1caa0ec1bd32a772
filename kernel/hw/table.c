// SPDX-License-Identifier: GPL-2.0-only
/* One row for each kind of card. */
#include <linux/kernel.h>

#include "hw/table.h"

struct paccel_backend *const paccel_backends[] = {
	&paccel_edu,
	&paccel_ring,
};

const unsigned int paccel_nr_backends = ARRAY_SIZE(paccel_backends);
