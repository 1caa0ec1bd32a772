/* SPDX-License-Identifier: MIT */
/*
 * The file that aclInit() can be given: a JSON object. Nothing in it means anything here, but what
 * is no JSON object is a mistake that a program should hear of.
 */
#include "private.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE (1 << 20)
#define MAX_DEPTH 64

struct text {
	const char *at;
	int depth;
};

static void skip_space(struct text *text)
{
	while (*text->at == ' ' || *text->at == '\t' || *text->at == '\n' || *text->at == '\r')
		text->at++;
}

static bool take(struct text *text, char wanted)
{
	skip_space(text);
	if (*text->at != wanted)
		return false;
	text->at++;
	return true;
}

/* A backslash is behind it. */
static bool take_escaped(struct text *text)
{
	if (!*text->at || !strchr("\"\\/bfnrtu", *text->at))
		return false;
	if (*text->at++ != 'u')
		return true;
	for (int i = 0; i < 4; i++)
		if (!isxdigit((unsigned char)*text->at++))
			return false;
	return true;
}

static bool take_string(struct text *text)
{
	if (!take(text, '"'))
		return false;
	while ((unsigned char)*text->at >= ' ' && *text->at != '"')
		if (*text->at++ == '\\' && !take_escaped(text))
			return false;
	return *text->at++ == '"';
}

static bool take_digits(struct text *text)
{
	const char *from = text->at;

	while (*text->at >= '0' && *text->at <= '9')
		text->at++;
	return text->at > from;
}

/* Not as strtod() has it, which takes other numbers, and those of the locale. */
static bool take_number(struct text *text)
{
	text->at += *text->at == '-';
	if (*text->at == '0')
		text->at++;
	else if (!take_digits(text))
		return false;
	if (*text->at == '.') {
		text->at++;
		if (!take_digits(text))
			return false;
	}
	if (*text->at != 'e' && *text->at != 'E')
		return true;
	text->at++;
	text->at += *text->at == '+' || *text->at == '-';
	return take_digits(text);
}

/* A number, true, false or null. */
static bool take_word(struct text *text)
{
	static const char *const words[] = { "true", "false", "null" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (strncmp(text->at, words[i], strlen(words[i])))
			continue;
		text->at += strlen(words[i]);
		return true;
	}
	return take_number(text);
}

static bool take_value(struct text *text);

static bool take_member(struct text *text, bool named)
{
	return (!named || (take_string(text) && take(text, ':'))) && take_value(text);
}

/* An object or an array. */
static bool take_members(struct text *text, char first, char last)
{
	if (!take(text, first) || text->depth++ == MAX_DEPTH)
		return false;
	if (!take(text, last)) {
		do {
			if (!take_member(text, first == '{'))
				return false;
		} while (take(text, ','));
		if (!take(text, last))
			return false;
	}
	text->depth--;
	return true;
}

static bool take_value(struct text *text)
{
	skip_space(text);
	switch (*text->at) {
	case '{':
		return take_members(text, '{', '}');
	case '[':
		return take_members(text, '[', ']');
	case '"':
		return take_string(text);
	default:
		return take_word(text);
	}
}

static bool is_object(const char *words)
{
	struct text text = { words, 0 };

	if (!take_members(&text, '{', '}'))
		return false;
	skip_space(&text);
	return !*text.at;
}

aclError config_read(const char *path)
{
	FILE *file = fopen(path, "re");
	char *words = file ? calloc(1, MAX_FILE + 1) : NULL;
	aclError code = ACL_SUCCESS;
	size_t size = 0;

	if (words)
		size = fread(words, 1, MAX_FILE, file);
	if (!words || ferror(file))
		code = call_fail(ACL_ERROR_INVALID_FILE, "configPath: %s cannot be read: %m", path);
	else if (size == MAX_FILE || strlen(words) != size || !is_object(words))
		code = call_fail(ACL_ERROR_PARSE_FILE,
				 "configPath: %s is no JSON object, as {} would be", path);
	free(words);
	if (file)
		fclose(file);
	return code;
}
