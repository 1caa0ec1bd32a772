// SPDX-License-Identifier: MIT
/*
 * query SAMPLES: what accel_stream_query() costs, on the host, since user code is many times slower
 * in a guest without KVM. The completion page is that of the mock, which no card writes to
 * meanwhile. Half of the samples ask a stream that is done, half one that is busy.
 */
#include <accel/accel.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../../unit/mock.h"

#define CALLS 1000000

static void must(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "query: %s: %s\n", what, accel_last_error());
	exit(1);
}

static double now_ns(void)
{
	struct timespec ts;

	/* Of this thread: what else the machine does is not measured. */
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

/* Nanoseconds of one call. */
static double measure(struct accel_stream *stream, int expected)
{
	double start = now_ns();
	int wrong = 0;

	for (int i = 0; i < CALLS; i++)
		wrong += accel_stream_query(stream) != expected;
	start = now_ns() - start;
	must(wrong, "a query answered something else");
	return start / CALLS;
}

int main(int argc, char **argv)
{
	int samples = argc == 2 ? atoi(argv[1]) : 0;
	struct accel_stream *done, *busy;
	struct accel_device *dev;
	unsigned int calls;
	void *ptr;

	if (samples < 2 || samples > 1000) {
		fputs("usage: query SAMPLES\n", stderr);
		return 2;
	}
	mock_add(0);
	must(accel_device_open(0, &dev), "open");
	must(accel_stream_create(dev, &done), "stream");
	must(accel_stream_create(dev, &busy), "stream");
	must(accel_device_memory_allocate(dev, &ptr, 64), "allocate");
	must(accel_async_device_memory_set(dev, done, ptr, 0, 64), "fill");
	must(accel_stream_synchronize(done), "synchronize");
	mock_hold(0);
	must(accel_async_device_memory_set(dev, busy, ptr, 0, 64), "fill");
	mock_wait_held(0, 1);

	calls = mock_all_calls();
	printf("{\"name\": \"query\", \"ns\": [");
	for (int i = 0; i < samples; i++)
		printf("%s%.3f", i ? ", " : "",
		       i % 2 ? measure(busy, -EINPROGRESS) : measure(done, 0));
	puts("]}");
	must(mock_all_calls() != calls, "a query made a system call");
	mock_release(0);
	must(accel_device_close(dev), "close");
	return 0;
}
