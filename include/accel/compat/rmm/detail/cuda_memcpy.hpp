/* SPDX-License-Identifier: MIT */
/* The copy of RMM's containers since 26.10. */
#ifndef ACCEL_COMPAT_RMM_DETAIL_CUDA_MEMCPY_HPP
#define ACCEL_COMPAT_RMM_DETAIL_CUDA_MEMCPY_HPP

#include <cuda_runtime_api.h>

#include <cstddef>

namespace rmm __attribute__((visibility("default"))) {
namespace detail {

inline cudaError_t memcpy_async(void *dst, const void *src, std::size_t count,
				accel::stream_ref stream)
{
	return cudaMemcpyAsync(dst, src, count, cudaMemcpyDefault, stream.get());
}

} // namespace detail
} // namespace rmm

#endif /* ACCEL_COMPAT_RMM_DETAIL_CUDA_MEMCPY_HPP */
