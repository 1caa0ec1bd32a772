/* SPDX-License-Identifier: MIT */
/*
 * A poll loop: an eventfd becomes readable when queued operations have completed.
 *
 * Build: cc pollloop.c $(pkg-config --cflags --libs accel)
 */
#include <accel/accel.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void check(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "%s: %s\n", what, accel_last_error());
	exit(1);
}

int main(void)
{
	struct pollfd work = { .fd = eventfd(0, EFD_CLOEXEC), .events = POLLIN };
	struct accel_stream *stream;
	struct accel_device *dev;
	int done = 0, idle = 0;
	eventfd_t count;
	void *card;

	check(accel_device_open(0, &dev), "open");
	check(accel_stream_create(dev, &stream), "stream");
	check(accel_device_memory_allocate(dev, &card, 1000), "allocate");
	for (unsigned char i = 0; i < 3; i++) {
		check(accel_async_device_memory_set(dev, stream, card, i, 1000), "fill");
		check(accel_stream_eventfd(stream, work.fd), "eventfd");
	}
	while (done < 3) {
		/* A timeout: the program is free for other work. */
		if (!poll(&work, 1, 20)) {
			idle++;
			continue;
		}
		if (eventfd_read(work.fd, &count))
			return 1;
		done += (int)count;
		printf("%d of 3 fills are done\n", done);
	}
	/* The eventfd is also signalled when an operation has failed. */
	check(accel_stream_query(stream), "fills");
	printf("there was %stime for something else\n", idle ? "" : "no ");
	check(accel_device_close(dev), "close");
	close(work.fd);
	return 0;
}
