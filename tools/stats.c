/* SPDX-License-Identifier: MIT */
/*
 * accelctl stats: the memory of a device, and what was done with it.
 */
#include "accelctl.h"

#include <inttypes.h>
#include <stddef.h>

#define FIELD(name, label, is_count)                                              \
	{                                                                         \
#name, label, offsetof(struct accel_memory_stats, name), is_count \
	}

const struct stat_field stat_fields[] = { FIELD(total, "total", false),
					  FIELD(used, "used", false),
					  FIELD(free, "free", false),
					  FIELD(dirty, "not scrubbed yet", false),
					  FIELD(quarantined, "quarantined", false),
					  FIELD(largest_free, "largest free block", false),
					  FIELD(mine, "used by this process", false),
					  FIELD(mine_allocs, "its allocations", true),
					  FIELD(user, "used by this user", false),
					  FIELD(user_max, "quota of each user", false),
					  FIELD(allocs, "allocations made", true),
					  FIELD(alloc_failures, "allocations refused", true),
					  FIELD(bytes_h2d, "copied to the device", false),
					  FIELD(bytes_d2h, "copied from the device", false),
					  FIELD(bytes_d2d, "copied inside the device", false),
					  FIELD(bytes_filled, "filled", false),
					  FIELD(bytes_scrubbed, "scrubbed", false),
					  FIELD(transfers, "DMA requests", true),
					  { 0 } };

void json_add_stats(struct json_object *object, const struct accel_memory_stats *stats)
{
	for (const struct stat_field *field = stat_fields; field->name; field++)
		json_add_number(object, field->name, stat_value(stats, field));
}

static void stats_json(const struct accel_device_info *info, const struct accel_memory_stats *stats)
{
	struct json_object *object = json_device(info->node, info);

	json_add_stats(object, stats);
	json_print(object);
}

static void stats_table(const struct accel_memory_stats *stats)
{
	for (const struct stat_field *field = stat_fields; field->name; field++) {
		uint64_t value = stat_value(stats, field);

		if (!value && field->offset == offsetof(struct accel_memory_stats, user_max))
			printf("%-23s %12s\n", field->label, "none");
		else
			printf("%-23s %12" PRIu64 "%s\n", field->label, value,
			       field->is_count ? "" : " B");
	}
}

static void watch_row(const struct accel_memory_stats *now, const struct accel_memory_stats *before,
		      double seconds)
{
	printf("%10s %10s %10s %11s | %10s %10s %10s %10s %10.1f\n", size_text((double)now->used),
	       size_text((double)now->free), size_text((double)now->dirty),
	       size_text((double)now->quarantined),
	       size_text((double)(now->bytes_h2d - before->bytes_h2d) / seconds),
	       size_text((double)(now->bytes_d2h - before->bytes_d2h) / seconds),
	       size_text((double)(now->bytes_d2d - before->bytes_d2d) / seconds),
	       size_text((double)(now->bytes_filled - before->bytes_filled) / seconds),
	       (double)(now->transfers - before->transfers) / seconds);
}

/* The times are absolute, so that rows do not drift; rates are of the time that has passed. */
static int watch(struct accel_device *dev, const struct accel_device_info *info,
		 const struct options *options)
{
	struct accel_memory_stats now, before;
	double time, last = 0;
	struct timespec next;

	clock_gettime(CLOCK_MONOTONIC, &next);
	if (!options->json)
		printf("%10s %10s %10s %11s | %10s %10s %10s %10s %10s\n", "USED", "FREE", "DIRTY",
		       "QUARANTINED", "H2D/s", "D2H/s", "D2D/s", "FILLED/s", "REQUESTS/s");
	for (unsigned long row = 0; !options->count || row < options->count; row++) {
		if (accel_memory_stats_full(dev, &now))
			return complain_last("stats");
		time = time_now();
		if (options->json)
			stats_json(info, &now);
		else
			watch_row(&now, row ? &before : &now, row ? time - last : 1);
		if (fflush(stdout))
			return FAILED;
		before = now;
		last = time;
		if (row + 1 != options->count)
			time_wait(&next, options->interval);
	}
	return DONE;
}

int command_stats(const struct options *options)
{
	struct accel_memory_stats stats;
	struct accel_device_info info;
	struct accel_device *dev;
	unsigned int number;
	int status = device_choose("stats", options, &number);

	if (!status)
		status = device_open("stats", number, &dev, &info);
	if (status)
		return status;
	if (!options->json)
		device_print(&info);
	if (options->watch)
		status = watch(dev, &info, options);
	else if (accel_memory_stats_full(dev, &stats))
		status = complain_last("stats");
	else if (options->json)
		stats_json(&info, &stats);
	else
		stats_table(&stats);
	accel_device_close(dev);
	return status;
}
