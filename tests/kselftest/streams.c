// SPDX-License-Identifier: MIT
/*
 * Streams themselves: their numbers and points, what comes before what, and the
 * completion page. Runs with scrub=0.
 */
#include "stream_test.h"

#define SIZE 256

FIXTURE(streams) {
	struct rig r;
	struct foreign f;
	struct paccel_device_info info;
};

FIXTURE_SETUP(streams)
{
	ASSERT_EQ(0, rig_open(&self->r, SIZE));
	self->info = info_of(self->r.fd);
	self->f.fd = -1;
}

FIXTURE_TEARDOWN(streams)
{
	if (self->f.fd >= 0)
		foreign_close(&self->f);
	rig_close(&self->r);
}

/* --- numbers ------------------------------------------------------------- */

TEST_F(streams, create_replies)
{
	struct paccel_stream_create a, b;
	int other = card_open();

	EXPECT_EQ(0, _test_cmd_stream_create(self->r.fd, &a));
	EXPECT_EQ(sizeof(a), a.size);
	EXPECT_EQ(0, a.flags);
	EXPECT_EQ(0, a.reserved);
	EXPECT_EQ(2, a.stream);
	EXPECT_EQ(0, a.point);
	EXPECT_EQ(self->r.page_offset, a.page_offset);
	EXPECT_LT(0, a.page_offset);
	EXPECT_EQ(0, a.page_offset % page_size);
	EXPECT_NE(self->r.own_offset, a.page_offset);
	/* Numbers are those of a file. */
	EXPECT_EQ(0, _test_cmd_stream_create(other, &b));
	EXPECT_EQ(1, b.stream);
	close(other);
}

TEST_F(streams, limits_are_told)
{
	EXPECT_LE(127, self->info.max_streams);
	EXPECT_GE(PACCEL_PAGE_SLOTS - 1, self->info.max_streams);
	EXPECT_LE(64, self->info.max_ops);
	EXPECT_LE(self->info.max_ops, self->info.max_queued);
	EXPECT_LE(64, self->info.max_points);
}

/* Whoever still has an old point of that number sees it complete, not one to come. */
TEST_F(streams, points_never_go_back)
{
	struct paccel_stream_create again;
	u32 first = self->r.stream;

	for (u64 point = 1; point <= 3; point++)
		EXPECT_EQ(point, submit(self->r.fd, first, op_write(self->r.own, point)));
	test_cmd_stream_destroy(self->r.fd, first);
	EXPECT_EQ(3, page_done(self->r.page, first));
	ASSERT_EQ(0, _test_cmd_stream_create(self->r.fd, &again));
	EXPECT_EQ(first, again.stream);
	EXPECT_EQ(3, again.point);
	EXPECT_EQ(3, page_done(self->r.page, first));
	EXPECT_EQ(0, standing(self->r.fd, first, 3));
	EXPECT_EQ(-EINVAL, standing(self->r.fd, first, 4));
	EXPECT_EQ(4, submit(self->r.fd, first, op_write(self->r.own, 4)));
	EXPECT_EQ(4, page_done(self->r.page, first));
}

/* What is destroyed runs to its end, and only then another one gets its number. */
TEST_F(streams, number_is_free_when_drained)
{
	struct paccel_stream_create again;
	int fence;

	NEED_FOREIGN();
	fence = foreign_fence(&self->f);
	ASSERT_LE(0, fence);
	for (u32 i = 1; i < self->info.max_streams; i++)
		ASSERT_LT(0, stream_create(self->r.fd));
	EXPECT_EQ(1, submit(self->r.fd, 5, op_write(&self->r.own[0], 1), op_fence(fence),
			    op_write(&self->r.own[1], 2)));
	EXPECT_EQ(2, submit(self->r.fd, 5, op_write(&self->r.own[2], 3)));
	test_cmd_stream_destroy(self->r.fd, 5);
	test_err_stream_create(ENOSPC, self->r.fd);
	EXPECT_EQ(1, self->r.own[0]);
	EXPECT_EQ(0, self->r.own[1]);
	EXPECT_EQ(0, page_done(self->r.page, 5));
	foreign_signal(&self->f);
	EXPECT_TRUE(WAIT_FOR(page_done(self->r.page, 5) == 2, 5000));
	EXPECT_EQ(2, self->r.own[1]);
	EXPECT_EQ(3, self->r.own[2]);
	EXPECT_TRUE(WAIT_FOR(!_test_cmd_stream_create(self->r.fd, &again), 5000));
	EXPECT_EQ(5, again.stream);
	EXPECT_EQ(2, again.point);
	EXPECT_EQ(3, submit(self->r.fd, 5, op_write(&self->r.own[0], 9)));
	EXPECT_EQ(9, self->r.own[0]);
	close(fence);
}

/* Every command that names a stream, with one that is none of this file's. */
static void is_no_stream(struct __test_metadata *_metadata, struct rig *r, u32 stream)
{
	struct paccel_point points[] = { { .stream = r->stream }, { .stream = stream } };
	struct paccel_op ops[] = { op_write(r->own, 1), op_point(stream, 0) };
	struct paccel_submit cmd = submit_of(stream, ops, 1);

	test_err_stream_destroy(ENOENT, r->fd, stream);
	test_err_stream_clear(ENOENT, r->fd, stream);
	test_err_fence_export(ENOENT, r->fd, stream, 1);
	EXPECT_EQ(-ENOENT, _test_cmd_wait(r->fd, 0, 0, points, 2, NULL));
	EXPECT_EQ(-ENOENT, _test_cmd_wait(r->fd, PACCEL_WAIT_ANY, 0, points, 2, NULL));
	/* The stream of the call and that of an operation are told apart. */
	EXPECT_EQ(-ENOENT, submit_call(r->fd, &cmd));
	EXPECT_EQ(1, cmd.bad_op);
	cmd = submit_of(r->stream, ops, 2);
	EXPECT_EQ(-ENOENT, submit_call(r->fd, &cmd));
	EXPECT_EQ(1, cmd.bad_op);
	cmd = submit_of(r->stream, &ops[1], 1);
	EXPECT_EQ(-ENOENT, submit_call(r->fd, &cmd));
	EXPECT_EQ(0, cmd.bad_op);
	EXPECT_EQ(0, r->own[0]);
	EXPECT_EQ(0, page_done(r->page, r->stream));
}

TEST_F(streams, no_such_stream)
{
	struct rig *r = &self->r;
	int gone, other = card_open();

	is_no_stream(_metadata, r, 0);
	is_no_stream(_metadata, r, 2);
	is_no_stream(_metadata, r, self->info.max_streams);
	is_no_stream(_metadata, r, self->info.max_streams + 1);
	is_no_stream(_metadata, r, ~0u);
	is_no_stream(_metadata, r, 0x80000001);
	/* One that was. */
	test_cmd_stream_create(r->fd, &gone);
	test_cmd_stream_destroy(r->fd, gone);
	is_no_stream(_metadata, r, gone);
	/* One of another file of this process. */
	EXPECT_EQ(1, stream_create(other));
	EXPECT_EQ(2, stream_create(other));
	is_no_stream(_metadata, r, 2);
	EXPECT_EQ(2, stream_create(r->fd));
	close(other);
}

/* A number that still drains is nobody's. */
TEST_F(streams, draining_stream_is_no_stream)
{
	int stream, fence;

	NEED_FOREIGN();
	fence = foreign_fence(&self->f);
	test_cmd_stream_create(self->r.fd, &stream);
	EXPECT_EQ(1, submit(self->r.fd, stream, op_fence(fence)));
	test_cmd_stream_destroy(self->r.fd, stream);
	is_no_stream(_metadata, &self->r, stream);
	foreign_signal(&self->f);
	close(fence);
}

TEST_F(streams, clear_of_a_healthy_stream)
{
	int fence;

	test_cmd_stream_clear(self->r.fd, self->r.stream, 0, 0);
	NEED_FOREIGN();
	fence = foreign_fence(&self->f);
	EXPECT_EQ(1, submit(self->r.fd, self->r.stream, op_fence(fence)));
	/* With work in it, too: there is nothing to wait for. */
	test_cmd_stream_clear(self->r.fd, self->r.stream, 0, 0);
	foreign_signal(&self->f);
	EXPECT_EQ(0, outcome(self->r.fd, self->r.stream, 1));
	close(fence);
}

/* --- order --------------------------------------------------------------- */

/* Each operation sees what the one before has done, whoever does it. */
TEST_F(streams, one_after_the_other)
{
	volatile u64 *own = self->r.own;
	s64 point;

	test_cmd_submit(&point, self->r.fd, self->r.stream,
			op_write(&own[0], 0xa0), op_h2d(self->r.mem, &own[0], 8),
			op_write(&own[0], 0xb0), op_d2h(&own[1], self->r.mem, 8),
			op_write(&own[2], 0xc0));
	EXPECT_EQ(1, point);
	EXPECT_EQ(0, outcome(self->r.fd, self->r.stream, point));
	EXPECT_EQ(0xb0, own[0]);
	EXPECT_EQ(0xa0, own[1]);
	EXPECT_EQ(0xc0, own[2]);
}

/* The same over several calls. */
TEST_F(streams, one_call_after_the_other)
{
	volatile u64 *own = self->r.own;
	u32 s = self->r.stream;

	card_hold();
	EXPECT_EQ(1, submit(self->r.fd, s, op_fill(self->r.mem, 8, 0x77, 1)));
	EXPECT_EQ(2, submit(self->r.fd, s, op_d2h(&own[0], self->r.mem, 8)));
	EXPECT_EQ(3, submit(self->r.fd, s, op_write(&own[1], 5)));
	/* The write is quick, and has to wait all the same. */
	if (card_can_hold()) {
		EXPECT_EQ(0, own[1]);
		EXPECT_EQ(-EINPROGRESS, standing(self->r.fd, s, 3));
	}
	card_behave();
	EXPECT_EQ(0, outcome(self->r.fd, s, 2));
	EXPECT_EQ(0x7777777777777777, own[0]);
	EXPECT_EQ(0, outcome(self->r.fd, s, 3));
	EXPECT_EQ(5, own[1]);
}

/* The device has as many requests of one stream as it can take, without any having completed. */
TEST_F(streams, one_fills_the_device)
{
	struct paccel_op ops[100];
	/* On edu a copy takes 100 ms. */
	u32 i, nr = card_depth() > 1 ? ARRAY_SIZE(ops) : 3;
	u64 xfers;

	ASSERT_TRUE(card_settle(self->r.fd));
	xfers = stats_of(self->r.fd).xfers;

	for (i = 0; i < nr; i++)
		ops[i] = op_h2d(self->r.mem, &self->r.own[0], 8);
	card_hold();
	EXPECT_EQ(1, _test_cmd_submit(self->r.fd, self->r.stream, ops, nr));
	EXPECT_TRUE(WAIT_FOR(stats_of(self->r.fd).xfers >= xfers + card_depth(), 5000));
	if (card_can_hold()) {
		EXPECT_EQ(xfers + card_depth(), stats_of(self->r.fd).xfers);
		EXPECT_EQ(-EINPROGRESS, standing(self->r.fd, self->r.stream, 1));
	}
	card_pass(nr);
	EXPECT_EQ(0, outcome(self->r.fd, self->r.stream, 1));
}

TEST_F(streams, independent_of_each_other)
{
	volatile u64 *own = self->r.own;
	int stream[4], fence;

	NEED_FOREIGN();
	fence = foreign_fence(&self->f);
	for (int i = 0; i < 4; i++)
		test_cmd_stream_create(self->r.fd, &stream[i]);
	EXPECT_EQ(1, submit(self->r.fd, stream[0], op_fence(fence), op_write(&own[0], 1)));
	EXPECT_EQ(1, submit(self->r.fd, stream[1], op_point(stream[0], 1),
			    op_write(&own[1], 2)));
	/* Behind a chain of two. */
	EXPECT_EQ(1, submit(self->r.fd, stream[2], op_point(stream[1], 1),
			    op_write(&own[2], 3)));
	EXPECT_EQ(1, submit(self->r.fd, stream[3], op_fill(self->r.mem, 8, 1, 1),
			    op_write(&own[3], 4)));
	EXPECT_EQ(0, outcome(self->r.fd, stream[3], 1));
	EXPECT_EQ(4, own[3]);
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(0, own[i]);
		EXPECT_EQ(-EINPROGRESS, standing(self->r.fd, stream[i], 1));
	}
	foreign_signal(&self->f);
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(0, outcome(self->r.fd, stream[i], 1));
		EXPECT_EQ((u64)i + 1, own[i]);
	}
	close(fence);
}

/* Points that have ended, of this stream and others, hold up nobody. */
TEST_F(streams, wait_for_what_has_ended)
{
	int other;
	u32 s = self->r.stream;

	test_cmd_stream_create(self->r.fd, &other);
	EXPECT_EQ(1, submit(self->r.fd, s, op_write(self->r.own, 1)));
	EXPECT_EQ(2, submit(self->r.fd, s, op_point(s, 1), op_write(self->r.own, 2)));
	EXPECT_EQ(1, submit(self->r.fd, other, op_point(s, 1), op_point(s, 2),
			    op_write(self->r.own, 3)));
	EXPECT_EQ(3, self->r.own[0]);
	EXPECT_EQ(1, page_done(self->r.page, other));
}

#define BATCHES 60

struct submitter {
	pthread_t thread;
	struct rig *r;
	volatile u64 *times;	/* two for each batch */
	s64 points[BATCHES];
};

static void *submit_batches(void *arg)
{
	struct submitter *s = arg;

	for (int i = 0; i < BATCHES; i++)
		s->points[i] = submit(s->r->fd, s->r->stream, op_time(&s->times[2 * i]),
				      op_write(&s->r->own[0], 1), op_write(&s->r->own[0], 2),
				      op_write(&s->r->own[0], 3), op_write(&s->r->own[0], 4),
				      op_time(&s->times[2 * i + 1]));
	return NULL;
}

/* Points of three threads: each once, and in the order in which they have run. */
TEST_F(streams, threads_are_not_mixed)
{
	u64 begin[3 * BATCHES + 1] = {}, end[3 * BATCHES + 1] = {};
	struct submitter s[3];

	for (int i = 0; i < 3; i++) {
		s[i] = (struct submitter){ .r = &self->r,
					   .times = self->r.own + 8 + 2 * i * BATCHES };
		ASSERT_EQ(0, pthread_create(&s[i].thread, NULL, submit_batches, &s[i]));
	}
	for (int i = 0; i < 3; i++)
		pthread_join(s[i].thread, NULL);
	EXPECT_EQ(0, outcome(self->r.fd, self->r.stream, 3 * BATCHES));
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < BATCHES; k++) {
			s64 point = s[i].points[k];

			ASSERT_TRUE(point >= 1 && point <= 3 * BATCHES);
			ASSERT_EQ(0, begin[point]);
			begin[point] = s[i].times[2 * k];
			end[point] = s[i].times[2 * k + 1];
		}
	}
	for (int point = 1; point <= 3 * BATCHES; point++) {
		EXPECT_LT(0, begin[point]);
		EXPECT_LE(end[point - 1], begin[point]);
		EXPECT_LE(begin[point], end[point]);
	}
}

/* --- the completion page ------------------------------------------------- */

TEST_F(streams, page_of_new_streams)
{
	const u8 *bytes = (const u8 *)self->r.page;

	EXPECT_EQ(PACCEL_PAGE_VERSION, self->r.page->version);
	EXPECT_EQ(PACCEL_PAGE_RUNNING, page_state(self->r.page));
	EXPECT_TRUE(all_bytes(bytes + 4, page_size - 4, 0));
}

TEST_F(streams, page_has_a_slot_for_each)
{
	int stream[3];

	for (int i = 0; i < 3; i++)
		test_cmd_stream_create(self->r.fd, &stream[i]);
	for (int i = 0; i < 3; i++)
		for (int k = 0; k <= i; k++)
			submit(self->r.fd, stream[i], op_write(self->r.own, 1));
	for (int i = 0; i < 3; i++) {
		const struct paccel_slot *slot = &self->r.page->slots[stream[i] - 1];

		EXPECT_EQ(i + 1u, slot->done);
		EXPECT_EQ(0, slot->failed_point);
		EXPECT_EQ(0, slot->error);
		EXPECT_TRUE(all_bytes(slot->reserved, sizeof(slot->reserved), 0));
	}
}

/* Nobody can write it, by whatever way. */
TEST_F(streams, page_is_read_only)
{
	void *page = (void *)self->r.page;
	int mem = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
	u64 junk = 0x77;
	int child;

	EXPECT_EQ(-1, mprotect(page, page_size, PROT_READ | PROT_WRITE));
	EXPECT_EQ(EACCES, errno);
	EXPECT_EQ(-1, mprotect(page, page_size, PROT_WRITE));
	EXPECT_EQ(MAP_FAILED, mremap(page, page_size, 2 * page_size, MREMAP_MAYMOVE));
	EXPECT_EQ(EFAULT, errno);
	EXPECT_EQ(-1, pwrite(mem, &junk, 8, (uintptr_t)page));
	EXPECT_EQ(PACCEL_PAGE_VERSION, self->r.page->version);
	/* A write faults. */
	child = fork();
	if (child == 0) {
		signal(SIGSEGV, SIG_DFL);
		*(volatile u32 *)page = 1;
		_exit(0);
	}
	EXPECT_EQ(128 + SIGSEGV, reap(child));
	/* The driver is not read-only for it, however. */
	EXPECT_EQ(1, submit(self->r.fd, self->r.stream, op_write(self->r.own, 1)));
	EXPECT_EQ(1, page_done(self->r.page, self->r.stream));
	close(mem);
}

/* Twice, one of them unmapped, and again. */
TEST_F(streams, page_mapped_again)
{
	const struct paccel_page *second = page_map(self->r.fd, self->r.page_offset);

	ASSERT_NE(MAP_FAILED, second);
	EXPECT_EQ(1, submit(self->r.fd, self->r.stream, op_write(self->r.own, 1)));
	EXPECT_EQ(1, page_done(second, self->r.stream));
	munmap((void *)self->r.page, page_size);
	EXPECT_EQ(2, submit(self->r.fd, self->r.stream, op_write(self->r.own, 1)));
	EXPECT_EQ(2, page_done(second, self->r.stream));
	munmap((void *)second, page_size);
	EXPECT_EQ(3, submit(self->r.fd, self->r.stream, op_write(self->r.own, 1)));
	self->r.page = page_map(self->r.fd, self->r.page_offset);
	ASSERT_NE(MAP_FAILED, self->r.page);
	EXPECT_EQ(3, page_done(self->r.page, self->r.stream));
}

struct child_page {
	struct rig *r;
	struct line *line;
};

static int watch_the_page(void *arg)
{
	struct child_page *c = arg;
	u32 stream = c->r->stream;

	CHILD_CHECK(page_done(c->r->page, stream) == 1);
	say(c->line, 1);
	CHILD_CHECK(hear(c->line, 1));
	CHILD_CHECK(page_done(c->r->page, stream) == 2);
	CHILD_CHECK(page_map(c->r->fd, c->r->page_offset) == MAP_FAILED && errno == EPERM);
	return 0;
}

/* A forked child sees what the parent's work does. */
TEST_F(streams, page_in_a_child)
{
	struct line line = line_open();
	struct child_page c = { &self->r, &line };
	pid_t pid;

	EXPECT_EQ(1, submit(self->r.fd, self->r.stream, op_write(self->r.own, 1)));
	pid = spawn(watch_the_page, &c);
	EXPECT_TRUE(hear(&line, 0));
	EXPECT_EQ(2, submit(self->r.fd, self->r.stream, op_write(self->r.own, 1)));
	say(&line, 0);
	EXPECT_EQ(0, reap(pid));
}

/* The mapping holds the file, and so the work goes on behind close(). */
TEST_F(streams, page_holds_the_file)
{
	int fence;

	NEED_FOREIGN();
	fence = foreign_fence(&self->f);
	EXPECT_EQ(1, submit(self->r.fd, self->r.stream, op_fence(fence),
			    op_write(self->r.own, 1)));
	close(self->r.fd);
	EXPECT_EQ(PACCEL_PAGE_RUNNING, page_state(self->r.page));
	EXPECT_EQ(0, page_done(self->r.page, self->r.stream));
	foreign_signal(&self->f);
	EXPECT_TRUE(WAIT_FOR(page_done(self->r.page, self->r.stream) == 1, 5000));
	EXPECT_EQ(1, self->r.own[0]);
	EXPECT_EQ(0, self->r.page->slots[self->r.stream - 1].error);
	close(fence);
	self->r.fd = -1;
}

/* --- what a reader of the page may rely on ------------------------------- */

#define POINTS 1500

struct reader {
	pthread_t thread;
	const struct paccel_page *page;
	u32 stream;
	volatile u64 *results;
	u64 last, looks, bad_point;
	volatile bool seen_between;
};

/* Whatever is told as done has been written; and what was done stays so. */
static void *read_page(void *arg)
{
	struct reader *r = arg;
	u64 before = 0;

	while (before < r->last && !r->bad_point) {
		u64 done = page_done(r->page, r->stream);

		if (done < before || (done && r->results[done] != done))
			r->bad_point = done;
		r->seen_between |= done && done < r->last && done != before;
		before = done;
		r->looks++;
	}
	return NULL;
}

static void reader_start(struct reader *reader, struct rig *r, u64 last)
{
	*reader = (struct reader){ .page = r->page, .stream = r->stream,
				   .results = r->own, .last = last };
	if (pthread_create(&reader->thread, NULL, read_page, reader))
		abort();
}

/* Point n writes n to place n. */
TEST_F(streams, reader_sees_what_is_written)
{
	struct reader reader;
	u64 point;

	reader_start(&reader, &self->r, POINTS);
	for (point = 1; point <= POINTS; point++) {
		ASSERT_EQ(point, submit(self->r.fd, self->r.stream,
					op_write(&self->r.own[point], point)));
		/* On a busy host it may not even have begun to look. */
		if (point == POINTS / 2) {
			ASSERT_TRUE(WAIT_FOR(reader.seen_between, 5000));
		}
	}
	pthread_join(reader.thread, NULL);
	EXPECT_EQ(0, reader.bad_point);
}

/* The same where the card has written it. */
TEST_F(streams, reader_sees_what_is_copied)
{
	volatile u64 *own = self->r.own, *src = own + 100;
	struct reader reader;

	card_slow();
	reader_start(&reader, &self->r, 4);
	for (u64 point = 1; point <= 4; point++)
		ASSERT_EQ(point, submit(self->r.fd, self->r.stream, op_write(src, point),
					op_h2d(self->r.mem, src, 8),
					op_d2h(&own[point], self->r.mem, 8)));
	pthread_join(reader.thread, NULL);
	EXPECT_EQ(0, reader.bad_point);
	/* Where one thread emulates all CPUs, the reader may not run before a submission has ended. */
	if (!reader.seen_between)
		TH_LOG("the reader saw no value but the last of each submission");
}

/* In another cache line than the first value. */
#define SECOND 100
/* In one submission: the driver then writes them in a row, and the reader comes in between. */
#define PAIRS 32
#define SUBMISSIONS 400

static void *read_values(void *arg)
{
	struct reader *r = arg;
	u64 second;

	do {
		second = __atomic_load_n(&r->results[SECOND], __ATOMIC_ACQUIRE);
		if (r->results[0] < second)
			r->bad_point = second;
		r->seen_between |= second % PAIRS;
	} while (second < r->last && !r->bad_point);
	return NULL;
}

/*
 * A reader of the second value sees the first, without a look at the page. This detects operations that
 * run in another order; a barrier that is missing shows only on a CPU that reorders stores.
 */
TEST_F(streams, values_are_written_in_order)
{
	struct reader reader = { .results = self->r.own, .last = SUBMISSIONS * PAIRS };
	struct paccel_op ops[2 * PAIRS];

	ASSERT_EQ(0, pthread_create(&reader.thread, NULL, read_values, &reader));
	for (u64 point = 1, value = 1; point <= SUBMISSIONS; point++) {
		for (int i = 0; i < 2 * PAIRS; i += 2, value++) {
			ops[i] = op_write(&self->r.own[0], value);
			ops[i + 1] = op_write(&self->r.own[SECOND], value);
		}
		ASSERT_EQ(point, _test_cmd_submit(self->r.fd, self->r.stream, ops,
						  ARRAY_SIZE(ops)));
	}
	pthread_join(reader.thread, NULL);
	EXPECT_EQ(0, reader.bad_point);
	/* Where one thread emulates all CPUs, the reader may not run before a submission has ended. */
	if (!reader.seen_between)
		TH_LOG("the reader saw no value but the last of each submission");
}

static void *submit_points(void *arg)
{
	struct rig *r = arg;

	for (u64 point = 1; point <= POINTS; point++)
		submit(r->fd, r->stream, op_write(&r->own[point], point));
	return NULL;
}

/* Between two looks at the page WAIT says something that lies between them. */
TEST_F(streams, page_agrees_with_wait)
{
	u64 before, after, asked = 0, still = 0;
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, submit_points, &self->r));
	do {
		u64 point;
		int is;

		before = page_done(self->r.page, self->r.stream);
		point = before + asked % 2;
		is = standing(self->r.fd, self->r.stream, point);
		after = page_done(self->r.page, self->r.stream);
		/* Not 0: it has not ended, or was not submitted when WAIT looked. */
		ASSERT_TRUE(is == 0 ? after >= point :
				      point > before && (is == -EINPROGRESS || is == -EINVAL))
			TH_LOG("point %llu: %d", (unsigned long long)point, is);
		still += is != 0;
		asked++;
	} while (before < POINTS);
	pthread_join(thread, NULL);
	EXPECT_LT(0, asked - still);
}

PACCEL_TEST_MAIN
