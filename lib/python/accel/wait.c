// SPDX-License-Identifier: MIT
/* Waits of a program that Ctrl-C ends, although those of libaccel go on through signals. */

#include "error.h"
#include "wait.h"

#include <math.h>
#include <time.h>

#define NS_PER_S 1000000000ull
/* How long Ctrl-C may take to be seen. */
#define SLICE (NS_PER_S / 10)
/* Bytes of the first part of a copy, and the least. */
#define FIRST_PART ((size_t)1 << 20)
#define LEAST_PART ((size_t)1 << 12)

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * NS_PER_S + (uint64_t)time.tv_nsec;
}

bool wait_deadline(PyObject *timeout, uint64_t *deadline)
{
	double seconds;

	*deadline = UINT64_MAX;
	if (timeout == Py_None)
		return true;
	seconds = PyFloat_AsDouble(timeout);
	if (PyErr_Occurred())
		return false;
	if (isnan(seconds) || seconds < 0) {
		PyErr_SetString(PyExc_ValueError,
				"timeout is in seconds, from 0; None waits as long as it takes");
		return false;
	}
	/* Thirty years are as good as never. */
	if (seconds < 1e9)
		*deadline = now() + (uint64_t)(seconds * NS_PER_S);
	return true;
}

typedef int (*until)(void *handle, uint64_t deadline);

static int stream_until(void *handle, uint64_t deadline)
{
	return accel_stream_synchronize_until(handle, deadline);
}

static int event_until(void *handle, uint64_t deadline)
{
	return accel_event_synchronize_until(handle, deadline);
}

static int clear_until(void *handle, uint64_t deadline)
{
	return accel_stream_clear_until(handle, deadline);
}

static int device_until(void *handle, uint64_t deadline)
{
	return accel_device_synchronize_until(handle, deadline);
}

static int wait_in_slices(until wait, void *handle, uint64_t deadline)
{
	uint64_t end;
	int rc;

	for (;;) {
		end = now() + SLICE;
		if (end > deadline)
			end = deadline;
		Py_BEGIN_ALLOW_THREADS
		rc = wait(handle, end);
		Py_END_ALLOW_THREADS
		/* It may be the error of the work too. */
		if (rc != -ETIME || end == deadline || now() < end)
			return rc;
		if (PyErr_CheckSignals())
			return 1;
	}
}

int wait_stream(struct accel_stream *stream, uint64_t deadline)
{
	return wait_in_slices(stream_until, stream, deadline);
}

int wait_event(struct accel_event *event, uint64_t deadline)
{
	return wait_in_slices(event_until, event, deadline);
}

int wait_clear(struct accel_stream *stream)
{
	return wait_in_slices(clear_until, stream, UINT64_MAX);
}

int wait_device(struct accel_device *device)
{
	return wait_in_slices(device_until, device, UINT64_MAX);
}

PyObject *wait_result(int rc)
{
	return rc == 1 ? NULL : error_none(rc);
}

/* From one part to the next the size follows the speed. */
int wait_in_parts(wait_part function, void *data, size_t count, size_t size)
{
	size_t part = FIRST_PART, number;
	uint64_t begin, time;
	int rc = 0;

	for (size_t done = 0; done < count && !rc; done += number) {
		number = part / size ? part / size : 1;
		if (number > count - done)
			number = count - done;
		begin = now();
		Py_BEGIN_ALLOW_THREADS
		rc = function(data, done, number);
		Py_END_ALLOW_THREADS
		time = now() - begin;
		if (time < SLICE / 4)
			part *= 2;
		else if (time > SLICE && part > LEAST_PART)
			part /= 2;
		if (!rc && done + number < count && PyErr_CheckSignals())
			rc = 1;
	}
	return rc;
}
