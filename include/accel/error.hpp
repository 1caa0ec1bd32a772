/* SPDX-License-Identifier: MIT */
/*
 * Exceptions of the C++ interface.
 */
#ifndef ACCEL_ERROR_HPP
#define ACCEL_ERROR_HPP

#include <accel/accel.h>

#include <cerrno>
#include <new>
#include <stdexcept>
#include <string>

/* Shared objects compiled with -fvisibility=hidden share exceptions and current resources. */
namespace accel __attribute__((visibility("default"))) {

/* An invalid call, such as a copy from a null pointer. */
class logic_error : public std::logic_error {
public:
	using std::logic_error::logic_error;
};

class out_of_range : public std::out_of_range {
public:
	using std::out_of_range::out_of_range;
};

class invalid_argument : public std::invalid_argument {
public:
	using std::invalid_argument::invalid_argument;
};

/* An allocation has failed. */
class bad_alloc : public std::bad_alloc {
public:
	explicit bad_alloc(const char *message) : what_{std::string{"bad_alloc: "} + message} {}
	explicit bad_alloc(const std::string &message) : bad_alloc{message.c_str()} {}

	const char *what() const noexcept override { return what_.c_str(); }

private:
	std::string what_;
};

/* No memory is free now. The allocation can succeed after a deallocation. */
class out_of_memory : public bad_alloc {
public:
	explicit out_of_memory(const char *message)
		: bad_alloc{std::string{"out_of_memory: "} + message} {}
	explicit out_of_memory(const std::string &message) : out_of_memory{message.c_str()} {}
};

/* A device, a copy or a stream has an error. */
class device_error : public std::runtime_error {
public:
	explicit device_error(const char *message) : std::runtime_error{message} {}
	explicit device_error(const std::string &message) : std::runtime_error{message} {}
	device_error(int err, const std::string &message) : std::runtime_error{message}, err_{err} {}

	/* The negative errno of libaccel; 0 if the error is not of a call of libaccel. */
	int code() const noexcept { return err_; }

private:
	int err_ = 0;
};

namespace detail {

/* The library's sentence about the last call of this thread that failed. */
inline std::string sentence(int err)
{
	const char *last = accel_last_error();

	return last && *last ? last : accel_strerror(err);
}

/* What an allocation says. */
[[noreturn]] inline void throw_allocation(int err)
{
	switch (err) {
	case -ENOMEM:
	case -EDQUOT:
		throw out_of_memory{sentence(err)};
	case -ENODEV:
	case -EIO:
	case -EPERM:
	case -ESTALE:
	case -EDEADLK:
		throw device_error{err, sentence(err)};
	default:
		throw bad_alloc{sentence(err)};
	}
}

} // namespace detail

/**
 * For calls of the library: throws device_error with its sentence unless @err is 0.
 */
inline void check(int err)
{
	if (err)
		throw device_error{err, detail::sentence(err)};
}

} // namespace accel

#endif /* ACCEL_ERROR_HPP */
