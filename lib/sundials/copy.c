/* SPDX-License-Identifier: MIT */
/*
 * Copies: the addresses say where the bytes are, and the types of the objects have to agree.
 */
#include "private.h"

struct operand {
	void *ptr;
	struct accel_device *dev; /* of live device memory, else NULL */
};

/*
 * What kind of copy it is depends on where an address leads, not on what the program has called it.
 * One that says so wrongly has a mistake in it that another device or machine would not forgive:
 * the processor can reach the memory of some devices.
 */
static SUNErrCode operand_of(SUNMemory mem, struct operand *operand)
{
	struct accel_pointer_info info;
	bool on_device, unified;

	if (!mem->ptr)
		return SUN_ERR_ARG_CORRUPT;
	/* Freed device memory: the copy reports it. */
	if (accel_pointer_get_info(mem->ptr, &info))
		info = (struct accel_pointer_info){ .kind = ACCEL_MEMORY_DEVICE };
	on_device = info.kind == ACCEL_MEMORY_DEVICE;
	unified = info.kind == ACCEL_MEMORY_UNIFIED;
	if (on_device != (mem->type == SUNMEMTYPE_DEVICE) && !unified)
		return SUN_ERR_ARG_WRONGTYPE;
	operand->ptr = mem->ptr;
	operand->dev = on_device ? info.device : NULL;
	return SUN_SUCCESS;
}

static SUNErrCode operands_of(SUNMemoryHelper helper, SUNMemory dst, SUNMemory src, size_t size,
			      struct operand operands[2])
{
	SUNErrCode err;

	if (!helper_content(helper) || !dst || !src)
		return SUN_ERR_ARG_CORRUPT;
	if (!is_type(dst->type) || !is_type(src->type))
		return SUN_ERR_ARG_OUTOFRANGE;
	/* Objects of 0 bytes have no address. */
	if (!size)
		return SUN_SUCCESS;
	err = operand_of(dst, &operands[0]);
	return err ? err : operand_of(src, &operands[1]);
}

/* The generic functions of SUNDIALS hand NULL through. */
static struct accel_stream *queue_of(SUNMemoryHelper helper, void *queue)
{
#if HAS_QUEUE
	return queue ? queue : helper->queue;
#else
	(void)helper;
	return queue;
#endif
}

static int copy_after(struct accel_stream *stream, void *dst, const void *src, size_t size)
{
	int err = stream ? accel_stream_synchronize(stream) : 0;

	return err ? err : accel_memory_copy(dst, src, size);
}

static int copy_on(struct accel_stream *stream, const struct operand *dst,
		   const struct operand *src, size_t size)
{
	if (dst->dev && src->dev)
		return accel_async_memory_copy_p2p(dst->dev, src->dev, stream, dst->ptr, src->ptr,
						   size);
	if (dst->dev)
		return accel_async_memory_copy_h2d(dst->dev, stream, dst->ptr, src->ptr, size);
	if (src->dev)
		return accel_async_memory_copy_d2h(src->dev, stream, dst->ptr, src->ptr, size);
	return copy_after(stream, dst->ptr, src->ptr, size);
}

SUNErrCode SUNMemoryHelper_Copy_Accel(SUNMemoryHelper helper, SUNMemory dst, SUNMemory src,
				      size_t mem_size, void *queue)
{
	struct operand ends[2];
	SUNErrCode err = operands_of(helper, dst, src, mem_size, ends);

	if (err || !mem_size)
		return err;
	return copy_after(queue_of(helper, queue), ends[0].ptr, ends[1].ptr, mem_size) ?
		       SUN_ERR_EXT_FAIL : SUN_SUCCESS;
}

SUNErrCode SUNMemoryHelper_CopyAsync_Accel(SUNMemoryHelper helper, SUNMemory dst, SUNMemory src,
					   size_t mem_size, void *queue)
{
	struct accel_stream *stream;
	struct operand ends[2];
	SUNErrCode err = operands_of(helper, dst, src, mem_size, ends);
	int failed;

	if (err || !mem_size)
		return err;
	stream = queue_of(helper, queue);
	if (stream) {
		failed = copy_on(stream, &ends[0], &ends[1], mem_size);
		/* Before anybody can free what is in use. */
		atomic_store(&helper_content(helper)->device->queued, true);
	} else {
		failed = accel_memory_copy(ends[0].ptr, ends[1].ptr, mem_size);
	}
	return failed ? SUN_ERR_EXT_FAIL : SUN_SUCCESS;
}
