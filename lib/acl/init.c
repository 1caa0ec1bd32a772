/* SPDX-License-Identifier: MIT */
/*
 * The beginning and the end of the interface in a process.
 */
#include "state.h"

#include <fcntl.h>
#include <unistd.h>

/* The file has to be readable. Its contents have no effect. */
static aclError config_check_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	aclError err = ACL_SUCCESS;
	char byte;

	if (fd < 0 || read(fd, &byte, 1) < 0)
		err = call_fail(ACL_ERROR_INVALID_FILE, "configPath: %s cannot be read: %m", path);
	if (fd >= 0)
		close(fd);
	return err;
}

aclError aclInit(const char *configPath)
{
	aclError err;

	call_begin(__func__);
	err = configPath ? config_check_file(configPath) : ACL_SUCCESS;
	if (!err)
		state_init();
	return err;
}

aclError aclFinalize(void)
{
	uint64_t left;

	call_begin(__func__);
	return state_finalize(true, &left);
}

aclError aclFinalizeReference(uint64_t *refCount)
{
	uint64_t left = 0;
	aclError err;

	call_begin(__func__);
	err = state_finalize(false, &left);
	if (refCount)
		*refCount = left;
	return err;
}

aclError aclrtGetVersion(int32_t *majorVersion, int32_t *minorVersion, int32_t *patchVersion)
{
	call_begin(__func__);
	if (!majorVersion)
		return call_null("majorVersion");
	if (!minorVersion)
		return call_null("minorVersion");
	if (!patchVersion)
		return call_null("patchVersion");
	*majorVersion = ACL_MAJOR_VERSION;
	*minorVersion = ACL_MINOR_VERSION;
	*patchVersion = ACL_PATCH_VERSION;
	return ACL_SUCCESS;
}
