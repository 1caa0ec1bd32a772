# SPDX-License-Identifier: MIT
"""Memory that is shared as dma-bufs, on devices of the mock."""

import errno
import os
import socket

import accel
import mock
from mock import held, lib


class Share(mock.Device):
    def test_two_processes(self):
        """The child opens the device itself, and receives the descriptor over a socket."""
        lib.mock_add_mappable(5, 1 << 16)
        ours, theirs = socket.socketpair()

        def child():
            fd = socket.recv_fds(theirs, 1, 1)[1][0]
            with accel.open(2) as device, device.import_memory(fd=fd) as memory:
                os.close(fd)
                if memory.tobytes()[:8] != b"parental":
                    return f"it reads {memory.tobytes()[:8]!r}"
                memory[:8].copy_from(b"childish")
            return None

        with accel.open(2) as device, ours, theirs:
            memory = device.allocate(4096)
            memory[:8].copy_from(b"parental")
            fd = memory.export()
            self.assertFalse(os.get_inheritable(fd))
            socket.send_fds(ours, [b"f"], [fd])
            os.close(fd)
            self.assertEqual(mock.in_child(child), "")
            self.assertEqual(memory[:8].tobytes(), b"childish")

    def test_memory_outlives_the_allocation(self):
        memory = self.device.allocate(100)
        memory.copy_from(bytes(range(100)))
        fd = memory.export()
        with self.device.import_memory(fd) as imported:
            self.assertEqual((imported.kind, imported.size), ("device", 100))
            self.assertEqual(imported.address, memory.address)
            memory.free()
            self.assertEqual(imported.tobytes()[:100], bytes(range(100)))
            imported.fill(7)
        self.assertEqual(self.device.stats().mine, 0)
        os.close(fd)

    def test_import_is_freed_first(self):
        memory = self.device.allocate(64)
        fd = memory.export()
        with open(fd, "rb") as file:
            self.device.import_memory(file).free()
        memory.fill(1)
        memory.free()

    def test_refusals(self):
        memory = self.device.allocate(64)
        self.refuses(ValueError, "this is a slice: export", memory[:64].export)
        registered = self.device.register(bytearray(64))
        self.fails(errno.ENOENT, registered.export)
        lib.mock_fail(mock.MEM_EXPORT, 1, errno.EMFILE)
        self.fails(errno.EMFILE, memory.export)
        fd = memory.export()
        with accel.open(1) as other:
            self.fails(errno.EXDEV, other.import_memory, fd)
        os.close(fd)
        with open(os.devnull, "rb") as other:
            self.fails(errno.EINVAL, self.device.import_memory, other)
        self.assertRaises(ValueError, self.device.import_memory, -1)
        self.assertRaises(TypeError, self.device.import_memory, None)
        memory.free()
        self.refuses(ValueError, "the memory has been freed", memory.export)

    def test_host_memory(self):
        """Every driver takes it: another device as memory of another driver."""
        host = self.device.allocate_host(4096)
        fd = host.export()
        with accel.open(1) as other, other.register_dmabuf(fd, 4096) as shared:
            os.close(fd)
            memory = other.allocate(64)
            memory.fill(5)
            shared[:64].copy_from(memory)
            self.assertEqual(host.tobytes()[:65], b"\5" * 64 + b"\0")


class DmaBuf(mock.Device):
    def setUp(self):
        super().setUp()
        self.fd = lib.mock_dmabuf(4096)
        self.file = open(self.fd, "r+b", buffering=0)

    def tearDown(self):
        self.file.close()
        super().tearDown()

    def test_copies(self):
        memory, stream = self.device.allocate(64), self.device.stream()
        memory.fill(9)
        with self.device.register_dmabuf(fd=self.file, size=100) as shared:
            self.assertEqual((shared.kind, shared.size), ("registered", 100))
            shared[36:].copy_from(memory)
            self.assertEqual(os.pread(self.fd, 100, 0), bytes(36) + b"\x09" * 64)
            os.pwrite(self.fd, b"abcdefgh", 0)
            with held():
                memory[:8].copy_from(shared[:8], stream)
            stream.synchronize()
            self.assertEqual(memory.tobytes()[:9], b"abcdefgh\x09")
            self.refuses(BufferError, "cannot read", memoryview, shared)
            self.refuses(ValueError, "cannot access", shared.fill, 1)
            self.assertRaises(OSError, shared.tobytes)
        self.assertTrue(shared.freed)
        # One for the times of events.
        self.assertEqual(lib.mock_host_ranges(0), 1)

    def test_read_only(self):
        memory = self.device.allocate(8)
        os.pwrite(self.fd, b"abcdefgh", 0)
        shared = self.device.register_dmabuf(self.fd, 8, read_only=True)
        memory.copy_from(shared)
        self.assertEqual(memory.tobytes(), b"abcdefgh")
        self.refuses(BufferError, "read-only", shared.copy_from, memory)

    def test_refusals(self):
        for size in (0, -1):
            self.refuses(ValueError, "at least 1 byte", self.device.register_dmabuf, self.fd, size)
        self.fails(errno.EINVAL, self.device.register_dmabuf, self.fd, 4097)
        self.assertRaises(TypeError, self.device.register_dmabuf, self.fd)
        self.assertRaises(TypeError, self.device.register_dmabuf, None, 1)
        self.assertEqual(lib.mock_host_ranges(0), 0)
