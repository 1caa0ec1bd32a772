# SPDX-License-Identifier: MIT
"""Tests of `make run`: what it prints last, and its exit status."""

import os
import subprocess

import pytest

from guests import PATIENCE, TOP, contains, ended

MAKE_FAILED = 2
EDU_BYTES = 65536


def make_run(*settings):
    return subprocess.run(["make", "-s", "run", *settings], cwd=TOP, stdin=subprocess.DEVNULL,
                          timeout=PATIENCE, capture_output=True, check=False)


def last_line(result):
    return result.stdout.decode().splitlines()[-1]


def all_came_back(data):
    return f"all {len(data)} bytes came back"


def test_demo():
    result = make_run()
    ended(result, 0)
    build = os.path.join(TOP, os.environ.get("BUILD") or "build")
    with open(os.path.join(build, "kernel/6.12/paccel.ko"), "rb") as file:
        assert last_line(result) == all_came_back(file.read(EDU_BYTES))


def test_demo_of_a_file_on_a_ring_device(tmp_path):
    data = os.urandom(3000001)
    (tmp_path / "a file").write_bytes(data)
    result = make_run("CARD=ring,mem=16M,engines=2", f"FILE={tmp_path}/a file")
    ended(result, 0)
    assert last_line(result) == all_came_back(data)


@pytest.mark.parametrize("setting, why", [
    ("FILE=/nosuch/file", "make run: /nosuch/file is not a file that can be read"),
    ("CARD=nosuch", "there is no card 'nosuch'"),
    # Every descriptor fails.
    ("CARD=ring,mem=16M,storm=1,seed=1", "accelctl: "),
])
def test_demo_that_fails(setting, why):
    result = make_run(setting)
    ended(result, MAKE_FAILED)
    contains((result.stdout + result.stderr).decode(), why)
    assert "bytes came back" not in result.stdout.decode()
