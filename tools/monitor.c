/* SPDX-License-Identifier: MIT */
/*
 * accelctl monitor, and stats --watch: a line per device and interval, with rates.
 */
#include "accelctl.h"

#include <inttypes.h>
#include <stdlib.h>

/* One device; dev is NULL if it cannot be opened, and once it was removed. */
struct monitored {
	struct accel_device *dev;
	struct accel_device_info info;
	struct accel_memory_stats now, before;
};

#define COLUMN(title, name, field, kind)                                       \
	{                                                                      \
		title, name, offsetof(struct accel_memory_stats, field), kind \
	}

static const struct column {
	const char *title, *name;
	size_t offset;
	enum { BYTES, BYTES_PER_SECOND, COUNT_PER_SECOND } kind;
} columns[] = {
	COLUMN("USED", "used", used, BYTES),
	COLUMN("FREE", "free", free, BYTES),
	COLUMN("DIRTY", "dirty", dirty, BYTES),
	COLUMN("QUARANTINED", "quarantined", quarantined, BYTES),
	COLUMN("H2D/s", "h2d_per_second", bytes_h2d, BYTES_PER_SECOND),
	COLUMN("D2H/s", "d2h_per_second", bytes_d2h, BYTES_PER_SECOND),
	COLUMN("D2D/s", "d2d_per_second", bytes_d2d, BYTES_PER_SECOND),
	COLUMN("FILLED/s", "filled_per_second", bytes_filled, BYTES_PER_SECOND),
	COLUMN("REQUESTS/s", "requests_per_second", transfers, COUNT_PER_SECOND),
};

#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

static uint64_t number_at(const struct accel_memory_stats *stats, size_t offset)
{
	return *(const uint64_t *)((const char *)stats + offset);
}

static uint64_t level(const struct monitored *device, const struct column *column)
{
	return number_at(&device->now, column->offset);
}

static double rate(const struct monitored *device, const struct column *column, double seconds)
{
	return (double)(level(device, column) - number_at(&device->before, column->offset)) /
	       seconds;
}

static const char *health_of(const struct monitored *device)
{
	static char health[32];

	device_attribute(device->info.node, "health", health, sizeof(health));
	return *health ? health : "unknown";
}

static void print_header(const struct options *options)
{
	if (options->csv) {
		printf("time,device,node,bus_address");
		for (size_t i = 0; i < COLUMNS; i++)
			printf(",%s", columns[i].name);
		puts(",health");
	} else if (!options->json) {
		printf("%-8s %6s", "TIME", "DEVICE");
		for (size_t i = 0; i < COLUMNS; i++)
			printf(" %11s", columns[i].title);
		puts(" HEALTH");
	}
}

static void print_csv(const struct monitored *device, const char *time, double seconds)
{
	printf("%s,%u,/dev/paccel%u,%s", time, device->info.node, device->info.node,
	       device->info.bus_address);
	for (size_t i = 0; i < COLUMNS; i++) {
		if (columns[i].kind == BYTES)
			printf(",%" PRIu64, level(device, &columns[i]));
		else
			printf(",%.1f", rate(device, &columns[i], seconds));
	}
	printf(",%s\n", health_of(device));
}

static void print_text(const struct monitored *device, double seconds)
{
	time_t now = time(NULL);
	struct tm local;
	char text[16];

	strftime(text, sizeof(text), "%H:%M:%S", localtime_r(&now, &local));
	printf("%-8s %6u", text, device->info.node);
	for (size_t i = 0; i < COLUMNS; i++) {
		if (columns[i].kind == BYTES)
			printf(" %11s", size_text((double)level(device, &columns[i])));
		else if (columns[i].kind == BYTES_PER_SECOND)
			printf(" %11s", size_text(rate(device, &columns[i], seconds)));
		else
			printf(" %11.1f", rate(device, &columns[i], seconds));
	}
	printf(" %s\n", health_of(device));
}

static struct json_object *device_json(const struct monitored *device, double seconds)
{
	struct json_object *object = json_device(device->info.node, &device->info);

	for (size_t i = 0; i < COLUMNS; i++) {
		const struct column *column = &columns[i];

		if (column->kind == BYTES)
			json_add_number(object, column->name, level(device, column));
		else
			json_add_real(object, column->name, rate(device, column, seconds));
	}
	json_add_text(object, "health", health_of(device));
	return object;
}

/* Returns the number of devices that are left. */
static int read_all(struct monitored *devices, int count)
{
	int left = 0;

	for (int i = 0; i < count; i++) {
		struct monitored *device = &devices[i];

		if (!device->dev)
			continue;
		device->before = device->now;
		if (!accel_memory_stats_full(device->dev, &device->now)) {
			left++;
			continue;
		}
		complain_last("monitor");
		accel_device_close(device->dev);
		device->dev = NULL;
	}
	return left;
}

static void print_all(struct monitored *devices, int count, const struct options *options,
		      double seconds)
{
	struct json_object *object = NULL, *array = NULL;
	char time[48];

	time_text(time);
	if (options->json) {
		array = json_object_new_array();
		object = json_object_new_object();
		json_add_text(object, "time", time);
		json_add_real(object, "seconds", seconds);
		json_add(object, "devices", array);
	}
	for (int i = 0; i < count; i++) {
		if (!devices[i].dev)
			continue;
		if (options->json)
			json_object_array_add(array, device_json(&devices[i], seconds));
		else if (options->csv)
			print_csv(&devices[i], time, seconds);
		else
			print_text(&devices[i], seconds);
	}
	if (options->json)
		json_print(object);
}

/* The times are absolute, so that lines do not drift; rates are of the time that has passed. */
static int monitor(struct monitored *devices, int count, const struct options *options)
{
	double last = time_now(), time;
	struct timespec next;

	if (!read_all(devices, count))
		return FAILED;
	print_header(options);
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (unsigned long row = 0; !options->count || row < options->count; row++) {
		if (fflush(stdout))
			return FAILED;
		time_wait(&next, options->interval);
		if (!read_all(devices, count))
			return FAILED;
		time = time_now();
		print_all(devices, count, options, time - last);
		last = time;
	}
	return DONE;
}

int command_monitor(const struct options *options)
{
	struct monitored *devices;
	unsigned int *numbers;
	int count, status;

	count = devices_choose("monitor", options, devices_in_dev, &numbers);
	devices = xcalloc((size_t)count, sizeof(*devices));
	for (int i = 0; i < count; i++)
		if (device_open("monitor", numbers[i], &devices[i].dev, &devices[i].info))
			devices[i].dev = NULL;
	free(numbers);
	status = count ? monitor(devices, count, options) : FAILED;
	for (int i = 0; i < count; i++)
		if (devices[i].dev)
			accel_device_close(devices[i].dev);
	free(devices);
	return status;
}
