// SPDX-License-Identifier: MIT
/*
 * conformance            all tests, on each kind of device that there is
 * conformance --lost     the test of a reset that loses memory, where the device can do that
 * conformance --errors   which errno each test is about, and which are tested elsewhere
 */
#define _GNU_SOURCE
#include "contract.h"

#include <ctype.h>

static const struct test *current;
static const struct command *current_command;

static void run_current(void)
{
	current->run(current, current_command);
}

static void run(const struct test *test, const struct command *command)
{
	char about[64], name[160];
	size_t i;

	snprintf(about, sizeof(about), "%s", test->each ? command->name : test->about);
	for (i = 0; about[i]; i++)
		about[i] = (char)tolower(about[i]);
	snprintf(name, sizeof(name), "%s%s.%s", target_prefix(), about, test->name);
	target_begin(name);
	current = test;
	current_command = command;
	if (test->alone)
		in_child(run_current);
	else
		run_current();
	tap_done(name);
}

static bool loses_memory(const struct test *test)
{
	return test->err == ESTALE;
}

static void run_table(const struct test *tests, size_t nr, bool only_lost)
{
	for (size_t i = 0; i < nr; i++) {
		if (loses_memory(&tests[i]) != only_lost)
			continue;
		for (size_t j = 0; tests[i].each && j < nr_commands; j++)
			run(&tests[i], &commands[j]);
		if (!tests[i].each)
			run(&tests[i], command_named(tests[i].about));
	}
}

static void run_all(bool only_lost)
{
	run_table(rules, nr_rules, only_lost);
	run_table(refusals, nr_refusals, only_lost);
	run_table(stream_refusals, nr_stream_refusals, only_lost);
	run_table(maps, nr_maps, only_lost);
	run_table(queues, nr_queues, only_lost);
}

static void list_table(const struct test *tests, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (tests[i].err)
			printf("%s %s %s\n", tests[i].about, strerrorname_np(tests[i].err),
			       tests[i].name);
}

static void list_errors(void)
{
	list_table(rules, nr_rules);
	list_table(refusals, nr_refusals);
	list_table(stream_refusals, nr_stream_refusals);
	list_table(maps, nr_maps);
	list_table(queues, nr_queues);
	for (size_t i = 0; i < nr_elsewhere; i++)
		printf("%s %s in %s %s\n", elsewhere[i].about, strerrorname_np(elsewhere[i].err),
		       elsewhere[i].file, elsewhere[i].test);
}

int main(int argc, char **argv)
{
	bool only_lost = argc == 2 && !strcmp(argv[1], "--lost");

	if (argc == 2 && !strcmp(argv[1], "--errors")) {
		list_errors();
		return 0;
	}
	if (argc > 1 && !only_lost) {
		fprintf(stderr, "%s: unknown argument %s; allowed: --lost, --errors\n", argv[0], argv[1]);
		return 2;
	}
	while (target_next()) {
		if (only_lost)
			target_weaken();
		else
			run_all(false);
		if (only_lost || target_loses())
			run_all(true);
	}
	return tap_end();
}
