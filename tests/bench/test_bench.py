# SPDX-License-Identifier: MIT
"""A short run of everything that `make bench` measures. `make bench-programs` has built it."""

import json
import os
import re
import subprocess
import xml.etree.ElementTree as ElementTree

import pytest

from rows import ROWS

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OUT = os.path.join(TOP, os.environ.get("BUILD") or "build", "bench-short")
SVG = "{http://www.w3.org/2000/svg}"
DISKS = {"paddle": "3.3.1", "mpi": "trixie"}
FIELDS = {"name", "value", "unit", "reference", "ratio", "goal", "ok"}
WAYS = {"h2d", "d2h", "h2d.pageable", "d2h.pageable", "d2d", "fill", "p2p", "stores"}
# From 4 KiB to 64 MiB.
SIZES = 15


def documented_rows():
    """Of the tables of performance.md that describe rows; PyTorch's are measured elsewhere."""
    with open(os.path.join(TOP, "Documentation/performance.md"), encoding="utf-8") as file:
        tables = re.findall(r"^\| row \| value \| reference \| ratio \| goal \|\n((?:\|.*\n)+)",
                            file.read(), re.MULTILINE)
    names = re.findall(r"^\| `([\w.]+)` \|.*\| (?:`(.*)`|(none)) \|$", "".join(tables), re.MULTILINE)
    return {name: goal or none for name, goal, none in names if not name.startswith("torch.")}


@pytest.fixture(name="output", scope="module")
def fixture_output():
    """What a run prints."""
    for name in os.listdir(OUT) if os.path.isdir(OUT) else []:
        os.unlink(os.path.join(OUT, name))
    result = subprocess.run(["tests/bench/run", "--short"], cwd=TOP, capture_output=True, text=True,
                            check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(name="rows")
def fixture_rows(output):
    del output
    return load("bench.json")


def load(name):
    with open(os.path.join(OUT, name), encoding="utf-8") as file:
        return json.load(file)


def drawing(name):
    return ElementTree.parse(os.path.join(OUT, name)).getroot()


def goals(rows, disk):
    """{name: goal} of the rows that need a disk, or none."""
    pairs = rows.items() if isinstance(rows, dict) else [(row["name"], row["goal"]) for row in rows]
    return {name: goal for name, goal in pairs
            if disk == next((of for of in DISKS if name.startswith(f"{of}.")), None)}


def test_every_row_is_measured(rows):
    assert goals(rows, None) == goals(documented_rows(), None)


@pytest.mark.parametrize("disk", DISKS)
def test_every_row_of_a_disk_is_measured(rows, disk):
    if subprocess.run(["qemu/setup", "print", disk, DISKS[disk]], cwd=TOP, check=False, capture_output=True).returncode:
        pytest.skip(f"the disk {disk} {DISKS[disk]} is not set up")
    assert goals(rows, disk) == goals(documented_rows(), disk)


def test_rows_of_irqsoff():
    """
    The short run leaves this part out. It needs the kernel `latency`, which no other job uses and
    whose build takes minutes, and 6 GiB of memory; no kernel of the other jobs has the irqsoff
    tracer. So the table alone is tested here. `make bench-irqsoff` measures.
    """
    with open(os.path.join(TOP, "tests/bench/irqsoff.c"), encoding="utf-8") as file:
        measured = set(re.findall(r'"(irqsoff\.\w+)"', file.read()))
    with open(os.path.join(TOP, "Documentation/performance.md"), encoding="utf-8") as file:
        documented = set(re.findall(r"^\| `(irqsoff\.\w+)`", file.read(), re.MULTILINE))
    assert measured == documented and measured
    middle = {name: 1000 * number for number, name in enumerate(sorted(measured), 1)}
    found = {row["name"]: row for row in ROWS["irqsoff"](middle, {})}
    assert set(found) == measured - {"irqsoff.small"}
    for name, row in found.items():
        assert set(row) == FIELDS
        assert (row["unit"], row["value"]) == ("us", middle[name] / 1000)
        assert row["ratio"] == middle[name] / middle["irqsoff.small"]
        assert row["ok"] is None


def test_rows_are_complete(rows):
    for row in rows:
        assert set(row) == FIELDS
        assert row["value"] >= 0 and row["reference"] > 0 and row["unit"], row
        assert row["ok"] in (True, False, None)


def test_table(output, rows):
    for row in rows:
        assert re.search(rf"^{re.escape(row['name'])} .*{row['goal']}", output, re.MULTILINE), row


def race(*words):
    return subprocess.run([os.path.join(TOP, os.environ.get("BUILD") or "build", "tests/bench/race"),
                           *words], capture_output=True, text=True, check=False)


def test_race():
    """`make bench-pool`: who does not take part is named, and every goal has a verdict."""
    result = race("1")
    assert result.returncode == 0, result.stderr
    rows = dict(re.findall(r"^(\S.*?)  +([\d. -]+)$", result.stdout, re.MULTILINE))
    for name in "accel_pool", "mutex + bins":
        assert len(rows[name].split()) == 5 and min(map(float, rows[name].split())) > 0
    # The failures do not depend on the machine, and the reference cannot be skipped.
    assert 0 < int(rows["accel_pool"].split()[3]) <= 1.1 * int(rows["best fit as RMM's"].split()[3])
    for name, word in ("OffsetAllocator", "OFFSETALLOCATOR_SRC="), ("VMA", "VMA_SRC="):
        assert re.search(rf"^(mutex \+ {name}|without {name}: {word})", result.stdout, re.MULTILINE)
    assert len(re.findall(r" (?:ok|MISSED)$", result.stdout, re.MULTILINE)) == 4
    assert race("0").returncode == 2


def test_drawing_of_rows(rows):
    svg = drawing("bench.svg")
    # The first rectangle is the background.
    assert len(svg.findall(f"{SVG}rect")) == 1 + len(rows)
    assert {row["name"] for row in rows} <= {text.text for text in svg.findall(f"{SVG}text")}


def test_drawing_of_bandwidth(output):
    del output
    curves = load("bandwidth.json")
    assert set(curves) == WAYS
    assert {len(curve) for curve in curves.values()} == {SIZES}
    assert all(speed > 0 for curve in curves.values() for speed in curve.values())
    lines = drawing("bandwidth.svg").findall(f"{SVG}polyline")
    assert [len(line.get("points").split()) for line in lines] == [SIZES] * len(WAYS)
