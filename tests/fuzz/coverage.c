// SPDX-License-Identifier: MIT
/*
 * Coverage of the driver by KCOV, which records the basic blocks that a thread runs in system
 * calls. Only the driver is instrumented. A pair of blocks that follow each other is an edge.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/kcov.h>

#include "fuzz.h"

#define KCOV "/sys/kernel/debug/kcov"
#define MODULE_TEXT "/sys/module/paccel/sections/.text"
#define TRACE_SIZE (256u << 10)

static unsigned long *trace;
static unsigned long base;
/* Of the execution that is under way. */
static u8 traced[NR_EDGES / 8];
static bool tracing;

static bool read_base(void)
{
	FILE *file = fopen(MODULE_TEXT, "r");
	bool good = file && fscanf(file, "%lx", &base) == 1 && base;

	if (file)
		fclose(file);
	return good;
}

bool coverage_open(void)
{
	int fd = open(KCOV, O_RDWR | O_CLOEXEC);

	if (fd < 0 || !read_base() || ioctl(fd, KCOV_INIT_TRACE, TRACE_SIZE))
		return false;
	trace = mmap(NULL, TRACE_SIZE * sizeof(*trace), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return trace != MAP_FAILED && !ioctl(fd, KCOV_ENABLE, KCOV_TRACE_PC);
}

void coverage_reset(void)
{
	__atomic_store_n(&trace[0], 0, __ATOMIC_RELAXED);
}

static bool test_bit(const u8 *bits, unsigned int n)
{
	return bits[n / 8] >> n % 8 & 1;
}

/* True if it was not set before. */
static bool set_bit(u8 *bits, unsigned int n)
{
	u8 bit = (u8)(1 << n % 8);

	return !test_bit(bits, n) &&
	       !(__atomic_fetch_or(&bits[n / 8], bit, __ATOMIC_RELAXED) & bit);
}

static unsigned int edge_of(unsigned long from, unsigned long to)
{
	return (unsigned int)((from * 0x9e37 ^ to * 0x85eb ^ to >> 4) % NR_EDGES);
}

void coverage_collect(struct new_edges *found)
{
	unsigned long n = __atomic_load_n(&trace[0], __ATOMIC_RELAXED), last = 0;

	for (unsigned long i = 1; i <= n; i++) {
		unsigned long block = (trace[i] - base) % NR_BLOCKS;
		unsigned int edge = edge_of(last, block);

		last = block;
		set_bit(shared->blocks, (unsigned int)block);
		if (tracing)
			traced[edge / 8] |= (u8)(1 << edge % 8);
		if (set_bit(shared->edges, edge) && found->nr < MAX_NEW_EDGES)
			found->edge[found->nr++] = (u16)edge;
	}
}

void coverage_trace_begin(void)
{
	memset(traced, 0, sizeof(traced));
	tracing = true;
}

void coverage_trace_end(struct new_edges *wanted)
{
	unsigned int nr = 0;

	tracing = false;
	for (unsigned int i = 0; i < wanted->nr; i++)
		if (test_bit(traced, wanted->edge[i]))
			wanted->edge[nr++] = wanted->edge[i];
	wanted->nr = nr;
}

static unsigned int count(const u8 *bits, unsigned int bytes)
{
	unsigned int n = 0;

	while (bytes--)
		n += (unsigned int)__builtin_popcount(bits[bytes]);
	return n;
}

unsigned int coverage_blocks(void)
{
	return count(shared->blocks, sizeof(shared->blocks));
}

unsigned int coverage_edges(void)
{
	return count(shared->edges, sizeof(shared->edges));
}
