/* SPDX-License-Identifier: MIT */
/*
 * RMM's own containers, device_uvector and device_scalar, unmodified, in device memory: built
 * for each release with its headers. The driver counts the bytes that are copied.
 *
 *   containers [CARD]    number of the device, 0 by default; prints TAP
 */
#include "../../unit/tap.h"

#include <rmm/device_scalar.hpp>
#include <rmm/device_uvector.hpp>
#include <rmm/mr/cuda_memory_resource.hpp>
#include <rmm/mr/pool_memory_resource.hpp>
#include <rmm/mr/statistics_resource_adaptor.hpp>

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

static accel_device *dev;
static bool pooled;

static struct accel_memory_stats card_stats()
{
	struct accel_memory_stats stats = {};

	expect(accel_memory_stats_full(dev, &stats), 0);
	return stats;
}

/* Of a stream of its own: release after release has other types for it. */
struct queue {
	queue() { accel::check(accel_stream_create(dev, &stream)); }
	~queue() { accel_stream_destroy(stream); }
	accel::stream_view view() const { return stream; }

	accel_stream *stream = nullptr;
};

template <class E, class Call> static bool throws(Call call)
{
	try {
		call();
	} catch (const E &error) {
		return *error.what();
	} catch (const std::exception &error) {
		printf("# another exception: %s\n", error.what());
	}
	return false;
}

static std::vector<std::int32_t> numbers(std::size_t count)
{
	std::vector<std::int32_t> all(count);

	std::iota(all.begin(), all.end(), -3);
	return all;
}

static void write(rmm::device_uvector<std::int32_t> &to, const std::vector<std::int32_t> &from)
{
	accel::check(accel_memory_copy(to.data(), from.data(), from.size() * sizeof(from[0])));
}

static std::vector<std::int32_t> read(const rmm::device_uvector<std::int32_t> &from)
{
	std::vector<std::int32_t> all(from.size());

	if (!all.empty())
		accel::check(
			accel_memory_copy(all.data(), from.data(), all.size() * sizeof(all[0])));
	return all;
}

static void test_elements()
{
	struct accel_memory_stats before = card_stats(), now;
	queue q;
	rmm::device_uvector<std::int32_t> vector(20, q.view());
	const std::int32_t seven = 7, zero = 0;

	ok(vector.size() == 20 && vector.ssize() == 20 && !vector.is_empty());
	ok(vector.capacity() == 20 && vector.data());
	vector.set_element(0, seven, q.view());
	vector.set_element_async(19, seven, q.view());
	vector.set_element_async(10, zero, q.view());
	vector.set_element_to_zero_async(11, q.view());
	ok(vector.element(0, q.view()) == 7 && vector.front_element(q.view()) == 7);
	ok(vector.back_element(q.view()) == 7);
	ok(vector.element(10, q.view()) == 0 && vector.element(11, q.view()) == 0);
	ok(vector.element_ptr(19) == vector.end() - 1 && vector.begin() == vector.data());
	/* 5 times 4 bytes came back over the bus, and at least 2 times 4 went there. */
	now = card_stats();
	ok(now.bytes_d2h - before.bytes_d2h == 5 * 4);
	ok(now.bytes_h2d - before.bytes_h2d >= 2 * 4);
	ok(throws<rmm::out_of_range>([&] { vector.set_element_async(20, seven, q.view()); }));
	ok(throws<rmm::out_of_range>([&] { (void)vector.element(20, q.view()); }));
	ok(throws<rmm::out_of_range>([&] { vector.set_element_to_zero_async(20, q.view()); }));
	/* The library's NULL. */
	ok(vector.element(19, accel::default_stream) == 7);
}

static void test_sizes()
{
	queue q;
	rmm::device_uvector<std::int32_t> vector(40, q.view());
	const std::int32_t *data;

	write(vector, numbers(40));
	vector.resize(60, q.view());
	ok(vector.size() == 60 && vector.capacity() == 60);
	vector.resize(40, q.view());
	ok(vector.capacity() == 60);
	q.view().synchronize();
	ok(read(vector) == numbers(40));
	data = vector.data();
	vector.shrink_to_fit(q.view());
	ok(vector.capacity() == 40 && vector.data() != data);
	vector.reserve(80, q.view());
	ok(vector.capacity() == 80 && vector.size() == 40);
	q.view().synchronize();
	ok(read(vector) == numbers(40));
	vector.resize(0, q.view());
	vector.shrink_to_fit(q.view());
	ok(!vector.data() && vector.is_empty());
}

static void test_copy_and_move()
{
	queue q, other;
	rmm::device_uvector<std::int32_t> vector(30, q.view());

	write(vector, numbers(30));
	rmm::device_uvector<std::int32_t> copy(vector, other.view());

	ok(copy.data() != vector.data() && copy.size() == 30);
	ok(accel::stream_view{copy.stream()} == other.view());
	other.view().synchronize();
	ok(read(copy) == numbers(30));

	const void *data = copy.data();
	rmm::device_uvector<std::int32_t> moved(std::move(copy));

	ok(moved.data() == data && copy.is_empty());
	vector = std::move(moved);
	ok(vector.data() == data);
}

static void test_release()
{
	queue q;
	rmm::device_uvector<std::int32_t> vector(30, q.view());
	const void *data = vector.data();

	write(vector, numbers(30));
	rmm::device_buffer buffer = vector.release();

	ok(buffer.data() == data && buffer.size() == 120 && vector.is_empty());
	ok(accel::stream_view{buffer.stream()} == q.view());
}

static void test_scalar()
{
	queue q;
	const double pi = 3.25;
	rmm::device_scalar<double> scalar(pi, q.view());
	rmm::device_scalar<double> copy(scalar, q.view());

	ok(scalar.value(q.view()) == 3.25 && copy.value(q.view()) == 3.25);
	scalar.set_value_to_zero_async(q.view());
	ok(scalar.value(q.view()) == 0 && copy.value(q.view()) == 3.25);
	ok(scalar.size() == 1 && scalar.data() != copy.data());
	rmm::device_scalar<double> moved(std::move(copy));

	ok(moved.value(q.view()) == 3.25);
}

static void test_no_memory()
{
	queue q;
	rmm::device_uvector<std::int32_t> vector(10, q.view());

	write(vector, numbers(10));
	ok(throws<rmm::out_of_memory>([&] { vector.resize(std::size_t{1} << 40, q.view()); }));
	ok(vector.size() == 10 && read(vector) == numbers(10));
}

static void test_explicit_resource()
{
	queue q;
	rmm::mr::statistics_resource_adaptor statistics{accel::get_current_device_resource()};

	{
		rmm::device_uvector<std::int32_t> vector(10, q.view(), statistics);
		rmm::device_uvector<std::int32_t> copy(vector, q.view(), vector.memory_resource());

		ok(statistics.statistics().bytes == 80 && statistics.statistics().count == 2);
		ok(copy.memory_resource() == accel::any_resource{statistics});
	}
	ok(!statistics.statistics().bytes);
}

#define RUN(test) run(test, #test)

/* On memory of the driver, and once more on a pool. Nothing of either is left. */
static void run(void (*test)(), const char *name)
{
	try {
		test();
	} catch (const std::exception &error) {
		printf("# %s: %s\n", name, error.what());
		tap_check(0, name, 0, "no exception");
	}
	if (!pooled)
		tap_check(!card_stats().mine, name, 0, "all memory is free again");
	tap_done((std::string{name} + (pooled ? ", pool" : "")).c_str());
}

static void run_all()
{
	RUN(test_elements);
	RUN(test_sizes);
	RUN(test_copy_and_move);
	RUN(test_release);
	RUN(test_scalar);
	RUN(test_no_memory);
	RUN(test_explicit_resource);
}

int main(int argc, char **argv)
{
	try {
		accel::set_current_device(accel::device_id{argc > 1 ? atoi(argv[1]) : 0});
		dev = accel::device_handle();
	} catch (const std::exception &error) {
		printf("Bail out! %s\n", error.what());
		return 1;
	}
	run_all();
	accel::set_current_device_resource(
		rmm::mr::pool_memory_resource{rmm::mr::cuda_memory_resource{}});
	pooled = true;
	run_all();
	accel::reset_current_device_resource();
	tap_check(!card_stats().mine, "main", 0, "the pool is gone");
	tap_done("nothing is left");
	return tap_end();
}
