/* SPDX-License-Identifier: MIT */
#ifndef RINGDEV_GUEST_RAM_H
#define RINGDEV_GUEST_RAM_H

#include "card.h"

/* The file that is a guest's RAM. QEMU makes it later than it connects, so it is opened late. */
struct guest_ram {
	const char *path;	/* NULL: `fd` has been inherited */
	int fd;
	uint64_t low;		/* 0: as QEMU's machine q35 has it */
	uint64_t start;		/* bus address of its first byte if it is one piece; 0: as on a PC */
	unsigned int users;
	struct ring_ram ram;
};

/* NULL, with a message: it cannot be opened. The last put unmaps it. */
const struct ring_ram *guest_ram_get(struct guest_ram *file);
void guest_ram_put(struct guest_ram *file);

#endif
