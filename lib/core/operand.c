/* SPDX-License-Identifier: MIT */
/*
 * What an address means to a copy: whose memory it is, and whether the whole operand lies in one
 * allocation. The driver checks again; here the answer gets its sentence, and nothing of an
 * allocation's rounding is ever touched.
 */
#include "api.h"
#include "device.h"
#include "error.h"
#include "memory.h"
#include "operand.h"
#include "range.h"
#include "table.h"
#include "window.h"

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

struct device *window_owner(uintptr_t ptr)
{
	struct device *dev;

	for (dev = device_list(); dev; dev = READ_SHARED(dev->next))
		if (window_spans(&dev->window, ptr))
			return dev;
	return NULL;
}

/* ---- Look-up: reads without a lock; what was read is judged later ---- */

struct finding {
	struct device *owner; /* in whose window it lies, with a reference; or NULL */
	bool closed; /* instead of a reference */
	const struct device *host_dev; /* or which has a host range there */
	struct extent at; /* the range of either that starts last before it */
	struct extent pinned; /* the host range before it, of the device that is asked about */
};

/* The last range below an address that has a byte of the operand, in its pages if they are ours. */
static void touched_range(const struct device *dev, const struct operand *operand,
			  uintptr_t below, struct extent *range)
{
	size_t size;

	extent_read(range, range_below(READ_SHARED(dev->ranges), below));
	if (!range->size)
		return;
	size = range->mapped ? range->mapped : range->size;
	if (range->base < operand->ptr && operand->ptr - range->base >= size)
		range->size = 0;
}

/* A registration is the program's memory, and so is what lies beside it. */
static void host_range(const struct device *dev, const struct operand *operand,
		       struct extent *range)
{
	uintptr_t at = operand->ptr + (operand->size - 1);

	touched_range(dev, operand, at, range);
	/* Ranges of a tree that changes need not be in order. */
	while (range->size && range->kind == ACCEL_MEMORY_REGISTERED && range->base &&
	       range->base <= at) {
		at = range->base - 1;
		touched_range(dev, operand, at, range);
	}
}

static void find_host(const struct operand *operand, struct finding *found)
{
	const struct device *dev;

	for (dev = device_list(); dev && !found->at.size; dev = READ_SHARED(dev->next))
		if (!READ_SHARED(dev->inherited)) {
			host_range(dev, operand, &found->at);
			found->host_dev = dev;
		}
}

static void find(const struct operand *operand, const struct device *pin_dev,
		 struct finding *found)
{
	const uintptr_t ptr = operand->ptr;

	found->owner = window_owner(ptr);
	found->closed = false;
	found->at.size = found->pinned.size = 0;
	if (found->owner)
		extent_read(&found->at, range_below(READ_SHARED(found->owner->ranges), ptr));
	else
		find_host(operand, found);
	if (pin_dev)
		extent_read(&found->pinned, range_below(READ_SHARED(pin_dev->ranges), ptr));
	if (found->owner && !device_try_hold(found->owner)) {
		found->owner = NULL;
		found->closed = true;
	}
}

static void look_up(const struct operand *operand, const struct device *pin_dev,
		    struct finding *found)
{
	struct table_read read = { 0 };
	bool again;

	do {
		table_read_begin(&read);
		find(operand, pin_dev, found);
		again = table_read_retry(&read);
		if (again && found->owner)
			device_drop(found->owner);
	} while (again);
}

/* ---- Verdict ---- */

static int check_owner(const struct operand *operand, const struct finding *found)
{
	const struct device *owner = found->owner;

	if (found->closed)
		return fail(-EFAULT, "%s " ADDR " is a device pointer of a handle that was closed",
			    operand->name, operand->ptr);
	if (!owner)
		return 0;
	if (operand->want_host)
		return fail(-EFAULT,
			    "%s " ADDR " is a device pointer of %s: host memory is needed there",
			    operand->name, operand->ptr, owner->name);
	if (owner->inherited)
		return fail(operand->want_dev ? -EFAULT : -EPERM,
			    "%s " ADDR " is a device pointer from before the fork: "
			    "open the device in this process and allocate again",
			    operand->name, operand->ptr);
	if (operand->want_dev && owner != operand->want_dev)
		return fail(-EFAULT,
			    "%s " ADDR " belongs to another handle (%s), not to this one (%s)",
			    operand->name, operand->ptr, owner->name, operand->want_dev->name);
	return 0;
}

int operand_is_host(const struct operand *operand)
{
	struct operand host = *operand;
	struct finding found;
	int err;

	host.want_host = true;
	look_up(&host, NULL, &found);
	err = check_owner(&host, &found);
	if (found.owner)
		device_drop(found.owner);
	return err;
}

static int resolve_device(struct operand *operand, const struct finding *found)
{
	const struct extent *range = &found->at;

	if (!extent_holds(range, operand->ptr, 1))
		return fail(-EFAULT, "%s " ADDR ": " DEAD, operand->name, operand->ptr,
			    found->owner->name);
	if (!extent_holds(range, operand->ptr, operand->size))
		return fail(-EFAULT,
			    "%s " ADDR ", %zu bytes, runs past the end of the allocation at " ADDR
			    " of %zu bytes",
			    operand->name, operand->ptr, operand->size, range->base, range->size);
	operand->dev = found->owner;
	operand->serial = range->serial;
	return 0;
}

static int resolve_host(struct operand *operand, const struct finding *found)
{
	const struct extent *range = &found->at;
	bool is_unified = range->size && range->kind == ACCEL_MEMORY_UNIFIED &&
			  found->host_dev == operand->want_dev;

	if (range->size && !extent_holds(range, operand->ptr, operand->size))
		return fail(-EFAULT,
			    "%s " ADDR ", %zu bytes, is not wholly inside the %s allocation at " ADDR
			    " of %zu bytes",
			    operand->name, operand->ptr, operand->size, kind_name(range->kind),
			    range->base, range->size);
	operand->known = range->size;
	if (!operand->want_dev || is_unified)
		return 0;
	return fail(-EFAULT, "%s " ADDR " is neither device nor unified memory of %s",
		    operand->name, operand->ptr, operand->want_dev->name);
}

int operand_resolve(struct operand *operand, const struct device *pin_dev)
{
	struct finding found;
	int err;

	look_up(operand, pin_dev, &found);
	operand->pinned = extent_holds(&found.pinned, operand->ptr, operand->size) &&
			  found.pinned.kind != ACCEL_MEMORY_DEVICE;
	err = check_owner(operand, &found);
	if (!err)
		err = found.owner ? resolve_device(operand, &found)
				  : resolve_host(operand, &found);
	if (err && found.owner)
		device_drop(found.owner);
	return err;
}
