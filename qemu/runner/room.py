# SPDX-License-Identifier: MIT
"""Which file descriptors a QEMU with ring cards uses for what."""

import contextlib
import os
import time

from . import RunnerError


class Room:
    """Without KVM an ivshmem that is unplugged leaves the handlers of its interrupts' eventfds
    behind (seen in 7.2), and QEMU dies when one of these numbers comes to be that of something
    that can be read, such as a file of the guest. So a card gets numbers above all that are in
    use or free. While it goes there are lower ones for whatever is opened; when it has gone, its
    numbers get eventfds that can never be read, and the lower ones too, until the next card
    goes. For both the guest is stopped: what it opens would come in between."""

    SIZE = 64
    # Of the set of file descriptors that the command line gives to QEMU.
    FIRST_SET = 1
    # A thread, as QEMU names it with debug-threads.
    MONITOR = "IO mon_iothread"
    # A thread that opens a file may seem to sleep, but not for so long, in s.
    REST = 0.02
    # A busy host makes much of little.
    REST_TIMEOUT = 60

    def __init__(self, qmp, pid):
        self.qmp = qmp
        self.pid = pid
        self.process = f"/proc/{pid}"
        self.sets = [self.FIRST_SET]
        self.before = set()

    @classmethod
    def arguments(cls, quiet):
        """For the numbers below those of the cards at start."""
        return ["-add-fd", f"fd={quiet},set={cls.FIRST_SET}"] * cls.SIZE

    def _open_fds(self):
        return {int(name) for name in os.listdir(f"{self.process}/fd")}

    def _eventfds(self):
        found = set()
        for number in self._open_fds():
            with contextlib.suppress(FileNotFoundError):
                if os.readlink(f"{self.process}/fd/{number}") == "anon_inode:[eventfd]":
                    found.add(number)
        return found

    def make(self):
        self.before = self._eventfds()
        for number in self.sets:
            self.qmp.execute("remove-fd", {"fdset-id": number})
        self.before &= self._eventfds()
        self.sets = []

    def fill(self):
        holes = self.before - self._open_fds()
        with self._guest_stopped():
            self._wait_for_workers()
            self._take(max(holes, default=-1), keep=holes)

    @contextlib.contextmanager
    def above(self):
        """What is opened inside gets numbers above all others, with room below."""
        with self._guest_stopped():
            self.wait_for_rest()
            self._take(max(self._open_fds()), at_least=self.SIZE)
            yield

    @contextlib.contextmanager
    def _guest_stopped(self):
        self.qmp.execute("stop")
        try:
            yield
        finally:
            # Also for the guest to hear what went wrong.
            self.qmp.execute("cont")

    def _take(self, top, keep=(), at_least=0):
        """All free numbers up to this one. Those to keep are not given back by make()."""
        quiet = os.eventfd(0)
        last = -1
        while last < top or len(self.sets) < at_least:
            added = self.qmp.execute("add-fd", fds=[quiet])
            last = added["fd"]
            if last not in keep:
                self.sets.append(added["fdset-id"])
        os.close(quiet)

    def wait_for_rest(self):
        """Until nothing is under way in QEMU, whose guest is stopped."""
        self._wait_for_same(self._switches)

    def _wait_for_workers(self):
        """The same while the main thread spins, as it does when a card has gone. It hands out
        work and takes it back, and does both before it answers."""
        def switches():
            for _ in range(2):
                self.qmp.execute("query-status")
            return self._switches(but_ours=True)
        self._wait_for_same(switches)

    def _wait_for_same(self, look):
        deadline = time.monotonic() + self.REST_TIMEOUT
        before = None
        while not (now := look()) or now != before:
            if time.monotonic() > deadline:
                raise RunnerError("QEMU does not come to rest")
            before = now
            time.sleep(self.REST)

    def _switches(self, but_ours=False):
        """How often each thread was switched to and from, maybe without the two that serve
        us; nothing if not all of them sleep."""
        found = {}
        for thread in os.listdir(f"{self.process}/task"):
            try:
                with open(f"{self.process}/task/{thread}/status", encoding="utf-8") as file:
                    status = dict(line.rstrip("\n").split(":\t", 1) for line in file)
            except (FileNotFoundError, ProcessLookupError):
                return None
            if but_ours and (thread == str(self.pid) or status["Name"] == self.MONITOR):
                continue
            if not status["State"].startswith("S"):
                return None
            found[thread] = (status["voluntary_ctxt_switches"],
                             status["nonvoluntary_ctxt_switches"])
        return found
