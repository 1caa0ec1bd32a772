/* SPDX-License-Identifier: MIT */
/*
 * The memory interface of SUNDIALS 7, declared anew: what a helper and its tests use of it, laid out
 * as the libraries of 7.3 and later have it. For builds where SUNDIALS' own headers are not there.
 * With ACCEL_SUNDIALS_MINOR below 3 it is what 7.1 and 7.2 have.
 */
#ifndef ACCEL_SUNDIALS_MEMORY_H
#define ACCEL_SUNDIALS_MEMORY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef ACCEL_SUNDIALS_MINOR
#define ACCEL_SUNDIALS_MINOR 3
#endif

#define SUNDIALS_VERSION_MAJOR 7
#define SUNDIALS_VERSION_MINOR ACCEL_SUNDIALS_MINOR

typedef double sunrealtype;
typedef int sunbooleantype;
typedef int SUNErrCode;
typedef int SUNComm; /* without MPI */
typedef struct SUNContext_ *SUNContext;
typedef struct SUNMemory_ *SUNMemory;
typedef struct SUNMemoryHelper_ *SUNMemoryHelper;
typedef struct SUNMemoryHelper_Ops_ *SUNMemoryHelper_Ops;

#define SUNFALSE 0
#define SUNTRUE 1
#define SUN_COMM_NULL 0

/* Each is one more than the one before. */
enum {
	SUN_ERR_ARG_CORRUPT = -9999,
	SUN_ERR_ARG_INCOMPATIBLE,
	SUN_ERR_ARG_OUTOFRANGE,
	SUN_ERR_ARG_WRONGTYPE,
	SUN_ERR_ARG_DIMSMISMATCH,
	SUN_ERR_GENERIC,
	SUN_ERR_CORRUPT,
	SUN_ERR_OUTOFRANGE,
	SUN_ERR_FILE_OPEN,
	SUN_ERR_OP_FAIL,
	SUN_ERR_MEM_FAIL,
	SUN_ERR_MALLOC_FAIL,
	SUN_ERR_EXT_FAIL,
	SUN_ERR_DESTROY_FAIL,
	SUN_ERR_NOT_IMPLEMENTED,
	SUN_SUCCESS = 0
};

typedef enum {
	SUNMEMTYPE_HOST,
	SUNMEMTYPE_PINNED,
	SUNMEMTYPE_DEVICE,
	SUNMEMTYPE_UVM
} SUNMemoryType;

struct SUNMemory_ {
	void *ptr;
	SUNMemoryType type;
	sunbooleantype own;
	size_t bytes;
#if SUNDIALS_VERSION_MINOR >= 3
	size_t stride;
#endif
};

struct SUNMemoryHelper_ {
	void *content;
#if SUNDIALS_VERSION_MINOR >= 3
	void *queue;
#endif
	SUNMemoryHelper_Ops ops;
	SUNContext sunctx;
};

struct SUNMemoryHelper_Ops_ {
	SUNErrCode (*alloc)(SUNMemoryHelper helper, SUNMemory *memptr, size_t mem_size,
			    SUNMemoryType mem_type, void *queue);
	SUNErrCode (*dealloc)(SUNMemoryHelper helper, SUNMemory mem, void *queue);
	SUNErrCode (*copy)(SUNMemoryHelper helper, SUNMemory dst, SUNMemory src, size_t mem_size,
			   void *queue);
#if SUNDIALS_VERSION_MINOR >= 3
	SUNErrCode (*allocstrided)(SUNMemoryHelper helper, SUNMemory *memptr, size_t mem_size,
				   size_t stride, SUNMemoryType mem_type, void *queue);
#endif
	SUNErrCode (*copyasync)(SUNMemoryHelper helper, SUNMemory dst, SUNMemory src,
				size_t mem_size, void *queue);
	SUNErrCode (*getallocstats)(SUNMemoryHelper helper, SUNMemoryType mem_type,
				    unsigned long *num_allocations,
				    unsigned long *num_deallocations, size_t *bytes_allocated,
				    size_t *bytes_high_watermark);
	SUNMemoryHelper (*clone)(SUNMemoryHelper helper);
	SUNErrCode (*destroy)(SUNMemoryHelper helper);
};

SUNErrCode SUNContext_Create(SUNComm comm, SUNContext *sunctx);
SUNErrCode SUNContext_Free(SUNContext *sunctx);
SUNErrCode SUNDIALSGetVersionNumber(int *major, int *minor, int *patch, char *label, int len);

SUNMemory SUNMemoryNewEmpty(SUNContext sunctx);
SUNMemoryHelper SUNMemoryHelper_NewEmpty(SUNContext sunctx);
SUNMemory SUNMemoryHelper_Alias(SUNMemoryHelper helper, SUNMemory mem);
SUNMemory SUNMemoryHelper_Wrap(SUNMemoryHelper helper, void *ptr, SUNMemoryType mem_type);
SUNErrCode SUNMemoryHelper_CopyOps(SUNMemoryHelper src, SUNMemoryHelper dst);
sunbooleantype SUNMemoryHelper_ImplementsRequiredOps(SUNMemoryHelper helper);

SUNErrCode SUNMemoryHelper_Alloc(SUNMemoryHelper helper, SUNMemory *memptr, size_t mem_size,
				 SUNMemoryType mem_type, void *queue);
SUNErrCode SUNMemoryHelper_Dealloc(SUNMemoryHelper helper, SUNMemory mem, void *queue);
SUNErrCode SUNMemoryHelper_Copy(SUNMemoryHelper helper, SUNMemory dst, SUNMemory src,
				size_t mem_size, void *queue);
SUNErrCode SUNMemoryHelper_CopyAsync(SUNMemoryHelper helper, SUNMemory dst, SUNMemory src,
				     size_t mem_size, void *queue);
SUNErrCode SUNMemoryHelper_GetAllocStats(SUNMemoryHelper helper, SUNMemoryType mem_type,
					 unsigned long *num_allocations,
					 unsigned long *num_deallocations, size_t *bytes_allocated,
					 size_t *bytes_high_watermark);
SUNMemoryHelper SUNMemoryHelper_Clone(SUNMemoryHelper helper);
SUNErrCode SUNMemoryHelper_Destroy(SUNMemoryHelper helper);
#if SUNDIALS_VERSION_MINOR >= 3
SUNErrCode SUNMemoryHelper_AllocStrided(SUNMemoryHelper helper, SUNMemory *memptr, size_t mem_size,
					size_t stride, SUNMemoryType mem_type, void *queue);
SUNErrCode SUNMemoryHelper_SetDefaultQueue(SUNMemoryHelper helper, void *queue);
#endif

#ifdef __cplusplus
}
#endif

#endif
