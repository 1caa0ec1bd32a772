# SPDX-License-Identifier: MIT
"""Processes that are the ranks of a job on the devices of a guest, as paddle.distributed.launch starts
them: by their environment.

A rank is a fork of this process, see late.py.
"""

import ctypes
import glob
import os
import signal
import socket
import sys
import time
import traceback

# What Paddle says of its own plugins and stores.
os.environ.setdefault("GLOG_minloglevel", "1")

import late  # noqa: E402  pylint: disable=wrong-import-position

HOST = "127.0.0.1"
# The time limit of waits for other ranks, in seconds.
LIMIT = 60
# The ports of a job: each gets another one.
_PORTS = iter(range(6170, 32000))


def device_count():
    """Those of the driver; a mock of it has no files, and two."""
    return len(glob.glob("/dev/paccel[0-9]*")) or 2


class Rank:
    """A process."""

    def __init__(self, pid, number):
        self.pid = pid
        self.number = number
        self.status = None

    def wait(self, deadline):
        """The exit status; None: it is still running."""
        while self.status is None and time.monotonic() < deadline:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
            else:
                time.sleep(0.02)
        return self.status

    def kill(self):
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            self.wait(time.monotonic() + 60)


def _environment(rank, size, port, **more):
    hosts = more.pop("hosts", [HOST] * size)
    endpoints = [f"{host}:{port + 1 + i}" for i, host in enumerate(hosts)]
    return {"PADDLE_TRAINER_ID": str(rank), "PADDLE_TRAINERS_NUM": str(size),
            "PADDLE_GLOBAL_RANK": str(rank), "PADDLE_GLOBAL_SIZE": str(size),
            "PADDLE_LOCAL_RANK": str(rank), "PADDLE_RANK_IN_NODE": str(rank),
            "PADDLE_MASTER": f"{hosts[0]}:{port}", "PADDLE_CURRENT_ENDPOINT": endpoints[rank],
            "PADDLE_TRAINER_ENDPOINTS": ",".join(endpoints), "PADDLE_DISTRI_BACKEND": "xccl",
            "PADDLE_XCCL_BACKEND": "accel", "FLAGS_selected_accels": str(rank % device_count()),
            "PADDLE_ACCEL_TIMEOUT": str(LIMIT), **more}


def _free_port():
    """With so many free ones behind it that each rank has one."""
    for port in _PORTS:
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
            except OSError:
                continue
        for _ in range(16):
            next(_PORTS)
        return port
    raise RuntimeError("no port is free")


def _run(function, environment):
    """In the process of a rank: ends it."""
    status = 1
    try:
        os.environ.update(environment)
        late.load()
        function()
        status = 0
    except BaseException:  # pylint: disable=broad-exception-caught
        text = traceback.format_exc()
        print(f"# rank {environment['PADDLE_TRAINER_ID']}: " + text.strip().replace("\n", "\n# "), flush=True)
    late.leave(status)


def start(function, size, namespaces=(), only=None, **more):
    """Ranks that run it, or that one alone. `namespaces`: of the network, in turn."""
    port = _free_port()
    ranks = []
    sys.stdout.flush()
    for number in range(size) if only is None else [only]:
        pid = os.fork()
        if not pid:
            if namespaces:
                _enter(namespaces[number % len(namespaces)])
            _run(function, _environment(number, size, port, **more))
        ranks.append(Rank(pid, number))
    return ranks


def _enter(namespace):
    fd = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(fd, 0x40000000):
        raise OSError(ctypes.get_errno(), f"setns {namespace}")
    os.close(fd)


def finish(ranks, seconds=300):
    """All statuses. A rank that runs longer is killed, and has None."""
    deadline = time.monotonic() + seconds
    statuses = [rank.wait(deadline) for rank in ranks]
    for rank in ranks:
        rank.kill()
    return statuses


def run(function, size, wanted=None, **more):
    """Fails if a rank does. `wanted`: the statuses, if they are not 0."""
    statuses = finish(start(function, size, **more))
    assert statuses == (wanted or [0] * size), f"the ranks ended with {statuses}"
