/* SPDX-License-Identifier: MIT */
/*
 * paddle PLUGIN: the functions of the plugin for PaddlePaddle that Paddle itself seldom or never calls,
 * with the real driver, as root in a guest with two devices of a kind: asynchronous copies, page-locked
 * and unified memory. The plugin is loaded as Paddle loads it.
 */
#include "../unit/tap.h"

#include "../../lib/paddle/abi.h"

#include <dlfcn.h>
#include <time.h>

#define SIZE 1000 /* no multiple of anything */

static union {
	struct interface table;
	char size[1128];
} table;
static struct interface *const paddle = &table.table;
static struct {
	struct params params;
	char more[96 - sizeof(struct params)];
} given;

static struct place places[2] = { { 0 }, { 1 } };
static struct place *const accel0 = &places[0], *const accel1 = &places[1];
static stream_t stream;
static char *host, *back, *device, *other;

#define gives(call, status) ok((call) == (status))
#define works(call) gives(call, STATUS_SUCCESS)

static void load(const char *path)
{
	void *library = dlopen(path, RTLD_LAZY);
	void (*init)(struct params *params) = NULL;

	if (library)
		*(void **)&init = dlsym(library, "InitPlugin");
	if (!init) {
		printf("Bail out! %s\n", dlerror());
		exit(1);
	}
	given.params.size = sizeof(given);
	given.params.interface = paddle;
	paddle->size = sizeof(table);
	init(&given.params);
}

static char *memory_of(enum status (*allocate)(struct place *place, void **ptr, size_t size),
		       struct place *place)
{
	void *ptr = NULL;

	works(allocate(place, &ptr, SIZE));
	ok(ptr);
	return ptr;
}

static void set_up(void)
{
	works(paddle->initialize());
	works(paddle->create_stream(accel0, &stream));
	host = memory_of(paddle->host_memory_allocate, accel0);
	back = memory_of(paddle->host_memory_allocate, accel0);
	device = memory_of(paddle->device_memory_allocate, accel0);
	other = memory_of(paddle->device_memory_allocate, accel1);
	for (int i = 0; i < SIZE; i++)
		host[i] = (char)(i * 7);
	memset(back, 0, SIZE);
}

/* Memory counts as used until the driver has dropped the references of operations that have ended. */
static void is_free(struct place *place)
{
	time_t end = time(NULL) + 60;
	size_t total, left;

	do {
		total = 0;
		left = 1;
		works(paddle->device_memory_stats(place, &total, &left));
	} while (total != left && time(NULL) < end);
	ok(total && total == left);
}

/* Nothing is left on the devices. */
static void tear_down(void)
{
	works(paddle->destroy_stream(accel0, stream));
	works(paddle->device_memory_deallocate(accel0, device, SIZE));
	works(paddle->device_memory_deallocate(accel1, other, SIZE));
	works(paddle->host_memory_deallocate(accel0, host, SIZE));
	works(paddle->host_memory_deallocate(accel0, back, SIZE));
	is_free(accel0);
	is_free(accel1);
	works(paddle->finalize());
}

static void is_back(const char *bytes)
{
	works(paddle->synchronize_stream(accel0, stream));
	ok(!memcmp(bytes, host, SIZE));
}

/* Queued one behind the other, from page-locked memory to the other device and back. */
static void test_page_locked(void)
{
	works(paddle->async_memory_copy_h2d(accel0, stream, device, host, SIZE));
	works(paddle->async_memory_copy_p2p(accel1, accel0, stream, other, device, SIZE));
	works(paddle->async_memory_copy_p2p(accel0, accel1, stream, device, other, SIZE));
	works(paddle->async_memory_copy_d2h(accel0, stream, back, device, SIZE));
	is_back(back);
}

/* A source may be reused on return, and a destination is complete on return. */
static void test_pageable(void)
{
	char from[SIZE], to[SIZE] = "";

	memcpy(from, host, SIZE);
	works(paddle->async_memory_copy_h2d(accel0, stream, device, from, SIZE));
	memset(from, 0, SIZE);
	works(paddle->async_memory_copy_d2h(accel0, stream, to, device, SIZE));
	ok(!memcmp(to, host, SIZE));
	is_back(to);
}

/* Any length and place inside one allocation. */
static void test_inside(void)
{
	works(paddle->memory_copy_h2d(accel0, device, host, SIZE));
	works(paddle->async_memory_copy_d2d(accel0, stream, device + 501, device + 3, 490));
	works(paddle->async_memory_copy_d2h(accel0, stream, back, device, SIZE));
	works(paddle->synchronize_stream(accel0, stream));
	ok(!memcmp(back, host, 501) && !memcmp(back + 501, host + 3, 490) &&
	   !memcmp(back + 991, host + 991, SIZE - 991));
	/* They overlap by one byte. */
	gives(paddle->async_memory_copy_d2d(accel0, stream, device + 501, device + 3, 499),
	      STATUS_ERROR);
}

/* Host memory that the device accepts as its own. */
static void test_unified(void)
{
	char *unified = memory_of(paddle->unified_memory_allocate, accel0);

	memcpy(unified, host, SIZE);
	works(paddle->async_memory_copy_d2d(accel0, stream, device, unified, SIZE));
	works(paddle->synchronize_stream(accel0, stream));
	memset(unified, 0, SIZE);
	works(paddle->async_memory_copy_d2d(accel0, stream, unified, device, SIZE));
	is_back(unified);
	works(paddle->device_memory_set(accel0, unified, 9, SIZE));
	ok(unified[0] == 9 && unified[SIZE - 1] == 9);
	works(paddle->unified_memory_deallocate(accel0, unified, SIZE));
}

struct called {
	int times;
	enum status status;
	char last; /* the last byte of the copy before it, then */
};

static void note(struct place *place, stream_t on, void *data, enum status *status)
{
	struct called *called = data;

	ok(place->id == 0 && on == stream);
	called->status = *status;
	called->last = back[SIZE - 1];
	called->times++;
}

static void test_callback(void)
{
	struct called called = { .status = STATUS_FAILED };

	works(paddle->async_memory_copy_h2d(accel0, stream, device, host, SIZE));
	works(paddle->async_memory_copy_d2h(accel0, stream, back, device, SIZE));
	works(paddle->stream_add_callback(accel0, stream, note, &called));
	is_back(back);
	ok(called.times == 1 && called.status == STATUS_SUCCESS && called.last == host[SIZE - 1]);
}

static void test_stale_stream(void)
{
	stream_t stale = NULL;

	works(paddle->create_stream(accel0, &stale));
	works(paddle->async_memory_copy_h2d(accel0, stale, NULL, NULL, 0));
	works(paddle->destroy_stream(accel0, stale));
	for (size_t size = 0; size <= SIZE; size += SIZE) {
		gives(paddle->async_memory_copy_h2d(accel0, stale, device, host, size), STATUS_ERROR);
		gives(paddle->async_memory_copy_d2h(accel0, stale, back, device, size), STATUS_ERROR);
		gives(paddle->async_memory_copy_d2d(accel0, stale, device, device, size),
		      STATUS_ERROR);
		gives(paddle->async_memory_copy_p2p(accel1, accel0, stale, other, device, size),
		      STATUS_ERROR);
	}
}

static void run(void (*test)(void), const char *name)
{
	set_up();
	test();
	tear_down();
	tap_done(name);
}

#define RUN(test) run(test, #test)

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	load(argv[1]);
	RUN(test_page_locked);
	RUN(test_pageable);
	RUN(test_inside);
	RUN(test_unified);
	RUN(test_callback);
	RUN(test_stale_stream);
	return tap_end();
}
