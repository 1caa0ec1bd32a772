/* SPDX-License-Identifier: MIT */
/*
 * accelctl drm: what a card can share memory and completion with.
 */
#ifdef HAVE_DRM
#include "accelctl.h"
#include "json.h"

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

static void show_json(const struct accel_drm_info *info)
{
	json_open(NULL, '{');
	json_string("node", info->node);
	json_string("driver", info->driver);
	json_string("bus_address", info->bus_address);
	for (size_t i = 0; i < ABILITIES; i++)
		json_bool(abilities[i].name, info->capabilities & abilities[i].bit);
	json_close('}');
}

static void show_line(const struct accel_drm_info *info)
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

	if (count < 0)
		return complain("cannot list DRM devices: %s", accel_strerror(count));
	if (count > MOST)
		count = MOST;
	if (options->json)
		json_open(NULL, '[');
	else if (!count)
		return complain("there is no DRM device that may be opened: ls -l /dev/dri");
	else
		printf("%-20s %-12s %-14s %s\n", "NODE", "DRIVER", "PCI", "CAN");
	for (int i = 0; i < count; i++)
		options->json ? show_json(&infos[i]) : show_line(&infos[i]);
	if (options->json)
		json_close(']');
	return DONE;
}
#else
/* A file has to have something in it. */
typedef int no_drm;
#endif
