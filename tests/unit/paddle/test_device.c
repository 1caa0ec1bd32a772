/* SPDX-License-Identifier: MIT */
/* Cards as Paddle's devices: how many, which, from when until when. */
#include "paddle.h"

#include <limits.h>

static size_t total_of(struct place *device)
{
	size_t total = 0, left = 0;

	gives(paddle->device_memory_stats(device, &total, &left), STATUS_SUCCESS);
	return total;
}

static void test_no_card(void)
{
	begin();
	ok(said("no device: ") && lines_said() == 1);
	ok(device_count() == 0);
	gives(paddle->get_device_list(NULL), STATUS_SUCCESS);
	refuses(paddle->set_device(accel0), STATUS_ERROR, "there is no device 0: 0 can be used");
	end();
}

static void test_no_driver(void)
{
	mock_unload();
	begin();
	ok(said("modprobe"));
	ok(device_count() == 0);
	end();
}

static void test_no_dev(void)
{
	mock_add(0);
	mock_fail(MOCK_OPENDIR, 1, EIO);
	begin();
	ok(device_count() == 0 && said("no device"));
	end();
}

static void test_numbers(void)
{
	size_t list[3] = { 9, 9, 9 };
	struct place got = { 77 };

	begin_with(3);
	ok(silent());
	ok(device_count() == 3);
	gives(paddle->get_device_list(list), STATUS_SUCCESS);
	ok(list[0] == 0 && list[1] == 1 && list[2] == 2);
	gives(paddle->init_device(accel1), STATUS_SUCCESS);
	gives(paddle->set_device(accel1), STATUS_SUCCESS);
	gives(paddle->get_device(&got), STATUS_SUCCESS);
	ok(got.id == 1);
	gives(paddle->set_device(accel0), STATUS_SUCCESS);
	gives(paddle->get_device(&got), STATUS_SUCCESS);
	ok(got.id == 0);
	gives(paddle->deinit_device(accel1), STATUS_SUCCESS);
	refuses(paddle->get_device_count(NULL), STATUS_ERROR, "count");
	refuses(paddle->get_device_list(NULL), STATUS_ERROR, "list");
	refuses(paddle->get_device(NULL), STATUS_ERROR, "device is NULL");
	end();
}

static void test_bad_numbers(void)
{
	struct place bad[] = { { -1 }, { 2 }, { INT_MAX }, { INT_MIN } };

	begin_with(2);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		refuses(paddle->set_device(&bad[i]), STATUS_ERROR, "there is no device");
		refuses(paddle->init_device(&bad[i]), STATUS_ERROR, "2 can be used");
		refuses(paddle->deinit_device(&bad[i]), STATUS_ERROR, "2 can be used");
		refuses(paddle->synchronize_device(&bad[i]), STATUS_ERROR, "no device");
	}
	refuses(paddle->set_device(NULL), STATUS_ERROR, "device is NULL");
	refuses(paddle->init_device(NULL), STATUS_ERROR, "device is NULL");
	refuses(paddle->deinit_device(NULL), STATUS_ERROR, "device is NULL");
	end();
}

static void *sets_its_own(void *arg)
{
	struct place got;

	gives(paddle->get_device(&got), STATUS_SUCCESS);
	ok(got.id == 0);
	gives(paddle->set_device(arg), STATUS_SUCCESS);
	return NULL;
}

static void test_current_device_is_the_threads(void)
{
	struct place got;
	pthread_t thread;

	begin_with(2);
	gives(paddle->set_device(accel0), STATUS_SUCCESS);
	pthread_create(&thread, NULL, sets_its_own, accel1);
	pthread_join(thread, NULL);
	gives(paddle->get_device(&got), STATUS_SUCCESS);
	ok(got.id == 0);
	end();
}

/* ---- Settings ---- */

static void add_three(void)
{
	mock_add_sized(0, 4032, 4032);
	mock_add_sized(1, 8064, 8064);
	mock_add_sized(2, 12096, 12096);
}

static void test_visible_cards(void)
{
	add_three();
	setenv("PADDLE_ACCEL_DEVICES", "2,0", 1);
	begin();
	ok(silent() && device_count() == 2);
	ok(total_of(accel0) == 12096 && total_of(accel1) == 4032);
	end();
	setenv("PADDLE_ACCEL_DEVICES", "1", 1);
	begin();
	ok(device_count() == 1 && total_of(accel0) == 8064);
	end();
	setenv("PADDLE_ACCEL_DEVICES", "", 1);
	begin();
	ok(silent() && device_count() == 0);
	end();
	unsetenv("PADDLE_ACCEL_DEVICES");
}

static void no_device_with(const char *name, const char *value)
{
	setenv(name, value, 1);
	begin();
	ok(device_count() == 0);
	ok(said(name) && said(value) && lines_said() == 1);
	end();
	unsetenv(name);
}

static void test_bad_visible_cards(void)
{
	static const char *const bad[] = { "3",	  "0,3", "-1",	"0,0", "0,", ",0", "0 1", " 0",
					   "0, 1", "x",	 "0x1", "+1",  "1;2", "18446744073709551616",
					   "4294967296" };

	add_three();
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		no_device_with("PADDLE_ACCEL_DEVICES", bad[i]);
}

static size_t min_chunk(void)
{
	size_t size = 0;

	gives(paddle->device_min_chunk_size(accel0, &size), STATUS_SUCCESS);
	return size;
}

/* The card's granule: the driver allocates no less. */
static void test_min_chunk(void)
{
	static const size_t granules[] = { 32, 64, 512, 4096 };

	for (size_t i = 0; i < sizeof(granules) / sizeof(granules[0]); i++) {
		mock_add(0);
		mock_granule(0, granules[i]);
		begin();
		ok(min_chunk() == granules[i]);
		end();
	}
	setenv("PADDLE_ACCEL_MIN_CHUNK", "512", 1);
	begin();
	ok(silent() && min_chunk() == 512);
	end();
	setenv("PADDLE_ACCEL_MIN_CHUNK", "", 1);
	begin();
	ok(silent() && min_chunk() == 4096);
	end();
	unsetenv("PADDLE_ACCEL_MIN_CHUNK");
}

static void test_bad_min_chunk(void)
{
	static const char *const bad[] = { "0",	 "1",  "16",  "48",	 "-64", "64k",
					   "0x40", " 64", "4194304", "x" };

	mock_add(0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		no_device_with("PADDLE_ACCEL_MIN_CHUNK", bad[i]);
}

static void test_trace(void)
{
	mock_add(0);
	setenv("PADDLE_ACCEL_TRACE", "1", 1);
	begin();
	ok(said("initialize() = 0, 1 devices"));
	ok(min_chunk() == 64 && said("accel:0 device_min_chunk_size(64) = 0"));
	end();
	ok(said("finalize() = 0"));
	setenv("PADDLE_ACCEL_TRACE", "0", 1);
	begin();
	ok(min_chunk() == 64 && silent());
	end();
	no_device_with("PADDLE_ACCEL_TRACE", "yes");
}

static void test_card_that_cannot_be_opened(void)
{
	add_three();
	mock_fail(MOCK_OPEN, 2, EACCES);
	begin();
	ok(said("initialize: ") && said("/dev/paccel1"));
	ok(device_count() == 2);
	ok(total_of(accel0) == 4032 && total_of(accel1) == 12096);
	end();
}

static void test_card_that_does_not_answer(void)
{
	mock_add(0);
	mock_fail(PACCEL_NR_DEVICE_INFO, 2, EIO);
	begin();
	ok(said("initialize: ") && device_count() == 0);
	end();
}

/* ---- From when until when ---- */

/* Frees are let pass, where Paddle calls them nothing may fail; all others are refused. */
static void everything_is_refused(const char *words)
{
	char bytes[64], *ptr = bytes;
	size_t size = 0, other;
	stream_t stream;
	event_t event;
	void *got;

	log_clear();
	gives(paddle->init_device(accel0), STATUS_ERROR);
	gives(paddle->set_device(accel0), STATUS_ERROR);
	gives(paddle->get_device(&place[3]), STATUS_ERROR);
	gives(paddle->deinit_device(accel0), STATUS_ERROR);
	gives(paddle->create_stream(accel0, &stream), STATUS_ERROR);
	gives(paddle->destroy_stream(accel0, (stream_t)ptr), STATUS_SUCCESS);
	gives(paddle->query_stream(accel0, NULL), STATUS_ERROR);
	gives(paddle->stream_add_callback(accel0, NULL, NULL, NULL), STATUS_ERROR);
	gives(paddle->create_event(accel0, &event), STATUS_ERROR);
	gives(paddle->record_event(accel0, NULL, NULL), STATUS_ERROR);
	gives(paddle->destroy_event(accel0, (event_t)ptr), STATUS_SUCCESS);
	gives(paddle->query_event(accel0, NULL), STATUS_ERROR);
	gives(paddle->synchronize_device(accel0), STATUS_ERROR);
	gives(paddle->synchronize_stream(accel0, NULL), STATUS_ERROR);
	gives(paddle->synchronize_event(accel0, NULL), STATUS_ERROR);
	gives(paddle->stream_wait_event(accel0, NULL, NULL), STATUS_ERROR);
	gives(paddle->device_memory_allocate(accel0, &got, 64), STATUS_ERROR);
	gives(paddle->device_memory_deallocate(accel0, ptr, 64), STATUS_SUCCESS);
	gives(paddle->device_memory_set(accel0, ptr, 1, 64), STATUS_ERROR);
	gives(paddle->host_memory_allocate(accel0, &got, 64), STATUS_ERROR);
	gives(paddle->host_memory_deallocate(accel0, ptr, 64), STATUS_SUCCESS);
	gives(paddle->unified_memory_allocate(accel0, &got, 64), STATUS_ERROR);
	gives(paddle->unified_memory_deallocate(accel0, ptr, 64), STATUS_SUCCESS);
	gives(paddle->memory_copy_h2d(accel0, ptr, bytes, 64), STATUS_ERROR);
	gives(paddle->memory_copy_d2h(accel0, bytes, ptr, 64), STATUS_ERROR);
	gives(paddle->memory_copy_d2d(accel0, ptr, ptr, 64), STATUS_ERROR);
	gives(paddle->memory_copy_p2p(accel0, accel0, ptr, ptr, 64), STATUS_ERROR);
	gives(paddle->async_memory_copy_h2d(accel0, NULL, ptr, bytes, 64), STATUS_ERROR);
	gives(paddle->async_memory_copy_d2h(accel0, NULL, bytes, ptr, 64), STATUS_ERROR);
	gives(paddle->async_memory_copy_d2d(accel0, NULL, ptr, ptr, 64), STATUS_ERROR);
	gives(paddle->async_memory_copy_p2p(accel0, accel0, NULL, ptr, ptr, 64), STATUS_ERROR);
	gives(paddle->get_device_count(&size), STATUS_ERROR);
	gives(paddle->get_device_list(&size), STATUS_ERROR);
	gives(paddle->device_memory_stats(accel0, &size, &other), STATUS_ERROR);
	gives(paddle->device_extra_padding_size(accel0, &size), STATUS_ERROR);
	size = 0;
	gives(paddle->device_min_chunk_size(accel0, &size), STATUS_ERROR);
	ok(size == 1);
	ok(said(words));
}

static void test_before_and_after(void)
{
	mock_add(0);
	load_plugin();
	everything_is_refused("before initialize");
	gives(paddle->initialize(), STATUS_SUCCESS);
	ok(device_count() == 1);
	gives(paddle->initialize(), STATUS_SUCCESS);
	ok(device_count() == 1 && mock_files() == 1);
	end();
	everything_is_refused("after finalize");
	end();
	begin();
	ok(device_count() == 1);
	end();
}

static void count_call(struct place *device, stream_t stream, void *data, enum status *status)
{
	(void)device;
	(void)stream;
	(void)status;
	__atomic_add_fetch((int *)data, 1, __ATOMIC_RELAXED);
}

static void use_everything(int *calls)
{
	static char bytes[100000];
	char *ptr, *other;
	stream_t stream;
	event_t event;
	void *got;

	mock_add_sized(0, 1 << 20, 1 << 20);
	mock_add_sized(1, 1 << 20, 1 << 20);
	begin();
	ptr = memory_of(accel0, sizeof(bytes));
	other = memory_of(accel1, sizeof(bytes));
	stream = stream_of(accel0);
	event = event_of(accel0);
	gives(paddle->host_memory_allocate(accel0, &got, 100), STATUS_SUCCESS);
	gives(paddle->unified_memory_allocate(accel1, &got, 100), STATUS_SUCCESS);
	gives(paddle->async_memory_copy_h2d(accel0, stream, ptr, bytes, 100), STATUS_SUCCESS);
	gives(paddle->async_memory_copy_h2d(accel0, stream, ptr, bytes, sizeof(bytes)),
	      STATUS_SUCCESS);
	gives(paddle->memory_copy_p2p(accel1, accel0, other, ptr, sizeof(bytes)), STATUS_SUCCESS);
	gives(paddle->stream_add_callback(accel0, stream, count_call, calls), STATUS_SUCCESS);
	gives(paddle->record_event(accel0, stream, event), STATUS_SUCCESS);
	gives(paddle->record_event(accel0, NULL, event), STATUS_SUCCESS);
	gives(paddle->synchronize_device(accel0), STATUS_SUCCESS);
	gives(paddle->stream_add_callback(accel0, stream, count_call, calls), STATUS_SUCCESS);
	end();
}

/* Neither thread nor descriptor: nothing that is left would know that the library is gone. */
static void test_nothing_outlives_finalize(void)
{
	int threads, files, calls = 0;

	/* The mock keeps a thread of its own from its first stream on. */
	use_everything(&calls);
	mock_reset();
	threads = entries_of("/proc/self/task");
	files = entries_of("/proc/self/fd");
	use_everything(&calls);
	ok(calls == 4);
	ok(threads_are(threads));
	ok(entries_of("/proc/self/fd") == files);
	ok(!mock_streams(0) && !mock_host_ranges(0));
}

static char *copied;
static int copy_ended, finalize_ended;

static void *copies(void *arg)
{
	char back[64];

	gives(paddle->memory_copy_d2h(arg, back, copied, 64), STATUS_SUCCESS);
	__atomic_store_n(&copy_ended, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void *finalizes(void *arg)
{
	end();
	__atomic_store_n(&finalize_ended, 1, __ATOMIC_RELEASE);
	return arg;
}

/* While a thread is in a call, no other is let in, and the cards stay. */
static void test_finalize_waits_for_calls(void)
{
	pthread_t copier, finalizer;
	size_t count;

	mock_add(0);
	setenv("PADDLE_ACCEL_TRACE", "1", 1);
	begin();
	unsetenv("PADDLE_ACCEL_TRACE");
	copied = memory_of(accel0, 64);
	mock_hold(0);
	pthread_create(&copier, NULL, copies, accel0);
	mock_wait_held(0, 1);
	pthread_create(&finalizer, NULL, finalizes, NULL);
	while (paddle->get_device_count(&count) == STATUS_SUCCESS)
		sched_yield();
	gives(paddle->set_device(accel0), STATUS_ERROR);
	ok(!__atomic_load_n(&finalize_ended, __ATOMIC_ACQUIRE) && mock_files() == 1);
	mock_release(0);
	pthread_join(copier, NULL);
	pthread_join(finalizer, NULL);
	ok(copy_ended && finalize_ended);
	plugin_tracing = false;
}

int main(void)
{
	log_catch();
	RUN(test_no_card);
	RUN(test_no_driver);
	RUN(test_no_dev);
	RUN(test_numbers);
	RUN(test_bad_numbers);
	RUN(test_current_device_is_the_threads);
	RUN(test_visible_cards);
	RUN(test_bad_visible_cards);
	RUN(test_min_chunk);
	RUN(test_bad_min_chunk);
	RUN(test_trace);
	RUN(test_card_that_cannot_be_opened);
	RUN(test_card_that_does_not_answer);
	RUN(test_before_and_after);
	RUN(test_nothing_outlives_finalize);
	RUN(test_finalize_waits_for_calls);
	return tap_end();
}
