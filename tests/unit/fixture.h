/* SPDX-License-Identifier: MIT */
/*
 * Tests of the library over the mock.
 */
#ifndef FIXTURE_H
#define FIXTURE_H

#include "mock.h"
#include "tap.h"

/* Each test starts without cards and ends without open files. */
#define RUN(test) run(test, #test)

static inline void run(void (*test)(void), const char *name)
{
	mock_reset();
	test();
	if (mock_files())
		tap_check(0, name, 0, "all files are closed again");
	tap_done(name);
}

/* A card of 4032 bytes as index 0. */
static inline struct accel_device *open_card(void)
{
	struct accel_device *dev = NULL;

	mock_add(0);
	expect(accel_device_open(0, &dev), 0);
	if (!dev)
		exit(1);
	return dev;
}

static inline char *device_memory(struct accel_device *dev, size_t size)
{
	void *ptr = NULL;

	expect(accel_device_memory_allocate(dev, &ptr, size), 0);
	return ptr;
}

static inline char *unified_memory(struct accel_device *dev, size_t size)
{
	void *ptr = NULL;

	expect(accel_unified_memory_allocate(dev, &ptr, size), 0);
	return ptr;
}

static inline char *host_memory(struct accel_device *dev, size_t size)
{
	void *ptr = NULL;

	expect(accel_host_memory_allocate(dev, &ptr, size), 0);
	return ptr;
}

#endif
