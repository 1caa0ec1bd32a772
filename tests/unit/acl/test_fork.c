/* SPDX-License-Identifier: MIT */
/* A process that is forked from one that has begun. */
#include "fixture.h"

#include "../../../lib/acl/system.h"

#include <dirent.h>
#include <stdatomic.h>
#include <sys/wait.h>

#define SIZE 64
#define FORKS 100

static char *ptr, *host;
static aclrtStream stream;
static aclrtEvent event;
static aclrtContext context;
static char bytes[SIZE];
static int ran;

static void note(void *data)
{
	ran += (int)(intptr_t)data;
}

static uint64_t self(void)
{
	return (uint64_t)pthread_self();
}

static void set_up(void)
{
	begin();
	ran = 0;
	ptr = memory(SIZE);
	host = pinned(SIZE);
	stream = new_stream();
	event = new_event();
	gives(aclrtGetCurrentContext(&context), 0);
	gives(aclrtRecordEvent(event, stream), 0);
	gives(aclrtSynchronizeStream(stream), 0);
}

static void everything_is_refused(void)
{
	aclrtEventRecordedStatus status;
	void *made = &made;

	refuses(aclrtMalloc(&made, 64, 0), ACL_ERROR_UNINITIALIZE, "was forked from");
	ok(!made);
	gives(aclrtMallocHost(&made, 64), ACL_ERROR_UNINITIALIZE);
	gives(aclrtFree(ptr), ACL_ERROR_UNINITIALIZE);
	gives(aclrtFreeHost(host), ACL_ERROR_UNINITIALIZE);
	gives(aclrtMemcpy(ptr, SIZE, bytes, SIZE, 1), ACL_ERROR_UNINITIALIZE);
	gives(aclrtMemcpyAsync(ptr, SIZE, bytes, SIZE, 1, stream), ACL_ERROR_UNINITIALIZE);
	gives(aclrtSynchronizeStream(stream), ACL_ERROR_UNINITIALIZE);
	gives(aclrtQueryEventStatus(event, &status), ACL_ERROR_UNINITIALIZE);
	gives(aclrtDestroyEvent(event), ACL_ERROR_UNINITIALIZE);
	gives(aclrtDestroyStream(stream), ACL_ERROR_UNINITIALIZE);
	gives(aclrtSetCurrentContext(context), ACL_ERROR_UNINITIALIZE);
	gives(aclrtSetDevice(0), ACL_ERROR_UNINITIALIZE);
	gives(aclrtResetDevice(0), ACL_ERROR_UNINITIALIZE);
	gives(aclrtProcessReport(1), ACL_ERROR_UNINITIALIZE);
	refuses(aclFinalize(), ACL_ERROR_UNINITIALIZE, "was forked from");
}

/* It begins by itself, and has nothing of the other's. */
static void begins(void)
{
	char *own;

	gives(aclInit(NULL), 0);
	refuses(aclrtMemcpy(bytes, SIZE, ptr, SIZE, 2), ACL_ERROR_RT_CONTEXT_NULL, "is gone");
	gives(aclrtSetDevice(0), 0);
	gives(aclrtSynchronizeStream(stream), ACL_ERROR_RT_INVALID_HANDLE);
	gives(aclrtDestroyEvent(event), ACL_ERROR_RT_INVALID_HANDLE);
	gives(aclrtSetCurrentContext(context), ACL_ERROR_RT_INVALID_HANDLE);
	gives(aclrtMemcpy(bytes, SIZE, ptr, SIZE, 2), ACL_ERROR_RT_PARAM_INVALID);
	gives(aclrtFree(ptr), ACL_ERROR_RT_PARAM_INVALID);
	gives(aclrtFreeHost(host), ACL_ERROR_RT_PARAM_INVALID);
	own = memory(SIZE);
	gives(aclrtMemset(own, SIZE, 7, SIZE), 0);
	gives(aclrtMemcpy(bytes, SIZE, own, SIZE, 2), 0);
	ok(bytes[SIZE - 1] == 7);
	gives(aclrtMemcpyAsync(own, SIZE, bytes, SIZE, 1, NULL), 0);
	gives(aclrtSynchronizeStream(NULL), 0);
	end();
	ok(!mock_files());
}

static void parent_goes_on(void)
{
	gives(aclrtMemset(ptr, SIZE, 3, SIZE), 0);
	gives(aclrtMemcpyAsync(host, SIZE, ptr, SIZE, 2, stream), 0);
	gives(aclrtSynchronizeStream(stream), 0);
	ok(host[SIZE - 1] == 3);
}

static void test_refused(void)
{
	set_up();
	in_child(everything_is_refused);
	parent_goes_on();
	end();
}

static void test_begins(void)
{
	set_up();
	in_child(begins);
	parent_goes_on();
	end();
}

static void forks_again(void)
{
	in_child(everything_is_refused);
	in_child(begins);
	begins();
}

static void test_grandchild(void)
{
	set_up();
	in_child(forks_again);
	parent_goes_on();
	end();
}

/* One that had not begun is as any other. */
static void has_not_begun(void)
{
	refuses(aclrtSetDevice(0), ACL_ERROR_UNINITIALIZE, "has not been called");
	begin();
	memory(SIZE);
	end();
}

static void test_before_it_began(void)
{
	gives(aclInit(NULL), 0);
	gives(aclFinalize(), 0);
	in_child(has_not_begun);
}

/* ---- While other threads are in calls ---- */

static atomic_bool ends;

static void *works(void *arg)
{
	void *made;

	while (!ends) {
		gives(aclrtSetDevice(0), 0);
		gives(aclrtMalloc(&made, 8, 0), 0);
		gives(aclrtMemset(made, 8, 1, 8), 0);
		gives(aclrtFree(made), 0);
		gives(aclrtResetDevice(0), 0);
	}
	return arg;
}

static void begins_briefly(void)
{
	gives(aclInit(NULL), 0);
	gives(aclrtSetDevice(0), 0);
	memory(SIZE);
	end();
}

static void test_fork_under_work(void)
{
	pthread_t threads[2];

	set_up();
	ends = false;
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, works, NULL);
	for (int i = 0; i < FORKS; i++)
		in_child(begins_briefly);
	ends = true;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	parent_goes_on();
	end();
}

static void *sets_options(void *arg)
{
	while (!ends) {
		aclSetCompileopt(1, arg);
		aclrtSetSysParamOpt(1, 2);
	}
	return arg;
}

/* A child that hangs is killed, which is no exit. */
static void knows_options(void)
{
	char value[256];

	alarm(10);
	gives(aclGetCompileopt(1, value, sizeof(value)), 0);
	gives(aclrtSetSysParamOpt(1, 3), 0);
}

static void test_fork_under_settings(void)
{
	pthread_t threads[2];
	char value[256];

	memset(value, 'v', 255);
	value[255] = 0;
	gives(aclInit(NULL), 0);
	ends = false;
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, sets_options, value);
	for (int i = 0; i < FORKS; i++)
		in_child(knows_options);
	ends = true;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	end();
}

/* ---- Callbacks ---- */

/* Descriptors of a kind that are open. */
static int files(const char *kind)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	char name[64];
	int found = 0;

	while ((entry = readdir(dir))) {
		ssize_t size = readlinkat(dirfd(dir), entry->d_name, name, sizeof(name) - 1);

		name[size > 0 ? size : 0] = 0;
		found += !strcmp(name, kind);
	}
	closedir(dir);
	return found;
}

/* Of the address sanitizer. */
int __lsan_do_recoverable_leak_check(void) __attribute__((weak));

static void has_no_leak(void)
{
	if (__lsan_do_recoverable_leak_check)
		ok(!__lsan_do_recoverable_leak_check());
}

static void test_waits(void)
{
	aclrtStream other;

	set_up();
	other = new_stream();
	mock_hold(0);
	gives(aclrtMemcpyAsync(ptr, SIZE, host, SIZE, 1, stream), 0);
	gives(aclrtRecordEvent(event, stream), 0);
	for (int i = 0; i < 2; i++)
		gives(aclrtStreamWaitEvent(other, event), 0);
	in_child(has_no_leak);
	mock_release(0);
	gives(aclrtSynchronizeStream(other), 0);
	end();
}

static void has_no_descriptor(void)
{
	ok(!files("anon_inode:[eventfd]") && !files("anon_inode:[eventpoll]"));
}

/* Callbacks that are due, and some that were dropped before. */
static void test_descriptors(void)
{
	set_up();
	for (int i = 0; i < 2; i++) {
		gives(aclrtSubscribeReport(self(), stream), 0);
		gives(aclrtLaunchCallback(note, NULL, ACL_CALLBACK_NO_BLOCK, stream), 0);
		gives(aclrtSynchronizeStream(stream), 0);
		mock_wait_idle();
		ok(files("anon_inode:[eventfd]") && files("anon_inode:[eventpoll]"));
		in_child(has_no_descriptor);
		if (!i)
			gives(aclrtUnSubscribeReport(self(), stream), 0);
	}
	end();
	has_no_descriptor();
}

static void has_callbacks_of_its_own(void)
{
	gives(aclrtProcessReport(1), ACL_ERROR_UNINITIALIZE);
	gives(aclInit(NULL), 0);
	gives(aclrtProcessReport(1), ACL_ERROR_RT_THREAD_SUBSCRIBE);
	gives(aclrtSetDevice(0), 0);
	gives(aclrtSubscribeReport(self(), NULL), 0);
	gives(aclrtLaunchCallback(note, (void *)1, ACL_CALLBACK_NO_BLOCK, NULL), 0);
	gives(aclrtProcessReport(10000), 0);
	ok(ran == 1);
	end();
}

static void test_callbacks(void)
{
	set_up();
	gives(aclrtSubscribeReport(self(), stream), 0);
	mock_hold(0);
	gives(aclrtMemcpyAsync(ptr, SIZE, host, SIZE, 1, stream), 0);
	gives(aclrtLaunchCallback(note, (void *)2, ACL_CALLBACK_NO_BLOCK, stream), 0);
	in_child(has_callbacks_of_its_own);
	mock_release(0);
	gives(aclrtProcessReport(10000), 0);
	ok(ran == 2);
	gives(aclrtProcessReport(5), ACL_ERROR_RT_REPORT_TIMEOUT);
	gives(aclrtUnSubscribeReport(self(), stream), 0);
	end();
}

/* In a callback; the child goes on where the parent does. */
static pid_t forked;

static void forks(void *data)
{
	fflush(stdout);
	forked = fork();
	if (!forked)
		tap_wrong = 0;
	ran += (int)(intptr_t)data;
}

static void nests(void *data)
{
	gives(aclrtProcessReport(10000), 0);
	ran += (int)(intptr_t)data;
}

/* The child has come back out of the calls of the parent, and has nothing of them. */
static void came_back(void)
{
	ran = 0;
	has_callbacks_of_its_own();
	fflush(stdout);
	_exit(!!tap_wrong);
}

static void fork_in_a_callback(aclrtCallback outer, aclrtCallbackBlockType type)
{
	int status = -1;

	set_up();
	forked = -1;
	gives(aclrtSubscribeReport(self(), stream), 0);
	gives(aclrtSubscribeReport(self(), NULL), 0);
	mock_hold(0);
	gives(aclrtMemcpyAsync(ptr, SIZE, host, SIZE, 1, stream), 0);
	if (outer)
		gives(aclrtLaunchCallback(outer, (void *)2, ACL_CALLBACK_NO_BLOCK, stream), 0);
	gives(aclrtLaunchCallback(forks, (void *)1, type, stream), 0);
	if (type == ACL_CALLBACK_NO_BLOCK)
		gives(aclrtLaunchCallback(note, (void *)4, ACL_CALLBACK_NO_BLOCK, stream), 0);
	mock_release(0);
	while (forked < 0)
		gives(aclrtProcessReport(10000), 0);
	if (!forked)
		came_back();
	waitpid(forked, &status, 0);
	ok(WIFEXITED(status) && !WEXITSTATUS(status));
	while (ran != 1 + (outer ? 2 : 0) + (type == ACL_CALLBACK_NO_BLOCK ? 4 : 0))
		gives(aclrtProcessReport(10000), 0);
	end();
}

static void test_fork_in_a_callback(void)
{
	fork_in_a_callback(NULL, ACL_CALLBACK_NO_BLOCK);
	mock_reset();
	fork_in_a_callback(NULL, ACL_CALLBACK_BLOCK);
	mock_reset();
	fork_in_a_callback(nests, ACL_CALLBACK_NO_BLOCK);
}

/* There, in the child, is no thread of libaccel's that a close would wait for. */
static void begins_in_a_child(void *data)
{
	(void)data;
	in_child(begins_briefly);
}

static void test_fork_in_a_host_function(void)
{
	set_up();
	gives(aclrtLaunchHostFunc(stream, begins_in_a_child, NULL), 0);
	gives(aclrtSynchronizeStream(stream), 0);
	gives(aclrtSubscribeReport(self(), stream), 0);
	gives(aclrtLaunchCallback(begins_in_a_child, NULL, ACL_CALLBACK_BLOCK, stream), 0);
	gives(aclrtProcessReport(10000), 0);
	end();
}

int main(void)
{
	RUN(test_refused);
	RUN(test_begins);
	RUN(test_grandchild);
	RUN(test_before_it_began);
	RUN(test_fork_under_work);
	RUN(test_fork_under_settings);
	RUN(test_waits);
	RUN(test_descriptors);
	RUN(test_callbacks);
	RUN(test_fork_in_a_callback);
	RUN(test_fork_in_a_host_function);
	return tap_end();
}
