/* SPDX-License-Identifier: MIT */
/* What RMM's own tests ask of a device_buffer, and what its documentation says besides. */
#include "fixture.hpp"

#include <sstream>

using rmm::cuda_stream_view;
using rmm::device_buffer;

static const std::size_t some = 5000;

static void test_empty()
{
	device_buffer buffer;

	ok(buffer.size() == 0 && buffer.ssize() == 0 && buffer.capacity() == 0);
	ok(!buffer.data() && buffer.is_empty());
	ok(buffer.stream() == rmm::cuda_stream_default);
	ok(buffer.alignment() == rmm::CUDA_ALLOCATION_ALIGNMENT);
	ok(buffer.memory_resource() == rmm::mr::get_current_device_resource_ref());
}

static void test_size_zero_asks_nobody()
{
	counting_resource::counts counts;
	counting_resource mr{&counts};

	{
		device_buffer buffer{std::size_t{0}, cuda_stream_view{}, mr};

		ok(!buffer.data() && !buffer.capacity());
		buffer.shrink_to_fit(cuda_stream_view{});
		buffer.resize(0, cuda_stream_view{});
		buffer.reserve(0, cuda_stream_view{});
	}
	ok(!counts.allocations && !counts.deallocations);
}

static void test_default_resource()
{
	device_buffer buffer{some, cuda_stream_view{}};
	const device_buffer &constant = buffer;

	ok(buffer.data() && constant.data() == buffer.data());
	ok(buffer.size() == some && buffer.ssize() == static_cast<std::int64_t>(some));
	ok(buffer.capacity() == some && !buffer.is_empty());
	ok(buffer.memory_resource() == rmm::mr::get_current_device_resource_ref());
	ok(constant.memory_resource() == buffer.memory_resource());
	ok(rmm::is_pointer_aligned(buffer.data()));
	ok(buffer.stream() == cuda_stream_view{});
}

static void test_stream_is_kept()
{
	accel::stream stream;
	device_buffer buffer{some, stream.view()};

	ok(buffer.stream() == stream.view());
	buffer.set_stream(cuda_stream_view{});
	ok(buffer.stream() == cuda_stream_view{});
}

static void test_explicit_resource()
{
	counting_resource::counts counts;
	counting_resource mr{&counts};

	{
		device_buffer buffer{some, cuda_stream_view{}, mr};

		ok(buffer.memory_resource() == accel::any_resource{mr});
		ok(buffer.memory_resource() != rmm::mr::get_current_device_resource_ref());
		ok(counts.allocations == 1 && counts.live == some);
		ok(counts.alignment == rmm::CUDA_ALLOCATION_ALIGNMENT);
	}
	ok(counts.deallocations == 1 && !counts.live);
}

/* Until 25.12 clients pass a pointer, which owns nothing. */
static void test_resource_by_pointer()
{
	counting_resource::counts counts;
	counting_resource mr{&counts};

	{
		device_buffer buffer{some, cuda_stream_view{}, &mr};
		rmm::device_async_resource_ref ref{mr};
		device_buffer other{some, cuda_stream_view{}, ref};

		ok(counts.allocations == 2);
		ok(buffer.memory_resource() == other.memory_resource());
	}
	ok(!counts.live);
	ok(throws<rmm::logic_error>([] {
		counting_resource *none = nullptr;
		device_buffer buffer{some, cuda_stream_view{}, none};
	}));
}

/* A resource that is passed by value lives as long as the buffer. */
static void test_resource_is_owned()
{
	counting_resource::counts counts;
	device_buffer buffer{some, cuda_stream_view{}, counting_resource{&counts}};
	device_buffer other{std::move(buffer)};

	ok(counts.live == some);
	other = device_buffer{};
	ok(!counts.live);
}

static void test_copy_from_host()
{
	auto bytes = pattern(some);
	accel::stream stream;
	device_buffer buffer{bytes.data(), bytes.size(), cuda_stream_view{}};
	device_buffer behind{bytes.data(), bytes.size(), stream.view()};

	ok(buffer.size() == some && buffer.capacity() == some);
	ok(contents(buffer) == bytes);
	stream.synchronize();
	ok(contents(behind) == bytes);
	ok(behind.stream() == stream.view());
}

static void test_copy_from_device()
{
	auto bytes = pattern(some);
	device_buffer from{bytes.data(), bytes.size(), cuda_stream_view{}};
	/* An interior address, too. */
	device_buffer buffer{static_cast<char *>(from.data()) + 100, some - 100, cuda_stream_view{}};

	ok(contents(buffer) == std::vector<unsigned char>(bytes.begin() + 100, bytes.end()));
	ok(buffer.data() != from.data());
}

static void test_copy_from_null()
{
	counting_resource::counts counts;
	counting_resource mr{&counts};
	device_buffer buffer{nullptr, 0, cuda_stream_view{}};

	ok(!buffer.data() && !buffer.size() && !buffer.capacity());
	ok(throws<rmm::logic_error>(
		[&] { device_buffer none{nullptr, 1, cuda_stream_view{}, mr}; }));
	/* It was never allocated. */
	ok(!counts.allocations);
}

static void test_copy_that_fails_leaves_nothing()
{
	auto bytes = pattern(100);
	counting_resource::counts counts;
	counting_resource mr{&counts};

	mock_fail(PACCEL_NR_COPY, 1, EIO);
	ok(throws<rmm::cuda_error>(
		[&] { device_buffer none{bytes.data(), 100, cuda_stream_view{}, mr}; }));
	ok(counts.allocations == 1 && !counts.live);
}

static void test_copy_constructor()
{
	auto bytes = pattern(some);
	device_buffer buffer{bytes.data(), some, cuda_stream_view{}};
	device_buffer copy{buffer, cuda_stream_view{}};

	ok(copy.data() && copy.data() != buffer.data());
	ok(copy.size() == some && copy.capacity() == some);
	ok(contents(copy) == bytes);
	ok(copy.memory_resource() == rmm::mr::get_current_device_resource_ref());
	ok(copy.stream() == cuda_stream_view{});
}

static void test_copy_takes_the_current_resource()
{
	counting_resource::counts counts;
	counting_resource mr{&counts};
	accel::stream stream;
	device_buffer buffer{some, cuda_stream_view{}, mr};
	device_buffer copy{buffer, cuda_stream_view{}};
	device_buffer same{buffer, stream.view(), buffer.memory_resource()};

	ok(copy.memory_resource() == rmm::mr::get_current_device_resource_ref());
	ok(same.memory_resource() == buffer.memory_resource());
	ok(same.stream() == stream.view());
	ok(counts.allocations == 2);
}

static void test_copy_has_no_spare_capacity()
{
	auto bytes = pattern(some);
	device_buffer buffer{bytes.data(), some, cuda_stream_view{}};

	buffer.reserve(2 * some, cuda_stream_view{});
	{
		device_buffer copy{buffer, cuda_stream_view{}};

		ok(copy.size() == some && copy.capacity() == some);
		ok(contents(copy) == bytes);
	}
	buffer.resize(0, cuda_stream_view{});
	device_buffer none{buffer, cuda_stream_view{}};

	ok(!none.data() && !none.capacity());
}

static bool was_moved_from(device_buffer &buffer)
{
	return !buffer.data() && !buffer.size() && !buffer.capacity() && buffer.is_empty() &&
	       buffer.stream() == rmm::cuda_stream_default;
}

static void test_move_constructor()
{
	accel::stream stream;
	counting_resource::counts counts;
	counting_resource mr{&counts};
	auto bytes = pattern(some);
	device_buffer buffer{bytes.data(), some, stream.view(), mr};
	const void *data = buffer.data();

	buffer.reserve(2 * some, stream.view());
	data = buffer.data();
	device_buffer moved{std::move(buffer)};

	static_assert(std::is_nothrow_move_constructible_v<device_buffer>);
	ok(moved.data() == data && moved.size() == some && moved.capacity() == 2 * some);
	ok(moved.stream() == stream.view());
	ok(moved.memory_resource() == accel::any_resource{mr});
	ok(was_moved_from(buffer));
	stream.synchronize();
	ok(contents(moved) == bytes);
}

static void test_move_assignment()
{
	accel::stream stream;
	counting_resource::counts counts;
	counting_resource mr{&counts};
	device_buffer to;
	device_buffer full{some, cuda_stream_view{}, mr};
	device_buffer from{some, stream.view(), mr};
	const void *data = from.data();

	static_assert(std::is_nothrow_move_assignable_v<device_buffer>);
	to = std::move(from);
	ok(to.data() == data && to.size() == some && to.stream() == stream.view());
	ok(was_moved_from(from));
	/* What it had is freed, on its own stream. */
	ok(&(full = std::move(to)) == &full);
	ok(counts.deallocations == 1 && !counts.last);
	ok(full.data() == data);
	ok(was_moved_from(to));
}

static void test_move_assignment_to_itself()
{
	auto bytes = pattern(some);
	device_buffer buffer{bytes.data(), some, cuda_stream_view{}};
	device_buffer &same = buffer;
	const void *data = buffer.data();

	buffer = std::move(same);
	ok(buffer.data() == data && buffer.size() == some && contents(buffer) == bytes);
}

static void test_moved_from_can_be_used()
{
	device_buffer buffer{some, cuda_stream_view{}};
	device_buffer other{std::move(buffer)};

	buffer = device_buffer{100, cuda_stream_view{}};
	ok(buffer.size() == 100 && buffer.data());
}

static void test_moved_from_can_grow()
{
	counting_resource::counts counts;
	counting_resource mr{&counts};

	{
		device_buffer buffer{some, cuda_stream_view{}, mr};
		device_buffer other{std::move(buffer)};

		buffer.resize(100, cuda_stream_view{});
		ok(buffer.size() == 100 && buffer.data() && buffer.data() != other.data());
		ok(counts.live == some + 100);
	}
	ok(!counts.live);
}

static void test_resize_smaller()
{
	auto bytes = pattern(some);
	device_buffer buffer{bytes.data(), some, cuda_stream_view{}};
	const void *data = buffer.data();

	buffer.resize(some / 2, cuda_stream_view{});
	ok(buffer.data() == data && buffer.size() == some / 2 && buffer.capacity() == some);
	buffer.shrink_to_fit(cuda_stream_view{});
	ok(buffer.data() && buffer.data() != data);
	ok(buffer.size() == some / 2 && buffer.capacity() == some / 2);
	bytes.resize(some / 2);
	ok(contents(buffer) == bytes);
	data = buffer.data();
	buffer.shrink_to_fit(cuda_stream_view{});
	ok(buffer.data() == data);
}

static void test_resize_bigger()
{
	auto bytes = pattern(some);
	device_buffer buffer{bytes.data(), some, cuda_stream_view{}};
	const void *data = buffer.data();
	std::vector<unsigned char> now;

	buffer.resize(some + 1, cuda_stream_view{});
	ok(buffer.data() != data);
	/* Not geometric. */
	ok(buffer.size() == some + 1 && buffer.capacity() == some + 1);
	now = contents(buffer);
	now.resize(some);
	ok(now == bytes);
}

static void test_reserve()
{
	auto bytes = pattern(some);
	device_buffer buffer{bytes.data(), some, cuda_stream_view{}};
	const void *data = buffer.data();

	buffer.reserve(some / 2, cuda_stream_view{});
	ok(buffer.data() == data && buffer.capacity() == some && buffer.size() == some);
	buffer.reserve(2 * some, cuda_stream_view{});
	ok(buffer.data() != data && buffer.capacity() == 2 * some && buffer.size() == some);
	ok(contents(buffer) == bytes);
	data = buffer.data();
	buffer.resize(2 * some, cuda_stream_view{});
	ok(buffer.data() == data && buffer.size() == 2 * some);
}

static void test_shrink_to_nothing()
{
	counting_resource::counts counts;
	counting_resource mr{&counts};
	device_buffer buffer{some, cuda_stream_view{}, mr};

	buffer.resize(0, cuda_stream_view{});
	ok(buffer.is_empty() && buffer.data() && buffer.capacity() == some);
	buffer.shrink_to_fit(cuda_stream_view{});
	ok(!buffer.data() && !buffer.capacity() && !counts.live);
	buffer.resize(100, cuda_stream_view{});
	ok(buffer.data() && buffer.capacity() == 100);
}

/* All three take the stream, even if nothing else happens; the old block is freed on the new one. */
static void test_streams_of_changes()
{
	accel::stream stream, other;
	counting_resource::counts counts;
	counting_resource mr{&counts};
	device_buffer buffer{some, cuda_stream_view{}, mr};

	buffer.resize(some / 2, stream.view());
	ok(buffer.stream() == stream.view() && !counts.deallocations);
	buffer.reserve(1, other.view());
	ok(buffer.stream() == other.view());
	buffer.shrink_to_fit(stream.view());
	ok(buffer.stream() == stream.view());
	ok(counts.deallocations == 1 && counts.last == stream.value());
	buffer.resize(some, other.view());
	ok(counts.deallocations == 2 && counts.last == other.value());
	buffer.set_stream(stream.view());
	buffer = device_buffer{};
	ok(counts.deallocations == 3 && counts.last == stream.value());
}

static void test_no_memory_leaves_all_as_it_was()
{
	auto bytes = pattern(some);
	device_buffer buffer{bytes.data(), some, cuda_stream_view{}};
	const void *data = buffer.data();

	ok(throws<rmm::out_of_memory>([] { device_buffer all{2 * card_size, cuda_stream_view{}}; }));
	ok(throws<rmm::out_of_memory>([&] { buffer.resize(2 * card_size, cuda_stream_view{}); }));
	ok(throws<rmm::out_of_memory>([&] { buffer.reserve(2 * card_size, cuda_stream_view{}); }));
	/* So a program that catches less finds it, too. */
	try {
		buffer.resize(2 * card_size, cuda_stream_view{});
		ok(false);
	} catch (const std::bad_alloc &) {
	}
	ok(buffer.data() == data && buffer.size() == some && buffer.capacity() == some);
	ok(contents(buffer) == bytes);
}

/* The new block is free again. */
static void test_growth_whose_copy_fails()
{
	auto bytes = pattern(some);
	counting_resource::counts counts;
	counting_resource mr{&counts};
	device_buffer buffer{bytes.data(), some, cuda_stream_view{}, mr};
	const void *data = buffer.data();

	mock_fail(PACCEL_NR_COPY, 1, EIO);
	ok(throws<rmm::cuda_error>([&] { buffer.resize(2 * some, cuda_stream_view{}); }));
	ok(buffer.data() == data && buffer.size() == some && counts.live == some);
	ok(contents(buffer) == bytes);
	/* Whatever the error is, it is not one of memory. */
	mock_fail(PACCEL_NR_COPY, 1, EINVAL);
	ok(throws<rmm::cuda_error>([&] { buffer.resize(2 * some, cuda_stream_view{}); }));
	buffer.resize(some / 2, cuda_stream_view{});
	mock_fail(PACCEL_NR_COPY, 1, EIO);
	ok(throws<rmm::cuda_error>([&] { buffer.shrink_to_fit(cuda_stream_view{}); }));
	ok(buffer.data() == data && buffer.capacity() == some && counts.live == some);
}

static void test_alignment()
{
	device_buffer usual{some, cuda_stream_view{}};
	device_buffer same{some, rmm::CUDA_ALLOCATION_ALIGNMENT, cuda_stream_view{}};
	device_buffer small{some, 64, cuda_stream_view{}};
	device_buffer large{some, 4096, cuda_stream_view{}};
	device_buffer one{some, 1, cuda_stream_view{}};

	ok(usual.alignment() == 256 && same.alignment() == 256);
	ok(small.alignment() == 64 && rmm::is_pointer_aligned(small.data(), 64));
	ok(large.alignment() == 4096 && rmm::is_pointer_aligned(large.data(), 4096));
	ok(one.alignment() == 1 && one.data());
}

static void test_alignment_is_refused()
{
	auto bytes = pattern(100);
	counting_resource::counts counts;
	counting_resource mr{&counts};

	for (std::size_t alignment : {std::size_t{0}, std::size_t{3}, std::size_t{257}}) {
		ok(throws<rmm::invalid_argument>(
			[&] { device_buffer none{some, alignment, cuda_stream_view{}, mr}; }));
		ok(throws<rmm::invalid_argument>([&] {
			device_buffer none{bytes.data(), 100, alignment, cuda_stream_view{}, mr};
		}));
	}
	ok(!counts.allocations);
	/* More than the card can do. */
	ok(throws<rmm::bad_alloc>(
		[&] { device_buffer none{some, std::size_t{1} << 40, cuda_stream_view{}}; }));
	/* But not for nothing. */
	device_buffer empty{std::size_t{0}, std::size_t{1} << 40, cuda_stream_view{}};

	ok(!empty.data());
	/* What it cannot do is still no memory when it is asked for some, and not the card's failure. */
	ok(throws<rmm::bad_alloc>([&] { empty.resize(some, cuda_stream_view{}); }));
	ok(throws<rmm::bad_alloc>([&] { empty.reserve(some, cuda_stream_view{}); }));
	ok(!empty.data() && !empty.size() && !empty.capacity());
}

static void test_alignment_is_kept()
{
	auto bytes = pattern(some);
	device_buffer buffer{bytes.data(), some, 128, cuda_stream_view{}};
	device_buffer copy{buffer, cuda_stream_view{}};

	ok(contents(buffer) == bytes && buffer.alignment() == 128);
	ok(copy.alignment() == 128);
	buffer.resize(2 * some, cuda_stream_view{});
	ok(buffer.alignment() == 128);
	buffer.reserve(3 * some, cuda_stream_view{});
	buffer.shrink_to_fit(cuda_stream_view{});
	ok(buffer.alignment() == 128);

	device_buffer moved{std::move(buffer)};

	ok(moved.alignment() == 128 && buffer.alignment() == 1);
	copy = std::move(moved);
	ok(copy.alignment() == 128 && moved.alignment() == 1);
}

static void test_default_constructed_grows()
{
	device_buffer resized, reserved, shrunk;

	resized.resize(some, cuda_stream_view{});
	ok(resized.size() == some && resized.data());
	reserved.reserve(some, cuda_stream_view{});
	ok(!reserved.size() && reserved.capacity() == some);
	shrunk.shrink_to_fit(cuda_stream_view{});
	ok(!shrunk.data());
}

/* What was the current card when it was made, is it for all that comes later. */
static void test_card_is_kept()
{
	struct accel_pointer_info info;
	rmm::cuda_device_id first{0}, second{1};

	accel::set_current_device(second);
	{
		device_buffer buffer{some, cuda_stream_view{}};

		accel::set_current_device(first);
		buffer.resize(2 * some, cuda_stream_view{});
		ok(!accel_pointer_get_info(buffer.data(), &info));
		ok(info.device == accel::device_handle(second));

		device_buffer here{some, cuda_stream_view{}};

		ok(!accel_pointer_get_info(here.data(), &info));
		ok(info.device == accel::device_handle(first));
		ok(rmm::get_current_cuda_device() == first);
	}
	ok(throws<rmm::invalid_argument>([] { accel::set_current_device(rmm::cuda_device_id{7}); }));
}

/* Notes which card was current when it was asked. */
struct watching_resource {
	void *allocate(accel::stream_ref stream, std::size_t size, std::size_t alignment)
	{
		*seen = accel::get_current_device().value();
		return driver.allocate(stream, size, alignment);
	}
	void deallocate(accel::stream_ref stream, void *ptr, std::size_t size,
			std::size_t alignment) noexcept
	{
		*seen = accel::get_current_device().value();
		driver.deallocate(stream, ptr, size, alignment);
	}
	friend bool operator==(const watching_resource &a, const watching_resource &b)
	{
		return a.seen == b.seen;
	}

	int *seen;
	accel::device_resource driver{accel::device_id{1}};
};

static void test_card_is_current_for_the_resource()
{
	rmm::cuda_device_id first{0}, second{1};
	int seen = -1;

	accel::set_current_device(second);
	device_buffer buffer{some, cuda_stream_view{}, watching_resource{&seen}};
	accel::set_current_device(first);
	device_buffer moved{std::move(buffer)}, assigned;

	seen = -1;
	moved.resize(2 * some, cuda_stream_view{});
	ok(seen == 1);
	assigned = std::move(moved);
	seen = -1;
	assigned.shrink_to_fit(cuda_stream_view{});
	assigned.resize(3 * some, cuda_stream_view{});
	ok(seen == 1);
	seen = -1;
	assigned = device_buffer{};
	ok(seen == 1 && rmm::get_current_cuda_device() == first);
}

/* Every kind of host source and of memory. */
template <class Resource> static void works_on()
{
	auto bytes = pattern(some);
	Resource mr;
	device_buffer buffer{bytes.data(), some, cuda_stream_view{}, mr};
	accel::stream stream;

	ok(contents(buffer) == bytes);
	buffer.resize(2 * some, stream.view());
	buffer.resize(some, stream.view());
	buffer.shrink_to_fit(stream.view());
	stream.synchronize();
	ok(contents(buffer) == bytes);
	if (!std::is_same_v<Resource, rmm::mr::cuda_memory_resource>)
		ok(!memcmp(buffer.data(), bytes.data(), some));
	ok(buffer.memory_resource() == accel::any_resource{mr});
}

static void test_kinds_of_memory()
{
	works_on<rmm::mr::cuda_memory_resource>();
	works_on<rmm::mr::managed_memory_resource>();
	works_on<rmm::mr::pinned_host_memory_resource>();
}

static void test_streams_as_text()
{
	std::ostringstream out;

	out << rmm::cuda_stream_default;
	ok(!out.str().empty());
	static_assert(!std::is_constructible_v<cuda_stream_view, int>);
	static_assert(!std::is_constructible_v<cuda_stream_view, std::nullptr_t>);
	static_assert(!std::is_default_constructible_v<cuda::stream_ref>);
	static_assert(std::is_convertible_v<cuda_stream_view, cuda::stream_ref>);
	static_assert(std::is_convertible_v<cuda::stream_ref, cuda_stream_view>);
	static_assert(!std::is_copy_constructible_v<device_buffer>);
	static_assert(!std::is_copy_assignable_v<device_buffer>);
}

/* A card that is pulled: an exception in what allocates or copies, none in what frees. */
static void test_card_is_pulled()
{
	auto bytes = pattern(100);
	device_buffer buffer{bytes.data(), 100, cuda_stream_view{}};

	mock_remove(0);
	ok(throws<rmm::cuda_error>([&] { buffer.resize(200, cuda_stream_view{}); }));
	ok(buffer.size() == 100 && buffer.data());
	ok(throws<rmm::cuda_error>(
		[&] { device_buffer none{bytes.data(), 100, cuda_stream_view{}}; }));
}

int main()
{
	RUN(test_empty);
	RUN(test_size_zero_asks_nobody);
	RUN(test_default_resource);
	RUN(test_stream_is_kept);
	RUN(test_explicit_resource);
	RUN(test_resource_by_pointer);
	RUN(test_resource_is_owned);
	RUN(test_copy_from_host);
	RUN(test_copy_from_device);
	RUN(test_copy_from_null);
	RUN(test_copy_that_fails_leaves_nothing);
	RUN(test_copy_constructor);
	RUN(test_copy_takes_the_current_resource);
	RUN(test_copy_has_no_spare_capacity);
	RUN(test_move_constructor);
	RUN(test_move_assignment);
	RUN(test_move_assignment_to_itself);
	RUN(test_moved_from_can_be_used);
	RUN(test_moved_from_can_grow);
	RUN(test_resize_smaller);
	RUN(test_resize_bigger);
	RUN(test_reserve);
	RUN(test_shrink_to_nothing);
	RUN(test_streams_of_changes);
	RUN(test_no_memory_leaves_all_as_it_was);
	RUN(test_growth_whose_copy_fails);
	RUN(test_alignment);
	RUN(test_alignment_is_refused);
	RUN(test_alignment_is_kept);
	RUN(test_default_constructed_grows);
	RUN(test_card_is_kept);
	RUN(test_card_is_current_for_the_resource);
	RUN(test_kinds_of_memory);
	RUN(test_streams_as_text);
	RUN(test_card_is_pulled);
	return tap_end();
}
