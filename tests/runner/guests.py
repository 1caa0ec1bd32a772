# SPDX-License-Identifier: MIT
"""Guests for tests of qemu/run: stock 6.12, no driver."""

import os
import re
import subprocess
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RUN = os.path.join(TOP, "qemu/run")
TIMED_OUT = 124
FAILED = 125
# Against what hangs: a busy host makes minutes of seconds.
PATIENCE = 600
# A guest's is less, so that it says what went on.
GUEST_PATIENCE = "500"


def words(script, *options):
    return [RUN, "--module", "none", "--timeout", GUEST_PATIENCE, *options, "--", "sh", "-c", script]


def run(script, *options, **more):
    return subprocess.run(words(script, *options), stdin=subprocess.DEVNULL, timeout=PATIENCE,
                          capture_output=True, check=False, **more)


def equal(got, wanted):
    assert got == wanted, f"got {got!r}, wanted {wanted!r}"


def contains(text, part):
    assert part in text, f"{part!r} is not in:\n{text}"


# A first boot that a guest did not survive, see qemu/run: what it left in its log, and a line.
BOOTED_TWICE = re.compile(r"(?:qemu/run: from the kernel log:\n(?:(?!qemu/run: ).*\n)*)?"
                          r"qemu/run: .*, before the first program: once more\n")


def said_nothing(errors):
    """The runner had no complaint. That it had to boot its guest twice is no failure of a test:
    tests/check counts it, from the file that PACCEL_BOOTED_TWICE names."""
    equal(BOOTED_TWICE.sub("", errors.decode(), count=1), "")


def ended(result, code):
    """With this status; of another one its reasons are what matters."""
    assert result.returncode == code, \
        f"ended with {result.returncode}, not {code}, and said:\n{result.stderr.decode()}"


def failed(result, code, why):
    ended(result, code)
    contains(result.stderr.decode(), why)


def children_of(process):
    with open(f"/proc/{process.pid}/task/{process.pid}/children", encoding="ascii") as file:
        return [int(pid) for pid in file.read().split()]


def qemu_of(process):
    """The children of a runner that are QEMU with a guest: it asks for the version before. Where `python3`
    is a script that looks for Python, the script has other children first."""
    return [pid for pid in children_of(process) if is_guest(pid)]


def is_guest(pid):
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8") as file:
            return name_of(pid).startswith("qemu-system") and "--version" not in file.read().split("\0")
    except (FileNotFoundError, ProcessLookupError):
        return False


def name_of(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def wait_until(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.05)


def gone(pid):
    return not os.path.exists(f"/proc/{pid}")


class Running:
    """A runner whose command has started and then waits for ever; temporary files of
    its own would be found in `directory`."""

    def __enter__(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.directory = self.temporary.name
        self.process = subprocess.Popen(
            words("echo started; sleep 1000"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": self.directory})
        equal(self.process.stdout.readline(), b"started\n")
        self.qemu = qemu_of(self.process)
        equal(len(self.qemu), 1)
        return self

    def finish(self):
        """Returns the exit status and stderr of a runner that ends by now."""
        stderr = self.process.communicate(timeout=PATIENCE)[1].decode()
        wait_until(lambda: gone(self.qemu[0]), "QEMU ends")
        equal(os.listdir(self.directory), [])
        return self.process.returncode, stderr

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait()
        self.temporary.cleanup()
