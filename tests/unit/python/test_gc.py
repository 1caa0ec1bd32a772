# SPDX-License-Identifier: MIT
"""Objects of accel in Python's garbage collection: cycles, and what the device still uses."""

import ctypes
import gc
import weakref

import accel
import mock
from mock import held, lib


class Data(bytearray):
    """A buffer with attributes, so that it can hold its registration."""


class Cycles(mock.Device):
    def register(self):
        """A buffer that holds its registration, which holds the buffer."""
        data = Data(64)
        data.registration = self.device.register(data)
        return data

    def is_collected(self, *references):
        gc.collect()
        return all(reference() is None for reference in references)

    def test_registration(self):
        data = self.register()
        ends = []
        references = [weakref.ref(data), weakref.ref(data.registration, ends.append)]
        self.assertFalse(self.is_collected(*references))
        del data
        self.assertTrue(self.is_collected(*references))
        self.assertEqual(ends, [references[1]])
        self.assertEqual(lib.mock_host_ranges(0), 0)

    def test_slice(self):
        data = Data(64)
        data.part = self.device.register(data)[8:16]
        references = [weakref.ref(data), weakref.ref(data.part)]
        del data
        self.assertTrue(self.is_collected(*references))
        self.assertEqual(lib.mock_host_ranges(0), 0)

    def test_view(self):
        """The memoryview is cleared before the memory or after it."""
        for order in ("view first", "memory first"):
            data = Data(64)
            if order == "view first":
                data.view = memoryview(self.device.register(data))
            else:
                data.registration = self.device.register(data)
                data.view = memoryview(data.registration)
            reference = weakref.ref(data)
            del data
            with self.subTest(order):
                self.assertTrue(self.is_collected(reference))
                self.assertEqual(lib.mock_host_ranges(0), 0)

    def test_use_by_what_is_cleared(self):
        """A finalizer in the cycle finds the memory alive, or freed."""
        device, seen = self.device, []

        class Last(Data):
            def __del__(self):
                seen.append(self.registration.tobytes())
                self.registration.free()
                seen.append((self.registration.freed, self.registration.device is device))

        data = Last(b"ab")
        data.registration = device.register(data)
        del data
        gc.collect()
        self.assertEqual(seen, [b"ab", (True, True)])
        self.assertEqual(lib.mock_host_ranges(0), 0)

    def test_copy_holds_its_cycle(self):
        """What the device uses is not collected, also where the copy was given the buffer itself."""
        memory, stream = self.device.allocate(64), self.device.stream()
        choices = {"registration": lambda data: data.registration, "buffer": lambda data: data,
                   "view of the buffer": memoryview,
                   "view of the registration": lambda data: memoryview(data.registration)}
        for name, choose in choices.items():
            data = self.register()
            reference = weakref.ref(data)
            with self.subTest(name), held():
                memory.copy_from(choose(data), stream)
                del data
                ranges = lib.mock_host_ranges(0)
                self.assertFalse(self.is_collected(reference))
                self.assertEqual(lib.mock_host_ranges(0), ranges)
            stream.synchronize()
            self.assertTrue(self.is_collected(reference))
            self.assertEqual(lib.mock_host_ranges(0), ranges - 1)

    def test_close_ends_a_cycle(self):
        device = accel.open(1)
        data = Data(64)
        data.registration = device.register(data)
        reference = weakref.ref(data)
        del data
        device.close()
        self.assertTrue(self.is_collected(reference))


class Incomplete(mock.Device):
    def test_other_thread_sees_complete_objects(self):
        """While the driver is called, another thread may read all that gc.get_objects() lists."""
        device, kinds, seen = self.device, (accel.Device, accel.Memory, accel.Stream, accel.Event), []

        def read(thing):
            names = [name for name in dir(thing) if not callable(getattr(type(thing), name))]
            return repr(thing), [getattr(thing, name) for name in names]

        def look():
            try:
                seen.append([read(thing) for thing in gc.get_objects() if type(thing) in kinds])
            except Exception as error:  # pylint: disable=broad-exception-caught
                seen.append(error)

        callback = ctypes.CFUNCTYPE(None)(look)
        for number, function, *arguments in (
                (mock.OPEN, accel.open, 1), (mock.MEM_ALLOC, device.allocate, mock.SIZE // 2),
                (mock.HOST_ALLOC, device.allocate_host, 64),
                (mock.HOST_REGISTER, device.register, bytearray(64)),
                (mock.STREAM_CREATE, device.stream)):
            with self.subTest(function):
                seen.clear()
                lib.mock_before(number, callback)
                made = function(*arguments)
                self.assertEqual(len(seen), 1)
                self.assertIsInstance(seen[0], list)
                self.assertNotIn(repr(made), [text for text, _ in seen[0]])
                self.assertIn(made, gc.get_objects())
                if isinstance(made, accel.Device):
                    made.close()


class Types(mock.Device):
    def things(self):
        memory = self.device.allocate(8)
        return [self.device, memory, memory[2:4], self.device.stream(), self.device.event()]

    def test_referents(self):
        """Each object shows its type and what it holds."""
        data = bytearray(8)
        device, memory, part, stream, event = self.things()
        registered = device.register(data)
        for thing, held_by_it in ((device, []), (memory, [device]), (part, [memory]),
                                  (stream, [device]), (event, [device]),
                                  (registered, [device, data])):
            with self.subTest(thing):
                self.assertTrue(gc.is_tracked(thing))
                self.assertCountEqual(map(id, gc.get_referents(thing)),
                                      map(id, [type(thing), *held_by_it]))

    def test_weak_references(self):
        things = self.things()[1:]
        references = [weakref.ref(thing) for thing in things]
        self.assertEqual([reference() for reference in references], things)
        device = weakref.ref(self.device)
        del things
        self.assertEqual([reference() for reference in references], [None] * 4)
        self.assertIs(device(), self.device)

    def test_callback_closes_the_device(self):
        """It runs when the object has ended, but is still in memory."""
        for make in (lambda device: device.allocate(8), lambda device: device.register(Data(8)),
                     lambda device: device.stream(), lambda device: device.event()):
            device = accel.open(1)
            thing = make(device)
            reference = weakref.ref(thing, lambda _, device=device: device.close())
            del thing
            self.assertIsNone(reference())
            self.assertTrue(device.closed)
