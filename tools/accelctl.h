/* SPDX-License-Identifier: MIT */
/*
 * What the subcommands of accelctl share.
 */
#ifndef ACCELCTL_H
#define ACCELCTL_H

#include <accel/accel.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

/* Exit status. */
enum { DONE = 0, FAILED = 1, USAGE = 2 };

/* ---- Subcommands ---- */

/* Options that a subcommand takes; the table is in options.c. */
enum {
	OPT_DEVICE = 1 << 0,
	OPT_JSON = 1 << 1,
	OPT_WATCH = 1 << 2,
	OPT_COUNT = 1 << 3,
	OPT_INTERVAL = 1 << 4,
	OPT_CSV = 1 << 5,
	OPT_FORCE = 1 << 6,
	OPT_SET = 1 << 7,
	OPT_OUTPUT = 1 << 8,
	OPT_DELETE = 1 << 9,
	OPT_MAX_SIZE = 1 << 10,
	OPT_SVG = 1 << 11,
	OPT_HELP = 1 << 30, /* all of them do */
};

/* Operands: what stands beside the options, in this order. */
enum {
	OPERAND_FILE = 1 << 0, /* required */
	OPERAND_DEVICE = 1 << 1,
	OPERAND_COMMAND = 1 << 2, /* name of a subcommand */
	OPERAND_WORDS = 1 << 3, /* any words, not parsed */
	DEVICE_REQUIRED = 1 << 4, /* as operand or option */
	DEVICE_ALL = 1 << 5, /* without one, it is all devices */
};

struct options {
	bool help;
	bool has_device; /* a device was named */
	unsigned int device; /* its node number, N of /dev/paccelN */
	bool json;
	bool csv;
	bool watch;
	bool force;
	bool delete;
	bool has_size;
	uint64_t size; /* of --set */
	const char *output;
	bool has_max_size;
	uint64_t max_size;
	const char *svg;
	double interval; /* seconds */
	unsigned long count; /* of lines, 0 for no end */
	const char *file; /* operand FILE */
	const char *command; /* operand SUBCOMMAND */
	char **words; /* OPERAND_WORDS, ended by NULL */
};

struct command {
	const char *name;
	int (*run)(const struct options *options);
	unsigned int operands;
	unsigned int options;
	const char *summary; /* in the overview; NULL: not shown there */
	const char *text; /* in its help */
};

/* Ended by a name of NULL. */
extern const struct command commands[];

/* NULL if there is none. */
const struct command *command_find(const char *name);

int command_list(const struct options *options);
int command_info(const struct options *options);
int command_stats(const struct options *options);
int command_health(const struct options *options);
int command_copy(const struct options *options);
int command_monitor(const struct options *options);
int command_top(const struct options *options);
int command_topo(const struct options *options);
int command_bench(const struct options *options);
int command_reset(const struct options *options);
int command_quota(const struct options *options);
int command_dump(const struct options *options);
int command_drm(const struct options *options);
int command_complete(const struct options *options);

/* The statistics of a device, and what an allocation can get: free and dirty memory. */
struct usage {
	struct accel_memory_stats stats;
	uint64_t available;
};

/* As accel_memory_stats_full(). */
int usage_read(struct accel_device *dev, struct usage *usage);

/* One number of it. */
struct stat_field {
	const char *name; /* in JSON */
	const char *label; /* NULL: in JSON only, since it is 0 for a process that only looks */
	size_t offset;
	bool is_count; /* not bytes */
	bool in_copy; /* copy shows it before and after */
};

/* Ended by a name of NULL. */
extern const struct stat_field stat_fields[];

static inline uint64_t stat_value(const struct usage *usage, const struct stat_field *field)
{
	return *(const uint64_t *)((const char *)usage + field->offset);
}

void json_add_stats(struct json_object *object, const struct usage *usage);

/* ---- options.c ---- */

/* argv[0] is the subcommand. False after an error message. */
bool options_parse(const struct command *command, int argc, char **argv, struct options *options);
/* " [DEVICE] [--json]" */
void options_print_usage(const struct command *command);
/* A line for each option. */
void options_print_help(const struct command *command);

/* The name of the argument that an option requires ("DEVICE"); NULL for none, or no such option. */
const char *option_argument(const struct command *command, const char *word);
/* Calls @candidate(option, prefix) for each option of a subcommand. */
void options_complete(const struct command *command, const char *prefix,
		      void (*candidate)(const char *word, const char *prefix));

/* ---- devices.c: the number of a device is that of its node, N of /dev/paccelN ---- */

/* The numbers of all devices, ascending: an array to be freed, and its length. */
int devices_in_dev(unsigned int **numbers);
int devices_in_sysfs(unsigned int **numbers);

/* The number of the device that is called so; false after an error message. */
bool device_parse(const char *command, const char *name, unsigned int *number);
/* The number in "/dev/paccelN". */
bool device_parse_node(const char *path, unsigned int *number);
/*
 * The device that the options name, else all that devices_in_dev() or devices_in_sysfs() finds: an
 * array to be freed, and its length, which is 0 after an error message.
 */
int devices_choose(const char *command, const struct options *options,
		   int (*find)(unsigned int **numbers), unsigned int **numbers);
/*
 * Shows these devices. @show returns DONE or FAILED; @json is NULL for text, else it receives the
 * JSON of the device. @header is the line of titles of the text, NULL for none.
 */
int devices_show(const char *command, const struct options *options,
		 int (*find)(unsigned int **numbers), const char *header,
		 int (*show)(unsigned int number, struct json_object **json));
/* The device that the options name, else the one with the lowest number; DONE, or FAILED after an error message. */
int device_choose(const char *command, const struct options *options, unsigned int *number);
/* DONE, or FAILED; accel_last_error() is the reason. */
int device_try(unsigned int number, struct accel_device **dev, struct accel_device_info *info);
/* DONE, or FAILED after an error message. */
int device_open(const char *command, unsigned int number, struct accel_device **dev,
		struct accel_device_info *info);
/* FAILED, after a message that says why there is no device. */
int no_devices(void);

/* The first line of /sys/class/paccel/paccelN/NAME; false and an empty text if it is not there. */
bool device_attribute(unsigned int number, const char *name, char *text, size_t size);
bool device_bus_address(unsigned int number, char *text, size_t size);

/* The address of the PCI function that a folder of sysfs is, from its uevent. */
bool pci_address(const char *folder, char *text, size_t size);

/* A file of sysfs or procfs: all that fits, or its first line. */
bool file_read(const char *path, char *text, size_t size);
bool file_line(const char *path, char *text, size_t size);
/* What follows @key at the start of a line of @text. */
bool file_field(const char *text, const char *key, char *value, size_t size);

/* ---- output.c ---- */

/*
 * Text that others have chosen, as it may go to a terminal: with '?' for control characters and for
 * bytes that are not UTF-8. It lives until the next call.
 */
const char *visible(const char *text);

/* Prints an error, which is made visible, and returns FAILED. */
int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same for a call of the library, with its sentence. */
int complain_last(const char *what);

/* "4032 B", "16.0 MiB"; text lives until the sixteenth next call. */
const char *size_text(double bytes);

/* Whether standard output is a terminal that can do more than lines. */
bool is_terminal(void);
/* The sequence, or "" where standard output is no terminal or NO_COLOR is set. */
#define BOLD "\033[1m"
#define RED "\033[31m"
#define GREEN "\033[32m"
#define YELLOW "\033[33m"
#define PLAIN "\033[0m"
const char *colour(const char *sequence);

/* "device 0: ring at 0000:01:00.0, /dev/paccel0" and a newline */
void device_print(const struct accel_device_info *info);

/*
 * JSON by json-c, described in Documentation/accelctl.schema.json. Text that is not UTF-8 is shown
 * with U+FFFD for each wrong byte.
 */
struct json_object *json_text(const char *text);
void json_add(struct json_object *object, const char *key, struct json_object *value);
void json_add_text(struct json_object *object, const char *key, const char *value);
void json_add_number(struct json_object *object, const char *key, uint64_t value);
void json_add_real(struct json_object *object, const char *key, double value);
/* An object with the properties of a device: number and node, with @info also backend and address. */
struct json_object *json_device(unsigned int number, const struct accel_device_info *info);
/* Prints the value in one line and frees it. */
void json_print(struct json_object *value);

double time_now(void);
/* UTC, as ISO 8601 has it, with milliseconds. */
void time_text(char text[48]);
/*
 * Sleeps until @seconds after @next, and sets it to that. If that has passed (the process was
 * stopped, or is slow) it begins anew: rows that were missed are not made up for.
 */
void time_wait(struct timespec *next, double seconds);

/* They end the process if memory is out. */
void *xrealloc(void *ptr, size_t size);
void *xcalloc(size_t count, size_t size);

#endif
