/* SPDX-License-Identifier: MIT */
/*
 * Output: errors, sizes, JSON, time.
 */
#include "accelctl.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TEXT_MAX 8192 /* of a message, with a path in it */

/* Bytes of the UTF-8 character at @text, 0 if it is none (RFC 3629). */
static size_t utf8_length(const unsigned char *text)
{
	static const struct {
		unsigned char first, last, low, high; /* of the first byte, and of the second */
		size_t length;
	} forms[] = {
		{ 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
		{ 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 },
		{ 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 },
		{ 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};

	if (*text < 0x80)
		return 1;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (*text < forms[i].first || *text > forms[i].last)
			continue;
		if (text[1] < forms[i].low || text[1] > forms[i].high)
			return 0;
		for (size_t k = 2; k < forms[i].length; k++)
			if ((text[k] & 0xc0) != 0x80)
				return 0;
		return forms[i].length;
	}
	return 0;
}

/* Bytes of the control character at @text (C0, DEL or C1), 0 if it is none. */
static size_t control_length(const unsigned char *text)
{
	if (*text < 0x20 || *text == 0x7f)
		return 1;
	return text[0] == 0xc2 && text[1] >= 0x80 && text[1] < 0xa0 ? 2 : 0;
}

const char *visible(const char *text)
{
	static char shown[TEXT_MAX];
	size_t end = 0;

	while (*text && end + 5 < sizeof(shown)) {
		size_t control = control_length((const unsigned char *)text);
		size_t length = utf8_length((const unsigned char *)text);

		if (control || !length) {
			shown[end++] = '?';
			text += control ? control : 1;
			continue;
		}
		memcpy(shown + end, text, length);
		end += length;
		text += length;
	}
	shown[end] = 0;
	return shown;
}

int complain(const char *format, ...)
{
	char text[TEXT_MAX];
	va_list args;

	fflush(stdout);
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fprintf(stderr, "accelctl: %s\n", visible(text));
	return FAILED;
}

int complain_last(const char *what)
{
	return complain("%s: %s", what, accel_last_error());
}

const char *size_text(double bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	static char texts[16][32];
	static unsigned int turn;
	unsigned int unit = 0;
	char *text = texts[turn++ % 16];

	/* All of edu's 4032 bytes are worth seeing. */
	for (; bytes >= (unit ? 1024 : 10000) && unit < 4; unit++)
		bytes /= 1024;
	snprintf(text, sizeof(texts[0]), unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
	return text;
}

bool is_terminal(void)
{
	const char *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && term && strcmp(term, "dumb");
}

/* https://no-color.org */
const char *colour(const char *sequence)
{
	const char *none = getenv("NO_COLOR");

	return is_terminal() && (!none || !*none) ? sequence : "";
}

void device_print(const struct accel_device_info *info)
{
	printf("device %u: %s at %s, /dev/paccel%u\n", info->node, info->name, info->bus_address,
	       info->node);
}

/* ---- JSON ---- */

struct json_object *json_text(const char *text)
{
	char *valid = xrealloc(NULL, 3 * strlen(text) + 1), *end = valid;
	struct json_object *value;

	while (*text) {
		size_t length = utf8_length((const unsigned char *)text);

		memcpy(end, length ? text : "\xef\xbf\xbd", length ? length : 3);
		end += length ? length : 3;
		text += length ? length : 1;
	}
	*end = 0;
	value = json_object_new_string(valid);
	free(valid);
	return value;
}

void json_add(struct json_object *object, const char *key, struct json_object *value)
{
	json_object_object_add(object, key, value);
}

void json_add_text(struct json_object *object, const char *key, const char *value)
{
	json_add(object, key, json_text(value));
}

void json_add_number(struct json_object *object, const char *key, uint64_t value)
{
	json_add(object, key, json_object_new_uint64(value));
}

void json_add_real(struct json_object *object, const char *key, double value)
{
	char text[48];

	snprintf(text, sizeof(text), "%.3f", value);
	json_add(object, key, json_object_new_double_s(value, text));
}

struct json_object *json_device(unsigned int number, const struct accel_device_info *info)
{
	struct json_object *object = json_object_new_object();
	char node[32];

	snprintf(node, sizeof(node), "/dev/paccel%u", number);
	json_add_number(object, "device", number);
	json_add_text(object, "node", node);
	if (info) {
		json_add_text(object, "backend", info->name);
		json_add_text(object, "bus_address", info->bus_address);
	}
	return object;
}

void json_print(struct json_object *value)
{
	const int flags = JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE;
	const char *text = json_object_to_json_string_ext(value, flags);

	/* It escapes those of C0 only. The others are not outside of strings. */
	for (; *text; text++) {
		size_t control = control_length((const unsigned char *)text);

		if (!control) {
			putchar(*text);
			continue;
		}
		text += control - 1;
		printf("\\u%04x", (unsigned char)*text);
	}
	putchar('\n');
	json_object_put(value);
}

/* ---- Time and memory ---- */

double time_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

void time_text(char text[48])
{
	struct timespec now;
	char seconds[24];
	struct tm utc;

	clock_gettime(CLOCK_REALTIME, &now);
	strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", gmtime_r(&now.tv_sec, &utc));
	snprintf(text, 48, "%s.%03ldZ", seconds, now.tv_nsec / 1000000);
}

static struct timespec time_add(struct timespec time, double seconds)
{
	time.tv_sec += (time_t)seconds;
	time.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
	if (time.tv_nsec >= 1000000000) {
		time.tv_sec++;
		time.tv_nsec -= 1000000000;
	}
	return time;
}

void time_wait(struct timespec *next, double seconds)
{
	struct timespec now;

	*next = time_add(*next, seconds);
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec > next->tv_sec ||
	    (now.tv_sec == next->tv_sec && now.tv_nsec > next->tv_nsec))
		*next = time_add(now, seconds);
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, next, NULL);
}

void *xcalloc(size_t count, size_t size)
{
	void *ptr = calloc(count, size);

	if (!ptr && count)
		exit(complain("out of memory"));
	return ptr;
}

void *xrealloc(void *ptr, size_t size)
{
	ptr = realloc(ptr, size);
	if (!ptr && size)
		exit(complain("out of memory"));
	return ptr;
}
