# SPDX-License-Identifier: MIT
"""The memory of PCIe accelerators: a small interface over libaccel::

    import accel

    with accel.open(0) as device:
        memory = device.allocate(5)
        memory.copy_from(b"hello")
        print(memory.tobytes())

See Documentation/python.md.
"""

import importlib.util
import sys

if sys.version_info < (3, 11):
    raise ImportError("the module accel needs CPython 3.11 or later, whose stable ABI has the "
                      f"buffer protocol; this is {sys.version.split()[0]}. The module acl works "
                      "from 3.9 on")
if not importlib.util.find_spec("accel._accel"):
    raise ImportError("the extension module accel._accel is missing: the wheel cp39-abi3 of "
                      "accel-python has the module acl only. Install the wheel cp311-abi3")

# pylint: disable=wrong-import-position,redefined-builtin
import enum  # noqa: E402

from . import _accel  # noqa: E402
from ._accel import (Device, DeviceInfo, Error, Event, Memory, MemoryStats,  # noqa: E402
                     NotPermitted, OutOfMemory, Pool, PoolStats, Stream, Timeout,
                     __version__, copy, count, open)
from ._view import View  # noqa: E402


class Capability(enum.IntFlag):
    """Bits of DeviceInfo.capabilities."""

    MAPPABLE = _accel.CAP_MAPPABLE
    NATIVE_D2D = _accel.CAP_NATIVE_D2D
    NATIVE_FILL = _accel.CAP_NATIVE_FILL
    MEM_SURVIVES_RESET = _accel.CAP_MEM_SURVIVES_RESET
    DIRECT_DMA = _accel.CAP_DIRECT_DMA
    VERIFY = _accel.CAP_VERIFY


__all__ = ["Capability", "Device", "DeviceInfo", "Error", "Event", "Memory", "MemoryStats",
           "NotPermitted", "OutOfMemory", "Pool", "PoolStats", "Stream", "Timeout", "View",
           "copy", "count", "open"]
