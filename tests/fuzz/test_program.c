// SPDX-License-Identifier: MIT
/*
 * The generator of the fuzzer, without a guest. `test_program NAME` is one test, `test_program`
 * lists them.
 */
#include <stdio.h>
#include <string.h>

#include <linux/paccel.h>

#include "program.h"

#define CHECK(condition) check(condition, __func__, __LINE__, #condition)

static bool failed;

static void check(bool good, const char *function, int line, const char *text)
{
	if (!good && !failed)
		printf("%s:%d: not so: %s\n", function, line, text);
	failed |= !good;
}

#define PROGRAMS 3000

static struct program generated(u64 seed)
{
	struct random r;
	struct program p;

	random_seed(&r, seed);
	program_generate(&p, &r);
	return p;
}

static bool survives_text(const struct program *p)
{
	char text[MAX_TEXT];
	struct program back;
	size_t n = program_format(p, text);

	return n < MAX_TEXT && program_parse(&back, text) && !memcmp(p, &back, sizeof(back));
}

static void programs_are_valid(void)
{
	for (u64 seed = 1; seed <= PROGRAMS; seed++) {
		struct program p = generated(seed);

		CHECK(program_is_valid(&p));
	}
}

static void seed_decides(void)
{
	struct program one = generated(5), same = generated(5), other = generated(6);

	CHECK(!memcmp(&one, &same, sizeof(one)));
	CHECK(memcmp(&one, &other, sizeof(one)));
}

static void text_and_back(void)
{
	for (u64 seed = 1; seed <= PROGRAMS; seed++) {
		struct program p = generated(seed);

		CHECK(survives_text(&p));
	}
}

static void every_call_is_generated(void)
{
	bool seen[NR_CALLS] = { false };

	for (u64 seed = 1; seed <= PROGRAMS; seed++) {
		struct program p = generated(seed);

		for (unsigned int i = 0; i < p.nr; i++)
			seen[p.calls[i].type] = true;
	}
	for (int i = 0; i < NR_CALLS; i++)
		CHECK(seen[i]);
}

/* For one of several points, and for all of them; not only for points of one stream. */
static void waits_have_points(void)
{
	unsigned int several[2] = { 0 }, streams = 0;

	for (u64 seed = 1; seed <= PROGRAMS; seed++) {
		struct program p = generated(seed);

		for (unsigned int i = 1; i < p.nr; i++) {
			const struct call *point = &p.calls[i - 1], *wait = &p.calls[i];

			if (wait->type != CALL_wait || point->type != CALL_point)
				continue;
			several[wait->args[3] & PACCEL_WAIT_ANY]++;
			streams += point->args[0] != wait->args[1];
		}
	}
	CHECK(several[0] > PROGRAMS / 100 && several[PACCEL_WAIT_ANY] > PROGRAMS / 100);
	CHECK(streams > PROGRAMS / 100);
}

static void changed_programs_are_valid(void)
{
	struct program p = generated(1), before = p, other = generated(2);
	struct random r;
	unsigned int changed = 0;

	random_seed(&r, 3);
	for (int i = 0; i < PROGRAMS; i++) {
		program_mutate(&p, &other, &r);
		changed += !!memcmp(&p, &before, sizeof(p));
		before = p;
		CHECK(program_is_valid(&p));
		CHECK(survives_text(&p));
	}
	CHECK(changed > PROGRAMS / 2);
}

/* Where allocations of the kernel itself would fail, it warns, and that would count as a report. */
static void only_calls_to_the_driver_fail(void)
{
	struct program p = generated(1), other = generated(2);
	unsigned int fail[NR_CALLS] = {};
	struct random r;

	random_seed(&r, 4);
	for (int i = 0; i < 10 * PROGRAMS; i++) {
		if (i % 20 == 0)
			p = generated((u64)i + 1);
		program_mutate(&p, &other, &r);
		for (unsigned int c = 0; c < p.nr; c++)
			fail[p.calls[c].type] += !!p.calls[c].fail;
	}
	CHECK(fail[CALL_open] && fail[CALL_submit] && fail[CALL_copy] && fail[CALL_mem_import]);
	CHECK(!fail[CALL_fork] && !fail[CALL_touch] && !fail[CALL_host_dmabuf] && !fail[CALL_heap]);
}

static void shortened_programs_are_valid(void)
{
	for (u64 seed = 1; seed <= PROGRAMS; seed++) {
		struct program p = generated(seed);

		while (p.nr > 1) {
			program_remove(&p, (unsigned int)(seed % p.nr));
			CHECK(program_is_valid(&p));
		}
	}
}

static void bad_lines_are_refused(void)
{
	static const char *const good = "1 open 0x0 0x2; mem_stats r0\n";
	static const char *const bad[] = {
		"", "\n", "1\n", "1 open 0x0 0x2", "3 open 0x0 0x2\n", "0 open 0x0 0x2\n",
		"1 opem 0x0 0x2\n", "1 open 0x0\n", "1 open 0x0 0x2 0x3\n", "1 open 0x0 0x2;\n",
		"1 mem_stats r0\n", "1 open 0x0 0x2; mem_stats r1\n",
		"1 open 0x0 0x2; mem_stats 0x0\n", "1 open 0x0 0x2; mem_stats r\n",
		/* A stream is no file. */
		"1 open 0x0 0x2; stream_create r0; mem_stats r1\n",
	};
	struct program p;

	CHECK(program_parse(&p, good));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(!program_parse(&p, bad[i]));
}

#define TEST(name) { #name, name }

static const struct {
	const char *name;
	void (*run)(void);
} tests[] = {
	TEST(programs_are_valid), TEST(seed_decides), TEST(text_and_back),
	TEST(every_call_is_generated), TEST(waits_have_points),
	TEST(changed_programs_are_valid), TEST(only_calls_to_the_driver_fail),
	TEST(shortened_programs_are_valid), TEST(bad_lines_are_refused),
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		if (argc < 2)
			puts(tests[i].name);
		else if (!strcmp(argv[1], tests[i].name))
			tests[i].run();
	}
	return failed;
}
