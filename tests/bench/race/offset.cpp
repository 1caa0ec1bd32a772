/* SPDX-License-Identifier: MIT */
/* A mutex around OffsetAllocator, whose source is in the folder OFFSETALLOCATOR_SRC. */
#include "race.h"

#include <mutex>
#include <new>

#include <offsetAllocator.hpp>

namespace {

struct Locked {
	explicit Locked(uint32_t granules) : allocator(granules, RACE_BLOCKS) {}

	std::mutex lock;
	OffsetAllocator::Allocator allocator;
};

void *create(uint64_t bytes)
{
	return new (std::nothrow) Locked(static_cast<uint32_t>(bytes / RACE_GRANULE));
}

void destroy(void *self)
{
	delete static_cast<Locked *>(self);
}

bool allocate(void *self, uint32_t bytes, place *place)
{
	auto *locked = static_cast<Locked *>(self);
	OffsetAllocator::Allocation made;

	{
		std::lock_guard<std::mutex> guard(locked->lock);
		made = locked->allocator.allocate((bytes + RACE_GRANULE - 1) / RACE_GRANULE);
	}
	place->at = static_cast<uint64_t>(made.offset) * RACE_GRANULE;
	place->handle = made.metadata;
	return made.offset != OffsetAllocator::Allocation::NO_SPACE;
}

void release(void *self, const place *place, uint32_t)
{
	auto *locked = static_cast<Locked *>(self);
	OffsetAllocator::Allocation made;

	made.offset = static_cast<uint32_t>(place->at / RACE_GRANULE);
	made.metadata = static_cast<OffsetAllocator::NodeIndex>(place->handle);
	std::lock_guard<std::mutex> guard(locked->lock);
	locked->allocator.free(made);
}

} // namespace

extern "C" const racer offset_racer = { "mutex + OffsetAllocator", create, destroy, allocate, release };
