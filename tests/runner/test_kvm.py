# SPDX-License-Identifier: MIT
"""Whether the runner uses KVM: qemu/runner/kvm.py."""

import os
import sys
import time

import pytest

from guests import FAILED, TOP, contains, equal, failed, run

sys.path.insert(0, os.path.join(TOP, "qemu"))
# pylint: disable=wrong-import-position
from runner import kvm, machine, options  # noqa: E402

X86 = pytest.mark.skipif(os.uname().machine != "x86_64", reason="the probe is a program for x86-64")


@pytest.fixture(name="kept")
def kept_fixture(tmp_path):
    """Where the answer is kept."""
    return str(tmp_path / "cache/kvm")


def answers(monkeypatch, *given):
    """In place of the probe: one answer for each time that it is asked. Returns what is left of them."""
    left = list(given)
    monkeypatch.setattr(kvm, "_ask", lambda command: left.pop(0))
    return left


@X86
@pytest.mark.parametrize("device, why", [
    ("/nonexistent", "/nonexistent: No such file or directory"), ("/tmp", "/tmp: Is a directory")])
def test_a_device_that_does_not_open(device, why, kept):
    equal(kvm.obstacle_of(device, kept), why)
    assert not os.path.exists(kept), "it may be there the next time"


@X86
def test_a_device_that_is_not_kvm(kept):
    why = "/dev/null opens, but it does not run a guest: Inappropriate ioctl for device"
    for _ in range(2):
        equal(kvm.obstacle_of("/dev/null", kept), why)


@pytest.mark.parametrize("script", ["exec sleep 1000", "while :; do :; done"])
def test_a_guest_that_hangs(script):
    start = time.monotonic()
    contains(str(kvm._ask(["sh", "-c", script])), "does not end in 0.5 s")
    assert time.monotonic() - start < 2 * kvm.PATIENCE


def test_a_probe_that_waits_for_a_cpu_has_more_time(monkeypatch):
    monkeypatch.setattr(kvm, "LIMIT", 0.05)
    script = ["sh", "-c", "sleep 0.5"]
    contains(str(kvm._ask(script)), "does not end in 0.05 s")
    monkeypatch.setattr(kvm, "_is_starved", lambda pid, limit: True)
    assert kvm._ask(script) is None


@pytest.mark.parametrize("script, answer", [
    ("exit 0", None), ("echo a reason; exit 1", "a reason"), ("exit 3", "the probe ended with status 3"),
    ("kill -SEGV $$", "the probe ended with signal 11")])
def test_the_end_of_the_probe(script, answer):
    equal(kvm._ask(["sh", "-c", script]), answer)


@X86
@pytest.mark.parametrize("answer", [None, "a reason"])
def test_the_answer_is_kept_until_the_host_boots(answer, kept, monkeypatch):
    left = answers(monkeypatch, answer, "the second")
    wanted = answer and f"/dev/null opens, but {answer}"
    for _ in range(3):
        equal(kvm.obstacle_of("/dev/null", kept), wanted)
    equal(left, ["the second"])
    monkeypatch.setattr(kvm, "_key", lambda: "of another boot")
    equal(kvm.obstacle_of("/dev/null", kept), "/dev/null opens, but the second")


@X86
def test_a_cache_that_cannot_be_written(monkeypatch):
    answers(monkeypatch, None, None)
    for _ in range(2):
        assert kvm.obstacle_of("/dev/null", "/dev/null/kvm") is None


@pytest.mark.skipif(not os.access(kvm.DEVICE, os.R_OK | os.W_OK), reason="there is no KVM at all")
@X86
def test_the_guest_of_the_probe():
    """Few instructions end also where KVM emulates each of them."""
    kvm.probe(kvm.DEVICE, loops=1000)


@pytest.mark.skipif(not os.access(kvm.DEVICE, os.R_OK | os.W_OK), reason="there is no KVM at all")
@X86
def test_a_guest_that_writes_wrong_bytes(monkeypatch):
    code = bytearray(kvm.program(1000))
    code[10] ^= 1
    monkeypatch.setattr(kvm, "program", lambda loops: bytes(code))
    with pytest.raises(kvm.Unusable, match="a guest writes wrong bytes"):
        kvm.probe(kvm.DEVICE)


@pytest.mark.parametrize("obstacle, clock, words", [
    (None, "real", ["kvm"]), ("none here", "virtual", ["tcg,thread=single"])])
def test_what_follows_from_the_answer(obstacle, clock, words, monkeypatch):
    monkeypatch.setattr(kvm, "obstacle", lambda: obstacle)
    chosen = options.parse(["--clock", "virtual", "--", "true"])
    chosen.clock = machine.clock_of(chosen)
    equal(chosen.clock, clock)
    equal(machine.accelerator(chosen)[1:2], words)


def test_the_environment_takes_the_place_of_the_probe():
    failed(run("true", env={**os.environ, "PACCEL_ACCEL": "xen"}), FAILED, "PACCEL_ACCEL=xen: kvm, tcg, or nothing")


@X86
def test_a_system_without_sys(kept, monkeypatch):
    """As in a folder that is entered by chroot."""
    monkeypatch.setattr(kvm.glob, "glob", lambda pattern: [])
    monkeypatch.setattr(kvm.os, "listdir", None)
    left = answers(monkeypatch, None)
    for _ in range(2):
        assert kvm.obstacle_of("/dev/null", kept) is None
    equal(left, [])
