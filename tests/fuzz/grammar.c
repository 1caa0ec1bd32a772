// SPDX-License-Identifier: MIT
/* What calls there are, of what they take their arguments, and how often each is made. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include <linux/dma-buf.h>
#include <linux/paccel.h>

#include "program.h"

#define LIST(...) (const u64[]){ __VA_ARGS__ }, sizeof((const u64[]){ __VA_ARGS__ }) / sizeof(u64)
#define RESULT(_kind) { .kind = K_##_kind }
#define VALUES(...) { K_VALUE, 0, LIST(__VA_ARGS__) }
#define LENGTH(_of, ...) { K_LENGTH, _of, LIST(__VA_ARGS__) }

/* The last device is an edu, whose transfers take 100 ms. */
#define DEVICES VALUES(0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 2)
#define FLAGS(...) VALUES(0, 0, 0, 0, 0, 0, __VA_ARGS__)
#define SIZES 64, 4096, 65536, 1, 100, 12345, 1 << 20
#define PAGES 4096, 65536, 8192, 1 << 20
#define WIDTH(_of) LENGTH(_of, 64, 4096, 1, 65536, 1000)
#define ROWS VALUES(1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 16)
#define PITCH VALUES(0, 0, 0, 0, 0, 0, 4096, 128)
#define OFFSETS VALUES(0, 64, 1024, 8, 2048, 4088)
#define DISTANCES VALUES(0, 0, 32768, 2048)
/* Of a pattern, and how many bytes it has. */
#define PATTERN VALUES(0, 7, 255)
#define PATTERN_SIZE VALUES(1, 1, 1, 1, 2, 4, 8)
#define MS VALUES(0, 0, 1, 5, 20)
#define VERIFY FLAGS(1)

#define ARGS(...) .nr_args = sizeof((struct arg[]){ __VA_ARGS__ }) / sizeof(struct arg), \
	.args = { __VA_ARGS__ }
#define TYPE(_name, _weight, _result) \
	[CALL_##_name] = { .name = #_name, .run = call_##_name, .weight = _weight, \
			   .result = K_##_result,

const struct call_type call_types[NR_CALLS] = {
	TYPE(open, 4, DEVICE) ARGS(DEVICES, VALUES(O_RDWR, O_RDWR, O_RDWR, O_RDWR, O_RDWR, O_RDWR,
					      O_RDWR, O_RDONLY)) },
	TYPE(dup, 1, DEVICE) ARGS(RESULT(DEVICE)) },
	TYPE(close, 3, NONE) ARGS(RESULT(FILE)) },
	TYPE(poll, 3, NONE) ARGS(RESULT(FILE), MS) },
	TYPE(fork, 2, CHILD) .nr_args = 0 },
	TYPE(kill, 1, NONE) ARGS(RESULT(CHILD), VALUES(0, 1)) },
	TYPE(timer, 1, NONE) ARGS(VALUES(0, 1000, 10000)) },
	TYPE(buffer, 4, MAP) ARGS(VALUES(PAGES)), .length = 1 },
	TYPE(touch, 6, NONE) ARGS(RESULT(MAP), OFFSETS, VALUES(0, 1)) },
	TYPE(unmap, 3, NONE) ARGS(RESULT(MAP), VALUES(0, 0, 0, 4096), LENGTH(0, PAGES)) },
	TYPE(protect, 1, NONE) ARGS(RESULT(MAP), LENGTH(0, PAGES),
				    VALUES(0, PROT_READ, PROT_READ | PROT_WRITE)) },
	TYPE(advise, 2, NONE) ARGS(RESULT(MAP), LENGTH(0, PAGES),
				   VALUES(MADV_DONTNEED, MADV_DONTFORK, MADV_DOFORK, MADV_WILLNEED,
					  MADV_COLD, MADV_PAGEOUT, MADV_HUGEPAGE)) },
	TYPE(remap, 1, MAP) ARGS(RESULT(MAP), LENGTH(0, PAGES), LENGTH(0, PAGES)), .length = 3 },
	TYPE(read_attribute, 1, NONE) ARGS(DEVICES, VALUES(0, 1, 2, 3, 4, 5, 6, 7)) },
	TYPE(rebind, 1, NONE) ARGS(DEVICES, VALUES(0, 10, 50)), .disturbs = true },
	TYPE(replug, 1, NONE) ARGS(DEVICES, VALUES(0, 10, 50)), .disturbs = true },
	TYPE(order, 4, NONE) ARGS(VALUES(0, 1), VALUES(0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
						       12, 13, 14, 15, 16, 17, 18, 19, 20, 21)),
		.disturbs = true },
	TYPE(quota, 1, NONE) ARGS(DEVICES, VALUES(0, 0, 0, 0, 0, 16 << 20, 1 << 20)), .disturbs = true },
	TYPE(verify, 1, NONE) ARGS(VALUES(0, 1)), .disturbs = true },

	TYPE(device_info, 1, NONE) ARGS(RESULT(DEVICE)) },
	TYPE(mem_alloc, 10, MEM) ARGS(RESULT(DEVICE), FLAGS(PACCEL_MEM_MAPPABLE), VALUES(SIZES),
				      VALUES(0, 0, 64, 4096, 2 << 20)),
		.length = 3, .is_progress = true },
	TYPE(mem_free, 5, NONE) ARGS(RESULT(DEVICE), RESULT(MEM), LENGTH(1, SIZES)) },
	TYPE(mem_stats, 2, NONE) ARGS(RESULT(DEVICE)) },
	TYPE(host_alloc, 5, OFFSET) ARGS(RESULT(DEVICE), VALUES(PAGES)),
		.length = 2, .is_progress = true },
	TYPE(host_map, 6, OWN) ARGS(RESULT(DEVICE), RESULT(OFFSET), LENGTH(1, PAGES)),
		.length = 3 },
	TYPE(host_register, 6, HOST) ARGS(RESULT(DEVICE), RESULT(MAP), LENGTH(1, PAGES),
					  FLAGS(PACCEL_HOST_READ_ONLY)),
		.length = 3, .is_progress = true },
	TYPE(host_free, 3, NONE) ARGS(RESULT(DEVICE), RESULT(HOST)) },
	TYPE(host_free_offset, 2, NONE) ARGS(RESULT(DEVICE), RESULT(OFFSET)) },
	TYPE(copy, 16, NONE) ARGS(RESULT(DEVICE), VALUES(0, 1), RESULT(MEM), RESULT(MAP), WIDTH(2),
				  ROWS, PITCH, VERIFY),
		.is_progress = true },
	TYPE(copy_inside, 6, NONE) ARGS(RESULT(DEVICE), RESULT(MEM), DISTANCES, RESULT(MEM), WIDTH(1),
					ROWS, PITCH, VERIFY),
		.is_progress = true },
	TYPE(fill, 6, NONE) ARGS(RESULT(DEVICE), RESULT(MEM), LENGTH(1, SIZES), PATTERN,
				 PATTERN_SIZE, VERIFY) },
	TYPE(map_device, 6, MAP) ARGS(RESULT(DEVICE), RESULT(MEM), LENGTH(1, PAGES)),
		.length = 3 },
	TYPE(reset, 1, NONE) ARGS(RESULT(DEVICE)), .disturbs = true },
	TYPE(command, 2, NONE) ARGS(RESULT(DEVICE),
				    VALUES(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18),
				    VALUES(8, 16, 24, 32, 40, 64, 72, 152, 176, 4096, 4097, 0),
				    VALUES(0, 4, 8, 16, 24, 32, 48, 4088), VALUES(0, 1, ~0ull)) },

	TYPE(stream_create, 6, STREAM) ARGS(RESULT(DEVICE)) },
	TYPE(stream_destroy, 2, NONE) ARGS(RESULT(DEVICE), RESULT(STREAM)) },
	TYPE(stream_clear, 3, NONE) ARGS(RESULT(DEVICE), RESULT(STREAM)) },
	TYPE(map_page, 2, MAP) ARGS(RESULT(DEVICE), RESULT(STREAM)) },
	TYPE(op_copy, 6, NONE) ARGS(VALUES(0, 1), RESULT(MEM), RESULT(HOST), WIDTH(1), ROWS, PITCH,
				    FLAGS(PACCEL_OP_VERIFY)) },
	TYPE(op_inside, 3, NONE) ARGS(RESULT(MEM), DISTANCES, RESULT(MEM), WIDTH(0), ROWS, PITCH,
				      FLAGS(PACCEL_OP_VERIFY)) },
	TYPE(op_fill, 4, NONE) ARGS(RESULT(MEM), LENGTH(0, SIZES), PATTERN,
				    PATTERN_SIZE, FLAGS(PACCEL_OP_VERIFY)) },
	TYPE(op_wait, 3, NONE) ARGS(RESULT(STREAM), RESULT(POINT)) },
	TYPE(op_fence, 4, NONE) ARGS(RESULT(SYNC)) },
	TYPE(op_event, 3, NONE) ARGS(RESULT(EVENTFD), FLAGS(PACCEL_OP_ALWAYS)) },
	TYPE(op_write, 3, NONE) ARGS(RESULT(OWN), OFFSETS, VALUES(0, 1, ~0ull)) },
	TYPE(op_time, 2, NONE) ARGS(RESULT(OWN), OFFSETS) },
	TYPE(submit, 24, POINT) ARGS(RESULT(DEVICE), RESULT(STREAM), VALUES(1, 1, 1, 2, 16, 128)),
		.is_progress = true },
	TYPE(point, 2, NONE) ARGS(RESULT(STREAM), RESULT(POINT)) },
	TYPE(wait, 8, NONE) ARGS(RESULT(DEVICE), RESULT(STREAM), RESULT(POINT),
				 VALUES(0, PACCEL_WAIT_ANY), VALUES(0, 1, 20, 20, 100)) },
	TYPE(fence_export, 6, SYNC) ARGS(RESULT(DEVICE), RESULT(STREAM), RESULT(POINT)),
		.is_progress = true },
	TYPE(eventfd, 1, EVENTFD) .nr_args = 0 },
	TYPE(read_event, 1, NONE) ARGS(RESULT(EVENTFD)) },

	TYPE(mem_export, 6, DMABUF) ARGS(RESULT(DEVICE), RESULT(MEM)), .is_progress = true },
	TYPE(host_export, 4, DMABUF) ARGS(RESULT(DEVICE), RESULT(OWN)), .is_progress = true },
	TYPE(mem_import, 6, MEM) ARGS(RESULT(DEVICE), RESULT(DMABUF)), .is_progress = true },
	TYPE(host_dmabuf, 6, HOST) ARGS(RESULT(DEVICE), RESULT(DMABUF), LENGTH(1, PAGES),
					FLAGS(PACCEL_HOST_READ_ONLY)),
		.length = 3, .is_progress = true },
	TYPE(map_dmabuf, 4, MAP) ARGS(RESULT(DMABUF), LENGTH(0, PAGES)), .length = 2 },
	TYPE(dmabuf_sync, 2, NONE) ARGS(RESULT(DMABUF),
					VALUES(DMA_BUF_SYNC_RW, DMA_BUF_SYNC_RW | DMA_BUF_SYNC_END,
					       DMA_BUF_SYNC_READ)) },
	TYPE(sync_of, 4, SYNC) ARGS(RESULT(DMABUF), VALUES(DMA_BUF_SYNC_RW, DMA_BUF_SYNC_READ)) },
	TYPE(sync_into, 3, NONE) ARGS(RESULT(DMABUF), RESULT(SYNC),
				      VALUES(DMA_BUF_SYNC_RW, DMA_BUF_SYNC_READ)) },
	TYPE(merge, 3, SYNC) ARGS(RESULT(SYNC), RESULT(SYNC)) },
	TYPE(sync_info, 1, NONE) ARGS(RESULT(SYNC)) },
	TYPE(udmabuf, 1, DMABUF) ARGS(VALUES(PAGES)), .length = 1 },
	TYPE(heap, 1, DMABUF) ARGS(VALUES(PAGES)), .length = 1 },
	TYPE(timeline, 1, TIMELINE) .nr_args = 0 },
	TYPE(timeline_fence, 3, SYNC) ARGS(RESULT(TIMELINE), VALUES(1, 2, 3)) },
	TYPE(timeline_step, 3, NONE) ARGS(RESULT(TIMELINE), VALUES(1, 2)) },
	TYPE(give_dmabuf, 3, NONE) ARGS(RESULT(DMABUF)) },
	TYPE(take_dmabuf, 2, DMABUF) .nr_args = 0 },
	TYPE(give_sync, 2, NONE) ARGS(RESULT(SYNC)) },
	TYPE(take_sync, 2, SYNC) .nr_args = 0 },
};

bool kind_accepts(enum kind wanted, enum kind result)
{
	if (wanted == result)
		return true;
	switch (wanted) {
	case K_MAP:
		return result == K_HOST || result == K_OWN;
	case K_HOST:
		return result == K_OWN;
	case K_FILE:
		return result == K_DEVICE || result == K_DMABUF || result == K_SYNC ||
		       result == K_EVENTFD || result == K_TIMELINE;
	default:
		return false;
	}
}
