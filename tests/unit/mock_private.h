/* SPDX-License-Identifier: MIT */
/*
 * What the files of the mock share. All of it is under one lock.
 */
#ifndef MOCK_PRIVATE_H
#define MOCK_PRIVATE_H

#include "mock.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/types.h>

#define FILES 64
#define ALLOCS 4096
#define COMMANDS 32
#define PAGE 4096ull
#define USER_END ((1ull << 47) - PAGE)
#define MOCK_PAGE_OFFSET (1ull << 43)

/* A copy or fill that the card has in hand, or that waits for one of its engines. */
struct held {
	struct held *next;
	bool listed, failed;
};

struct card {
	bool present, foreign, hold, stall, corrupt, mappable;
	int memfd; /* of the memory, if it can be mapped */
	unsigned int node, engines, held, instance, losses;
	unsigned int fail_nth;
	int fail_err;
	uint64_t size, quota, quarantined, granule, unit;
	size_t granules;
	uint8_t *memory, *state; /* of each granule */
	struct paccel_mem_stats counters;
	struct held *in_hand; /* in the order in which they came: the engines have the first ones */
};

struct alloc {
	uint64_t addr, length;
	unsigned int imports;
	bool live, imported;
};

struct host {
	uint64_t addr, length, offset;
	int memfd;
	uint64_t fd_addr; /* what the first byte of that stands for */
	bool live, read_only, dmabuf, charged;
	struct card *peer; /* whose memory it is, and where; NULL: nobody's */
	uint64_t peer_addr;
};

/* The memory of a dma-buf. */
struct shared {
	int fd;
	uint64_t at; /* its first byte there */
	struct card *peer;
	uint64_t peer_addr;
	bool charged; /* to RLIMIT_MEMLOCK: not device memory, nor HOST_ALLOC of this card */
};

union command {
	struct paccel_device_info device_info;
	struct paccel_mem_alloc mem_alloc;
	struct paccel_mem_free mem_free;
	struct paccel_mem_stats mem_stats;
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

struct job;

struct mock_stream {
	bool used, destroyed;
	uint64_t point;
	unsigned int queued; /* operations */
	struct job *jobs;
};

struct file {
	bool used, lost, writable;
	int fd;
	pid_t pid;
	unsigned int instance;
	struct card *card;
	struct alloc allocs[ALLOCS];
	struct host hosts[MOCK_HOST_RANGES];
	struct mock_stream streams[MOCK_STREAMS];
	int page_fd;
	struct paccel_page *page;
	uint64_t map_addr, map_length; /* where device memory was mapped last */
};

enum state { FREE, USED, WAITING };

extern struct file files[FILES];
extern pthread_mutex_t lock;

/* Wakes all of wait_moved(). `lock` is held. */
void has_moved(void);
/*
 * Drops and retakes `lock`. Returns 0, perhaps for no reason; ETIMEDOUT, @until being a time of
 * CLOCK_MONOTONIC or NULL; or EINTR, if a handler of a signal has run: with @until also one with
 * SA_RESTART, so commands pass NULL.
 */
int wait_moved(const struct timespec *until);

/* ---- mock.c ---- */

extern bool peers_reach, is_admin;
extern unsigned int queued_max;
/* An errno that a test has arranged, or 0. */
int take_fault(unsigned int what);
int take_card_fault(struct card *card);
struct card *card_at(unsigned int node);
struct card *card_of(unsigned int instance);
struct file *file_at(int fd);
/* Pulled, also if there is another card by now. */
bool is_gone(const struct file *file);
uint64_t mock_clock(void);
/* A struct of user memory that may be larger than the one that is known: 0 or an errno. */
int fetch_struct(void *to, size_t size, uint64_t from, size_t user_size);
/* 0 if it is the opener's file, which it may write, and not lost; else an errno. */
int may_use(const struct file *file);

/* ---- mock_memory.c ---- */

int do_device_info(const struct file *file, struct paccel_device_info *cmd);
int do_mem_alloc(struct file *file, struct paccel_mem_alloc *cmd);
int do_mem_free(struct file *file, const struct paccel_mem_free *cmd);
int do_mem_stats(const struct file *file, struct paccel_mem_stats *cmd);
int do_reset(struct file *file, const struct paccel_reset *cmd);
bool inside(const struct file *file, uint64_t addr, uint64_t length);
int add_alloc(struct file *file, uint64_t addr, uint64_t length, bool imported);
void drop_alloc(struct file *file, struct alloc *alloc);
/* Memory that was in use waits to be scrubbed, unless somebody else has it too. */
void let_go(struct card *card, uint64_t addr, uint64_t length);

/* ---- mock_host.c ---- */

/* True if a program can have this range at all. */
bool is_user(uint64_t addr, uint64_t length);
int do_host_alloc(struct file *file, struct paccel_host_alloc *cmd);
int do_host_register(struct file *file, const struct paccel_host_register *cmd);
int do_host_free(struct file *file, const struct paccel_host_free *cmd);
void drop_host(struct host *host);

/* ---- mock_copy.c ---- */

int do_copy(struct file *file, const struct paccel_copy *cmd);
int do_fill(struct file *file, const struct paccel_fill *cmd);
int check_copy(const struct file *file, const struct paccel_copy *cmd);
int check_fill(const struct file *file, const struct paccel_fill *cmd);
/* Host memory is that of a descriptor, which stands for the address, or of the address if -1. */
int run_copy(struct file *file, const struct paccel_copy *cmd, int memfd, uint64_t memfd_addr);
void run_fill(struct file *file, const struct paccel_fill *cmd);
/* True while the test stops it. That also lists it, or removes it from the list when it may go on. */
bool is_held(struct card *card, struct held *held);
void drop_held(struct card *card, struct held *held);
/* As the kernel reaches user memory: a bad address is an answer and no signal. */
bool access_host(uint64_t addr, void *buffer, uint64_t length, bool write);
/* The live host range that a range lies in wholly, or NULL. */
struct host *host_around(struct file *file, uint64_t addr, uint64_t length);

/* ---- mock_stream.c ---- */

int do_stream_create(struct file *file, struct paccel_stream_create *cmd);
int do_stream_destroy(struct file *file, const struct paccel_stream_destroy *cmd);
int do_stream_clear(struct file *file, struct paccel_stream_clear *cmd);
int do_submit(struct file *file, struct paccel_submit *cmd);
int do_wait(struct file *file, struct paccel_wait *cmd);
int do_fence_export(struct file *file, struct paccel_fence_export *cmd);
/* All points end. */
void end_streams(struct file *file, enum paccel_page_state state, int err);
void close_streams(struct file *file);
void forget_fences(void);
/* A descriptor is being closed. */
void fence_closed(int fd);
/* In the child of a fork there is no thread that does work. */
void engine_lost(void);
void wake_engine(void);

/* ---- mock_share.c ---- */

int do_mem_export(struct file *file, struct paccel_mem_export *cmd);
int do_mem_import(struct file *file, struct paccel_mem_import *cmd);
/* The memory of a dma-buf for a card, or an errno. */
int dmabuf_memory(const struct card *card, int fd, uint64_t length, bool write,
		  struct shared *shared);
void forget_dmabufs(void);
/* What tells one file from another; 0 if it is none. */
ino_t file_id(int fd);
/* close(), and eventfd's write, not by way of what is caught. */
void plain_close(int fd);

#endif
