/* SPDX-License-Identifier: MIT */
/* What the processes of the fuzzer share, and what its files know of each other. */
#ifndef PACCEL_FUZZ_H
#define PACCEL_FUZZ_H

#include <sys/types.h>

#include "program.h"

#define MAX_SLOTS 16
#define MAX_CORPUS 4096
#define NR_EDGES (1u << 16)
#define NR_BLOCKS (1u << 20)
/* New edges of one program that minimising looks at. */
#define MAX_NEW_EDGES 64

/* One process that runs programs, and those that follow it when it has ended. */
struct slot {
	pid_t pid;
	u64 since;		/* ms: when it began what it runs, 0 between programs */
	u64 killed;		/* ms: when it was killed, or 0 */
	u64 processes;
};

/*
 * Mapped by all processes. A process can be killed at any time, so there are no locks: counters
 * only grow, bits are only set, and an entry of the corpus is read when its flag is set.
 */
struct shared {
	bool covered;
	u64 programs;
	u64 made[NR_CALLS];
	u64 succeeded[NR_CALLS];
	u64 next_disturbance;	/* ms */
	u8 edges[NR_EDGES / 8];
	u8 blocks[NR_BLOCKS / 8];
	struct slot slots[MAX_SLOTS];
	/* Of the runs before, to be run again. */
	unsigned int nr_imports;
	unsigned int next_import;
	unsigned int imports_done;	/* a process that is killed does not come to the end of its own */
	struct program imports[MAX_CORPUS];
	/* What has reached something new in this run; without coverage, what was imported. */
	unsigned int nr_corpus;
	bool ready[MAX_CORPUS];
	struct program corpus[MAX_CORPUS];
	bool stop;
};

extern struct shared *shared;

/* coverage.c: of this thread, by KCOV */
struct new_edges {
	u16 edge[MAX_NEW_EDGES];
	unsigned int nr;
};

/* False if the kernel has no KCOV, or the module is not instrumented. */
bool coverage_open(void);
void coverage_reset(void);
/* Adds the edges since the reset that no program has reached before. */
void coverage_collect(struct new_edges *found);
/* Takes out of @wanted what was not among the edges since coverage_trace_begin(). */
void coverage_trace_begin(void);
void coverage_trace_end(struct new_edges *wanted);
/* What all programs have reached. */
unsigned int coverage_blocks(void);
unsigned int coverage_edges(void);

/* How a process runs programs. */
struct execution {
	bool may_disturb;	/* it makes calls that disturb others, too */
};

/* execute.c: runs a program; adds new edges to @found */
void execute(const struct program *p, const struct execution *how, struct new_edges *found);

/* worker.c: a process of a slot */
void worker_run(unsigned int slot, u64 seed) __attribute__((noreturn));

/* log.c: the channel to the host, which has each program before it runs */
enum log_record {
	LOG_RUN = 'P',		/* SLOT PROGRAM: it is about to run */
	LOG_KEPT = 'C',		/* SLOT PROGRAM: it is part of the corpus */
	LOG_IMPORTED = 'I',	/* the corpus of the runs before has been run again */
};

bool log_open(const char *path);
void log_program(enum log_record record, unsigned int slot, const struct program *p);
void log_imported(void);
/* On the host: the last program of each slot as C; the corpus of this run, which was @before. */
bool log_print_last(const char *path);
bool log_print_corpus(const char *path, const char *before);

#endif
