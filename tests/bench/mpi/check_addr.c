// SPDX-License-Identifier: MIT
/*
 * check_addr SAMPLES: what a question about an address costs MPI, on the host: the component itself, with what it needs
 * of Open MPI in this file, over the mock. Of each three samples one asks about host memory, one about device memory of
 * the last of four devices, and one about that where 4000 allocations are live.
 */
#include "opal_config.h"

#include "opal/mca/accelerator/accelerator.h"

#include <accel/accel.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../unit/mock.h"

#define CALLS 1000000
#define DEVICES 4
#define LIVE 4000
#define BYTES (LIVE * 64 * 2)

/* ---- Of Open MPI ----------------------------------------------------------------------------- */

opal_class_t opal_accelerator_stream_t_class, opal_accelerator_event_t_class;
int opal_class_init_epoch = 1;
bool opal_uses_threads;

int MPI_Get_library_version(char *version, int *length)
{
	*length = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "Open MPI v%d.%d", OMPI_MAJOR_VERSION,
			   OMPI_MINOR_VERSION);
	return MPI_SUCCESS;
}

void opal_class_initialize(opal_class_t *class)
{
	(void)class;
}

void opal_output(int id, const char *format, ...)
{
	(void)id;
	fprintf(stderr, "check_addr: %s\n", format);
}

extern const opal_accelerator_base_component_t mca_accelerator_paccel_component;

/* ---- The measurement --------------------------------------------------------------------------- */

static opal_accelerator_base_module_t *module;

static void must(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "check_addr: %s: %s\n", what, accel_last_error());
	exit(1);
}

static double now_ns(void)
{
	struct timespec ts;

	/* Of this thread: what else the machine does is not measured. */
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

/* Nanoseconds of one call. */
static double measure(const void *ptr, int expected, int node)
{
	int wrong = 0, id;
	double start = now_ns();
	uint64_t flags;

	for (int i = 0; i < CALLS; i++)
		wrong += module->check_addr(ptr, &id, &flags) != expected || id != node || flags;
	start = now_ns() - start;
	must(wrong, "another answer was expected");
	return start / CALLS;
}

int main(int argc, char **argv)
{
	int samples = argc == 2 ? atoi(argv[1]) : 0;
	struct accel_device *dev[DEVICES];
	unsigned int calls;
	void *first, *ptr;
	double *ns;

	if (samples < 1 || samples > 1000) {
		fputs("usage: check_addr SAMPLES\n", stderr);
		return 2;
	}
	ns = calloc((size_t)samples * 3, sizeof(*ns));
	must(!ns, "memory");
	for (int i = 0; i < DEVICES; i++) {
		mock_add_sized(i, BYTES, BYTES);
		must(accel_device_open(i, &dev[i]), "open");
	}
	module = mca_accelerator_paccel_component.accelerator_init();
	must(!module, "the component is not there");
	must(accel_device_memory_allocate(dev[DEVICES - 1], &first, 64), "allocate");
	calls = mock_all_calls();
	for (int i = 0; i < samples; i++) {
		ns[3 * i] = measure(&calls, 0, MCA_ACCELERATOR_NO_DEVICE_ID);
		ns[3 * i + 1] = measure(first, 1, DEVICES - 1);
	}
	must(mock_all_calls() != calls, "it made a system call");
	for (int i = 0; i < LIVE; i++)
		must(accel_device_memory_allocate(dev[DEVICES - 1], &ptr, 64), "allocate");
	for (int i = 0; i < samples; i++)
		ns[3 * i + 2] = measure(ptr, 1, DEVICES - 1);
	printf("{\"name\": \"mpi.check_addr\", \"ns\": [");
	for (int i = 0; i < 3 * samples; i++)
		printf("%s%.3f", i ? ", " : "", ns[i]);
	puts("]}");
	free(ns);
	mca_accelerator_paccel_component.accelerator_finalize(module);
	for (int i = 0; i < DEVICES; i++)
		must(accel_device_close(dev[i]), "close");
	return 0;
}
