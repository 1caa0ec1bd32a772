/* SPDX-License-Identifier: MIT */
/*
 * C++ by RMM's names, for layers.py, which loads this with ctypes: a stream, a pool of device memory, and a
 * buffer of the pool. Functions return 0 or a negative errno, or an error of CUDA.
 */
#include <cuda_runtime_api.h>
#include <rmm/cuda_device.hpp>
#include <rmm/cuda_stream.hpp>
#include <rmm/device_buffer.hpp>
#include <rmm/mr/cuda_memory_resource.hpp>
#include <rmm/mr/pool_memory_resource.hpp>

struct layer {
	explicit layer(std::size_t size)
		: pool{rmm::mr::cuda_memory_resource{}, size}, buffer{size, stream, pool} {}

	rmm::cuda_stream stream;
	rmm::mr::pool_memory_resource pool;
	rmm::device_buffer buffer;
};

template <class Call> static int errno_of(Call call) noexcept
{
	try {
		call();
		return 0;
	} catch (const rmm::cuda_error &error) {
		return error.code() ? error.code() : -EIO;
	} catch (const std::bad_alloc &) {
		return -ENOMEM;
	} catch (...) {
		return -EINVAL;
	}
}

extern "C" {

int layer_open(int device, std::size_t size, layer **made)
{
	return errno_of([&] {
		rmm::cuda_set_device_raii current{rmm::cuda_device_id{device}};

		*made = new layer{size};
	});
}

/* The devices, too, unless they are used by another layer. */
void layer_close(layer *layer)
{
	delete layer;
	accel::close_devices();
}

void *layer_data(layer *layer)
{
	return layer->buffer.data();
}

/* Queued on the stream, and waited for. */
int layer_copy(layer *layer, void *dst, const void *src, std::size_t size)
{
	return errno_of([&] {
		accel::check(accel_async_memory_copy(layer->stream.value(), dst, src, size));
		layer->stream.synchronize();
	});
}

/* On no stream: waits for all streams of the device. */
cudaError_t layer_copy_behind_all(void *dst, const void *src, std::size_t size)
{
	return cudaMemcpy(dst, src, size, cudaMemcpyDefault);
}

int layer_clear(layer *layer)
{
	return accel_stream_clear(layer->stream.value());
}

cudaError_t layer_allocate(int device, std::size_t size, void **ptr)
{
	rmm::cuda_set_device_raii current{rmm::cuda_device_id{device}};

	return cudaMalloc(ptr, size);
}

cudaError_t layer_free(void *ptr)
{
	return cudaFree(ptr);
}

} // extern "C"
