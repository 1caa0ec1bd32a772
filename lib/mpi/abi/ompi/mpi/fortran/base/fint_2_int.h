/* SPDX-License-Identifier: MIT */
/*
 * Open MPI's ompi/op/op.h includes a header of this name, which its installed headers lack. Of that header it
 * uses this macro: a C integer as one of Fortran's, which MPI_Fint is.
 */
#define OMPI_INT_2_FINT(number) ((MPI_Fint)(number))
