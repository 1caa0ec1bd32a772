/* SPDX-License-Identifier: MIT */
/* The base class of resources until 25.12, for those that programs have written. */
#ifndef ACCEL_COMPAT_RMM_MR_DEVICE_DEVICE_MEMORY_RESOURCE_HPP
#define ACCEL_COMPAT_RMM_MR_DEVICE_DEVICE_MEMORY_RESOURCE_HPP

#include <accel/memory_resource.hpp>
#include <rmm/aligned.hpp>
#include <rmm/cuda_stream_view.hpp>

#include <cstddef>

namespace rmm __attribute__((visibility("default"))) {
namespace mr {

class device_memory_resource {
public:
	device_memory_resource() = default;
	virtual ~device_memory_resource() = default;
	device_memory_resource(const device_memory_resource &) = default;
	device_memory_resource &operator=(const device_memory_resource &) = default;

	void *allocate_async(std::size_t bytes, std::size_t alignment, cuda_stream_view stream)
	{
		static_cast<void>(alignment); /* that of do_allocate() is always the same */
		return do_allocate(bytes, stream);
	}
	void *allocate_async(std::size_t bytes, cuda_stream_view stream)
	{
		return do_allocate(bytes, stream);
	}
	void deallocate_async(void *ptr, std::size_t bytes, std::size_t alignment,
			      cuda_stream_view stream) noexcept
	{
		static_cast<void>(alignment);
		do_deallocate(ptr, bytes, stream);
	}
	void deallocate_async(void *ptr, std::size_t bytes, cuda_stream_view stream) noexcept
	{
		do_deallocate(ptr, bytes, stream);
	}
	void *allocate(std::size_t bytes, cuda_stream_view stream = {})
	{
		return do_allocate(bytes, stream);
	}
	void deallocate(void *ptr, std::size_t bytes, cuda_stream_view stream = {}) noexcept
	{
		do_deallocate(ptr, bytes, stream);
	}
	bool is_equal(const device_memory_resource &other) const noexcept
	{
		return do_is_equal(other);
	}
	friend bool operator==(const device_memory_resource &a,
			       const device_memory_resource &b) noexcept
	{
		return a.do_is_equal(b);
	}
	friend bool operator!=(const device_memory_resource &a,
			       const device_memory_resource &b) noexcept
	{
		return !a.do_is_equal(b);
	}

private:
	virtual void *do_allocate(std::size_t bytes, cuda_stream_view stream) = 0;
	virtual void do_deallocate(void *ptr, std::size_t bytes, cuda_stream_view stream) = 0;
	virtual bool do_is_equal(const device_memory_resource &other) const noexcept
	{
		return this == &other;
	}
};

} // namespace mr
} // namespace rmm

#endif /* ACCEL_COMPAT_RMM_MR_DEVICE_DEVICE_MEMORY_RESOURCE_HPP */
