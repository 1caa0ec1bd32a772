/* SPDX-License-Identifier: MIT */
/* Host memory that counts as device memory, in a program that has LD_PRELOAD=libplain.so. */
#ifndef TESTS_BENCH_MPI_PLAIN_H
#define TESTS_BENCH_MPI_PLAIN_H

#include <stddef.h>

void plain_add(void *ptr, size_t size) __attribute__((weak));

#endif
