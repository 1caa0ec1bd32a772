# SPDX-License-Identifier: MIT
"""Several guests: `qemu/run --guests`. What goes over their network is for tests/guest/network.py."""

import os
import re
import signal
import subprocess
import tempfile

import pytest

from guests import (FAILED, PATIENCE, TIMED_OUT, children_of, contains, ended, equal, failed, gone, name_of, run,
                    said_nothing, wait_until, words)


def test_each_guest_runs_the_command_and_has_a_log():
    script = """
        echo "$(hostname) $PACCEL_RANK $PACCEL_HOSTS"
        echo error >&2
        echo "of $PACCEL_RANK" >/dev/kmsg
        printf end
        [ "$(cat /run/paccel/ssh_key.pub | cut -d ' ' -f 1,3)" = "ssh-ed25519 paccel" ]
    """
    with tempfile.TemporaryDirectory() as directory:
        log = os.path.join(directory, "log")
        result = run(script, "--guests", "2", "--log", log)
        ended(result, 0)
        for rank, name in enumerate(("log", "log.guest1")):
            with open(os.path.join(directory, name), encoding="utf-8") as file:
                contains(file.read(), f"of {rank}\n")
        equal(len(os.listdir(directory)), 2)
    hosts = "guest0=10.77.0.1 guest1=10.77.0.2"
    lines = re.findall(rb"guest1: [^\n]*\n", result.stdout)
    equal(lines, [f"guest1: guest1 1 {hosts}\n".encode(), b"guest1: error\n", b"guest1: end\n"])
    # A whole line of guest1 may be behind the last one of guest0, which has no end.
    equal(re.sub(rb"guest1: [^\n]*\n", b"", result.stdout), f"guest0 0 {hosts}\nerror\nend".encode())
    said_nothing(re.sub(rb"(?m)^guest1: ", b"", result.stderr))


def test_a_guest_that_fails_ends_the_others():
    result = run("[ $PACCEL_RANK = 0 ] || exit 3; sleep 1000", "--guests", "2")
    failed(result, 3, "qemu/run: guest1: its command ended with 3; guest0 ended for that\n")


def test_a_guest_that_dies_ends_the_others():
    result = run("[ $PACCEL_RANK = 1 ] || sleep 1000; echo c >/proc/sysrq-trigger", "--guests", "2")
    failed(result, FAILED, "qemu/run: guest1: ")
    contains(result.stderr.decode().splitlines()[-1], "Kernel panic - not syncing: sysrq triggered crash")
    contains(result.stderr.decode().splitlines()[-1], "; guest0 ended for that")


def test_one_time_limit_for_all():
    command = words("[ $PACCEL_RANK = 0 ] || sleep 1000", "--guests", "2")
    command[command.index("--timeout") + 1] = "40"
    result = subprocess.run(command, stdin=subprocess.DEVNULL, timeout=PATIENCE, capture_output=True, check=False)
    failed(result, TIMED_OUT, "the command has not ended after 40 s")


class Pid:
    """As children_of() takes it."""

    def __init__(self, pid):
        self.pid = pid


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_guest_survives_the_runner(number):
    with tempfile.TemporaryDirectory() as directory:
        process = subprocess.Popen(
            words("echo started; sleep 1000", "--guests", "2"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env={**os.environ, "TMPDIR": directory})
        try:
            equal(sorted([process.stdout.readline(), process.stdout.readline()]), [b"guest1: started\n", b"started\n"])
            runners = [pid for pid in children_of(process) if children_of(Pid(pid))]
            processes = runners + [child for pid in runners for child in children_of(Pid(pid))]
            equal(sum(name_of(pid).startswith("qemu-system") for pid in processes), 2)
            process.send_signal(number)
            process.communicate(timeout=PATIENCE)
            for pid in processes:
                wait_until(lambda pid=pid: gone(pid), f"process {pid} ends")
        finally:
            process.kill()
            process.wait()
        equal(process.returncode, 128 + number if number == signal.SIGTERM else -number)
        equal(os.listdir(directory), [])


@pytest.mark.parametrize("options, why", [
    (["0"], "--guests: a number from 1 to 16"), (["17"], "--guests: a number from 1 to 16"),
    (["2", "--tty"], "--tty: one guest only"),
    (["2", "--card", "edu", "--clock", "virtual"], "--clock virtual: each guest would have a time of its own")])
def test_options_that_do_not_fit(options, why):
    failed(run("true", "--guests", *options), FAILED, why)


def test_a_guest_alone_has_no_network():
    result = run("ls /sys/class/net; guestctl link down")
    ended(result, 1)
    equal(result.stdout, b"lo\nguestctl: link down: error: this guest has no network: qemu/run --guests\n")
