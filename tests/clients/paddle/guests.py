#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A rank of paddle.distributed in each of two guests with a device: what they exchange, and that both get an OSError in
bounded time when a rank, a device or the network is lost.

qemu/run --guests 2 --disk paddle-3.3.1 --card ring,mem=64M,engines=2 --mem 2G -- \
        tests/clients/paddle/guest tests/clients/paddle/guests.py

Both guests run all checks, the second one causes the faults. The first one's TAP is that of the job; a failure of the
second one ends it.
"""

import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# pylint: disable=wrong-import-position
import lost  # noqa: E402  before paddle
import ranks  # noqa: E402
import numpy as np  # noqa: E402
import paddle  # noqa: E402
import paddle.distributed as dist  # noqa: E402
import tap  # noqa: E402
from lost import KILLED, SHORT, SLACK, addend, begin, fails, nothing_is_left, reduced  # noqa: E402
from tap import equal, wait_until  # noqa: E402

RANK = int(os.environ["PACCEL_RANK"])
HOSTS = [pair.partition("=")[2] for pair in os.environ["PACCEL_HOSTS"].split()]
SIZES = (1, 1000, 100003, 1 << 20)


def run(function, wanted=0, **more):
    """This guest's rank."""
    equal(ranks.finish(ranks.start(function, len(HOSTS), only=RANK, hosts=HOSTS, **more)), [wanted])


def causes(*words):
    if RANK == 1:
        subprocess.run(["guestctl", *words], check=True)


def values(sender, number, count):
    return np.random.default_rng([sender, number]).integers(-1 << 20, 1 << 20, count, dtype="int32")


def same(got, wanted):
    assert got == wanted, "the bytes of a message are others"


def exchange():
    """Each byte of each message and sum is compared; no two messages have the same contents."""
    me, size = begin(), len(HOSTS)
    for number, count in enumerate(SIZES):
        sent = [values(rank, number, count) for rank in range(size)]
        mine = paddle.to_tensor(sent[me])
        dist.all_reduce(mine)
        same(mine.numpy().tobytes(), sum(sent).tobytes())
        mine = paddle.to_tensor(sent[me])
        parts = []
        dist.all_gather(parts, mine)
        same([part.numpy().tobytes() for part in parts], [part.tobytes() for part in sent])
        dist.broadcast(mine, src=1)
        same(mine.numpy().tobytes(), sent[1].tobytes())
        if me == 0:
            dist.send(paddle.to_tensor(sent[0] + 1), dst=1)
        else:
            dist.recv(mine, src=0)
            same(mine.numpy().tobytes(), (sent[0] + 1).tobytes())
    dist.barrier()


def exchanged():
    run(exchange)
    nothing_is_left()


def killed():
    def rank():
        if begin() == 1:
            os.kill(os.getpid(), KILLED * -1)
        fails()
    run(rank, KILLED if RANK == 1 else 0)
    nothing_is_left()


def hung():
    def rank():
        begin()
        tensor = addend()
        causes("fault", "card0", "stall")
        fails(lambda: reduced(tensor), seconds=60 + SLACK, device_works=False)
    run(rank)
    causes("fault", "card0", "clear")
    run(begin)
    nothing_is_left()


def pulled():
    def rank():
        begin()
        tensor = addend()
        causes("device_del", "card0")
        fails(lambda: reduced(tensor), device_works=RANK == 0)
    run(rank)
    causes("device_add", "card0")
    wait_until(lambda: os.path.exists("/dev/paccel0"), lambda: "no /dev/paccel0")
    run(begin)
    nothing_is_left()


def disconnected():
    def rank():
        begin()
        causes("link", "down")
        fails(seconds=SHORT + SLACK)
    run(rank, PADDLE_ACCEL_TIMEOUT=str(SHORT))
    causes("link", "up")
    run(begin)
    nothing_is_left()


CHECKS = [("guests: messages and sums", exchanged, None), ("guests: a rank is killed", killed, None),
          ("guests: a device hangs in mid-transfer", hung, None), ("guests: a device is pulled", pulled, None),
          ("guests: the network goes down", disconnected, None)]

if __name__ == "__main__":
    sys.exit(tap.run(CHECKS))
