// SPDX-License-Identifier: MIT
/*
 * Transfers that are verified by checksum, on a ring card that gets a bit wrong and says that all
 * went well. The parameters are the module's: nothing else may run meanwhile.
 */
#include "dmabuf.h"
#include "ring_test.h"

/* Two transfers, and no multiple of anything. */
#define SIZE ((4 << 20) + 12345)
#define SMALL 12345
#define PATTERN 0x0123456789abcdefull

enum way { H2D, D2H, D2D, FILL };

FIXTURE(verify) {
	struct rig r;
	u8 *host;		/* registered, 2 * SIZE; the second half for looking */
	u64 dst, src;		/* SIZE each */
	u64 corrupt;
	char old_watchdog[16];
};

FIXTURE_VARIANT(verify) {
	enum way way;
};

FIXTURE_VARIANT_ADD(verify, h2d) { .way = H2D };
FIXTURE_VARIANT_ADD(verify, d2h) { .way = D2H };
FIXTURE_VARIANT_ADD(verify, d2d) { .way = D2D };
FIXTURE_VARIANT_ADD(verify, fill) { .way = FILL };

FIXTURE_SETUP(verify)
{
	size_t pages = (2 * SIZE + page_size - 1) / page_size;

	if (strcmp(card_kind(), "ring"))
		SKIP(return, "the program's card is no ring card");
	ASSERT_EQ(0, rig_open(&self->r, 0));
	ASSERT_TRUE(info_of(self->r.fd).caps & PACCEL_CAP_VERIFY);
	self->host = map_pages(pages);
	ASSERT_EQ(0, _test_cmd_host_register(self->r.fd, self->host, pages * page_size, 0));
	ASSERT_EQ(0, _test_cmd_mem_alloc(self->r.fd, SIZE, 0, &self->dst));
	ASSERT_EQ(0, _test_cmd_mem_alloc(self->r.fd, SIZE, 0, &self->src));
	ASSERT_TRUE(card_settle(self->r.fd));
	ASSERT_TRUE(module_param("watchdog_ms", self->old_watchdog, 16));
	self->corrupt = card_counter("corrupt");
}

FIXTURE_TEARDOWN(verify)
{
	ring_order("clear");
	EXPECT_EQ(0, module_param_set("verify", "0"));
	EXPECT_EQ(0, module_param_set("watchdog_ms", self->old_watchdog));
	EXPECT_TRUE(WAIT_FOR(card_health_is("ok"), 5000));
	rig_close(&self->r);
}

static struct paccel_op op_of(enum way way, u8 *host, u64 dst, u64 src, u64 n)
{
	switch (way) {
	case H2D: return op_h2d(dst, host, n);
	case D2H: return op_d2h(host, src, n);
	case D2D: return op_copy(PACCEL_COPY_D2D, dst, src, n);
	default: return op_fill(dst, n / 8 * 8, PATTERN, 8);
	}
}

static struct paccel_op verified(struct paccel_op op)
{
	op.flags |= PACCEL_OP_VERIFY;
	return op;
}

/* The same operation as a call of its own. */
static int call(int fd, const struct paccel_op *op)
{
	bool verify = op->flags & PACCEL_OP_VERIFY;
	struct paccel_copy copy = {
		.size = sizeof(copy), .flags = verify ? PACCEL_COPY_VERIFY : 0,
		.dir = op->copy.dir, .dst = op->copy.dst, .src = op->copy.src,
		.width = op->copy.width, .rows = op->copy.rows,
		.dst_pitch = op->copy.dst_pitch, .src_pitch = op->copy.src_pitch,
	};
	struct paccel_fill fill = {
		.size = sizeof(fill), .flags = verify ? PACCEL_FILL_VERIFY : 0,
		.addr = op->fill.addr, .length = op->fill.length, .pattern = op->fill.pattern,
		.pattern_size = op->fill.pattern_size,
	};

	return op->op == PACCEL_OP_COPY ? paccel_call(fd, PACCEL_IOC_COPY, &copy) :
					  paccel_call(fd, PACCEL_IOC_FILL, &fill);
}

/* Both sides differ before, and a wrong bit cannot be missed afterwards. */
static bool prepare(int fd, enum way way, u8 *host, u64 dst, u64 src, u64 n)
{
	struct paccel_op to_src = op_h2d(src, host, n);

	pattern_fill(host, n, 5);
	if (_test_cmd_fill(fd, dst, n, 0, 1) || call(fd, &to_src))
		return false;
	if (way == D2H)
		memset(host, 0, n);
	return true;
}

/* True if what has arrived is what was sent. */
static bool arrived(int fd, enum way way, u8 *host, u64 dst, u64 n)
{
	u8 *look = host + SIZE;
	struct paccel_op back = op_d2h(look, dst, n);
	u64 pattern = PATTERN;

	if (way == D2H)
		return pattern_diff(host, n, 5) < 0;
	if (call(fd, &back))
		return false;
	if (way != FILL)
		return pattern_diff(look, n, 5) < 0;
	for (u64 i = 0; i < n / 8 * 8; i++)
		if (look[i] != ((u8 *)&pattern)[i % 8])
			return false;
	return true;
}

/* A verified copy inside the card is two transfers: the second one moves bytes. */
static int corrupt_next(enum way way, bool twice)
{
	return ring_order("corrupt after=%d", way == D2D && twice ? 1 : 0);
}

TEST_F(verify, goes_well)
{
	const u64 sizes[] = { 1, 7, 64, 4095, 4097, SMALL, SIZE };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct paccel_op op = verified(op_of(variant->way, self->host, self->dst,
						     self->src, sizes[i]));
		if (variant->way == FILL && sizes[i] < 8)
			continue;
		ASSERT_TRUE(prepare(self->r.fd, variant->way, self->host, self->dst, self->src,
				    sizes[i]));
		EXPECT_EQ(0, call(self->r.fd, &op));
		EXPECT_TRUE(arrived(self->r.fd, variant->way, self->host, self->dst, sizes[i]));
	}
	EXPECT_EQ(self->corrupt, card_counter("corrupt"));
}

/* What nobody has asked for is not found. */
TEST_F(verify, not_asked_for)
{
	struct paccel_op op = op_of(variant->way, self->host, self->dst, self->src, SMALL);

	ASSERT_TRUE(prepare(self->r.fd, variant->way, self->host, self->dst, self->src, SMALL));
	ASSERT_EQ(0, corrupt_next(variant->way, false));
	EXPECT_EQ(0, call(self->r.fd, &op));
	EXPECT_FALSE(arrived(self->r.fd, variant->way, self->host, self->dst, SMALL));
	EXPECT_EQ(self->corrupt, card_counter("corrupt"));
}

TEST_F(verify, of_a_call)
{
	struct paccel_op op = verified(op_of(variant->way, self->host, self->dst, self->src,
					     SMALL));

	ASSERT_TRUE(prepare(self->r.fd, variant->way, self->host, self->dst, self->src, SMALL));
	ASSERT_EQ(0, corrupt_next(variant->way, true));
	EXPECT_EQ(-EBADMSG, call(self->r.fd, &op));
	EXPECT_FALSE(arrived(self->r.fd, variant->way, self->host, self->dst, SMALL));
	EXPECT_EQ(self->corrupt + 1, card_counter("corrupt"));
	/* Once: the card is as good as before. */
	EXPECT_EQ(0, call(self->r.fd, &op));
	EXPECT_TRUE(arrived(self->r.fd, variant->way, self->host, self->dst, SMALL));
}

/* In the second transfer of a long one. */
TEST_F(verify, of_a_long_call)
{
	struct paccel_op op = verified(op_of(variant->way, self->host, self->dst, self->src,
					     SIZE));

	ASSERT_TRUE(prepare(self->r.fd, variant->way, self->host, self->dst, self->src, SIZE));
	ASSERT_EQ(0, ring_order("corrupt after=%d", variant->way == D2D ? 3 : 1));
	EXPECT_EQ(-EBADMSG, call(self->r.fd, &op));
	EXPECT_EQ(self->corrupt + 1, card_counter("corrupt"));
}

/* What is behind it in its stream is not run; another stream goes on. */
TEST_F(verify, of_a_stream)
{
	struct rig other;
	s64 point, theirs;
	u64 xfers;

	ASSERT_EQ(0, rig_open(&other, SMALL));
	ASSERT_TRUE(prepare(self->r.fd, variant->way, self->host, self->dst, self->src, SMALL));
	self->r.own[0] = 0;
	ASSERT_EQ(0, corrupt_next(variant->way, true));
	xfers = stats_of(self->r.fd).xfers;
	point = submit(self->r.fd, self->r.stream,
		       verified(op_of(variant->way, self->host, self->dst, self->src, SMALL)),
		       op_fill(self->src, SMALL, 0x77, 1), op_write(&self->r.own[0], 1));
	ASSERT_LT(0, point);
	EXPECT_EQ(-EBADMSG, outcome(self->r.fd, self->r.stream, point));
	EXPECT_EQ(xfers + (variant->way == D2D ? 2 : 1), stats_of(self->r.fd).xfers);
	EXPECT_EQ(0, self->r.own[0]);
	test_err_submit(ECANCELED, self->r.fd, self->r.stream, op_write(&self->r.own[0], 1));
	theirs = submit(other.fd, other.stream, verified(op_fill(other.mem, SMALL, 9, 1)));
	EXPECT_EQ(0, outcome(other.fd, other.stream, theirs));
	test_cmd_stream_clear(self->r.fd, self->r.stream, -EBADMSG, (u64)point);
	point = submit(self->r.fd, self->r.stream, op_write(&self->r.own[0], 1));
	EXPECT_EQ(0, outcome(self->r.fd, self->r.stream, point));
	EXPECT_EQ(1, self->r.own[0]);
	rig_close(&other);
}

/* Behind a verified one, and in front of it, all in one SUBMIT. */
TEST_F(verify, between_others)
{
	struct paccel_op op = verified(op_of(variant->way, self->host, self->dst, self->src,
					     SMALL));
	s64 point;

	ASSERT_TRUE(prepare(self->r.fd, variant->way, self->host, self->dst, self->src, SMALL));
	for (int i = 0; i < 20; i++) {
		point = submit(self->r.fd, self->r.stream, op_fill(self->dst, SIZE, i, 1), op,
			       op_d2h(self->host + SIZE, self->dst, SMALL), op);
		ASSERT_LT(0, point);
	}
	EXPECT_EQ(0, outcome(self->r.fd, self->r.stream, point));
	EXPECT_TRUE(arrived(self->r.fd, variant->way, self->host, self->dst, SMALL));
	EXPECT_EQ(self->corrupt, card_counter("corrupt"));
}

TEST_F(verify, all_of_them)
{
	struct paccel_op op = op_of(variant->way, self->host, self->dst, self->src, SMALL);

	ASSERT_TRUE(prepare(self->r.fd, variant->way, self->host, self->dst, self->src, SMALL));
	ASSERT_EQ(0, module_param_set("verify", "1"));
	ASSERT_EQ(0, corrupt_next(variant->way, true));
	EXPECT_EQ(-EBADMSG, call(self->r.fd, &op));
	EXPECT_EQ(self->corrupt + 1, card_counter("corrupt"));
	EXPECT_EQ(0, call(self->r.fd, &op));
	ASSERT_EQ(0, module_param_set("verify", "0"));
	ASSERT_EQ(0, corrupt_next(variant->way, false));
	EXPECT_EQ(0, call(self->r.fd, &op));
	EXPECT_EQ(self->corrupt + 1, card_counter("corrupt"));
}

/*
 * Bytes change all the time, and engines hang, with many operations in flight: whatever ended well
 * is right.
 */
TEST_F(verify, storm)
{
	enum { ROUNDS = 20, PIECES = 16, PIECE = 5011 };
	int good = 0, bad = 0, hung = 0;

	for (int round = 0; round < ROUNDS; round++) {
		u64 points[PIECES], n = PIECE - round;
		struct paccel_stream_clear cleared;

		ASSERT_TRUE(prepare(self->r.fd, variant->way, self->host, self->dst, self->src,
				    PIECES * PIECE));
		ASSERT_EQ(0, module_param_set("watchdog_ms", "300"));
		ASSERT_EQ(0, ring_order("storm every=9 kinds=corrupt%s seed=%d",
					round % 6 == 5 ? ",stall" : "", round));
		for (int i = 0; i < PIECES; i++) {
			s64 point = submit(self->r.fd, self->r.stream,
					   verified(op_of(variant->way, self->host + i * PIECE,
							  self->dst + i * PIECE,
							  self->src + i * PIECE, n)));
			points[i] = point < 0 ? 0 : point;
		}
		for (int i = 0; i < PIECES; i++) {
			int rc = points[i] ? outcome(self->r.fd, self->r.stream, points[i]) :
					     -ECANCELED;

			EXPECT_TRUE(rc == 0 || rc == -EBADMSG || rc == -ECANCELED ||
				    rc == -ETIMEDOUT) TH_LOG("%d", rc);
			bad += rc == -EBADMSG;
			hung += rc == -ETIMEDOUT;
			points[i] = !rc;
		}
		ASSERT_EQ(0, ring_order("clear"));
		ASSERT_TRUE(WAIT_FOR(card_health_is("ok"), 5000));
		/* No device hangs from here on, but a busy host may keep its process waiting. */
		ASSERT_EQ(0, module_param_set("watchdog_ms", self->old_watchdog));
		for (int i = 0; i < PIECES; i++) {
			u8 *host = self->host + i * PIECE, *look = self->host + SIZE;
			u64 dst = self->dst + i * PIECE;

			if (!points[i])
				continue;
			good++;
			if (variant->way != D2H)
				ASSERT_EQ(0, _test_cmd_copy_d2h(self->r.fd, look, dst, n));
			if (variant->way == D2H)
				look = host;
			if (variant->way == H2D)
				EXPECT_EQ(-1, bytes_diff(look, host, n));
			for (u64 b = 0; b < n / 8 * 8 && variant->way == FILL; b += 8)
				ASSERT_EQ(0, memcmp(look + b, &(u64){ PATTERN }, 8));
			if (variant->way == D2D || variant->way == D2H) {
				ASSERT_EQ(0, _test_cmd_copy_d2h(self->r.fd, self->host + SIZE +
					SIZE / 2, self->src + i * PIECE, n));
				EXPECT_EQ(-1, bytes_diff(look, self->host + SIZE + SIZE / 2, n));
			}
		}
		_test_cmd_stream_clear(self->r.fd, self->r.stream, &cleared);
	}
	EXPECT_LT(0, good);
	EXPECT_LT(0, bad);
	TH_LOG("%d good, %d bad, %d hung", good, bad, hung);
}

/* --- in one direction each ------------------------------------------------- */

FIXTURE(verify_one) {
	struct rig r;
	u64 corrupt;
};

FIXTURE_SETUP(verify_one)
{
	if (strcmp(card_kind(), "ring"))
		SKIP(return, "the program's card is no ring card");
	ASSERT_EQ(0, rig_open(&self->r, SMALL));
	ASSERT_TRUE(card_settle(self->r.fd));
	self->corrupt = card_counter("corrupt");
}

FIXTURE_TEARDOWN(verify_one)
{
	ring_order("clear");
	EXPECT_EQ(0, module_param_set("verify", "0"));
	rig_close(&self->r);
}

/* Memory that is pinned for the call, and rows of it. */
TEST_F(verify_one, pageable_rows)
{
	struct copy_2d shape = { 100, 50, 200, 101 };
	struct paccel_op op;
	u8 *host = map_pages(4);

	pattern_fill(host, 50 * 101, 3);
	op = verified(op_rows(PACCEL_COPY_H2D, self->r.mem, (uintptr_t)host, shape));
	EXPECT_EQ(0, call(self->r.fd, &op));
	ASSERT_EQ(0, ring_order("corrupt after=33"));
	EXPECT_EQ(-EBADMSG, call(self->r.fd, &op));
	EXPECT_EQ(self->corrupt + 1, card_counter("corrupt"));
	shape = (struct copy_2d){ 100, 50, 101, 200 };
	op = verified(op_rows(PACCEL_COPY_D2H, (uintptr_t)host, self->r.mem, shape));
	EXPECT_EQ(0, call(self->r.fd, &op));
	ASSERT_EQ(0, ring_order("corrupt after=49"));
	EXPECT_EQ(-EBADMSG, call(self->r.fd, &op));
	EXPECT_EQ(self->corrupt + 2, card_counter("corrupt"));
}

/* Memory whose scrubbing left something is not given to anybody. */
TEST_F(verify_one, scrub)
{
	u64 addr, total = stats_of(self->r.fd).total;

	ASSERT_EQ(0, module_param_set("verify", "1"));
	test_cmd_mem_alloc(self->r.fd, SMALL, 0, &addr);
	/* A piece is tried twice. */
	ASSERT_EQ(0, ring_order("corrupt count=2"));
	test_cmd_mem_free(self->r.fd, addr, SMALL);
	EXPECT_TRUE(WAIT_FOR(stats_of(self->r.fd).quarantined, 5000));
	EXPECT_EQ(self->corrupt + 2, card_counter("corrupt"));
	test_cmd_reset(self->r.fd);
	EXPECT_TRUE(card_settle(self->r.fd));
	EXPECT_EQ(0, stats_of(self->r.fd).quarantined);
	EXPECT_EQ(total, stats_of(self->r.fd).total);
}

#define EVENTFDS 1000
#define ROUNDS 8	/* less than the copies that are wanted */
#define LISTENERS 2000

/*
 * The worker that verifies does not signal: while the driver signals a slow eventfd of one program
 * over and over, copies of others go on. Where they do not, there is one in each round, which ends
 * behind all signals. On a busy machine a round may have few.
 */
TEST_F(verify_one, beside_slow_eventfds)
{
	static struct paccel_op ops[1 + EVENTFDS];
	int event = slow_eventfd(LISTENERS), fd = card_open(), copies = 0;
	u64 mem, more, signals = 0;
	struct paccel_op op;

	ASSERT_LE(0, event);
	ASSERT_LE(0, fd);
	test_cmd_mem_alloc(fd, SMALL, 0, &mem);
	op = verified(op_h2d(mem, map_pages(SMALL / page_size + 1), SMALL));
	ops[0] = op_copy(PACCEL_COPY_D2D, self->r.mem, self->r.mem + SMALL / 2, 8);
	for (int i = 1; i <= EVENTFDS; i++)
		ops[i] = op_eventfd(event, 0);
	for (u64 round = 1; round <= ROUNDS && copies < 10; round++) {
		ASSERT_LT(0, _test_cmd_submit(self->r.fd, self->r.stream, ops, 1 + EVENTFDS));
		ASSERT_TRUE(WAIT_FOR(read(event, &more, 8) == 8, 5000));
		for (signals += more; signals < round * EVENTFDS; copies++) {
			ASSERT_EQ(0, call(fd, &op));
			signals += read(event, &more, 8) == 8 ? more : 0;
		}
	}
	EXPECT_LE(10, copies);
	TH_LOG("%d copies", copies);
	close(fd);
}

/* What the card alone can access cannot be compared with anything. */
TEST_F(verify_one, of_a_dmabuf)
{
	int dmabuf = foreign_dmabuf(VGEM, page_size);
	struct paccel_op op;
	void *at = mmap(NULL, page_size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct paccel_host_register cmd = {
		.size = sizeof(cmd), .flags = PACCEL_HOST_DMABUF, .addr = (uintptr_t)at,
		.length = page_size, .fd = dmabuf,
	};

	ASSERT_LE(0, dmabuf);
	ASSERT_EQ(0, paccel_call(self->r.fd, PACCEL_IOC_HOST_REGISTER, &cmd));
	op = verified(op_h2d(self->r.mem, at, page_size));
	EXPECT_EQ(-EOPNOTSUPP, call(self->r.fd, &op));
	test_err_submit(EOPNOTSUPP, self->r.fd, self->r.stream, op);
	op.flags = 0;
	EXPECT_EQ(0, call(self->r.fd, &op));
	/* The parameter means what can be. */
	ASSERT_EQ(0, module_param_set("verify", "1"));
	EXPECT_EQ(0, call(self->r.fd, &op));
	EXPECT_EQ(self->corrupt, card_counter("corrupt"));
	close(dmabuf);
}

PACCEL_TEST_MAIN
