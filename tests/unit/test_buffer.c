/* SPDX-License-Identifier: MIT */
/* Buffers: what RMM's device_buffer promises, in C. */
#include "heap.h"

#include <accel/buffer.h>
#include <accel/pool.h>
#include <pthread.h>

static struct heap heap;
static struct accel_resource resource;
static char bytes[4096], back[4096];

static void set_up(void)
{
	heap = (struct heap){ .limit = 0 };
	resource = heap_resource(&heap);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 7 + 1);
}

static struct accel_buffer made(size_t size)
{
	struct accel_buffer buffer;

	expect(accel_buffer_create_from(&buffer, &resource, NULL, bytes, size, 256), 0);
	ok(buffer.size == size && buffer.capacity == size && !buffer.data == !size);
	return buffer;
}

static int holds(const struct accel_buffer *buffer, size_t size)
{
	memset(back, 0, sizeof(back));
	return !size || (!accel_memory_copy(back, buffer->data, size) && !memcmp(back, bytes, size));
}

static int is_empty(const struct accel_buffer *buffer)
{
	return !buffer->data && !buffer->size && !buffer->capacity;
}

static void end(struct accel_buffer *buffer)
{
	expect(accel_buffer_destroy(buffer), 0);
	ok(is_empty(buffer) && !buffer->resource.ops && !buffer->stream && !buffer->alignment);
	ok(heap.allocations == heap.frees && !heap.bytes);
}

static void test_create(void)
{
	struct accel_stream *stream = (void *)0x40;
	struct accel_buffer buffer;

	set_up();
	expect(accel_buffer_create(&buffer, &resource, stream, 100, 512), 0);
	ok(buffer.size == 100 && buffer.capacity == 100 && buffer.alignment == 512);
	ok(buffer.stream == stream && heap.last_stream == stream && heap.last_size == 100);
	ok(heap.last_alignment == 512 && !((uintptr_t)buffer.data % 512));
	expect(accel_buffer_set_stream(&buffer, (void *)0x80), 0);
	end(&buffer);
	ok(heap.last_stream == (void *)0x80 && heap.last_size == 100);
	/* Empty it is a buffer too. */
	end(&buffer);
}

static void test_size_0_asks_nobody(void)
{
	struct accel_buffer buffer, copy;

	set_up();
	expect(accel_buffer_create(&buffer, &resource, NULL, 0, 256), 0);
	expect(accel_buffer_create_from(&copy, &resource, NULL, NULL, 0, 256), 0);
	ok(is_empty(&buffer) && is_empty(&copy) && buffer.resource.ops && copy.resource.ops);
	expect(accel_buffer_resize(&buffer, 0, NULL), 0);
	expect(accel_buffer_reserve(&buffer, 0, NULL), 0);
	expect(accel_buffer_shrink_to_fit(&buffer, NULL), 0);
	expect(accel_buffer_move(&copy, &buffer), 0);
	expect(accel_buffer_copy(&buffer, &copy, NULL, NULL), 0);
	expect(accel_buffer_destroy(&buffer), 0);
	expect(accel_buffer_destroy(&copy), 0);
	ok(!heap.allocations && !heap.frees && !heap.last_alignment);
}

static void test_refused(void)
{
	struct accel_buffer buffer = ACCEL_BUFFER_INIT, odd = { .size = 1 }, full;
	struct accel_resource none = { .ops = NULL };
	size_t capacity;
	void *ptr;

	set_up();
	refused(accel_buffer_create(NULL, &resource, NULL, 1, 1), -EINVAL, "buffer is NULL");
	refused(accel_buffer_create(&buffer, NULL, NULL, 1, 1), -EINVAL, "resource is NULL");
	refused(accel_buffer_create(&buffer, &none, NULL, 1, 1), -EINVAL, "ops is NULL");
	refused(accel_buffer_create(&buffer, &resource, NULL, 1, 0), -EINVAL, "alignment is 0");
	refused(accel_buffer_create(&buffer, &resource, NULL, 0, 3), -EINVAL, "alignment is 3");
	refused(accel_buffer_create_from(&buffer, &resource, NULL, NULL, 1, 1), -EINVAL, "src is");
	refused(accel_buffer_create_from(NULL, &resource, NULL, bytes, 1, 1), -EINVAL, "buffer is");
	refused(accel_buffer_copy(NULL, &buffer, &resource, NULL), -EINVAL, "buffer is NULL");
	refused(accel_buffer_copy(&buffer, NULL, &resource, NULL), -EINVAL, "buffer is NULL");
	refused(accel_buffer_copy(&buffer, &buffer, &resource, NULL), -EINVAL, "the same");
	refused(accel_buffer_copy(&buffer, &odd, &resource, NULL), -EINVAL, "never initialised");
	refused(accel_buffer_move(NULL, &buffer), -EINVAL, "buffer is NULL");
	refused(accel_buffer_move(&buffer, NULL), -EINVAL, "buffer is NULL");
	refused(accel_buffer_move(&odd, &buffer), -EINVAL, "never initialised");
	refused(accel_buffer_release(NULL, &ptr, &capacity), -EINVAL, "buffer is NULL");
	refused(accel_buffer_destroy(NULL), -EINVAL, "buffer is NULL");
	refused(accel_buffer_destroy(&odd), -EINVAL, "never initialised");
	refused(accel_buffer_reserve(&buffer, 1, NULL), -EINVAL, "ops is NULL");
	refused(accel_buffer_resize(&buffer, 1, NULL), -EINVAL, "ops is NULL");
	refused(accel_buffer_resize(NULL, 1, NULL), -EINVAL, "buffer is NULL");
	refused(accel_buffer_shrink_to_fit(NULL, NULL), -EINVAL, "buffer is NULL");
	refused(accel_buffer_shrink_to_fit(&buffer, NULL), -EINVAL, "ops is NULL");
	refused(accel_buffer_set_stream(NULL, NULL), -EINVAL, "buffer is NULL");
	ok(!heap.allocations && is_empty(&buffer));
	full = made(10);
	refused(accel_buffer_release(&full, NULL, &capacity), -EINVAL, "ptr is NULL");
	refused(accel_buffer_release(&full, &ptr, NULL), -EINVAL, "capacity is NULL");
	ok(holds(&full, 10));
	end(&full);
}

/* Whatever was in it: it can be destroyed after a creation that failed. */
static void test_filled_by_a_failure(void)
{
	struct accel_buffer buffer, odd = { .size = 1 };

	set_up();
	memset(&buffer, 0x5a, sizeof(buffer));
	refused(accel_buffer_create(&buffer, NULL, NULL, 1, 1), -EINVAL, "resource is NULL");
	ok(is_empty(&buffer));
	memset(&buffer, 0x5a, sizeof(buffer));
	refused(accel_buffer_create_from(&buffer, &resource, NULL, NULL, 1, 1), -EINVAL, "src is");
	ok(is_empty(&buffer));
	/* But what it had is not lost. */
	buffer = made(10);
	refused(accel_buffer_copy(&buffer, &buffer, &resource, NULL), -EINVAL, "the same");
	refused(accel_buffer_copy(&buffer, NULL, &resource, NULL), -EINVAL, "buffer is NULL");
	refused(accel_buffer_copy(&buffer, &odd, &resource, NULL), -EINVAL, "never initialised");
	refused(accel_buffer_copy(&odd, &buffer, &resource, NULL), -EINVAL, "never initialised");
	ok(holds(&buffer, 10));
	end(&buffer);
}

/* What the destination owned is freed where it came from, or stays if the call fails. */
static void test_copy_over_another(void)
{
	struct heap second = { .limit = 1 << 20 };
	struct accel_resource other = heap_resource(&second);
	struct accel_buffer buffer, target, nothing = ACCEL_BUFFER_INIT;
	void *data;

	set_up();
	buffer = made(1000);
	target = made(10);
	data = target.data;
	expect(accel_buffer_set_stream(&target, (void *)0x40), 0);
	heap.fail_nth = 1;
	expect(accel_buffer_copy(&target, &buffer, NULL, NULL), -ENOMEM);
	ok(target.data == data && target.stream == (void *)0x40 && holds(&target, 10));
	expect(accel_buffer_copy(&target, &buffer, &other, NULL), 0);
	ok(holds(&target, 1000) && second.bytes == 1000 && heap.bytes == 1000);
	ok(heap.last_stream == (void *)0x40 && heap.last_size == 10 && !target.stream);
	/* If the free is refused there is no copy. */
	data = target.data;
	second.fail_free_nth = 1;
	expect(accel_buffer_copy(&target, &buffer, NULL, NULL), -EIO);
	ok(target.data == data && holds(&target, 1000) && heap.bytes == 1000);
	expect(accel_buffer_copy(&target, &nothing, NULL, (void *)0x80), 0);
	ok(is_empty(&target) && target.stream == (void *)0x80 && !second.bytes);
	end(&buffer);
}

static void test_resize(void)
{
	struct accel_buffer buffer;
	void *before;

	set_up();
	buffer = made(1000);
	before = buffer.data;
	expect(accel_buffer_resize(&buffer, 400, (void *)0x40), 0);
	ok(buffer.data == before && buffer.size == 400 && buffer.capacity == 1000);
	/* Nothing happened, but the stream is that one now. */
	ok(buffer.stream == (void *)0x40 && heap.allocations == 1);
	expect(accel_buffer_resize(&buffer, 1000, NULL), 0);
	ok(buffer.data == before && holds(&buffer, 1000));
	expect(accel_buffer_resize(&buffer, 1001, NULL), 0);
	ok(buffer.data != before && buffer.size == 1001 && buffer.capacity == 1001);
	ok(holds(&buffer, 1000) && heap.bytes == 1001);
	end(&buffer);
}

static void test_reserve(void)
{
	struct accel_buffer buffer;
	void *before;

	set_up();
	buffer = made(1000);
	before = buffer.data;
	expect(accel_buffer_reserve(&buffer, 1000, (void *)0x40), 0);
	ok(buffer.data == before && buffer.stream == (void *)0x40);
	expect(accel_buffer_reserve(&buffer, 3000, NULL), 0);
	ok(buffer.data != before && buffer.size == 1000 && buffer.capacity == 3000);
	ok(holds(&buffer, 1000) && heap.bytes == 3000 && !heap.last_stream);
	expect(accel_buffer_shrink_to_fit(&buffer, NULL), 0);
	ok(buffer.capacity == 1000 && holds(&buffer, 1000) && heap.bytes == 1000);
	before = buffer.data;
	expect(accel_buffer_shrink_to_fit(&buffer, (void *)0x80), 0);
	ok(buffer.data == before && buffer.stream == (void *)0x80);
	expect(accel_buffer_resize(&buffer, 0, NULL), 0);
	ok(buffer.data == before);
	expect(accel_buffer_shrink_to_fit(&buffer, NULL), 0);
	ok(is_empty(&buffer) && !heap.bytes);
	expect(accel_buffer_resize(&buffer, 10, NULL), 0);
	ok(buffer.capacity == 10);
	end(&buffer);
}

/* The new memory is not to be had: nothing has changed. */
static void test_failed_growth(void)
{
	struct accel_buffer buffer;
	void *before;

	set_up();
	buffer = made(1000);
	before = buffer.data;
	heap.limit = 1500;
	ok(accel_buffer_resize(&buffer, 2000, NULL) == -ENOMEM);
	ok(accel_buffer_reserve(&buffer, 2000, NULL) == -ENOMEM);
	ok(buffer.data == before && buffer.size == 1000 && buffer.capacity == 1000);
	ok(holds(&buffer, 1000) && heap.allocations == 1);
	expect(accel_buffer_resize(&buffer, 900, NULL), 0);
	ok(accel_buffer_shrink_to_fit(&buffer, NULL) == -ENOMEM);
	ok(buffer.data == before && buffer.capacity == 1000 && holds(&buffer, 900));
	end(&buffer);
}

static void test_copy_and_move(void)
{
	struct heap second = { .limit = 1 << 20 };
	struct accel_resource other = heap_resource(&second);
	struct accel_buffer buffer, copy = ACCEL_BUFFER_INIT, elsewhere = ACCEL_BUFFER_INIT,
		     target = ACCEL_BUFFER_INIT;
	void *data, *ptr;
	size_t capacity;

	set_up();
	buffer = made(1000);
	expect(accel_buffer_reserve(&buffer, 2000, NULL), 0);
	expect(accel_buffer_copy(&copy, &buffer, NULL, NULL), 0);
	ok(copy.size == 1000 && copy.capacity == 1000 && copy.data != buffer.data);
	ok(copy.alignment == 256 && copy.resource.context == &heap && holds(&copy, 1000));
	expect(accel_buffer_copy(&elsewhere, &buffer, &other, NULL), 0);
	ok(second.bytes == 1000 && elsewhere.resource.context == &second);
	data = buffer.data;
	expect(accel_buffer_set_stream(&buffer, (void *)0x40), 0);
	expect(accel_buffer_move(&target, &buffer), 0);
	ok(target.data == data && target.capacity == 2000 && target.size == 1000);
	ok(target.stream == (void *)0x40 && is_empty(&buffer) && !buffer.stream);
	expect(accel_buffer_move(&target, &target), 0);
	ok(target.data == data && holds(&target, 1000));
	/* What the target had is freed, on its stream and where it came from. */
	expect(accel_buffer_move(&target, &elsewhere), 0);
	ok(heap.last_stream == (void *)0x40 && heap.last_size == 2000 && second.bytes == 1000);
	/* If that is refused, both are as they were. */
	second.free_err = -EIO;
	ok(accel_buffer_move(&target, &copy) == -EIO);
	ok(target.data && copy.data && holds(&copy, 1000));
	second.free_err = 0;
	expect(accel_buffer_release(&target, &ptr, &capacity), 0);
	ok(ptr && capacity == 1000 && is_empty(&target) && target.resource.ops);
	expect(accel_resource_deallocate(&other, NULL, ptr, capacity, 256), 0);
	ok(!second.bytes);
	expect(accel_buffer_destroy(&target), 0);
	expect(accel_buffer_destroy(&elsewhere), 0);
	expect(accel_buffer_destroy(&buffer), 0);
	end(&copy);
}

/* After a release the resource stays, and may be where the next memory comes from. */
static void test_created_from_its_own_resource(void)
{
	struct accel_buffer buffer;
	size_t capacity;
	void *ptr;

	set_up();
	buffer = made(10);
	expect(accel_buffer_release(&buffer, &ptr, &capacity), 0);
	expect(accel_buffer_create(&buffer, &buffer.resource, NULL, 20, 64), 0);
	ok(buffer.size == 20 && buffer.resource.context == &heap && heap.allocations == 2);
	expect(accel_resource_deallocate(&resource, NULL, ptr, capacity, 256), 0);
	end(&buffer);
}

/* The old memory cannot be given back: it is what the buffer has, and the new one is not lost. */
static void test_growth_without_free(void)
{
	struct accel_buffer buffer;
	void *before;

	set_up();
	buffer = made(1000);
	before = buffer.data;
	heap.fail_free_nth = 1;
	ok(accel_buffer_resize(&buffer, 2000, NULL) == -EIO);
	ok(buffer.data == before && buffer.size == 1000 && buffer.capacity == 1000);
	ok(holds(&buffer, 1000) && heap.allocations == 2 && heap.bytes == 1000);
	heap.fail_free_nth = 1;
	expect(accel_buffer_resize(&buffer, 900, NULL), 0);
	ok(accel_buffer_shrink_to_fit(&buffer, NULL) == -EIO);
	ok(buffer.data == before && buffer.capacity == 1000 && heap.bytes == 1000);
	end(&buffer);
}

static struct accel_buffer damaged(const struct accel_resource *from)
{
	struct accel_buffer buffer;

	expect(accel_buffer_create_from(&buffer, from, NULL, bytes, 100, 16), 0);
	((char *)buffer.data)[100] ^= 1;
	return buffer;
}

static uint64_t bytes_in(struct accel_pool *pool)
{
	struct accel_pool_stats stats;

	expect(accel_pool_get_stats(pool, &stats), 0);
	return stats.bytes;
}

/* A pool that finds damage has freed all the same: no buffer goes on with what is gone. */
static void test_damage_is_found(void)
{
	struct accel_pool_options options = { 0 };
	struct accel_buffer buffer, other;
	struct accel_resource from;
	struct accel_pool *pool;

	set_up();
	options.flags = ACCEL_POOL_DEBUG;
	options.initial_size = 65536;
	expect(accel_pool_create(NULL, &resource, &options, &pool), 0);
	expect(accel_pool_resource(pool, &from), 0);
	buffer = damaged(&from);
	ok(accel_buffer_resize(&buffer, 200, NULL) == -EFAULT);
	ok(strstr(accel_last_error(), "behind the block"));
	ok(buffer.size == 200 && buffer.capacity == 200 && bytes_in(pool) == 200);
	ok(holds(&buffer, 100));
	expect(accel_buffer_resize(&buffer, 50, NULL), 0);
	((char *)buffer.data)[200] ^= 1;
	ok(accel_buffer_shrink_to_fit(&buffer, NULL) == -EFAULT);
	ok(buffer.size == 50 && buffer.capacity == 50 && bytes_in(pool) == 50 && holds(&buffer, 50));
	other = damaged(&from);
	ok(accel_buffer_move(&other, &buffer) == -EFAULT);
	ok(is_empty(&buffer) && other.size == 50 && bytes_in(pool) == 50 && holds(&other, 50));
	expect(accel_buffer_destroy(&other), 0);
	expect(accel_buffer_destroy(&buffer), 0);
	buffer = damaged(&from);
	ok(accel_buffer_destroy(&buffer) == -EFAULT && is_empty(&buffer) && !bytes_in(pool));
	expect(accel_pool_destroy(pool), 0);
}

/* Of the test of RMM that found its leak: nothing is left if the copy fails. */
static void test_failed_copy(void)
{
	struct accel_device *dev = open_card();
	struct accel_buffer buffer;
	struct accel_memory_stats stats;
	char *freed = device_memory(dev, 64);

	set_up();
	expect(accel_device_memory_deallocate(dev, freed, 64), 0);
	refused(accel_buffer_create_from(&buffer, &resource, NULL, freed, 64, 256), -EFAULT,
		hex(freed));
	ok(is_empty(&buffer) && heap.allocations == 1 && !heap.bytes);
	expect(accel_resource_of_device(dev, ACCEL_MEMORY_DEVICE, &resource), 0);
	refused(accel_buffer_create_from(&buffer, &resource, NULL, freed + 1024, 64, 64), -EFAULT,
		hex(freed + 1024));
	buffer = (struct accel_buffer)ACCEL_BUFFER_INIT;
	expect(accel_buffer_create(&buffer, &resource, NULL, 64, 64), 0);
	expect(accel_memory_copy(buffer.data, bytes, 64), 0);
	mock_fail(PACCEL_NR_COPY, 1, EIO);
	ok(accel_buffer_resize(&buffer, 100, NULL) == -EIO);
	ok(buffer.size == 64 && holds(&buffer, 64));
	/* That of a copy is another one than that of a free, which has freed. */
	mock_fail(PACCEL_NR_COPY, 1, EFAULT);
	ok(accel_buffer_resize(&buffer, 100, NULL) == -EFAULT);
	ok(buffer.size == 64 && buffer.capacity == 64 && holds(&buffer, 64));
	expect(accel_memory_stats_full(dev, &stats), 0);
	ok(stats.mine_allocs == 1);
	expect(accel_buffer_destroy(&buffer), 0);
	expect(accel_memory_stats_full(dev, &stats), 0);
	ok(!stats.mine_allocs);
	expect(accel_device_close(dev), 0);
}

static void *release(void *arg)
{
	mock_wait_held(0, 1);
	mock_release(0);
	return arg;
}

/* With a pool, a stream, a card that is busy; from host, device and interior addresses. */
static void test_on_a_stream(void)
{
	struct accel_device *dev;
	struct accel_pool_options options = { 0 };
	struct accel_pool_stats stats;
	struct accel_stream *stream;
	struct accel_buffer buffer, copy;
	struct accel_pool *pool;
	pthread_t thread;
	void *old;
	char *host;

	set_up();
	mock_add_sized(0, 1 << 20, 1 << 20);
	expect(accel_device_open(0, &dev), 0);
	expect(accel_stream_create(dev, &stream), 0);
	options.initial_size = options.maximum_size = 16384;
	expect(accel_pool_create(dev, NULL, &options, &pool), 0);
	expect(accel_pool_resource(pool, &resource), 0);
	host = host_memory(dev, 4096);
	memcpy(host, bytes, 4096);
	mock_hold(0);
	expect(accel_buffer_create_from(&buffer, &resource, stream, host, 4096, 256), 0);
	/* Queued, one behind the other: grown before anything has arrived. */
	old = buffer.data;
	expect(accel_buffer_resize(&buffer, 6000, stream), 0);
	expect(accel_buffer_create_from(&copy, &resource, stream, (char *)buffer.data + 96, 4000,
					256),
	       0);
	expect(accel_pool_get_stats(pool, &stats), 0);
	/* The old memory is the stream's to have again, at once. */
	ok(copy.data == old && !stats.taken_over && stats.bytes == 10000);
	pthread_create(&thread, NULL, release, NULL);
	expect(accel_stream_synchronize(stream), 0);
	pthread_join(thread, NULL);
	ok(holds(&buffer, 4096));
	memset(back, 0, sizeof(back));
	expect(accel_async_memory_copy(stream, host, copy.data, 4000), 0);
	expect(accel_async_memory_copy(stream, back, copy.data, 4000), 0);
	expect(accel_stream_synchronize(stream), 0);
	ok(!memcmp(host, bytes + 96, 4000) && !memcmp(back, bytes + 96, 4000));
	/* No room for both: the old contents are there. */
	ok(accel_buffer_resize(&buffer, 12000, stream) == -ENOMEM);
	ok(buffer.size == 6000 && holds(&buffer, 4096));
	expect(accel_buffer_shrink_to_fit(&buffer, stream), 0);
	expect(accel_buffer_destroy(&buffer), 0);
	expect(accel_buffer_destroy(&copy), 0);
	expect(accel_pool_destroy(pool), 0);
	refused(accel_async_memory_copy(stream, NULL, bytes, 1), -EINVAL, "dst is NULL");
	refused(accel_async_memory_copy(stream, back, bytes, 0), -EINVAL, "size is 0");
	expect(accel_async_memory_copy(NULL, back, bytes, 100), 0);
	expect(accel_stream_destroy(stream), 0);
	refused(accel_async_memory_copy(stream, back, bytes, 1), -EINVAL, "destroyed");
	expect(accel_device_close(dev), 0);
}

int main(void)
{
	RUN(test_create);
	RUN(test_size_0_asks_nobody);
	RUN(test_refused);
	RUN(test_filled_by_a_failure);
	RUN(test_copy_over_another);
	RUN(test_resize);
	RUN(test_reserve);
	RUN(test_failed_growth);
	RUN(test_copy_and_move);
	RUN(test_created_from_its_own_resource);
	RUN(test_growth_without_free);
	RUN(test_damage_is_found);
	RUN(test_failed_copy);
	RUN(test_on_a_stream);
	return tap_end();
}
