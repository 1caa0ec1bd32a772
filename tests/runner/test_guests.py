# SPDX-License-Identifier: MIT
"""Tests of qemu/run with real guests."""

import fcntl
import os
import pty
import queue
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time

from guests import (FAILED, PATIENCE, RUN, TIMED_OUT, TOP, Running, contains, ended, equal, failed,
                    qemu_of, run, said_nothing, wait_until, words)

sys.path.insert(0, os.path.join(TOP, "qemu"))
# pylint: disable=wrong-import-position
from runner import options, session  # noqa: E402


# --- what the command gets ------------------------------------------------------------

def test_status_and_output_arrive_unchanged():
    # With all that could be taken for the end of the output, and no newline at the end.
    data = random.Random(1).randbytes(1 << 20) + b"\0" + b"0" * 32 + b"\nexit 0\n" + b"\0"
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        # Below /tmp, of which the guest has its own: an argument is there nevertheless.
        command = words('cat "$1"; exit 3') + ["sh", file.name]
        result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True,
                                timeout=PATIENCE, check=False)
    ended(result, 3)
    assert result.stdout == data, f"{len(result.stdout)} of {len(data)} bytes, or others"


def test_host_files_are_there_and_read_only():
    script = """
        set -e
        pwd
        id -u
        cmp Makefile "$PACCEL_TOP/Makefile"
        for file in qemu/new Makefile /etc/new /etc/passwd /usr/new; do
            if sh -c ': >>$1' sh "$file" 2>/dev/null; then
                echo "$file can be written"
            fi
        done
        touch /tmp/own /run/own
        echo error >/dev/stderr
        ulimit -l
        unshare -U true
    """
    result = run(script, cwd=TOP)
    equal(result.stdout.decode().split("\n"), [TOP, "0", "error", "8192", ""])
    ended(result, 0)
    assert not os.path.exists("/tmp/own")


def test_two_runs_at_once():
    results = {}

    def one(name):
        results[name] = run(f"echo {name} >/tmp/name; cat /tmp/name; exit {name}")

    threads = [threading.Thread(target=one, args=(name,)) for name in (11, 12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name in (11, 12):
        ended(results[name], name)
        equal(results[name].stdout, f"{name}\n".encode())


def test_eight_cards_pulled_and_plugged():
    script = """
        set -e
        cards() { grep -l 0x11e8 /sys/bus/pci/devices/*/device | wc -l; }
        cards
        guestctl device_del card7
        cards
        guestctl device_del card7 2>&1 || true
        guestctl device_add card7
        until [ "$(cards)" = 8 ]; do sleep 0.1; done
        cards
        guestctl device_del nosuch 2>&1 || true
    """
    result = run(script, *["--card", "edu"] * 7, "--card", "edu,dma_mask=0xffffffff")
    lines = result.stdout.decode().splitlines()
    ended(result, 0)
    equal((lines[0], lines[1], lines[3]), ("8", "7", "8"))
    contains(lines[2], "error: ")
    contains(lines[4], "error: this guest has no nosuch")


def test_cards_are_numbered_in_the_order_of_the_bus():
    """Whatever kind each is. Programs use the first."""
    result = run("cat /sys/class/paccel/*/backend", "--module", "", "--card", "ring,mem=16M",
                 "--card", "edu", "--card", "ring,mem=16M")
    ended(result, 0)
    equal(result.stdout.decode().split(), ["ring", "edu", "ring"])


def test_a_command_without_a_shell():
    command = [RUN, "--module", "none", "--", "env", "WORD=a b", "printenv", "WORD"]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, timeout=PATIENCE,
                            capture_output=True, check=False)
    ended(result, 0)
    equal(result.stdout, b"a b\n")


def test_small_guest_with_iommu_and_arguments():
    result = run("cat /proc/cmdline; nproc; ls /sys/class/iommu", "--iommu", "--smp", "1",
                 "--mem", "256M", "--append", "pci=nomsi my.word=1")
    ended(result, 0)
    contains(result.stdout.decode(), "intel_iommu=on pci=nomsi my.word=1\n1\ndmar0")


def test_left_over_processes_are_ended():
    start = time.monotonic()
    ended(run("sleep 1000 & setsid sleep 1000 & exit 0"), 0)
    # Not when they have ended by themselves.
    assert time.monotonic() - start < 500


def read_until(fd, text):
    """Reads from a terminal until the text has come, or (None) to its end."""
    got = b""
    try:
        while text is None or text not in got:
            data = os.read(fd, 1000)
            if not data:
                break
            got += data
    except OSError:  # what a terminal says when its last user is gone
        pass
    return got.decode()


def test_a_terminal():
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 111, 0, 0))
    script = 'stty size; test -t 0; echo "a terminal: $?"; read word; echo "got $word"; exit 4'
    with subprocess.Popen(words(script, "--tty"), stdin=terminal, stdout=terminal,
                          stderr=subprocess.PIPE) as process:
        os.close(terminal)
        text = read_until(controller, b"a terminal: 0")
        os.write(controller, b"hello\r")
        text += read_until(controller, None)
        equal(process.wait(timeout=PATIENCE), 4)
    os.close(controller)
    contains(text, "33 111")
    contains(text, "a terminal: 0")
    contains(text, "got hello")


# --- guests that fail --------------------------------------------------------------------

def test_a_panic():
    result = run("echo c >/proc/sysrq-trigger; sleep 1000")
    failed(result, FAILED, "Kernel panic - not syncing: sysrq triggered crash")
    excerpt = result.stderr.decode().partition("from the kernel log:\n")[2]
    contains(excerpt.splitlines()[0], "Kernel panic - not syncing")
    assert " ? " not in excerpt, excerpt


def does_not_boot(append, *options):
    """What the runner says of such a kernel, the logs of its guests and the reasons why it was booted again."""
    with tempfile.TemporaryDirectory() as directory:
        log = os.path.join(directory, "log")
        booted_twice = os.path.join(directory, "booted-twice")
        # One CPU: with more, QEMU's int3 fault (Documentation/testing.md) may end a boot before this does.
        result = run("true", "--append", f"{append} root=/dev/none maxcpus=1", "--log", log, *options,
                     env={**os.environ, "PACCEL_BOOTED_TWICE": booted_twice})
        failed(result, FAILED, "before the first program: once more")
        with open(log, encoding="utf-8", errors="replace") as file:
            logs = file.read().split("\nqemu/run: booted once more\n")
        with open(booted_twice, encoding="utf-8") as file:
            reasons = file.readlines()
    return result.stderr.decode(), logs, reasons


def test_a_kernel_that_dies_before_its_first_program():
    errors, logs, reasons = does_not_boot("rdinit=/none")
    # In what each guest leaves in its log, and as the reason.
    assert errors.count("Kernel panic - not syncing: VFS") == 4, errors
    equal([one.count("Kernel panic - not syncing: VFS") for one in logs], [1, 1])
    equal([reason.startswith("Kernel panic - not syncing: VFS") for reason in reasons], [True])


def test_a_kernel_that_hangs_before_its_first_program():
    errors, logs, reasons = does_not_boot("rdinit=/none rootwait", "--boot-timeout", "9")
    why = "the kernel has not started its first program after 9 s"
    equal((errors.count(why), len(logs)), (2, 2))
    equal(reasons, [why + "\n"])


def test_a_quiet_boot_is_noticed():
    script = ("import sys; from runner import options, session; "
              "guest = session.Session(options.parse(sys.argv[1:])); print(guest.run(), guest.has_begun)")
    arguments = words("exit 3", "--append", "quiet loglevel=1")[1:]
    # A process of its own, since the runner has handlers of signals.
    result = subprocess.run([sys.executable, "-c", script, *arguments], stdin=subprocess.DEVNULL,
                            cwd=os.path.join(TOP, "qemu"), timeout=PATIENCE, capture_output=True,
                            check=False)
    said_nothing(result.stderr)
    equal(result.stdout, b"3 True\n")


class Events:
    """The guest's first program begins, and its command does not end before the limit of the boot."""

    def __init__(self):
        self.waits = 0

    def get(self, timeout):
        self.waits += 1
        if self.waits == 1:
            return "status", "begun"
        if timeout is not None:
            raise queue.Empty
        return "status", "exit 3"


def test_the_limit_of_the_boot_ends_with_it():
    guest = session.Session(options.parse(words("true", "--timeout", "0")[1:]))
    guest.events = Events()
    guest._wait_for_command(None)  # pylint: disable=protected-access
    equal((guest.exit_code, guest.events.waits), (3, 2))


def test_a_qemu_that_crashes_before_the_first_program():
    # Not one that tests/check is to count.
    process = subprocess.Popen(words("echo made it"), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env={**os.environ, "PACCEL_BOOTED_TWICE": ""})
    wait_until(lambda: qemu_of(process), "QEMU runs")
    os.kill(qemu_of(process)[0], signal.SIGSEGV)
    output, errors = process.communicate(timeout=PATIENCE)
    contains(errors.decode(), "QEMU ended with signal 11")
    contains(errors.decode(), "before the first program: once more")
    said_nothing(errors)
    equal((process.returncode, output), (0, b"made it\n"))


def test_a_hang():
    with tempfile.TemporaryDirectory() as directory:
        result = run("echo working; sleep 1000", "--timeout", "9",
                     env={**os.environ, "TMPDIR": directory})
        failed(result, TIMED_OUT, "not ended after 9 s")
        equal(os.listdir(directory), [])


def test_a_lost_timer():
    result = run("""
        echo 'NMI backtrace for cpu 1 skipped: idling at default_idle+0x13/0x20' >/dev/kmsg
        echo "rcu: rcu_preempt kthread timer wakeup didn't happen for 6501 jiffies!" >/dev/kmsg
        echo 'rcu:  Possible timer handling issue on cpu=1 timer-softirq=3725' >/dev/kmsg
        sleep 1000
    """)
    failed(result, FAILED, "CPU 1 idles, and its timer has run out")


def test_a_report_in_the_log():
    result = run("echo 'WARNING: CPU: 0 PID: 1 at mm/x.c:1 f+0x1/0x2' >/dev/kmsg; exit 0")
    failed(result, FAILED, "WARNING: CPU: 0 PID: 1 at mm/x.c:1")


def test_a_report_after_the_command():
    # From a process that is in no group to be ended, and keeps the output open.
    script = """
        echo 0 >/sys/fs/cgroup/cgroup.procs
        { sleep 1; echo 'WARNING: CPU: 0 PID: 1 at mm/x.c:1 f+0x1/0x2' >/dev/kmsg; } &
        exit 0
    """
    failed(run(script), FAILED, "WARNING: CPU: 0 PID: 1 at mm/x.c:1")


def test_a_report_that_is_expected():
    script = """
        echo 'paccel-test: expect-warning begin at mm/x.c' >/dev/kmsg
        echo 'WARNING: CPU: 0 PID: 1 at mm/x.c:1 f+0x1/0x2' >/dev/kmsg
        echo 'paccel-test: expect-warning end' >/dev/kmsg
        exit 5
    """
    ended(run(script), 5)


def test_early_power_off():
    failed(run("echo o >/proc/sysrq-trigger; sleep 1000"), FAILED, "powered off before")


def test_the_end_of_the_log_is_kept():
    with tempfile.TemporaryDirectory() as directory:
        log = os.path.join(directory, "log")
        ended(run("echo 'a last word' >/dev/kmsg", "--log", log), 0)
        with open(log, encoding="utf-8", errors="replace") as file:
            text = file.read()
        contains(text, "a last word")
        # tests/versions reads it.
        assert re.search(r"\nqemu/run: QEMU [0-9.]+ \(.*\), x86_64\n$", text), text[-200:]


def test_a_command_that_does_not_exist():
    result = subprocess.run([RUN, "--module", "none", "--", "no-such-command"], timeout=PATIENCE,
                            stdin=subprocess.DEVNULL, capture_output=True, check=False)
    ended(result, 127)


def test_the_word_of_success_cannot_be_forged():
    # The port is taken, so that is all that a command can try.
    script = """
        echo "00000000000000000000000000000000 exit 0"
        echo "exit 0" >/dev/virtio-ports/paccel.status
        echo "paccel exit 0" >/dev/kmsg
        exit 6
    """
    ended(run(script), 6)


# --- runners that are stopped ----------------------------------------------------------------

def test_ctrl_c_leaves_nothing():
    with Running() as running:
        running.process.send_signal(signal.SIGINT)
        equal(running.finish()[0], 128 + signal.SIGINT)


def test_a_killed_runner_takes_qemu_along():
    with Running() as running:
        running.process.kill()
        equal(running.finish()[0], -signal.SIGKILL)


def test_a_killed_qemu():
    with Running() as running:
        os.kill(running.qemu[0], signal.SIGKILL)
        code, stderr = running.finish()
        equal(code, FAILED)
        contains(stderr, "QEMU ended with signal 9")


def test_disks_are_there_and_read_only():
    with tempfile.TemporaryDirectory() as directory:
        options = []
        for name in ("first", "second,with=comma"):
            path = os.path.join(directory, name)
            with open(path, "wb") as file:
                file.write(name.encode().ljust(1 << 20, b"."))
            options += ["--disk", path]
        result = run("modprobe virtio_blk; head -c 5 /dev/vda; head -c 6 /dev/vdb; "
                     "cat /sys/block/vd?/ro", *options)
    ended(result, 0)
    equal(result.stdout, b"firstsecond1\n1\n")


def test_bad_options():
    for options, why in (
            (["--card", "nosuch"], "there is no card 'nosuch'"),
            (["--card", "edu,dma_mask"], "is not PROPERTY=VALUE"),
            (["--card", "edu,nosuch=1"], "Property 'edu.nosuch' not found"),
            (["--card", "edu"] * 9, "at most 8 cards"),
            (["--kernel", "nosuch"], "run qemu/setup kernel nosuch"),
            (["--kernel", "./nosuch"], "does not exist"),
            (["--kernel", "./Makefile"], "is not a bzImage"),
            (["--mem", "3X"], "--mem"),
            (["--smp", "0"], "--smp"),
            (["--timeout", "-1"], "--timeout"),
            (["--log", "/nosuch/log"], "--log /nosuch/log: No such file"),
            (["--disk", "/nosuch/image"], "--disk /nosuch/image: there is no such file"),
            (["--disk", "paddle-0"], "run qemu/setup paddle 0"),
            (["--disk", "nosuch"], "disk nosuch is not set up"),
            (["--nosuch"], "--nosuch"),
            (["--qemu=-nosuch"], "invalid option")):
        failed(run("true", *options, cwd=TOP), FAILED, why)
    failed(subprocess.run([RUN], capture_output=True, check=False), FAILED, "no COMMAND")


def test_no_driver_built():
    with tempfile.TemporaryDirectory() as directory:
        result = subprocess.run([RUN, "--", "true"], capture_output=True, check=False,
                                env={**os.environ, "BUILD": directory})
    failed(result, FAILED, "kernel/6.12/paccel.ko, or run with --module none")
