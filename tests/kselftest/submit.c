// SPDX-License-Identifier: MIT
/*
 * SUBMIT: what each operation does, and each reason to refuse one, with all else valid.
 * A call that fails has queued nothing. Runs with scrub=0.
 */
#include "stream_test.h"

#define SIZE 512

FIXTURE(submit) {
	struct rig r;
	struct foreign f;
	struct paccel_device_info info;
	u8 *registered, *pageable;	/* two pages each */
};

FIXTURE_SETUP(submit)
{
	ASSERT_EQ(0, rig_open(&self->r, SIZE));
	self->info = info_of(self->r.fd);
	self->f.fd = -1;
	self->registered = map_pages(2);
	self->pageable = map_pages(2);
	memset(self->pageable, 1, 2 * page_size);
	ASSERT_EQ(0, _test_cmd_host_register(self->r.fd, self->registered, 2 * page_size, 0));
}

FIXTURE_TEARDOWN(submit)
{
	if (self->f.fd >= 0)
		foreign_close(&self->f);
	rig_close(&self->r);
}

/* --- what operations do -------------------------------------------------- */

TEST_F(submit, copies_of_all_kinds)
{
	struct rig *r = &self->r;
	u8 *host = self->registered;
	s64 point;

	pattern_fill(host, 64, 1);
	/* Two rows up, from registered memory; inside the card; down to the driver's own. */
	test_cmd_submit(&point, r->fd, r->stream,
			op_rows(PACCEL_COPY_H2D, r->mem, (uintptr_t)host,
				(struct copy_2d){ 20, 2, 32, 24 }),
			op_copy(PACCEL_COPY_D2D, r->mem + 101, r->mem, 52),
			op_d2h(r->bytes + 3, r->mem + 101, 52),
			op_d2h(host + page_size - 20, r->mem + 101, 52));
	EXPECT_EQ(0, outcome(r->fd, r->stream, point));
	EXPECT_EQ(-1, bytes_diff((u8 *)r->bytes + 3, host, 20));
	EXPECT_EQ(-1, bytes_diff((u8 *)r->bytes + 35, host + 24, 20));
	EXPECT_EQ(-1, bytes_diff((u8 *)r->bytes + 3, host + page_size - 20, 20));
	EXPECT_EQ(0, r->bytes[2]);
	EXPECT_EQ(0, r->bytes[55]);
}

TEST_F(submit, fills)
{
	struct rig *r = &self->r;
	s64 point;

	test_cmd_submit(&point, r->fd, r->stream,
			op_fill(r->mem + 1, 24, 0x0807060504030201, 8),
			op_fill(r->mem + 25, 4, 0xbeef, 2),
			op_d2h(r->bytes, r->mem + 1, 28));
	EXPECT_EQ(0, outcome(r->fd, r->stream, point));
	for (int i = 0; i < 24; i++)
		EXPECT_EQ(i % 8 + 1, r->bytes[i]);
	EXPECT_EQ(0xef, r->bytes[24]);
	EXPECT_EQ(0xbe, r->bytes[27]);
}

TEST_F(submit, write_is_exact)
{
	struct rig *r = &self->r;
	volatile u64 *last = &r->own[OWN_PAGES * page_size / 8 - 1];
	volatile u64 *edge = &r->own[page_size / 8];

	memset((void *)r->own, 0x11, OWN_PAGES * page_size);
	EXPECT_EQ(1, submit(r->fd, r->stream, op_write(edge, 0x0123456789abcdef),
			    op_write(last, ~0ull), op_write(&r->own[0], 0)));
	EXPECT_EQ(0x0123456789abcdef, *edge);
	EXPECT_EQ(~0ull, *last);
	EXPECT_EQ(0, r->own[0]);
	EXPECT_EQ(0x1111111111111111, edge[-1]);
	EXPECT_EQ(0x1111111111111111, edge[1]);
	EXPECT_EQ(0x1111111111111111, last[-1]);
	EXPECT_EQ(0x1111111111111111, r->own[1]);
}

/* Not before what comes first has ended, not after the caller knows. */
TEST_F(submit, time)
{
	struct rig *r = &self->r;
	volatile u64 *t = r->own;
	u64 before = info_of(r->fd).clock_ns, after;
	s64 point;

	card_slow();
	test_cmd_submit(&point, r->fd, r->stream, op_time(&t[0]),
			op_fill(r->mem, 8, 0, 1), op_time(&t[1]),
			op_copy(PACCEL_COPY_D2D, r->mem + 8, r->mem, 8), op_time(&t[2]),
			op_time(&t[3]));
	EXPECT_EQ(0, outcome(r->fd, r->stream, point));
	after = info_of(r->fd).clock_ns;
	EXPECT_LE(before, t[0]);
	EXPECT_LE(t[2], t[3]);
	EXPECT_GE(after, t[3]);
	/* One transfer and another, or two. They can take longer, but not be quicker than the card. */
	EXPECT_LT((XFER_MS - 5) * 1000000, t[1] - t[0]);
	EXPECT_LT((XFER_MS - 5) * 1000000, t[2] - t[1]);
}

TEST_F(submit, eventfd_counts)
{
	struct rig *r = &self->r;
	int plain = eventfd(0, EFD_NONBLOCK), semaphore = eventfd(0, EFD_SEMAPHORE);
	int gone = eventfd(0, 0), full = eventfd(0, EFD_NONBLOCK);
	u64 n = 0, most = 0xfffffffffffffffe;

	EXPECT_EQ(1, submit(r->fd, r->stream, op_eventfd(plain, 0), op_eventfd(plain, 0),
			    op_eventfd(semaphore, 0), op_eventfd(plain, PACCEL_OP_ALWAYS)));
	EXPECT_EQ(3, eventfd_sum(plain, 3));
	EXPECT_EQ(8, read(semaphore, &n, 8));
	EXPECT_EQ(1, n);
	EXPECT_EQ(-1, read(plain, &n, 8));
	/* One that cannot count further holds up nobody. */
	ASSERT_EQ(8, write(full, &most, 8));
	EXPECT_EQ(2, submit(r->fd, r->stream, op_eventfd(full, 0), op_eventfd(full, 0)));
	EXPECT_EQ(0, outcome(r->fd, r->stream, 2));
	NEED_FOREIGN();
	/* It may be closed as soon as it has been submitted. */
	EXPECT_EQ(3, submit(r->fd, r->stream, op_fence(foreign_fence(&self->f)),
			    op_eventfd(gone, 0)));
	close(gone);
	foreign_signal(&self->f);
	EXPECT_EQ(0, outcome(r->fd, r->stream, 3));
	close(plain);
	close(semaphore);
	close(full);
}

/* Who is told by the last operation need not ask whether the point is complete. */
TEST_F(submit, eventfd_at_the_end)
{
	struct rig *r = &self->r;
	int event = eventfd(0, 0), fence;
	u64 n;

	NEED_FOREIGN();
	for (u64 point = 1; point <= 60; point++) {
		fence = foreign_fence(&self->f);
		ASSERT_LE(0, fence);
		ASSERT_EQ(point, submit(r->fd, r->stream, op_fence(fence),
					op_write(&r->own[0], point), op_eventfd(event, 0)));
		close(fence);
		foreign_signal(&self->f);
		ASSERT_EQ(8, read(event, &n, 8));
		ASSERT_EQ(point, page_done(r->page, r->stream));
		ASSERT_EQ(point, r->own[0]);
	}
	close(event);
}

/* --- refusals ------------------------------------------------------------ */

/* What the stream had before is what it has afterwards. */
static void nothing_queued(struct __test_metadata *_metadata, struct rig *r, u64 point)
{
	EXPECT_EQ(point, page_done(r->page, r->stream));
	EXPECT_EQ(-EINVAL, standing(r->fd, r->stream, point + 1));
	EXPECT_EQ(0, r->own[0]);
	EXPECT_EQ(0, r->own[1]);
}

/* Between two that are valid. */
static void refuse(struct __test_metadata *_metadata, struct rig *r, int err,
		   struct paccel_op op, int line)
{
	struct paccel_op ops[] = { op_write(&r->own[0], 1), op, op_write(&r->own[1], 1) };
	struct paccel_submit cmd = submit_of(r->stream, ops, 3);
	int rc = submit_call(r->fd, &cmd);

	EXPECT_EQ(-err, rc) TH_LOG("line %d", line);
	EXPECT_EQ(1, cmd.bad_op) TH_LOG("line %d", line);
	nothing_queued(_metadata, r, 0);
}

#define REFUSE(err, op) refuse(_metadata, &self->r, err, op, __LINE__)
/* An operation that is right but for one field. */
#define REFUSE_WITH(err, good, change)                                         \
	do {                                                                   \
		struct paccel_op _op = (good);                                 \
		_op.change;                                                    \
		REFUSE(err, _op);                                              \
	} while (0)

/* That it is right: behind a fence that never comes it is accepted, and costs nothing. */
static void accept(struct __test_metadata *_metadata, struct rig *r, int fence,
		   struct paccel_op good)
{
	int stream = stream_create(r->fd);

	ASSERT_LT(0, stream);
	EXPECT_EQ(1, submit(r->fd, stream, op_fence(fence), good));
	EXPECT_EQ(-EINPROGRESS, standing(r->fd, stream, 1));
}
#define ACCEPT(good) accept(_metadata, &self->r, fence, good)

/* The parameter `verify` does not ask for it: module.c. */
TEST_F(submit, verify_needs_a_card_that_can)
{
	bool can = info_of(self->r.fd).caps & PACCEL_CAP_VERIFY;
	struct paccel_copy copy = {
		.size = sizeof(copy), .flags = PACCEL_COPY_VERIFY, .dir = PACCEL_COPY_H2D,
		.dst = self->r.mem, .src = (uintptr_t)self->r.bytes, .width = 8, .rows = 1,
	};
	struct paccel_fill fill = {
		.size = sizeof(fill), .flags = PACCEL_FILL_VERIFY, .addr = self->r.mem,
		.length = 8, .pattern = 1, .pattern_size = 1,
	};
	struct paccel_op op[] = {
		op_h2d(self->r.mem, self->r.bytes, 8), op_d2h(self->r.bytes, self->r.mem, 8),
		op_fill(self->r.mem, 8, 1, 1),
	};

	EXPECT_EQ(can ? 0 : -EOPNOTSUPP, paccel_call(self->r.fd, PACCEL_IOC_COPY, &copy));
	EXPECT_EQ(can ? 0 : -EOPNOTSUPP, paccel_call(self->r.fd, PACCEL_IOC_FILL, &fill));
	for (size_t i = 0; i < ARRAY_SIZE(op); i++) {
		op[i].flags = PACCEL_OP_VERIFY;
		if (!can)
			REFUSE(EOPNOTSUPP, op[i]);
		else
			EXPECT_LT(0, submit(self->r.fd, self->r.stream, op[i]));
	}
}

/* Only ranges that are pinned already: nothing may be once the work is queued. */
TEST_F(submit, host_memory_must_be_registered)
{
	struct rig *r = &self->r;
	u8 *p = self->pageable, *end = self->registered + 2 * page_size;
	int fence;

	NEED_FOREIGN();
	fence = foreign_fence(&self->f);
	REFUSE(EFAULT, op_h2d(r->mem, p, 8));
	REFUSE(EFAULT, op_d2h(p, r->mem, 8));
	REFUSE(EFAULT, op_h2d(r->mem, NULL, 8));
	ACCEPT(op_h2d(r->mem, end - 8, 8));
	REFUSE(EFAULT, op_h2d(r->mem, end - 7, 8));
	/* Registered, it is accepted; registered to be read only, it is no target. */
	test_cmd_host_register(r->fd, p, page_size, PACCEL_HOST_READ_ONLY);
	ACCEPT(op_h2d(r->mem, p, 8));
	REFUSE(EFAULT, op_d2h(p, r->mem, 8));
	test_cmd_host_free(r->fd, p, 0);
	REFUSE(EFAULT, op_h2d(r->mem, p, 8));
}

/* What was this file's, and what is another's. */
TEST_F(submit, memory_of_others)
{
	struct rig *r = &self->r, other;
	u64 gone;

	ASSERT_EQ(0, rig_open(&other, SIZE));
	test_cmd_mem_alloc(r->fd, 64, 0, &gone);
	test_cmd_mem_free(r->fd, gone, 64);
	REFUSE(EFAULT, op_fill(gone, 8, 0, 1));
	REFUSE(EFAULT, op_fill(other.mem, 8, 0, 1));
	REFUSE(EFAULT, op_h2d(r->mem, other.bytes, 8));
	REFUSE(EFAULT, op_write(&other.own[0], 1));
	EXPECT_EQ(0, other.own[0]);
	rig_close(&other);
}

TEST_F(submit, writes_that_are_refused)
{
	struct rig *r = &self->r;
	volatile u64 *end = r->own + OWN_PAGES * page_size / 8;
	struct paccel_op ops[] = { op_write(&r->own[2], 0), op_time(&r->own[2]) };
	u64 local = 5;

	for (int i = 0; i < 2; i++) {
		for (int off = 1; off < 8; off++)
			REFUSE_WITH(EINVAL, ops[i], write.addr += off);
		REFUSE_WITH(EFAULT, ops[i], write.addr = (uintptr_t)end);
		REFUSE_WITH(EFAULT, ops[i], write.addr = (uintptr_t)r->own - 8);
		REFUSE_WITH(EFAULT, ops[i], write.addr = 0);
		REFUSE_WITH(EFAULT, ops[i], write.addr = ~0ull - 7);
		REFUSE_WITH(EFAULT, ops[i], write.addr = ~0ull << 47);
		REFUSE_WITH(EFAULT, ops[i], write.addr = (uintptr_t)&local);
		REFUSE_WITH(EFAULT, ops[i], write.addr = r->mem);
		REFUSE_WITH(EFAULT, ops[i], write.addr = (uintptr_t)r->page);
		/* Registered memory can go away under the driver. */
		REFUSE_WITH(EFAULT, ops[i], write.addr = (uintptr_t)self->registered);
	}
	REFUSE_WITH(EINVAL, ops[1], write.value = 1);
	EXPECT_EQ(5, local);
	EXPECT_EQ(1, submit(r->fd, r->stream, ops[0], ops[1]));
	EXPECT_NE(0, r->own[2]);
}

/* The driver's memory that is not mapped any more has no address. */
TEST_F(submit, write_to_unmapped_memory)
{
	struct rig *r = &self->r;
	volatile u64 *own;
	u64 offset;

	test_cmd_host_alloc(r->fd, page_size, &offset);
	own = host_map(r->fd, page_size, offset);
	ASSERT_NE(MAP_FAILED, own);
	munmap((void *)own, page_size);
	REFUSE(EFAULT, op_write(own, 1));
	REFUSE(EFAULT, op_h2d(r->mem, own, 8));
}

TEST_F(submit, waits_that_are_refused)
{
	struct rig *r = &self->r;
	int other = stream_create(r->fd), event = eventfd(0, 0), null, fence;

	NEED_FOREIGN();
	fence = foreign_fence(&self->f);
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	/* Its own point, and all others that are not yet. */
	REFUSE(EINVAL, op_point(r->stream, 1));
	REFUSE(EINVAL, op_point(r->stream, 2));
	REFUSE(EINVAL, op_point(r->stream, ~0ull));
	REFUSE(EINVAL, op_point(other, 1));
	EXPECT_EQ(1, submit(r->fd, other, op_fence(fence)));
	REFUSE(EINVAL, op_point(other, 2));
	ACCEPT(op_point(other, 1));
	REFUSE_WITH(EINVAL, op_point(other, 1), wait.reserved = 1);
	REFUSE_WITH(EINVAL, op_fence(fence), fd.reserved = 1);
	REFUSE_WITH(EINVAL, op_eventfd(event, 0), fd.reserved = 1);
	/* Files of other kinds, and no files. */
	REFUSE(EINVAL, op_fence(-1));
	REFUSE(EINVAL, op_fence(1000));
	REFUSE(EINVAL, op_fence(null));
	REFUSE(EINVAL, op_fence(event));
	REFUSE(EINVAL, op_fence(r->fd));
	REFUSE(EINVAL, op_eventfd(-1, 0));
	REFUSE(EINVAL, op_eventfd(1000, 0));
	REFUSE(EINVAL, op_eventfd(null, 0));
	REFUSE(EINVAL, op_eventfd(fence, 0));
	REFUSE(EINVAL, op_eventfd(r->fd, 0));
	foreign_signal(&self->f);
}

/* --- the call itself ----------------------------------------------------- */

/* A failure of the call and not of an operation. */
static void refuse_call(struct __test_metadata *_metadata, struct rig *r, int err,
			struct paccel_submit cmd, u32 bad_op, int line)
{
	EXPECT_EQ(-err, submit_call(r->fd, &cmd)) TH_LOG("line %d", line);
	EXPECT_EQ(bad_op, cmd.bad_op) TH_LOG("line %d", line);
	nothing_queued(_metadata, r, 0);
}
#define REFUSE_CALL(err, bad_op, change)                                       \
	do {                                                                   \
		struct paccel_submit _cmd = cmd;                               \
		_cmd.change;                                                   \
		refuse_call(_metadata, &self->r, err, _cmd, bad_op, __LINE__); \
	} while (0)

TEST_F(submit, number_of_operations)
{
	struct rig *r = &self->r;
	u32 max = self->info.max_ops;
	struct paccel_op *ops = calloc(max + 1, sizeof(*ops));
	struct paccel_submit cmd = submit_of(r->stream, ops, max);

	for (u32 i = 0; i <= max; i++)
		ops[i] = op_write(&r->own[i], i + 1);
	REFUSE_CALL(EINVAL, 0, nr_ops = 0);
	REFUSE_CALL(E2BIG, max + 1, nr_ops = max + 1);
	REFUSE_CALL(E2BIG, ~0u, nr_ops = ~0u);
	EXPECT_EQ(0, submit_call(r->fd, &cmd));
	EXPECT_EQ(max, cmd.bad_op);
	EXPECT_EQ(1, cmd.point);
	EXPECT_EQ(0, outcome(r->fd, r->stream, 1));
	for (u32 i = 0; i < max; i++)
		ASSERT_EQ(i + 1, r->own[i]);
	EXPECT_EQ(0, r->own[max]);
	free(ops);
}

/* An array of larger structs, as a newer program has it. */
TEST_F(submit, size_of_operations)
{
	struct rig *r = &self->r;
	size_t size = sizeof(struct paccel_op), wide = size + 24;
	u8 *ops = calloc(3, 4096);
	struct paccel_submit cmd = submit_of(r->stream, (void *)ops, 3);
	struct paccel_op op;

	for (int i = 0; i < 3; i++) {
		op = op_write(&r->own[i], 7);
		memcpy(ops + i * wide, &op, size);
	}
	REFUSE_CALL(EINVAL, 3, op_size = 0);
	/* The first version had 64 bytes. */
	REFUSE_CALL(EINVAL, 3, op_size = 63);
	REFUSE_CALL(EINVAL, 3, op_size = 56);
	REFUSE_CALL(EINVAL, 3, op_size = 4097);
	REFUSE_CALL(EINVAL, 3, op_size = ~0u);
	cmd.op_size = wide;
	/* A newer driver may know the next 8 bytes. */
	ops[2 * wide + size + 8] = 1;
	REFUSE_CALL(E2BIG, 2, nr_ops = 3);
	ops[2 * wide + size + 8] = 0;
	ops[2 * wide - 1] = 0x80;
	REFUSE_CALL(E2BIG, 1, nr_ops = 3);
	ops[2 * wide - 1] = 0;
	EXPECT_EQ(0, submit_call(r->fd, &cmd));
	EXPECT_EQ(3, cmd.bad_op);
	for (int i = 0; i < 3; i++)
		EXPECT_EQ(7, r->own[i]);
	memset(ops, 0, 3 * 4096);
	for (int i = 0; i < 3; i++) {
		op = op_write(&r->own[i], 8);
		memcpy(ops + i * 4096, &op, size);
	}
	cmd.op_size = 4096;
	EXPECT_EQ(0, submit_call(r->fd, &cmd));
	EXPECT_EQ(8, r->own[2]);
	free(ops);
}

TEST_F(submit, operations_that_cannot_be_read)
{
	struct rig *r = &self->r;
	size_t size = sizeof(struct paccel_op);
	struct paccel_op *ops = guarded(2 * size);
	struct paccel_submit cmd;

	ops[0] = op_write(&r->own[0], 1);
	ops[1] = op_write(&r->own[1], 1);
	cmd = submit_of(r->stream, ops, 2);
	REFUSE_CALL(EFAULT, 2, nr_ops = 3);
	REFUSE_CALL(EFAULT, 1, ops += size);
	REFUSE_CALL(EFAULT, 0, ops = 0);
	REFUSE_CALL(EFAULT, 0, ops = ~0ull << 47);
	REFUSE_CALL(EFAULT, 0, ops = ~0ull - 10);
	/* Not a byte more is looked at than there are operations. */
	EXPECT_EQ(0, submit_call(r->fd, &cmd));
	EXPECT_EQ(1, r->own[1]);
}

/* --- a full queue -------------------------------------------------------- */

struct blocked {
	struct side_call call;
	struct rig *r;
	u32 stream, bad_op;
	s64 point;
};

static int side_submit(struct side_call *c)
{
	struct blocked *b = (struct blocked *)c;
	struct paccel_op op = op_write(&b->r->own[1], 1);
	struct paccel_submit cmd = submit_of(b->stream, &op, 1);
	int rc = submit_call(b->r->fd, &cmd);

	b->bad_op = cmd.bad_op;
	b->point = cmd.point;
	return rc;
}

/* Exactly as many as can wait; the first of them does not end. Returns the points. */
static u64 fill_queue(struct __test_metadata *_metadata, struct rig *r, u32 stream, int fence,
		      u32 max_queued, u32 max_ops)
{
	struct paccel_op *ops = calloc(max_ops, sizeof(*ops));
	u32 left = max_queued;
	u64 point = 0;

	for (u32 i = 0; i < max_ops; i++)
		ops[i] = op_write(&r->own[0], i + 1);
	ops[0] = op_fence(fence);
	while (left) {
		u32 n = left < max_ops ? left : max_ops;

		EXPECT_EQ(++point, _test_cmd_submit(r->fd, stream, ops, n));
		ops[0] = op_write(&r->own[0], 1);
		left -= n;
	}
	free(ops);
	return point;
}

static void block(struct __test_metadata *_metadata, struct blocked *b, struct rig *r,
		  u32 stream)
{
	*b = (struct blocked){ .call = { .fn = side_submit }, .r = r, .stream = stream };
	side_call_start(&b->call);
	ASSERT_TRUE(WAIT_FOR(__atomic_load_n(&b->call.tid, __ATOMIC_ACQUIRE) &&
			     thread_state(getpid(), b->call.tid) == 'S', 5000));
	EXPECT_FALSE(side_call_done(&b->call));
}

/* It ends without the fence, which may end by itself some time. */
static int unblocked(struct blocked *b)
{
	return WAIT_FOR(side_call_done(&b->call), 5000) ? side_call_end(&b->call) : -ETIME;
}

#define FILL_QUEUE(stream)                                                     \
	fill_queue(_metadata, &self->r, stream, fence, self->info.max_queued,  \
		   self->info.max_ops)

static void no_handler(int sig)
{
	(void)sig;
}

static void on_signal(int sig, int flags)
{
	struct sigaction action = { .sa_handler = no_handler, .sa_flags = flags };

	if (sigaction(sig, &action, NULL))
		abort();
}

TEST_F(submit, signal_ends_the_sleep)
{
	struct rig *r = &self->r;
	struct blocked b;
	u64 points;
	int fence;

	NEED_FOREIGN();
	fence = foreign_fence(&self->f);
	points = FILL_QUEUE(r->stream);
	on_signal(SIGUSR1, 0);
	block(_metadata, &b, r, r->stream);
	pthread_kill(b.call.thread, SIGUSR1);
	EXPECT_EQ(-EINTR, unblocked(&b));
	EXPECT_EQ(-EINVAL, standing(r->fd, r->stream, points + 1));
	/* With SA_RESTART it goes on as if nothing had been. */
	on_signal(SIGUSR1, SA_RESTART);
	block(_metadata, &b, r, r->stream);
	pthread_kill(b.call.thread, SIGUSR1);
	EXPECT_EQ(-EINVAL, standing(r->fd, r->stream, points + 1));
	foreign_signal(&self->f);
	EXPECT_EQ(0, side_call_end(&b.call));
	EXPECT_EQ(points + 1, (u64)b.point);
	EXPECT_EQ(0, outcome(r->fd, r->stream, points + 1));
	EXPECT_EQ(-EINVAL, standing(r->fd, r->stream, points + 2));
	close(fence);
}

TEST_F(submit, destroyed_while_it_sleeps)
{
	struct rig *r = &self->r;
	int fence, stream = stream_create(r->fd);
	struct blocked b;
	u64 points;

	NEED_FOREIGN();
	fence = foreign_fence(&self->f);
	points = FILL_QUEUE(stream);
	block(_metadata, &b, r, stream);
	test_cmd_stream_destroy(r->fd, stream);
	EXPECT_EQ(-ENOENT, unblocked(&b));
	EXPECT_EQ(1, b.bad_op);
	foreign_signal(&self->f);
	EXPECT_TRUE(WAIT_FOR(page_done(r->page, stream) == points, 5000));
	EXPECT_EQ(0, r->own[1]);
	close(fence);
}

/* Several wait for room: each gets it, and a point of its own. */
TEST_F(submit, several_sleep)
{
	struct rig *r = &self->r;
	u64 points, sum = 0;
	struct blocked b[3];
	int fence;

	NEED_FOREIGN();
	fence = foreign_fence(&self->f);
	points = FILL_QUEUE(r->stream);
	for (int i = 0; i < 3; i++)
		block(_metadata, &b[i], r, r->stream);
	foreign_signal(&self->f);
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(0, side_call_end(&b[i].call));
		EXPECT_LT(points, (u64)b[i].point);
		sum += b[i].point - points;
	}
	EXPECT_EQ(1 + 2 + 3, sum);
	EXPECT_EQ(0, outcome(r->fd, r->stream, points + 3));
	close(fence);
}

PACCEL_TEST_MAIN
