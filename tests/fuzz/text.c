// SPDX-License-Identifier: MIT
/* Programs as text: a line of the corpus and of the log, and a program in C. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"

/* --- a line --------------------------------------------------------------------- */

/* sprintf() takes longer than most calls. */
static char *put_hex(char *to, u64 value)
{
	int shift = 60;

	*to++ = '0';
	*to++ = 'x';
	while (shift && !(value >> shift))
		shift -= 4;
	for (; shift >= 0; shift -= 4)
		*to++ = "0123456789abcdef"[value >> shift & 15];
	return to;
}

static char *put_number(char *to, unsigned int value)
{
	if (value >= 10)
		to = put_number(to, value / 10);
	*to++ = (char)('0' + value % 10);
	return to;
}

static char *put_arg(char *to, const struct arg *arg, u64 value)
{
	*to++ = ' ';
	if (arg->kind > K_RESULTS)
		return put_hex(to, value);
	if (!value) {
		*to++ = '-';
		return to;
	}
	*to++ = 'r';
	return put_number(to, (unsigned int)value - 1);
}

size_t program_format(const struct program *p, char text[MAX_TEXT])
{
	char *to = put_number(text, p->threads);

	for (unsigned int i = 0; i < p->nr; i++) {
		const struct call_type *type = &call_types[p->calls[i].type];

		if (i)
			*to++ = ';';
		*to++ = ' ';
		to = stpcpy(to, type->name);
		if (p->calls[i].fail) {
			*to++ = '!';
			to = put_number(to, p->calls[i].fail);
		}
		for (int n = 0; n < type->nr_args; n++)
			to = put_arg(to, &type->args[n], p->calls[i].args[n]);
	}
	*to++ = '\n';
	*to = 0;
	return (size_t)(to - text);
}

/* --- and back --------------------------------------------------------------------- */

static bool parse_type(struct call *call, const char **text)
{
	size_t n = strcspn(*text, " !;\n");

	for (call->type = 0; call->type < NR_CALLS; call->type++) {
		const char *name = call_types[call->type].name;

		if (strlen(name) == n && !memcmp(name, *text, n))
			break;
	}
	*text += n;
	return call->type < NR_CALLS;
}

static bool parse_arg(const struct arg *arg, u64 *value, const char **text)
{
	char *end;

	if (*(*text)++ != ' ')
		return false;
	if (arg->kind > K_RESULTS) {
		*value = strtoull(*text, &end, 16);
	} else if (**text == '-') {
		*value = 0;
		end = (char *)*text + 1;
	} else {
		if (*(*text)++ != 'r' || !isdigit((unsigned char)**text))
			return false;
		*value = strtoull(*text, &end, 10) + 1;
	}
	if (end == *text)
		return false;
	*text = end;
	return true;
}

static bool parse_call(struct call *call, const char **text)
{
	const struct call_type *type;
	char *end;

	if (!parse_type(call, text))
		return false;
	if (**text == '!') {
		call->fail = (u16)strtoul(*text + 1, &end, 10);
		*text = end;
	}
	type = &call_types[call->type];
	for (int n = 0; n < type->nr_args; n++)
		if (!parse_arg(&type->args[n], &call->args[n], text))
			return false;
	return true;
}

bool program_parse(struct program *p, const char *text)
{
	char *end;

	memset(p, 0, sizeof(*p));
	p->threads = (u16)strtoul(text, &end, 10);
	text = end;
	do {
		if (*text++ != ' ' || p->nr == MAX_CALLS ||
		    !parse_call(&p->calls[p->nr++], &text))
			return false;
	} while (*text++ == ';');
	return text[-1] == '\n' && program_is_valid(p);
}

/* --- C ------------------------------------------------------------------------------- */

static void print_call_c(FILE *to, const struct call *call, unsigned int number)
{
	const struct call_type *type = &call_types[call->type];

	if (call->fail)
		fprintf(to, "\tcalls_fail_nth(%u);\n", call->fail);
	fprintf(to, "\tr[%u] = CALL(%s", number, type->name);
	for (int n = 0; n < type->nr_args; n++) {
		if (type->args[n].kind > K_RESULTS)
			fprintf(to, ", 0x%llx", (unsigned long long)call->args[n]);
		else if (call->args[n])
			fprintf(to, ", r[%u]", (unsigned int)call->args[n] - 1);
		else
			fputs(", NO_RESULT", to);
	}
	fputs(type->nr_args ? ");\n" : ", 0);\n", to);
	if (call->fail)
		fputs("\tcalls_fail_none();\n", to);
}

static void print_program_c(FILE *to, const struct program *p, unsigned int number)
{
	fprintf(to, "static void *program_%u(void *results)\n{\n\tu64 *r = results;\n\n", number);
	for (unsigned int i = 0; i < p->nr; i++)
		print_call_c(to, &p->calls[i], i);
	fputs("\treturn NULL;\n}\n\n", to);
}

static const char beginning[] =
	"// SPDX-License-" "Identifier: MIT\n"
	"/*\n"
	" * Written by tests/fuzz: what each process was doing. In the top folder:\n"
	" *\n"
	" *   gcc -Iinclude/uapi -Itests/fuzz FILE.c tests/fuzz/calls_*.c \\\n"
	" *           tests/kselftest/{card,util}.c -D_GNU_SOURCE -pthread -static -o build/crash\n"
	" *   qemu/run --kernel debug (cards as of tests/fuzz/run) -- build/crash\n"
	" */\n"
	"#include \"repeat.h\"\n\n";

void programs_print_c(FILE *to, const struct program *p, unsigned int nr)
{
	fputs(beginning, to);
	for (unsigned int i = 0; i < nr; i++)
		print_program_c(to, &p[i], i);
	fputs("static const struct repeated programs[] = {\n", to);
	for (unsigned int i = 0; i < nr; i++)
		fprintf(to, "\t{ program_%u, %u },\n", i, p[i].threads);
	fputs("};\n\nint main(void)\n{\n"
	      "\treturn repeat(programs, sizeof(programs) / sizeof(programs[0]));\n}\n", to);
}
