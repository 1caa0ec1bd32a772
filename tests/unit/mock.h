/* SPDX-License-Identifier: MIT */
/*
 * A model of the driver behind the system calls of libaccel: what include/uapi/linux/paccel.h
 * promises, on cards that are arrays. The calls are caught at link time (--wrap), or with
 * LD_PRELOAD for whole programs.
 */
#ifndef MOCK_H
#define MOCK_H

#include <linux/paccel.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MOCK_CARDS 8
#define MOCK_SIZE 4032
#define MOCK_GRANULE 64
#define MOCK_BASE (1ull << 32)
#define MOCK_HOST_MAX (1ull << 30)
#define MOCK_HOST_RANGES 16
#define MOCK_STREAMS 8
#define MOCK_OPS 32
#define MOCK_QUEUED 64
#define MOCK_QUEUED_ALL 128
#define MOCK_POINTS 8
#define MOCK_ALIGN_MAX (2u << 20)

/* Forgets everything: the driver is loaded, there is no card, nothing fails. */
void mock_reset(void);

/* A card at /dev/paccel<node>, of 4032 bytes unless mock_add_sized(). */
void mock_add(unsigned int node);
void mock_add_sized(unsigned int node, uint64_t size, uint64_t model_bytes);
/* A card like ring: mappable, so that size and granules are whole pages; it verifies; four engines. */
void mock_add_mappable(unsigned int node, uint64_t size);
/* Pulls the card: every call on its files is -ENODEV, copies that are held end. */
void mock_remove(unsigned int node);
/* A reset that loses the memory of all contexts that are open. */
void mock_lose(unsigned int node);
void mock_quota(unsigned int node, uint64_t bytes);
/* Jobs that a stream can have queued; a file can have twice as many. MOCK_QUEUED at first. */
void mock_queued_max(unsigned int jobs);
/* What the card says that its granule is; that of the model stays as it is. */
void mock_granule(unsigned int node, uint64_t bytes);
/* Bytes that a failed scrub has quarantined. */
void mock_set_aside(unsigned int node, uint64_t bytes);
/* Cards that can be mapped reach each other's memory, or do not, which is how it begins. */
void mock_peers(bool reach);
/* Whether the process has CAP_SYS_ADMIN; at first it has. */
void mock_admin(bool admin);
/* Copies and exports of device memory stop in flight; wait until so many are; let them go on. */
void mock_hold(unsigned int node);
/* The next copy, or operation of a stream, stops in flight until a RESET: other engines go on. */
void mock_stall(unsigned int node);
void mock_wait_held(unsigned int node, unsigned int copies);
void mock_release(unsigned int node);

/* The driver's clock is ahead of this process's, as in a time namespace. */
void mock_clock_shift(int64_t ns);
void mock_unload(void);
/* A fence of another driver: a sync_file, and its end. */
int mock_fence(void);
void mock_fence_signal(int fd, int err);
/* A dma-buf of another driver; its contents are those of the file. */
int mock_dmabuf(size_t size);
/* The next memory of a device file that is mapped replaces what is mapped at this address. */
void mock_map_at(void *addr);
/* Copies inside the card get one bit wrong. */
void mock_corrupt(unsigned int node);
/* The node belongs to another driver: every command is -ENOTTY. */
void mock_foreign(unsigned int node);

/* The nth next call of a command (PACCEL_NR_*), system call, or copy or fill of a stream fails. */
enum { MOCK_OPEN = 64, MOCK_MMAP, MOCK_OPENDIR, MOCK_OPERATION, MOCK_CLOSE };
void mock_fail(unsigned int what, unsigned int nth, int err);
/* Once, in the thread that makes this call, before anything else; not for MOCK_OPERATION. */
void mock_before(unsigned int nr, void (*fn)(void));
/* The same for copies and fills of streams of one card. */
void mock_fail_operation(unsigned int node, unsigned int nth, int err);
/* Until a command was called so often, and until no stream can go on. */
void mock_wait_calls(unsigned int nr, unsigned int count);
void mock_wait_idle(void);

/* How often a command was called, and what the last call was given. */
unsigned int mock_calls(unsigned int nr);
unsigned int mock_all_calls(void);
const void *mock_last(unsigned int nr);
#define MOCK_LAST(type, nr) ((const struct type *)mock_last(nr))

/* Contents of device memory, by device address. */
uint8_t *mock_memory(unsigned int node, uint64_t addr);
unsigned int mock_files(void);
/* Host ranges and streams that all files of a card have. */
unsigned int mock_host_ranges(unsigned int node);
unsigned int mock_streams(unsigned int node);
/* Flags of the last open. */
int mock_open_flags(void);
int mock_last_fd(void);

/* For mock_sys.c. */
int mock_sys_open(const char *path, int flags, int fd);
int mock_sys_node(const char *name, unsigned int *node, unsigned int *rdev);
bool mock_sys_list(unsigned int at, char *name, size_t size);
int mock_sys_ioctl(int fd, unsigned long request, void *arg, bool *ours);
/* poll() on a device file reports POLLHUP from now on. */
void mock_sys_hang_up(int fd);
bool mock_sys_is_file(int fd, unsigned int *rdev);
bool mock_sys_close(int fd);
/* The file to map for an offset, and where to begin in it; or a negative errno. */
int mock_sys_map(int fd, uint64_t offset, void *addr, size_t length, int prot, int flags,
		 uint64_t *at);
void mock_sys_mapped(int fd, uint64_t offset, void *addr, size_t length);
/* mmap(), not by way of what is caught. */
void *mock_sys_map_memory(int fd, size_t length);
bool mock_sys_loaded(void);
int mock_sys_fault(unsigned int what);

#endif
