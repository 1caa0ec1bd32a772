/* SPDX-License-Identifier: MIT */
/*
 * Failures. Paddle has a number for them and no place for words: its exception says "error code is
 * 3". The words are put into its log.
 */
#include "private.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool plugin_tracing;

static __thread char sentence[TEXT_SIZE];
static char last[TEXT_SIZE]; /* under the lock */

int plugin_fail(int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	return err;
}

/* Who asks in a loop gets the same answer in a loop. */
static bool is_new(const char *text)
{
	bool differs;

	plugin_lock();
	differs = strcmp(text, last) != 0;
	memcpy(last, text, TEXT_SIZE);
	plugin_unlock();
	return differs;
}

void plugin_say(const char *format, ...)
{
	char text[TEXT_SIZE] = "";
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (is_new(text))
		fprintf(stderr, "paddle_accel: %s\n", text);
}

void plugin_trace(const char *format, ...)
{
	char text[TEXT_SIZE];
	va_list args;

	if (!plugin_tracing)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fprintf(stderr, "paddle_accel: %s\n", text);
}

void plugin_complain(const char *call, int err)
{
	const char *words = *sentence ? sentence : accel_last_error();

	plugin_say("%s: %s", call, *words ? words : accel_strerror(err));
	*sentence = 0;
}

static enum status status_of(int err)
{
	switch (err) {
	case 0:
		return STATUS_SUCCESS;
	case -EINPROGRESS:
	case -ENOMEM:
	case -EDQUOT:
	case -ENOSPC:
	case -EMFILE:
	case -ENFILE:
		return STATUS_FAILED;
	case -EINVAL:
	case -EFAULT:
	case -ENOENT:
	case -EEXIST:
	case -EPERM:
	case -EACCES:
	case -EDEADLK:
		return STATUS_ERROR;
	default:
		return STATUS_INTERNAL;
	}
}

enum status plugin_status(const char *call, int err)
{
	/* That something is not done yet is an answer and no failure. */
	if (err && err != -EINPROGRESS)
		plugin_complain(call, err);
	return status_of(err);
}
