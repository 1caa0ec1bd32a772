# SPDX-License-Identifier: MIT
"""Whose time passes in a guest: qemu/run --clock."""

import os
import sys

import pytest

from guests import FAILED, TOP, ended, failed, run

sys.path.insert(0, os.path.join(TOP, "qemu"))
# pylint: disable=wrong-import-position
from runner import kvm, machine, options, tsc  # noqa: E402

# More seconds than the time limit of the guests here.
SLEEP = 1000
SLEEPS = f"read -r a _ </proc/uptime; sleep {SLEEP}; read -r b _ </proc/uptime; echo $a $b"


def clock_of(*words):
    return options.parse([*words, "--", "true"]).clock


EDU, RING = ["--card", "edu"], ["--card", "ring"]


@pytest.mark.parametrize("words, clock", [
    ([], "real"), (EDU, "virtual"), (EDU * 2, "virtual"), (RING, "real"), (EDU + RING, "real"),
    (EDU + ["--tty"], "real"), (EDU + ["--kernel", "6.1"], "real"), (EDU + ["--kernel", "newest"], "real"),
    (EDU + ["--clock", "real"], "real"),
    (["--clock", "virtual"], "virtual")])
def test_clock_of_a_guest(words, clock):
    assert clock_of(*words) == clock


@pytest.mark.parametrize("words, why", [
    (["--clock", "host"], "invalid choice: 'host'"),
    (["--clock", "virtual", *RING], "only --clock real fits --card ring"),
    (["--clock", "virtual", "--tty"], "only --clock real fits --tty")])
def test_clocks_that_do_not_fit(words, why):
    failed(run("true", *words, cwd=TOP), FAILED, why)


@pytest.mark.skipif(not kvm.obstacle(), reason="KVM runs by the host's time")
def test_waiting_takes_no_time():
    result = run(SLEEPS, "--clock", "virtual")
    ended(result, 0)
    before, after = (float(word) for word in result.stdout.split())
    assert SLEEP <= after - before < 2 * SLEEP


# A real-time clock counts the host's seconds.
COUNTED = """
    now() { cat /sys/class/rtc/rtc0/since_epoch; }
    before=$(now)
    sleep 5
    echo $(($(now) - before))
"""


def seconds_counted(*words):
    result = run(COUNTED, "--clock", "real", *words)
    ended(result, 0)
    return int(result.stdout)


OWN_TSC = pytest.mark.skipif(not kvm.obstacle(), reason="KVM passes the frequency to its guest")


@OWN_TSC
@pytest.mark.parametrize("clock, least", [("virtual", 1000000), ("real", 100000)])
def test_the_kernel_gets_the_frequency_of_its_tsc(clock, least):
    line = machine.kernel_command_line(options.parse(["--clock", clock, "--", "true"]))
    khz = int(line.partition("tsc_early_khz=")[2].split()[0])
    assert khz >= least
    assert abs(khz - tsc.khz(clock)) <= khz / 1000


@OWN_TSC
def test_time_of_a_guest_is_that_of_the_host():
    right = seconds_counted()
    assert 4 <= right < 30
    # As a kernel measures it on a busy host.
    assert seconds_counted("--append", f"tsc_early_khz={tsc.khz('real') // 10}") < right
