/* SPDX-License-Identifier: MIT */
/*
 * The commands that show: list, info, stats.
 */
#include "accelctl.h"
#include "json.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define FIELD(name, label, is_count) \
	{ \
#name, label, offsetof(struct accel_memory_stats, name), is_count \
	}

const struct stat_field stat_fields[] = {
	FIELD(total, "total", false),
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
	FIELD(bytes_h2d, "copied to the card", false),
	FIELD(bytes_d2h, "copied from the card", false),
	FIELD(bytes_d2d, "copied inside the card", false),
	FIELD(bytes_filled, "filled", false),
	FIELD(bytes_scrubbed, "scrubbed", false),
	FIELD(transfers, "transfers", true),
};

const unsigned int stat_field_count = sizeof(stat_fields) / sizeof(stat_fields[0]);

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

/* A card that cannot be opened or asked is shown with the reason. */
struct card {
	int index;
	bool good;
	struct accel_device_info info;
	size_t total, free;
};

static void look_at(struct card *card, int index)
{
	struct accel_device *dev;

	*card = (struct card){ .index = index };
	if (accel_device_open(index, &dev))
		return;
	card->good = !accel_device_info(dev, &card->info) &&
		     !accel_device_memory_stats(dev, &card->total, &card->free);
	accel_device_close(dev);
}

static void list_json(const struct card *card)
{
	char node[32];

	json_open(NULL, '{');
	json_number("index", (uint64_t)card->index);
	if (card->good) {
		snprintf(node, sizeof(node), "/dev/paccel%u", card->info.node);
		json_string("node", node);
		json_string("name", card->info.name);
		json_string("bus_address", card->info.bus_address);
		json_number("memory_size", card->info.memory_size);
		json_number("free", card->free);
	} else {
		json_string("error", accel_last_error());
	}
	json_close('}');
}

static void list_line(const struct card *card)
{
	char node[32];

	if (!card->good) {
		printf("%-6d %s\n", card->index, accel_last_error());
		return;
	}
	snprintf(node, sizeof(node), "/dev/paccel%u", card->info.node);
	printf("%-6d %-14s %-10s %-14s %12s %12s\n", card->index, node, card->info.name,
	       card->info.bus_address, size_text((double)card->info.memory_size),
	       size_text((double)card->free));
}

int no_cards(const struct options *options)
{
	struct accel_device *dev;

	if (options->json) {
		json_open(NULL, '[');
		json_close(']');
	}
	/* Why there are none is what opening the first one says. */
	if (!accel_device_open(0, &dev))
		accel_device_close(dev);
	return complain("%s", accel_last_error());
}

int command_list(const struct options *options)
{
	int count = accel_device_count(), status = DONE;
	struct card card;

	if (count <= 0)
		return no_cards(options);
	if (options->json)
		json_open(NULL, '[');
	else
		printf("%-6s %-14s %-10s %-14s %12s %12s\n", "INDEX", "NODE", "CARD", "PCI ADDRESS",
		       "MEMORY", "FREE");
	for (int i = 0; i < count; i++) {
		look_at(&card, i);
		if (options->json)
			list_json(&card);
		else
			list_line(&card);
		if (!card.good)
			status = FAILED;
	}
	if (options->json)
		json_close(']');
	return status;
}

static void info_json(int index, const struct accel_device_info *info)
{
	json_open(NULL, '{');
	json_number("index", (uint64_t)index);
	json_number("node", info->node);
	json_string("name", info->name);
	json_string("bus_address", info->bus_address);
	json_number("memory_size", info->memory_size);
	json_number("granule", info->granule);
	json_number("max_transfer", info->max_transfer);
	json_number("max_alignment", info->max_alignment);
	json_number("max_host_bytes", info->max_host_bytes);
	json_number("max_host_ranges", info->max_host_ranges);
	json_number("engines", info->engines);
	json_number("dma_bits", info->dma_bits);
	json_number("copy_align", info->copy_align);
	json_open("capabilities", '[');
	for (size_t i = 0; i < CAPABILITIES; i++)
		if (info->capabilities & capability_names[i].bit)
			json_string(NULL, capability_names[i].name);
	json_close(']');
	json_close('}');
}

static void info_text(int index, const struct accel_device_info *info)
{
	printf("card %d\n", index);
	printf("  kind             %s\n", info->name);
	printf("  node             /dev/paccel%u\n", info->node);
	printf("  PCI address      %s\n", info->bus_address);
	printf("  memory           %" PRIu64 " bytes\n", info->memory_size);
	printf("  granule          %" PRIu64 " bytes\n", info->granule);
	printf("  largest transfer %" PRIu64 " bytes\n", info->max_transfer);
	printf("  alignment up to  %" PRIu64 " bytes\n", info->max_alignment);
	printf("  host ranges      %u, of up to %s each\n", info->max_host_ranges,
	       size_text((double)info->max_host_bytes));
	printf("  DMA channels     %u, %u address bits\n", info->engines, info->dma_bits);
	printf("  copies of        multiples of %u bytes\n", info->copy_align);
	printf("  capabilities    ");
	for (size_t i = 0; i < CAPABILITIES; i++)
		if (info->capabilities & capability_names[i].bit)
			printf(" %s", capability_names[i].name);
	puts(info->capabilities ? "" : " none");
}

int command_info(const struct options *options)
{
	struct accel_device_info info;
	struct accel_device *dev;
	int err;

	if (accel_device_open(options->index, &dev))
		return complain_last("info");
	err = accel_device_info(dev, &info);
	if (err)
		complain_last("info");
	else if (options->json)
		info_json(options->index, &info);
	else
		info_text(options->index, &info);
	accel_device_close(dev);
	return err ? FAILED : DONE;
}

static void stats_json(int index, const struct accel_memory_stats *stats)
{
	json_open(NULL, '{');
	json_number("index", (uint64_t)index);
	for (unsigned int i = 0; i < stat_field_count; i++)
		json_number(stat_fields[i].name, stat_value(stats, &stat_fields[i]));
	json_close('}');
}

const char *stat_text(const struct stat_field *field, uint64_t value)
{
	static char texts[8][24];
	static unsigned int turn;
	char *text = texts[turn++ % 8];

	if (!value && field->offset == offsetof(struct accel_memory_stats, user_max))
		return "none";
	snprintf(text, sizeof(texts[0]), "%" PRIu64, value);
	return text;
}

static void stats_table(const struct accel_memory_stats *stats)
{
	for (unsigned int i = 0; i < stat_field_count; i++) {
		const struct stat_field *field = &stat_fields[i];
		const char *text = stat_text(field, stat_value(stats, field));
		bool bytes = !field->is_count && strcmp(text, "none");

		printf("%-23s %12s%s\n", field->label, text, bytes ? " B" : "");
	}
}

static void stats_row(const struct accel_memory_stats *now, const struct accel_memory_stats *before,
		      double seconds)
{
	printf("%10s %10s %10s %10s | %10s %10s %10s %10s %10.1f\n", size_text((double)now->used),
	       size_text((double)now->free), size_text((double)now->dirty),
	       size_text((double)now->quarantined),
	       size_text((double)(now->bytes_h2d - before->bytes_h2d) / seconds),
	       size_text((double)(now->bytes_d2h - before->bytes_d2h) / seconds),
	       size_text((double)(now->bytes_d2d - before->bytes_d2d) / seconds),
	       size_text((double)(now->bytes_filled - before->bytes_filled) / seconds),
	       (double)(now->transfers - before->transfers) / seconds);
}

static struct timespec add_seconds(struct timespec time, double seconds)
{
	time.tv_sec += (time_t)seconds;
	time.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
	if (time.tv_nsec >= 1000000000) {
		time.tv_sec++;
		time.tv_nsec -= 1000000000;
	}
	return time;
}

/* Absolute times, so that rows do not drift. */
static int watch(struct accel_device *dev, const struct options *options)
{
	struct accel_memory_stats now, before;
	struct timespec next;

	clock_gettime(CLOCK_MONOTONIC, &next);
	if (!options->json)
		printf("%10s %10s %10s %10s | %10s %10s %10s %10s %10s\n", "USED", "FREE",
		       "WAITING", "SET ASIDE", "TO CARD/s", "FROM/s", "INSIDE/s", "FILLED/s",
		       "XFERS/s");
	for (unsigned long row = 0; !options->count || row < options->count; row++) {
		if (accel_memory_stats_full(dev, &now))
			return complain_last("stats");
		if (options->json)
			stats_json(options->index, &now);
		else
			stats_row(&now, row ? &before : &now, options->interval);
		if (fflush(stdout))
			return FAILED;
		before = now;
		next = add_seconds(next, options->interval);
		if (row + 1 != options->count)
			clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
	return DONE;
}

static int show_stats(struct accel_device *dev, const struct options *options)
{
	struct accel_memory_stats stats;

	if (accel_memory_stats_full(dev, &stats))
		return complain_last("stats");
	if (options->json)
		stats_json(options->index, &stats);
	else
		stats_table(&stats);
	return DONE;
}

int command_stats(const struct options *options)
{
	struct accel_device *dev;
	int status;

	if (accel_device_open(options->index, &dev))
		return complain_last("stats");
	status = options->watch ? watch(dev, options) : show_stats(dev, options);
	accel_device_close(dev);
	return status;
}
