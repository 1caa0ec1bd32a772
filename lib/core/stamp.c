/* SPDX-License-Identifier: MIT */
/*
 * Time stamps: eight bytes of locked memory each, a page of them at a time. The driver writes there
 * when it comes to it, so a stamp is used again only when its point has ended.
 */
#include "api.h"
#include "device.h"
#include "error.h"
#include "host.h"
#include "range.h"
#include "stamp.h"
#include "stream.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct stamp_block {
	struct stamp_block *next;
	struct range range;
	struct stamp stamps[];
};

/* Without the device's lock: locking memory takes its time. */
static int make_block(struct device *dev, struct stamp_block **made)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE), count = size / sizeof(uint64_t);
	struct stamp_block *block = calloc(1, sizeof(*block) + count * sizeof(block->stamps[0]));
	int err;

	if (!block)
		return fail(-ENOMEM, "out of memory");
	block->range.size = size;
	err = host_pages(dev, &block->range);
	if (err) {
		free(block);
		return host_failed(dev, err, size);
	}
	keep_from_children((void *)block->range.base, block->range.mapped);
	for (size_t i = 0; i < count; i++)
		block->stamps[i].at = (uint64_t *)block->range.base + i;
	*made = block;
	return 0;
}

/* Under the device's lock. */
static void add_block(struct device *dev, struct stamp_block *block)
{
	size_t count = block->range.size / sizeof(uint64_t);

	block->next = dev->stamps.blocks;
	dev->stamps.blocks = block;
	for (size_t i = 0; i < count; i++) {
		block->stamps[i].next = dev->stamps.unused;
		dev->stamps.unused = &block->stamps[i];
	}
}

/* Those that nobody writes to any more. */
static void recycle(struct device *dev)
{
	struct stamp **at = &dev->stamps.retired, *stamp;

	while ((stamp = *at)) {
		if (ticket_status(dev, stamp->ticket) == -EINPROGRESS) {
			at = &stamp->next;
			continue;
		}
		*at = stamp->next;
		stamp->next = dev->stamps.unused;
		dev->stamps.unused = stamp;
	}
}

/* Under the device's lock. */
static struct stamp *take_unused(struct device *dev)
{
	struct stamp *stamp;

	if (!dev->stamps.unused)
		recycle(dev);
	stamp = dev->stamps.unused;
	if (stamp)
		dev->stamps.unused = stamp->next;
	return stamp;
}

int stamp_take(struct device *dev, struct stamp **stamp)
{
	struct stamp_block *block = NULL;
	int err;

	pthread_mutex_lock(&dev->lock);
	*stamp = take_unused(dev);
	pthread_mutex_unlock(&dev->lock);
	if (*stamp)
		return 0;
	err = make_block(dev, &block);
	pthread_mutex_lock(&dev->lock);
	if (!err)
		add_block(dev, block);
	*stamp = take_unused(dev);
	pthread_mutex_unlock(&dev->lock);
	return *stamp ? 0 : err;
}

void stamp_retire(struct device *dev, struct stamp *stamp, uint64_t ticket)
{
	struct stamp **list = ticket ? &dev->stamps.retired : &dev->stamps.unused;

	stamp->ticket = ticket;
	stamp->next = *list;
	*list = stamp;
}

void stamps_free(struct device *dev)
{
	struct stamp_block *block;

	while ((block = dev->stamps.blocks)) {
		dev->stamps.blocks = block->next;
		if (!dev->inherited)
			munmap((void *)block->range.base, block->range.mapped);
		free(block);
	}
}
