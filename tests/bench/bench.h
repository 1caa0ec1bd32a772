/* SPDX-License-Identifier: MIT */
/*
 * What the measurements share: time, samples, a card's node and its memory. Every measurement
 * prints one line of JSON, {"name": ..., "ns": [...]} or {"name": ..., "count": [...]}, and ends
 * the program with a sentence if it cannot be made.
 */
#ifndef PACCEL_BENCH_H
#define PACCEL_BENCH_H

#include <stddef.h>
#include <stdint.h>

#include <linux/paccel.h>

#define BENCH_MAX_SAMPLES 256
#define BENCH_MAX_CARDS 8
#define BENCH_MAX_COUNTS 8
#define BENCH_BYTES 65536
/* What edu has; how many transfers a copy takes, and so its reference, follows from it. */
#define CARD_BYTES 4032

struct samples {
	const char *name;
	unsigned int nr;
	uint64_t ns[BENCH_MAX_SAMPLES];
};

/* Numbers that are no times. */
struct counts {
	const char *name;
	unsigned int nr;
	uint64_t count[BENCH_MAX_COUNTS];
};

/* A card, its whole memory in one allocation, so that nothing is left to be scrubbed. */
struct card {
	const char *node;
	int fd;
	uint64_t addr;
};

__attribute__((format(printf, 1, 2), noreturn)) void die(const char *format, ...);
uint64_t now_ns(void);
unsigned int number(const char *text, unsigned int max);
void samples_add(struct samples *s, uint64_t ns);
void samples_print(const struct samples *s);
void counts_add(struct counts *c, uint64_t count);
void counts_print(const struct counts *c);
/* Bytes that are the same for the same @seed, and others for another. */
void pattern(unsigned char *to, size_t len, unsigned int seed);

void must_ioctl(int fd, unsigned long cmd, void *arg, const char *name);
int node_open(const char *node);
uint64_t mem_alloc(int fd, uint64_t length);
void mem_free(int fd, uint64_t addr, uint64_t length);
void device_info(int fd, struct paccel_device_info *info);
void copy(int fd, enum paccel_copy_dir dir, uint64_t dst, uint64_t src, uint64_t length);
void card_open(struct card *card, const char *node);
void card_close(struct card *card);
/* BENCH_BYTES in pieces of the whole card memory, all to or from the same place there. */
void copy_pieces(const struct card *card, enum paccel_copy_dir dir, unsigned char *host);

uint32_t stream_create(int fd);
/* The point of the operations. */
uint64_t submit(int fd, uint32_t stream, const struct paccel_op *ops, uint32_t nr);
void wait_for(int fd, uint32_t stream, uint64_t point);
/* Memory of HOST_ALLOC, mapped. */
void *own_memory(int fd, size_t length);
struct paccel_op copy_op(enum paccel_copy_dir dir, uint64_t dst, uint64_t src, uint64_t length);

/* The measurements; the arguments are those behind the name on the command line. */
int bench_raw(int argc, char **argv);
int bench_h2d(int argc, char **argv);
int bench_d2h(int argc, char **argv);
int bench_d2d(int argc, char **argv);
int bench_small(int argc, char **argv);
int bench_cards(int argc, char **argv);
int bench_alloc(int argc, char **argv);
int bench_fair(int argc, char **argv);
int bench_beside(int argc, char **argv);
int bench_batch(int argc, char **argv);
int bench_live(int argc, char **argv);
int bench_irqsoff(int argc, char **argv);
int bench_ring_large(int argc, char **argv);
int bench_ring_pageable(int argc, char **argv);
int bench_ring_p2p(int argc, char **argv);
int bench_ring_curves(int argc, char **argv);
int bench_ring_sync(int argc, char **argv);
int bench_ring_async(int argc, char **argv);
int bench_ring_engines(int argc, char **argv);

#endif
