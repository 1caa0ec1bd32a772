// SPDX-License-Identifier: MIT
/*
 * What can be seen from outside: tracepoints, fdinfo, and in the order of events whose
 * turn it was.
 */
#include <sys/stat.h>

#include "stream_test.h"

#define TRACEFS "/sys/kernel/tracing"
#define TEXT (1 << 20)

FIXTURE(trace) {
	struct rig r;
	char dir[64];	/* a buffer of its own: the other card's events are not in it */
	char *text;
};

static int trace_write(FIXTURE_DATA(trace) *self, const char *file, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", self->dir, file);
	return file_write(path, value);
}

/* What empties the buffer is O_TRUNC: to write nothing changes nothing. */
static void trace_clear(FIXTURE_DATA(trace) *self)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/trace", self->dir);
	close(open(path, O_WRONLY | O_TRUNC | O_CLOEXEC));
}

/* All events up to now; the buffer is emptied. */
static void trace_read(FIXTURE_DATA(trace) *self)
{
	char path[128];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/trace", self->dir);
	f = fopen(path, "re");
	n = f ? fread(self->text, 1, TEXT - 1, f) : 0;
	self->text[n] = 0;
	if (f)
		fclose(f);
	trace_clear(self);
}

/* The first event of that name from @from on with all these words; NULL if there is none. */
static __attribute__((format(printf, 3, 4)))
const char *event(const char *from, const char *name, const char *format, ...)
{
	char words[256], full[64];
	va_list args;

	va_start(args, format);
	vsnprintf(words, sizeof(words), format, args);
	va_end(args);
	snprintf(full, sizeof(full), ": paccel_%s: ", name);
	while (from && (from = strstr(from, full))) {
		const char *end = strchr(from, '\n'), *at = strstr(from, words);

		/* A number may be the beginning of another one. */
		if (at && at < end && strchr(" \n", at[strlen(words)]))
			return from;
		from = end;
	}
	return NULL;
}

/* The number behind " KEY=" in the line; -1 if it is not there. */
static s64 number_of(const char *line, const char *key)
{
	const char *end = strchr(line, '\n'), *at;
	char word[32];

	snprintf(word, sizeof(word), " %s=", key);
	at = strstr(line, word);
	return at && at < end ? strtoll(at + strlen(word), NULL, 10) : -1;
}

/* The first end of that transfer: cookies of an engine are not given twice. */
static const char *end_of(const char *start, int status)
{
	return event(start, "done", "device=%lld engine=%lld cookie=%lld status=%d",
		     (long long)number_of(start, "device"), (long long)number_of(start, "engine"),
		     (long long)number_of(start, "cookie"), status);
}

/* A line of /proc/PID/fdinfo/FD: the number behind its key, -1 if it is not there. */
static s64 fdinfo(pid_t pid, int fd, const char *key)
{
	char path[64], line[256];
	size_t n = strlen(key);
	s64 value = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", pid, fd);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, n) && line[n] == ':')
			value = strtoll(line + n + 1, NULL, 10);
	if (f)
		fclose(f);
	return value;
}

#define ID(r) fdinfo(getpid(), (r)->fd, "drm-client-id")

FIXTURE_SETUP(trace)
{
	ASSERT_EQ(0, rig_open(&self->r, 256));
	self->text = malloc(TEXT);
	/*
	 * Names of processes come from tracepoints of the scheduler, which are not wanted here: the
	 * kernel would patch what all that runs goes through. An instance has the switch of its maker.
	 */
	ASSERT_EQ(0, file_write(TRACEFS "/options/record-cmd", "0"));
	snprintf(self->dir, sizeof(self->dir), TRACEFS "/instances/paccel-%d", getpid());
	ASSERT_EQ(0, mkdir(self->dir, 0755)) TH_LOG("%s: %d", self->dir, errno);
	ASSERT_EQ(0, trace_write(self, "events/paccel/enable", "1"));
}

FIXTURE_TEARDOWN(trace)
{
	trace_write(self, "events/paccel/enable", "0");
	EXPECT_EQ(0, rmdir(self->dir));
	EXPECT_EQ(0, file_write(TRACEFS "/options/record-cmd", "1"));
	rig_close(&self->r);
}

/* --- tracepoints --------------------------------------------------------- */

TEST_F(trace, work_of_a_stream)
{
	struct rig *r = &self->r;
	u64 id = ID(r), dev = r->mem + 8 - info_of(r->fd).mem_base;
	const char *submitted, *at, *done;
	int stream = stream_create(r->fd);
	u64 begin = clock_ns();
	char node[32];

	EXPECT_EQ(1, submit(r->fd, stream, op_write(r->own, 1)));
	EXPECT_EQ(2, submit(r->fd, stream, op_write(r->own, 1), op_fill(r->mem, 24, 1, 8),
			    op_d2h(&r->own[1], r->mem + 8, 16)));
	EXPECT_EQ(0, outcome(r->fd, stream, 2));
	trace_read(self);
	ASSERT_TRUE(card_node(card_bdf(), node));
	/* The card is named by the number of its node. */
	EXPECT_NE(NULL, event(self->text, "submit", "device=%s ctx=%llu stream=%d point=1 ops=1 "
			      "queued=1", node + strlen("paccel"), (unsigned long long)id,
			      stream));
	submitted = event(self->text, "submit", "ctx=%llu stream=%d point=2 ops=3 queued=3",
			  (unsigned long long)id, stream);
	ASSERT_NE(NULL, submitted);
	at = event(submitted, "start", "ctx=%llu stream=%d point=2 op=fill",
		   (unsigned long long)id, stream);
	ASSERT_NE(NULL, at);
	done = end_of(at, 0);
	ASSERT_NE(NULL, done);
	EXPECT_LT(0, number_of(done, "ns"));
	EXPECT_GT(clock_ns() - begin, number_of(done, "ns"));
	EXPECT_EQ(NULL, end_of(strchr(done, '\n'), 0));
	/* What the card has ended can end the job. */
	at = event(done, "complete", "ctx=%llu stream=%d point=2 op=fill bytes=24 error=0",
		   (unsigned long long)id, stream);
	ASSERT_NE(NULL, at);
	at = event(submitted, "start", "ctx=%llu stream=%d point=2 op=d2h dev=0x%llx len=16",
		   (unsigned long long)id, stream, (unsigned long long)dev);
	ASSERT_NE(NULL, at);
	EXPECT_EQ(at, event(at, "start", "ret=0"));
	EXPECT_NE(NULL, end_of(at, 0));
	EXPECT_NE(NULL, event(at, "complete", "ctx=%llu stream=%d point=2 op=d2h bytes=16 "
			      "error=0", (unsigned long long)id, stream));
	EXPECT_EQ(NULL, event(self->text, "error", "ctx=%llu", (unsigned long long)id));
}

/* A COPY has a context and no stream. */
TEST_F(trace, work_of_no_stream)
{
	struct rig *r = &self->r;
	u64 id = ID(r);

	EXPECT_EQ(0, _test_cmd_fill(r->fd, r->mem, 8, 1, 1));
	trace_read(self);
	EXPECT_EQ(NULL, event(self->text, "submit", "ctx=%llu", (unsigned long long)id));
	EXPECT_NE(NULL, event(self->text, "start", "ctx=%llu stream=0 point=0 op=fill",
			      (unsigned long long)id));
	EXPECT_NE(NULL, event(self->text, "complete", "ctx=%llu stream=0 point=0 op=fill "
			      "bytes=8 error=0", (unsigned long long)id));
}

/* The card refuses the transfer, and the stream has failed: one event of each. */
TEST_F(trace, failure)
{
	struct rig *r = &self->r;
	u64 id = ID(r);
	const char *at;

	card_fail(true);
	EXPECT_EQ(1, submit(r->fd, r->stream, op_fill(r->mem, 8, 1, 1),
			    op_fill(r->mem, 8, 2, 1)));
	EXPECT_EQ(-EIO, outcome(r->fd, r->stream, 1));
	card_fail(false);
	EXPECT_EQ(0, _test_cmd_reset(r->fd));
	trace_read(self);
	EXPECT_NE(NULL, event(self->text, "complete", "ctx=%llu stream=%u point=1 op=fill "
			      "bytes=8 error=-5", (unsigned long long)id, r->stream));
	at = event(self->text, "error", "ctx=%llu stream=%u point=1 error=-5",
		   (unsigned long long)id, r->stream);
	ASSERT_NE(NULL, at);
	EXPECT_EQ(NULL, event(strchr(at, '\n'), "error", "ctx=%llu", (unsigned long long)id));
}

/* --- turns --------------------------------------------------------------- */

#define BUSY 2	/* processes */

struct busy {
	struct line *line;
	int streams;
	s64 id;		/* shared */
};

static int keep_busy(void *arg)
{
	struct busy *b = arg;
	struct copy_2d rows = long_turns(50);
	struct rig r;

	CHILD_EQ(0, rig_open(&r, LONG_COPY_BYTES(rows.rows)));
	b->id = ID(&r);
	for (int i = 0; i < b->streams; i++) {
		int stream = i ? stream_create(r.fd) : (int)r.stream;

		/* There is always a next transfer of it, whatever runs. */
		CHILD_EQ(1, submit(r.fd, stream, op_rows(PACCEL_COPY_H2D, r.mem, (uintptr_t)r.own,
							 rows)));
	}
	say(b->line, 1);
	pause();
	return 0;
}

/* Transfers of that context which have begun between two events. */
static int turns_between(const char *from, const char *to, s64 id)
{
	int turns = 0;

	while ((from = event(from, "start", "ctx=%lld", (long long)id)) && from < to) {
		turns++;
		from = strchr(from, '\n');
	}
	return turns;
}

static struct busy *busy_start(struct __test_metadata *_metadata, pid_t pid[BUSY],
			       const int streams[BUSY])
{
	struct busy *b = mmap(NULL, page_size, PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	static struct line line[BUSY];

	for (int i = 0; i < BUSY; i++) {
		line[i] = line_open();
		b[i] = (struct busy){ .line = &line[i], .streams = streams[i] };
		pid[i] = spawn(keep_busy, &b[i]);
		EXPECT_TRUE(hear(&line[i], 0));
	}
	return b;
}

static void busy_end(struct __test_metadata *_metadata, pid_t pid[BUSY], struct rig *r)
{
	for (int i = 0; i < BUSY; i++) {
		kill(pid[i], SIGKILL);
		EXPECT_EQ(128 + SIGKILL, reap(pid[i]));
	}
	EXPECT_TRUE(WAIT_FOR(stats_of(r->fd).used == stats_of(r->fd).mine, 10000));
}

/*
 * 8 bytes wait for one transfer of each busy process, however many streams that has.
 * The one that runs when they are submitted is one of these, so that one less has begun
 * before theirs; or as many, when another one had been chosen and had not begun yet.
 */
TEST_F(trace, small_copy_beside_busy_processes)
{
	struct rig *r = &self->r;
	u64 id = ID(r), xfers = stats_of(r->fd).xfers;
	int least = 1000;
	pid_t pid[BUSY];
	struct busy *b;

	card_slow();
	b = busy_start(_metadata, pid, (int[BUSY]){ 8, 8 });
	/* Each has had its turn: from here on they follow each other. */
	ASSERT_TRUE(WAIT_FOR(stats_of(r->fd).xfers >= xfers + BUSY + 1, 5000));
	for (int n = 1; n <= 3; n++) {
		EXPECT_EQ(n, submit(r->fd, r->stream, op_h2d(r->mem, r->own, 8)));
		EXPECT_EQ(0, outcome(r->fd, r->stream, n));
	}
	trace_read(self);
	for (int n = 1; n <= 3; n++) {
		const char *from = event(self->text, "submit", "ctx=%llu stream=%u point=%d ops=1",
					 (unsigned long long)id, r->stream, n);
		const char *to = event(from, "start", "ctx=%llu stream=%u point=%d op=h2d",
				       (unsigned long long)id, r->stream, n);
		int turns = 0;

		ASSERT_NE(NULL, from);
		ASSERT_NE(NULL, to);
		for (int i = 0; i < BUSY; i++)
			turns += turns_between(from, to, b[i].id);
		EXPECT_GE(BUSY, turns) TH_LOG("copy %d", n);
		least = turns < least ? turns : least;
	}
	EXPECT_GE(BUSY - 1, least);
	busy_end(_metadata, pid, r);
}

#define SHARED 12	/* turns */

/*
 * Many streams get a process no more than one: the two take turns strictly. What begins and ends
 * within the window are not pairs, so that one of them may have one turn more.
 */
TEST_F(trace, equal_shares)
{
	struct rig *r = &self->r;
	int shared = SHARED * card_depth(), turns[BUSY];
	u64 xfers;
	pid_t pid[BUSY];
	struct busy *b;
	const char *end;

	card_slow_turns();
	b = busy_start(_metadata, pid, (int[BUSY]){ 1, 8 });
	/* Both are there: what the first one was given while it was alone does not count. */
	trace_clear(self);
	xfers = stats_of(r->fd).xfers;
	ASSERT_TRUE(WAIT_FOR(stats_of(r->fd).xfers >= xfers + shared, 10000));
	trace_read(self);
	end = self->text + strlen(self->text);
	for (int i = 0; i < BUSY; i++)
		turns[i] = turns_between(self->text, end, b[i].id);
	EXPECT_LE(shared - 1, turns[0] + turns[1]);
	EXPECT_GE(1, abs(turns[0] - turns[1])) TH_LOG("%d and %d", turns[0], turns[1]);
	busy_end(_metadata, pid, r);
}

/*
 * Scrubbing that an allocation waits for goes ahead of copies, in pieces of two DMA requests. Between two
 * pieces copies have their turn. On edu all memory is one piece.
 */
TEST_F(trace, scrubbing_takes_turns)
{
	struct rig *r = &self->r;
	struct copy_2d rows = long_turns(50);
	struct side_call alloc = { .fn = side_alloc, .fd = r->fd };
	const char *at, *copy, *next;
	int row = 0, longest = 0;
	u64 copied, mem;

	ASSERT_TRUE(card_settle(r->fd));
	test_cmd_mem_alloc(r->fd, LONG_COPY_BYTES(rows.rows), 0, &copied);
	alloc.length = stats_of(r->fd).largest_free;
	test_cmd_mem_alloc(r->fd, alloc.length, 0, &mem);
	/* Copies and an allocation wait before the first piece begins, and copies when the last ends. */
	card_slow_turns();
	card_hold();
	EXPECT_EQ(1, submit(r->fd, r->stream,
			    op_rows(PACCEL_COPY_H2D, copied, (uintptr_t)r->own, rows)));
	test_cmd_mem_free(r->fd, mem, alloc.length);
	trace_clear(self);
	side_call_start(&alloc);
	ASSERT_TRUE(WAIT_FOR(side_call_done(&alloc) || card_waiting() == 1, 5000));
	card_pass(100000);
	EXPECT_EQ(0, side_call_end(&alloc));
	EXPECT_EQ(-EINPROGRESS, standing(r->fd, r->stream, 1));
	trace_read(self);
	card_behave();
	for (at = event(self->text, "start", "op=scrub"); at; at = next) {
		next = event(strchr(at, '\n'), "start", "op=scrub");
		copy = event(strchr(at, '\n'), "start", "op=h2d");
		row++;
		longest = row > longest ? row : longest;
		if (copy && next && copy < next)
			row = 0;
	}
	EXPECT_LE(1, longest);
	EXPECT_GE(2, longest) TH_LOG("%d in a row", longest);
	EXPECT_EQ(0, outcome(r->fd, r->stream, 1));
	test_cmd_mem_free(r->fd, alloc.addr, alloc.length);
	test_cmd_mem_free(r->fd, copied, LONG_COPY_BYTES(rows.rows));
}

/* Streams of one process take turns, too: the last one need not wait for the others. */
TEST_F(trace, streams_take_turns)
{
	struct rig *r = &self->r;
	u64 id = ID(r);
	int first = stream_create(r->fd), second = stream_create(r->fd);
	struct copy_2d rows = long_turns(5);
	const char *from, *to, *at;
	int turns = 0;
	u64 mem;

	test_cmd_mem_alloc(r->fd, LONG_COPY_BYTES(rows.rows), 0, &mem);
	ASSERT_TRUE(card_settle(r->fd));
	card_hold();
	EXPECT_EQ(1, submit(r->fd, first, op_rows(PACCEL_COPY_H2D, mem, (uintptr_t)r->own, rows)));
	EXPECT_EQ(1, submit(r->fd, second, op_h2d(r->mem, r->own, 8)));
	card_pass(card_depth() + 2);
	EXPECT_EQ(0, outcome(r->fd, second, 1));
	if (card_can_hold())
		EXPECT_EQ(-EINPROGRESS, standing(r->fd, first, 1));
	card_behave();
	EXPECT_EQ(0, outcome(r->fd, first, 1));
	trace_read(self);
	from = event(self->text, "submit", "ctx=%llu stream=%d point=1 ops=1",
		     (unsigned long long)id, second);
	to = event(from, "start", "ctx=%llu stream=%d point=1 op=h2d", (unsigned long long)id,
		   second);
	ASSERT_NE(NULL, to);
	for (at = from; (at = event(at, "start", "ctx=%llu stream=%d",
				    (unsigned long long)id, first)) && at < to;
	     at = strchr(at, '\n'))
		turns++;
	EXPECT_GE(card_depth(), turns);
}

/* Largest number of DMA requests that have begun between two executions of an engine's work item. */
static int longest_execution(const char *text, s64 id)
{
	const char *work = "function engine_work", *from = strstr(text, work), *to;
	int turns, longest = 0;

	for (; from; from = to) {
		to = strstr(from + 1, work);
		turns = turns_between(from, to ?: from + strlen(from), id);
		longest = turns > longest ? turns : longest;
	}
	return longest;
}

#define VERIFIED 400	/* rows */
#define ROW 32768
/* Larger than a row, so that each row is a DMA request. */
#define PITCH (ROW + 64)
#define ROUNDS 64	/* of one execution: PACCEL_TURNS in kernel/exec/engine.c */

/*
 * The work item of an engine verifies one DMA request in a round. It is queued again after ROUNDS of
 * them, also while the device completes requests faster than they are verified.
 */
TEST_F(trace, verification_is_bounded)
{
	struct rig *r = &self->r;
	struct copy_2d rows = { ROW, VERIFIED, PITCH, PITCH };
	u8 *host = map_pages(PITCH * VERIFIED / page_size + 1);
	struct paccel_op op;
	u64 id = ID(r), mem;
	int longest;

	if (!(info_of(r->fd).caps & PACCEL_CAP_VERIFY))
		SKIP(return, "the device has no checksums");
	ASSERT_EQ(0, trace_write(self, "events/workqueue/workqueue_execute_start/enable", "1"));
	test_cmd_host_register(r->fd, host, PITCH * VERIFIED, 0);
	test_cmd_mem_alloc(r->fd, PITCH * VERIFIED, 0, &mem);
	trace_clear(self);
	op = op_rows(PACCEL_COPY_H2D, mem, (uintptr_t)host, rows);
	op.flags = PACCEL_OP_VERIFY;
	EXPECT_EQ(1, submit(r->fd, r->stream, op));
	EXPECT_EQ(0, outcome(r->fd, r->stream, 1));
	ASSERT_EQ(0, trace_write(self, "events/workqueue/workqueue_execute_start/enable", "0"));
	trace_read(self);
	EXPECT_EQ(VERIFIED, turns_between(self->text, self->text + strlen(self->text), id));
	longest = longest_execution(self->text, id);
	EXPECT_LE(1, longest);
	EXPECT_GE(ROUNDS, longest) TH_LOG("%d requests", longest);
}

/* --- fdinfo -------------------------------------------------------------- */

TEST_F(trace, fdinfo_host)
{
	u64 own = OWN_PAGES * page_size, offset;
	struct rig *r = &self->r;
	pid_t pid = getpid();
	char text[100];

	EXPECT_EQ(own, fdinfo(pid, r->fd, "drm-total-host"));
	test_cmd_host_register(r->fd, text, sizeof(text), 0);
	EXPECT_EQ(own + sizeof(text), fdinfo(pid, r->fd, "drm-total-host"));
	test_err_host_register(EEXIST, r->fd, text, sizeof(text), 0);
	EXPECT_EQ(own + sizeof(text), fdinfo(pid, r->fd, "drm-total-host"));
	ASSERT_EQ(0, _test_cmd_host_alloc(r->fd, 1, &offset));
	EXPECT_EQ(own + page_size + sizeof(text), fdinfo(pid, r->fd, "drm-total-host"));
	test_cmd_host_free(r->fd, NULL, offset);
	test_cmd_host_free(r->fd, text, 0);
	EXPECT_EQ(own, fdinfo(pid, r->fd, "drm-total-host"));
	test_cmd_host_free(r->fd, (void *)r->own, 0);
	EXPECT_EQ(0, fdinfo(pid, r->fd, "drm-total-host"));
}

TEST_F(trace, fdinfo)
{
	const char *counted[] = { "paccel-bytes-h2d", "paccel-bytes-d2h", "paccel-bytes-d2d",
				  "paccel-bytes-filled" };
	const u64 bytes[] = { 40, 30, 20, 16 };
	struct rig *r = &self->r, other;
	u64 begin = clock_ns(), engine_ns;
	char path[64], text[1024];
	pid_t pid = getpid();
	s64 id = ID(r);

	ASSERT_EQ(0, rig_open(&other, 0));
	EXPECT_LT(0, id);
	EXPECT_LT(id, ID(&other));
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", r->fd);
	ASSERT_LT(0, file_read(path, text, sizeof(text)));
	EXPECT_NE(NULL, strstr(text, "drm-driver:\tpaccel\n"));
	snprintf(path, sizeof(path), "drm-pdev:\t%s\n", card_bdf());
	EXPECT_NE(NULL, strstr(text, path));
	EXPECT_EQ(info_of(r->fd).engines, fdinfo(pid, r->fd, "drm-engine-capacity-dma"));
	EXPECT_EQ(in_granules(r->fd, 256), fdinfo(pid, r->fd, "drm-total-device"));
	EXPECT_EQ(in_granules(r->fd, 256), fdinfo(pid, r->fd, "drm-resident-device"));
	EXPECT_EQ(OWN_PAGES * page_size, fdinfo(pid, r->fd, "drm-total-host"));
	EXPECT_EQ(0, fdinfo(pid, other.fd, "drm-total-device"));
	EXPECT_EQ(0, fdinfo(pid, r->fd, "drm-engine-dma"));
	for (int i = 0; i < 4; i++)
		EXPECT_EQ(0, fdinfo(pid, r->fd, counted[i]));

	card_slow();
	EXPECT_EQ(1, submit(r->fd, r->stream, op_h2d(r->mem, r->own, 40),
			    op_d2h(&r->own[8], r->mem, 30),
			    op_copy(PACCEL_COPY_D2D, r->mem + 100, r->mem, 20),
			    op_fill(r->mem, 16, 1, 1)));
	EXPECT_EQ(0, outcome(r->fd, r->stream, 1));
	for (int i = 0; i < 4; i++) {
		EXPECT_EQ(bytes[i], fdinfo(pid, r->fd, counted[i]));
		/* Nobody else has moved them. */
		EXPECT_EQ(0, fdinfo(pid, other.fd, counted[i]));
	}
	engine_ns = fdinfo(pid, r->fd, "drm-engine-dma");
	EXPECT_GT(clock_ns() - begin, engine_ns);
	EXPECT_LT(0, engine_ns);
	/* A copy inside the card is one transfer or two. */
	EXPECT_LT(4 * (XFER_MS - 5) * 1000000ull, engine_ns);
	EXPECT_EQ(0, fdinfo(pid, other.fd, "drm-engine-dma"));
	rig_close(&other);
}

PACCEL_TEST_MAIN
