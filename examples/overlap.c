/* SPDX-License-Identifier: MIT */
/*
 * Two streams: one copies a block to the device while the other copies the previous one back.
 *
 * Build: cc overlap.c $(pkg-config --cflags --libs accel)
 */
#include <accel/accel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 1000
#define BLOCKS 4

static void check(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "%s: %s\n", what, accel_last_error());
	exit(1);
}

int main(void)
{
	struct accel_stream *up, *down;
	struct accel_event *there[2];
	struct accel_device *dev;
	void *in, *out, *card[2];

	check(accel_device_open(0, &dev), "open");
	check(accel_stream_create(dev, &up), "stream");
	check(accel_stream_create(dev, &down), "stream");
	/* Copies to or from pageable memory may wait. These allocations are page-locked. */
	check(accel_host_memory_allocate(dev, &in, BLOCKS * BLOCK), "host memory");
	check(accel_host_memory_allocate(dev, &out, BLOCKS * BLOCK), "host memory");
	for (int i = 0; i < 2; i++) {
		check(accel_device_memory_allocate(dev, &card[i], BLOCK), "device memory");
		check(accel_event_create(dev, &there[i]), "event");
	}
	for (int i = 0; i < BLOCKS; i++)
		memset((char *)in + i * BLOCK, '0' + i, BLOCK);

	for (int i = 0; i < BLOCKS; i++) {
		size_t at = (size_t)i * BLOCK;

		/* Wait until the other stream has copied the previous contents. */
		check(accel_stream_wait_event(up, there[i % 2]), "wait");
		check(accel_async_memory_copy_h2d(dev, up, card[i % 2], (char *)in + at, BLOCK), "up");
		check(accel_event_record(there[i % 2], up), "record");
		check(accel_stream_wait_event(down, there[i % 2]), "wait");
		check(accel_async_memory_copy_d2h(dev, down, (char *)out + at, card[i % 2], BLOCK), "down");
		check(accel_event_record(there[i % 2], down), "record");
	}
	/* The only call that waits. */
	check(accel_device_synchronize(dev), "synchronize");
	printf("%d blocks came back %s\n", BLOCKS, memcmp(in, out, BLOCKS * BLOCK) ? "wrong" : "right");
	check(accel_device_close(dev), "close");
	return 0;
}
