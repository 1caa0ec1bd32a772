/* SPDX-License-Identifier: MIT */
/* Helpers: what they are made of, what is refused, who closes the card. */
#include "fixture.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- What SUNDIALS and the C library would not do on request ---- */

static int major = 7, minor = 9, version_fails;

SUNErrCode __wrap_SUNDIALSGetVersionNumber(int *a, int *b, int *c, char *label, int len);
SUNErrCode __wrap_SUNDIALSGetVersionNumber(int *a, int *b, int *c, char *label, int len)
{
	*a = major;
	*b = minor;
	*c = 0;
	if (len > 0)
		*label = '\0';
	return version_fails ? SUN_ERR_ARG_CORRUPT : SUN_SUCCESS;
}

static enum { WELL, NONE, NO_OPERATIONS } new_empty;
static unsigned int made_empty;

SUNMemoryHelper __real_SUNMemoryHelper_NewEmpty(SUNContext sunctx);
SUNMemoryHelper __wrap_SUNMemoryHelper_NewEmpty(SUNContext sunctx);
SUNMemoryHelper __wrap_SUNMemoryHelper_NewEmpty(SUNContext sunctx)
{
	SUNMemoryHelper made = new_empty == NONE ? NULL : __real_SUNMemoryHelper_NewEmpty(sunctx);

	made_empty++;
	if (new_empty == NO_OPERATIONS) {
		free(made->ops);
		made->ops = NULL;
	}
	return made;
}

/* The nth next calloc() of the library under test fails; 0: none. */
static int calloc_fails;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
	return calloc_fails && !--calloc_fails ? NULL : __real_calloc(count, size);
}

static void with_context(void)
{
	gives(SUNContext_Create(SUN_COMM_NULL, &ctx), SUN_SUCCESS);
}

static void without_context(void)
{
	gives(SUNContext_Free(&ctx), SUN_SUCCESS);
}

/* ---- The constructors ---- */

static void test_opens_the_first_card(void)
{
	struct accel_pointer_info pointer;
	struct accel_device_info info;
	SUNMemory mem;

	mock_add(5);
	mock_add(2);
	begin();
	ok(mock_files() == 1);
	mem = memory_of(SIZE, DEVICE);
	expect(accel_pointer_get_info(mem->ptr, &pointer), 0);
	expect(accel_device_get_info(pointer.device, &info), 0);
	ok(info.node == 2);
	free_memory(mem);
	end();
	ok(!mock_files());
}

static void test_no_card(void)
{
	with_context();
	ok(!SUNMemoryHelper_Accel(ctx) && strstr(accel_last_error(), "no device"));
	mock_add(0);
	mock_fail(MOCK_OPEN, 1, EACCES);
	ok(!SUNMemoryHelper_Accel(ctx) && strstr(accel_last_error(), "permission"));
	without_context();
}

/* Nothing is begun without one: SUNDIALS looks at it only where it checks errors. */
static void test_no_context(void)
{
	struct accel_device *dev = open_card();

	made_empty = 0;
	ok(!SUNMemoryHelper_Accel(NULL) && !SUNMemoryHelper_AccelWithDevice(NULL, dev));
	ok(!made_empty);
	expect(accel_device_close(dev), 0);
}

static void test_with_device(void)
{
	struct accel_device *first = open_card(), *dev;

	mock_add(1);
	dev = card_of(1);
	with_context();
	ok(!SUNMemoryHelper_AccelWithDevice(ctx, NULL));
	helper = SUNMemoryHelper_AccelWithDevice(ctx, dev);
	if (!helper)
		exit(1);
	expect(accel_device_close(first), 0);
	free_memory(memory_of(SIZE, DEVICE));
	end();
	/* The program's to close. */
	ok(mock_files() == 1);
	expect(accel_device_close(dev), 0);
}

static void test_with_device_that_is_gone(void)
{
	struct accel_device *dev = open_card();

	mock_remove(0);
	with_context();
	ok(!SUNMemoryHelper_AccelWithDevice(ctx, dev) && *accel_last_error());
	without_context();
	expect(accel_device_close(dev), 0);
}

/* 7.1 and 7.2 have another layout than what this was compiled for, the rest is unknown. */
static void test_other_versions(void)
{
	static const int others[][2] = { { 6, 7 }, { 7, 0 }, { 7, 1 }, { 7, 2 }, { 8, 0 }, { 8, 9 } };
	struct accel_device *dev = open_card();

	with_context();
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		major = others[i][0];
		minor = others[i][1];
		ok(!SUNMemoryHelper_Accel(ctx) && !SUNMemoryHelper_AccelWithDevice(ctx, dev));
	}
	major = 7;
	for (minor = 3; minor <= 12; minor++) {
		helper = SUNMemoryHelper_Accel(ctx);
		ok(helper);
		gives(SUNMemoryHelper_Destroy(helper), SUN_SUCCESS);
	}
	version_fails = 1;
	ok(!SUNMemoryHelper_Accel(ctx));
	version_fails = 0;
	without_context();
	expect(accel_device_close(dev), 0);
}

static void no_memory_for(SUNMemoryHelper (*make)(void))
{
	for (new_empty = NONE; new_empty <= NO_OPERATIONS; new_empty++)
		ok(!make());
	new_empty = WELL;
}

static struct accel_device *program_dev;

static SUNMemoryHelper make_own(void)
{
	return SUNMemoryHelper_Accel(ctx);
}

static SUNMemoryHelper make_with_device(void)
{
	return SUNMemoryHelper_AccelWithDevice(ctx, program_dev);
}

static SUNMemoryHelper make_clone(void)
{
	return SUNMemoryHelper_Clone(helper);
}

/* The card, and the content: libaccel allocates nothing of its own for a handle it has. */
static void test_no_memory(void)
{
	program_dev = open_card();
	with_context();
	no_memory_for(make_own);
	no_memory_for(make_with_device);
	for (int nth = 1; nth <= 2; nth++) {
		calloc_fails = nth;
		ok(!make_own() && !calloc_fails);
		calloc_fails = nth;
		ok(!make_with_device() && !calloc_fails);
	}
	/* All shares of the handle have been given back: */
	expect(accel_device_close(program_dev), 0);
	ok(!mock_files());
	without_context();
}

/* ---- Clones ---- */

static void test_no_memory_for_a_clone(void)
{
	begin_with(1);
	no_memory_for(make_clone);
	calloc_fails = 1;
	ok(!make_clone() && !calloc_fails);
	end();
	ok(!mock_files());
}

static void test_the_last_one_closes_the_card(void)
{
	SUNMemoryHelper clone, of_clone;

	begin_with(1);
	clone = SUNMemoryHelper_Clone(helper);
	of_clone = SUNMemoryHelper_Clone(clone);
	gives(SUNMemoryHelper_Destroy(clone), SUN_SUCCESS);
	gives(SUNMemoryHelper_Destroy(helper), SUN_SUCCESS);
	ok(mock_files() == 1);
	helper = of_clone;
	free_memory(memory_of(SIZE, DEVICE));
	end();
	ok(!mock_files());
}

/* SUNDIALS clones the helper of a vector with each vector. */
static void test_a_clone_asks_nothing_of_the_driver(void)
{
	unsigned int calls;

	begin_with(1);
	calls = mock_all_calls();
	gives(SUNMemoryHelper_Destroy(SUNMemoryHelper_Clone(helper)), SUN_SUCCESS);
	ok(mock_all_calls() == calls);
	end();
}

/* ---- Other helpers ---- */

static SUNErrCode foreign_destroy(SUNMemoryHelper other)
{
	free(other->content);
	free(other->ops);
	free(other);
	return SUN_SUCCESS;
}

/* Another implementation's, given to our functions. */
static void test_foreign_helper(void)
{
	SUNMemoryHelper other;
	SUNMemory mem, none = NULL;
	unsigned long number;
	size_t size;

	begin_with(1);
	other = SUNMemoryHelper_NewEmpty(ctx);
	other->content = calloc(4, sizeof(void *));
	other->ops->destroy = foreign_destroy;
	mem = memory_of(SIZE, HOST);
	gives(SUNMemoryHelper_Alloc_Accel(other, &none, SIZE, SUNMEMTYPE_HOST, NULL),
	      SUN_ERR_ARG_CORRUPT);
	gives(SUNMemoryHelper_AllocStrided_Accel(other, &none, SIZE, 8, SUNMEMTYPE_HOST, NULL),
	      SUN_ERR_ARG_CORRUPT);
	gives(SUNMemoryHelper_Dealloc_Accel(other, mem, NULL), SUN_ERR_ARG_CORRUPT);
	gives(SUNMemoryHelper_Copy_Accel(other, mem, mem, 1, NULL), SUN_ERR_ARG_CORRUPT);
	gives(SUNMemoryHelper_CopyAsync_Accel(other, mem, mem, 1, NULL), SUN_ERR_ARG_CORRUPT);
	gives(SUNMemoryHelper_GetAllocStats_Accel(other, SUNMEMTYPE_HOST, &number, &number, &size,
						  &size), SUN_ERR_ARG_CORRUPT);
	ok(!none && !SUNMemoryHelper_Clone_Accel(other));
	gives(SUNMemoryHelper_Destroy_Accel(other), SUN_ERR_ARG_CORRUPT);
	gives(SUNMemoryHelper_Destroy(other), SUN_SUCCESS);
	free_memory(mem);
	end();
}

static void test_null_helper(void)
{
	unsigned long number;
	SUNMemory mem = NULL;
	size_t size;

	begin_with(1);
	gives(SUNMemoryHelper_Alloc_Accel(NULL, &mem, SIZE, SUNMEMTYPE_HOST, NULL),
	      SUN_ERR_ARG_CORRUPT);
	mem = memory_of(SIZE, HOST);
	gives(SUNMemoryHelper_Dealloc_Accel(NULL, mem, NULL), SUN_ERR_ARG_CORRUPT);
	gives(SUNMemoryHelper_Dealloc_Accel(NULL, NULL, NULL), SUN_SUCCESS);
	gives(SUNMemoryHelper_Copy_Accel(NULL, mem, mem, 1, NULL), SUN_ERR_ARG_CORRUPT);
	gives(SUNMemoryHelper_CopyAsync_Accel(NULL, mem, mem, 1, NULL), SUN_ERR_ARG_CORRUPT);
	gives(SUNMemoryHelper_GetAllocStats_Accel(NULL, SUNMEMTYPE_HOST, &number, &number, &size,
						  &size), SUN_ERR_ARG_CORRUPT);
	ok(!SUNMemoryHelper_Clone_Accel(NULL));
	gives(SUNMemoryHelper_Destroy_Accel(NULL), SUN_ERR_ARG_CORRUPT);
	free_memory(mem);
	end();
}

static int logged;

static SUNErrCode logging_alloc(SUNMemoryHelper by, SUNMemory *memptr, size_t size,
				SUNMemoryType type, void *queue)
{
	logged++;
	return SUNMemoryHelper_Alloc_Accel(by, memptr, size, type, queue);
}

static SUNErrCode logging_destroy(SUNMemoryHelper by)
{
	logged++;
	return SUNMemoryHelper_Destroy_Accel(by);
}

/* A program may put functions of its own before ours. */
static void test_operations_of_the_program(void)
{
	begin_with(1);
	logged = 0;
	helper->ops->alloc = logging_alloc;
	helper->ops->destroy = logging_destroy;
	free_memory(memory_of(SIZE, DEVICE));
	end();
	ok(logged == 2);
}

/* ---- The end ---- */

static SUNErrCode destroyed;

static void destroys(void *data, int status)
{
	(void)data;
	(void)status;
	destroyed = SUNMemoryHelper_Destroy(helper);
}

/* The last close inside a callback is refused: the card stays open, the helper is gone. */
static void test_destroy_in_a_callback(void)
{
	struct accel_stream *stream;
	struct accel_device *dev;

	begin_with(1);
	dev = card_of(0);
	expect(accel_stream_create(dev, &stream), 0);
	expect(accel_device_close(dev), 0);
	destroyed = SUN_SUCCESS;
	expect(accel_stream_add_callback(stream, destroys, NULL), 0);
	expect(accel_stream_synchronize(stream), 0);
	gives(destroyed, SUN_ERR_DESTROY_FAIL);
	ok(mock_files() == 1);
	expect(accel_device_close(dev), 0);
	without_context();
}

static void test_memory_that_is_left(void)
{
	SUNMemory mem;

	begin_with(1);
	mem = memory_of(SIZE, DEVICE);
	end();
	ok(!mock_files());
	free(mem);
}

static SUNMemory inherited;

static void in_the_child(void)
{
	SUNMemory mem = NULL;

	free_memory(memory_of(SIZE, HOST));
	gives(SUNMemoryHelper_Alloc(helper, &mem, SIZE, SUNMEMTYPE_DEVICE, NULL), SUN_ERR_EXT_FAIL);
	ok(!mem && stats_are(helper, DEVICE, 1, 0, SIZE, SIZE));
	gives(SUNMemoryHelper_Dealloc(helper, inherited, NULL), SUN_ERR_EXT_FAIL);
	gives(SUNMemoryHelper_Destroy(helper), SUN_SUCCESS);
	helper = SUNMemoryHelper_Accel(ctx);
	ok(helper);
	free_memory(memory_of(SIZE, DEVICE));
	gives(SUNMemoryHelper_Destroy(helper), SUN_SUCCESS);
	gives(SUNContext_Free(&ctx), SUN_SUCCESS);
}

static void test_fork(void)
{
	int status = -1;
	pid_t pid;

	begin_with(1);
	inherited = memory_of(SIZE, DEVICE);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		in_the_child();
		fflush(stdout);
		_exit(!!tap_wrong);
	}
	waitpid(pid, &status, 0);
	ok(WIFEXITED(status) && !WEXITSTATUS(status));
	free_memory(inherited);
	end();
}

int main(void)
{
	RUN(test_opens_the_first_card);
	RUN(test_no_card);
	RUN(test_no_context);
	RUN(test_with_device);
	RUN(test_with_device_that_is_gone);
	RUN(test_other_versions);
	RUN(test_no_memory);
	RUN(test_no_memory_for_a_clone);
	RUN(test_the_last_one_closes_the_card);
	RUN(test_a_clone_asks_nothing_of_the_driver);
	RUN(test_foreign_helper);
	RUN(test_null_helper);
	RUN(test_operations_of_the_program);
	RUN(test_destroy_in_a_callback);
	RUN(test_memory_that_is_left);
	RUN(test_fork);
	return tap_end();
}
