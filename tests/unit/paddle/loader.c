/* SPDX-License-Identifier: MIT */
/*
 * loader PLUGIN PARAMS INTERFACE: loads a plugin as Paddle does, with structs of these sizes, and
 * moves some bytes on the first device. Prints how many devices there are.
 */
#include "../../../lib/paddle/abi.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "line %d: not so: %s\n", __LINE__, #condition); \
			exit(1); \
		} \
	} while (0)

static void move_bytes(const struct interface *functions)
{
	char in[100], back[100] = "";
	struct place place = { 0 };
	void *ptr = NULL;

	memset(in, 5, sizeof(in));
	CHECK(!functions->device_memory_allocate(&place, &ptr, sizeof(in)) && ptr);
	CHECK(!functions->memory_copy_h2d(&place, ptr, in, sizeof(in)));
	CHECK(!functions->memory_copy_d2h(&place, back, ptr, sizeof(back)));
	CHECK(!memcmp(in, back, sizeof(in)));
	CHECK(!functions->device_memory_deallocate(&place, ptr, sizeof(in)));
}

static void use(const struct params *params)
{
	const struct interface *functions = params->interface;
	size_t count = 9;

	CHECK(params->device_type && !strcmp(params->device_type, "accel"));
	CHECK(!functions->initialize());
	CHECK(!functions->get_device_count(&count));
	if (count)
		move_bytes(functions);
	CHECK(!functions->finalize());
	printf("%zu devices\n", count);
}

static int is_mapped(const char *name)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096];
	int found = 0;

	while (fgets(line, sizeof(line), maps))
		found |= strstr(line, name) != NULL;
	fclose(maps);
	return found;
}

/* Nothing of what is gone is called when the process forks. */
static void forks_well(void)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	CHECK(waitpid(pid, &status, 0) == pid && !status);
}

int main(int argc, char **argv)
{
	void (*init)(struct params *params);
	struct params *params;
	void *library;

	CHECK(argc == 4);
	params = calloc(1, strtoul(argv[2], NULL, 10));
	params->size = strtoul(argv[2], NULL, 10);
	params->interface = calloc(1, strtoul(argv[3], NULL, 10));
	params->interface->size = strtoul(argv[3], NULL, 10);
	library = dlopen(argv[1], RTLD_LAZY);
	if (!library)
		fprintf(stderr, "%s\n", dlerror());
	CHECK(library);
	init = (void (*)(struct params *))dlsym(library, "InitPlugin");
	CHECK(init);
	init(params);
	use(params);
	CHECK(is_mapped("libpaddle_accel.so"));
	CHECK(!dlclose(library));
	CHECK(!is_mapped("libpaddle_accel.so"));
	forks_well();
	return 0;
}
