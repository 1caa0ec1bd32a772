/* SPDX-License-Identifier: MIT */
/*
 * What the commands of accelctl share.
 */
#ifndef ACCELCTL_H
#define ACCELCTL_H

#include <accel/accel.h>
#include <stdbool.h>

/* Exit status. */
enum { DONE = 0, FAILED = 1, USAGE = 2 };

struct options {
	int index;
	bool all; /* no index was given */
	bool json;
	bool watch;
	double interval; /* seconds */
	unsigned long count; /* of rows of --watch, 0 for no end */
	const char *file;
};

int command_list(const struct options *options);
int command_info(const struct options *options);
int command_stats(const struct options *options);
int command_health(const struct options *options);
int command_copy(const struct options *options);
int command_drm(const struct options *options);

/* Prints an error and returns FAILED. */
int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same for a call of the library, with its sentence. */
int complain_last(const char *what);

/* The answer of a command that shows all cards, where there are none. */
int no_cards(const struct options *options);

/* "4032 B", "16.0 MiB"; text lives until the eighth next call. */
const char *size_text(double bytes);

/* One number of struct accel_memory_stats. */
struct stat_field {
	const char *name; /* in JSON, as in the struct */
	const char *label;
	size_t offset;
	bool is_count; /* not bytes */
};

extern const struct stat_field stat_fields[];
extern const unsigned int stat_field_count;

/* A number without its unit, or "none"; text lives until the eighth next call. */
const char *stat_text(const struct stat_field *field, uint64_t value);

static inline uint64_t stat_value(const struct accel_memory_stats *stats,
				  const struct stat_field *field)
{
	return *(const uint64_t *)((const char *)stats + field->offset);
}

#endif
