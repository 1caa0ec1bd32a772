/* SPDX-License-Identifier: MIT */
/*
 * accelctl complete WORD...: what can stand in place of the last word of a command line, a line
 * each, for tools/accelctl.bash. The line ":" stands for the names of files.
 */
#include "accelctl.h"

#include <stdlib.h>
#include <string.h>

static void candidate(const char *word, const char *prefix)
{
	if (!strncmp(word, prefix, strlen(prefix)))
		puts(word);
}

static void complete_commands(const char *prefix)
{
	for (const struct command *command = commands; command->name; command++)
		if (command->summary)
			candidate(command->name, prefix);
}

static void complete_devices(const char *prefix)
{
	unsigned int *numbers;
	int count = devices_in_dev(&numbers);
	char name[32];

	for (int i = 0; i < count; i++) {
		snprintf(name, sizeof(name), "%s%u", *prefix == '/' ? "/dev/paccel" : "",
			 numbers[i]);
		candidate(name, prefix);
		if (device_bus_address(numbers[i], name, sizeof(name)))
			candidate(name, prefix);
	}
	free(numbers);
}

static void complete_argument(const char *argument, const char *prefix)
{
	if (!strcmp(argument, "DEVICE"))
		complete_devices(prefix);
	else if (!strcmp(argument, "FILE"))
		puts(":");
}

/* Words before the last one that are neither options nor arguments of options. */
static unsigned int count_operands(const struct command *command, char **words, int count)
{
	unsigned int operands = 0;

	for (int i = 1; i < count - 1; i++) {
		bool is_option = *words[i] == '-' || !strcmp(words[i], "=");

		if (!is_option && strcmp(words[i - 1], "=") &&
		    !option_argument(command, words[i - 1]))
			operands++;
	}
	return operands;
}

static void complete_operand(const struct command *command, unsigned int before, const char *prefix)
{
	unsigned int bit;

	for (bit = 1; bit < OPERAND_WORDS; bit <<= 1)
		if (command->operands & bit && !before--)
			break;
	switch (bit) {
	case OPERAND_FILE:
		puts(":");
		break;
	case OPERAND_DEVICE:
		complete_devices(prefix);
		break;
	case OPERAND_COMMAND:
		complete_commands(prefix);
		break;
	}
}

int command_complete(const struct options *options)
{
	const struct command *command;
	const char *prefix, *argument;
	char **words = options->words;
	int count = 0;

	while (words[count])
		count++;
	if (count < 2) {
		complete_commands(count ? words[0] : "");
		return DONE;
	}
	command = command_find(words[0]);
	if (!command)
		return FAILED;
	prefix = words[count - 1];
	/* bash makes words of --device=0: "--device", "=" and "0". */
	if (!strcmp(prefix, "="))
		argument = option_argument(command, words[count - 2]);
	else if (count > 2 && !strcmp(words[count - 2], "="))
		argument = option_argument(command, words[count - 3]);
	else
		argument = option_argument(command, words[count - 2]);
	if (argument)
		complete_argument(argument, strcmp(prefix, "=") ? prefix : "");
	else if (*prefix == '-')
		options_complete(command, prefix, candidate);
	else
		complete_operand(command, count_operands(command, words, count), prefix);
	return DONE;
}
