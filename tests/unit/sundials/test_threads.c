/* SPDX-License-Identifier: MIT */
/* One helper for two threads and a third that looks; also built with the thread sanitizer. */
#include "fixture.h"

#include <pthread.h>

#define ROUNDS 100

static void *works(void *arg)
{
	char in[SIZE], back[SIZE];
	SUNMemory host_in = wrap(in, HOST), host_back = wrap(back, HOST);

	for (int i = 0; i < ROUNDS; i++) {
		int type = i % TYPES;
		SUNMemory mem = memory_of(SIZE, type);
		SUNMemoryHelper clone = SUNMemoryHelper_Clone(helper);

		pattern(in, SIZE, i + *(int *)arg);
		gives(SUNMemoryHelper_Copy(clone, mem, host_in, SIZE, NULL), SUN_SUCCESS);
		gives(SUNMemoryHelper_CopyAsync(helper, host_back, mem, SIZE, NULL), SUN_SUCCESS);
		ok(!memcmp(in, back, SIZE));
		gives(SUNMemoryHelper_Destroy(clone), SUN_SUCCESS);
		free_memory(mem);
	}
	free_memory(host_in);
	free_memory(host_back);
	return NULL;
}

static int stop;

/* Each number is right for itself. */
static void *looks(void *arg)
{
	unsigned long allocated, freed;
	size_t bytes, high;

	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		gives(SUNMemoryHelper_GetAllocStats(helper, SUNMEMTYPE_DEVICE, &allocated, &freed,
						    &bytes, &high), SUN_SUCCESS);
		ok(allocated <= 2 * ROUNDS && freed <= 2 * ROUNDS && bytes <= 2 * SIZE &&
		   high <= 2 * SIZE);
	}
	return NULL;
}

static void test_two_threads_and_one_that_looks(void)
{
	pthread_t threads[3];
	int seeds[2] = { 1, 2 };

	begin_with(1);
	stop = 0;
	pthread_create(&threads[2], NULL, looks, NULL);
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, works, &seeds[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	pthread_join(threads[2], NULL);
	for (int type = 0; type < TYPES; type++) {
		unsigned long allocated = 0, freed = 0;
		size_t bytes = 99, high = 0;

		gives(SUNMemoryHelper_GetAllocStats(helper, (SUNMemoryType)type, &allocated, &freed,
						    &bytes, &high), SUN_SUCCESS);
		ok(allocated == 2 * ROUNDS / TYPES && freed == allocated && !bytes);
		ok(high == SIZE || high == 2 * SIZE);
	}
	end();
}

#define BLOCKS 50000

static void *counts(void *arg)
{
	(void)arg;
	for (int i = 0; i < BLOCKS; i++) {
		SUNMemory mem = NULL;

		SUNMemoryHelper_Alloc(helper, &mem, 1, SUNMEMTYPE_HOST, NULL);
		SUNMemoryHelper_Dealloc(helper, mem, NULL);
	}
	return NULL;
}

static void test_no_count_is_lost(void)
{
	unsigned long allocated = 0, freed = 0;
	size_t bytes = 99, high = 0;
	pthread_t other;

	begin_with(1);
	pthread_create(&other, NULL, counts, NULL);
	counts(NULL);
	pthread_join(other, NULL);
	gives(SUNMemoryHelper_GetAllocStats(helper, SUNMEMTYPE_HOST, &allocated, &freed, &bytes,
					    &high), SUN_SUCCESS);
	ok(allocated == 2 * BLOCKS && freed == 2 * BLOCKS && !bytes && (high == 1 || high == 2));
	end();
}

int main(void)
{
	RUN(test_two_threads_and_one_that_looks);
	RUN(test_no_count_is_lost);
	return tap_end();
}
