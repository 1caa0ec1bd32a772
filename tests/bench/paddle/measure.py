#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times of PaddlePaddle on a ring card. Run by tests/bench/guest.

measure.py STANDIN    the folder of the plugin that keeps its memory on the host

Prints samples for tests/bench/run, a line of JSON each. Each is taken in a process of its own.
"""

import ctypes
import json
import mmap
import os
import sys
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(TOP, "tests/clients/paddle"))

# pylint: disable=wrong-import-position
import late  # noqa: E402
import network  # noqa: E402
import numpy as np  # noqa: E402
import paddle  # noqa: E402
from suite import near, same  # noqa: E402

MIB = 1 << 20
SIZE = 16 * MIB
BYTES = ctypes.c_size_t(SIZE)
# What is fresh stays in use: a card of 256 MiB has room for so many of both.
SHORT = "BENCH_SHORT" in os.environ
COPIES = 2 if SHORT else 6
ROUNDS = 1 if SHORT else 3
# Copies of a few bytes before the first that counts: an emulated CPU needs that many until it no
# longer translates what runs in Paddle for each.
WARM_COPIES = 1 if SHORT else 60
FEW = 16
STEPS = 2 if SHORT else 100
WARM = 1 if SHORT else 5
IMPORTS = 1 if SHORT else 9
PLUGIN = "libpaddle_accel.so"
ANSWER = "answer: "


def emit(name, samples):
    print(json.dumps({"name": name, "ns": samples}), flush=True)


def answer_of(function, **more):
    """What it returns in a process of its own, which may say something, too."""
    text = late.run(lambda: print(ANSWER + json.dumps(function()), flush=True), **more)
    return json.loads(next(line for line in text.splitlines() if line.startswith(ANSWER))
                      .removeprefix(ANSWER))


def timed(function):
    """What it returns, and the nanoseconds."""
    begin = time.monotonic_ns()
    result = function()
    return result, time.monotonic_ns() - begin


# --- import -----------------------------------------------------------------------------------

class Params(ctypes.Structure):
    """Of a plugin, as 3.3.1 has them: see lib/paddle/abi.h."""

    _fields_ = [("size", ctypes.c_size_t), ("interface", ctypes.c_void_p),
                ("version", ctypes.c_size_t * 3), ("device_type", ctypes.c_char_p),
                ("rest", ctypes.c_void_p * 6)]


class Interface(ctypes.Structure):
    """The first two of its functions."""

    _fields_ = [("size", ctypes.c_size_t), ("initialize", ctypes.CFUNCTYPE(ctypes.c_int)),
                ("finalize", ctypes.CFUNCTYPE(ctypes.c_int)), ("rest", ctypes.c_void_p * 138)]


def load(path):
    """From dlopen() of the plugin to the end of initialize(), in a process that has Paddle."""
    table = Interface(size=ctypes.sizeof(Interface))
    params = Params(size=ctypes.sizeof(Params), interface=ctypes.addressof(table))
    assert (params.size, table.size) == (96, 1128), (params.size, table.size)

    def begin():
        library = ctypes.CDLL(path, mode=os.RTLD_LAZY)
        library.InitPlugin(ctypes.byref(params))
        return table.initialize()

    result, ns = timed(begin)
    assert result == 0 and params.device_type == b"accel", (result, params.device_type)
    assert table.finalize() == 0
    return ns


def measure_import(folder):
    path = os.path.join(folder, PLUGIN)
    emit("paddle.import", [answer_of(lambda: load(path), loads=False) for _ in range(IMPORTS)])


# --- copies -----------------------------------------------------------------------------------

class Accel:
    """libaccel itself, the one that the plugin uses."""

    def __init__(self, folder):
        self.library = ctypes.CDLL(os.path.join(os.path.dirname(folder), "libaccel.so.0"))
        self.device = ctypes.c_void_p()
        self._must(self.library.accel_device_open(0, ctypes.byref(self.device)))

    def _must(self, err):
        self.library.accel_last_error.restype = ctypes.c_char_p
        assert err == 0, self.library.accel_last_error()

    def to_card(self, source):
        pointer = ctypes.c_void_p()
        self._must(self.library.accel_device_memory_allocate(self.device, ctypes.byref(pointer),
                                                             BYTES))
        self._must(self.library.accel_memory_copy_h2d(self.device, pointer, source, BYTES))
        return pointer

    def to_host(self, pointer):
        """Memory as Paddle's: numpy would ask for huge pages."""
        memory = (ctypes.c_ubyte * SIZE).from_buffer(mmap.mmap(-1, SIZE))
        self._must(self.library.accel_memory_copy_d2h(self.device, memory, pointer, BYTES))
        return memory

    def free(self, pointer):
        self._must(self.library.accel_device_memory_deallocate(self.device, pointer, BYTES))


def copy_samples(folder):
    """Paddle and libaccel in turn, each first in every second round; what each copy makes is new,
    and stays.
    """
    accel = Accel(folder)
    place = paddle.CustomPlace("accel", 0)
    array = np.resize(np.arange(251, dtype="uint8"), SIZE)
    source = paddle.to_tensor(array, place=paddle.CPUPlace())
    few = paddle.to_tensor(array[:FEW], place=paddle.CPUPlace())
    for _ in range(WARM_COPIES):
        same(few._copy_to(place, True).cpu().numpy(), few.numpy())
    address = ctypes.c_void_p(source.data_ptr())
    samples = {name: [] for name in ("h2d", "d2h", "h2d.libaccel", "d2h.libaccel", "h2d.few")}
    kept = {name: [] for name in samples}

    def take(name, function):
        result, ns = timed(function)
        samples[name].append(ns)
        kept[name].append(result)

    def by_paddle():
        take("h2d", lambda: source._copy_to(place, True))
        take("d2h", kept["h2d"][-1].cpu)
        same(kept["d2h"][-1].numpy(), array)

    def by_libaccel():
        take("h2d.libaccel", lambda: accel.to_card(address))
        take("d2h.libaccel", lambda: accel.to_host(kept["h2d.libaccel"][-1]))
        same(np.frombuffer(kept["d2h.libaccel"][-1], "uint8"), array)

    def by_paddle_few():
        """What Paddle needs for any copy: there is next to nothing to copy."""
        take("h2d.few", lambda: few._copy_to(place, True))

    ways = [by_paddle, by_libaccel]
    for _ in range(COPIES):
        for way in ways:
            way()
        by_paddle_few()
        ways.reverse()
    for pointer in kept["h2d.libaccel"]:
        accel.free(pointer)
    return samples


def measure_copies(folder):
    samples = {}
    for _ in range(ROUNDS):
        # The first of each process also meets what has never run yet.
        for name, ns in answer_of(lambda: copy_samples(folder)).items():
            samples.setdefault(name, []).extend(ns[1:])
    for name, ns in samples.items():
        emit(f"paddle.{name}", ns)


# --- training ---------------------------------------------------------------------------------

def training_sample(device):
    training = network.Training(device)
    losses = [training.step() for _ in range(WARM)]
    more, ns = timed(lambda: [training.step() for _ in range(STEPS)])
    return {"ns": ns, "losses": losses + more}


def measure_training(standin):
    wanted = answer_of(lambda: training_sample("cpu"))
    kinds = {"card": {}, "standin": {"CUSTOM_DEVICE_ROOT": standin}}
    found = {kind: [] for kind in kinds}
    for _ in range(ROUNDS):
        for kind, environment in kinds.items():
            found[kind].append(answer_of(lambda: training_sample("accel:0"),
                                         environment=environment))
    for kind, rounds in found.items():
        for one in rounds:
            near(one["losses"], wanted["losses"])
        emit(f"train.{kind}", [one["ns"] for one in rounds])
    emit("train.cpu", [wanted["ns"]])


def main():
    folder = os.environ["CUSTOM_DEVICE_ROOT"]
    measure_import(folder)
    measure_copies(folder)
    measure_training(sys.argv[1])


if __name__ == "__main__":
    main()
