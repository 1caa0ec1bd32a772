/* SPDX-License-Identifier: MIT */
/* The version of Open MPI. */
#include "opal_config.h"

#include "opal/util/output.h"
#include "opal/version.h"

#include <mpi.h>
#include <stdio.h>

#include "private.h"

/* "Open MPI v5.0.7, package: ...", and possibly something else in front. */
static bool read_version(int *major, int *minor)
{
	char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
	int length = 0;

	if (MPI_Get_library_version(text, &length))
		return false;
	return sscanf(text, "Open MPI v%d.%d", major, minor) == 2;
}

bool openmpi_fits(const char *component)
{
	int major = 0, minor = 0;

	if (read_version(&major, &minor) && major == OPAL_MAJOR_VERSION &&
	    minor == OPAL_MINOR_VERSION)
		return true;
	say("%s was built for Open MPI %d.%d and this is %d.%d: it is not used, so MPI cannot take "
	    "device pointers",
	    component, OPAL_MAJOR_VERSION, OPAL_MINOR_VERSION, major, minor);
	return false;
}
