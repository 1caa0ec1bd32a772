/* SPDX-License-Identifier: MIT */
/*
 * libaccel_sundials: the memory of devices for SUNDIALS, as a SUNMemoryHelper.
 */
#ifndef ACCEL_SUNDIALS_H
#define ACCEL_SUNDIALS_H

#include <accel/accel.h>
#include <accel/resource.h>
#include <sundials/sundials_memory.h>

/* SUNDIALS 7.0 and before have other functions, of another major version nothing is known. */
#if SUNDIALS_VERSION_MAJOR != 7 || SUNDIALS_VERSION_MINOR < 1
#error "libaccel_sundials needs SUNDIALS 7.1 or a later 7.x: these headers are of another version"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/**
 * DOC: SUNMemoryHelper
 *
 * A *helper* is SUNDIALS' object that allocates, frees and copies memory of several kinds. This one
 * makes them so, and counts each kind apart:
 *
 * ======================= ==========================================================
 * ``SUNMEMTYPE_HOST``     malloc()
 * ``SUNMEMTYPE_PINNED``   accel_host_memory_allocate(): page-locked
 * ``SUNMEMTYPE_DEVICE``   accel_device_memory_allocate(): on the device. The processor
 *                         must not access it
 * ``SUNMEMTYPE_UVM``      accel_unified_memory_allocate(): page-locked memory of the
 *                         host that counts as device memory too
 * ======================= ==========================================================
 *
 * The functions below are the operations of such a helper. Programs call the generic ones of
 * SUNDIALS (SUNMemoryHelper_Alloc() and so on), which come here; calling these directly is the same
 * but for what the generic ones check themselves.
 *
 * *Queue.* A queue is a struct accel_stream itself, not a pointer to one. An operation takes the
 * queue that it is given; if that is NULL the helper's own (SUNMemoryHelper_SetDefaultQueue(), from
 * SUNDIALS 7.3 on); if that is NULL too, none.
 *
 * *Errors.* Nothing is printed and nothing ends the program. A call that fails has changed nothing,
 * unless its text says otherwise. After ``SUN_ERR_EXT_FAIL``, and after a constructor that returned
 * NULL for want of a device, accel_last_error() is a sentence about what libaccel refused.
 * Arguments are checked in every build of SUNDIALS, not only where it checks errors itself:
 *
 * ========================== ======================================================
 * ``SUN_ERR_ARG_CORRUPT``    an argument is NULL, or the helper is not one of these
 * ``SUN_ERR_ARG_OUTOFRANGE`` no type of memory
 * ========================== ======================================================
 *
 * *Thread safety.* All operations of one helper may be called from several threads at once, but for
 * its SUNMemoryHelper_Destroy() and SUNMemoryHelper_SetDefaultQueue(). One block of memory may be
 * used by one thread at a time. So may a context of SUNDIALS, which the generic functions access
 * where they check errors. After fork() helpers of the parent are of no use to a child, but can be
 * destroyed there (``SUN_ERR_EXT_FAIL`` from what needs the device).
 *
 * *Lifetime.* A helper is ended by SUNMemoryHelper_Destroy(), and each clone of it too, in any
 * order. Memory is freed by SUNMemoryHelper_Dealloc() before the last of them is destroyed: a
 * device that SUNMemoryHelper_Accel() has opened is closed then, and with the last handle of the
 * process its memory is freed. A device or resource that the program gives to a helper has to exist
 * until the helper and all its clones are destroyed. Memory may be freed while queued copies use
 * it.
 *
 * Example, a vector on the device::
 *
 *     SUNMemoryHelper helper = SUNMemoryHelper_Accel(sunctx);
 *     SUNMemory host, device;
 *
 *     SUNMemoryHelper_Alloc(helper, &device, bytes, SUNMEMTYPE_DEVICE, NULL);
 *     host = SUNMemoryHelper_Wrap(helper, array, SUNMEMTYPE_HOST);
 *     SUNMemoryHelper_Copy(helper, device, host, bytes, NULL);
 *     SUNMemoryHelper_Dealloc(helper, host, NULL);
 *     SUNMemoryHelper_Dealloc(helper, device, NULL);
 *     SUNMemoryHelper_Destroy(helper);
 *
 * *Examples.* See also examples/sundials_checkpoint.c in the sources.
 */

/**
 * SUNMemoryHelper_Accel() - make a helper for the first device
 * @sunctx: context of SUNDIALS
 *
 * Opens the device with index 0, which stays open until the helper and all its clones are
 * destroyed.
 *
 * Return: the helper, ended by SUNMemoryHelper_Destroy(); NULL if @sunctx is NULL, if there is no
 * memory, if the device cannot be opened (accel_last_error() says why), or if the SUNDIALS that
 * runs is not laid out as the one that the library was built with: 7.1 and 7.2 are alike, and all
 * from 7.3 on.
 */
SUNMemoryHelper SUNMemoryHelper_Accel(SUNContext sunctx);

/**
 * SUNMemoryHelper_AccelWithDevice() - make a helper for a device of the program's choice
 * @sunctx: context of SUNDIALS
 * @dev: handle, the caller's to close, after the helper and all its clones are destroyed
 *
 * The helper allocates with @dev, and does not open the device itself.
 *
 * Return: as SUNMemoryHelper_Accel(); NULL also if @dev is NULL or its device was removed.
 */
SUNMemoryHelper SUNMemoryHelper_AccelWithDevice(SUNContext sunctx, struct accel_device *dev);

/**
 * SUNMemoryHelper_AccelWithResources() - make a helper whose memory is from resources
 * @sunctx: context of SUNDIALS
 * @dev: as for SUNMemoryHelper_AccelWithDevice()
 * @resources: for each SUNMemoryType where its memory comes from, such as a pool of @dev; NULL: as
 *	in the table above. Copied. A resource has to exist as long as the helper, its clones and
 *	their memory, and to give memory of that kind, which is not checked
 *
 * Memory of a resource is allocated in blocks that are aligned to 256 bytes, for use on every
 * stream. A free waits for all that is queued on the device, if
 * SUNMemoryHelper_CopyAsync_Accel() has ever queued anything. A callback of a stream cannot wait:
 * there the free is refused then (``SUN_ERR_EXT_FAIL``). Work of other devices on the memory has to
 * have ended. Memory that the program has wrapped, with the object as its owner, cannot be freed
 * (``SUN_ERR_EXT_FAIL``), for its size is not known.
 *
 * Example, blocks of two pools::
 *
 *     const struct accel_resource *from[SUNMEMTYPE_UVM + 1] = {
 *             [SUNMEMTYPE_DEVICE] = &of_device_pool,
 *             [SUNMEMTYPE_PINNED] = &of_pinned_pool,
 *     };
 *
 *     helper = SUNMemoryHelper_AccelWithResources(sunctx, dev, from);
 *
 * Return: as SUNMemoryHelper_AccelWithDevice(); NULL also if @resources is NULL, or if one of them
 * has no functions.
 */
SUNMemoryHelper
SUNMemoryHelper_AccelWithResources(SUNContext sunctx, struct accel_device *dev,
				   const struct accel_resource *const resources[SUNMEMTYPE_UVM + 1]);

/**
 * SUNMemoryHelper_Alloc_Accel() - allocate memory
 * @helper: helper
 * @memptr: receives the object, which owns the memory; left alone on failure
 * @mem_size: bytes; 0 gives an object whose pointer is NULL
 * @mem_type: kind of memory
 * @queue: ignored: the memory can be used at once, on every stream
 *
 * Device, pinned and unified memory is filled with 0 (device memory unless the driver was loaded
 * with ``scrub=0``). Host memory is not initialised, and neither is memory of a resource.
 * The object's stride is 1. The caller frees the object and its memory with
 * SUNMemoryHelper_Dealloc().
 *
 * Return: 0; ``SUN_ERR_MALLOC_FAIL`` (no host memory); ``SUN_ERR_EXT_FAIL`` (libaccel or a resource
 * refused: the device is full, RLIMIT_MEMLOCK, the device is gone); or an error of arguments.
 */
SUNErrCode SUNMemoryHelper_Alloc_Accel(SUNMemoryHelper helper, SUNMemory *memptr, size_t mem_size,
				       SUNMemoryType mem_type, void *queue);

#if SUNDIALS_VERSION_MINOR >= 3
/**
 * SUNMemoryHelper_AllocStrided_Accel() - allocate memory, and note a stride
 * @helper: helper
 * @memptr: receives the object, which owns the memory; left alone on failure
 * @mem_size: bytes
 * @stride: bytes from one element to the next; kept in the object, and not used
 * @mem_type: kind of memory
 * @queue: ignored
 *
 * Allocates as SUNMemoryHelper_Alloc_Accel() does. Declared from SUNDIALS 7.3 on.
 *
 * Return: as SUNMemoryHelper_Alloc_Accel().
 */
SUNErrCode SUNMemoryHelper_AllocStrided_Accel(SUNMemoryHelper helper, SUNMemory *memptr,
					      size_t mem_size, size_t stride,
					      SUNMemoryType mem_type, void *queue);
#endif

/**
 * SUNMemoryHelper_Dealloc_Accel() - free memory
 * @helper: helper; any of the process will do, because the memory knows its device. Memory of a
 *	resource is freed by helpers with that resource for its type only, and other memory by
 *	helpers without one for its type
 * @mem: object, which is freed; its memory too if it owns any. NULL: nothing is done
 * @queue: ignored: work that is queued and uses the memory ends first, without a wait, but see
 *	SUNMemoryHelper_AccelWithResources()
 *
 * Frees the object, and the memory that it owns. The object is freed also if its memory cannot be,
 * as when the device is gone; statistics then stay as they were, unless a resource has freed it and
 * found it damaged.
 *
 * Return: 0; ``SUN_ERR_EXT_FAIL`` (libaccel refused: freed before, not the start of an allocation,
 * of a resource that @helper has not, the device is gone); or an error of arguments.
 */
SUNErrCode SUNMemoryHelper_Dealloc_Accel(SUNMemoryHelper helper, SUNMemory mem, void *queue);

/**
 * SUNMemoryHelper_Copy_Accel() - copy, complete on return
 * @helper: helper
 * @dst: object, or one that wraps an address inside an allocation
 * @src: object, or one that wraps an address inside an allocation
 * @mem_size: bytes; 0 copies nothing. The size in the objects is not used
 * @queue: stream that the copy comes after, or NULL; see DOC: SUNMemoryHelper
 *
 * Copies from any kind of memory to any other, also between devices. Unified memory is copied as
 * host memory. Ranges may overlap in host memory, not on a device.
 *
 * Return: 0; ``SUN_ERR_ARG_WRONGTYPE`` (an object says DEVICE and its address is not a device's, or
 * the other way round); ``SUN_ERR_EXT_FAIL`` (libaccel refused: past the end, freed, overlapping on
 * a device, the stream has failed); or an error of arguments.
 */
SUNErrCode SUNMemoryHelper_Copy_Accel(SUNMemoryHelper helper, SUNMemory dst, SUNMemory src,
				      size_t mem_size, void *queue);

/**
 * SUNMemoryHelper_CopyAsync_Accel() - copy on a stream
 * @helper: helper
 * @dst: object, or one that wraps an address inside an allocation
 * @src: object, or one that wraps an address inside an allocation
 * @mem_size: bytes; 0 copies nothing
 * @queue: stream of the device that has the memory; NULL and no queue of the helper either: the
 *	copy is complete on return
 *
 * Between a device and pinned or unified memory, and inside a device, the copy is queued: @src may
 * be written and @dst be read when the stream has completed it. From pageable memory the bytes are
 * taken before the call returns; to pageable memory, and between memory of the host, the call waits
 * for the stream and the copy is complete on return. An error that occurs after the call fails the
 * stream.
 *
 * Return: as SUNMemoryHelper_Copy_Accel(); ``SUN_ERR_EXT_FAIL`` also if the stream is of another
 * device, or was destroyed.
 */
SUNErrCode SUNMemoryHelper_CopyAsync_Accel(SUNMemoryHelper helper, SUNMemory dst, SUNMemory src,
					   size_t mem_size, void *queue);

/**
 * SUNMemoryHelper_GetAllocStats_Accel() - what was allocated through a helper
 * @helper: helper; each counts its own, clones from 0
 * @mem_type: kind of memory
 * @num_allocations: receives how many blocks were allocated
 * @num_deallocations: receives how many blocks were freed
 * @bytes_allocated: receives the bytes that are allocated now, as they were requested
 * @bytes_high_watermark: receives the most bytes that were allocated at a time
 *
 * Memory that one helper allocated and another one freed counts as freed with the latter: its bytes
 * do not fall below 0. While other threads allocate and free, each number is right for itself.
 *
 * Return: 0, or an error of arguments.
 */
SUNErrCode SUNMemoryHelper_GetAllocStats_Accel(SUNMemoryHelper helper, SUNMemoryType mem_type,
					       unsigned long *num_allocations,
					       unsigned long *num_deallocations,
					       size_t *bytes_allocated,
					       size_t *bytes_high_watermark);

/**
 * SUNMemoryHelper_Clone_Accel() - make another helper for the same device
 * @helper: helper
 *
 * The clone has statistics of its own, from 0, and no queue. It shares the device, which stays open
 * for it when @helper is destroyed. The call makes no system call.
 *
 * Return: the clone, ended by SUNMemoryHelper_Destroy(); NULL without memory, or if @helper is none
 * of these.
 */
SUNMemoryHelper SUNMemoryHelper_Clone_Accel(SUNMemoryHelper helper);

/**
 * SUNMemoryHelper_Destroy_Accel() - end a helper
 * @helper: helper; no other thread may use it during the call or later
 *
 * Frees the helper. When the last one of a helper and its clones is destroyed, the device is closed
 * if SUNMemoryHelper_Accel() has opened it. The context may have been freed before.
 *
 * Return: 0; ``SUN_ERR_ARG_CORRUPT`` (NULL; @helper is another implementation's);
 * ``SUN_ERR_DESTROY_FAIL`` (the device stays open, as inside a callback of a stream; the helper is
 * freed all the same).
 */
SUNErrCode SUNMemoryHelper_Destroy_Accel(SUNMemoryHelper helper);

#ifdef __cplusplus
}
#endif

#endif /* ACCEL_SUNDIALS_H */
