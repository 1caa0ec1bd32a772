// SPDX-License-Identifier: MIT
/*
 * How fast the process of the ring card is: this program plays QEMU and a driver. 64 MiB in
 * descriptors of several sizes against one memcpy() or memset() that the process times itself, and
 * 64 small descriptors behind one doorbell. Medians.
 *
 * bench RINGDEV
 */
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../qemu/ringdev/hw.h"
#include "../../qemu/ringdev/shared.h"

#define MIB		(1u << 20)
#define PAGE		4096u
#define BAR_SIZE	(256u * MIB)
#define RAM_SIZE	(256u * MIB)
#define SIZE		(64u * MIB)
#define HOST		(128u * MIB)	/* in RAM */
#define LISTS		(64u * MIB)
#define OTHER		(100u * MIB)	/* in device memory */
#define RUNS		21
#define BATCH		64

static char name[64];
static uint8_t *ram, *bar;
static int qemu, doorbell, interrupt;
static pid_t process;
static uint32_t pages[SIZE / PAGE];

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint8_t *map_shared(int fd, size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		fail("mmap");
	return at;
}

/* --- the process ---------------------------------------------------------------------------- */

static void start(const char *ringdev, int ram_fd)
{
	char control[80], ram_word[32];
	int ready[2];
	char byte;

	snprintf(name, sizeof(name), "@ringdev-bench-%d", getpid());
	snprintf(control, sizeof(control), "%s.control", name);
	snprintf(ram_word, sizeof(ram_word), "fd:%d", ram_fd);
	if (pipe(ready))
		fail("pipe");
	process = fork();
	if (!process) {
		dup2(ready[1], 1);
		execl(ringdev, ringdev, "--socket", name, "--control", control, "--ram", ram_word,
		      "--mem", "256M", "--engines", "4", (char *)NULL);
		fail(ringdev);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		exit(1);
}

static int connect_to(const char *to)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	socklen_t len = (socklen_t)(sizeof(address.sun_family) + strlen(to));

	strcpy(address.sun_path, to);
	address.sun_path[0] = '\0';
	if (connect(fd, (struct sockaddr *)&address, len))
		fail(to);
	return fd;
}

static int receive(void)
{
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	int64_t value;
	struct iovec data = { &value, sizeof(value) };
	struct msghdr message = { .msg_iov = &data, .msg_iovlen = 1, .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	int fd = -1;

	if (recvmsg(qemu, &message, MSG_WAITALL) != sizeof(value))
		fail("greeting");
	if (CMSG_FIRSTHDR(&message))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	return fd;
}

static void plug(void)
{
	int fds[3 + 2 * 5];

	qemu = connect_to(name);
	for (unsigned int i = 0; i < 13; i++)
		fds[i] = receive();
	bar = map_shared(fds[7], BAR_SIZE);
	doorbell = fds[3];
	interrupt = fds[9];
	shared_write32(bar + RING_CONTROL, RING_CONTROL_MASTER);
	if (write(fds[2], &(uint64_t){ 1 }, 8) != 8)
		fail("doorbell");
	while (!(shared_read32(bar + RING_STATUS) & RING_STATUS_MASTER))
		usleep(1000);
}

static void order(const char *line, char *reply, size_t size)
{
	char control[80];
	ssize_t got;
	int fd;

	snprintf(control, sizeof(control), "%s.control", name);
	fd = connect_to(control);
	if (write(fd, line, strlen(line)) < 0)
		fail(line);
	got = read(fd, reply, size - 1);
	if (got <= 0)
		fail(line);
	reply[got] = '\0';
	close(fd);
	if (strncmp(reply, "ok", 2)) {
		fprintf(stderr, "%s%s", line, reply);
		exit(1);
	}
}

static void end(void)
{
	kill(process, SIGKILL);
}

/* --- transfers -------------------------------------------------------------------------------- */

static void submit(struct ring_descriptor d)
{
	uint8_t *registers = bar + RING_ENGINE(0);
	uint32_t tail = shared_read32(registers + RING_SQ_TAIL);

	d.generation = shared_read32(registers + RING_E_GENERATION);
	memcpy(bar + RING_SQ(0) + tail % RING_ENTRIES * sizeof(d), &d, sizeof(d));
	shared_write32(registers + RING_SQ_TAIL, tail + 1);
}

/* Rings, waits for interrupts until all is done; returns when the first was complete. */
static uint64_t carry_out(void)
{
	uint8_t *registers = bar + RING_ENGINE(0);
	uint32_t tail = shared_read32(registers + RING_SQ_TAIL);
	uint32_t head = shared_read32(registers + RING_CQ_HEAD), end;
	uint64_t one = 1, first = 0;

	if (write(doorbell, &one, sizeof(one)) < 0)
		fail("doorbell");
	while (head != tail) {
		struct pollfd wait = { .fd = interrupt, .events = POLLIN };

		poll(&wait, 1, 10000);
		if (read(interrupt, &one, sizeof(one)) < 0)
			fail("interrupt");
		end = shared_read32(registers + RING_CQ_TAIL);
		for (; head != end; head++) {
			struct ring_completion c;

			memcpy(&c, bar + RING_CQ(0) + head % RING_ENTRIES * sizeof(c), sizeof(c));
			first = first ? first : c.time;
			if (c.status != RING_OK) {
				fprintf(stderr, "status %u\n", c.status);
				exit(1);
			}
		}
		shared_write32(registers + RING_CQ_HEAD, head);
	}
	return first;
}

/* The host's side in pages at random places, by lists, or in one piece. */
static struct ring_descriptor part(uint8_t opcode, uint64_t at, uint64_t len, bool scattered)
{
	struct ring_descriptor d = { .opcode = opcode, .len = len };
	uint64_t host = HOST + at;

	if (scattered) {
		host = LISTS + at / PAGE * sizeof(struct ring_segment);
		for (uint64_t i = 0; i < len / PAGE; i++) {
			struct ring_segment s = { HOST + pages[at / PAGE + i] * PAGE, PAGE, 0 };

			memcpy(ram + host + i * sizeof(s), &s, sizeof(s));
		}
		d.flags = RING_FLAG_LIST;
		d.segments = (uint16_t)(len / PAGE);
	}
	if (opcode == RING_OP_H2D || opcode == RING_OP_D2D)
		d.dst = at;
	if (opcode == RING_OP_D2H)
		d.src = at;
	if (opcode == RING_OP_H2D)
		d.src = host;
	if (opcode == RING_OP_D2H)
		d.dst = host;
	if (opcode == RING_OP_D2D)
		d.src = at + OTHER;
	if (opcode == RING_OP_FILL) {
		d.dst = at;
		d.pattern = 0x55;
		d.pattern_size = 1;
	}
	return d;
}

static uint64_t transfer(uint8_t opcode, uint64_t size, uint64_t len, bool scattered,
			 uint64_t *first)
{
	uint64_t begin, done;

	for (uint64_t at = 0; at < size; at += len) {
		struct ring_descriptor d = part(opcode, at, len, scattered);

		if (at + len == size)
			d.flags |= RING_FLAG_IRQ;
		submit(d);
	}
	begin = now();
	done = carry_out();
	*first = done - begin;
	return now() - begin;
}

/* --- measuring -------------------------------------------------------------------------------- */

static int by_value(const void *one, const void *two)
{
	const uint64_t *a = one, *b = two;

	return *a < *b ? -1 : *a > *b;
}

/* Sorts them. */
static double median(uint64_t *values)
{
	qsort(values, RUNS, sizeof(*values), by_value);
	return (double)values[RUNS / 2];
}

/* Time that the process has computed: what others do on this machine is not in it. */
static uint64_t computed(void)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(process, &clock) || clock_gettime(clock, &t))
		fail("clock");
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* One more run under the clock than the other order has, less that one. */
static uint64_t time_reference(uint64_t *cpu, unsigned int *pieces)
{
	unsigned long long ns, min, longest, bytes;
	uint64_t begin = computed(), middle;
	char reply[256];

	order("time runs=1\n", reply, sizeof(reply));
	middle = computed();
	order("time runs=3\n", reply, sizeof(reply));
	*cpu = (computed() - middle - (middle - begin)) / 2;
	if (sscanf(reply, "ok ns=%llu min=%llu longest=%llu bytes=%llu pieces=%u", &ns, &min,
		   &longest, &bytes, pieces) != 5 || bytes != SIZE)
		fail(reply);
	return ns;
}

/* In turns with the reference, so that both meet the same machine. */
static void bandwidth(const char *what, uint8_t opcode, uint64_t len, bool scattered)
{
	uint64_t ours[RUNS], theirs[RUNS], our_cpu[RUNS], their_cpu[RUNS], first;
	char line[64], reply[256];
	unsigned int pieces = 0;
	double a, b;

	snprintf(line, sizeof(line), "record op=%s\n", what);
	order(line, reply, sizeof(reply));
	transfer(opcode, SIZE, len, scattered, &first);
	for (unsigned int i = 0; i < RUNS; i++) {
		theirs[i] = time_reference(&their_cpu[i], &pieces);
		/* Nothing is recorded any more. Once to warm up, as the reference does. */
		transfer(opcode, SIZE, len, scattered, &first);
		our_cpu[i] = computed();
		ours[i] = transfer(opcode, SIZE, len, scattered, &first);
		our_cpu[i] = computed() - our_cpu[i];
	}
	a = median(ours);
	b = median(theirs);
	printf("%-5s %5llu KiB %-10s %6.2f GB/s, reference %6.2f GB/s in %u: %.2f", what,
	       (unsigned long long)len / 1024, scattered ? "scattered" : "", SIZE / a, SIZE / b,
	       pieces, b / a);
	a = median(our_cpu);
	b = median(their_cpu);
	printf("; time computed %.2f ms, reference %.2f ms: %.2f\n", a / 1e6, b / 1e6, b / a);
}

static void overhead(uint8_t opcode, const char *what, uint64_t len)
{
	uint64_t times[RUNS], firsts[RUNS];

	for (unsigned int i = 0; i < RUNS; i++)
		times[i] = transfer(opcode, BATCH * len, len, false, &firsts[i]);
	printf("%-5s %5llu bytes, 64 behind one doorbell: %.2f us each, the first after %.1f us\n",
	       what, (unsigned long long)len, median(times) / BATCH / 1000, median(firsts) / 1000);
}

int main(int argc, char **argv)
{
	int ram_fd = memfd_create("ram", 0);

	if (argc != 2 || ram_fd < 0 || ftruncate(ram_fd, RAM_SIZE))
		return 2;
	signal(SIGCHLD, SIG_IGN);
	ram = map_shared(ram_fd, RAM_SIZE);
	memset(ram, 1, RAM_SIZE);
	for (uint32_t i = 0; i < SIZE / PAGE; i++) {
		uint32_t other = (uint32_t)random() % (i + 1);

		pages[i] = pages[other];
		pages[other] = i;
	}
	start(argv[1], ram_fd);
	atexit(end);
	plug();
	memset(bar + RING_CONTROL_SIZE, 2, BAR_SIZE - RING_CONTROL_SIZE);
	for (unsigned int scattered = 0; scattered < 2; scattered++)
		for (uint64_t len = MIB; len <= 4 * MIB; len *= 4) {
			bandwidth("h2d", RING_OP_H2D, len, scattered);
			bandwidth("d2h", RING_OP_D2H, len, scattered);
			if (scattered)
				continue;
			bandwidth("d2d", RING_OP_D2D, len, false);
			bandwidth("fill", RING_OP_FILL, len, false);
		}
	overhead(RING_OP_H2D, "h2d", 4096);
	overhead(RING_OP_D2H, "d2h", 4096);
	overhead(RING_OP_H2D, "h2d", 8);
	return 0;
}
