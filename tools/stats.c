/* SPDX-License-Identifier: MIT */
/*
 * accelctl stats: the memory of a device, and what was done with it.
 */
#include "accelctl.h"

#include <inttypes.h>
#include <stddef.h>

#define FIELD(name, field, label, is_count, in_copy)                          \
	{                                                                     \
		name, label, offsetof(struct usage, field), is_count, in_copy \
	}

const struct stat_field stat_fields[] = {
	FIELD("total", stats.total, "total", false, false),
	FIELD("used", stats.used, "used", false, true),
	FIELD("free", stats.free, "free", false, false),
	FIELD("dirty", stats.dirty, "dirty", false, false),
	FIELD("quarantined", stats.quarantined, "quarantined", false, false),
	FIELD("available", available, "available", false, true),
	FIELD("largest_free", stats.largest_free, "largest free block", false, false),
	FIELD("mine", stats.mine, NULL, false, false),
	FIELD("mine_allocs", stats.mine_allocs, NULL, true, false),
	FIELD("user", stats.user, "used by this user", false, false),
	FIELD("user_max", stats.user_max, "quota of each user", false, false),
	FIELD("allocs", stats.allocs, "allocations made", true, true),
	FIELD("alloc_failures", stats.alloc_failures, "allocations refused", true, false),
	FIELD("bytes_h2d", stats.bytes_h2d, "copied to the device", false, true),
	FIELD("bytes_d2h", stats.bytes_d2h, "copied from the device", false, true),
	FIELD("bytes_d2d", stats.bytes_d2d, "copied inside the device", false, true),
	FIELD("bytes_filled", stats.bytes_filled, "filled", false, true),
	FIELD("bytes_scrubbed", stats.bytes_scrubbed, "scrubbed", false, false),
	FIELD("requests", stats.transfers, "DMA requests", true, true),
	{ 0 },
};

int usage_read(struct accel_device *dev, struct usage *usage)
{
	int err = accel_memory_stats_full(dev, &usage->stats);

	usage->available = usage->stats.free + usage->stats.dirty;
	return err;
}

void json_add_stats(struct json_object *object, const struct usage *usage)
{
	for (const struct stat_field *field = stat_fields; field->name; field++)
		json_add_number(object, field->name, stat_value(usage, field));
}

static void stats_json(const struct accel_device_info *info, const struct usage *usage)
{
	struct json_object *object = json_device(info->node, info);

	json_add_stats(object, usage);
	json_print(object);
}

static void stats_table(const struct accel_device_info *info, const struct usage *usage)
{
	device_print(info);
	for (const struct stat_field *field = stat_fields; field->name; field++) {
		uint64_t value = stat_value(usage, field);

		if (!field->label)
			continue;
		if (!value && field->offset == offsetof(struct usage, stats.user_max))
			printf("%-24s %12s\n", field->label, "none");
		else
			printf("%-24s %12" PRIu64 "%s\n", field->label, value,
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
	struct accel_device_info info;
	struct accel_device *dev;
	struct usage usage;
	unsigned int number;
	int status = device_choose("stats", options, &number);

	if (!status && options->watch)
		return watch(options, number);
	if (!status)
		status = device_open("stats", number, &dev, &info);
	if (status)
		return status;
	if (usage_read(dev, &usage))
		status = complain_last("stats");
	else if (options->json)
		stats_json(&info, &usage);
	else
		stats_table(&info, &usage);
	accel_device_close(dev);
	return status;
}
