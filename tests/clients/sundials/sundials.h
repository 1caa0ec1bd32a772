/* SPDX-License-Identifier: MIT */
/*
 * Tests with SUNDIALS, on the first device or on the one with the index $SUNDIALS_CARD. They use only public
 * functions of SUNDIALS and of libaccel.
 */
#ifndef SUNDIALS_TEST_H
#define SUNDIALS_TEST_H

#include "../../unit/tap.h"

#include <accel/sundials.h>
#include <sched.h>
#include <stdbool.h>
#include <sundials/sundials_core.h>
#include <time.h>

#define HAS_QUEUE (SUNDIALS_VERSION_MINOR >= 3)

enum { HOST = SUNMEMTYPE_HOST, PINNED = SUNMEMTYPE_PINNED, DEVICE = SUNMEMTYPE_DEVICE,
       UVM = SUNMEMTYPE_UVM, TYPES };

/* What most tests need. */
static SUNContext ctx;
static SUNMemoryHelper helper;

#define gives(call, code) gives_code((call), (code), __func__, __LINE__, #call)

static inline void gives_code(SUNErrCode got, SUNErrCode wanted, const char *function, int line,
			      const char *text)
{
	if (got == wanted)
		return;
	__atomic_add_fetch(&tap_wrong, 1, __ATOMIC_RELAXED);
	printf("# %s:%d: %s is %d, not %d (%s)\n", function, line, text, (int)got, (int)wanted,
	       accel_last_error());
}

static inline int card_index(void)
{
	const char *index = getenv("SUNDIALS_CARD");

	return index ? atoi(index) : 0;
}

/* The test opens a device other than the first one itself. */
static struct accel_device *own_device;

static inline void begin(void)
{
	helper = NULL;
	gives(SUNContext_Create(SUN_COMM_NULL, &ctx), SUN_SUCCESS);
	if (!card_index())
		helper = SUNMemoryHelper_Accel(ctx);
	else if (!accel_device_open(card_index(), &own_device))
		helper = SUNMemoryHelper_AccelWithDevice(ctx, own_device);
	if (!helper) {
		printf("Bail out! no helper: %s\n", accel_last_error());
		exit(1);
	}
}

static inline void end(void)
{
	gives(SUNMemoryHelper_Destroy(helper), SUN_SUCCESS);
	gives(SUNContext_Free(&ctx), SUN_SUCCESS);
}

static inline SUNMemory memory_by(SUNMemoryHelper by, size_t size, int type)
{
	SUNMemory mem = NULL;

	gives(SUNMemoryHelper_Alloc(by, &mem, size, (SUNMemoryType)type, NULL), SUN_SUCCESS);
	if (!mem) {
		printf("Bail out! no memory of type %d\n", type);
		exit(1);
	}
	return mem;
}

static inline SUNMemory memory_of(size_t size, int type)
{
	return memory_by(helper, size, type);
}

static inline void free_memory(SUNMemory mem)
{
	gives(SUNMemoryHelper_Dealloc(helper, mem, NULL), SUN_SUCCESS);
}

/* An object that does not own its memory. */
static inline SUNMemory wrap(void *ptr, int type)
{
	return SUNMemoryHelper_Wrap(helper, ptr, (SUNMemoryType)type);
}

static inline void pattern(void *bytes, size_t size, int seed)
{
	for (size_t i = 0; i < size; i++)
		((char *)bytes)[i] = (char)(i * 31 + (size_t)seed + (i >> 8));
}

/* What a block holds, seen through the library alone. */
static inline bool holds(SUNMemory mem, const void *wanted, size_t size)
{
	char *back = malloc(size);
	bool same;

	ok(!accel_memory_copy(back, mem->ptr, size));
	same = !memcmp(back, wanted, size);
	free(back);
	return same;
}

static inline void put(SUNMemory mem, const void *bytes, size_t size)
{
	ok(!accel_memory_copy(mem->ptr, bytes, size));
}

static inline bool stats_are(SUNMemoryHelper of, int type, unsigned long allocated,
			     unsigned long freed, size_t bytes, size_t high)
{
	unsigned long number[2] = { 99, 99 };
	size_t size[2] = { 99, 99 };

	gives(SUNMemoryHelper_GetAllocStats(of, (SUNMemoryType)type, &number[0], &number[1],
					    &size[0], &size[1]), SUN_SUCCESS);
	if (number[0] == allocated && number[1] == freed && size[0] == bytes && size[1] == high)
		return true;
	printf("# type %d: %lu allocated, %lu freed, %zu bytes, %zu at most\n", type, number[0],
	       number[1], size[0], size[1]);
	return false;
}

/* The driver's counters of the device. */
static inline struct accel_memory_stats card_stats(void)
{
	struct accel_memory_stats stats = { 0 };
	struct accel_device *dev;

	ok(!accel_device_open(card_index(), &dev));
	ok(!accel_memory_stats_full(dev, &stats));
	ok(!accel_device_close(dev));
	return stats;
}

/*
 * At the end of each test this process has no memory on the device. The device stays open until then, since
 * its last close would also free what the test has leaked.
 */
#define RUN_ON_CARD(test) run_on_card(test, #test)

/* Work that has just ended may keep its memory for a moment longer. */
static inline bool card_is_empty(void)
{
	time_t late = time(NULL) + 20;
	struct accel_memory_stats stats;

	do {
		stats = card_stats();
		if (!stats.used && !stats.mine && !stats.mine_allocs && !stats.user)
			return true;
		sched_yield();
	} while (time(NULL) < late);
	return false;
}

static inline void run_on_card(void (*test)(void), const char *name)
{
	struct accel_device *watch;

	if (accel_device_open(card_index(), &watch)) {
		printf("Bail out! no device: %s\n", accel_last_error());
		exit(1);
	}
	test();
	if (own_device)
		ok(!accel_device_close(own_device));
	own_device = NULL;
	if (!card_is_empty())
		tap_check(0, name, 0, "nothing is left on the device");
	ok(!accel_device_close(watch));
	tap_done(name);
}

#endif
