// SPDX-License-Identifier: MIT
/*
 * pairs SAMPLES: an allocation and its free, of the driver and of a pool, on the first card, where
 * either has 64 free blocks between others. Rounds take turns, so that what slows the machine hits
 * both alike.
 */
#include <accel/pool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define HOLES 64
#define BLOCK 65536
#define ASKED 40000
#define DRIVER_PAIRS 20
#define POOL_PAIRS 5000
#define MAX_SAMPLES 200

static void must(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "pairs: %s: %s\n", what, accel_last_error());
	exit(1);
}

static double now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

/* Every second block is free afterwards; the others stay until the end. */
static void make_holes(const struct accel_resource *resource)
{
	void *holes[HOLES], *wall;

	for (int i = 0; i < HOLES; i++) {
		must(accel_resource_allocate(resource, NULL, BLOCK, 1, &holes[i]), "hole");
		must(accel_resource_allocate(resource, NULL, BLOCK, 1, &wall), "wall");
	}
	for (int i = 0; i < HOLES; i++)
		must(accel_resource_deallocate(resource, NULL, holes[i], BLOCK, 1), "hole");
}

static double measure(const struct accel_resource *resource, int pairs)
{
	double start = now_ns();
	void *ptr;

	for (int i = 0; i < pairs; i++) {
		must(accel_resource_allocate(resource, NULL, ASKED, 1, &ptr), "allocate");
		must(accel_resource_deallocate(resource, NULL, ptr, ASKED, 1), "free");
	}
	return (now_ns() - start) / pairs;
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
	struct accel_pool_options options = { 0 };
	double of_driver[MAX_SAMPLES], of_pool[MAX_SAMPLES];
	struct accel_resource driver, pooled;
	struct accel_device *dev;
	struct accel_pool *pool;

	if (samples < 1 || samples > MAX_SAMPLES) {
		fputs("usage: pairs SAMPLES\n", stderr);
		return 2;
	}
	options.initial_size = options.maximum_size = (size_t)2 * HOLES * BLOCK;
	must(accel_device_open(0, &dev), "open");
	must(accel_pool_create(dev, NULL, &options, &pool), "pool");
	must(accel_pool_resource(pool, &pooled), "resource");
	must(accel_resource_of_device(dev, ACCEL_MEMORY_DEVICE, &driver), "resource");
	make_holes(&driver);
	make_holes(&pooled);
	for (int i = 0; i < samples; i++) {
		of_driver[i] = measure(&driver, DRIVER_PAIRS);
		of_pool[i] = measure(&pooled, POOL_PAIRS);
	}
	print("driver.pairs", of_driver, samples);
	print("pool.pairs", of_pool, samples);
	return 0;
}
