/* SPDX-License-Identifier: MIT */
/*
 * accelctl: the table of subcommands, from which dispatch, overview, help and completion come.
 */
#include "accelctl.h"

#include <errno.h>
#include <string.h>

static int command_help(const struct options *options);
static int command_version(const struct options *options);

const struct command commands[] = {
	{ "list", command_list, OPERAND_DEVICE | DEVICE_ALL, OPT_DEVICE | OPT_JSON,
	  "the devices, one line each",
	  "Shows number, node, backend, PCI address and memory of every device. AVAILABLE is what\n"
	  "can be allocated: free and dirty memory (accelctl stats shows both).\n"
	  "A device that cannot be opened is shown with the reason." },
	{ "info", command_info, OPERAND_DEVICE, OPT_DEVICE | OPT_JSON,
	  "what a device is and can do",
	  "Shows the properties and the capabilities of a device." },
	{ "topo", command_topo, OPERAND_DEVICE | DEVICE_ALL, OPT_DEVICE | OPT_JSON,
	  "where the devices are, and which pairs copy directly",
	  "Shows PCI address, NUMA node and link of the devices, and how a copy from each device\n"
	  "to each other one goes, which is found by copying some bytes: directly over the bus,\n"
	  "or through host memory. That of a device that cannot be opened is unknown. LINK is the\n"
	  "speed and the lanes of PCI Express now; - is not known." },
	{ "stats", command_stats, OPERAND_DEVICE, OPT_DEVICE | OPT_JSON | OPT_WATCH | OPT_COUNT,
	  "how the memory of a device is used",
	  "Shows the memory statistics of a device, over all processes, since the driver was\n"
	  "bound. Free memory can be allocated at once; dirty memory was freed, and is filled\n"
	  "with zeros before it is allocated again; available are both. With --watch it is\n"
	  "monitor of this device. A number after --watch is SECONDS; --count is for --watch." },
	{ "health", command_health, OPERAND_DEVICE | DEVICE_ALL, OPT_DEVICE | OPT_JSON,
	  "whether the devices work",
	  "Shows the health and the error counters of a device, or else of all devices.\n"
	  "Counters that are not 0 are explained. Does not open the devices, so it needs no\n"
	  "permission. Exit status 1 if a device is not ok." },
	{ "top", command_top, OPERAND_DEVICE | DEVICE_ALL,
	  OPT_DEVICE | OPT_JSON | OPT_INTERVAL | OPT_COUNT,
	  "the processes that use devices",
	  "Shows the processes that have a device open, refreshed until it is interrupted: device\n"
	  "memory, page-locked host memory, how busy they keep the engines, and bytes copied and\n"
	  "filled per second. BUSY is 100 % if all engines worked all the time. The first table\n"
	  "comes after one interval. Processes of other users are shown to root only." },
	{ "monitor", command_monitor, OPERAND_DEVICE | DEVICE_ALL,
	  OPT_DEVICE | OPT_JSON | OPT_CSV | OPT_INTERVAL | OPT_COUNT,
	  "memory and rates of all devices, a line per interval",
	  "Shows a line per device and interval: memory in use, and bytes copied and filled and\n"
	  "DMA requests per second, by all processes, until it is interrupted. The first line\n"
	  "comes after one interval. A device that cannot be opened is left out, and one that is\n"
	  "removed from then on." },
	{ "copy", command_copy, OPERAND_FILE | OPERAND_DEVICE, OPT_DEVICE | OPT_JSON,
	  "a file through the memory of a device and back",
	  "Copies FILE in pieces into one half of a block of device memory, inside the device to\n"
	  "the other half, and back to the host, and compares every byte. Checks a fill, too.\n"
	  "FILE is not changed." },
	{ "bench", command_bench, OPERAND_DEVICE,
	  OPT_DEVICE | OPT_MAX_SIZE | OPT_SVG | OPT_JSON, "bandwidth of copies and fills by size",
	  "Measures copies from the host to the device (h2d), back (d2h), inside the device (d2d)\n"
	  "and fills, for sizes up to a half of the free device memory. Host memory is\n"
	  "page-locked; that of h2d_pageable and d2h_pageable (pg.) is not. Each value is the\n"
	  "median of the copies of 0.2 seconds, or of three. What was not measured, as so much\n"
	  "memory may not be page-locked (ulimit -l), is shown as -." },
	{ "quota", command_quota, OPERAND_DEVICE | DEVICE_ALL, OPT_DEVICE | OPT_SET | OPT_JSON,
	  "how much device memory each user may allocate",
	  "Shows the quota of a device, or else of all devices; with --set, changes that of a\n"
	  "device, which has to be named. It applies to each user, root included, and frees\n"
	  "nothing. 0 is refused: --set none lifts it. Changing it requires root." },
	{ "reset", command_reset, OPERAND_DEVICE | DEVICE_REQUIRED, OPT_DEVICE | OPT_FORCE,
	  "resets a device",
	  "Resets a device, also if it is out of service. Work in flight fails. Without the\n"
	  "capability memory-survives-reset (accelctl info) the contents of device memory are\n"
	  "lost, and processes have to open the device again. Refused while other processes have\n"
	  "the device open. Requires root (CAP_SYS_ADMIN)." },
	{ "dump", command_dump, OPERAND_DEVICE, OPT_DEVICE | OPT_OUTPUT | OPT_DELETE,
	  "saves the core dump of a device that has failed",
	  "Saves the device core dump, which the driver has recorded when an engine hung or the\n"
	  "device went out of service, to FILE (default: paccelN.dump), which must not exist.\n"
	  "While the kernel keeps a dump, five minutes or until it is deleted, it drops further\n"
	  "dumps of the device. Requires root." },
#ifdef HAVE_DRM
	{ "drm", command_drm, 0, OPT_JSON, "the DRM devices that can share memory",
	  "Shows node, driver, PCI address and abilities of every DRM device that can be opened:\n"
	  "whether it takes host memory of a device (import), gives memory to it (export), and\n"
	  "whether it has syncobjs, and timelines, for streams." },
#endif
	{ "version", command_version, 0, OPT_JSON, "the version of accelctl and libaccel",
	  "Shows the version of accelctl and of the library that it runs with." },
	{ "help", command_help, OPERAND_COMMAND, 0, "this overview, or the help of a subcommand",
	  "Shows the overview, or what accelctl SUBCOMMAND --help shows." },
	{ "complete", command_complete, OPERAND_WORDS, 0, NULL,
	  "Prints what can stand in place of the last WORD, for the completion of the shell." },
	{ 0 }
};

const struct command *command_find(const char *name)
{
	const struct command *command = commands;

	while (command->name && strcmp(command->name, name))
		command++;
	return command->name ? command : NULL;
}

static int usage(const char *command)
{
	fprintf(stderr, "Try 'accelctl %s%s--help'.\n", command ? command : "", command ? " " : "");
	return USAGE;
}

static int print_overview(void)
{
	puts("usage: accelctl SUBCOMMAND [ARGUMENT...]\n\nSubcommands:");
	for (const struct command *command = commands; command->name; command++)
		if (command->summary)
			printf("  %-8s %s\n", command->name, command->summary);
	puts("\n"
	     "DEVICE is the number of a device (0), its node (/dev/paccel0) or its PCI address\n"
	     "(0000:01:00.0). The number is that of the node, and does not change when another\n"
	     "device is removed. Without DEVICE, health, list, monitor, quota, top and topo show\n"
	     "all devices, and other subcommands use the device with the lowest number.\n"
	     "\n"
	     "accelctl SUBCOMMAND --help describes a subcommand, accelctl(1) all of them.\n"
	     "Exit status: 0; 1 for a failure; 2 for a wrong command line.");
	return DONE;
}

static int print_help(const struct command *command)
{
	printf("usage: accelctl %s", command->name);
	options_print_usage(command);
	printf("\n\n%s\n\nOptions:\n", command->text);
	options_print_help(command);
	return DONE;
}

static int no_such_command(const char *name)
{
	complain("there is no subcommand '%s'", name);
	return usage(NULL);
}

static int command_help(const struct options *options)
{
	const struct command *command;

	if (!options->command)
		return print_overview();
	command = command_find(options->command);
	return command ? print_help(command) : no_such_command(options->command);
}

static int command_version(const struct options *options)
{
	struct json_object *object;

	if (!options->json) {
		printf("accelctl %s\n", accel_version());
		return DONE;
	}
	object = json_object_new_object();
	json_add_text(object, "version", accel_version());
	json_print(object);
	return DONE;
}

static int dispatch(int argc, char **argv)
{
	static const struct {
		const char *option, *command;
	} aliases[] = {
		{ "-h", "help" },
		{ "--help", "help" },
		{ "-V", "version" },
		{ "--version", "version" },
	};
	const char *name = argc > 1 ? argv[1] : "help";
	const struct command *command;
	struct options options;

	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
		if (!strcmp(name, aliases[i].option))
			name = aliases[i].command;
	command = command_find(name);
	if (!command)
		return no_such_command(name);
	if (!options_parse(command, argc > 1 ? argc - 1 : argc, argc > 1 ? argv + 1 : argv,
			   &options))
		return usage(name);
	return options.help ? print_help(command) : command->run(&options);
}

int main(int argc, char **argv)
{
	int status = dispatch(argc, argv);

	/* A full disk is a failure too. */
	if (fflush(stdout) || ferror(stdout))
		status = complain("cannot write: %s", strerror(errno));
	return status;
}
