/* SPDX-License-Identifier: MIT */
/* Resources: the one of a card, pools and adaptors as classes, classes of the program, exceptions. */
#include "fixture.hpp"

#include <cuda/memory_resource>
#include <cuda_runtime_api.h>
#include <rmm/cuda_stream.hpp>
#include <rmm/mr/device/cuda_memory_resource.hpp>
#include <rmm/mr/device/device_memory_resource.hpp>
#include <rmm/mr/device/managed_memory_resource.hpp>
#include <rmm/mr/device/per_device_resource.hpp>
#include <rmm/mr/device/pool_memory_resource.hpp>
#include <rmm/mr/pinned_host_memory_resource.hpp>

#include <fstream>
#include <sstream>
#include <thread>
#include <unistd.h>

using rmm::cuda_stream_view;
using rmm::device_buffer;

/* A resource of the program that states who can access its memory. */
struct stating_resource : counting_resource {
	using counting_resource::counting_resource;
	friend void get_property(const stating_resource &, cuda::mr::device_accessible) noexcept {}
};

/* Three that lack a function of a resource, and one that has all. */
struct only_allocates {
	void *allocate(rmm::cuda_stream_view, std::size_t, std::size_t);
	bool operator==(const only_allocates &) const;
};
struct is_not_compared {
	void *allocate(rmm::cuda_stream_view, std::size_t, std::size_t);
	void deallocate(rmm::cuda_stream_view, void *, std::size_t, std::size_t);
};
struct is_not_compared_async {
	void *allocate_async(std::size_t, std::size_t, rmm::cuda_stream_view);
	void deallocate_async(void *, std::size_t, std::size_t, rmm::cuda_stream_view);
};
struct is_compared_async : is_not_compared_async {
	bool operator==(const is_compared_async &) const;
};

namespace concepts {

using cuda::mr::device_accessible;
using cuda::mr::host_accessible;
using cuda::mr::resource;
using cuda::mr::resource_with;

static_assert(resource<counting_resource> && cuda::mr::async_resource<counting_resource>);
static_assert(!resource<int> && !resource<rmm::device_buffer>);
static_assert(!resource<only_allocates> && !resource<is_not_compared>);
static_assert(!resource<is_not_compared_async> && resource<is_compared_async>);
static_assert(!std::is_constructible_v<accel::resource_ref, only_allocates &>);
static_assert(!resource_with<counting_resource, device_accessible>);
static_assert(resource_with<stating_resource, device_accessible>);
static_assert(cuda::mr::async_resource_with<stating_resource, device_accessible>);
static_assert(!resource_with<stating_resource, device_accessible, host_accessible>);
static_assert(resource_with<rmm::mr::cuda_memory_resource, device_accessible>);
static_assert(!resource_with<rmm::mr::cuda_memory_resource, host_accessible>);
static_assert(resource_with<rmm::mr::managed_memory_resource, device_accessible, host_accessible>);
static_assert(resource_with<rmm::mr::pinned_host_memory_resource, device_accessible, host_accessible>);
static_assert(resource_with<rmm::mr::pool_memory_resource, device_accessible>);
static_assert(resource_with<rmm::mr::statistics_resource_adaptor, device_accessible>);
static_assert(resource_with<rmm::device_async_resource_ref, device_accessible>);
static_assert(!resource_with<rmm::device_async_resource_ref, host_accessible>);
static_assert(resource_with<cuda::mr::any_resource<device_accessible>, device_accessible>);

} // namespace concepts

static void test_resource_of_a_card()
{
	rmm::cuda_device_id first{0}, second{1};
	counting_resource::counts counts;
	accel::any_resource before = rmm::mr::get_current_device_resource_ref();
	accel::any_resource old =
		rmm::mr::set_current_device_resource(counting_resource{&counts});

	ok(old == before);
	{
		device_buffer buffer{100, cuda_stream_view{}};
		/* Of another card, of which nothing was set. */
		device_buffer other{100, cuda_stream_view{},
				    rmm::mr::get_per_device_resource_ref(second)};

		ok(counts.allocations == 1);
		ok(rmm::mr::get_current_device_resource_ref() ==
		   rmm::mr::get_per_device_resource_ref(first));
	}
	ok(!counts.live);
	old = rmm::mr::reset_current_device_resource();
	ok(old == accel::any_resource{counting_resource{&counts}});
	ok(rmm::mr::get_current_device_resource_ref() == before);
	ok(rmm::mr::set_per_device_resource_ref(second, before) ==
	   accel::any_resource{accel::device_resource{second}});
	rmm::mr::reset_per_device_resource_ref(second);
	ok(rmm::mr::get_per_device_resource_ref(second) ==
	   accel::any_resource{accel::device_resource{second}});
	ok(throws<rmm::cuda_error>(
		[] { rmm::mr::get_per_device_resource_ref(rmm::cuda_device_id{7}); }));
}

/* A buffer keeps the resource it was made with, also when the card gets another one. */
static void test_resource_is_changed_in_use()
{
	counting_resource::counts counts;

	rmm::mr::set_current_device_resource(counting_resource{&counts});
	{
		device_buffer buffer{100, cuda_stream_view{}};

		rmm::mr::reset_current_device_resource();
		buffer.resize(200, cuda_stream_view{});
		ok(counts.allocations == 2 && counts.live == 200);
	}
	ok(!counts.live);
}

static void test_pool()
{
	auto bytes = pattern(1000);
	unsigned int calls;

	{
		rmm::mr::pool_memory_resource pool{rmm::mr::cuda_memory_resource{}, 1 << 18};
		accel::any_resource same = pool;

		ok(pool.pool_size() == 1 << 18);
		calls = mock_calls(PACCEL_NR_MEM_ALLOC);
		device_buffer buffer{bytes.data(), bytes.size(), cuda_stream_view{}, pool};

		buffer.resize(2000, cuda_stream_view{});
		buffer.resize(1000, cuda_stream_view{});
		buffer.shrink_to_fit(cuda_stream_view{});
		ok(contents(buffer) == bytes);
		ok(mock_calls(PACCEL_NR_MEM_ALLOC) == calls);
		ok(buffer.memory_resource() == same);
		ok(throws<rmm::out_of_memory>([&] { buffer.resize(2 * card_size, cuda_stream_view{}); }));
	}
	ok(mock_calls(PACCEL_NR_MEM_FREE));
}

/* A buffer that is made with a pool by value keeps it. */
static void test_pool_lives_as_long_as_its_buffers()
{
	auto make = [] {
		return device_buffer{100, cuda_stream_view{},
				     rmm::mr::pool_memory_resource{rmm::mr::cuda_memory_resource{},
								   1 << 12}};
	};
	device_buffer buffer = make();

	buffer.resize(1000, cuda_stream_view{});
	ok(buffer.size() == 1000);
}

static void test_exportable_block()
{
	accel::pool_resource pool{accel::device_resource{}};
	void *other = pool.allocate_sync(100), *ptr;
	int fd = -1;

	ptr = pool.allocate_exportable(cuda_stream_view{}, 100);
	ok(accel_memory_export(accel::device_handle(), other, &fd) == -ENOENT);
	ok(!accel_memory_export(accel::device_handle(), ptr, &fd));
	close(fd);
	pool.deallocate_sync(ptr, 100);
	pool.deallocate_sync(other, 100);
	ok(throws<rmm::out_of_memory>(
		[&] { pool.allocate_exportable(cuda_stream_view{}, 2 * card_size); }));
}

static void test_pool_with_a_maximum()
{
	rmm::mr::pool_memory_resource pool{rmm::mr::cuda_memory_resource{}, 1 << 12, 1 << 13};
	std::vector<device_buffer> all;

	ok(throws<rmm::out_of_memory>([&] {
		for (;;)
			all.emplace_back(256, cuda_stream_view{}, pool);
	}));
	ok(all.size() == (1 << 13) / 256);
	ok(pool.get_upstream_resource() == accel::any_resource{rmm::mr::cuda_memory_resource{}});
	rmm::mr::pool_memory_resource no_maximum{rmm::mr::cuda_memory_resource{}, 1 << 12, std::nullopt};

	ok(no_maximum.pool_size() == 1 << 12);
	ok(throws<rmm::out_of_memory>([] {
		rmm::mr::pool_memory_resource none{rmm::mr::cuda_memory_resource{}, 2 * card_size};
	}));
	ok(throws<rmm::logic_error>([] {
		rmm::mr::pool_memory_resource none{rmm::mr::cuda_memory_resource{}, 1 << 13, 1 << 12};
	}));
	ok(throws<rmm::logic_error>([] {
		rmm::mr::pool_memory_resource none{rmm::mr::cuda_memory_resource{}, 0, std::size_t{0}};
	}));
}

static void test_adaptors()
{
	rmm::mr::statistics_resource_adaptor statistics{rmm::mr::cuda_memory_resource{}};
	rmm::mr::limiting_resource_adaptor limiting{statistics, 1000};
	rmm::mr::tracking_resource_adaptor tracking{limiting, 8};

	{
		device_buffer buffer{600, cuda_stream_view{}, tracking};
		auto live = tracking.get_outstanding_allocations();

		ok(statistics.statistics().bytes == 600 && statistics.statistics().count == 1);
		ok(limiting.get_allocated_bytes() == 600 && limiting.get_allocation_limit() == 1000);
		ok(live.size() == 1 && live.begin()->first == buffer.data());
		ok(live.begin()->second.allocation_size == 600);
		ok(!live.begin()->second.frames.empty());
		/* Both blocks at a time would be more than the limit. */
		ok(throws<rmm::out_of_memory>([&] { buffer.resize(601, cuda_stream_view{}); }));
		ok(buffer.size() == 600);
	}
	ok(!statistics.statistics().bytes && statistics.statistics().peak_bytes == 600);
	ok(tracking.get_outstanding_allocations().empty());
	ok(tracking.get_upstream_resource() == accel::any_resource{limiting});
}

static void test_scopes()
{
	accel::timing_resource timing{rmm::mr::cuda_memory_resource{}};
	struct accel_adaptor_statistics scope;

	timing.push_scope();
	{
		device_buffer buffer{600, cuda_stream_view{}, timing};
	}
	scope = timing.pop_scope();
	ok(!scope.bytes && scope.peak_bytes == 600 && scope.total_count == 1);
	ok(scope.allocate_ns > 0 && scope.deallocate_ns > 0);
	ok(throws<accel::device_error>([&] { timing.pop_scope(); }));
}

static void test_counters()
{
	rmm::mr::statistics_resource_adaptor statistics{rmm::mr::cuda_memory_resource{}};
	device_buffer buffer{600, cuda_stream_view{}, statistics};
	auto before = statistics.push_counters();

	ok(before.first.value == 600 && before.second.value == 1);
	{
		device_buffer more{50, cuda_stream_view{}, statistics};
	}
	auto [bytes, allocations] = statistics.pop_counters();

	ok(bytes.value == 0 && bytes.peak == 50 && bytes.total == 50);
	ok(allocations.value == 0 && allocations.peak == 1 && allocations.total == 1);
	ok(statistics.get_bytes_counter().value == 600);
	ok(statistics.get_bytes_counter().peak == 650 && statistics.get_bytes_counter().total == 650);
	ok(statistics.get_allocations_counter().total == 2);
	ok(throws<rmm::out_of_range>([&] { statistics.pop_counters(); }));
}

static void test_available_memory()
{
	auto [free, total] = rmm::available_device_memory();
	device_buffer buffer{card_size / 2, cuda_stream_view{}};

	ok(free == card_size && total == card_size);
	ok(rmm::available_device_memory().first == card_size / 2);
	ok(rmm::percent_of_free_device_memory(50) == card_size / 4);
	ok(rmm::percent_of_free_device_memory(1) == (card_size / 200 & ~255));
}

/* RMM's adaptor is told whether to keep backtraces, ours how much of them. */
static void test_whole_backtraces()
{
	rmm::mr::tracking_resource_adaptor with{rmm::mr::cuda_memory_resource{}, true};
	rmm::mr::tracking_resource_adaptor one{rmm::mr::cuda_memory_resource{}, 1};
	rmm::mr::tracking_resource_adaptor without{rmm::mr::cuda_memory_resource{}, false};
	auto frames = [](rmm::mr::tracking_resource_adaptor &tracking) {
		device_buffer buffer{100, cuda_stream_view{}, tracking};

		return tracking.get_outstanding_allocations().begin()->second.frames.size();
	};

	ok(frames(with) > 2 && frames(one) == 1 && frames(without) == 0);
	device_buffer buffer{100, cuda_stream_view{}, with};
	device_buffer other{100, cuda_stream_view{}, without};
	std::ostringstream text;

	text << *with.get_outstanding_allocations().begin()->second.strace;
	ok(text.str().find("#0 in ") == 0 && text.str().find("\n#1 in ") != std::string::npos);
	ok(!without.get_outstanding_allocations().begin()->second.strace);

	/* One line for each allocation, and its backtrace after it. */
	std::ostringstream line, plain;

	line << buffer.data() << ": 100 bytes\n";
	ok(with.get_outstanding_allocations_str() == line.str() + text.str());
	plain << other.data() << ": 100 bytes\n";
	ok(without.get_outstanding_allocations_str() == plain.str());
	buffer = device_buffer{};
	ok(with.get_outstanding_allocations_str().empty());
}

static void test_log()
{
	char path[] = "/tmp/accel-rmm-XXXXXX";
	int fd = mkstemp(path);
	std::string text, line;

	{
		rmm::mr::logging_resource_adaptor logging{rmm::mr::cuda_memory_resource{}, path, true};
		device_buffer buffer{100, cuda_stream_view{}, logging};

		logging.flush();
		ok(logging.header() == "Thread,Time,Action,Pointer,Size,Stream");
	}
	std::ifstream file{path};

	while (std::getline(file, line))
		text += line + "\n";
	ok(text.find("Thread,Time,Action,Pointer,Size,Stream\n") == 0);
	unsetenv("RMM_LOG_FILE");
	ok(throws<rmm::logic_error>([] {
		rmm::mr::logging_resource_adaptor none{rmm::mr::cuda_memory_resource{}};
	}));
	setenv("RMM_LOG_FILE", path, 1);
	rmm::mr::logging_resource_adaptor by_environment{rmm::mr::cuda_memory_resource{}};
	rmm::mr::logging_resource_adaptor copied = {rmm::mr::cuda_memory_resource{}, path};
	unsetenv("RMM_LOG_FILE");
	ok(text.find(",allocate,") != std::string::npos && text.find(",free,") != std::string::npos);
	ok(throws<rmm::cuda_error>([] {
		rmm::mr::logging_resource_adaptor none{rmm::mr::cuda_memory_resource{}, "/nowhere/log"};
	}));
	close(fd);
	unlink(path);
}

struct own_failure : std::runtime_error {
	using std::runtime_error::runtime_error;
};

struct failing_resource {
	void *allocate(accel::stream_ref, std::size_t, std::size_t) { throw own_failure{"mine"}; }
	void deallocate(accel::stream_ref, void *, std::size_t, std::size_t) noexcept {}
	friend bool operator==(const failing_resource &, const failing_resource &) { return true; }
};

/* What a program's own resource throws, comes out as it was, also through adaptors. */
static void test_own_exception()
{
	rmm::mr::statistics_resource_adaptor statistics{failing_resource{}};
	device_buffer buffer;

	ok(throws<own_failure>(
		[] { device_buffer none{100, cuda_stream_view{}, failing_resource{}}; }));
	ok(throws<own_failure>([&] { device_buffer none{100, cuda_stream_view{}, statistics}; }));
	ok(statistics.statistics().failures == 1);
	/* And does not come back in a call that fails for another reason. */
	ok(throws<rmm::out_of_memory>([&] { device_buffer none{2 * card_size, cuda_stream_view{}}; }));
}

/* Has no large pieces. */
struct small_resource {
	void *allocate(accel::stream_ref stream, std::size_t size, std::size_t alignment)
	{
		if (size > 4096)
			throw std::bad_alloc{};
		return accel::device_resource{}.allocate(stream, size, alignment);
	}
	void deallocate(accel::stream_ref stream, void *ptr, std::size_t size,
			std::size_t alignment) noexcept
	{
		accel::device_resource{}.deallocate(stream, ptr, size, alignment);
	}
	friend bool operator==(const small_resource &, const small_resource &) { return true; }
};

/* An exception that the pool could do without, does not come back in another call. */
static void test_forgotten_exception()
{
	struct accel_pool_options options = {};

	options.growth_size = 1 << 17;
	rmm::mr::pool_memory_resource pool{small_resource{}, options};
	device_buffer buffer{1000, cuda_stream_view{}, pool};

	ok(buffer.data());
	ok(throws<rmm::out_of_memory>([&] { device_buffer none{2 * card_size, cuda_stream_view{}}; }));
}

/* A resource as programs wrote them until 25.12. */
class old_resource final : public rmm::mr::device_memory_resource {
public:
	std::size_t live = 0;
	accel_stream *last = nullptr;

private:
	void *do_allocate(std::size_t bytes, cuda_stream_view stream) override
	{
		void *ptr = driver_.allocate(bytes, stream);

		live += bytes;
		last = stream;
		return ptr;
	}
	void do_deallocate(void *ptr, std::size_t bytes, cuda_stream_view stream) override
	{
		live -= bytes;
		last = stream;
		driver_.deallocate(ptr, bytes, stream);
	}

	rmm::mr::cuda_memory_resource driver_;
};

static void test_base_class()
{
	old_resource mr, other;
	rmm::mr::device_memory_resource *base = &mr;
	accel::stream stream;

	{
		device_buffer by_pointer{100, cuda_stream_view{}, base};
		device_buffer by_reference{100, stream.view(), rmm::device_async_resource_ref{*base}};

		ok(mr.live == 200 && mr.last == stream.value());
		ok(by_pointer.memory_resource() == by_reference.memory_resource());
		ok(*base == mr && mr.is_equal(mr) && !mr.is_equal(other));
	}
	ok(!mr.live);
	void *ptr = base->allocate(10);

	ok(mr.live == 10);
	base->deallocate(ptr, 10);
	rmm::device_async_resource_ref ref = rmm::to_device_async_resource_ref_checked(base);
	ptr = ref.allocate_async(10, 256, stream.view());
	ref.deallocate_async(ptr, 10, 256, stream.view());
	ok(!mr.live);
	ok(throws<rmm::logic_error>([] {
		rmm::to_device_async_resource_ref_checked(
			static_cast<rmm::mr::device_memory_resource *>(nullptr));
	}));
}

/* What is written to stderr meanwhile. */
template <class Call> std::string stderr_of(Call call)
{
	FILE *file = tmpfile();
	int old = dup(STDERR_FILENO);
	char text[1000] = {};

	dup2(fileno(file), STDERR_FILENO);
	call();
	dup2(old, STDERR_FILENO);
	close(old);
	rewind(file);
	static_cast<void>(!fread(text, 1, sizeof(text) - 1, file));
	fclose(file);
	return text;
}

/* Memory of the driver is freed as cudaFree() would; the error is written to stderr. */
static void test_refused_deallocation()
{
	rmm::mr::cuda_memory_resource mr;
	rmm::mr::pinned_host_memory_resource pinned;
	rmm::device_async_resource_ref ref = mr;
	struct accel_memory_stats stats;
	void *wrong_size = mr.allocate_sync(100), *unified;

	ok(stderr_of([&] { ref.deallocate_sync(wrong_size, 99); }).find(": size is 99") !=
	   std::string::npos);
	unified = rmm::mr::managed_memory_resource{}.allocate_sync(100);
	ok(!stderr_of([&] { mr.deallocate_sync(unified, 100); }).empty());
	ok(mock_host_ranges(0) == 0);
	ok(stderr_of([&] { mr.deallocate_sync(&stats, 100); }).find("accel: ") == 0);
	void *freed = pinned.allocate_sync(100);
	ok(stderr_of([&] { pinned.deallocate_sync(freed, 100); }).empty());
	accel::check(accel_memory_stats_full(accel::device_handle(), &stats));
	ok(stats.mine == 0);
}

/* Every order of arguments that clients use. */
static void test_all_ways_to_allocate()
{
	accel::stream stream;
	rmm::mr::cuda_memory_resource mr;
	accel::any_resource any = mr;
	cuda::mr::resource_ref<cuda::mr::device_accessible> ref = any;
	void *ptr[6] = {ref.allocate(stream, 100, 256),
			ref.allocate_sync(100),
			ref.allocate_async(100, 256, stream.view()),
			ref.allocate_async(100, stream.view()),
			ref.allocate(100, stream.view()),
			ref.allocate(stream, 0)};

	for (int i = 0; i < 5; i++)
		ok(ptr[i] && rmm::is_pointer_aligned(ptr[i]));
	ok(!ptr[5]);
	any.deallocate(stream, ptr[0], 100, 256);
	any.deallocate_sync(ptr[1], 100);
	any.deallocate_async(ptr[2], 100, 256, stream.view());
	any.deallocate_async(ptr[3], 100, stream.view());
	any.deallocate(ptr[4], 100, stream.view());
	any.deallocate(stream, nullptr, 0);
}

static void test_streams()
{
	rmm::cuda_stream stream, other;
	cuda_stream_view view = stream;

	ok(stream.is_valid() && view.value() == stream.value() && !view.is_default());
	ok(view != other.view() && view == stream.view());
	ok(stream == stream && stream != other && stream == view && view != other);
	const cuda::stream_ref ref{view};
	const cudaStream_t handle = view.value();
	ok(view == ref && ref == view && view == handle && handle == view);
	ok(stream == handle && handle == stream && stream == ref && ref == stream && ref == handle);
	ok(other != handle && handle != other && other.view() != ref && other.view() != handle);
	view.synchronize();
	ok(cuda::stream_ref{view}.is_done());
	cuda::stream_ref{view}.sync();
	rmm::cuda_stream_default.synchronize();
	rmm::cuda_stream_default.synchronize_no_throw();
	ok(rmm::cuda_stream_default.is_default());
	other = std::move(stream);
	ok(other.view() == view);
}

static void test_stream_that_is_busy()
{
	rmm::mr::pinned_host_memory_resource pinned;
	void *host = pinned.allocate_sync(100);

	{
		rmm::cuda_stream stream;
		device_buffer buffer{100, stream.view()};

		mock_hold(0);
		ok(cudaMemcpyAsync(buffer.data(), host, 100, cudaMemcpyDefault, stream.value()) ==
		   cudaSuccess);
		ok(!cuda::stream_ref{stream}.is_done());
		mock_release(0);
		stream.synchronize();
		ok(cuda::stream_ref{stream}.is_done());
		ok(mock_streams(0) == 1);
	}
	pinned.deallocate_sync(host, 100);
	ok(mock_streams(0) == 0);
}

/* Who waits for a card keeps nobody from using it. */
static void test_others_while_one_waits()
{
	rmm::mr::pinned_host_memory_resource pinned;
	void *host = pinned.allocate_sync(100), *ptr = nullptr;
	unsigned int waits = mock_calls(PACCEL_NR_WAIT);

	{
		rmm::cuda_stream stream;
		device_buffer buffer{100, stream.view()};

		mock_hold(0);
		ok(cudaMemcpyAsync(buffer.data(), host, 100, cudaMemcpyDefault, stream.value()) ==
		   cudaSuccess);
		cudaError_t waited = cudaErrorUnknown;
		std::thread waiting{[&] { waited = cudaDeviceSynchronize(); }};

		mock_wait_calls(PACCEL_NR_WAIT, waits + 1);
		/* Would never return if it waited for the other one. */
		ok(cudaMalloc(&ptr, 100) == cudaSuccess && cudaFree(ptr) == cudaSuccess);
		mock_release(0);
		waiting.join();
		ok(waited == cudaSuccess);
	}
	pinned.deallocate_sync(host, 100);
}

/* The default stream waits for streams that were created without these headers. */
static void test_default_stream_waits_for_c()
{
	accel_device *dev;
	accel_stream *stream;
	void *ptr, *host;
	unsigned int waits = mock_calls(PACCEL_NR_WAIT);

	accel::check(accel_device_open(0, &dev));
	accel::check(accel_stream_create(dev, &stream));
	accel::check(accel_device_memory_allocate(dev, &ptr, 100));
	accel::check(accel_host_memory_allocate(dev, &host, 100));
	mock_hold(0);
	accel::check(accel_async_memory_copy(stream, ptr, host, 100));
	std::thread waiting{[] { rmm::cuda_stream_default.synchronize_no_throw(); }};

	mock_wait_calls(PACCEL_NR_WAIT, waits + 1);
	mock_release(0);
	waiting.join();
	accel::check(accel_host_memory_deallocate(dev, host, 100));
	accel::check(accel_device_memory_deallocate(dev, ptr, 100));
	accel::check(accel_stream_destroy(stream));
	accel::check(accel_device_close(dev));
}

static void test_default_stream_without_device()
{
	mock_reset();
	rmm::cuda_stream_default.synchronize();
	ok(cudaDeviceSynchronize() == cudaSuccess);
	mock_add(0);
}

/* cudaMemcpy() is ordered after all streams, as CUDA's legacy default stream. */
static void test_copy_waits_for_streams()
{
	rmm::mr::pinned_host_memory_resource pinned;
	auto *host = static_cast<unsigned char *>(pinned.allocate_sync(100));
	unsigned int waits = mock_calls(PACCEL_NR_WAIT);
	unsigned char back[100] = {};

	{
		rmm::cuda_stream stream;
		device_buffer buffer{100, stream.view()};

		memset(host, 7, 100);
		mock_hold(0);
		ok(cudaMemcpyAsync(buffer.data(), host, 100, cudaMemcpyDefault, stream.value()) ==
		   cudaSuccess);
		std::thread copying{[&] {
			ok(cudaMemcpy(back, buffer.data(), 100, cudaMemcpyDeviceToHost) ==
			   cudaSuccess);
		}};

		mock_wait_calls(PACCEL_NR_WAIT, waits + 1);
		mock_release(0);
		copying.join();
		ok(!memcmp(back, host, 100));
	}
	pinned.deallocate_sync(host, 100);
}

/* fork() leaves the child without the parent's devices: it opens its own, also for its resources. */
static void use_device_in_child()
{
	try {
		device_buffer buffer{100, cuda_stream_view{}};
		auto bytes = pattern(100);

		ok(buffer.data() && cudaMemcpy(buffer.data(), bytes.data(), 100, cudaMemcpyDefault) ==
					    cudaSuccess);
		ok(contents(buffer) == bytes);
	} catch (const std::exception &error) {
		tap_check(0, __func__, __LINE__, error.what());
	}
}

static void test_fork()
{
	device_buffer buffer{100, cuda_stream_view{}};
	auto bytes = pattern(100);

	in_child(use_device_in_child);
	ok(cudaMemcpy(buffer.data(), bytes.data(), 100, cudaMemcpyDefault) == cudaSuccess);
	ok(contents(buffer) == bytes);
}

/* A stream that has failed says so where a call can throw. */
static void test_stream_that_failed()
{
	auto bytes = pattern(100);
	rmm::cuda_stream stream;
	device_buffer buffer{100, stream.view()}, other{100, cuda_stream_view{}};
	rmm::mr::pinned_host_memory_resource pinned;
	void *host = pinned.allocate_sync(100);

	mock_fail_operation(0, 1, EIO);
	ok(cudaMemcpyAsync(buffer.data(), host, 100, cudaMemcpyDefault, stream.value()) ==
	   cudaSuccess);
	ok(throws<rmm::cuda_error>([&] { stream.synchronize(); }));
	stream.synchronize_no_throw();
	ok(cudaMemcpy(other.data(), bytes.data(), 100, cudaMemcpyDefault) == cudaSuccess);
	ok(contents(other) == bytes);
	ok(throws<rmm::cuda_error>(
		[&] { device_buffer none{host, 100, stream.view()}; }));
	accel_stream_clear(stream.value());
	{
		device_buffer again{host, 100, stream.view()};

		stream.synchronize();
		ok(contents(again) == contents(buffer));
	}
	pinned.deallocate_sync(host, 100);
}

static void test_runtime()
{
	unsigned char bytes[100], back[100] = {};
	void *ptr;
	int number;
	cudaStream_t stream;

	memcpy(bytes, pattern(100).data(), 100);
	ok(cudaMalloc(&ptr, 100) == cudaSuccess && ptr);
	ok(cudaMemcpy(ptr, bytes, 100, cudaMemcpyHostToDevice) == cudaSuccess);
	ok(cudaMemcpy(back, ptr, 100, cudaMemcpyDeviceToHost) == cudaSuccess);
	ok(!memcmp(back, bytes, 100));
	ok(cudaStreamCreate(&stream) == cudaSuccess);
	ok(cudaMemsetAsync(ptr, 7, 50, stream) == cudaSuccess);
	ok(cudaMemcpyAsync(back, ptr, 100, cudaMemcpyDefault, stream) == cudaSuccess);
	ok(cudaStreamSynchronize(stream) == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess);
	ok(back[49] == 7 && back[50] == bytes[50]);
	ok(cudaStreamDestroy(stream) == cudaSuccess);
	ok(cudaFree(static_cast<char *>(ptr) + 1) == cudaErrorInvalidValue);
	ok(cudaPeekAtLastError() == cudaErrorInvalidValue);
	ok(cudaGetLastError() == cudaErrorInvalidValue && cudaGetLastError() == cudaSuccess);
	ok(cudaFree(ptr) == cudaSuccess && cudaFree(nullptr) == cudaSuccess);
	ok(cudaFree(bytes) == cudaErrorInvalidValue);
	ok(cudaMalloc(&ptr, 2 * card_size) == cudaErrorMemoryAllocation && !ptr);
	ok(!strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory"));
	ok(!strcmp(cudaGetErrorString(cudaErrorInvalidValue), "invalid argument"));
	try {
		RMM_CUDA_TRY(cudaMalloc(&ptr, 2 * card_size));
		ok(!"an exception");
	} catch (const rmm::cuda_error &error) {
		ok(strstr(error.what(), "cudaErrorMemoryAllocation out of memory: "));
		ok(strstr(error.what(), "2097152"));
	}
	/* The message of that call is not one about the next failure. */
	try {
		RMM_CUDA_TRY(cudaSetDevice(2));
		ok(!"an exception");
	} catch (const rmm::cuda_error &error) {
		ok(!strstr(error.what(), "2097152"));
	}
	rmm::mr::pinned_host_memory_resource pinned;
	void *host = pinned.allocate_sync(100);
	ok(cudaMalloc(&ptr, 2 * card_size) == cudaErrorMemoryAllocation);
	try {
		RMM_CUDA_TRY(cudaErrorUnknown);
		ok(!"an exception");
	} catch (const rmm::cuda_error &error) {
		ok(!strstr(error.what(), "2097152"));
	}
	try {
		RMM_CUDA_TRY(cudaFree(host));
		ok(!"an exception");
	} catch (const rmm::cuda_error &error) {
		ok(!strstr(error.what(), "2097152"));
	}
	pinned.deallocate_sync(host, 100);
	ok(cudaMemsetAsync(bytes, 0, 10) == cudaErrorInvalidValue);
	ok(cudaGetDeviceCount(&number) == cudaSuccess && number == 2);
	ok(cudaSetDevice(1) == cudaSuccess && cudaGetDevice(&number) == cudaSuccess && number == 1);
	ok(cudaSetDevice(2) == cudaErrorInvalidDevice);
	ok(!strcmp(cudaGetErrorName(cudaErrorInvalidDevice), "cudaErrorInvalidDevice"));
}

/* As RMM's containers do with an element that is 0, whatever their resource. */
static void test_fill()
{
	rmm::mr::pinned_host_memory_resource pinned;
	rmm::mr::managed_memory_resource unified;
	rmm::cuda_stream stream;
	unsigned char back[100] = {};

	for (accel::any_resource mr : {accel::any_resource{rmm::mr::cuda_memory_resource{}},
				       accel::any_resource{unified}, accel::any_resource{pinned}}) {
		auto bytes = pattern(100);
		device_buffer from{bytes.data(), 100, stream.view()};
		device_buffer buffer{100, stream.view(), mr};
		unsigned char *data = static_cast<unsigned char *>(buffer.data());

		/* Behind what is queued. */
		ok(cudaMemcpyAsync(data, from.data(), 100, cudaMemcpyDefault, stream.value()) ==
		   cudaSuccess);
		ok(cudaMemsetAsync(data + 10, 7, 20, stream.value()) == cudaSuccess);
		stream.synchronize();
		ok(cudaMemsetAsync(data + 99, 8, 1) == cudaSuccess);
		memset(&bytes[10], 7, 20);
		bytes[99] = 8;
		ok(cudaMemcpy(back, data, 100, cudaMemcpyDefault) == cudaSuccess);
		ok(!memcmp(back, bytes.data(), 100));
		ok(cudaMemsetAsync(data + 99, 9, 2, stream.value()) == cudaErrorInvalidValue);
		ok(cudaMemsetAsync(data, 9, std::size_t{1} << 40, stream.value()) == cudaErrorInvalidValue);
	}
}

int main()
{
	RUN(test_resource_of_a_card);
	RUN(test_resource_is_changed_in_use);
	RUN(test_pool);
	RUN(test_pool_lives_as_long_as_its_buffers);
	RUN(test_exportable_block);
	RUN(test_pool_with_a_maximum);
	RUN(test_adaptors);
	RUN(test_scopes);
	RUN(test_counters);
	RUN(test_available_memory);
	RUN(test_whole_backtraces);
	RUN(test_log);
	RUN(test_own_exception);
	RUN(test_forgotten_exception);
	RUN(test_base_class);
	RUN(test_refused_deallocation);
	RUN(test_all_ways_to_allocate);
	RUN(test_streams);
	RUN(test_stream_that_is_busy);
	RUN(test_others_while_one_waits);
	RUN(test_default_stream_waits_for_c);
	RUN(test_default_stream_without_device);
	RUN(test_copy_waits_for_streams);
	RUN(test_fork);
	RUN(test_stream_that_failed);
	RUN(test_runtime);
	RUN(test_fill);
	return tap_end();
}
