/* SPDX-License-Identifier: MIT */
/*
 * The contract of include/uapi/linux/paccel.h as tables: a valid call of each command, and deviations
 * from it with the errno that each is answered with. The same tests run over the driver and over
 * the mock of the unit tests.
 */
#ifndef CONTRACT_H
#define CONTRACT_H

#include "../unit/tap.h"
#include "target.h"

#include <linux/paccel.h>
#include <sys/resource.h>

#define BLOCK 256
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* What the valid calls need around them. */
struct world {
	int fd;
	struct paccel_device_info info;
	uint64_t mem; /* BLOCK bytes of device memory, and its dma-buf */
	int dmabuf;
	uint8_t *host; /* a page */
	uint64_t *own; /* a page of HOST_ALLOC, and its offset */
	uint64_t own_offset;
	uint32_t stream; /* whose point 1 is complete */
	/* Of SUBMIT and WAIT, with room for what a larger struct would have behind it. */
	struct paccel_op op;
	uint8_t behind_op[8];
	struct paccel_point point;
	uint8_t behind_point[8];
	int eventfd;
	/* What a test has taken beside it, 0 for none: undone by world_close(). */
	struct {
		int fd, fence;
		void *range;
		void *mapped; /* a page of device memory */
		uint32_t stream;
		/* The limit of file descriptors, to be set again. */
		rlim_t files;
		bool quota;
	} extra;
	/* What was in use before: nothing more is afterwards. */
	struct paccel_mem_stats before;
	long locked_at_first, locked;
	unsigned int streams, files;
};

void world_open(struct world *w);
/* Checks that the test has left nothing behind. */
void world_close(struct world *w);

union argument {
	uint32_t size;
	uint8_t bytes[512];
	struct {
		uint32_t unused, flags;
	} any;
	struct paccel_device_info info;
	struct paccel_mem_alloc mem_alloc;
	struct paccel_mem_free mem_free;
	struct paccel_mem_stats stats;
	struct paccel_mem_export mem_export;
	struct paccel_mem_import mem_import;
	struct paccel_host_alloc host_alloc;
	struct paccel_host_register host_register;
	struct paccel_host_free host_free;
	struct paccel_copy copy;
	struct paccel_fill fill;
	struct paccel_stream_create stream_create;
	struct paccel_stream_destroy stream_destroy;
	struct paccel_stream_clear stream_clear;
	struct paccel_submit submit;
	struct paccel_wait wait;
	struct paccel_fence_export fence_export;
	struct paccel_reset reset;
};

struct command {
	const char *name;
	unsigned long request;
	uint32_t size;
	/* Makes a call that succeeds. */
	void (*prepare)(struct world *w, union argument *c);
	/* After the call has succeeded, and after it was refused. */
	void (*undo)(struct world *w, union argument *c);
	void (*drop)(struct world *w, union argument *c);
	bool any_caller; /* read-only files, other processes, lost contexts */
	bool replies;
	uint32_t known_flags;
	size_t reserved; /* offset of a reserved __u32, 0 for none */
};

extern const struct command commands[];
extern const size_t nr_commands;
const struct command *command_named(const char *name);
/* 0 or an errno; reports a struct that a call which failed has changed. */
int command_call(int fd, const struct command *command, union argument *c);
/* The same for a struct of this size. */
int command_call_sized(int fd, const struct command *command, void *c, uint32_t size);
/* A zeroed struct with its size, made valid. */
void command_prepare(struct world *w, const struct command *command, union argument *c);

/**
 * struct test - one line of TAP
 * @about: name of a command; "mmap" or "general" for what stands in the text of these
 * @name: of the test
 * @err: the errno that it provokes, 0 for none
 * @run: the test
 * @each: it runs for each command, the one in @command
 * @alone: it runs in a child, which may lose what it cannot get back
 * @unless: bits of enum paccel_cap with which the call succeeds
 * @offset: of the field that deviates, in union argument
 * @bytes: size of that, 0 if none does
 * @value: of the field
 * @in_op: it is about operation 0 of SUBMIT, and @offset is that in struct paccel_op
 * @begin: changes the valid call
 * @deviate: makes the deviation
 * @breaks: more than the structs deviates: the valid call is not expected to succeed afterwards
 */
struct test {
	const char *about, *name;
	int err;
	void (*run)(const struct test *test, const struct command *command);
	bool each, alone, breaks, in_op;
	uint32_t unless;
	size_t offset, bytes;
	uint64_t value;
	void (*begin)(struct world *w, union argument *c);
	void (*deviate)(struct world *w, union argument *c);
};

extern const struct test rules[], refusals[], stream_refusals[], maps[], queues[];
extern const size_t nr_rules, nr_refusals, nr_stream_refusals, nr_maps, nr_queues;

/* Errors that are documented and not provoked here, but by the tests in this file. */
struct elsewhere {
	const char *about;
	int err;
	const char *file;
	const char *test; /* or the function that it calls */
};
extern const struct elsewhere elsewhere[];
extern const size_t nr_elsewhere;

/* ---- What tests call; each aborts the program if it fails ---- */

#define MUST(condition) \
	do { \
		if (!(condition)) { \
			printf("Bail out! %s:%d: %s (errno %d)\n", __func__, __LINE__, #condition, \
			       errno); \
			exit(1); \
		} \
	} while (0)

#define PAGE 4096ul

uint64_t mem_alloc(int fd, uint64_t length);
void mem_free(int fd, uint64_t addr, uint64_t length);
int mem_export(int fd, uint32_t kind, uint64_t addr);
uint64_t host_alloc(int fd, uint64_t length);
void host_register(int fd, const void *addr, uint64_t length, uint32_t flags);
void host_free(int fd, const void *addr, uint64_t offset);
uint32_t stream_create(int fd);
void stream_destroy(int fd, uint32_t stream);
/* The point. */
uint64_t submit(struct world *w, uint32_t stream, struct paccel_op op);
/* How the point has ended, which is waited for: 0 or an errno. */
int outcome(int fd, uint32_t stream, uint64_t point);
/* As outcome(), but ETIME if the point has not ended by @deadline_ns (CLOCK_MONOTONIC). */
int outcome_by(int fd, uint32_t stream, uint64_t point, uint64_t deadline_ns);
struct paccel_mem_stats mem_stats_of(int fd);
struct paccel_op op_write(const uint64_t *to, uint64_t value);
struct paccel_op op_fence(int fd);
struct paccel_op op_wait(uint32_t stream, uint64_t point);

/* Anonymous pages; bytes before a page that cannot be accessed. */
void *pages_map(size_t pages);
void *pages_guard(size_t bytes);
/* In a child: what @part returns, an errno or 0. */
int errno_in_child(int (*part)(void *arg), void *arg);

#endif
