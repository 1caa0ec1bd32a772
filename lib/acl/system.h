/* SPDX-License-Identifier: MIT */
/*
 * Calls of AscendCL that are not about memory, but that programs link or look up before they use
 * any: what the device is, settings of operators, physical and virtual memory apart, operators. No
 * public header declares them: a program that calls them was built with another one's.
 */
#ifndef LIBACCEL_ACL_SYSTEM_H
#define LIBACCEL_ACL_SYSTEM_H

#include "state.h"

#pragma GCC visibility push(default)

/* ---- system.c ---- */

/**
 * aclrtGetSocName() - name of the chip
 *
 * "accel", or what the environment variable ACCEL_ACL_SOC_NAME was at the first call: torch_npu does
 * not start with a name that it does not know. Thread-safe.
 *
 * Return: the name, which stays valid.
 */
const char *aclrtGetSocName(void);

/**
 * aclrtDeviceGetBareTgid() - process id
 * @pid: receives it, as the kernel of the host knows it from inside its namespace
 *
 * Thread-safe.
 *
 * Return: 0; ACL_ERROR_INVALID_PARAM (NULL).
 */
aclError aclrtDeviceGetBareTgid(int32_t *pid);

/**
 * aclSetCompileopt() - keep an option of the compiler of operators
 * @opt: its number, 0 to 31
 * @value: up to 255 characters
 *
 * There is no operator that it has an effect on; aclGetCompileopt() gives it back. Thread-safe.
 *
 * Return: 0; ACL_ERROR_INVALID_PARAM (@opt, NULL); ACL_ERROR_STORAGE_OVER_LIMIT (longer).
 */
aclError aclSetCompileopt(int opt, const char *value);

/**
 * aclGetCompileoptSize() - bytes that aclGetCompileopt() wants
 * @opt: number of the option
 *
 * Thread-safe.
 *
 * Return: with the NUL; 0 if there is no such option.
 */
size_t aclGetCompileoptSize(int opt);

/**
 * aclGetCompileopt() - an option of the compiler of operators
 * @opt: its number, 0 to 31
 * @value: receives what was set, or an empty string
 * @length: bytes that it has room for, see aclGetCompileoptSize()
 *
 * Thread-safe.
 *
 * Return: 0; ACL_ERROR_INVALID_PARAM (@opt, NULL, too short).
 */
aclError aclGetCompileopt(int opt, char *value, size_t length);

/**
 * aclrtSetSysParamOpt() - keep a parameter of operators
 * @opt: its number, 0 to 31
 * @value: what aclrtGetSysParamOpt() is to give back
 *
 * For the process; 0 before. There is no operator that it has an effect on. Those of a context
 * (aclrtCtxSetSysParamOpt()) are the same. Thread-safe.
 *
 * Return: 0; ACL_ERROR_INVALID_PARAM (@opt).
 */
aclError aclrtSetSysParamOpt(int opt, int64_t value);
aclError aclrtCtxSetSysParamOpt(int opt, int64_t value);

/**
 * aclrtGetSysParamOpt() - a parameter of operators
 * @opt: its number, 0 to 31
 * @value: receives it
 *
 * Thread-safe.
 *
 * Return: 0; ACL_ERROR_INVALID_PARAM (@opt, NULL).
 */
aclError aclrtGetSysParamOpt(int opt, int64_t *value);
aclError aclrtCtxGetSysParamOpt(int opt, int64_t *value);

/**
 * aclrtSetDeviceSatMode() - keep how operators are to overflow
 * @mode: 0 (saturate) or 1 (infinity and NaN)
 *
 * For the process; 0 before. There is no operator that it has an effect on. Thread-safe.
 *
 * Return: 0; ACL_ERROR_INVALID_PARAM (@mode).
 */
aclError aclrtSetDeviceSatMode(int mode);

/**
 * aclrtGetDeviceSatMode() - how operators are to overflow
 * @mode: receives it
 *
 * Thread-safe.
 *
 * Return: 0; ACL_ERROR_INVALID_PARAM (NULL).
 */
aclError aclrtGetDeviceSatMode(int *mode);

/**
 * aclrtSetOpExecuteTimeOut() - seconds that an operator may take
 * @timeout: any number
 *
 * No operator takes any: nothing is kept. So does aclrtSetOpWaitTimeout(), of operators that wait;
 * the times that calls wait for copies are theirs. Thread-safe.
 *
 * Return: 0.
 */
aclError aclrtSetOpExecuteTimeOut(uint32_t timeout);
aclError aclrtSetOpWaitTimeout(uint32_t timeout);

/**
 * aclAppLog() - a line for the log of the vendor's tools
 * @level: how bad
 * @func: where it is from
 * @file: likewise
 * @line: likewise
 * @format: as for printf()
 *
 * There is no such log: the line is dropped. Thread-safe.
 */
void aclAppLog(int level, const char *func, const char *file, uint32_t line, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/**
 * aclGetDeviceCapability() - what a device has of units that compute
 * @deviceId: its number
 * @info: what of it
 * @value: receives 0
 *
 * Return: ACL_ERROR_RT_FEATURE_NOT_SUPPORT, for it has none; ACL_ERROR_INVALID_PARAM (NULL).
 */
aclError aclGetDeviceCapability(uint32_t deviceId, int info, int64_t *value);

/**
 * aclrtReserveMemAddress() - addresses without memory
 * @virPtr: receives NULL
 * @size: bytes
 * @alignment: 0
 * @expectPtr: NULL
 * @flags: 0 or 1
 *
 * An address of the device and its memory cannot be had apart. So do aclrtMallocPhysical(), and all
 * that works with what these two give.
 *
 * Return: ACL_ERROR_RT_FEATURE_NOT_SUPPORT; ACL_ERROR_INVALID_PARAM (NULL).
 */
aclError aclrtReserveMemAddress(void **virPtr, size_t size, size_t alignment, void *expectPtr,
				uint64_t flags);
aclError aclrtMallocPhysical(void **handle, size_t size, const void *prop, uint64_t flags);

/* ---- op.c ---- */

/**
 * aclopCompileAndExecute() - an operator
 * @opType: its name
 * @numInputs: not looked at, as all that follows
 * @inputDesc: likewise
 * @inputs: likewise
 * @numOutputs: likewise
 * @outputDesc: likewise
 * @outputs: likewise
 * @attr: likewise
 * @engineType: likewise
 * @compileFlag: likewise
 * @opPath: likewise
 * @stream: likewise
 *
 * The device computes nothing: this fails at once, and nothing has been read or written. So does
 * aclopCompileAndExecuteV2(). The calls that describe operands give NULL or fail. Thread-safe.
 *
 * Return: ACL_ERROR_RT_FEATURE_NOT_SUPPORT.
 */
aclError aclopCompileAndExecute(const char *opType, int numInputs, const void *const inputDesc[],
				const void *const inputs[], int numOutputs,
				const void *const outputDesc[], void *const outputs[],
				const void *attr, int engineType, int compileFlag,
				const char *opPath, aclrtStream stream);
aclError aclopCompileAndExecuteV2(const char *opType, int numInputs, void *inputDesc[],
				  void *inputs[], int numOutputs, void *outputDesc[],
				  void *outputs[], void *attr, int engineType, int compileFlag,
				  const char *opPath, aclrtStream stream);

#pragma GCC visibility pop

#endif
