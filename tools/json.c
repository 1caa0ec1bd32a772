/* SPDX-License-Identifier: MIT */
#include "json.h"

#include <inttypes.h>
#include <stdio.h>

static unsigned int depth;
static bool first = true;

static void quote(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 0x20)
			printf("\\u%04x", c);
		else
			printf(c == '"' || c == '\\' ? "\\%c" : "%c", c);
	}
	putchar('"');
}

static void begin(const char *key)
{
	if (!first)
		putchar(',');
	if (depth && !first)
		putchar(' ');
	first = false;
	if (key) {
		quote(key);
		printf(": ");
	}
}

void json_open(const char *key, char bracket)
{
	begin(key);
	putchar(bracket);
	depth++;
	first = true;
}

void json_close(char bracket)
{
	putchar(bracket);
	depth--;
	first = !depth;
	if (!depth)
		putchar('\n');
}

void json_string(const char *key, const char *value)
{
	begin(key);
	quote(value);
}

void json_number(const char *key, uint64_t value)
{
	begin(key);
	printf("%" PRIu64, value);
}

void json_real(const char *key, double value)
{
	begin(key);
	printf("%.3f", value);
}

void json_bool(const char *key, bool value)
{
	begin(key);
	printf("%s", value ? "true" : "false");
}
