/* SPDX-License-Identifier: MIT */
/* Host memory that the device can access. */
#ifndef ACCEL_COMPAT_RMM_MR_PINNED_HOST_MEMORY_RESOURCE_HPP
#define ACCEL_COMPAT_RMM_MR_PINNED_HOST_MEMORY_RESOURCE_HPP

#include <accel/memory_resource.hpp>

namespace rmm __attribute__((visibility("default"))) {
namespace mr {

using pinned_host_memory_resource = accel::pinned_resource;

} // namespace mr
} // namespace rmm

#endif /* ACCEL_COMPAT_RMM_MR_PINNED_HOST_MEMORY_RESOURCE_HPP */
