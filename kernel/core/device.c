// SPDX-License-Identifier: GPL-2.0-only
/* State and capabilities of a device, for all layers. Its life cycle: driver/device.c. */
#include <linux/bits.h>
#include <linux/device.h>
#include <linux/paccel.h>

#include "core/device.h"
#include "include/paccel.h"

DEFINE_SRCU(paccel_srcu);

/* The states that may follow each state. */
static const u8 next_states[] = {
	[PACCEL_RUNNING] = BIT(PACCEL_RESETTING) | BIT(PACCEL_SUSPENDED) | BIT(PACCEL_FAILED) |
			   BIT(PACCEL_REMOVING),
	[PACCEL_RESETTING] = BIT(PACCEL_RESETTING) | BIT(PACCEL_RUNNING) | BIT(PACCEL_MEM_LOST) |
			     BIT(PACCEL_FAILED),
	[PACCEL_MEM_LOST] = BIT(PACCEL_RUNNING),
	[PACCEL_SUSPENDED] = BIT(PACCEL_RESETTING) | BIT(PACCEL_FAILED) | BIT(PACCEL_REMOVING),
	[PACCEL_FAILED] = BIT(PACCEL_RESETTING) | BIT(PACCEL_SUSPENDED) | BIT(PACCEL_FAILED) |
			  BIT(PACCEL_REMOVING),
	[PACCEL_REMOVING] = BIT(PACCEL_REMOVED),
};

/*
 * A transition that is not allowed is a bug of the caller, which does the rest of it in any case.
 * The state is stored nevertheless: a device whose removal or failure were refused here would
 * accept jobs that nothing executes, and system calls that access a device which is gone.
 */
void paccel_set_state(struct paccel_device *pd, enum paccel_state state)
{
	lockdep_assert_held(&pd->reset_lock);
	if (pd->state >= PACCEL_REMOVING && state <= pd->state)
		return;
	WARN(!(next_states[pd->state] & BIT(state)), "paccel: state %d after %d\n", state,
	     pd->state);
	/* Readers of the state see earlier stores, such as contexts that were marked as lost. */
	smp_store_release(&pd->state, state);
}

int paccel_state_error(const struct paccel_device *pd)
{
	/* Pairs with paccel_set_state(). */
	switch (smp_load_acquire(&pd->state)) {
	case PACCEL_MEM_LOST:
		return -ESTALE;
	case PACCEL_FAILED:
		return -EIO;
	case PACCEL_REMOVING:
	case PACCEL_REMOVED:
		return -ENODEV;
	default:
		return 0;
	}
}

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
	dev_warn(&pd->dev, "%lu pages are kept: the device might still write to them\n", pages);
}
