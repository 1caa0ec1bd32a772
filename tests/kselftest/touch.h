/* SPDX-License-Identifier: MIT */
/* Touching memory that may not be there. */
#ifndef PACCEL_KSELFTEST_TOUCH_H
#define PACCEL_KSELFTEST_TOUCH_H

#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "util.h"

static __thread sigjmp_buf bus_jump;
static __thread volatile sig_atomic_t bus_armed;

static inline void on_bus(int signal)
{
	if (!bus_armed)
		_exit(128 + signal);
	siglongjmp(bus_jump, signal);
}

/* Before the first look. */
static inline void catch_bus(void)
{
	struct sigaction action = { .sa_handler = on_bus, .sa_flags = SA_NODEFER };

	sigaction(SIGBUS, &action, NULL);
	sigaction(SIGSEGV, &action, NULL);
}

/* The byte there, or minus the signal that looking gives. */
static inline int peek(const volatile u8 *at)
{
	int signal = sigsetjmp(bus_jump, 1), value = 0;

	bus_armed = 1;
	if (!signal)
		value = *at;
	bus_armed = 0;
	return signal ? -signal : value;
}

static inline int poke(volatile u8 *at, u8 value)
{
	int signal = sigsetjmp(bus_jump, 1);

	bus_armed = 1;
	if (!signal)
		*at = value;
	bus_armed = 0;
	return -signal;
}

#endif
