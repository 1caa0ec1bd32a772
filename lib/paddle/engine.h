/* SPDX-License-Identifier: MIT */
/*
 * The interface between the plugin and an engine, the library that moves messages between processes.
 * An engine knows host memory only: the plugin copies between it and the device. Valid in C and C++.
 *
 * All functions may be called from any thread. Calls on one communicator do not overlap, except for
 * abort(), and the wait() for a send, of which several may be under way. A function that returns int
 * returns 0 or a negative errno, and keeps a sentence for error(), which is the calling thread's.
 */
#ifndef PADDLE_ACCEL_ENGINE_H
#define PADDLE_ACCEL_ENGINE_H

#include <stddef.h>
#include <stdint.h>

/* The function by which the plugin asks a library for its table, and the version of the table. */
#define ENGINE_SYMBOL "paddle_accel_engine"
#define ENGINE_VERSION 1

/* A unique id of Paddle: as many bytes, whatever the engine is. */
#define ENGINE_ID_SIZE 128

/* Types of elements, with Paddle's numbers. */
enum type {
	TYPE_BOOL = 1,
	TYPE_UINT8,
	TYPE_UINT16,
	TYPE_UINT32,
	TYPE_UINT64,
	TYPE_INT8,
	TYPE_INT16,
	TYPE_INT32,
	TYPE_INT64,
	TYPE_FLOAT16,
	TYPE_FLOAT32,
	TYPE_FLOAT64,
	TYPE_BFLOAT16,
	TYPE_COMPLEX64,
	TYPE_COMPLEX128,
	TYPES,
};

/* Reductions, with Paddle's numbers. */
enum reduction { REDUCE_SUM, REDUCE_AVG, REDUCE_MAX, REDUCE_MIN, REDUCE_PRODUCT, REDUCE_COUNT };

struct engine_comm;
struct engine_request;

/* One side of an exchange with each rank, in the order of ranks. */
struct engine_blocks {
	void *const *at;
	const size_t *sizes; /* bytes; 0: nothing is exchanged with that rank */
};

struct engine {
	uint32_t version;
	const char *name;

	const char *(*error)(void);

	/* Makes an id, in the process that becomes rank 0 of its communicator. */
	int (*make_id)(unsigned char id[ENGINE_ID_SIZE]);
	/* Returns when all ranks have called it. The limit is that of every wait of the communicator. */
	int (*create)(const unsigned char id[ENGINE_ID_SIZE], int rank, int size,
		      unsigned int limit_ms, struct engine_comm **comm);
	/*
	 * Closes the connections: waits of the others fail, also wait() in another thread here, and later ones. An
	 * operation of all ranks that is in progress here may run to its limit.
	 */
	void (*abort)(struct engine_comm *comm);
	/* No call on the communicator is under way. */
	void (*destroy)(struct engine_comm *comm);

	/*
	 * The tag is the same in all ranks for one operation, and different for the operations before
	 * and after it: its highest 8 bits count them. Ranks whose tags differ do not exchange data, and
	 * their waits time out; so do ranks that differ in the size of a block.
	 */
	int (*all_reduce)(struct engine_comm *comm, uint32_t tag, void *data, size_t count,
			  enum type type, enum reduction op);
	/* The data of other ranks than the root is undefined after it. */
	int (*reduce)(struct engine_comm *comm, uint32_t tag, void *data, size_t count,
		      enum type type, enum reduction op, int root);
	/* In has count elements for each rank, which is overwritten; out has count elements. */
	int (*reduce_scatter)(struct engine_comm *comm, uint32_t tag, void *in, void *out,
			      size_t count, enum type type, enum reduction op);
	int (*broadcast)(struct engine_comm *comm, uint32_t tag, void *data, size_t size, int root);
	/* Out has size bytes of each rank. */
	int (*all_gather)(struct engine_comm *comm, uint32_t tag, void *in, void *out, size_t size);
	int (*all_to_all)(struct engine_comm *comm, uint32_t tag, const struct engine_blocks *in,
			  const struct engine_blocks *out);

	/* The memory is the engine's until wait() has returned, which ends the request in any case. */
	int (*send)(struct engine_comm *comm, uint64_t tag, const void *data, size_t size, int to,
		    struct engine_request **request);
	int (*receive)(struct engine_comm *comm, uint64_t tag, void *data, size_t size, int from,
		       struct engine_request **request);
	int (*wait)(struct engine_request *request);
};

typedef const struct engine *(*engine_function)(void);

#endif
