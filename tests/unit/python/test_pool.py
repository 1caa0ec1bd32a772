# SPDX-License-Identifier: MIT
"""Pools of accel, on devices of the mock."""

import ctypes
import errno
import gc
import os
import threading
import time

import accel
import mock
from mock import held, lib


class Pools(mock.Device):
    def test_blocks(self):
        with self.device.pool(1024) as pool:
            calls = lib.mock_all_calls()
            one, two = pool.allocate(100), pool.allocate(size=60)
            self.assertEqual(lib.mock_all_calls(), calls)
            self.assertEqual((one.kind, one.size, one.pool, one[2:].pool), ("device", 100, pool, pool))
            self.assertIs(pool.device, self.device)
            one.copy_from(bytes(range(100)))
            two.fill(1)
            self.assertEqual(one.tobytes(), bytes(range(100)))
            stats = pool.stats()
            self.assertEqual((stats.chunk_bytes, stats.used_bytes, stats.blocks, stats.bytes),
                             (1024, 192, 2, 160))
            address = one.address
            del one
            self.assertEqual(pool.stats().blocks, 1)
            with pool.allocate(100) as again:
                self.assertEqual(again.address, address)
            self.assertTrue(again.freed)
            self.assertEqual(pool.stats().total_blocks, 3)
            self.assertFalse(two.freed or pool.closed)
        self.assertTrue(two.freed and pool.closed)
        self.assertEqual(self.device.stats().mine, 0)
        self.assertIsNone(self.device.allocate(1).pool)
        pool.close()
        for function, *arguments in ((pool.allocate, 1), (pool.stats,), (pool.trim,),
                                     (pool.__enter__,)):
            self.refuses(ValueError, "the pool is closed", function, *arguments)

    def test_kinds(self):
        for kind in ("device", "host", "unified"):
            with self.device.pool(64, kind=kind) as pool:
                self.assertEqual(pool.allocate(10).kind, kind)
                self.assertRegex(repr(pool), f"^<accel.Pool of {kind} memory at 0x[0-9a-f]+>$")
            self.assertIn("closed", repr(pool))
        with self.device.pool(kind="host") as pool:
            block = pool.allocate(8)
            view = memoryview(block)
            view[:] = b"abcdefgh"
            self.assertEqual(block.tobytes(), b"abcdefgh")
            self.refuses(BufferError, "views", pool.close)
            self.assertFalse(block.freed or pool.closed)
            view.release()
        self.assertTrue(block.freed)

    def test_options(self):
        pool = self.device.pool(maximum_size=128, growth_size=64, granule=64)
        blocks = [pool.allocate(64), pool.allocate(64)]
        self.fails(errno.ENOMEM, pool.allocate, 1)
        blocks.clear()
        self.assertEqual(pool.stats().chunk_bytes, 128)
        pool.trim(keep=64)
        self.assertEqual(pool.stats().chunk_bytes, 64)
        pool.trim()
        self.assertEqual(pool.stats().chunk_bytes, 0)
        with self.device.pool(growth_size=64, release_threshold=0) as other:
            other.allocate(64).free()
            self.assertEqual(other.stats().chunk_bytes, 0)
        for name in ("initial_size", "maximum_size", "growth_size", "granule", "release_threshold"):
            self.refuses(ValueError, f"{name} is -1: it is in bytes", self.device.pool, **{name: -1})
        self.refuses(ValueError, "keep is -1", pool.trim, -1)
        self.refuses(ValueError, "kind is 'registered'", lambda: self.device.pool(kind="registered"))
        self.fails(errno.EINVAL, self.device.pool, granule=3)
        self.fails(errno.ENOMEM, self.device.pool, 1 << 20)
        self.assertRaises(TypeError, self.device.pool, release_threshold="1")
        self.refuses(ValueError, "at least 1 byte", pool.allocate, 0)
        self.refuses(TypeError, "accel.Stream or None", pool.allocate, 1, "stream")

    def test_debug(self):
        pool = self.device.pool(1024, debug=True)
        block = pool.allocate(64)
        ctypes.memset(lib.mock_memory(0, mock.BASE), 0x55, 1024)
        self.fails(errno.EFAULT, block.free)
        self.assertGreater(pool.stats().corruptions, 0)

    def test_exportable(self):
        with self.device.pool(1024) as pool:
            self.fails(errno.ENOENT, pool.allocate(64).export)
            block = pool.allocate(64, exportable=True)
            block.fill(3)
            fd = block.export()
        with self.device.import_memory(fd) as imported:
            self.assertEqual(imported.tobytes(), b"\3" * 64)
        os.close(fd)

    def test_closed_with_device(self):
        with accel.open(1) as device:
            pool = device.pool()
            block = pool.allocate(64)
            part = block[:8]
        self.assertTrue(pool.closed and block.freed and part.freed)
        self.assertIs(part.pool, pool)
        pool.close()

    def test_ends_by_itself(self):
        block = self.device.pool(64).allocate(64)
        gc.collect()
        block.fill(1)
        self.assertFalse(block.pool.closed)
        del block
        self.assertEqual(self.device.stats().mine, 0)

    def test_after_fork(self):
        pool = self.device.pool(1024)
        block = pool.allocate(64)

        def child():
            for function, *arguments in ((pool.allocate, 1), (pool.stats,), (block.tobytes,),
                                         (block.free,)):
                self.fails(errno.EPERM, function, *arguments)
            pool.close()

        self.assertEqual(mock.in_child(child), "")
        block.fill(1)


class Order(mock.Device):
    """A block is not given to another stream before the work of its own has ended."""

    def setUp(self):
        super().setUp()
        self.pool = self.device.pool(64, maximum_size=64)
        self.stream, self.other = self.device.stream(), self.device.stream()
        self.fences = []

    def tearDown(self):
        # After a failure close() would wait for them.
        for fence in self.fences:
            lib.mock_fence_signal(fence, 0)
            os.close(fence)
        del self.pool, self.stream, self.other
        super().tearDown()

    def waiting(self):
        return self.pool.stats().waiting_bytes

    def test_same_stream(self):
        with held():
            block = self.pool.allocate(64, self.stream)
            block.fill(1, self.stream)
            block.free()
            self.assertEqual(self.waiting(), 64)
            self.pool.allocate(64, stream=self.stream).fill(2, self.stream)
            self.assertEqual(self.pool.stats().taken_over, 0)

    def test_stream_that_uses_it(self):
        """Also if another stream, or none, has allocated it."""
        for stream in (None, self.other):
            for use in (lambda block: block.fill(1, self.stream),
                        lambda block: block[8:].copy_from(bytes(56), self.stream),
                        lambda block: accel.copy(block[:8], block[8:16], self.stream)):
                with held():
                    block = self.pool.allocate(64, stream)
                    use(block)
                    del block
                    self.assertEqual(self.waiting(), 64)
                    with self.pool.allocate(64, self.other) as block:
                        block.fill(2, self.other)
                        self.assertFalse(self.other.query())
                    self.assertEqual(self.pool.stats().taken_over, 1)
                self.device.synchronize()
                self.assertEqual(self.waiting(), 0)
                self.pool.close()
                self.pool = self.device.pool(64, maximum_size=64)

    def test_closed_stream(self):
        """Its work may not have ended: the free waits for it."""
        block = self.pool.allocate(64, self.stream)
        with held():
            block.fill(1, self.stream)
            self.stream.close()
            thread = mock.Thread(block.free)
            lib.mock_wait_calls(mock.WAIT, 1)
            self.refuses(ValueError, "the memory has been freed", block.tobytes)
            self.assertEqual(self.fails(errno.EBUSY, self.device.close).errno, errno.EBUSY)
            self.refuses(BufferError, "another thread", self.pool.close)
        thread.join()
        self.assertEqual(self.waiting(), 0)

    def test_freed_in_a_callback(self):
        blocks, freed = [self.pool.allocate(64, self.stream)], []
        blocks[0].fill(1, self.stream)
        self.stream.call(lambda error: (blocks.pop().free(), freed.append(True)))
        self.stream.synchronize()
        self.assertEqual(freed, [True])
        self.assertEqual(self.pool.stats().blocks, 0)

    def test_free_waits_for_callback(self):
        """Which needs the GIL."""
        block = self.pool.allocate(64, self.stream)
        with held():
            block.fill(1, self.stream)
            self.stream.call(lambda error: sum(range(1000)))
            thread = mock.Thread(block.free)
        thread.join()
        self.assertEqual(self.pool.stats().blocks, 0)

    def in_callback(self, function):
        """Of the other stream."""
        thread = mock.Thread(self.other.synchronize)
        self.other.call(lambda error: function())
        thread.join()
        self.other.synchronize()

    def fence(self):
        self.fences.append(lib.mock_fence())
        return self.fences[-1]

    def behind_a_fence(self, stream):
        """A block that the stream's queued work fills; the fence."""
        block, fence = self.pool.allocate(64, stream), self.fence()
        stream.wait_fence(fence)
        block.fill(1, stream)
        return block, fence

    def test_freed_in_a_callback_of_another_stream(self):
        """It is not for others before the work of its own has ended, whose callback cannot be waited for."""
        for has_callback in (True, False):
            for free in (lambda blocks: blocks[0].free(), lambda blocks: blocks.clear()):
                stream = self.device.stream()
                block, fence = self.behind_a_fence(stream)
                if has_callback:
                    stream.call(lambda error: None)
                else:
                    stream.close()
                blocks = [block]
                del block
                self.in_callback(lambda: free(blocks))  # pylint: disable=cell-var-from-loop
                self.fails(errno.ENOMEM, self.pool.allocate, 64)
                lib.mock_fence_signal(fence, 0)
                lib.mock_wait_idle()
                self.device.synchronize()
                with self.pool.allocate(64) as block:
                    self.assertEqual(block.tobytes(), b"\1" * 64)
                del block, blocks

    def test_close_frees_what_a_callback_has_freed(self):
        block, fence = self.behind_a_fence(self.stream)
        self.stream.call(lambda error: None)
        self.in_callback(block.free)
        errors = []

        def close():
            try:
                self.pool.close()
            except accel.Error as error:
                errors.append(error.errno)

        self.in_callback(close)
        self.assertEqual((errors, self.pool.closed), ([errno.EDEADLK], False))
        lib.mock_fence_signal(fence, 0)
        self.pool.close()
        self.assertEqual(self.device.stats().mine, 0)

    def test_used_through_a_view(self):
        lib.mock_add_mappable(5, 1 << 16)
        with accel.open(2) as device:
            stream, fence = device.stream(), self.fence()
            host = device.allocate_host(64)
            with device.pool(256, maximum_size=256) as pool:
                block = pool.allocate(256)
                stream.wait_fence(fence)
                with memoryview(block) as view:
                    accel.copy(view[:64], host, stream)
                self.refuses(InterruptedError, "a signal", mock.interrupted, block.free)
                self.assertFalse(block.freed)
                lib.mock_fence_signal(fence, 0)
                block.free()
                self.assertTrue(stream.query())

    def test_used_by_another_device(self):
        with accel.open(1) as other, other.stream() as stream:
            with self.pool.allocate(64) as block:
                block.fill(3)
                accel.copy(other.allocate(64), block, stream)
            self.pool.close()
        self.assertEqual(self.device.stats().mine, 0)

    def test_freed_while_the_device_closes(self):
        """The free waits for work that another object of the device has queued; close() waits for it."""
        other, fences = accel.open(), [self.fence(), self.fence()]
        memory, stream = other.allocate(64), other.stream()
        # A wait for the device looks at the streams in this order.
        gate = self.device.stream()
        block = self.pool.allocate(64, self.stream)
        self.stream.close()
        gate.wait_fence(fences[0])
        self.device.allocate(64).fill(1, gate)
        closes = mock.Thread(self.device.close)
        lib.mock_wait_calls(mock.WAIT, 1)
        stream.wait_fence(fences[1])
        memory.fill(1, stream)
        frees = mock.Thread(block.free)
        while not block.freed:
            time.sleep(0.001)
        lib.mock_fence_signal(fences[0], 0)
        threading.Thread.join(closes, 0.3)
        self.assertFalse(self.device.closed or self.pool.closed)
        lib.mock_fence_signal(fences[1], 0)
        for thread in (closes, frees):
            thread.join()
        self.assertEqual((self.device.closed, self.pool.closed, other.stats().mine), (True, True, 64))
        other.close()


class Cost(mock.Device):
    def test_close_looks_at_no_block_twice(self):
        """Blocks that were freed, but are still there, cost nothing."""
        lib.mock_add_sized(5, 1 << 23, 1 << 23)
        with accel.open(2) as device:
            seconds = []
            for number in (1000, 16000):
                pool = device.pool(number * 64)
                blocks = [pool.allocate(64) for _ in range(number)]
                begin = time.process_time()
                pool.close()
                seconds.append(time.process_time() - begin)
                self.assertTrue(all(block.freed for block in blocks))
            # 16 times as many take 16 times as long, not 256 times.
            self.assertLess(seconds[1], 100 * seconds[0] + 0.01)
