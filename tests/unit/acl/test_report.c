/* SPDX-License-Identifier: MIT */
/* Callbacks, in threads that ask for them. Also built with the thread sanitizer. */
#include "fixture.h"

#include <dirent.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define SIZE 64
#define MANY 50

static char *ptr, *host;
static aclrtStream stream;

/* What ran, in order; read when the thread that runs them is known to be done, or is this one. */
static int ran[4 * MANY];
static atomic_int count;

static void note(void *data)
{
	ran[count] = (int)(intptr_t)data;
	count++;
}

static uint64_t self(void)
{
	return (uint64_t)pthread_self();
}

static void set_up(void)
{
	begin();
	count = 0;
	ptr = memory(SIZE);
	host = pinned(SIZE);
	stream = new_stream();
}

static void keep_busy(void)
{
	mock_hold(0);
	gives(aclrtMemcpyAsync(ptr, SIZE, host, SIZE, 1, stream), 0);
}

static void *number(int value)
{
	return (void *)(intptr_t)value;
}

static int files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int found = 0;

	while (readdir(dir))
		found++;
	closedir(dir);
	return found;
}

/* ---- This thread runs them ---- */

static void test_own_thread(void)
{
	int before;

	set_up();
	before = files();
	gives(aclrtSubscribeReport(self(), stream), 0);
	keep_busy();
	gives(aclrtLaunchCallback(note, number(1), ACL_CALLBACK_NO_BLOCK, stream), 0);
	gives(aclrtLaunchCallback(note, number(2), ACL_CALLBACK_NO_BLOCK, stream), 0);
	/* What is queued later does not wait, and the callbacks do for what was before. */
	gives(aclrtMemsetAsync(ptr, SIZE, 1, SIZE, stream), 0);
	refuses(aclrtProcessReport(5), ACL_ERROR_RT_REPORT_TIMEOUT, "no callback was due");
	ok(!count);
	mock_release(0);
	gives(aclrtSynchronizeStream(stream), 0);
	gives(aclrtProcessReport(10000), 0);
	while (count < 2)
		gives(aclrtProcessReport(10000), 0);
	ok(count == 2 && ran[0] == 1 && ran[1] == 2);
	gives(aclrtProcessReport(1), ACL_ERROR_RT_REPORT_TIMEOUT);
	/* Those that the stream has come to, and no other. */
	gives(aclrtLaunchCallback(note, number(3), ACL_CALLBACK_NO_BLOCK, stream), 0);
	keep_busy();
	gives(aclrtLaunchCallback(note, number(4), ACL_CALLBACK_NO_BLOCK, stream), 0);
	gives(aclrtProcessReport(10000), 0);
	ok(count == 3 && ran[2] == 3);
	mock_release(0);
	gives(aclrtProcessReport(10000), 0);
	ok(count == 4 && ran[3] == 4);
	gives(aclrtUnSubscribeReport(self(), stream), 0);
	refuses(aclrtProcessReport(1), ACL_ERROR_RT_THREAD_SUBSCRIBE, "serves no stream");
	/* The stream's eventfd stays with it. */
	gives(aclrtDestroyStream(stream), 0);
	ok(files() == before);
	end();
}

static void test_several_streams(void)
{
	aclrtStream other;

	set_up();
	other = new_stream();
	gives(aclrtSubscribeReport(self(), stream), 0);
	gives(aclrtSubscribeReport(self(), other), 0);
	gives(aclrtSubscribeReport(self(), NULL), 0);
	gives(aclrtLaunchCallback(note, number(1), ACL_CALLBACK_NO_BLOCK, stream), 0);
	gives(aclrtLaunchCallback(note, number(2), ACL_CALLBACK_NO_BLOCK, other), 0);
	gives(aclrtLaunchCallback(note, number(4), ACL_CALLBACK_NO_BLOCK, NULL), 0);
	while (count < 3)
		gives(aclrtProcessReport(10000), 0);
	ok(ran[0] + ran[1] + ran[2] == 7);
	/* What has not run is dropped. */
	keep_busy();
	gives(aclrtLaunchCallback(note, number(8), ACL_CALLBACK_NO_BLOCK, stream), 0);
	gives(aclrtUnSubscribeReport(self(), stream), 0);
	mock_release(0);
	gives(aclrtSynchronizeDevice(), 0);
	gives(aclrtProcessReport(5), ACL_ERROR_RT_REPORT_TIMEOUT);
	ok(count == 3);
	gives(aclrtDestroyStream(other), 0);
	end();
}

static void nests(void *data)
{
	note(data);
	gives(aclrtProcessReport(10000), 0);
}

/* A callback that runs those behind it, which are due. */
static void test_a_callback_asks_for_more(void)
{
	set_up();
	gives(aclrtSubscribeReport(self(), stream), 0);
	keep_busy();
	gives(aclrtLaunchCallback(nests, number(1), ACL_CALLBACK_NO_BLOCK, stream), 0);
	gives(aclrtLaunchCallback(note, number(2), ACL_CALLBACK_NO_BLOCK, stream), 0);
	mock_release(0);
	gives(aclrtSynchronizeStream(stream), 0);
	mock_wait_idle();
	gives(aclrtProcessReport(10000), 0);
	ok(count == 2 && ran[0] == 1 && ran[1] == 2);
	gives(aclrtProcessReport(1), ACL_ERROR_RT_REPORT_TIMEOUT);
	end();
}

static void queues_another(void *data)
{
	note(data);
	if (count < MANY)
		gives(aclrtLaunchCallback(queues_another, data, ACL_CALLBACK_NO_BLOCK, stream), 0);
	mock_wait_idle();
}

/* One that is queued meanwhile is for the next call. */
static void test_a_callback_queues_another(void)
{
	set_up();
	gives(aclrtSubscribeReport(self(), stream), 0);
	gives(aclrtLaunchCallback(queues_another, number(1), ACL_CALLBACK_NO_BLOCK, stream), 0);
	for (int i = 1; i <= MANY; i++) {
		gives(aclrtProcessReport(10000), 0);
		ok(count == i);
	}
	end();
}

static void test_who_may_not(void)
{
	aclrtStream there;

	begin_with(2);
	stream = new_stream();
	refuses(aclrtLaunchCallback(note, NULL, 0, stream), ACL_ERROR_RT_STREAM_NO_CB_REG,
		"aclrtSubscribeReport() comes first");
	gives(aclrtSubscribeReport(self(), stream), 0);
	refuses(aclrtSubscribeReport(self(), stream), ACL_ERROR_RT_STREAM_SUBSCRIBE,
		"has a thread already");
	gives(aclrtSubscribeReport(self() + 1, stream), ACL_ERROR_RT_STREAM_SUBSCRIBE);
	gives(aclrtUnSubscribeReport(self() + 1, stream), ACL_ERROR_RT_THREAD_SUBSCRIBE);
	gives(aclrtUnSubscribeReport(self(), NULL), ACL_ERROR_RT_THREAD_SUBSCRIBE);
	gives(aclrtLaunchCallback(NULL, NULL, 0, stream), ACL_ERROR_INVALID_PARAM);
	refuses(aclrtLaunchCallback(note, NULL, 2, stream), ACL_ERROR_RT_PARAM_INVALID,
		"blockType is 2");
	refuses(aclrtProcessReport(0), ACL_ERROR_RT_PARAM_INVALID, "timeout is 0");
	gives(aclrtProcessReport(-2), ACL_ERROR_RT_PARAM_INVALID);
	gives(aclrtSetDevice(1), 0);
	there = new_stream();
	refuses(aclrtSubscribeReport(self(), there), ACL_ERROR_RT_THREAD_SUBSCRIBE,
		"another device");
	gives(aclrtSubscribeReport(self(), stream), ACL_ERROR_RT_STREAM_CONTEXT);
	gives(aclrtResetDevice(0), 0);
	gives(aclrtSubscribeReport(self(), there), 0);
	gives(aclrtUnSubscribeReport(self(), there), 0);
	gives(aclrtUnSubscribeReport(self(), there), ACL_ERROR_RT_THREAD_SUBSCRIBE);
	end();
}

/* Callbacks take no file descriptor, and one call runs all that are due. */
static void test_many_are_due(void)
{
	int before;

	set_up();
	gives(aclrtSubscribeReport(self(), stream), 0);
	before = files();
	for (int i = 0; i < 2 * MANY; i++)
		gives(aclrtLaunchCallback(note, number(i), ACL_CALLBACK_NO_BLOCK, stream), 0);
	gives(aclrtSynchronizeStream(stream), 0);
	mock_wait_idle();
	ok(files() == before);
	gives(aclrtProcessReport(10000), 0);
	ok(count == 2 * MANY);
	for (int i = 0; i < 2 * MANY; i++)
		ok(ran[i] == i);
	end();
}

#define STREAMS 7 /* the mock has 8 */

static void test_streams_are_due(void)
{
	aclrtStream streams[STREAMS];

	set_up();
	for (int i = 0; i < STREAMS; i++) {
		streams[i] = new_stream();
		gives(aclrtSubscribeReport(self(), streams[i]), 0);
		gives(aclrtLaunchCallback(note, number(i), ACL_CALLBACK_NO_BLOCK, streams[i]), 0);
	}
	gives(aclrtSynchronizeDevice(), 0);
	mock_wait_idle();
	gives(aclrtProcessReport(10000), 0);
	ok(count == STREAMS);
	/* Signals of callbacks that were dropped are none of later ones. */
	gives(aclrtLaunchCallback(note, number(1), ACL_CALLBACK_NO_BLOCK, streams[0]), 0);
	gives(aclrtUnSubscribeReport(self(), streams[0]), 0);
	gives(aclrtSynchronizeDevice(), 0);
	mock_wait_idle();
	gives(aclrtSubscribeReport(self(), streams[0]), 0);
	mock_hold(0);
	gives(aclrtMemcpyAsync(ptr, SIZE, host, SIZE, 1, streams[0]), 0);
	gives(aclrtLaunchCallback(note, number(2), ACL_CALLBACK_NO_BLOCK, streams[0]), 0);
	gives(aclrtProcessReport(1), ACL_ERROR_RT_REPORT_TIMEOUT);
	mock_release(0);
	gives(aclrtProcessReport(10000), 0);
	ok(count == STREAMS + 1 && ran[STREAMS] == 2);
	end();
}

static void test_no_descriptor_is_left(void)
{
	struct rlimit before, none;

	set_up();
	getrlimit(RLIMIT_NOFILE, &before);
	none = (struct rlimit){ 3, before.rlim_max };
	setrlimit(RLIMIT_NOFILE, &none);
	refuses(aclrtSubscribeReport(self(), stream), ACL_ERROR_RT_RESOURCE_ALLOC_FAIL,
		"descriptors");
	refuses(aclrtProcessReport(1), ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "descriptors");
	setrlimit(RLIMIT_NOFILE, &before);
	/* The thread can wait, the stream has no eventfd. */
	gives(aclrtSubscribeReport(self(), NULL), 0);
	setrlimit(RLIMIT_NOFILE, &none);
	refuses(aclrtSubscribeReport(self(), stream), ACL_ERROR_RT_RESOURCE_ALLOC_FAIL,
		"descriptors");
	setrlimit(RLIMIT_NOFILE, &before);
	gives(aclrtSubscribeReport(self(), stream), 0);
	gives(aclrtLaunchCallback(note, number(2), ACL_CALLBACK_NO_BLOCK, stream), 0);
	gives(aclrtProcessReport(10000), 0);
	ok(count == 1 && ran[0] == 2);
	end();
}

static void test_blocking_and_waiting_in_one_thread(void)
{
	set_up();
	gives(aclrtSubscribeReport(self(), stream), 0);
	gives(aclrtLaunchCallback(note, number(1), ACL_CALLBACK_BLOCK, stream), 0);
	/* It would wait for itself. */
	refuses(aclrtMemsetAsync(ptr, SIZE, 1, SIZE, stream), ACL_ERROR_RT_PARAM_INVALID,
		"aclrtProcessReport() comes first");
	gives(aclrtSynchronizeStream(stream), ACL_ERROR_RT_PARAM_INVALID);
	gives(aclrtDestroyStream(stream), ACL_ERROR_RT_PARAM_INVALID);
	gives(aclrtProcessReport(10000), 0);
	ok(count == 1);
	gives(aclrtMemsetAsync(ptr, SIZE, 1, SIZE, stream), 0);
	gives(aclrtSynchronizeStream(stream), 0);
	end();
}

#define COMES_FIRST "aclrtProcessReport() comes first"

/* Nor does a call hang that waits for more than the stream. */
static void test_blocking_and_waiting_for_all(void)
{
	aclrtContext context, first;

	set_up();
	gives(aclrtSubscribeReport(self(), NULL), 0);
	gives(aclrtLaunchCallback(note, number(1), ACL_CALLBACK_BLOCK, NULL), 0);
	refuses(aclrtSynchronizeDevice(), ACL_ERROR_RT_PARAM_INVALID, COMES_FIRST);
	refuses(aclrtSynchronizeDeviceWithTimeout(-1), ACL_ERROR_RT_PARAM_INVALID,
		COMES_FIRST);
	gives(aclrtSynchronizeDeviceWithTimeout(1), ACL_ERROR_RT_PARAM_INVALID);
	refuses(aclrtFreeWithDevSync(ptr), ACL_ERROR_RT_PARAM_INVALID, COMES_FIRST);
	refuses(aclrtFreeHostWithDevSync(host), ACL_ERROR_RT_PARAM_INVALID, COMES_FIRST);
	gives(aclrtProcessReport(10000), 0);
	gives(aclrtFreeWithDevSync(ptr), 0);
	gives(aclrtFreeHostWithDevSync(host), 0);
	gives(aclrtSynchronizeDeviceWithTimeout(-1), 0);
	gives(aclrtGetCurrentContext(&first), 0);
	gives(aclrtCreateContext(&context, 0), 0);
	stream = new_stream();
	for (int i = 0; i < 2; i++) {
		aclrtStream of = i ? stream : NULL;

		gives(aclrtSubscribeReport(self(), of), 0);
		gives(aclrtLaunchCallback(note, number(2), ACL_CALLBACK_BLOCK, of), 0);
		refuses(aclrtDestroyContext(context), ACL_ERROR_RT_PARAM_INVALID, COMES_FIRST);
		gives(aclrtProcessReport(10000), 0);
	}
	ok(count == 3);
	/* One of another context is not waited for. */
	gives(aclrtSetCurrentContext(first), 0);
	gives(aclrtLaunchCallback(note, number(3), ACL_CALLBACK_BLOCK, NULL), 0);
	gives(aclrtDestroyContext(context), 0);
	gives(aclrtProcessReport(10000), 0);
	ok(count == 4);
	end();
}

/* Nobody will run it, and nobody hangs. */
static void test_blocking_is_dropped(void)
{
	set_up();
	gives(aclrtSubscribeReport(self(), stream), 0);
	gives(aclrtLaunchCallback(note, number(1), ACL_CALLBACK_BLOCK, stream), 0);
	gives(aclrtUnSubscribeReport(self(), stream), 0);
	gives(aclrtSynchronizeStream(stream), 0);
	gives(aclrtSubscribeReport(self(), stream), 0);
	gives(aclrtLaunchCallback(note, number(1), ACL_CALLBACK_BLOCK, stream), 0);
	gives(aclrtResetDevice(0), 0);
	gives(aclrtProcessReport(1), ACL_ERROR_RT_THREAD_SUBSCRIBE);
	ok(!count);
	end();
}

/* The stream comes to the callback after the thread has left it. */
static void test_dropped_before_it_is_due(void)
{
	set_up();
	gives(aclrtSubscribeReport(self(), stream), 0);
	keep_busy();
	gives(aclrtLaunchCallback(note, number(1), ACL_CALLBACK_BLOCK, stream), 0);
	gives(aclrtUnSubscribeReport(self(), stream), 0);
	mock_release(0);
	gives(aclrtSynchronizeStream(stream), 0);
	gives(aclrtSubscribeReport(self(), stream), 0);
	gives(aclrtLaunchCallback(note, number(2), ACL_CALLBACK_BLOCK, stream), 0);
	gives(aclrtProcessReport(10000), 0);
	ok(count == 1 && ran[0] == 2);
	end();
}

static void unsubscribe_and_wait(void *data)
{
	note(data);
	gives(aclrtUnSubscribeReport(self(), stream), 0);
	refuses(aclrtSynchronizeStream(stream), ACL_ERROR_RT_PARAM_INVALID, "ACL_CALLBACK_BLOCK");
	refuses(aclrtSynchronizeDevice(), ACL_ERROR_RT_PARAM_INVALID, "ACL_CALLBACK_BLOCK");
}

/* A callback under way blocks its stream, also when its thread has left the stream. */
static void test_unsubscribed_by_the_callback(void)
{
	set_up();
	gives(aclrtSubscribeReport(self(), stream), 0);
	gives(aclrtLaunchCallback(unsubscribe_and_wait, number(1), ACL_CALLBACK_BLOCK, stream), 0);
	gives(aclrtProcessReport(10000), 0);
	gives(aclrtSynchronizeStream(stream), 0);
	ok(count == 1);
	end();
}

static void test_after_a_failure(void)
{
	set_up();
	gives(aclrtSubscribeReport(self(), stream), 0);
	keep_busy();
	mock_fail(MOCK_OPERATION, 1, EIO);
	gives(aclrtLaunchCallback(note, number(1), ACL_CALLBACK_NO_BLOCK, stream), 0);
	mock_release(0);
	gives(aclrtProcessReport(10000), 0);
	ok(count == 1);
	/* Of both kinds they run in a stream that has failed, too. */
	gives(aclrtLaunchCallback(note, number(2), ACL_CALLBACK_NO_BLOCK, stream), 0);
	gives(aclrtProcessReport(10000), 0);
	gives(aclrtSynchronizeStream(stream), ACL_ERROR_RT_SYS_DMA);
	gives(aclrtLaunchCallback(note, number(3), ACL_CALLBACK_NO_BLOCK, stream), 0);
	gives(aclrtProcessReport(10000), 0);
	ok(count == 3 && ran[1] == 2 && ran[2] == 3);
	end();
}

/* ---- A thread of its own runs them, as in the interface's examples ---- */

static atomic_bool ends;

static void *runs(void *arg)
{
	while (!ends)
		aclrtProcessReport(20);
	return arg;
}

static void start(pthread_t *thread)
{
	ends = false;
	pthread_create(thread, NULL, runs, NULL);
	gives(aclrtSubscribeReport((uint64_t)*thread, stream), 0);
}

static void stop(pthread_t thread)
{
	gives(aclrtUnSubscribeReport((uint64_t)thread, stream), 0);
	ends = true;
	pthread_join(thread, NULL);
}

static void see(void *data)
{
	/* The stream is kept from going on. */
	ran[count] = *mock_memory(0, MOCK_BASE) == (uint8_t)(intptr_t)data;
	count++;
}

static void test_blocking(void)
{
	pthread_t thread;

	set_up();
	start(&thread);
	for (int i = 1; i <= MANY; i++) {
		gives(aclrtMemsetAsync(ptr, SIZE, i, SIZE, stream), 0);
		gives(aclrtLaunchCallback(see, number(i), ACL_CALLBACK_BLOCK, stream), 0);
	}
	gives(aclrtMemsetAsync(ptr, SIZE, 0, SIZE, stream), 0);
	gives(aclrtSynchronizeStream(stream), 0);
	ok(count == MANY);
	for (int i = 0; i < MANY; i++)
		ok(ran[i]);
	stop(thread);
	end();
}

static void test_both_kinds_in_order(void)
{
	pthread_t thread;

	set_up();
	start(&thread);
	for (int i = 0; i < MANY; i++)
		gives(aclrtLaunchCallback(note, number(i),
					  i % 3 ? ACL_CALLBACK_NO_BLOCK : ACL_CALLBACK_BLOCK,
					  stream), 0);
	gives(aclrtLaunchCallback(note, number(MANY), ACL_CALLBACK_BLOCK, stream), 0);
	gives(aclrtSynchronizeStream(stream), 0);
	ok(count == MANY + 1);
	for (int i = 0; i <= MANY; i++)
		ok(ran[i] == i);
	stop(thread);
	end();
}

static pid_t waiting;

static void *waits_for_ever(void *arg)
{
	__atomic_store_n(&waiting, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	aclrtProcessReport(-1);
	gives(aclrtProcessReport(-1), ACL_ERROR_RT_THREAD_SUBSCRIBE);
	return arg;
}

/* The last stream leaves: the thread does not wait for ever. */
static void test_a_thread_is_left(void)
{
	pthread_t thread;

	set_up();
	pthread_create(&thread, NULL, waits_for_ever, NULL);
	gives(aclrtSubscribeReport((uint64_t)thread, stream), 0);
	gives(aclrtLaunchCallback(note, number(1), ACL_CALLBACK_BLOCK, stream), 0);
	gives(aclrtSynchronizeStream(stream), 0);
	ok(count == 1);
	wait_asleep(__atomic_load_n(&waiting, __ATOMIC_ACQUIRE));
	gives(aclrtUnSubscribeReport((uint64_t)thread, stream), 0);
	pthread_join(thread, NULL);
	end();
}

/* While another thread resets the device. */
static void test_reset_under_callbacks(void)
{
	pthread_t thread;

	for (int i = 0; i < MANY; i++) {
		set_up();
		ends = false;
		pthread_create(&thread, NULL, runs, NULL);
		gives(aclrtSubscribeReport((uint64_t)thread, stream), 0);
		aclrtLaunchCallback(note, number(1), ACL_CALLBACK_BLOCK, stream);
		aclrtLaunchCallback(note, number(2), ACL_CALLBACK_NO_BLOCK, stream);
		gives(aclrtResetDevice(0), 0);
		ends = true;
		pthread_join(thread, NULL);
		end();
		if (i + 1 < MANY)
			mock_reset();
		mock_add(0);
	}
}

static void *destroys_context(void *arg)
{
	gives(aclrtDestroyContext(arg), 0);
	return arg;
}

/* Another thread destroys a context, and waits for a callback that this thread would have to run. */
static void test_reset_under_a_context_that_ends(void)
{
	aclrtContext context;
	pthread_t thread;

	set_up();
	gives(aclrtCreateContext(&context, 0), 0);
	gives(aclrtSubscribeReport(self(), NULL), 0);
	gives(aclrtLaunchCallback(note, number(1), ACL_CALLBACK_BLOCK, NULL), 0);
	pthread_create(&thread, NULL, destroys_context, context);
	while (!aclrtSetCurrentContext(context))
		sched_yield();
	gives(aclrtResetDeviceForce(0), 0);
	pthread_join(thread, NULL);
	ok(!count);
	end();
}

/* ---- While a launch is under way ---- */

static pid_t other_tid;
static atomic_bool other_may_go, other_goes, other_is_done;
static sem_t launched;

static void *launches(void *arg)
{
	gives(aclrtSetDevice(0), 0);
	__atomic_store_n(&other_tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	while (!other_may_go)
		sched_yield();
	other_goes = true;
	gives(aclrtLaunchCallback(note, number(2), ACL_CALLBACK_NO_BLOCK, stream), 0);
	other_is_done = true;
	return arg;
}

/* The submission of this thread fails when the others have come as far as they can. */
static void let_others_go(void)
{
	other_may_go = true;
	while (!other_goes)
		sched_yield();
	wait_asleep(__atomic_load_n(&other_tid, __ATOMIC_ACQUIRE));
	while (other_is_done && !count)
		sched_yield();
	mock_fail(PACCEL_NR_SUBMIT, 1, ENOMEM);
}

static void note_and_wait(void *data)
{
	note(data);
	sem_wait(&launched);
}

static void fail_beside_another(aclrtCallbackBlockType type)
{
	pthread_t reader, other;

	set_up();
	other_may_go = other_goes = other_is_done = false;
	__atomic_store_n(&other_tid, 0, __ATOMIC_RELEASE);
	sem_init(&launched, 0, 0);
	start(&reader);
	pthread_create(&other, NULL, launches, NULL);
	while (!__atomic_load_n(&other_tid, __ATOMIC_ACQUIRE))
		sched_yield();
	mock_before(PACCEL_NR_SUBMIT, let_others_go);
	gives(aclrtLaunchCallback(note_and_wait, number(1), type, stream),
	      ACL_ERROR_RT_RESOURCE_ALLOC_FAIL);
	sem_post(&launched);
	pthread_join(other, NULL);
	while (!count)
		sched_yield();
	stop(reader);
	ok(count == 1 && ran[0] == 2);
	end();
}

/* It is not run, and what another thread launches is run. */
static void test_launch_fails_beside_another(void)
{
	fail_beside_another(ACL_CALLBACK_NO_BLOCK);
	mock_reset();
	fail_beside_another(ACL_CALLBACK_BLOCK);
}

static uint64_t served_by;

static void *unsubscribes(void *arg)
{
	gives(aclrtSetDevice(0), 0);
	gives(aclrtUnSubscribeReport(served_by, stream), 0);
	return arg;
}

static void unsubscribe(void)
{
	in_thread(unsubscribes, NULL);
}

static void unsubscribe_and_fail(void)
{
	unsubscribe();
	mock_fail(PACCEL_NR_SUBMIT, 1, ENOMEM);
}

/* It is dropped, whether it comes to be queued or not. */
static void test_dropped_during_its_launch(void)
{
	set_up();
	served_by = self();
	for (int type = ACL_CALLBACK_NO_BLOCK; type <= ACL_CALLBACK_BLOCK; type++) {
		gives(aclrtSubscribeReport(self(), stream), 0);
		mock_before(PACCEL_NR_SUBMIT, unsubscribe);
		gives(aclrtLaunchCallback(note, number(1), type, stream), 0);
		gives(aclrtSynchronizeStream(stream), 0);
		gives(aclrtSubscribeReport(self(), stream), 0);
		mock_before(PACCEL_NR_SUBMIT, unsubscribe_and_fail);
		gives(aclrtLaunchCallback(note, number(1), type, stream),
		      ACL_ERROR_RT_RESOURCE_ALLOC_FAIL);
	}
	gives(aclrtProcessReport(1), ACL_ERROR_RT_THREAD_SUBSCRIBE);
	ok(!count);
	end();
}

/* ---- Callbacks that are launched while another is pending ---- */

static aclrtStream second;
static sem_t runs_now;

static void note_between(void *data)
{
	sem_post(&runs_now);
	sem_wait(&launched);
	note(data);
}

static void start_other(pthread_t *other)
{
	other_may_go = other_goes = other_is_done = false;
	__atomic_store_n(&other_tid, 0, __ATOMIC_RELEASE);
	sem_init(&launched, 0, 0);
	sem_init(&runs_now, 0, 0);
	pthread_create(other, NULL, launches, NULL);
	while (!__atomic_load_n(&other_tid, __ATOMIC_ACQUIRE))
		sched_yield();
}

/* Until its launch has returned, which does not wait for the callback that is running. */
static void let_other_launch(void)
{
	other_may_go = true;
	while (!other_is_done)
		sched_yield();
}

static void launch_third(void *data)
{
	gives(aclrtLaunchCallback(note, data, ACL_CALLBACK_BLOCK, stream), 0);
}

/* Threads, and functions that other streams wait for, launch on a stream that waits. */
static void test_launch_on_a_stream_that_waits(void)
{
	pthread_t reader, other;

	set_up();
	second = new_stream();
	start_other(&other);
	start(&reader);
	gives(aclrtSubscribeReport(self(), second), 0);
	gives(aclrtLaunchCallback(note_between, number(1), ACL_CALLBACK_BLOCK, stream), 0);
	sem_wait(&runs_now);
	let_other_launch();
	gives(aclrtLaunchCallback(launch_third, number(3), ACL_CALLBACK_BLOCK, second), 0);
	gives(aclrtProcessReport(10000), 0);
	sem_post(&launched);
	pthread_join(other, NULL);
	while (count < 3)
		sched_yield();
	ok(ran[0] == 1 && ran[1] == 2 && ran[2] == 3);
	stop(reader);
	gives(aclrtUnSubscribeReport(self(), second), 0);
	end();
}

static void wait_for_second(void *data)
{
	gives(aclrtSetDevice(0), 0);
	sem_post(&runs_now);
	gives(aclrtSynchronizeStream(second), 0);
	note(data);
}

/* The callback that a stream waits for waits for another stream. */
static void test_launch_on_streams_that_wait(void)
{
	pthread_t reader, other;

	set_up();
	second = new_stream();
	start_other(&other);
	start(&reader);
	gives(aclrtSubscribeReport(self(), second), 0);
	gives(aclrtLaunchCallback(note, number(1), ACL_CALLBACK_BLOCK, second), 0);
	gives(aclrtLaunchCallback(wait_for_second, number(4), ACL_CALLBACK_BLOCK, stream), 0);
	sem_wait(&runs_now);
	let_other_launch();
	gives(aclrtLaunchCallback(note, number(3), ACL_CALLBACK_BLOCK, stream), 0);
	gives(aclrtProcessReport(10000), 0);
	pthread_join(other, NULL);
	while (count < 4)
		sched_yield();
	ok(ran[0] == 1 && ran[1] == 4 && ran[2] == 2 && ran[3] == 3);
	stop(reader);
	gives(aclrtUnSubscribeReport(self(), second), 0);
	end();
}

static void *launches_blocking(void *arg)
{
	gives(aclrtSetDevice(0), 0);
	gives(aclrtLaunchCallback(note, arg, ACL_CALLBACK_BLOCK, stream), 0);
	return arg;
}

static pid_t blocking_tid;

static void *launches_blocking_slowly(void *arg)
{
	__atomic_store_n(&blocking_tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	return launches_blocking(arg);
}

static pthread_t blocking;

/* While this thread queues an eventfd operation, one launches that waits for its end. */
static void launch_blocking_and_another(void)
{
	pthread_create(&blocking, NULL, launches_blocking_slowly, number(1));
	while (!__atomic_load_n(&blocking_tid, __ATOMIC_ACQUIRE))
		sched_yield();
	wait_asleep(__atomic_load_n(&blocking_tid, __ATOMIC_ACQUIRE));
	other_may_go = true;
	while (!other_goes)
		sched_yield();
	wait_asleep(__atomic_load_n(&other_tid, __ATOMIC_ACQUIRE));
	ok(!other_is_done);
}

/* The launches of other threads do not overtake it, however many there are. */
static void test_launches_do_not_overtake(void)
{
	pthread_t reader, other;

	set_up();
	start_other(&other);
	start(&reader);
	__atomic_store_n(&blocking_tid, 0, __ATOMIC_RELEASE);
	mock_before(PACCEL_NR_SUBMIT, launch_blocking_and_another);
	gives(aclrtLaunchCallback(note, number(3), ACL_CALLBACK_NO_BLOCK, stream), 0);
	pthread_join(blocking, NULL);
	pthread_join(other, NULL);
	while (count < 3)
		sched_yield();
	stop(reader);
	ok(ran[0] + ran[1] + ran[2] == 6);
	end();
}

/* The thread that has to run the callbacks launches while the stream waits for them. */
static void test_reader_launches_on_a_stream_that_waits(void)
{
	set_up();
	sem_init(&launched, 0, 0);
	sem_init(&runs_now, 0, 0);
	gives(aclrtSubscribeReport(self(), stream), 0);
	gives(aclrtLaunchHostFunc(stream, note_between, number(1)), 0);
	sem_wait(&runs_now);
	gives(aclrtLaunchCallback(note, number(2), ACL_CALLBACK_NO_BLOCK, stream), 0);
	in_thread(launches_blocking, number(3));
	gives(aclrtLaunchCallback(note, number(4), ACL_CALLBACK_BLOCK, stream), 0);
	gives(aclrtLaunchCallback(note, number(5), ACL_CALLBACK_NO_BLOCK, stream), 0);
	gives(aclrtProcessReport(1), ACL_ERROR_RT_REPORT_TIMEOUT);
	sem_post(&launched);
	while (count < 5)
		gives(aclrtProcessReport(10000), 0);
	gives(aclrtSynchronizeStream(stream), 0);
	for (int i = 0; i < 5; i++)
		ok(ran[i] == i + 1);
	end();
}

/* ---- In libaccel's thread ---- */

static void set(void *data)
{
	*(char *)data = 1;
	aclrtSynchronizeStream(NULL);
	ok(strstr(aclGetRecentErrMsg(), "no current context"));
}

static void test_host_function(void)
{
	set_up();
	host[0] = 0;
	gives(aclrtLaunchHostFunc(stream, set, host), 0);
	gives(aclrtMemcpyAsync(ptr, SIZE, host, SIZE, 1, stream), 0);
	gives(aclrtSynchronizeStream(stream), 0);
	ok(*mock_memory(0, MOCK_BASE) == 1);
	gives(aclrtLaunchHostFunc(stream, NULL, host), ACL_ERROR_INVALID_PARAM);
	gives(aclrtLaunchHostFunc(number(77), set, host), ACL_ERROR_RT_INVALID_HANDLE);
	end();
}

static __thread bool stays;
void __real_state_unlock(void);
void __wrap_state_unlock(void);

/* A thread of libaccel's stays between the end of a function and its return to libaccel. */
void __wrap_state_unlock(void)
{
	__real_state_unlock();
	if (!stays)
		return;
	stays = false;
	sem_post(&runs_now);
	sem_wait(&launched);
}

static void stay(void *data)
{
	note(data);
	stays = true;
}

static void launch_on_second(void *data)
{
	gives(aclrtSetDevice(0), 0);
	gives(aclrtLaunchCallback(note, data, ACL_CALLBACK_NO_BLOCK, second), 0);
	sem_post(&launched);
}

/* On a stream that has just gone past a function, of which libaccel does not know yet. */
static void test_host_function_launches(void)
{
	set_up();
	sem_init(&launched, 0, 0);
	sem_init(&runs_now, 0, 0);
	second = new_stream();
	gives(aclrtSubscribeReport(self(), second), 0);
	gives(aclrtLaunchHostFunc(second, stay, number(1)), 0);
	sem_wait(&runs_now);
	gives(aclrtLaunchHostFunc(stream, launch_on_second, number(2)), 0);
	gives(aclrtSynchronizeStream(stream), 0);
	gives(aclrtProcessReport(10000), 0);
	ok(count == 2 && ran[0] == 1 && ran[1] == 2);
	end();
}

static void ends_all(void *data)
{
	const char *words = "would wait for itself";

	for (int i = 0; i < 4; i++) {
		aclError got = i == 0 ? aclrtResetDevice(0) :
			       i == 1 ? aclrtResetDeviceForce(0) :
			       i == 2 ? aclFinalizeReference(NULL) : aclFinalize();

		ok(got == ACL_ERROR_RT_PARAM_INVALID);
		ok(strstr(aclGetRecentErrMsg(), words));
	}
	*(char *)data = 1;
}

static void is_open_until_the_end(void)
{
	gives(aclrtMemset(ptr, SIZE, 1, SIZE), 0);
	end();
	ok(!mock_files());
}

/* The close of a card waits for the thread that runs it. */
static void test_host_function_ends_nothing(void)
{
	set_up();
	host[0] = 0;
	gives(aclrtLaunchHostFunc(stream, ends_all, host), 0);
	gives(aclrtSynchronizeStream(stream), 0);
	ok(host[0] == 1);
	is_open_until_the_end();
}

static void ends_what_stays_open(void *data)
{
	uint64_t left;

	gives(aclrtSetDevice(0), 0);
	gives(aclrtResetDevice(0), 0);
	gives(aclInit(NULL), 0);
	gives(aclFinalizeReference(&left), 0);
	ok(left == 1);
	*(char *)data = 1;
}

/* Calls that close no device. */
static void test_host_function_ends_a_count(void)
{
	set_up();
	gives(aclrtSubscribeReport(self(), stream), 0);
	host[0] = host[1] = 0;
	gives(aclrtLaunchHostFunc(stream, ends_what_stays_open, host), 0);
	gives(aclrtSynchronizeStream(stream), 0);
	gives(aclrtLaunchCallback(ends_what_stays_open, host + 1, ACL_CALLBACK_BLOCK, stream), 0);
	gives(aclrtProcessReport(10000), 0);
	ok(host[0] == 1 && host[1] == 1);
	is_open_until_the_end();
}

static void reset_while_closing(void *data)
{
	int32_t id;

	gives(aclrtSetDevice(0), 0);
	sem_post(&runs_now);
	while (!aclrtGetDevice(&id))
		sched_yield();
	gives(aclrtResetDevice(0), ACL_ERROR_RT_PARAM_INVALID);
	*(char *)data = 1;
}

/* Nor does it wait for another thread, which waits for it. */
static void test_host_function_during_a_reset(void)
{
	static char is_done;

	set_up();
	sem_init(&runs_now, 0, 0);
	gives(aclrtLaunchHostFunc(stream, reset_while_closing, &is_done), 0);
	sem_wait(&runs_now);
	for (int i = 0; i < 2; i++)
		gives(aclrtResetDevice(0), 0);
	ok(is_done);
	end();
}

static void set_while_closing(void *data)
{
	aclrtContext context;
	int32_t id;

	gives(aclrtSetDevice(0), 0);
	sem_post(&runs_now);
	while (!aclrtGetDevice(&id))
		sched_yield();
	refuses(aclrtSetDevice(0), ACL_ERROR_RT_PARAM_INVALID, "being reset");
	refuses(aclrtCreateContext(&context, 0), ACL_ERROR_RT_PARAM_INVALID, "being reset");
	*(char *)data = 1;
}

/* Nor does it wait for the end of a reset, which waits for it. */
static void test_host_function_sets_during_a_reset(void)
{
	static char is_done;

	set_up();
	sem_init(&runs_now, 0, 0);
	gives(aclrtLaunchHostFunc(stream, set_while_closing, &is_done), 0);
	sem_wait(&runs_now);
	for (int i = 0; i < 2; i++)
		gives(aclrtResetDevice(0), 0);
	ok(is_done);
	end();
}

static void runs_one(void *data)
{
	gives(aclrtLaunchCallback(ends_all, data, ACL_CALLBACK_NO_BLOCK, NULL), 0);
	gives(aclrtProcessReport(10000), 0);
}

/* Nor does a callback that blocks its stream, nor one that it runs: the close waits for the stream. */
static void test_blocking_ends_nothing(void)
{
	set_up();
	gives(aclrtSubscribeReport(self(), stream), 0);
	gives(aclrtSubscribeReport(self(), NULL), 0);
	host[0] = 0;
	gives(aclrtLaunchCallback(ends_all, host, ACL_CALLBACK_BLOCK, stream), 0);
	gives(aclrtProcessReport(10000), 0);
	ok(host[0] == 1);
	host[0] = 0;
	gives(aclrtLaunchCallback(runs_one, host, ACL_CALLBACK_BLOCK, stream), 0);
	gives(aclrtProcessReport(10000), 0);
	ok(host[0] == 1);
	is_open_until_the_end();
}

int main(void)
{
	RUN(test_own_thread);
	RUN(test_several_streams);
	RUN(test_a_callback_asks_for_more);
	RUN(test_a_callback_queues_another);
	RUN(test_who_may_not);
	RUN(test_many_are_due);
	RUN(test_streams_are_due);
	RUN(test_no_descriptor_is_left);
	RUN(test_blocking_and_waiting_in_one_thread);
	RUN(test_blocking_and_waiting_for_all);
	RUN(test_blocking_is_dropped);
	RUN(test_dropped_before_it_is_due);
	RUN(test_unsubscribed_by_the_callback);
	RUN(test_after_a_failure);
	RUN(test_blocking);
	RUN(test_both_kinds_in_order);
	RUN(test_a_thread_is_left);
	RUN(test_reset_under_callbacks);
	RUN(test_reset_under_a_context_that_ends);
	RUN(test_launch_fails_beside_another);
	RUN(test_dropped_during_its_launch);
	RUN(test_launch_on_a_stream_that_waits);
	RUN(test_launch_on_streams_that_wait);
	RUN(test_launches_do_not_overtake);
	RUN(test_reader_launches_on_a_stream_that_waits);
	RUN(test_host_function);
	RUN(test_host_function_launches);
	RUN(test_host_function_ends_nothing);
	RUN(test_host_function_ends_a_count);
	RUN(test_host_function_during_a_reset);
	RUN(test_host_function_sets_during_a_reset);
	RUN(test_blocking_ends_nothing);
	return tap_end();
}
