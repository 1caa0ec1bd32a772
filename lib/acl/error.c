/* SPDX-License-Identifier: MIT */
/*
 * Failures: a code that the interface has for it, and a sentence that tells more.
 */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_SIZE 640 /* the longest sentence of libaccel has 511 characters */

static __thread const char *call = "";
static __thread char sentence[TEXT_SIZE]; /* of the last failure */
static __thread char given[TEXT_SIZE]; /* what aclGetRecentErrMsg() returned */

void call_begin(const char *name)
{
	call = name;
}

aclError call_fail(aclError code, const char *format, ...)
{
	int length = snprintf(sentence, sizeof(sentence), "%s: ", call);
	va_list args;

	va_start(args, format);
	vsnprintf(sentence + length, sizeof(sentence) - (size_t)length, format, args);
	va_end(args);
	return code;
}

aclError call_null(const char *argument)
{
	return call_fail(ACL_ERROR_INVALID_PARAM, "%s is NULL", argument);
}

static aclError code_of(int err, aclError exhausted)
{
	switch (err) {
	case 0:
		return ACL_SUCCESS;
	case -ENOMEM:
	case -EDQUOT:
		return exhausted;
	/* Memory there is, but the driver counts ranges of the host. */
	case -ENOSPC:
		return exhausted == ACL_ERROR_RT_MEMORY_ALLOCATION ? ACL_ERROR_RT_OVER_LIMIT :
								     exhausted;
	case -EMFILE:
	case -ENFILE:
		return ACL_ERROR_RT_RESOURCE_ALLOC_FAIL;
	case -EINVAL:
	case -EFAULT:
	case -ENOENT:
	case -EEXIST:
	case -EPERM:
	case -EDEADLK:
		return ACL_ERROR_RT_PARAM_INVALID;
	case -ENODEV:
		return ACL_ERROR_RT_NO_DEVICE;
	case -EACCES:
		return ACL_ERROR_RT_NO_PERMISSION;
	case -ESTALE:
		return ACL_ERROR_RT_DEVICE_MEM_ERROR;
	case -EIO:
	case -ETIMEDOUT:
		return ACL_ERROR_RT_SYS_DMA;
	case -ETIME:
		return ACL_ERROR_RT_STREAM_SYNC_TIMEOUT;
	case -ECANCELED:
		return ACL_ERROR_RT_DEVICE_TASK_ABORT;
	case -EOPNOTSUPP:
		return ACL_ERROR_RT_FEATURE_NOT_SUPPORT;
	case -ENOTTY:
	case -E2BIG:
		return ACL_ERROR_RT_DRV_INTERNAL_ERROR;
	default:
		return ACL_ERROR_INTERNAL_ERROR;
	}
}

aclError err_code(int err)
{
	return code_of(err, ACL_ERROR_RT_RESOURCE_ALLOC_FAIL);
}

bool err_is_lost(int err)
{
	return err == -ENODEV || err == -ESTALE || err == -EPERM;
}

aclError call_failed_for(int err, aclError exhausted)
{
	const char *words = accel_last_error();

	if (!err)
		return ACL_SUCCESS;
	return call_fail(code_of(err, exhausted), "%s", *words ? words : accel_strerror(err));
}

aclError call_failed(int err)
{
	return call_failed_for(err, ACL_ERROR_RT_RESOURCE_ALLOC_FAIL);
}

const char *aclGetRecentErrMsg(void)
{
	memcpy(given, sentence, sizeof(given));
	*sentence = 0;
	return given;
}
