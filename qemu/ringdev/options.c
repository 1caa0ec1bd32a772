// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "number.h"
#include "options.h"

#define BAD	2
/* Of a socket, so that `.8` fits behind it. */
#define MAX_NAME	100

enum {
	OPTION_SOCKET = 256, OPTION_CONTROL, OPTION_RAM, OPTION_RAM_LOW, OPTION_RAM_START, OPTION_MEM,
	OPTION_ENGINES, OPTION_CARDS, OPTION_RATE, OPTION_LATENCY, OPTION_SEED, OPTION_STORM, OPTION_HELP,
};

static const struct option names[] = {
	{ "socket", required_argument, NULL, OPTION_SOCKET },
	{ "control", required_argument, NULL, OPTION_CONTROL },
	{ "ram", required_argument, NULL, OPTION_RAM },
	{ "ram-low", required_argument, NULL, OPTION_RAM_LOW },
	{ "ram-start", required_argument, NULL, OPTION_RAM_START },
	{ "mem", required_argument, NULL, OPTION_MEM },
	{ "engines", required_argument, NULL, OPTION_ENGINES },
	{ "cards", required_argument, NULL, OPTION_CARDS },
	{ "rate", required_argument, NULL, OPTION_RATE },
	{ "latency", required_argument, NULL, OPTION_LATENCY },
	{ "seed", required_argument, NULL, OPTION_SEED },
	{ "storm", required_argument, NULL, OPTION_STORM },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ NULL, 0, NULL, 0 },
};

static const char usage[] =
	"usage: ringdev --socket NAME [option...]\n"
	"The ring card behind QEMU's ivshmem-doorbell. Prints `ready` when QEMU can be started.\n"
	"\n"
	"  --socket NAME   where QEMU connects: a path, or @NAME, which leaves no file;\n"
	"                  with several cards NAME.0, NAME.1 ...\n"
	"  --control NAME  where commands are taken\n"
	"  --ram FILE      RAM of the guest: the mem-path given to QEMU, or fd:N; again: of the\n"
	"                  next card\n"
	"  --ram-low SIZE  how much of it is below 4 GiB (as QEMU's q35 has it)\n"
	"  --ram-start ADDRESS\n"
	"                  bus address of its first byte where it is one piece: 1G on QEMU's virt\n"
	"                  of arm64 (0: the machine is a PC)\n"
	"  --mem SIZE      BAR 2 of a card: a power of two from 16M to 4G (256M)\n"
	"  --engines N     1 to 8 (4)\n"
	"  --cards N       1 to 8 (1)\n"
	"  --rate BYTES    of the link, per second and direction: 1M to 1024G, or 0, no limit (0)\n"
	"  --latency NS    of each descriptor: 0 to 60000000000 (0)\n"
	"  --seed N        of everything random (0)\n"
	"  --storm N       one descriptor in N fails in some way; 0: none (0)\n";

__attribute__((format(printf, 1, 2)))
static int bad(const char *format, ...)
{
	va_list arguments;

	fputs("ringdev: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	return BAD;
}

/* --- values ------------------------------------------------------------------------------- */

static int take_number(const char *name, const char *text, uint64_t min, uint64_t max,
		       uint64_t *value)
{
	if (number_parse(text, value) && *value >= min && *value <= max)
		return -1;
	return bad("--%s %s: a number from %" PRIu64 " to %" PRIu64, name, text, min, max);
}

static int take_memory(struct options *o, const char *text)
{
	if (number_parse(text, &o->memory) && o->memory >= RING_MIN_MEMORY &&
	    o->memory <= RING_MAX_MEMORY && !(o->memory & (o->memory - 1)))
		return -1;
	return bad("--mem %s: a power of two from 16M to 4G", text);
}

static int take_rate(struct options *o, const char *text)
{
	if (number_parse(text, &o->rate) &&
	    (!o->rate || (o->rate >= RING_MIN_RATE && o->rate <= RING_MAX_RATE)))
		return -1;
	return bad("--rate %s: bytes per second from 1M to 1024G, or 0 for no limit", text);
}

static int take_count(const char *name, const char *text, unsigned int max, unsigned int *count)
{
	uint64_t value;
	int status = take_number(name, text, 1, max, &value);

	*count = (unsigned int)value;
	return status;
}

static int take_name(const char *name, const char *text, const char **value)
{
	*value = text;
	if (*text && strlen(text) <= MAX_NAME)
		return -1;
	return bad("--%s %s: 1 to %d characters", name, text, MAX_NAME);
}

static int take_ram(struct options *o, const char *text)
{
	struct guest_ram *ram = &o->rams[o->ram_count];
	uint64_t fd;

	if (o->ram_count == RING_MAX_CARDS)
		return bad("--ram %s: at most %d times", text, RING_MAX_CARDS);
	o->ram_count++;
	ram->path = text;
	if (strncmp(text, "fd:", 3))
		return -1;
	ram->path = NULL;
	if (!number_parse(text + 3, &fd) || fd > INT32_MAX || fcntl((int)fd, F_GETFD) < 0)
		return bad("--ram %s: fd:N, with the number of an open file", text);
	ram->fd = (int)fd;
	return -1;
}

static int take(struct options *o, int option, const char *text)
{
	switch (option) {
	case OPTION_SOCKET:
		return take_name("socket", text, &o->socket);
	case OPTION_CONTROL:
		return take_name("control", text, &o->control);
	case OPTION_RAM:
		return take_ram(o, text);
	case OPTION_RAM_LOW:
		return take_number("ram-low", text, 1 << 20, 1ull << 32, &o->ram_low);
	case OPTION_RAM_START:
		return take_number("ram-start", text, 0, 1ull << 48, &o->ram_start);
	case OPTION_MEM:
		return take_memory(o, text);
	case OPTION_ENGINES:
		return take_count("engines", text, RING_MAX_ENGINES, &o->engines);
	case OPTION_CARDS:
		return take_count("cards", text, RING_MAX_CARDS, &o->cards);
	case OPTION_RATE:
		return take_rate(o, text);
	case OPTION_LATENCY:
		return take_number("latency", text, 0, RING_MAX_NS, &o->latency);
	case OPTION_SEED:
		return take_number("seed", text, 0, UINT64_MAX, &o->seed);
	case OPTION_STORM:
		return take_number("storm", text, 0, UINT32_MAX, &o->storm);
	case OPTION_HELP:
		fputs(usage, stdout);
		return 0;
	default:
		return bad("%s: no option, or its value is missing; see --help", text);
	}
}

/* --- all of them -------------------------------------------------------------------- */

static int complete(struct options *o)
{
	if (!o->socket)
		return bad("--socket is missing: where QEMU connects; see --help");
	if (o->ram_count > o->cards)
		return bad("--ram: at most as often as there are cards, %u", o->cards);
	if (o->ram_start && o->ram_low)
		return bad("--ram-low: RAM that has a --ram-start is in one piece");
	if (o->ram_start % 4096)
		return bad("--ram-start %llu: a multiple of 4096", (unsigned long long)o->ram_start);
	for (unsigned int i = 0; i < o->cards; i++)
		snprintf(o->sockets[i], sizeof(o->sockets[i]), "%s.%u", o->socket, i);
	if (o->cards == 1)
		strcpy(o->sockets[0], o->socket);
	for (unsigned int i = 0; i < o->ram_count; i++) {
		o->rams[i].low = o->ram_low;
		o->rams[i].start = o->ram_start;
	}
	return -1;
}

int options_parse(struct options *o, int argc, char **argv)
{
	int option, status;

	*o = (struct options){ .memory = 256u << 20, .engines = 4, .cards = 1 };
	opterr = 0;
	while ((option = getopt_long(argc, argv, "", names, NULL)) >= 0) {
		status = take(o, option, option == '?' ? argv[optind - 1] : optarg);
		if (status >= 0)
			return status;
	}
	if (optind < argc)
		return bad("%s: there are options only; see --help", argv[optind]);
	return complete(o);
}

struct guest_ram *options_ram(struct options *o, unsigned int card)
{
	if (!o->ram_count)
		return NULL;
	return &o->rams[card < o->ram_count ? card : o->ram_count - 1];
}
