/* SPDX-License-Identifier: MIT */
/* An adaptor that writes a log. */
#ifndef ACCEL_COMPAT_RMM_MR_LOGGING_RESOURCE_ADAPTOR_HPP
#define ACCEL_COMPAT_RMM_MR_LOGGING_RESOURCE_ADAPTOR_HPP

#include <accel/memory_resource.hpp>
#include <rmm/resource_ref.hpp>

namespace rmm __attribute__((visibility("default"))) {
namespace mr {

using logging_resource_adaptor = accel::logging_resource;

} // namespace mr
} // namespace rmm

#endif /* ACCEL_COMPAT_RMM_MR_LOGGING_RESOURCE_ADAPTOR_HPP */
