// SPDX-License-Identifier: MIT
/* What mmap() of a node is answered with. */
#define _GNU_SOURCE
#include "contract.h"

#include <fcntl.h>
#include <sys/mman.h>

/* An errno or 0; the mapping is not kept. */
static int map_errno(int fd, size_t length, int prot, int flags, uint64_t offset)
{
	void *addr = mmap(NULL, length, prot, flags, fd, (off_t)offset);

	if (addr == MAP_FAILED)
		return errno;
	munmap(addr, length);
	return 0;
}

#define RW (PROT_READ | PROT_WRITE)

static void host_memory(const struct test *test, const struct command *command)
{
	uint64_t offset;
	struct world w;

	(void)test;
	(void)command;
	world_open(&w);
	offset = host_alloc(w.fd, PAGE + 1);
	ok(offset && map_errno(w.fd, PAGE, RW, MAP_SHARED, 0) == EINVAL);
	ok(map_errno(w.fd, PAGE, RW, MAP_SHARED, offset) == EINVAL);
	ok(map_errno(w.fd, 3 * PAGE, RW, MAP_SHARED, offset) == EINVAL);
	ok(map_errno(w.fd, 2 * PAGE, RW, MAP_PRIVATE, offset) == EINVAL);
	ok(map_errno(w.fd, PAGE, RW, MAP_SHARED, offset + PAGE) == EINVAL);
	ok(map_errno(w.fd, 2 * PAGE, RW, MAP_SHARED, w.own_offset + 1000 * PAGE) == EINVAL);
	ok(!map_errno(w.fd, 2 * PAGE, RW, MAP_SHARED, offset));
	host_free(w.fd, NULL, offset);
	ok(map_errno(w.fd, 2 * PAGE, RW, MAP_SHARED, offset) == EINVAL);
	world_close(&w);
}

static void mapped_twice(const struct test *test, const struct command *command)
{
	struct world w;

	(void)test;
	(void)command;
	world_open(&w);
	ok(map_errno(w.fd, PAGE, RW, MAP_SHARED, w.own_offset) == EBUSY);
	/* Once is once, also after munmap(). */
	MUST(!munmap(w.own, PAGE));
	ok(map_errno(w.fd, PAGE, RW, MAP_SHARED, w.own_offset) == EBUSY);
	world_close(&w);
}

static void over_a_range(const struct test *test, const struct command *command)
{
	uint64_t offset;
	struct world w;

	(void)test;
	(void)command;
	world_open(&w);
	host_register(w.fd, w.host, 1, 0);
	offset = host_alloc(w.fd, PAGE);
	ok(mmap(w.host, PAGE, RW, MAP_SHARED | MAP_FIXED, w.fd, (off_t)offset) == MAP_FAILED &&
	   errno == EEXIST);
	/* MAP_FIXED has made a hole there, which mmap() must not choose again. */
	MUST(mmap(w.host, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == w.host);
	/* It was refused, so the one mapping is still to come. */
	ok(!map_errno(w.fd, PAGE, RW, MAP_SHARED, offset));
	host_free(w.fd, w.host, 0);
	host_free(w.fd, NULL, offset);
	world_close(&w);
}

static void completion_page(const struct test *test, const struct command *command)
{
	struct paccel_stream_create cmd = { .size = sizeof(cmd) };
	const struct paccel_page *page;
	struct world w;

	(void)test;
	world_open(&w);
	command = command_named("STREAM_CREATE");
	ok(!command_call(w.fd, command, (union argument *)&cmd));
	ok(map_errno(w.fd, PAGE, RW, MAP_SHARED, cmd.page_offset) == EACCES);
	ok(map_errno(w.fd, PAGE, PROT_WRITE, MAP_SHARED, cmd.page_offset) == EACCES);
	ok(map_errno(w.fd, PAGE, PROT_READ, MAP_PRIVATE, cmd.page_offset) == EINVAL);
	ok(map_errno(w.fd, 2 * PAGE, PROT_READ, MAP_SHARED, cmd.page_offset) == EINVAL);
	page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, w.fd, (off_t)cmd.page_offset);
	ok(page != MAP_FAILED);
	if (page != MAP_FAILED) {
		ok(page->version == PACCEL_PAGE_VERSION && page->state == PACCEL_PAGE_RUNNING);
		ok(page->slots[w.stream - 1].done == 1 && !page->slots[w.stream - 1].error);
		ok(!page->slots[cmd.stream - 1].done);
		ok(mprotect((void *)(uintptr_t)page, PAGE, RW) && errno == EACCES);
		munmap((void *)(uintptr_t)page, PAGE);
	}
	stream_destroy(w.fd, cmd.stream);
	world_close(&w);
}

/* A context without a stream has no page. */
static void no_completion_page(const struct test *test, const struct command *command)
{
	struct paccel_stream_create cmd = { .size = sizeof(cmd) };
	struct world w;
	int fd;

	(void)test;
	world_open(&w);
	fd = target_open(O_RDWR | O_CLOEXEC);
	command = command_named("STREAM_CREATE");
	ok(!command_call(w.fd, command, (union argument *)&cmd));
	ok(map_errno(fd, PAGE, PROT_READ, MAP_SHARED, cmd.page_offset) == EINVAL);
	stream_destroy(w.fd, cmd.stream);
	close(fd);
	world_close(&w);
}

/* Any whole pages, allocated or not. */
static void device_memory(const struct test *test, const struct command *command)
{
	uint64_t start, size;
	int able, expected;
	struct world w;

	(void)test;
	(void)command;
	world_open(&w);
	able = w.info.caps & PACCEL_CAP_MAPPABLE;
	expected = able ? 0 : EOPNOTSUPP;
	start = PACCEL_MMAP_DEVICE + w.info.mem_base;
	size = able ? w.info.mem_size : PAGE;
	ok(map_errno(w.fd, size, RW, MAP_SHARED, start) == expected);
	ok(map_errno(w.fd, PAGE, RW, MAP_SHARED, start + size - PAGE) == expected);
	if (able) {
		ok(map_errno(w.fd, PAGE, RW, MAP_PRIVATE, start) == EINVAL);
		ok(map_errno(w.fd, PAGE, RW | PROT_EXEC, MAP_SHARED, start) == EACCES);
		ok(map_errno(w.fd, size + PAGE, RW, MAP_SHARED, start) == EINVAL);
		ok(map_errno(w.fd, PAGE, RW, MAP_SHARED, start + size) == EINVAL);
		ok(map_errno(w.fd, PAGE, RW, MAP_SHARED, start - PAGE) == EINVAL);
		ok(map_errno(w.fd, PAGE, RW, MAP_SHARED, PACCEL_MMAP_DEVICE) == EINVAL);
	}
	world_close(&w);
}

/* Each page of a mapping is the page of device memory that its offset names. */
static void device_memory_by_parts(const struct test *test, const struct command *command)
{
	struct paccel_copy cmd = { .size = sizeof(cmd), .dir = PACCEL_COPY_D2H, .width = 1, .rows = 1 };
	uint8_t *page, byte = 0;
	uint64_t mem;
	struct world w;

	(void)test;
	world_open(&w);
	if (w.info.caps & PACCEL_CAP_MAPPABLE) {
		mem = mem_alloc(w.fd, 2 * PAGE);
		page = mmap(NULL, PAGE, RW, MAP_SHARED, w.fd,
			    (off_t)(PACCEL_MMAP_DEVICE + mem + PAGE));
		MUST(page != MAP_FAILED);
		page[5] = 0x5a;
		cmd.src = mem + PAGE + 5;
		cmd.dst = (uintptr_t)&byte;
		command = command_named("COPY");
		ok(!command_call(w.fd, command, (union argument *)&cmd) && byte == 0x5a);
		munmap(page, PAGE);
		mem_free(w.fd, mem, 2 * PAGE);
	}
	world_close(&w);
}

static void read_only_file(const struct test *test, const struct command *command)
{
	struct world w;
	int fd;

	(void)test;
	(void)command;
	world_open(&w);
	fd = target_open(O_RDONLY | O_CLOEXEC);
	ok(map_errno(fd, PAGE, PROT_READ, MAP_SHARED, 0) == EACCES);
	ok(map_errno(fd, PAGE, PROT_READ, MAP_SHARED, PACCEL_MMAP_DEVICE + w.mem) == EACCES);
	close(fd);
	world_close(&w);
}

static int map_as_stranger(void *arg)
{
	struct world *w = arg;

	return map_errno(w->fd, PAGE, PROT_READ, MAP_SHARED, w->own_offset);
}

static void other_process(const struct test *test, const struct command *command)
{
	struct world w;

	(void)test;
	(void)command;
	world_open(&w);
	ok(errno_in_child(map_as_stranger, &w) == EPERM);
	world_close(&w);
}

#define MAP(_name, _err) { .about = "mmap", .name = #_name, .err = _err, .run = _name }

const struct test maps[] = {
	MAP(host_memory, EINVAL),
	MAP(mapped_twice, EBUSY),
	MAP(over_a_range, EEXIST),
	MAP(completion_page, EACCES),
	MAP(no_completion_page, EINVAL),
	MAP(device_memory, EOPNOTSUPP),
	MAP(device_memory_by_parts, 0),
	MAP(read_only_file, EACCES),
	MAP(other_process, EPERM),
};
const size_t nr_maps = COUNT(maps);
