/* SPDX-License-Identifier: MIT */
/* Collectives: two ranks are two threads, each with a device of the mock, over the engine of gloo. */
#include "paddle.h"

#include <sys/resource.h>

#define COUNT 64
#define BYTES (COUNT * sizeof(int32_t))

static struct collective_interface *const xccl =
	(struct collective_interface *)((char *)&table + 640);

struct rank {
	struct place *device;
	int number;
	struct unique_id *id;
	struct comm *comm;
	stream_t stream;
	int32_t *at[3]; /* on the device */
	int32_t bytes[2 * COUNT];
	void (*run)(struct rank *rank);
};

static int32_t value(int message, int rank, int i)
{
	return message * 10007 + rank * 1009 + i * 13;
}

static void put(struct rank *rank, int buffer, int message, int count)
{
	for (int i = 0; i < count; i++)
		rank->bytes[i] = value(message, rank->number, i);
	gives(paddle->memory_copy_h2d(rank->device, rank->at[buffer], rank->bytes,
				      (size_t)count * sizeof(int32_t)),
	      STATUS_SUCCESS);
}

static void get(struct rank *rank, int buffer, int count)
{
	memset(rank->bytes, 0xa5, sizeof(rank->bytes));
	gives(paddle->synchronize_stream(rank->device, rank->stream), STATUS_SUCCESS);
	gives(paddle->memory_copy_d2h(rank->device, rank->bytes, rank->at[buffer],
				      (size_t)count * sizeof(int32_t)),
	      STATUS_SUCCESS);
}

/* Whether the first values are those of a rank. */
static int is_of(const struct rank *rank, int message, int of, int from, int count)
{
	for (int i = 0; i < count; i++)
		if (rank->bytes[i] != value(message, of, from + i))
			return 0;
	return 1;
}

static int is_sum(const struct rank *rank, int message, int from, int count)
{
	for (int i = 0; i < count; i++)
		if (rank->bytes[i] != value(message, 0, from + i) + value(message, 1, from + i))
			return 0;
	return 1;
}

static pthread_barrier_t both_ready;

static void *rank_thread(void *data)
{
	struct rank *rank = data;

	gives(paddle->set_device(rank->device), STATUS_SUCCESS);
	gives(xccl->comm_init_rank(2, rank->id, (size_t)rank->number, &rank->comm), STATUS_SUCCESS);
	/* A rank that closes its connections fails the other one, if that still connects. */
	pthread_barrier_wait(&both_ready);
	if (!rank->comm)
		return NULL;
	rank->stream = stream_of(rank->device);
	for (int i = 0; i < 3; i++)
		rank->at[i] = (int32_t *)memory_of(rank->device, 2 * BYTES);
	rank->run(rank);
	gives(xccl->destroy_comm(rank->comm), STATUS_SUCCESS);
	for (int i = 0; i < 3; i++)
		gives(paddle->device_memory_deallocate(rank->device, rank->at[i], 2 * BYTES),
		      STATUS_SUCCESS);
	gives(paddle->destroy_stream(rank->device, rank->stream), STATUS_SUCCESS);
	return NULL;
}

static void with_ranks(void (*function)(struct rank *rank))
{
	struct unique_id id = { 0 };
	struct rank ranks[2];
	pthread_t threads[2];

	begin_with(2);
	pthread_barrier_init(&both_ready, NULL, 2);
	gives(xccl->get_unique_id_size(&id.size), STATUS_SUCCESS);
	id.data = calloc(1, id.size);
	gives(xccl->get_unique_id(&id), STATUS_SUCCESS);
	for (int i = 0; i < 2; i++) {
		ranks[i] = (struct rank){ .device = &place[i], .number = i, .id = &id, .run = function };
		pthread_create(&threads[i], NULL, rank_thread, &ranks[i]);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	free(id.data);
	pthread_barrier_destroy(&both_ready);
	end();
}

/* ---- What comes out ---- */

static void run_each(struct rank *rank)
{
	int me = rank->number;

	put(rank, 0, 1, COUNT);
	gives(xccl->all_reduce(rank->at[0], rank->at[1], COUNT, TYPE_INT32, REDUCE_SUM, rank->comm,
			       rank->stream),
	      STATUS_SUCCESS);
	get(rank, 1, COUNT);
	ok(is_sum(rank, 1, 0, COUNT));
	put(rank, 0, 2, COUNT);
	gives(xccl->broadcast(rank->at[0], COUNT, TYPE_INT32, 1, rank->comm, rank->stream),
	      STATUS_SUCCESS);
	get(rank, 0, COUNT);
	ok(is_of(rank, 2, 1, 0, COUNT));
	put(rank, 0, 3, COUNT);
	put(rank, 1, 4, COUNT);
	gives(xccl->reduce(rank->at[0], rank->at[1], COUNT, TYPE_INT32, REDUCE_SUM, 0, rank->comm,
			   rank->stream),
	      STATUS_SUCCESS);
	get(rank, 1, COUNT);
	ok(me ? is_of(rank, 4, 1, 0, COUNT) : is_sum(rank, 3, 0, COUNT));
	put(rank, 0, 5, COUNT);
	gives(xccl->all_gather(rank->at[0], rank->at[1], COUNT, TYPE_INT32, rank->comm, rank->stream),
	      STATUS_SUCCESS);
	get(rank, 1, 2 * COUNT);
	ok(is_of(rank, 5, 0, 0, COUNT));
	memmove(rank->bytes, rank->bytes + COUNT, BYTES);
	ok(is_of(rank, 5, 1, 0, COUNT));
	put(rank, 0, 6, 2 * COUNT);
	gives(xccl->reduce_scatter(rank->at[0], rank->at[1], COUNT, TYPE_INT32, REDUCE_SUM,
				   rank->comm, rank->stream),
	      STATUS_SUCCESS);
	get(rank, 1, COUNT);
	ok(is_sum(rank, 6, me * COUNT, COUNT));
	put(rank, 0, 7, COUNT);
	gives(me ? xccl->send(rank->at[0], COUNT, TYPE_INT32, 0, rank->comm, rank->stream)
		 : xccl->receive(rank->at[1], COUNT, TYPE_INT32, 1, rank->comm, rank->stream),
	      STATUS_SUCCESS);
	get(rank, me ? 0 : 1, COUNT);
	ok(is_of(rank, 7, 1, 0, COUNT));
}

static void test_each(void)
{
	with_ranks(run_each);
}

/* Rank 0 gives 5 to itself and 11 to rank 1, which gives 7 and 3; one of the types is larger. */
static void run_all_to_all(struct rank *rank)
{
	static const size_t counts[2][2] = { { 5, 11 }, { 7, 3 } };
	static const enum type types[2] = { TYPE_INT32, TYPE_INT32 };
	int me = rank->number;
	const void *send[2] = { rank->at[0], rank->at[0] + counts[me][0] };
	size_t received[2] = { counts[0][me], counts[1][me] };
	void *receive[2] = { rank->at[1], rank->at[1] + received[0] };

	put(rank, 0, 8, COUNT);
	gives(xccl->all_to_all(send, counts[me], types, receive, received, types, (size_t)me, 2,
			       rank->comm, rank->stream),
	      STATUS_SUCCESS);
	get(rank, 1, (int)(received[0] + received[1]));
	ok(is_of(rank, 8, 0, me ? 5 : 0, (int)received[0]));
	memmove(rank->bytes, rank->bytes + received[0], received[1] * sizeof(int32_t));
	ok(is_of(rank, 8, 1, me ? 7 : 0, (int)received[1]));
	refuses(xccl->all_to_all(send, counts[me], types, receive, received, types, (size_t)me, 3,
				 rank->comm, rank->stream),
		STATUS_ERROR, "has not 3 ranks");
}

static void test_all_to_all(void)
{
	with_ranks(run_all_to_all);
}

/* Both send first. */
static void run_group(struct rank *rank)
{
	size_t me = (size_t)rank->number, other = 1 - me;

	put(rank, 0, 9, 2 * COUNT);
	gives(xccl->group_start(), STATUS_SUCCESS);
	gives(xccl->group_start(), STATUS_SUCCESS);
	gives(xccl->send(rank->at[0], COUNT, TYPE_INT32, other, rank->comm, rank->stream), STATUS_SUCCESS);
	gives(xccl->send(rank->at[0] + COUNT, COUNT, TYPE_INT32, me, rank->comm, rank->stream),
	      STATUS_SUCCESS);
	gives(xccl->receive(rank->at[1], COUNT, TYPE_INT32, other, rank->comm, rank->stream), STATUS_SUCCESS);
	gives(xccl->group_end(), STATUS_SUCCESS);
	gives(xccl->receive(rank->at[2], COUNT, TYPE_INT32, me, rank->comm, rank->stream), STATUS_SUCCESS);
	gives(xccl->group_end(), STATUS_SUCCESS);
	get(rank, 1, COUNT);
	ok(is_of(rank, 9, (int)other, 0, COUNT));
	get(rank, 2, COUNT);
	ok(is_of(rank, 9, (int)me, COUNT, COUNT));
	refuses(xccl->group_end(), STATUS_ERROR, "no group");
}

static void test_group(void)
{
	with_ranks(run_group);
}

static void exchange_halves(struct rank *rank, int message, stream_t stream)
{
	size_t other = 1 - (size_t)rank->number;

	put(rank, 0, message, 2 * COUNT);
	for (int i = 0; i < 2; i++)
		gives(xccl->send(rank->at[0] + i * COUNT, COUNT, TYPE_INT32, other, rank->comm, stream),
		      STATUS_SUCCESS);
	/* What has been sent does not change any more. */
	put(rank, 0, message + 1, 2 * COUNT);
	pthread_barrier_wait(&both_ready);
	for (int i = 0; i < 2; i++)
		gives(xccl->receive(rank->at[1 + i], COUNT, TYPE_INT32, other, rank->comm, stream),
		      STATUS_SUCCESS);
	for (int i = 0; i < 2; i++) {
		get(rank, 1 + i, COUNT);
		ok(is_of(rank, message, (int)other, i * COUNT, COUNT));
	}
}

static void run_both_send_first(struct rank *rank)
{
	exchange_halves(rank, 13, rank->stream);
	exchange_halves(rank, 15, NULL);
}

static void test_both_send_first(void)
{
	setenv("PADDLE_ACCEL_TIMEOUT", "10", 1);
	with_ranks(run_both_send_first);
	unsetenv("PADDLE_ACCEL_TIMEOUT");
}

/* As many as are under way at once, and more, twice: there is room again when they have been received. */
#define MOST_SENDS 64
#define MESSAGES 70

static unsigned int sent;

static void send_many(struct rank *rank)
{
	for (int i = 0; i < MESSAGES; i++) {
		if (i == MOST_SENDS)
			pthread_barrier_wait(&both_ready);
		put(rank, 0, 17 + i, COUNT);
		gives(xccl->send(rank->at[0], COUNT, TYPE_INT32, 0, rank->comm, rank->stream), STATUS_SUCCESS);
		__atomic_fetch_add(&sent, 1, __ATOMIC_SEQ_CST);
	}
}

static void receive_many(struct rank *rank)
{
	pthread_barrier_wait(&both_ready);
	/* The next one does not return. */
	for (int i = 0; i < 100; i++) {
		ok(__atomic_load_n(&sent, __ATOMIC_SEQ_CST) == MOST_SENDS);
		usleep(1000);
	}
	for (int i = 0; i < MESSAGES; i++) {
		gives(xccl->receive(rank->at[1], COUNT, TYPE_INT32, 1, rank->comm, rank->stream),
		      STATUS_SUCCESS);
		get(rank, 1, COUNT);
		ok(is_of(rank, 17 + i, 1, 0, COUNT));
	}
}

static void run_many(struct rank *rank)
{
	for (int i = 0; i < 2; i++) {
		if (rank->number)
			send_many(rank);
		else
			receive_many(rank);
		pthread_barrier_wait(&both_ready);
		if (rank->number)
			__atomic_store_n(&sent, 0, __ATOMIC_SEQ_CST);
	}
}

static void test_many_sends(void)
{
	setenv("PADDLE_ACCEL_TIMEOUT", "30", 1);
	with_ranks(run_many);
	unsetenv("PADDLE_ACCEL_TIMEOUT");
}

/* The limit is that of each message, not of all: the third one is received after 10 s. */
static void run_slow_receiver(struct rank *rank)
{
	for (int i = 0; i < 3; i++) {
		put(rank, 0, 91 + i, COUNT);
		if (rank->number) {
			gives(xccl->send(rank->at[0], COUNT, TYPE_INT32, 0, rank->comm, rank->stream),
			      STATUS_SUCCESS);
			continue;
		}
		if (i)
			sleep(5);
		gives(xccl->receive(rank->at[1], COUNT, TYPE_INT32, 1, rank->comm, rank->stream),
		      STATUS_SUCCESS);
		get(rank, 1, COUNT);
		ok(is_of(rank, 91 + i, 1, 0, COUNT));
	}
}

static void test_slow_receiver(void)
{
	setenv("PADDLE_ACCEL_TIMEOUT", "9", 1);
	with_ranks(run_slow_receiver);
	unsetenv("PADDLE_ACCEL_TIMEOUT");
}

/* In turn on two streams, and on none: each takes the result of the one before. */
static void run_streams(struct rank *rank)
{
	stream_t streams[3] = { rank->stream, stream_of(rank->device), NULL };

	put(rank, 0, 10, COUNT);
	for (int i = 0; i < 6; i++)
		gives(xccl->all_reduce(rank->at[0], rank->at[0], COUNT, TYPE_INT32, REDUCE_SUM,
				       rank->comm, streams[i % 3]),
		      STATUS_SUCCESS);
	get(rank, 0, COUNT);
	for (int i = 0; i < COUNT; i++)
		ok(rank->bytes[i] == 32 * (value(10, 0, i) + value(10, 1, i)));
	gives(paddle->destroy_stream(rank->device, streams[1]), STATUS_SUCCESS);
}

static void test_streams(void)
{
	with_ranks(run_streams);
}

/* ---- What goes wrong ---- */

static void run_bad(struct rank *rank)
{
	struct comm *comm = rank->comm;
	stream_t stream = rank->stream;
	char name[128] = "";

	gives(xccl->get_comm_name(comm, name), STATUS_SUCCESS);
	ok(strstr(name, "of 2") && !memchr(name, 0, 4));
	/* Only one of the threads: the others' words would be taken for its own. */
	if (rank->number)
		return;
	refuses(xccl->all_reduce(rank->at[0], rank->at[0], 1, 99, REDUCE_SUM, comm, stream),
		STATUS_ERROR, "unknown type 99");
	refuses(xccl->all_reduce(rank->at[0], rank->at[0], 1, TYPE_INT32, 9, comm, stream),
		STATUS_ERROR, "no reduction 9");
	refuses(xccl->all_reduce(rank->at[0], rank->at[0], 1, TYPE_BOOL, REDUCE_AVG, comm, stream),
		STATUS_INTERNAL, "no average");
	refuses(xccl->all_reduce(rank->at[0], rank->at[0], 1, TYPE_COMPLEX64, REDUCE_MIN, comm, stream),
		STATUS_INTERNAL, "no maximum or minimum");
	refuses(xccl->all_reduce(rank->at[0], rank->at[0], SIZE_MAX, TYPE_INT64, REDUCE_SUM, comm, stream),
		STATUS_ERROR, "too many");
	refuses(xccl->broadcast(rank->at[0], 1, TYPE_INT32, 2, comm, stream), STATUS_ERROR, "no rank 2");
	refuses(xccl->send(rank->at[0], 1, TYPE_INT32, 5, comm, stream), STATUS_ERROR, "no rank 5");
	refuses(xccl->receive(rank->at[0], 1, TYPE_INT32, 0, comm, stream), STATUS_ERROR, "needs a group");
	refuses(xccl->all_reduce(NULL, NULL, 1, TYPE_INT32, REDUCE_SUM, NULL, stream), STATUS_ERROR,
		"comm is NULL");
	/* Of a group, its end returns the error, and the next operation is not collected. */
	gives(xccl->group_start(), STATUS_SUCCESS);
	log_clear();
	gives(xccl->send(rank->at[0], 1, TYPE_INT32, 5, comm, stream), STATUS_SUCCESS);
	ok(said("no rank 5"));
	refuses(xccl->group_end(), STATUS_ERROR, "was not run");
	refuses(xccl->receive(rank->at[0], 1, TYPE_INT32, 0, comm, stream), STATUS_ERROR, "needs a group");
	/* Nothing of nothing. */
	gives(xccl->all_reduce(NULL, NULL, 0, TYPE_INT32, REDUCE_SUM, comm, stream), STATUS_SUCCESS);
	gives(xccl->send(NULL, 0, TYPE_INT32, 1, comm, stream), STATUS_SUCCESS);
}

/* Each rank is a side of a message to itself whose other side is missing. */
static void run_one_side(struct rank *rank)
{
	size_t me = (size_t)rank->number;

	gives(xccl->group_start(), STATUS_SUCCESS);
	if (me)
		gives(xccl->receive(rank->at[1], COUNT, TYPE_INT32, me, rank->comm, rank->stream), STATUS_SUCCESS);
	else
		gives(xccl->send(rank->at[0], COUNT, TYPE_INT32, me, rank->comm, rank->stream), STATUS_SUCCESS);
	ok(xccl->group_end() != STATUS_SUCCESS);
	paddle->synchronize_stream(rank->device, rank->stream);
}

static void test_one_side(void)
{
	with_ranks(run_one_side);
	ok(said("rank 0 sends itself 256 bytes that it does not receive"));
	ok(said("rank 1 receives from itself 256 bytes that it does not send"));
}

/* Of three blocks that were in use at once, those stay page-locked that are half of the limit. */
static void test_page_locked_memory(void)
{
	struct rlimit before, low;
	struct staging blocks[3];
	struct device *device;
	unsigned int ranges;

	begin_with(1);
	device = plugin_enter("test", &place[0]);
	ranges = mock_host_ranges(0);
	getrlimit(RLIMIT_MEMLOCK, &before);
	low = before;
	low.rlim_cur = 1 << 20;
	ok(!setrlimit(RLIMIT_MEMLOCK, &low));
	for (int i = 0; i < 3; i++)
		ok(!staging_get(device, 200 << 10, &blocks[i]) && blocks[i].is_pinned);
	ok(mock_host_ranges(0) == ranges + 3);
	for (int i = 0; i < 3; i++)
		staging_put(device, &blocks[i]);
	ok(mock_host_ranges(0) == ranges + 2);
	setrlimit(RLIMIT_MEMLOCK, &before);
	plugin_leave();
	end();
}

static void test_bad_arguments(void)
{
	with_ranks(run_bad);
}

static void test_bad_ids(void)
{
	char bytes[ENGINE_ID_SIZE] = "";
	struct unique_id id = { sizeof(bytes), bytes }, small = { 8, bytes };
	struct comm *comm = NULL;

	begin_with(1);
	refuses(xccl->get_unique_id_size(NULL), STATUS_ERROR, "size is NULL");
	refuses(xccl->get_unique_id(&small), STATUS_ERROR, "room for 128");
	refuses(xccl->comm_init_rank(2, &id, 2, &comm), STATUS_ERROR, "no rank 2 of 2");
	refuses(xccl->comm_init_rank(2, &id, 1, &comm), STATUS_ERROR, "not made by this engine");
	setenv("PADDLE_ACCEL_TIMEOUT", "0", 1);
	refuses(xccl->comm_init_rank(2, &id, 1, &comm), STATUS_ERROR, "PADDLE_ACCEL_TIMEOUT=0");
	unsetenv("PADDLE_ACCEL_TIMEOUT");
	ok(!comm);
	gives(xccl->destroy_comm(NULL), STATUS_SUCCESS);
	end();
}

/* Rank 0 passes a pointer that is not of a device: neither rank waits for the limit, nor does what rank 0 sends. */
static void run_bad_pointer(struct rank *rank)
{
	static int32_t host[COUNT];
	time_t begin = time(NULL);

	put(rank, 0, 12, COUNT);
	if (!rank->number)
		gives(xccl->send(rank->at[0], COUNT, TYPE_INT32, 1, rank->comm, rank->stream), STATUS_SUCCESS);
	ok(xccl->all_reduce(rank->number ? rank->at[0] : host, rank->at[1], COUNT, TYPE_INT32, REDUCE_SUM,
			    rank->comm, rank->stream) != STATUS_SUCCESS);
	ok(time(NULL) - begin < 15);
	ok(xccl->all_reduce(rank->at[0], rank->at[1], COUNT, TYPE_INT32, REDUCE_SUM, rank->comm,
			    rank->stream) != STATUS_SUCCESS);
	paddle->synchronize_stream(rank->device, rank->stream);
}

static void test_bad_pointer(void)
{
	time_t begin = time(NULL);

	setenv("PADDLE_ACCEL_TIMEOUT", "30", 1);
	with_ranks(run_bad_pointer);
	ok(time(NULL) - begin < 15);
	unsetenv("PADDLE_ACCEL_TIMEOUT");
}

static void test_forked_child(void)
{
	char bytes[ENGINE_ID_SIZE] = "";
	struct unique_id id = { sizeof(bytes), bytes };
	struct comm *comm = NULL;
	int status;
	pid_t child;

	begin_with(1);
	gives(xccl->get_unique_id(&id), STATUS_SUCCESS);
	fflush(stdout);
	child = fork();
	if (!child) {
		alarm(20);
		_exit(!xccl->get_unique_id(&id) || !xccl->comm_init_rank(1, &id, 0, &comm));
	}
	ok(waitpid(child, &status, 0) == child && !status);
	end();
}

/* Rank 1 does not take part: the next call of rank 0 fails, and the communicator stays failed. */
static void run_alone(struct rank *rank)
{
	enum status status;

	if (rank->number)
		return;
	put(rank, 0, 11, COUNT);
	status = xccl->all_reduce(rank->at[0], rank->at[1], COUNT, TYPE_INT32, REDUCE_SUM, rank->comm,
				  rank->stream);
	ok(status == STATUS_SUCCESS || status == STATUS_INTERNAL);
	/* Once: by the call itself if the connection is closed by then. */
	gives(paddle->synchronize_stream(rank->device, rank->stream),
	      status ? STATUS_SUCCESS : STATUS_INTERNAL);
	gives(paddle->synchronize_stream(rank->device, rank->stream), STATUS_SUCCESS);
	refuses(xccl->all_reduce(rank->at[0], rank->at[1], COUNT, TYPE_INT32, REDUCE_SUM, rank->comm,
				 rank->stream),
		STATUS_INTERNAL, "has failed before");
	get(rank, 0, COUNT);
	ok(is_of(rank, 11, 0, 0, COUNT));
}

static void test_lost_rank(void)
{
	setenv("PADDLE_ACCEL_TIMEOUT", "10", 1);
	with_ranks(run_alone);
	unsetenv("PADDLE_ACCEL_TIMEOUT");
}

static enum status synchronize_until_error(struct rank *rank)
{
	time_t end = time(NULL) + 30;
	enum status status = STATUS_SUCCESS;

	while (!status && time(NULL) < end)
		status = paddle->synchronize_stream(rank->device, rank->stream);
	return status;
}

static void send_to_rank_1(struct rank *rank)
{
	put(rank, 0, 90, COUNT);
	if (!rank->number)
		gives(xccl->send(rank->at[0], COUNT, TYPE_INT32, 1, rank->comm, rank->stream), STATUS_SUCCESS);
	pthread_barrier_wait(&both_ready);
}

/* Rank 1 ends when the send has returned: one later call returns the error, of the device or the communicator. */
static void run_send_to_lost(struct rank *rank)
{
	send_to_rank_1(rank);
	if (rank->number)
		return;
	ok(synchronize_until_error(rank) == STATUS_INTERNAL);
	gives(paddle->synchronize_stream(rank->device, rank->stream), STATUS_SUCCESS);
	refuses(xccl->send(rank->at[0], COUNT, TYPE_INT32, 1, rank->comm, rank->stream), STATUS_INTERNAL,
		"has failed before");
	gives(paddle->synchronize_stream(rank->device, rank->stream), STATUS_SUCCESS);
}

/* The same, and the communicator is asked first. */
static void run_send_and_collective(struct rank *rank)
{
	time_t end = time(NULL) + 30;

	send_to_rank_1(rank);
	if (rank->number)
		return;
	while (!comm_error(rank->comm) && time(NULL) < end)
		usleep(1000);
	refuses(xccl->all_reduce(rank->at[0], rank->at[1], COUNT, TYPE_INT32, REDUCE_SUM, rank->comm,
				 rank->stream),
		STATUS_INTERNAL, "has failed before");
	gives(paddle->synchronize_stream(rank->device, rank->stream), STATUS_SUCCESS);
}

static void test_send_to_lost_rank(void)
{
	setenv("PADDLE_ACCEL_TIMEOUT", "60", 1);
	with_ranks(run_send_to_lost);
	with_ranks(run_send_and_collective);
	unsetenv("PADDLE_ACCEL_TIMEOUT");
}

int main(void)
{
	log_catch();
	RUN(test_each);
	RUN(test_all_to_all);
	RUN(test_group);
	RUN(test_both_send_first);
	RUN(test_many_sends);
	RUN(test_slow_receiver);
	RUN(test_streams);
	RUN(test_page_locked_memory);
	RUN(test_bad_arguments);
	RUN(test_one_side);
	RUN(test_bad_ids);
	RUN(test_bad_pointer);
	RUN(test_forked_child);
	RUN(test_lost_rank);
	RUN(test_send_to_lost_rank);
	return tap_end();
}
