/* SPDX-License-Identifier: MIT */
/*
 * accelctl list, info: which devices there are, and what they are.
 */
#include "accelctl.h"

#include <inttypes.h>
#include <stdlib.h>

static const struct {
	uint32_t bit;
	const char *name;
} capability_names[] = {
	{ ACCEL_CAP_MAPPABLE, "mappable" },
	{ ACCEL_CAP_NATIVE_D2D, "native-d2d" },
	{ ACCEL_CAP_NATIVE_FILL, "native-fill" },
	{ ACCEL_CAP_MEM_SURVIVES_RESET, "memory-survives-reset" },
	{ ACCEL_CAP_DIRECT_DMA, "direct-dma" },
	{ ACCEL_CAP_VERIFY, "verify" },
};

#define CAPABILITIES (sizeof(capability_names) / sizeof(capability_names[0]))

/* ---- list ---- */

/* A device that cannot be opened is listed with the reason. */
struct entry {
	unsigned int number;
	bool good;
	struct accel_device_info info;
	size_t total, available;
};

static void entry_read(struct entry *entry, unsigned int number)
{
	struct accel_device *dev;

	*entry = (struct entry){ .number = number };
	if (device_try(number, &dev, &entry->info))
		return;
	entry->good = !accel_device_memory_stats(dev, &entry->total, &entry->available);
	accel_device_close(dev);
}

static struct json_object *entry_json(const struct entry *entry)
{
	struct json_object *object = json_device(entry->number, entry->good ? &entry->info : NULL);

	if (entry->good) {
		json_add_number(object, "memory_size", entry->info.memory_size);
		json_add_number(object, "available", entry->available);
	} else {
		json_add_text(object, "error", accel_last_error());
	}
	return object;
}

static void entry_print(const struct entry *entry)
{
	char node[32];

	if (!entry->good) {
		printf("%-6u %s\n", entry->number, accel_last_error());
		return;
	}
	snprintf(node, sizeof(node), "/dev/paccel%u", entry->number);
	printf("%-6u %-14s %-10s %-14s %12s %12s\n", entry->number, node, entry->info.name,
	       entry->info.bus_address, size_text((double)entry->info.memory_size),
	       size_text((double)entry->available));
}

static int list_show(unsigned int number, struct json_object **json)
{
	struct entry entry;

	entry_read(&entry, number);
	if (json)
		*json = entry_json(&entry);
	else
		entry_print(&entry);
	return entry.good ? DONE : FAILED;
}

int command_list(const struct options *options)
{
	char header[80];

	snprintf(header, sizeof(header), "%-6s %-14s %-10s %-14s %12s %12s", "DEVICE", "NODE",
		 "BACKEND", "PCI ADDRESS", "MEMORY", "AVAILABLE");
	return devices_show("list", options, devices_in_dev, header, list_show);
}

/* ---- info ---- */

static void info_json(const struct accel_device_info *info)
{
	struct json_object *object = json_device(info->node, info);
	struct json_object *names = json_object_new_array();

	json_add_number(object, "memory_size", info->memory_size);
	json_add_number(object, "granule", info->granule);
	json_add_number(object, "max_request", info->max_transfer);
	json_add_number(object, "max_alignment", info->max_alignment);
	json_add_number(object, "max_host_bytes", info->max_host_bytes);
	json_add_number(object, "max_host_ranges", info->max_host_ranges);
	json_add_number(object, "engines", info->engines);
	json_add_number(object, "dma_bits", info->dma_bits);
	json_add_number(object, "copy_align", info->copy_align);
	for (size_t i = 0; i < CAPABILITIES; i++)
		if (info->capabilities & capability_names[i].bit)
			json_object_array_add(names, json_text(capability_names[i].name));
	json_add(object, "capabilities", names);
	json_print(object);
}

static void info_text(const struct accel_device_info *info)
{
	printf("device %u\n", info->node);
	printf("  backend              %s\n", info->name);
	printf("  node                 /dev/paccel%u\n", info->node);
	printf("  PCI address          %s\n", info->bus_address);
	printf("  memory               %" PRIu64 " bytes\n", info->memory_size);
	printf("  granule              %" PRIu64 " bytes\n", info->granule);
	printf("  largest DMA request  %" PRIu64 " bytes\n", info->max_transfer);
	printf("  largest alignment    %" PRIu64 " bytes\n", info->max_alignment);
	printf("  host ranges          %u, of up to %s each\n", info->max_host_ranges,
	       size_text((double)info->max_host_bytes));
	printf("  DMA engines          %u, with bus addresses of %u bits\n", info->engines,
	       info->dma_bits);
	printf("  copy alignment       %u byte%s\n", info->copy_align,
	       info->copy_align == 1 ? "" : "s");
	printf("  capabilities        ");
	for (size_t i = 0; i < CAPABILITIES; i++)
		if (info->capabilities & capability_names[i].bit)
			printf(" %s", capability_names[i].name);
	puts(info->capabilities ? "" : " none");
}

int command_info(const struct options *options)
{
	struct accel_device_info info;
	struct accel_device *dev;
	unsigned int number;
	int status = device_choose("info", options, &number);

	if (!status)
		status = device_open("info", number, &dev, &info);
	if (status)
		return status;
	options->json ? info_json(&info) : info_text(&info);
	accel_device_close(dev);
	return DONE;
}
