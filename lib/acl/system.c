/* SPDX-License-Identifier: MIT */
/*
 * What the device is, and settings of operators, of which there are none: programs set them before
 * they do anything else, and give up if they cannot. They are kept and given back. Addresses and
 * memory apart are refused.
 */
#include "state.h"
#include "system.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPTIONS 32 /* more than the interface has */
#define VALUE_SIZE 256

/* Under the lock. */
static char compile_options[OPTIONS][VALUE_SIZE];
static int64_t parameters[OPTIONS];
static int saturation;

static pthread_once_t named = PTHREAD_ONCE_INIT;
static char soc_name[64] = "accel";

static void settings_lock(void)
{
	state_watch_forks();
	state_lock();
}

static void settings_unlock(void)
{
	state_unlock();
}

/* ---- What it is ---- */

static void take_name(void)
{
	const char *name = getenv("ACCEL_ACL_SOC_NAME");

	if (name && *name && strlen(name) < sizeof(soc_name))
		strcpy(soc_name, name);
}

const char *aclrtGetSocName(void)
{
	pthread_once(&named, take_name);
	return soc_name;
}

aclError aclrtDeviceGetBareTgid(int32_t *pid)
{
	call_begin("aclrtDeviceGetBareTgid");
	if (!pid)
		return call_null("pid");
	*pid = getpid();
	return ACL_SUCCESS;
}

aclError aclGetDeviceCapability(uint32_t deviceId, int info, int64_t *value)
{
	(void)deviceId;
	call_begin("aclGetDeviceCapability");
	if (!value)
		return call_null("value");
	/* Some callers go on and use it. */
	*value = 0;
	return call_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
			 "capability %d: this device has memory only, it computes nothing", info);
}

void aclAppLog(int level, const char *func, const char *file, uint32_t line, const char *format, ...)
{
	(void)level, (void)func, (void)file, (void)line, (void)format;
}

/* ---- Settings ---- */

static aclError check_option(int opt)
{
	if (opt < 0 || opt >= OPTIONS)
		return call_fail(ACL_ERROR_INVALID_PARAM, "opt is %d, not 0 to %d", opt, OPTIONS - 1);
	return ACL_SUCCESS;
}

aclError aclSetCompileopt(int opt, const char *value)
{
	aclError err;

	call_begin("aclSetCompileopt");
	err = check_option(opt);
	if (err)
		return err;
	if (!value)
		return call_null("value");
	if (strnlen(value, VALUE_SIZE) == VALUE_SIZE)
		return call_fail(ACL_ERROR_STORAGE_OVER_LIMIT, "value has more than %d characters",
				 VALUE_SIZE - 1);
	settings_lock();
	strcpy(compile_options[opt], value);
	settings_unlock();
	return ACL_SUCCESS;
}

size_t aclGetCompileoptSize(int opt)
{
	size_t size;

	call_begin("aclGetCompileoptSize");
	if (check_option(opt))
		return 0;
	settings_lock();
	size = strlen(compile_options[opt]) + 1;
	settings_unlock();
	return size;
}

aclError aclGetCompileopt(int opt, char *value, size_t length)
{
	aclError err;
	size_t size;

	call_begin("aclGetCompileopt");
	err = check_option(opt);
	if (err)
		return err;
	if (!value)
		return call_null("value");
	settings_lock();
	size = strlen(compile_options[opt]) + 1;
	if (size <= length)
		memcpy(value, compile_options[opt], size);
	settings_unlock();
	if (size > length)
		return call_fail(ACL_ERROR_INVALID_PARAM, "length is %zu, the value takes %zu bytes",
				 length, size);
	return ACL_SUCCESS;
}

static aclError set_parameter(const char *name, int opt, int64_t value)
{
	aclError err;

	call_begin(name);
	err = check_option(opt);
	if (err)
		return err;
	settings_lock();
	parameters[opt] = value;
	settings_unlock();
	return ACL_SUCCESS;
}

static aclError get_parameter(const char *name, int opt, int64_t *value)
{
	aclError err;

	call_begin(name);
	err = check_option(opt);
	if (err)
		return err;
	if (!value)
		return call_null("value");
	settings_lock();
	*value = parameters[opt];
	settings_unlock();
	return ACL_SUCCESS;
}

aclError aclrtSetSysParamOpt(int opt, int64_t value)
{
	return set_parameter("aclrtSetSysParamOpt", opt, value);
}

aclError aclrtCtxSetSysParamOpt(int opt, int64_t value)
{
	return set_parameter("aclrtCtxSetSysParamOpt", opt, value);
}

aclError aclrtGetSysParamOpt(int opt, int64_t *value)
{
	return get_parameter("aclrtGetSysParamOpt", opt, value);
}

aclError aclrtCtxGetSysParamOpt(int opt, int64_t *value)
{
	return get_parameter("aclrtCtxGetSysParamOpt", opt, value);
}

aclError aclrtSetDeviceSatMode(int mode)
{
	call_begin("aclrtSetDeviceSatMode");
	if (mode != 0 && mode != 1)
		return call_fail(ACL_ERROR_INVALID_PARAM, "mode is %d, not 0 or 1", mode);
	settings_lock();
	saturation = mode;
	settings_unlock();
	return ACL_SUCCESS;
}

aclError aclrtGetDeviceSatMode(int *mode)
{
	call_begin("aclrtGetDeviceSatMode");
	if (!mode)
		return call_null("mode");
	settings_lock();
	*mode = saturation;
	settings_unlock();
	return ACL_SUCCESS;
}

aclError aclrtSetOpExecuteTimeOut(uint32_t timeout)
{
	(void)timeout;
	return ACL_SUCCESS;
}

aclError aclrtSetOpWaitTimeout(uint32_t timeout)
{
	(void)timeout;
	return ACL_SUCCESS;
}

/* ---- Addresses and memory apart ---- */

static const char not_apart[] =
	"addresses of this device and its memory cannot be had apart: use aclrtMalloc";

aclError aclrtReserveMemAddress(void **virPtr, size_t size, size_t alignment, void *expectPtr,
				uint64_t flags)
{
	(void)size, (void)alignment, (void)expectPtr, (void)flags;
	call_begin("aclrtReserveMemAddress");
	if (!virPtr)
		return call_null("virPtr");
	*virPtr = NULL;
	return call_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s", not_apart);
}

aclError aclrtMallocPhysical(void **handle, size_t size, const void *prop, uint64_t flags)
{
	(void)size, (void)prop, (void)flags;
	call_begin("aclrtMallocPhysical");
	if (!handle)
		return call_null("handle");
	*handle = NULL;
	return call_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s", not_apart);
}

/* These work with what the two above do not give, so they do not look at their arguments. */
#define REFUSE(name) \
	__attribute__((visibility("default"))) aclError name(void); \
	aclError name(void) \
	{ \
		call_begin(#name); \
		return call_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s", not_apart); \
	}

REFUSE(aclrtReleaseMemAddress)
REFUSE(aclrtFreePhysical)
REFUSE(aclrtMapMem)
REFUSE(aclrtUnmapMem)
REFUSE(aclrtMemExportToShareableHandle)
REFUSE(aclrtMemImportFromShareableHandle)
REFUSE(aclrtMemSetPidToShareableHandle)
