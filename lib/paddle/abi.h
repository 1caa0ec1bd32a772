/* SPDX-License-Identifier: MIT */
/*
 * The binary interface of PaddlePaddle's CustomDevice plugins, as far as it is the same in all
 * releases that we know: to byte 472 of the table of functions. What follows there differs, and
 * is left alone. Paddle's own header is C++, so this is a declaration of our own; the asserts
 * below are what it promises. 64-bit only, as Paddle is.
 */
#ifndef PADDLE_ACCEL_ABI_H
#define PADDLE_ACCEL_ABI_H

#include "engine.h"

#include <stddef.h>
#include <stdint.h>

enum status {
	STATUS_SUCCESS = 0,
	STATUS_WARNING = 1, /* Paddle takes it for a failure, as all that follow */
	STATUS_FAILED = 2, /* something is exhausted; of a query: not yet */
	STATUS_ERROR = 3, /* an argument is wrong, or the call comes at the wrong time */
	STATUS_INTERNAL = 4, /* the device */
};

/* What Paddle calls a device. */
struct place {
	int id;
};

/* Streams and events of Paddle: handles of libaccel. */
typedef struct accel_stream *stream_t;
typedef struct accel_event *event_t;

typedef void (*callback_t)(struct place *device, stream_t stream, void *data, enum status *status);

struct interface {
	size_t size;

	enum status (*initialize)(void);
	enum status (*finalize)(void);
	enum status (*init_device)(struct place *device);
	enum status (*set_device)(struct place *device);
	enum status (*get_device)(struct place *device);
	enum status (*deinit_device)(struct place *device);
	enum status (*create_stream)(struct place *device, stream_t *stream);
	enum status (*destroy_stream)(struct place *device, stream_t stream);
	enum status (*query_stream)(struct place *device, stream_t stream);
	enum status (*stream_add_callback)(struct place *device, stream_t stream,
					   callback_t callback, void *data);
	enum status (*create_event)(struct place *device, event_t *event);
	enum status (*record_event)(struct place *device, stream_t stream, event_t event);
	enum status (*destroy_event)(struct place *device, event_t event);
	enum status (*query_event)(struct place *device, event_t event);
	enum status (*synchronize_device)(struct place *device);
	enum status (*synchronize_stream)(struct place *device, stream_t stream);
	enum status (*synchronize_event)(struct place *device, event_t event);
	enum status (*stream_wait_event)(struct place *device, stream_t stream, event_t event);
	void *reserved_device[8];

	enum status (*device_memory_allocate)(struct place *device, void **ptr, size_t size);
	enum status (*device_memory_deallocate)(struct place *device, void *ptr, size_t size);
	enum status (*device_memory_set)(struct place *device, void *ptr, unsigned char value,
					 size_t size);
	enum status (*host_memory_allocate)(struct place *device, void **ptr, size_t size);
	enum status (*host_memory_deallocate)(struct place *device, void *ptr, size_t size);
	enum status (*unified_memory_allocate)(struct place *device, void **ptr, size_t size);
	enum status (*unified_memory_deallocate)(struct place *device, void *ptr, size_t size);
	enum status (*memory_copy_h2d)(struct place *device, void *dst, const void *src,
				       size_t size);
	enum status (*memory_copy_d2h)(struct place *device, void *dst, const void *src,
				       size_t size);
	enum status (*memory_copy_d2d)(struct place *device, void *dst, const void *src,
				       size_t size);
	enum status (*memory_copy_p2p)(struct place *dst_device, struct place *src_device,
				       void *dst, const void *src, size_t size);
	enum status (*async_memory_copy_h2d)(struct place *device, stream_t stream, void *dst,
					     const void *src, size_t size);
	enum status (*async_memory_copy_d2h)(struct place *device, stream_t stream, void *dst,
					     const void *src, size_t size);
	enum status (*async_memory_copy_d2d)(struct place *device, stream_t stream, void *dst,
					     const void *src, size_t size);
	enum status (*async_memory_copy_p2p)(struct place *dst_device, struct place *src_device,
					     stream_t stream, void *dst, const void *src,
					     size_t size);
	void *reserved_memory[8];

	enum status (*get_device_count)(size_t *count);
	enum status (*get_device_list)(size_t *list);
	enum status (*device_memory_stats)(struct place *device, size_t *total, size_t *free);
	enum status (*device_min_chunk_size)(struct place *device, size_t *size);
	enum status (*device_max_chunk_size)(struct place *device, size_t *size);
	enum status (*device_max_alloc_size)(struct place *device, size_t *size);
	enum status (*device_extra_padding_size)(struct place *device, size_t *size);
	enum status (*device_init_alloc_size)(struct place *device, size_t *size);
	enum status (*device_realloc_size)(struct place *device, size_t *size);
};

/* An event collector of Paddle, in C++. */
struct profiler;

/* What a profiler of Paddle calls, in this order. Where the table has it depends on the release. */
struct profiler_interface {
	enum status (*initialize)(struct profiler *profiler, void **data);
	enum status (*finalize)(struct profiler *profiler, void *data);
	enum status (*prepare_tracing)(struct profiler *profiler, void *data);
	enum status (*start_tracing)(struct profiler *profiler, void *data);
	enum status (*stop_tracing)(struct profiler *profiler, void *data);
	enum status (*collect_trace_data)(struct profiler *profiler, uint64_t start_ns, void *data);
};

/* What Paddle calls an id: bytes of the plugin. */
struct unique_id {
	size_t size;
	void *data;
};

/* A communicator of Paddle. */
struct comm;

/*
 * Collectives. Where the table has them depends on the release; older ones lack the first or the last.
 * Types of elements and reductions are those of engine.h.
 */
struct collective_interface {
	enum status (*get_comm_name)(struct comm *comm, char *name);
	enum status (*get_unique_id_size)(size_t *size);
	enum status (*get_unique_id)(struct unique_id *id);
	enum status (*comm_init_rank)(size_t ranks, struct unique_id *id, size_t rank,
				      struct comm **comm);
	enum status (*destroy_comm)(struct comm *comm);
	enum status (*all_reduce)(void *send, void *receive, size_t count, enum type type,
				  enum reduction op, struct comm *comm, stream_t stream);
	enum status (*broadcast)(void *data, size_t count, enum type type, size_t root,
				 struct comm *comm, stream_t stream);
	enum status (*reduce)(void *send, void *receive, size_t count, enum type type,
			      enum reduction op, size_t root, struct comm *comm, stream_t stream);
	enum status (*all_gather)(void *send, void *receive, size_t count, enum type type,
				  struct comm *comm, stream_t stream);
	enum status (*reduce_scatter)(void *send, void *receive, size_t count, enum type type,
				      enum reduction op, struct comm *comm, stream_t stream);
	enum status (*group_start)(void);
	enum status (*group_end)(void);
	enum status (*send)(void *data, size_t count, enum type type, size_t to,
			    struct comm *comm, stream_t stream);
	enum status (*receive)(void *data, size_t count, enum type type, size_t from,
			       struct comm *comm, stream_t stream);
	enum status (*all_to_all)(const void **send, const size_t *send_counts,
				  const enum type *send_types, void **receive,
				  const size_t *receive_counts,
				  const enum type *receive_types, size_t rank, size_t ranks,
				  struct comm *comm, stream_t stream);
};

struct version {
	size_t major;
	size_t minor;
	size_t patch;
};

/* Behind it, from 3.0 on, is a pointer to something of C++, which is not ours to touch. */
struct params {
	size_t size;
	struct interface *interface;
	struct version version;
	char *device_type;
	char *sub_device_type;
};

/* The smallest that are known. */
#define PARAMS_MIN_SIZE 88
#define INTERFACE_MIN_SIZE 904

#define AT(type, member, offset) \
	_Static_assert(offsetof(struct type, member) == (offset), #type "." #member)

_Static_assert(sizeof(void *) == 8 && sizeof(size_t) == 8 && sizeof(enum status) == 4, "LP64");
_Static_assert(sizeof(struct place) == 4, "struct place");

AT(version, major, 0);
AT(version, minor, 8);
AT(version, patch, 16);
_Static_assert(sizeof(struct version) == 24, "struct version");

AT(params, size, 0);
AT(params, interface, 8);
AT(params, version, 16);
AT(params, device_type, 40);
AT(params, sub_device_type, 48);
_Static_assert(sizeof(struct params) == 56, "struct params");

AT(interface, size, 0);
AT(interface, initialize, 8);
AT(interface, finalize, 16);
AT(interface, init_device, 24);
AT(interface, set_device, 32);
AT(interface, get_device, 40);
AT(interface, deinit_device, 48);
AT(interface, create_stream, 56);
AT(interface, destroy_stream, 64);
AT(interface, query_stream, 72);
AT(interface, stream_add_callback, 80);
AT(interface, create_event, 88);
AT(interface, record_event, 96);
AT(interface, destroy_event, 104);
AT(interface, query_event, 112);
AT(interface, synchronize_device, 120);
AT(interface, synchronize_stream, 128);
AT(interface, synchronize_event, 136);
AT(interface, stream_wait_event, 144);
AT(interface, reserved_device, 152);
AT(interface, device_memory_allocate, 216);
AT(interface, device_memory_deallocate, 224);
AT(interface, device_memory_set, 232);
AT(interface, host_memory_allocate, 240);
AT(interface, host_memory_deallocate, 248);
AT(interface, unified_memory_allocate, 256);
AT(interface, unified_memory_deallocate, 264);
AT(interface, memory_copy_h2d, 272);
AT(interface, memory_copy_d2h, 280);
AT(interface, memory_copy_d2d, 288);
AT(interface, memory_copy_p2p, 296);
AT(interface, async_memory_copy_h2d, 304);
AT(interface, async_memory_copy_d2h, 312);
AT(interface, async_memory_copy_d2d, 320);
AT(interface, async_memory_copy_p2p, 328);
AT(interface, reserved_memory, 336);
AT(interface, get_device_count, 400);
AT(interface, get_device_list, 408);
AT(interface, device_memory_stats, 416);
AT(interface, device_min_chunk_size, 424);
AT(interface, device_max_chunk_size, 432);
AT(interface, device_max_alloc_size, 440);
AT(interface, device_extra_padding_size, 448);
AT(interface, device_init_alloc_size, 456);
AT(interface, device_realloc_size, 464);
_Static_assert(sizeof(struct interface) == 472, "struct interface");
_Static_assert(sizeof(struct profiler_interface) == 48, "struct profiler_interface");
_Static_assert(sizeof(struct collective_interface) == 120, "struct collective_interface");

#undef AT

#endif
