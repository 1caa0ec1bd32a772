/* SPDX-License-Identifier: MIT */
/* RMM's device_buffer is accel::device_buffer. */
#ifndef ACCEL_COMPAT_RMM_DEVICE_BUFFER_HPP
#define ACCEL_COMPAT_RMM_DEVICE_BUFFER_HPP

#include <accel/device_buffer.hpp>
#include <rmm/aligned.hpp>
#include <rmm/cuda_device.hpp>
#include <rmm/cuda_stream_view.hpp>
#include <rmm/detail/error.hpp>
#include <rmm/detail/export.hpp>
#include <rmm/mr/per_device_resource.hpp>
#include <rmm/resource_ref.hpp>

namespace rmm __attribute__((visibility("default"))) {

using accel::device_buffer;

} // namespace rmm

#endif /* ACCEL_COMPAT_RMM_DEVICE_BUFFER_HPP */
