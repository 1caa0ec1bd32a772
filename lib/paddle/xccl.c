/* SPDX-License-Identifier: MIT */
/*
 * Collectives of Paddle. Each is a job behind the work of the stream that comes with the call, which
 * returns when the job has ended; that of a send outside of a group ends later. All ranks call the collectives of
 * all their communicators in the same order.
 * The jobs of a communicator run in the order of the calls, whatever their streams are.
 * A job that fails leaves its communicator failed. Its call returns the error, or the next one on the communicator,
 * or the next synchronize, copy or fill.
 */
#include "private.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;

/* ---- Types ---- */

static const struct element {
	size_t size;
	bool is_complex;
} elements[TYPES] = {
	[TYPE_BOOL] = { 1, false },	[TYPE_UINT8] = { 1, false },
	[TYPE_UINT16] = { 2, false },	[TYPE_UINT32] = { 4, false },
	[TYPE_UINT64] = { 8, false },	[TYPE_INT8] = { 1, false },
	[TYPE_INT16] = { 2, false },	[TYPE_INT32] = { 4, false },
	[TYPE_INT64] = { 8, false },	[TYPE_FLOAT16] = { 2, false },
	[TYPE_FLOAT32] = { 4, false },	[TYPE_FLOAT64] = { 8, false },
	[TYPE_BFLOAT16] = { 2, false }, [TYPE_COMPLEX64] = { 8, true },
	[TYPE_COMPLEX128] = { 16, true },
};

static int size_of(enum type type, size_t count, size_t *size)
{
	if ((unsigned int)type >= TYPES || !elements[type].size)
		return plugin_fail(-EINVAL, "elements have the unknown type %d", (int)type);
	if (__builtin_mul_overflow(count, elements[type].size, size))
		return plugin_fail(-EINVAL, "%zu elements are too many", count);
	return 0;
}

static int check_reduction(enum type type, enum reduction op)
{
	if ((unsigned int)op >= REDUCE_COUNT)
		return plugin_fail(-EINVAL, "there is no reduction %d", (int)op);
	if (elements[type].is_complex && (op == REDUCE_MAX || op == REDUCE_MIN))
		return plugin_fail(-EOPNOTSUPP, "complex numbers have no maximum or minimum");
	if (type == TYPE_BOOL && op == REDUCE_AVG)
		return plugin_fail(-EOPNOTSUPP, "booleans have no average");
	return 0;
}

/* ---- Communicators ---- */

/* Under the lock, so that tell() finds what is kept. */
void comm_fail(struct comm *comm, struct device *device, int err)
{
	pthread_mutex_lock(&lock);
	if (!comm->failed) {
		comm->failed = err;
		comm->kept = device_keep(device, err);
		comm->kept_on = device->id;
	}
	pthread_mutex_unlock(&lock);
}

void comm_break(struct comm *comm, int err)
{
	pthread_mutex_lock(&lock);
	if (!comm->failed)
		comm->failed = err;
	pthread_mutex_unlock(&lock);
	comm->engine->abort(comm->connected);
}

int comm_error(struct comm *comm)
{
	int err;

	pthread_mutex_lock(&lock);
	err = comm->failed;
	pthread_mutex_unlock(&lock);
	return err;
}

/* The error, or 0. It is returned now, and no synchronize, copy or fill does so. */
static int tell(struct comm *comm)
{
	struct device *device = NULL;
	struct place place;
	uint64_t kept;
	int err;

	pthread_mutex_lock(&lock);
	err = comm->failed;
	kept = comm->kept;
	comm->kept = 0;
	place.id = comm->kept_on;
	pthread_mutex_unlock(&lock);
	if (kept)
		device = plugin_enter("collective", &place);
	if (device) {
		device_forget(device, kept);
		plugin_leave();
	}
	return err;
}

/* Of operations that have a tag and do not run. */
static int break_comms(const struct op *ops, size_t count, int err)
{
	for (size_t i = 0; i < count; i++)
		comm_break(ops[i].comm, err);
	return err;
}

static void comm_begin(struct comm *comm)
{
	pthread_mutex_lock(&lock);
	comm->jobs++;
	pthread_mutex_unlock(&lock);
}

void comm_done(struct comm *comm)
{
	pthread_mutex_lock(&lock);
	if (!--comm->jobs)
		pthread_cond_broadcast(&ended);
	pthread_mutex_unlock(&lock);
}

/* The error, or 0. What has failed is closed: no operation is under way that a rank waits for, but sends. */
static int close_failed(struct comm *comm)
{
	int err = tell(comm);

	if (err)
		comm_break(comm, err);
	return err;
}

static int check_comm(struct comm *comm)
{
	int err;

	if (!comm)
		return plugin_fail(-EINVAL, "comm is NULL");
	if (plugin_in_child())
		return plugin_fail(-EPERM, "communicator %s is of the parent process", comm->name);
	err = close_failed(comm);
	return err ? plugin_fail(err, "communicator %s has failed before", comm->name) : 0;
}

static int check_rank(const struct comm *comm, size_t rank)
{
	if (rank < (size_t)comm->size)
		return 0;
	return plugin_fail(-EINVAL, "communicator %s has no rank %zu", comm->name, rank);
}

static enum status get_unique_id_size(size_t *size)
{
	if (!size)
		return plugin_status(__func__, plugin_fail(-EINVAL, "size is NULL"));
	*size = ENGINE_ID_SIZE;
	return STATUS_SUCCESS;
}

static int engine_error(const struct engine *engine, int err)
{
	return err ? plugin_fail(err, "%s", engine->error()) : 0;
}

/* The thread of the engine does not exist in a forked child. */
static int check_process(void)
{
	return plugin_in_child() ? plugin_fail(-EPERM, "a forked child makes no communicators") : 0;
}

static int make_id(const struct unique_id *id)
{
	const struct engine *engine;
	int err = check_process();

	if (err)
		return err;
	if (!id || !id->data || id->size < ENGINE_ID_SIZE)
		return plugin_fail(-EINVAL, "the unique id needs room for %d bytes", ENGINE_ID_SIZE);
	engine = engine_get();
	return engine ? engine_error(engine, engine->make_id(id->data)) : -ENOENT;
}

static enum status get_unique_id(struct unique_id *id)
{
	return plugin_status(__func__, make_id(id));
}

static void comm_free(struct comm *comm)
{
	if (comm->done)
		accel_event_destroy(comm->done);
	free(comm->with);
	free(comm);
}

static struct comm *comm_new(size_t ranks, size_t rank)
{
	static unsigned int made;
	struct comm *comm = calloc(1, sizeof(*comm));

	if (!comm)
		return NULL;
	comm->rank = (int)rank;
	comm->size = (int)ranks;
	comm->with = calloc(ranks, sizeof(*comm->with));
	if (comm->with) {
		snprintf(comm->name, sizeof(comm->name), "xccl-%u (rank %d of %d)",
			 __atomic_fetch_add(&made, 1, __ATOMIC_RELAXED), comm->rank, comm->size);
		return comm;
	}
	comm_free(comm);
	return NULL;
}

static int init_rank(size_t ranks, const struct unique_id *id, size_t rank, struct comm **made)
{
	struct comm *comm;
	unsigned int limit;
	int err = check_process();

	if (err)
		return err;
	if (!made || !id || !id->data || id->size < ENGINE_ID_SIZE)
		return plugin_fail(-EINVAL, "a pointer is NULL, or the unique id is too short");
	if (!ranks || rank >= ranks || ranks > INT32_MAX)
		return plugin_fail(-EINVAL, "there is no rank %zu of %zu", rank, ranks);
	err = settings_limit(&limit);
	if (err)
		return err;
	comm = comm_new(ranks, rank);
	if (!comm)
		return plugin_fail(-ENOMEM, "out of memory");
	comm->engine = engine_get();
	err = comm->engine ? engine_error(comm->engine,
					  comm->engine->create(id->data, comm->rank, comm->size, limit,
							       &comm->connected))
			   : -ENOENT;
	if (err) {
		comm_free(comm);
		return err;
	}
	*made = comm;
	return 0;
}

static enum status comm_init_rank(size_t ranks, struct unique_id *id, size_t rank, struct comm **comm)
{
	enum status status = plugin_status(__func__, init_rank(ranks, id, rank, comm));

	plugin_trace("%s(%zu, %zu) = %d", __func__, ranks, rank, status);
	return status;
}

/* Jobs end within the limit of their waits. What a child has inherited is its parent's. */
static enum status destroy_comm(struct comm *comm)
{
	if (!comm || plugin_in_child())
		return STATUS_SUCCESS;
	pthread_mutex_lock(&lock);
	while (comm->jobs)
		pthread_cond_wait(&ended, &lock);
	pthread_mutex_unlock(&lock);
	comm->engine->destroy(comm->connected);
	comm_free(comm);
	return STATUS_SUCCESS;
}

/* Paddle has room for 128 bytes. */
static enum status get_comm_name(struct comm *comm, char *name)
{
	int err = comm && name ? 0 : plugin_fail(-EINVAL, "a pointer is NULL");

	if (!err)
		memcpy(name, comm->name, sizeof(comm->name));
	return plugin_status(__func__, err);
}

/* ---- Jobs onto streams ---- */

static void run_behind(void *data, int err)
{
	job_run(data, err);
}

/* The job before it on the same communicator, if that was on another stream. */
static int wait_for_job(const struct comm *comm, int device, stream_t stream)
{
	int err;

	if (!comm->done || (comm->stream == stream && comm->device == device))
		return 0;
	if (stream && comm->device == device)
		return accel_stream_wait_event(stream, comm->done);
	/* The error of work that failed is returned elsewhere. */
	err = accel_event_synchronize(comm->done);
	return err == -EINVAL || err == -ENOMEM ? err : 0;
}

static int record_job(struct comm *comm, struct device *device, stream_t stream)
{
	int err = 0;

	if (comm->done && comm->device != device->id) {
		accel_event_destroy(comm->done);
		comm->done = NULL;
	}
	if (!comm->done)
		err = accel_event_create(device->dev, &comm->done);
	if (!err)
		err = accel_event_record(comm->done, stream);
	comm->stream = stream;
	comm->device = device->id;
	return err;
}

static int queue_job(struct device *device, struct job *job, stream_t stream)
{
	int err = 0;

	for (size_t i = 0; !err && i < job->count; i++)
		err = wait_for_job(job->ops[i].comm, device->id, stream);
	if (err)
		return err;
	for (size_t i = 0; i < job->count; i++)
		comm_begin(job->ops[i].comm);
	err = accel_stream_add_callback(stream, run_behind, job);
	for (size_t i = 0; err && i < job->count; i++)
		comm_done(job->ops[i].comm);
	return err;
}

/* Each of the communicators of the ops once: those of the job belong to its callback already. */
static int record_jobs(struct comm *const *comms, size_t count, struct device *device, stream_t stream)
{
	int err = 0;

	for (size_t i = 0; !err && i < count; i++)
		err = record_job(comms[i], device, stream);
	return err;
}

static int submit_behind(struct device *device, struct job *job, stream_t stream)
{
	size_t count = job->count;
	struct comm **comms = calloc(count, sizeof(*comms));
	int err = comms ? 0 : plugin_fail(-ENOMEM, "out of memory");

	for (size_t i = 0; !err && i < count; i++)
		comms[i] = job->ops[i].comm;
	if (!err)
		err = queue_job(device, job, stream);
	if (err) {
		break_comms(job->ops, count, err);
		job_free(job);
	} else {
		err = record_jobs(comms, count, device, stream);
	}
	free(comms);
	return stream_told(stream, err);
}

/* A NULL stream has no work before it: the job runs now. */
static void run_now(struct device *device, struct job *job)
{
	int err = 0;

	for (size_t i = 0; !err && i < job->count; i++)
		err = wait_for_job(job->ops[i].comm, device->id, NULL);
	for (size_t i = 0; i < job->count; i++)
		comm_begin(job->ops[i].comm);
	job_run(job, err);
}

/* Takes the job. */
static int submit(struct device *device, struct job *job, stream_t stream)
{
	job->device = device->id;
	if (stream)
		return submit_behind(device, job, stream);
	run_now(device, job);
	return 0;
}

/* ---- Groups ---- */

static __thread struct group {
	unsigned int depth;
	size_t count, room;
	struct op *ops;
	stream_t *streams; /* one for each op */
	int err; /* of an operation that was refused */
} group;

static bool make_room(void)
{
	size_t room = group.room ? group.room * 2 : 16;
	struct op *ops;
	stream_t *streams;

	if (group.count < group.room)
		return true;
	ops = realloc(group.ops, room * sizeof(*ops));
	if (ops)
		group.ops = ops;
	streams = ops ? realloc(group.streams, room * sizeof(*streams)) : NULL;
	if (streams) {
		group.streams = streams;
		group.room = room;
	}
	return streams;
}

static int defer(const struct op *op, stream_t stream)
{
	if (!make_room()) {
		free(op->blocks);
		break_comms(op, 1, -ENOMEM);
		return plugin_fail(-ENOMEM, "out of memory");
	}
	group.ops[group.count] = *op;
	group.streams[group.count++] = stream;
	return 0;
}

static struct job *job_of(const struct op *ops, size_t count)
{
	struct job *job = calloc(1, sizeof(*job));

	if (job)
		job->ops = calloc(count, sizeof(*ops));
	if (job && job->ops) {
		memcpy(job->ops, ops, count * sizeof(*ops));
		job->count = count;
		return job;
	}
	free(job);
	for (size_t i = 0; i < count; i++)
		free(ops[i].blocks);
	plugin_fail(-ENOMEM, "out of memory");
	return NULL;
}

static const void *buffer_of(const struct op *op)
{
	const void *buffer = op->send ? op->send : op->receive;

	for (int i = 0; !buffer && op->blocks && i < op->comm->size; i++)
		buffer = op->blocks[i].send_size ? op->blocks[i].send
			 : op->blocks[i].receive_size ? op->blocks[i].receive
						      : NULL;
	return buffer;
}

/* Entered; NULL: that has been kept for plugin_status(). An exchange of nothing is on the current device. */
static struct device *enter_device_of(const struct op *op)
{
	const void *buffer = buffer_of(op);
	struct device *device = buffer ? plugin_enter_memory(buffer) : plugin_enter_current();

	if (!device)
		plugin_fail(-EFAULT, "%p is not in the memory of a device", buffer);
	return device;
}

/*
 * The error of a job that was submitted, which has ended, or of a send before it. The error of another communicator
 * stays for another call: this job has succeeded.
 */
static int job_error(const struct op *ops, size_t count, int err)
{
	int failed = 0;

	for (size_t i = 0; i < count; i++) {
		int one = close_failed(ops[i].comm);

		failed = failed ? failed : one;
	}
	if (err || !failed)
		return err;
	return plugin_fail(failed, "the collective failed: %s", accel_strerror(failed));
}

static int run_op(const struct op *op, stream_t stream)
{
	struct device *device = enter_device_of(op);
	struct job *job;
	int err;

	if (!device) {
		free(op->blocks);
		return break_comms(op, 1, -EFAULT);
	}
	job = job_of(op, 1);
	err = job ? submit(device, job, stream) : break_comms(op, 1, -ENOMEM);
	err = job_error(op, 1, err);
	plugin_leave();
	return err;
}

/* All streams of a group wait for each other, as its operations do. */
static int join_streams(struct device *device, const stream_t *streams, size_t count)
{
	struct accel_event *event = NULL;
	int err = 0;

	for (size_t i = 1; !err && i < count; i++) {
		if (streams[i] == streams[0] || !streams[i])
			continue;
		if (!event)
			err = accel_event_create(device->dev, &event);
		if (!err)
			err = accel_event_record(event, streams[i]);
		if (!err)
			err = streams[0] ? accel_stream_wait_event(streams[0], event)
					 : accel_event_synchronize(event);
	}
	if (event)
		accel_event_destroy(event);
	return err;
}

static int release_streams(const struct comm *comm, const stream_t *streams, size_t count)
{
	int err = 0;

	for (size_t i = 1; !err && i < count; i++)
		if (streams[i] && streams[0] && streams[i] != streams[0])
			err = accel_stream_wait_event(streams[i], comm->done);
	return err;
}

static int run_group(const struct op *ops, const stream_t *streams, size_t count)
{
	struct device *device = enter_device_of(&ops[0]);
	struct comm *first = ops[0].comm;
	struct job *job;
	int err;

	if (!device) {
		for (size_t i = 0; i < count; i++)
			free(ops[i].blocks);
		return break_comms(ops, count, -EFAULT);
	}
	job = job_of(ops, count);
	err = job ? join_streams(device, streams, count) : -ENOMEM;
	if (err)
		break_comms(ops, count, err);
	if (err && job)
		job_free(job);
	if (!err)
		err = submit(device, job, streams[0]);
	if (!err)
		err = release_streams(first, streams, count);
	err = job_error(ops, count, err);
	plugin_leave();
	return err;
}

static enum status group_start(void)
{
	group.depth++;
	return STATUS_SUCCESS;
}

static int end_group(void)
{
	struct group ended_group = group;
	int err = 0;

	if (!group.depth)
		return plugin_fail(-EINVAL, "no group has been started");
	if (--group.depth)
		return 0;
	group = (struct group){ 0 };
	if (ended_group.err) {
		for (size_t i = 0; i < ended_group.count; i++)
			free(ended_group.ops[i].blocks);
		break_comms(ended_group.ops, ended_group.count, ended_group.err);
		err = plugin_fail(ended_group.err, "the group was not run, since an operation was refused");
	} else if (ended_group.count) {
		err = run_group(ended_group.ops, ended_group.streams, ended_group.count);
	}
	free(ended_group.ops);
	free(ended_group.streams);
	return err;
}

static enum status group_end(void)
{
	return plugin_status(__func__, end_group());
}

/* Takes the blocks of the operation. */
static int run_or_defer(const struct op *op, stream_t stream)
{
	if (group.depth)
		return defer(op, stream);
	return run_op(op, stream);
}

/*
 * The result of an operation. Inside of a group it is that of the group: Paddle does not end a group if an
 * operation raises an exception, and all operations of the thread would be collected from then on.
 */
static enum status op_status(const char *call, int err)
{
	if (!err || !group.depth)
		return plugin_status(call, err);
	plugin_complain(call, err);
	if (!group.err)
		group.err = err;
	return STATUS_SUCCESS;
}

/* ---- Operations ---- */

static uint64_t hash_of(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 32;
}

/* Ranks that differ in an operation do not exchange data. The engine adds the sizes of an all_to_all. */
static uint32_t collective_tag(struct comm *comm, const struct op *op)
{
	uint64_t hash = hash_of(1, (uint64_t)op->kind);

	hash = hash_of(hash, (uint64_t)op->type);
	hash = hash_of(hash, (uint64_t)op->reduction);
	hash = hash_of(hash, (uint64_t)op->peer);
	hash = hash_of(hash, op->kind == OP_ALL_TO_ALL ? 0 : op->size);
	return (comm->next++ & 0xff) << 24 | (uint32_t)(hash >> 40);
}

static uint64_t message_tag(uint32_t *number, size_t size)
{
	return ((uint64_t)((*number)++ & 0x7fffff) << 40) | (size & ((1ull << 40) - 1));
}

/* A size of 0 is 0 in all ranks. */
static int collective(struct op op, stream_t stream)
{
	int err = check_comm(op.comm);

	if (!err)
		err = size_of(op.type, op.count, &op.size);
	if (!err)
		err = check_rank(op.comm, (size_t)op.peer);
	if (!err)
		err = check_reduction(op.type, op.reduction);
	if (err || !op.size)
		return err;
	op.tag = collective_tag(op.comm, &op);
	return run_or_defer(&op, stream);
}

static enum status all_reduce(void *send, void *receive, size_t count, enum type type,
			      enum reduction op, struct comm *comm, stream_t stream)
{
	return op_status(__func__, collective((struct op){ .kind = OP_ALL_REDUCE,
							   .comm = comm,
							   .send = send,
							   .receive = receive,
							   .count = count,
							   .type = type,
							   .reduction = op },
					      stream));
}

static enum status broadcast(void *data, size_t count, enum type type, size_t root,
			     struct comm *comm, stream_t stream)
{
	return op_status(__func__, collective((struct op){ .kind = OP_BROADCAST,
							   .comm = comm,
							   .send = data,
							   .receive = data,
							   .count = count,
							   .type = type,
							   .peer = (int)root },
					      stream));
}

static enum status reduce(void *send, void *receive, size_t count, enum type type,
			  enum reduction op, size_t root, struct comm *comm, stream_t stream)
{
	return op_status(__func__, collective((struct op){ .kind = OP_REDUCE,
							   .comm = comm,
							   .send = send,
							   .receive = receive,
							   .count = count,
							   .type = type,
							   .reduction = op,
							   .peer = (int)root },
					      stream));
}

static enum status all_gather(void *send, void *receive, size_t count, enum type type,
			      struct comm *comm, stream_t stream)
{
	return op_status(__func__, collective((struct op){ .kind = OP_ALL_GATHER,
							   .comm = comm,
							   .send = send,
							   .receive = receive,
							   .count = count,
							   .type = type },
					      stream));
}

static enum status reduce_scatter(void *send, void *receive, size_t count, enum type type,
				  enum reduction op, struct comm *comm, stream_t stream)
{
	return op_status(__func__, collective((struct op){ .kind = OP_REDUCE_SCATTER,
							   .comm = comm,
							   .send = send,
							   .receive = receive,
							   .count = count,
							   .type = type,
							   .reduction = op },
					      stream));
}

static int message(struct op op, stream_t stream)
{
	struct messages *with = &op.comm->with[op.peer];
	int err = size_of(op.type, op.count, &op.size);

	if (err || !op.size)
		return err;
	if (!group.depth && op.peer == op.comm->rank)
		return plugin_fail(-EINVAL, "a message of a rank to itself needs a group that sends and receives it");
	op.tag = message_tag(op.kind == OP_SEND ? &with->sent : &with->received, op.size);
	return run_or_defer(&op, stream);
}

static enum status send(void *data, size_t count, enum type type, size_t to, struct comm *comm,
			stream_t stream)
{
	struct op op = { .kind = OP_SEND, .comm = comm, .send = data, .count = count, .type = type,
			 .peer = (int)to };
	int err = check_comm(comm);

	if (!err)
		err = check_rank(comm, to);
	return op_status(__func__, err ? err : message(op, stream));
}

static enum status receive(void *data, size_t count, enum type type, size_t from,
			   struct comm *comm, stream_t stream)
{
	struct op op = { .kind = OP_RECEIVE, .comm = comm, .receive = data, .count = count,
			 .type = type, .peer = (int)from };
	int err = check_comm(comm);

	if (!err)
		err = check_rank(comm, from);
	return op_status(__func__, err ? err : message(op, stream));
}

/* What Paddle gives to all_to_all. */
struct sides {
	const void **send;
	const size_t *send_counts;
	const enum type *send_types;
	void **receive;
	const size_t *receive_counts;
	const enum type *receive_types;
};

static int fill_blocks(const struct sides *sides, struct op *op)
{
	int err = 0;

	for (int i = 0; !err && i < op->comm->size; i++) {
		struct op_block *block = &op->blocks[i];

		block->send = sides->send[i];
		block->receive = sides->receive[i];
		err = size_of(sides->send_types[i], sides->send_counts[i], &block->send_size);
		if (!err)
			err = size_of(sides->receive_types[i], sides->receive_counts[i],
				      &block->receive_size);
	}
	if (!err && op->blocks[op->comm->rank].send_size != op->blocks[op->comm->rank].receive_size)
		err = plugin_fail(-EINVAL, "rank %d sends itself %zu bytes and receives %zu",
				  op->comm->rank, op->blocks[op->comm->rank].send_size,
				  op->blocks[op->comm->rank].receive_size);
	return err;
}

static int exchange(const struct sides *sides, size_t ranks, struct comm *comm, stream_t stream)
{
	struct op op = { .kind = OP_ALL_TO_ALL, .comm = comm, .type = TYPE_UINT8 };
	int err = check_comm(comm);

	if (err)
		return err;
	if (ranks != (size_t)comm->size)
		return plugin_fail(-EINVAL, "communicator %s has not %zu ranks", comm->name, ranks);
	op.blocks = calloc(ranks, sizeof(*op.blocks));
	if (!op.blocks)
		return plugin_fail(-ENOMEM, "out of memory");
	err = fill_blocks(sides, &op);
	if (err) {
		free(op.blocks);
		return err;
	}
	op.tag = collective_tag(comm, &op);
	return run_or_defer(&op, stream);
}

static enum status all_to_all(const void **send_at, const size_t *send_counts,
			      const enum type *send_types, void **receive_at,
			      const size_t *receive_counts, const enum type *receive_types,
			      size_t rank, size_t ranks, struct comm *comm, stream_t stream)
{
	struct sides sides = { send_at,	   send_counts,	   send_types,
			       receive_at, receive_counts, receive_types };

	(void)rank;
	return op_status(__func__, exchange(&sides, ranks, comm, stream));
}

void collective_functions(struct collective_interface *slots)
{
	*slots = (struct collective_interface){
		.get_comm_name = get_comm_name,
		.get_unique_id_size = get_unique_id_size,
		.get_unique_id = get_unique_id,
		.comm_init_rank = comm_init_rank,
		.destroy_comm = destroy_comm,
		.all_reduce = all_reduce,
		.broadcast = broadcast,
		.reduce = reduce,
		.all_gather = all_gather,
		.reduce_scatter = reduce_scatter,
		.group_start = group_start,
		.group_end = group_end,
		.send = send,
		.receive = receive,
		.all_to_all = all_to_all,
	};
}
