/* SPDX-License-Identifier: MIT */
/* Streams, as RMM's headers find them since 26.10. */
#ifndef ACCEL_COMPAT_RMM_DETAIL_CUDA_STREAM_HPP
#define ACCEL_COMPAT_RMM_DETAIL_CUDA_STREAM_HPP

#include <rmm/cuda_stream_view.hpp>

#endif /* ACCEL_COMPAT_RMM_DETAIL_CUDA_STREAM_HPP */
