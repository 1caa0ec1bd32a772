/* SPDX-License-Identifier: MIT */
/*
 * The options of all subcommands: one table, from which usage lines, help, completion and parsing
 * come.
 */
#include "accelctl.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define INTERVAL_MIN 0.01 /* seconds */
#define INTERVAL_MAX 86400
#define HELP_COLUMN 26

static const struct option_spec {
	unsigned int id;
	char letter;
	const char *name;
	const char *argument; /* NULL: none */
	bool optional; /* the argument may be absent */
	const char *help;
} specs[] = {
	{ OPT_DEVICE, 'd', "device", "DEVICE", false,
	  "node number (0), node (/dev/paccel0) or PCI address (0000:01:00.0)" },
	{ OPT_WATCH, 'w', "watch", "SECONDS", true, "repeat every SECONDS (default: 1)" },
	{ OPT_INTERVAL, 'i', "interval", "SECONDS", false, "length of an interval (default: 1)" },
	{ OPT_COUNT, 'n', "count", "N", false, "end after N intervals" },
	{ OPT_JSON, 'j', "json", NULL, false, "JSON instead of text" },
	{ OPT_CSV, 'c', "csv", NULL, false, "comma-separated values instead of text" },
	{ OPT_MAX_SIZE, 'm', "max-size", "SIZE", false, "largest size to measure (4096, 64K; default: 16M)" },
	{ OPT_SVG, 'S', "svg", "FILE", false, "draw a chart, too (without peers)" },
	{ OPT_SET, 's', "set", "SIZE", false, "new quota (4096, 64M, 2G); none: no quota" },
	{ OPT_OUTPUT, 'o', "output", "FILE", false, "file to create; -: standard output" },
	{ OPT_DELETE, 'D', "delete", NULL, false, "delete it from the kernel afterwards" },
	{ OPT_FORCE, 'f', "force", NULL, false, "even if processes use the device" },
	{ OPT_HELP, 'h', "help", NULL, false, "this text" },
};

#define SPECS (sizeof(specs) / sizeof(specs[0]))

static bool command_takes(const struct command *command, const struct option_spec *spec)
{
	return spec->id == OPT_HELP || command->options & spec->id;
}

static const char *const operand_names[] = {
	[0] = " FILE",
	[1] = " [DEVICE]",
	[2] = " [SUBCOMMAND]",
	[3] = " [WORD...]",
};

void options_print_usage(const struct command *command)
{
	for (size_t i = 0; i < sizeof(operand_names) / sizeof(operand_names[0]); i++) {
		if (!(command->operands & 1u << i))
			continue;
		if (1u << i == OPERAND_DEVICE && command->operands & DEVICE_REQUIRED)
			fputs(" DEVICE", stdout);
		else
			fputs(operand_names[i], stdout);
	}
	for (size_t i = 0; i < SPECS; i++) {
		const struct option_spec *spec = &specs[i];

		if (!command_takes(command, spec) || spec->id == OPT_DEVICE || spec->id == OPT_HELP)
			continue;
		printf(spec->id == OPT_CSV ? " | --%s" : " [--%s", spec->name);
		if (spec->argument)
			printf(spec->optional ? " [%s]" : " %s", spec->argument);
		/* Of JSON and CSV, which stand together, only one is possible. */
		if (spec->id != OPT_JSON || !(command->options & OPT_CSV))
			putchar(']');
	}
}

static const char *default_device(const struct command *command)
{
	if (command->operands & DEVICE_REQUIRED)
		return "required";
	return command->operands & DEVICE_ALL ? "default: all devices" :
						"default: the one with the lowest node number";
}

void options_print_help(const struct command *command)
{
	for (size_t i = 0; i < SPECS; i++) {
		const struct option_spec *spec = &specs[i];
		int width;

		if (!command_takes(command, spec))
			continue;
		width = printf("  -%c, --%s", spec->letter, spec->name);
		if (spec->argument)
			width += printf(spec->optional ? " [%s]" : " %s", spec->argument);
		printf("%*s%s\n", width < HELP_COLUMN ? HELP_COLUMN - width : 2, "", spec->help);
		if (spec->id == OPT_DEVICE)
			printf("%*s%s\n", HELP_COLUMN, "", default_device(command));
	}
}

const char *option_argument(const struct command *command, const char *word)
{
	for (size_t i = 0; i < SPECS; i++) {
		const struct option_spec *spec = &specs[i];
		bool is_short = word[0] == '-' && word[1] == spec->letter && !word[2];
		bool is_long = !strncmp(word, "--", 2) && !strcmp(word + 2, spec->name);

		if (command_takes(command, spec) && !spec->optional && (is_short || is_long))
			return spec->argument;
	}
	return NULL;
}

void options_complete(const struct command *command, const char *prefix,
		      void (*candidate)(const char *word, const char *prefix))
{
	char word[32];

	for (size_t i = 0; i < SPECS; i++) {
		snprintf(word, sizeof(word), "--%s", specs[i].name);
		if (command_takes(command, &specs[i]))
			candidate(word, prefix);
	}
}

static bool parse_count(const char *text, unsigned long *number)
{
	char *end;

	errno = 0;
	*number = strtoul(text, &end, 10);
	if (errno || end == text || *end || strchr(text, '-') || !*number) {
		complain("count is '%s': a number from 1 to %lu is allowed", text, ULONG_MAX);
		return false;
	}
	return true;
}

static bool is_number(const char *text)
{
	char *end;

	strtod(text, &end);
	return end != text && !*end;
}

static bool parse_interval(const char *text, double *interval)
{
	*interval = strtod(text, NULL);
	if (is_number(text) && *interval >= INTERVAL_MIN && *interval <= INTERVAL_MAX)
		return true;
	complain("interval is '%s': a number of seconds from %g to %d is allowed", text,
		 INTERVAL_MIN, INTERVAL_MAX);
	return false;
}

/* "4096", "64K", "64MiB", and with @or_none "none", which is 0 */
static bool parse_size(const char *text, bool or_none, uint64_t *size)
{
	static const char units[] = "KMGT";
	unsigned int shift = 0;
	const char *unit;
	uint64_t number;
	char *end;

	*size = 0;
	if (or_none && !strcmp(text, "none"))
		return true;
	errno = 0;
	number = strtoull(text, &end, 10);
	unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	if (unit) {
		shift = 10 * (unsigned int)(unit - units + 1);
		end += strcmp(end + 1, "iB") ? 1 : 3;
	}
	*size = number << shift;
	if (!errno && *text >= '0' && *text <= '9' && !*end && *size && *size >> shift == number)
		return true;
	complain("size is '%s': a number of bytes above 0 and below 2^64, with K, M, G or T for "
		 "powers of 1024, is allowed%s",
		 text, or_none ? "; none is no limit" : "");
	return false;
}

/*
 * getopt_long() takes an optional argument only in the same word. A number in the next word is the
 * argument too.
 */
static const char *optional_argument_of(char **argv)
{
	if (!optarg && argv[optind] && is_number(argv[optind]))
		return argv[optind++];
	return optarg;
}

static bool parse_option(const struct command *command, unsigned int id, char **argv,
			 struct options *options)
{
	const char *argument;

	switch (id) {
	case OPT_DEVICE:
		options->has_device = true;
		return device_parse(command->name, optarg, &options->device);
	case OPT_JSON:
		options->json = true;
		return true;
	case OPT_WATCH:
		options->watch = true;
		argument = optional_argument_of(argv);
		return !argument || parse_interval(argument, &options->interval);
	case OPT_COUNT:
		return parse_count(optarg, &options->count);
	case OPT_INTERVAL:
		return parse_interval(optarg, &options->interval);
	case OPT_CSV:
		options->csv = true;
		return true;
	case OPT_SET:
		options->has_size = true;
		return parse_size(optarg, true, &options->size);
	case OPT_MAX_SIZE:
		options->has_max_size = true;
		return parse_size(optarg, false, &options->max_size);
	case OPT_SVG:
		options->svg = optarg;
		return true;
	case OPT_OUTPUT:
		options->output = optarg;
		return true;
	case OPT_DELETE:
		options->delete = true;
		return true;
	case OPT_FORCE:
		options->force = true;
		return true;
	case OPT_HELP:
		options->help = true;
		return true;
	default:
		return false;
	}
}

static unsigned int id_of_letter(int letter)
{
	for (size_t i = 0; i < SPECS; i++)
		if (specs[i].letter == letter)
			return specs[i].id;
	return 0;
}

/* getopt_long()'s own messages do not name the program. */
static void complain_option(const struct command *command, int answer, char **argv)
{
	const char *word = argv[optind - 1];

	if (answer == ':')
		complain("%s: option '%s' requires an argument", command->name, word);
	else if (id_of_letter(optopt))
		complain("%s: option '%s' takes no argument", command->name, word);
	else if (optopt >= '0' && optopt <= '9')
		complain("%s: '-%c' is no option, and device numbers begin at 0", command->name,
			 optopt);
	else if (optopt)
		complain("%s: there is no option '-%c'", command->name, optopt);
	else
		complain("%s: there is no option '%s'", command->name, word);
}

static bool parse_operands(const struct command *command, char **words, struct options *options)
{
	unsigned int operands = command->operands;

	if (operands & OPERAND_WORDS) {
		options->words = words;
		return true;
	}
	if (operands & OPERAND_FILE && !(options->file = *words)) {
		complain("%s: FILE is missing", command->name);
		return false;
	}
	words += !!(operands & OPERAND_FILE);
	if (operands & OPERAND_COMMAND && *words)
		options->command = *words++;
	if (operands & OPERAND_DEVICE && *words && !options->has_device) {
		options->has_device = true;
		if (!device_parse(command->name, *words++, &options->device))
			return false;
	}
	if (operands & DEVICE_REQUIRED && !options->has_device) {
		complain("%s: DEVICE is missing: accelctl list shows the devices", command->name);
		return false;
	}
	if (!*words)
		return true;
	complain("%s: '%s' is one argument too many", command->name, *words);
	return false;
}

static void fill_getopt(const struct command *command, char shorts[], struct option longs[])
{
	*shorts++ = ':';
	for (size_t i = 0; i < SPECS; i++) {
		const struct option_spec *spec = &specs[i];
		int has = !spec->argument ? no_argument :
			  spec->optional  ? optional_argument :
					    required_argument;

		if (!command_takes(command, spec))
			continue;
		*shorts++ = spec->letter;
		for (int colons = has; colons; colons--)
			*shorts++ = ':';
		*longs++ = (struct option){ spec->name, has, NULL, spec->letter };
	}
	*shorts = 0;
	*longs = (struct option){ 0 };
}

bool options_parse(const struct command *command, int argc, char **argv, struct options *options)
{
	char shorts[3 * SPECS + 2];
	struct option longs[SPECS + 1];
	int letter;

	*options = (struct options){ .interval = 1 };
	if (command->operands & OPERAND_WORDS)
		return parse_operands(command, argv + 1, options);
	fill_getopt(command, shorts, longs);
	opterr = 0;
	while ((letter = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		if (letter == '?' || letter == ':') {
			complain_option(command, letter, argv);
			return false;
		}
		if (!parse_option(command, id_of_letter(letter), argv, options))
			return false;
		if (options->help)
			return true;
	}
	if (!parse_operands(command, argv + optind, options))
		return false;
	if (options->count && !options->watch && command->options & OPT_WATCH) {
		complain("%s: --count is for --watch", command->name);
		return false;
	}
	if (options->json && options->csv) {
		complain("%s: --json and --csv exclude each other", command->name);
		return false;
	}
	return true;
}
