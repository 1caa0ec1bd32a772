/* SPDX-License-Identifier: MIT */
/* Where it was until 25.12. */
#ifndef ACCEL_COMPAT_RMM_MR_DEVICE_LOGGING_RESOURCE_ADAPTOR_HPP
#define ACCEL_COMPAT_RMM_MR_DEVICE_LOGGING_RESOURCE_ADAPTOR_HPP

#include <rmm/mr/device/device_memory_resource.hpp>
#include <rmm/mr/logging_resource_adaptor.hpp>

#endif /* ACCEL_COMPAT_RMM_MR_DEVICE_LOGGING_RESOURCE_ADAPTOR_HPP */
