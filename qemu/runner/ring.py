# SPDX-License-Identifier: MIT
"""The processes that are ring cards: started before QEMU, which must find them listening, and
ended with it. See Documentation/ringdev.md."""

import os
import secrets
import signal
import socket
import subprocess
import time

from . import BadOption, RunnerError
from .child import stay_with_parent
from .kernel import build_dir

ORDER_LIMIT = 10
ENDED = "error: the card's process has ended"


class RingProcess:
    """A ringdev, with the cards of one --card. Its sockets have abstract names: there is no
    file that could be left behind."""

    def __init__(self, group, ram, ram_start):
        self.group = group
        self.ram_start = ram_start
        # Of our own, for a process that comes later.
        self.ram = os.dup(ram)
        self.name = "paccel-ring-" + secrets.token_hex(8)
        self.binary = os.path.join(build_dir(), "qemu/ringdev/ringdev")
        self.process = self._start()

    def _start(self):
        words = [self.binary, "--socket", "@" + self.name, "--control", f"@{self.name}.control",
                 "--ram", f"fd:{self.ram}", "--ram-start", str(self.ram_start)]
        for name, value in self.group.options.items():
            words += [f"--{name}", value]
        errors = os.memfd_create("errors")
        try:
            # pylint: disable=subprocess-popen-preexec-fn
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=errors, pass_fds=[self.ram], start_new_session=True,
                                       preexec_fn=stay_with_parent)
            if process.stdout.readline() != b"ready\n":
                process.stdout.close()
                error = BadOption if process.wait() == BadOption.status else RunnerError
                said = os.pread(errors, 1 << 12, 0).decode(errors="replace").strip()
                raise error(f"--card {self.group.spec}: {said}")
        except FileNotFoundError:
            raise RunnerError(f"there is no {self.binary}: build it (make ringdev)") from None
        finally:
            os.close(errors)
        return process

    def socket_of(self, number):
        """The name of the socket, without its leading NUL, where QEMU finds a card."""
        return self.name if self.group.count == 1 else f"{self.name}.{number}"

    def state(self):
        """As the kernel has it: "T" is stopped; None if it has ended."""
        if self.process.poll() is not None:
            return None
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0]

    def _signal(self, number, is_done):
        """What the process itself has no say in. Returns when it has happened."""
        if self.state() is None:
            return ENDED
        self.process.send_signal(number)
        deadline = time.monotonic() + ORDER_LIMIT
        while not is_done(self.state()):
            if time.monotonic() > deadline:
                return "error: the card's process does not notice"
            time.sleep(0.001)
        return "ok"

    def stop(self):
        return self._signal(signal.SIGSTOP, lambda state: state in ("T", None))

    def go_on(self):
        return self._signal(signal.SIGCONT, lambda state: state != "T")

    def kill(self):
        return self._signal(signal.SIGKILL, lambda state: state is None)

    def revive(self):
        """A new process in the place of one that has ended, with new cards."""
        state = self.state()
        if state == "T":
            # QEMU would wait for it, and nobody could let it go on.
            raise RunnerError("the card's process is stopped")
        if state is None:
            self.process.stdout.close()
            self.process = self._start()

    def order(self, line):
        """Sends a line of the control protocol, returns the answer."""
        if self.state() == "T":
            return "error: the card's process is stopped"
        try:
            with socket.socket(socket.AF_UNIX) as control:
                control.settimeout(ORDER_LIMIT)
                control.connect(f"\0{self.name}.control")
                control.sendall(line.encode() + b"\n")
                answer = control.makefile("r", encoding="utf-8").readline().rstrip("\n")
        except OSError:
            answer = ""
        # Nothing is what a process says that was told to die.
        return answer or ("ok" if line.startswith("die") else ENDED)

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        if self.ram is not None:
            os.close(self.ram)
        self.ram = None
