/* SPDX-License-Identifier: MIT */
/*
 * Errors as sentences.
 */
#define _GNU_SOURCE
#include "api.h"
#include "error.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define STRING(x) STRING_(x)
#define STRING_(x) #x

static __thread char sentence[512];

/* A sentence that nobody has asked for yet. */
static __thread struct {
	sentence_fn *say;
	uint64_t numbers[SENTENCE_NUMBERS];
} unsaid;

int fail(int err, const char *format, ...)
{
	KEEP_ERRNO;
	va_list args;

	unsaid.say = NULL;
	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	return err;
}

int fail_later(int err, sentence_fn *say, const uint64_t numbers[SENTENCE_NUMBERS])
{
	unsaid.say = say;
	memcpy(unsaid.numbers, numbers, sizeof(unsaid.numbers));
	return err;
}

const char *accel_last_error(void)
{
	KEEP_ERRNO;

	if (unsaid.say)
		unsaid.say(sentence, sizeof(sentence), unsaid.numbers);
	unsaid.say = NULL;
	return sentence;
}

static const struct {
	int err;
	const char *text;
} meanings[] = {
	{ 0, "success" },
	{ E2BIG, "too many operations in a batch, or the driver is older than this library" },
	{ EACCES, "no permission: ls -l /dev/paccel* shows who may open the device's node" },
	{ EBADMSG, "bytes have changed on their way: the device, or its slot or cable, is faulty" },
	{ ECANCELED, "not done, because work before it in the stream failed" },
	{ EDEADLK, "a callback would wait for itself" },
	{ EDQUOT, "the quota of this user does not leave that much: free some, or have it raised" },
	{ EEXIST, "overlaps a range that this handle already has registered or allocated" },
	{ EFAULT, "not inside one live allocation of the right device, or memory that is unmapped" },
	{ EINPROGRESS, "not done yet" },
	{ EINVAL, "an argument is wrong in itself: NULL, size 0, a wrapping range, an overlap" },
	{ EIO, "the device failed or is out of service: see the kernel log" },
	{ ENODEV, "no such device: it was removed, never there, or its driver is not loaded" },
	{ ENOENT, "no allocation of this kind and handle starts at this address" },
	{ ENOMEM, "not enough memory of this kind, or RLIMIT_MEMLOCK or address space used up" },
	{ ENOSPC, "too many host ranges or streams: free, unregister or destroy some" },
	{ ENOTTY, "the driver that is loaded is older than this library" },
	{ EOPNOTSUPP, "this device cannot do that: see accel_device_get_info()" },
	{ EPERM, "the device was opened before a fork, or by another process: open it in this one" },
	{ ETIME, "not done by the deadline" },
	{ ESTALE, "a reset of the device has lost this handle's memory: close it and open again" },
	{ ETIMEDOUT, "the device did not answer in time and was reset: try again" },
	{ EXDEV, "not memory of this device" },
};

const char *accel_strerror(int err)
{
	const char *text;

	/* INT_MIN has no positive counterpart. */
	err = err < 0 && err != INT_MIN ? -err : err;
	for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++)
		if (meanings[i].err == err)
			return meanings[i].text;
	text = strerrordesc_np(err);
	return text ? text : "unknown error";
}

const char *accel_version(void)
{
	return STRING(ACCEL_VERSION_MAJOR) "." STRING(ACCEL_VERSION_MINOR) "." STRING(
		ACCEL_VERSION_PATCH);
}

int accel_version_number(void)
{
	return ACCEL_VERSION;
}
