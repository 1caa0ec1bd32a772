/* SPDX-License-Identifier: MIT */
/*
 * accelctl drm: what a device can share memory and completion with.
 */
#ifdef HAVE_DRM
#include "accelctl.h"

#include <accel/drm.h>
#include <stdio.h>

enum { MOST = 64 }; /* as many as DRM has minors for one kind of node */

static const struct {
	uint32_t bit;
	const char *name;
} abilities[] = {
	{ ACCEL_DRM_IMPORT, "import" },
	{ ACCEL_DRM_EXPORT, "export" },
	{ ACCEL_DRM_SYNCOBJ, "syncobj" },
	{ ACCEL_DRM_TIMELINE, "timeline" },
};

#define ABILITIES (sizeof(abilities) / sizeof(abilities[0]))

static struct json_object *drm_json(const struct accel_drm_info *info)
{
	struct json_object *object = json_object_new_object();

	json_add_text(object, "node", info->node);
	json_add_text(object, "driver", info->driver);
	json_add_text(object, "bus_address", info->bus_address);
	for (size_t i = 0; i < ABILITIES; i++)
		json_add(object, abilities[i].name,
			 json_object_new_boolean(!!(info->capabilities & abilities[i].bit)));
	return object;
}

static void drm_print(const struct accel_drm_info *info)
{
	printf("%-20s %-12s %-14s", info->node, info->driver,
	       *info->bus_address ? info->bus_address : "-");
	for (size_t i = 0; i < ABILITIES; i++)
		if (info->capabilities & abilities[i].bit)
			printf(" %s", abilities[i].name);
	putchar('\n');
}

int command_drm(const struct options *options)
{
	static struct accel_drm_info infos[MOST];
	int count = accel_drm_list(infos, MOST);
	struct json_object *array = NULL;

	if (count < 0)
		return complain("drm: cannot list DRM devices: %s", accel_strerror(count));
	if (count > MOST)
		count = MOST;
	if (options->json)
		array = json_object_new_array();
	else if (!count)
		return complain("drm: there is no DRM device that may be opened: ls -l /dev/dri");
	else
		printf("%-20s %-12s %-14s %s\n", "NODE", "DRIVER", "PCI", "CAN");
	for (int i = 0; i < count; i++) {
		if (options->json)
			json_object_array_add(array, drm_json(&infos[i]));
		else
			drm_print(&infos[i]);
	}
	if (options->json)
		json_print(array);
	return DONE;
}
#else
/* A file has to have something in it. */
typedef int no_drm;
#endif
