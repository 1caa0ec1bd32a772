/* SPDX-License-Identifier: MIT */
/*
 * What Paddle looks for in a plugin: InitPlugin(), which fills its table of functions.
 */
#include "private.h"

#include <string.h>

#define DEVICE_TYPE "accel"

void InitPlugin(struct params *params);

/* Not const: that is how Paddle declares them. They have to outlive every place of this type. */
static char device_type[] = DEVICE_TYPE;
static char sub_device_type[] = "paccel";

/* Sizes that releases of Paddle have passed, all with the same beginning. */
static const struct generation {
	size_t params, interface;
	/* Offsets of the functions; 0: not verified with this release. */
	size_t profiler, collectives;
} generations[] = {
	{ 88, 904, 0, 0 },  { 88, 912, 0, 0 },	{ 96, 920, 0, 560 },
	{ 96, 1032, 0, 0 }, { 96, 1040, 0, 0 }, { 96, 1128, 824, 640 },
};

static const struct generation *find_generation(size_t params, size_t interface)
{
	for (size_t i = 0; i < sizeof(generations) / sizeof(generations[0]); i++)
		if (generations[i].params == params && generations[i].interface == interface)
			return &generations[i];
	return NULL;
}

/* Paddle clears both structs but for the sizes: what is not 0 is not where we think it is. */
static bool is_clear(const struct params *params)
{
	static const struct params no_params;
	static const struct interface no_interface;
	size_t skip = sizeof(size_t);

	return !memcmp(&params->version, &no_params.version,
		       sizeof(*params) - offsetof(struct params, version)) &&
	       !memcmp((const char *)params->interface + skip, (const char *)&no_interface + skip,
		       sizeof(no_interface) - skip);
}

static const char *why_not(const struct params *params)
{
	if (params->size < PARAMS_MIN_SIZE || params->size % sizeof(void *))
		return "the parameters have another size than in any release that is known";
	if (!params->interface)
		return "the parameters have no table of functions";
	if (params->interface->size < INTERFACE_MIN_SIZE ||
	    params->interface->size % sizeof(void *))
		return "the table of functions has another size than in any release that is known";
	if (!is_clear(params))
		return "the parameters are not laid out as in the releases that are known";
	return NULL;
}

static bool suits(const struct params *params)
{
	const char *why = params ? why_not(params) : "there are no parameters";
	size_t size = params ? params->size : 0;
	size_t functions = size >= PARAMS_MIN_SIZE && params->interface ? params->interface->size
									: 0;

	if (why)
		plugin_say("not loaded: %s (sizes %zu and %zu)", why, size, functions);
	else if (!find_generation(size, functions))
		plugin_say("this release of Paddle is not known (sizes %zu and %zu): used is what "
			   "all releases before it have in common",
			   size, functions);
	return !why;
}

/*
 * The part of the table that all releases have, and the functions of the profiler and of collectives where
 * their place is known. The rest stays 0.
 */
static void fill(struct interface *table, const struct generation *generation)
{
	device_functions(table);
	stream_functions(table);
	event_functions(table);
	memory_functions(table);
	copy_functions(table);
	size_functions(table);
	if (generation && generation->profiler)
		profile_functions((struct profiler_interface *)((char *)table +
								generation->profiler));
	if (generation && generation->collectives)
		collective_functions((struct collective_interface *)((char *)table +
								     generation->collectives));
}

/* Paddle takes a plugin that names no device for one that has failed, and goes on. */
__attribute__((visibility("default"))) void InitPlugin(struct params *params)
{
	if (!suits(params))
		return;
	fill(params->interface, find_generation(params->size, params->interface->size));
	/* The version that Paddle asks for at least; it has not moved since. */
	params->version = (struct version){ .major = 0, .minor = 1, .patch = 1 };
	params->device_type = device_type;
	params->sub_device_type = sub_device_type;
	kernels_register(device_type);
}
