# SPDX-License-Identifier: MIT
"""Tests of the rows and of the drawings, without measuring."""

import xml.etree.ElementTree as ElementTree

import pytest

import bandwidth
import plot
import rows

SVG = "{http://www.w3.org/2000/svg}"
FULL_WIDTH = plot.BAR_WIDTH / plot.SCALE_MAX


def bar(ratio, goal):
    """(class, width of the bar as a part of the goal, label) of a row."""
    drawing = ElementTree.fromstring(plot.svg([rows.row("a<b", 3, "us", 2, ratio, goal)]))
    rect = drawing.findall(f"{SVG}rect")[1]
    name, label = drawing.findall(f"{SVG}text")[2:4]
    assert name.text == "a<b"
    return rect.get("class"), pytest.approx(float(rect.get("width")) / FULL_WIDTH, abs=0.01), label.text


@pytest.mark.parametrize("ratio, goal, expected", [
    (0.5, ">= 1", ("missed", 0.5, "0.5 (goal >= 1) missed")),
    (1.2, ">= 1", ("ok", 1.2, "1.2 (goal >= 1)")),
    (2, "<= 4", ("ok", 1.5, "2 (goal <= 4)")),
    (8, "<= 4", ("missed", 0.5, "8 (goal <= 4) missed")),
    (0, "<= 4", ("ok", 1.5, "0 (goal <= 4)")),
    (-0.1, "<= 4", ("ok", 1.5, "-0.1 (goal <= 4)")),
    (0.7, "none", ("none", 0.7, "0.7 (goal none)")),
    (0, "none", ("none", 0, "0 (goal none)")),
])
def test_a_bar(ratio, goal, expected):
    assert bar(ratio, goal) == expected


@pytest.mark.parametrize("goal, ok", [(">= 0.5", True), (">= 0.6", False), ("<= 0.5", True),
                                      ("<= 0.4", False), ("none", None)])
def test_a_goal(goal, ok):
    assert rows.row("name", 1, "us", 2, 0.5, goal)["ok"] is ok


def test_curves():
    curves = rows.curves_of({"curve.h2d.4096": [1000, 2000, 4000], "curve.h2d.8192": [2000],
                             "curve.d2h.pageable.4096": [1000], "other": [1]})
    assert curves == {"h2d": {4096: 1953.1, 8192: 3906.2}, "d2h.pageable": {4096: 3906.2}}
    drawing = ElementTree.fromstring(bandwidth.svg(curves))
    assert len(drawing.findall(f"{SVG}polyline")) == 2
