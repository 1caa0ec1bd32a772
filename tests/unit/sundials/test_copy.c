/* SPDX-License-Identifier: MIT */
/* Copies: what is refused, and the three rules for the queue. */
#include "fixture.h"

typedef SUNErrCode (*copy_t)(SUNMemoryHelper by, SUNMemory dst, SUNMemory src, size_t size,
			     void *queue);

static char bytes[MOCK_SIZE];

/* ---- Refusals ---- */

static void both(void (*part)(copy_t copy))
{
	begin_with(1);
	part(SUNMemoryHelper_Copy);
	part(SUNMemoryHelper_CopyAsync);
	end();
}

static void bad_arguments(copy_t copy)
{
	SUNMemory mem = memory_of(SIZE, DEVICE), host = memory_of(SIZE, HOST);
	SUNMemory none = memory_of(0, HOST);

	gives(copy(helper, NULL, host, SIZE, NULL), SUN_ERR_ARG_CORRUPT);
	gives(copy(helper, mem, NULL, SIZE, NULL), SUN_ERR_ARG_CORRUPT);
	gives(copy(helper, none, host, SIZE, NULL), SUN_ERR_ARG_CORRUPT);
	gives(copy(helper, host, none, SIZE, NULL), SUN_ERR_ARG_CORRUPT);
	gives(copy(helper, NULL, host, 0, NULL), SUN_ERR_ARG_CORRUPT);
	for (int bad = -1; bad <= TYPES; bad += TYPES + 1) {
		host->type = (SUNMemoryType)bad;
		gives(copy(helper, mem, host, SIZE, NULL), SUN_ERR_ARG_OUTOFRANGE);
		gives(copy(helper, host, mem, SIZE, NULL), SUN_ERR_ARG_OUTOFRANGE);
		gives(copy(helper, host, mem, 0, NULL), SUN_ERR_ARG_OUTOFRANGE);
	}
	host->type = SUNMEMTYPE_HOST;
	free_memory(mem);
	free_memory(host);
	free_memory(none);
}

static void test_bad_arguments(void)
{
	both(bad_arguments);
}

static void wrong_types(copy_t copy)
{
	SUNMemory mem = memory_of(SIZE, DEVICE), host = memory_of(SIZE, HOST);

	memset(host->ptr, 0, SIZE);
	for (int type = 0; type < TYPES; type++) {
		SUNMemory card_as = wrap(mem->ptr, type), host_as = wrap(host->ptr, type);
		SUNErrCode card = type == DEVICE ? SUN_SUCCESS : SUN_ERR_ARG_WRONGTYPE;
		SUNErrCode other = type == DEVICE ? SUN_ERR_ARG_WRONGTYPE : SUN_SUCCESS;

		gives(copy(helper, card_as, host, SIZE, NULL), card);
		gives(copy(helper, host, card_as, SIZE, NULL), card);
		gives(copy(helper, host_as, mem, SIZE, NULL), other);
		gives(copy(helper, mem, host_as, SIZE, NULL), other);
		free_memory(card_as);
		free_memory(host_as);
	}
	free_memory(mem);
	free_memory(host);
}

static void test_wrong_types(void)
{
	both(wrong_types);
}

/* Also where the processor could. */
static void test_wrong_types_on_a_card_that_is_mapped(void)
{
	mock_add_mappable(0, 1 << 16);
	begin();
	wrong_types(SUNMemoryHelper_Copy);
	wrong_types(SUNMemoryHelper_CopyAsync);
	end();
}

/* It is both. */
static void unified_is_device_memory(copy_t copy)
{
	SUNMemory uvm = memory_of(SIZE, UVM), other = memory_of(SIZE, UVM);
	SUNMemory card = memory_of(SIZE, DEVICE), as_card = wrap(uvm->ptr, DEVICE);

	pattern(bytes, SIZE, 1);
	memcpy(uvm->ptr, bytes, SIZE);
	gives(copy(helper, card, as_card, SIZE, NULL), SUN_SUCCESS);
	gives(copy(helper, other, card, SIZE, NULL), SUN_SUCCESS);
	ok(!memcmp(other->ptr, bytes, SIZE));
	free_memory(uvm);
	free_memory(other);
	free_memory(card);
	free_memory(as_card);
}

static void test_unified_is_device_memory(void)
{
	both(unified_is_device_memory);
}

static void refused_by_libaccel(copy_t copy)
{
	SUNMemory mem = memory_of(2 * SIZE, DEVICE), other = memory_of(SIZE, DEVICE), stale;
	SUNMemory host = wrap(bytes, HOST), inside = wrap((char *)mem->ptr + SIZE / 2, DEVICE);

	gives(copy(helper, mem, host, 2 * SIZE + 1, NULL), SUN_ERR_EXT_FAIL);
	ok(strstr(accel_last_error(), "past the end"));
	gives(copy(helper, host, mem, 2 * SIZE + 1, NULL), SUN_ERR_EXT_FAIL);
	gives(copy(helper, inside, mem, SIZE, NULL), SUN_ERR_EXT_FAIL);
	ok(strstr(accel_last_error(), "overlap"));
	stale = wrap(other->ptr, DEVICE);
	free_memory(other);
	gives(copy(helper, stale, host, SIZE, NULL), SUN_ERR_EXT_FAIL);
	gives(copy(helper, host, stale, SIZE, NULL), SUN_ERR_EXT_FAIL);
	gives(copy(helper, mem, stale, SIZE, NULL), SUN_ERR_EXT_FAIL);
	ok(strstr(accel_last_error(), "freed"));
	mock_fail(PACCEL_NR_COPY, 1, EIO);
	gives(copy(helper, mem, host, SIZE, NULL), SUN_ERR_EXT_FAIL);
	gives(copy(helper, mem, host, SIZE, NULL), SUN_SUCCESS);
	free_memory(mem);
	free_memory(stale);
	free_memory(host);
	free_memory(inside);
}

static void test_refused_by_libaccel(void)
{
	both(refused_by_libaccel);
}

/* Ranges of the host may overlap. */
static void overlaps(copy_t copy)
{
	char wanted[SIZE + 8];
	SUNMemory low = wrap(bytes, HOST), high = wrap(bytes + 8, HOST);

	pattern(bytes, SIZE + 8, 2);
	memcpy(wanted, bytes, SIZE);
	gives(copy(helper, high, low, SIZE, NULL), SUN_SUCCESS);
	ok(!memcmp(bytes + 8, wanted, SIZE));
	gives(copy(helper, low, high, SIZE, NULL), SUN_SUCCESS);
	ok(!memcmp(bytes, wanted, SIZE));
	free_memory(low);
	free_memory(high);
}

static void test_host_memory_that_overlaps(void)
{
	both(overlaps);
}

/* ---- Queues ---- */

static struct accel_stream *stream_of(struct accel_device *dev)
{
	struct accel_stream *stream = NULL;

	expect(accel_stream_create(dev, &stream), 0);
	return stream;
}

static void test_async_returns_at_once(void)
{
	struct accel_stream *stream;
	struct accel_device *dev;
	SUNMemory in, up, out;

	begin_with(1);
	dev = card_of(0);
	stream = stream_of(dev);
	in = memory_of(SIZE, PINNED);
	out = memory_of(SIZE, UVM);
	up = memory_of(SIZE, DEVICE);
	pattern(in->ptr, SIZE, 3);
	pattern(bytes, SIZE, 3);
	mock_hold(0);
	gives(SUNMemoryHelper_CopyAsync(helper, up, in, SIZE, stream), SUN_SUCCESS);
	gives(SUNMemoryHelper_CopyAsync(helper, out, up, SIZE, stream), SUN_SUCCESS);
	expect(accel_stream_query(stream), -EINPROGRESS);
	/* What is freed meanwhile is still read. */
	free_memory(in);
	mock_release(0);
	expect(accel_stream_synchronize(stream), 0);
	ok(!memcmp(out->ptr, bytes, SIZE));
	free_memory(up);
	free_memory(out);
	expect(accel_device_close(dev), 0);
	end();
}

/* After what is queued, and not in the queue. */
static void test_copy_queues_nothing(void)
{
	struct accel_stream *stream;
	struct accel_device *dev;
	SUNMemory in, up, out;
	unsigned int queued;

	begin_with(1);
	dev = card_of(0);
	stream = stream_of(dev);
	in = memory_of(SIZE, PINNED);
	out = memory_of(SIZE, UVM);
	up = memory_of(SIZE, DEVICE);
	pattern(in->ptr, SIZE, 4);
	gives(SUNMemoryHelper_CopyAsync(helper, up, in, SIZE, stream), SUN_SUCCESS);
	queued = mock_calls(PACCEL_NR_SUBMIT);
	ok(queued);
	gives(SUNMemoryHelper_Copy(helper, out, up, SIZE, stream), SUN_SUCCESS);
	ok(!memcmp(out->ptr, in->ptr, SIZE));
	gives(SUNMemoryHelper_Copy(helper, up, in, SIZE, stream), SUN_SUCCESS);
	ok(mock_calls(PACCEL_NR_SUBMIT) == queued);
	free_memory(in);
	free_memory(up);
	free_memory(out);
	expect(accel_device_close(dev), 0);
	end();
}

/* A stream that has failed: who looks at it fails too. */
static struct accel_stream *failed_stream(struct accel_device *dev)
{
	struct accel_stream *stream = stream_of(dev);
	char *ptr = device_memory(dev, SIZE), *in = host_memory(dev, SIZE);

	mock_fail(MOCK_OPERATION, 1, EIO);
	expect(accel_async_memory_copy_h2d(dev, stream, ptr, in, SIZE), 0);
	expect(accel_stream_synchronize(stream), -EIO);
	expect(accel_device_memory_deallocate(dev, ptr, SIZE), 0);
	expect(accel_host_memory_deallocate(dev, in, SIZE), 0);
	return stream;
}

static void looks_at(copy_t copy, void *queue, SUNErrCode code)
{
	for (int pair = 0; pair < TYPES * TYPES; pair++) {
		SUNMemory dst = memory_of(SIZE, pair % TYPES), src = memory_of(SIZE, pair / TYPES);

		if (pair / TYPES == HOST)
			memset(src->ptr, 0, SIZE);
		gives(copy(helper, dst, src, SIZE, queue), code);
		gives(copy(helper, dst, src, 0, queue), SUN_SUCCESS);
		free_memory(dst);
		free_memory(src);
	}
}

static void test_whose_queue(void)
{
	static const copy_t copies[] = { SUNMemoryHelper_Copy, SUNMemoryHelper_CopyAsync };
	struct accel_stream *well, *failed;
	struct accel_device *dev;
	SUNMemoryHelper original;

	begin_with(1);
	dev = card_of(0);
	well = stream_of(dev);
	failed = failed_stream(dev);
	for (int i = 0; i < 2; i++) {
		gives(SUNMemoryHelper_SetDefaultQueue(helper, NULL), SUN_SUCCESS);
		looks_at(copies[i], NULL, SUN_SUCCESS);
		looks_at(copies[i], well, SUN_SUCCESS);
		looks_at(copies[i], failed, SUN_ERR_EXT_FAIL);
		/* The helper's own, if there is no other. */
		gives(SUNMemoryHelper_SetDefaultQueue(helper, failed), SUN_SUCCESS);
		looks_at(copies[i], NULL, SUN_ERR_EXT_FAIL);
		looks_at(copies[i], well, SUN_SUCCESS);
		gives(SUNMemoryHelper_SetDefaultQueue(helper, well), SUN_SUCCESS);
		looks_at(copies[i], NULL, SUN_SUCCESS);
		looks_at(copies[i], failed, SUN_ERR_EXT_FAIL);
	}
	/* A clone has none. */
	gives(SUNMemoryHelper_SetDefaultQueue(helper, failed), SUN_SUCCESS);
	original = helper;
	helper = SUNMemoryHelper_Clone(original);
	looks_at(SUNMemoryHelper_Copy, NULL, SUN_SUCCESS);
	gives(SUNMemoryHelper_Destroy(helper), SUN_SUCCESS);
	helper = original;
	expect(accel_stream_synchronize(well), 0);
	expect(accel_device_close(dev), 0);
	end();
}

static void test_queues_that_are_wrong(void)
{
	struct accel_device *dev, *other;
	struct accel_stream *destroyed, *foreign, *well;
	SUNMemory mem, host, stale;

	begin_with(2);
	dev = card_of(0);
	other = card_of(1);
	destroyed = stream_of(dev);
	foreign = stream_of(other);
	expect(accel_stream_destroy(destroyed), 0);
	mem = memory_of(SIZE, DEVICE);
	host = memory_of(SIZE, PINNED);
	gives(SUNMemoryHelper_CopyAsync(helper, mem, host, SIZE, destroyed), SUN_ERR_EXT_FAIL);
	gives(SUNMemoryHelper_Copy(helper, mem, host, SIZE, destroyed), SUN_ERR_EXT_FAIL);
	gives(SUNMemoryHelper_CopyAsync(helper, mem, host, SIZE, foreign), SUN_ERR_EXT_FAIL);
	gives(SUNMemoryHelper_CopyAsync(helper, host, mem, SIZE, foreign), SUN_ERR_EXT_FAIL);
	/* What is freed is refused there too. */
	stale = wrap(mem->ptr, DEVICE);
	free_memory(mem);
	well = stream_of(dev);
	gives(SUNMemoryHelper_CopyAsync(helper, stale, host, SIZE, well), SUN_ERR_EXT_FAIL);
	gives(SUNMemoryHelper_CopyAsync(helper, host, stale, SIZE, well), SUN_ERR_EXT_FAIL);
	free_memory(stale);
	mem = memory_of(SIZE, DEVICE);
	/* Allocations and frees look at none. */
	gives(SUNMemoryHelper_Dealloc(helper, mem, destroyed), SUN_SUCCESS);
	gives(SUNMemoryHelper_Alloc(helper, &mem, SIZE, SUNMEMTYPE_DEVICE, destroyed), SUN_SUCCESS);
	free_memory(mem);
	free_memory(host);
	expect(accel_device_close(dev), 0);
	expect(accel_device_close(other), 0);
	end();
}

/* ---- Two cards ---- */

static void test_between_cards(void)
{
	struct accel_device *dev;
	struct accel_stream *stream;
	SUNMemoryHelper other;
	SUNMemory here, there, back;

	begin_with(2);
	dev = card_of(1);
	stream = stream_of(dev);
	other = SUNMemoryHelper_AccelWithDevice(ctx, dev);
	here = memory_of(SIZE, DEVICE);
	there = memory_by(other, SIZE, DEVICE);
	back = memory_of(SIZE, HOST);
	pattern(bytes, SIZE, 9);
	put(here, bytes, SIZE);
	gives(SUNMemoryHelper_Copy(helper, there, here, SIZE, NULL), SUN_SUCCESS);
	ok(holds(there, bytes, SIZE));
	pattern(bytes, SIZE, 10);
	put(there, bytes, SIZE);
	gives(SUNMemoryHelper_CopyAsync(helper, here, there, SIZE, stream), SUN_SUCCESS);
	/* The helper of one card copies from the other's. */
	gives(SUNMemoryHelper_CopyAsync(helper, back, there, SIZE, stream), SUN_SUCCESS);
	expect(accel_stream_synchronize(stream), 0);
	ok(holds(here, bytes, SIZE) && !memcmp(back->ptr, bytes, SIZE));
	free_memory(here);
	free_memory(there);
	free_memory(back);
	gives(SUNMemoryHelper_Destroy(other), SUN_SUCCESS);
	expect(accel_device_close(dev), 0);
	end();
}

int main(void)
{
	RUN(test_bad_arguments);
	RUN(test_wrong_types);
	RUN(test_wrong_types_on_a_card_that_is_mapped);
	RUN(test_unified_is_device_memory);
	RUN(test_refused_by_libaccel);
	RUN(test_host_memory_that_overlaps);
	RUN(test_async_returns_at_once);
	RUN(test_copy_queues_nothing);
	RUN(test_whose_queue);
	RUN(test_queues_that_are_wrong);
	RUN(test_between_cards);
	return tap_end();
}
