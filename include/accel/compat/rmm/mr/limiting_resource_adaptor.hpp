/* SPDX-License-Identifier: MIT */
/* An adaptor with a limit. */
#ifndef ACCEL_COMPAT_RMM_MR_LIMITING_RESOURCE_ADAPTOR_HPP
#define ACCEL_COMPAT_RMM_MR_LIMITING_RESOURCE_ADAPTOR_HPP

#include <accel/memory_resource.hpp>
#include <rmm/resource_ref.hpp>

namespace rmm __attribute__((visibility("default"))) {
namespace mr {

using limiting_resource_adaptor = accel::limiting_resource;

} // namespace mr
} // namespace rmm

#endif /* ACCEL_COMPAT_RMM_MR_LIMITING_RESOURCE_ADAPTOR_HPP */
