// SPDX-License-Identifier: MIT
/* Put, get and accumulate in windows of device memory. */
#include "test.h"

#include <stdlib.h>

static int next_rank(void)
{
	return (rank + 1) % ranks;
}

static int rank_before(void)
{
	return (rank + ranks - 1) % ranks;
}

static void put_and_get(void)
{
	size_t size;

	for (int i = 0; (size = size_number(i)); i++) {
		void *memory = device_memory(size), *buffer = device_memory(size);
		MPI_Win window;

		fill(memory, size, ~0u);
		fill(buffer, size, seed_of(rank, next_rank(), i));
		MPI_Win_create(memory, (MPI_Aint)size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
		MPI_Win_fence(0, window);
		MPI_Put(buffer, (int)size, MPI_BYTE, next_rank(), 0, (int)size, MPI_BYTE, window);
		MPI_Win_fence(0, window);
		compare(memory, size, seed_of(rank_before(), rank, i));
		fill(buffer, size, ~0u);
		MPI_Win_fence(0, window);
		MPI_Get(buffer, (int)size, MPI_BYTE, next_rank(), 0, (int)size, MPI_BYTE, window);
		MPI_Win_fence(0, window);
		compare(buffer, size, seed_of(rank, next_rank(), i));
		MPI_Win_free(&window);
		device_free(memory, size);
		device_free(buffer, size);
	}
}

static void accumulate(void)
{
	size_t count = most / sizeof(int32_t) > 5000 ? 5000 : most / sizeof(int32_t), size = count * sizeof(int32_t);
	int32_t *memory = device_memory(size), *buffer = device_memory(size), *values = host_memory(size);
	MPI_Win window;

	for (size_t i = 0; i < count; i++)
		values[i] = rank + (int32_t)i;
	put(buffer, values, size);
	for (size_t i = 0; i < count; i++)
		values[i] = 1000 * (int32_t)i;
	put(memory, values, size);
	MPI_Win_create(memory, (MPI_Aint)size, sizeof(int32_t), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
	MPI_Win_fence(0, window);
	MPI_Accumulate(buffer, (int)count, MPI_INT32_T, 0, 0, (int)count, MPI_INT32_T, MPI_SUM, window);
	MPI_Win_fence(0, window);
	for (size_t i = 0; i < count && !rank; i++)
		values[i] += ranks * (ranks - 1) / 2 + ranks * (int32_t)i;
	compare_with(memory, values, size);
	MPI_Win_free(&window);
	device_free(memory, size);
	device_free(buffer, size);
	free(values);
}

static void locked(void)
{
	size_t size = most > 2000 ? 2000 : most;
	void *memory = device_memory(size), *buffer = device_memory(size);
	MPI_Win window;

	fill(buffer, size, seed_of(rank, next_rank(), 3));
	MPI_Win_create(memory, (MPI_Aint)size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next_rank(), 0, window);
	MPI_Put(buffer, (int)size, MPI_BYTE, next_rank(), 0, (int)size, MPI_BYTE, window);
	MPI_Win_unlock(next_rank(), window);
	MPI_Barrier(MPI_COMM_WORLD);
	compare(memory, size, seed_of(rank_before(), rank, 3));
	MPI_Win_free(&window);
	device_free(memory, size);
	device_free(buffer, size);
}

const struct check one_sided[] = {
	{ "put and get between fences", put_and_get },
	{ "accumulate", accumulate },
	{ "put under a lock", locked },
	{ 0 },
};
