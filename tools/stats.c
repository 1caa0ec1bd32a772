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

static void stats_table(const struct accel_device_info *info,
			const struct accel_memory_stats *stats)
{
	device_print(info);
	for (const struct stat_field *field = stat_fields; field->name; field++) {
		uint64_t value = stat_value(stats, field);

		if (!value && field->offset == offsetof(struct accel_memory_stats, user_max))
			printf("%-23s %12s\n", field->label, "none");
		else
			printf("%-23s %12" PRIu64 "%s\n", field->label, value,
			       field->is_count ? "" : " B");
	}
}

static int watch(const struct options *options, unsigned int number)
{
	struct options one = *options;

	one.has_device = true;
	one.device = number;
	return command_monitor(&one);
}

int command_stats(const struct options *options)
{
	struct accel_memory_stats stats;
	struct accel_device_info info;
	struct accel_device *dev;
	unsigned int number;
	int status = device_choose("stats", options, &number);

	if (!status && options->watch)
		return watch(options, number);
	if (!status)
		status = device_open("stats", number, &dev, &info);
	if (status)
		return status;
	if (accel_memory_stats_full(dev, &stats))
		status = complain_last("stats");
	else if (options->json)
		stats_json(&info, &stats);
	else
		stats_table(&info, &stats);
	accel_device_close(dev);
	return status;
}
