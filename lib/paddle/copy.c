/* SPDX-License-Identifier: MIT */
/*
 * Copies. Paddle's own are of any length from 0, wherever they point then.
 */
#include "private.h"

/* The two ends of a copy between devices; both are entered, or none. */
struct pair {
	struct device *dst, *src;
};

static bool enter_both(const char *call, struct pair *pair, struct place *dst, struct place *src)
{
	pair->dst = plugin_enter(call, dst);
	pair->src = pair->dst ? plugin_enter(call, src) : NULL;
	if (pair->dst && !pair->src)
		plugin_leave();
	return pair->src;
}

static int pending_of_both(const struct pair *pair)
{
	return device_pending(pair->dst) ?: device_pending(pair->src);
}

typedef int (*copy_t)(struct accel_device *dev, void *dst, const void *src, size_t size);

static enum status copy_by(const char *call, struct place *place, copy_t copy, void *dst,
			   const void *src, size_t size)
{
	struct device *device = plugin_enter(call, place);
	int err;

	if (!device)
		return STATUS_ERROR;
	err = size ? copy(device->dev, dst, src, size) : 0;
	if (!err)
		err = device_pending(device);
	return plugin_done(call, device, err, "%p, %p, %zu", dst, src, size);
}

static enum status memory_copy_h2d(struct place *place, void *dst, const void *src, size_t size)
{
	return copy_by(__func__, place, accel_memory_copy_h2d, dst, src, size);
}

static enum status memory_copy_d2h(struct place *place, void *dst, const void *src, size_t size)
{
	return copy_by(__func__, place, accel_memory_copy_d2h, dst, src, size);
}

static enum status memory_copy_d2d(struct place *place, void *dst, const void *src, size_t size)
{
	return copy_by(__func__, place, accel_memory_copy_d2d, dst, src, size);
}

static enum status memory_copy_p2p(struct place *dst_device, struct place *src_device, void *dst,
				   const void *src, size_t size)
{
	struct pair pair;
	int err;

	if (!enter_both(__func__, &pair, dst_device, src_device))
		return STATUS_ERROR;
	err = size ? accel_memory_copy_p2p(pair.dst->dev, pair.src->dev, dst, src, size) : 0;
	if (!err)
		err = pending_of_both(&pair);
	plugin_leave();
	return plugin_done(__func__, pair.dst, err, "%d, %p, %p, %zu", pair.src->id, dst, src,
			   size);
}

/* ---- On streams ---- */

typedef int (*queue_t)(struct accel_device *dev, struct accel_stream *stream, void *dst,
		       const void *src, size_t size);

/* A copy of 0 bytes takes any addresses, but no stream that has failed or was destroyed. */
static int queue_nothing(stream_t stream)
{
	int err = stream ? accel_stream_query(stream) : 0;

	return err == -EINPROGRESS ? 0 : err;
}

static int queue(struct device *device, stream_t stream, queue_t copy, void *dst, const void *src,
		 size_t size)
{
	int err = size ? copy(device->dev, stream, dst, src, size) : queue_nothing(stream);

	err = stream_told(stream, err);
	return err ? err : device_pending(device);
}

static enum status queue_by(const char *call, struct place *place, stream_t stream, queue_t copy,
			    void *dst, const void *src, size_t size)
{
	struct device *device = plugin_enter(call, place);
	int err;

	if (!device)
		return STATUS_ERROR;
	err = queue(device, stream, copy, dst, src, size);
	return plugin_done(call, device, err, "%p, %p, %p, %zu", (void *)stream, dst, src, size);
}

static enum status async_memory_copy_h2d(struct place *place, stream_t stream, void *dst,
					 const void *src, size_t size)
{
	return queue_by(__func__, place, stream, accel_async_memory_copy_h2d, dst, src, size);
}

static enum status async_memory_copy_d2h(struct place *place, stream_t stream, void *dst,
					 const void *src, size_t size)
{
	return queue_by(__func__, place, stream, accel_async_memory_copy_d2h, dst, src, size);
}

static enum status async_memory_copy_d2d(struct place *place, stream_t stream, void *dst,
					 const void *src, size_t size)
{
	return queue_by(__func__, place, stream, accel_async_memory_copy_d2d, dst, src, size);
}

static int queue_between(const struct pair *pair, stream_t stream, void *dst, const void *src,
			 size_t size)
{
	int err = size ? accel_async_memory_copy_p2p(pair->dst->dev, pair->src->dev, stream, dst,
						     src, size)
		       : queue_nothing(stream);

	err = stream_told(stream, err);
	return err ? err : pending_of_both(pair);
}

static enum status async_memory_copy_p2p(struct place *dst_device, struct place *src_device,
					 stream_t stream, void *dst, const void *src, size_t size)
{
	struct pair pair;
	int err;

	if (!enter_both(__func__, &pair, dst_device, src_device))
		return STATUS_ERROR;
	err = queue_between(&pair, stream, dst, src, size);
	plugin_leave();
	return plugin_done(__func__, pair.dst, err, "%d, %p, %p, %p, %zu", pair.src->id,
			   (void *)stream, dst, src, size);
}

void copy_functions(struct interface *table)
{
	table->memory_copy_h2d = memory_copy_h2d;
	table->memory_copy_d2h = memory_copy_d2h;
	table->memory_copy_d2d = memory_copy_d2d;
	table->memory_copy_p2p = memory_copy_p2p;
	table->async_memory_copy_h2d = async_memory_copy_h2d;
	table->async_memory_copy_d2h = async_memory_copy_d2h;
	table->async_memory_copy_d2d = async_memory_copy_d2d;
	table->async_memory_copy_p2p = async_memory_copy_p2p;
}
