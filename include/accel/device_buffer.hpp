/* SPDX-License-Identifier: MIT */
/*
 * A block of device memory with an owner: accel_buffer as a class, with the members, exceptions and
 * order on streams of RMM's device_buffer. Documentation/rmm.md has them all.
 */
#ifndef ACCEL_DEVICE_BUFFER_HPP
#define ACCEL_DEVICE_BUFFER_HPP

#include <accel/buffer.h>
#include <accel/error.hpp>
#include <accel/memory_resource.hpp>
#include <accel/stream.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace accel __attribute__((visibility("default"))) {

/**
 * A block of bytes, not initialised. Allocations, copies and deallocations are queued on the stream
 * that was given last, without a wait for the stream before it. A call that throws has changed
 * nothing but the stream, unless a pool has detected damage (ACCEL_POOL_DEBUG): then the operation
 * was done. Not thread-safe.
 *
 * The device that was current when the buffer was constructed is current during calls of its
 * resource.
 */
class device_buffer {
public:
	device_buffer() : mr_{get_current_device_resource()} { start(default_alignment, {}); }

	/* Throws bad_alloc, out_of_memory; invalid_argument if @alignment is no power of two. */
	device_buffer(std::size_t size, stream_view stream,
		      any_resource mr = get_current_device_resource())
		: device_buffer{size, default_alignment, stream, std::move(mr)}
	{
	}
	device_buffer(std::size_t size, std::size_t alignment, stream_view stream,
		      any_resource mr = get_current_device_resource())
		: mr_{std::move(mr)}
	{
		create(size, alignment, stream);
	}

	/*
	 * @source is host or device memory, at any address. Unless it is pageable, it must not
	 * change until the copy has ended. Throws logic_error if @source is null, device_error if
	 * the copy fails, and the exceptions of the constructor without @source.
	 */
	device_buffer(const void *source, std::size_t size, stream_view stream,
		      any_resource mr = get_current_device_resource())
		: device_buffer{source, size, default_alignment, stream, std::move(mr)}
	{
	}
	device_buffer(const void *source, std::size_t size, std::size_t alignment, stream_view stream,
		      any_resource mr = get_current_device_resource())
		: mr_{std::move(mr)}
	{
		if (!source && size)
			throw logic_error{"Invalid copy from nullptr."};
		create(size, alignment, stream);
		fill_from(source);
	}

	/* Copies size() bytes, not capacity(), into memory of the current resource, not that of @other. */
	device_buffer(const device_buffer &other, stream_view stream,
		      any_resource mr = get_current_device_resource())
		: mr_{std::move(mr)}
	{
		create(other.size(), other.alignment(), stream);
		fill_from(other.data());
	}
	/* A copy needs a stream. */
	device_buffer(const device_buffer &) = delete;
	device_buffer &operator=(const device_buffer &) = delete;

	device_buffer(device_buffer &&other) noexcept : mr_{other.mr_}, device_{other.device_}
	{
		take(other);
	}
	/* The memory that this buffer had is freed on its own stream. */
	device_buffer &operator=(device_buffer &&other) noexcept
	{
		if (this == &other)
			return *this;
		destroy();
		mr_ = other.mr_;
		device_ = other.device_;
		take(other);
		return *this;
	}
	~device_buffer() noexcept { destroy(); }

	/* Throws bad_alloc, out_of_memory, device_error. */
	void reserve(std::size_t capacity, stream_view stream)
	{
		change([&] { return accel_buffer_reserve(&buffer_, capacity, stream); });
	}
	void resize(std::size_t size, stream_view stream)
	{
		change([&] { return accel_buffer_resize(&buffer_, size, stream); });
	}
	void shrink_to_fit(stream_view stream)
	{
		change([&] { return accel_buffer_shrink_to_fit(&buffer_, stream); });
	}

	const void *data() const noexcept { return buffer_.data; }
	void *data() noexcept { return buffer_.data; }
	std::size_t size() const noexcept { return buffer_.size; }
	std::int64_t ssize() const noexcept { return static_cast<std::int64_t>(buffer_.size); }
	bool is_empty() const noexcept { return !buffer_.size; }
	/* The size in bytes that was requested. */
	std::size_t capacity() const noexcept { return buffer_.capacity; }
	std::size_t alignment() const noexcept { return buffer_.alignment; }
	stream_view stream() const noexcept { return stream_view{buffer_.stream}; }
	/* The stream of the next deallocation. */
	void set_stream(stream_view stream) noexcept { accel_buffer_set_stream(&buffer_, stream); }
	/* The buffer keeps the resource alive. */
	resource_ref memory_resource() const noexcept { return mr_; }

private:
	void start(std::size_t alignment, stream_view stream) noexcept
	{
		buffer_.resource = mr_.c_resource();
		buffer_.alignment = alignment;
		buffer_.stream = stream.value();
	}

	void create(std::size_t size, std::size_t alignment, stream_view stream)
	{
		if (!alignment || (alignment & (alignment - 1)))
			throw invalid_argument{"An alignment of " + std::to_string(alignment) +
					       " is not a power of two."};
		detail::allocate_or_throw([&] {
			return accel_buffer_create(&buffer_, &mr_.c_resource(), stream.value(), size,
						   alignment);
		});
	}

	/* Called by constructors: after an exception there the destructor does not run. */
	void fill_from(const void *source)
	{
		int err = 0;

		if (size())
			err = accel_async_memory_copy(buffer_.stream, buffer_.data, source, size());
		if (!err)
			return;
		device_error error{err, detail::sentence(err)};
		destroy();
		throw error;
	}

	template <class Change> void change(Change call)
	{
		device_guard guard{device_};

		/* Without memory nothing is copied or freed: what fails is the allocation. */
		detail::allocate_or_throw(call, capacity() != 0);
	}

	void take(device_buffer &other) noexcept
	{
		accel_buffer_move(&buffer_, &other.buffer_);
		other.buffer_.alignment = 1;
	}

	void destroy() noexcept
	{
		device_guard guard{device_};

		accel_buffer_destroy(&buffer_);
	}

	any_resource mr_;
	device_id device_ = get_current_device();
	accel_buffer buffer_ = ACCEL_BUFFER_INIT;
};

} // namespace accel

#endif /* ACCEL_DEVICE_BUFFER_HPP */
