#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws bench.json: for each row a bar, how near it comes to its goal.

tests/bench/plot.py <build/bench.json >build/bench.svg
tests/bench/plot.py Documentation/performance.md >Documentation/bench.svg    # its latest table

The scale is the same for all: 1 is the goal, more is better. So a goal of "at most" is turned
round. A row without a goal shows its ratio as it is.
"""

import html
import json
import re
import sys

NAME_WIDTH = 130
BAR_WIDTH = 380
TEXT_WIDTH = 270
ROW = 34
TOP = 44
SCALE_MAX = 1.5

# Name, ratio, goal and verdict: columns of a fixed width.
ROW_OF_TABLE = re.compile(r"([a-z]\S+) .{30}(.{9})  (.{9})(ok|MISSED|-)$")
OK = {"ok": True, "MISSED": False, "-": None}

STYLE = """text { font: 13px sans-serif; fill: #222 }
.title { font-weight: bold }
.goal { stroke: #222; stroke-dasharray: 4 3 }
.ok { fill: #3b7f4f }
.missed { fill: #b8442f }
.none { fill: #888 }"""
CLASSES = {True: "ok", False: "missed", None: "none"}


def rows_of_table(lines):
    """The rows of the first table, as tests/bench/run prints it."""
    rows = []
    for line in lines:
        found = ROW_OF_TABLE.match(f"{line[:18].strip()} {line[18:].rstrip()}")
        if found:
            rows.append({"name": found[1], "ratio": float(found[2]), "goal": found[3].strip(),
                         "ok": OK[found[4]]})
        elif rows:
            break
    return rows


def score(row):
    """1 is the goal, more is better."""
    if row["ok"] is None:
        return row["ratio"]
    word, number = row["goal"].split()
    goal = float(number)
    if word == ">=":
        return row["ratio"] / goal
    # A difference that has to be small may be negative.
    return goal / row["ratio"] if row["ratio"] > 0 else SCALE_MAX


def bar(index, row):
    y = TOP + index * ROW
    width = BAR_WIDTH * min(score(row), SCALE_MAX) / SCALE_MAX
    kind = CLASSES[row["ok"]]
    text = f"{row['ratio']:g} (goal {row['goal']}){' missed' if kind == 'missed' else ''}"
    return (f'<text x="{NAME_WIDTH - 8}" y="{y + 16}" text-anchor="end">'
            f'{html.escape(row["name"])}</text>'
            f'<rect class="{kind}" x="{NAME_WIDTH}" y="{y}" width="{width:.1f}" height="22"/>'
            f'<text x="{NAME_WIDTH + BAR_WIDTH + 10}" y="{y + 16}">{html.escape(text)}</text>')


def svg(rows):
    width = NAME_WIDTH + BAR_WIDTH + TEXT_WIDTH
    height = TOP + len(rows) * ROW + 10
    goal = NAME_WIDTH + BAR_WIDTH / SCALE_MAX
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">',
        f"<style>{STYLE}</style>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        '<text class="title" x="10" y="20">ratio against goal: longer is better</text>',
        f'<text x="{goal:.1f}" y="36" text-anchor="middle">goal</text>',
        *[bar(index, row) for index, row in enumerate(rows)],
        f'<line class="goal" x1="{goal:.1f}" x2="{goal:.1f}" y1="{TOP - 4}" y2="{height - 10}"/>',
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    if sys.argv[1:]:
        with open(sys.argv[1], encoding="utf-8") as file:
            sys.stdout.write(svg(rows_of_table(file)))
    else:
        sys.stdout.write(svg(json.load(sys.stdin)))
