# SPDX-License-Identifier: MIT
"""The module accel on devices of the mock: devices, memory, copies, views."""

import array
import copy
import ctypes
import errno
import gc
import inspect
import importlib.util
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
import unittest
import weakref

import accel
import mock
from mock import lib


class Devices(mock.Cards):
    def test_count(self):
        self.assertEqual(accel.count(), 2)
        lib.mock_reset()
        self.assertEqual(accel.count(), 0)

    def test_count_fails(self):
        lib.mock_fail(mock.OPENDIR, 1, errno.EMFILE)
        self.fails(errno.EMFILE, accel.count)

    def test_open(self):
        with accel.open() as card, accel.open(index=1) as other:
            self.assertEqual((card.index, other.index), (0, 1))
            self.assertEqual(card.info().node, 0)
            self.assertEqual(other.info().node, 3)

    def test_open_what_is_not_there(self):
        self.fails(errno.ENODEV, accel.open, 2)
        self.fails(errno.EINVAL, accel.open, -1)
        for index in (1 << 31, -(1 << 31) - 1, 1 << 70):
            self.assertRaises(OverflowError, accel.open, index)
        for index in ("0", 0.0, None, b"0"):
            self.assertRaises(TypeError, accel.open, index)
        self.assertRaises(TypeError, accel.open, 0, 1)
        self.assertRaises(TypeError, accel.open, number=0)

    def test_open_without_permission(self):
        lib.mock_fail(mock.OPEN, 1, errno.EACCES)
        error = self.fails(errno.EACCES, accel.open)
        self.assertIsInstance(error, accel.Error)
        self.assertIn("/dev/paccel0", error.strerror)

    def test_info(self):
        with accel.open() as card:
            info = card.info()
            self.assertEqual((info.name, info.bus_address), ("mock", "0000:01:00.0"))
            self.assertEqual((info.memory_size, info.granule), (mock.SIZE, mock.GRANULE))
            self.assertEqual(accel.Capability(info.capabilities),
                             accel.Capability.MEM_SURVIVES_RESET)
            self.assertEqual(info.max_host_ranges, 16)
            self.assertEqual(info.engines, 1)
            self.assertEqual(info.copy_align, 1)
            self.assertEqual(len(info), 13)

    def test_stats(self):
        with accel.open() as card:
            memory = card.allocate(100)
            memory.copy_from(bytes(100))
            memory.tobytes()
            memory.fill(1)
            stats = card.stats()
            self.assertEqual((stats.total, stats.used, stats.free), (4032, 128, 3904))
            self.assertEqual((stats.mine, stats.mine_allocs, stats.allocs), (128, 1, 1))
            self.assertEqual((stats.bytes_h2d, stats.bytes_d2h, stats.bytes_filled),
                             (100, 100, 100))
            self.assertEqual(stats.total,
                             stats.used + stats.free + stats.dirty + stats.quarantined)
            self.assertEqual(len(stats), 18)
        lib.mock_quota(0, 512)
        with accel.open() as card:
            self.assertEqual(card.stats().user_max, 512)

    def test_two_opens_share_the_device(self):
        one, two = accel.open(), accel.open()
        self.assertEqual(lib.mock_files(), 1)
        mine, other = one.allocate(64), two.allocate(64)
        one.close()
        self.assertTrue(mine.freed)
        self.assertFalse(other.freed)
        self.assertEqual(two.stats().used, 64)
        other.copy_from(bytes(64))
        two.close()

    def test_close_twice(self):
        card = accel.open()
        self.assertFalse(card.closed)
        self.assertEqual(repr(card), "<accel.Device 0>")
        card.close()
        card.close()
        self.assertTrue(card.closed)
        self.assertEqual(repr(card), "<accel.Device 0, closed>")
        self.refuses(ValueError, "the device is closed", card.__enter__)

    def test_closed_by_its_end(self):
        card = accel.open()
        card.allocate(64)
        del card

    def test_use_after_close(self):
        card = accel.open()
        memory, host, stream, event = card.allocate(64), card.allocate_host(64), card.stream(), \
            card.event()
        part = memory[3:9]
        card.close()
        uses = [
            (card.info,), (card.stats,), (card.allocate, 1), (card.allocate_host, 1),
            (card.allocate_unified, 1), (card.register, bytearray(1)), (card.stream,),
            (card.event,), (card.synchronize,), (card.__enter__,),
            (memory.copy_from, bytes(64)), (memory.copy_to, bytearray(64)), (memory.fill, 0),
            (memory.tobytes,), (memory.__enter__,), (part.tobytes,), (part.fill, 0),
            (host.__dlpack__,), (memoryview, host),
            (stream.synchronize,), (stream.query,), (stream.clear,), (stream.wait, event),
            (stream.record,), (stream.record, event), (stream.__enter__,),
            (event.record, stream), (event.query,), (event.synchronize,),
            (event.elapsed_ns, event),
        ]
        for function, *arguments in uses:
            with self.subTest(function):
                self.refuses(ValueError, "the device is closed", function, *arguments)
        self.assertTrue(memory.freed and part.freed and stream.closed and event.closed)
        self.assertIs(memory.device, card)
        self.assertEqual(host.__dlpack_device__(), (1, 0))
        for thing in (memory, host, stream, event):
            getattr(thing, "free", None) and thing.free()
            getattr(thing, "close", None) and thing.close()
            self.assertIsInstance(repr(thing), str)

    def test_close_refuses_views(self):
        card = accel.open()
        host = card.allocate_host(64)
        view = memoryview(host)
        self.refuses(BufferError, "views", card.close)
        view[0] = 5
        self.assertEqual(host.tobytes()[0], 5)
        view.release()
        card.close()

    def test_end_of_block_hides_no_exception(self):
        with self.assertRaises(ZeroDivisionError):
            with accel.open() as card, card.allocate_host(8) as host:
                view = memoryview(host)
                1 // 0  # pylint: disable=expression-not-assigned
        self.assertFalse(host.freed or card.closed)
        view.release()
        card.close()
        with self.assertRaises(BufferError):
            with accel.open() as card:
                view = memoryview(card.allocate_host(8))
        view.release()
        card.close()

    def test_no_other_way_to_objects(self):
        for kind in (accel.Device, accel.Memory, accel.Stream, accel.Event):
            self.assertRaises(TypeError, kind)
            self.assertRaises(TypeError, object.__new__, kind)
            self.assertRaises(TypeError, type, "sub", (kind,), {})
            with self.assertRaises(TypeError):
                kind.close = None
        with accel.open() as card:
            for thing in (card, card.allocate(1), card.stream(), card.event()):
                self.assertRaises(TypeError, pickle.dumps, thing)
                self.assertRaises(TypeError, copy.copy, thing)


class Memory(mock.Card):
    def test_kinds(self):
        card = self.card
        for kind, make in (("device", card.allocate), ("host", card.allocate_host),
                           ("unified", card.allocate_unified)):
            memory = make(size=10)
            self.assertEqual((memory.kind, memory.size, len(memory)), (kind, 10, 10))
            self.assertEqual(memory.tobytes(), bytes(10))
            self.assertIn(kind, repr(memory))
            self.assertIn(hex(memory.address), repr(memory))
            memory.free()
            self.assertIn("freed", repr(memory))

    def test_sizes(self):
        for make in (self.card.allocate, self.card.allocate_host, self.card.allocate_unified):
            for size in (0, -1, -(1 << 62)):
                self.refuses(ValueError, "at least 1 byte", make, size)
            for size in (1 << 63, 1 << 80):
                self.assertRaises(OverflowError, make, size)
            for size in (None, "1", 1.0):
                self.assertRaises(TypeError, make, size)
        error = self.fails(errno.ENOMEM, self.card.allocate, 4033)
        self.assertIn("4033", error.strerror)
        self.assertIsInstance(error, accel.Error)
        self.card.allocate(4032)

    def test_quota(self):
        lib.mock_quota(0, 128)
        self.fails(errno.EDQUOT, self.card.allocate, 129)

    def test_freed_by_its_end(self):
        memory = self.card.allocate(100)
        part = memory[10:]
        del memory
        self.assertEqual(self.card.stats().used, 128)
        del part
        self.assertEqual(self.card.stats().used, 0)
        host = self.card.allocate_host(1)
        self.assertEqual(lib.mock_host_ranges(0), 1)
        del host
        self.assertEqual(lib.mock_host_ranges(0), 0)

    def test_free(self):
        memory = self.card.allocate(100)
        memory.free()
        memory.free()
        self.assertTrue(memory.freed)
        self.assertEqual(self.card.stats().used, 0)
        with self.card.allocate(100) as memory:
            self.assertEqual(self.card.stats().used, 128)
        self.assertTrue(memory.freed)
        self.assertEqual(self.card.stats().used, 0)

    def test_free_that_fails(self):
        memory = self.card.allocate(64)
        lib.mock_fail(mock.MEM_FREE, 1, errno.EIO)
        self.fails(errno.EIO, memory.free)
        self.assertTrue(memory.freed)

    def test_use_after_free(self):
        stream = self.card.stream()
        for make in (self.card.allocate, self.card.allocate_host, self.card.allocate_unified):
            memory = make(64)
            part = memory[1:5]
            memory.free()
            uses = [
                (memory.copy_from, bytes(64)), (memory.copy_to, bytearray(64)), (memory.fill, 0),
                (memory.tobytes,), (memory.__enter__,), (part.tobytes,), (part.fill, 0),
                (part.__enter__,), (memory.fill, 0, stream), (part[1:].tobytes,),
                (memory.copy_from, bytes(64), stream), (memory.__dlpack__,),
                (memoryview, memory), (memoryview, part), (accel.copy, memory, memory),
            ]
            for function, *arguments in uses:
                with self.subTest(function):
                    self.refuses(ValueError, "the memory has been freed", function, *arguments)

    def test_slices(self):
        memory = self.card.allocate(100)
        memory.copy_from(bytes(range(100)))
        self.assertEqual(memory[:].tobytes(), bytes(range(100)))
        self.assertEqual(memory[10:20].tobytes(), bytes(range(10, 20)))
        self.assertEqual(memory[-10:].tobytes(), bytes(range(90, 100)))
        self.assertEqual(memory[10:20][3:-2].tobytes(), bytes(range(13, 18)))
        self.assertEqual(memory[50:40].size, 0)
        self.assertEqual(memory[90:1000].size, 10)
        self.assertEqual(memory[200:].tobytes(), b"")
        self.assertEqual(memory[10:].address, memory.address + 10)
        self.assertEqual(memory[10:].kind, "device")
        self.assertIs(memory[10:].device, self.card)
        for key in (0, -1, None, "a", (1, 2)):
            self.refuses(TypeError, "slices", memory.__getitem__, key)
        for step in (2, -1):
            self.refuses(ValueError, "contiguous", memory.__getitem__, slice(None, None, step))
        self.assertRaises(TypeError, memory.__getitem__, slice("a", "b"))
        with self.assertRaises(TypeError):
            memory[0:1] = b"a"

    def test_a_slice_is_not_freed(self):
        memory = self.card.allocate(100)
        self.refuses(ValueError, "slice", memory[1:2].free)
        with memory[1:2] as part:
            part.fill(9)
        self.assertFalse(memory.freed)

    def test_register(self):
        data = bytearray(b"abcdef")
        registered = self.card.register(data)
        self.assertEqual((registered.kind, registered.size), ("registered", 6))
        self.assertEqual(lib.mock_host_ranges(0), 1)
        self.assertRaises(BufferError, data.append, 1)
        self.fails(errno.EEXIST, self.card.register, data)
        memory = self.card.allocate(6)
        memory.copy_from(registered)
        self.assertEqual(memory.tobytes(), b"abcdef")
        registered[1:3].fill(0x5A)
        self.assertEqual(data, b"aZZdef")
        registered.free()
        self.assertEqual(lib.mock_host_ranges(0), 0)
        data.append(1)

    def test_register_is_ended_with_the_card(self):
        data = bytearray(10)
        with accel.open(1) as card:
            registered = card.register(data)
            self.assertEqual(lib.mock_host_ranges(3), 1)
        self.assertTrue(registered.freed)
        data.append(1)

    def test_an_end_that_ends_others(self):
        """What is registered is let go of, and takes memory along, or the registration itself."""
        class Owner(bytearray):
            def __del__(self):
                for thing in self.things:
                    thing.free()
                self.things.clear()

        for close in (lambda card: card.close(), lambda _: None):
            card = accel.open(1)
            owners = [Owner(8) for _ in range(3)]
            for owner in owners:
                owner.things = [card.allocate(8), card.allocate_host(8), card.register(owner),
                                card.allocate(8)]
                self.assertEqual(card.info().node, 3)
            del owner, owners
            close(card)
            for thing in gc.get_objects():
                if isinstance(thing, Owner):
                    thing.things.clear()
            del card
            thing = None

    def test_register_read_only(self):
        self.refuses(BufferError, "", self.card.register, b"constant")
        registered = self.card.register(b"constant", read_only=True)
        with memoryview(registered) as view:
            self.assertTrue(view.readonly)
            self.assertEqual(view, b"constant")
        self.refuses(ValueError, "read-only", registered.fill, 0)
        self.refuses(TypeError, "not writable", (ctypes.c_char * 8).from_buffer, registered)
        self.refuses(BufferError, "destination is registered as read-only", registered.copy_from,
                     b"12345678")
        for version in (None, (0, 8), (-1, 0)):
            self.refuses(BufferError, "max_version", registered.__dlpack__, max_version=version)
        self.assertIn("dltensor_versioned", repr(registered.__dlpack__(max_version=(1, 0))))

    def test_register_refuses(self):
        self.refuses(ValueError, "empty", self.card.register, bytearray())
        for thing in (None, "text", 5, [1]):
            self.assertRaises(TypeError, self.card.register, thing)
        self.refuses(BufferError, "", self.card.register, memoryview(bytearray(10))[::2])
        self.assertRaises(TypeError, self.card.register)
        lib.mock_fail(mock.HOST_REGISTER, 1, errno.ENOMEM)
        data = bytearray(5)
        self.fails(errno.ENOMEM, self.card.register, data)
        data.append(1)


class Copies(mock.Card):
    def everything(self, size):
        card = self.card
        self.kept = bytearray(size)
        return [card.allocate(size), card.allocate_host(size), card.allocate_unified(size),
                card.register(self.kept), bytearray(size), accel.open(1).allocate(size)]

    def test_all_pairs(self):
        size = 77
        for offset, _ in enumerate(self.everything(size)):
            for to in range(6):
                things, targets = self.everything(size), self.everything(size)
                source, target = things[offset], targets[to]
                data = os.urandom(size)
                accel.copy(source, data)
                with self.subTest(f"{offset} to {to}"):
                    accel.copy(destination=target, source=source)
                    result = bytes(target) if isinstance(target, bytearray) else target.tobytes()
                    self.assertEqual(result, data)
                for thing in things + targets:
                    if isinstance(thing, accel.Memory):
                        thing.free()

    def test_methods(self):
        memory = self.card.allocate(4)
        memory.copy_from(source=b"abcd")
        back = bytearray(4)
        memory.copy_to(destination=back)
        self.assertEqual(back, b"abcd")
        memory[1:3].copy_from(b"XY")
        self.assertEqual(memory.tobytes(), b"aXYd")

    def test_buffers(self):
        memory = self.card.allocate(8)
        for source in (b"12345678", bytearray(b"12345678"), array.array("i", (1, 2)),
                       memoryview(b"0123456789")[1:9], (ctypes.c_uint16 * 4)(1, 2, 3, 4),
                       memoryview(bytes(range(8))).cast("B", (2, 2, 2))):
            memory.copy_from(source)
            self.assertEqual(memory.tobytes(), bytes(source))
        numbers = array.array("d", (0.0,))
        accel.copy(numbers, array.array("d", (2.5,)))
        self.assertEqual(numbers[0], 2.5)

    def test_rows_with_gaps(self):
        whole = memoryview(bytearray(range(48))).cast("B", (8, 6))
        rows = whole[::2]
        wanted = b"".join(bytes(range(12 * i, 12 * i + 6)) for i in range(4))
        memory = self.card.allocate(24)
        memory.copy_from(rows)
        self.assertEqual(memory.tobytes(), wanted)
        back = memoryview(bytearray(48)).cast("B", (8, 6))
        memory.copy_to(back[::2])
        self.assertEqual(back[::2].tobytes(), wanted)
        self.assertEqual(back[1::2].tobytes(), bytes(24))
        other = memoryview(bytearray(96)).cast("B", (16, 6))
        accel.copy(other[::4], rows)
        self.assertEqual(other[::4].tobytes(), wanted)
        cube = memoryview(bytearray(range(64))).cast("B", (4, 4, 4))
        self.card.allocate(32).copy_from(cube[::2])

    def test_rows_in_dimensions_of_one(self):
        """Whose strides mean nothing, and are anything in arrays of NumPy."""
        class Buffer(ctypes.Structure):
            _fields_ = [("buf", ctypes.c_void_p), ("obj", ctypes.c_void_p),
                        ("len", ctypes.c_ssize_t), ("itemsize", ctypes.c_ssize_t),
                        ("readonly", ctypes.c_int), ("ndim", ctypes.c_int),
                        ("format", ctypes.c_char_p), ("shape", ctypes.c_void_p),
                        ("strides", ctypes.c_void_p), ("suboffsets", ctypes.c_void_p),
                        ("internal", ctypes.c_void_p)]

        view_of = ctypes.pythonapi.PyMemoryView_FromBuffer
        view_of.restype, view_of.argtypes = ctypes.py_object, (ctypes.c_void_p,)
        memory, data = self.card.allocate(12), ctypes.create_string_buffer(bytes(range(30)), 30)
        for stride in (0, 4, 7):
            shape, strides = (ctypes.c_ssize_t * 3)(3, 1, 4), (ctypes.c_ssize_t * 3)(10, stride, 1)
            buffer = Buffer(ctypes.addressof(data), None, 12, 1, 0, 3, b"B",
                            ctypes.addressof(shape), ctypes.addressof(strides))
            memory.copy_from(view_of(ctypes.byref(buffer)))
            self.assertEqual(memory.tobytes(), bytes((*range(4), *range(10, 14), *range(20, 24))))

    def test_rows_that_cannot_be_copied(self):
        memory = self.card.allocate(24)
        rows = memoryview(bytearray(48)).cast("B", (8, 6))[::2]
        other = memoryview(bytearray(48)).cast("B", (16, 3))[::2]
        self.refuses(BufferError, "gaps after every 3 bytes", accel.copy, other, rows)
        self.refuses(BufferError, "not C-contiguous", memory.copy_from,
                     memoryview(bytes(48))[::2])
        self.refuses(BufferError, "source is not", memory.copy_from, memoryview(bytes(24))[::-1])
        self.refuses(BufferError, "destination is not", memory.copy_to,
                     memoryview(bytearray(24)).cast("B", (4, 6))[::-1])

    def test_sizes_have_to_be_equal(self):
        memory = self.card.allocate(10)
        self.refuses(ValueError, "10 bytes and the source 9", memory.copy_from, bytes(9))
        self.refuses(ValueError, "11 bytes and the source 10", memory.copy_to, bytearray(11))
        self.refuses(ValueError, "slice", accel.copy, memory[1:], memory)
        memory[5:5].copy_from(b"")
        memory[5:5].copy_from(b"", self.card.stream())
        accel.copy(bytearray(), b"")

    def test_what_is_no_memory(self):
        memory = self.card.allocate(4)
        for thing in (None, "text", 4, [1, 2], object()):
            self.assertRaises(TypeError, memory.copy_from, thing)
            self.assertRaises(TypeError, memory.copy_to, thing)
        self.refuses(BufferError, "", memory.copy_to, b"const")
        for stream in (1, "s", memory, self.card):
            self.refuses(TypeError, "accel.Stream", memory.copy_from, b"abcd", stream)
        self.assertRaises(TypeError, accel.copy, memory)
        self.assertRaises(TypeError, accel.copy, memory, memory, None, None)

    def test_overlap(self):
        memory = self.card.allocate(10)
        self.fails(errno.EINVAL, accel.copy, memory[1:], memory[:9])
        host = self.card.allocate_host(10)
        host.copy_from(bytes(range(10)))
        accel.copy(host[1:], host[:9])
        self.assertEqual(host.tobytes(), bytes([0, *range(9)]))

    def test_copy_that_fails(self):
        memory = self.card.allocate(4)
        for number in (errno.EIO, errno.ETIMEDOUT, errno.ENODEV):
            lib.mock_fail(mock.COPY, 1, number)
            self.fails(number, memory.copy_from, b"abcd")
            lib.mock_fail(mock.COPY, 1, number)
            self.fails(number, memory.tobytes)
        memory.copy_from(b"abcd")

    def test_fill(self):
        for make in (self.card.allocate, self.card.allocate_host, self.card.allocate_unified):
            memory = make(10)
            memory.fill(value=0xFF)
            memory[2:5].fill(1)
            memory[5:5].fill(2)
            self.assertEqual(memory.tobytes(), b"\xff\xff\1\1\1\xff\xff\xff\xff\xff")
            for value in (-1, 256, 1000):
                self.refuses(ValueError, "0 to 255", memory.fill, value)
            self.assertRaises(OverflowError, memory.fill, 1 << 70)
            for value in (None, "a", 1.0, bytearray(1)):
                self.assertRaises(TypeError, memory.fill, value)
            self.refuses(TypeError, "accel.Stream", memory.fill, 0, 5)
        lib.mock_fail(mock.FILL, 1, errno.EIO)
        self.fails(errno.EIO, self.card.allocate(4).fill, 0)


class Capsule:
    """A tensor as a consumer sees it."""

    class Tensor(ctypes.Structure):
        _fields_ = [("data", ctypes.c_void_p), ("type", ctypes.c_int32), ("id", ctypes.c_int32),
                    ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                    ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                    ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]

    class Versioned(ctypes.Structure):
        pass

    class Old(ctypes.Structure):
        pass

    Versioned._fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32),
                          ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                          ("flags", ctypes.c_uint64), ("tensor", Tensor)]
    Old._fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p),
                    ("deleter", ctypes.c_void_p)]

    def __init__(self, capsule):
        self.old = b"_versioned" not in repr(capsule).encode()
        name = b"dltensor" if self.old else b"dltensor_versioned"
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
        self.address = get(capsule, name)
        self.kind = self.Old if self.old else self.Versioned
        self.managed = self.kind.from_address(self.address)
        self.tensor = self.managed.tensor
        rename = ctypes.pythonapi.PyCapsule_SetName
        rename.argtypes = (ctypes.py_object, ctypes.c_char_p)
        self.name = b"used_" + name
        rename(capsule, self.name)

    def delete(self):
        """Without the GIL, as consumers may."""
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self.managed.deleter)(self.address)


class Views(mock.Card):
    def setUp(self):
        super().setUp()
        self.host = self.card.allocate_host(100)

    def tearDown(self):
        del self.host
        super().tearDown()

    def test_buffer(self):
        view = memoryview(self.host[10:20])
        self.assertEqual((view.nbytes, view.format, view.readonly), (10, "B", False))
        view[:] = b"0123456789"
        self.assertEqual(self.host.tobytes()[8:22], b"\0\x000123456789\0\0")
        self.refuses(BufferError, "1 views", self.host.free)
        again = memoryview(self.host)
        self.refuses(BufferError, "2 views", self.host.free)
        again.release()
        view.release()
        self.host.free()

    def test_buffer_outlives_the_names(self):
        view = memoryview(self.card.allocate_host(5))
        view[:] = b"abcde"
        self.assertEqual(bytes(view), b"abcde")
        self.assertEqual(lib.mock_host_ranges(0), 2)
        del view
        self.assertEqual(lib.mock_host_ranges(0), 1)

    def test_device_memory_has_no_buffer(self):
        memory = self.card.allocate(10)
        self.refuses(BufferError, "cannot read", memoryview, memory)
        self.refuses(BufferError, "cannot read", bytes, memory[1:2])
        memory.free()

    def test_dlpack_of_device_memory(self):
        """As mpi4py asks for it: an address of a device that only the consumer's library knows."""
        memory = self.host.device.allocate(100)
        self.assertEqual(memory.__dlpack_device__(), (12, 0))
        for words in ({"stream": -1, "max_version": (1, 0), "copy": False}, {"dl_device": (12, 0)}, {}):
            tensor = Capsule(memory[10:30].__dlpack__(**words))
            dl = tensor.tensor
            self.assertEqual((dl.data, dl.shape[0]), (memory.address + 10, 20))
            self.assertEqual((dl.type, dl.id, dl.code, dl.bits), (12, 0, 1, 8))
            self.refuses(BufferError, "1 views", memory.free)
            tensor.delete()
        for stream in (0, 1, 1 << 70, "a"):
            self.refuses(BufferError, "None or -1", memory.__dlpack__, stream=stream)
        self.refuses(BufferError, "there is (12, 0) only", memory.__dlpack__, dl_device=(1, 0))
        with accel.open(1) as other:
            self.assertEqual(other.allocate(1).__dlpack_device__(), (12, 1))
        memory.free()
        self.refuses(ValueError, "freed", memory.__dlpack__)

    def test_dlpack_of_a_dmabuf(self):
        """Its addresses are in no window: accel_pointer_node() does not know them."""
        fd = lib.mock_dmabuf(4096)
        with self.host.device.register_dmabuf(fd, 100) as shared:
            for memory in (shared, shared[10:30]):
                self.refuses(BufferError, "dma-buf", memory.__dlpack_device__)
                for words in ({}, {"max_version": (1, 0)}, {"dl_device": (12, 0)}):
                    self.refuses(BufferError, "dma-buf", memory.__dlpack__, **words)
            self.refuses(BufferError, "cannot read", memoryview, shared)
        os.close(fd)

    def test_device_memory_that_is_mapped(self):
        lib.mock_add_mappable(5, 1 << 16)
        with accel.open(2) as card:
            memory = card.allocate(10)
            memory.copy_from(b"0123456789")
            with memoryview(memory) as view:
                self.assertEqual(view, b"0123456789")
            self.assertEqual(memory.__dlpack_device__(), (1, 0))
            tensor = Capsule(memory.__dlpack__())
            self.assertEqual(tensor.tensor.data, memory.address)
            tensor.delete()

    def test_dlpack(self):
        for version in (None, (0, 8), (1, 0), (1, 1), (2, 0)):
            capsule = self.host[10:30].__dlpack__(max_version=version)
            tensor = Capsule(capsule)
            del capsule
            self.assertEqual(tensor.old, version in (None, (0, 8)))
            dl = tensor.tensor
            self.assertEqual(dl.data, self.host.address + 10)
            self.assertEqual((dl.type, dl.id, dl.ndim, dl.code, dl.bits, dl.lanes, dl.offset),
                             (1, 0, 1, 1, 8, 1, 0))
            self.assertEqual((dl.shape[0], dl.strides[0]), (20, 1))
            if not tensor.old:
                self.assertEqual((tensor.managed.major, tensor.managed.flags), (1, 0))
            self.refuses(BufferError, "1 views", self.host.free)
            self.refuses(BufferError, "views", self.card.close)
            mock.Thread(tensor.delete).join()
        read_only = self.card.register(b"abc", True)
        tensor = Capsule(read_only.__dlpack__(max_version=(1, 0)))
        self.assertEqual(tensor.managed.flags, 1)
        tensor.delete()
        self.host.free()

    def test_dlpack_that_nobody_takes(self):
        for version in (None, (1, 0)):
            capsule = self.host.__dlpack__(max_version=version)
            self.refuses(BufferError, "1 views", self.host.free)
            del capsule
        self.host.free()

    def test_dlpack_outlives_the_names(self):
        tensor = Capsule(self.card.allocate_host(5).__dlpack__())
        self.assertEqual(lib.mock_host_ranges(0), 2)
        tensor.delete()
        self.assertEqual(lib.mock_host_ranges(0), 1)

    def test_dlpack_arguments(self):
        pack = self.host.__dlpack__
        pack(stream=None, dl_device=(1, 0), copy=False)
        self.refuses(BufferError, "stream", pack, stream=1)
        self.refuses(BufferError, "stream", pack, stream=-1)
        for wanted in (True, 1):
            self.refuses(BufferError, "copy", pack, copy=wanted)
        self.refuses(BufferError, "(2, 0)", pack, dl_device=(2, 0))
        self.refuses(BufferError, "(1, 1)", pack, dl_device=(1, 1))
        for arguments in ({"max_version": 1}, {"max_version": (1,)}, {"max_version": ("a", 0)},
                          {"dl_device": 1}, {"dl_device": (1, "b")}, {"other": 1}):
            self.assertRaises(TypeError, pack, **arguments)
        self.assertRaises(TypeError, pack, None)
        self.host.free()

    @unittest.skipUnless(importlib.util.find_spec("numpy"), "numpy is not there")
    def test_numpy(self):
        import numpy  # pylint: disable=import-outside-toplevel
        memory = self.card.allocate(96)
        numbers = numpy.arange(24, dtype=numpy.float32)
        memory.copy_from(numbers)
        array_over = numpy.frombuffer(self.host, dtype=numpy.float32, count=24)
        self.host[:96].copy_from(memory)
        self.assertTrue((array_over == numbers).all())
        del array_over
        # Before 2.1 NumPy lets nobody write to it.
        packed = numpy.from_dlpack(self.host)
        self.host.fill(7)
        self.assertEqual(packed.tobytes(), b"\7" * 100)
        self.refuses(BufferError, "views", self.host.free)
        del packed
        table = numpy.zeros((6, 8), dtype=numpy.uint16)
        table[:, 2:6] = numpy.arange(24).reshape(6, 4)
        memory[:48].copy_from(table[:, 2:6])
        self.assertEqual(memory[:48].tobytes(), numpy.arange(24, dtype=numpy.uint16).tobytes())
        memory[:48].fill(1)
        memory[:48].copy_to(table[:, 2:6])
        self.assertTrue((table[:, 2:6] == 0x0101).all() and not table[:, :2].any())
        self.refuses(BufferError, "not C-contiguous", memory[:48].copy_from, table[:, ::2])
        with self.card.stream() as stream:
            memory[:48].copy_from(table[:, 1:5], stream)
            memory[:48].copy_to(table[:, 4:8], stream)
        self.assertTrue((table[:, 6:] == 0x0101).all() and not table[:, 4].any())
        self.host.free()


class Tensor:
    """An object that has DLPack only. before_1: it does not know max_version. `freed` counts the tensors that
    destructors of capsules have freed, and `given` the capsules."""

    freed = given = 0

    @staticmethod
    @ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
    def _destructor(capsule):
        get_name = ctypes.pythonapi.PyCapsule_GetName
        get_name.restype, get_name.argtypes = ctypes.c_char_p, (ctypes.c_void_p,)
        Tensor.freed += get_name(capsule) in (b"dltensor", b"dltensor_versioned")

    def __init__(self, shape, dtype=(1, 8, 1), device=(1, 0), *, before_1=False, strides=None, offset=0, flags=0,
                 data=None, major=1):
        code, bits, lanes = dtype
        self.data = bytearray(range(200)) if data is None else data
        self.numbers = [(ctypes.c_int64 * max(1, len(shape)))(*values) for values in (shape, strides or ())]
        tensor = Capsule.Tensor(ctypes.addressof(ctypes.c_char.from_buffer(self.data)), *device, len(shape), code,
                                bits, lanes, self.numbers[0], self.numbers[1] if strides else None, offset)
        self.before_1 = before_1
        self.managed = (Capsule.Old(tensor) if before_1 else
                        Capsule.Versioned(major, 0, None, None, flags, tensor))

    def __dlpack__(self, **words):
        if self.before_1 and words:
            raise TypeError("unknown argument")
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        Tensor.given += 1
        return new(ctypes.addressof(self.managed), b"dltensor" if self.before_1 else b"dltensor_versioned",
                   ctypes.cast(self._destructor, ctypes.c_void_p))


class Tensors(mock.Card):
    """Those of others are sources and destinations of copies, and can be registered."""

    def setUp(self):
        super().setUp()
        self.device = self.card
        self.memory = self.device.allocate(24)
        Tensor.freed = Tensor.given = 0

    def tearDown(self):
        self.assertEqual(Tensor.freed, Tensor.given)
        super().tearDown()

    def test_copies(self):
        for before_1 in (False, True):
            tensor = Tensor((24,), before_1=before_1)
            self.memory.copy_from(tensor)
            self.assertEqual(self.memory.tobytes(), bytes(range(24)))
            self.memory.fill(7)
            self.memory.copy_to(tensor)
            self.assertEqual(tensor.data[:26], b"\7" * 24 + bytes((24, 25)))

    def test_layouts(self):
        for shape, dtype, strides, offset, wanted in (
                ((), (2, 64, 1), None, 3, range(3, 11)),
                ((3, 4), (0, 16, 1), None, 0, range(24)),
                ((3, 4), (0, 16, 1), (4, 1), 1, range(1, 25)),
                ((3, 1, 4), (1, 8, 1), (4, 99, 1), 5, range(5, 17)),
                ((2, 3), (2, 16, 2), None, 0, range(24)),
                ((3, 2, 4), (4, 8, 1), (40, 4, 1), 2, [*range(2, 10), *range(42, 50), *range(82, 90)])):
            with self.subTest(shape=shape, strides=strides):
                part = self.memory[:len(wanted)]
                part.copy_from(Tensor(shape, dtype, strides=strides, offset=offset))
                self.assertEqual(part.tobytes(), bytes(wanted))
        self.refuses(BufferError, "not C-contiguous", self.memory.copy_from, Tensor((6, 4), strides=(1, 6)))

    def test_refused(self):
        for tensor, reason in ((Tensor((24,), device=(2, 3)), r"device (2, 3) of DLPack"),
                               (Tensor((24,), device=(12, 0)), "the processor has to"),
                               (Tensor((24,), (4, 4, 1)), "4 bits"), (Tensor((24,), (4, 0, 1)), "0 bits"),
                               (Tensor((1,) * 65), "65 dimensions"), (Tensor((24,), major=2), "DLPack 2"),
                               (Tensor((24,), flags=4), "padded"), (Tensor((-24,)), "valid numbers"),
                               (Tensor((-2, -12)), "valid numbers"), (Tensor((1 << 62, 4)), "valid numbers"),
                               (Tensor((3 << 62, 8)), "valid numbers"), (Tensor((0, 1 << 62), (0, 64, 1)), "valid"),
                               (Tensor((3, 8), (0, 64, 1), strides=(1 << 61, 1)), "valid numbers")):
            self.refuses(BufferError, reason, self.memory.copy_from, tensor)
            self.refuses(BufferError, reason, self.device.register, tensor)
        for flag, reason in ((1, "read-only"), (2, "a copy")):
            tensor = Tensor((24,), flags=flag)
            self.memory.copy_from(tensor)
            self.refuses(BufferError, reason, self.memory.copy_to, tensor)
            self.refuses(BufferError, reason, self.device.register, tensor)
            self.device.register(tensor, True).free()
        self.refuses(ValueError, "empty", self.device.register, Tensor((0, 3)))
        self.memory[:0].copy_from(Tensor((3, 0)))
        self.refuses(BufferError, "not C-contiguous", self.device.register, Tensor((6, 4), strides=(8, 1)))
        self.refuses(ValueError, "bytes", self.memory.copy_from, Tensor((25,)))
        for result in (None, 3, "capsule"):
            wrong = type("Wrong", (), {"__dlpack__": lambda self, result=result, **words: result})()
            self.refuses(TypeError, "no unused capsule", self.memory.copy_from, wrong)
        self.refuses(TypeError, "bytes-like", self.memory.copy_from, object())

    def test_taken_once(self):
        """A capsule is marked as taken until the end of the copy."""
        tensor = Tensor((24,))
        capsule = tensor.__dlpack__()
        cached = type("Cached", (), {"__dlpack__": lambda self, **words: capsule})()
        with self.device.register(cached):
            self.refuses(TypeError, "no unused capsule", self.memory.copy_from, cached)
        self.memory.copy_from(cached)
        taken = Capsule(capsule)
        self.refuses(TypeError, "no unused capsule", self.memory.copy_from, cached)
        # The capsule has its name from there.
        del cached, capsule
        gc.collect()
        self.assertEqual((Tensor.freed, taken.tensor.shape[0]), (0, 24))
        Tensor.freed += 1

    def test_flags_of_buffers(self):
        buffer = accel._accel.tensor_buffer  # pylint: disable=protected-access
        get = ctypes.pythonapi.PyObject_GetBuffer
        get.argtypes = (ctypes.py_object, ctypes.c_void_p, ctypes.c_int)
        release = ctypes.pythonapi.PyBuffer_Release
        release.argtypes = (ctypes.c_void_p,)
        view = ctypes.create_string_buffer(200)
        tensors = {"C": Tensor((6, 4)), "F": Tensor((6, 4), strides=(1, 6)), "none": Tensor((6, 2), strides=(4, 2))}
        for order, simple, strided, is_c, is_f, is_any in (("C", 1, 1, 1, 0, 1), ("F", 0, 1, 0, 1, 1),
                                                           ("none", 0, 1, 0, 0, 0)):
            for flags, given in ((0, simple), (8, simple), (0x18, strided), (0x38, is_c), (0x58, is_f),
                                 (0x98, is_any)):
                with self.subTest(order=order, flags=flags):
                    if given:
                        get(buffer(tensors[order]), view, flags)
                        release(view)
                    else:
                        self.refuses(BufferError, "contiguous", get, buffer(tensors[order]), view, flags)

    def test_error_of_the_producer(self):
        class Refusing:
            def __dlpack__(self, **words):
                raise BufferError("it requires a gradient")

        class Broken:
            def __getattr__(self, name):
                raise RuntimeError("it is broken")

        for function in (self.memory.copy_from, self.device.register):
            self.refuses(BufferError, "a gradient", function, Refusing())
            self.refuses(RuntimeError, "broken", function, Broken())

    def test_held_until_the_end(self):
        """A queued copy holds a tensor over page-locked memory."""
        host = self.device.allocate_host(24)
        weak = weakref.ref(host)
        tensor = type("Other", (), {"__dlpack__": lambda self, host=host, **words: host.__dlpack__(**words)})()
        del host
        with self.device.stream() as stream, mock.held():
            self.memory.copy_from(tensor, stream)
            del tensor
            gc.collect()
            self.assertIsNotNone(weak())
        self.memory.copy_from(bytes(24))
        gc.collect()
        self.assertIsNone(weak())

    def test_registered(self):
        tensor = Tensor((24,))
        with self.device.register(tensor) as registered, self.device.stream() as stream:
            registered[:].copy_from(self.memory, stream)
            stream.synchronize()
            self.assertEqual(tensor.data[:24], self.memory.tobytes())

    def test_views(self):
        view = self.memory.view("int16", (3, 4))
        view[:] = Tensor((3, 4), (0, 16, 1))
        self.assertEqual(self.memory.tobytes(), bytes(range(24)))
        view[:, :2] = Tensor((3, 2), (0, 16, 1), strides=(4, 1), offset=100)
        wanted = bytearray(range(24))
        for row in range(3):
            wanted[8 * row:8 * row + 4] = range(100 + 8 * row, 104 + 8 * row)
        self.assertEqual(self.memory.tobytes(), wanted)
        self.refuses(ValueError, "uint16", view.copy_from, Tensor((3, 4), (1, 16, 1)))
        self.refuses(BufferError, "no format", view.copy_from, Tensor((3, 4), (4, 16, 1)))
        tensor = Tensor((3, 4), (0, 16, 1), data=bytearray(24))
        view.copy_to(tensor)
        self.assertEqual(tensor.data, self.memory.tobytes())
        for dtype in ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16",
                      "float32", "float64"):
            code = 6 if dtype == "bool" else 2 if dtype[0] == "f" else dtype[0] == "u"
            one = self.memory[:8].view(dtype)
            one.copy_from(Tensor((len(one),), (int(code), 8 * one.itemsize, 1), offset=60))
            self.assertEqual(self.memory[:8].tobytes(), bytes(range(60, 68)))
            self.memory.fill(0)

    @unittest.skipUnless(importlib.util.find_spec("numpy"), "numpy is not there")
    def test_numpy(self):
        import numpy  # pylint: disable=import-outside-toplevel
        array_of = numpy.arange(24, dtype="uint8")
        tensor = type("Other", (), {"__dlpack__": lambda self, **words: array_of.__dlpack__(**words)})()
        before = sys.getrefcount(array_of)
        self.memory.copy_from(tensor)
        self.assertEqual(self.memory.tobytes(), array_of.tobytes())
        self.assertEqual(sys.getrefcount(array_of), before)


class Tour(unittest.TestCase):
    def test_tour(self):
        path = os.path.join(mock.HERE, "../../../examples/tour.py")
        result = subprocess.run([sys.executable, path, "1"], stdout=subprocess.PIPE, text=True,
                                stderr=subprocess.STDOUT, check=False,
                                env={**os.environ, "MOCK_CARDS": "0,3"})
        self.assertEqual(result.returncode, 0, result.stdout)
        for line in ("2 devices; this is mock at 0000:04:00.0 with 4032 bytes, allocated by 64: "
                     "<Capability.MEM_SURVIVES_RESET: 8>", "ab---fghijklmnopqrstuvwxyz",
                     "HELLOfghijklmnopqrstuvwxyz", "0123456789", "ABCDEKLMNO", "OutOfMemory 12 True",
                     "1 allocation of 64 bytes, True, True", "True True"):
            self.assertIn(line, result.stdout.splitlines())


class Interpreters(unittest.TestCase):
    """A second one in the process, with the same GIL."""

    PROGRAM = """
import accel
import sys
if sys.version_info < (3, 13):
    import _xxsubinterpreters as interpreters
    other, run = interpreters.create(isolated=False), interpreters.run_string
else:
    import _interpreters as interpreters
    other, run = interpreters.create("legacy"), interpreters.exec
said = run(other, '''
import accel
card = accel.open()
host = card.allocate_host(8)
for version in (None, (1, 0)):
    capsule = host.__dlpack__(max_version=version)
    del capsule
memory = card.allocate(8)
with card.stream() as stream:
    memory.copy_from(card.register(bytearray(b"abcdefgh")), stream)
host.copy_from(memory)
print(bytes(memoryview(host)).decode())
del memory
card.close()
''')
interpreters.destroy(other)
print(said, accel.open().stats().used)
"""

    @unittest.skipUnless(importlib.util.find_spec("_xxsubinterpreters") or
                         importlib.util.find_spec("_interpreters"), "there can be none")
    def test_second(self):
        result = subprocess.run([sys.executable, "-c", self.PROGRAM], stdout=subprocess.PIPE,
                                text=True, stderr=subprocess.STDOUT, check=False,
                                timeout=mock.PATIENCE, env={**os.environ, "MOCK_CARDS": "0"})
        self.assertEqual((result.returncode, result.stdout), (0, "abcdefgh\nNone 0\n"))


class Package(unittest.TestCase):
    def test_without_extension_module(self):
        """As the wheel cp39-abi3 has it: the reason is in the exception."""
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(os.path.dirname(accel.__file__), os.path.join(folder, "accel"),
                            ignore=shutil.ignore_patterns("*.so", "__pycache__"))
            result = subprocess.run([sys.executable, "-c", "import accel"], cwd=folder, check=False,
                                    stderr=subprocess.PIPE, text=True, timeout=mock.PATIENCE,
                                    env={**os.environ, "PYTHONPATH": folder})
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, "ImportError: .*Install the wheel cp311-abi3\n")


class Types(unittest.TestCase):
    """The type hints name what is there, all of it."""

    def test_hints(self):
        import ast  # pylint: disable=import-outside-toplevel
        path = os.path.join(os.path.dirname(accel.__file__), "__init__.pyi")
        with open(path, encoding="utf-8") as file:
            tree = ast.parse(file.read())
        with open(path.replace("__init__", "_view"), encoding="utf-8") as file:
            tree.body += ast.parse(file.read()).body
        named = {node.name: node for node in tree.body
                 if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name[0] != "_"}
        self.assertEqual(set(named), set(accel.__all__))
        self.assertTrue(os.path.exists(os.path.join(os.path.dirname(path), "py.typed")))
        ours = {"__enter__", "__exit__", "__dlpack__", "__dlpack_device__", "__len__",
                "__getitem__", "__await__"}
        for name in ("Device", "Memory", "Pool", "Stream", "Event"):
            hinted = {node.name for node in named[name].body} - {"__buffer__"}
            there = {member for member in vars(getattr(accel, name))
                     if not member.startswith("_") or member in ours}
            self.assertEqual(hinted, there, name)
        for name in ("DeviceInfo", "MemoryStats", "PoolStats"):
            hinted = [node.name for node in named[name].body if isinstance(node, ast.FunctionDef)]
            fields = [member for member in getattr(accel, name).__match_args__]
            self.assertEqual(hinted, fields)

    def test_everything_is_documented(self):
        for name in accel.__all__:
            thing = getattr(accel, name)
            self.assertTrue(thing.__doc__, name)
            for member, value in vars(thing).items() if isinstance(thing, type) else ():
                if (not member.startswith("_") or member in ("__enter__", "__exit__")) and \
                        name not in ("Error", "Capability"):
                    slots = getattr(thing, "__slots__", {})
                    self.assertTrue(value.__doc__ or slots[member], f"{name}.{member}")
                    if callable(value):
                        self.assertTrue(inspect.signature(value), f"{name}.{member}")
