/* SPDX-License-Identifier: MIT */
/* An adaptor that remembers what is live. */
#ifndef ACCEL_COMPAT_RMM_MR_TRACKING_RESOURCE_ADAPTOR_HPP
#define ACCEL_COMPAT_RMM_MR_TRACKING_RESOURCE_ADAPTOR_HPP

#include <accel/memory_resource.hpp>
#include <rmm/resource_ref.hpp>

namespace rmm __attribute__((visibility("default"))) {
namespace mr {

using tracking_resource_adaptor = accel::tracking_resource;

} // namespace mr
} // namespace rmm

#endif /* ACCEL_COMPAT_RMM_MR_TRACKING_RESOURCE_ADAPTOR_HPP */
