/* SPDX-License-Identifier: MIT */
#ifndef RINGDEV_CONTROL_H
#define RINGDEV_CONTROL_H

#include "card.h"

#define CONTROL_CLIENTS	8

/* The control socket: lines in, lines out. Everything is -1 where nobody is. */
struct control {
	int listener;
	struct {
		int fd;
		size_t used;
		char text[512];
	} clients[CONTROL_CLIENTS];
};

void control_accept(struct control *control);
/* Reads what has come; true if there was a command. */
bool control_serve(struct control *control, unsigned int client, struct ring_bus *bus);

#endif
