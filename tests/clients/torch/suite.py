# SPDX-License-Identifier: MIT
"""Checks with PyTorch on the devices of a guest, and the counters of the driver."""

import ctypes
import os
import sys
import time

import torch
import torch_npu  # noqa: F401  pylint: disable=unused-import

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# pylint: disable=wrong-import-position
import tap  # noqa: E402
from tap import equal, raises, wait_until  # noqa: E402,F401  pylint: disable=unused-import

# Of the processor, since the process began.
IMPORTED = time.process_time()


class Suite:
    """Checks in the order of a file's text. A docstring is a check's name."""

    def __init__(self):
        self.checks = []

    def check(self, function):
        self.checks.append(function)
        return function

    def run(self, words=()):
        """The exit status. Of the checks whose names contain one of the words, or all."""
        print(f"# torch {torch.__version__}, {IMPORTED:.1f} s of CPU to import")
        return tap.run((function.__doc__, function, None) for function in self.checks
                       if tap.is_chosen(function, words))


# --- what checks say -------------------------------------------------------------------------

def same(got, wanted):
    """Compares bit for bit; a tensor on a device is copied back first."""
    got = got.cpu()
    equal((got.shape, got.dtype), (wanted.shape, wanted.dtype))
    if wanted.numel():
        got, wanted = (tensor.contiguous().view(-1).view(torch.uint8) for tensor in (got, wanted))
        different = (got != wanted).nonzero()
        assert not len(different), f"{len(different)} bytes differ, the first is {different[0]}"


def on_card(tensor, index=0):
    equal((tensor.device.type, tensor.device.index), ("npu", index))
    return tensor


# --- what the driver says --------------------------------------------------------------------

# libaccel_acl opens devices with the same library, so the handle of a device is shared.
ACCEL = ctypes.CDLL("libaccel.so.0")
STATS = ("total used free dirty quarantined mine mine_allocs user user_max largest_free allocs "
         "alloc_failures bytes_h2d bytes_d2h bytes_d2d bytes_filled bytes_scrubbed transfers").split()


class Device:
    """One device, used with libaccel beside AscendCL."""

    def __init__(self, index=0):
        self.handle = ctypes.c_void_p()
        code = ACCEL.accel_device_open(index, ctypes.byref(self.handle))
        assert code == 0, f"device {index} cannot be opened: {code}"

    def close(self):
        ACCEL.accel_device_close(self.handle)

    def stats(self):
        """The driver's numbers, by their names in struct accel_memory_stats."""
        numbers = (ctypes.c_uint64 * (len(STATS) + 6))()
        code = ACCEL.accel_memory_stats_full(self.handle, numbers)
        assert code == 0, f"no statistics: {code}"
        return dict(zip(STATS, numbers))

    def kind(self, pointer):
        """enum accel_memory_kind of an address."""
        info = (ctypes.c_uint64 * 8)()
        code = ACCEL.accel_pointer_get_info(ctypes.c_void_p(pointer), info)
        assert code == 0, f"no pointer_info: {code}"
        return info[4] & 0xffffffff

    def allocate(self, size):
        pointer = ctypes.c_void_p()
        code = ACCEL.accel_device_memory_allocate(self.handle, ctypes.byref(pointer),
                                                  ctypes.c_size_t(size))
        assert code == 0, f"accel_device_memory_allocate: {code}"
        return pointer.value

    def free(self, pointer, size):
        code = ACCEL.accel_device_memory_deallocate(self.handle, ctypes.c_void_p(pointer),
                                                    ctypes.c_size_t(size))
        assert code == 0, f"accel_device_memory_deallocate: {code}"

    def copy_h2d(self, destination, source, size):
        code = ACCEL.accel_memory_copy_h2d(self.handle, ctypes.c_void_p(destination),
                                           ctypes.c_void_p(source), ctypes.c_size_t(size))
        assert code == 0, f"accel_memory_copy_h2d: {code}"


class Counted(tap.Grown):
    """The increments of the counters of a device inside a `with`."""

    def __init__(self, card):
        super().__init__(card.stats)
