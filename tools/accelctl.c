/* SPDX-License-Identifier: MIT */
/*
 * accelctl: shows the cards and their memory, and copies a file through one.
 */
#include "accelctl.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_JSON = 256, OPT_WATCH, OPT_COUNT, OPT_DEVICE };

static const struct command {
	const char *name;
	int (*run)(const struct options *options);
	const char *arguments;
	const char *summary;
	const char *more;
	const struct option longs[6];
} commands[] = {
	{ "list",
	  command_list,
	  "[--json]",
	  "the cards, one line each",
	  "Shows index, node, kind, PCI address, memory and free memory of every card.\n\n"
	  "  --json      an array of objects\n",
	  { { "json", no_argument, NULL, OPT_JSON } } },
	{ "info",
	  command_info,
	  "[INDEX] [--json]",
	  "what a card is",
	  "Shows what the card with this index is and can do (default: 0).\n\n"
	  "  --json      an object\n",
	  { { "json", no_argument, NULL, OPT_JSON } } },
	{ "stats",
	  command_stats,
	  "[INDEX] [--watch[=SECONDS]] [--count=N] [--json]",
	  "how a card's memory is used",
	  "Shows the memory statistics of the card with this index (default: 0).\n\n"
	  "  --watch[=SECONDS]  a line every so often (default: 1), until interrupted\n"
	  "  --count=N          ends after N lines\n"
	  "  --json             an object; with --watch one per line\n",
	  { { "json", no_argument, NULL, OPT_JSON },
	    { "watch", optional_argument, NULL, OPT_WATCH },
	    { "count", required_argument, NULL, OPT_COUNT } } },
	{ "health",
	  command_health,
	  "[INDEX] [--json]",
	  "whether the cards work",
	  "Shows whether the card with this index works (default: all), and what has been counted:\n"
	  "what is not 0 is explained. Exit status 1 if a card is not ok.\n\n"
	  "  --json      an object; without INDEX an array of objects\n",
	  { { "json", no_argument, NULL, OPT_JSON } } },
	{ "copy",
	  command_copy,
	  "FILE [--device=INDEX] [--json]",
	  "a file through a card's memory and back",
	  "Copies FILE piece by piece into one half of the card's memory, inside the card to the\n"
	  "other half, and out again, checks a fill, and compares the SHA-256 of what went in\n"
	  "and what came back. FILE is not changed.\n\n"
	  "  --device=INDEX  the card to use (default: 0)\n"
	  "  --json          an object instead of text\n",
	  { { "json", no_argument, NULL, OPT_JSON },
	    { "device", required_argument, NULL, OPT_DEVICE } } },
#ifdef HAVE_DRM
	{ "drm",
	  command_drm,
	  "[--json]",
	  "the DRM devices that a card can share with",
	  "Shows node, driver, PCI address and abilities of every DRM device that can be opened:\n"
	  "whether it takes host memory of a card (import) and gives memory to it (export), and\n"
	  "whether it has syncobjs, and timelines, for streams.\n\n"
	  "  --json      an array of objects\n",
	  { { "json", no_argument, NULL, OPT_JSON } } },
#endif
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

int complain(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	fputs("accelctl: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return FAILED;
}

int complain_last(const char *what)
{
	return complain("%s: %s", what, accel_last_error());
}

const char *size_text(double bytes)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	static char texts[8][32];
	static unsigned int turn;
	unsigned int unit = 0;
	char *text = texts[turn++ % 8];

	/* All of edu's 4032 bytes are worth seeing. */
	for (; bytes >= (unit ? 1024 : 10000) && unit < 4; unit++)
		bytes /= 1024;
	snprintf(text, sizeof(texts[0]), unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
	return text;
}

static int usage(void)
{
	fputs("Try 'accelctl --help'.\n", stderr);
	return USAGE;
}

static int help(void)
{
	puts("usage: accelctl COMMAND [ARGUMENT...]\n\nCommands:");
	for (size_t i = 0; i < COMMANDS; i++)
		printf("  %-7s %s\n", commands[i].name, commands[i].summary);
	puts("\naccelctl COMMAND --help says more. accelctl --version shows the version.\n"
	     "Exit status: 0, 1 for a failure, 2 for a wrong command line.");
	return DONE;
}

static int command_help(const struct command *command)
{
	printf("usage: accelctl %s %s\n\n%s\n  --help      this text\n", command->name,
	       command->arguments, command->more);
	return DONE;
}

static bool parse_number(const char *text, long max, long *number)
{
	char *end;

	errno = 0;
	*number = strtol(text, &end, 10);
	if (errno || end == text || *end || *number < 0 || *number > max) {
		complain("'%s' is not a number from 0 to %ld", text, max);
		return false;
	}
	return true;
}

static bool parse_interval(const char *text, double *interval)
{
	char *end;

	if (!text)
		return true;
	*interval = strtod(text, &end);
	if (end == text || *end || !(*interval > 0 && *interval <= 86400)) {
		complain("'%s' is not a number of seconds from above 0 to 86400", text);
		return false;
	}
	return true;
}

/* False for what is wrong; getopt_long() has complained of unknown options. */
static bool parse_option(int option, struct options *options)
{
	long number;

	switch (option) {
	case OPT_JSON: options->json = true; return true;
	case OPT_WATCH: options->watch = true; return parse_interval(optarg, &options->interval);
	case OPT_COUNT:
		if (!parse_number(optarg, LONG_MAX, &number))
			return false;
		options->count = (unsigned long)number;
		return true;
	case OPT_DEVICE:
		if (!parse_number(optarg, INT_MAX, &number))
			return false;
		options->index = (int)number;
		return true;
	default: return false;
	}
}

static bool options_only(const struct command *command)
{
	return !strncmp(command->arguments, "[--", 3);
}

/* What stands beside the options: FILE, or INDEX, or nothing. */
static bool parse_operand(const struct command *command, int argc, char **argv,
			  struct options *options)
{
	const char *operand = optind < argc ? argv[optind++] : NULL;
	long number = 0;

	if (optind < argc || (operand && options_only(command))) {
		complain("'%s' is one argument too many", argv[argc - 1]);
		return false;
	}
	if (command->run == command_copy) {
		options->file = operand;
		if (!operand)
			complain("which FILE?");
		return operand;
	}
	if (operand && !parse_number(operand, INT_MAX, &number))
		return false;
	options->index = (int)number;
	options->all = !operand;
	return true;
}

static int run_command(const struct command *command, int argc, char **argv)
{
	struct options options = { .interval = 1 };
	int option;

	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "--help"))
			return command_help(command);
	while ((option = getopt_long(argc, argv, "", command->longs, NULL)) != -1)
		if (!parse_option(option, &options))
			return usage();
	if (!parse_operand(command, argc, argv, &options))
		return usage();
	if (options.count && !options.watch) {
		complain("--count is for --watch");
		return usage();
	}
	return command->run(&options);
}

static int dispatch(int argc, char **argv)
{
	if (argc < 2)
		return usage();
	if (!strcmp(argv[1], "--help"))
		return help();
	if (!strcmp(argv[1], "--version")) {
		printf("accelctl %s\n", accel_version());
		return DONE;
	}
	for (size_t i = 0; i < COMMANDS; i++)
		if (!strcmp(argv[1], commands[i].name))
			return run_command(&commands[i], argc - 1, argv + 1);
	complain("there is no command '%s'", argv[1]);
	return usage();
}

int main(int argc, char **argv)
{
	int status = dispatch(argc, argv);

	/* A full disk is a failure too. */
	if (fflush(stdout) || ferror(stdout))
		status = complain("cannot write: %s", strerror(errno));
	return status;
}
