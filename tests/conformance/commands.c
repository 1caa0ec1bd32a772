// SPDX-License-Identifier: MIT
/* A valid call of each command. */
#define _GNU_SOURCE
#include "contract.h"

#include <stddef.h>
#include <sys/ioctl.h>

static void nothing(struct world *w, union argument *c)
{
	(void)w;
	(void)c;
}

static void prepare_mem_alloc(struct world *w, union argument *c)
{
	(void)w;
	c->mem_alloc.length = BLOCK;
}

static void undo_mem_alloc(struct world *w, union argument *c)
{
	mem_free(w->fd, c->mem_alloc.addr, c->mem_alloc.length);
}

static void prepare_mem_free(struct world *w, union argument *c)
{
	c->mem_free.addr = mem_alloc(w->fd, BLOCK);
	c->mem_free.length = BLOCK;
}

static void drop_mem_free(struct world *w, union argument *c)
{
	mem_free(w->fd, c->mem_free.addr, BLOCK);
}

static void prepare_mem_export(struct world *w, union argument *c)
{
	c->mem_export.kind = PACCEL_EXPORT_DEVICE;
	c->mem_export.addr = w->mem;
}

static void undo_mem_export(struct world *w, union argument *c)
{
	(void)w;
	MUST(!close(c->mem_export.fd));
}

static void prepare_mem_import(struct world *w, union argument *c)
{
	c->mem_import.fd = w->dmabuf;
}

static void undo_mem_import(struct world *w, union argument *c)
{
	ok(c->mem_import.addr == w->mem && c->mem_import.length == BLOCK);
	mem_free(w->fd, c->mem_import.addr, BLOCK);
}

static void prepare_host_alloc(struct world *w, union argument *c)
{
	(void)w;
	c->host_alloc.length = 1;
}

static void undo_host_alloc(struct world *w, union argument *c)
{
	host_free(w->fd, NULL, c->host_alloc.offset);
}

static void prepare_host_register(struct world *w, union argument *c)
{
	c->host_register.addr = (uintptr_t)w->host;
	c->host_register.length = BLOCK;
}

static void undo_host_register(struct world *w, union argument *c)
{
	host_free(w->fd, (void *)(uintptr_t)c->host_register.addr, 0);
}

static void prepare_host_free(struct world *w, union argument *c)
{
	host_register(w->fd, w->host, BLOCK, 0);
	c->host_free.addr = (uintptr_t)w->host;
}

static void drop_host_free(struct world *w, union argument *c)
{
	(void)c;
	host_free(w->fd, w->host, 0);
}

static void prepare_copy(struct world *w, union argument *c)
{
	c->copy.dir = PACCEL_COPY_H2D;
	c->copy.dst = w->mem;
	c->copy.src = (uintptr_t)w->host;
	c->copy.width = 8;
	c->copy.rows = 1;
}

static void prepare_fill(struct world *w, union argument *c)
{
	c->fill.addr = w->mem;
	c->fill.length = 8;
	c->fill.pattern = 0xa5;
	c->fill.pattern_size = 1;
}

static void undo_stream_create(struct world *w, union argument *c)
{
	stream_destroy(w->fd, c->stream_create.stream);
}

static void prepare_stream_destroy(struct world *w, union argument *c)
{
	c->stream_destroy.stream = stream_create(w->fd);
}

static void drop_stream_destroy(struct world *w, union argument *c)
{
	stream_destroy(w->fd, c->stream_destroy.stream);
}

static void prepare_stream_clear(struct world *w, union argument *c)
{
	c->stream_clear.stream = w->stream;
}

static void undo_stream_clear(struct world *w, union argument *c)
{
	(void)w;
	ok(!c->stream_clear.error && !c->stream_clear.failed_point);
}

static void prepare_submit(struct world *w, union argument *c)
{
	w->op = op_write(w->own, 1);
	c->submit.stream = w->stream;
	c->submit.nr_ops = 1;
	c->submit.ops = (uintptr_t)&w->op;
	c->submit.op_size = sizeof(w->op);
	c->submit.bad_op = 1;
}

static void undo_submit(struct world *w, union argument *c)
{
	ok(c->submit.point == 2 && c->submit.bad_op == 1);
	ok(!outcome(w->fd, c->submit.stream, c->submit.point));
}

static void prepare_wait(struct world *w, union argument *c)
{
	w->point = (struct paccel_point){ .stream = w->stream, .point = 1, .error = 1 };
	c->wait.points = (uintptr_t)&w->point;
	c->wait.nr_points = 1;
	c->wait.point_size = sizeof(w->point);
}

static void undo_wait(struct world *w, union argument *c)
{
	ok(c->wait.ended == c->wait.nr_points && !w->point.error);
}

static void prepare_fence_export(struct world *w, union argument *c)
{
	c->fence_export.stream = w->stream;
	c->fence_export.point = 1;
}

static void undo_fence_export(struct world *w, union argument *c)
{
	(void)w;
	MUST(!close(c->fence_export.fd));
}

#define COMMAND(_nr, _struct) \
	.name = #_nr, .request = PACCEL_IOC_##_nr, .size = sizeof(struct _struct), \
	.prepare = nothing, .undo = nothing, .drop = nothing

/* Later initialisers win on purpose. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
#ifdef __clang__
#pragma GCC diagnostic ignored "-Winitializer-overrides"
#endif
const struct command commands[] = {
	{ COMMAND(DEVICE_INFO, paccel_device_info), .any_caller = true, .replies = true },
	{ COMMAND(MEM_ALLOC, paccel_mem_alloc), .replies = true, .prepare = prepare_mem_alloc,
	  .undo = undo_mem_alloc, .known_flags = PACCEL_MEM_MAPPABLE },
	{ COMMAND(MEM_FREE, paccel_mem_free), .prepare = prepare_mem_free, .drop = drop_mem_free },
	{ COMMAND(MEM_STATS, paccel_mem_stats), .any_caller = true, .replies = true },
	{ COMMAND(MEM_EXPORT, paccel_mem_export), .replies = true, .prepare = prepare_mem_export,
	  .undo = undo_mem_export },
	{ COMMAND(MEM_IMPORT, paccel_mem_import), .replies = true, .prepare = prepare_mem_import,
	  .undo = undo_mem_import, .reserved = offsetof(struct paccel_mem_import, reserved) },
	{ COMMAND(HOST_ALLOC, paccel_host_alloc), .replies = true, .prepare = prepare_host_alloc,
	  .undo = undo_host_alloc },
	{ COMMAND(HOST_REGISTER, paccel_host_register), .prepare = prepare_host_register,
	  .undo = undo_host_register, .known_flags = PACCEL_HOST_READ_ONLY | PACCEL_HOST_DMABUF,
	  .reserved = offsetof(struct paccel_host_register, reserved) },
	{ COMMAND(HOST_FREE, paccel_host_free), .prepare = prepare_host_free,
	  .drop = drop_host_free },
	{ COMMAND(COPY, paccel_copy), .prepare = prepare_copy, .known_flags = PACCEL_COPY_VERIFY,
	  .reserved = offsetof(struct paccel_copy, reserved) },
	{ COMMAND(FILL, paccel_fill), .prepare = prepare_fill, .known_flags = PACCEL_FILL_VERIFY,
	  .reserved = offsetof(struct paccel_fill, reserved) },
	{ COMMAND(STREAM_CREATE, paccel_stream_create), .replies = true,
	  .undo = undo_stream_create, .reserved = offsetof(struct paccel_stream_create, reserved) },
	{ COMMAND(STREAM_DESTROY, paccel_stream_destroy), .prepare = prepare_stream_destroy,
	  .drop = drop_stream_destroy,
	  .reserved = offsetof(struct paccel_stream_destroy, reserved) },
	{ COMMAND(STREAM_CLEAR, paccel_stream_clear), .replies = true,
	  .prepare = prepare_stream_clear, .undo = undo_stream_clear },
	{ COMMAND(SUBMIT, paccel_submit), .replies = true, .prepare = prepare_submit,
	  .undo = undo_submit },
	{ COMMAND(WAIT, paccel_wait), .replies = true, .prepare = prepare_wait, .undo = undo_wait,
	  .known_flags = PACCEL_WAIT_ANY, .reserved = offsetof(struct paccel_wait, reserved) },
	{ COMMAND(FENCE_EXPORT, paccel_fence_export), .replies = true,
	  .prepare = prepare_fence_export, .undo = undo_fence_export },
	{ COMMAND(RESET, paccel_reset) },
};
#pragma GCC diagnostic pop
const size_t nr_commands = COUNT(commands);

const struct command *command_named(const char *name)
{
	for (size_t i = 0; i < nr_commands; i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	return NULL;
}

void command_prepare(struct world *w, const struct command *command, union argument *c)
{
	memset(c, 0, sizeof(*c));
	c->size = command->size;
	command->prepare(w, c);
}

/*
 * Which operation was wrong is written although the call fails, and so may the point be; what has ended
 * is written if time is up.
 */
static void forgive(const struct command *command, int err, union argument *c,
		    const union argument *before)
{
	if (command->request == PACCEL_IOC_SUBMIT) {
		c->submit.bad_op = before->submit.bad_op;
		c->submit.point = before->submit.point;
	}
	if (command->request == PACCEL_IOC_WAIT && err == ETIME)
		c->wait.ended = before->wait.ended;
}

int command_call(int fd, const struct command *command, union argument *c)
{
	return command_call_sized(fd, command, c, c->size);
}

int command_call_sized(int fd, const struct command *command, void *c, uint32_t size)
{
	size_t bytes = size < sizeof(union argument) ? size : sizeof(union argument);
	union argument before, after;
	int err;

	memset(&before, 0, sizeof(before));
	memset(&after, 0, sizeof(after));
	*(uint32_t *)c = size;
	memcpy(&before, c, bytes);
	if (!ioctl(fd, command->request, c))
		return 0;
	err = errno;
	memcpy(&after, c, bytes);
	forgive(command, err, &after, &before);
	if (memcmp(&before, &after, bytes))
		tap_check(0, command->name, err, "a call that failed has changed its struct");
	return err;
}
