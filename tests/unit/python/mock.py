# SPDX-License-Identifier: MIT
"""The cards of tests/unit/mock.h, which is preloaded, and what tests share."""

import contextlib
import ctypes
import gc
import os
import signal
import threading
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SIZE = 4032
GRANULE = 64
BASE = 1 << 32
# Of what cannot end by itself.
PATIENCE = 30
OPEN, MMAP, OPENDIR, OPERATION = 64, 65, 66, 67
(DEVICE_INFO, MEM_ALLOC, MEM_FREE, MEM_STATS, MEM_EXPORT, MEM_IMPORT, HOST_ALLOC, HOST_REGISTER,
 HOST_FREE, COPY, FILL, STREAM_CREATE, STREAM_DESTROY, STREAM_CLEAR, SUBMIT, WAIT) = range(16)

lib = ctypes.CDLL(None)
lib.mock_add_sized.argtypes = (ctypes.c_uint, ctypes.c_uint64, ctypes.c_uint64)
lib.mock_add_mappable.argtypes = (ctypes.c_uint, ctypes.c_uint64)
lib.mock_fail.argtypes = (ctypes.c_uint, ctypes.c_uint, ctypes.c_int)
lib.mock_memory.argtypes, lib.mock_memory.restype = (ctypes.c_uint, ctypes.c_uint64), ctypes.c_void_p
lib.mock_quota.argtypes = (ctypes.c_uint, ctypes.c_uint64)


class Cards(unittest.TestCase):
    """Two cards, nodes 0 and 3; at the end nothing of them is left."""

    def setUp(self):
        lib.mock_reset()
        lib.mock_add(0)
        lib.mock_add(3)

    def tearDown(self):
        gc.collect()
        self.assertEqual(lib.mock_files(), 0, "a card is still open")

    def refuses(self, kind, words, function, *arguments, **named):
        """It raises, and says so."""
        with self.assertRaises(kind) as caught:
            function(*arguments, **named)
        self.assertIn(words, str(caught.exception))
        return caught.exception

    def fails(self, number, function, *arguments, **named):
        """It raises an OSError with that errno, and a sentence."""
        with self.assertRaises(OSError) as caught:
            function(*arguments, **named)
        self.assertEqual(caught.exception.errno, number, str(caught.exception))
        self.assertGreater(len(caught.exception.strerror), 10)
        return caught.exception


class Device(Cards):
    """The first one is open."""

    def setUp(self):
        super().setUp()
        import accel  # pylint: disable=import-outside-toplevel
        self.device = accel.open()

    def tearDown(self):
        self.device.close()
        del self.device
        super().tearDown()


class Card(Device):
    @property
    def card(self):
        return self.device


@contextlib.contextmanager
def held(node=0):
    """The card does not go on meanwhile."""
    lib.mock_hold(node)
    try:
        yield
    finally:
        lib.mock_release(node)


@contextlib.contextmanager
def alarm(seconds=0.05):
    """A signal raises an InterruptedError then."""
    def interrupt(*_):
        raise InterruptedError("a signal")

    old = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


def interrupted(wait):
    """Calls it, and a signal raises an InterruptedError, on a busy host perhaps before the call."""
    with alarm():
        wait()


class Thread(threading.Thread):
    """Whose result, or exception, join() has."""

    def __init__(self, function, *arguments):
        super().__init__(daemon=True)
        self.function, self.arguments = function, arguments
        self.result = self.error = None
        self.start()

    def run(self):
        try:
            self.result = self.function(*self.arguments)
        except BaseException as error:  # pylint: disable=broad-exception-caught
            self.error = error

    def join(self, timeout=PATIENCE):
        super().join(timeout)
        if self.is_alive():
            raise AssertionError(f"{self.function} has not ended")
        if self.error:
            raise self.error
        return self.result


def in_child(function):
    """What a forked process says: nothing if the function was content."""
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        said = "it ended"
        try:
            said = function() or ""
        except BaseException as error:  # pylint: disable=broad-exception-caught
            said = repr(error)
        finally:
            os.write(write, said.encode())
            os._exit(0)
    os.close(write)
    with open(read, "rb") as pipe:
        said = pipe.read().decode()
    status = os.waitpid(pid, 0)[1]
    return said if not status else f"status {status}: {said}"
