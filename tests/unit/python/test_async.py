# SPDX-License-Identifier: MIT
"""Callbacks, eventfds, fences and await of accel, on devices of the mock."""

import asyncio
import contextlib
import errno
import gc
import os
import select
import subprocess
import sys
import threading
import time
import unittest
import weakref

import accel
import mock
from mock import held, lib


class Callback:
    """A callback that can be waited for. It begins when the call that queues it has returned."""

    def __init__(self, then=None):
        self.then = then
        self.errors = []
        self.queued, self.has_run = threading.Event(), threading.Event()

    def queue(self, stream):
        stream.call(self)
        self.queued.set()
        return self

    def __call__(self, error):
        self.queued.wait(mock.PATIENCE)
        self.errors.append(error)
        try:
            if self.then:
                self.then()
        finally:
            self.has_run.set()

    def wait(self):
        if not self.has_run.wait(mock.PATIENCE):
            raise AssertionError("the callback has not run")
        return self.errors


def until(condition):
    """The main thread executes bytecode until then."""
    end = time.monotonic() + mock.PATIENCE
    while not (result := condition()):
        if time.monotonic() > end:
            raise AssertionError("it does not happen")
        time.sleep(0.001)
    return result


def eventfds():
    """The file descriptors of this process that are eventfds."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):
            if "eventfd" in os.readlink(f"/proc/self/fd/{name}"):
                found.add(name)
    return found


@contextlib.contextmanager
def unraisable():
    """What sys.unraisablehook is called with meanwhile."""
    seen, old = [], sys.unraisablehook
    sys.unraisablehook = lambda what: seen.append((type(what.exc_value), what.object))
    try:
        yield seen
    finally:
        sys.unraisablehook = old


class Callbacks(mock.Device):
    def test_order(self):
        memory, seen = self.device.allocate(8), []
        with self.device.stream() as stream, held():
            memory.fill(1, stream)
            stream.call(function=lambda error: seen.append((error, lib.mock_streams(0))))
            self.assertFalse(stream.query())
            self.assertEqual(seen, [])
            lib.mock_release(0)
            stream.call(lambda error: seen.append(2))
            stream.synchronize()
            self.assertEqual(seen, [(None, 1), 2])

    def test_error(self):
        memory, callback = self.device.allocate(8), Callback()
        stream = self.device.stream()
        lib.mock_fail_operation(0, 1, errno.EIO)
        memory.fill(1, stream)
        error = callback.queue(stream).wait()[0]
        self.assertIs(type(error), accel.Error)
        self.assertEqual((error.errno, error.strerror),
                         (errno.EIO, "the device failed or is out of service: see the kernel log"))
        self.fails(errno.EIO, stream.synchronize)

    def test_exception(self):
        def wrong(_):
            raise ZeroDivisionError

        with unraisable() as seen, self.device.stream() as stream:
            stream.call(wrong)
            stream.call(len)
            stream.synchronize()
        self.assertEqual(seen, [(ZeroDivisionError, wrong), (TypeError, len)])

    def test_arguments(self):
        stream = self.device.stream()
        for function in (None, 5, "print"):
            self.refuses(TypeError, "function has to be callable", stream.call, function)
        self.assertRaises(TypeError, stream.call)
        lib.mock_fail(mock.SUBMIT, 1, errno.ENOMEM)
        before = sys.getrefcount(print)
        self.fails(errno.ENOMEM, stream.call, print)
        self.assertEqual(sys.getrefcount(print), before)
        stream.close()
        self.refuses(ValueError, "the stream is closed", stream.call, print)

    def test_function_is_held_until_it_has_run(self):
        memory, stream, callback = self.device.allocate(8), self.device.stream(), Callback()
        has_run, end = callback.has_run, weakref.ref(callback)
        with held():
            memory.fill(1, stream)
            callback.queue(stream)
            del callback
            gc.collect()
            self.assertIsNotNone(end())
        self.assertTrue(has_run.wait(mock.PATIENCE))
        until(lambda: end() is None)

    def test_what_a_callback_may_not_do(self):
        stream, errors = self.device.stream(), []

        def wrong():
            for function in (stream.query, stream.synchronize, stream.record, self.device.synchronize,
                             self.device.close):
                try:
                    function()
                except accel.Error as error:
                    errors.append(error.errno)

        callback = Callback(wrong)
        callback.queue(stream).wait()
        self.assertEqual(errors, [errno.EDEADLK] * 5)
        self.assertFalse(self.device.closed)
        stream.synchronize()

    def test_memory_is_freed_in_a_callback(self):
        """A staging buffer, after the copy that used it."""
        memory, host = self.device.allocate(8), self.device.allocate_host(8)
        with self.device.stream() as stream, held():
            memory.copy_from(host, stream)
            stream.call(lambda error: host.free())
            lib.mock_release(0)
            stream.synchronize()
        self.assertTrue(host.freed)

    def test_callback_ends_its_stream(self):
        streams = []

        def has_stream():
            with contextlib.suppress(accel.Error):
                streams.append(self.device.stream())
            return streams

        def end():
            streams.pop().close()
            # This looks for what is to be done later.
            self.device.allocate(8)

        # More than the device has.
        for _ in range(20):
            Callback(end).queue(until(has_stream)[0]).wait()

    def test_callback_drops_its_device(self):
        self.device.close()
        things = [accel.open()]
        things.append(things[0].stream())
        callback = Callback(things.clear)
        callback.queue(things[1]).wait()
        until(lambda: lib.mock_files() == 0)

    def test_closed_device(self):
        """close() waits for callbacks, and those of a removed device get the reason."""
        callback = Callback()
        with accel.open(1) as device, held(3):
            memory, stream = device.allocate(8), device.stream()
            memory.fill(1, stream)
            callback.queue(stream)
            lib.mock_release(3)
        self.assertEqual(callback.errors, [None])
        gone, stream = Callback(), self.device.stream()
        with held():
            self.device.allocate(8).fill(1, stream)
            gone.queue(stream)
            lib.mock_remove(0)
            self.assertEqual(gone.wait()[0].errno, errno.ENODEV)

    def test_threads_go_on(self):
        """Callbacks wait for the GIL, and calls that wait for callbacks do not have it."""
        counts = []

        def work():
            count = []
            with self.device.stream() as stream:
                for _ in range(50):
                    stream.call(lambda error: count.append(error))
            counts.append(len(count))

        threads = [mock.Thread(work) for _ in range(4)]
        for thread in threads:
            thread.join()
        self.assertEqual(counts, [50] * 4)

    def test_fork_in_a_callback(self):
        results = []
        with self.device.stream() as stream:
            stream.call(lambda error: results.append(mock.in_child(lambda: None)))
        self.assertEqual(results, [""])


class Again(unittest.TestCase):
    def test_second_module(self):
        """A copy of the module under another name: fork() takes no lock twice."""
        text = ("import accel, importlib.util, os\n"
                "spec = importlib.util.spec_from_file_location('other._accel', accel._accel.__file__)\n"
                "importlib.util.module_from_spec(spec)\n"
                "pid = os.fork()\n"
                "if not pid: os._exit(0)\n"
                "print(os.waitpid(pid, 0)[1])\n")
        result = subprocess.run([sys.executable, "-c", text], stdout=subprocess.PIPE, check=False, text=True,
                                timeout=mock.PATIENCE)
        self.assertEqual((result.returncode, result.stdout), (0, "0\n"))


class Exit(unittest.TestCase):
    def program(self, text):
        return subprocess.run([sys.executable, "-c", "import accel, ctypes, threading, time\n"
                               "lib = ctypes.CDLL(None)\ndevice = accel.open()\n"
                               "stream = device.stream()\n" + text], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False, text=True,
                              timeout=mock.PATIENCE, env={**os.environ, "MOCK_CARDS": "0"})

    def test_callback_that_has_not_run(self):
        result = self.program("lib.mock_hold(0)\ndevice.allocate(8).fill(1, stream)\n"
                              "stream.call(print)\n")
        self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_callback_that_runs(self):
        """It ends before the interpreter does. The thread sets the event during the wait."""
        result = self.program("begun, go = threading.Event(), threading.Event()\n"
                              "stream.call(lambda error: (begun.set(), go.wait(), print('it ran')))\n"
                              "def late(): time.sleep(0.2); go.set()\n"
                              "begun.wait(); threading.Thread(target=late, daemon=True).start()\n")
        self.assertEqual((result.returncode, result.stdout), (0, "it ran\n"))


class Files(mock.Device):
    """Eventfds and fences."""

    def wait_eventfd(self, fd):
        self.assertEqual(select.select([fd], [], [], mock.PATIENCE)[0], [fd])
        return os.eventfd_read(fd)

    def test_signal(self):
        memory, fd = self.device.allocate(8), os.eventfd(0, os.EFD_NONBLOCK)
        stream = self.device.stream()
        with held():
            memory.fill(1, stream)
            stream.signal(eventfd=fd)
            self.assertRaises(BlockingIOError, os.eventfd_read, fd)
        self.assertEqual(self.wait_eventfd(fd), 1)
        with open(fd, "rb") as file:
            stream.signal(file)
            self.assertEqual(self.wait_eventfd(fd), 1)
            with open(os.devnull, "rb") as other:
                self.fails(errno.EINVAL, stream.signal, other)
        for wrong in (None, "1", 1.0):
            self.assertRaises(TypeError, stream.signal, wrong)
        self.assertRaises(ValueError, stream.signal, -1)

    def test_fences(self):
        one, two = self.device.stream(), self.device.stream()
        memory = self.device.allocate(8)
        fence = lib.mock_fence()
        one.wait_fence(fence)
        memory.fill(1, one)
        exported = one.export_fence()
        two.wait_fence(fence=exported)
        memory.fill(2, two)
        os.close(exported)
        self.assertEqual((one.query(), two.query()), (False, False))
        lib.mock_fence_signal(fence, 0)
        two.synchronize()
        self.assertEqual(memory.tobytes(), b"\2" * 8)
        os.close(fence)

    def test_fence_is_polled(self):
        stream = self.device.stream()
        self.device.allocate(8).fill(1, stream)
        stream.synchronize()
        fd = stream.export_fence()
        self.assertFalse(os.get_inheritable(fd))
        self.assertEqual(select.select([fd], [], [], mock.PATIENCE)[0], [fd])
        os.close(fd)
        with open(os.devnull, "rb") as other:
            self.fails(errno.EINVAL, stream.wait_fence, other)
        stream.close()
        self.refuses(ValueError, "the stream is closed", stream.export_fence)


class Await(mock.Device):
    @contextlib.contextmanager
    def no_fd_is_left(self):
        before = eventfds()
        yield
        # Those of earlier tests may go.
        self.assertLessEqual(eventfds(), before)

    def run_async(self, coroutine):
        """In a loop, whose thread goes on meanwhile."""
        async def both():
            threads = threading.active_count()
            ticks, waiting = 0, asyncio.ensure_future(coroutine)
            await asyncio.sleep(0)
            while not waiting.done():
                ticks += 1
                if ticks == 3:
                    lib.mock_release(0)
                await asyncio.sleep(0.001)
            self.assertEqual(threading.active_count(), threads)
            return ticks, waiting.exception()

        with self.no_fd_is_left():
            ticks, error = asyncio.run(asyncio.wait_for(both(), mock.PATIENCE))
        if error:
            raise error
        return ticks

    def test_stream_and_event(self):
        memory, stream = self.device.allocate(8), self.device.stream()

        async def wait(thing):
            self.assertIsNone(await thing)
            self.assertTrue(thing.query())

        for make in (lambda: stream, stream.record):
            with held():
                memory.fill(1, stream)
                self.assertGreaterEqual(self.run_async(wait(make())), 3)
            self.assertEqual(lib.mock_streams(0), 1)
            stream.synchronize()
            calls = lib.mock_calls(mock.SUBMIT)
            thing = make()
            stream.synchronize()
            self.assertEqual(self.run_async(wait(thing)), 0)
            self.assertLessEqual(lib.mock_calls(mock.SUBMIT), calls + 1)

    def test_many(self):
        """One after the other, and at once."""
        memory = self.device.allocate(8)

        async def work(value):
            with self.device.stream() as stream:
                for _ in range(5):
                    memory.fill(value, stream)
                    await stream

        async def everything():
            await asyncio.gather(*(work(value) for value in range(4)))

        self.run_async(everything())

    def test_error(self):
        memory = self.device.allocate(8)

        async def wait(thing):
            await thing

        for make in (lambda stream: stream, lambda stream: stream.record()):
            stream = self.device.stream()
            with held():
                memory.fill(1, stream)
                lib.mock_fail_operation(0, 1, errno.EIO)
                memory.fill(1, stream)
                self.fails(errno.EIO, self.run_async, wait(make(stream)))

    def test_error_of_later_work(self):
        """Is not that of the work that was awaited."""
        memory, stream = self.device.allocate(8), self.device.stream()

        async def wait():
            waiting = asyncio.ensure_future(wait_for(stream))
            await asyncio.sleep(0)
            lib.mock_fail_operation(0, 2, errno.EIO)
            memory.fill(1, stream)
            await waiting

        async def wait_for(thing):
            await thing

        with held():
            memory.fill(1, stream)
            self.run_async(wait())
        self.fails(errno.EIO, stream.synchronize)

    def test_behind_callbacks(self):
        """The loop goes on, and callbacks may wait for it."""
        memory, stream = self.device.allocate(8), self.device.stream()
        seen = []

        async def note():
            seen.append(1)

        async def wait():
            loop = asyncio.get_running_loop()
            stream.call(lambda error: asyncio.run_coroutine_threadsafe(note(), loop).result(mock.PATIENCE))
            await asyncio.gather(*(wait_for(stream) for _ in range(3)))

        async def wait_for(thing):
            await thing

        # The first callback starts the threads of the library.
        stream.call(lambda error: None)
        stream.synchronize()
        with self.no_fd_is_left():
            asyncio.run(asyncio.wait_for(wait(), mock.PATIENCE))
        self.assertEqual(seen, [1])
        stream.synchronize()
        with self.no_fd_is_left(), held():
            memory.fill(1, stream)
            self.assertGreaterEqual(self.run_async(wait()), 3)
        stream.synchronize()
        with held():
            lib.mock_fail_operation(0, 1, errno.EIO)
            memory.fill(1, stream)
            self.fails(errno.EIO, self.run_async, wait())

    def test_cancelled_behind_callbacks(self):
        """Also if the loop is closed before the callback runs."""
        memory, stream = self.device.allocate(8), self.device.stream()

        async def wait():
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(stream, 0.01)

        with unraisable() as unraised:
            with held():
                memory.fill(1, stream)
                stream.call(lambda error: None)
                asyncio.run(wait())
            stream.synchronize()
        self.assertEqual(unraised, [])

    def test_cancelled(self):
        memory, stream = self.device.allocate(8), self.device.stream()

        async def wait(thing):
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(thing, 0.01)

        async def both():
            async def awaits(thing):
                await thing
            await wait(awaits(stream))
            await wait(awaits(event))

        with self.no_fd_is_left():
            with held():
                memory.fill(1, stream)
                event = stream.record()
                asyncio.run(both())
            lib.mock_wait_idle()

    def test_without_loop(self):
        stream = self.device.stream()
        with held():
            self.device.allocate(8).fill(1, stream)
            self.refuses(RuntimeError, "no running event loop", next, stream.__await__())

    def test_closed(self):
        stream, event = self.device.stream(), self.device.event()
        for thing, words in ((stream, "the stream is closed"), (event, "the event is closed")):
            thing.close()
            self.refuses(ValueError, words, next, thing.__await__())
