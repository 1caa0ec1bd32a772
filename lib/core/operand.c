/* SPDX-License-Identifier: MIT */
/*
 * What an address means to a copy: whose memory it is, and whether the whole operand lies in one
 * allocation. The driver checks again; here the answer gets its sentence, and nothing of an
 * allocation's rounding is ever touched.
 */
#include "private.h"

int operand_check(const struct operand *operand)
{
	if (!operand->ptr)
		return fail(-EINVAL, "%s is NULL", operand->name);
	if (!operand->size)
		return fail(-EINVAL, "size is 0: it has to be at least 1");
	if (wraps(operand->ptr, operand->size))
		return fail(-EINVAL, "%s " ADDR ", %zu bytes, wraps around the address space",
			    operand->name, operand->ptr, operand->size);
	return 0;
}

struct accel_device *window_owner(uintptr_t ptr)
{
	struct accel_device *dev;

	for (dev = device_list(); dev; dev = dev->next)
		if (window_spans(&dev->window, ptr))
			return dev;
	return NULL;
}

static int not_host(const struct operand *operand, const struct accel_device *owner)
{
	return fail(-EFAULT, "%s " ADDR " is a device pointer of %s: host memory is needed there",
		    operand->name, operand->ptr, owner->name);
}

int operand_is_host(const struct operand *operand)
{
	struct accel_device *owner;
	int err = 0;

	table_lock();
	owner = window_owner(operand->ptr);
	if (owner)
		err = not_host(operand, owner);
	table_unlock();
	return err;
}

static int check_owner(const struct operand *operand, const struct accel_device *owner)
{
	if (operand->want == WANT_HOST)
		return not_host(operand, owner);
	if (owner->inherited)
		return fail(operand->want == WANT_ANY ? -EPERM : -EFAULT,
			    "%s " ADDR " is a device pointer from before the fork: "
			    "open the card in this process and allocate again",
			    operand->name, operand->ptr);
	if (operand->want == WANT_DEVICE && owner != operand->want_dev)
		return fail(-EFAULT,
			    "%s " ADDR " belongs to another handle (%s), not to this one (%s)",
			    operand->name, operand->ptr, owner->name, operand->want_dev->name);
	return 0;
}

static int resolve_device(struct operand *operand, struct accel_device *owner)
{
	const struct range *range = range_below(owner->ranges, operand->ptr);
	int err = check_owner(operand, owner);

	if (err)
		return err;
	if (!range || !range_holds(range, operand->ptr, 1))
		return fail(-EFAULT, "%s " ADDR ": " DEAD, operand->name, operand->ptr,
			    owner->name);
	if (!range_holds(range, operand->ptr, operand->size))
		return fail(-EFAULT,
			    "%s " ADDR ", %zu bytes, runs past the end of the allocation at " ADDR
			    " of %zu bytes",
			    operand->name, operand->ptr, operand->size, range->base, range->size);
	operand->dev = owner;
	device_hold(owner);
	return 0;
}

/* The last range below an address that has a byte of the operand, in its pages if they are ours. */
static const struct range *touched_range(const struct accel_device *dev,
					 const struct operand *operand, uintptr_t below)
{
	const struct range *range = range_below(dev->ranges, below);
	size_t extent;

	if (!range)
		return NULL;
	extent = range->mapped ? range->mapped : range->size;
	return range->base >= operand->ptr || operand->ptr - range->base < extent ? range : NULL;
}

bool operand_is_pinned(const struct operand *operand, const struct accel_device *dev)
{
	const struct range *range = range_below(dev->ranges, operand->ptr);

	return range && range->kind != ACCEL_MEMORY_DEVICE &&
	       range_holds(range, operand->ptr, operand->size);
}

static int check_inside(const struct operand *operand, const struct range *range)
{
	if (range_holds(range, operand->ptr, operand->size))
		return 0;
	return fail(-EFAULT,
		    "%s " ADDR ", %zu bytes, is not wholly inside the %s allocation at " ADDR
		    " of %zu bytes",
		    operand->name, operand->ptr, operand->size, kind_name(range->kind), range->base,
		    range->size);
}

/* Sets *device if it is unified memory of the card that is wanted. */
static int check_host_ranges(struct operand *operand, const struct accel_device *dev, bool *device)
{
	const struct range *range;
	uintptr_t at = operand->ptr + (operand->size - 1);

	/* A registration is the program's memory, and so is what lies beside it. */
	while ((range = touched_range(dev, operand, at)) && range->kind == ACCEL_MEMORY_REGISTERED)
		at = range->base - 1;
	if (!range)
		return 0;
	operand->known = true;
	*device = range->kind == ACCEL_MEMORY_UNIFIED && dev == operand->want_dev;
	return check_inside(operand, range);
}

static int resolve_host(struct operand *operand)
{
	const struct accel_device *dev;
	bool device = false;
	int err;

	for (dev = device_list(); dev && !operand->known; dev = dev->next) {
		err = dev->inherited ? 0 : check_host_ranges(operand, dev, &device);
		if (err)
			return err;
	}
	if (operand->want != WANT_DEVICE || device)
		return 0;
	return fail(-EFAULT, "%s " ADDR " is neither device nor unified memory of %s",
		    operand->name, operand->ptr, operand->want_dev->name);
}

int operand_resolve(struct operand *operand)
{
	struct accel_device *owner = window_owner(operand->ptr);

	return owner ? resolve_device(operand, owner) : resolve_host(operand);
}
