// SPDX-License-Identifier: MIT
/* What holds for every command alike: "DOC: Errors" of the uAPI. */
#define _GNU_SOURCE
#include "contract.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

/* The call was expected to succeed, or was not. */
static void finish(struct world *w, const struct command *command, union argument *c, int err)
{
	if (err)
		command->drop(w, c);
	else
		command->undo(w, c);
	world_close(w);
}

/* The struct ends where readable memory ends: not a byte more is read or written. */
static void struct_before_guard_page(const struct test *test, const struct command *command)
{
	union argument *c = pages_guard(command->size), valid;
	struct world w;
	int err;

	(void)test;
	world_open(&w);
	command_prepare(&w, command, &valid);
	memcpy(c, &valid, command->size);
	err = command_call_sized(w.fd, command, c, command->size);
	ok(!err);
	memcpy(&valid, c, command->size);
	finish(&w, command, &valid, err);
}

static void larger_with_zeros(const struct test *test, const struct command *command)
{
	const uint32_t sizes[] = { command->size + 1, command->size + 8, 4096 };
	union argument *c = pages_map(2);
	struct world w;
	int err;

	(void)test;
	for (size_t i = 0; i < COUNT(sizes); i++) {
		world_open(&w);
		command_prepare(&w, command, c);
		err = command_call_sized(w.fd, command, c, sizes[i]);
		ok(!err);
		finish(&w, command, c, err);
	}
	munmap(c, 2 * PAGE);
}

static void larger_with_junk(const struct test *test, const struct command *command)
{
	uint32_t size = command->size;
	union argument c;
	struct world w;
	int err;

	(void)test;
	world_open(&w);
	command_prepare(&w, command, &c);
	c.bytes[size] = 1;
	ok(command_call_sized(w.fd, command, &c, size + 1) == E2BIG);
	c.bytes[size] = 0;
	c.bytes[size + 7] = 0x80;
	ok(command_call_sized(w.fd, command, &c, size + 8) == E2BIG);
	/* What lies behind the struct is not looked at. */
	err = command_call_sized(w.fd, command, &c, size + 7);
	ok(!err && c.bytes[size + 7] == 0x80);
	finish(&w, command, &c, err);
}

static void too_large(const struct test *test, const struct command *command)
{
	union argument *c = pages_map(2);
	struct world w;

	(void)test;
	world_open(&w);
	command_prepare(&w, command, c);
	ok(command_call_sized(w.fd, command, c, 4097) == E2BIG);
	ok(command_call_sized(w.fd, command, c, UINT32_MAX) == E2BIG);
	command->drop(&w, c);
	world_close(&w);
	munmap(c, 2 * PAGE);
}

static void smaller(const struct test *test, const struct command *command)
{
	union argument c;
	struct world w;

	(void)test;
	world_open(&w);
	command_prepare(&w, command, &c);
	for (uint32_t size = 0; size < command->size; size++)
		ok(command_call_sized(w.fd, command, &c, size) == EINVAL);
	command->drop(&w, &c);
	world_close(&w);
}

static int call_at(int fd, const struct command *command, uintptr_t arg)
{
	return ioctl(fd, command->request, arg) ? errno : 0;
}

/* Part of what size covers cannot be read. */
static void struct_over_guard_page(const struct test *test, const struct command *command)
{
	uint8_t *edge = (uint8_t *)pages_guard(PAGE) + PAGE;
	union argument c;
	struct world w;

	(void)test;
	world_open(&w);
	command_prepare(&w, command, &c);
	for (size_t n = 0; n < command->size; n += n < 4 ? 2 : 4) {
		memcpy(edge - n, &c, n);
		ok(call_at(w.fd, command, (uintptr_t)edge - n) == EFAULT);
	}
	ok(call_at(w.fd, command, 0) == EFAULT);
	ok(call_at(w.fd, command, ~0ul << 47) == EFAULT);
	command->drop(&w, &c);
	world_close(&w);
}

/* A reply that cannot be written leaves nothing behind, as world_close() checks. */
static void struct_read_only(const struct test *test, const struct command *command)
{
	union argument *c = pages_map(1);
	struct world w;
	int err;

	(void)test;
	world_open(&w);
	command_prepare(&w, command, c);
	MUST(!mprotect(c, PAGE, PROT_READ));
	err = call_at(w.fd, command, (uintptr_t)c);
	ok(err == (command->replies ? EFAULT : 0));
	finish(&w, command, c, err);
	munmap(c, PAGE);
}

static void unknown_flags(const struct test *test, const struct command *command)
{
	union argument c;
	struct world w;

	(void)test;
	world_open(&w);
	command_prepare(&w, command, &c);
	for (int bit = 0; bit < 32; bit++) {
		c.any.flags = 1u << bit;
		if (c.any.flags & command->known_flags)
			continue;
		ok(command_call(w.fd, command, &c) == EINVAL);
		/* An unknown flag beside known ones is as unknown. */
		c.any.flags |= command->known_flags;
		ok(command_call(w.fd, command, &c) == EINVAL);
	}
	command->drop(&w, &c);
	world_close(&w);
}

static void reserved(const struct test *test, const struct command *command)
{
	uint32_t field;
	union argument c;
	struct world w;

	(void)test;
	world_open(&w);
	command_prepare(&w, command, &c);
	for (int bit = 0; command->reserved && bit < 32; bit++) {
		field = 1u << bit;
		memcpy(c.bytes + command->reserved, &field, sizeof(field));
		ok(command_call(w.fd, command, &c) == EINVAL);
	}
	memset(c.bytes + command->reserved, 0, command->reserved ? sizeof(field) : 0);
	command->drop(&w, &c);
	world_close(&w);
}

static void read_only_file(const struct test *test, const struct command *command)
{
	union argument c;
	struct world w;
	int fd;

	(void)test;
	world_open(&w);
	fd = target_open(O_RDONLY | O_CLOEXEC);
	MUST(fd >= 0);
	command_prepare(&w, command, &c);
	ok(command_call(fd, command, &c) == (command->any_caller ? 0 : EACCES));
	command->drop(&w, &c);
	close(fd);
	world_close(&w);
}

struct stranger {
	int fd;
	const struct command *command;
	union argument *c;
};

static int call_as_stranger(void *arg)
{
	struct stranger *s = arg;

	return command_call(s->fd, s->command, s->c);
}

/* A forked child has another address space: the context is not its own. */
static void other_process(const struct test *test, const struct command *command)
{
	struct stranger s = { .command = command };
	union argument c;
	struct world w;

	(void)test;
	world_open(&w);
	command_prepare(&w, command, &c);
	s.fd = w.fd;
	s.c = &c;
	ok(errno_in_child(call_as_stranger, &s) == (command->any_caller ? 0 : EPERM));
	command->drop(&w, &c);
	world_close(&w);
}

/* A valid call of every command on a file whose context has ended. */
static void call_all(struct world *w, void (*end)(void), int for_any, int for_caller)
{
	union argument *all = calloc(nr_commands, sizeof(*all));

	MUST(all);
	for (size_t i = 0; i < nr_commands; i++)
		command_prepare(w, &commands[i], &all[i]);
	end();
	for (size_t i = 0; i < nr_commands; i++) {
		int err = command_call(w->fd, &commands[i], &all[i]);

		if (err != (commands[i].any_caller ? for_any : for_caller))
			tap_check(0, commands[i].name, err, "another errno than of the end");
	}
	ok(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, w->fd, (off_t)w->own_offset) == MAP_FAILED &&
	   errno == for_caller);
	munmap(w->own, PAGE);
	munmap(w->host, PAGE);
	close(w->eventfd);
	close(w->fd);
	free(all);
}

/* It stays so for this file when the device is back. */
static void unplugged(const struct test *test, const struct command *command)
{
	struct world w;

	(void)test;
	(void)command;
	world_open(&w);
	call_all(&w, target_unplug, ENODEV, ENODEV);
	close(w.dmabuf);
	target_plug();
	world_open(&w);
	world_close(&w);
}

static void lost(const struct test *test, const struct command *command)
{
	struct paccel_mem_import cmd = { .size = sizeof(cmd) };
	struct world w;
	int fd;

	(void)test;
	(void)command;
	world_open(&w);
	call_all(&w, target_lose, 0, ESTALE);
	/* What was exported is lost as well. */
	fd = target_open(O_RDWR | O_CLOEXEC);
	cmd.fd = w.dmabuf;
	ok(ioctl(fd, PACCEL_IOC_MEM_IMPORT, &cmd) && errno == ESTALE);
	close(w.dmabuf);
	close(fd);
}

static bool is_command(unsigned long request)
{
	for (size_t i = 0; i < nr_commands; i++)
		if (commands[i].request == request)
			return true;
	return false;
}

static void unknown_number(const struct test *test, const struct command *command)
{
	int fd = target_open(O_RDWR | O_CLOEXEC);
	union argument c = { .size = 8 };
	unsigned int nr;

	(void)test;
	(void)command;
	MUST(fd >= 0);
	for (nr = 0; nr < 256; nr++) {
		const unsigned long requests[] = {
			_IO(PACCEL_IOC_TYPE, nr), _IO(PACCEL_IOC_TYPE ^ 1, nr),
			_IOWR(PACCEL_IOC_TYPE, nr, uint64_t), _IOC(0, PACCEL_IOC_TYPE, nr, 8)
		};

		for (size_t i = is_command(requests[0]); i < COUNT(requests); i++)
			ok(ioctl(fd, requests[i], &c) && errno == ENOTTY);
	}
	ok(ioctl(fd, 0ul, &c) && errno == ENOTTY);
	ok(ioctl(fd, 0xfffffffful, &c) && errno == ENOTTY);
	close(fd);
}

static void device_info(const struct test *test, const struct command *command)
{
	struct paccel_device_info info;
	struct world w;

	(void)test;
	(void)command;
	world_open(&w);
	memset(&info, 0xff, sizeof(info));
	info.size = sizeof(info);
	info.flags = 0;
	ok(!ioctl(w.fd, PACCEL_IOC_DEVICE_INFO, &info));
	ok(info.size == sizeof(info) && !info.flags && !info.reserved);
	ok(info.copy_align && !(info.copy_align & (info.copy_align - 1)));
	ok(!(info.granule % info.copy_align));
	ok(info.mem_base == 1ull << 32 && info.mem_size == mem_stats_of(w.fd).total);
	ok(info.granule && !(info.granule & (info.granule - 1)));
	ok(!(info.mem_size % info.granule));
	ok(info.granule == (info.caps & PACCEL_CAP_MAPPABLE ? PAGE : 64));
	ok(info.max_align >= info.granule && !(info.max_align & (info.max_align - 1)));
	ok(info.max_host_bytes > PAGE && info.max_host_ranges > 2);
	ok(info.max_xfer && info.engines && info.dma_bits && info.clock_ns);
	ok(info.max_streams && info.max_streams < PACCEL_PAGE_SLOTS && info.max_points);
	ok(info.max_ops && info.max_ops <= info.max_queued);
	ok(info.max_queued <= info.max_queued_all);
	/* No byte of the reply is left as the caller had it. */
	for (size_t i = strlen(info.backend); i < sizeof(info.backend); i++)
		ok(!info.backend[i]);
	for (size_t i = strlen(info.bus_addr); i < sizeof(info.bus_addr); i++)
		ok(!info.bus_addr[i]);
	world_close(&w);
}

/* An allocation occupies whole granules, and every figure of MEM_STATS that it concerns says so. */
static void mem_stats(const struct test *test, const struct command *command)
{
	struct paccel_mem_stats stats;
	struct world w;
	uint64_t addr;

	(void)test;
	(void)command;
	world_open(&w);
	addr = mem_alloc(w.fd, w.info.granule + 1);
	ok(addr >= w.info.mem_base && !(addr % w.info.granule));
	memset(&stats, 0xff, sizeof(stats));
	stats.size = sizeof(stats);
	stats.flags = 0;
	ok(!ioctl(w.fd, PACCEL_IOC_MEM_STATS, &stats));
	ok(stats.size == sizeof(stats) && !stats.flags);
	ok(stats.used == w.before.used + 2 * w.info.granule);
	ok(stats.mine == w.before.mine + 2 * w.info.granule);
	ok(stats.user == w.before.user + 2 * w.info.granule);
	ok(stats.mine_allocs == w.before.mine_allocs + 1 && stats.allocs == w.before.allocs + 1);
	ok(stats.total == stats.used + stats.free + stats.dirty + stats.quarantined);
	ok(stats.largest_free <= stats.free && !stats.user_max);
	mem_free(w.fd, addr, w.info.granule + 1);
	world_close(&w);
}

#define EACH(_name, _err) { .about = "general", .name = #_name, .err = _err, .run = _name, .each = true }
#define ONCE(_name, _err) { .about = "general", .name = #_name, .err = _err, .run = _name }

const struct test rules[] = {
	EACH(struct_before_guard_page, 0),
	EACH(larger_with_zeros, 0),
	EACH(larger_with_junk, E2BIG),
	EACH(too_large, E2BIG),
	EACH(smaller, EINVAL),
	EACH(struct_over_guard_page, EFAULT),
	EACH(struct_read_only, EFAULT),
	EACH(unknown_flags, EINVAL),
	EACH(reserved, EINVAL),
	EACH(read_only_file, EACCES),
	EACH(other_process, EPERM),
	ONCE(unplugged, ENODEV),
	ONCE(lost, ESTALE),
	ONCE(unknown_number, ENOTTY),
	ONCE(device_info, 0),
	ONCE(mem_stats, 0),
};
const size_t nr_rules = COUNT(rules);
