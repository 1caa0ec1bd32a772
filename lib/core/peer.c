/* SPDX-License-Identifier: MIT */
/*
 * Memory of one device in another one's reach. An allocation is exported and registered with the
 * other device once, with the first copy between the two, under addresses that are only reserved;
 * that is kept until the allocation is freed, or one of the devices closed. That it is refused is
 * kept as well, so that it is not tried with each copy.
 *
 * The device that has the source writes into the other: a bus carries writes better than reads.
 */
#define _GNU_SOURCE
#include "api.h"
#include "copy.h"
#include "device.h"
#include "peer.h"
#include "range.h"
#include "table.h"

#include <errno.h>
#include <linux/paccel.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Found without a lock, and used again when it has ended: see table.h. */
struct peer {
	/* For READ_SHARED(): */
	struct peer *next;
	const struct device *from; /* the device that writes */
	uint64_t serial; /* of the allocation */
	unsigned int refs; /* the list's, and those of copies; 0: it is not published */

	/* Used with a reference only: */
	struct device *devs[2]; /* references: WRITER and OWNER of the memory */
	uintptr_t base; /* of the allocation, in its window */
	uintptr_t at; /* what stands for base with the device that writes */
	size_t size; /* of the reservation; 0: refused */
};

enum { WRITER, OWNER };

/* Under the table lock. */
static struct peer *peers;
static struct peer *unused;

/* Under the table lock. */
static void free_peer(struct peer *peer)
{
	WRITE_SHARED(peer->next, unused);
	unused = peer;
}

/* Without the lock. The device drops the memory when its work with it has ended. */
static void peer_end(struct peer *peer)
{
	struct paccel_host_free cmd = { .size = sizeof(cmd), .addr = peer->at };

	if (peer->size) {
		device_ioctl(peer->devs[WRITER], PACCEL_IOC_HOST_FREE, &cmd);
		munmap((void *)peer->at, peer->size);
	}
	device_drop(peer->devs[WRITER]);
	device_drop(peer->devs[OWNER]);
	table_lock();
	free_peer(peer);
	table_unlock();
}

static void peer_put(struct peer *peer)
{
	if (reference_put(&peer->refs))
		peer_end(peer);
}

/* Links of the parent: what was mapped is only an address, and the references are none. */
void peers_in_child(void)
{
	struct peer *peer;

	while ((peer = peers)) {
		peers = peer->next;
		if (peer->size)
			munmap((void *)peer->at, peer->size);
		peer->refs = 0;
		free_peer(peer);
	}
}

/* Bounds the walk over a list that changes. */
#define MAX_PEERS (1u << 20)

/* Under the table lock, or between table_read_begin() and table_read_retry(). */
static struct peer *find(const struct device *from, uint64_t serial)
{
	struct peer *peer = READ_SHARED(peers);

	for (unsigned int i = 0; peer && i < MAX_PEERS; i++) {
		if (READ_SHARED(peer->from) == from && READ_SHARED(peer->serial) == serial)
			return peer;
		peer = READ_SHARED(peer->next);
	}
	return NULL;
}

static bool is_live(const struct device *dev, uintptr_t base, uint64_t serial)
{
	const struct range *range = range_below(dev->ranges, base);

	return range && range->serial == serial;
}

static bool is_of(const struct peer *peer, const struct device *dev, uint64_t serial)
{
	if (serial)
		return peer->devs[OWNER] == dev && peer->serial == serial;
	return peer->devs[OWNER] == dev || peer->devs[WRITER] == dev;
}

/* Takes a link out of the list, with the list's reference. Serial 0: any link of the handle. */
static struct peer *detach(const struct device *dev, uint64_t serial)
{
	struct peer **link = &peers, *peer;

	while ((peer = *link) && !is_of(peer, dev, serial))
		link = &peer->next;
	if (peer) {
		table_change_begin();
		WRITE_SHARED(*link, peer->next);
		table_change_end();
	}
	return peer;
}

void peers_freed(struct device *dev, uintptr_t ptr, uint64_t serial)
{
	struct peer *peer;

	do {
		table_lock();
		/* Imported more than once, it may still be there. */
		peer = serial && is_live(dev, ptr, serial) ? NULL : detach(dev, serial);
		table_unlock();
		if (peer)
			peer_put(peer);
	} while (peer);
}

void peers_closed(struct device *dev)
{
	peers_freed(dev, 0, 0);
}

/* Exports the allocation and registers it with the other device; size stays 0 if that is refused. */
static void link_memory(struct peer *peer, size_t size)
{
	struct paccel_mem_export export = { .size = sizeof(export),
					    .kind = PACCEL_EXPORT_DEVICE,
					    .addr = device_address(peer->devs[OWNER], peer->base) };
	struct paccel_host_register cmd = { .size = sizeof(cmd),
					    .flags = PACCEL_HOST_DMABUF,
					    .length = size };
	void *at;

	if (size > peer->devs[WRITER]->max_host_bytes)
		return;
	/* The dma-buf in a child would keep the allocation. */
	device_move_begin();
	if (device_ioctl(peer->devs[OWNER], PACCEL_IOC_MEM_EXPORT, &export))
		goto end_move;
	at = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at != MAP_FAILED) {
		cmd.addr = peer->at = (uintptr_t)at;
		cmd.fd = export.fd;
		if (device_ioctl(peer->devs[WRITER], PACCEL_IOC_HOST_REGISTER, &cmd))
			munmap(at, size);
		else
			peer->size = size;
	}
	close(export.fd);
end_move:
	device_move_end();
}

/*
 * Publishes a link unless another thread was faster, the allocation was freed, or one of the
 * handles was closed: after the last close nothing ends a link. Returns the link to use, with a
 * reference.
 */
static struct peer *publish(struct peer *peer)
{
	const struct device *from = peer->devs[WRITER], *to = peer->devs[OWNER];
	struct peer *first = find(from, peer->serial);

	if (first) {
		__atomic_add_fetch(&first->refs, 1, __ATOMIC_RELAXED);
		return first;
	}
	if (!is_live(to, peer->base, peer->serial) || !from->opens || !to->opens)
		return NULL;
	table_change_begin();
	WRITE_SHARED(peer->refs, 2);
	WRITE_SHARED(peer->next, peers);
	WRITE_SHARED(peers, peer);
	table_change_end();
	return peer;
}

/* For the allocation of the destination unless it was freed meanwhile; not published. */
static struct peer *peer_create(const struct copy *copy, size_t *size)
{
	struct device *from = copy->src.dev, *to = copy->dst.dev;
	struct peer *peer = NULL;
	const struct range *range;
	uintptr_t base = 0;

	table_lock();
	range = range_below(to->ranges, copy->dst.ptr);
	if (range && range->serial == copy->dst.serial) {
		base = range->base;
		*size = range->size;
		peer = unused;
	}
	if (peer)
		unused = peer->next;
	table_unlock();
	if (base && !peer)
		peer = calloc(1, sizeof(*peer));
	if (!peer)
		return NULL;
	WRITE_SHARED(peer->from, from);
	WRITE_SHARED(peer->serial, copy->dst.serial);
	peer->devs[WRITER] = from;
	peer->devs[OWNER] = to;
	peer->base = base;
	peer->at = peer->size = 0;
	device_hold(from);
	device_hold(to);
	return peer;
}

static struct peer *make(const struct copy *copy)
{
	size_t size;
	struct peer *peer = peer_create(copy, &size), *used;

	if (!peer)
		return NULL;
	link_memory(peer, size);
	table_lock();
	used = publish(peer);
	table_unlock();
	if (used != peer)
		peer_end(peer);
	return used;
}

static struct peer *find_published(const struct device *from, uint64_t serial)
{
	struct table_read read = { 0 };
	struct peer *peer;
	bool again;

	do {
		table_read_begin(&read);
		peer = find(from, serial);
		if (peer && !reference_get(&peer->refs))
			peer = NULL;
		again = table_read_retry(&read);
		if (again && peer)
			peer_put(peer);
	} while (again);
	return peer;
}

/* The link from the source's device to the destination's memory, with a reference; or NULL. */
static struct peer *get(const struct copy *copy)
{
	struct peer *peer;

	/* A verified copy has no direct way: the device that writes cannot read back from the other. */
	if (copy->verify || !copy->dst.dev->mappable)
		return NULL;
	peer = find_published(copy->src.dev, copy->dst.serial);
	return peer ? peer : make(copy);
}

/*
 * The other device's memory is host memory of the device that writes. -EFAULT: there is no link, or
 * perhaps that memory was taken away, as the device is gone or has lost it: through the host there is
 * either a way or a sentence for it. Queued work keeps what it needs: the registration may end before
 * the copy does.
 */
int copy_linked(const struct copy *copy, bool *done)
{
	struct peer *peer = get(copy);
	struct copy direct = *copy;
	int err = -EFAULT;

	if (peer && peer->size) {
		direct.dst.dev = NULL;
		direct.dst.ptr = peer->at + (copy->dst.ptr - peer->base);
		err = copy_execute(copy->src.dev, PACCEL_COPY_D2H, &direct);
	}
	if (peer)
		peer_put(peer);
	*done = err != -EFAULT;
	return err && *done ? copy_failed(copy->src.dev, err, copy) : 0;
}
