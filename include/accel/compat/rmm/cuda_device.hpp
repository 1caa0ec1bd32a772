/* SPDX-License-Identifier: MIT */
/* Devices by number. */
#ifndef ACCEL_COMPAT_RMM_CUDA_DEVICE_HPP
#define ACCEL_COMPAT_RMM_CUDA_DEVICE_HPP

#include <accel/stream.hpp>

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

} // namespace rmm

#endif /* ACCEL_COMPAT_RMM_CUDA_DEVICE_HPP */
