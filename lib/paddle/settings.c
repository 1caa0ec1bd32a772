/* SPDX-License-Identifier: MIT */
/*
 * Settings. Paddle gives a plugin none, so they are in the environment. One that is wrong is told,
 * and there is no device then: a program that runs with less than was asked for runs for hours
 * before anybody notices.
 */
#include "private.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define MIN_CHUNK_LEAST 32
#define MIN_CHUNK_MOST (2ul << 20)
#define LIMIT_DEFAULT 300 /* seconds: ranks start minutes apart where programs are compiled or data is read */
#define LIMIT_MOST 86400

/* Digits alone: strtoul() also takes signs and blanks. */
static bool take_number(const char **text, unsigned long *value)
{
	char *end;

	if (**text < '0' || **text > '9')
		return false;
	errno = 0;
	*value = strtoul(*text, &end, 10);
	*text = end;
	return !errno;
}

static int read_trace(bool *trace)
{
	const char *text = getenv("PADDLE_ACCEL_TRACE");

	*trace = text && !strcmp(text, "1");
	if (!text || *trace || !strcmp(text, "0") || !*text)
		return 0;
	return plugin_fail(-EINVAL, "PADDLE_ACCEL_TRACE=%.40s: it has to be 0 or 1", text);
}

static int read_min_chunk(size_t *min_chunk)
{
	const char *text = getenv("PADDLE_ACCEL_MIN_CHUNK"), *at = text;
	unsigned long value;

	*min_chunk = 0;
	if (!text || !*text)
		return 0;
	if (!take_number(&at, &value) || *at || value & (value - 1) || value < MIN_CHUNK_LEAST ||
	    value > MIN_CHUNK_MOST)
		return plugin_fail(-EINVAL,
				   "PADDLE_ACCEL_MIN_CHUNK=%.40s: it has to be a power of two from "
				   "%d to %lu",
				   text, MIN_CHUNK_LEAST, MIN_CHUNK_MOST);
	*min_chunk = value;
	return 0;
}

static bool is_listed(const struct settings *settings, unsigned long device)
{
	for (size_t i = 0; i < settings->count; i++)
		if ((unsigned long)settings->devices[i] == device)
			return true;
	return false;
}

/* At most as many as there are, since none may come twice. */
static bool take_devices(struct settings *settings, const char *text, int present)
{
	unsigned long device;

	for (;;) {
		if (!take_number(&text, &device) || device >= (unsigned long)present ||
		    is_listed(settings, device))
			return false;
		settings->devices[settings->count++] = (int)device;
		if (!*text)
			return true;
		if (*text++ != ',')
			return false;
	}
}

static int read_devices(struct settings *settings, int present)
{
	const char *text = getenv("PADDLE_ACCEL_DEVICES");

	settings->count = 0;
	settings->devices = calloc((size_t)present + 1, sizeof(*settings->devices));
	if (!settings->devices)
		return plugin_fail(-ENOMEM, "out of memory");
	if (!text)
		while (settings->count < (size_t)present) {
			settings->devices[settings->count] = (int)settings->count;
			settings->count++;
		}
	if (!text || !*text || take_devices(settings, text, present))
		return 0;
	settings->count = 0;
	return plugin_fail(-EINVAL,
			   "PADDLE_ACCEL_DEVICES=%.40s: it has to be numbers of devices with "
			   "commas between them, each once; there are %d devices, numbered from 0",
			   text, present);
}

int settings_limit(unsigned int *limit_ms)
{
	const char *text = getenv("PADDLE_ACCEL_TIMEOUT"), *at = text;
	unsigned long value = LIMIT_DEFAULT;

	if (text && *text &&
	    (!take_number(&at, &value) || *at || !value || value > LIMIT_MOST))
		return plugin_fail(-EINVAL,
				   "PADDLE_ACCEL_TIMEOUT=%.40s: it has to be seconds, from 1 to %d",
				   text, LIMIT_MOST);
	*limit_ms = (unsigned int)value * 1000;
	return 0;
}

int settings_read(struct settings *settings, int present)
{
	int err = read_devices(settings, present);

	if (!err)
		err = read_trace(&settings->trace);
	if (!err)
		err = read_min_chunk(&settings->min_chunk);
	return err;
}
