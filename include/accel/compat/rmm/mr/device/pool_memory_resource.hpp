/* SPDX-License-Identifier: MIT */
/* Where it was until 25.12. */
#ifndef ACCEL_COMPAT_RMM_MR_DEVICE_POOL_MEMORY_RESOURCE_HPP
#define ACCEL_COMPAT_RMM_MR_DEVICE_POOL_MEMORY_RESOURCE_HPP

#include <rmm/mr/device/device_memory_resource.hpp>
#include <rmm/mr/device/per_device_resource.hpp>
#include <rmm/mr/pool_memory_resource.hpp>

#endif /* ACCEL_COMPAT_RMM_MR_DEVICE_POOL_MEMORY_RESOURCE_HPP */
