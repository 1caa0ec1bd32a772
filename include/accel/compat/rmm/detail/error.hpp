/* SPDX-License-Identifier: MIT */
/* RMM's checks, as its headers use them. */
#ifndef ACCEL_COMPAT_RMM_DETAIL_ERROR_HPP
#define ACCEL_COMPAT_RMM_DETAIL_ERROR_HPP

#ifdef RMM_EXPECTS
#error "RMM's rmm/detail/error.hpp is included before accel's: put accel/compat first in the include path"
#endif

#include <cuda_runtime_api.h>
#include <rmm/error.hpp>

#include <cassert>
#include <string>

#define ACCEL_RMM_TEXT_(x) #x
#define ACCEL_RMM_TEXT(x) ACCEL_RMM_TEXT_(x)
#define ACCEL_RMM_WHERE __FILE__ ":" ACCEL_RMM_TEXT(__LINE__) ": "
#define ACCEL_RMM_THIRD(a, b, c, name, ...) name
#define ACCEL_RMM_SECOND(a, b, name, ...) name

namespace accel __attribute__((visibility("default"))) {
namespace detail {

/* Name and text of an error, and libaccel's message about the call that failed. */
inline std::string cuda_error_text(cudaError_t error)
{
	const bool known = cuda_error_has_message() && error == cuda_last_error();
	const char *last = known ? accel_last_error() : nullptr;
	std::string text = std::string{cudaGetErrorName(error)} + " " + cudaGetErrorString(error);

	return last && *last ? text + ": " + last : text;
}

} // namespace detail
} // namespace accel

/* RMM_EXPECTS(condition, reason[, exception]) */
#define RMM_EXPECTS(...) \
	ACCEL_RMM_THIRD(__VA_ARGS__, ACCEL_RMM_EXPECTS_3, ACCEL_RMM_EXPECTS_2, )(__VA_ARGS__)
#define ACCEL_RMM_EXPECTS_2(condition, reason) \
	ACCEL_RMM_EXPECTS_3(condition, reason, ::rmm::logic_error)
#define ACCEL_RMM_EXPECTS_3(condition, reason, exception) \
	do { \
		if (!(condition)) \
			throw exception{std::string{ACCEL_RMM_WHERE} + (reason)}; \
	} while (0)

/* RMM_FAIL(reason[, exception]) */
#define RMM_FAIL(...) \
	ACCEL_RMM_SECOND(__VA_ARGS__, ACCEL_RMM_FAIL_2, ACCEL_RMM_FAIL_1, )(__VA_ARGS__)
#define ACCEL_RMM_FAIL_1(reason) ACCEL_RMM_FAIL_2(reason, ::rmm::logic_error)
#define ACCEL_RMM_FAIL_2(reason, exception) \
	throw exception{std::string{ACCEL_RMM_WHERE} + (reason)}

/* RMM_CUDA_TRY(call[, exception]) */
#define RMM_CUDA_TRY(...) \
	ACCEL_RMM_SECOND(__VA_ARGS__, ACCEL_RMM_TRY_2, ACCEL_RMM_TRY_1, )(__VA_ARGS__)
#define ACCEL_RMM_TRY_1(call) ACCEL_RMM_TRY_2(call, ::rmm::cuda_error)
#define ACCEL_RMM_TRY_2(call, exception) \
	do { \
		const cudaError_t accel_rmm_error = (call); \
		if (accel_rmm_error != cudaSuccess) \
			throw exception{std::string{ACCEL_RMM_WHERE} + \
					::accel::detail::cuda_error_text(accel_rmm_error)}; \
	} while (0)

#define RMM_ASSERT_CUDA_SUCCESS(call) \
	do { \
		const cudaError_t accel_rmm_error = (call); \
		assert(accel_rmm_error == cudaSuccess); \
		static_cast<void>(accel_rmm_error); \
	} while (0)

#endif /* ACCEL_COMPAT_RMM_DETAIL_ERROR_HPP */
