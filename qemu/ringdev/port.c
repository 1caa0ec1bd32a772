// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "port.h"

#define PROTOCOL_VERSION	0
#define SHARED_MEMORY		(-1)
#define OUR_ID			1	/* the upper half of what the guest writes to ring */
/* Not 0: the guest could not tell that from "no interrupts". */
#define GUEST_ID		7
/* After this time others are listened to. To ask who has something to say takes some of it. */
#define TURN_NS			500000u

static void port_raise(void *owner, unsigned int vector)
{
	struct port *port = owner;
	const uint64_t one = 1;

	if (port->client < 0)
		return;
	/* Full only if the guest has ignored 2^64 - 2 interrupts; then one is as good. */
	if (write(port->interrupt[vector], &one, sizeof(one)) < 0)
		return;
}

static uint64_t port_now(void *owner)
{
	struct timespec now;

	(void)owner;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

const struct ring_ops port_ops = { .raise = port_raise, .now = port_now };

bool port_make_bar(struct port *port, uint64_t size)
{
	void *bar;

	port->bar_fd = memfd_create("ringdev-bar", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (port->bar_fd < 0 || ftruncate(port->bar_fd, (off_t)size) ||
	    /* Others get the file too; a shorter one would kill us. */
	    fcntl(port->bar_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return false;
	bar = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, port->bar_fd, 0);
	if (bar == MAP_FAILED)
		return false;
	port->bar = bar;
	port->bar_size = size;
	return true;
}

/* --- the protocol ------------------------------------------------------------------------- */

static bool send_message(int to, int64_t value, int fd)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = { .bytes = { 0 } };
	struct iovec data = { &value, sizeof(value) };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1 };

	if (fd >= 0) {
		struct cmsghdr *header;

		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	}
	return sendmsg(to, &message, MSG_NOSIGNAL) == sizeof(value);
}

static bool send_eventfds(struct port *port, int64_t id, int *fds)
{
	for (unsigned int i = 0; i < port->vectors; i++) {
		fds[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (fds[i] < 0 || !send_message(port->client, id, fds[i]))
			return false;
	}
	return true;
}

/*
 * QEMU makes the device when it has the shared memory, and takes what comes behind that when it gets to
 * it: on a busy host after the guest has rung a doorbell, which would be lost. So those come first.
 */
static bool greet(struct port *port)
{
	return send_message(port->client, PROTOCOL_VERSION, -1) &&
	       send_message(port->client, GUEST_ID, -1) &&
	       send_eventfds(port, OUR_ID, port->doorbell) &&
	       send_message(port->client, SHARED_MEMORY, port->bar_fd) &&
	       send_eventfds(port, GUEST_ID, port->interrupt);
}

static void close_all(int *fds)
{
	for (unsigned int i = 0; i < RING_MAX_VECTORS; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

void port_accept(struct port *port)
{
	int client = accept4(port->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (client < 0)
		return;
	/* A card is in one machine. */
	if (port->client >= 0) {
		close(client);
		return;
	}
	port->client = client;
	port->next = RING_NEVER;
	ring_card_power_on(port->card);
	if (!greet(port)) {
		fprintf(stderr, "ringdev: a guest's QEMU: %s\n", strerror(errno));
		port_hang_up(port);
	}
}

void port_hang_up(struct port *port)
{
	ring_card_power_off(port->card);
	if (port->has_ram)
		guest_ram_put(port->file);
	port->has_ram = false;
	port->told = false;
	close(port->client);
	port->client = -1;
	close_all(port->doorbell);
	close_all(port->interrupt);
	port->next = RING_NEVER;
}

bool port_take_doorbell(struct port *port, unsigned int number)
{
	uint64_t count;

	return read(port->doorbell[number], &count, sizeof(count)) == sizeof(count);
}

/* --- running ---------------------------------------------------------------------------------- */

/* At the first doorbell the file is there: QEMU makes it before the guest runs. */
static void attach_ram(struct port *port)
{
	const struct ring_ram *ram;

	if (port->has_ram || port->told || !port->file)
		return;
	ram = guest_ram_get(port->file);
	port->has_ram = ram;
	port->told = !ram;
	ring_card_set_ram(port->card, ram);
}

void port_run(struct port *port)
{
	uint64_t until;

	if (port->client < 0)
		return;
	attach_ram(port);
	until = port_now(port) + TURN_NS;
	do
		port->next = ring_card_run(port->card);
	while (!port->next && port_now(port) < until);
}
