/* SPDX-License-Identifier: MIT */
/*
 * SUNDIALS and RMM share a pool in one program: a vector of RMM, a block of a SUNMemoryHelper, and
 * copies between them inside the device.
 *
 *   shared [CARD]    number of the device, 0 by default; prints TAP
 */
#include "../../unit/tap.h"

#include <accel/sundials.h>
#include <rmm/device_uvector.hpp>
#include <rmm/mr/cuda_memory_resource.hpp>
#include <rmm/mr/pool_memory_resource.hpp>
#include <sundials/sundials_core.h>

#include <numeric>
#include <vector>

static const std::size_t count = 24;

static struct accel_pool_stats stats_of(const accel::pool_resource &pool)
{
	struct accel_pool_stats stats;

	accel::check(accel_pool_get_stats(pool.c_pool(), &stats));
	return stats;
}

static void test_one_pool(SUNMemoryHelper helper, const accel::pool_resource &pool,
			  accel_device *dev)
{
	const auto stream = accel::default_stream;
	const std::size_t bytes = count * sizeof(double);
	struct accel_memory_stats before, after;
	std::vector<double> numbers(count), back(count);
	SUNMemory block = nullptr, vector = nullptr;

	std::iota(numbers.begin(), numbers.end(), 0.5);
	{
		rmm::device_uvector<double> first(count, stream, pool), second(count, stream, pool);

		ok(stats_of(pool).count == 2);
		accel::check(accel_memory_copy(first.data(), numbers.data(), bytes));
		ok(!SUNMemoryHelper_Alloc(helper, &block, bytes, SUNMEMTYPE_DEVICE, nullptr));
		ok(stats_of(pool).count == 3 && stats_of(pool).chunks == 1);

		/* From the vector into the block, and from there into the other vector. */
		vector = SUNMemoryHelper_Wrap(helper, first.data(), SUNMEMTYPE_DEVICE);
		accel::check(accel_memory_stats_full(dev, &before));
		ok(!SUNMemoryHelper_Copy(helper, block, vector, bytes, nullptr));
		accel::check(accel_memory_stats_full(dev, &after));
		ok(after.bytes_d2d - before.bytes_d2d == bytes);
		accel::check(accel_memory_copy(second.data(), block->ptr, bytes));
		ok(second.element(0, stream) == 0.5 && second.back_element(stream) == count - 0.5);
		ok(!SUNMemoryHelper_Dealloc(helper, vector, nullptr));

		/* What the one has freed, the other gets: all that is left is one block again. */
		ok(!SUNMemoryHelper_Dealloc(helper, block, nullptr));
		ok(stats_of(pool).largest_free == stats_of(pool).free_bytes);
		rmm::device_uvector<double> third(stats_of(pool).free_bytes / sizeof(double), stream,
						  pool);

		ok(!stats_of(pool).free_bytes && stats_of(pool).chunks == 1);
	}
	ok(!stats_of(pool).count && !stats_of(pool).bytes);
	tap_done("test_one_pool");
}

static void run()
{
	accel_device *dev = accel::device_handle();
	struct accel_memory_stats stats;
	{
		rmm::mr::pool_memory_resource pool{rmm::mr::cuda_memory_resource{}, 2048, 2048};
		const accel_resource resource = pool.c_resource();
		SUNContext ctx;

		ok(!SUNContext_Create(SUN_COMM_NULL, &ctx));
		const accel_resource *from[SUNMEMTYPE_UVM + 1] = {};

		from[SUNMEMTYPE_DEVICE] = &resource;
		SUNMemoryHelper helper = SUNMemoryHelper_AccelWithResources(ctx, dev, from);

		if (!helper)
			throw std::runtime_error{accel_last_error()};
		test_one_pool(helper, pool, dev);
		ok(!SUNMemoryHelper_Destroy(helper) && !SUNContext_Free(&ctx));
	}
	accel::check(accel_memory_stats_full(dev, &stats));
	ok(!stats.mine);
	tap_done("nothing is left");
}

int main(int argc, char **argv)
{
	try {
		accel::set_current_device(accel::device_id{argc > 1 ? atoi(argv[1]) : 0});
		run();
	} catch (const std::exception &error) {
		printf("Bail out! %s\n", error.what());
		return 1;
	}
	return tap_end();
}
