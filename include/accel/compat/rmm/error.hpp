/* SPDX-License-Identifier: MIT */
/* RMM's exceptions. */
#ifndef ACCEL_COMPAT_RMM_ERROR_HPP
#define ACCEL_COMPAT_RMM_ERROR_HPP

#include <accel/error.hpp>

namespace rmm __attribute__((visibility("default"))) {

using accel::bad_alloc;
using accel::invalid_argument;
using accel::logic_error;
using accel::out_of_memory;
using accel::out_of_range;
using cuda_error = accel::device_error;

} // namespace rmm

#endif /* ACCEL_COMPAT_RMM_ERROR_HPP */
