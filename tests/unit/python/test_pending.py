# SPDX-License-Identifier: MIT
"""What queued copies hold: when it is released, and how often libaccel is queried for that."""

import ctypes
import errno
import gc
import threading

import accel
import mock
from mock import held, lib

QUEUED = 1000
# Queries that a call may make, however many copies are queued.
MOST = 6


class Cost(mock.Device):
    """Counted, not measured."""

    def setUp(self):
        super().setUp()
        lib.mock_queued_max(3 * QUEUED)

    def is_cheap(self, function, *arguments, calls=1):
        lib.count_queries()
        try:
            return function(*arguments)
        except accel.Error as error:
            self.assertEqual(error.errno, errno.ETIME)
            return None
        finally:
            self.assertLessEqual(lib.count_queries(), MOST * calls, function)

    def each_call_is_cheap(self, stream, registered):
        event = stream.record()
        for function, *arguments in (
                (stream.query,), (event.query,), (stream.synchronize, 0), (event.synchronize, 0),
                (self.device.allocate, 8), (self.device.allocate_host, 8),
                (self.device.register, bytearray(8)),
                (self.device.allocate(8).copy_from, registered, stream)):
            with self.subTest(function):
                self.is_cheap(function, *arguments)

    def test_one_stream(self):
        data = bytearray(8)
        registered, stream = self.device.register(data), self.device.stream()
        memory = self.device.allocate(8)

        def queue():
            for _ in range(QUEUED):
                memory.copy_from(registered, stream)

        with held():
            self.is_cheap(queue, calls=QUEUED)
            self.each_call_is_cheap(stream, registered)
            lib.mock_release(0)
            lib.mock_wait_idle()
            # Each entry once, and the calls' own.
            lib.count_queries()
            stream.synchronize()
            queries = lib.count_queries()
            self.assertGreaterEqual(queries, QUEUED, "accel_event_query() is not counted")
            self.assertLessEqual(queries, QUEUED + 2 * MOST)
        del registered
        gc.collect()
        data.append(1)

    def test_many_streams(self):
        registered = self.device.register(bytearray(8))
        memory = self.device.allocate(8)
        streams = [self.device.stream() for _ in range(7)]
        with held():
            for stream in streams:
                memory.copy_from(registered, stream)
            self.each_call_is_cheap(streams[-1], registered)


class Order(mock.Device):
    def queue(self, stream, memory):
        data = bytearray(8)
        memory.copy_from(self.device.register(data), stream)
        return data

    def is_released(self, data):
        try:
            data.append(1)
        except BufferError:
            return False
        return True

    def test_each_stream_by_itself(self):
        """One that stands still holds nothing of another one, also after both were dropped."""
        other = accel.open(1)
        slow, fast = self.device.stream(), other.stream()
        target, memory = other.allocate(8), self.device.allocate(8)
        with held(0):
            held_data = self.queue(slow, memory)
            data = bytearray(8)
            target.copy_from(other.register(data), fast)
            del slow
            fast.synchronize()
            self.assertTrue(self.is_released(data))
            self.assertFalse(self.is_released(held_data))
        lib.mock_wait_idle()
        self.device.event().query()
        self.assertTrue(self.is_released(held_data))
        other.close()

    def test_event_releases_what_was_before_it(self):
        """Also where there are more streams than a call looks at."""
        memory = self.device.allocate(8)
        streams = [self.device.stream() for _ in range(7)]
        events = [self.device.event() for _ in streams]
        for look in ("query", "synchronize"):
            kept = []
            with held():
                for stream, event in zip(streams, events):
                    kept.append(self.queue(stream, memory))
                    event.record(stream)
            lib.mock_wait_idle()
            with self.subTest(look):
                getattr(events[-1], look)()
                self.assertTrue(self.is_released(kept[-1]))
                self.device.synchronize()
                self.assertTrue(all(map(self.is_released, kept)))

    def test_allocation_gets_what_ended_copies_hold(self):
        memory = self.device.allocate(8)
        streams = [self.device.stream() for _ in range(7)]
        with held():
            kept = [self.queue(stream, memory) for stream in streams]
        lib.mock_wait_idle()
        lib.mock_fail(mock.HOST_ALLOC, 1, errno.ENOMEM)
        self.device.allocate_host(8)
        self.assertTrue(all(map(self.is_released, kept)))
        lib.mock_fail(mock.HOST_ALLOC, 1, errno.ENOMEM)
        self.fails(errno.ENOMEM, self.device.allocate_host, 8)

    def test_threads_on_one_stream(self):
        """A copy has ended that another thread has overtaken on the way into the queue."""
        other = accel.open(1)
        stream, memory = self.device.stream(), self.device.allocate(8)
        gate, data = other.stream(), bytearray(8)
        registered = self.device.register(data)
        lib.record_stop()
        overtaken = mock.Thread(memory.copy_from, registered, stream)
        lib.record_wait_stopped()
        with held(3):
            other.allocate(8).fill(1, gate)
            stream.wait(gate.record())
            later = self.queue(stream, memory)
            lib.record_continue()
            overtaken.join()
            # Ends a free() that no signal ends.
            release = threading.Timer(mock.PATIENCE, lib.mock_release, [3])
            release.start()
            lib.count_queries()
            self.refuses(InterruptedError, "a signal", mock.interrupted, registered.free)
            self.assertLessEqual(lib.count_queries(), 2 * MOST)
            release.cancel()
        registered.free()
        for kept in (data, later):
            self.assertTrue(self.is_released(kept))
        other.close()

    def test_view_of_many_copies(self):
        """free() waits once for each stream, and close() too."""
        for end in ("free", "close"):
            device = accel.open()
            data = bytearray(8)
            registered, memory = device.register(data), device.allocate(8)
            streams = [device.stream() for _ in range(3)]
            with held():
                for _ in range(20):
                    for stream in streams:
                        memory.copy_from(memoryview(registered), stream)
                thread = mock.Thread(getattr(registered if end == "free" else device, end))
                lib.mock_wait_held(0, 3)
                self.assertTrue(thread.is_alive())
            thread.join()
            self.assertTrue(self.is_released(data))
            device.close()


class Calls(mock.Device):
    """System calls of a copy on a stream."""

    def test_one_call(self):
        memory, stream = self.device.allocate(64), self.device.stream()
        table = memory.view("uint8", (8, 8))
        things = [self.device.allocate_host(64), self.device.allocate_unified(64),
                  self.device.register(bytearray(64)), self.device.allocate(64)]
        # The first event of a device has a page of its own.
        memory.copy_from(things[0], stream)
        for thing in things:
            for copy in (lambda: memory.copy_from(thing, stream),  # pylint: disable=cell-var-from-loop
                         lambda: memory.copy_to(thing, stream),  # pylint: disable=cell-var-from-loop
                         lambda: table[:, 2:6].copy_from(thing[:32], stream)):  # pylint: disable=cell-var-from-loop
                stream.synchronize()
                with held():
                    before = lib.mock_all_calls()
                    copy()
                    self.assertEqual(lib.mock_all_calls(), before + 1, thing)
        stream.synchronize()

    def test_partly_registered(self):
        """What lies beside a registration is copied as pageable memory is."""
        data = bytearray(range(64)) * 2
        memory, stream = self.device.allocate(128), self.device.stream()
        registered = self.device.register(memoryview(data)[:64])
        memory.copy_from(data, stream)
        memory.view("uint8", (8, 16))[:, :4].copy_to(memoryview(data)[48:80], stream)
        stream.synchronize()
        self.assertEqual(memory.tobytes(), bytes(range(64)) * 2)
        self.assertEqual(data[48:80], b"".join(bytes(range(at, at + 4)) for at in range(0, 64, 16)) * 2)
        registered.free()

    def test_event_that_is_not_recorded(self):
        """The copy is made all the same, and has ended when the call returns."""
        for number in (errno.ENOMEM, errno.ENOSPC):
            with accel.open(1) as device:
                memory, host, stream = device.allocate(8), device.allocate_host(8), device.stream()
                host.copy_from(b"abcdefgh")
                # The page for events: first in the batch, then behind the copy.
                fail = ctypes.CFUNCTYPE(None)(lambda: lib.mock_fail(mock.HOST_ALLOC, 1, number))  # pylint: disable=cell-var-from-loop
                fail()
                lib.mock_before(mock.SUBMIT, fail)
                before = lib.mock_calls(mock.HOST_ALLOC)
                memory.copy_from(host, stream)
                self.assertEqual(lib.mock_calls(mock.HOST_ALLOC), before + 2)
                host.fill(0)
                self.assertEqual(memory.tobytes(), b"abcdefgh")

    def test_error(self):
        memory, stream = self.device.allocate(8), self.device.stream()
        data = bytearray(8)
        registered = self.device.register(data)
        lib.mock_fail(mock.SUBMIT, 1, errno.EIO)
        self.fails(errno.EIO, memory.copy_from, registered, stream)
        registered.free()
        data.append(1)
