#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PaddlePaddle with other flags and settings, on one device only, and without devices: each in a process
of its own. Run by tests/clients/paddle/all after cards.py, which has unplugged some devices.

variants.py [WORD...]    only checks whose names contain one of the words
"""

import contextlib
import glob
import os
import subprocess
import sys

import late

# pylint: disable=wrong-import-order
import layers
import network
import numpy as np
import paddle
from suite import Suite, ask, card_of, cards, counters, equal, near, on_card, raises, run, same

# Each process chooses its own.
SUITE = Suite(None)
check = SUITE.check
check_since = SUITE.check_since

MIB = 1 << 20
EDU_BYTES = int(os.environ["PACCEL_EDU_BYTES"])
NAIVE = {"FLAGS_allocator_strategy": "naive_best_fit"}


# --- the other allocator -----------------------------------------------------------------------

def first_tensor(number):
    """It allocates all of the device memory."""
    assert counters(number)["free"], counters(number)
    array = np.arange(12, dtype="float32").reshape(3, 4)
    tensor = on_card(paddle.to_tensor(array), number)
    equal(counters(number)["free"], 0)
    same(tensor.numpy(), array)
    same((tensor.t() + 1).numpy(), array.T + 1)


def recover(size):
    """Out of memory, and on: more than the device has."""
    array = np.resize(np.arange(251, dtype="uint8"), size + 1)
    raises(MemoryError, lambda: paddle.to_tensor(array))
    near(float(paddle.ones([3]).sum()), 3.0)


def naive():
    """An edu has no room for training with what this allocator keeps beside each tensor."""
    wanted = network.losses("cpu", 3)
    for size in (64 * MIB, EDU_BYTES):
        number = card_of(size)
        paddle.set_device(f"accel:{number}")
        first_tensor(number)
        if size > EDU_BYTES:
            near(network.losses(f"accel:{number}", 3), wanted)
        recover(size)


@check
def naive_best_fit():
    """FLAGS_allocator_strategy=naive_best_fit, on a ring device and on an edu"""
    late.run(naive, NAIVE)


# --- some devices, and one ----------------------------------------------------------------------

@check
def chosen():
    """PADDLE_ACCEL_DEVICES: two devices, in the other order"""
    first, second = card_of(16 * MIB), card_of(64 * MIB)

    def function():
        equal(paddle.device.get_available_custom_device(), ["accel:0", "accel:1"])
        equal(paddle.device.get_device(), "accel:0")
        before = counters(first)["bytes_h2d"]
        on_card(paddle.to_tensor(np.ones(MIB, "uint8")))
        assert counters(first)["bytes_h2d"] >= before + MIB

    late.run(function, environment={"PADDLE_ACCEL_DEVICES": f"{first},{second}"})


@check_since((3, 0), "its static graphs have no way back to the CPU's kernels")
def run_check():
    """paddle.utils.run_check() on one device"""
    number = card_of(64 * MIB)
    before = counters(number)["requests"]
    text = late.run(paddle.utils.run_check, environment={"PADDLE_ACCEL_DEVICES": str(number)})
    assert "PaddlePaddle works well on 1 accel." in text, text
    assert "PaddlePaddle is installed successfully!" in text, text
    assert counters(number)["requests"] > before, text


@check
def wrong_setting():
    """a setting that is wrong: a sentence, and no device"""
    text = late.run(without_card, environment={"PADDLE_ACCEL_DEVICES": "99"})
    assert "paddle_accel: no device: PADDLE_ACCEL_DEVICES=99: " in text, text


# --- a reset that loses memory --------------------------------------------------------------------

# Those of kernel/hw/ring.c without PACCEL_HW_MEM_SURVIVES.
VOLATILE = "0x7c"


def put(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


@contextlib.contextmanager
def volatile(number):
    """A ring device with the backend for tests: its memory does not survive a reset. Its number meanwhile."""
    address = ask("list")[number]["bus_address"]
    path, drivers = f"/sys/bus/pci/devices/{address}", "/sys/bus/pci/drivers"
    module = f"{layers.BUILD}/tests/module/{os.environ['PACCEL_KERNEL']}/paccel_test.ko"
    put(f"{path}/driver_override", "paccel_test\n")
    put(f"{path}/driver/unbind", address)
    subprocess.run(["insmod", module, "backend=ring", f"set=flags={VOLATILE}"], check=True)
    try:
        yield [device["bus_address"] for device in ask("list")].index(address)
    finally:
        subprocess.run(["rmmod", "paccel_test"], check=True)
        put(f"{path}/driver_override", "\n")
        put(f"{drivers}/paccel/bind", address)


@check_since((3, 3), "there is no empty_cache() for custom devices")
def memory_lost():
    """a reset loses the memory of four layers: each says so, and Paddle alone needs a new process"""
    with volatile(card_of(64 * MIB)) as number:
        late.run(lambda: layers.lose(number))
        late.run(lambda: layers.use(number))


# --- none -------------------------------------------------------------------------------------

def without_card():
    """The default place, and training there."""
    equal(paddle.device.get_all_custom_device_type(), ["accel"])
    equal(paddle.device.get_available_custom_device(), [])
    equal(paddle.device.get_device(), "cpu")
    tensor = paddle.ones([2, 3])
    assert tensor.place.is_cpu_place(), tensor.place
    near((tensor.t() + 1).numpy(), np.full((3, 2), 2.0))
    got = network.losses(paddle.device.get_device(), 3)
    assert got[-1] < got[0], got


def name_of(address):
    """The name that qemu/run gives a device: that of its root port."""
    ports = sorted(os.path.dirname(path) for path in glob.glob("/sys/bus/pci/devices/*/pci_bus"))
    parent = os.path.dirname(os.path.realpath(f"/sys/bus/pci/devices/{address}"))
    return f"card{[os.path.realpath(port) for port in ports].index(parent)}"


@check
def no_card():
    """no device: Paddle starts, and the CPU is the default place"""
    for card in cards():
        subprocess.run(["guestctl", "device_del", name_of(card["bus_address"])], check=True)
    equal(glob.glob("/dev/paccel*"), [])
    text = late.run(without_card)
    assert "paddle_accel: no device: " in text, text


@check
def no_driver():
    """no driver: the same"""
    subprocess.run(["modprobe", "-r", "paccel"], check=True)
    try:
        text = late.run(without_card)
    finally:
        subprocess.run(["modprobe", "paccel"], check=True)
    assert "paddle_accel: no device: " in text, text


def main():
    return run([SUITE], sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
