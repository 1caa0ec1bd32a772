/* SPDX-License-Identifier: MIT */
/* What both components have in common. */
#ifndef LIBACCEL_MPI_PRIVATE_H
#define LIBACCEL_MPI_PRIVATE_H

#include <accel/accel.h>
#include <accel/buffer.h>
#include <stdbool.h>

/* The headers of Open MPI are included by a component, after its own ompi_config.h or opal_config.h. */

#define EXPORTED __attribute__((visibility("default")))

/* One line on stderr, with the host and the process in front as Open MPI has them. */
#define say(format, ...) opal_output(0, "paccel: " format, ##__VA_ARGS__)

/*
 * Whether the Open MPI that runs has the major and minor version that this was compiled for. The tables of
 * functions changed in 5.0 and 6.0, and their version numbers did not. If not, says so.
 */
bool openmpi_fits(const char *component);

/* Keeps parts of Open MPI out of the way that would dereference device pointers. */
void limits_avoid(void);
/* From now on a line tells why an access to device memory ends the process, until limits_end(). */
void limits_explain(void);
void limits_end(void);

#endif
