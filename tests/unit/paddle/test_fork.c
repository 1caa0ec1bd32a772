/* SPDX-License-Identifier: MIT */
/* A worker of a data loader: forked with the plugin loaded. What is wrong is its exit status. */
#include "paddle.h"

#define FORKS 200

static char *ptr, *host;
static stream_t stream;
static event_t event;
static char bytes[64];

static void set_up(void)
{
	void *got;

	begin_with(1);
	ptr = memory_of(accel0, 64);
	gives(paddle->host_memory_allocate(accel0, &got, 64), STATUS_SUCCESS);
	host = got;
	stream = stream_of(accel0);
	event = event_of(accel0);
	gives(paddle->record_event(accel0, stream, event), STATUS_SUCCESS);
}

static void use_is_refused(void)
{
	stream_t more;
	void *memory;

	refuses(paddle->device_memory_allocate(accel0, &memory, 64), STATUS_ERROR,
		"another process");
	ok(!memory);
	gives(paddle->host_memory_allocate(accel0, &memory, 64), STATUS_ERROR);
	gives(paddle->unified_memory_allocate(accel0, &memory, 64), STATUS_ERROR);
	refuses(paddle->memory_copy_h2d(accel0, ptr, bytes, 64), STATUS_ERROR, "another process");
	gives(paddle->memory_copy_d2h(accel0, bytes, ptr, 64), STATUS_ERROR);
	gives(paddle->memory_copy_p2p(accel0, accel0, ptr, ptr + 32, 32), STATUS_ERROR);
	gives(paddle->device_memory_set(accel0, ptr, 1, 64), STATUS_ERROR);
	gives(paddle->async_memory_copy_h2d(accel0, stream, ptr, bytes, 64), STATUS_ERROR);
	gives(paddle->create_stream(accel0, &more), STATUS_ERROR);
}

/* What Paddle asks in a process that uses the CPU only: it has queued nothing, and has no memory. */
static void questions_are_answered(void)
{
	size_t size = 9, other = 9;
	struct place got;

	log_clear();
	gives(paddle->get_device_count(&size), STATUS_SUCCESS);
	ok(size == 1);
	gives(paddle->get_device_list(&size), STATUS_SUCCESS);
	gives(paddle->init_device(accel0), STATUS_SUCCESS);
	gives(paddle->synchronize_event(accel0, event), STATUS_SUCCESS);
	gives(paddle->synchronize_stream(accel0, stream), STATUS_SUCCESS);
	gives(paddle->synchronize_device(accel0), STATUS_SUCCESS);
	gives(paddle->stream_wait_event(accel0, stream, event), STATUS_SUCCESS);
	gives(paddle->stream_wait_event(accel0, NULL, event), STATUS_SUCCESS);
	gives(paddle->device_memory_stats(accel0, &size, &other), STATUS_SUCCESS);
	ok(size == 4032 && other == 0);
	gives(paddle->device_max_alloc_size(accel0, &other), STATUS_SUCCESS);
	ok(other == 0);
	gives(paddle->query_stream(accel0, stream), STATUS_SUCCESS);
	gives(paddle->query_event(accel0, event), STATUS_SUCCESS);
	gives(paddle->set_device(accel0), STATUS_SUCCESS);
	gives(paddle->get_device(&got), STATUS_SUCCESS);
	gives(paddle->device_min_chunk_size(accel0, &size), STATUS_SUCCESS);
	ok(size == 64);
	gives(paddle->device_extra_padding_size(accel0, &size), STATUS_SUCCESS);
	ok(size == 0);
	gives(paddle->destroy_event(accel0, event), STATUS_SUCCESS);
	gives(paddle->destroy_stream(accel0, stream), STATUS_SUCCESS);
	gives(paddle->deinit_device(accel0), STATUS_SUCCESS);
	ok(silent());
}

/* A worker drops the tensors that it has inherited: that is no news. */
static void frees_without_a_word(void)
{
	event_t another;

	log_clear();
	gives(paddle->create_event(accel0, &another), STATUS_SUCCESS);
	gives(paddle->record_event(accel0, stream, another), STATUS_SUCCESS);
	gives(paddle->record_event(accel0, stream, event), STATUS_SUCCESS);
	gives(paddle->record_event(accel0, NULL, event), STATUS_SUCCESS);
	gives(paddle->query_event(accel0, another), STATUS_SUCCESS);
	gives(paddle->synchronize_event(accel0, another), STATUS_SUCCESS);
	gives(paddle->stream_wait_event(accel0, stream, another), STATUS_SUCCESS);
	gives(paddle->destroy_event(accel0, another), STATUS_SUCCESS);
	gives(paddle->device_memory_deallocate(accel0, ptr, 64), STATUS_SUCCESS);
	gives(paddle->host_memory_deallocate(accel0, host, 64), STATUS_SUCCESS);
	ok(silent());
}

static void ends_as_a_process_does(void)
{
	end();
	gives(paddle->set_device(accel0), STATUS_ERROR);
	gives(paddle->device_memory_deallocate(accel0, ptr, 64), STATUS_SUCCESS);
}

static void the_parent_goes_on(void)
{
	char back[64];

	memset(bytes, 3, sizeof(bytes));
	gives(paddle->async_memory_copy_h2d(accel0, stream, ptr, bytes, 64), STATUS_SUCCESS);
	gives(paddle->synchronize_stream(accel0, stream), STATUS_SUCCESS);
	gives(paddle->memory_copy_d2h(accel0, back, ptr, 64), STATUS_SUCCESS);
	ok(!memcmp(back, bytes, 64));
}

static void test_child_is_refused(void)
{
	set_up();
	in_child(use_is_refused);
	the_parent_goes_on();
	end();
}

static void test_child_asks(void)
{
	set_up();
	in_child(questions_are_answered);
	the_parent_goes_on();
	end();
}

static void waits(void)
{
	gives(paddle->synchronize_stream(accel0, NULL), STATUS_SUCCESS);
}

/* The failure of a stream that was cleared for an event is returned in the parent. */
static void test_child_of_a_failure(void)
{
	set_up();
	mock_fail(MOCK_OPERATION, 1, EIO);
	gives(paddle->async_memory_copy_h2d(accel0, stream, ptr, host, 64), STATUS_SUCCESS);
	mock_wait_idle();
	gives(paddle->record_event(accel0, stream, event), STATUS_SUCCESS);
	in_child(waits);
	gives(paddle->synchronize_stream(accel0, NULL), STATUS_INTERNAL);
	end();
}

static void test_child_frees(void)
{
	set_up();
	in_child(frees_without_a_word);
	the_parent_goes_on();
	gives(paddle->device_memory_deallocate(accel0, ptr, 64), STATUS_SUCCESS);
	ok(silent());
	end();
}

static void test_child_finalizes(void)
{
	set_up();
	in_child(ends_as_a_process_does);
	the_parent_goes_on();
	end();
}

/* Whatever else the process does, the child is not left with a lock, or a call, that nobody ends. */
static int stop;

static void *keeps_busy(void *arg)
{
	struct place got;
	event_t made;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		paddle->get_device(&got);
		paddle->query_stream(accel0, stream);
		if (paddle->create_event(accel0, &made) == STATUS_SUCCESS)
			paddle->destroy_event(accel0, made);
	}
	return arg;
}

static void test_fork_beside_threads(void)
{
	pthread_t threads[2];

	set_up();
	stop = 0;
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, keeps_busy, NULL);
	for (int i = 0; i < FORKS; i++)
		in_child(ends_as_a_process_does);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	the_parent_goes_on();
	end();
}

int main(void)
{
	log_catch();
	RUN(test_child_is_refused);
	RUN(test_child_asks);
	RUN(test_child_of_a_failure);
	RUN(test_child_frees);
	RUN(test_child_finalizes);
	RUN(test_fork_beside_threads);
	return tap_end();
}
