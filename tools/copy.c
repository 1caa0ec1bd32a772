/* SPDX-License-Identifier: MIT */
/*
 * accelctl copy: a file through the card's memory, piece by piece: in to one half, inside the card
 * to the other, and out. Memory use does not depend on the size of the file.
 */
#include "accelctl.h"
#include "json.h"
#include "sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
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
	char *block; /* on the card */
	size_t block_size;
	char *in, *out; /* a block each */
	uint64_t size; /* of the file, 0 if it is not known */
	uint64_t done, different, first_different;
	double start, end, shown; /* times */
	unsigned int tenths; /* of the file, when progress was last shown */
	struct sha256 sha_in, sha_out;
	char text_in[SHA256_TEXT], text_out[SHA256_TEXT];
	struct accel_memory_stats before, after;
};

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* ---- What is shown ---- */

static void show_card(const struct job *job, const struct accel_device_info *info)
{
	printf("card %d: %s at %s, /dev/paccel%u, %" PRIu64 " bytes of memory, granule %" PRIu64
	       "\n",
	       job->options->index, info->name, info->bus_address, info->node, info->memory_size,
	       info->granule);
	printf("file: %s, %" PRIu64 " bytes, in pieces of %zu\n", job->options->file, job->size,
	       job->block_size / 2);
}

static void show_stats(const struct job *job)
{
	printf("%-23s %12s %12s %12s\n", "", "before", "after", "change");
	for (unsigned int i = 0; i < stat_field_count; i++) {
		uint64_t before = stat_value(&job->before, &stat_fields[i]);
		uint64_t after = stat_value(&job->after, &stat_fields[i]);

		printf("%-23s %12s %12s %+12" PRId64 "\n", stat_fields[i].label,
		       stat_text(&stat_fields[i], before), stat_text(&stat_fields[i], after),
		       (int64_t)(after - before));
	}
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
	double time = now();

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
	if (!job->different && !strcmp(job->text_in, job->text_out)) {
		printf("all %" PRIu64 " bytes came back: SHA-256 %s\n", job->done, job->text_out);
		return DONE;
	}
	printf("%" PRIu64 " of %" PRIu64 " bytes came back wrong, the first at %" PRIu64
	       ": SHA-256 %s went in, %s came back\n",
	       job->different, job->done, job->first_different, job->text_in, job->text_out);
	return FAILED;
}

static void json_stats(const char *key, const struct accel_memory_stats *stats)
{
	json_open(key, '{');
	for (unsigned int i = 0; i < stat_field_count; i++)
		json_number(stat_fields[i].name, stat_value(stats, &stat_fields[i]));
	json_close('}');
}

static int json_result(const struct job *job, const struct accel_device_info *info)
{
	bool good = !job->different && !strcmp(job->text_in, job->text_out);

	json_open(NULL, '{');
	json_number("index", (uint64_t)job->options->index);
	json_string("name", info->name);
	json_string("bus_address", info->bus_address);
	json_string("file", job->options->file);
	json_number("bytes", job->done);
	json_number("piece", job->block_size / 2);
	json_real("seconds", job->end - job->start);
	json_string("sha256_in", job->text_in);
	json_string("sha256_out", job->text_out);
	json_number("different", job->different);
	json_bool("ok", good);
	json_stats("before", &job->before);
	json_stats("after", &job->after);
	json_close('}');
	return good ? DONE : FAILED;
}

/* ---- What is done ---- */

static void compare(struct job *job, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (job->in[i] == job->out[i])
			continue;
		if (!job->different++)
			job->first_different = job->done + i;
	}
}

static int pass_through_card(struct job *job, size_t size)
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

	sha256_init(&job->sha_in);
	sha256_init(&job->sha_out);
	job->start = job->shown = now();
	while (!status && (size = read_piece(job))) {
		if (size < 0)
			return complain("cannot read %s: %s", job->options->file, strerror(errno));
		status = pass_through_card(job, (size_t)size);
		if (status)
			break;
		compare(job, (size_t)size);
		sha256_add(&job->sha_in, job->in, (size_t)size);
		sha256_add(&job->sha_out, job->out, (size_t)size);
		job->done += (uint64_t)size;
		show_progress(job);
	}
	job->end = now();
	sha256_text(&job->sha_in, job->text_in);
	sha256_text(&job->sha_out, job->text_out);
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

/* As much as there is: others may use the card too. */
static int take_block(struct job *job, uint64_t memory_size)
{
	size_t size = memory_size < BLOCK_MAX ? (size_t)memory_size : BLOCK_MAX;
	void *block = NULL;
	int err;

	while ((err = accel_device_memory_allocate(job->dev, &block, size)) && size > 2 &&
	       (err == -ENOMEM || err == -EDQUOT))
		size /= 2;
	if (err)
		return complain_last("no memory on the card");
	job->block = block;
	job->block_size = size;
	job->in = malloc(size);
	job->out = malloc(size);
	return job->in && job->out ? DONE : complain("out of memory");
}

static int run_job(struct job *job, const struct accel_device_info *info)
{
	int status;

	if (accel_memory_stats_full(job->dev, &job->before))
		return complain_last("stats");
	status = take_block(job, info->memory_size);
	if (!status && !job->options->json)
		show_card(job, info);
	if (!status)
		status = check_fill(job);
	if (!status)
		status = copy_file(job);
	if (status)
		return status; /* the close frees the block */
	if (accel_device_memory_deallocate(job->dev, job->block, job->block_size))
		return complain_last("free");
	if (accel_memory_stats_full(job->dev, &job->after))
		return complain_last("stats");
	if (job->options->json)
		return json_result(job, info);
	show_stats(job);
	return show_result(job);
}

static int with_card(struct job *job)
{
	struct accel_device_info info;
	int status;

	if (accel_device_open(job->options->index, &job->dev))
		return complain_last("copy");
	status = accel_device_info(job->dev, &info) ? complain_last("info") : run_job(job, &info);
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
		return complain("cannot open %s: %s", options->file, strerror(errno));
	if (fstat(job.fd, &st) || S_ISDIR(st.st_mode)) {
		status = complain("%s is a directory", options->file);
	} else {
		job.size = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
		status = with_card(&job);
	}
	close(job.fd);
	return status;
}
