// SPDX-License-Identifier: MIT
/*
 * acl SAMPLES: aclrtMemcpy() of 4 KiB to the first card against accel_memory_copy_h2d() of the same
 * bytes, in turns, so that what slows the machine hits both alike.
 */
#include "acl/acl.h"

#include <accel/accel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BYTES 4096
#define COPIES 200
#define MAX_SAMPLES 200

static struct accel_device *dev;
static void *ptr, *host;

static void must(int err, const char *what)
{
	const char *said;

	if (!err)
		return;
	said = aclGetRecentErrMsg();
	fprintf(stderr, "acl: %s: %s\n", what, *said ? said : accel_last_error());
	exit(1);
}

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

static double of_acl(void)
{
	double start = now_ns();

	for (int i = 0; i < COPIES; i++)
		must(aclrtMemcpy(ptr, BYTES, host, BYTES, ACL_MEMCPY_HOST_TO_DEVICE), "copy");
	return (now_ns() - start) / COPIES;
}

static double of_libaccel(void)
{
	double start = now_ns();

	for (int i = 0; i < COPIES; i++)
		must(accel_memory_copy_h2d(dev, ptr, host, BYTES), "copy");
	return (now_ns() - start) / COPIES;
}

static void print(const char *name, const double *ns, int nr)
{
	printf("{\"name\": \"%s\", \"ns\": [", name);
	for (int i = 0; i < nr; i++)
		printf("%s%.3f", i ? ", " : "", ns[i]);
	puts("]}");
}

int main(int argc, char **argv)
{
	int samples = argc == 2 ? atoi(argv[1]) : 0;
	double ours[MAX_SAMPLES], theirs[MAX_SAMPLES];

	if (samples < 1 || samples > MAX_SAMPLES) {
		fputs("usage: acl SAMPLES\n", stderr);
		return 2;
	}
	must(aclInit(NULL), "init");
	must(aclrtSetDevice(0), "device");
	must(accel_device_open(0, &dev), "open");
	must(aclrtMalloc(&ptr, BYTES, ACL_MEM_MALLOC_HUGE_FIRST), "device memory");
	must(aclrtMallocHost(&host, BYTES), "host memory");
	memset(host, 1, BYTES);
	/* Who comes first in a round has the colder cache, so they take turns in that, too. */
	for (int i = 0; i < samples; i++) {
		if (i % 2)
			theirs[i] = of_libaccel();
		ours[i] = of_acl();
		if (!(i % 2))
			theirs[i] = of_libaccel();
	}
	print("acl.memcpy", ours, samples);
	print("acl.libaccel", theirs, samples);
	return 0;
}
