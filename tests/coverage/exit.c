// SPDX-License-Identifier: MIT
/* Linked into the unit tests that measure coverage: a child that ends with _exit() writes its counters. */
#include <gcov.h>

void __real__exit(int status) __attribute__((noreturn));
void __wrap__exit(int status) __attribute__((noreturn));

void __wrap__exit(int status)
{
	__gcov_dump();
	__real__exit(status);
}
