/* SPDX-License-Identifier: MIT */
/* References to resources. Where memory can be accessed from is not part of the type. */
#ifndef ACCEL_COMPAT_RMM_RESOURCE_REF_HPP
#define ACCEL_COMPAT_RMM_RESOURCE_REF_HPP

#include <accel/memory_resource.hpp>
#include <cuda/memory_resource>
#include <rmm/detail/error.hpp>

namespace rmm __attribute__((visibility("default"))) {

using device_resource_ref = accel::resource_ref;
using device_async_resource_ref = accel::resource_ref;
using host_resource_ref = accel::resource_ref;
using host_async_resource_ref = accel::resource_ref;
using host_device_resource_ref = accel::resource_ref;
using host_device_async_resource_ref = accel::resource_ref;

template <class Resource>
device_async_resource_ref to_device_async_resource_ref_checked(Resource *resource)
{
	return accel::resource_ref{resource};
}

} // namespace rmm

#endif /* ACCEL_COMPAT_RMM_RESOURCE_REF_HPP */
