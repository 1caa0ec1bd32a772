// SPDX-License-Identifier: MIT
/*
 * What operations that have ended still hold, until a work item of the driver drops it. A test and
 * the work items of unbound workqueues, which the driver's are, have one CPU, and the test comes
 * first: after its wait, nothing is dropped before it sleeps again. Nothing else may run meanwhile.
 */
#include <sched.h>

#include "stream_test.h"

#define WORKERS_CPUS "/sys/devices/virtual/workqueue/cpumask"

static char workers_cpus[4096];

static void workers_restore(void)
{
	if (file_write(WORKERS_CPUS, workers_cpus))
		perror(WORKERS_CPUS);
}

/* In the process of the harness, which goes on when a test is killed. */
__attribute__((constructor)) static void workers_keep(void)
{
	if (file_read(WORKERS_CPUS, workers_cpus, sizeof(workers_cpus)) > 0)
		atexit(workers_restore);
}

FIXTURE(ended) {
	struct rig r;
	int other;
	u64 total;
};

FIXTURE_SETUP(ended)
{
	const struct sched_param first = { .sched_priority = 1 };
	cpu_set_t one;

	if (!scrub_is_on())
		SKIP(return, "needs the module loaded with scrub=1");
	self->other = card_open();
	ASSERT_LE(0, self->other);
	self->total = info_of(self->other).mem_size;
	ASSERT_TRUE(card_settle(self->other));
	ASSERT_TRUE(WAIT_FOR(!stats_of(self->other).used, 5000));
	ASSERT_EQ(0, rig_open(&self->r, self->total));
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	ASSERT_EQ(0, sched_setaffinity(0, sizeof(one), &one));
	ASSERT_EQ(0, sched_setscheduler(0, SCHED_FIFO, &first));
	ASSERT_EQ(0, file_write(WORKERS_CPUS, "1"));
}

FIXTURE_TEARDOWN(ended)
{
	close(self->other);
}

/* Operations at the begin and the end of the memory. */
static s64 use_memory(struct rig *r)
{
	struct paccel_op fill = op_fill(r->mem, 64, 1, 1);
	struct paccel_op copy = op_copy(PACCEL_COPY_D2D, r->mem, r->mem + r->mem_size - 64, 64);

	return submit(r->fd, r->stream, fill, copy);
}

TEST_F(ended, free_is_the_last_reference)
{
	s64 point = use_memory(&self->r);
	u64 addr;

	ASSERT_EQ(0, outcome(self->r.fd, self->r.stream, point));
	test_cmd_mem_free(self->r.fd, self->r.mem, self->total);
	EXPECT_EQ(0, stats_of(self->other).used);
	test_cmd_mem_alloc(self->other, self->total, 0, &addr);
	rig_close(&self->r);
}

/* A program that is started after another one has ended finds all memory. (close() may sleep.) */
TEST_F(ended, close_is_the_last_reference)
{
	s64 point = use_memory(&self->r);
	u64 addr;

	ASSERT_EQ(0, outcome(self->r.fd, self->r.stream, point));
	rig_close(&self->r);
	EXPECT_EQ(0, stats_of(self->other).used);
	test_cmd_mem_alloc(self->other, self->total, 0, &addr);
}

/* The operation has the last reference. An allocation waits until it is dropped. */
TEST_F(ended, freed_before_the_end)
{
	s64 point = use_memory(&self->r);
	u64 addr;

	test_cmd_mem_free(self->r.fd, self->r.mem, self->total);
	ASSERT_EQ(0, outcome(self->r.fd, self->r.stream, point));
	test_cmd_mem_alloc(self->r.fd, self->total, 0, &addr);
	rig_close(&self->r);
}

/* The same for the limit of locked memory. */
TEST_F(ended, unregistered_before_the_end)
{
	size_t bytes = 4 * page_size;
	u8 *host = map_pages(4);
	s64 point;

	test_cmd_host_register(self->r.fd, host, bytes, 0);
	limit_memlock(locked_kb() * 1024);
	point = submit(self->r.fd, self->r.stream, op_d2h(host, self->r.mem, 64));
	test_cmd_host_free(self->r.fd, host, 0);
	ASSERT_EQ(0, outcome(self->r.fd, self->r.stream, point));
	test_cmd_host_register(self->r.fd, host, bytes, 0);
	test_err_host_register(ENOMEM, self->r.fd, map_pages(1), page_size, 0);
	rig_close(&self->r);
}

PACCEL_TEST_MAIN
