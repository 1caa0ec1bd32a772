/* SPDX-License-Identifier: MIT */
/*
 * The C functions of Paddle that kernels need. They are found by name in the library that is
 * running, so that the plugin links with none of its versions.
 */
#ifndef PADDLE_ACCEL_PADDLE_API_H
#define PADDLE_ACCEL_PADDLE_API_H

#include "abi.h"

struct tensor;
struct scalar;
struct kernel_context;
struct device_context;

/* Kinds of arguments of kernels. */
enum argument {
	ARGUMENT_CONTEXT = 0,
	ARGUMENT_TENSOR = 1,
	ARGUMENT_BOOL = 2,
	ARGUMENT_INT64 = 8,
	ARGUMENT_SCALAR = 10,
	ARGUMENT_INT_ARRAY = 11,
	ARGUMENT_TYPE = 12,
};

#define ANY_LAYOUT 0

struct kernel_arguments {
	size_t in_count;
	const enum argument *in;
	size_t attribute_count;
	const enum argument *attributes;
	size_t out_count;
	const enum argument *out;
};

struct paddle_api {
	void (*register_kernel)(const char *name, const char *device_type, enum type type,
				int layout, size_t in_count, const enum argument *in,
				size_t attribute_count, const enum argument *attributes,
				size_t out_count, const enum argument *out,
				void (*define)(const void *key, void *kernel),
				void (*from_context)(struct kernel_context *context),
				void *from_arguments);

	struct device_context *(*device_context)(struct kernel_context *context);
	struct tensor *(*input)(struct kernel_context *context, size_t index);
	struct tensor *(*output)(struct kernel_context *context, size_t index);
	struct scalar *(*scalar)(struct kernel_context *context, size_t index);

	stream_t (*stream)(const struct device_context *context, enum status *status);
	void *(*allocate)(const struct device_context *context, struct tensor *tensor, size_t size,
			  enum type type, enum status *status);

	void *(*data)(const struct tensor *tensor, enum status *status);
	enum type (*type)(const struct tensor *tensor, enum status *status);
	int64_t (*count)(const struct tensor *tensor, enum status *status);
	int64_t (*dims)(const struct tensor *tensor, enum status *status);
	int64_t (*dim)(const struct tensor *tensor, size_t index, enum status *status);
	int64_t (*stride)(const struct tensor *tensor, size_t index, enum status *status);
	void (*set_strides)(struct tensor *tensor, int64_t count, const int64_t *strides,
			    enum status *status);

	double (*to_double)(struct scalar *scalar);
	int64_t (*to_int64)(struct scalar *scalar);
};

/* NULL if the Paddle that is running has not all of them. */
const struct paddle_api *paddle_api_find(void);

/* ---- Events of the profiler ---- */

/* A std::string of libstdc++. Paddle reads the address and the length, and copies. */
struct text {
	const char *at;
	size_t length;
	char local[16];
};

enum event_type {
	EVENT_CALL = 3, /* of the host; Paddle calls it CudaRuntime */
	EVENT_COPY = 5,
	EVENT_SET = 6,
};

/* A call of the host. Times are nanoseconds by CLOCK_REALTIME. */
struct call_event {
	struct text name;
	enum event_type type;
	uint64_t begin, end;
	uint64_t process, thread;
	uint32_t correlation; /* the same as in the event of the device that it caused */
	uint32_t callback;
};

/* Work of a device. Paddle shows only those for which there is a call with the same number. */
struct device_event {
	struct text name;
	enum event_type type;
	uint64_t begin, end;
	uint64_t device, context, stream;
	uint32_t correlation;
	uint64_t size;
	union {
		char kinds[150]; /* of EVENT_COPY: not shown */
		struct {
			char kind[50]; /* not shown */
			uint32_t value;
		} set;
	};
};

_Static_assert(sizeof(struct text) == 32 && sizeof(enum event_type) == 4, "struct text");
_Static_assert(offsetof(struct call_event, type) == 32 &&
	       offsetof(struct call_event, begin) == 40 &&
	       offsetof(struct call_event, correlation) == 72 && sizeof(struct call_event) == 80,
	       "struct call_event");
_Static_assert(offsetof(struct device_event, type) == 32 &&
	       offsetof(struct device_event, begin) == 40 &&
	       offsetof(struct device_event, correlation) == 80 &&
	       offsetof(struct device_event, size) == 88 &&
	       offsetof(struct device_event, set.value) == 148 &&
	       sizeof(struct device_event) == 248,
	       "struct device_event");

struct paddle_profiler_api {
	void (*add_call)(struct profiler *profiler, struct call_event *event);
	void (*add_device)(struct profiler *profiler, struct device_event *event);
};

/* NULL if the Paddle that is running has not both of them. */
const struct paddle_profiler_api *paddle_profiler_api_find(void);

#endif
