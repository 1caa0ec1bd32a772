/* SPDX-License-Identifier: MIT */
/*
 * Device memory, and what all kinds of allocations share: a range is prepared before the driver is
 * asked, and published after it has answered, so that neither can fail half-way. To free it, the
 * other way round: another thread may be given the same address as soon as the driver has freed it.
 */
#include "api.h"
#include "device.h"
#include "error.h"
#include "memory.h"
#include "peer.h"
#include "range.h"
#include "table.h"

#include <linux/paccel.h>
#include <stdlib.h>
#include <sys/mman.h>

static uint64_t last_serial; /* under the table lock */

const char *kind_name(enum accel_memory_kind kind)
{
	static const char *const names[] = {
		[ACCEL_MEMORY_PAGEABLE] = "pageable",
		[ACCEL_MEMORY_DEVICE] = "device",
		[ACCEL_MEMORY_HOST] = "host",
		[ACCEL_MEMORY_UNIFIED] = "unified",
		[ACCEL_MEMORY_REGISTERED] = "registered",
	};

	return names[kind];
}

static struct range *unused; /* by their first child; under the table lock */

static struct range *take_unused(void)
{
	struct range *range;

	table_lock();
	range = unused;
	if (range)
		unused = range->child[0];
	table_unlock();
	return range;
}

struct range *range_create(size_t size, enum accel_memory_kind kind)
{
	struct range *range = take_unused();

	if (!range)
		range = calloc(1, sizeof(*range));
	if (!range)
		return NULL;
	range->imports = 0;
	range->chunks = 0;
	WRITE_SHARED(range->base, 0);
	WRITE_SHARED(range->size, size);
	WRITE_SHARED(range->mapped, 0);
	WRITE_SHARED(range->serial, 0);
	WRITE_SHARED(range->kind, kind);
	return range;
}

/* Under the table lock. */
static void free_range(struct range *range)
{
	WRITE_SHARED(range->child[0], unused);
	unused = range;
}

void range_free(struct range *range)
{
	table_lock();
	free_range(range);
	table_unlock();
}

void ranges_free(struct range *root)
{
	struct range *left, *right;

	if (!root)
		return;
	left = root->child[0];
	right = root->child[1];
	if (root->mapped)
		munmap((void *)root->base, root->mapped);
	range_free(root);
	ranges_free(left);
	ranges_free(right);
}

int range_prepare(struct accel_device *handle, void **ptr, size_t size,
		  enum accel_memory_kind kind, struct device **dev, struct range **range)
{
	int err;

	if (!ptr)
		return fail(-EINVAL, "ptr is NULL: the address has to go somewhere");
	*ptr = NULL;
	err = device_get(handle, dev);
	if (err)
		return err;
	if (!size)
		return fail(-EINVAL, "size is 0: an allocation has at least 1 byte");
	*range = range_create(size, kind);
	return *range ? 0 : fail(-ENOMEM, "out of memory");
}

/* An allocation that is imported again stays one range, and has to be freed as often. */
static void insert(struct device *dev, struct range *range)
{
	struct range *same = range_below(dev->ranges, range->base);

	if (!same || same->base != range->base || range->kind != ACCEL_MEMORY_DEVICE) {
		table_change_begin();
		range_insert(&dev->ranges, range);
		table_change_end();
		return;
	}
	same->imports += 1 + range->imports;
	free_range(range);
}

void range_restore(struct device *dev, struct range *range)
{
	table_lock();
	insert(dev, range);
	table_unlock();
}

void range_publish(struct device *dev, struct range *range)
{
	table_lock();
	WRITE_SHARED(range->serial, ++last_serial);
	insert(dev, range);
	table_unlock();
}

/* Takes out one of several imports, of which the caller frees a copy: the spare range. */
static struct range *take_one(struct device *dev, struct range *range, struct range **spare)
{
	struct range *one;

	if (!range->imports) {
		table_change_begin();
		range_remove(&dev->ranges, range);
		table_change_end();
		return range;
	}
	one = *spare;
	*spare = NULL;
	WRITE_SHARED(one->base, range->base);
	WRITE_SHARED(one->size, range->size);
	WRITE_SHARED(one->kind, range->kind);
	WRITE_SHARED(one->serial, range->serial);
	range->imports--;
	return one;
}

int range_at_start(struct device *dev, uintptr_t ptr, size_t size,
		   enum accel_memory_kind kind, struct range **found)
{
	struct range *range = range_below(dev->ranges, ptr);

	if (!range || !range_holds(range, ptr, 1))
		return fail(-ENOENT, "ptr " ADDR ": " DEAD, ptr, dev->name);
	if (range->kind != kind)
		return fail(-ENOENT, "ptr " ADDR " is %s memory, not %s memory", ptr,
			    kind_name(range->kind), kind_name(kind));
	if (range->base != ptr)
		return fail(-ENOENT, "ptr " ADDR " is inside the allocation at " ADDR, ptr,
			    range->base);
	if (size && size != range->size)
		return fail(-EINVAL, "size is %zu, and the allocation at " ADDR " has %zu bytes",
			    size, ptr, range->size);
	*found = range;
	return 0;
}

int range_take(struct device *dev, void *ptr, size_t size, enum accel_memory_kind kind,
	       struct range **range)
{
	struct range *spare = NULL;
	bool lacks_spare;
	int err;

	do {
		table_lock();
		err = range_at_start(dev, (uintptr_t)ptr, size, kind, range);
		lacks_spare = !err && (*range)->imports && !spare;
		if (!err && !lacks_spare)
			*range = take_one(dev, *range, &spare);
		if (spare)
			free_range(spare);
		table_unlock();
		spare = lacks_spare ? range_create(size, kind) : NULL;
	} while (spare);
	return lacks_spare ? fail(-ENOMEM, "out of memory") : err;
}

/* The allocation that holds an address, NULL: none of the driver's. Under the table lock. */
static struct range *range_around(uintptr_t addr)
{
	struct device *dev;
	struct range *range;

	for (dev = device_list(); dev; dev = dev->next) {
		range = dev->inherited ? NULL : range_below(dev->ranges, addr);
		if (range && range_holds(range, addr, 1) && range->kind != ACCEL_MEMORY_REGISTERED)
			return range;
	}
	return NULL;
}

void range_count_chunk(const void *base, int by)
{
	struct range *range;

	table_lock();
	range = range_around((uintptr_t)base);
	if (range)
		range->chunks += (unsigned int)by;
	table_unlock();
}

int range_check_whole(const void *base, size_t size)
{
	const struct range *range;
	bool whole;

	table_lock();
	range = range_around((uintptr_t)base);
	whole = range && range->base == (uintptr_t)base && range->size == size && !range->chunks;
	table_unlock();
	return whole ? 0 : fail(-EOPNOTSUPP, "upstream gave %p, which is no allocation of the driver "
					     "of %zu bytes: only the whole of one can be exported",
				base, size);
}

int free_check(struct accel_device *handle, const void *ptr, size_t size, struct device **dev)
{
	int err = device_get(handle, dev);

	if (err)
		return err;
	if (!ptr)
		return fail(-EINVAL, "ptr is NULL");
	return size ? 0 : fail(-EINVAL, "size is 0: it has to be the size that was allocated");
}

static int allocate_failed(struct device *dev, int err, size_t size)
{
	struct paccel_mem_stats stats = { .size = sizeof(stats) };

	if ((err != -ENOMEM && err != -EDQUOT) || device_ioctl(dev, PACCEL_IOC_MEM_STATS, &stats))
		return general_error(dev, err);
	if (err == -EDQUOT)
		return fail(err,
			    "%s: %zu bytes are more than the quota of %" PRIu64
			    " bytes (max_user_bytes) leaves: this user has %" PRIu64,
			    dev->name, size, (uint64_t)stats.user_max, (uint64_t)stats.user);
	return fail(err,
		    "%s: no %zu contiguous bytes are free: %" PRIu64 " of %" PRIu64
		    " bytes are, the longest part has %" PRIu64,
		    dev->name, size, (uint64_t)(stats.free + stats.dirty), (uint64_t)stats.total,
		    (uint64_t)stats.largest_free);
}

static int allocate(struct device *dev, size_t size, size_t alignment, uint64_t *addr)
{
	struct paccel_mem_alloc cmd = { .size = sizeof(cmd), .length = size, .align = alignment };
	int err;

	if (alignment > dev->max_align)
		return fail(-EINVAL, "alignment is %zu: %s aligns to %" PRIu64 " at most", alignment,
			    dev->name, dev->max_align);
	err = device_ioctl(dev, PACCEL_IOC_MEM_ALLOC, &cmd);
	*addr = cmd.addr;
	return err ? allocate_failed(dev, err, size) : 0;
}

int device_memory_allocate(struct accel_device *handle, void **ptr, size_t size, size_t alignment)
{
	struct device *dev;
	struct range *range;
	uint64_t addr = 0;
	int err = range_prepare(handle, ptr, size, ACCEL_MEMORY_DEVICE, &dev, &range);

	if (err)
		return err;
	err = allocate(dev, size, alignment, &addr);
	if (err) {
		range_free(range);
		return err;
	}
	*ptr = (void *)device_pointer(dev, addr);
	WRITE_SHARED(range->base, (uintptr_t)*ptr);
	range_publish(dev, range);
	return 0;
}

int accel_device_memory_allocate(struct accel_device *dev, void **ptr, size_t size)
{
	KEEP_ERRNO;

	return device_memory_allocate(dev, ptr, size, 0);
}

int accel_device_memory_deallocate(struct accel_device *handle, void *ptr, size_t size)
{
	KEEP_ERRNO;
	struct device *dev;
	struct paccel_mem_free cmd = { .size = sizeof(cmd), .length = size };
	struct range *range;
	int err = free_check(handle, ptr, size, &dev);

	if (!err)
		err = range_take(dev, ptr, size, ACCEL_MEMORY_DEVICE, &range);
	if (err)
		return err;
	cmd.addr = device_address(dev, range->base);
	err = device_ioctl(dev, PACCEL_IOC_MEM_FREE, &cmd);
	if (err) {
		range_restore(dev, range);
		return general_error(dev, err);
	}
	peers_freed(dev, range->base, range->serial);
	range_free(range);
	return 0;
}
