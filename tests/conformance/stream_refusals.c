// SPDX-License-Identifier: MIT
/* Refusals of the commands about streams and points, and of RESET. */
#define _GNU_SOURCE
#include "refusals.h"

#include <sys/ioctl.h>
#include <sys/mman.h>

/* One member stands for the number of the stream in all commands. */
#define SAME(member) \
	_Static_assert(offsetof(union argument, member) == offsetof(union argument, stream_clear.stream), \
		       #member)
SAME(stream_destroy.stream);
SAME(submit.stream);
SAME(fence_export.stream);

static void above_max_streams(struct world *w, union argument *c)
{
	c->stream_clear.stream = w->info.max_streams + 1;
}

static void destroyed(struct world *w, union argument *c)
{
	c->stream_clear.stream = stream_create(w->fd);
	stream_destroy(w->fd, c->stream_clear.stream);
}

static void more_than_max_ops(struct world *w, union argument *c)
{
	c->submit.nr_ops = w->info.max_ops + 1;
}

static void op_is_larger(struct world *w, union argument *c)
{
	c->submit.op_size = sizeof(w->op) + sizeof(w->behind_op);
}

static void op_has_junk(struct world *w, union argument *c)
{
	(void)c;
	w->behind_op[7] = 1;
}

static void ops_unreadable(struct world *w, union argument *c)
{
	uint8_t *at = pages_guard(sizeof(w->op) - 1);

	memcpy(at, &w->op, sizeof(w->op) - 1);
	c->submit.ops = (uintptr_t)at;
}

/* Transfers of operations, with memory of HOST_ALLOC. */
static void op_copy(struct world *w, union argument *c)
{
	(void)c;
	w->op = (struct paccel_op){
		.op = PACCEL_OP_COPY,
		.copy = { .dir = PACCEL_COPY_H2D, .dst = w->mem, .src = (uintptr_t)w->own,
			  .width = 8, .rows = 1 },
	};
}

static void op_fill(struct world *w, union argument *c)
{
	(void)c;
	w->op = (struct paccel_op){ .op = PACCEL_OP_FILL };
	w->op.fill.addr = w->mem;
	w->op.fill.length = 8;
	w->op.fill.pattern = 1;
	w->op.fill.pattern_size = 1;
}

static void op_point(struct world *w, union argument *c)
{
	(void)c;
	w->op = op_wait(w->stream, 1);
}

static void op_point_0(struct world *w, union argument *c)
{
	op_point(w, c);
	w->op.wait.point = 0;
}

static void op_eventfd(struct world *w, union argument *c)
{
	(void)c;
	w->op = op_fence(w->eventfd);
	w->op.op = PACCEL_OP_EVENTFD;
	w->op.flags = PACCEL_OP_ALWAYS;
}

static void op_ended_fence(struct world *w, union argument *c)
{
	struct paccel_fence_export cmd = { .size = sizeof(cmd), .stream = w->stream, .point = 1 };

	(void)c;
	MUST(!ioctl(w->fd, PACCEL_IOC_FENCE_EXPORT, &cmd));
	w->extra.fd = cmd.fd;
	w->op = op_fence(cmd.fd);
}

static void fence_is_eventfd(struct world *w, union argument *c)
{
	(void)c;
	w->op.fd.fd = w->eventfd;
}

static void eventfd_is_dmabuf(struct world *w, union argument *c)
{
	(void)c;
	w->op.fd.fd = w->dmabuf;
}

static void op_time(struct world *w, union argument *c)
{
	(void)c;
	w->op = op_write(w->own, 0);
	w->op.op = PACCEL_OP_TIME;
}

static void op_beyond(struct world *w, union argument *c)
{
	(void)c;
	w->op.copy.dst = w->mem + BLOCK - 7;
}

static void op_fill_beyond(struct world *w, union argument *c)
{
	(void)c;
	w->op.fill.addr = w->mem + BLOCK - 7;
}

static void op_pageable(struct world *w, union argument *c)
{
	(void)c;
	w->op.copy.src = (uintptr_t)w->host;
}

static void op_write_registered(struct world *w, union argument *c)
{
	(void)c;
	register_extra(w, w->host, 0);
	w->op.write.addr = (uintptr_t)w->host;
}

static void op_write_elsewhere(struct world *w, union argument *c)
{
	(void)c;
	w->op.write.addr = (uintptr_t)w->own + PAGE;
}

static void op_write_odd(struct world *w, union argument *c)
{
	(void)c;
	w->op.write.addr += 4;
}

static void op_from_dead_range(struct world *w, union argument *c)
{
	(void)c;
	MUST(!munmap(w->own, PAGE));
}

/* The stream has failed by the time that this returns. */
static void fail_stream(struct world *w)
{
	struct paccel_op op = w->op;
	union argument none;

	target_fail(true);
	op_copy(w, &none);
	ok(outcome(w->fd, w->stream, submit(w, w->stream, w->op)));
	target_fail(false);
	w->op = op;
}

static void stream_has_failed(struct world *w, union argument *c)
{
	(void)c;
	fail_stream(w);
}

/* Another stream has yet to learn that the point which it waits for has failed. */
static void dependent_waits(struct world *w, union argument *c)
{
	(void)c;
	fail_stream(w);
	w->extra.fence = target_fence();
	MUST(w->extra.fence >= 0);
	w->extra.stream = stream_create(w->fd);
	submit(w, w->extra.stream, op_fence(w->extra.fence));
	submit(w, w->extra.stream, op_wait(w->stream, 2));
}

static void op_plain(struct world *w, union argument *c)
{
	(void)w;
	(void)c;
}

/* Every kind of operation, the flags that it knows and the bytes that it uses. */
static const struct {
	void (*begin)(struct world *w, union argument *c);
	uint32_t flags;
	size_t used;
} kinds[] = {
	{ op_copy, PACCEL_OP_VERIFY, sizeof(struct paccel_op_copy) },
	{ op_fill, PACCEL_OP_VERIFY, sizeof(struct paccel_op_fill) },
	{ op_point, 0, sizeof(struct paccel_op_point) },
	{ op_ended_fence, 0, sizeof(struct paccel_op_fd) },
	{ op_eventfd, PACCEL_OP_ALWAYS, sizeof(struct paccel_op_fd) },
	{ op_plain, 0, sizeof(struct paccel_op_write) },
	{ op_time, 0, sizeof(struct paccel_op_write) },
};

static void refuse_op(struct world *w, const struct command *command, union argument *c)
{
	ok(command_call(w->fd, command, c) == EINVAL && c->submit.bad_op == 0);
}

static void op_flags_and_rest(const struct test *test, const struct command *command)
{
	union argument c;
	struct world w;
	int err;

	(void)test;
	for (size_t i = 0; i < COUNT(kinds); i++) {
		world_open(&w);
		command_prepare(&w, command, &c);
		kinds[i].begin(&w, &c);
		for (int bit = 0; bit < 32; bit++) {
			w.op.flags ^= 1u << bit;
			if (!(kinds[i].flags & 1u << bit))
				refuse_op(&w, command, &c);
			w.op.flags ^= 1u << bit;
		}
		for (size_t at = offsetof(struct paccel_op, copy) + kinds[i].used;
		     at < sizeof(w.op); at++) {
			((uint8_t *)&w.op)[at] = 0x80;
			refuse_op(&w, command, &c);
			((uint8_t *)&w.op)[at] = 0;
		}
		c.submit.bad_op = 1;
		err = command_call(w.fd, command, &c);
		ok(!err);
		if (!err)
			command->undo(&w, &c);
		world_close(&w);
	}
}

/* What is said is about the first bad operation, whatever else is wrong. */
static void first_bad_op(const struct test *test, const struct command *command)
{
	struct paccel_op ops[3];
	union argument c;
	struct world w;

	(void)test;
	world_open(&w);
	command_prepare(&w, command, &c);
	ops[0] = ops[1] = ops[2] = w.op;
	c.submit.ops = (uintptr_t)ops;
	c.submit.nr_ops = 3;
	ops[2].op = 0;
	ok(command_call(w.fd, command, &c) == EINVAL && c.submit.bad_op == 2);
	ops[1].write.addr = 0;
	ok(command_call(w.fd, command, &c) == EFAULT && c.submit.bad_op == 1);
	/* Nothing is queued, not even what was before it. */
	ops[1] = ops[2] = ops[0];
	c.submit.bad_op = 1;
	ok(!command_call(w.fd, command, &c) && c.submit.bad_op == 3 && c.submit.point == 2);
	ok(!outcome(w.fd, w.stream, 2));
	world_close(&w);
}

/* ---- Waits ---- */

static void wait_any(struct world *w, union argument *c)
{
	(void)w;
	c->any.flags = PACCEL_WAIT_ANY;
}

/* Neither points nor their errors are accessed. */
static void wait_for_none(struct world *w, union argument *c)
{
	w->point.error = 0;
	c->wait.points = 0;
	c->wait.nr_points = 0;
}

static void wait_for_any_of_none(struct world *w, union argument *c)
{
	wait_for_none(w, c);
	wait_any(w, c);
}

static void wait_for_point_0(struct world *w, union argument *c)
{
	(void)c;
	w->point.point = 0;
}

static void more_than_max_points(struct world *w, union argument *c)
{
	c->wait.nr_points = w->info.max_points + 1;
}

static void point_of_tomorrow(struct world *w, union argument *c)
{
	(void)c;
	w->point.point = 2;
}

static void point_is_larger(struct world *w, union argument *c)
{
	c->wait.point_size = sizeof(w->point) + sizeof(w->behind_point);
}

static void point_has_junk(struct world *w, union argument *c)
{
	(void)c;
	w->behind_point[0] = 1;
}

static void point_of_no_stream(struct world *w, union argument *c)
{
	(void)c;
	w->point.stream = w->info.max_streams;
}

static void points_unreadable(struct world *w, union argument *c)
{
	c->wait.points = (uintptr_t)pages_guard(sizeof(w->point) - 1);
}

static void points_read_only(struct world *w, union argument *c)
{
	memcpy(w->host, &w->point, sizeof(w->point));
	make_read_only(w, c);
	c->wait.points = (uintptr_t)w->host;
}

static void not_ended(struct world *w, union argument *c)
{
	w->extra.fence = target_fence();
	MUST(w->extra.fence >= 0);
	w->point.point = submit(w, w->stream, op_fence(w->extra.fence));
	c->wait.deadline_ns = 1;
}

/* ---- Reset ---- */

static void no_administrator(struct world *w, union argument *c)
{
	(void)w;
	(void)c;
	target_drop_admin();
}

/* ---- The table ---- */

#define NO_STREAM(_about) \
	SET(_about, ENOENT, "stream_0", stream_clear.stream, 0), \
	SET(_about, ENOENT, "stream_of_all_ones", stream_clear.stream, UINT32_MAX), \
	DEVIATE(_about, ENOENT, above_max_streams), \
	DEVIATE(_about, ENOENT, destroyed)

const struct test stream_refusals[] = {
	NO_STREAM(STREAM_DESTROY),
	NO_STREAM(STREAM_CLEAR),
	BREAK(STREAM_CLEAR, EBUSY, dependent_waits),

	NO_STREAM(SUBMIT),
	BREAK(SUBMIT, ECANCELED, stream_has_failed),
	SET(SUBMIT, EINVAL, "no_ops", submit.nr_ops, 0),
	SET(SUBMIT, EINVAL, "op_size_0", submit.op_size, 0),
	SET(SUBMIT, EINVAL, "op_is_smaller", submit.op_size, 63),
	SET(SUBMIT, EINVAL, "op_above_a_page", submit.op_size, 4097),
	DEVIATE(SUBMIT, E2BIG, more_than_max_ops),
	ACCEPT(SUBMIT, op_is_larger),
	OP_DEVIATE(op_is_larger, E2BIG, op_has_junk),
	OP_DEVIATE(NULL, EFAULT, ops_unreadable),
	OP_SET(NULL, EINVAL, "op_0", op, 0),
	OP_SET(NULL, EINVAL, "op_8", op, 8),
	OP_SET(NULL, EINVAL, "op_of_all_ones", op, UINT32_MAX),

	{ .about = "SUBMIT", .err = EINVAL, .name = "op_flags_and_rest", .run = op_flags_and_rest },
	{ .about = "SUBMIT", .err = EFAULT, .name = "first_bad_op", .run = first_bad_op },

	ACCEPT(SUBMIT, op_copy),
	{ ROW(SUBMIT, EOPNOTSUPP, "copy_verified"), OP_FIELD(flags), .value = PACCEL_OP_VERIFY,
	  .begin = op_copy, .unless = PACCEL_CAP_VERIFY },
	OP_SET(op_copy, EINVAL, "copy_reserved", copy.reserved, 1),
	OP_SET(op_copy, EINVAL, "copy_dir_0", copy.dir, 0),
	OP_SET(op_copy, EINVAL, "copy_dir_4", copy.dir, 4),
	OP_SET(op_copy, EINVAL, "copy_width_wraps", copy.width, UINT64_MAX),
	OP_SET(op_copy, EFAULT, "copy_src_of_the_kernel", copy.src, 1ull << 63),
	OP_SET(op_copy, EINVAL, "copy_width_0", copy.width, 0),
	OP_SET(op_copy, EINVAL, "copy_rows_0", copy.rows, 0),
	OP_SET(op_copy, EINVAL, "copy_pitch_7", copy.src_pitch, 7),
	OP_DEVIATE(op_copy, EFAULT, op_beyond),
	OP_DEVIATE(op_copy, EFAULT, op_pageable),
	OP_BREAK(op_copy, EFAULT, op_from_dead_range),

	ACCEPT(SUBMIT, op_fill),
	{ ROW(SUBMIT, EOPNOTSUPP, "fill_verified"), OP_FIELD(flags), .value = PACCEL_OP_VERIFY,
	  .begin = op_fill, .unless = PACCEL_CAP_VERIFY },
	OP_SET(op_fill, EINVAL, "fill_reserved", fill.reserved, 1),
	OP_SET(op_fill, EINVAL, "fill_length_0", fill.length, 0),
	OP_SET(op_fill, EINVAL, "fill_pattern_size_0", fill.pattern_size, 0),
	OP_SET(op_fill, EINVAL, "fill_pattern_size_3", fill.pattern_size, 3),
	OP_SET(op_fill, EINVAL, "fill_pattern_size_16", fill.pattern_size, 16),
	OP_SET(op_fill, EINVAL, "fill_wraps", fill.addr, UINT64_MAX - 3),
	OP_SET(op_fill, EINVAL, "fill_pattern_above_its_size", fill.pattern, 256),
	OP_DEVIATE(op_fill, EFAULT, op_fill_beyond),

	ACCEPT(SUBMIT, op_point),
	ACCEPT(SUBMIT, op_point_0),
	OP_SET(op_point, EINVAL, "point_reserved", wait.reserved, 1),
	OP_SET(op_point, EINVAL, "point_of_itself", wait.point, 2),
	OP_SET(op_point, ENOENT, "point_of_no_stream", wait.stream, 0),

	ACCEPT(SUBMIT, op_ended_fence),
	OP_SET(op_ended_fence, EINVAL, "fence_reserved", fd.reserved, 1),
	OP_SET(op_ended_fence, EINVAL, "fence_of_none", fd.fd, UINT32_MAX),
	OP_DEVIATE(op_ended_fence, EINVAL, fence_is_eventfd),

	ACCEPT(SUBMIT, op_eventfd),
	OP_SET(op_eventfd, EINVAL, "eventfd_reserved", fd.reserved, 1),
	OP_SET(op_eventfd, EINVAL, "eventfd_of_none", fd.fd, UINT32_MAX),
	OP_DEVIATE(op_eventfd, EINVAL, eventfd_is_dmabuf),

	OP_DEVIATE(NULL, EINVAL, op_write_odd),
	OP_SET(NULL, EFAULT, "write_to_0", write.addr, 0),
	OP_DEVIATE(NULL, EFAULT, op_write_elsewhere),
	OP_BREAK(NULL, EFAULT, op_write_registered),
	OP_BREAK(NULL, EFAULT, op_from_dead_range),

	ACCEPT(SUBMIT, op_time),
	OP_SET(op_time, EINVAL, "time_value", write.value, 1),
	OP_DEVIATE(op_time, EINVAL, op_write_odd),

	ACCEPT(WAIT, wait_any),
	ACCEPT(WAIT, wait_for_none),
	ACCEPT(WAIT, wait_for_any_of_none),
	ACCEPT(WAIT, wait_for_point_0),
	DEVIATE(WAIT, E2BIG, more_than_max_points),
	SET(WAIT, EINVAL, "point_size_0", wait.point_size, 0),
	SET(WAIT, EINVAL, "point_is_smaller", wait.point_size, 15),
	SET(WAIT, EINVAL, "point_above_a_page", wait.point_size, 4097),
	DEVIATE(WAIT, EINVAL, point_of_tomorrow),
	ACCEPT(WAIT, point_is_larger),
	DEVIATE_IN(point_is_larger, WAIT, E2BIG, point_has_junk),
	DEVIATE(WAIT, ENOENT, point_of_no_stream),
	SET(WAIT, EFAULT, "points_at_0", wait.points, 0),
	DEVIATE(WAIT, EFAULT, points_unreadable),
	DEVIATE(WAIT, EFAULT, points_read_only),
	BREAK(WAIT, ETIME, not_ended),

	NO_STREAM(FENCE_EXPORT),
	SET(FENCE_EXPORT, EINVAL, "point_0", fence_export.point, 0),
	SET(FENCE_EXPORT, EINVAL, "point_2", fence_export.point, 2),
	BREAK_ALONE(FENCE_EXPORT, EMFILE, no_file_descriptor),

	BREAK_ALONE(RESET, EPERM, no_administrator),
};
const size_t nr_stream_refusals = COUNT(stream_refusals);
