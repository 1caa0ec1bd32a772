// SPDX-License-Identifier: MIT
/*
 * Put, get and accumulate: device memory is origin and result, and the windows are host memory. Open MPI 5.0 has no
 * windows of device memory over sm and tcp, and refuses them.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

static int next_rank(void)
{
	return (rank + 1) % ranks;
}

static int rank_before(void)
{
	return (rank + ranks - 1) % ranks;
}

static void refused(void)
{
	size_t size = most > 1000 ? 1000 : most;
	void *memory = device_memory(size);
	MPI_Win window = MPI_WIN_NULL;
	int err, class;

	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	err = MPI_Win_create(memory, (MPI_Aint)size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
	MPI_Error_class(err, &class);
	ok(class == MPI_ERR_WIN);
	ok(window == MPI_WIN_NULL);
	device_free(memory, size);
}

static void put_and_get(void)
{
	size_t size;

	for (int i = 0; (size = size_number(i)); i++) {
		void *memory, *buffer = device_memory(size);
		MPI_Win window;

		fill(buffer, size, seed_of(rank, next_rank(), i));
		MPI_Win_allocate((MPI_Aint)size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
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
		device_free(buffer, size);
	}
}

static void created(void)
{
	size_t size;

	for (int i = 0; (size = size_number(i)); i++) {
		void *memory = host_memory(size), *buffer = device_memory(size);
		MPI_Win window;

		fill(buffer, size, seed_of(rank, next_rank(), i));
		MPI_Win_create(memory, (MPI_Aint)size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next_rank(), 0, window);
		MPI_Put(buffer, (int)size, MPI_BYTE, next_rank(), 0, (int)size, MPI_BYTE, window);
		MPI_Win_unlock(next_rank(), window);
		MPI_Barrier(MPI_COMM_WORLD);
		compare(memory, size, seed_of(rank_before(), rank, i));
		fill(buffer, size, ~0u);
		MPI_Win_lock(MPI_LOCK_SHARED, next_rank(), 0, window);
		MPI_Get(buffer, (int)size, MPI_BYTE, next_rank(), 0, (int)size, MPI_BYTE, window);
		MPI_Win_unlock(next_rank(), window);
		compare(buffer, size, seed_of(rank, next_rank(), i));
		MPI_Win_free(&window);
		device_free(buffer, size);
		free(memory);
	}
}

static void accumulate(void)
{
	size_t count = most / sizeof(int32_t) > 5000 ? 5000 : most / sizeof(int32_t), size = count * sizeof(int32_t);
	int32_t *memory, *buffer = device_memory(size), *values = host_memory(size);
	MPI_Win window;

	for (size_t i = 0; i < count; i++)
		values[i] = rank + (int32_t)i;
	put(buffer, values, size);
	for (size_t i = 0; i < count; i++)
		values[i] = 1000 * (int32_t)i;
	MPI_Win_allocate((MPI_Aint)size, sizeof(int32_t), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
	put(memory, values, size);
	MPI_Win_fence(0, window);
	MPI_Accumulate(buffer, (int)count, MPI_INT32_T, 0, 0, (int)count, MPI_INT32_T, MPI_SUM, window);
	MPI_Win_fence(0, window);
	for (size_t i = 0; i < count && !rank; i++)
		values[i] += ranks * (ranks - 1) / 2 + ranks * (int32_t)i;
	compare_with(memory, values, size);
	MPI_Win_free(&window);
	device_free(buffer, size);
	free(values);
}

const struct check one_sided[] = {
	{ "a window of device memory is refused", refused },
	{ "put and get in allocated windows", put_and_get },
	{ "accumulate in an allocated window", accumulate },
	{ 0 },
};

/* Of Open MPI 5.0: these end the process, with a line that says why. */
const struct check limits[] = {
	{ "limit: put and get in created windows, under locks", created },
	{ 0 },
};
