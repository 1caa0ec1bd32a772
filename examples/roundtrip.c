/* SPDX-License-Identifier: MIT */
/*
 * A first program: copies bytes to the device, inside its memory, and back.
 *
 * Build: cc roundtrip.c $(pkg-config --cflags --libs accel)
 */
#include <accel/accel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every call returns 0 or a negative errno; accel_last_error() returns a message. */
static void check(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "%s: %s\n", what, accel_last_error());
	exit(1);
}

int main(void)
{
	const char text[] = "Hello from the other side of the bus.";
	char back[sizeof(text)];
	struct accel_device_info info;
	struct accel_device *dev;
	void *a, *b;

	/* The first device of the machine. */
	check(accel_device_open(0, &dev), "open");
	check(accel_device_get_info(dev, &info), "info");
	printf("%s at %s has %llu bytes of memory\n", info.name, info.bus_address,
	       (unsigned long long)info.memory_size);

	/* Pointer arithmetic works on device pointers. They must not be dereferenced. */
	check(accel_device_memory_allocate(dev, &a, sizeof(text)), "allocate a");
	check(accel_device_memory_allocate(dev, &b, sizeof(text)), "allocate b");

	/* The addresses determine the direction of a copy. */
	check(accel_memory_copy(a, text, sizeof(text)), "copy to the device");
	check(accel_memory_copy(b, a, sizeof(text)), "copy inside the device");
	check(accel_memory_copy(back, b, sizeof(text)), "copy from the device");

	printf("%s\n", back);
	if (memcmp(back, text, sizeof(text)))
		return 1;

	/* The size has to be that of the allocation. The last close frees what is left. */
	check(accel_device_memory_deallocate(dev, a, sizeof(text)), "free a");
	check(accel_device_memory_deallocate(dev, b, sizeof(text)), "free b");
	check(accel_device_close(dev), "close");
	return 0;
}
