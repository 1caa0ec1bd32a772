/* SPDX-License-Identifier: MIT */
/* A stream of one's own. */
#ifndef ACCEL_COMPAT_RMM_CUDA_STREAM_HPP
#define ACCEL_COMPAT_RMM_CUDA_STREAM_HPP

#include <rmm/cuda_stream_view.hpp>

namespace rmm __attribute__((visibility("default"))) {

using cuda_stream = accel::stream;

} // namespace rmm

#endif /* ACCEL_COMPAT_RMM_CUDA_STREAM_HPP */
