/* SPDX-License-Identifier: MIT */
/*
 * How a stream tells others what it has done, and hears it from them: eventfd and sync_file.
 */
#include "api.h"
#include "callback.h"
#include "device.h"
#include "error.h"
#include "stamp.h"
#include "stream.h"

#include <linux/paccel.h>

#define LOAD(field) __atomic_load_n(&(field), __ATOMIC_ACQUIRE)

int accel_stream_eventfd(struct accel_stream *handle, int fd)
{
	KEEP_ERRNO;
	struct stream *stream;
	struct submitted done;
	struct paccel_op op;
	int err = stream_get(handle, &stream);

	if (!err)
		err = callbacks_wait(stream, NEVER);
	if (err)
		return err;
	op_init_eventfd(&op, fd);
	err = stream_signal(stream, &op, &done);
	if (err == -EINVAL)
		return fail(err, "fd %d is no eventfd", fd);
	return err ? submit_error(stream, err) : 0;
}

/* A fence is of a point: a stream that never had one gets one, the time of nothing. */
static int first_point(struct stream *stream)
{
	struct device *dev = stream->dev;
	struct submitted done = { .ticket = 0 };
	struct stamp *stamp;
	struct paccel_op op;
	int err = stamp_take(dev, &stamp);

	if (err)
		return err;
	op_init(&op, PACCEL_OP_TIME);
	op.write.addr = (uintptr_t)stamp->at;
	err = stream_submit(stream, &op, 1, &done);
	pthread_mutex_lock(&dev->lock);
	stamp_retire(dev, stamp, done.ticket);
	pthread_mutex_unlock(&dev->lock);
	return err ? submit_error(stream, err) : 0;
}

static int export_fence(struct stream *stream, int *fd)
{
	struct paccel_fence_export cmd = { .size = sizeof(cmd), .stream = stream->number };
	int err = callbacks_wait(stream, NEVER);

	if (!err && !LOAD(stream->last))
		err = first_point(stream);
	if (err)
		return err;
	cmd.point = LOAD(stream->last);
	err = device_ioctl(stream->dev, PACCEL_IOC_FENCE_EXPORT, &cmd);
	if (err == -EMFILE)
		return fail(err, "no file descriptor is left (RLIMIT_NOFILE, ulimit -n)");
	if (err)
		return submit_error(stream, err);
	*fd = cmd.fd;
	return 0;
}

int accel_stream_export_fence(struct accel_stream *handle, int *fd)
{
	KEEP_ERRNO;
	struct stream *stream;
	int err;

	if (!fd)
		return fail(-EINVAL, "fd is NULL: the file descriptor has to go somewhere");
	*fd = -1;
	err = stream_get(handle, &stream);
	return err ? err : export_fence(stream, fd);
}

int accel_stream_wait_fence(struct accel_stream *handle, int fd)
{
	KEEP_ERRNO;
	struct stream *stream;
	struct submitted done;
	struct paccel_op op;
	int err = stream_get(handle, &stream);

	if (err)
		return err;
	op_init(&op, PACCEL_OP_WAIT_FENCE);
	op.fd.fd = fd;
	err = stream_submit(stream, &op, 1, &done);
	if (err == -EINVAL)
		return fail(err, "fd %d is no sync_file", fd);
	return err ? submit_error(stream, err) : 0;
}
