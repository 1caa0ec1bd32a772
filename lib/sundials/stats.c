/* SPDX-License-Identifier: MIT */
/*
 * Statistics of a helper: plain atomics, since a lock that another thread holds during a fork() would
 * never be free in the child.
 */
#include "private.h"

void stats_allocated(struct stats *stats, size_t bytes)
{
	size_t now = atomic_fetch_add(&stats->bytes, bytes) + bytes;
	size_t high = atomic_load(&stats->high);

	while (now > high && !atomic_compare_exchange_weak(&stats->high, &high, now))
		;
	atomic_fetch_add(&stats->allocated, 1);
}

/* Another helper may have allocated it. */
void stats_freed(struct stats *stats, size_t bytes)
{
	size_t now = atomic_load(&stats->bytes), left;

	do {
		left = now > bytes ? now - bytes : 0;
	} while (!atomic_compare_exchange_weak(&stats->bytes, &now, left));
	atomic_fetch_add(&stats->freed, 1);
}

SUNErrCode SUNMemoryHelper_GetAllocStats_Accel(SUNMemoryHelper helper, SUNMemoryType mem_type,
					       unsigned long *num_allocations,
					       unsigned long *num_deallocations,
					       size_t *bytes_allocated,
					       size_t *bytes_high_watermark)
{
	struct content *content = helper_content(helper);
	struct stats *stats;

	if (!content || !num_allocations || !num_deallocations || !bytes_allocated ||
	    !bytes_high_watermark)
		return SUN_ERR_ARG_CORRUPT;
	if (!is_type(mem_type))
		return SUN_ERR_ARG_OUTOFRANGE;
	stats = &content->stats[mem_type];
	*num_allocations = atomic_load(&stats->allocated);
	*num_deallocations = atomic_load(&stats->freed);
	*bytes_allocated = atomic_load(&stats->bytes);
	*bytes_high_watermark = atomic_load(&stats->high);
	return SUN_SUCCESS;
}
