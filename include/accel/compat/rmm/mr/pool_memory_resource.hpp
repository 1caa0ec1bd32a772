/* SPDX-License-Identifier: MIT */
/* A pool. */
#ifndef ACCEL_COMPAT_RMM_MR_POOL_MEMORY_RESOURCE_HPP
#define ACCEL_COMPAT_RMM_MR_POOL_MEMORY_RESOURCE_HPP

#include <accel/memory_resource.hpp>
#include <rmm/resource_ref.hpp>

namespace rmm __attribute__((visibility("default"))) {
namespace mr {

using pool_memory_resource = accel::pool_resource;

} // namespace mr
} // namespace rmm

#endif /* ACCEL_COMPAT_RMM_MR_POOL_MEMORY_RESOURCE_HPP */
