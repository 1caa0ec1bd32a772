/* SPDX-License-Identifier: MIT */
/* Memory of the driver. */
#ifndef ACCEL_COMPAT_RMM_MR_CUDA_MEMORY_RESOURCE_HPP
#define ACCEL_COMPAT_RMM_MR_CUDA_MEMORY_RESOURCE_HPP

#include <accel/memory_resource.hpp>

namespace rmm __attribute__((visibility("default"))) {
namespace mr {

using cuda_memory_resource = accel::device_resource;

} // namespace mr
} // namespace rmm

#endif /* ACCEL_COMPAT_RMM_MR_CUDA_MEMORY_RESOURCE_HPP */
