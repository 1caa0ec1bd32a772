/* SPDX-License-Identifier: MIT */
/* Streams that somebody else owns. */
#ifndef ACCEL_COMPAT_RMM_CUDA_STREAM_VIEW_HPP
#define ACCEL_COMPAT_RMM_CUDA_STREAM_VIEW_HPP

#include <accel/stream.hpp>
#include <cuda/stream>
#include <cuda_runtime_api.h>

namespace rmm __attribute__((visibility("default"))) {

using cuda_stream_view = accel::stream_view;

/* One stream by three names. */
inline constexpr cuda_stream_view cuda_stream_default{};
inline constexpr cuda_stream_view cuda_stream_legacy{};
inline constexpr cuda_stream_view cuda_stream_per_thread{};

} // namespace rmm

#endif /* ACCEL_COMPAT_RMM_CUDA_STREAM_VIEW_HPP */
