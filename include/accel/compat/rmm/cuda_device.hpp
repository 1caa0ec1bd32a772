/* SPDX-License-Identifier: MIT */
/* Devices by number. */
#ifndef ACCEL_COMPAT_RMM_CUDA_DEVICE_HPP
#define ACCEL_COMPAT_RMM_CUDA_DEVICE_HPP

#include <accel/stream.hpp>
#include <rmm/aligned.hpp>

#include <cstddef>
#include <utility>

namespace rmm __attribute__((visibility("default"))) {

using cuda_device_id = accel::device_id;
using cuda_set_device_raii = accel::device_guard;

inline cuda_device_id get_current_cuda_device()
{
	return accel::get_current_device();
}

inline int get_num_cuda_devices()
{
	int count = accel_device_count();

	if (count < 0)
		accel::check(count);
	return count;
}

/* Free and total bytes of the current device. Memory that is still to be scrubbed is not free. */
inline std::pair<std::size_t, std::size_t> available_device_memory()
{
	struct accel_memory_stats stats;

	accel::check(accel_memory_stats_full(accel::device_handle(), &stats));
	return {stats.free, stats.total};
}

/* Aligned down to what a pool takes as its size. */
inline std::size_t percent_of_free_device_memory(int percent)
{
	const double size = static_cast<double>(available_device_memory().first) * percent / 100;

	return align_down(static_cast<std::size_t>(size), CUDA_ALLOCATION_ALIGNMENT);
}

} // namespace rmm

#endif /* ACCEL_COMPAT_RMM_CUDA_DEVICE_HPP */
