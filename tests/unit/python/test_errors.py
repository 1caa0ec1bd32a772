# SPDX-License-Identifier: MIT
"""accel.Error and the types of Python that some errors also are."""

import errno

import accel
import mock
from mock import held, lib

KINDS = ((accel.Timeout, TimeoutError), (accel.OutOfMemory, MemoryError),
         (accel.NotPermitted, PermissionError))


class Errors(mock.Device):
    def is_raised(self, index, number, function, *arguments):
        """It is the one kind only, and still an Error and an OSError with its number."""
        error = self.fails(number, function, *arguments)
        self.assertIsInstance(error, accel.Error)
        for at, kinds in enumerate(KINDS):
            for kind in kinds:
                self.assertEqual(isinstance(error, kind), at == index, kind)
        self.assertIn(error.strerror, str(error))

    def test_timeout(self):
        stream, memory = self.device.stream(), self.device.allocate(8)
        with held():
            memory.fill(1, stream)
            event = stream.record()
            for wait in (stream.synchronize, event.synchronize):
                self.is_raised(0, errno.ETIME, wait, 0)
        lib.mock_fail(mock.COPY, 1, errno.ETIMEDOUT)
        self.is_raised(0, errno.ETIMEDOUT, memory.tobytes)

    def test_memory(self):
        self.is_raised(1, errno.ENOMEM, self.device.allocate, mock.SIZE + 1)

    def test_permission(self):
        lib.mock_fail(mock.OPEN, 1, errno.EACCES)
        self.is_raised(2, errno.EACCES, accel.open, 1)
        self.assertEqual(mock.in_child(
            lambda: self.is_raised(2, errno.EPERM, self.device.allocate, 8)), "")

    def test_others(self):
        self.is_raised(None, errno.ENODEV, accel.open, 2)
