/* SPDX-License-Identifier: MIT */
/*
 * A pool of device memory, statistics of its allocations, and a buffer that grows.
 *
 * Build: cc pool.c $(pkg-config --cflags --libs accel)
 */
#include <accel/buffer.h>
#include <accel/pool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "%s: %s\n", what, accel_last_error());
	exit(1);
}

int main(void)
{
	struct accel_pool_options options = { 0 };
	struct accel_adaptor_statistics counts;
	struct accel_resource resource;
	struct accel_adaptor *adaptor;
	struct accel_stream *stream;
	struct accel_buffer buffer;
	struct accel_device *dev;
	struct accel_pool *pool;
	char back[16] = "";

	check(accel_device_open(0, &dev), "open");
	check(accel_stream_create(dev, &stream), "stream");

	/* A pool of fixed size, and an adaptor that counts its allocations. */
	options.initial_size = options.maximum_size = 1024;
	check(accel_pool_create(dev, NULL, &options, &pool), "pool");
	check(accel_pool_resource(pool, &resource), "resource");
	check(accel_adaptor_create_statistics(&resource, &adaptor), "adaptor");
	check(accel_adaptor_resource(adaptor, &resource), "resource");

	/* All of this is stream-ordered: only accel_stream_synchronize() waits. */
	check(accel_buffer_create_from(&buffer, &resource, stream, "pool", 4, 64), "create");
	check(accel_buffer_resize(&buffer, 10, stream), "resize");
	check(accel_async_memory_copy(stream, (char *)buffer.data + 4, " party", 6), "copy");
	check(accel_async_memory_copy(stream, back, buffer.data, 10), "copy back");
	check(accel_stream_synchronize(stream), "synchronize");
	check(accel_buffer_destroy(&buffer), "destroy");
	check(accel_adaptor_get_statistics(adaptor, &counts), "statistics");
	printf("%s: %d allocations, %d bytes at most\n", back, (int)counts.total_count,
	       (int)counts.peak_bytes);

	check(accel_adaptor_destroy(adaptor), "destroy");
	check(accel_pool_destroy(pool), "destroy");
	check(accel_device_close(dev), "close");
	return strcmp(back, "pool party") != 0;
}
