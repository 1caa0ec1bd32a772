/* SPDX-License-Identifier: MIT */
/*
 * Memory of one card in another one's reach. An allocation is exported and registered with the
 * other card once, with the first copy between the two, under addresses that are only reserved;
 * that is kept until the allocation is freed, or one of the cards closed. That it is refused is
 * kept as well, so that it is not tried with each copy.
 *
 * The card that has the source writes into the other: a bus carries writes better than reads.
 */
#define _GNU_SOURCE
#include "private.h"

#include <linux/paccel.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

struct peer {
	struct peer *next;
	struct accel_device *from, *to; /* who writes, and whose memory it is: references */
	uint64_t serial; /* of the allocation */
	uintptr_t base; /* of it, in its window */
	uintptr_t at; /* what stands for base with the card that writes */
	size_t size; /* of the reservation; 0: refused */
	unsigned int users; /* copies that have looked it up */
	bool dead; /* out of the list: the last user ends it */
};

static struct peer *peers; /* under the table lock */

/* Without the lock. The card drops the memory when its work with it has ended. */
static void peer_end(struct peer *peer)
{
	struct paccel_host_free cmd = { .size = sizeof(cmd), .addr = peer->at };

	if (peer->size) {
		device_ioctl(peer->from, PACCEL_IOC_HOST_FREE, &cmd);
		munmap((void *)peer->at, peer->size);
	}
	device_drop(peer->from);
	device_drop(peer->to);
	free(peer);
}

/* Links of the parent: what was mapped is only an address, and the references are none. */
void peers_in_child(void)
{
	struct peer *peer;

	while ((peer = peers)) {
		peers = peer->next;
		if (peer->size)
			munmap((void *)peer->at, peer->size);
		free(peer);
	}
}

static struct peer *find(const struct accel_device *from, uint64_t serial)
{
	struct peer *peer = peers;

	while (peer && (peer->from != from || peer->serial != serial))
		peer = peer->next;
	return peer;
}

static const struct range *allocation(const struct accel_device *dev, uintptr_t ptr)
{
	const struct range *range = range_below(dev->ranges, ptr);

	return range && range_holds(range, ptr, 1) ? range : NULL;
}

/* Takes what matches out of the list, and returns what has no user. */
static struct peer *detach(const struct accel_device *dev, uint64_t serial)
{
	struct peer **link = &peers, *peer, *ended = NULL;

	while ((peer = *link)) {
		bool matches = serial ? peer->to == dev && peer->serial == serial
				      : peer->to == dev || peer->from == dev;

		if (!matches) {
			link = &peer->next;
			continue;
		}
		*link = peer->next;
		peer->dead = true;
		if (!peer->users) {
			peer->next = ended;
			ended = peer;
		}
	}
	return ended;
}

static void end_all(struct peer *ended)
{
	while (ended) {
		struct peer *next = ended->next;

		peer_end(ended);
		ended = next;
	}
}

void peers_freed(struct accel_device *dev, uintptr_t ptr, uint64_t serial)
{
	const struct range *range;
	struct peer *ended = NULL;

	table_lock();
	range = allocation(dev, ptr);
	/* Imported more than once, it may still be there. */
	if (!range || range->serial != serial)
		ended = detach(dev, serial);
	table_unlock();
	end_all(ended);
}

void peers_closed(struct accel_device *dev)
{
	struct peer *ended;

	table_lock();
	ended = detach(dev, 0);
	table_unlock();
	end_all(ended);
}

/* Exports the allocation and registers it with the other card; leaves size 0 if that is refused. */
static void link_memory(struct peer *peer, size_t size)
{
	struct paccel_mem_export export = { .size = sizeof(export),
					    .kind = PACCEL_EXPORT_DEVICE,
					    .addr = device_address(peer->to, peer->base) };
	struct paccel_host_register cmd = { .size = sizeof(cmd),
					    .flags = PACCEL_HOST_DMABUF,
					    .length = size };
	void *at;

	if (size > peer->from->max_host_bytes ||
	    device_ioctl(peer->to, PACCEL_IOC_MEM_EXPORT, &export))
		return;
	at = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at != MAP_FAILED) {
		cmd.addr = peer->at = (uintptr_t)at;
		cmd.fd = export.fd;
		if (device_ioctl(peer->from, PACCEL_IOC_HOST_REGISTER, &cmd))
			munmap(at, size);
		else
			peer->size = size;
	}
	close(export.fd);
}

/*
 * Publishes it unless another thread was faster, the allocation is gone, or the last close of a handle
 * has come, which nothing would end it after; the one to use.
 */
static struct peer *publish(struct peer *peer, struct peer **useless)
{
	const struct range *range = allocation(peer->to, peer->base);
	struct peer *first = find(peer->from, peer->serial);

	*useless = peer;
	if (first || !range || range->serial != peer->serial || !peer->from->opens ||
	    !peer->to->opens)
		return first;
	*useless = NULL;
	peer->next = peers;
	peers = peer;
	return peer;
}

static struct peer *make(struct accel_device *from, struct accel_device *to,
			 const struct range *range)
{
	struct peer *peer = calloc(1, sizeof(*peer)), *useless, *used;
	size_t size = range->size;

	if (!peer) {
		table_unlock();
		return NULL;
	}
	peer->from = from;
	peer->to = to;
	device_hold(from);
	device_hold(to);
	peer->serial = range->serial;
	peer->base = range->base;
	table_unlock();
	link_memory(peer, size);
	table_lock();
	used = publish(peer, &useless);
	if (used)
		used->users++;
	table_unlock();
	if (useless)
		peer_end(useless);
	return used;
}

/* NULL: no way. Else with a user more. */
static struct peer *get(struct accel_device *from, struct accel_device *to, uintptr_t ptr)
{
	const struct range *range;
	struct peer *peer = NULL;

	if (!to->mappable)
		return NULL;
	table_lock();
	range = allocation(to, ptr);
	if (range)
		peer = find(from, range->serial);
	if (range && !peer)
		return make(from, to, range);
	if (peer)
		peer->users++;
	table_unlock();
	return peer;
}

static void put(struct peer *peer)
{
	bool last;

	table_lock();
	last = !--peer->users && peer->dead;
	table_unlock();
	if (last)
		peer_end(peer);
}

/* The copy as one of the card that writes: the other card's memory is its host memory. */
static struct copy as_host(const struct copy *copy, const struct peer *peer)
{
	struct copy direct = *copy;

	direct.dst.dev = NULL;
	direct.dst.ptr = peer->at + (copy->dst.ptr - peer->base);
	return direct;
}

/* A verified copy has no direct way: the device that writes cannot read back from the other one. */
static struct peer *get_for(const struct copy *copy)
{
	return copy->verify ? NULL : get(copy->src.dev, copy->dst.dev, copy->dst.ptr);
}

/*
 * -EFAULT: there is no direct way, or perhaps that memory was taken away, as the card is gone or has
 * lost it. Through the host there is either a way or a sentence for it.
 */
int copy_between(const struct copy *copy)
{
	struct peer *peer = get_for(copy);
	struct copy direct;
	int err = -EFAULT;

	if (peer && peer->size) {
		direct = as_host(copy, peer);
		err = copy_ioctl(copy->src.dev, PACCEL_COPY_D2H, &direct);
	}
	if (peer)
		put(peer);
	if (err == -EFAULT)
		return copy_staged(copy);
	return err ? general_error(copy->src.dev, err) : 0;
}

/* Queued work keeps what it needs: the registration may end before the copy does. */
int copy_between_queue(const struct copy *copy, bool *queued)
{
	struct peer *peer = get_for(copy);
	struct submitted done;
	struct paccel_op op;
	struct copy direct;
	int err = -EFAULT;

	if (peer && peer->size) {
		direct = as_host(copy, peer);
		copy_operation(&direct, PACCEL_COPY_D2H, &op);
		err = stream_submit(copy->stream, &op, 1, &done);
	}
	if (peer)
		put(peer);
	*queued = err != -EFAULT;
	return err && *queued ? submit_error(copy->stream, err) : 0;
}
