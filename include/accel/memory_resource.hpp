/* SPDX-License-Identifier: MIT */
/*
 * Sources of memory in C++: accel_resource as a value, resources that are classes, and the default
 * resource of each device.
 */
#ifndef ACCEL_MEMORY_RESOURCE_HPP
#define ACCEL_MEMORY_RESOURCE_HPP

#include <accel/error.hpp>
#include <accel/pool.h>
#include <accel/resource.h>
#include <accel/stream.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <execinfo.h>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace accel __attribute__((visibility("default"))) {

/* The default alignment of allocations, which is that of cudaMalloc(). */
inline constexpr std::size_t default_alignment = 256;

class resource_ref;
class any_resource;

namespace detail {

/* --- a class as a table of functions ------------------------------------------------------------ */

/*
 * An exception cannot go through the library, which is C. It waits here while the error of the call
 * comes back, and is thrown again.
 */
inline std::exception_ptr &pending_exception() noexcept
{
	thread_local std::exception_ptr pending;

	return pending;
}

/*
 * Makes a call that asks resources for memory, and throws if it fails: what one of them threw, or
 * for the error. Where memory is @copied, too, other errors than no memory are those of the device.
 */
template <class Call> void allocate_or_throw(Call call, bool copied = false)
{
	std::exception_ptr pending;
	int err;

	pending_exception() = nullptr;
	err = call();
	if (!err)
		return;
	pending = std::exchange(pending_exception(), nullptr);
	if (pending)
		std::rethrow_exception(pending);
	if (copied && err != -ENOMEM && err != -EDQUOT)
		throw device_error{err, sentence(err)};
	throw_allocation(err);
}

/* The error that an exception is to C. */
inline int errno_of_exception() noexcept
{
	pending_exception() = std::current_exception();
	try {
		throw;
	} catch (const device_error &error) {
		return error.code() ? error.code() : -EIO;
	} catch (const std::bad_alloc &) {
		return -ENOMEM;
	} catch (...) {
		return -EIO;
	}
}

template <class R, class = void> struct allocates_on_stream : std::false_type {};
template <class R>
struct allocates_on_stream<
	R, std::void_t<decltype(std::declval<R &>().allocate(
			       std::declval<stream_ref>(), std::size_t{}, std::size_t{})),
		       decltype(std::declval<R &>().deallocate(
			       std::declval<stream_ref>(), std::declval<void *&>(), std::size_t{},
			       std::size_t{}))>> : std::true_type {};

template <class R, class = void> struct allocates_async : std::false_type {};
template <class R>
struct allocates_async<
	R, std::void_t<decltype(std::declval<R &>().allocate_async(
			       std::size_t{}, std::size_t{}, std::declval<stream_view>())),
		       decltype(std::declval<R &>().deallocate_async(
			       std::declval<void *&>(), std::size_t{}, std::size_t{},
			       std::declval<stream_view>()))>> : std::true_type {};

template <class R>
inline constexpr bool is_resource = allocates_on_stream<R>::value || allocates_async<R>::value;

/* The functions of a resource that is a class: allocate(stream, bytes, alignment), or what it was
 * until 2025, allocate_async(bytes, alignment, stream). */
template <class R> struct class_ops {
	static int allocate(void *context, accel_stream *stream, std::size_t size,
			    std::size_t alignment, void **ptr) noexcept
	{
		R &resource = *static_cast<R *>(context);

		*ptr = nullptr;
		try {
			if constexpr (allocates_on_stream<R>::value)
				*ptr = resource.allocate(stream_ref{stream}, size, alignment);
			else
				*ptr = resource.allocate_async(size, alignment, stream_view{stream});
			return 0;
		} catch (...) {
			return errno_of_exception();
		}
	}

	static int deallocate(void *context, accel_stream *stream, void *ptr, std::size_t size,
			      std::size_t alignment) noexcept
	{
		R &resource = *static_cast<R *>(context);

		try {
			if constexpr (allocates_on_stream<R>::value)
				resource.deallocate(stream_ref{stream}, ptr, size, alignment);
			else
				resource.deallocate_async(ptr, size, alignment,
							  stream_view{stream});
			return 0;
		} catch (...) {
			int err = errno_of_exception();

			pending_exception() = nullptr;
			return err;
		}
	}

	static int equal(const void *context, const void *other) noexcept
	{
		return *static_cast<const R *>(context) == *static_cast<const R *>(other);
	}

	static constexpr accel_resource_ops ops = {allocate, deallocate, equal, {}};
};

template <class R, class = void> struct has_c_resource : std::false_type {};
template <class R>
struct has_c_resource<R, std::void_t<decltype(std::declval<const R &>().c_resource())>>
	: std::true_type {};

/* Those that are made of C are what they are made of. */
template <class R> accel_resource of_class(R &resource) noexcept
{
	if constexpr (has_c_resource<R>::value)
		return resource.c_resource();
	else
		return {&class_ops<R>::ops, &resource};
}

/* Whether a resource allocates from the driver, of whichever kind. */
inline bool is_of_driver(const accel_resource &resource, accel_device *dev) noexcept
{
	accel_resource driver;

	for (auto kind : {ACCEL_MEMORY_DEVICE, ACCEL_MEMORY_HOST, ACCEL_MEMORY_UNIFIED})
		if (!accel_resource_of_device(dev, kind, &driver) && driver.ops == resource.ops)
			return true;
	return false;
}

/*
 * The memory of a deallocation that failed. The driver's resources then free the allocation at this
 * address, as cudaFree() does. A device that was removed, and one of before a fork, keep nothing.
 */
inline void deallocation_failed(const accel_resource &resource, int err, void *ptr,
				std::size_t size) noexcept
{
	struct accel_pointer_info info;
	accel_resource owner;

	if (err == -ENODEV || err == -EPERM)
		return;
	std::fprintf(stderr, "accel: deallocation of %zu bytes at %p failed: %s\n", size, ptr,
		     *accel_last_error() ? accel_last_error() : accel_strerror(err));
	if (!accel_pointer_get_info(ptr, &info) && info.base == ptr &&
	    is_of_driver(resource, info.device) &&
	    !accel_resource_of_device(info.device, info.kind, &owner))
		accel_resource_deallocate(&owner, nullptr, ptr, info.size, 1);
}

/* What all our own classes can do, in every order of arguments that clients use. */
template <class R> class allocator {
public:
	void *allocate(stream_ref stream, std::size_t size, std::size_t alignment = default_alignment)
	{
		const accel_resource resource = self();
		void *ptr = nullptr;

		if (size)
			allocate_or_throw([&] {
				return accel_resource_allocate(&resource, stream.get(), size, alignment,
							       &ptr);
			});
		return ptr;
	}

	/* An error is written to stderr, as RMM logs it. */
	void deallocate(stream_ref stream, void *ptr, std::size_t size,
			std::size_t alignment = default_alignment) noexcept
	{
		const accel_resource resource = self();

		int err = 0;

		if (ptr)
			err = accel_resource_deallocate(&resource, stream.get(), ptr, size, alignment);
		if (err)
			deallocation_failed(resource, err, ptr, size);
	}

	void *allocate_sync(std::size_t size, std::size_t alignment = default_alignment)
	{
		return allocate(stream_view{}, size, alignment);
	}
	void deallocate_sync(void *ptr, std::size_t size,
			     std::size_t alignment = default_alignment) noexcept
	{
		deallocate(stream_view{}, ptr, size, alignment);
	}

	/* As clients of releases until 25.12 have it. */
	void *allocate_async(std::size_t size, std::size_t alignment, stream_view stream)
	{
		return allocate(stream, size, alignment);
	}
	void *allocate_async(std::size_t size, stream_view stream) { return allocate(stream, size); }
	void deallocate_async(void *ptr, std::size_t size, std::size_t alignment,
			      stream_view stream) noexcept
	{
		deallocate(stream, ptr, size, alignment);
	}
	void deallocate_async(void *ptr, std::size_t size, stream_view stream) noexcept
	{
		deallocate(stream, ptr, size);
	}
	void *allocate(std::size_t size, stream_view stream = {}) { return allocate(stream, size); }
	void deallocate(void *ptr, std::size_t size, stream_view stream = {}) noexcept
	{
		deallocate(stream, ptr, size);
	}

private:
	accel_resource self() const noexcept
	{
		return static_cast<const R *>(this)->c_resource();
	}
};

} // namespace detail

/* --- resources as values ------------------------------------------------------------------------ */

/**
 * A reference to a resource, which its owner keeps alive.
 */
class resource_ref : public detail::allocator<resource_ref> {
public:
	resource_ref(const accel_resource &resource) noexcept : resource_{resource} {}
	resource_ref(const any_resource &resource) noexcept;

	template <class R, std::enable_if_t<detail::is_resource<R> &&
						    !std::is_base_of_v<resource_ref, R> &&
						    !std::is_same_v<any_resource, R>,
					    int> = 0>
	resource_ref(R &resource) noexcept : resource_{detail::of_class(resource)}
	{
	}
	/* As clients of releases until 25.12 pass it. Throws logic_error for a null pointer. */
	template <class R, std::enable_if_t<detail::is_resource<R>, int> = 0>
	resource_ref(R *resource) : resource_{detail::of_class(not_null(resource))}
	{
	}

	const accel_resource &c_resource() const noexcept { return resource_; }

private:
	template <class R> static R &not_null(R *resource)
	{
		if (!resource)
			throw logic_error{"Unexpected null resource pointer."};
		return *resource;
	}

	accel_resource resource_;
};

/**
 * A resource that lives as long as any copy of this does: made of a class, it has a copy of it.
 * Made of a reference, a pointer or an accel_resource, it only refers to that.
 */
class any_resource : public detail::allocator<any_resource> {
public:
	any_resource(const accel_resource &resource) noexcept : resource_{resource} {}
	any_resource(resource_ref ref) noexcept : resource_{ref.c_resource()} {}

	template <class R,
		  class D = std::decay_t<R>,
		  std::enable_if_t<detail::is_resource<D> && std::is_copy_constructible_v<D> &&
					   !std::is_base_of_v<resource_ref, D> &&
					   !std::is_base_of_v<any_resource, D>,
				   int> = 0>
	any_resource(R &&resource)
		: owned_{std::make_shared<D>(std::forward<R>(resource))},
		  resource_{detail::of_class(*static_cast<D *>(owned_.get()))}
	{
	}
	template <class R, std::enable_if_t<detail::is_resource<R>, int> = 0>
	any_resource(R *resource) : any_resource{resource_ref{resource}}
	{
	}

	const accel_resource &c_resource() const noexcept { return resource_; }

private:
	std::shared_ptr<void> owned_;
	accel_resource resource_;
};

inline resource_ref::resource_ref(const any_resource &resource) noexcept
	: resource_{resource.c_resource()}
{
}

/* Whether memory of one can be given back to the other; for any_resource, too. */
inline bool operator==(const resource_ref &a, const resource_ref &b) noexcept
{
	return accel_resource_equal(&a.c_resource(), &b.c_resource()) > 0;
}
inline bool operator!=(const resource_ref &a, const resource_ref &b) noexcept
{
	return !(a == b);
}

/* --- the driver --------------------------------------------------------------------------------- */

/**
 * Memory of one device. Each allocation is one of the driver. Throws device_error if the device
 * does not exist.
 */
template <accel_memory_kind Kind>
class driver_resource : public detail::allocator<driver_resource<Kind>> {
public:
	explicit driver_resource(device_id id = get_current_device())
		: driver_resource{device_handle(id)}
	{
	}
	/* A device that the application has opened, and keeps open. */
	explicit driver_resource(accel_device *dev)
	{
		check(accel_resource_of_device(dev, Kind, &resource_));
	}

	const accel_resource &c_resource() const noexcept { return resource_; }

	friend bool operator==(const driver_resource &a, const driver_resource &b) noexcept
	{
		return accel_resource_equal(&a.resource_, &b.resource_) > 0;
	}
	friend bool operator!=(const driver_resource &a, const driver_resource &b) noexcept
	{
		return !(a == b);
	}

private:
	accel_resource resource_;
};

using device_resource = driver_resource<ACCEL_MEMORY_DEVICE>;
using unified_resource = driver_resource<ACCEL_MEMORY_UNIFIED>;
using pinned_resource = driver_resource<ACCEL_MEMORY_HOST>;

/* --- in front of others ------------------------------------------------------------------------- */

/**
 * A pool (accel_pool) as a class. Copies share one pool, which is destroyed with the last copy. No
 * memory of it may be allocated then.
 */
class pool_resource : public detail::allocator<pool_resource> {
public:
	/*
	 * @maximum_size std::nullopt: as much as there is. Throws bad_alloc, device_error;
	 * logic_error if @maximum_size is 0 or less than @initial_size.
	 */
	explicit pool_resource(any_resource upstream, std::size_t initial_size = 0,
			       std::optional<std::size_t> maximum_size = std::nullopt)
	{
		if (maximum_size == std::size_t{0})
			throw logic_error{"The maximum size of a pool is 0."};
		accel_pool_options options = {};

		options.initial_size = initial_size;
		options.maximum_size = maximum_size.value_or(0);
		make(std::move(upstream), options);
	}
	pool_resource(any_resource upstream, const accel_pool_options &options)
	{
		make(std::move(upstream), options);
	}

	accel_pool *c_pool() const noexcept { return state_->pool; }
	resource_ref get_upstream_resource() const noexcept { return state_->upstream; }
	/* Memory for accel_memory_export(); deallocate() frees it. */
	void *allocate_exportable(stream_ref stream, std::size_t size,
				  std::size_t alignment = default_alignment)
	{
		void *ptr = nullptr;

		detail::allocate_or_throw([&] {
			return accel_pool_allocate_exportable(c_pool(), stream.get(), size,
							      alignment, &ptr);
		});
		return ptr;
	}
	std::size_t pool_size() const
	{
		struct accel_pool_stats stats;

		check(accel_pool_get_stats(c_pool(), &stats));
		return stats.chunk_bytes;
	}
	accel_resource c_resource() const noexcept
	{
		accel_resource resource = {};

		accel_pool_resource(c_pool(), &resource);
		return resource;
	}

	friend bool operator==(const pool_resource &a, const pool_resource &b) noexcept
	{
		return a.state_ == b.state_;
	}
	friend bool operator!=(const pool_resource &a, const pool_resource &b) noexcept
	{
		return !(a == b);
	}

private:
	struct state {
		explicit state(any_resource up) : upstream{std::move(up)} {}
		~state()
		{
			if (pool)
				accel_pool_destroy(pool);
		}
		state(const state &) = delete;
		state &operator=(const state &) = delete;

		any_resource upstream;
		accel_pool *pool = nullptr;
	};

	void make(any_resource upstream, const accel_pool_options &options)
	{
		if (options.maximum_size && options.initial_size > options.maximum_size)
			throw logic_error{"Initial size of a pool, " +
					  std::to_string(options.initial_size) +
					  ", exceeds its maximum size, " +
					  std::to_string(options.maximum_size) + "."};
		state_ = std::make_shared<state>(std::move(upstream));
		detail::allocate_or_throw([&] {
			return accel_pool_create(device_handle(), &state_->upstream.c_resource(),
						 &options, &state_->pool);
		});
	}

	std::shared_ptr<state> state_;
};

/**
 * An adaptor (accel_adaptor) as a class, shared by its copies like a pool. Made by the classes
 * below.
 */
class adaptor_resource : public detail::allocator<adaptor_resource> {
public:
	accel_adaptor *c_adaptor() const noexcept { return state_->adaptor; }
	accel_resource c_resource() const noexcept
	{
		accel_resource resource = {};

		accel_adaptor_resource(c_adaptor(), &resource);
		return resource;
	}
	struct accel_adaptor_statistics statistics() const
	{
		struct accel_adaptor_statistics now;

		check(accel_adaptor_get_statistics(c_adaptor(), &now));
		return now;
	}
	resource_ref get_upstream_resource() const noexcept { return state_->upstream; }
	std::size_t get_allocated_bytes() const { return this->statistics().bytes; }
	/* Counts anew until pop_scope(), which returns what was counted; scopes are nested. */
	void push_scope() { check(accel_adaptor_push_scope(c_adaptor())); }
	struct accel_adaptor_statistics pop_scope()
	{
		struct accel_adaptor_statistics counted;

		check(accel_adaptor_pop_scope(c_adaptor(), &counted));
		return counted;
	}

	friend bool operator==(const adaptor_resource &a, const adaptor_resource &b) noexcept
	{
		return a.state_ == b.state_;
	}
	friend bool operator!=(const adaptor_resource &a, const adaptor_resource &b) noexcept
	{
		return !(a == b);
	}

protected:
	template <class Create> adaptor_resource(any_resource upstream, Create create)
		: state_{std::make_shared<state>(std::move(upstream))}
	{
		check(create(&state_->upstream.c_resource(), &state_->adaptor));
	}

private:
	struct state {
		explicit state(any_resource up) : upstream{std::move(up)} {}
		~state()
		{
			if (adaptor)
				accel_adaptor_destroy(adaptor);
		}
		state(const state &) = delete;
		state &operator=(const state &) = delete;

		any_resource upstream;
		accel_adaptor *adaptor = nullptr;
	};

	std::shared_ptr<state> state_;
};

/** Counts the allocations and deallocations that pass through it. */
class statistics_resource : public adaptor_resource {
public:
	explicit statistics_resource(any_resource upstream)
		: adaptor_resource{std::move(upstream), accel_adaptor_create_statistics}
	{
	}

	/* Since construction, also in a scope, where RMM's are those of the scope. */
	struct counter {
		std::int64_t value, peak, total;
	};
	using counters = std::pair<counter, counter>; /* of bytes, of allocations */

	counter get_bytes_counter() const { return counters_of(statistics()).first; }
	counter get_allocations_counter() const { return counters_of(statistics()).second; }
	/* push_scope(); returns what was counted since construction, also in a scope. */
	counters push_counters()
	{
		const counters now = counters_of(statistics());

		push_scope();
		return now;
	}
	/* pop_scope(). Throws out_of_range if no scope is open. */
	counters pop_counters()
	{
		try {
			return counters_of(pop_scope());
		} catch (const device_error &error) {
			if (error.code() == -ENOENT)
				throw out_of_range{error.what()};
			throw;
		}
	}

private:
	static counters counters_of(const accel_adaptor_statistics &from) noexcept
	{
		auto number = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };

		return {{number(from.bytes), number(from.peak_bytes), number(from.total_bytes)},
			{number(from.count), number(from.peak_count), number(from.total_count)}};
	}
};

/** Counts, and measures the time that upstream takes. */
class timing_resource : public adaptor_resource {
public:
	explicit timing_resource(any_resource upstream)
		: adaptor_resource{std::move(upstream), accel_adaptor_create_timing}
	{
	}
};

/** Throws out_of_memory for an allocation that would exceed @limit bytes in use. */
class limiting_resource : public adaptor_resource {
public:
	limiting_resource(any_resource upstream, std::size_t limit)
		: adaptor_resource{std::move(upstream),
				   [limit](const accel_resource *up, accel_adaptor **adaptor) {
					   return accel_adaptor_create_limiting(up, limit, adaptor);
				   }},
		  limit_{limit}
	{
	}
	std::size_t get_allocation_limit() const noexcept { return limit_; }

private:
	std::size_t limit_;
};

/** Writes a line of CSV for each call, into a file that is replaced. */
class logging_resource : public adaptor_resource {
public:
	explicit logging_resource(any_resource upstream)
		: logging_resource{std::move(upstream), default_path()}
	{
	}
	/* @flush is ignored: a line is written when the call that it is about returns. */
	logging_resource(any_resource upstream, const std::string &path,
			 [[maybe_unused]] bool flush = true)
		: adaptor_resource{std::move(upstream),
				   [&path](const accel_resource *up, accel_adaptor **adaptor) {
					   return accel_adaptor_create_logging(up, path.c_str(),
									       adaptor);
				   }}
	{
	}

	void flush() const noexcept {}
	std::string header() const { return "Thread,Time,Action,Pointer,Size,Stream"; }

private:
	static std::string default_path()
	{
		const char *path = std::getenv("RMM_LOG_FILE");

		if (!path)
			throw logic_error{"RMM logging requested without an explicit file name, "
					  "but RMM_LOG_FILE is unset"};
		return path;
	}
};

/** Records each live allocation, with @frames return addresses. */
class tracking_resource : public adaptor_resource {
public:
	/* The parameter of RMM's class: true records as many return addresses as possible, false none. */
	template <class Bool, std::enable_if_t<std::is_same_v<Bool, bool>, int> = 0>
	tracking_resource(any_resource upstream, Bool capture_stacks)
		: tracking_resource{std::move(upstream), capture_stacks ? ACCEL_ADAPTOR_FRAMES : 0U}
	{
	}
	explicit tracking_resource(any_resource upstream, unsigned int frames = 0)
		: adaptor_resource{std::move(upstream),
				   [frames](const accel_resource *up, accel_adaptor **adaptor) {
					   return accel_adaptor_create_tracking(up, frames, adaptor);
				   }}
	{
	}

	/* Backtrace of an allocation as text. */
	class stack_trace {
	public:
		explicit stack_trace(std::vector<void *> frames) : frames_{std::move(frames)} {}

		friend std::ostream &operator<<(std::ostream &out, const stack_trace &trace)
		{
			const int count = static_cast<int>(trace.frames_.size());
			const std::unique_ptr<char *, decltype(&std::free)> names{
				backtrace_symbols(trace.frames_.data(), count), std::free};

			for (int i = 0; names && i < count; i++)
				out << "#" << i << " in " << names.get()[i] << "\n";
			return out;
		}

	private:
		std::vector<void *> frames_;
	};

	struct allocation_info {
		std::size_t allocation_size;
		std::vector<void *> frames;
		std::shared_ptr<const stack_trace> strace; /* null without frames */
	};

	/* By address. */
	std::map<void *, allocation_info> get_outstanding_allocations() const
	{
		std::map<void *, allocation_info> all;

		check(accel_adaptor_outstanding(c_adaptor(), add, &all));
		return all;
	}

	/* Address and size of each in one line, followed by its backtrace. Empty if there is none. */
	std::string get_outstanding_allocations_str() const
	{
		std::ostringstream text;

		for (const auto &[ptr, info] : get_outstanding_allocations()) {
			text << ptr << ": " << info.allocation_size << " bytes\n";
			if (info.strace)
				text << *info.strace;
		}
		return text.str();
	}

private:
	static int add(void *data, const accel_adaptor_allocation *live) noexcept
	{
		try {
			std::vector<void *> frames{live->frames, live->frames + live->nr_frames};
			std::shared_ptr<const stack_trace> strace;

			if (!frames.empty())
				strace = std::make_shared<const stack_trace>(frames);
			static_cast<std::map<void *, allocation_info> *>(data)->emplace(
				live->ptr,
				allocation_info{live->size, std::move(frames), std::move(strace)});
			return 0;
		} catch (...) {
			return -ENOMEM;
		}
	}
};

/* --- the resource of a device ------------------------------------------------------------------- */

namespace detail {

class current_resources {
public:
	any_resource get(device_id id)
	{
		std::lock_guard<std::mutex> guard{lock_};

		return of(id);
	}
	any_resource set(device_id id, any_resource resource)
	{
		std::lock_guard<std::mutex> guard{lock_};

		return std::exchange(of(id), std::move(resource));
	}
	void forget()
	{
		std::lock_guard<std::mutex> guard{lock_};

		resources_.clear();
	}

private:
	any_resource &of(device_id id)
	{
		auto found = resources_.find(id.value());

		if (found == resources_.end())
			found = resources_.emplace(id.value(), device_resource{id}).first;
		return found->second;
	}

	std::mutex lock_; /* protects resources_ */
	std::map<int, any_resource> resources_;
};

inline current_resources &resources()
{
	return of_this_process<current_resources>();
}

} // namespace detail

/**
 * The default resource of a device: device memory of the driver, until it is set. The resource of a
 * reference lives until the next set_per_device_resource(). Thread-safe. Throws device_error if the
 * device does not exist.
 */
inline any_resource get_per_device_resource(device_id id)
{
	return detail::resources().get(id);
}

/** Returns the previous resource. Thread-safe. */
inline any_resource set_per_device_resource(device_id id, any_resource resource)
{
	return detail::resources().set(id, std::move(resource));
}

inline any_resource reset_per_device_resource(device_id id)
{
	return set_per_device_resource(id, device_resource{id});
}

inline any_resource get_current_device_resource()
{
	return get_per_device_resource(get_current_device());
}

inline any_resource set_current_device_resource(any_resource resource)
{
	return set_per_device_resource(get_current_device(), std::move(resource));
}

inline any_resource reset_current_device_resource()
{
	return reset_per_device_resource(get_current_device());
}

/**
 * Drops the default resources of all devices, and closes the devices that device_handle() has
 * opened. No memory of them may be in use. A later call opens a device again.
 */
inline void close_devices()
{
	detail::resources().forget();
	detail::devices().close();
}

} // namespace accel

#endif /* ACCEL_MEMORY_RESOURCE_HPP */
