#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ranks, devices and networks that are lost: every rank that is left gets an OSError in bounded time, and
never a wrong result. Run by tests/clients/paddle/guest with two devices.

lost.py [WORD...]    only checks whose names contain one of the words
"""

import atexit
import json
import glob
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# pylint: disable=wrong-import-position
import ranks  # noqa: E402  before paddle
import numpy as np  # noqa: E402
import paddle  # noqa: E402
import paddle.distributed as dist  # noqa: E402
import tap  # noqa: E402
from tap import equal, raises, wait_until  # noqa: E402

KILLED = -signal.SIGKILL
# Seconds that a rank may wait for the others, where they say nothing.
SHORT = 10
# For all else that a rank does until it raises, in a guest without KVM on a machine with other work.
SLACK = 40
HOSTS = ["10.77.0.1", "10.77.0.2"]
NAMESPACES = ["paccel0", "paccel1"]
MANY = 1 << 20
# Has the number of a rank's child.
WORKER = "/tmp/paccel-worker"
# Files by which ranks say that a send has returned, and that one has raised.
SENT = "/tmp/paccel-sent"
RAISED = "/tmp/paccel-raised"

HAS_DRIVER = shutil.which("guestctl") is not None
CHECKS = []


def check(why=None):
    def add(function):
        CHECKS.append((function, why))
        return function
    return add


def guest_only():
    return check(None if HAS_DRIVER else "no driver: a guest has one")


def begin():
    dist.init_parallel_env()
    me, size = dist.get_rank(), dist.get_world_size()
    numbers = paddle.to_tensor(np.arange(100, dtype="int32") * (me + 1))
    dist.all_reduce(numbers)
    equal(numbers.numpy().tolist(), [i * size * (size + 1) // 2 for i in range(100)])
    return me


def addend(count=MANY):
    """What this rank adds: neither two elements beside each other nor two ranks have the same."""
    return paddle.to_tensor((np.arange(count, dtype="float32") % 9973 + 1) * (dist.get_rank() + 1))


def is_sum(got):
    size = dist.get_world_size()
    return (got == (np.arange(len(got), dtype="float32") % 9973 + 1) * (size * (size + 1) // 2)).all()


def reduced(tensor):
    dist.all_reduce(tensor)
    return tensor.numpy()


def summed(count=MANY):
    return reduced(addend(count))


def fails(function=summed, seconds=SLACK, device_works=True):
    """The next collective raises within that time, and so do all after it, at once."""
    began = time.monotonic()
    raises(OSError, function)
    took = time.monotonic() - began
    assert took < seconds, f"{took:.1f} s"
    again = paddle.ones([4]) if device_works else None
    began = time.monotonic()
    raises(OSError, lambda: dist.all_reduce(again) if device_works else summed())
    assert time.monotonic() - began < SLACK
    if device_works:
        equal(paddle.full([5], 3.0).numpy().tolist(), [3.0] * 5)
    print(f"# rank {dist.get_rank()} raised after {took:.1f} s", flush=True)


def used():
    """Bytes of all devices that processes have allocated."""
    devices = json.loads(subprocess.run(["accelctl", "list", "--json"], check=True, capture_output=True,
                                      text=True).stdout)
    return [json.loads(subprocess.run(["accelctl", "stats", device["node"], "--json"], check=True,
                                      capture_output=True, text=True).stdout)["used"] for device in devices]


def nothing_is_left():
    if HAS_DRIVER:
        wait_until(lambda: not any(used()), used)


# --- ranks -----------------------------------------------------------------------------------

@check()
def killed():
    """a rank is killed: the two others raise"""
    def rank():
        if begin() == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        fails()
    ranks.run(rank, 3, [0, KILLED, 0])
    nothing_is_left()


@check()
def killed_beside_its_worker():
    """a rank is killed whose forked worker goes on: the other one raises before its limit"""
    def rank():
        me = begin()
        if me == 1:
            worker = os.fork()
            if not worker:
                while True:
                    signal.pause()
            with open(WORKER, "w", encoding="utf-8") as file:
                file.write(str(worker))
            os.kill(os.getpid(), signal.SIGKILL)
        fails()
    assert SLACK < ranks.LIMIT
    with open(WORKER, "w", encoding="utf-8"):
        pass
    try:
        ranks.run(rank, 2, [0, KILLED])
    finally:
        with open(WORKER, encoding="utf-8") as file:
            if number := file.read():
                os.kill(int(number), signal.SIGKILL)
    nothing_is_left()


@check()
def killed_in_a_transfer():
    """a rank is killed while it sends: the other one has the right sum, or raises"""
    def rank(delay):
        if begin() == 1:
            tensor = addend(4 * MANY)
            dist.all_reduce(tensor, sync_op=False)
            time.sleep(delay)
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            got = summed(4 * MANY)
        except OSError:
            print(f"# killed after {delay} s: raised", flush=True)
        else:
            assert is_sum(got), got
        fails(device_works=False)
    for delay in (0, 0.003, 0.02):
        ranks.run(lambda delay=delay: rank(delay), 2, [0, KILLED])
    nothing_is_left()


def say(what):
    with open(what, "w", encoding="utf-8"):
        pass


def wait_for(what):
    wait_until(lambda: os.path.exists(what), lambda: f"no {what}", 180)


def run_with_files(function, size, wanted=None, **more):
    """What ranks say is there only while they run."""
    for name in (SENT, RAISED):
        pathlib.Path(name).unlink(missing_ok=True)
    try:
        ranks.run(function, size, wanted, **more)
    finally:
        for name in (SENT, RAISED):
            pathlib.Path(name).unlink(missing_ok=True)


@check()
def ended_after_its_send():
    """a rank ends when it has sent: the other one receives that"""
    def rank():
        if begin():
            dist.send(addend(), 0)
            atexit.register(say, SENT)
            return
        wait_for(SENT)
        # What the other one does after its interpreter's end cannot be seen.
        time.sleep(10)
        got = paddle.zeros([MANY])
        dist.recv(got, 1)
        assert (got.numpy() == addend().numpy() * 2).all(), got
    run_with_files(rank, 2)
    nothing_is_left()


@check()
def killed_before_it_receives():
    """a rank is killed that has not received: the one that has sent raises, and so does a third one"""
    def rank():
        me = begin()
        if me == 1:
            wait_for(SENT)
            os.kill(os.getpid(), signal.SIGKILL)
        if me == 2:
            got = addend(4)
            fails(lambda: (dist.broadcast(got, 0), got.numpy()), 100)
            say(RAISED)
            return
        dist.send(addend(), 1)
        say(SENT)
        fails(wait)
        # Its end closes the connections, too.
        wait_for(RAISED)

    def wait():
        while True:
            paddle.device.synchronize()
    run_with_files(rank, 3, [0, KILLED, 0], PADDLE_ACCEL_TIMEOUT="120")
    nothing_is_left()


@check()
def never_comes():
    """a rank that does not take part: the other one raises after its limit"""
    def rank():
        if begin() == 1:
            signal.pause()
        began = time.monotonic()
        fails(seconds=SHORT + SLACK)
        assert time.monotonic() - began >= SHORT
    started = ranks.start(rank, 2, PADDLE_ACCEL_TIMEOUT=str(SHORT))
    equal(started[0].wait(time.monotonic() + 120), 0)
    started[1].kill()
    equal(started[1].status, KILLED)
    nothing_is_left()


@check()
def differ():
    """ranks whose operations differ: all raise after the limit, and no data is exchanged"""
    def rank():
        me = begin()
        tensor = paddle.full([100 + me], 1.0 + me)
        fails(lambda: (dist.all_reduce(tensor), tensor.numpy()), SHORT + SLACK)
    ranks.run(rank, 2, PADDLE_ACCEL_TIMEOUT=str(SHORT))


@check()
def no_such_engine():
    """without the engine, the first collective says which package is missing"""
    def rank():
        dist.init_parallel_env()
        raises(OSError, summed)
    # A directory of its own: the engine is searched for beside the plugin.
    where = "/tmp/paccel-no-engine"
    os.makedirs(where, exist_ok=True)
    plugin = os.environ["CUSTOM_DEVICE_ROOT"]
    subprocess.run(["cp", "-P", f"{plugin}/libpaddle_accel.so", *glob.glob(f"{plugin}/../libaccel.so.*"), where],
                   check=True)
    text = said(rank, CUSTOM_DEVICE_ROOT=where)
    assert "collectives need the engine" in text and "libgloo0" in text, text


def said(function, **more):
    """What a lone rank 0 of two writes to standard error."""
    path = "/tmp/paccel-said"

    def rank():
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(fd, 2)
        function()
    started = ranks.start(rank, 2, **more)
    equal(started[0].wait(time.monotonic() + 120), 0)
    started[1].kill()
    with open(path, encoding="utf-8") as file:
        return file.read()


# --- devices ---------------------------------------------------------------------------------

def device_hangs(run):
    def rank():
        me, tensor = begin(), addend()
        if me == 1:
            subprocess.run(["guestctl", "fault", "card1", "stall"], check=True)
        fails(lambda: reduced(tensor), seconds=60 + SLACK, device_works=False)
    run(rank)
    subprocess.run(["guestctl", "fault", "card1", "clear"], check=True)
    run(begin)
    nothing_is_left()


def device_is_pulled(run):
    def rank():
        me, tensor = begin(), addend()
        if me == 1:
            subprocess.run(["guestctl", "device_del", "card1"], check=True)
        fails(lambda: reduced(tensor), device_works=me == 0)
    run(rank)
    subprocess.run(["guestctl", "device_add", "card1"], check=True)
    wait_until(lambda: os.path.exists("/dev/paccel1"), lambda: "no /dev/paccel1")
    run(begin)
    nothing_is_left()


def beside_each_other(function):
    ranks.run(function, 2)


@guest_only()
def hangs():
    """a device hangs in a transfer: both ranks raise, and both devices work again"""
    device_hangs(beside_each_other)


@guest_only()
def pulled():
    """a device is unplugged: both ranks raise"""
    device_is_pulled(beside_each_other)


# --- networks --------------------------------------------------------------------------------

def ip(*words):
    subprocess.run(["ip", *words], check=True)


def make_network():
    """A virtual cable between two namespaces."""
    subprocess.run(["modprobe", "veth"], check=False)
    os.makedirs("/run/netns", exist_ok=True)
    for name in NAMESPACES:
        ip("netns", "add", name)
        ip("-n", name, "link", "set", "lo", "up")
    ip("link", "add", "cable", "netns", NAMESPACES[0], "type", "veth", "peer", "name", "cable", "netns",
       NAMESPACES[1])
    for name, host in zip(NAMESPACES, HOSTS):
        ip("-n", name, "address", "add", f"{host}/24", "dev", "cable")
        ip("-n", name, "link", "set", "cable", "up")


def remove_network():
    for name in NAMESPACES:
        subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)


def over_the_network(function, **more):
    make_network()
    try:
        ranks.run(function, 2, namespaces=NAMESPACES, hosts=HOSTS, **more)
    finally:
        remove_network()


@guest_only()
def two_namespaces():
    """two network namespaces: their ranks reach each other by the addresses of their endpoints"""
    def rank():
        begin()
        assert is_sum(summed(1000))
    over_the_network(rank)


@guest_only()
def killed_elsewhere():
    """two network namespaces, a rank is killed: the other one raises"""
    def rank():
        if begin() == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        fails()
    over_the_network(rank, wanted=[0, KILLED])
    nothing_is_left()


@guest_only()
def hangs_elsewhere():
    """two network namespaces, a device hangs in a transfer: both ranks raise, and both devices work again"""
    device_hangs(over_the_network)


@guest_only()
def pulled_elsewhere():
    """two network namespaces, a device is unplugged: both ranks raise"""
    device_is_pulled(over_the_network)


@guest_only()
def network_goes_down():
    """the network goes down: both ranks raise after the limit"""
    def rank():
        if begin() == 1:
            ip("link", "set", "cable", "down")
        fails(seconds=SHORT + SLACK)
    over_the_network(rank, PADDLE_ACCEL_TIMEOUT=str(SHORT))
    nothing_is_left()


def main():
    return tap.run((function.__doc__, function, why) for function, why in CHECKS
                   if tap.is_chosen(function, sys.argv[1:]))


if __name__ == "__main__":
    sys.exit(main())
