/* SPDX-License-Identifier: MIT */
/*
 * accelctl copy: tests a device with the content of a file, which goes through device memory piece
 * by piece: in to one half of a block, inside the device to the other, and out. Every byte is
 * compared, so no checksum is needed. Memory use does not depend on the size of the file.
 */
#include "accelctl.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK_MAX ((size_t)8 << 20)
#define FILL_BYTE 0x5a
#define BAR 24
#define LINE_SECONDS 5

struct job {
	const struct options *options;
	int fd;
	bool tty; /* redraw the progress bar in place */
	struct accel_device *dev;
	struct accel_device_info info;
	char *block; /* device memory */
	size_t block_size;
	char *in, *out; /* a block each */
	uint64_t size; /* of the file, 0 if it is not known */
	uint64_t done, different, first_different;
	double start, end, shown; /* times */
	unsigned int tenths; /* of the file, when progress was last shown */
	struct usage before, after;
};

/* ---- What is shown ---- */

static void show_job(const struct job *job)
{
	const struct accel_device_info *info = &job->info;

	printf("device %u: %s at %s, /dev/paccel%u, %" PRIu64 " bytes of memory, granule %" PRIu64
	       " bytes\n",
	       info->node, info->name, info->bus_address, info->node, info->memory_size,
	       info->granule);
	printf("file: %s, %" PRIu64 " bytes, in pieces of %zu bytes\n", visible(job->options->file),
	       job->size, job->block_size / 2);
}

static void show_stats(const struct job *job)
{
	printf("%-24s %14s %14s %14s\n", "", "before", "after", "change");
	for (const struct stat_field *field = stat_fields; field->name; field++) {
		uint64_t before = stat_value(&job->before, field);
		uint64_t after = stat_value(&job->after, field);
		const char *unit = field->is_count ? "" : " B";

		if (field->in_copy)
			printf("%-24s %12" PRIu64 "%-2s %12" PRIu64 "%-2s %+12" PRId64 "%s\n",
			       field->label, before, unit, after, unit, (int64_t)(after - before),
			       unit);
	}
	printf("The test of the fill filled %zu B and copied %zu B from the device.\n",
	       job->block_size, job->block_size);
}

static void draw_progress(const struct job *job, double seconds)
{
	double part = job->size ? (double)job->done / (double)job->size : 0;
	double rate = seconds > 0 ? (double)job->done / seconds : 0;
	unsigned long left = 0;
	char bar[BAR + 1] = "";

	if (part > 1)
		part = 1;
	if (rate > 0 && job->size > job->done)
		left = (unsigned long)((double)(job->size - job->done) / rate + 0.5);
	memset(bar, '.', BAR);
	memset(bar, '#', (size_t)(part * BAR));
	printf("%s[%s] %3.0f %%  %s of %s  %s/s  %lu:%02lu left%s", job->tty ? "\r" : "", bar,
	       part * 100, size_text((double)job->done), size_text((double)job->size),
	       size_text(rate), left / 60, left % 60, job->tty ? "\033[K" : "\n");
	fflush(stdout);
}

/* In place on a terminal; elsewhere a line for every tenth, and every few seconds. */
static void show_progress(struct job *job)
{
	unsigned int tenths = job->size ? (unsigned int)(job->done * 10 / job->size) : 0;
	double time = time_now();

	if (job->options->json || !job->size)
		return;
	if (!job->tty && tenths == job->tenths && time - job->shown < LINE_SECONDS)
		return;
	job->tenths = tenths;
	job->shown = time;
	draw_progress(job, time - job->start);
	if (job->tty && job->done >= job->size)
		putchar('\n');
}

static int show_result(const struct job *job)
{
	if (!job->different) {
		printf("all %" PRIu64 " bytes came back\n", job->done);
		return DONE;
	}
	printf("%" PRIu64 " of %" PRIu64 " bytes came back wrong, the first at %" PRIu64 "\n",
	       job->different, job->done, job->first_different);
	return FAILED;
}

static struct json_object *stats_json(const struct usage *usage)
{
	struct json_object *object = json_object_new_object();

	json_add_stats(object, usage);
	return object;
}

static int json_result(const struct job *job)
{
	struct json_object *object = json_device(job->info.node, &job->info);

	json_add_text(object, "file", job->options->file);
	json_add_number(object, "bytes", job->done);
	json_add_number(object, "piece", job->block_size / 2);
	json_add_real(object, "seconds", job->end - job->start);
	json_add_number(object, "different", job->different);
	json_add(object, "ok", json_object_new_boolean(!job->different));
	json_add(object, "before", stats_json(&job->before));
	json_add(object, "after", stats_json(&job->after));
	json_print(object);
	return job->different ? FAILED : DONE;
}

/* ---- What is done ---- */

static void compare(struct job *job, size_t size)
{
	if (!memcmp(job->in, job->out, size))
		return;
	for (size_t i = 0; i < size; i++) {
		if (job->in[i] == job->out[i])
			continue;
		if (!job->different++)
			job->first_different = job->done + i;
	}
}

static int pass_through_device(struct job *job, size_t size)
{
	char *half = job->block + job->block_size / 2;

	memset(job->out, 0, size);
	if (accel_memory_copy_h2d(job->dev, job->block, job->in, size) ||
	    accel_memory_copy_d2d(job->dev, half, job->block, size) ||
	    accel_memory_copy_d2h(job->dev, job->out, half, size))
		return complain_last("copy");
	return DONE;
}

/* A whole piece, or what is left; -1 for an error. */
static ssize_t read_piece(const struct job *job)
{
	size_t wanted = job->block_size / 2, got = 0;
	ssize_t rc = 1;

	while (got < wanted && rc) {
		rc = read(job->fd, job->in + got, wanted - got);
		if (rc < 0 && errno != EINTR)
			return -1;
		got += rc > 0 ? (size_t)rc : 0;
	}
	return (ssize_t)got;
}

static int copy_file(struct job *job)
{
	ssize_t size;
	int status = DONE;

	job->start = job->shown = time_now();
	while (!status && (size = read_piece(job))) {
		if (size < 0)
			return complain("copy: cannot read %s: %s", job->options->file,
					strerror(errno));
		status = pass_through_device(job, (size_t)size);
		if (status)
			break;
		compare(job, (size_t)size);
		job->done += (uint64_t)size;
		show_progress(job);
	}
	job->end = time_now();
	return status;
}

static int check_fill(const struct job *job)
{
	memset(job->out, 0, job->block_size);
	if (accel_device_memory_set(job->dev, job->block, FILL_BYTE, job->block_size) ||
	    accel_memory_copy_d2h(job->dev, job->out, job->block, job->block_size))
		return complain_last("fill");
	for (size_t i = 0; i < job->block_size; i++)
		if (job->out[i] != FILL_BYTE)
			return complain("fill: byte %zu of %zu is %#x and not %#x", i,
					job->block_size, (unsigned char)job->out[i], FILL_BYTE);
	if (!job->options->json)
		printf("fill: all %zu bytes are %#x\n", job->block_size, FILL_BYTE);
	return DONE;
}

/* As much as there is: others may use the device too. */
static int take_block(struct job *job, uint64_t memory_size)
{
	size_t size = memory_size < BLOCK_MAX ? (size_t)memory_size : BLOCK_MAX;
	void *block = NULL;
	int err;

	while ((err = accel_device_memory_allocate(job->dev, &block, size)) && size > 2 &&
	       (err == -ENOMEM || err == -EDQUOT))
		size /= 2;
	if (err)
		return complain_last("copy");
	job->block = block;
	job->block_size = size;
	job->in = malloc(size);
	job->out = malloc(size);
	return job->in && job->out ? DONE : complain("copy: out of memory");
}

static int run_job(struct job *job)
{
	int status;

	if (usage_read(job->dev, &job->before))
		return complain_last("copy");
	status = take_block(job, job->info.memory_size);
	if (!status && !job->options->json)
		show_job(job);
	if (!status)
		status = check_fill(job);
	if (!status)
		status = copy_file(job);
	if (status)
		return status; /* the close frees the block */
	if (accel_device_memory_deallocate(job->dev, job->block, job->block_size))
		return complain_last("copy");
	if (usage_read(job->dev, &job->after))
		return complain_last("copy");
	if (job->options->json)
		return json_result(job);
	show_stats(job);
	return show_result(job);
}

static int with_device(struct job *job)
{
	unsigned int number;
	int status = device_choose("copy", job->options, &number);

	if (!status)
		status = device_open("copy", number, &job->dev, &job->info);
	if (status)
		return status;
	status = run_job(job);
	accel_device_close(job->dev);
	free(job->in);
	free(job->out);
	return status;
}

int command_copy(const struct options *options)
{
	struct job job = { .options = options, .tty = isatty(STDOUT_FILENO) };
	struct stat st;
	int status;

	job.fd = open(options->file, O_RDONLY | O_CLOEXEC);
	if (job.fd < 0)
		return complain("copy: cannot open %s: %s", options->file, strerror(errno));
	if (fstat(job.fd, &st) || S_ISDIR(st.st_mode)) {
		status = complain("copy: %s is a directory", options->file);
	} else {
		job.size = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
		status = with_device(&job);
	}
	close(job.fd);
	return status;
}
