# SPDX-License-Identifier: MIT
"""The module accel on cards of the mock: streams, events, threads, fork, cards that go."""

import array
import errno
import gc
import os
import random
import signal
import sys
import threading
import time

import accel
import mock
from mock import held, lib


class Streams(mock.Card):
    def test_order(self):
        host = self.card.allocate_host(8)
        host.copy_from(b"abcdefgh")
        one, two = self.card.allocate(8), self.card.allocate(8)
        back = self.card.allocate_host(8)
        with self.card.stream() as stream, held():
            one.copy_from(host, stream)
            accel.copy(two, one, stream=stream)
            two[2:4].fill(ord("!"), stream=stream)
            two.copy_to(back, stream)
            self.assertFalse(stream.query())
            self.assertEqual(back.tobytes(), bytes(8))
            lib.mock_release(0)
            stream.synchronize()
            self.assertTrue(stream.query())
        self.assertEqual(back.tobytes(), b"ab!!efgh")
        self.assertTrue(stream.closed)

    def test_all_pairs(self):
        """Those that go on a stream, and those that do not."""
        other = accel.open(1)
        data = bytes(range(50))
        kept = []

        def make():
            kept.append(bytearray(50))
            return [self.card.allocate(50), self.card.allocate_host(50),
                    self.card.allocate_unified(50), self.card.register(kept[-1]), bytearray(50),
                    other.allocate(50)]

        for start in range(6):
            for end in range(6):
                sources, targets = make(), make()
                source, target = sources[start], targets[end]
                accel.copy(source, data)
                with self.subTest(f"{start} to {end}"), self.card.stream() as stream:
                    if {start, end} <= {1, 3, 4}:
                        self.refuses(ValueError, "neither is device memory", accel.copy, target,
                                     source, stream)
                    elif 5 in (start, end) and {1, 3, 4, 5} >= {start, end}:
                        self.fails(errno.EINVAL, accel.copy, target, source, stream)
                    else:
                        accel.copy(target, source, stream)
                        stream.synchronize()
                        result = bytearray(50)
                        accel.copy(result, target)
                        self.assertEqual(result, data)
                for thing in sources + targets:
                    if isinstance(thing, accel.Memory):
                        thing.free()
        other.close()

    def test_bytes_are_the_programs_again(self):
        memory = self.card.allocate(8)
        with self.card.stream() as stream, held():
            data = bytearray(b"abcdefgh")
            memory.copy_from(data, stream)
            data[:] = bytes(8)
            data.append(1)
            lib.mock_release(0)
        self.assertEqual(memory.tobytes(), b"abcdefgh")

    def test_what_is_queued_is_held(self):
        data = bytearray(b"abcdefgh")
        memory = self.card.allocate(8)
        with self.card.stream() as stream, held():
            memory.copy_from(self.card.register(data), stream)
            # This looks which copies have ended.
            self.card.allocate(8)
            self.assertRaises(BufferError, data.append, 1)
            data[0] = ord("A")
            lib.mock_release(0)
            stream.synchronize()
        data.append(1)
        self.assertEqual(memory.tobytes(), b"Abcdefgh")

    def test_who_looks_lets_go(self):
        memory = self.card.allocate(8)
        stream, event = self.card.stream(), self.card.event()
        for look in (stream.synchronize, stream.query, event.synchronize, event.query,
                     self.card.synchronize, lambda: self.card.allocate(8)):
            data = bytearray(8)
            # Held, as the call that queues it looks too.
            with held():
                memory.copy_from(self.card.register(data), stream)
                event.record(stream)
            lib.mock_wait_idle()
            self.assertRaises(BufferError, data.append, 1)
            look()
            data.append(1)

    def test_views_that_are_queued_are_held(self):
        """Those of the copies alone are waited for, others are in the way."""
        for end in ("free", "close"):
            card = accel.open(1)
            memory, stream = card.allocate(8), card.stream()
            before, host, behind = (card.allocate_host(8) for _ in range(3))
            view = memoryview(host)
            view[:] = b"abcdefgh"
            calls = lib.mock_calls(mock.WAIT)
            with held(3):
                memory.copy_from(view, stream)
                memory.copy_from(memoryview(host)[:], stream)
                del view
                # Not for those of other memory.
                for other in (before, behind):
                    with memoryview(other):
                        self.refuses(BufferError, "1 views", other.free)
                thread = mock.Thread(host.free if end == "free" else card.close)
                lib.mock_wait_calls(mock.WAIT, calls + 1)
                self.assertFalse(host.freed)
            thread.join()
            self.assertTrue(host.freed)
            card.close()

    def test_close_of_a_busy_card_does_not_wait(self):
        host, memory, stream = self.card.allocate_host(8), self.card.allocate(8), self.card.stream()
        with held():
            memory.copy_from(memoryview(host), stream)
            thread = mock.Thread(stream.synchronize)
            lib.mock_wait_calls(mock.WAIT, 1)
            self.fails(errno.EBUSY, self.card.close)
        thread.join()

    def test_views_that_were_queued(self):
        """Nobody has looked whether the copy has ended."""
        for end in ("free", "close"):
            card = accel.open(1)
            host, memory, stream = card.allocate_host(8), card.allocate(8), card.stream()
            memory.copy_from(memoryview(host), stream)
            lib.mock_wait_idle()
            view = memoryview(host)
            self.refuses(BufferError, "views", host.free)
            self.refuses(BufferError, "views", card.close)
            memory.copy_from(view, stream)
            del view
            lib.mock_wait_idle()
            (host.free if end == "free" else card.close)()
            self.assertTrue(host.freed)
            card.close()

    def test_many_are_let_go_of_without_synchronize(self):
        memory = self.card.allocate(8)
        stream = self.card.stream()
        for _ in range(200):
            memory.copy_from(self.card.register(bytearray(8)), stream)
            lib.mock_wait_idle()
            self.assertLessEqual(lib.mock_host_ranges(0), 16)
        stream.close()

    def test_events_do_not_become_more(self):
        """Their times lie in locked pages of some 500 each."""
        memory, host = self.card.allocate(8), self.card.allocate_host(8)
        stream = self.card.stream()
        memory.copy_from(host, stream)
        stream.synchronize()
        before = lib.mock_host_ranges(0)
        for number in range(1500):
            memory.copy_from(host, stream)
            stream.record()
            if number % 20 == 0:
                stream.synchronize()
        self.assertLessEqual(lib.mock_host_ranges(0), before + 1)

    def test_free_waits_for_the_copy(self):
        for make in (self.card.allocate_host, self.card.allocate_unified,
                     lambda size: self.card.register(bytearray(size))):
            used = make(8)
            memory = self.card.allocate(8)
            stream = self.card.stream()
            with held():
                memory.copy_from(used, stream)
                thread = mock.Thread(used.free)
                lib.mock_wait_held(0, 1)
                time.sleep(0.02)
                self.assertFalse(used.freed)
                self.assertTrue(thread.is_alive())
            thread.join()
            self.assertTrue(used.freed)
            memory.free()

    def test_free_of_device_memory_does_not_wait(self):
        memory, host = self.card.allocate(8), self.card.allocate_host(8)
        stream = self.card.stream()
        with held():
            memory.copy_from(host, stream)
            memory.free()
            self.assertFalse(stream.query())
        stream.synchronize()

    def test_close_of_the_card_waits(self):
        card = accel.open(1)
        data = bytearray(b"abcdefgh")
        memory, stream = card.allocate(8), card.stream()
        source = card.register(data)
        with held(3):
            memory.copy_from(source, stream)
            source = None
            thread = mock.Thread(card.close)
            lib.mock_wait_held(3, 1)
            time.sleep(0.02)
            self.assertTrue(thread.is_alive())
            self.refuses(ValueError, "closed", card.allocate, 1)
            self.refuses(ValueError, "closed", memory.fill, 1)
            card.close()
            self.assertRaises(BufferError, data.append, 1)
        thread.join()
        data.append(1)
        self.assertTrue(card.closed)

    def test_close_with_work(self):
        memory, host = self.card.allocate(8), self.card.allocate_host(8)
        host.copy_from(b"abcdefgh")
        stream = self.card.stream()
        with held():
            memory.copy_from(host, stream)
            stream.close()
            stream.close()
            self.assertTrue(stream.closed)
            for function in (stream.query, stream.synchronize, stream.clear, stream.record,
                             stream.__enter__):
                self.refuses(ValueError, "stream is closed", function)
            self.refuses(ValueError, "stream is closed", memory.fill, 0, stream)
            self.refuses(ValueError, "stream is closed", self.card.event().record, stream)
        self.card.synchronize()
        self.assertEqual(memory.tobytes(), b"abcdefgh")

    def test_end_of_block_waits(self):
        memory, host = self.card.allocate(8), self.card.allocate_host(8)
        host.fill(7)
        with self.card.stream() as stream:
            for _ in range(20):
                memory.copy_from(host, stream)
        self.assertEqual(memory.tobytes(), b"\7" * 8)

    def test_end_of_block_after_an_exception(self):
        memory, host = self.card.allocate(8), self.card.allocate_host(8)
        with held():
            with self.assertRaises(ZeroDivisionError):
                with self.card.stream() as stream:
                    memory.copy_from(host, stream)
                    1 // 0  # pylint: disable=expression-not-assigned
            self.assertTrue(stream.closed)
        self.assertRaises(TypeError, stream.__exit__)

    def test_end_of_block_hides_no_exception(self):
        """Not even with that of another thread that is in the stream."""
        with held():
            with self.assertRaises(ZeroDivisionError):
                with self.card.stream() as stream:
                    self.card.allocate(8).fill(1, stream)
                    thread = mock.Thread(stream.synchronize)
                    lib.mock_wait_calls(mock.WAIT, 1)
                    1 // 0  # pylint: disable=expression-not-assigned
            self.assertFalse(stream.closed)
        thread.join()
        stream.close()

    def test_end_of_block_tells_failure(self):
        lib.mock_fail(mock.OPERATION, 1, errno.EIO)
        with self.assertRaises(accel.Error) as caught:
            with self.card.stream() as stream:
                self.card.allocate(8).fill(1, stream)
        self.assertEqual(caught.exception.errno, errno.EIO)
        self.assertTrue(stream.closed)

    def test_timeout(self):
        memory = self.card.allocate(8)
        stream, event = self.card.stream(), self.card.event()
        with held():
            memory.fill(1, stream)
            event.record(stream)
            for wait in (stream.synchronize, event.synchronize):
                for timeout in (0, 0.0, 0.01, 0.15):
                    begin = time.monotonic()
                    self.fails(errno.ETIME, wait, timeout=timeout)
                    self.assertGreaterEqual(time.monotonic() - begin, timeout)
        for wait in (stream.synchronize, event.synchronize):
            wait(timeout=1e300)
            wait(timeout=float("inf"))
            wait(None)
            for timeout in (-1, -0.1, float("nan")):
                self.refuses(ValueError, "seconds", wait, timeout)
            for timeout in ("1", b"1", [1]):
                self.assertRaises(TypeError, wait, timeout)

    def test_failure(self):
        memory = self.card.allocate(8)
        stream = self.card.stream()
        lib.mock_fail(mock.OPERATION, 1, errno.EIO)
        memory.fill(1, stream)
        self.fails(errno.EIO, stream.synchronize)
        self.fails(errno.EIO, stream.query)
        self.fails(errno.ECANCELED, memory.fill, 2, stream)
        stream.clear()
        memory.fill(3, stream)
        stream.synchronize()
        self.assertEqual(memory.tobytes(), b"\3" * 8)

    def test_failure_of_another_object(self):
        with accel.open() as first, accel.open() as other:
            stream = other.stream()
            lib.mock_fail(mock.OPERATION, 1, errno.EIO)
            other.allocate(8).fill(1, stream)
            first.synchronize()
            self.fails(errno.EIO, other.synchronize)
            own = first.stream()
            lib.mock_fail(mock.OPERATION, 1, errno.EIO)
            first.allocate(8).fill(1, own)
            self.fails(errno.EIO, first.synchronize)

    def test_failure_lets_go_of_memory(self):
        memory = self.card.allocate(8)
        stream, event = self.card.stream(), self.card.event()
        for look in (stream.synchronize, stream.query, event.synchronize, event.query):
            data = bytearray(8)
            stream.clear()
            lib.mock_fail(mock.OPERATION, 1, errno.EIO)
            with held():
                memory.copy_from(self.card.register(data), stream)
                event.record(stream)
            lib.mock_wait_idle()
            self.assertRaises(BufferError, data.append, 1)
            self.fails(errno.EIO, look)
            data.append(1)
        data = bytearray(8)
        registered = self.card.register(data)
        self.fails(errno.ECANCELED, memory.copy_from, registered, stream)
        registered.free()
        data.append(1)

    def test_no_event_for_the_copy(self):
        """The copy is queued, its event cannot be recorded: the call waits instead."""
        memory, data = self.card.allocate(8), bytearray(b"abcdefgh")
        stream = self.card.stream()
        source = self.card.register(data)
        lib.mock_fail(mock.SUBMIT, 2, errno.ENOMEM)
        memory.copy_from(source, stream)
        source.free()
        data.append(1)
        self.assertEqual(memory.tobytes(), b"abcdefgh")

    def test_too_many(self):
        streams = []
        with self.assertRaises(accel.Error) as caught:
            for _ in range(100):
                streams.append(self.card.stream())
        self.assertEqual(caught.exception.errno, errno.ENOSPC)
        streams.clear()
        self.card.stream()

    def test_stream_of_another_card(self):
        with accel.open(1) as other:
            memory, host = self.card.allocate(8), self.card.allocate_host(8)
            stream = other.stream()
            self.fails(errno.EINVAL, memory.copy_from, host, stream)
            self.fails(errno.EINVAL, memory.fill, 1, stream)
            host.free()
        self.assertIs(stream.device, other)

    def test_wrong_types(self):
        stream = self.card.stream()
        for thing in (None, 1, stream, self.card):
            self.assertRaises(TypeError, stream.wait, thing)
        for thing in (1, stream, self.card):
            self.assertRaises(TypeError, stream.record, thing)
            self.assertRaises(TypeError, self.card.event().elapsed_ns, thing)
        for thing in (None, 1, self.card):
            self.assertRaises(TypeError, self.card.event().record, thing)
        self.assertRaises(TypeError, stream.synchronize, 1, 2)


class Events(mock.Card):
    def test_event(self):
        memory = self.card.allocate(8)
        stream, event = self.card.stream(), self.card.event()
        self.assertTrue(event.query())
        with held():
            memory.fill(1, stream)
            self.assertIs(stream.record(event), event)
            self.assertFalse(event.query())
        event.synchronize()
        self.assertTrue(event.query())
        self.assertIs(event.device, self.card)

    def test_wait(self):
        memory, result = self.card.allocate(8), self.card.allocate(8)
        one, two = self.card.stream(), self.card.stream()
        with held():
            memory.fill(5, one)
            two.wait(one.record())
            accel.copy(result, memory, two)
            self.assertFalse(two.query())
        two.synchronize()
        self.assertEqual(result.tobytes(), b"\5" * 8)

    def test_elapsed(self):
        stream = self.card.stream()
        begin = stream.record()
        begin.synchronize()
        with held():
            self.card.allocate(8).fill(1, stream)
            end = stream.record()
            self.fails(errno.EINPROGRESS, begin.elapsed_ns, end)
            time.sleep(0.01)
        end.synchronize()
        self.assertGreaterEqual(begin.elapsed_ns(end), 10_000_000)
        self.assertEqual(end.elapsed_ns(begin), -begin.elapsed_ns(end))
        self.fails(errno.EINVAL, begin.elapsed_ns, self.card.event())

    def test_failure(self):
        stream = self.card.stream()
        lib.mock_fail(mock.OPERATION, 1, errno.EIO)
        with held():
            self.card.allocate(8).fill(1, stream)
            event = stream.record()
        self.fails(errno.EIO, event.synchronize)
        self.fails(errno.EIO, event.query)

    def test_close(self):
        stream, event = self.card.stream(), self.card.event()
        event.close()
        event.close()
        self.assertTrue(event.closed)
        self.assertIn("closed", repr(event))
        for function, *arguments in ((event.query,), (event.synchronize,), (event.record, stream),
                                     (event.elapsed_ns, event), (stream.wait, event),
                                     (stream.record, event)):
            self.refuses(ValueError, "event is closed", function, *arguments)
        other = self.card.event()
        self.refuses(ValueError, "event is closed", other.elapsed_ns, event)


class Threads(mock.Card):
    def test_the_gil_is_given_up(self):
        memory, data = self.card.allocate(8), bytes(8)
        stream = self.card.stream()
        other = self.card.allocate(8)
        registered = self.card.register(bytearray(8))

        def queue_and_wait():
            other.copy_from(registered, stream)
            registered.free()

        calls = [
            lambda: memory.copy_from(data), memory.tobytes,
            lambda: (other.fill(1, stream), stream.synchronize()),
            lambda: (other.fill(1, stream), stream.record().synchronize()),
            lambda: (other.fill(1, stream), self.card.synchronize()),
            queue_and_wait,
        ]
        for call in calls:
            with held():
                thread = mock.Thread(call)
                lib.mock_wait_held(0, 1)
                self.assertEqual(sum(range(1000)), 499500)
                self.assertTrue(thread.is_alive())
            thread.join()

    def test_what_is_in_use_stays(self):
        memory, host = self.card.allocate(8), self.card.allocate_host(8)
        stream, event = self.card.stream(), self.card.event()
        with held():
            memory.fill(1, stream)
            event.record(stream)
            copy = mock.Thread(memory.copy_from, host)
            lib.mock_wait_held(0, 2)
            calls = lib.mock_calls(mock.WAIT)
            waits = [mock.Thread(stream.synchronize), mock.Thread(event.synchronize)]
            lib.mock_wait_calls(mock.WAIT, calls + len(waits))
            for function in (memory.free, host.free, stream.close, event.close):
                self.refuses(BufferError, "another thread", function)
            self.assertEqual(self.fails(errno.EBUSY, self.card.close).errno, errno.EBUSY)
            self.assertFalse(self.card.closed)
        for thread in [copy, *waits]:
            thread.join()
        memory.free()
        host.free()
        stream.close()
        event.close()

    def test_many_threads(self):
        def work(seed):
            chance = random.Random(seed)
            with self.card.stream() as stream:
                for _ in range(60):
                    size = chance.randrange(1, 200)
                    data = chance.randbytes(size)
                    with self.card.allocate(size) as memory, \
                            self.card.allocate_host(size) as host:
                        host.copy_from(data)
                        memory.copy_from(host, stream)
                        back = bytearray(size)
                        memory.copy_to(back, stream)
                        stream.synchronize()
                        if back != data:
                            return "other bytes"
            return None

        threads = [mock.Thread(work, seed) for seed in range(4)]
        self.assertEqual([thread.join() for thread in threads], [None] * 4)
        self.assertEqual(self.card.stats().used, 0)

    def test_signals_end_waits(self):
        memory, stream = self.card.allocate(8), self.card.stream()
        registered = self.card.register(bytearray(8))
        with held():
            memory.copy_from(registered, stream)
            event = stream.record()
            for wait in (stream.synchronize, event.synchronize, registered.free,
                         self.device.synchronize, self.device.close):
                self.refuses(InterruptedError, "a signal", mock.interrupted, wait)
                self.assertFalse(registered.freed or self.device.closed)
        stream.synchronize()
        registered.free()

    def test_signals_end_copies(self):
        """Between their parts, the first of which has 1 MiB."""
        size = 4 << 20
        lib.mock_add_sized(5, size, size)
        with accel.open(2) as device:
            memory, host = device.allocate(size), device.allocate_host(size)
            table = host.view("uint8", (size >> 10, 1 << 10))
            for call, number in ((lambda: memory.copy_from(host), mock.COPY), (memory.tobytes, mock.COPY),
                                 (lambda: memory.fill(1), mock.FILL),
                                 (lambda: table[:, :512].copy_from(memory[:size // 2]), mock.COPY)):
                before = lib.mock_calls(number)
                with mock.alarm(60):
                    lib.mock_before(number, lib.raise_alarm)
                    self.refuses(InterruptedError, "a signal", call)
                    self.assertEqual(lib.mock_calls(number), before + 1)
                call()

    def test_copies_of_many_parts(self):
        size = (5 << 20) + 3
        lib.mock_add_sized(5, 6 << 20, 6 << 20)
        data = random.Random(1).randbytes(size)
        with accel.open(2) as device:
            memory, host = device.allocate(size), device.allocate_host(size)
            memory.copy_from(data)
            self.assertEqual(memory.tobytes(), data)
            host.copy_from(data)
            # What overlaps is copied as a whole.
            host[1:].copy_from(host[:-1])
            self.assertEqual(host.tobytes(), data[:1] + data[:-1])
            memory.fill(7)
            self.assertEqual(memory.tobytes(), b"\7" * size)

    def test_work_that_fails_with_etime(self):
        """It is no end of a slice of the wait."""
        fence, stream = lib.mock_fence(), self.device.stream()
        stream.wait_fence(fence)
        event = stream.record()
        lib.mock_fence_signal(fence, -errno.ETIME)
        with mock.alarm(mock.PATIENCE):
            for wait in (stream.synchronize, event.synchronize, self.device.synchronize):
                self.fails(errno.ETIME, wait)
        os.close(fence)

    def test_waits_beside_a_stream_that_failed(self):
        """Its error does not end them, but a signal does."""
        failed, busy = self.device.stream(), self.device.stream()
        memory, fence = self.device.allocate(8), lib.mock_fence()
        lib.mock_fail_operation(0, 1, errno.EIO)
        memory.fill(1, failed)
        busy.wait_fence(fence)
        memory.copy_from(self.device.allocate_host(8), busy)
        # Ends a wait that no signal ends.
        release = threading.Timer(mock.PATIENCE, lib.mock_fence_signal, [fence, 0])
        release.start()
        for wait in (self.device.synchronize, self.device.close):
            self.refuses(InterruptedError, "a signal", mock.interrupted, wait)
            self.assertEqual((self.device.closed, busy.query()), (False, False))
        release.cancel()
        lib.mock_fence_signal(fence, 0)
        self.fails(errno.EIO, self.device.synchronize)
        self.assertTrue(busy.query())
        os.close(fence)

    def test_event_in_with(self):
        stream = self.device.stream()
        with stream.record() as event:
            event.synchronize()
        self.assertTrue(event.closed)
        self.refuses(ValueError, "the event is closed", event.__enter__)


class Gone(mock.Card):
    def test_unplugged(self):
        host = self.card.allocate_host(8)
        memory, stream = self.card.allocate(8), self.card.stream()
        event = stream.record()
        data = bytearray(8)
        registered = self.card.register(data)
        view = memoryview(host)
        lib.mock_hold(0)
        memory.copy_from(registered, stream)
        lib.mock_wait_held(0, 1)
        lib.mock_remove(0)
        for function, *arguments in (
                (memory.copy_from, bytes(8)), (memory.tobytes,), (memory.fill, 1),
                (self.card.allocate, 8), (self.card.allocate_host, 8), (self.card.stats,),
                (self.card.register, bytearray(8)), (stream.synchronize,), (stream.record,),
                (self.card.synchronize,), (memory.copy_from, host, stream),
                (self.card.stream,)):
            with self.subTest(function):
                self.fails(errno.ENODEV, function, *arguments)
        view[:] = b"abcdefgh"
        self.assertEqual(bytes(view), b"abcdefgh")
        view.release()
        try:
            event.query()
        except accel.Error as error:
            self.assertEqual(error.errno, errno.ENODEV)
        self.fails(errno.ENODEV, memory.free)
        memory.free()
        stream.close()
        event.close()
        self.card.close()
        data.append(1)
        self.assertTrue(registered.freed)

    def test_wait_while_unplugged(self):
        memory, stream = self.card.allocate(8), self.card.stream()
        lib.mock_hold(0)
        memory.fill(1, stream)
        lib.mock_wait_held(0, 1)
        threads = [mock.Thread(stream.synchronize), mock.Thread(memory.tobytes)]
        lib.mock_wait_held(0, 2)
        lib.mock_remove(0)
        for thread in threads:
            self.fails(errno.ENODEV, thread.join)

    def test_memory_lost(self):
        memory = self.card.allocate(8)
        lib.mock_lose(0)
        self.fails(errno.ESTALE, memory.tobytes)
        with accel.open() as again:
            self.assertEqual(again.allocate(8).tobytes(), bytes(8))

    def test_no_driver(self):
        self.card.close()
        lib.mock_reset()
        lib.mock_unload()
        self.assertIn("modprobe paccel", self.fails(errno.ENODEV, accel.open).strerror)


class Fork(mock.Card):
    def test_child(self):
        memory, host = self.card.allocate(8), self.card.allocate_host(8)
        memory.copy_from(b"abcdefgh")
        data = bytearray(8)
        registered = self.card.register(data)
        stream, event = self.card.stream(), self.card.event()
        view = memoryview(host)

        def child():
            for function, *arguments in (
                    (memory.tobytes,), (memory.fill, 1), (memory.copy_from, bytes(8)),
                    (self.card.allocate, 1), (self.card.stats,), (stream.synchronize,),
                    (event.synchronize,), (event.record, stream), (self.card.synchronize,),
                    (memory.copy_from, registered, stream)):
                self.fails(errno.EPERM, function, *arguments)
            with accel.open() as own:
                mine = own.allocate(8)
                mine.copy_from(b"childish")
                if mine.tobytes() != b"childish":
                    return "its own card does not work"
            view[0] = 1
            # Without a card; also what is shared with the parent.
            host.fill(2)
            host[:4].copy_from(b"abcd")
            if host.tobytes() != b"abcd" + b"\2" * 4:
                return "its host memory does not work"
            self.card.close()
            if not memory.freed or not self.card.closed:
                return "the card is not closed"
            # What is seen stays.
            view[1] = 2
            data.append(1)
            return None

        self.assertEqual(mock.in_child(child), "")
        self.assertEqual(memory.tobytes(), b"abcdefgh")
        view.release()

    def test_child_lets_go(self):
        things = [self.card.allocate(8), self.card.allocate_host(8), self.card.stream(),
                  self.card.event(), self.card.register(bytearray(8))]

        def child():
            things.clear()

        self.assertEqual(mock.in_child(child), "")
        self.assertEqual(things[0].tobytes(), bytes(8))

    def test_child_of_a_busy_parent(self):
        memory, host = self.card.allocate(8), self.card.allocate_host(8)
        stream = self.card.stream()

        def child():
            host.free()
            memory.free()
            stream.close()
            self.card.close()

        def quiet():
            try:
                child()
            except accel.Error as error:
                return None if error.errno == errno.EPERM else repr(error)
            return None

        with held():
            memory.copy_from(host, stream)
            thread = mock.Thread(memory.copy_from, host)
            lib.mock_wait_held(0, 2)
            said = mock.in_child(quiet)
        thread.join()
        self.assertEqual(said, "")

    def test_child_of_a_card_that_is_mapped(self):
        lib.mock_add_mappable(5, 1 << 16)
        with accel.open(2) as card:
            memory = card.allocate(8)
            memory.copy_from(b"abcdefgh")

            def child():
                for function, *arguments in ((memoryview, memory), (memory.__dlpack__,),
                                             (memory.tobytes,)):
                    self.fails(errno.EPERM, function, *arguments)

            self.assertEqual(mock.in_child(child), "")
            self.assertEqual(memoryview(memory), b"abcdefgh")

    def test_child_of_a_parent_that_waits(self):
        """For a copy that the child has inherited too, and nobody waits for there."""
        memory, stream = self.card.allocate(8), self.card.stream()
        kept = [bytearray(8), bytearray(8)]
        waits, closes = (self.card.register(data) for data in kept)

        def child():
            signal.alarm(10)
            self.fails(errno.EPERM, waits.free)
            self.card.close()
            for data in kept:
                data.append(1)

        with held():
            memory.copy_from(waits, stream)
            memory.copy_from(closes, stream)
            thread = mock.Thread(waits.free)
            lib.mock_wait_calls(mock.WAIT, 1)
            said = mock.in_child(child)
        thread.join()
        self.assertEqual(said, "")


class Anything(mock.Card):
    """Calls in any order: exceptions, but no crash."""

    ALLOWED = (accel.Error, ValueError, BufferError, TypeError, AttributeError)

    METHODS = ("info", "stats", "stream", "event", "synchronize", "tobytes", "free", "query",
               "clear", "record", "close", "__enter__", "__dlpack__", "__dlpack_device__",
               "__repr__", "__len__", "pool", "trim", "tolist")

    def step(self, chance, things):
        thing = chance.choice(things)
        name = chance.choice(self.METHODS + ("allocate", "allocate_host", "allocate_unified",
                                             "register", "copy_from", "copy_to", "fill", "wait",
                                             "elapsed_ns", "__getitem__", "memoryview", "open",
                                             "drop", "exit", "fork", "call", "share", "view"))
        other = chance.choice(things)
        if name == "open":
            return accel.open(chance.randrange(2))
        if name == "drop":
            things.remove(thing)
            return None
        if name == "memoryview":
            return memoryview(thing)
        if name == "view":
            return thing.view(chance.choice(("uint8", "uint16", "float64")))
        if name == "call":
            return thing.call(lambda error: self.use(other))
        if name == "share":
            fd = thing.export()
            try:
                return other.import_memory(fd)
            finally:
                os.close(fd)
        if name == "exit":
            return thing.__exit__(None, None, None)
        if name in ("record", "wait", "elapsed_ns") and chance.random() < 0.7:
            return getattr(thing, name)(other)
        if name in ("copy_from", "copy_to"):
            return getattr(thing, name)(other, chance.choice(things + [None] * len(things)))
        if name in ("allocate", "allocate_host", "allocate_unified"):
            return getattr(thing, name)(chance.choice((8, 8, 8, 64, 5000)))
        if name == "register":
            return getattr(thing, name)(other)
        if name == "fill":
            return thing.fill(chance.randrange(256), chance.choice(things + [None] * len(things)))
        if name == "__getitem__":
            return thing[:8]
        return getattr(thing, name)()

    def use(self, thing):
        """In a callback."""
        for name in ("query", "free", "close"):
            try:
                getattr(thing, name)()
            except self.ALLOWED:
                pass

    def test_any_order(self):
        done = 0
        for seed in range(int(os.environ.get("PYTHON_SEEDS", "30"))):
            chance = random.Random(seed)
            things = [accel.open(), bytearray(8), array.array("B", bytes(64)), b"12345678"]
            for _ in range(300):
                if not things:
                    break
                try:
                    result = self.step(chance, things)
                except self.ALLOWED:
                    continue
                done += 1
                if isinstance(result, (accel.Device, accel.Memory, accel.Stream, accel.Event, accel.Pool,
                                       accel.View, memoryview)) and len(things) < 40:
                    things.append(result)
            del things, result
        self.assertGreater(done, 500)


class Leaks(mock.Cards):
    """Each call many times, also those that fail: blocks of the interpreter do not become more."""

    def one_round(self):
        with accel.open() as card:
            card.info()
            card.stats()
            data = bytearray(64)
            memory, host = card.allocate(64), card.allocate_host(64)
            registered = card.register(data)
            with card.stream() as stream:
                for thing in (host, registered, data, memoryview(host)):
                    memory.copy_from(thing, stream)
                    memory[8:16].copy_to(bytearray(8))
                del thing
                event = stream.record()
                stream.wait(event)
                memory.fill(1, stream)
                event.synchronize(5)
                stream.call(lambda error: None)
                stream.call(str)
            event.elapsed_ns(event)
            device = memory.device
            with device.pool(1024) as pool, device.stream() as other:
                pool.allocate(64, other).fill(1, other)
                pool.stats()
            view = memory.view("uint16", (4, 8))
            view[:, 1:3] = 5
            view[1] = list(range(8))
            view.tolist()
            fd = memory.export()
            device.import_memory(fd).free()
            os.close(fd)
            host.__dlpack__()
            host.__dlpack__(max_version=(1, 0))
            memory.tobytes()
            for wrong in (lambda: card.allocate(0), lambda: card.allocate(1 << 40),
                          lambda: memory.copy_from(b"1"), lambda: memory.copy_from("text"),
                          lambda: memory.fill(256), lambda: memoryview(memory),
                          lambda: card.register(b"a"), lambda: card.register(data),
                          lambda: stream.query(), lambda: memory[0], lambda: memory[::2],
                          lambda: host.copy_from(memoryview(bytes(128))[::2]),
                          lambda: memory.copy_from(host, stream),
                          lambda: host.__dlpack__(stream=1), lambda: accel.open(7),
                          lambda: stream.synchronize(-1), memory[1:].free):
                try:
                    wrong()
                except (OSError, ValueError, BufferError, TypeError):
                    continue
                raise AssertionError("it did not fail")

    def test_blocks(self):
        """A leak of one block in each round shows in each series; tables of the interpreter grow less and less."""
        grown = []
        while not grown or (grown[-1] >= 170 and len(grown) < 8):
            # It empties the interpreter's lists of free tuples.
            gc.collect()
            before = sys.getallocatedblocks()
            for _ in range(200):
                self.one_round()
            gc.collect()
            grown.append(sys.getallocatedblocks() - before)
        self.assertLess(grown[-1], 170, grown)

    def test_references(self):
        things = (None, accel.Device, accel.Memory, accel.Stream, accel.Event, accel.Error, b"1")
        self.one_round()
        before = [sys.getrefcount(thing) for thing in things]
        for _ in range(50):
            self.one_round()
        after = [sys.getrefcount(thing) for thing in things]
        for old, new in zip(before, after):
            self.assertLess(abs(new - old), 20)
