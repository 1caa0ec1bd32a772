// SPDX-License-Identifier: GPL-2.0-only
/* What every layer asks a device. How it begins and ends: driver/device.c. */
#include <linux/device.h>
#include <linux/paccel.h>

#include "core/device.h"
#include "include/paccel.h"

DEFINE_SRCU(paccel_srcu);

u32 paccel_device_caps(struct paccel_device *pd)
{
	u32 caps = 0;

	if (paccel_mappable(pd))
		caps |= PACCEL_CAP_MAPPABLE;
	if (pd->hw.info.flags & PACCEL_HW_MEM_SURVIVES)
		caps |= PACCEL_CAP_MEM_SURVIVES_RESET;
	if (pd->direct)
		caps |= PACCEL_CAP_DIRECT_DMA;
	if (pd->hw.info.flags & PACCEL_HW_D2D)
		caps |= PACCEL_CAP_NATIVE_D2D;
	if (pd->hw.info.flags & PACCEL_HW_FILL)
		caps |= PACCEL_CAP_NATIVE_FILL;
	if (pd->hw.info.flags & PACCEL_HW_CHECKSUM)
		caps |= PACCEL_CAP_VERIFY;
	return caps;
}

void paccel_count_leak(struct paccel_device *pd, unsigned long pages)
{
	atomic64_add(pages, &pd->count.leaked_pages);
	dev_warn(&pd->dev, "%lu pages are kept: the card might still write them\n", pages);
}
