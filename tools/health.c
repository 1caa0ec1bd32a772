/* SPDX-License-Identifier: MIT */
/*
 * accelctl health: whether the devices work, from sysfs. That needs no permission to open them.
 */
#include "accelctl.h"

#include <stdlib.h>
#include <string.h>

/* A counter, and what it means, and what to do, if it is not 0. */
static const struct counter {
	const char *name;
	const char *meaning;
} counters[] = {
	{ "timeouts",
	  "DMA requests exceeded watchdog_ms: the device hung, or the limit is too short" },
	{ "lost_irqs", "interrupts did not arrive: check the slot and the interrupt settings" },
	{ "spurious_irqs", "interrupts without a completed request: a small number is harmless" },
	{ "bogus", "invalid completions were ignored: have the device checked" },
	{ "corrupt", "wrong checksums of verified requests: have device, slot and memory checked" },
	{ "engine_resets", "engines were reset: see the kernel log and accelctl dump" },
	{ "resets", "the device was reset, by recovery or on request" },
	{ "leaked_pages", "host memory is not freed until a reboot: the device did not stop" },
	{ "quarantined", "device memory could not be scrubbed: accelctl reset tries again" },
};

#define COUNTERS (sizeof(counters) / sizeof(counters[0]))

static const struct {
	const char *health;
	const char *colour;
	const char *advice;
} states[] = {
	{ "ok", GREEN, NULL },
	{ "recovering", YELLOW, "being reset: look again in some seconds" },
	{ "failed", RED,
	  "out of service: see the kernel log and accelctl dump; try accelctl reset" },
};

#define STATES (sizeof(states) / sizeof(states[0]))

struct health {
	unsigned int number;
	char backend[32];
	char state[32];
	char counts[COUNTERS][24]; /* empty: an older driver, which does not have it */
};

/* False for a device that is not there. */
static bool health_read(struct health *health, unsigned int number)
{
	health->number = number;
	device_attribute(number, "backend", health->backend, sizeof(health->backend));
	for (size_t i = 0; i < COUNTERS; i++)
		device_attribute(number, counters[i].name, health->counts[i],
				 sizeof(health->counts[i]));
	return device_attribute(number, "health", health->state, sizeof(health->state));
}

static void health_text(const struct health *health)
{
	size_t state = 0;

	while (state < STATES && strcmp(states[state].health, health->state))
		state++;
	printf("device %u: %s%s%s (%s, /dev/paccel%u)\n", health->number,
	       colour(state < STATES ? states[state].colour : PLAIN), health->state, colour(PLAIN),
	       health->backend, health->number);
	if (state < STATES && states[state].advice)
		printf("  %s\n", states[state].advice);
	for (size_t i = 0; i < COUNTERS; i++) {
		const char *count = health->counts[i];
		bool explain = *count && strcmp(count, "0");

		printf("  %-15s %s%s%s\n", counters[i].name, *count ? count : "?",
		       explain ? "  " : "", explain ? counters[i].meaning : "");
	}
}

static struct json_object *health_json(const struct health *health)
{
	struct json_object *object = json_device(health->number, NULL);

	json_add_text(object, "backend", health->backend);
	json_add_text(object, "health", health->state);
	for (size_t i = 0; i < COUNTERS; i++)
		if (*health->counts[i])
			json_add_number(object, counters[i].name,
					strtoull(health->counts[i], NULL, 10));
	return object;
}

static int health_show(unsigned int number, struct json_object **json)
{
	struct health health;

	if (!health_read(&health, number))
		return complain("health: device %u was removed just now", number);
	if (json)
		*json = health_json(&health);
	else
		health_text(&health);
	return strcmp(health.state, "ok") ? FAILED : DONE;
}

int command_health(const struct options *options)
{
	return devices_show("health", options, devices_in_sysfs, NULL, health_show);
}
