/* SPDX-License-Identifier: MIT */
/*
 * The calls that a program of the fuzzer consists of. Each takes an array of arguments and returns
 * a value, or a negative errno. A program that text.c writes as C calls the same functions.
 */
#ifndef PACCEL_FUZZ_CALLS_H
#define PACCEL_FUZZ_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t u64;
typedef uint32_t u32;
typedef uint16_t u16;
typedef uint8_t u8;

#define CALLS(X)                                                               \
	/* calls_machine.c: files, mappings, processes, devices */             \
	X(open) X(dup) X(close) X(poll) X(fork) X(kill) X(timer)               \
	X(buffer) X(touch) X(unmap) X(protect) X(advise) X(remap)              \
	X(read_attribute) X(rebind) X(replug) X(order) X(quota) X(verify)      \
	/* calls_memory.c */                                                   \
	X(device_info) X(mem_alloc) X(mem_free) X(mem_stats) X(host_alloc)     \
	X(host_map) X(host_register) X(host_free) X(host_free_offset) X(copy)  \
	X(copy_inside) X(fill) X(map_device) X(reset) X(command)               \
	/* calls_stream.c */                                                   \
	X(stream_create) X(stream_destroy) X(stream_clear) X(map_page)         \
	X(op_copy) X(op_inside) X(op_fill) X(op_wait) X(op_fence) X(op_event)  \
	X(op_write) X(op_time) X(submit) X(point) X(wait) X(fence_export)      \
	X(eventfd) X(read_event)                                               \
	/* calls_share.c */                                                    \
	X(mem_export) X(host_export) X(mem_import) X(host_dmabuf)              \
	X(map_dmabuf) X(dmabuf_sync) X(sync_of) X(sync_into) X(merge)          \
	X(sync_info) X(udmabuf) X(heap) X(timeline) X(timeline_fence)          \
	X(timeline_step) X(give_dmabuf) X(take_dmabuf) X(give_sync)            \
	X(take_sync)

enum call_kind {
#define X(name) CALL_##name,
	CALLS(X)
#undef X
	NR_CALLS,
};

#define X(name) long call_##name(const u64 *a);
CALLS(X)
#undef X

/* In a printed program: CALL(mem_alloc, r[0], 0, 4096, 0). */
#define CALL(name, ...) ((u64)call_##name((const u64[8]){ __VA_ARGS__ }))

/* The result of an absent argument. */
#define NO_RESULT (~0ull)

/* A call of the fuzzer's own has failed, with errno. */
void fuzz_abort(const char *what) __attribute__((noreturn));

/* Once, in the process whose children run programs. Returns how many devices there are. */
unsigned int calls_init(void);
/* All privileges but access to files are dropped, so that RLIMIT_MEMLOCK holds. */
void calls_drop_privileges(void);
/* The end of a program: children are killed, files closed, mappings removed. */
void calls_clean_up(void);
/* Whether the device works once its faults are cleared and it is plugged, bound and reset. */
bool calls_mend(u64 device);
/* What the calling thread has gathered for SUBMIT and WAIT. */
void calls_forget(void);
/* True in a child of call_fork(). */
bool calls_in_child(void);
/* Between these two the @nth allocation or user copy of this thread that can fail does. */
void calls_fail_nth(unsigned int nth);
void calls_fail_none(void);

/* Between the files of calls. */
#define ARENA ((char *)0x100000000000)
#define ARENA_SLOT (16ul << 20)
/*
 * Mappings of programs are at addresses of their own: what a program writes to an address that it
 * has unmapped can hit mappings of programs only.
 */
void *arena_address(void);
/* mmap() there: the address, or a negative errno. */
long arena_map(size_t length, int prot, int flags, int fd, u64 offset);
/* The mailboxes of give and take. */
void share_init(void);
/* True if this kernel has sw_sync. */
bool share_has_timelines(void);
/* What a system call has returned, or a negative errno. */
int call_result(int rc);

#endif
