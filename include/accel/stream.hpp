/* SPDX-License-Identifier: MIT */
/*
 * Devices and streams in C++: the current device of a thread, streams, and references to streams.
 */
#ifndef ACCEL_STREAM_HPP
#define ACCEL_STREAM_HPP

#include <accel/accel.h>
#include <accel/error.hpp>

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <ostream>
#include <string>
#include <type_traits>
#include <unistd.h>
#include <utility>

namespace accel __attribute__((visibility("default"))) {

/**
 * A device by its number, in order of nodes.
 */
class device_id {
public:
	using value_type = int;

	constexpr device_id() noexcept = default;
	constexpr explicit device_id(value_type id) noexcept : id_{id} {}

	constexpr value_type value() const noexcept { return id_; }

	friend constexpr bool operator==(device_id a, device_id b) noexcept { return a.id_ == b.id_; }
	friend constexpr bool operator!=(device_id a, device_id b) noexcept { return a.id_ != b.id_; }

private:
	value_type id_ = -1;
};

namespace detail {

inline device_id &current_device() noexcept
{
	thread_local device_id current{0};

	return current;
}

/*
 * The only T of a process. A child of fork() gets a new one: handles of its parent are of no use to
 * it, and another thread may have held a lock. Never destroyed: static buffers may end later.
 */
template <class T> T &of_this_process()
{
	struct instance {
		pid_t pid;
		instance *parent; /* keeps it reachable for leak checkers */
		T value{};
	};
	static std::atomic<instance *> current{nullptr};
	const pid_t pid = getpid();
	instance *found = current.load();

	while (!found || found->pid != pid) {
		auto *mine = new instance{pid, found};

		if (current.compare_exchange_strong(found, mine))
			return mine->value;
		delete mine;
	}
	return found->value;
}

/* Devices that were opened for an allocation. They stay open until the process ends. */
class open_devices {
public:
	accel_device *of(device_id id)
	{
		std::lock_guard<std::mutex> guard{lock_};
		auto found = open_.find(id.value());
		accel_device *dev = nullptr;

		if (found != open_.end())
			return found->second;
		check(accel_device_open(id.value(), &dev));
		open_.emplace(id.value(), dev);
		return dev;
	}

	/* Waits for all work of a device, without lock_. A device that is absent has none. */
	int synchronize(device_id id)
	{
		try {
			return accel_device_synchronize(of(id));
		} catch (const device_error &error) {
			return error.code() == -ENODEV ? 0 : error.code();
		}
	}

	/* For an application that ends with no device open. No memory may be allocated. */
	void close()
	{
		std::lock_guard<std::mutex> guard{lock_};

		for (auto &entry : open_)
			accel_device_close(entry.second);
		open_.clear();
	}

private:
	std::mutex lock_; /* protects open_ */
	std::map<int, accel_device *> open_;
};

inline open_devices &devices()
{
	return of_this_process<open_devices>();
}

} // namespace detail

/**
 * The current device of this thread: 0 until set_current_device().
 */
inline device_id get_current_device() noexcept
{
	return detail::current_device();
}

/**
 * Throws invalid_argument if the device does not exist. The current device is then unchanged.
 */
inline void set_current_device(device_id id)
{
	int count = accel_device_count();

	if (count < 0)
		check(count);
	if (id.value() < 0 || id.value() >= count)
		throw invalid_argument{"there is no device " + std::to_string(id.value()) +
				       ": there are " + std::to_string(count)};
	detail::current_device() = id;
}

/**
 * The handle of a device, which is opened at the first call and stays open. Throws device_error.
 */
inline accel_device *device_handle(device_id id = get_current_device())
{
	return detail::devices().of(id);
}

/**
 * Makes a device the current one, until the end of a scope. A negative number changes nothing.
 */
class device_guard {
public:
	explicit device_guard(device_id id) : old_{get_current_device()}
	{
		if (id.value() >= 0)
			detail::current_device() = id;
	}
	~device_guard() { detail::current_device() = old_; }
	device_guard(const device_guard &) = delete;
	device_guard &operator=(const device_guard &) = delete;

private:
	device_id old_;
};

class stream_view;

/**
 * A reference to a stream, whose owner keeps it alive. It can refer to the default stream, which is
 * NULL in libaccel: calls on it are complete when they return.
 */
class stream_ref {
public:
	constexpr stream_ref(accel_stream *stream) noexcept : stream_{stream} {}
	constexpr stream_ref(stream_view view) noexcept;
	stream_ref(int) = delete;
	stream_ref(std::nullptr_t) = delete;

	constexpr accel_stream *get() const noexcept { return stream_; }

	/*
	 * Waits until all work that is queued on the stream now has ended; for the default stream,
	 * all work that is queued on the current device. Throws device_error, also if some of that
	 * work has failed.
	 */
	void sync() const
	{
		check(stream_ ? accel_stream_synchronize(stream_) :
					detail::devices().synchronize(get_current_device()));
	}

	/* Whether all queued work has ended; always true for the default stream. Throws device_error. */
	bool is_done() const
	{
		int err = stream_ ? accel_stream_query(stream_) : 0;

		if (err == -EINPROGRESS)
			return false;
		check(err);
		return true;
	}

	friend constexpr bool operator==(stream_ref a, stream_ref b) noexcept
	{
		return a.stream_ == b.stream_;
	}
	friend constexpr bool operator!=(stream_ref a, stream_ref b) noexcept
	{
		return a.stream_ != b.stream_;
	}

private:
	accel_stream *stream_;
};

/**
 * A reference to a stream with the members of RMM's cuda_stream_view. Without a stream it refers to
 * the default one.
 */
class stream_view {
public:
	constexpr stream_view() noexcept = default;
	constexpr stream_view(accel_stream *stream) noexcept : stream_{stream} {}
	constexpr stream_view(stream_ref ref) noexcept : stream_{ref.get()} {}
	/* 0 and nullptr are refused, since they are ambiguous. */
	stream_view(int) = delete;
	stream_view(std::nullptr_t) = delete;

	constexpr accel_stream *value() const noexcept { return stream_; }
	constexpr operator accel_stream *() const noexcept { return stream_; }

	constexpr bool is_default() const noexcept { return !stream_; }
	/* There is one default stream for all threads. */
	constexpr bool is_per_thread_default() const noexcept { return false; }

	/* Throws device_error. */
	void synchronize() const { stream_ref{stream_}.sync(); }
	/* The error of a failed stream is reported by the next call, too. */
	void synchronize_no_throw() const noexcept
	{
		try {
			synchronize();
		} catch (...) {
		}
	}

	friend constexpr bool operator==(stream_view a, stream_view b) noexcept
	{
		return a.stream_ == b.stream_;
	}
	friend constexpr bool operator!=(stream_view a, stream_view b) noexcept
	{
		return a.stream_ != b.stream_;
	}
	friend std::ostream &operator<<(std::ostream &out, stream_view view)
	{
		return out << static_cast<const void *>(view.stream_);
	}

private:
	accel_stream *stream_ = nullptr;
};

constexpr stream_ref::stream_ref(stream_view view) noexcept : stream_{view.value()} {}

/**
 * An owned stream: created on the current device. Its destructor destroys the stream after its
 * work.
 */
class stream {
public:
	/* Throws device_error. */
	stream() { check(accel_stream_create(device_handle(), &stream_)); }
	~stream()
	{
		if (stream_)
			accel_stream_destroy(stream_);
	}
	stream(stream &&other) noexcept : stream_{other.stream_} { other.stream_ = nullptr; }
	stream &operator=(stream &&other) noexcept
	{
		std::swap(stream_, other.stream_);
		return *this;
	}
	stream(const stream &) = delete;
	stream &operator=(const stream &) = delete;

	bool is_valid() const noexcept { return stream_; }
	accel_stream *value() const noexcept { return stream_; }
	explicit operator accel_stream *() const noexcept { return stream_; }
	stream_view view() const noexcept { return stream_view{stream_}; }
	operator stream_view() const noexcept { return view(); }
	operator stream_ref() const noexcept { return stream_ref{stream_}; }
	friend bool operator==(const stream &a, const stream &b) noexcept
	{
		return a.stream_ == b.stream_;
	}
	friend bool operator!=(const stream &a, const stream &b) noexcept
	{
		return a.stream_ != b.stream_;
	}
	void synchronize() const { view().synchronize(); }
	void synchronize_no_throw() const noexcept { view().synchronize_no_throw(); }

private:
	accel_stream *stream_ = nullptr;
};

namespace detail {

template <class A, class B>
inline constexpr bool compares_as_handle =
	(std::is_same_v<A, stream_view> || std::is_same_v<A, stream>) &&
	(std::is_same_v<B, stream_ref> || std::is_same_v<B, accel_stream *>);

template <class A, class B>
using if_handles = std::enable_if_t<compares_as_handle<A, B> || compares_as_handle<B, A>>;

} // namespace detail

/* Exact types only: each class converts to several of the others, which would be ambiguous. */
template <class A, class B, class = detail::if_handles<A, B>>
constexpr bool operator==(const A &a, const B &b) noexcept
{
	const stream_ref left = a, right = b;

	return left.get() == right.get();
}
template <class A, class B, class = detail::if_handles<A, B>>
constexpr bool operator!=(const A &a, const B &b) noexcept
{
	return !(a == b);
}

/* There is one, by three names. */
inline constexpr stream_view default_stream{};

} // namespace accel

#endif /* ACCEL_STREAM_HPP */
