/* SPDX-License-Identifier: MIT */
/*
 * AscendCL on libaccel: initialisation, and what went wrong. Documentation/acl.md tells which calls
 * of the interface there are, and in what they differ.
 */
#ifndef ACCEL_ACL_ACL_H
#define ACCEL_ACL_ACL_H

#include "acl_base.h"
#include "acl_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * aclInit() - begin to use AscendCL
 * @configPath: NULL, or the path of a file, which is opened; what is in it has no effect
 *
 * Comes before every other call but aclGetRecentErrMsg(), aclrtGetVersion(), aclrtGetRunMode() and
 * aclrtGetDeviceCount(). May be called again, which counts. A process that was forked from one that
 * has called it has to call it itself: it has no device, context, stream or event of the other's.
 * Thread-safe.
 *
 * Return: 0; ACL_ERROR_INVALID_FILE (@configPath cannot be read).
 */
ACL_FUNC_VISIBILITY aclError aclInit(const char *configPath);

/**
 * aclFinalize() - end the use of AscendCL
 *
 * However often aclInit() was called. Waits for the work of all devices, then frees all memory and
 * ends all contexts, streams and events. Calls of other threads that are under way end first.
 * Thread-safe.
 *
 * Return: 0; ACL_ERROR_UNINITIALIZE (aclInit() was never called); ACL_ERROR_REPEAT_FINALIZE (nor
 * since the last aclFinalize()); ACL_ERROR_RT_SYS_DMA (work has failed that nobody was told of; all
 * is ended nevertheless).
 */
ACL_FUNC_VISIBILITY aclError aclFinalize(void);

/**
 * aclFinalizeReference() - undo one aclInit()
 * @refCount: NULL, or receives how many are left
 *
 * The last one is aclFinalize(). Thread-safe.
 *
 * Return: as aclFinalize().
 */
ACL_FUNC_VISIBILITY aclError aclFinalizeReference(uint64_t *refCount);

/**
 * aclrtGetVersion() - version of the interface
 * @majorVersion: receives ACL_MAJOR_VERSION
 * @minorVersion: receives ACL_MINOR_VERSION
 * @patchVersion: receives ACL_PATCH_VERSION
 *
 * Thread-safe.
 *
 * Return: 0; ACL_ERROR_INVALID_PARAM (NULL).
 */
ACL_FUNC_VISIBILITY aclError aclrtGetVersion(int32_t *majorVersion, int32_t *minorVersion,
					     int32_t *patchVersion);

/**
 * aclGetRecentErrMsg() - what was wrong with the last call of this thread that failed
 *
 * Once: the next call does not give it again. Thread-safe.
 *
 * Return: a sentence that names the call, the argument and what is allowed; empty if nothing has
 * failed since the last time; never NULL. Valid until the next call of this function in this
 * thread, or until the thread ends.
 */
ACL_FUNC_VISIBILITY const char *aclGetRecentErrMsg(void);

#ifdef __cplusplus
}
#endif

#endif /* ACCEL_ACL_ACL_H */
