/* SPDX-License-Identifier: MIT */
/*
 * accelctl topo: where devices are, and how they reach each other. The way of a copy is found by
 * making one: through host memory both contexts count its bytes, directly only the one that copies.
 */
#include "accelctl.h"
#include "clients.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum path { PATH_SELF, PATH_DIRECT, PATH_HOST, PATH_UNKNOWN };

static const char *const path_names[] = { "self", "direct", "host", "unknown" };

struct place {
	struct accel_device *dev; /* NULL if it cannot be opened */
	struct accel_device_info info; /* then only what sysfs has: node, name, bus_address */
	void *block; /* NULL if there is no memory for it */
	char numa[16], speed[32], width[16]; /* "" if it is not known */
};

static void place_describe(struct place *place)
{
	unsigned int number = place->info.node;

	device_attribute(number, "device/numa_node", place->numa, sizeof(place->numa));
	if (!strcmp(place->numa, "-1"))
		*place->numa = 0;
	device_attribute(number, "device/current_link_speed", place->speed, sizeof(place->speed));
	device_attribute(number, "device/current_link_width", place->width, sizeof(place->width));
	if (!strncmp(place->speed, "Unknown", 7))
		*place->speed = *place->width = 0;
}

/* What this process has copied by the context of a device; false without fdinfo. */
static bool own_client(const struct place *place, struct client *own)
{
	struct client *clients;
	int count = clients_of(getpid(), &clients);
	bool found = false;

	for (int i = 0; i < count && !found; i++) {
		found = clients[i].device == place->info.node;
		if (found)
			*own = clients[i];
	}
	free(clients);
	return found;
}

static enum path find_path(const struct place *from, const struct place *to, uint64_t bytes)
{
	struct client from_before, from_after, to_before, to_after;
	bool sent, received;

	if (!from->block || !to->block)
		return PATH_UNKNOWN;
	if (from == to)
		return PATH_SELF;
	if (!own_client(from, &from_before) || !own_client(to, &to_before))
		return PATH_UNKNOWN;
	if (accel_memory_copy_p2p(to->dev, from->dev, to->block, from->block, bytes)) {
		complain_last("topo");
		return PATH_UNKNOWN;
	}
	if (!own_client(from, &from_after) || !own_client(to, &to_after))
		return PATH_UNKNOWN;
	sent = from_after.d2h - from_before.d2h >= bytes;
	received = to_after.h2d - to_before.h2d >= bytes;
	if (!sent && !received)
		return PATH_UNKNOWN;
	return sent && received ? PATH_HOST : PATH_DIRECT;
}

static bool is_shown(const struct place *place, const struct options *options)
{
	return !options->has_device || place->info.node == options->device;
}

static void print_text(const struct place *places, int count, const enum path *paths,
		       const struct options *options)
{
	char link[64];

	printf("%-6s %-14s %-5s %-20s", "DEVICE", "PCI ADDRESS", "NUMA", "LINK");
	for (int i = 0; i < count; i++)
		printf(" to %-5u", places[i].info.node);
	putchar('\n');
	for (int i = 0; i < count; i++) {
		const struct place *place = &places[i];

		if (!is_shown(place, options))
			continue;
		snprintf(link, sizeof(link), "%s x%s", place->speed, place->width);
		printf("%-6u %-14s %-5s %-20s", place->info.node,
		       *place->info.bus_address ? place->info.bus_address : "-",
		       *place->numa ? place->numa : "-", *place->speed ? link : "-");
		for (int k = 0; k < count; k++)
			printf(" %-8s", path_names[paths[i * count + k]]);
		putchar('\n');
	}
	puts("\nself: the device itself; direct: over the bus; host: through host memory;\n"
	     "unknown: it could not be found out");
}

static void print_json(const struct place *places, int count, const enum path *paths,
		       const struct options *options)
{
	struct json_object *object = json_object_new_object();
	struct json_object *devices = json_object_new_array(), *pairs = json_object_new_array();

	for (int i = 0; i < count; i++) {
		const struct place *place = &places[i];
		struct json_object *entry;

		if (!is_shown(place, options))
			continue;
		entry = json_device(place->info.node, &place->info);
		json_add(entry, "numa_node",
			 *place->numa ? json_object_new_int(atoi(place->numa)) : NULL);
		json_add(entry, "link_speed", *place->speed ? json_text(place->speed) : NULL);
		json_add(entry, "link_width",
			 *place->width ? json_object_new_int(atoi(place->width)) : NULL);
		json_object_array_add(devices, entry);
		for (int k = 0; k < count; k++) {
			struct json_object *pair = json_object_new_object();

			json_add_number(pair, "source", place->info.node);
			json_add_number(pair, "destination", places[k].info.node);
			json_add_text(pair, "path", path_names[paths[i * count + k]]);
			json_object_array_add(pairs, pair);
		}
	}
	json_add(object, "devices", devices);
	json_add(object, "pairs", pairs);
	json_print(object);
}

static int open_place(struct place *place, unsigned int number)
{
	struct accel_device_info *info = &place->info;
	int status = device_open("topo", number, &place->dev, info);

	if (status) {
		place->dev = NULL;
		*info = (struct accel_device_info){ .node = number };
		device_attribute(number, "backend", info->name, sizeof(info->name));
		device_bus_address(number, info->bus_address, sizeof(info->bus_address));
	}
	place_describe(place);
	return status;
}

/*
 * Alignments are powers of two: the largest is a length that every device can copy. FAILED if there
 * is a device of which the paths cannot be found.
 */
static int open_places(struct place *places, const unsigned int *numbers, int count,
		       uint64_t *bytes)
{
	int status = DONE;

	*bytes = 64;
	for (int i = 0; i < count; i++) {
		if (open_place(&places[i], numbers[i]))
			status = FAILED;
		if (places[i].info.copy_align > *bytes)
			*bytes = places[i].info.copy_align;
	}
	for (int i = 0; i < count; i++) {
		struct place *place = &places[i];

		if (!place->dev || !accel_device_memory_allocate(place->dev, &place->block, *bytes))
			continue;
		status = complain_last("topo");
		place->block = NULL;
	}
	return status;
}

int command_topo(const struct options *options)
{
	unsigned int *numbers, number;
	int count, status;
	struct place *places;
	enum path *paths;
	uint64_t bytes;

	if (options->has_device && device_choose("topo", options, &number))
		return FAILED;
	count = devices_in_dev(&numbers);
	if (!count && options->json)
		print_json(NULL, 0, NULL, options);
	if (!count)
		return no_devices();
	places = xcalloc((size_t)count, sizeof(*places));
	paths = xcalloc((size_t)count * (size_t)count, sizeof(*paths));
	status = open_places(places, numbers, count, &bytes);
	for (int i = 0; i < count * count; i++)
		if (is_shown(&places[i / count], options))
			paths[i] = find_path(&places[i / count], &places[i % count], bytes);
	if (options->json)
		print_json(places, count, paths, options);
	else
		print_text(places, count, paths, options);
	/* Which frees the memory. */
	for (int i = 0; i < count; i++)
		if (places[i].dev)
			accel_device_close(places[i].dev);
	free(numbers);
	free(places);
	free(paths);
	return status;
}
