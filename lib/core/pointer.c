/* SPDX-License-Identifier: MIT */
/*
 * What an address is.
 */
#include "private.h"

/* What is registered out of a dma-buf has addresses that are only reserved: the library's own. */
static bool is_accessible(const struct accel_device *dev, const struct range *range)
{
	if (range->kind == ACCEL_MEMORY_DEVICE)
		return dev->window.mapped;
	return range->kind != ACCEL_MEMORY_REGISTERED || !range->mapped;
}

static void describe(struct accel_device *dev, const struct range *range,
		     struct accel_pointer_info *info)
{
	info->device = dev;
	info->base = (void *)range->base;
	info->size = range->size;
	info->serial = range->serial;
	info->kind = range->kind;
	info->flags = is_accessible(dev, range) ? ACCEL_POINTER_ACCESSIBLE : 0;
}

static const struct range *range_at(const struct accel_device *dev, uintptr_t ptr)
{
	const struct range *range = dev->inherited ? NULL : range_below(dev->ranges, ptr);

	return range && range_holds(range, ptr, 1) ? range : NULL;
}

/* Under the table lock. */
static int look_up(uintptr_t ptr, struct accel_pointer_info *info)
{
	struct accel_device *dev, *owner = window_owner(ptr);
	const struct range *range;

	for (dev = device_list(); dev; dev = dev->next) {
		range = range_at(dev, ptr);
		if (range) {
			describe(dev, range, info);
			return 0;
		}
	}
	if (owner)
		return fail(-ENOENT, "ptr " ADDR ": " DEAD "%s", ptr, owner->name,
			    owner->inherited ? ", or it is from before a fork" : "");
	return 0;
}

int accel_pointer_info(const void *ptr, struct accel_pointer_info *info)
{
	struct accel_pointer_info found = { .kind = ACCEL_MEMORY_PAGEABLE };
	int err;

	if (!ptr || !info)
		return fail(-EINVAL, "%s is NULL", ptr ? "info" : "ptr");
	table_lock();
	err = look_up((uintptr_t)ptr, &found);
	table_unlock();
	if (!err)
		*info = found;
	return err;
}
