/* SPDX-License-Identifier: MIT */
/*
 * accelctl health: whether the cards work, from sysfs. That needs no right to open them.
 */
#include "accelctl.h"
#include "json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CLASS "/sys/class/paccel"
#define MAX_CARDS 256

/* A counter, and what it means, and what to do, if it is not 0. */
static const struct counter {
	const char *name;
	const char *meaning;
} counters[] = {
	{ "timeouts", "transfers took longer than watchdog_ms: a card that hangs, or too short a limit" },
	{ "lost_irqs", "interrupts never came: look at the slot, and at the machine's interrupt settings" },
	{ "spurious_irqs", "interrupts that meant nothing: harmless if few" },
	{ "bogus", "the card said what cannot be, and was not believed: have it checked" },
	{ "corrupt", "bytes changed in verified transfers: have card, slot and memory checked" },
	{ "engine_resets", "engines were restarted: see the kernel log and /sys/class/devcoredump" },
	{ "resets", "the card was restarted: by somebody, or see the kernel log" },
	{ "leaked_pages", "memory is kept until the next boot: the card could not be stopped" },
	{ "quarantined", "device memory could not be scrubbed: a reset of the card tries again" },
};

#define COUNTERS (sizeof(counters) / sizeof(counters[0]))

static const struct {
	const char *health;
	const char *advice;
} states[] = {
	{ "ok", NULL },
	{ "recovering", "being restarted: look again in some seconds" },
	{ "failed", "out of service: see the kernel log and /sys/class/devcoredump; reset or replug it" },
};

struct card_health {
	int index;
	unsigned int node;
	char kind[32];
	char health[32];
	char counts[COUNTERS][24];
};

/* A line of a file of the card; false, and "?", if there is none. */
static bool attribute(unsigned int node, const char *name, char *text, size_t size)
{
	char path[96];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), CLASS "/paccel%u/%s", node, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, size - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0) {
		snprintf(text, size, "?");
		return false;
	}
	text[n] = 0;
	text[strcspn(text, "\n")] = 0;
	return true;
}

/* False for a card that is gone, or was never there. */
static bool examine(struct card_health *card, int index, unsigned int node)
{
	card->index = index;
	card->node = node;
	attribute(node, "backend", card->kind, sizeof(card->kind));
	/* A counter that an older driver does not have is no fault of the card. */
	for (size_t i = 0; i < COUNTERS; i++)
		attribute(node, counters[i].name, card->counts[i], sizeof(card->counts[i]));
	return attribute(node, "health", card->health, sizeof(card->health));
}

static bool is_zero(const char *count)
{
	return !strcmp(count, "0") || !strcmp(count, "?");
}

static void show_text(const struct card_health *card)
{
	printf("card %d: %s (%s, /dev/paccel%u)\n", card->index, card->health, card->kind,
	       card->node);
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (states[i].advice && !strcmp(states[i].health, card->health))
			printf("  %s\n", states[i].advice);
	for (size_t i = 0; i < COUNTERS; i++) {
		const char *count = card->counts[i];

		printf("  %-15s %s%s%s\n", counters[i].name, count, is_zero(count) ? "" : "  ",
		       is_zero(count) ? "" : counters[i].meaning);
	}
}

static void show_json(const struct card_health *card)
{
	char node[32];

	snprintf(node, sizeof(node), "/dev/paccel%u", card->node);
	json_open(NULL, '{');
	json_number("index", (uint64_t)card->index);
	json_string("node", node);
	json_string("name", card->kind);
	json_string("health", card->health);
	for (size_t i = 0; i < COUNTERS; i++)
		if (strcmp(card->counts[i], "?"))
			json_number(counters[i].name, strtoull(card->counts[i], NULL, 10));
	json_close('}');
}

static int by_number(const void *a, const void *b)
{
	unsigned int x = *(const unsigned int *)a, y = *(const unsigned int *)b;

	return x < y ? -1 : x > y;
}

/* The numbers of all nodes, in the order of the library's indices. */
static int find_nodes(unsigned int nodes[MAX_CARDS])
{
	DIR *dir = opendir(CLASS);
	struct dirent *entry;
	int count = 0, used;

	while (dir && count < MAX_CARDS && (entry = readdir(dir))) {
		used = 0;
		if (sscanf(entry->d_name, "paccel%u%n", &nodes[count], &used) == 1 &&
		    !entry->d_name[used])
			count++;
	}
	if (dir)
		closedir(dir);
	qsort(nodes, (size_t)count, sizeof(nodes[0]), by_number);
	return count;
}

static int show(const struct options *options, int index, unsigned int node)
{
	struct card_health card;

	if (!examine(&card, index, node))
		return complain("health: card %d is gone", index);
	if (options->json)
		show_json(&card);
	else
		show_text(&card);
	return strcmp(card.health, "ok") ? FAILED : DONE;
}

int command_health(const struct options *options)
{
	unsigned int nodes[MAX_CARDS];
	int count = find_nodes(nodes), status = DONE;

	if (!count)
		return no_cards(options);
	if (!options->all && options->index >= count)
		return complain("health: there is no card %d: the last card is %d", options->index,
				count - 1);
	if (!options->all)
		return show(options, options->index, nodes[options->index]);
	if (options->json)
		json_open(NULL, '[');
	for (int i = 0; i < count; i++)
		if (show(options, i, nodes[i]))
			status = FAILED;
	if (options->json)
		json_close(']');
	return status;
}
