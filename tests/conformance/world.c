// SPDX-License-Identifier: MIT
/* What the valid calls need around them, and what tests call. */
#define _GNU_SOURCE
#include "contract.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>

uint64_t mem_alloc(int fd, uint64_t length)
{
	struct paccel_mem_alloc cmd = { .size = sizeof(cmd), .length = length };

	MUST(!ioctl(fd, PACCEL_IOC_MEM_ALLOC, &cmd));
	return cmd.addr;
}

void mem_free(int fd, uint64_t addr, uint64_t length)
{
	struct paccel_mem_free cmd = { .size = sizeof(cmd), .addr = addr, .length = length };

	MUST(!ioctl(fd, PACCEL_IOC_MEM_FREE, &cmd));
}

int mem_export(int fd, uint32_t kind, uint64_t addr)
{
	struct paccel_mem_export cmd = { .size = sizeof(cmd), .kind = kind, .addr = addr };

	MUST(!ioctl(fd, PACCEL_IOC_MEM_EXPORT, &cmd));
	return cmd.fd;
}

uint64_t host_alloc(int fd, uint64_t length)
{
	struct paccel_host_alloc cmd = { .size = sizeof(cmd), .length = length };

	MUST(!ioctl(fd, PACCEL_IOC_HOST_ALLOC, &cmd));
	return cmd.offset;
}

void host_register(int fd, const void *addr, uint64_t length, uint32_t flags)
{
	struct paccel_host_register cmd = {
		.size = sizeof(cmd), .flags = flags, .addr = (uintptr_t)addr, .length = length
	};

	MUST(!ioctl(fd, PACCEL_IOC_HOST_REGISTER, &cmd));
}

void host_free(int fd, const void *addr, uint64_t offset)
{
	struct paccel_host_free cmd = {
		.size = sizeof(cmd), .addr = (uintptr_t)addr, .offset = offset
	};

	MUST(!ioctl(fd, PACCEL_IOC_HOST_FREE, &cmd));
}

uint32_t stream_create(int fd)
{
	struct paccel_stream_create cmd = { .size = sizeof(cmd) };

	MUST(!ioctl(fd, PACCEL_IOC_STREAM_CREATE, &cmd));
	return cmd.stream;
}

void stream_destroy(int fd, uint32_t stream)
{
	struct paccel_stream_destroy cmd = { .size = sizeof(cmd), .stream = stream };

	MUST(!ioctl(fd, PACCEL_IOC_STREAM_DESTROY, &cmd));
}

uint64_t submit(struct world *w, uint32_t stream, struct paccel_op op)
{
	struct paccel_submit cmd = {
		.size = sizeof(cmd), .stream = stream, .nr_ops = 1, .ops = (uintptr_t)&op,
		.op_size = sizeof(op)
	};

	MUST(!ioctl(w->fd, PACCEL_IOC_SUBMIT, &cmd));
	return cmd.point;
}

int outcome_by(int fd, uint32_t stream, uint64_t point, uint64_t deadline_ns)
{
	struct paccel_point p = { .stream = stream, .point = point, .error = 1 };
	struct paccel_wait cmd = {
		.size = sizeof(cmd), .deadline_ns = deadline_ns, .points = (uintptr_t)&p,
		.nr_points = 1, .point_size = sizeof(p)
	};

	if (!ioctl(fd, PACCEL_IOC_WAIT, &cmd))
		return -p.error;
	MUST(errno == ETIME);
	return ETIME;
}

int outcome(int fd, uint32_t stream, uint64_t point)
{
	return outcome_by(fd, stream, point, UINT64_MAX);
}

struct paccel_mem_stats mem_stats_of(int fd)
{
	struct paccel_mem_stats stats = { .size = sizeof(stats) };

	MUST(!ioctl(fd, PACCEL_IOC_MEM_STATS, &stats));
	return stats;
}

/*
 * Operations are assigned member by member: behind a member of a union that is initialized the bytes
 * may be anything, and those of an operation must be 0.
 */
struct paccel_op op_write(const uint64_t *to, uint64_t value)
{
	struct paccel_op op = { .op = PACCEL_OP_WRITE };

	op.write.addr = (uintptr_t)to;
	op.write.value = value;
	return op;
}

struct paccel_op op_fence(int fd)
{
	struct paccel_op op = { .op = PACCEL_OP_WAIT_FENCE };

	op.fd.fd = fd;
	return op;
}

struct paccel_op op_wait(uint32_t stream, uint64_t point)
{
	struct paccel_op op = { .op = PACCEL_OP_WAIT_POINT };

	op.wait.stream = stream;
	op.wait.point = point;
	return op;
}

void *pages_map(size_t pages)
{
	void *addr = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	MUST(addr != MAP_FAILED);
	return addr;
}

void *pages_guard(size_t bytes)
{
	size_t pages = (bytes + PAGE - 1) / PAGE;
	uint8_t *addr = pages_map(pages + 1);

	MUST(!mprotect(addr + pages * PAGE, PAGE, PROT_NONE));
	return addr + pages * PAGE - bytes;
}

int errno_in_child(int (*part)(void *arg), void *arg)
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(part(arg));
	MUST(waitpid(pid, &status, 0) == pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Bytes that this process has locked or pinned. */
static long locked_memory(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	char line[256];
	long sum = 0, kib;

	MUST(file);
	while (fgets(line, sizeof(line), file))
		if (sscanf(line, "VmLck: %ld", &kib) == 1 || sscanf(line, "VmPin: %ld", &kib) == 1)
			sum += kib * 1024;
	fclose(file);
	return sum;
}

/* How many streams the context has, by how many it can still make. */
static unsigned int count_streams(struct world *w)
{
	uint32_t made[PACCEL_PAGE_SLOTS];
	unsigned int nr = 0;
	struct paccel_stream_create cmd;

	for (; nr < COUNT(made); made[nr++] = cmd.stream) {
		cmd = (struct paccel_stream_create){ .size = sizeof(cmd) };
		if (ioctl(w->fd, PACCEL_IOC_STREAM_CREATE, &cmd))
			break;
	}
	for (unsigned int i = 0; i < nr; i++)
		stream_destroy(w->fd, made[i]);
	return w->info.max_streams - nr;
}

static unsigned int count_files(void)
{
	unsigned int nr = 0;

	for (int fd = 0; fd < 1024; fd++)
		nr += fcntl(fd, F_GETFD) >= 0;
	return nr;
}

static void open_stream(struct world *w)
{
	w->own_offset = host_alloc(w->fd, PAGE);
	w->own = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd,
		      (off_t)w->own_offset);
	MUST(w->own != MAP_FAILED);
	w->stream = stream_create(w->fd);
	MUST(submit(w, w->stream, op_write(w->own, 0)) == 1);
	MUST(!outcome(w->fd, w->stream, 1));
}

/* What ends by itself after the call that asked for it. */
#define SOON(condition) \
	({ \
		time_t _end = time(NULL) + 60; \
		while (!(condition) && time(NULL) < _end) \
			usleep(1000); \
		condition; \
	})

/* The end of the context before this one does not wait for its work, which keeps memory. */
static void wait_for_memory(struct world *w)
{
	static uint64_t used_at_first = UINT64_MAX;

	if (used_at_first == UINT64_MAX)
		used_at_first = mem_stats_of(w->fd).used;
	ok(SOON(mem_stats_of(w->fd).used == used_at_first));
}

void world_open(struct world *w)
{
	*w = (struct world){ .fd = target_open(O_RDWR | O_CLOEXEC) };
	MUST(w->fd >= 0);
	wait_for_memory(w);
	w->locked_at_first = locked_memory();
	w->info.size = sizeof(w->info);
	MUST(!ioctl(w->fd, PACCEL_IOC_DEVICE_INFO, &w->info));
	w->host = pages_map(1);
	memset(w->host, 0x11, PAGE);
	w->mem = mem_alloc(w->fd, BLOCK);
	w->dmabuf = mem_export(w->fd, PACCEL_EXPORT_DEVICE, w->mem);
	w->eventfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	open_stream(w);
	w->before = mem_stats_of(w->fd);
	w->locked = locked_memory();
	w->streams = count_streams(w);
	w->files = count_files();
}

static void drop_extra(struct world *w)
{
	struct rlimit limit;

	if (w->extra.files) {
		/* What follows opens files of /proc. */
		MUST(!getrlimit(RLIMIT_NOFILE, &limit));
		limit.rlim_cur = w->extra.files;
		MUST(!setrlimit(RLIMIT_NOFILE, &limit));
	}
	if (w->extra.fence)
		target_fence_signal(w->extra.fence);
	if (w->extra.fence)
		close(w->extra.fence);
	if (w->extra.fd)
		close(w->extra.fd);
	if (w->extra.mapped)
		munmap(w->extra.mapped, PAGE);
	if (w->extra.range)
		host_free(w->fd, w->extra.range, 0);
	if (w->extra.stream)
		stream_destroy(w->fd, w->extra.stream);
	if (w->extra.quota)
		target_quota(0);
}

void world_close(struct world *w)
{
	struct paccel_mem_stats after;

	drop_extra(w);
	/* Streams that were destroyed have their numbers until they have drained. */
	ok(SOON(count_streams(w) == w->streams));
	after = mem_stats_of(w->fd);
	ok(w->before.used == after.used);
	ok(w->before.mine == after.mine);
	ok(w->before.mine_allocs == after.mine_allocs);
	ok(SOON(w->locked == locked_memory()));
	ok(w->files == count_files());
	munmap(w->own, PAGE);
	munmap(w->host, PAGE);
	close(w->eventfd);
	close(w->dmabuf);
	close(w->fd);
	/* The end of a context does not wait for its work. */
	ok(SOON(w->locked_at_first == locked_memory()));
}
