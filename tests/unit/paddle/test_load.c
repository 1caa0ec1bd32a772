/* SPDX-License-Identifier: MIT */
/* InitPlugin() with the structs of each release, and with others. */
#include "paddle.h"

#define PAGE 4096

/* What is touched behind a struct is a SIGSEGV: it ends where a page does that has no access. */
struct guarded {
	char *pages;
	char *at;
	size_t size;
};

static struct guarded guarded_struct(size_t size)
{
	char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			   0);

	mprotect(pages + PAGE, PAGE, PROT_NONE);
	return (struct guarded){ pages, pages + PAGE - size, size };
}

static void release(const struct guarded *guarded)
{
	munmap(guarded->pages, 2 * PAGE);
}

static bool is_zero(const struct guarded *guarded, size_t from)
{
	for (size_t i = from; i < guarded->size; i++)
		if (guarded->at[i])
			return false;
	return true;
}

static struct params *set_sizes(struct guarded *params, struct guarded *functions)
{
	struct params *given_params = (struct params *)params->at;

	given_params->size = params->size;
	given_params->interface = (struct interface *)functions->at;
	given_params->interface->size = functions->size;
	return given_params;
}

/* Those without which Paddle refuses a plugin, and the one that it calls without a look. */
static bool has_required(const struct interface *functions)
{
	return functions->set_device && functions->get_device && functions->create_event &&
	       functions->record_event && functions->destroy_event &&
	       functions->synchronize_event && functions->device_memory_allocate &&
	       functions->device_memory_deallocate && functions->get_device_count &&
	       functions->get_device_list && functions->synchronize_device;
}

/* Where the functions for collectives begin, or 0. */
static size_t collectives_of(size_t functions_size)
{
	return functions_size == 1128 ? 640 : functions_size == 920 ? 560 : 0;
}

/* All behind the part that all releases have, but for the collectives. */
static bool is_left_alone(const struct guarded *functions)
{
	size_t at = collectives_of(functions->size);

	if (!at)
		return is_zero(functions, 472);
	for (size_t i = 472; i < functions->size; i++)
		if ((i < at || i >= at + sizeof(struct collective_interface)) && functions->at[i])
			return false;
	for (size_t i = at; i < at + sizeof(struct collective_interface); i += sizeof(void *))
		if (!*(void **)(functions->at + i))
			return false;
	return true;
}

static void load_with(size_t params_size, size_t functions_size, bool is_known)
{
	struct guarded params = guarded_struct(params_size);
	struct guarded functions = guarded_struct(functions_size);
	struct params *got = set_sizes(&params, &functions);

	InitPlugin(got);
	ok(got->device_type && !strcmp(got->device_type, "accel"));
	ok(got->sub_device_type && *got->sub_device_type);
	ok(got->version.major == 0 && got->version.minor == 1 && got->version.patch == 1);
	ok(got->size == params_size && got->interface->size == functions_size);
	ok(has_required(got->interface));
	ok(is_zero(&params, 56));
	ok(is_known ? is_left_alone(&functions) : is_zero(&functions, 472));
	release(&params);
	release(&functions);
}

static void test_every_generation(void)
{
	static const size_t sizes[][2] = { { 88, 904 },  { 88, 912 },  { 96, 920 },
					   { 96, 1032 }, { 96, 1040 }, { 96, 1128 } };

	log_clear();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		load_with(sizes[i][0], sizes[i][1], true);
	ok(!said("sizes"));
}

static void test_later_generations(void)
{
	static const size_t sizes[][2] = { { 96, 1136 }, { 104, 1128 }, { 96, 928 }, { 160, 4000 } };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		log_clear();
		load_with(sizes[i][0], sizes[i][1], false);
		ok(said("not known"));
	}
}

static void refuse(size_t params_size, size_t functions_size, const char *words)
{
	struct guarded params = guarded_struct(96), functions = guarded_struct(1128);
	struct params *got = set_sizes(&params, &functions);

	got->size = params_size;
	got->interface->size = functions_size;
	log_clear();
	InitPlugin(got);
	ok(!got->device_type && is_zero(&params, 16) && is_zero(&functions, 8));
	ok(said(words) && lines_said() == 1);
	release(&params);
	release(&functions);
}

static void test_wrong_sizes(void)
{
	static const size_t params[] = { 0, 8, 56, 80, 87, 89, 95 };
	static const size_t functions[] = { 0, 8, 472, 896, 903, 905, 1127 };

	for (size_t i = 0; i < sizeof(params) / sizeof(params[0]); i++)
		refuse(params[i], 1128, "the parameters have another size");
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		refuse(96, functions[i], "the table of functions has another size");
}

static void test_nothing_to_fill(void)
{
	struct guarded params = guarded_struct(96);
	struct params *got = (struct params *)params.at;

	log_clear();
	InitPlugin(NULL);
	ok(said("no parameters"));
	got->size = 96;
	InitPlugin(got);
	ok(said("no table") && is_zero(&params, 8));
	release(&params);
}

/* One word that is not 0 where the plugin would write, in a struct of the right size. */
static void test_another_layout(void)
{
	for (size_t at = 16; at < 56; at += 8) {
		struct guarded params = guarded_struct(96), functions = guarded_struct(1128);
		struct params *got = set_sizes(&params, &functions);

		params.at[at] = 1;
		log_clear();
		InitPlugin(got);
		params.at[at] = 0;
		ok(said("not laid out") && is_zero(&params, 16) && is_zero(&functions, 8));
		release(&params);
		release(&functions);
	}
	for (size_t at = 8; at < 472; at += 8) {
		struct guarded params = guarded_struct(96), functions = guarded_struct(1128);
		struct params *got = set_sizes(&params, &functions);

		functions.at[at] = 1;
		log_clear();
		InitPlugin(got);
		functions.at[at] = 0;
		ok(said("not laid out") && is_zero(&params, 16) && is_zero(&functions, 8));
		release(&params);
		release(&functions);
	}
}

/* Paddle takes device_max_alloc_size for the first of them. */
static void test_what_is_left_out(void)
{
	load_plugin();
	ok(!paddle->device_max_chunk_size && !paddle->device_init_alloc_size &&
	   !paddle->device_realloc_size);
	for (int i = 0; i < 8; i++)
		ok(!paddle->reserved_device[i] && !paddle->reserved_memory[i]);
}

int main(void)
{
	log_catch();
	RUN(test_every_generation);
	RUN(test_later_generations);
	RUN(test_wrong_sizes);
	RUN(test_nothing_to_fill);
	RUN(test_another_layout);
	RUN(test_what_is_left_out);
	return tap_end();
}
