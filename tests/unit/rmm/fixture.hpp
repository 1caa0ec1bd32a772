/* SPDX-License-Identifier: MIT */
/*
 * Tests of the C++ interface over the mock: a card of 1 MiB, and what a test says.
 */
#ifndef RMM_FIXTURE_HPP
#define RMM_FIXTURE_HPP

extern "C" {
#include "mock.h"
}
#include "tap.h"

#include <rmm/device_buffer.hpp>
#include <rmm/mr/cuda_memory_resource.hpp>
#include <rmm/mr/limiting_resource_adaptor.hpp>
#include <rmm/mr/logging_resource_adaptor.hpp>
#include <rmm/mr/managed_memory_resource.hpp>
#include <rmm/mr/pinned_host_memory_resource.hpp>
#include <rmm/mr/pool_memory_resource.hpp>
#include <rmm/mr/statistics_resource_adaptor.hpp>
#include <rmm/mr/tracking_resource_adaptor.hpp>

#include <string>
#include <vector>

constexpr std::size_t card_size = 1 << 20;

/* Each test starts with a card whose resource is the driver, and ends without open files. */
#define RUN(test) run(test, #test)

inline void run(void (*test)(), const char *name)
{
	mock_reset();
	mock_add_sized(0, card_size, card_size);
	mock_add_sized(1, card_size, card_size);
	try {
		test();
	} catch (const std::exception &error) {
		printf("# %s: %s\n", name, error.what());
		tap_check(0, name, 0, "no exception");
	}
	accel::set_current_device(accel::device_id{0});
	accel::close_devices();
	if (mock_files())
		tap_check(0, name, 0, "all files are closed again");
	tap_done(name);
}

/* Whether a call throws exactly this, with a sentence. */
template <class E, class Call> bool throws(Call call)
{
	try {
		call();
	} catch (const E &error) {
		if (typeid(error) == typeid(E) && *error.what())
			return true;
		printf("# another exception: %s\n", error.what());
		return false;
	} catch (const std::exception &error) {
		printf("# another exception: %s\n", error.what());
		return false;
	}
	return false;
}

/* Bytes that differ from their neighbours. */
inline std::vector<unsigned char> pattern(std::size_t size, unsigned int seed = 1)
{
	std::vector<unsigned char> bytes(size);

	for (auto &byte : bytes)
		byte = static_cast<unsigned char>((seed = seed * 1103515245 + 12345) >> 16);
	return bytes;
}

/* What the card has. */
inline std::vector<unsigned char> contents(const rmm::device_buffer &buffer)
{
	std::vector<unsigned char> bytes(buffer.size());

	if (!bytes.empty())
		accel::check(accel_memory_copy(bytes.data(), buffer.data(), bytes.size()));
	return bytes;
}

/* Counts what is asked of it, and passes it on to the driver. */
struct counting_resource {
	struct counts {
		unsigned int allocations = 0, deallocations = 0;
		std::size_t live = 0;
		accel_stream *last = nullptr;
		std::size_t alignment = 0;
	};

	void *allocate(accel::stream_ref stream, std::size_t size, std::size_t alignment)
	{
		void *ptr = accel::device_resource{}.allocate(stream, size, alignment);

		now->allocations++;
		now->live += size;
		now->last = stream.get();
		now->alignment = alignment;
		return ptr;
	}
	void deallocate(accel::stream_ref stream, void *ptr, std::size_t size,
			std::size_t alignment) noexcept
	{
		now->deallocations++;
		now->live -= size;
		now->last = stream.get();
		accel::device_resource{}.deallocate(stream, ptr, size, alignment);
	}
	friend bool operator==(const counting_resource &a, const counting_resource &b)
	{
		return a.now == b.now;
	}

	counts *now;
};

#endif
