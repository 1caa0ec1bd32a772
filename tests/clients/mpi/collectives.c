// SPDX-License-Identifier: MIT
/* Collective calls that move data. Each block of each rank has contents of its own. */
#include "test.h"

#include <stdlib.h>

/* Bytes of one block, where a rank has one for every rank: up to a size at which the algorithms change. */
static size_t block_size(int number)
{
	static const size_t sizes[] = { 3, 100, 5000, 70000 };
	size_t fits = most / (size_t)ranks;

	if (number == sizeof(sizes) / sizeof(sizes[0]) || (number && sizes[number] > fits))
		return 0;
	return sizes[number] > fits ? fits : sizes[number];
}

static void compare_blocks(const char *ptr, size_t size, int number)
{
	for (int from = 0; from < ranks; from++)
		compare(ptr + (size_t)from * size, size, seed_of(from, 0, number));
}

static void broadcast(void)
{
	size_t size;

	for (int i = 0; (size = size_number(i)); i++) {
		void *ptr = device_memory(size);
		int root = i % ranks;

		fill(ptr, size, rank == root ? seed_of(root, 0, i) : ~0u);
		MPI_Bcast(ptr, (int)size, MPI_BYTE, root, MPI_COMM_WORLD);
		compare(ptr, size, seed_of(root, 0, i));
		device_free(ptr, size);
	}
}

/* One rank has its memory on the host. */
static void broadcast_mixed(void)
{
	size_t size;

	for (int i = 0; (size = size_number(i)); i++) {
		bool on_host = rank == (i + 1) % ranks;
		void *ptr = on_host ? host_memory(size) : device_memory(size);

		fill(ptr, size, rank == 0 ? seed_of(0, 0, i) : ~0u);
		MPI_Bcast(ptr, (int)size, MPI_BYTE, 0, MPI_COMM_WORLD);
		compare(ptr, size, seed_of(0, 0, i));
		if (on_host)
			free(ptr);
		else
			device_free(ptr, size);
	}
}

static void gather_and_scatter(void)
{
	size_t size;

	for (int i = 0; (size = block_size(i)); i++) {
		size_t all = size * (size_t)ranks;
		char *mine = device_memory(size), *blocks = device_memory(all);
		int root = i % ranks;

		fill(mine, size, seed_of(rank, 0, i));
		MPI_Gather(mine, (int)size, MPI_BYTE, blocks, (int)size, MPI_BYTE, root, MPI_COMM_WORLD);
		if (rank == root)
			compare_blocks(blocks, size, i);
		fill(mine, size, ~0u);
		MPI_Scatter(blocks, (int)size, MPI_BYTE, mine, (int)size, MPI_BYTE, root, MPI_COMM_WORLD);
		compare(mine, size, seed_of(rank, 0, i));
		device_free(mine, size);
		device_free(blocks, all);
	}
}

static void all_gather(void)
{
	size_t size;

	for (int i = 0; (size = block_size(i)); i++) {
		size_t all = size * (size_t)ranks;
		char *mine = device_memory(size), *blocks = device_memory(all);

		fill(mine, size, seed_of(rank, 0, i));
		MPI_Allgather(mine, (int)size, MPI_BYTE, blocks, (int)size, MPI_BYTE, MPI_COMM_WORLD);
		compare_blocks(blocks, size, i);
		fill(blocks, all, ~0u);
		fill(blocks + (size_t)rank * size, size, seed_of(rank, 0, i + 50));
		MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, blocks, (int)size, MPI_BYTE, MPI_COMM_WORLD);
		compare_blocks(blocks, size, i + 50);
		device_free(mine, size);
		device_free(blocks, all);
	}
}

static void gather_v(void)
{
	size_t unit = most / (size_t)(ranks * (ranks + 1)), size, all;
	int *counts = host_memory((size_t)ranks * sizeof(int)), *at = host_memory((size_t)ranks * sizeof(int));
	char *mine, *blocks;

	unit = unit > 777 ? 777 : unit;
	size = unit * (size_t)(rank + 1);
	all = unit * (size_t)(ranks * (ranks + 1) / 2);
	for (int i = 0, sum = 0; i < ranks; sum += counts[i++]) {
		counts[i] = (int)unit * (i + 1);
		at[i] = sum;
	}
	mine = device_memory(size);
	blocks = device_memory(all);
	fill(mine, size, seed_of(rank, 0, 1));
	MPI_Allgatherv(mine, (int)size, MPI_BYTE, blocks, counts, at, MPI_BYTE, MPI_COMM_WORLD);
	for (int i = 0; i < ranks; i++)
		compare(blocks + at[i], (size_t)counts[i], seed_of(i, 0, 1));
	device_free(mine, size);
	device_free(blocks, all);
	free(counts);
	free(at);
}

static void fill_for_all(char *ptr, size_t size, int number)
{
	for (int to = 0; to < ranks; to++)
		fill(ptr + (size_t)to * size, size, seed_of(rank, to, number));
}

static void compare_from_all(const char *ptr, size_t size, int number)
{
	for (int from = 0; from < ranks; from++)
		compare(ptr + (size_t)from * size, size, seed_of(from, rank, number));
}

static void all_to_all(void)
{
	size_t size;

	for (int i = 0; (size = block_size(i)); i++) {
		size_t all = size * (size_t)ranks;
		char *out = device_memory(all), *in = device_memory(all);
		MPI_Request request;

		fill_for_all(out, size, i);
		MPI_Alltoall(out, (int)size, MPI_BYTE, in, (int)size, MPI_BYTE, MPI_COMM_WORLD);
		compare_from_all(in, size, i);
		fill_for_all(out, size, i + 50);
		MPI_Ialltoall(out, (int)size, MPI_BYTE, in, (int)size, MPI_BYTE, MPI_COMM_WORLD, &request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		compare_from_all(in, size, i + 50);
		fill_for_all(in, size, i + 100);
		MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, (int)size, MPI_BYTE, MPI_COMM_WORLD);
		compare_from_all(in, size, i + 100);
		device_free(out, all);
		device_free(in, all);
	}
}

static void non_blocking(void)
{
	size_t size = block_size(1) ?: block_size(0), all;
	char *ptr, *mine, *blocks;
	MPI_Request requests[2];

	all = size * (size_t)ranks;
	ptr = device_memory(size);
	mine = device_memory(size);
	blocks = device_memory(all);
	fill(ptr, size, rank ? ~0u : seed_of(0, 0, 7));
	fill(mine, size, seed_of(rank, 0, 8));
	MPI_Ibcast(ptr, (int)size, MPI_BYTE, 0, MPI_COMM_WORLD, &requests[0]);
	MPI_Iallgather(mine, (int)size, MPI_BYTE, blocks, (int)size, MPI_BYTE, MPI_COMM_WORLD, &requests[1]);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	compare(ptr, size, seed_of(0, 0, 7));
	compare_blocks(blocks, size, 8);
	device_free(ptr, size);
	device_free(mine, size);
	device_free(blocks, all);
}

const struct check collectives[] = {
	{ "bcast", broadcast },
	{ "bcast from device memory to host and device memory", broadcast_mixed },
	{ "gather and scatter", gather_and_scatter },
	{ "allgather", all_gather },
	{ "allgatherv", gather_v },
	{ "alltoall", all_to_all },
	{ "ibcast and iallgather", non_blocking },
	{ 0 },
};
