/* SPDX-License-Identifier: MIT */
/* Alignment. */
#ifndef ACCEL_COMPAT_RMM_ALIGNED_HPP
#define ACCEL_COMPAT_RMM_ALIGNED_HPP

#include <accel/memory_resource.hpp>

#include <cstddef>
#include <cstdint>

namespace rmm __attribute__((visibility("default"))) {

inline constexpr std::size_t CUDA_ALLOCATION_ALIGNMENT = accel::default_alignment;
inline constexpr std::size_t RMM_DEFAULT_HOST_ALIGNMENT = alignof(std::max_align_t);

constexpr bool is_pow2(std::size_t value) noexcept
{
	return value && !(value & (value - 1));
}

constexpr bool is_supported_alignment(std::size_t alignment) noexcept
{
	return is_pow2(alignment);
}

constexpr std::size_t align_up(std::size_t value, std::size_t alignment) noexcept
{
	return (value + alignment - 1) & ~(alignment - 1);
}

constexpr std::size_t align_down(std::size_t value, std::size_t alignment) noexcept
{
	return value & ~(alignment - 1);
}

constexpr bool is_aligned(std::size_t value, std::size_t alignment) noexcept
{
	return value == align_down(value, alignment);
}

inline bool is_pointer_aligned(void *ptr,
			       std::size_t alignment = CUDA_ALLOCATION_ALIGNMENT) noexcept
{
	return is_aligned(reinterpret_cast<std::uintptr_t>(ptr), alignment);
}

} // namespace rmm

#endif /* ACCEL_COMPAT_RMM_ALIGNED_HPP */
