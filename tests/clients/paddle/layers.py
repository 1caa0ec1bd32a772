#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Paddle, acl, accel and C++ in one process on one ring device. Run by tests/clients/paddle/guest.

layers.py [WORD...]    only checks whose names contain one of the words
"""

import ctypes
import errno
import importlib
import itertools
import os
import re
import signal
import subprocess
import sys
import time

from suite import Suite, counters, equal, raises, run, wait_until

# Before late: in a process of its own this one opens the devices at once.
# pylint: disable=wrong-import-order
import accel
import acl
import late
import numpy as np
import paddle

SUITE = Suite()
check = SUITE.check_since((3, 3), "there is no empty_cache() for custom devices")

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BUILD = os.path.join(TOP, os.environ.get("BUILD") or "build")
CXX = ctypes.CDLL(os.path.join(BUILD, "tests/clients/paddle/layers.so"))
CXX.layer_data.restype = ctypes.c_void_p
SIZE = 96 << 10
HALF = SIZE // 2
TO_DEVICE, TO_HOST, IN_DEVICE = 1, 2, 3
NORMAL_ONLY = 2
INVALID = 107000
SECONDS = 60
# Of 24: each takes a second or more in a guest without KVM.
ORDERS = 6


def empty_cache():
    # paddle.device has it only if the import of Paddle has found a device, see late.py.
    importlib.import_module("paddle.device.custom_device").empty_cache()


def random(seed):
    return np.random.default_rng(seed).bytes(SIZE)


# --- layers ------------------------------------------------------------------------------------

class Failure(OSError):
    """Of acl or of C++, with their number."""


def done(code):
    if code:
        raise Failure(code, acl.get_recent_err_msg())


def made(value, code):
    done(code)
    return value


def passed(err):
    if err:
        raise Failure(-err, os.strerror(-err))


def fails(number, function):
    """With an error of this number: Paddle's is in its text."""
    try:
        function()
    except OSError as error:
        found = re.search(r"the error code is : (\d+)", str(error))
        equal(int(found[1]) if found and error.errno is None else error.errno, number)
        return
    raise AssertionError(f"no error {number}")


class Layer:
    """SIZE bytes of device memory, which are written, read and copied on a stream of the layer (Paddle's copies
    here use none). failed, forked, lost: errors of failed work, in a forked process, after a loss of memory."""

    failed, forked, lost = errno.EIO, errno.EPERM, errno.ESTALE
    data = b""

    def fill(self, seed):
        self.data = random(seed)
        self.write(self.data)

    def holds_its_bytes(self):
        got = self.read()
        assert got == self.data, f"{type(self).__name__}: other bytes"

    def works(self, seed):
        self.fill(seed)
        self.copy()
        self.data = self.copied()
        self.holds_its_bytes()

    def copied(self):
        return self.data[:HALF] * 2

    def recover(self):
        """After work that has failed."""


class OfAccel(Layer):
    """The module accel."""

    def __init__(self, number):
        self.device = accel.open(number)
        self.stream = self.device.stream()
        self.memory = self.device.allocate(SIZE)
        self.address = self.memory.address

    def write(self, data):
        self.memory.copy_from(data, self.stream)
        self.stream.synchronize()

    def read(self):
        data = bytearray(SIZE)
        self.memory.copy_to(data, self.stream)
        self.stream.synchronize()
        return bytes(data)

    def copy(self):
        self.memory[HALF:].copy_from(self.memory[:HALF], self.stream)
        self.stream.synchronize()

    def recover(self):
        fails(errno.ECANCELED, self.copy)
        self.stream.clear()

    def close(self):
        self.device.close()


class OfAcl(Layer):
    """The module acl."""

    failed, forked, lost = 507013, 100001, 507053

    def __init__(self, number):
        self.number = number
        done(acl.init())
        self.begin()

    def begin(self):
        done(acl.rt.set_device(self.number))
        self.stream = made(*acl.rt.create_stream())
        self.address = made(*acl.rt.malloc_align32(SIZE, NORMAL_ONLY))

    def queue(self, destination, source, size, kind):
        done(acl.rt.memcpy_async(destination, size, source, size, kind, self.stream))
        done(acl.rt.synchronize_stream(self.stream))

    def write(self, data):
        self.queue(self.address, acl.util.bytes_to_ptr(data), SIZE, TO_DEVICE)

    def read(self):
        data = bytes(SIZE)
        self.queue(acl.util.bytes_to_ptr(data), self.address, SIZE, TO_HOST)
        return data

    def copy(self):
        self.queue(self.address + HALF, self.address, HALF, IN_DEVICE)

    def end(self):
        done(acl.rt.reset_device(self.number))

    def close(self):
        self.end()
        done(acl.finalize())


class OfCxx(Layer):
    """layers.cpp."""

    def __init__(self, number):
        self.layer = ctypes.c_void_p()
        passed(CXX.layer_open(number, ctypes.c_size_t(SIZE), ctypes.byref(self.layer)))
        self.address = CXX.layer_data(self.layer)

    def queue(self, destination, source, size):
        passed(CXX.layer_copy(self.layer, ctypes.c_void_p(destination), ctypes.c_void_p(source),
                              ctypes.c_size_t(size)))

    def write(self, data):
        self.queue(self.address, acl.util.bytes_to_ptr(data), SIZE)

    def read(self):
        data = bytes(SIZE)
        self.queue(acl.util.bytes_to_ptr(data), self.address, SIZE)
        return data

    def copy(self):
        self.queue(self.address + HALF, self.address, HALF)

    def recover(self):
        fails(errno.ECANCELED, self.copy)
        passed(CXX.layer_clear(self.layer))

    def close(self):
        CXX.layer_close(self.layer)


class OfPaddle(Layer):
    """A tensor. A copy makes another one, of all bytes."""

    # C_INTERNAL_ERROR and C_ERROR.
    failed, forked, lost = 4, 3, 4

    def __init__(self, number):
        self.place = paddle.CustomPlace("accel", number)
        self.tensor = None
        self.write(bytes(SIZE))

    @property
    def address(self):
        return self.tensor.data_ptr()

    def write(self, data):
        self.tensor = None
        self.tensor = paddle.to_tensor(np.frombuffer(data, "uint8"), place=self.place)

    def read(self):
        return self.tensor.numpy().tobytes()

    def copy(self):
        self.tensor = self.tensor._copy_to(self.place, True)  # pylint: disable=protected-access

    def copied(self):
        return self.data

    def close(self):
        self.tensor = None
        empty_cache()


KINDS = (OfAccel, OfAcl, OfCxx, OfPaddle)


class Layers(list):
    """All four on a device, filled, and an accel.Device that sees the driver's numbers. Those that are open
    at the end of a `with` are closed."""

    def __init__(self, number=0):
        empty_cache()
        self.device = accel.open(number)
        self.used_before = self.used()
        super().__init__(kind(number) for kind in KINDS)
        for seed, layer in enumerate(self):
            layer.fill(seed)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for layer in list(self):
            self.close(layer)
        self.device.close()

    def close(self, layer):
        self.remove(layer)
        layer.close()

    def but(self, one):
        return [layer for layer in self if layer is not one]

    def used(self):
        """By this process: the layers share one file. A total of the device includes, for a moment, memory
        that was freed after the last operation on it had ended."""
        return self.device.stats().mine

    def settle(self):
        """Nothing of the driver's own is in work, or will be: memory that was freed is clean."""
        wait_until(lambda: not self.device.stats().dirty, self.device.stats)

    def fault(self, what):
        """Of the next request of the device."""
        self.settle()
        subprocess.run(["guestctl", "fault", "card0", what], check=True)

    def reset(self):
        node = f"/dev/paccel{self.device.info().node}"
        subprocess.run(["accelctl", "reset", node, "--force"], check=True)

    def hold_their_bytes(self):
        for layer in self:
            layer.holds_its_bytes()


# --- checks ------------------------------------------------------------------------------------

@check
def bytes_of_each():
    """Paddle, acl, accel and C++ in one process: each has its own bytes, and copies them inside the device"""
    with Layers() as layers:
        equal(layers.used() - layers.used_before, len(layers) * SIZE)
        layers.hold_their_bytes()
        for seed, layer in enumerate(layers):
            before = layers.device.stats().bytes_d2d
            layer.works(seed + 10)
            copied = layers.device.stats().bytes_d2d - before
            equal(copied, SIZE if isinstance(layer, OfPaddle) else HALF)
        layers.hold_their_bytes()


@check
def pointers():
    """pointers of each are pointers of acl and of C++; accel takes objects only"""
    with Layers() as layers:
        of_accel, of_acl, of_cxx, _ = layers
        for layer in layers:
            data = bytes(SIZE)
            host = acl.util.bytes_to_ptr(data)
            done(acl.rt.memcpy(host, SIZE, layer.address, SIZE, TO_HOST))
            equal(data, layer.data)
            data = bytes(SIZE)
            of_cxx.queue(acl.util.bytes_to_ptr(data), layer.address, SIZE)
            equal(data, layer.data)
            raises(TypeError, lambda layer=layer: of_accel.memory.copy_from(layer.address))
            # Paddle's allocator and a pool have it inside of larger memory, or at its start.
            equal(acl.rt.free(layer.address + 64), INVALID)
            equal(CXX.layer_free(ctypes.c_void_p(layer.address + 64)), 1)
        for layer in layers:
            for other in layers.but(layer):
                before = layers.device.stats().bytes_d2d
                done(acl.rt.memcpy(layer.address, SIZE, other.address, SIZE, IN_DEVICE))
                equal(layers.device.stats().bytes_d2d - before, SIZE)
                layer.data = other.data
                layer.holds_its_bytes()
                layer.fill(layers.index(layer))
        # Memory of just this size: no byte behind it is copied.
        for address in (of_accel.address, of_acl.address):
            equal(acl.rt.memcpy(address, SIZE + 1, host, SIZE + 1, TO_DEVICE), INVALID)
            fails(errno.EFAULT, lambda address=address: of_cxx.queue(host, address, SIZE + 1))
        layers.hold_their_bytes()


@check
def freed_by_another():
    """acl and C++ free memory of each other and of accel, which then is memory of none"""
    with Layers() as layers:
        used, pointer = layers.used(), ctypes.c_void_p()
        equal(CXX.layer_allocate(0, ctypes.c_size_t(SIZE), ctypes.byref(pointer)), 0)
        done(acl.rt.free(pointer.value))
        equal(CXX.layer_free(pointer), 1)
        of_acl = made(*acl.rt.malloc_align32(SIZE, NORMAL_ONLY))
        equal(CXX.layer_free(ctypes.c_void_p(of_acl)), 0)
        equal(acl.rt.free(of_acl), INVALID)
        memory = layers.device.allocate(SIZE)
        done(acl.rt.free(memory.address))
        equal(layers.used(), used)
        fails(errno.EFAULT, memory.tobytes)
        fails(errno.ENOENT, memory.free)
        layers.hold_their_bytes()


def fail_one(layers, broken):
    """Its copy. The others work before it is used again, and what waits for all streams of a layer or of
    the device does not report the failure of another."""
    others = layers.but(broken)
    layers.fault("fail")
    fails(broken.failed, broken.copy)
    for layer in others:
        layer.holds_its_bytes()
        layer.works(20)
    done(acl.rt.synchronize_device())
    paddle.device.synchronize("accel:0")
    data = bytes(SIZE)
    equal(CXX.layer_copy_behind_all(ctypes.c_void_p(acl.util.bytes_to_ptr(data)),
                                    ctypes.c_void_p(others[0].address), ctypes.c_size_t(SIZE)), 0)
    equal(data, others[0].data)
    broken.recover()
    broken.works(21)
    layers.hold_their_bytes()


@check
def failed_work():
    """work of one layer fails: it says so once, and the others work on"""
    with Layers() as layers:
        for layer in layers:
            fail_one(layers, layer)
        layers.device.synchronize()


@check
def ended_by_acl():
    """acl.rt.reset_device() and acl.finalize() free what acl has allocated, and no more"""
    with Layers() as layers:
        _, of_acl, of_cxx, _ = layers
        others = layers.but(of_acl)
        for finalizes in (False, True):
            used = layers.used()
            if finalizes:
                done(acl.finalize())
            else:
                of_acl.end()
            equal(layers.used(), used - SIZE)
            fails(errno.EFAULT, lambda: of_cxx.queue(of_acl.address, of_cxx.address, SIZE))
            for seed, layer in enumerate(others):
                layer.holds_its_bytes()
                layer.works(seed + 30)
            if finalizes:
                equal(acl.rt.set_device(0), OfAcl.forked)
                done(acl.init())
            used = layers.used()
            of_acl.begin()
            of_acl.works(40)
            equal(layers.used(), used + SIZE)
        layers.hold_their_bytes()


@check
def orders():
    """closed in any order: the others keep their bytes, and all memory is freed"""
    seed = int(os.environ.get("SEED") or time.time())
    print(f"# SEED={seed}")
    chosen = np.random.default_rng(seed).permutation(list(itertools.permutations(range(4))))[:ORDERS]
    OfPaddle(0).close()
    used = counters()["used"]
    for order in chosen:
        with Layers() as layers:
            for layer in [layers[index] for index in order]:
                layers.close(layer)
                layers.hold_their_bytes()
                equal(layers.used() - layers.used_before, len(layers) * SIZE)
    wait_until(lambda: counters()["used"] == used, counters)


def in_child(layers):
    """What a process can do that was forked from one with all four."""
    signal.alarm(SECONDS)
    for layer in layers:
        for call in (layer.read, layer.copy, lambda layer=layer: layer.write(bytes(SIZE))):
            fails(layer.forked, call)
    fails(errno.EPERM, lambda: layers.device.allocate(1))
    equal(acl.finalize(), OfAcl.forked)
    # What it opens itself is its own.
    for kind in KINDS[:3]:
        own = kind(0)
        own.works(50)
        own.close()
    for layer in (layers[0], layers[2], layers[3]):
        layer.close()
    fails(OfPaddle.forked, lambda: OfPaddle(0))


@check
def forked():
    """a forked process: each layer refuses what was its parent's; all but Paddle can open the device anew"""
    with Layers() as layers:
        used = layers.used()
        late.run(lambda: in_child(layers), loads=False)
        equal(layers.used(), used)
        layers.hold_their_bytes()
        for seed, layer in enumerate(layers):
            layer.works(seed + 60)


@check
def reset():
    """a reset that memory survives: work in flight fails, each layer keeps its bytes, and works"""
    with Layers() as layers:
        of_accel = layers[0]
        assert layers.device.info().capabilities & accel.Capability.MEM_SURVIVES_RESET
        layers.fault("stall")
        of_accel.memory[HALF:].copy_from(of_accel.memory[:HALF], of_accel.stream)
        layers.reset()
        subprocess.run(["guestctl", "fault", "card0", "clear"], check=True)
        fails(OfAccel.failed, of_accel.stream.synchronize)
        of_accel.recover()
        layers.hold_their_bytes()
        for seed, layer in enumerate(layers):
            layer.works(seed + 70)
        layers.hold_their_bytes()


# --- in a process of its own ---------------------------------------------------------------------

def lose(number):
    """A reset that loses device memory. Paddle opens the device only once in a process."""
    paddle.set_device(f"accel:{number}")
    layers = Layers(number)
    assert not layers.device.info().capabilities & accel.Capability.MEM_SURVIVES_RESET
    layers.reset()
    for layer in layers:
        for call in (layer.read, layer.copy, lambda layer=layer: layer.write(bytes(SIZE))):
            fails(layer.lost, call)
    fails(errno.ESTALE, lambda: layers.device.allocate(1))
    layers.device.close()
    for layer in layers:
        layer.close()
    for kind in KINDS[:3]:
        layer = kind(number)
        layer.works(80)
        layer.close()
    fails(OfPaddle.lost, lambda: OfPaddle(number))


def use(number):
    paddle.set_device(f"accel:{number}")
    with Layers(number) as layers:
        for seed, layer in enumerate(layers):
            layer.works(seed + 90)
        layers.hold_their_bytes()


if __name__ == "__main__":
    sys.exit(run([SUITE], sys.argv[1:]))
