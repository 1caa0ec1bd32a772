# SPDX-License-Identifier: MIT
"""Typed views of accel, on devices of the mock."""

import array
import collections.abc
import errno
import itertools
import random
import struct
import sys

import accel
import mock
from mock import held, lib

NAMES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16",
         "float32", "float64")


class Views(mock.Device):
    def numbers(self, *shape, dtype="uint16"):
        """A view of 0, 1, 2..., and its elements in nested lists."""
        count = 1
        for number in shape:
            count *= number
        data = array.array("H", range(count))
        memory = self.device.allocate(data.itemsize * count)
        memory.copy_from(data)
        view = memory.view(dtype, shape)
        return view, view.tolist()

    def test_attributes(self):
        memory = self.device.allocate(24)
        view = memory.view(dtype="float32", shape=(2, 3))
        self.assertEqual((view.dtype, view.shape, view.strides, view.size, view.itemsize, view.nbytes,
                          view.ndim, len(view)), ("float32", (2, 3), (12, 4), 6, 4, 24, 2, 2))
        self.assertIs(view.memory, memory)
        self.assertEqual(repr(view), "<accel.View of device memory, float32 (2, 3)>")
        self.assertEqual(memory.view().shape, (24,))
        self.assertEqual(memory[8:].view("d").shape, (2,))
        self.assertEqual(memory.view("int32", 6).shape, (6,))
        self.assertEqual(memory.view("float64", [3]).shape, (3,))
        self.assertEqual(memory[:4].view("i", ()).ndim, 0)
        for name in NAMES:
            self.assertEqual(memory.view(name).dtype, name)
            self.assertEqual(memory.view(name).nbytes, 24)

    def test_wrong(self):
        memory = self.device.allocate(24)
        for dtype in ("float", "float128", "O", "", 5, None):
            self.refuses(ValueError, "it has to be one of bool, int8", memory.view, dtype)
        for shape in (5, 7, (2, 2), (2, -3), (-2, -3), ()):
            self.refuses(ValueError, "24", memory.view, "i", shape)
        self.refuses(ValueError, "24", memory.view, "i", (0, 6))
        self.assertRaises(TypeError, memory.view, "i", 6.0)
        view = memory.view("i", (2, 3))
        for key in (2, -3, (0, 3), (0, 0, 0), (..., ...)):
            self.assertRaises(IndexError, view.__getitem__, key)
        for step in (0, -1):
            self.assertRaises(ValueError, view.__getitem__, slice(None, None, step))
        self.assertRaises(TypeError, view.__getitem__, "a")
        self.assertRaises(TypeError, len, memory[:4].view("i", ()))

    def test_elements(self):
        view, lists = self.numbers(3, 4)
        self.assertEqual(lists, [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]])
        self.assertEqual((view[1, 2], view[-1, -1], view[0][3]), (6, 11, 3))
        view[1, 2] = 1000
        self.assertEqual(view[1].tolist(), [4, 5, 1000, 7])
        self.assertEqual(view[..., 0].tolist(), [0, 4, 8])
        self.assertEqual(view[1, ...].tolist(), [4, 5, 1000, 7])
        self.assertEqual(view[:0].tolist(), [])
        view[:0] = []
        floats = self.device.allocate(4).view("float16")
        floats[:] = [0.5, -2.0]
        self.assertEqual(floats[1], -2.0)
        self.assertEqual(self.device.allocate(2).view("bool")[0], False)

    def test_slices_of_all_kinds(self):
        """Compared with lists."""
        view, lists = self.numbers(4, 5, 6)
        ends = (slice(None), slice(1, 3), slice(2, None, 2), 1, -1, slice(3, 1))
        for keys in itertools.product(ends, repeat=3):
            wanted = [row for row in lists[keys[0]]] if isinstance(keys[0], slice) else [lists[keys[0]]]
            wanted = [rows[keys[1]] if isinstance(keys[1], slice) else [rows[keys[1]]] for rows in wanted]
            wanted = [[row[keys[2]] if isinstance(keys[2], slice) else [row[keys[2]]] for row in rows]
                      for rows in wanted]
            flat = [one for rows in wanted for row in rows for one in row]
            part = view[keys]
            if not isinstance(part, accel.View):
                self.assertEqual(view[keys], flat[0])
                continue
            with self.subTest(keys):
                self.assertEqual(list(struct.unpack(f"{part.size}H", part.tobytes())), flat)

    def test_slice_assignment(self):
        """What the rest of the memory has stays."""
        chance = random.Random(1)
        for _ in range(60):
            view, lists = self.numbers(6, 8)
            keys = tuple(slice(chance.randrange(4), chance.randrange(3, 9), chance.randrange(1, 3))
                         for _ in range(2))
            part = view[keys]
            values = [[chance.randrange(1 << 16) for _ in range(part.shape[1])]
                      for _ in range(part.shape[0])]
            flat = array.array("H", sum(values, []))
            source = chance.choice((values, flat.tobytes(), bytearray(flat),
                                    memoryview(flat).cast("B").cast("H", part.shape) if flat else b""))
            view[keys] = source
            for row, new in zip(lists[keys[0]], values):
                row[keys[1]] = new
            self.assertEqual(view.tolist(), lists)

    def test_assigned_views(self):
        view, lists = self.numbers(4, 6)
        host = self.device.allocate_host(96).view("H", (8, 6))
        host[::2] = view
        self.assertEqual(host.tolist(), [row for pair in zip(lists, [[0] * 6] * 4) for row in pair])
        host[1::2, :3] = view[:, 3:]
        self.assertEqual(host[1].tolist(), [3, 4, 5, 0, 0, 0])
        view[:2] = view[2:]
        self.assertEqual(view[:2].tolist(), lists[2:])
        memory = self.device.allocate(12)
        memory.view("H")[:] = view[0]
        view[3] = memory
        self.assertEqual(view[3].tolist(), lists[2])
        with self.assertRaisesRegex(ValueError, r"uint16 \(6,\) is not the view's uint16 \(4, 6\)"):
            view[:] = view[0]
        with self.assertRaisesRegex(ValueError, "int16"):
            view[0] = memory.view("int16")
        with self.assertRaisesRegex(ValueError, "there are 12 bytes: the view has 48"):
            view[:] = memory

    def test_wrong_values(self):
        view, lists = self.numbers(2, 3)
        for value in ([[1, 2], [3, 4]], [1, 2, 3], [[1, 2, 3]], [[1, 2, 3, 4], [5, 6]], bytes(11),
                      array.array("h", range(6)), memoryview(bytes(12)).cast("H", (3, 2))):
            with self.assertRaises((ValueError, TypeError)):
                view[:] = value
        for value in (-1, 1 << 16, [[1, 2, 3], [4, 5, -1]]):
            with self.assertRaisesRegex(OverflowError, "a value is no uint16"):
                view[:] = value
        for value in (None, "abcdef", {}, 0.5, [[1, 2, 3], [4, 5, "6"]]):
            with self.assertRaises(TypeError):
                view[:] = value
        self.assertEqual(view.tolist(), lists)

    def test_raw_bytes(self):
        """Only bytes have no element type: an array of uint8 is not taken for one of others."""
        view = self.device.allocate(8).view("float32")
        data = struct.pack("2f", 1, 2)
        for raw in (data, bytearray(data), memoryview(data), memoryview(bytearray(data))[:]):
            view[:] = 0
            view[:] = raw
            self.assertEqual(view.tolist(), [1, 2])
        for typed in (array.array("B", data), memoryview(data).cast("c"), memoryview(array.array("B", data))):
            with self.assertRaisesRegex(ValueError, "is not the view's float32"):
                view[:] = typed
            with self.assertRaises((ValueError, BufferError)):
                view.copy_to(typed)
        view.memory.view()[:] = array.array("B", data)

    def test_byte_order(self):
        class Type:
            name = "int32"

            def __init__(self, byteorder):
                self.byteorder = byteorder

        native, other = "<>" if sys.byteorder == "little" else "><"
        for order in ("=", "|", native):
            self.assertEqual(self.device.allocate(4).view(Type(order)).dtype, "int32")
        self.refuses(ValueError, "its byte order", self.device.allocate(4).view, Type(other))

    def test_is_read_only(self):
        view = self.numbers(2, 3)[0]
        for name in ("memory", "dtype", "shape", "strides"):
            with self.assertRaises(AttributeError):
                setattr(view, name, getattr(view, name))

    def test_iteration(self):
        view, lists = self.numbers(2, 3)
        self.assertIsInstance(view, collections.abc.Iterable)
        self.assertEqual([[*row] for row in view], lists)
        self.assertRaises(TypeError, iter, view.memory[:2].view("H", ()))

    def test_overlap(self):
        """As if the source had been copied first, in memory of each kind."""
        parts = {"plane to plane": ((slice(1, None), slice(2), slice(2)), (slice(-1), slice(2), slice(2))),
                 "row to row": ((slice(None), slice(1, None)), (slice(None), slice(-1))),
                 "column to column": ((..., slice(2)), (..., slice(2, None))),
                 "backwards": ((slice(-1),), (slice(1, None),)),
                 "steps": ((..., slice(1, None)), (..., slice(-1)))}
        count = 4 * 4 * 4
        for memory in (self.device.allocate(count), self.device.allocate_host(count),
                       self.device.allocate_unified(count), self.device.register(bytearray(count)),
                       self.device.pool(count).allocate(count)):
            for name, (to, source) in parts.items():
                for copy in (lambda to, source: to.copy_from(source), lambda to, source: source.copy_to(to)):
                    with self.subTest(kind=memory.kind, parts=name):
                        memory.copy_from(bytes(range(count)))
                        view = memory.view("uint8", (4, 4, 4))
                        wanted = view[source].tolist()
                        copy(view[to], view[source])
                        self.assertEqual(view[to].tolist(), wanted)
            # Memory itself, on either side.
            memory.copy_from(bytes(range(count)))
            memory.view()[4:24:2] = memory[:10]
            self.assertEqual(memory.view()[4:24:2].tolist(), [*range(10)])
            memory.copy_from(bytes(range(count)))
            memory.view()[4:24:2].copy_to(memory[:10])
            self.assertEqual(memory[:10].tobytes(), bytes(range(4, 24, 2)))

    def test_fill(self):
        view = self.numbers(4, 6)[0]
        fills = lib.mock_calls(mock.FILL)
        view[1] = 258
        self.assertEqual(lib.mock_calls(mock.FILL), fills + 1)
        view[2:, 1:3] = 7
        self.assertEqual(view.tolist(), [[0, 1, 2, 3, 4, 5], [258] * 6, [12, 7, 7, 15, 16, 17],
                                         [18, 7, 7, 21, 22, 23]])
        doubles = self.device.allocate_host(32).view("float64")
        doubles.fill(1.5)
        self.assertEqual(doubles.tolist(), [1.5] * 4)

    def test_two_dimensions_are_one_copy(self):
        view = self.numbers(8, 16)[0]
        data = bytearray(8 * 4 * 2)
        copies = lib.mock_calls(mock.COPY)
        view[:, 4:8] = data
        self.assertEqual(lib.mock_calls(mock.COPY), copies + 1)
        view[::2, 4:8].copy_to(data[:32])
        self.assertEqual(lib.mock_calls(mock.COPY), copies + 2)
        stream = self.device.stream()
        host = self.device.allocate_host(64)
        calls = lib.mock_calls(mock.SUBMIT)
        view[:, 4:8].copy_to(host, stream)
        self.assertLessEqual(lib.mock_calls(mock.SUBMIT), calls + 2)
        stream.synchronize()

    def test_streams(self):
        view = self.numbers(4, 6)[0]
        host = self.device.allocate_host(48).view("uint16", (4, 6))
        with self.device.stream() as stream, held():
            view[1:3].fill(5, stream=stream)
            view[:, 2:4].fill(6, stream)
            host.copy_from(view, stream)
            self.assertEqual(host.tolist(), [[0] * 6] * 4)
            lib.mock_release(0)
        self.assertEqual(host.tolist(), [[0, 1, 6, 6, 4, 5], [5, 5, 6, 6, 5, 5], [5, 5, 6, 6, 5, 5],
                                         [18, 19, 6, 6, 22, 23]])

    def test_destinations(self):
        view, lists = self.numbers(2, 3)
        data = array.array("H", bytes(12))
        view.copy_to(memoryview(data).cast("B").cast("H", (2, 3)))
        self.assertEqual(data.tolist(), sum(lists, []))
        self.refuses(BufferError, "not C-contiguous", view[0].copy_to, memoryview(data)[::2])
        self.assertRaises(BufferError, view.copy_to, bytes(12))
        view.memory.free()
        self.refuses(ValueError, "the memory has been freed", view.tolist)

    def test_patterns(self):
        """Memory.fill() with more than a byte."""
        memory, host = self.device.allocate(16), self.device.allocate_host(16)
        for pattern in (b"a", b"ab", b"abcd", b"abcdefgh"):
            for thing in (memory, host):
                thing.fill(pattern)
                self.assertEqual(thing.tobytes(), pattern * (16 // len(pattern)))
        self.refuses(ValueError, "value has 3 bytes", memory.fill, b"abc")
        self.refuses(ValueError, "no multiple", memory[:3].fill, b"ab")
        lib.mock_fail(mock.FILL, 1, errno.EIO)
        self.fails(errno.EIO, memory.fill, b"ab")

    def test_numpy(self):
        try:
            import numpy  # pylint: disable=import-outside-toplevel
        except ImportError:
            self.skipTest("there is no NumPy")
        view = self.device.allocate(48).view(numpy.float32, (3, 4))
        self.assertEqual(view.dtype, "float32")
        self.assertEqual(self.device.allocate(8).view(numpy.dtype("int64")).dtype, "int64")
        table = numpy.arange(12, dtype="float32").reshape(3, 4)
        view[:] = table
        view[:, 1:3] = table[:, 2:]
        view[0, ::2] = table[1, ::2]
        view[2] = table[0, 3]
        table[:, 1:3], table[0, ::2], table[2] = table[:, 2:].copy(), [4, 6], 3
        self.assertTrue((numpy.asarray(view[:, 1:]) == table[:, 1:]).all())
        self.assertEqual(numpy.asarray(view, dtype="int32").dtype.name, "int32")
        with self.assertRaises(ValueError):
            view[:] = table.astype("float64")
        back = numpy.zeros((3, 2), dtype="float32")
        view[:, :2].copy_to(back)
        self.assertTrue((back == table[:, :2]).all())
