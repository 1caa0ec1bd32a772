/* SPDX-License-Identifier: MIT */
/*
 * What an address is.
 */
#include "api.h"
#include "device.h"
#include "error.h"
#include "operand.h"
#include "range.h"
#include "table.h"

struct finding {
	struct device *dev; /* with a reference, if there is one */
	struct extent at; /* size 0: dead addresses of a window */
};

static void find(uintptr_t ptr, struct finding *found)
{
	struct device *dev;

	found->dev = NULL;
	for (dev = device_list(); dev && !found->dev; dev = READ_SHARED(dev->next)) {
		if (READ_SHARED(dev->inherited))
			continue;
		extent_read(&found->at, range_below(READ_SHARED(dev->ranges), ptr));
		if (extent_holds(&found->at, ptr, 1))
			found->dev = dev;
	}
	if (!found->dev) {
		found->at.size = 0;
		found->dev = window_owner(ptr);
	}
	if (found->dev && !device_try_hold(found->dev))
		found->dev = NULL;
}

static void look_up(uintptr_t ptr, struct finding *found)
{
	struct table_read read = { 0 };
	bool again;

	do {
		table_read_begin(&read);
		find(ptr, found);
		again = table_read_retry(&read);
		if (again && found->dev)
			device_drop(found->dev);
	} while (again);
}

/* No reference is taken: a number is all that is kept. */
int accel_pointer_node(const void *ptr)
{
	struct table_read read = { 0 };
	const struct device *dev;
	int node;

	do {
		table_read_begin(&read);
		dev = window_owner((uintptr_t)ptr);
		node = dev ? (int)READ_SHARED(dev->node) : -ENOENT;
	} while (table_read_retry(&read));
	return node;
}

/* What is registered out of a dma-buf has addresses that are only reserved: the library's own. */
static bool is_accessible(const struct finding *found)
{
	if (found->at.kind == ACCEL_MEMORY_DEVICE)
		return found->dev->window.mapped;
	return found->at.kind != ACCEL_MEMORY_REGISTERED || !found->at.mapped;
}

int accel_pointer_get_info(const void *ptr, struct accel_pointer_info *info)
{
	KEEP_ERRNO;
	struct finding found = { .dev = NULL };
	int err = 0;

	if (!ptr || !info)
		return fail(-EINVAL, "%s is NULL", ptr ? "info" : "ptr");
	look_up((uintptr_t)ptr, &found);
	if (!found.dev)
		*info = (struct accel_pointer_info){ .kind = ACCEL_MEMORY_PAGEABLE };
	else if (!found.at.size)
		err = fail(-ENOENT, "ptr " ADDR ": " DEAD "%s", (uintptr_t)ptr, found.dev->name,
			   found.dev->inherited ? ", or it is from before a fork" : "");
	else
		*info = (struct accel_pointer_info){
			.device = found.dev->handle,
			.base = (void *)found.at.base,
			.size = found.at.size,
			.serial = found.at.serial,
			.kind = found.at.kind,
			.flags = is_accessible(&found) ? ACCEL_POINTER_ACCESSIBLE : 0,
		};
	if (found.dev)
		device_drop(found.dev);
	return err;
}
