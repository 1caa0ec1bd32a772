// SPDX-License-Identifier: MIT
/*
 * Random graphs of streams against a model, and many operations with none lost. The seed
 * is printed; PACCEL_SEED=N repeats a run, PACCEL_OPS=N makes it longer. Runs with
 * scrub=0.
 */
#include <sys/random.h>

#include "stream_test.h"

#define STREAMS 6
#define SUBMITS 300	/* of a run */
#define CELLS 16	/* of each stream: 8 bytes of host memory, 8 of the card's */
#define MAX_WAITS 3
#define MAX_OPS (MAX_WAITS + 12)
#define NONE -1

/*
 * What was submitted: what it waited for, and where it told the time: at its beginning,
 * behind its waits, at its end.
 */
struct node {
	int stream;
	u64 point;
	int waits[MAX_WAITS];	/* nodes */
	int nr_waits;
	volatile u64 *time;	/* three */
};

struct model {
	struct rig r;
	unsigned int seed;
	int submits, copies, nr_nodes;
	struct node *nodes;
	int last[STREAMS];	/* node of each stream */
	int stream[STREAMS], event[STREAMS];
	u64 events[STREAMS];
	/* Each is written by one stream only, so the order inside it tells the end. */
	u64 host[STREAMS][CELLS];
	u64 dev[STREAMS][CELLS];
	volatile u64 *cells;
	u64 stamp;
};

static unsigned int below(struct model *m, unsigned int n)
{
	return rand_r(&m->seed) % n;
}

static volatile u64 *host_cell(struct model *m, int s, int cell)
{
	return &m->cells[s * CELLS + cell];
}

static u64 dev_cell(struct model *m, int s, int cell)
{
	return m->r.mem + (s * CELLS + cell) * 8;
}

/* One operation without a wait, on what belongs to stream @s. */
static struct paccel_op random_op(struct model *m, int s)
{
	int a = below(m, CELLS), b = below(m, CELLS), what = below(m, 40);

	if (what < 2 && m->copies) {
		m->copies--;
		if (what == 0) {
			m->dev[s][b] = m->host[s][a];
			return op_h2d(dev_cell(m, s, b), host_cell(m, s, a), 8);
		}
		m->host[s][a] = m->dev[s][b];
		return op_d2h(host_cell(m, s, a), dev_cell(m, s, b), 8);
	}
	if (what == 2 && m->copies) {
		m->copies--;
		m->dev[s][b] = ++m->stamp;
		return op_fill(dev_cell(m, s, b), 8, m->stamp, 8);
	}
	if (what < 12) {
		m->events[s]++;
		return op_eventfd(m->event[s], 0);
	}
	m->host[s][a] = ++m->stamp;
	return op_write(host_cell(m, s, a), m->stamp);
}

/* Streams are not equally busy, and most waits are for what has come lately. */
static void submit_random(struct __test_metadata *_metadata, struct model *m)
{
	struct node *n = &m->nodes[m->nr_nodes];
	int s = below(m, 3) ? (int)below(m, STREAMS) : (int)below(m, 2), ops = 0, i;
	struct paccel_op op[MAX_OPS + 3];
	s64 point;

	n->stream = s;
	op[ops++] = op_time(&n->time[0]);
	n->nr_waits = m->nr_nodes ? below(m, MAX_WAITS + 1) : 0;
	for (i = 0; i < n->nr_waits; i++) {
		int range = below(m, 2) && m->nr_nodes > 10 ? 10 : m->nr_nodes;
		const struct node *what;

		n->waits[i] = m->nr_nodes - 1 - below(m, range);
		what = &m->nodes[n->waits[i]];
		op[ops++] = op_point(m->stream[what->stream], what->point);
	}
	op[ops++] = op_time(&n->time[1]);
	for (i = below(m, 12); i > 0; i--)
		op[ops++] = random_op(m, s);
	op[ops++] = op_time(&n->time[2]);
	point = _test_cmd_submit(m->r.fd, m->stream[s], op, ops);
	ASSERT_EQ(m->last[s] == NONE ? 1 : m->nodes[m->last[s]].point + 1, (u64)point);
	n->point = point;
	m->last[s] = m->nr_nodes++;
}

/* Each began behind the one before it, and went on behind what it has waited for. */
static void check_order(struct __test_metadata *_metadata, struct model *m)
{
	int before[STREAMS];

	for (int s = 0; s < STREAMS; s++)
		before[s] = NONE;
	for (int i = 0; i < m->nr_nodes; i++) {
		struct node *n = &m->nodes[i];

		ASSERT_LT(0, n->time[0]);
		ASSERT_LE(n->time[0], n->time[1]);
		ASSERT_LE(n->time[1], n->time[2]);
		ASSERT_LE(before[n->stream] == NONE ? 0 :
			  m->nodes[before[n->stream]].time[2], n->time[0]);
		for (int k = 0; k < n->nr_waits; k++) {
			ASSERT_LE(m->nodes[n->waits[k]].time[2], n->time[1])
				TH_LOG("submit %d, wait for %d", i, n->waits[k]);
		}
		before[n->stream] = i;
	}
}

static void check_memory(struct __test_metadata *_metadata, struct model *m)
{
	u64 *card = calloc(STREAMS * CELLS, 8);

	EXPECT_EQ(0, _test_cmd_copy_d2h(m->r.fd, card, m->r.mem, STREAMS * CELLS * 8));
	for (int s = 0; s < STREAMS; s++) {
		for (int i = 0; i < CELLS; i++) {
			EXPECT_EQ(m->host[s][i], *host_cell(m, s, i)) TH_LOG("%d.%d", s, i);
			EXPECT_EQ(m->dev[s][i], card[s * CELLS + i]) TH_LOG("%d.%d", s, i);
		}
		EXPECT_EQ(m->events[s], eventfd_sum(m->event[s], m->events[s]));
	}
	free(card);
}

FIXTURE(graph) {
	struct model m;
	struct foreign f;
};

FIXTURE_SETUP(graph)
{
	const char *seed = getenv("PACCEL_SEED"), *ops = getenv("PACCEL_OPS");
	struct model *m = &self->m;
	u64 offset, length;

	if (seed)
		m->seed = strtoul(seed, NULL, 0);
	else
		ASSERT_EQ(sizeof(m->seed), getrandom(&m->seed, sizeof(m->seed), 0));
	printf("# PACCEL_SEED=%u\n", m->seed);
	fflush(stdout);
	m->submits = ops ? atoi(ops) : SUBMITS;
	m->copies = m->submits / 20;
	ASSERT_EQ(0, rig_open(&m->r, STREAMS * CELLS * 8));
	/* The memory of the card is what it was: the model begins with zero. */
	ASSERT_EQ(0, _test_cmd_fill(m->r.fd, m->r.mem, STREAMS * CELLS * 8, 0, 1));
	length = (m->submits * 3 + STREAMS * CELLS) * 8;
	ASSERT_EQ(0, _test_cmd_host_alloc(m->r.fd, length, &offset));
	m->cells = host_map(m->r.fd, length, offset);
	ASSERT_NE(MAP_FAILED, m->cells);
	m->nodes = calloc(m->submits, sizeof(*m->nodes));
	for (int i = 0; i < m->submits; i++)
		m->nodes[i].time = m->cells + STREAMS * CELLS + 3 * i;
	for (int s = 0; s < STREAMS; s++) {
		m->last[s] = NONE;
		m->event[s] = eventfd(0, EFD_NONBLOCK);
		m->stream[s] = s ? stream_create(m->r.fd) : (int)m->r.stream;
		ASSERT_LT(0, m->stream[s]);
	}
	if (!foreign_open(&self->f))
		SKIP(return, "neither sw_sync nor vgem");
}

FIXTURE_TEARDOWN(graph)
{
	foreign_close(&self->f);
	rig_close(&self->m.r);
}

/* Some streams get a fence that comes later: much is queued then, and runs at once. */
static void hold_up(struct __test_metadata *_metadata, FIXTURE_DATA(graph) *self)
{
	struct model *m = &self->m;
	int fence = foreign_fence(&self->f);

	ASSERT_LE(0, fence);
	for (int s = 0; s < STREAMS; s++) {
		struct node *n = &m->nodes[m->nr_nodes];

		if (below(m, 2) || m->nr_nodes == m->submits)
			continue;
		n->stream = s;
		n->point = submit(m->r.fd, m->stream[s], op_time(&n->time[0]), op_fence(fence),
				  op_time(&n->time[1]), op_time(&n->time[2]));
		ASSERT_EQ(m->last[s] == NONE ? 1 : m->nodes[m->last[s]].point + 1, n->point);
		m->last[s] = m->nr_nodes++;
	}
	close(fence);
}

TEST_F(graph, random)
{
	struct model *m = &self->m;
	bool held = false;

	while (m->nr_nodes < m->submits) {
		if (below(m, 15) == 0) {
			if (held)
				foreign_signal(&self->f);
			else
				hold_up(_metadata, self);
			held = !held;
		}
		if (m->nr_nodes < m->submits)
			submit_random(_metadata, m);
	}
	if (held)
		foreign_signal(&self->f);
	for (int s = 0; s < STREAMS; s++) {
		u64 last = m->last[s] == NONE ? 0 : m->nodes[m->last[s]].point;

		ASSERT_EQ(0, outcome(m->r.fd, m->stream[s], last));
	}
	check_order(_metadata, m);
	check_memory(_metadata, m);
}

/* --- many ---------------------------------------------------------------- */

/* As in the other tests of random work: a tenth on a slow kernel. */
#define MANY (100000 / (slow_factor() > 1 ? 10 : 1))
#define BATCH 64
#define COPIES 100

FIXTURE(many) {
	struct rig r;
	volatile u64 *cells;
	int event;
};

FIXTURE_SETUP(many)
{
	u64 offset;

	ASSERT_EQ(0, rig_open(&self->r, 64));
	self->event = eventfd(0, EFD_NONBLOCK);
	ASSERT_EQ(0, _test_cmd_host_alloc(self->r.fd, (MANY + BATCH) * 8, &offset));
	self->cells = host_map(self->r.fd, (MANY + BATCH) * 8, offset);
	ASSERT_NE(MAP_FAILED, self->cells);
}

FIXTURE_TEARDOWN(many)
{
	rig_close(&self->r);
}

/* Operation n tells its own cell, or the eventfd; now and then there is a copy of 8 bytes. */
static struct paccel_op nth_op(FIXTURE_DATA(many) *self, u64 n, u64 *events)
{
	u64 between = MANY / COPIES;

	if (n % between == between - 1) {
		if (n / between % 2)
			return op_d2h(&self->cells[n], self->r.mem, 8);
		return op_h2d(self->r.mem, &self->cells[n - 1], 8);
	}
	if (n % 10 == 3) {
		++*events;
		return op_eventfd(self->event, 0);
	}
	return op_write(&self->cells[n], n + 1);
}

TEST_F(many, operations_in_batches)
{
	u64 between = MANY / COPIES, events = 0, calls = 0, point = 0, n = 0;
	struct paccel_op op[BATCH];

	while (n < MANY) {
		for (int i = 0; i < BATCH; i++)
			op[i] = nth_op(self, n++, &events);
		ASSERT_EQ(++point, _test_cmd_submit(self->r.fd, self->r.stream, op, BATCH));
		calls++;
	}
	EXPECT_EQ(0, outcome(self->r.fd, self->r.stream, point));
	EXPECT_EQ(point, page_done(self->r.page, self->r.stream));
	EXPECT_EQ(events, eventfd_sum(self->event, events));
	for (u64 i = 0; i < n; i++) {
		u64 expected = i + 1;

		if (i % between == between - 1)
			/* What was copied up half as long ago has come down. */
			expected = i / between % 2 ? i - between : 0;
		else if (i % 10 == 3)
			expected = 0;
		ASSERT_EQ(expected, self->cells[i]) TH_LOG("operation %llu",
							   (unsigned long long)i);
	}
	printf("# %llu operations in %llu calls\n", (unsigned long long)n,
	       (unsigned long long)calls + 1);
}

PACCEL_TEST_MAIN
