// SPDX-License-Identifier: MIT
/*
 * Streams: what each of several busy processes gets of a card, how long 8 bytes take beside
 * another's endless copies, how many operations one system call carries.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define PROCESSES 4
#define PIECE 960		/* bytes of each copy: four fit into the card */
#define OPS 100000
#define PAGE 4096

/* --- processes -------------------------------------------------------------------------- */

struct process {
	pid_t pid;
	int fd;		/* the number of its file, there */
};

/* Queues copies for minutes in so many streams, tells its file and sleeps. */
static void be_busy(const char *node, unsigned int streams, int tell)
{
	struct paccel_op ops[1000];
	int fd = node_open(node);
	uint64_t mem = mem_alloc(fd, PIECE);
	void *own = own_memory(fd, PAGE);
	unsigned int i;

	for (i = 0; i < 1000; i++)
		ops[i] = copy_op(PACCEL_COPY_H2D, mem, (uintptr_t)own, PIECE);
	for (i = 0; i < streams; i++)
		submit(fd, stream_create(fd), ops, 1000);
	if (write(tell, &fd, sizeof(fd)) != sizeof(fd))
		exit(1);
	pause();
	exit(0);
}

static struct process busy_process(const char *node, unsigned int streams)
{
	struct process p;
	int line[2];

	if (pipe(line))
		die("no pipe");
	fflush(NULL);
	p.pid = fork();
	if (p.pid < 0)
		die("no process");
	if (!p.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		be_busy(node, streams, line[1]);
	}
	close(line[1]);
	if (read(line[0], &p.fd, sizeof(p.fd)) != sizeof(p.fd))
		die("a busy process has ended");
	close(line[0]);
	return p;
}

static void process_end(const struct process *p)
{
	kill(p->pid, SIGKILL);
	waitpid(p->pid, NULL, 0);
}

/* What it has copied so far, as its fdinfo says. */
static uint64_t bytes_of(const struct process *p)
{
	static const char key[] = "paccel-bytes-h2d:";
	char path[64], line[128];
	uint64_t bytes = 0;
	int found = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", p->pid, p->fd);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, key, strlen(key)))
			continue;
		bytes = strtoull(line + strlen(key), NULL, 10);
		found = 1;
	}
	if (!found)
		die("%s has no %s", path, key);
	fclose(f);
	return bytes;
}

/* One process has one stream, the next has two, and so on: that must not buy anything. */
int bench_fair(int argc, char **argv)
{
	struct counts c = { .name = "fair" };
	struct process p[PROCESSES];
	uint64_t before[PROCESSES];
	unsigned int i, seconds = number(argv[1], 1000);

	(void)argc;
	for (i = 0; i < PROCESSES; i++)
		p[i] = busy_process(argv[0], i + 1);
	for (i = 0; i < PROCESSES; i++)
		before[i] = bytes_of(&p[i]);
	sleep(seconds);
	for (i = 0; i < PROCESSES; i++)
		counts_add(&c, bytes_of(&p[i]) - before[i]);
	for (i = 0; i < PROCESSES; i++)
		process_end(&p[i]);
	counts_print(&c);
	return 0;
}

int bench_beside(int argc, char **argv)
{
	unsigned int i, nr = number(argv[1], BENCH_MAX_SAMPLES);
	struct samples s = { .name = "beside" };
	struct process p = busy_process(argv[0], 8);
	uint64_t start, mem, value = 0x0123456789abcdef, back = 0;
	int fd = node_open(argv[0]);

	(void)argc;
	mem = mem_alloc(fd, sizeof(value));
	for (i = 0; i < nr; i++) {
		start = now_ns();
		copy(fd, PACCEL_COPY_H2D, mem, (uintptr_t)&value, sizeof(value));
		samples_add(&s, now_ns() - start);
	}
	copy(fd, PACCEL_COPY_D2H, (uintptr_t)&back, mem, sizeof(back));
	if (back != value)
		die("%s: other bytes came back", s.name);
	process_end(&p);
	close(fd);
	samples_print(&s);
	return 0;
}

/* --- system calls ----------------------------------------------------------------------- */

/* Between two calls of getppid(), which is what the parent counts from and to. */
static void submit_many(const char *node)
{
	struct paccel_device_info info;
	struct paccel_op *ops;
	int fd = node_open(node);
	uint32_t i, left, stream = stream_create(fd);
	volatile uint64_t *own;
	uint64_t point = 0;

	device_info(fd, &info);
	own = own_memory(fd, info.max_ops * sizeof(*own));
	ops = calloc(info.max_ops, sizeof(*ops));
	for (i = 0; i < info.max_ops; i++)
		ops[i] = (struct paccel_op){
			.op = PACCEL_OP_WRITE,
			.write = { .addr = (uintptr_t)&own[i], .value = i + 1 },
		};
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) || raise(SIGSTOP))
		die("nobody counts");
	syscall(SYS_getppid);
	for (left = OPS; left; left -= i) {
		i = left < info.max_ops ? left : info.max_ops;
		point = submit(fd, stream, ops, i);
	}
	wait_for(fd, stream, point);
	syscall(SYS_getppid);
	for (i = 0; i < info.max_ops; i++)
		if (own[i] != i + 1)
			die("operation %u was not done", i);
	exit(0);
}

/* The number of the system call that it enters or leaves, -1 once it has ended. */
static long next_stop(pid_t pid, int *entry)
{
	struct __ptrace_syscall_info info;
	int status;

	if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) || waitpid(pid, &status, 0) != pid)
		die("tracing: %s", strerror(errno));
	if (WIFEXITED(status) && !WEXITSTATUS(status))
		return -1;
	if (!WIFSTOPPED(status) ||
	    ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(info), &info) <= 0)
		die("the traced process has failed");
	*entry = info.op == PTRACE_SYSCALL_INFO_ENTRY;
	return *entry ? (long)info.entry.nr : 0;
}

int bench_batch(int argc, char **argv)
{
	struct counts c = { .name = "batch" };
	int status, entry, marks = 0;
	uint64_t calls = 0;
	pid_t pid;
	long nr;

	(void)argc;
	fflush(NULL);
	pid = fork();
	if (!pid)
		submit_many(argv[0]);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		die("no process to trace");
	ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
	while ((nr = next_stop(pid, &entry)) >= 0) {
		if (entry && nr == SYS_getppid)
			marks++;
		else if (entry && marks == 1)
			calls++;
	}
	if (marks != 2)
		die("%s: the calls cannot be counted", c.name);
	counts_add(&c, OPS);
	counts_add(&c, calls);
	counts_print(&c);
	return 0;
}
