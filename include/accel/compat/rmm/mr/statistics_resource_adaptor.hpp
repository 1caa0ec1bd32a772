/* SPDX-License-Identifier: MIT */
/* An adaptor that counts. */
#ifndef ACCEL_COMPAT_RMM_MR_STATISTICS_RESOURCE_ADAPTOR_HPP
#define ACCEL_COMPAT_RMM_MR_STATISTICS_RESOURCE_ADAPTOR_HPP

#include <accel/memory_resource.hpp>
#include <rmm/resource_ref.hpp>

namespace rmm __attribute__((visibility("default"))) {
namespace mr {

using statistics_resource_adaptor = accel::statistics_resource;

} // namespace mr
} // namespace rmm

#endif /* ACCEL_COMPAT_RMM_MR_STATISTICS_RESOURCE_ADAPTOR_HPP */
