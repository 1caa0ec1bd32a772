/* SPDX-License-Identifier: MIT */
/* The resource of a device. */
#ifndef ACCEL_COMPAT_RMM_MR_PER_DEVICE_RESOURCE_HPP
#define ACCEL_COMPAT_RMM_MR_PER_DEVICE_RESOURCE_HPP

#include <accel/memory_resource.hpp>
#include <rmm/cuda_device.hpp>
#include <rmm/mr/cuda_memory_resource.hpp>
#include <rmm/resource_ref.hpp>

namespace rmm __attribute__((visibility("default"))) {
namespace mr {

/* Refers to what is set: valid until another one is. */
inline device_async_resource_ref get_per_device_resource_ref(cuda_device_id id)
{
	return accel::get_per_device_resource(id);
}
inline device_async_resource_ref get_current_device_resource_ref()
{
	return accel::get_current_device_resource();
}

using accel::reset_current_device_resource;
using accel::reset_per_device_resource;
using accel::set_current_device_resource;
using accel::set_per_device_resource;

/* As these were named until 25.12. */
inline accel::any_resource set_per_device_resource_ref(cuda_device_id id,
						       device_async_resource_ref resource)
{
	return set_per_device_resource(id, resource);
}
inline accel::any_resource set_current_device_resource_ref(device_async_resource_ref resource)
{
	return set_current_device_resource(resource);
}
inline accel::any_resource reset_per_device_resource_ref(cuda_device_id id)
{
	return reset_per_device_resource(id);
}
inline accel::any_resource reset_current_device_resource_ref()
{
	return reset_current_device_resource();
}

} // namespace mr
} // namespace rmm

#endif /* ACCEL_COMPAT_RMM_MR_PER_DEVICE_RESOURCE_HPP */
