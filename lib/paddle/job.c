/* SPDX-License-Identifier: MIT */
/*
 * Runs operations: copies from the device to staging memory, lets the engine exchange it, and copies the
 * results back. A job is one operation, or all of a group. It runs in a callback of its stream, so that the
 * work before it has completed, and the work behind it waits; it does not wait for the end of a single send.
 *
 * An error closes the connections of all communicators of the job: the other ranks get an error
 * too, and do not wait until their time is over. That of a send in the background leaves it to the next call.
 */
#include "private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
	[OP_ALL_REDUCE] = "all_reduce", [OP_BROADCAST] = "broadcast",
	[OP_REDUCE] = "reduce",		[OP_ALL_GATHER] = "all_gather",
	[OP_REDUCE_SCATTER] = "reduce_scatter", [OP_ALL_TO_ALL] = "all_to_all",
	[OP_SEND] = "send",		[OP_RECEIVE] = "receive",
};

void job_free(struct job *job)
{
	for (size_t i = 0; i < job->count; i++)
		free(job->ops[i].blocks);
	free(job->ops);
	free(job);
}

/* ---- Between device and staging memory ---- */

static int load(struct device *device, const struct op *op, size_t size)
{
	return accel_memory_copy_d2h(device->dev, op->in.at, op->send, size);
}

static int store(struct device *device, const struct op *op, const struct staging *from, size_t size)
{
	return accel_memory_copy_h2d(device->dev, op->receive, from->at, size);
}

/* The sentence of libaccel is in the thread, that of the engine has to be fetched. */
static int engine_result(const struct op *op, int err)
{
	if (!err)
		return 0;
	return plugin_fail(err, "communicator %s: %s", op->comm->name, op->comm->engine->error());
}

/* ---- Operations that all ranks run ---- */

static int run_in_place(struct device *device, struct op *op)
{
	const struct engine *engine = op->comm->engine;
	struct engine_comm *comm = op->comm->connected;
	bool is_root = op->comm->rank == op->peer;
	uint32_t tag = (uint32_t)op->tag;
	int err = staging_get(device, op->size, &op->in);

	if (!err && (op->kind != OP_BROADCAST || is_root))
		err = load(device, op, op->size);
	if (err)
		return err;
	if (op->kind == OP_BROADCAST)
		err = engine->broadcast(comm, tag, op->in.at, op->size, op->peer);
	else if (op->kind == OP_REDUCE)
		err = engine->reduce(comm, tag, op->in.at, op->count, op->type, op->reduction,
				     op->peer);
	else
		err = engine->all_reduce(comm, tag, op->in.at, op->count, op->type, op->reduction);
	if (err)
		return engine_result(op, err);
	if (op->kind == OP_ALL_REDUCE || is_root == (op->kind == OP_REDUCE))
		err = store(device, op, &op->in, op->size);
	return err;
}

/* With different sizes on both sides. */
static int run_gather(struct device *device, struct op *op)
{
	const struct engine *engine = op->comm->engine;
	size_t all = op->size * (size_t)op->comm->size;
	bool gathers = op->kind == OP_ALL_GATHER;
	size_t in = gathers ? op->size : all, out = gathers ? all : op->size;
	uint32_t tag = (uint32_t)op->tag;
	int err = staging_get(device, in, &op->in);

	if (!err)
		err = staging_get(device, out, &op->out);
	if (!err)
		err = load(device, op, in);
	if (err)
		return err;
	if (gathers)
		err = engine->all_gather(op->comm->connected, tag, op->in.at, op->out.at, op->size);
	else
		err = engine->reduce_scatter(op->comm->connected, tag, op->in.at, op->out.at,
					     op->count, op->type, op->reduction);
	return err ? engine_result(op, err) : store(device, op, &op->out, out);
}

/* Where each block is in the staging memory. */
struct layout {
	void **in_at, **out_at;
	size_t *in_sizes, *out_sizes;
	size_t in_size, out_size;
};

static void layout_free(struct layout *layout)
{
	free(layout->in_at);
	free(layout->out_at);
	free(layout->in_sizes);
	free(layout->out_sizes);
}

static int layout_make(struct layout *layout, const struct op *op)
{
	size_t ranks = (size_t)op->comm->size;

	*layout = (struct layout){ calloc(ranks, sizeof(void *)), calloc(ranks, sizeof(void *)),
				   calloc(ranks, sizeof(size_t)), calloc(ranks, sizeof(size_t)),
				   0, 0 };
	if (!layout->in_at || !layout->out_at || !layout->in_sizes || !layout->out_sizes)
		return plugin_fail(-ENOMEM, "out of memory");
	for (size_t i = 0; i < ranks; i++) {
		layout->in_size += layout->in_sizes[i] = op->blocks[i].send_size;
		layout->out_size += layout->out_sizes[i] = op->blocks[i].receive_size;
	}
	return 0;
}

static int load_blocks(struct device *device, struct op *op, struct layout *layout)
{
	char *in = op->in.at, *out = op->out.at;
	int err = 0;

	for (int i = 0; !err && i < op->comm->size; i++) {
		const struct op_block *block = &op->blocks[i];

		layout->in_at[i] = in;
		layout->out_at[i] = out;
		if (block->send_size)
			err = accel_memory_copy_d2h(device->dev, in, block->send, block->send_size);
		in += block->send_size;
		out += block->receive_size;
	}
	return err;
}

static int store_blocks(struct device *device, const struct op *op, const struct layout *layout)
{
	int err = 0;

	for (int i = 0; !err && i < op->comm->size; i++) {
		const struct op_block *block = &op->blocks[i];

		if (block->receive_size)
			err = accel_memory_copy_h2d(device->dev, block->receive, layout->out_at[i],
						    block->receive_size);
	}
	return err;
}

static int run_all_to_all(struct device *device, struct op *op)
{
	struct layout layout;
	int err = layout_make(&layout, op);

	if (!err)
		err = staging_get(device, layout.in_size, &op->in);
	if (!err)
		err = staging_get(device, layout.out_size, &op->out);
	if (!err)
		err = load_blocks(device, op, &layout);
	if (!err) {
		struct engine_blocks in = { layout.in_at, layout.in_sizes };
		struct engine_blocks out = { layout.out_at, layout.out_sizes };

		err = engine_result(op, op->comm->engine->all_to_all(op->comm->connected,
								     (uint32_t)op->tag, &in, &out));
	}
	if (!err)
		err = store_blocks(device, op, &layout);
	layout_free(&layout);
	return err;
}

static int run_collective(struct device *device, struct op *op)
{
	switch (op->kind) {
	case OP_ALL_REDUCE:
	case OP_BROADCAST:
	case OP_REDUCE:
		return run_in_place(device, op);
	case OP_ALL_GATHER:
	case OP_REDUCE_SCATTER:
		return run_gather(device, op);
	default:
		return run_all_to_all(device, op);
	}
}

/* ---- Messages from one rank to another one ---- */

static bool is_message(const struct op *op)
{
	return op->kind == OP_SEND || op->kind == OP_RECEIVE;
}

static bool is_to_itself(const struct op *op)
{
	return op->peer == op->comm->rank;
}

static int start(struct device *device, struct op *op)
{
	const struct engine *engine = op->comm->engine;
	int err = staging_get(device, op->size, &op->in);

	if (!err && op->kind == OP_SEND)
		err = load(device, op, op->size);
	if (err)
		return err;
	if (op->kind == OP_SEND)
		err = engine->send(op->comm->connected, op->tag, op->in.at, op->size, op->peer,
				   &op->request);
	else
		err = engine->receive(op->comm->connected, op->tag, op->in.at, op->size, op->peer,
				      &op->request);
	return engine_result(op, err);
}

static int finish(struct device *device, struct op *op)
{
	struct engine_request *request = op->request;
	int err;

	op->request = NULL;
	err = engine_result(op, op->comm->engine->wait(request));
	if (!err && op->kind == OP_RECEIVE)
		err = store(device, op, &op->in, op->size);
	return err;
}

/* The other side of a message of a rank to itself: NULL if the job has none. */
static const struct op *other_side(const struct job *job, const struct op *op)
{
	enum op_kind wanted = op->kind == OP_SEND ? OP_RECEIVE : OP_SEND;

	for (size_t i = 0; i < job->count; i++) {
		const struct op *other = &job->ops[i];

		if (other->kind == wanted && is_to_itself(other) && other->comm == op->comm &&
		    other->tag == op->tag)
			return other;
	}
	return NULL;
}

static int copy_to_itself(struct device *device, const struct job *job, const struct op *op)
{
	const struct op *other = other_side(job, op);
	bool sends = op->kind == OP_SEND;

	if (!other)
		return plugin_fail(-EINVAL, "rank %d %s itself %zu bytes that it does not %s", op->comm->rank,
				   sends ? "sends" : "receives from", op->size, sends ? "receive" : "send");
	if (sends || other->send == op->receive)
		return 0;
	return accel_memory_copy_d2d(device->dev, op->receive, other->send, op->size);
}

/* ---- All of a job ---- */

static int start_messages(struct device *device, struct job *job)
{
	int err = 0;

	for (size_t i = 0; !err && i < job->count; i++) {
		struct op *op = &job->ops[i];

		if (is_message(op))
			err = is_to_itself(op) ? copy_to_itself(device, job, op) : start(device, op);
	}
	return err;
}

static int run_collectives(struct device *device, struct job *job)
{
	int err = 0;

	for (size_t i = 0; !err && i < job->count; i++)
		if (!is_message(&job->ops[i]))
			err = run_collective(device, &job->ops[i]);
	return err;
}

/* With an error each request still has to end, which it does at once: the connections are closed. */
static int finish_messages(struct device *device, struct job *job)
{
	int err = 0;

	for (size_t i = 0; !err && i < job->count; i++)
		if (job->ops[i].request)
			err = finish(device, &job->ops[i]);
	return err;
}

static void give_up(struct job *job, int err)
{
	for (size_t i = 0; i < job->count; i++)
		comm_break(job->ops[i].comm, err);
	for (size_t i = 0; i < job->count; i++) {
		struct op *op = &job->ops[i];

		if (op->request)
			op->comm->engine->wait(op->request);
		op->request = NULL;
	}
}

/* libaccel says of a timeout that it was the device's. */
static int device_error(int err)
{
	return err == -ETIMEDOUT ? -ECONNABORTED : err;
}

static int check_comms(const struct job *job)
{
	for (size_t i = 0; i < job->count; i++) {
		struct comm *comm = job->ops[i].comm;
		int err = comm_error(comm);

		if (err)
			return plugin_fail(err, "communicator %s has failed before", comm->name);
	}
	return 0;
}

static int begin(struct device *device, struct job *job, int err)
{
	if (err)
		return plugin_fail(err, "work before it failed: %s", accel_strerror(err));
	err = check_comms(job);
	return err ? err : start_messages(device, job);
}

int job_finish(struct job *job)
{
	int err = run_collectives(job->entered, job);

	return err ? err : finish_messages(job->entered, job);
}

void job_fail(struct job *job, int err)
{
	err = device_error(err);
	plugin_complain(names[job->ops[0].kind], err);
	for (size_t i = 0; i < job->count; i++)
		comm_fail(job->ops[i].comm, job->entered, err);
}

void job_end(struct job *job)
{
	struct device *device = job->entered;

	for (size_t i = 0; i < job->count; i++) {
		staging_put(device, &job->ops[i].in);
		staging_put(device, &job->ops[i].out);
	}
	plugin_trace("accel:%d job of %zu, %s", job->device, job->count, names[job->ops[0].kind]);
	plugin_leave();
	for (size_t i = 0; i < job->count; i++)
		comm_done(job->ops[i].comm);
	job_free(job);
}

static void cancel(struct job *job)
{
	for (size_t i = 0; i < job->count; i++)
		comm_break(job->ops[i].comm, -ECANCELED);
	for (size_t i = 0; i < job->count; i++)
		comm_done(job->ops[i].comm);
	job_free(job);
}

static bool is_lone_send(const struct job *job)
{
	return job->count == 1 && job->ops[0].kind == OP_SEND && job->ops[0].request;
}

void job_run(struct job *job, int err)
{
	struct place place = { job->device };

	job->entered = plugin_enter("collective", &place);
	if (!job->entered) {
		cancel(job);
		return;
	}
	err = begin(job->entered, job, err);
	if (!err && is_lone_send(job)) {
		background_finish(job);
		return;
	}
	if (!err)
		err = job_finish(job);
	if (err) {
		job_fail(job, err);
		give_up(job, err);
	}
	job_end(job);
}
