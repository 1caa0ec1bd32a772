#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What goes wrong while ranks exchange device memory: a rank is killed, a device hangs in mid-transfer, a device is
pulled. Run outside of the disk's system, with two ring devices; see run.

faults.py TRANSPORT    sm or tcp

Each time every rank has to end within LIMIT, the launcher with an error, no rank with wrong bytes, and all device memory
has to be free afterwards.
"""

import glob
import json
import os
import re
import signal
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
              "tcp": ["--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "lo"]}
WATCHDOG_MS = 2000
# The watchdog of the driver, its recovery, and the launcher that ends the others; against hangs on a busy machine.
LIMIT = 60
RANKS = 2


class Job:
    """The ranks, once all of them exchange messages."""

    def __init__(self, transport, *options):
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(
            ["tests/clients/mpi/guest", "mpirun", "-n", str(RANKS), *options, *TRANSPORTS[transport], PROGRAM],
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

    def end(self):
        """What the job has said, when it has ended."""
        begin = time.monotonic()
        try:
            rest, _ = self.process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            self.process.kill()
            for pid in self.pids.values():
                os.kill(pid, signal.SIGKILL)
            raise AssertionError(f"it has not ended within {LIMIT} s:\n" + self.text()) from None
        self.lines.append(rest)
        print(f"# ended after {time.monotonic() - begin:.1f} s with status {self.process.returncode}")
        assert self.process.returncode, "it has ended without an error:\n" + self.text()
        assert "WRONG" not in self.text(), self.text()
        tap.wait_until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in self.pids.values()),
                       lambda: "a rank is left")
        return self.text()


def says(text, *wanted):
    assert any(word in text for word in wanted), f"nothing of {wanted} in:\n{text}"


def used():
    """Bytes of device memory in use, by node."""
    found = {}
    for node in glob.glob("/dev/paccel*"):
        out = subprocess.run(["accelctl", "stats", "--json", "-d", node], check=True, stdout=subprocess.PIPE).stdout
        found[node] = find(json.loads(out), "used")
    return found


def find(value, name):
    """The member of this name, wherever it is."""
    if isinstance(value, dict):
        if name in value:
            return value[name]
        value = list(value.values())
    for part in value if isinstance(value, list) else []:
        if (found := find(part, name)) is not None:
            return found
    return None


def nothing_is_left():
    tap.wait_until(lambda: used() and not any(used().values()), lambda: f"device memory is in use: {used()}")


def guestctl(*words):
    subprocess.run(["guestctl", *words], check=True)


def set_watchdog(milliseconds):
    with open("/sys/module/paccel/parameters/watchdog_ms", "w", encoding="ascii") as file:
        file.write(str(milliseconds))


def checks(transport):
    """[(name, function, None)]"""

    def killed():
        job = Job(transport)
        os.kill(job.pids[1], signal.SIGKILL)
        says(job.end(), "signal 9", "Killed", "PROC_FAILED", "sendrecv:")
        nothing_is_left()

    def killed_and_told():
        """With fault tolerance the rank that is left gets an error of MPI."""
        job = Job(transport, "--with-ft", "ulfm")
        os.kill(job.pids[1], signal.SIGKILL)
        says(job.end(), "rank 0: sendrecv: MPI_ERR_PROC_FAILED")
        nothing_is_left()

    def hung():
        job = Job(transport)
        guestctl("fault", "card1", "stall", "after=3")
        text = job.end()
        says(text, "did not answer in time")
        nothing_is_left()

    def pulled():
        job = Job(transport)
        guestctl("device_del", "card1")
        says(job.end(), "removed")
        guestctl("device_add", "card1")
        tap.wait_until(lambda: len(glob.glob("/dev/paccel*")) == 2, lambda: "the device is not back")
        nothing_is_left()

    return [(f"{transport}: a rank is killed", killed, None),
            (f"{transport}: a rank is killed, and with fault tolerance the other one is told", killed_and_told, None),
            (f"{transport}: a device hangs in mid-transfer", hung, None),
            (f"{transport}: a device is pulled", pulled, None)]


def main():
    transports = sys.argv[1:] or ["sm"]
    set_watchdog(WATCHDOG_MS)
    return tap.run(check for transport in transports for check in checks(transport))


if __name__ == "__main__":
    sys.exit(main())
