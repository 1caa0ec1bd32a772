// SPDX-License-Identifier: MIT
/*
 * The channel to the host: a virtio port whose other end is a file. A program is in that file when
 * the write has returned, so it is there if the guest dies of the program.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"

static int port = -1;

bool log_open(const char *path)
{
	port = open(path, O_WRONLY | O_CLOEXEC);
	return port >= 0;
}

static void log_write(const char *text, size_t n)
{
	ssize_t rc;

	do {
		rc = write(port, text, n);
	} while (rc < 0 && errno == EINTR);
	if (port >= 0 && rc != (ssize_t)n)
		fuzz_abort("the port of the log");
}

/* A record is written in one piece, so those of several processes are not mixed. */
void log_program(enum log_record record, unsigned int slot, const struct program *p)
{
	char text[MAX_TEXT + 16];
	int n = snprintf(text, sizeof(text), "%c %u ", record, slot);

	log_write(text, (size_t)n + program_format(p, text + n));
}

void log_imported(void)
{
	const char record[] = { LOG_IMPORTED, '\n' };

	log_write(record, sizeof(record));
}

/* --- on the host ----------------------------------------------------------------------- */

static FILE *open_text(const char *path)
{
	FILE *file = fopen(path, "r");

	if (!file)
		fprintf(stderr, "fuzz: %s: %s\n", path, strerror(errno));
	return file;
}

/* The program of a line of that kind; the last line can be a part of one. */
static bool parse_record(const char *line, enum log_record record, unsigned int *slot,
			 struct program *p)
{
	int skip = 0;

	return line[0] == (char)record && sscanf(line + 1, " %u %n", slot, &skip) == 1 && skip &&
	       *slot < MAX_SLOTS && program_parse(p, line + 1 + skip);
}

bool log_print_last(const char *path)
{
	static struct program last[MAX_SLOTS];
	char line[MAX_TEXT + 16];
	FILE *file = open_text(path);
	unsigned int slot, nr = 0;
	struct program p;

	if (!file)
		return false;
	while (fgets(line, sizeof(line), file))
		if (parse_record(line, LOG_RUN, &slot, &p))
			last[slot] = p;
	fclose(file);
	for (slot = 0; slot < MAX_SLOTS; slot++)
		if (last[slot].nr)
			last[nr++] = last[slot];
	programs_print_c(stdout, last, nr);
	return true;
}

static void print_file(const char *path)
{
	char line[MAX_TEXT];
	FILE *file = fopen(path, "r");

	while (file && fgets(line, sizeof(line), file))
		fputs(line, stdout);
	if (file)
		fclose(file);
}

/* What was kept before is still there, unless it was run again: then what is needed was kept. */
bool log_print_corpus(const char *path, const char *before)
{
	char line[MAX_TEXT + 16], text[MAX_TEXT];
	FILE *file = open_text(path);
	bool imported = false;
	struct program p;
	unsigned int slot;

	if (!file)
		return false;
	while (fgets(line, sizeof(line), file)) {
		imported = imported || line[0] == LOG_IMPORTED;
		if (!parse_record(line, LOG_KEPT, &slot, &p))
			continue;
		program_format(&p, text);
		fputs(text, stdout);
	}
	fclose(file);
	if (!imported)
		print_file(before);
	return true;
}
