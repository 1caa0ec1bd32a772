/* SPDX-License-Identifier: MIT */
/*
 * The contexts of all processes, from /proc/PID/fdinfo.
 */
#ifndef CLIENTS_H
#define CLIENTS_H

#include <stdbool.h>
#include <stdint.h>

/* One context. The counters are since it was opened. */
struct client {
	int pid;
	uint64_t id;
	char bus_address[32];
	unsigned int device; /* number of the device */
	uint64_t engines;
	uint64_t busy_ns; /* of all engines together */
	uint64_t memory, host; /* bytes */
	uint64_t h2d, d2h, d2d, filled; /* bytes */
};

/*
 * Those of devices that are present, as far as the caller may see them: an array to be freed, and
 * its length.
 */
int clients_read(struct client **clients);
/* Those of one process. */
int clients_of(int pid, struct client **clients);

#endif
