// SPDX-License-Identifier: MIT
/* Messages between two ranks at a time: each rank sends to the next one, and receives from the one before. */
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

/* Even ranks send first: with one of an odd number of ranks that would deadlock, so rank 0 does. */
static void exchange(const void *out, void *in, size_t size, int tag)
{
	if (!rank)
		MPI_Send(out, (int)size, MPI_BYTE, next_rank(), tag, MPI_COMM_WORLD);
	MPI_Recv(in, (int)size, MPI_BYTE, rank_before(), tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (rank)
		MPI_Send(out, (int)size, MPI_BYTE, next_rank(), tag, MPI_COMM_WORLD);
}

static void device_to_device(void)
{
	size_t size;

	for (int i = 0; (size = size_number(i)); i++) {
		void *out = device_memory(size), *in = device_memory(size);

		fill(out, size, seed_of(rank, next_rank(), i));
		fill(in, size, ~0u);
		exchange(out, in, size, i);
		compare(in, size, seed_of(rank_before(), rank, i));
		compare(out, size, seed_of(rank, next_rank(), i));
		device_free(out, size);
		device_free(in, size);
	}
}

static void host_and_device(void)
{
	size_t size;

	for (int i = 0; (size = size_number(i)); i++) {
		void *there = device_memory(size), *host = host_memory(size);

		fill(host, size, seed_of(rank, next_rank(), i));
		exchange(host, there, size, i);
		compare(there, size, seed_of(rank_before(), rank, i));
		memset(host, 0, size);
		exchange(there, host, size, i);
		compare(host, size, seed_of((rank + 2 * ranks - 2) % ranks, rank_before(), i));
		device_free(there, size);
		free(host);
	}
}

/* On the same machine, where they have it by their number. */
static int ranks_of_device(void)
{
	MPI_Comm machine, same;
	int found;

	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &machine);
	MPI_Comm_split(machine, rank % accel_device_count(), rank, &same);
	MPI_Comm_size(same, &found);
	MPI_Comm_free(&same);
	MPI_Comm_free(&machine);
	return found;
}

/* What the driver has counted for all ranks of the device between two barriers. */
static struct accel_memory_stats counted(void (*function)(void *data), void *data)
{
	struct accel_memory_stats before, after;

	MPI_Barrier(MPI_COMM_WORLD);
	ok(!accel_memory_stats_full(device, &before));
	MPI_Barrier(MPI_COMM_WORLD);
	function(data);
	MPI_Barrier(MPI_COMM_WORLD);
	ok(!accel_memory_stats_full(device, &after));
	MPI_Barrier(MPI_COMM_WORLD);
	after.bytes_d2h -= before.bytes_d2h;
	after.bytes_h2d -= before.bytes_h2d;
	after.bytes_d2d -= before.bytes_d2d;
	after.transfers -= before.transfers;
	return after;
}

struct message {
	void *out, *in;
	size_t size;
	int number;
};

static void message_exchange(void *data)
{
	const struct message *message = data;

	exchange(message->out, message->in, message->size, message->number);
}

/* One copy at each end, and no byte more. */
static void two_copies(void)
{
	size_t size = most > 4000 ? 4000 : most, all = size * (size_t)ranks_of_device();
	struct message message = { device_memory(size), device_memory(size), size, 11 };
	struct accel_memory_stats grown;

	fill(message.out, size, seed_of(rank, next_rank(), 11));
	grown = counted(message_exchange, &message);
	ok(grown.bytes_d2h == all);
	ok(grown.bytes_h2d == all);
	ok(grown.bytes_d2d == 0);
	compare(message.in, size, seed_of(rank_before(), rank, 11));
	device_free(message.out, size);
	device_free(message.in, size);
}

/* The copies of a message, in pieces of half a MiB, by the program. */
static void copy_in_pieces(void *data)
{
	enum { PIECE = 512 << 10 };
	const struct message *message = data;
	char *host = host_memory(PIECE);

	for (size_t at = 0; at < message->size; at += PIECE) {
		size_t size = message->size - at < PIECE ? message->size - at : PIECE;

		ok(!accel_memory_copy_d2h(device, host, (char *)message->out + at, size));
		ok(!accel_memory_copy_h2d(device, (char *)message->in + at, host, size));
	}
	free(host);
}

/* Each fragment is a transfer of the device. Open MPI's own size is 32 KiB in shared memory. */
static void few_fragments(void)
{
	size_t size = most > 4 << 20 ? 4 << 20 : most;
	struct message message = { device_memory(size), device_memory(size), size, 12 };
	struct accel_memory_stats pieces, fragments;

	fill(message.out, size, seed_of(rank, next_rank(), 12));
	pieces = counted(copy_in_pieces, &message);
	fragments = counted(message_exchange, &message);
	compare(message.in, size, seed_of(rank_before(), rank, 12));
	/* The first fragment of a message is a small one. */
	if (fragments.transfers > pieces.transfers + 2 * (uint64_t)ranks_of_device())
		fail("%llu transfers, and in pieces of half a MiB %llu", (unsigned long long)fragments.transfers,
		     (unsigned long long)pieces.transfers);
	device_free(message.out, size);
	device_free(message.in, size);
}

/* Many at once, in another order than they are received in. */
static void non_blocking(void)
{
	enum { MESSAGES = 16 };
	MPI_Request requests[2 * MESSAGES];
	size_t size = most / MESSAGES > 20000 ? 20000 : most / MESSAGES;
	char *out = device_memory(size * MESSAGES), *in = device_memory(size * MESSAGES);

	for (int i = 0; i < MESSAGES; i++) {
		fill(out + (size_t)i * size, size, seed_of(rank, next_rank(), i));
		MPI_Irecv(in + (size_t)i * size, (int)size, MPI_BYTE, rank_before(), i, MPI_COMM_WORLD,
			  &requests[i]);
	}
	for (int i = MESSAGES - 1; i >= 0; i--)
		MPI_Isend(out + (size_t)i * size, (int)size, MPI_BYTE, next_rank(), i, MPI_COMM_WORLD,
			  &requests[MESSAGES + i]);
	MPI_Waitall(2 * MESSAGES, requests, MPI_STATUSES_IGNORE);
	for (int i = 0; i < MESSAGES; i++)
		compare(in + (size_t)i * size, size, seed_of(rank_before(), rank, i));
	device_free(out, size * MESSAGES);
	device_free(in, size * MESSAGES);
}

/* A message that arrives before anybody receives it is kept by MPI. */
static void unexpected(void)
{
	size_t size = most > 3000 ? 3000 : most;
	void *out = device_memory(size), *in = device_memory(size);
	MPI_Request request;
	MPI_Status status;
	int count;

	fill(out, size, seed_of(rank, next_rank(), 1));
	MPI_Isend(out, (int)size, MPI_BYTE, next_rank(), 1, MPI_COMM_WORLD, &request);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Probe(rank_before(), MPI_ANY_TAG, MPI_COMM_WORLD, &status);
	MPI_Get_count(&status, MPI_BYTE, &count);
	ok(count == (int)size);
	MPI_Recv(in, count, MPI_BYTE, rank_before(), 1, MPI_COMM_WORLD, &status);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	compare(in, size, seed_of(rank_before(), rank, 1));
	device_free(out, size);
	device_free(in, size);
}

static void synchronous_and_replace(void)
{
	size_t size = most > 70000 ? 70000 : most;
	void *buffer = device_memory(size), *in = device_memory(size);
	MPI_Request request;

	fill(buffer, size, seed_of(rank, next_rank(), 2));
	MPI_Irecv(in, (int)size, MPI_BYTE, rank_before(), 2, MPI_COMM_WORLD, &request);
	MPI_Ssend(buffer, (int)size, MPI_BYTE, next_rank(), 2, MPI_COMM_WORLD);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	compare(in, size, seed_of(rank_before(), rank, 2));
	MPI_Sendrecv(buffer, (int)size, MPI_BYTE, next_rank(), 3, in, (int)size, MPI_BYTE, rank_before(), 3,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	compare(in, size, seed_of(rank_before(), rank, 2));
	MPI_Sendrecv_replace(buffer, (int)size, MPI_BYTE, next_rank(), 4, rank_before(), 4, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
	compare(buffer, size, seed_of(rank_before(), rank, 2));
	device_free(buffer, size);
	device_free(in, size);
}

static void persistent(void)
{
	size_t size = most > 5000 ? 5000 : most;
	void *out = device_memory(size), *in = device_memory(size);
	MPI_Request requests[2];

	MPI_Send_init(out, (int)size, MPI_BYTE, next_rank(), 5, MPI_COMM_WORLD, &requests[0]);
	MPI_Recv_init(in, (int)size, MPI_BYTE, rank_before(), 5, MPI_COMM_WORLD, &requests[1]);
	for (int i = 0; i < 5; i++) {
		fill(out, size, seed_of(rank, next_rank(), i));
		MPI_Startall(2, requests);
		MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
		compare(in, size, seed_of(rank_before(), rank, i));
	}
	MPI_Request_free(&requests[0]);
	MPI_Request_free(&requests[1]);
	device_free(out, size);
	device_free(in, size);
}

/*
 * Every third int out, into every second: what lies between stays as it was. Each int is a copy of its own, so there
 * are not many of them.
 */
static void strided(void)
{
	size_t limit = most / sizeof(int32_t) / 3;
	int count = limit > 400 ? 400 : (int)limit;
	size_t size = (size_t)count * 3 * sizeof(int32_t);
	int32_t *out = device_memory(size), *in = device_memory(size), *wanted = host_memory(size),
		*values = host_memory(size);
	MPI_Datatype third, second;

	MPI_Type_vector(count, 1, 3, MPI_INT32_T, &third);
	MPI_Type_vector(count, 1, 2, MPI_INT32_T, &second);
	MPI_Type_commit(&third);
	MPI_Type_commit(&second);
	for (int i = 0; i < 3 * count; i++) {
		values[i] = rank * 1000003 + i;
		wanted[i] = -i - 1;
	}
	put(out, values, size);
	put(in, wanted, size);
	for (int i = 0; i < count; i++)
		wanted[2 * i] = rank_before() * 1000003 + 3 * i;
	MPI_Sendrecv(out, 1, third, next_rank(), 6, in, 1, second, rank_before(), 6, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	compare_with(in, wanted, size);
	compare_with(out, values, size);
	MPI_Type_free(&third);
	MPI_Type_free(&second);
	device_free(out, size);
	device_free(in, size);
	free(wanted);
	free(values);
}

struct record {
	int32_t number;
	char gap[4];
	double value;
	char tail;
};

static MPI_Datatype record_type(void)
{
	int lengths[] = { 1, 1, 1 };
	MPI_Aint at[] = { offsetof(struct record, number), offsetof(struct record, value),
			  offsetof(struct record, tail) };
	MPI_Datatype types[] = { MPI_INT32_T, MPI_DOUBLE, MPI_CHAR }, packed, whole;

	MPI_Type_create_struct(3, lengths, at, types, &packed);
	MPI_Type_create_resized(packed, 0, sizeof(struct record), &whole);
	MPI_Type_commit(&whole);
	MPI_Type_free(&packed);
	return whole;
}

static void structures(void)
{
	size_t limit = most / sizeof(struct record);
	int count = limit > 100 ? 100 : (int)limit;
	size_t size = (size_t)count * sizeof(struct record);
	struct record *out = device_memory(size), *in = device_memory(size), *values = host_memory(size),
		      *wanted = host_memory(size);
	MPI_Datatype type = record_type();

	memset(values, 0x11, size);
	memset(wanted, 0x22, size);
	put(in, wanted, size);
	for (int i = 0; i < count; i++) {
		values[i].number = rank * 1000 + i;
		values[i].value = rank + i / 8.0;
		values[i].tail = (char)(rank + i);
		wanted[i].number = rank_before() * 1000 + i;
		wanted[i].value = rank_before() + i / 8.0;
		wanted[i].tail = (char)(rank_before() + i);
	}
	put(out, values, size);
	MPI_Sendrecv(out, count, type, next_rank(), 7, in, count, type, rank_before(), 7, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	compare_with(in, wanted, size);
	MPI_Type_free(&type);
	device_free(out, size);
	device_free(in, size);
	free(values);
	free(wanted);
}

static void packed(void)
{
	size_t size = most > 999 ? 999 : most;
	void *out = device_memory(size), *in = device_memory(size), *host = host_memory(size + 64);
	int at = 0, bytes;

	fill(out, size, seed_of(rank, rank, 8));
	MPI_Pack_size((int)size, MPI_BYTE, MPI_COMM_WORLD, &bytes);
	ok(bytes <= (int)size + 64);
	MPI_Pack(out, (int)size, MPI_BYTE, host, (int)size + 64, &at, MPI_COMM_WORLD);
	at = 0;
	MPI_Unpack(host, (int)size + 64, &at, in, (int)size, MPI_BYTE, MPI_COMM_WORLD);
	compare(in, size, seed_of(rank, rank, 8));
	device_free(out, size);
	device_free(in, size);
	free(host);
}

/* In Open MPI 5.0.7 the transport to itself calls memcpy(), without a parameter, see lib/mpi/limits.c. */
static void to_itself(void)
{
	size_t size;

	for (int i = 0; (size = size_number(i)); i++) {
		void *one = device_memory(size), *other = device_memory(size), *host = host_memory(size);

		fill(one, size, seed_of(rank, rank, i));
		MPI_Sendrecv(one, (int)size, MPI_BYTE, 0, 9, other, (int)size, MPI_BYTE, 0, 9, MPI_COMM_SELF,
			     MPI_STATUS_IGNORE);
		compare(other, size, seed_of(rank, rank, i));
		MPI_Sendrecv(one, (int)size, MPI_BYTE, 0, 9, host, (int)size, MPI_BYTE, 0, 9, MPI_COMM_SELF,
			     MPI_STATUS_IGNORE);
		compare(host, size, seed_of(rank, rank, i));
		fill(host, size, seed_of(rank, rank, i + 100));
		MPI_Sendrecv(host, (int)size, MPI_BYTE, 0, 9, one, (int)size, MPI_BYTE, 0, 9, MPI_COMM_SELF,
			     MPI_STATUS_IGNORE);
		compare(one, size, seed_of(rank, rank, i + 100));
		device_free(one, size);
		device_free(other, size);
		free(host);
	}
}

const struct check point_to_point[] = {
	{ "send and receive, device to device", device_to_device },
	{ "send and receive, host and device", host_and_device },
	{ "a small message is one copy from the device and one to the device", two_copies },
	{ "a large message is copied in large pieces", few_fragments },
	{ "non-blocking messages in any order", non_blocking },
	{ "a message that arrives before it is received", unexpected },
	{ "synchronous sends, and sendrecv", synchronous_and_replace },
	{ "persistent requests", persistent },
	{ "vector types with strides", strided },
	{ "structures with gaps", structures },
	{ "pack and unpack", packed },
	{ "messages to itself", to_itself },
	{ 0 },
};
