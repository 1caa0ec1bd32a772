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

/* The two functions of libaccel for a copy of one device. */
static const struct way {
	int (*copy)(struct accel_device *dev, void *dst, const void *src, size_t size);
	int (*queue)(struct accel_device *dev, struct accel_stream *stream, void *dst,
		     const void *src, size_t size);
} ways[] = {
	[PROFILE_H2D] = { accel_memory_copy_h2d, accel_async_memory_copy_h2d },
	[PROFILE_D2H] = { accel_memory_copy_d2h, accel_async_memory_copy_d2h },
	[PROFILE_D2D] = { accel_memory_copy_d2d, accel_async_memory_copy_d2d },
};

static enum status copy_by(const char *call, struct place *place, enum profile_kind kind, void *dst,
			   const void *src, size_t size)
{
	struct device *device = plugin_enter(call, place);
	uint64_t begin;
	int err;

	if (!device)
		return STATUS_ERROR;
	begin = profile_begin();
	err = size ? ways[kind].copy(device->dev, dst, src, size) : 0;
	profile_end(begin, &(struct profile){ kind, call, device, NULL, err ? 0 : size, 0 });
	if (!err)
		err = device_pending(device);
	return plugin_done(call, device, err, "%p, %p, %zu", dst, src, size);
}

static enum status memory_copy_h2d(struct place *place, void *dst, const void *src, size_t size)
{
	return copy_by(__func__, place, PROFILE_H2D, dst, src, size);
}

static enum status memory_copy_d2h(struct place *place, void *dst, const void *src, size_t size)
{
	return copy_by(__func__, place, PROFILE_D2H, dst, src, size);
}

static enum status memory_copy_d2d(struct place *place, void *dst, const void *src, size_t size)
{
	return copy_by(__func__, place, PROFILE_D2D, dst, src, size);
}

static enum status memory_copy_p2p(struct place *dst_device, struct place *src_device, void *dst,
				   const void *src, size_t size)
{
	struct pair pair;
	uint64_t begin;
	int err;

	if (!enter_both(__func__, &pair, dst_device, src_device))
		return STATUS_ERROR;
	begin = profile_begin();
	err = size ? accel_memory_copy_p2p(pair.dst->dev, pair.src->dev, dst, src, size) : 0;
	profile_end(begin, &(struct profile){ PROFILE_P2P, __func__, pair.src, NULL,
					      err ? 0 : size, 0 });
	if (!err)
		err = pending_of_both(&pair);
	plugin_leave();
	return plugin_done(__func__, pair.dst, err, "%d, %p, %p, %zu", pair.src->id, dst, src,
			   size);
}

/* ---- On streams ---- */

int copy_queue(struct device *device, struct accel_stream *stream, enum profile_kind kind,
	       const char *call, void *dst, const void *src, size_t size)
{
	uint64_t begin = profile_begin();
	int err = ways[kind].queue(device->dev, stream, dst, src, size);

	profile_end(begin, &(struct profile){ kind, call, device, stream, err ? 0 : size, 0 });
	return err;
}

/* A copy of 0 bytes takes any addresses, but no stream that has failed or was destroyed. */
static int queue_nothing(stream_t stream)
{
	int err = stream ? accel_stream_query(stream) : 0;

	return err == -EINPROGRESS ? 0 : err;
}

static enum status queue_by(const char *call, struct place *place, stream_t stream,
			    enum profile_kind kind, void *dst, const void *src, size_t size)
{
	struct device *device = plugin_enter(call, place);
	int err;

	if (!device)
		return STATUS_ERROR;
	err = size ? copy_queue(device, stream, kind, call, dst, src, size) : queue_nothing(stream);
	err = stream_told(stream, err);
	if (!err)
		err = device_pending(device);
	return plugin_done(call, device, err, "%p, %p, %p, %zu", (void *)stream, dst, src, size);
}

static enum status async_memory_copy_h2d(struct place *place, stream_t stream, void *dst,
					 const void *src, size_t size)
{
	return queue_by(__func__, place, stream, PROFILE_H2D, dst, src, size);
}

static enum status async_memory_copy_d2h(struct place *place, stream_t stream, void *dst,
					 const void *src, size_t size)
{
	return queue_by(__func__, place, stream, PROFILE_D2H, dst, src, size);
}

static enum status async_memory_copy_d2d(struct place *place, stream_t stream, void *dst,
					 const void *src, size_t size)
{
	return queue_by(__func__, place, stream, PROFILE_D2D, dst, src, size);
}

/* The stream is one of the source, or the copy is complete on return. */
static int queue_between(const struct pair *pair, stream_t stream, const char *call, void *dst,
			 const void *src, size_t size)
{
	uint64_t begin = profile_begin();
	int err = size ? accel_async_memory_copy_p2p(pair->dst->dev, pair->src->dev, stream, dst,
						     src, size)
		       : queue_nothing(stream);

	profile_end(begin, &(struct profile){ PROFILE_P2P, call, pair->src, stream,
					      err ? 0 : size, 0 });
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
	err = queue_between(&pair, stream, __func__, dst, src, size);
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
