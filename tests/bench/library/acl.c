// SPDX-License-Identifier: MIT
/*
 * acl SAMPLES: aclrtMemcpy() of 4 KiB to the first card against accel_memory_copy_h2d() of the same
 * bytes, in turns, so that what slows the machine hits both alike. A sample is the median of a round.
 */
#include "acl/acl.h"

#include <accel/accel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BYTES 4096
#define COPIES 101
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

	must(aclrtMemcpy(ptr, BYTES, host, BYTES, ACL_MEMCPY_HOST_TO_DEVICE), "copy");
	return now_ns() - start;
}

static double of_libaccel(void)
{
	double start = now_ns();

	must(accel_memory_copy_h2d(dev, ptr, host, BYTES), "copy");
	return now_ns() - start;
}

static int compare(const void *a, const void *b)
{
	double difference = *(const double *)a - *(const double *)b;

	return (difference > 0) - (difference < 0);
}

static double median(double *ns)
{
	qsort(ns, COPIES, sizeof(*ns), compare);
	return ns[COPIES / 2];
}

/* Each copy is timed alone, for a machine that is not calm stops some of them. */
static void measure(double *ours, double *theirs)
{
	double of_ours[COPIES], of_theirs[COPIES];

	/* Who comes second finds what the first has left in the caches: that changes, too. */
	for (int i = 0; i < COPIES; i++) {
		if (i % 2)
			of_theirs[i] = of_libaccel();
		of_ours[i] = of_acl();
		if (!(i % 2))
			of_theirs[i] = of_libaccel();
	}
	*ours = median(of_ours);
	*theirs = median(of_theirs);
}

static void print(const char *name, const double *ns, int nr)
{
	printf("{\"name\": \"%s\", \"ns\": [", name);
	for (int i = 0; i < nr; i++)
		printf("%s%.4f", i ? ", " : "", ns[i]);
	puts("]}");
}

int main(int argc, char **argv)
{
	int samples = argc == 2 ? atoi(argv[1]) : 0;
	double ours[MAX_SAMPLES], theirs[MAX_SAMPLES], ratio[MAX_SAMPLES];

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
	for (int i = 0; i < samples; i++) {
		measure(&ours[i], &theirs[i]);
		ratio[i] = ours[i] / theirs[i];
	}
	print("acl.memcpy", ours, samples);
	print("acl.libaccel", theirs, samples);
	/* No times: how many times as long each round took. */
	print("acl.ratio", ratio, samples);
	return 0;
}
