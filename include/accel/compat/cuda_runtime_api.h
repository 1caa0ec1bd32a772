/* SPDX-License-Identifier: MIT */
/* The few calls of CUDA's runtime that RMM's headers make, and that programs which use them make
 * themselves. For C++. */
#ifndef ACCEL_COMPAT_CUDA_RUNTIME_API_H
#define ACCEL_COMPAT_CUDA_RUNTIME_API_H

#ifdef __CUDA_RUNTIME_API_H__
#error "CUDA's cuda_runtime_api.h is included before accel's: put accel/compat first in the include path"
#endif

#include <accel/device_buffer.hpp>
#include <accel/memory_resource.hpp>

#include <cstddef>
#include <cstring>

using cudaStream_t = accel_stream *;

enum cudaError_t {
	cudaSuccess = 0,
	cudaErrorInvalidValue = 1,
	cudaErrorMemoryAllocation = 2,
	cudaErrorInvalidDevice = 101,
	cudaErrorNotReady = 600,
	cudaErrorUnknown = 999,
};

enum cudaMemcpyKind {
	cudaMemcpyHostToHost,
	cudaMemcpyHostToDevice,
	cudaMemcpyDeviceToHost,
	cudaMemcpyDeviceToDevice,
	/* The direction follows from the addresses. So it does for all others. */
	cudaMemcpyDefault,
};

#define cudaStreamDefault 0x00
#define cudaStreamLegacy (static_cast<cudaStream_t>(nullptr))
#define cudaStreamPerThread (static_cast<cudaStream_t>(nullptr))

namespace accel __attribute__((visibility("default"))) {
namespace detail {

/* The error of the last call that failed in this thread; cudaGetLastError() takes it. */
inline cudaError_t &cuda_last_error() noexcept
{
	thread_local cudaError_t last = cudaSuccess;

	return last;
}

/* Whether accel_last_error() is about the last error of this thread. */
inline bool &cuda_error_has_message() noexcept
{
	thread_local bool has_message = false;

	return has_message;
}

/* @has_message: a call of libaccel has returned @err. */
inline cudaError_t cuda_result(int err, bool has_message = true) noexcept
{
	cudaError_t result;

	switch (err) {
	case 0:
		cuda_error_has_message() = false;
		return cudaSuccess;
	case -EINPROGRESS:
		return cudaErrorNotReady;
	case -EINVAL:
	case -EFAULT:
	case -ENOENT:
	case -ERANGE:
		result = cudaErrorInvalidValue;
		break;
	case -ENOMEM:
	case -EDQUOT:
		result = cudaErrorMemoryAllocation;
		break;
	case -ENODEV:
		result = cudaErrorInvalidDevice;
		break;
	default:
		result = cudaErrorUnknown;
	}
	cuda_error_has_message() = has_message;
	return cuda_last_error() = result;
}

/* A call that throws, as one that does not. */
template <class Call> cudaError_t cuda_call(Call call) noexcept
{
	try {
		call();
		return cuda_result(0);
	} catch (const device_error &error) {
		return cuda_result(error.code() ? error.code() : -EIO, error.code() != 0);
	} catch (const bad_alloc &) {
		return cuda_result(-ENOMEM);
	} catch (const std::bad_alloc &) {
		return cuda_result(-ENOMEM, false);
	} catch (const std::invalid_argument &) {
		cuda_error_has_message() = false;
		return cuda_last_error() = cudaErrorInvalidDevice;
	} catch (...) {
		return cuda_result(-EIO, false);
	}
}

} // namespace detail
} // namespace accel

inline cudaError_t cudaGetLastError() noexcept
{
	return std::exchange(accel::detail::cuda_last_error(), cudaSuccess);
}

inline cudaError_t cudaPeekAtLastError() noexcept
{
	return accel::detail::cuda_last_error();
}

inline const char *cudaGetErrorName(cudaError_t error) noexcept
{
	switch (error) {
	case cudaSuccess:
		return "cudaSuccess";
	case cudaErrorInvalidValue:
		return "cudaErrorInvalidValue";
	case cudaErrorMemoryAllocation:
		return "cudaErrorMemoryAllocation";
	case cudaErrorInvalidDevice:
		return "cudaErrorInvalidDevice";
	case cudaErrorNotReady:
		return "cudaErrorNotReady";
	case cudaErrorUnknown:
		return "cudaErrorUnknown";
	}
	return "unrecognized error code";
}

inline const char *cudaGetErrorString(cudaError_t error) noexcept
{
	switch (error) {
	case cudaSuccess:
		return "no error";
	case cudaErrorInvalidValue:
		return "invalid argument";
	case cudaErrorMemoryAllocation:
		return "out of memory";
	case cudaErrorInvalidDevice:
		return "invalid device ordinal";
	case cudaErrorNotReady:
		return "device not ready";
	case cudaErrorUnknown:
		return "unknown error";
	}
	return "unrecognized error code";
}

inline cudaError_t cudaMalloc(void **ptr, std::size_t size) noexcept
{
	return accel::detail::cuda_call([=] {
		*ptr = nullptr;
		*ptr = accel::device_resource{}.allocate_sync(size);
	});
}

inline cudaError_t cudaFree(void *ptr) noexcept
{
	struct accel_pointer_info info;
	int err = 0;

	if (ptr) {
		err = accel_pointer_get_info(ptr, &info);
		if (!err && info.kind != ACCEL_MEMORY_DEVICE)
			return accel::detail::cuda_result(-EINVAL, false);
		if (!err)
			err = accel_device_memory_deallocate(info.device, ptr, info.size);
	}
	return accel::detail::cuda_result(err);
}

namespace accel __attribute__((visibility("default"))) {
namespace detail {

/* Waits for the streams of the device whose memory this is. Pageable memory has none. */
inline int synchronize_device_of(const void *ptr) noexcept
{
	struct accel_pointer_info info;
	const int err = accel_pointer_get_info(ptr, &info);

	if (err || !info.device)
		return err;
	switch (const int waited = accel_device_synchronize(info.device)) {
	case -ENODEV:
	case -ESTALE:
	case -EDEADLK:
	case -EPERM:
		return waited;
	default:
		/* The error of a stream, which the copy has nothing to do with. */
		return 0;
	}
}

} // namespace detail
} // namespace accel

/* Ordered after the work of all streams of both devices, as on CUDA's legacy default stream. */
inline cudaError_t cudaMemcpy(void *dst, const void *src, std::size_t size, cudaMemcpyKind) noexcept
{
	int err = size ? accel::detail::synchronize_device_of(src) : 0;

	if (!err && size)
		err = accel::detail::synchronize_device_of(dst);
	if (!err && size)
		err = accel_memory_copy(dst, src, size);
	return accel::detail::cuda_result(err);
}

inline cudaError_t cudaMemcpyAsync(void *dst, const void *src, std::size_t size, cudaMemcpyKind,
				   cudaStream_t stream = nullptr) noexcept
{
	return accel::detail::cuda_result(
		size ? accel_async_memory_copy(stream, dst, src, size) : 0);
}

namespace accel __attribute__((visibility("default"))) {
namespace detail {

/* The processor's memory: filled as unified memory is, behind the stream and complete on return. */
inline cudaError_t fill_pinned(const struct accel_pointer_info &info, accel_stream *stream, void *ptr,
		       unsigned char value, std::size_t size) noexcept
{
	const auto before = static_cast<std::size_t>(static_cast<unsigned char *>(ptr) -
						     static_cast<unsigned char *>(info.base));
	int err = 0;

	if (size > info.size - before)
		return cuda_result(-EFAULT, false);
	if (stream)
		err = accel_stream_synchronize(stream);
	if (!err)
		std::memset(ptr, value, size);
	return cuda_result(err);
}

} // namespace detail
} // namespace accel

inline cudaError_t cudaMemsetAsync(void *ptr, int value, std::size_t size,
				   cudaStream_t stream = nullptr) noexcept
{
	const auto byte = static_cast<unsigned char>(value);
	struct accel_pointer_info info;
	int err = size ? accel_pointer_get_info(ptr, &info) : 0;

	if (!err && size && info.kind == ACCEL_MEMORY_HOST)
		return accel::detail::fill_pinned(info, stream, ptr, byte, size);
	if (!err && size)
		err = accel_async_device_memory_set(info.device, stream, ptr, byte, size);
	return accel::detail::cuda_result(err);
}

inline cudaError_t cudaStreamSynchronize(cudaStream_t stream) noexcept
{
	return accel::detail::cuda_call([=] { accel::stream_view{stream}.synchronize(); });
}

inline cudaError_t cudaStreamCreate(cudaStream_t *stream) noexcept
{
	return accel::detail::cuda_call([=] {
		*stream = nullptr;
		accel::check(accel_stream_create(accel::device_handle(), stream));
	});
}

inline cudaError_t cudaStreamDestroy(cudaStream_t stream) noexcept
{
	return accel::detail::cuda_result(accel_stream_destroy(stream));
}

inline cudaError_t cudaDeviceSynchronize() noexcept
{
	return cudaStreamSynchronize(nullptr);
}

inline cudaError_t cudaGetDevice(int *device) noexcept
{
	*device = accel::get_current_device().value();
	return cudaSuccess;
}

inline cudaError_t cudaSetDevice(int device) noexcept
{
	return accel::detail::cuda_call([=] { accel::set_current_device(accel::device_id{device}); });
}

inline cudaError_t cudaGetDeviceCount(int *count) noexcept
{
	int found = accel_device_count();

	*count = found < 0 ? 0 : found;
	return accel::detail::cuda_result(found < 0 ? found : 0);
}

#endif /* ACCEL_COMPAT_CUDA_RUNTIME_API_H */
