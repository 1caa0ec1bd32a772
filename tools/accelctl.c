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
	  "Shows node number (DEVICE), node, backend (the part of the driver for this kind of\n"
	  "device), PCI address and memory of the devices. AVAILABLE is the memory that can be\n"
	  "allocated: free and dirty (accelctl stats). A device that cannot be opened is shown\n"
	  "with the reason, and the exit status is 1." },
	{ "info", command_info, OPERAND_DEVICE, OPT_DEVICE | OPT_JSON,
	  "what a device is and can do",
	  "Shows the properties and the capabilities of a device. The granule is the unit of\n"
	  "allocation: sizes are rounded up to it. The driver cuts copies into DMA requests of\n"
	  "at most the largest size. Addresses and sizes of copies and fills are multiples of\n"
	  "the copy alignment. Host ranges are host memory that a process has page-locked\n"
	  "for the device. accelctl(1) explains the capabilities." },
	{ "topo", command_topo, OPERAND_DEVICE | DEVICE_ALL, OPT_DEVICE | OPT_JSON,
	  "where the devices are, and which pairs copy directly",
	  "Shows PCI address, NUMA node and PCI Express link (LINK: speed and lanes, as they are\n"
	  "now) of the devices, and how a copy goes from the device of the line to that of the\n"
	  "column: directly over the bus (direct) or through host memory (host). That is found\n"
	  "by copying some bytes. With DEVICE it is the line of this device only." },
	{ "stats", command_stats, OPERAND_DEVICE, OPT_DEVICE | OPT_JSON | OPT_WATCH | OPT_COUNT,
	  "how the memory of a device is used",
	  "Shows the memory of a device, and what all processes have done with it since the\n"
	  "driver was bound. Its total is used + free + dirty + quarantined:\n"
	  "  free         can be allocated at once\n"
	  "  dirty        was freed, and is scrubbed (filled with zeros) before it is allocated\n"
	  "  quarantined  could not be scrubbed: accelctl reset tries again\n"
	  "  available    free + dirty: an allocation waits for the scrub where it needs to\n"
	  "With --watch it is accelctl monitor of this device. A number after --watch is SECONDS;\n"
	  "--count is for --watch." },
	{ "health", command_health, OPERAND_DEVICE | DEVICE_ALL, OPT_DEVICE | OPT_JSON,
	  "whether the devices work",
	  "Shows the health of the devices (ok, recovering or failed) and their error counters\n"
	  "since the driver was bound. Counters that are not 0 are explained. Does not open the\n"
	  "devices, so it needs no permission. Exit status 1 if a device is not ok." },
	{ "top", command_top, OPERAND_DEVICE | DEVICE_ALL,
	  OPT_DEVICE | OPT_JSON | OPT_INTERVAL | OPT_COUNT,
	  "the processes that use devices",
	  "Shows the processes that have a device open, the busiest first, in a table that is\n"
	  "refreshed every interval until it is interrupted:\n"
	  "  DEVICE MEM  device memory that the process has allocated\n"
	  "  HOST MEM    host memory that it has page-locked for the device\n"
	  "  BUSY %      100 if all DMA engines of the device worked for it all the time\n"
	  "  H2D/s       bytes per second copied from the host to the device\n"
	  "  D2H/s       from the device to the host\n"
	  "  D2D/s       from one place in the memory of the device to another\n"
	  "  FILLED/s    bytes of device memory filled per second\n"
	  "The first table comes after one interval. Processes of other users are shown to root\n"
	  "only." },
	{ "monitor", command_monitor, OPERAND_DEVICE | DEVICE_ALL,
	  OPT_DEVICE | OPT_JSON | OPT_CSV | OPT_INTERVAL | OPT_COUNT,
	  "memory and rates of devices, a line per interval",
	  "Shows a line per device and interval, until it is interrupted: memory (accelctl stats\n"
	  "--help), what is copied and filled (accelctl top --help) by all processes, DMA requests\n"
	  "per second, and the health. The first line comes after one interval. A device that\n"
	  "cannot be opened is left out, and one that is removed from then on. --json and --csv\n"
	  "exclude each other." },
	{ "copy", command_copy, OPERAND_FILE | OPERAND_DEVICE, OPT_DEVICE | OPT_JSON,
	  "tests a device: a file through its memory and back",
	  "Tests a device with the content of FILE, which is only read: no file is written.\n"
	  "First it fills a block of device memory with the byte 0x5a, copies it to the host and\n"
	  "checks every byte. Then it copies FILE, in pieces, to device memory, from there to\n"
	  "another place in device memory and back to the host, and compares every byte. If a\n"
	  "byte is wrong the exit status is 1; after a wrong byte of the fill FILE is not copied.\n"
	  "It shows the statistics of the device (accelctl stats) before and after, which are\n"
	  "those of all processes. FILE can be a pipe." },
	{ "bench", command_bench, OPERAND_DEVICE,
	  OPT_DEVICE | OPT_MAX_SIZE | OPT_SVG | OPT_JSON, "bandwidth of copies and fills by size",
	  "Measures the bytes per second of copies from the host to the device (h2d), from the\n"
	  "device to the host (d2h), from one place in its memory to another (d2d), and of fills;\n"
	  "and of copies to and from each other device (peer; accelctl topo shows how they go).\n"
	  "Host memory is page-locked; that of h2d_pageable and d2h_pageable (pg.) is not. Sizes\n"
	  "grow fourfold up to the largest, which is at most a half of the device memory. Each\n"
	  "value is the median of the copies of 0.2 seconds, or of three. What was not measured,\n"
	  "as so much memory may not be page-locked (ulimit -l), is shown as -." },
	{ "quota", command_quota, OPERAND_DEVICE | DEVICE_ALL, OPT_DEVICE | OPT_SET | OPT_JSON,
	  "how much device memory each user may allocate",
	  "Shows the quota of the devices: how much device memory each user may allocate. With\n"
	  "--set, which requires DEVICE and root, changes it. A quota below what a user has\n"
	  "allocated frees nothing. 0 is refused: --set none lifts the quota." },
	{ "reset", command_reset, OPERAND_DEVICE | DEVICE_REQUIRED, OPT_DEVICE | OPT_FORCE,
	  "resets a device",
	  "Resets a device, also if it is out of service. Copies and fills in flight fail.\n"
	  "Without the capability memory-survives-reset (accelctl info) the contents of device\n"
	  "memory are lost, and processes have to open the device again. Refused while other\n"
	  "processes have the device open. Requires root (CAP_SYS_ADMIN)." },
	{ "dump", command_dump, OPERAND_DEVICE, OPT_DEVICE | OPT_OUTPUT | OPT_DELETE,
	  "saves the core dump of a device that has failed",
	  "Saves the device core dump, which the driver has recorded when a DMA engine hung or\n"
	  "the device went out of service, to FILE (default: paccelN.dump, N is the node number),\n"
	  "which must not exist. While the kernel keeps a dump, five minutes or until it is\n"
	  "deleted, it drops further dumps of the device. Requires root." },
#ifdef HAVE_DRM
	{ "drm", command_drm, 0, OPT_JSON, "the DRM devices that can share memory",
	  "Shows node, driver, PCI address and abilities of every DRM device, such as a GPU, that\n"
	  "can be opened: whether it takes memory of the host that a device of paccel uses\n"
	  "(import), gives its own memory to such a device (export), and whether it has syncobjs,\n"
	  "and timelines, for streams." },
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
	     "DEVICE, also as -d DEVICE, is the node number of a device (0, as the column DEVICE\n"
	     "shows it), its node (/dev/paccel0, or a link to it) or its PCI address (0000:01:00.0).\n"
	     "The node number does not change when another device is removed. It is not the\n"
	     "index that accel_device_open() takes: that is a position among the devices that are\n"
	     "present.\n"
	     "Without DEVICE, health, list, monitor, quota, top and topo show all devices, and other\n"
	     "subcommands use the one with the lowest node number.\n"
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
