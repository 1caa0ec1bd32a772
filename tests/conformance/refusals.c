// SPDX-License-Identifier: MIT
/* Refusals of the commands about memory, copies and fills. */
#define _GNU_SOURCE
#include "refusals.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

static void apply(const struct test *test, struct world *w, union argument *c)
{
	uint8_t *base = test->in_op ? (uint8_t *)&w->op : c->bytes;

	/* Little-endian, as every machine that the driver is built for. */
	memcpy(base + test->offset, &test->value, test->bytes);
	if (test->deviate)
		test->deviate(w, c);
}

void refuse(const struct test *test, const struct command *command)
{
	union argument c, valid;
	struct world w, before;
	int err, wanted;

	world_open(&w);
	command_prepare(&w, command, &c);
	if (test->begin)
		test->begin(&w, &c);
	valid = c;
	before = w;
	apply(test, &w, &c);
	wanted = w.info.caps & test->unless ? 0 : test->err;
	err = command_call(w.fd, command, &c);
	if (err != wanted)
		printf("# errno %d, not %d\n", err, wanted);
	ok(err == wanted);
	if (err && command->request == PACCEL_IOC_SUBMIT)
		ok(c.submit.bad_op == (test->in_op ? 0 : c.submit.nr_ops));
	if (err && !test->breaks) {
		/* It was this deviation alone. */
		c = valid;
		before.extra = w.extra;
		w = before;
		err = command_call(w.fd, command, &c);
		ok(!err);
	}
	if (err)
		command->drop(&w, &valid);
	else
		command->undo(&w, &c);
	world_close(&w);
}

/* ---- Device memory ---- */

static void align_above_max(struct world *w, union argument *c)
{
	c->mem_alloc.align = 2 * w->info.max_align;
}

static void above_quota(struct world *w, union argument *c)
{
	target_quota(w->before.used + w->info.granule);
	w->extra.quota = true;
	c->mem_alloc.length = w->info.granule + 1;
}

static void more_than_there_is(struct world *w, union argument *c)
{
	c->mem_alloc.length = w->info.mem_size + 1;
}

static void freed(struct world *w, union argument *c)
{
	c->mem_free.addr = mem_alloc(w->fd, BLOCK);
	mem_free(w->fd, c->mem_free.addr, BLOCK);
}

static void free_interior_address(struct world *w, union argument *c)
{
	c->mem_free.addr += w->info.granule / 2;
}

static void export_own(struct world *w, union argument *c)
{
	c->mem_export.kind = PACCEL_EXPORT_HOST;
	c->mem_export.addr = (uintptr_t)w->own;
}

static void interior_export(struct world *w, union argument *c)
{
	(void)w;
	c->mem_export.addr += 64;
}

void register_extra(struct world *w, void *addr, uint32_t flags)
{
	host_register(w->fd, addr, BLOCK, flags);
	w->extra.range = addr;
}

static void export_registered(struct world *w, union argument *c)
{
	register_extra(w, w->host, 0);
	c->mem_export.kind = PACCEL_EXPORT_HOST;
	c->mem_export.addr = (uintptr_t)w->host;
}

static void no_memory_to_lock(struct world *w, union argument *c)
{
	(void)w;
	(void)c;
	target_limit_memlock(0);
}

/* The lowest number that is free is above the limit. */
void no_file_descriptor(struct world *w, union argument *c)
{
	struct rlimit limit;

	(void)c;
	MUST(!getrlimit(RLIMIT_NOFILE, &limit));
	w->extra.files = limit.rlim_cur;
	limit.rlim_cur = (rlim_t)dup(w->fd);
	close((int)limit.rlim_cur);
	MUST(!setrlimit(RLIMIT_NOFILE, &limit));
}

static void import_other_file(struct world *w, union argument *c)
{
	w->extra.fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	c->mem_import.fd = w->extra.fd;
}

static void import_host_memory(struct world *w, union argument *c)
{
	w->extra.fd = mem_export(w->fd, PACCEL_EXPORT_HOST, (uintptr_t)w->own);
	c->mem_import.fd = w->extra.fd;
}

/* ---- Host memory ---- */

static void above_max_host_bytes(struct world *w, union argument *c)
{
	c->host_alloc.length = w->info.max_host_bytes + 1;
}

static void register_above_max(struct world *w, union argument *c)
{
	c->host_register.length = w->info.max_host_bytes + 1;
}

static void register_wraps(struct world *w, union argument *c)
{
	(void)w;
	c->host_register.addr = 0ull - BLOCK / 2;
}

static void register_taken(struct world *w, union argument *c)
{
	(void)c;
	register_extra(w, w->host + BLOCK - 1, 0);
}

static void register_own(struct world *w, union argument *c)
{
	c->host_register.addr = (uintptr_t)w->own + 64;
}

static void register_unmapped(struct world *w, union argument *c)
{
	(void)w;
	c->host_register.addr = (uintptr_t)pages_guard(1) + 1;
}

static void register_half_mapped(struct world *w, union argument *c)
{
	(void)w;
	c->host_register.addr = (uintptr_t)pages_guard(1);
}

static void register_kernel(struct world *w, union argument *c)
{
	(void)w;
	c->host_register.addr = 1ull << 63;
}

void make_read_only(struct world *w, union argument *c)
{
	(void)c;
	MUST(!mprotect(w->host, PAGE, PROT_READ));
}

static void register_read_only(struct world *w, union argument *c)
{
	make_read_only(w, c);
	c->host_register.flags = PACCEL_HOST_READ_ONLY;
}

static void register_device_memory(struct world *w, union argument *c)
{
	void *at = (uint8_t *)pages_guard(1) + 1;

	if (w->info.caps & PACCEL_CAP_MAPPABLE) {
		at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, w->fd,
			  (off_t)(PACCEL_MMAP_DEVICE + w->mem));
		MUST(at != MAP_FAILED);
		w->extra.mapped = at;
	}
	c->host_register.addr = (uintptr_t)at;
}

/* A dma-buf under addresses that are kept free. */
static void register_dmabuf(struct world *w, union argument *c)
{
	w->extra.fd = mem_export(w->fd, PACCEL_EXPORT_HOST, (uintptr_t)w->own);
	c->host_register.flags = PACCEL_HOST_DMABUF;
	c->host_register.fd = w->extra.fd;
	c->host_register.addr = (uintptr_t)pages_guard(PAGE) + PAGE;
}

static void dmabuf_of_no_use(struct world *w, union argument *c)
{
	(void)w;
	c->host_register.fd = 0;
}

static void dmabuf_at_0(struct world *w, union argument *c)
{
	(void)w;
	c->host_register.addr = 0;
}

static void dmabuf_of_this_device(struct world *w, union argument *c)
{
	c->host_register.fd = w->dmabuf;
}

static void beyond_dmabuf(struct world *w, union argument *c)
{
	(void)w;
	c->host_register.length = PAGE + 1;
}

static void register_read_only_dmabuf(struct world *w, union argument *c)
{
	w->extra.fd = target_read_only_dmabuf();
	MUST(w->extra.fd >= 0);
	c->host_register.flags = PACCEL_HOST_DMABUF | PACCEL_HOST_READ_ONLY;
	c->host_register.fd = w->extra.fd;
	c->host_register.addr = (uintptr_t)pages_guard(PAGE) + PAGE;
}

static void read_only_dmabuf_to_write(struct world *w, union argument *c)
{
	(void)w;
	c->host_register.flags = PACCEL_HOST_DMABUF;
}

static void fd_without_flag(struct world *w, union argument *c)
{
	c->host_register.fd = w->dmabuf;
}

static void free_both(struct world *w, union argument *c)
{
	c->host_free.offset = w->own_offset;
}

static void free_interior(struct world *w, union argument *c)
{
	(void)w;
	c->host_free.addr++;
}

static void free_unknown_offset(struct world *w, union argument *c)
{
	c->host_free.addr = 0;
	c->host_free.offset = w->own_offset + 1000 * PAGE;
}

static void free_inside_offset(struct world *w, union argument *c)
{
	c->host_free.addr = 0;
	c->host_free.offset = w->own_offset + 1;
}

/* ---- Copies and fills ---- */

static void two_rows(struct world *w, union argument *c)
{
	(void)w;
	c->copy.rows = 2;
	c->copy.dst_pitch = c->copy.src_pitch = 16;
}

static void from_device(struct world *w, union argument *c)
{
	c->copy.dir = PACCEL_COPY_D2H;
	c->copy.dst = (uintptr_t)w->host;
	c->copy.src = w->mem;
}

static void inside_device(struct world *w, union argument *c)
{
	c->copy.dir = PACCEL_COPY_D2D;
	c->copy.dst = w->mem;
	c->copy.src = w->mem + 8;
}

/* Rows that lie between each other's do not overlap. */
static void interleaved(struct world *w, union argument *c)
{
	inside_device(w, c);
	c->copy.rows = 2;
	c->copy.dst_pitch = c->copy.src_pitch = 16;
}

static void source_overlaps(struct world *w, union argument *c)
{
	(void)w;
	c->copy.src--;
}

static void other_pitch(struct world *w, union argument *c)
{
	(void)w;
	c->copy.src_pitch += 8;
}

static void copy_beyond(struct world *w, union argument *c)
{
	c->copy.dst = w->mem + BLOCK - 7;
}

static void copy_from_beyond(struct world *w, union argument *c)
{
	c->copy.src = w->mem + BLOCK - 7;
}

static void copy_before(struct world *w, union argument *c)
{
	c->copy.dst = w->mem - 1;
}

static void copy_unmapped(struct world *w, union argument *c)
{
	(void)w;
	c->copy.src = (uintptr_t)pages_guard(7);
}

static void copy_to_unmapped(struct world *w, union argument *c)
{
	(void)w;
	c->copy.dst = (uintptr_t)pages_guard(7);
}

static void copy_wraps(struct world *w, union argument *c)
{
	(void)w;
	c->copy.src = 0ull - 4;
}

static void copy_to_read_only_range(struct world *w, union argument *c)
{
	(void)c;
	register_extra(w, w->host, PACCEL_HOST_READ_ONLY);
}

static void copy_from_dead_range(struct world *w, union argument *c)
{
	c->copy.src = (uintptr_t)w->own;
	MUST(!munmap(w->own, PAGE));
}

static void fill_beyond(struct world *w, union argument *c)
{
	c->fill.addr = w->mem + BLOCK - 7;
}

static void fill_eight(struct world *w, union argument *c)
{
	(void)w;
	c->fill.pattern_size = 8;
	c->fill.pattern = 0x0123456789abcdefull;
}

static void fill_four(struct world *w, union argument *c)
{
	(void)w;
	c->fill.pattern_size = 4;
	c->fill.pattern = UINT32_MAX;
}

static void fill_two(struct world *w, union argument *c)
{
	(void)w;
	c->fill.pattern_size = 2;
	c->fill.pattern = UINT16_MAX;
}

static void fill_wraps(struct world *w, union argument *c)
{
	(void)w;
	c->fill.addr = 0ull - 4;
}

/* ---- The table ---- */

const struct test refusals[] = {
	SET(MEM_ALLOC, EINVAL, "length_0", mem_alloc.length, 0),
	SET(MEM_ALLOC, EINVAL, "align_3", mem_alloc.align, 3),
	SET(MEM_ALLOC, EINVAL, "align_of_all_ones", mem_alloc.align, UINT64_MAX),
	DEVIATE(MEM_ALLOC, EINVAL, align_above_max),
	SET(MEM_ALLOC, ENOMEM, "length_of_all_ones", mem_alloc.length, UINT64_MAX),
	DEVIATE(MEM_ALLOC, ENOMEM, more_than_there_is),
	BREAK(MEM_ALLOC, EDQUOT, above_quota),
	{ ROW(MEM_ALLOC, EOPNOTSUPP, "mappable"), FIELD(any.flags), .value = PACCEL_MEM_MAPPABLE,
	  .unless = PACCEL_CAP_MAPPABLE },

	SET(MEM_FREE, ENOENT, "address_0", mem_free.addr, 0),
	DEVIATE(MEM_FREE, ENOENT, free_interior_address),
	DEVIATE(MEM_FREE, ENOENT, freed),
	SET(MEM_FREE, EINVAL, "length_0", mem_free.length, 0),
	SET(MEM_FREE, EINVAL, "shorter", mem_free.length, BLOCK - 1),
	SET(MEM_FREE, EINVAL, "longer", mem_free.length, BLOCK + 1),

	ACCEPT(MEM_EXPORT, export_own),
	SET(MEM_EXPORT, EINVAL, "kind_0", mem_export.kind, 0),
	SET(MEM_EXPORT, EINVAL, "kind_3", mem_export.kind, 3),
	SET(MEM_EXPORT, ENOENT, "device_address_as_host", mem_export.kind, PACCEL_EXPORT_HOST),
	SET(MEM_EXPORT, ENOENT, "address_0", mem_export.addr, 0),
	DEVIATE(MEM_EXPORT, ENOENT, interior_export),
	DEVIATE_IN(export_own, MEM_EXPORT, ENOENT, interior_export),
	DEVIATE(MEM_EXPORT, ENOENT, export_registered),
	BREAK_ALONE(MEM_EXPORT, EMFILE, no_file_descriptor),

	SET(MEM_IMPORT, EINVAL, "fd_of_none", mem_import.fd, UINT32_MAX),
	DEVIATE(MEM_IMPORT, EINVAL, import_other_file),
	DEVIATE(MEM_IMPORT, EXDEV, import_host_memory),

	SET(HOST_ALLOC, EINVAL, "length_0", host_alloc.length, 0),
	SET(HOST_ALLOC, EINVAL, "length_of_all_ones", host_alloc.length, UINT64_MAX),
	DEVIATE(HOST_ALLOC, EINVAL, above_max_host_bytes),
	BREAK_ALONE(HOST_ALLOC, ENOMEM, no_memory_to_lock),

	SET(HOST_REGISTER, EINVAL, "addr_0", host_register.addr, 0),
	SET(HOST_REGISTER, EINVAL, "length_0", host_register.length, 0),
	DEVIATE(HOST_REGISTER, EINVAL, register_above_max),
	DEVIATE(HOST_REGISTER, EINVAL, register_wraps),
	DEVIATE(HOST_REGISTER, EINVAL, fd_without_flag),
	BREAK(HOST_REGISTER, EEXIST, register_taken),
	DEVIATE(HOST_REGISTER, EEXIST, register_own),
	DEVIATE(HOST_REGISTER, EFAULT, register_unmapped),
	DEVIATE(HOST_REGISTER, EFAULT, register_half_mapped),
	DEVIATE(HOST_REGISTER, EFAULT, register_kernel),
	BREAK(HOST_REGISTER, EFAULT, make_read_only),
	ACCEPT(HOST_REGISTER, register_read_only),
	{ ROW(HOST_REGISTER, EFAULT, "register_device_memory"), .deviate = register_device_memory },
	BREAK_ALONE(HOST_REGISTER, ENOMEM, no_memory_to_lock),
	ACCEPT(HOST_REGISTER, register_dmabuf),
	DEVIATE_IN(register_dmabuf, HOST_REGISTER, EINVAL, dmabuf_of_no_use),
	DEVIATE_IN(register_dmabuf, HOST_REGISTER, EINVAL, beyond_dmabuf),
	DEVIATE_IN(register_dmabuf, HOST_REGISTER, EINVAL, dmabuf_at_0),
	DEVIATE_IN(register_dmabuf, HOST_REGISTER, EOPNOTSUPP, dmabuf_of_this_device),
	ACCEPT(HOST_REGISTER, register_read_only_dmabuf),
	{ ROW(HOST_REGISTER, ENOMEM, "no_memory_to_lock_a_dmabuf"), .deviate = no_memory_to_lock,
	  .begin = register_read_only_dmabuf, .breaks = true, .alone = true },
	DEVIATE_IN(register_read_only_dmabuf, HOST_REGISTER, EACCES, read_only_dmabuf_to_write),

	SET(HOST_FREE, EINVAL, "neither", host_free.addr, 0),
	DEVIATE(HOST_FREE, EINVAL, free_both),
	DEVIATE(HOST_FREE, ENOENT, free_interior),
	DEVIATE(HOST_FREE, ENOENT, free_unknown_offset),
	DEVIATE(HOST_FREE, ENOENT, free_inside_offset),

	SET(COPY, EINVAL, "dir_0", copy.dir, 0),
	SET(COPY, EINVAL, "dir_4", copy.dir, 4),
	SET(COPY, EINVAL, "width_0", copy.width, 0),
	SET(COPY, EINVAL, "rows_0", copy.rows, 0),
	SET(COPY, EINVAL, "dst_pitch_of_one_row", copy.dst_pitch, 7),
	SET(COPY, EINVAL, "src_pitch_of_one_row", copy.src_pitch, 7),
	SET_IN(two_rows, COPY, EINVAL, "dst_pitch_0", copy.dst_pitch, 0),
	SET_IN(two_rows, COPY, EINVAL, "src_pitch_0", copy.src_pitch, 0),
	SET_IN(two_rows, COPY, EINVAL, "dst_pitch_7", copy.dst_pitch, 7),
	SET_IN(two_rows, COPY, EINVAL, "src_pitch_7", copy.src_pitch, 7),
	SET_IN(two_rows, COPY, EINVAL, "rows_wrap", copy.rows, 1ull << 61),
	SET(COPY, EINVAL, "width_wraps", copy.width, UINT64_MAX),
	DEVIATE(COPY, EINVAL, copy_wraps),
	DEVIATE_IN(inside_device, COPY, EINVAL, source_overlaps),
	ACCEPT(COPY, interleaved),
	DEVIATE_IN(interleaved, COPY, EINVAL, other_pitch),
	SET(COPY, EFAULT, "dst_0", copy.dst, 0),
	DEVIATE(COPY, EFAULT, copy_before),
	DEVIATE(COPY, EFAULT, copy_beyond),
	DEVIATE_IN(from_device, COPY, EFAULT, copy_from_beyond),
	DEVIATE_IN(inside_device, COPY, EFAULT, copy_from_beyond),
	DEVIATE(COPY, EFAULT, copy_unmapped),
	DEVIATE_IN(from_device, COPY, EFAULT, copy_to_unmapped),
	SET(COPY, EFAULT, "src_of_the_kernel", copy.src, 1ull << 63),
	{ ROW(COPY, EFAULT, "copy_to_read_only"), .begin = from_device, .deviate = make_read_only,
	  .breaks = true },
	{ ROW(COPY, EFAULT, "copy_to_read_only_range"), .begin = from_device, .breaks = true,
	  .deviate = copy_to_read_only_range },
	BREAK(COPY, EFAULT, copy_from_dead_range),
	{ ROW(COPY, EOPNOTSUPP, "verified"), FIELD(any.flags), .value = PACCEL_COPY_VERIFY,
	  .unless = PACCEL_CAP_VERIFY },

	ACCEPT(FILL, fill_two),
	ACCEPT(FILL, fill_four),
	ACCEPT(FILL, fill_eight),
	SET(FILL, EINVAL, "length_0", fill.length, 0),
	SET(FILL, EINVAL, "pattern_size_0", fill.pattern_size, 0),
	SET(FILL, EINVAL, "pattern_size_3", fill.pattern_size, 3),
	SET(FILL, EINVAL, "pattern_size_16", fill.pattern_size, 16),
	SET(FILL, EINVAL, "pattern_above_its_size", fill.pattern, 256),
	SET_IN(fill_two, FILL, EINVAL, "pattern_above_two_bytes", fill.pattern, UINT16_MAX + 1),
	SET_IN(fill_four, FILL, EINVAL, "pattern_above_four_bytes", fill.pattern, UINT32_MAX + 1ull),
	SET_IN(fill_eight, FILL, EINVAL, "part_of_a_pattern", fill.length, 12),
	DEVIATE(FILL, EINVAL, fill_wraps),
	SET(FILL, EFAULT, "address_0", fill.addr, 0),
	DEVIATE(FILL, EFAULT, fill_beyond),
	{ ROW(FILL, EOPNOTSUPP, "verified"), FIELD(any.flags), .value = PACCEL_FILL_VERIFY,
	  .unless = PACCEL_CAP_VERIFY },
};
const size_t nr_refusals = COUNT(refusals);

/* Those of memory of the kernel are in fail_nth, where each allocation fails once. */
const struct elsewhere elsewhere[] = {
	{ "general", EOPNOTSUPP, "tests/conformance/refusals.c", "dmabuf_of_this_device" },
	{ "general", ENOMEM, "tests/kselftest/fail_nth.c", "submit" },
	{ "general", EIO, "tests/kselftest/watchdog.c", "out_of_service" },
	{ "general", EINTR, "tests/conformance/queues.c", "wait_and_signal" },
	{ "mmap", EFAULT, "tests/conformance/refusals.c", "copy_from_dead_range" },
	{ "HOST_REGISTER", ENOSPC, "tests/conformance/queues.c", "fill_ranges" },
	{ "MEM_ALLOC", EIO, "tests/kselftest/watchdog.c", "out_of_service" },
	{ "MEM_EXPORT", ENOMEM, "tests/kselftest/fail_nth.c", "export_device" },
	{ "MEM_IMPORT", ENOMEM, "tests/kselftest/fail_nth.c", "import" },
	{ "MEM_IMPORT", ESTALE, "tests/conformance/rules.c", "lost" },
	{ "COPY", ENOMEM, "tests/kselftest/fail_nth.c", "h2d" },
	{ "COPY", EIO, "tests/conformance/queues.c", "copy_that_runs" },
	{ "COPY", ETIMEDOUT, "tests/kselftest/watchdog.c", "hung_transfer" },
	{ "COPY", EBADMSG, "tests/kselftest/verify.c", "of_a_call" },
	{ "FILL", ENOMEM, "tests/kselftest/fail_nth.c", "fill" },
	{ "FILL", EIO, "tests/kselftest/watchdog.c", "out_of_service" },
	{ "FILL", ETIMEDOUT, "tests/kselftest/watchdog.c", "hung_transfer" },
	{ "FILL", EBADMSG, "tests/kselftest/verify.c", "of_a_call" },
	{ "STREAM_CREATE", ENOMEM, "tests/kselftest/fail_nth.c", "stream_create" },
	{ "SUBMIT", ENOMEM, "tests/kselftest/fail_nth.c", "submit" },
	{ "SUBMIT", EIO, "tests/kselftest/watchdog.c", "out_of_service" },
	{ "FENCE_EXPORT", ENOMEM, "tests/kselftest/fail_nth.c", "fence_export" },
	{ "RESET", EIO, "tests/kselftest/silence.c", "given_up" },
};
const size_t nr_elsewhere = COUNT(elsewhere);
