#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What goes wrong while ranks exchange device memory: a rank is killed, a device hangs in mid-transfer, a device is
pulled. Run outside of the disk's system, with two ring devices; see run.

faults.py TRANSPORT    sm or tcp; hosts: in two network namespaces; guests: rank 1 and its device are in another guest, and the network goes down, too

Each time every rank has to end within LIMIT, the launcher with an error, no rank with wrong bytes, and all device memory
has to be free afterwards.
"""

import os
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(TOP, "tests/clients"))

# pylint: disable=wrong-import-position
import tap  # noqa: E402

BUILD = os.path.abspath(os.path.join(TOP, os.environ.get("BUILD") or "build"))
PROGRAM = os.path.join(BUILD, "tests/clients/mpi/fault")
TRANSPORTS = {"sm": ["--mca", "btl", "self,sm"],
              "tcp": ["--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "lo"],
              "hosts": ["-H", "host1:1,host2:1", "--mca", "btl", "self,tcp"],
              "guests": ["--host", "guest0,guest1", "--map-by", "ppr:1:node"]}
LAUNCHERS = {"hosts": ["tests/clients/mpi/hosts"]}
# The launcher's messages to the other machine: when they are lost, in s.
KEEPALIVE = ["--prtemca", "oob_tcp_keepalive_time", "5", "--prtemca", "oob_tcp_keepalive_intvl", "2",
             "--prtemca", "oob_tcp_keepalive_probes", "3"]
# How often TCP sends again what is not acknowledged: 13 s instead of 15 minutes.
TCP_RETRIES = 5
# What pulls the cable of rank 0's machine, and what plugs it.
RETRIES = "/proc/sys/net/ipv4/tcp_retries2"
CABLES = {"hosts": ("tests/clients/mpi/guest sh -c 'for host in host1 host2; do "
                    f"ip netns exec $host sh -c \"echo {TCP_RETRIES} >{RETRIES}\"; done; "
                    "ip -n host1 link set veth1 down'",
                    "tests/clients/mpi/guest ip -n host1 link set veth1 up"),
          "guests": ("guestctl link down", "guestctl link up")}
HAS_GUESTS = "PACCEL_HOSTS" in os.environ
# The device of rank 1.
SLOT = "card0" if HAS_GUESTS else "card1"
WATCHDOG_MS = 2000
# The watchdog of the driver, its recovery, and the launcher that ends the others; against hangs on a busy machine.
LIMIT = 300
RANKS = 2


def on(rank, line):
    """The output of a line for the shell, where a rank is."""
    words = ["ssh", f"guest{rank}"] if HAS_GUESTS and rank else ["sh", "-c"]
    return subprocess.run([*words, line], check=True, stdout=subprocess.PIPE, text=True).stdout


class Job:
    """The ranks, once all of them exchange messages."""

    def __init__(self, transport, *options):
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(
            ["tests/clients/mpi/guest", *LAUNCHERS.get(transport, []), "mpirun", "-n", str(RANKS), *options, *TRANSPORTS[transport], PROGRAM],
            cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        self.lines = []
        self.pids = {}
        for line in self.process.stdout:
            self.lines.append(line)
            if match := re.match(r"rank (\d+) has pid (\d+)", line):
                self.pids[int(match[1])] = int(match[2])
            if len(self.pids) == RANKS:
                return
        raise AssertionError("the ranks have not started:\n" + self.text())

    def text(self):
        return "".join(self.lines)

    def _are_left(self):
        return any(on(rank, f"ls -d /proc/{pid} 2>/dev/null || true") for rank, pid in self.pids.items())

    def end(self, repair=lambda: None, has_status=True):
        """What the job has said, when it has ended. Before ranks are looked for, the network is repaired."""
        begin = time.monotonic()
        try:
            rest, _ = self.process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            repair()
            for rank, pid in self.pids.items():
                on(rank, f"kill -9 {pid} || true")
            raise AssertionError(f"it has not ended within {LIMIT} s:\n" + self.text()) from None
        self.lines.append(rest)
        repair()
        print(f"# ended after {time.monotonic() - begin:.1f} s with status {self.process.returncode}")
        assert self.process.returncode or not has_status, "it has ended without an error:\n" + self.text()
        assert "WRONG" not in self.text(), self.text()
        tap.wait_until(lambda: not self._are_left(), lambda: "a rank is left")
        return self.text()


def answers(rank):
    """True if commands reach the rank's machine."""
    return not HAS_GUESTS or not subprocess.run(["ssh", f"guest{rank}", "true"], check=False).returncode


def says(text, *wanted):
    assert any(word in text for word in wanted), f"nothing of {wanted} in:\n{text}"


def used():
    """Bytes of device memory in use, of all devices."""
    lines = "".join(on(rank, "cat /sys/class/paccel/*/used 2>/dev/null || true") for rank in range(RANKS if HAS_GUESTS else 1))
    return [int(line) for line in lines.split()]


def nothing_is_left():
    tap.wait_until(lambda: len(used()) == RANKS and not any(used()), lambda: f"device memory is in use: {used()}")


def set_up():
    for rank in range(RANKS):
        on(rank, f"echo {WATCHDOG_MS} >/sys/module/paccel/parameters/watchdog_ms")
        on(rank, f"echo {TCP_RETRIES} >{RETRIES}")


def checks(transport):
    """[(name, function, None)]"""

    def killed():
        job = Job(transport)
        on(1, f"kill -9 {job.pids[1]}")
        says(job.end(), "signal 9", "Killed", "PROC_FAILED", "sendrecv:", "Socket closed")
        nothing_is_left()

    def killed_and_tolerated():
        """With fault tolerance the rank that is left gets an error of MPI."""
        job = Job(transport, "--with-ft", "ulfm")
        on(1, f"kill -9 {job.pids[1]}")
        says(job.end(), "rank 0: sendrecv: MPI_ERR_PROC_FAILED")
        nothing_is_left()

    def hung():
        job = Job(transport)
        on(1, f"guestctl fault {SLOT} stall after=3")
        text = job.end()
        says(text, "did not answer in time")
        nothing_is_left()

    def pulled():
        job = Job(transport)
        on(1, f"guestctl device_del {SLOT}")
        says(job.end(), "removed")
        on(1, f"guestctl device_add {SLOT}")
        nothing_is_left()

    def disconnected():
        """Open MPI 5.0.7 says so, ends all ranks, and exits with 0."""
        job = Job(transport, *KEEPALIVE)
        pull, plug = CABLES[transport]

        def repair():
            """A cable that is plugged carries nothing at once: connections fail until then."""
            on(0, plug)
            tap.wait_until(lambda: answers(1), lambda: "rank 1's machine cannot be reached")

        on(0, pull)
        says(job.end(repair, has_status=False), "lost communication", "sendrecv:")
        nothing_is_left()

    network = [(f"{transport}: the network goes down", disconnected, None)] if transport in CABLES else []
    return [(f"{transport}: a rank is killed", killed, None),
            (f"{transport}: a rank is killed, and with fault tolerance the other one gets an error", killed_and_tolerated, None),
            (f"{transport}: a device hangs in mid-transfer", hung, None),
            (f"{transport}: a device is pulled", pulled, None), *network]


def main():
    transports = sys.argv[1:] or ["sm"]
    set_up()
    return tap.run(check for transport in transports for check in checks(transport))


if __name__ == "__main__":
    sys.exit(main())
