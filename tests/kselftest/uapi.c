// SPDX-License-Identifier: MIT
/*
 * The contract that holds for every command alike, as a table over all of them:
 * sizes, unknown tails, flags, reserved fields, who may call, unreadable and
 * unwritable structs. Runs with scrub=0, for nothing here is about contents.
 */
#include <sched.h>
#include <stddef.h>

#include "stream_test.h"

#define BLOCK 256

/* What a command needs around it to succeed. */
struct world {
	int fd;
	int dmabuf;	/* of mem */
	u64 mem;
	u8 *host;	/* one page */
	volatile u64 *own;	/* a page of HOST_ALLOC */
	u32 stream;	/* whose point 1 is complete */
	struct paccel_op op;
	struct paccel_point point;
};

union command {
	u32 size;
	u8 bytes[512];
	struct paccel_device_info info;
	struct paccel_mem_alloc alloc;
	struct paccel_mem_free free;
	struct paccel_mem_stats stats;
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

struct op {
	const char *name;
	unsigned long request;
	size_t size;
	/* Makes a command that succeeds; what it needs is undone by undo. */
	void (*prepare)(struct world *w, union command *c);
	/* After the command has succeeded. */
	void (*undo)(struct world *w, union command *c);
	/* After the command was refused. */
	void (*drop)(struct world *w, union command *c);
	bool any_caller;	/* read-only files, other processes */
	bool replies;
	u32 known_flags;
	size_t reserved;	/* offset of a reserved __u32, 0 for none */
};

#define MUST(call)                                                             \
	do {                                                                   \
		int _rc = (call);                                              \
		if (_rc) {                                                     \
			fprintf(stderr, "# %s: %d\n", #call, _rc);             \
			abort();                                               \
		}                                                              \
	} while (0)

static void prepare_nothing(struct world *w, union command *c)
{
	(void)w;
	(void)c;
}

static void prepare_alloc(struct world *w, union command *c)
{
	(void)w;
	c->alloc.length = BLOCK;
}

static void undo_alloc(struct world *w, union command *c)
{
	MUST(_test_cmd_mem_free(w->fd, c->alloc.addr, BLOCK));
}

static void prepare_free(struct world *w, union command *c)
{
	u64 addr;

	MUST(_test_cmd_mem_alloc(w->fd, BLOCK, 0, &addr));
	c->free.addr = addr;
	c->free.length = BLOCK;
}

static void drop_free(struct world *w, union command *c)
{
	MUST(_test_cmd_mem_free(w->fd, c->free.addr, BLOCK));
}

static void prepare_export(struct world *w, union command *c)
{
	c->mem_export.kind = PACCEL_EXPORT_DEVICE;
	c->mem_export.addr = w->mem;
}

static void undo_export(struct world *w, union command *c)
{
	(void)w;
	MUST(close(c->mem_export.fd));
}

static void prepare_import(struct world *w, union command *c)
{
	c->mem_import.fd = w->dmabuf;
}

/* One of two by then. */
static void undo_import(struct world *w, union command *c)
{
	MUST(_test_cmd_mem_free(w->fd, c->mem_import.addr, BLOCK));
}

static void prepare_host_alloc(struct world *w, union command *c)
{
	(void)w;
	c->host_alloc.length = 1;
}

static void undo_host_alloc(struct world *w, union command *c)
{
	MUST(_test_cmd_host_free(w->fd, NULL, c->host_alloc.offset));
}

static void prepare_host_register(struct world *w, union command *c)
{
	c->host_register.addr = (uintptr_t)w->host;
	c->host_register.length = BLOCK;
}

static void undo_host_register(struct world *w, union command *c)
{
	(void)c;
	MUST(_test_cmd_host_free(w->fd, w->host, 0));
}

static void prepare_host_free(struct world *w, union command *c)
{
	MUST(_test_cmd_host_register(w->fd, w->host, BLOCK, 0));
	c->host_free.addr = (uintptr_t)w->host;
}

static void drop_host_free(struct world *w, union command *c)
{
	(void)c;
	MUST(_test_cmd_host_free(w->fd, w->host, 0));
}

static void prepare_copy(struct world *w, union command *c)
{
	c->copy.dir = PACCEL_COPY_H2D;
	c->copy.dst = w->mem;
	c->copy.src = (uintptr_t)w->host;
	c->copy.width = 8;
	c->copy.rows = 1;
}

static void prepare_fill(struct world *w, union command *c)
{
	c->fill.addr = w->mem;
	c->fill.length = 8;
	c->fill.pattern = 0xa5;
	c->fill.pattern_size = 1;
}

static void undo_stream_create(struct world *w, union command *c)
{
	MUST(_test_cmd_stream_destroy(w->fd, c->stream_create.stream));
}

static void prepare_stream_destroy(struct world *w, union command *c)
{
	int stream = stream_create(w->fd);

	MUST(stream < 0 ? stream : 0);
	c->stream_destroy.stream = stream;
}

static void drop_stream_destroy(struct world *w, union command *c)
{
	MUST(_test_cmd_stream_destroy(w->fd, c->stream_destroy.stream));
}

static void prepare_stream_clear(struct world *w, union command *c)
{
	c->stream_clear.stream = w->stream;
}

static void prepare_submit(struct world *w, union command *c)
{
	w->op = op_write(w->own, 1);
	w->own[0] = 0;
	c->submit.stream = w->stream;
	c->submit.nr_ops = 1;
	/* What a failure may write there. */
	c->submit.bad_op = 1;
	c->submit.ops = (uintptr_t)&w->op;
	c->submit.op_size = sizeof(w->op);
}

static void undo_submit(struct world *w, union command *c)
{
	(void)c;
	MUST(w->own[0] != 1);
}

/* A refusal has queued nothing. */
static void drop_submit(struct world *w, union command *c)
{
	(void)c;
	MUST(standing(w->fd, w->stream, 2) != -EINVAL);
	MUST(w->own[0] != 0);
}

static void prepare_wait(struct world *w, union command *c)
{
	w->point = (struct paccel_point){ .stream = w->stream, .point = 1 };
	c->wait.points = (uintptr_t)&w->point;
	c->wait.nr_points = 1;
	c->wait.point_size = sizeof(w->point);
}

static void prepare_fence_export(struct world *w, union command *c)
{
	c->fence_export.stream = w->stream;
	c->fence_export.point = 1;
}

static void undo_fence_export(struct world *w, union command *c)
{
	(void)w;
	MUST(close(c->fence_export.fd));
}

#define OP(_nr, _struct) \
	.name = #_nr, .request = PACCEL_IOC_##_nr, .size = sizeof(_struct), \
	.prepare = prepare_nothing, .undo = prepare_nothing, .drop = prepare_nothing

/* Later initialisers win on purpose. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static const struct op ops[] = {
	{ OP(DEVICE_INFO, struct paccel_device_info),
	  .any_caller = true, .replies = true },
	{ OP(MEM_ALLOC, struct paccel_mem_alloc),
	  .prepare = prepare_alloc, .undo = undo_alloc,
	  .replies = true, .known_flags = PACCEL_MEM_MAPPABLE },
	{ OP(MEM_FREE, struct paccel_mem_free),
	  .prepare = prepare_free, .drop = drop_free },
	{ OP(MEM_STATS, struct paccel_mem_stats),
	  .any_caller = true, .replies = true },
	{ OP(MEM_EXPORT, struct paccel_mem_export),
	  .prepare = prepare_export, .undo = undo_export, .replies = true },
	{ OP(MEM_IMPORT, struct paccel_mem_import),
	  .prepare = prepare_import, .undo = undo_import, .replies = true,
	  .reserved = offsetof(struct paccel_mem_import, reserved) },
	{ OP(HOST_ALLOC, struct paccel_host_alloc),
	  .prepare = prepare_host_alloc, .undo = undo_host_alloc,
	  .replies = true },
	{ OP(HOST_REGISTER, struct paccel_host_register),
	  .prepare = prepare_host_register, .undo = undo_host_register,
	  .known_flags = PACCEL_HOST_READ_ONLY | PACCEL_HOST_DMABUF,
	  .reserved = offsetof(struct paccel_host_register, reserved) },
	{ OP(HOST_FREE, struct paccel_host_free),
	  .prepare = prepare_host_free, .drop = drop_host_free },
	{ OP(COPY, struct paccel_copy),
	  .prepare = prepare_copy, .known_flags = PACCEL_COPY_VERIFY,
	  .reserved = offsetof(struct paccel_copy, reserved) },
	{ OP(FILL, struct paccel_fill),
	  .prepare = prepare_fill, .known_flags = PACCEL_FILL_VERIFY,
	  .reserved = offsetof(struct paccel_fill, reserved) },
	{ OP(STREAM_CREATE, struct paccel_stream_create),
	  .undo = undo_stream_create, .replies = true,
	  .reserved = offsetof(struct paccel_stream_create, reserved) },
	{ OP(STREAM_DESTROY, struct paccel_stream_destroy),
	  .prepare = prepare_stream_destroy, .drop = drop_stream_destroy,
	  .reserved = offsetof(struct paccel_stream_destroy, reserved) },
	{ OP(STREAM_CLEAR, struct paccel_stream_clear),
	  .prepare = prepare_stream_clear, .replies = true },
	{ OP(SUBMIT, struct paccel_submit),
	  .prepare = prepare_submit, .undo = undo_submit, .drop = drop_submit,
	  .replies = true },
	{ OP(WAIT, struct paccel_wait),
	  .prepare = prepare_wait, .replies = true, .known_flags = PACCEL_WAIT_ANY,
	  .reserved = offsetof(struct paccel_wait, reserved) },
	{ OP(FENCE_EXPORT, struct paccel_fence_export),
	  .prepare = prepare_fence_export, .undo = undo_fence_export,
	  .replies = true },
	{ OP(RESET, struct paccel_reset) },
};
#pragma GCC diagnostic pop

static int call_sized(int fd, const struct op *op, void *c, u32 size)
{
	*(u32 *)c = size;
	return paccel_call(fd, op->request, c);
}

FIXTURE(uapi) {
	struct world w;
	const struct op *op;
	union command *c;
	struct paccel_mem_stats before;
	long locked;
	int streams, files;
};

FIXTURE_VARIANT(uapi) {
	int nr;
};

FIXTURE_VARIANT_ADD(uapi, device_info) { .nr = PACCEL_NR_DEVICE_INFO };
FIXTURE_VARIANT_ADD(uapi, mem_alloc) { .nr = PACCEL_NR_MEM_ALLOC };
FIXTURE_VARIANT_ADD(uapi, mem_free) { .nr = PACCEL_NR_MEM_FREE };
FIXTURE_VARIANT_ADD(uapi, mem_stats) { .nr = PACCEL_NR_MEM_STATS };
FIXTURE_VARIANT_ADD(uapi, mem_export) { .nr = PACCEL_NR_MEM_EXPORT };
FIXTURE_VARIANT_ADD(uapi, mem_import) { .nr = PACCEL_NR_MEM_IMPORT };
FIXTURE_VARIANT_ADD(uapi, host_alloc) { .nr = PACCEL_NR_HOST_ALLOC };
FIXTURE_VARIANT_ADD(uapi, host_register) { .nr = PACCEL_NR_HOST_REGISTER };
FIXTURE_VARIANT_ADD(uapi, host_free) { .nr = PACCEL_NR_HOST_FREE };
FIXTURE_VARIANT_ADD(uapi, copy) { .nr = PACCEL_NR_COPY };
FIXTURE_VARIANT_ADD(uapi, fill) { .nr = PACCEL_NR_FILL };
FIXTURE_VARIANT_ADD(uapi, stream_create) { .nr = PACCEL_NR_STREAM_CREATE };
FIXTURE_VARIANT_ADD(uapi, stream_destroy) { .nr = PACCEL_NR_STREAM_DESTROY };
FIXTURE_VARIANT_ADD(uapi, stream_clear) { .nr = PACCEL_NR_STREAM_CLEAR };
FIXTURE_VARIANT_ADD(uapi, submit) { .nr = PACCEL_NR_SUBMIT };
FIXTURE_VARIANT_ADD(uapi, wait) { .nr = PACCEL_NR_WAIT };
FIXTURE_VARIANT_ADD(uapi, fence_export) { .nr = PACCEL_NR_FENCE_EXPORT };
FIXTURE_VARIANT_ADD(uapi, reset) { .nr = PACCEL_NR_RESET };

/* A stream with one point behind it, and memory that operations may write. */
static int open_stream(struct world *w)
{
	int stream = stream_create(w->fd);
	u64 offset;

	if (stream < 0 || _test_cmd_host_alloc(w->fd, page_size, &offset))
		return -1;
	w->stream = stream;
	w->own = host_map(w->fd, page_size, offset);
	if (w->own == MAP_FAILED)
		return -1;
	return submit(w->fd, stream, op_write(w->own, 0)) == 1 ? 0 : -1;
}

/* The streams that the file has, by how many it can still make. */
static int count_streams(int fd)
{
	int nr = 0, made[256];

	while (nr < 256 && (made[nr] = stream_create(fd)) > 0)
		nr++;
	for (int i = 0; i < nr; i++)
		_test_cmd_stream_destroy(fd, made[i]);
	return info_of(fd).max_streams - nr;
}

/* Open files of this process. */
static int count_files(void)
{
	int nr = 0;

	for (int fd = 0; fd < 1024; fd++)
		nr += fcntl(fd, F_GETFD) >= 0;
	return nr;
}

FIXTURE_SETUP(uapi)
{
	self->w.fd = card_open();
	ASSERT_LE(0, self->w.fd);
	self->w.host = map_pages(1);
	memset(self->w.host, 0x11, page_size);
	ASSERT_EQ(0, _test_cmd_mem_alloc(self->w.fd, BLOCK, 0, &self->w.mem));
	ASSERT_EQ(0, _test_cmd_mem_export(self->w.fd, PACCEL_EXPORT_DEVICE, self->w.mem,
					  &self->w.dmabuf));
	for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
		if (_IOC_NR(ops[i].request) == (unsigned int)variant->nr)
			self->op = &ops[i];
	ASSERT_NE(NULL, self->op);
	self->c = calloc(1, sizeof(*self->c));
	self->c->size = self->op->size;
	self->before = stats_of(self->w.fd);
	ASSERT_EQ(0, open_stream(&self->w));
	self->streams = count_streams(self->w.fd);
	self->locked = locked_kb();
	self->files = count_files();
}

FIXTURE_TEARDOWN(uapi)
{
	struct paccel_mem_stats after = stats_of(self->w.fd);

	/* Whatever a test was about, nothing is left behind. */
	EXPECT_EQ(self->before.used, after.used);
	EXPECT_EQ(self->before.mine, after.mine);
	EXPECT_EQ(self->locked, locked_kb());
	EXPECT_EQ(self->streams, count_streams(self->w.fd));
	EXPECT_EQ(self->files, count_files());
	close(self->w.fd);
}

/* The struct ends where readable memory ends: not a byte more is looked at. */
TEST_F(uapi, struct_before_guard_page)
{
	union command *c = guarded(self->op->size);

	memset(c, 0, self->op->size);
	self->op->prepare(&self->w, c);
	EXPECT_EQ(0, call_sized(self->w.fd, self->op, c, self->op->size));
	self->op->undo(&self->w, c);
}

TEST_F(uapi, larger_with_zeros)
{
	for (size_t more = 1; more <= 8; more += 7) {
		memset(self->c, 0, sizeof(*self->c));
		self->op->prepare(&self->w, self->c);
		EXPECT_EQ(0, call_sized(self->w.fd, self->op, self->c,
					self->op->size + more));
		self->op->undo(&self->w, self->c);
	}
}

TEST_F(uapi, larger_with_junk)
{
	size_t size = self->op->size;

	self->op->prepare(&self->w, self->c);
	self->c->bytes[size] = 1;
	EXPECT_EQ(-E2BIG, call_sized(self->w.fd, self->op, self->c, size + 1));
	self->c->bytes[size] = 0;
	self->c->bytes[size + 7] = 0x80;
	EXPECT_EQ(-E2BIG, call_sized(self->w.fd, self->op, self->c, size + 8));
	/* What lies behind the struct is nobody's business. */
	EXPECT_EQ(0, call_sized(self->w.fd, self->op, self->c, size + 7));
	EXPECT_EQ(0x80, self->c->bytes[size + 7]);
	self->op->undo(&self->w, self->c);
}

TEST_F(uapi, smaller)
{
	self->op->prepare(&self->w, self->c);
	for (size_t n = 0; n < self->op->size; n++)
		EXPECT_EQ(-EINVAL, call_sized(self->w.fd, self->op, self->c, n));
	self->op->drop(&self->w, self->c);
}

/* size is a lie: part of what it covers cannot be read. */
TEST_F(uapi, struct_over_guard_page)
{
	u8 *edge = (u8 *)guarded(page_size) + page_size;
	size_t size = self->op->size;

	self->op->prepare(&self->w, self->c);
	for (size_t n = 0; n < size; n += n < 4 ? 2 : 4) {
		memcpy(edge - n, self->c, n);
		EXPECT_EQ(-1, ioctl(self->w.fd, self->op->request, edge - n));
		EXPECT_EQ(EFAULT, errno);
	}
	EXPECT_EQ(-1, ioctl(self->w.fd, self->op->request, NULL));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(-1, ioctl(self->w.fd, self->op->request, ~0ul << 47));
	EXPECT_EQ(EFAULT, errno);
	self->op->drop(&self->w, self->c);
}

/* A reply that cannot be written leaves nothing behind (see the teardown). */
TEST_F(uapi, struct_read_only)
{
	union command *c = (void *)map_pages(1);
	int rc;

	c->size = self->op->size;
	self->op->prepare(&self->w, c);
	ASSERT_EQ(0, mprotect(c, page_size, PROT_READ));
	rc = paccel_call(self->w.fd, self->op->request, c);
	EXPECT_EQ(self->op->replies ? -EFAULT : 0, rc);
	if (rc)
		self->op->drop(&self->w, c);
	else
		self->op->undo(&self->w, c);
}

TEST_F(uapi, flags)
{
	u32 *flags = (u32 *)(self->c->bytes + 4);

	self->op->prepare(&self->w, self->c);
	for (int bit = 0; bit < 32; bit++) {
		*flags = 1u << bit;
		if (*flags & self->op->known_flags)
			continue;
		EXPECT_EQ(-EINVAL, call_sized(self->w.fd, self->op, self->c,
					      self->op->size));
		/* An unknown one beside known ones is as unknown. */
		*flags |= self->op->known_flags;
		EXPECT_EQ(-EINVAL, call_sized(self->w.fd, self->op, self->c,
					      self->op->size));
	}
	self->op->drop(&self->w, self->c);
}

TEST_F(uapi, reserved)
{
	u32 *field = (u32 *)(self->c->bytes + self->op->reserved);

	if (!self->op->reserved)
		return;
	self->op->prepare(&self->w, self->c);
	for (int bit = 0; bit < 32; bit++) {
		*field = 1u << bit;
		EXPECT_EQ(-EINVAL, call_sized(self->w.fd, self->op, self->c,
					      self->op->size));
	}
	*field = 0;
	self->op->drop(&self->w, self->c);
}

TEST_F(uapi, read_only_file)
{
	int fd = card_open_at(card_bdf(), O_RDONLY);
	int expected = self->op->any_caller ? 0 : -EACCES;

	ASSERT_LE(0, fd);
	self->op->prepare(&self->w, self->c);
	EXPECT_EQ(expected, call_sized(fd, self->op, self->c, self->op->size));
	self->op->drop(&self->w, self->c);
	close(fd);
}

struct stranger {
	struct world *w;
	const struct op *op;
	union command *c;
};

static int call_as_stranger(void *arg)
{
	struct stranger *s = arg;

	return -call_sized(s->w->fd, s->op, s->c, s->op->size);
}

/* A forked child has another address space: the context is not its own. */
TEST_F(uapi, other_process)
{
	struct stranger s = { &self->w, self->op, self->c };

	self->op->prepare(&self->w, self->c);
	EXPECT_EQ(self->op->any_caller ? 0 : EPERM,
		  run_in_child(call_as_stranger, &s));
	self->op->drop(&self->w, self->c);
}

static bool is_command(unsigned int nr)
{
	for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
		if (_IOC_NR(ops[i].request) == nr)
			return true;
	return false;
}

TEST(unknown_number)
{
	union command c = { .size = 8 };
	int fd = card_open();

	ASSERT_LE(0, fd);
	for (unsigned int nr = 0; nr < 256; nr++) {
		if (!is_command(nr))
			EXPECT_EQ(-ENOTTY, paccel_call(fd, _IO(PACCEL_IOC_TYPE, nr), &c));
		/* Same number, but another type, direction or size. */
		EXPECT_EQ(-ENOTTY, paccel_call(fd, _IO(PACCEL_IOC_TYPE ^ 1, nr), &c));
		EXPECT_EQ(-ENOTTY, paccel_call(fd, _IOWR(PACCEL_IOC_TYPE, nr, u64), &c));
		EXPECT_EQ(-ENOTTY, paccel_call(fd, _IOC(0, PACCEL_IOC_TYPE, nr, 8), &c));
	}
	/* The type alone, and nothing at all. */
	EXPECT_EQ(-ENOTTY, paccel_call(fd, 0, &c));
	EXPECT_EQ(-ENOTTY, paccel_call(fd, 0xffffffff, &c));
	close(fd);
}

TEST(device_info)
{
	struct paccel_device_info info;
	int fd = card_open();
	u64 before, after;

	ASSERT_LE(0, fd);
	before = now_ms();
	test_cmd_device_info(fd, &info);
	after = now_ms();
	EXPECT_EQ(sizeof(info), info.size);
	EXPECT_EQ(1ull << 32, info.mem_base);
	EXPECT_EQ(stats_of(fd).total, info.mem_size);
	EXPECT_EQ(0, info.granule & (info.granule - 1));
	EXPECT_EQ(0, info.mem_size % info.granule);
	EXPECT_LT(0, info.max_xfer);
	EXPECT_LE(info.granule, info.max_align);
	EXPECT_EQ(0, info.max_align & (info.max_align - 1));
	EXPECT_LT(page_size, info.max_host_bytes);
	EXPECT_LT(0, info.max_host_ranges);
	EXPECT_LE(1, info.engines);
	EXPECT_LE(before, info.clock_ns / 1000000);
	EXPECT_GE(after, info.clock_ns / 1000000);
	EXPECT_EQ(0, info.reserved);
	EXPECT_STREQ(card_bdf(), info.bus_addr);
	/* No byte of the reply is left as the caller had it. */
	EXPECT_TRUE(all_bytes(info.card + strlen(info.card),
			      sizeof(info.card) - strlen(info.card), 0));
	EXPECT_TRUE(all_bytes(info.bus_addr + strlen(info.bus_addr),
			      sizeof(info.bus_addr) - strlen(info.bus_addr), 0));
	close(fd);
}

/* A known flag that the card cannot serve is told apart from an unknown one. */
TEST(mappable_on_a_card_without)
{
	struct paccel_mem_alloc cmd = {
		.size = sizeof(cmd),
		.flags = PACCEL_MEM_MAPPABLE,
		.length = BLOCK,
	};
	int fd = card_open();

	ASSERT_LE(0, fd);
	if (info_of(fd).caps & PACCEL_CAP_MAPPABLE)
		SKIP(return, "memory of this card can be mapped");
	EXPECT_EQ(-EOPNOTSUPP, paccel_call(fd, PACCEL_IOC_MEM_ALLOC, &cmd));
	close(fd);
}

/* --- 32-bit programs ----------------------------------------------------- */

static long ioctl_32(int fd, unsigned int request, void *arg)
{
	long rc;

	/* The old gate takes a 64-bit program into the 32-bit table. */
	asm volatile("int $0x80"
		     : "=a"(rc)
		     : "a"(54), "b"((long)fd), "c"((long)request), "d"(arg)
		     : "memory", "r8", "r9", "r10", "r11");
	return (int)rc;
}

static int ask_info_32(void *arg)
{
	struct paccel_device_info *info = arg;
	int fd = card_open();

	info->size = sizeof(*info);
	return -ioctl_32(fd, PACCEL_IOC_DEVICE_INFO, info);
}

TEST(thirty_two_bit)
{
	void *low = mmap(NULL, page_size, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	struct paccel_device_info *info = low;
	struct paccel_mem_alloc *alloc = low;
	struct paccel_mem_free *release = low;
	int fd = card_open(), status;
	u64 addr;

	ASSERT_LE(0, fd);
	ASSERT_NE(MAP_FAILED, low);
	status = run_in_child(ask_info_32, info);
	if (status > 128)
		SKIP(return, "this kernel runs no 32-bit programs");
	EXPECT_EQ(0, status);
	EXPECT_EQ(info_of(fd).mem_size, info->mem_size);
	EXPECT_STREQ(card_bdf(), info->bus_addr);

	*alloc = (struct paccel_mem_alloc){ .size = sizeof(*alloc), .length = 1 };
	ASSERT_EQ(0, ioctl_32(fd, PACCEL_IOC_MEM_ALLOC, alloc));
	EXPECT_EQ(1, stats_of(fd).mine_allocs);
	addr = alloc->addr;
	*release = (struct paccel_mem_free){ .size = sizeof(*release),
					     .addr = addr, .length = 1 };
	EXPECT_EQ(0, ioctl_32(fd, PACCEL_IOC_MEM_FREE, release));
	EXPECT_EQ(0, stats_of(fd).mine_allocs);
	EXPECT_EQ(-ENOTTY, ioctl_32(fd, _IO(PACCEL_IOC_TYPE, 0xff), low));
	close(fd);
}

/* --- time namespace ------------------------------------------------------ */

#define SHIFT_S 5000

static int clock_in_child(void *arg)
{
	u64 *seen = arg;
	int fd = card_open();

	CHILD_CHECK(fd >= 0);
	seen[0] = info_of(fd).clock_ns / 1000000;
	seen[1] = now_ms();
	return 0;
}

static int clock_in_namespace(void *arg)
{
	char shift[64];

	if (unshare(CLONE_NEWTIME))
		return 4;
	snprintf(shift, sizeof(shift), "monotonic %d 0", SHIFT_S);
	CHILD_CHECK(file_write("/proc/self/timens_offsets", shift) == 0);
	/* Only children are inside. */
	return run_in_child(clock_in_child, arg);
}

/* The library can correct for a shifted clock only if it sees the kernel's own. */
TEST(clock_of_the_initial_namespace)
{
	u64 *seen = mmap(NULL, page_size, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	u64 before = now_ms(), after;
	int status = run_in_child(clock_in_namespace, seen);

	after = now_ms();
	if (status == 4)
		SKIP(return, "no time namespaces");
	ASSERT_EQ(0, status);
	EXPECT_LE(before, seen[0]);
	EXPECT_GE(after, seen[0]);
	EXPECT_LT(before + SHIFT_S * 500, seen[1]);
}

/* --- what is no ioctl ---------------------------------------------------- */

TEST(other_calls)
{
	struct pollfd p = { .events = POLLIN | POLLOUT };
	char byte = 0;
	int fd = card_open();

	ASSERT_LE(0, fd);
	EXPECT_EQ(-1, read(fd, &byte, 1));
	EXPECT_EQ(-1, write(fd, &byte, 1));
	/* Offset 0 maps nothing: it is what a careless program asks for. */
	EXPECT_EQ(MAP_FAILED, mmap(NULL, page_size, PROT_READ, MAP_SHARED, fd, 0));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(MAP_FAILED, mmap(NULL, page_size, PROT_READ, MAP_PRIVATE, fd, 0));
	p.fd = fd;
	EXPECT_EQ(0, poll(&p, 1, 0) ? p.revents & (POLLHUP | POLLERR | POLLNVAL) : 0);
	close(fd);
}

static int open_as_nobody(void *arg)
{
	(void)arg;
	CHILD_CHECK(setgid(65534) == 0 && setuid(65534) == 0);
	return -card_open();
}

TEST(node_is_not_for_everybody)
{
	EXPECT_EQ(EACCES, run_in_child(open_as_nobody, NULL));
}

PACCEL_TEST_MAIN
