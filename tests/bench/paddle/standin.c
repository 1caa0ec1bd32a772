/* SPDX-License-Identifier: MIT */
/*
 * What the plugin for PaddlePaddle uses of libaccel, over malloc() and memcpy(): a card that costs
 * nothing. The plugin that is linked with it is what `paddle.train` is compared with: all that
 * Paddle and the plugin do is the same, and what is left out is libaccel, the driver and the card.
 *
 * All work is done when a call returns, so streams and events have no state. It checks nothing:
 * the plugin is its only caller.
 */
#include <accel/accel.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY ((size_t)256 << 20)
#define GRANULE 4096

struct accel_device {
	size_t used;
};

struct accel_stream {
	struct accel_device *dev;
};

struct accel_event {
	struct accel_device *dev;
};

static struct accel_device the_device;
static struct accel_stream the_stream = { &the_device };
static struct accel_event the_event = { &the_device };

/* ---- The device ---- */

int accel_device_count(void)
{
	return 1;
}

int accel_device_open(int index, struct accel_device **dev)
{
	(void)index;
	*dev = &the_device;
	return 0;
}

int accel_device_close(struct accel_device *dev)
{
	(void)dev;
	return 0;
}

int accel_device_synchronize(struct accel_device *dev)
{
	(void)dev;
	return 0;
}

int accel_device_get_info(struct accel_device *dev, struct accel_device_info *info)
{
	(void)dev;
	*info = (struct accel_device_info){ .memory_size = MEMORY, .granule = GRANULE };
	return 0;
}

int accel_device_memory_stats(struct accel_device *dev, size_t *total, size_t *free)
{
	*total = MEMORY;
	*free = MEMORY - __atomic_load_n(&dev->used, __ATOMIC_RELAXED);
	return 0;
}

int accel_memory_stats_full(struct accel_device *dev, struct accel_memory_stats *stats)
{
	*stats = (struct accel_memory_stats){ .total = MEMORY };
	stats->used = __atomic_load_n(&dev->used, __ATOMIC_RELAXED);
	stats->free = stats->largest_free = MEMORY - stats->used;
	return 0;
}

const char *accel_strerror(int err)
{
	return strerror(-err);
}

const char *accel_last_error(void)
{
	return "";
}

/* ---- Memory: cleared, as a card's ---- */

int accel_device_memory_allocate(struct accel_device *dev, void **ptr, size_t size)
{
	size = (size + GRANULE - 1) / GRANULE * GRANULE;
	*ptr = NULL;
	if (__atomic_add_fetch(&dev->used, size, __ATOMIC_RELAXED) <= MEMORY)
		*ptr = aligned_alloc(GRANULE, size);
	if (!*ptr) {
		__atomic_sub_fetch(&dev->used, size, __ATOMIC_RELAXED);
		return -ENOMEM;
	}
	memset(*ptr, 0, size);
	return 0;
}

int accel_device_memory_deallocate(struct accel_device *dev, void *ptr, size_t size)
{
	size = (size + GRANULE - 1) / GRANULE * GRANULE;
	__atomic_sub_fetch(&dev->used, size, __ATOMIC_RELAXED);
	free(ptr);
	return 0;
}

int accel_host_memory_allocate(struct accel_device *dev, void **ptr, size_t size)
{
	return accel_device_memory_allocate(dev, ptr, size);
}

int accel_host_memory_deallocate(struct accel_device *dev, void *ptr, size_t size)
{
	return accel_device_memory_deallocate(dev, ptr, size);
}

int accel_unified_memory_allocate(struct accel_device *dev, void **ptr, size_t size)
{
	return accel_device_memory_allocate(dev, ptr, size);
}

int accel_unified_memory_deallocate(struct accel_device *dev, void *ptr, size_t size)
{
	return accel_device_memory_deallocate(dev, ptr, size);
}

/* The plugin's kernels ask for the device only. */
int accel_pointer_get_info(const void *ptr, struct accel_pointer_info *info)
{
	(void)ptr;
	*info = (struct accel_pointer_info){ .device = &the_device, .kind = ACCEL_MEMORY_DEVICE };
	return 0;
}

/* ---- Copies ---- */

static int move(void *dst, const void *src, size_t size)
{
	memmove(dst, src, size);
	return 0;
}

int accel_memory_copy_h2d(struct accel_device *dev, void *dst, const void *src, size_t size)
{
	(void)dev;
	return move(dst, src, size);
}

int accel_memory_copy_d2h(struct accel_device *dev, void *dst, const void *src, size_t size)
{
	(void)dev;
	return move(dst, src, size);
}

int accel_memory_copy_d2d(struct accel_device *dev, void *dst, const void *src, size_t size)
{
	(void)dev;
	return move(dst, src, size);
}

int accel_memory_copy_p2p(struct accel_device *dst_dev, struct accel_device *src_dev, void *dst,
			  const void *src, size_t size)
{
	(void)dst_dev;
	(void)src_dev;
	return move(dst, src, size);
}

int accel_device_memory_set(struct accel_device *dev, void *ptr, unsigned char value, size_t size)
{
	(void)dev;
	memset(ptr, value, size);
	return 0;
}

int accel_async_memory_copy_h2d(struct accel_device *dev, struct accel_stream *stream, void *dst,
				const void *src, size_t size)
{
	(void)dev;
	(void)stream;
	return move(dst, src, size);
}

int accel_async_memory_copy_d2h(struct accel_device *dev, struct accel_stream *stream, void *dst,
				const void *src, size_t size)
{
	(void)dev;
	(void)stream;
	return move(dst, src, size);
}

int accel_async_memory_copy_d2d(struct accel_device *dev, struct accel_stream *stream, void *dst,
				const void *src, size_t size)
{
	(void)dev;
	(void)stream;
	return move(dst, src, size);
}

int accel_async_memory_copy_p2p(struct accel_device *dst_dev, struct accel_device *src_dev,
				struct accel_stream *stream, void *dst, const void *src,
				size_t size)
{
	(void)dst_dev;
	(void)src_dev;
	(void)stream;
	return move(dst, src, size);
}

int accel_async_device_memory_set(struct accel_device *dev, struct accel_stream *stream, void *ptr,
				  unsigned char value, size_t size)
{
	(void)dev;
	(void)stream;
	memset(ptr, value, size);
	return 0;
}

int accel_async_device_memory_fill(struct accel_device *dev, struct accel_stream *stream, void *ptr,
				   const void *pattern, size_t pattern_size, size_t size,
				   unsigned int flags)
{
	(void)dev;
	(void)stream;
	(void)flags;
	for (size_t at = 0; at < size; at += pattern_size)
		memcpy((char *)ptr + at, pattern, pattern_size);
	return 0;
}

/* ---- Streams and events: all is done already ---- */

int accel_stream_create(struct accel_device *dev, struct accel_stream **stream)
{
	(void)dev;
	*stream = &the_stream;
	return 0;
}

int accel_stream_destroy(struct accel_stream *stream)
{
	(void)stream;
	return 0;
}

int accel_stream_query(struct accel_stream *stream)
{
	(void)stream;
	return 0;
}

int accel_stream_synchronize(struct accel_stream *stream)
{
	(void)stream;
	return 0;
}

int accel_stream_clear(struct accel_stream *stream)
{
	(void)stream;
	return 0;
}

int accel_stream_wait_event(struct accel_stream *stream, struct accel_event *event)
{
	(void)stream;
	(void)event;
	return 0;
}

int accel_stream_add_callback(struct accel_stream *stream, void (*fn)(void *data, int status),
			      void *data)
{
	(void)stream;
	fn(data, 0);
	return 0;
}

int accel_event_create(struct accel_device *dev, struct accel_event **event)
{
	(void)dev;
	*event = &the_event;
	return 0;
}

int accel_event_destroy(struct accel_event *event)
{
	(void)event;
	return 0;
}

int accel_event_query(struct accel_event *event)
{
	(void)event;
	return 0;
}

int accel_event_record(struct accel_event *event, struct accel_stream *stream)
{
	(void)event;
	(void)stream;
	return 0;
}

int accel_event_synchronize(struct accel_event *event)
{
	(void)event;
	return 0;
}

int accel_event_elapsed_time(struct accel_event *start, struct accel_event *end, int64_t *ns)
{
	(void)start;
	(void)end;
	*ns = 0;
	return 0;
}
