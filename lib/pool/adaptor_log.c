/* SPDX-License-Identifier: MIT */
/*
 * The adaptor that writes a log, in the format of RMM's: what reads those reads this.
 */
#define _GNU_SOURCE
#include "adaptor.h"
#include "core/api.h"
#include "core/error.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define HEADER "Thread,Time,Action,Pointer,Size,Stream\n"

struct logging {
	struct accel_adaptor base;
	int fd;
	int err; /* of the file; atomic */
};

/*
 * The application may read the file at any time, so nothing is buffered. O_APPEND keeps the lines of
 * threads apart, since each is one write(), unless the file takes a part of it only: a pipe, or a disk
 * that is nearly full.
 */
static void write_all(struct logging *logging, const char *text, size_t size)
{
	ssize_t written;

	while (size && !__atomic_load_n(&logging->err, __ATOMIC_RELAXED)) {
		written = write(logging->fd, text, size);
		if (written > 0) {
			text += written;
			size -= (size_t)written;
		} else if (!written || errno != EINTR) {
			__atomic_store_n(&logging->err, written ? -errno : -EIO, __ATOMIC_RELAXED);
		}
	}
}

/*
 * The line of a free is written before upstream has the memory, so the next allocation of the address
 * comes behind it.
 */
static void log_line(struct accel_adaptor *adaptor, const struct adaptor_call *call,
		     const char *action)
{
	KEEP_ERRNO;
	struct timespec now;
	struct tm parts;
	char line[160];
	int length;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &parts);
	length = snprintf(line, sizeof(line), "%ld,%02d:%02d:%02d.%06ld,%s,%#" PRIxPTR ",%zu,%#"
			  PRIxPTR "\n", syscall(SYS_gettid), parts.tm_hour, parts.tm_min,
			  parts.tm_sec, now.tv_nsec / 1000, action,
			  (uintptr_t)call->ptr, call->size, (uintptr_t)call->stream);
	write_all((struct logging *)adaptor, line, (size_t)length);
}

static int close_log(struct accel_adaptor *adaptor)
{
	struct logging *logging = (struct logging *)adaptor;

	if (close(logging->fd) && !logging->err)
		logging->err = -errno;
	return logging->err ? fail(logging->err, "the log is not complete: %s",
				   strerrordesc_np(-logging->err))
			    : 0;
}

static const struct adaptor_kind logging_kind = {
	.log = log_line,
	.destroy = close_log,
};

int accel_adaptor_create_logging(const struct accel_resource *upstream, const char *path,
				 struct accel_adaptor **adaptor)
{
	KEEP_ERRNO;
	struct logging *logging;
	int err = adaptor_create(&logging_kind, sizeof(*logging), upstream, adaptor);

	if (err)
		return err;
	logging = (struct logging *)*adaptor;
	logging->fd = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)
			   : -1;
	if (logging->fd < 0) {
		err = path ? fail(-errno, "path: %s cannot be written: %s", path,
				  strerrordesc_np(errno))
			   : fail(-EINVAL, "path is NULL: the log has to go somewhere");
		pthread_mutex_destroy(&logging->base.lock);
		free(logging);
		*adaptor = NULL;
		return err;
	}
	write_all(logging, HEADER, sizeof(HEADER) - 1);
	return 0;
}
