// SPDX-License-Identifier: MIT
/* For LD_PRELOAD: Open MPI says that it is one of another version. */
#include <mpi.h>
#include <stdio.h>

int MPI_Get_library_version(char *version, int *length)
{
	*length = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "Open MPI v6.1.0, package: none");
	return MPI_SUCCESS;
}
