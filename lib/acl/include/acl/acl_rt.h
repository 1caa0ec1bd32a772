/* SPDX-License-Identifier: MIT */
/*
 * AscendCL on libaccel: devices, contexts, memory, streams, events and callbacks.
 */
#ifndef ACCEL_ACL_ACL_RT_H
#define ACCEL_ACL_ACL_RT_H

#include "acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ACL_MAJOR_VERSION 1
#define ACL_MINOR_VERSION 15
#define ACL_PATCH_VERSION 0

/**
 * DOC: Object model
 *
 * A *device* is an accelerator. aclrtSetDevice() opens it for the process and makes it the current
 * one of the thread. It has a *default context*, shared by all threads that have set the device;
 * aclrtCreateContext() makes more. Each context has a *default stream*, which NULL stands for, and
 * owns the streams that were made while it was current: a stream can only be used by threads whose
 * current context it belongs to (ACL_ERROR_RT_STREAM_CONTEXT). Events belong to the device.
 *
 * Device memory is the device's: its pointers can be added to, and the processor cannot access them
 * (on devices whose memory is mapped it can, which no program written to this interface needs).
 * Memory belongs to the process: any thread may use and free it.
 *
 * aclrtResetDevice() undoes one aclrtSetDevice(). The last one waits for the work of the device and
 * frees all its memory, contexts, streams and events.
 *
 * Streams, events and contexts are numbers and no pointers: one that was destroyed is refused for
 * as long as the process lives (ACL_ERROR_RT_INVALID_HANDLE), as is one of another kind.
 */

/**
 * DOC: Errors
 *
 * Every call returns 0 or a code of acl_base.h; aclGetRecentErrMsg() has the sentence. A call that
 * fails has changed nothing unless its text says otherwise, and leaves NULL where an address or a
 * handle would have been; numbers and answers are 0 or as they were, and mean nothing.
 * Every call can return these, and what stands at its text:
 *
 * ================================== ==========================================================
 * ACL_ERROR_UNINITIALIZE             aclInit() has not been called in this process
 * ACL_ERROR_RT_CONTEXT_NULL          the thread has no current context: aclrtSetDevice() makes
 *                                    one; calls that take a context, a device or the address of
 *                                    memory that is freed do not need it
 * ACL_ERROR_INVALID_PARAM            a pointer that has to be given is NULL, a size is 0
 * ACL_ERROR_RT_PARAM_INVALID         another value that is wrong in itself, or memory that is
 *                                    not what the call takes
 * ACL_ERROR_RT_INVALID_HANDLE        no live stream, event or context
 * ACL_ERROR_RT_NO_DEVICE             the device has been removed
 * ACL_ERROR_RT_DEVICE_MEM_ERROR      a reset of the device has lost its memory: aclrtResetDevice()
 * ACL_ERROR_RT_SYS_DMA               the device failed, or did not answer in time
 * ACL_ERROR_RT_RESOURCE_ALLOC_FAIL   the process has no memory or no descriptors left
 * ACL_ERROR_RT_DRV_INTERNAL_ERROR    the driver that is loaded is older than this library
 * ================================== ==========================================================
 *
 * All calls are thread-safe. What the caller has to order: memory may not be freed while another
 * thread uses it, a handle may not be destroyed while another thread uses it.
 */

/* ---- Types ----------------------------------------------------------------------------------- */

/**
 * enum aclrtRunMode - where the program runs
 * @ACL_DEVICE: on the device; not here
 * @ACL_HOST: on the host
 */
typedef enum aclrtRunMode {
	ACL_DEVICE = 0,
	ACL_HOST = 1,
} aclrtRunMode;

/**
 * enum aclrtMemMallocPolicy - which pages device memory comes from
 * @ACL_MEM_MALLOC_HUGE_FIRST: more than 1 MiB from huge pages while there are, from normal ones
 *	then; less from normal ones
 * @ACL_MEM_MALLOC_HUGE_ONLY: from huge pages: the size is rounded up to 2 MiB
 * @ACL_MEM_MALLOC_NORMAL_ONLY: from normal pages
 * @ACL_MEM_MALLOC_HUGE_FIRST_P2P: as ACL_MEM_MALLOC_HUGE_FIRST, for copies between devices
 * @ACL_MEM_MALLOC_HUGE_ONLY_P2P: as ACL_MEM_MALLOC_HUGE_ONLY, likewise
 * @ACL_MEM_MALLOC_NORMAL_ONLY_P2P: as ACL_MEM_MALLOC_NORMAL_ONLY, likewise
 * @ACL_MEM_MALLOC_HUGE1G_ONLY: from pages of 1 GiB, to which the size is rounded up
 * @ACL_MEM_MALLOC_HUGE1G_ONLY_P2P: likewise
 * @ACL_MEM_TYPE_LOW_BAND_WIDTH: may be added to one of the first three; devices have one kind of
 *	memory
 * @ACL_MEM_TYPE_HIGH_BAND_WIDTH: likewise
 * @ACL_MEM_ACCESS_USER_SPACE_READONLY: may be added; has no effect
 *
 * Every other value counts as huge pages for 2 MiB and more, and as normal ones below.
 */
typedef enum aclrtMemMallocPolicy {
	ACL_MEM_MALLOC_HUGE_FIRST = 0,
	ACL_MEM_MALLOC_HUGE_ONLY = 1,
	ACL_MEM_MALLOC_NORMAL_ONLY = 2,
	ACL_MEM_MALLOC_HUGE_FIRST_P2P = 3,
	ACL_MEM_MALLOC_HUGE_ONLY_P2P = 4,
	ACL_MEM_MALLOC_NORMAL_ONLY_P2P = 5,
	ACL_MEM_MALLOC_HUGE1G_ONLY = 6,
	ACL_MEM_MALLOC_HUGE1G_ONLY_P2P = 7,
	ACL_MEM_TYPE_LOW_BAND_WIDTH = 0x100,
	ACL_MEM_TYPE_HIGH_BAND_WIDTH = 0x1000,
	ACL_MEM_ACCESS_USER_SPACE_READONLY = 0x100000,
} aclrtMemMallocPolicy;

/**
 * enum aclrtMemcpyKind - direction of a copy
 * @ACL_MEMCPY_HOST_TO_HOST: not for asynchronous copies
 * @ACL_MEMCPY_HOST_TO_DEVICE: to the device
 * @ACL_MEMCPY_DEVICE_TO_HOST: from the device
 * @ACL_MEMCPY_DEVICE_TO_DEVICE: inside a device, or between two
 * @ACL_MEMCPY_DEFAULT: whatever the addresses say
 * @ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE: to the device; the source may be reused when the call returns
 * @ACL_MEMCPY_INNER_DEVICE_TO_DEVICE: inside a device
 * @ACL_MEMCPY_INTER_DEVICE_TO_DEVICE: between two
 *
 * The addresses decide, also where the kind says something else.
 */
typedef enum aclrtMemcpyKind {
	ACL_MEMCPY_HOST_TO_HOST = 0,
	ACL_MEMCPY_HOST_TO_DEVICE = 1,
	ACL_MEMCPY_DEVICE_TO_HOST = 2,
	ACL_MEMCPY_DEVICE_TO_DEVICE = 3,
	ACL_MEMCPY_DEFAULT = 4,
	ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE = 5,
	ACL_MEMCPY_INNER_DEVICE_TO_DEVICE = 6,
	ACL_MEMCPY_INTER_DEVICE_TO_DEVICE = 7,
} aclrtMemcpyKind;

/**
 * enum aclrtMemAttr - a kind of device memory that is asked about
 * @ACL_DDR_MEM: all of it
 * @ACL_HBM_MEM: devices have none: as ACL_DDR_MEM
 * @ACL_DDR_MEM_HUGE: what huge pages can come from: whole 2 MiB
 * @ACL_DDR_MEM_NORMAL: as ACL_DDR_MEM
 * @ACL_HBM_MEM_HUGE: as ACL_DDR_MEM_HUGE
 * @ACL_HBM_MEM_NORMAL: as ACL_DDR_MEM
 * @ACL_DDR_MEM_P2P_HUGE: as ACL_DDR_MEM_HUGE
 * @ACL_DDR_MEM_P2P_NORMAL: as ACL_DDR_MEM
 * @ACL_HBM_MEM_P2P_HUGE: as ACL_DDR_MEM_HUGE
 * @ACL_HBM_MEM_P2P_NORMAL: as ACL_DDR_MEM
 * @ACL_HBM_MEM_HUGE1G: whole GiB
 * @ACL_HBM_MEM_P2P_HUGE1G: likewise
 */
typedef enum aclrtMemAttr {
	ACL_DDR_MEM = 0,
	ACL_HBM_MEM = 1,
	ACL_DDR_MEM_HUGE = 2,
	ACL_DDR_MEM_NORMAL = 3,
	ACL_HBM_MEM_HUGE = 4,
	ACL_HBM_MEM_NORMAL = 5,
	ACL_DDR_MEM_P2P_HUGE = 6,
	ACL_DDR_MEM_P2P_NORMAL = 7,
	ACL_HBM_MEM_P2P_HUGE = 8,
	ACL_HBM_MEM_P2P_NORMAL = 9,
	ACL_HBM_MEM_HUGE1G = 10,
	ACL_HBM_MEM_P2P_HUGE1G = 11,
} aclrtMemAttr;

/**
 * enum aclrtEventStatus - answer of aclrtQueryEvent()
 * @ACL_EVENT_STATUS_COMPLETE: it has happened, or was never recorded
 * @ACL_EVENT_STATUS_NOT_READY: it has not
 * @ACL_EVENT_STATUS_RESERVED: not used
 */
typedef enum aclrtEventStatus {
	ACL_EVENT_STATUS_COMPLETE = 0,
	ACL_EVENT_STATUS_NOT_READY = 1,
	ACL_EVENT_STATUS_RESERVED = 2,
} aclrtEventStatus;

/**
 * enum aclrtEventRecordedStatus - answer of aclrtQueryEventStatus(), the other way round than
 * enum aclrtEventStatus
 * @ACL_EVENT_RECORDED_STATUS_NOT_READY: it has not happened, or was not recorded
 * @ACL_EVENT_RECORDED_STATUS_COMPLETE: it has happened
 */
typedef enum aclrtEventRecordedStatus {
	ACL_EVENT_RECORDED_STATUS_NOT_READY = 0,
	ACL_EVENT_RECORDED_STATUS_COMPLETE = 1,
} aclrtEventRecordedStatus;

/**
 * enum aclrtEventWaitStatus - answer of aclrtQueryEventWaitStatus()
 * @ACL_EVENT_WAIT_STATUS_COMPLETE: no stream waits for the event
 * @ACL_EVENT_WAIT_STATUS_NOT_READY: one still does
 * @ACL_EVENT_WAIT_STATUS_RESERVED: not used
 */
typedef enum aclrtEventWaitStatus {
	ACL_EVENT_WAIT_STATUS_COMPLETE = 0,
	ACL_EVENT_WAIT_STATUS_NOT_READY = 1,
	ACL_EVENT_WAIT_STATUS_RESERVED = 0xffff,
} aclrtEventWaitStatus;

/**
 * enum aclrtStreamStatus - answer of aclrtStreamQuery()
 * @ACL_STREAM_STATUS_COMPLETE: all work has ended
 * @ACL_STREAM_STATUS_NOT_READY: some has not
 * @ACL_STREAM_STATUS_RESERVED: not used
 */
typedef enum aclrtStreamStatus {
	ACL_STREAM_STATUS_COMPLETE = 0,
	ACL_STREAM_STATUS_NOT_READY = 1,
	ACL_STREAM_STATUS_RESERVED = 0xffff,
} aclrtStreamStatus;

/* Flags of events: for waits between streams, for queries, for times. */
#define ACL_EVENT_SYNC 0x00000001u
#define ACL_EVENT_CAPTURE_STREAM_PROGRESS 0x00000002u
#define ACL_EVENT_TIME_LINE 0x00000008u
/* These need what there is not: aclrtCreateEventWithFlag() refuses them. */
#define ACL_EVENT_EXTERNAL 0x00000020u
#define ACL_EVENT_IPC 0x00000040u

/* Flags of streams: accepted, without effect. */
#define ACL_STREAM_FAST_LAUNCH 0x00000001u
#define ACL_STREAM_FAST_SYNC 0x00000002u
#define ACL_STREAM_PERSISTENT 0x00000004u
#define ACL_STREAM_HUGE 0x00000008u
#define ACL_STREAM_CPU_SCHEDULE 0x00000010u

/* Modes of aclrtSetStreamFailureMode(). */
#define ACL_CONTINUE_ON_FAILURE 0x00000000u
#define ACL_STOP_ON_FAILURE 0x00000001u

/**
 * enum aclrtCallbackBlockType - whether a stream waits for a callback
 * @ACL_CALLBACK_NO_BLOCK: it goes on
 * @ACL_CALLBACK_BLOCK: what is queued later begins when the callback has returned
 */
typedef enum aclrtCallbackBlockType {
	ACL_CALLBACK_NO_BLOCK = 0,
	ACL_CALLBACK_BLOCK = 1,
} aclrtCallbackBlockType;

/** typedef aclrtCallback - what aclrtProcessReport() calls */
typedef void (*aclrtCallback)(void *userData);

/** typedef aclrtHostFunc - what aclrtLaunchHostFunc() queues */
typedef void (*aclrtHostFunc)(void *args);

/**
 * enum aclrtMallocAttrType - what an attribute of an allocation says
 * @ACL_RT_MEM_ATTR_RSV: nothing
 * @ACL_RT_MEM_ATTR_MODULE_ID: who allocates, for statistics; has no effect
 * @ACL_RT_MEM_ATTR_DEVICE_ID: device that will use host memory
 * @ACL_RT_MEM_ATTR_VA_FLAG: 1: host memory at the same address on host and device; not here
 */
typedef enum aclrtMallocAttrType {
	ACL_RT_MEM_ATTR_RSV = 0,
	ACL_RT_MEM_ATTR_MODULE_ID = 1,
	ACL_RT_MEM_ATTR_DEVICE_ID = 2,
	ACL_RT_MEM_ATTR_VA_FLAG = 3,
} aclrtMallocAttrType;

/**
 * union aclrtMallocAttrValue - value of an attribute of an allocation
 * @moduleId: of ACL_RT_MEM_ATTR_MODULE_ID
 * @deviceId: of ACL_RT_MEM_ATTR_DEVICE_ID
 * @vaFlag: of ACL_RT_MEM_ATTR_VA_FLAG
 * @rsv: makes it 8 bytes
 */
typedef union aclrtMallocAttrValue {
	uint16_t moduleId;
	uint32_t deviceId;
	uint32_t vaFlag;
	uint8_t rsv[8];
} aclrtMallocAttrValue;

/**
 * struct aclrtMallocAttribute - an attribute of an allocation
 * @attr: what it says
 * @value: as @attr
 */
typedef struct aclrtMallocAttribute {
	aclrtMallocAttrType attr;
	aclrtMallocAttrValue value;
} aclrtMallocAttribute;

/**
 * struct aclrtMallocConfig - attributes of an allocation
 * @attrs: the attributes; may be NULL if there are none
 * @numAttrs: how many
 */
typedef struct aclrtMallocConfig {
	aclrtMallocAttribute *attrs;
	size_t numAttrs;
} aclrtMallocConfig;

/**
 * enum aclrtMemLocationType - where memory is
 * @ACL_MEM_LOCATION_TYPE_HOST: page-locked in the host: allocated or registered here
 * @ACL_MEM_LOCATION_TYPE_DEVICE: on a device
 * @ACL_MEM_LOCATION_TYPE_UNREGISTERED: this interface does not know it: pageable host memory
 */
typedef enum aclrtMemLocationType {
	ACL_MEM_LOCATION_TYPE_HOST = 0,
	ACL_MEM_LOCATION_TYPE_DEVICE = 1,
	ACL_MEM_LOCATION_TYPE_UNREGISTERED = 2,
} aclrtMemLocationType;

/**
 * struct aclrtMemLocation - where memory is
 * @id: device; 0 for memory that is not known
 * @type: kind of place
 */
typedef struct aclrtMemLocation {
	uint32_t id;
	aclrtMemLocationType type;
} aclrtMemLocation;

/**
 * struct aclrtPtrAttributes - what an address is
 * @location: where it is
 * @pageSize: bytes: granule of the device, page of the host
 * @rsv: 0
 */
typedef struct aclrtPtrAttributes {
	aclrtMemLocation location;
	uint32_t pageSize;
	uint32_t rsv[4];
} aclrtPtrAttributes;

/**
 * struct aclrtMemcpyBatchAttr - where the operands of copies of a batch are
 * @dstLoc: of destinations
 * @srcLoc: of sources
 * @rsv: must be 0
 *
 * The addresses decide, as with enum aclrtMemcpyKind.
 */
typedef struct aclrtMemcpyBatchAttr {
	aclrtMemLocation dstLoc;
	aclrtMemLocation srcLoc;
	uint8_t rsv[16];
} aclrtMemcpyBatchAttr;

/** enum aclrtHostRegisterType - how host memory is registered by aclrtHostRegister(); not here */
typedef enum aclrtHostRegisterType {
	ACL_HOST_REGISTER_MAPPED = 0,
} aclrtHostRegisterType;

/* Flags of aclrtHostRegisterV2(). The device cannot map host memory. */
#define ACL_HOST_REG_MAPPED 0x2ul
#define ACL_HOST_REG_PINNED 0x10000000ul

static const int32_t __attribute__((unused)) DEVICE_UTILIZATION_NOT_SUPPORT = -1;

/** struct aclrtUtilizationExtendInfo - reserved */
typedef struct aclrtUtilizationExtendInfo aclrtUtilizationExtendInfo;

/**
 * struct aclrtUtilizationInfo - how much of a device is in use, in percent
 * @cubeUtilization: DEVICE_UTILIZATION_NOT_SUPPORT, for devices have no such unit
 * @vectorUtilization: likewise
 * @aicpuUtilization: likewise
 * @memoryUtilization: memory that is allocated, of all processes
 * @utilizationExtend: has to be NULL
 */
typedef struct aclrtUtilizationInfo {
	int32_t cubeUtilization;
	int32_t vectorUtilization;
	int32_t aicpuUtilization;
	int32_t memoryUtilization;
	aclrtUtilizationExtendInfo *utilizationExtend;
} aclrtUtilizationInfo;

/* ---- Devices --------------------------------------------------------------------------------- */

/**
 * aclrtGetRunMode() - where the program runs
 * @runMode: receives ACL_HOST
 *
 * Needs neither aclInit() nor a device. Thread-safe.
 *
 * Return: 0; ACL_ERROR_INVALID_PARAM (NULL).
 */
ACL_FUNC_VISIBILITY aclError aclrtGetRunMode(aclrtRunMode *runMode);

/**
 * aclrtGetDeviceCount() - number of devices
 * @count: receives the number, 0 without device or driver
 *
 * Needs neither aclInit() nor a device. Thread-safe.
 *
 * Return: 0; ACL_ERROR_INVALID_PARAM (NULL).
 */
ACL_FUNC_VISIBILITY aclError aclrtGetDeviceCount(uint32_t *count);

/**
 * aclrtSetDevice() - use a device in this thread
 * @deviceId: 0 to aclrtGetDeviceCount() - 1
 *
 * Makes the default context of the device the current one of the thread. The first call in the
 * process opens the device; each one counts. Waits for a reset of the device by another thread.
 * Thread-safe.
 *
 * Return: 0; ACL_ERROR_RT_INVALID_DEVICEID (there is no such device);
 * ACL_ERROR_RT_NO_PERMISSION (the node may not be opened); ACL_ERROR_RT_PARAM_INVALID (another
 * thread resets the device, and this is a function of aclrtLaunchHostFunc() or a callback of type
 * ACL_CALLBACK_BLOCK: the reset may wait for it).
 */
ACL_FUNC_VISIBILITY aclError aclrtSetDevice(int32_t deviceId);

/**
 * aclrtResetDevice() - undo one aclrtSetDevice()
 * @deviceId: device
 *
 * The last one, or one for a device that was opened by aclrtCreateContext() only, waits for all
 * work of the device, then frees all memory that was allocated here, ends registrations, contexts,
 * streams and events. Calls of other threads that are under way end first. Callbacks that have not
 * run are dropped. Thread-safe.
 *
 * Return: 0; ACL_ERROR_RT_INVALID_DEVICEID (there is no such device); ACL_ERROR_RT_CONTEXT_NULL (it
 * is not in use); ACL_ERROR_RT_SYS_DMA (work has failed that nobody was told of; the device is
 * reset nevertheless).
 */
ACL_FUNC_VISIBILITY aclError aclrtResetDevice(int32_t deviceId);

/**
 * aclrtResetDeviceForce() - undo every aclrtSetDevice()
 * @deviceId: device
 *
 * As the last aclrtResetDevice(), without waiting for the work: what is queued is cancelled.
 * Thread-safe.
 *
 * Return: as aclrtResetDevice().
 */
ACL_FUNC_VISIBILITY aclError aclrtResetDeviceForce(int32_t deviceId);

/**
 * aclrtGetDevice() - device of the current context
 * @deviceId: receives its number
 *
 * Thread-safe.
 *
 * Return: 0; or an error of all calls.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetDevice(int32_t *deviceId);

/**
 * aclrtSynchronizeDevice() - wait for all work of the device of the current context
 *
 * Of this process, on all its streams. Thread-safe.
 *
 * Return: 0; or the error of a stream that has failed, which is then forgotten.
 */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeDevice(void);

/**
 * aclrtSynchronizeDeviceWithTimeout() - aclrtSynchronizeDevice() for some time
 * @timeout: milliseconds, more than 0; -1 is for ever
 *
 * With a time, only streams that are not destroyed are waited for. Thread-safe.
 *
 * Return: as aclrtSynchronizeDevice(); ACL_ERROR_RT_STREAM_SYNC_TIMEOUT (not done by then).
 */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout);

/**
 * aclrtGetMemInfo() - memory of the device of the current context
 * @attr: which kind
 * @free: receives the bytes that can be allocated; not NULL
 * @total: receives all bytes; not NULL
 *
 * Of a kind that the device does not have both are 0. Thread-safe.
 *
 * Return: 0; ACL_ERROR_RT_PARAM_INVALID (@attr is no enumerator).
 */
ACL_FUNC_VISIBILITY aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t *free, size_t *total);

/**
 * aclrtGetDeviceUtilizationRate() - how much of a device is in use
 * @deviceId: device; it need not be set
 * @utilizationInfo: filled; its field utilizationExtend has to be NULL
 *
 * Thread-safe.
 *
 * Return: 0; ACL_ERROR_RT_INVALID_DEVICEID; ACL_ERROR_RT_PARAM_INVALID (utilizationExtend).
 */
ACL_FUNC_VISIBILITY aclError aclrtGetDeviceUtilizationRate(int32_t deviceId,
							   aclrtUtilizationInfo *utilizationInfo);

/**
 * aclrtDeviceCanAccessPeer() - whether two devices can copy to each other
 * @canAccessPeer: receives 1; 0 for a device and itself
 * @deviceId: device
 * @peerDeviceId: device
 *
 * Thread-safe.
 *
 * Return: 0; ACL_ERROR_RT_INVALID_DEVICEID.
 */
ACL_FUNC_VISIBILITY aclError aclrtDeviceCanAccessPeer(int32_t *canAccessPeer, int32_t deviceId,
						      int32_t peerDeviceId);

/**
 * aclrtDeviceEnablePeerAccess() - let the current device copy from and to another
 * @peerDeviceId: the other device
 * @flags: 0
 *
 * One of the two devices is enough for copies both ways. Again does nothing. Thread-safe.
 *
 * Return: 0; ACL_ERROR_RT_INVALID_DEVICEID (no such device, or the current one);
 * ACL_ERROR_RT_PARAM_INVALID (@flags).
 */
ACL_FUNC_VISIBILITY aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags);

/**
 * aclrtDeviceDisablePeerAccess() - undo aclrtDeviceEnablePeerAccess()
 * @peerDeviceId: the other device
 *
 * Thread-safe.
 *
 * Return: 0; ACL_ERROR_RT_INVALID_DEVICEID (as above); ACL_ERROR_RT_PARAM_INVALID (it was not
 * enabled).
 */
ACL_FUNC_VISIBILITY aclError aclrtDeviceDisablePeerAccess(int32_t peerDeviceId);

/* ---- Contexts -------------------------------------------------------------------------------- */

/**
 * aclrtCreateContext() - make a context and use it in this thread
 * @context: receives the context, NULL on failure
 * @deviceId: device
 *
 * Opens the device if it is not open; does not count as aclrtSetDevice(). Lives until
 * aclrtDestroyContext(), or until the device is reset. Thread-safe.
 *
 * Return: 0; as aclrtSetDevice().
 */
ACL_FUNC_VISIBILITY aclError aclrtCreateContext(aclrtContext *context, int32_t deviceId);

/**
 * aclrtDestroyContext() - end a context
 * @context: from aclrtCreateContext()
 *
 * Waits for the work of its streams and ends them. Threads that use it have no current context
 * then. Thread-safe.
 *
 * Return: 0; ACL_ERROR_RT_PARAM_INVALID (it is the default context of a device).
 */
ACL_FUNC_VISIBILITY aclError aclrtDestroyContext(aclrtContext context);

/**
 * aclrtSetCurrentContext() - use a context, and its device, in this thread
 * @context: of aclrtCreateContext() or aclrtGetCurrentContext()
 *
 * Thread-safe.
 *
 * Return: 0; or an error of all calls.
 */
ACL_FUNC_VISIBILITY aclError aclrtSetCurrentContext(aclrtContext context);

/**
 * aclrtGetCurrentContext() - context that this thread uses
 * @context: receives it, NULL on failure
 *
 * Thread-safe.
 *
 * Return: 0; or an error of all calls.
 */
ACL_FUNC_VISIBILITY aclError aclrtGetCurrentContext(aclrtContext *context);

/* ---- Device memory --------------------------------------------------------------------------- */

/**
 * aclrtMalloc() - allocate memory of the current device
 * @devPtr: receives the pointer, NULL on failure
 * @size: bytes, at least 1
 * @policy: which pages
 *
 * Occupies @size rounded up to 32 bytes, and 32 more (of huge pages of 1 GiB: no more); huge pages
 * round that up. All bytes of it may be used. The start is aligned to 64 bytes. Its contents are
 * undefined. The call waits for no stream; it waits for the device to clear freed memory if no other
 * memory is free. Thread-safe.
 *
 * Return: 0; ACL_ERROR_RT_MEMORY_ALLOCATION (no contiguous memory is free, or the quota of the user
 * is reached).
 */
ACL_FUNC_VISIBILITY aclError aclrtMalloc(void **devPtr, size_t size, aclrtMemMallocPolicy policy);

/**
 * aclrtMallocAlign32() - aclrtMalloc() without the 32 bytes more
 * @devPtr: receives the pointer, NULL on failure
 * @size: bytes, at least 1
 * @policy: which pages
 *
 * Occupies @size rounded up to 32 bytes. Thread-safe.
 *
 * Return: as aclrtMalloc().
 */
ACL_FUNC_VISIBILITY aclError aclrtMallocAlign32(void **devPtr, size_t size,
						aclrtMemMallocPolicy policy);

/**
 * aclrtMallocCached() - aclrtMalloc() of memory that the device may cache
 * @devPtr: receives the pointer, NULL on failure
 * @size: bytes, at least 1
 * @policy: which pages
 *
 * Devices have no cache: the same as aclrtMalloc(). Thread-safe.
 *
 * Return: as aclrtMalloc().
 */
ACL_FUNC_VISIBILITY aclError aclrtMallocCached(void **devPtr, size_t size,
					       aclrtMemMallocPolicy policy);

/**
 * aclrtMallocWithCfg() - aclrtMalloc() with attributes
 * @devPtr: receives the pointer, NULL on failure
 * @size: bytes, at least 1
 * @policy: which pages
 * @cfg: NULL, or attributes: ACL_RT_MEM_ATTR_MODULE_ID, which has no effect
 *
 * Thread-safe.
 *
 * Return: as aclrtMalloc(); ACL_ERROR_RT_FEATURE_NOT_SUPPORT (another attribute).
 */
ACL_FUNC_VISIBILITY aclError aclrtMallocWithCfg(void **devPtr, size_t size,
						aclrtMemMallocPolicy policy,
						aclrtMallocConfig *cfg);

/**
 * aclrtFree() - free device memory
 * @devPtr: what one of the functions above gave, of any device
 *
 * Does not wait: work that uses it ends first, then it is cleared and can be had again. Needs no
 * current context. Thread-safe.
 *
 * Return: 0; ACL_ERROR_INVALID_PARAM (NULL); ACL_ERROR_RT_PARAM_INVALID (not the start of device
 * memory: freed, interior, host memory).
 */
ACL_FUNC_VISIBILITY aclError aclrtFree(void *devPtr);

/**
 * aclrtFreeWithDevSync() - wait for the work of its device, then free device memory
 * @devPtr: as for aclrtFree()
 *
 * Thread-safe.
 *
 * Return: as aclrtFree(); if work has failed its error, and the memory is not freed.
 */
ACL_FUNC_VISIBILITY aclError aclrtFreeWithDevSync(void *devPtr);

/**
 * aclrtMemFlush() - write back what is cached of device memory
 * @devPtr: inside device memory of any device
 * @size: bytes, at least 1
 *
 * Devices have no cache: checks the range and does nothing. Thread-safe.
 *
 * Return: 0; ACL_ERROR_RT_PARAM_INVALID (not inside one allocation of device memory).
 */
ACL_FUNC_VISIBILITY aclError aclrtMemFlush(void *devPtr, size_t size);

/**
 * aclrtMemInvalidate() - forget what is cached of device memory
 * @devPtr: inside device memory of any device
 * @size: bytes, at least 1
 *
 * As aclrtMemFlush(). Thread-safe.
 *
 * Return: as aclrtMemFlush().
 */
ACL_FUNC_VISIBILITY aclError aclrtMemInvalidate(void *devPtr, size_t size);

/* ---- Host memory ----------------------------------------------------------------------------- */

/**
 * aclrtMallocHost() - allocate page-locked host memory
 * @hostPtr: receives the pointer, NULL on failure
 * @size: bytes, at least 1; occupies whole pages
 *
 * Asynchronous copies between it and the current device are asynchronous. Aligned to the page.
 * Charged to RLIMIT_MEMLOCK. Freed when the device is reset, at the latest. Thread-safe.
 *
 * Return: 0; ACL_ERROR_RT_MEMORY_ALLOCATION (RLIMIT_MEMLOCK, or no memory);
 * ACL_ERROR_RT_OVER_LIMIT (as many ranges as the driver keeps).
 */
ACL_FUNC_VISIBILITY aclError aclrtMallocHost(void **hostPtr, size_t size);

/**
 * aclrtMallocHostWithCfg() - aclrtMallocHost() with attributes
 * @ptr: receives the pointer, NULL on failure
 * @size: bytes, at least 1
 * @cfg: NULL, or attributes: ACL_RT_MEM_ATTR_MODULE_ID, which has no effect, and
 *	ACL_RT_MEM_ATTR_VA_FLAG of 0
 *
 * Thread-safe.
 *
 * Return: as aclrtMallocHost(); ACL_ERROR_RT_FEATURE_NOT_SUPPORT (another attribute).
 */
ACL_FUNC_VISIBILITY aclError aclrtMallocHostWithCfg(void **ptr, uint64_t size,
						    aclrtMallocConfig *cfg);

/**
 * aclrtFreeHost() - free page-locked host memory
 * @hostPtr: what one of the two functions above gave
 *
 * Does not wait; the range is unmapped when it returns. Needs no current context. Thread-safe.
 *
 * Return: 0; ACL_ERROR_INVALID_PARAM (NULL); ACL_ERROR_RT_PARAM_INVALID (not the start of such
 * memory: freed, interior, device memory).
 */
ACL_FUNC_VISIBILITY aclError aclrtFreeHost(void *hostPtr);

/**
 * aclrtFreeHostWithDevSync() - wait for the work of its device, then free host memory
 * @hostPtr: as for aclrtFreeHost()
 *
 * Thread-safe.
 *
 * Return: as aclrtFreeHost(); if work has failed its error, and the memory is not freed.
 */
ACL_FUNC_VISIBILITY aclError aclrtFreeHostWithDevSync(void *hostPtr);

/**
 * aclrtHostRegister() - let the device access memory of the program
 * @ptr: memory
 * @size: bytes
 * @type: ACL_HOST_REGISTER_MAPPED
 * @devPtr: receives NULL
 *
 * Devices copy and do not compute: there is nothing that could use the address. Thread-safe.
 *
 * Return: ACL_ERROR_RT_FEATURE_NOT_SUPPORT; or an error of all calls.
 */
ACL_FUNC_VISIBILITY aclError aclrtHostRegister(void *ptr, uint64_t size, aclrtHostRegisterType type,
					       void **devPtr);

/**
 * aclrtHostRegisterV2() - page-lock memory of the program
 * @ptr: memory, any alignment
 * @size: bytes, at least 1
 * @flag: ACL_HOST_REG_PINNED
 *
 * For copies the same as aclrtMallocHost() from then on, with the current device. Ended by
 * aclrtHostUnregister(), which comes before the memory is freed. Thread-safe.
 *
 * Return: 0; ACL_ERROR_RT_FEATURE_NOT_SUPPORT (ACL_HOST_REG_MAPPED); ACL_ERROR_RT_PARAM_INVALID
 * (another flag; memory that is not mapped, or not writable, or registered already);
 * ACL_ERROR_RT_MEMORY_ALLOCATION (RLIMIT_MEMLOCK); ACL_ERROR_RT_OVER_LIMIT.
 */
ACL_FUNC_VISIBILITY aclError aclrtHostRegisterV2(void *ptr, uint64_t size, uint32_t flag);

/**
 * aclrtHostUnregister() - end aclrtHostRegisterV2()
 * @ptr: what was given to it
 *
 * Needs no current context. Thread-safe.
 *
 * Return: 0; ACL_ERROR_RT_PARAM_INVALID (no registration starts there).
 */
ACL_FUNC_VISIBILITY aclError aclrtHostUnregister(void *ptr);

/**
 * aclrtPointerGetAttributes() - what an address is
 * @ptr: any address, never accessed
 * @attributes: filled
 *
 * Thread-safe.
 *
 * Return: 0; ACL_ERROR_RT_PARAM_INVALID (device memory that was freed, or of the process that this
 * one was forked from).
 */
ACL_FUNC_VISIBILITY aclError aclrtPointerGetAttributes(const void *ptr,
						       aclrtPtrAttributes *attributes);

/* ---- Copies and fills ------------------------------------------------------------------------ */

/**
 * DOC: Copies
 *
 * Any length from 1 and any alignment, at interior addresses too, inside one allocation. The
 * addresses say which way: device memory of the current or any other device that is open, and
 * everything else, which is host memory. Between two devices aclrtDeviceEnablePeerAccess() comes
 * first. Of device memory that was freed, or of a range that is longer than its allocation, they
 * are ACL_ERROR_RT_PARAM_INVALID, like host memory that is not mapped. On a stream the device
 * memory, or one of the two, has to be of the device of the stream.
 *
 * Asynchronous ones with page-locked memory (aclrtMallocHost() or aclrtHostRegisterV2(), of the
 * device of the stream) and inside a device are queued: the source is in use, and the destination
 * not complete, until the stream has come so far. With other host memory the call returns when the
 * program has its memory back: at once for up to 64 KiB to the device, which are copied aside, and
 * after the stream otherwise.
 *
 * When work of a stream fails, what is queued behind it is cancelled, and calls that queue are
 * ACL_ERROR_RT_DEVICE_TASK_ABORT until aclrtSynchronizeStream(), aclrtSynchronizeDevice() or
 * aclrtStreamQuery() has told of the failure; then the stream can be used again.
 */

/**
 * aclrtMemcpy() - copy
 * @dst: destination
 * @destMax: bytes that there are at @dst, at least @count
 * @src: source
 * @count: bytes, at least 1
 * @kind: any enumerator; the addresses decide
 *
 * Complete on return. Does not wait for streams. Thread-safe.
 *
 * Return: 0; ACL_ERROR_RT_PARAM_INVALID (@count is more than @destMax; memory; no peer access);
 * ACL_ERROR_RT_FEATURE_NOT_SUPPORT (@kind is no enumerator).
 */
ACL_FUNC_VISIBILITY aclError aclrtMemcpy(void *dst, size_t destMax, const void *src, size_t count,
					 aclrtMemcpyKind kind);

/**
 * aclrtMemcpyAsync() - copy, on a stream
 * @dst: destination
 * @destMax: bytes that there are at @dst, at least @count
 * @src: source
 * @count: bytes, at least 1
 * @kind: any enumerator but ACL_MEMCPY_HOST_TO_HOST; the addresses decide
 * @stream: stream of the current context, NULL for the default one
 *
 * Thread-safe.
 *
 * Return: 0; as aclrtMemcpy(); ACL_ERROR_RT_FEATURE_NOT_SUPPORT (both are host memory);
 * ACL_ERROR_RT_STREAM_CONTEXT; ACL_ERROR_RT_DEVICE_TASK_ABORT.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemcpyAsync(void *dst, size_t destMax, const void *src,
					      size_t count, aclrtMemcpyKind kind,
					      aclrtStream stream);

/**
 * aclrtMemcpyAsyncWithCondition() - aclrtMemcpyAsync(), complete on return for other memory
 * @dst: destination
 * @destMax: bytes that there are at @dst, at least @count
 * @src: source
 * @count: bytes, at least 1
 * @kind: as for aclrtMemcpyAsync()
 * @stream: as for aclrtMemcpyAsync()
 *
 * With host memory that is not page-locked the copy is complete on return. Thread-safe.
 *
 * Return: as aclrtMemcpyAsync().
 */
ACL_FUNC_VISIBILITY aclError aclrtMemcpyAsyncWithCondition(void *dst, size_t destMax,
							   const void *src, size_t count,
							   aclrtMemcpyKind kind,
							   aclrtStream stream);

/**
 * aclrtMemcpy2d() - copy rows between host and device
 * @dst: first byte of the first row
 * @dpitch: bytes from one row of @dst to the next, at least @width
 * @src: first byte of the first row
 * @spitch: likewise for @src
 * @width: bytes of a row, at least 1
 * @height: rows, at least 1
 * @kind: ACL_MEMCPY_HOST_TO_DEVICE, ACL_MEMCPY_DEVICE_TO_HOST or ACL_MEMCPY_DEFAULT; the addresses
 *	decide
 *
 * Complete on return. Bytes between the rows are not touched. Thread-safe.
 *
 * Return: 0; ACL_ERROR_RT_PARAM_INVALID (a pitch; memory); ACL_ERROR_RT_FEATURE_NOT_SUPPORT
 * (another @kind, or not from host to device or back).
 */
ACL_FUNC_VISIBILITY aclError aclrtMemcpy2d(void *dst, size_t dpitch, const void *src, size_t spitch,
					   size_t width, size_t height, aclrtMemcpyKind kind);

/**
 * aclrtMemcpy2dAsync() - aclrtMemcpy2d() on a stream
 * @dst: first byte of the first row
 * @dpitch: bytes from one row of @dst to the next, at least @width
 * @src: first byte of the first row
 * @spitch: likewise for @src
 * @width: bytes of a row, at least 1
 * @height: rows, at least 1
 * @kind: as for aclrtMemcpy2d()
 * @stream: stream of the current context, NULL for the default one
 *
 * Thread-safe.
 *
 * Return: as aclrtMemcpy2d(); ACL_ERROR_RT_STREAM_CONTEXT; ACL_ERROR_RT_DEVICE_TASK_ABORT.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemcpy2dAsync(void *dst, size_t dpitch, const void *src,
						size_t spitch, size_t width, size_t height,
						aclrtMemcpyKind kind, aclrtStream stream);

/**
 * aclrtMemcpyBatch() - several aclrtMemcpy()
 * @dsts: destinations
 * @destMax: bytes that there are at each
 * @srcs: sources
 * @sizes: bytes of each copy
 * @numBatches: number of copies, at least 1
 * @attrs: where operands are; the addresses decide
 * @attrsIndexes: first copy that each of @attrs is for: 0, then growing
 * @numAttrs: number of @attrs, 1 to @numBatches
 * @failIdx: NULL, or receives which copy has failed; SIZE_MAX if it was none of them
 *
 * One after the other, in order. If the call fails those before @failIdx have been done.
 * Thread-safe.
 *
 * Return: 0; as aclrtMemcpy().
 */
ACL_FUNC_VISIBILITY aclError aclrtMemcpyBatch(void **dsts, size_t *destMax, void **srcs,
					      size_t *sizes, size_t numBatches,
					      aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes,
					      size_t numAttrs, size_t *failIdx);

/**
 * aclrtMemcpyBatchAsync() - several aclrtMemcpyAsync()
 * @dsts: destinations
 * @destMax: bytes that there are at each
 * @srcs: sources
 * @sizes: bytes of each copy
 * @numBatches: number of copies, at least 1
 * @attrs: as for aclrtMemcpyBatch()
 * @attrsIndexes: as for aclrtMemcpyBatch()
 * @numAttrs: as for aclrtMemcpyBatch()
 * @failIdx: as for aclrtMemcpyBatch()
 * @stream: stream of the current context, NULL for the default one
 *
 * If the call fails those before @failIdx have been queued. The arrays may be reused on return.
 * Thread-safe.
 *
 * Return: 0; as aclrtMemcpyAsync().
 */
ACL_FUNC_VISIBILITY aclError aclrtMemcpyBatchAsync(void **dsts, size_t *destMax, void **srcs,
						   size_t *sizes, size_t numBatches,
						   aclrtMemcpyBatchAttr *attrs,
						   size_t *attrsIndexes, size_t numAttrs,
						   size_t *failIdx, aclrtStream stream);

/**
 * aclrtMemset() - fill memory
 * @devPtr: device memory of any device, or page-locked host memory
 * @maxCount: bytes that there are, at least @count
 * @value: every byte gets its lowest 8 bits
 * @count: bytes, at least 1
 *
 * Complete on return. Does not wait for streams. Thread-safe.
 *
 * Return: 0; ACL_ERROR_RT_PARAM_INVALID (@count is more than @maxCount; memory);
 * ACL_ERROR_RT_INVALID_MEMORY_TYPE (other host memory; registered memory that the processor cannot
 * write: it is mapped read-only, was unmapped, or is a dma-buf of another driver).
 */
ACL_FUNC_VISIBILITY aclError aclrtMemset(void *devPtr, size_t maxCount, int32_t value,
					 size_t count);

/**
 * aclrtMemsetAsync() - aclrtMemset() on a stream
 * @devPtr: device memory of the current device, or page-locked host memory
 * @maxCount: bytes that there are, at least @count
 * @value: every byte gets its lowest 8 bits
 * @count: bytes, at least 1
 * @stream: stream of the current context, NULL for the default one
 *
 * Host memory is filled by the processor, after the stream and complete on return. Thread-safe.
 *
 * Return: as aclrtMemset(); ACL_ERROR_RT_STREAM_CONTEXT; ACL_ERROR_RT_DEVICE_TASK_ABORT.
 */
ACL_FUNC_VISIBILITY aclError aclrtMemsetAsync(void *devPtr, size_t maxCount, int32_t value,
					      size_t count, aclrtStream stream);

/* ---- Streams --------------------------------------------------------------------------------- */

/**
 * aclrtCreateStream() - make a stream of the current context
 * @stream: receives the stream, NULL on failure
 *
 * Thread-safe.
 *
 * Return: 0; ACL_ERROR_RT_NO_STREAM_RESOURCE (as many as the driver has for a process).
 */
ACL_FUNC_VISIBILITY aclError aclrtCreateStream(aclrtStream *stream);

/**
 * aclrtCreateStreamWithConfig() - aclrtCreateStream() with flags
 * @stream: receives the stream, NULL on failure
 * @priority: 0 to 7; has no effect
 * @flag: 0 or some of the ACL_STREAM_* flags; has no effect
 *
 * Thread-safe.
 *
 * Return: as aclrtCreateStream(); ACL_ERROR_RT_PARAM_INVALID (@priority, @flag).
 */
ACL_FUNC_VISIBILITY aclError aclrtCreateStreamWithConfig(aclrtStream *stream, uint32_t priority,
							 uint32_t flag);

/**
 * aclrtDestroyStream() - wait for a stream, and end it
 * @stream: stream of the current context; not NULL: default streams end with their contexts
 *
 * Thread-safe.
 *
 * Return: 0; ACL_ERROR_RT_STREAM_CONTEXT; the error of work that has failed: the stream is ended
 * nevertheless.
 */
ACL_FUNC_VISIBILITY aclError aclrtDestroyStream(aclrtStream stream);

/**
 * aclrtDestroyStreamForce() - end a stream without waiting
 * @stream: as for aclrtDestroyStream()
 *
 * What is queued still runs: the driver does not take it back. Thread-safe.
 *
 * Return: 0; ACL_ERROR_RT_STREAM_CONTEXT.
 */
ACL_FUNC_VISIBILITY aclError aclrtDestroyStreamForce(aclrtStream stream);

/**
 * aclrtSynchronizeStream() - wait until a stream has done all its work
 * @stream: stream of the current context, NULL for the default one
 *
 * Thread-safe.
 *
 * Return: 0; ACL_ERROR_RT_STREAM_CONTEXT; the error of work that has failed: once, then the stream
 * can be used again.
 */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeStream(aclrtStream stream);

/**
 * aclrtSynchronizeStreamWithTimeout() - aclrtSynchronizeStream() for some time
 * @stream: stream of the current context, NULL for the default one
 * @timeout: milliseconds; -1 is for ever, 0 does not wait
 *
 * A failure is reported when its consequences have ended, callbacks and waits of other streams for
 * @stream included. If they have not by then, a later call reports it. Thread-safe.
 *
 * Return: as aclrtSynchronizeStream(); ACL_ERROR_RT_STREAM_SYNC_TIMEOUT (not done by then);
 * ACL_ERROR_RT_PARAM_INVALID (@timeout is less than -1).
 */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout);

/**
 * aclrtStreamQuery() - whether a stream has done all its work
 * @stream: stream of the current context, NULL for the default one
 * @status: receives the answer
 *
 * Thread-safe.
 *
 * Return: as aclrtSynchronizeStream().
 */
ACL_FUNC_VISIBILITY aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus *status);

/**
 * aclrtStreamWaitEvent() - let a stream wait for an event
 * @stream: stream of the current context, NULL for the default one
 * @event: event of any device; one that is not recorded has happened
 *
 * What is queued later begins when the event, as it is recorded now, has happened. The caller does
 * not wait. For an event that has happened nothing is queued. If the call fails and @event is of
 * another device, @stream may wait for it. Thread-safe.
 *
 * Return: 0; ACL_ERROR_RT_STREAM_CONTEXT; ACL_ERROR_RT_DEVICE_TASK_ABORT;
 * ACL_ERROR_RT_NO_EVENT_RESOURCE or ACL_ERROR_RT_RESOURCE_ALLOC_FAIL (out of memory).
 */
ACL_FUNC_VISIBILITY aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event);

/**
 * aclrtSetStreamFailureMode() - what a stream does when its work fails
 * @stream: stream of the current context, not NULL
 * @mode: ACL_STOP_ON_FAILURE
 *
 * Streams stop, and nothing else is offered. Thread-safe.
 *
 * Return: 0; ACL_ERROR_RT_STREAM_CONTEXT; ACL_ERROR_RT_FEATURE_NOT_SUPPORT
 * (ACL_CONTINUE_ON_FAILURE); ACL_ERROR_RT_PARAM_INVALID (another mode).
 */
ACL_FUNC_VISIBILITY aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode);

/* ---- Events ---------------------------------------------------------------------------------- */

/**
 * aclrtCreateEvent() - make an event of the current device
 * @event: receives the event, NULL on failure
 *
 * For waits, queries and times. Thread-safe.
 *
 * Return: 0; ACL_ERROR_RT_NO_EVENT_RESOURCE.
 */
ACL_FUNC_VISIBILITY aclError aclrtCreateEvent(aclrtEvent *event);

/**
 * aclrtCreateEventWithFlag() - aclrtCreateEvent() for some purposes
 * @event: receives the event, NULL on failure
 * @flag: one or more of ACL_EVENT_SYNC, ACL_EVENT_CAPTURE_STREAM_PROGRESS and ACL_EVENT_TIME_LINE;
 *	aclrtEventElapsedTime() needs the last; the others have no effect
 *
 * Thread-safe.
 *
 * Return: as aclrtCreateEvent(); ACL_ERROR_RT_PARAM_INVALID (@flag is 0 or unknown);
 * ACL_ERROR_RT_FEATURE_NOT_SUPPORT (ACL_EVENT_EXTERNAL, ACL_EVENT_IPC).
 */
ACL_FUNC_VISIBILITY aclError aclrtCreateEventWithFlag(aclrtEvent *event, uint32_t flag);

/**
 * aclrtCreateEventExWithFlag() - aclrtCreateEventWithFlag(), of the kind that may be reused
 * @event: receives the event, NULL on failure
 * @flag: as for aclrtCreateEventWithFlag()
 *
 * One that is not recorded counts as one that has happened in aclrtQueryEventStatus().
 * aclrtResetEvent() does not take it. Thread-safe.
 *
 * Return: as aclrtCreateEventWithFlag().
 */
ACL_FUNC_VISIBILITY aclError aclrtCreateEventExWithFlag(aclrtEvent *event, uint32_t flag);

/**
 * aclrtDestroyEvent() - end an event
 * @event: event of any device
 *
 * Does not wait: streams that wait for it still do. Needs no current context. Thread-safe.
 *
 * Return: 0; or an error of all calls.
 */
ACL_FUNC_VISIBILITY aclError aclrtDestroyEvent(aclrtEvent event);

/**
 * aclrtRecordEvent() - mark the point that a stream has come to
 * @event: event of the device of @stream
 * @stream: stream of the current context, NULL for the default one
 *
 * The event happens when all that was queued before has ended. Recorded again it stands for the new
 * point alone; who waits for the old one still does. Thread-safe.
 *
 * Return: 0; ACL_ERROR_RESOURCE_NOT_MATCH (@event is of another device);
 * ACL_ERROR_RT_STREAM_CONTEXT; ACL_ERROR_RT_DEVICE_TASK_ABORT; ACL_ERROR_RT_NO_EVENT_RESOURCE
 * (RLIMIT_MEMLOCK: times lie in locked memory).
 */
ACL_FUNC_VISIBILITY aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream);

/**
 * aclrtResetEvent() - make an event one that is not recorded
 * @event: event of aclrtCreateEvent() or aclrtCreateEventWithFlag()
 * @stream: stream of the current context, NULL for the default one
 *
 * When what is queued in @stream has ended: the call waits for it. Thread-safe.
 *
 * Return: 0; ACL_ERROR_RT_STREAM_CONTEXT; ACL_ERROR_RT_FEATURE_NOT_SUPPORT (@event is of
 * aclrtCreateEventExWithFlag()); the error of work that has failed: the event is reset nevertheless.
 */
ACL_FUNC_VISIBILITY aclError aclrtResetEvent(aclrtEvent event, aclrtStream stream);

/**
 * aclrtQueryEvent() - whether an event has happened
 * @event: event of any device
 * @status: receives the answer
 *
 * Thread-safe.
 *
 * Return: 0; the error of the work before it, if that has failed.
 */
ACL_FUNC_VISIBILITY ACL_DEPRECATED aclError aclrtQueryEvent(aclrtEvent event,
							    aclrtEventStatus *status);

/**
 * aclrtQueryEventStatus() - whether an event was recorded and has happened
 * @event: event of any device
 * @status: receives the answer: its values are the other way round than aclrtQueryEvent()'s
 *
 * Thread-safe.
 *
 * Return: 0; the error of the work before it, if that has failed.
 */
ACL_FUNC_VISIBILITY aclError aclrtQueryEventStatus(aclrtEvent event,
						   aclrtEventRecordedStatus *status);

/**
 * aclrtQueryEventWaitStatus() - whether a stream still waits for an event
 * @event: event of any device
 * @status: receives the answer
 *
 * Of all aclrtStreamWaitEvent() with it, but for streams that were destroyed. Thread-safe.
 *
 * Return: 0; or an error of all calls.
 */
ACL_FUNC_VISIBILITY aclError aclrtQueryEventWaitStatus(aclrtEvent event,
						       aclrtEventWaitStatus *status);

/**
 * aclrtSynchronizeEvent() - wait for an event
 * @event: event of any device; one that is not recorded has happened
 *
 * Thread-safe.
 *
 * Return: 0; the error of the work before it, if that has failed.
 */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeEvent(aclrtEvent event);

/**
 * aclrtSynchronizeEventWithTimeout() - aclrtSynchronizeEvent() for some time
 * @event: event of any device
 * @timeout: milliseconds; -1 is for ever, 0 does not wait
 *
 * Thread-safe.
 *
 * Return: as aclrtSynchronizeEvent(); ACL_ERROR_RT_EVENT_SYNC_TIMEOUT (not by then);
 * ACL_ERROR_RT_PARAM_INVALID (@timeout is less than -1).
 */
ACL_FUNC_VISIBILITY aclError aclrtSynchronizeEventWithTimeout(aclrtEvent event, int32_t timeout);

/**
 * aclrtEventElapsedTime() - time between two events
 * @ms: receives milliseconds
 * @startEvent: event with times, of any device
 * @endEvent: likewise
 *
 * Thread-safe.
 *
 * Return: 0; ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID (one was made without ACL_EVENT_TIME_LINE, is not
 * recorded, or its work has failed); ACL_ERROR_RT_EVENT_NOT_COMPLETE (one has not happened);
 * ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL (@endEvent happened first).
 */
ACL_FUNC_VISIBILITY aclError aclrtEventElapsedTime(float *ms, aclrtEvent startEvent,
						   aclrtEvent endEvent);

/* ---- Callbacks ------------------------------------------------------------------------------- */

/**
 * aclrtSubscribeReport() - say which thread runs the callbacks of a stream
 * @threadId: thread: what pthread_self() is there
 * @stream: stream of the current context, NULL for the default one
 *
 * A thread may serve several streams of one device, a stream has one thread. A thread takes two file
 * descriptors as long as it serves a stream. A stream takes one from its first thread on until it is
 * destroyed; a callback takes none. Thread-safe.
 *
 * Return: 0; ACL_ERROR_RT_STREAM_CONTEXT; ACL_ERROR_RT_STREAM_SUBSCRIBE (@stream has a thread);
 * ACL_ERROR_RT_THREAD_SUBSCRIBE (the thread serves another device);
 * ACL_ERROR_RT_RESOURCE_ALLOC_FAIL (out of memory, of file descriptors, or of epoll watches).
 */
ACL_FUNC_VISIBILITY aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream);

/**
 * aclrtUnSubscribeReport() - undo aclrtSubscribeReport()
 * @threadId: thread that was named there
 * @stream: stream that was named there
 *
 * Callbacks that have not run are dropped. Thread-safe.
 *
 * Return: 0; ACL_ERROR_RT_STREAM_CONTEXT; ACL_ERROR_RT_THREAD_SUBSCRIBE (@stream has no thread, or
 * another).
 */
ACL_FUNC_VISIBILITY aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream);

/**
 * aclrtLaunchCallback() - queue a callback
 * @fn: function, run by aclrtProcessReport() of the thread that serves @stream, once, when all that
 *	was queued before has ended, also if it has failed
 * @userData: passed on
 * @blockType: whether what is queued later waits until @fn has returned
 * @stream: stream of the current context, NULL for the default one
 *
 * After ACL_CALLBACK_BLOCK, calls that queue in @stream, or wait for it, for its context or for its
 * device, wait until @fn has returned; of the thread that serves it they are
 * ACL_ERROR_RT_PARAM_INVALID until then, also if @fn is under way and the thread has left the
 * stream. Launches do not wait, and are no error. aclrtResetDevice() drops the callback. @fn must
 * not wait for the stream, and cannot close a device, by the last aclrtResetDevice() or the last
 * aclFinalize() (ACL_ERROR_RT_PARAM_INVALID). Thread-safe.
 *
 * Return: 0; ACL_ERROR_RT_STREAM_CONTEXT; ACL_ERROR_RT_STREAM_NO_CB_REG (no thread serves
 * @stream); ACL_ERROR_RT_RESOURCE_ALLOC_FAIL (out of memory).
 */
ACL_FUNC_VISIBILITY aclError aclrtLaunchCallback(aclrtCallback fn, void *userData,
						 aclrtCallbackBlockType blockType,
						 aclrtStream stream);

/**
 * aclrtProcessReport() - wait for callbacks of the streams that this thread serves, and run them
 * @timeout: milliseconds to wait for the first, more than 0; -1 is for ever
 *
 * Runs those that are due. Needs no current context. Thread-safe.
 *
 * Return: 0 (some have run); ACL_ERROR_RT_REPORT_TIMEOUT (none was due);
 * ACL_ERROR_RT_THREAD_SUBSCRIBE (this thread serves no stream, or none any more);
 * ACL_ERROR_RT_PARAM_INVALID (@timeout); ACL_ERROR_RT_RESOURCE_ALLOC_FAIL (out of memory, or of file
 * descriptors, in a thread that serves no stream).
 */
ACL_FUNC_VISIBILITY aclError aclrtProcessReport(int32_t timeout);

/**
 * aclrtLaunchHostFunc() - queue a function of the host
 * @stream: stream of the current context, NULL for the default one
 * @func: function, run once in a thread of libaccel when all that was queued before has ended, also
 *	if it has failed; it must not call into @stream, cannot close a device (as
 *	aclrtLaunchCallback()), and should be short
 * @args: passed on
 *
 * What is queued later begins when @func has returned: calls that queue in @stream wait for it.
 * Thread-safe.
 *
 * Return: 0; ACL_ERROR_RT_STREAM_CONTEXT; ACL_ERROR_RT_DEVICE_TASK_ABORT.
 */
ACL_FUNC_VISIBILITY aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc func,
						 void *args);

#ifdef __cplusplus
}
#endif

#endif /* ACCEL_ACL_ACL_RT_H */
