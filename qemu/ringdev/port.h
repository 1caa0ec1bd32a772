/* SPDX-License-Identifier: MIT */
/*
 * A card and the QEMU that it is plugged into: the ivshmem server's side of the protocol. To QEMU
 * we are the server and the only peer; the peer's eventfds are the doorbells. Protocol:
 * QEMU's docs/specs/ivshmem-spec.
 */
#ifndef RINGDEV_PORT_H
#define RINGDEV_PORT_H

#include "card.h"
#include "guest_ram.h"

struct port {
	struct ring_card *card;
	struct guest_ram *file;
	bool has_ram;
	bool told;			/* that there is none */
	uint8_t *bar;
	uint64_t bar_size;
	unsigned int vectors;
	int bar_fd, listener, client;	/* -1: none */
	int doorbell[RING_MAX_VECTORS], interrupt[RING_MAX_VECTORS];
	uint64_t next;			/* when the card has to run */
};

/* Makes the memory of BAR 2. false: errno. */
bool port_make_bar(struct port *port, uint64_t size);
void port_accept(struct port *port);
void port_hang_up(struct port *port);
/* Empties the doorbell; false if it has not rung. */
bool port_take_doorbell(struct port *port, unsigned int number);
void port_run(struct port *port);

extern const struct ring_ops port_ops;	/* the owner is the port */

#endif
