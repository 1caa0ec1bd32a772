# SPDX-License-Identifier: MIT
"""Checks that run in several processes at once, the ranks of torch.distributed.

The process that starts the ranks never uses a device: torch is imported once, and each check forks its
ranks from there. So a rank that is killed, or that ends with a signal, costs one check, and what it had
in device memory is gone.
"""

import contextlib
import datetime
import os
import pickle
import selectors
import signal
import socket
import sys
import time
import traceback

# pylint: disable=no-member
import torch
import torch.distributed as dist

from suite import Device

DEVICES = 2
# Against hangs, in seconds: a check ends long before it.
LIMIT = 240


class Rank:
    """What a check gets in each of its processes."""

    def __init__(self, number, size, port):
        self.number = number
        self.size = size
        self.peer = (number + 1) % size
        # More ranks than devices share them.
        self.index = number % DEVICES
        self.device = torch.device("npu", self.index)
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(number),
                          WORLD_SIZE=str(size), LOCAL_RANK=str(number), GLOO_SOCKET_IFNAME="lo")

    @contextlib.contextmanager
    def group(self, backend="gloo", seconds=60):
        """In a process group of all ranks, with a device of its own."""
        torch.npu.set_device(self.index)
        dist.init_process_group(backend, timeout=datetime.timedelta(seconds=seconds))
        assert (dist.get_rank(), dist.get_world_size()) == (self.number, self.size)
        yield
        dist.destroy_process_group()


class Ended:
    """How a rank has ended: its status as of os.waitstatus_to_exitcode(), what the function has returned or
    the text of its exception, and when."""

    def __init__(self, number):
        self.number = number
        self.status = self.value = None
        self.text = ""
        self.at = None
        self.answer = b""

    def __str__(self):
        return f"rank {self.number}: status {self.status}\n{self.text}"


def run_ranks(function, size=DEVICES, limit=LIMIT):
    """[Ended] of function(rank) in `size` forked processes, which are killed after `limit` seconds."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    sys.stdout.flush()
    ended, pids = [Ended(number) for number in range(size)], []
    with selectors.DefaultSelector() as readers:
        for rank in ended:
            reader, writer = os.pipe()
            pid = os.fork()
            if not pid:
                os.close(reader)
                _run_rank(function, Rank(rank.number, size, port), writer)
            os.close(writer)
            pids.append(pid)
            readers.register(reader, selectors.EVENT_READ, rank)
        _read_answers(readers, pids, limit)
    for rank, pid in zip(ended, pids):
        rank.status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if rank.answer:
            rank.value, rank.text = pickle.loads(rank.answer)
    return ended


def _run_rank(function, rank, writer):
    """Does not return: what the parent had in its buffers is not written twice."""
    answer, status = (None, "no answer"), 1
    # With the processes that it starts.
    os.setpgid(0, 0)
    try:
        answer, status = (function(rank), ""), 0
    except Exception:  # pylint: disable=broad-exception-caught
        answer = None, traceback.format_exc()
    finally:
        with open(writer, "wb") as file:
            pickle.dump(answer, file)
        sys.stdout.flush()
        os._exit(status)


def _read_answers(readers, pids, limit):
    end = time.monotonic() + limit
    while readers.get_map():
        events = readers.select(end and max(0, end - time.monotonic()))
        if not events:
            print(f"# ranks have not ended after {limit} s and are killed")
            for pid in pids:
                os.killpg(pid, signal.SIGKILL)
            end = None
        for key, _ in events:
            part = os.read(key.fd, 1 << 16)
            key.data.answer += part
            if not part:
                key.data.at = time.monotonic()
                readers.unregister(key.fd)
                os.close(key.fd)


def in_ranks(size=DEVICES):
    """Makes a check of a function of a rank: all ranks have to return."""
    def wrap(function):
        def run():
            ended = run_ranks(function, size)
            failed = [rank for rank in ended if rank.status]
            assert not failed, "\n".join(map(str, failed))
            return [rank.value for rank in ended]
        run.__doc__, run.__name__ = function.__doc__, function.__name__
        return run
    return wrap


# --- contents ----------------------------------------------------------------------------------

def numbers(shape, kind, *words, largest=7):
    """Whole numbers, of which each type has the exact sum. Others for other words: the rank, the message."""
    seed = 0
    for word in words:
        seed = seed * 1009 + word
    generator = torch.Generator().manual_seed(seed)
    # Without 0, so that no product hides another factor.
    return torch.randint(1, largest + 1, shape, generator=generator).to(kind)


def unused():
    """Waits until no process has memory on any device."""
    def used(rank):
        own = Device(rank.index)
        end = time.monotonic() + 60
        while own.stats()["used"] or own.stats()["dirty"]:
            assert time.monotonic() < end, own.stats()
            time.sleep(0.01)
        own.close()
    return used
