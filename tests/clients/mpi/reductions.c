// SPDX-License-Identifier: MIT
/*
 * Reductions. All values are whole numbers that each type holds exactly, so the order of additions does not matter,
 * and the results are compared with those of this file.
 */
#include "test.h"

#include <stdlib.h>
#include <string.h>

enum { TYPES = 7 };

static const struct type {
	const char *name;
	size_t size;
} types[TYPES] = { { "int8", 1 },   { "uint16", 2 }, { "int32", 4 },  { "uint64", 8 },
		   { "float", 4 }, { "double", 8 }, { "int64", 8 } };

static MPI_Datatype type_number(int type)
{
	const MPI_Datatype of[TYPES] = { MPI_INT8_T, MPI_UINT16_T, MPI_INT32_T, MPI_UINT64_T,
					 MPI_FLOAT,  MPI_DOUBLE,   MPI_INT64_T };

	return of[type];
}

static void store(void *ptr, int type, size_t at, long value)
{
	switch (type) {
	case 0: ((int8_t *)ptr)[at] = (int8_t)value; break;
	case 1: ((uint16_t *)ptr)[at] = (uint16_t)value; break;
	case 2: ((int32_t *)ptr)[at] = (int32_t)value; break;
	case 3: ((uint64_t *)ptr)[at] = (uint64_t)value; break;
	case 4: ((float *)ptr)[at] = (float)value; break;
	case 5: ((double *)ptr)[at] = (double)value; break;
	case 6: ((int64_t *)ptr)[at] = value; break;
	}
}

/* Small enough that the product of 8 ranks' values fits an int8: at most one of them is not 1. */
static long value_of(int from, size_t at, int number)
{
	if ((int)(at % (size_t)ranks) == from)
		return 1 + (long)((at + (size_t)number + (size_t)from) % 7);
	return 1;
}

static long sum_of(long a, long b) { return a + b; }
static long product_of(long a, long b) { return a * b; }
static long larger_of(long a, long b) { return a > b ? a : b; }
static long smaller_of(long a, long b) { return a < b ? a : b; }
static long bits_of(long a, long b) { return a | b; }

typedef long operation(long, long);

struct operator {
	MPI_Op op;
	operation *compute;
	bool for_integers;
};

/* Of ranks first to last. */
static void *result_of(operation *compute, int type, size_t count, int number, int last)
{
	void *values = host_memory(count * types[type].size);

	for (size_t at = 0; at < count; at++) {
		long value = value_of(0, at, number);

		for (int from = 1; from <= last; from++)
			value = compute(value, value_of(from, at, number));
		store(values, type, at, value);
	}
	return values;
}

static void fill_values(void *ptr, int type, size_t count, int number)
{
	void *values = host_memory(count * types[type].size);

	for (size_t at = 0; at < count; at++)
		store(values, type, at, value_of(rank, at, number));
	put(ptr, values, count * types[type].size);
	free(values);
}

static void compare_result(const void *ptr, operation *compute, int type, size_t count, int number, int last)
{
	void *wanted = result_of(compute, type, count, number, last);

	compare_with(ptr, wanted, count * types[type].size);
	free(wanted);
}

static size_t at_most(size_t count, size_t size)
{
	return count * size > most ? most / size : count;
}

/* The most elements that there is room for: more than what is staged at a time. */
static size_t many(int type)
{
	return at_most(100003, types[type].size);
}

static void all_operators(void)
{
	const struct operator operators[] = { { MPI_SUM, sum_of, false },	 { MPI_PROD, product_of, false },
					      { MPI_MAX, larger_of, false }, { MPI_MIN, smaller_of, false },
					      { MPI_BOR, bits_of, true } };
	int number = 0;

	for (int type = 0; type < TYPES; type++) {
		size_t count = at_most(500, types[type].size), size = count * types[type].size;
		void *in = device_memory(size), *out = device_memory(size);

		for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++, number++) {
			if (operators[i].for_integers && (type == 4 || type == 5))
				continue;
			fill_values(in, type, count, number);
			MPI_Allreduce(in, out, (int)count, type_number(type), operators[i].op, MPI_COMM_WORLD);
			compare_result(out, operators[i].compute, type, count, number, ranks - 1);
		}
		device_free(in, size);
		device_free(out, size);
	}
}

static void all_reduce(void)
{
	for (int type = 4; type < 6; type++) {
		size_t count = many(type), size = count * types[type].size;
		void *in = device_memory(size), *out = device_memory(size);

		fill_values(in, type, count, type);
		MPI_Allreduce(in, out, (int)count, type_number(type), MPI_SUM, MPI_COMM_WORLD);
		compare_result(out, sum_of, type, count, type, ranks - 1);
		fill_values(out, type, count, type + 10);
		MPI_Allreduce(MPI_IN_PLACE, out, (int)count, type_number(type), MPI_SUM, MPI_COMM_WORLD);
		compare_result(out, sum_of, type, count, type + 10, ranks - 1);
		device_free(in, size);
		device_free(out, size);
	}
}

/* An operand on the host and one on the device, both ways. */
static void mixed(void)
{
	size_t count = many(2), size = count * sizeof(int32_t);
	void *there = device_memory(size), *host = host_memory(size);

	fill_values(there, 2, count, 3);
	MPI_Allreduce(there, host, (int)count, MPI_INT32_T, MPI_SUM, MPI_COMM_WORLD);
	compare_result(host, sum_of, 2, count, 3, ranks - 1);
	fill_values(host, 2, count, 4);
	MPI_Allreduce(host, there, (int)count, MPI_INT32_T, MPI_SUM, MPI_COMM_WORLD);
	compare_result(there, sum_of, 2, count, 4, ranks - 1);
	device_free(there, size);
	free(host);
}

static void reduce(void)
{
	size_t count = many(5), size = count * sizeof(double);
	void *in = device_memory(size), *out = device_memory(size);

	for (int root = 0; root < ranks; root += ranks > 2 ? ranks - 1 : 1) {
		fill_values(in, 5, count, root);
		MPI_Reduce(in, out, (int)count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
		if (rank == root)
			compare_result(out, sum_of, 5, count, root, ranks - 1);
	}
	device_free(in, size);
	device_free(out, size);
}

static void scan(void)
{
	size_t count = at_most(5000, sizeof(int64_t)), size = count * sizeof(int64_t);
	void *in = device_memory(size), *out = device_memory(size);

	fill_values(in, 6, count, 5);
	MPI_Scan(in, out, (int)count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
	compare_result(out, sum_of, 6, count, 5, rank);
	MPI_Exscan(in, out, (int)count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
	if (rank)
		compare_result(out, sum_of, 6, count, 5, rank - 1);
	device_free(in, size);
	device_free(out, size);
}

static void reduce_scatter(void)
{
	size_t block = at_most(1000, sizeof(float) * (size_t)ranks * 2) ?: 1, count = block * (size_t)ranks,
	       size = count * sizeof(float);
	void *in = device_memory(size), *out = device_memory(block * sizeof(float));
	float *wanted = result_of(sum_of, 4, count, 6, ranks - 1);

	fill_values(in, 4, count, 6);
	MPI_Reduce_scatter_block(in, out, (int)block, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
	compare_with(out, wanted + (size_t)rank * block, block * sizeof(float));
	device_free(in, size);
	device_free(out, block * sizeof(float));
	free(wanted);
}

static void non_blocking(void)
{
	size_t count = at_most(30000, 2 * sizeof(float)), size = count * sizeof(float);
	void *in = device_memory(size), *out = device_memory(size), *largest = device_memory(size);
	MPI_Request requests[2];

	fill_values(in, 4, count, 7);
	MPI_Iallreduce(in, out, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
	MPI_Iallreduce(in, largest, (int)count, MPI_FLOAT, MPI_MAX, MPI_COMM_WORLD, &requests[1]);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	compare_result(out, sum_of, 4, count, 7, ranks - 1);
	compare_result(largest, larger_of, 4, count, 7, ranks - 1);
	device_free(in, size);
	device_free(out, size);
	device_free(largest, size);
}

static void persistent(void)
{
	size_t count = at_most(1000, sizeof(double)), size = count * sizeof(double);
	void *in = device_memory(size), *out = device_memory(size);
	MPI_Request request;

	MPI_Allreduce_init(in, out, (int)count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
	for (int i = 0; i < 3; i++) {
		fill_values(in, 5, count, i);
		MPI_Start(&request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		compare_result(out, sum_of, 5, count, i, ranks - 1);
	}
	MPI_Request_free(&request);
	device_free(in, size);
	device_free(out, size);
}

/* Pairs of a value and the rank that has it. */
static void location(void)
{
	struct pair {
		int32_t value, rank;
	};
	size_t count = at_most(300, sizeof(struct pair)), size = count * sizeof(struct pair);
	struct pair *in = device_memory(size), *out = device_memory(size), *values = host_memory(size);

	for (size_t at = 0; at < count; at++)
		values[at] = (struct pair){ (int32_t)value_of(rank, at, 2) * 10 - rank, rank };
	put(in, values, size);
	MPI_Allreduce(in, out, (int)count, MPI_2INT, MPI_MAXLOC, MPI_COMM_WORLD);
	for (size_t at = 0; at < count; at++) {
		values[at] = (struct pair){ -1000, 0 };
		for (int from = 0; from < ranks; from++)
			if (value_of(from, at, 2) * 10 - from > values[at].value)
				values[at] = (struct pair){ (int32_t)value_of(from, at, 2) * 10 - from, from };
	}
	compare_with(out, values, size);
	device_free(in, size);
	device_free(out, size);
	free(values);
}

static void in_place_on_host(void)
{
	int32_t value = rank + 1;

	MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT32_T, MPI_SUM, MPI_COMM_WORLD);
	ok(value == ranks * (ranks + 1) / 2);
}

const struct check reductions[] = {
	{ "allreduce with 5 operators and 7 types", all_operators },
	{ "allreduce of many elements, and in place", all_reduce },
	{ "allreduce of host and device memory", mixed },
	{ "allreduce of host memory", in_place_on_host },
	{ "reduce", reduce },
	{ "scan and exscan", scan },
	{ "reduce_scatter_block", reduce_scatter },
	{ "iallreduce, two at once", non_blocking },
	{ "persistent allreduce", persistent },
	{ "allreduce of locations", location },
	{ 0 },
};
