/* SPDX-License-Identifier: MIT */
/* Memory that device and processor can both access. */
#ifndef ACCEL_COMPAT_RMM_MR_MANAGED_MEMORY_RESOURCE_HPP
#define ACCEL_COMPAT_RMM_MR_MANAGED_MEMORY_RESOURCE_HPP

#include <accel/memory_resource.hpp>

namespace rmm __attribute__((visibility("default"))) {
namespace mr {

using managed_memory_resource = accel::unified_resource;

} // namespace mr
} // namespace rmm

#endif /* ACCEL_COMPAT_RMM_MR_MANAGED_MEMORY_RESOURCE_HPP */
