/* SPDX-License-Identifier: MIT */
/* A mutex around a virtual block of the Vulkan Memory Allocator: TLSF, without a Vulkan driver. */
#include "race.h"

#include <mutex>
#include <new>

#define VMA_IMPLEMENTATION
#define VMA_STATIC_VULKAN_FUNCTIONS 0
#define VMA_DYNAMIC_VULKAN_FUNCTIONS 0
#include <vk_mem_alloc.h>

namespace {

struct Locked {
	std::mutex lock;
	VmaVirtualBlock block = nullptr;
};

void *create(uint64_t bytes)
{
	VmaVirtualBlockCreateInfo info = {};
	auto *locked = new (std::nothrow) Locked;

	info.size = bytes;
	if (locked && vmaCreateVirtualBlock(&info, &locked->block) == VK_SUCCESS)
		return locked;
	delete locked;
	return nullptr;
}

void destroy(void *self)
{
	auto *locked = static_cast<Locked *>(self);

	vmaDestroyVirtualBlock(locked->block);
	delete locked;
}

bool allocate(void *self, uint32_t bytes, place *place)
{
	auto *locked = static_cast<Locked *>(self);
	VmaVirtualAllocationCreateInfo info = {};
	VmaVirtualAllocation made;
	VkDeviceSize at;

	info.size = (static_cast<uint64_t>(bytes) + RACE_GRANULE - 1) / RACE_GRANULE * RACE_GRANULE;
	info.alignment = RACE_GRANULE;
	std::lock_guard<std::mutex> guard(locked->lock);
	if (vmaVirtualAllocate(locked->block, &info, &made, &at) != VK_SUCCESS)
		return false;
	place->at = at;
	place->handle = reinterpret_cast<uint64_t>(made);
	return true;
}

void release(void *self, const place *place, uint32_t)
{
	auto *locked = static_cast<Locked *>(self);
	std::lock_guard<std::mutex> guard(locked->lock);

	vmaVirtualFree(locked->block, reinterpret_cast<VmaVirtualAllocation>(place->handle));
}

} // namespace

extern "C" const racer vma_racer = { "mutex + VMA (TLSF)", create, destroy, allocate, release };
