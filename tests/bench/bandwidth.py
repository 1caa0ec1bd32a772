#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws bandwidth.json: bandwidth against the size of a copy, a line for each way.

tests/bench/bandwidth.py <build/bandwidth.json >build/bandwidth.svg

Both axes are logarithmic.
"""

import html
import json
import math
import sys

LEFT, TOP, RIGHT, BOTTOM = 70, 44, 190, 50
WIDTH, HEIGHT = 560, 360
LABEL_HEIGHT = 16

STYLE = """text { font: 13px sans-serif; fill: #222 }
.title { font-weight: bold }
.grid { stroke: #ddd }
.line { fill: none; stroke-width: 2 }"""

# Of a palette that can be told apart by the colour-blind, and each with strokes of its own.
COLOURS = ["#0072b2", "#d55e00", "#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#444444", "#a08000",
           "#7f7f7f"]
DASHES = ["", "6 3", "2 2"]


def size_name(size):
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size // unit} {name}"
    return f"{size} B"


def speed_name(speed):
    return f"{speed / 1024:g} GiB/s" if speed >= 1024 else f"{speed:g} MiB/s"


def scales(curves):
    """What turns a size into x and a speed into y, and the lines of the grid of both."""
    sizes = sorted({size for curve in curves.values() for size in curve})
    speeds = [speed for curve in curves.values() for speed in curve.values()]
    low = math.floor(math.log2(min(speeds)))
    high = math.ceil(math.log2(max(speeds)))
    first, last = math.log2(sizes[0]), math.log2(sizes[-1])

    def x(size):
        return LEFT + WIDTH * (math.log2(size) - first) / ((last - first) or 1)

    def y(speed):
        return TOP + HEIGHT * (high - math.log2(speed)) / ((high - low) or 1)
    return x, y, sizes[::2], [2.0**e for e in range(low, high + 1, 2)]


def grid(x, y, sizes, speeds):
    for size in sizes:
        yield (f'<line class="grid" x1="{x(size):.1f}" x2="{x(size):.1f}" y1="{TOP}" '
               f'y2="{TOP + HEIGHT}"/><text x="{x(size):.1f}" y="{TOP + HEIGHT + 20}" '
               f'text-anchor="middle">{size_name(size)}</text>')
    for speed in speeds:
        yield (f'<line class="grid" x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y(speed):.1f}" '
               f'y2="{y(speed):.1f}"/><text x="{LEFT - 6}" y="{y(speed) + 4:.1f}" '
               f'text-anchor="end">{speed_name(speed)}</text>')


def label_places(curves, y):
    """Beside the ends of the lines, and not upon each other: {name: y}."""
    places, bottom = {}, 0
    for name in sorted(curves, key=lambda n: y(curves[n][max(curves[n])])):
        bottom = max(bottom, y(curves[name][max(curves[name])]) - LABEL_HEIGHT / 2) + LABEL_HEIGHT
        places[name] = bottom - LABEL_HEIGHT / 2
    return places


def curve_lines(curves, x, y):
    places = label_places(curves, y)
    for index, (name, curve) in enumerate(curves.items()):
        points = " ".join(f"{x(size):.1f},{y(speed):.1f}" for size, speed in sorted(curve.items()))
        colour, dash = COLOURS[index % len(COLOURS)], DASHES[index % len(DASHES)]
        end_x, end_y = x(max(curve)), y(curve[max(curve)])
        yield (f'<polyline class="line" stroke="{colour}" stroke-dasharray="{dash}" '
               f'points="{points}"/>'
               f'<line stroke="{colour}" x1="{end_x:.1f}" y1="{end_y:.1f}" '
               f'x2="{LEFT + WIDTH + 14}" y2="{places[name]:.1f}"/>'
               f'<text x="{LEFT + WIDTH + 18}" y="{places[name] + 4:.1f}" style="fill: {colour}">'
               f'{html.escape(name)}</text>')


def svg(curves):
    """@curves: {way: {bytes of one copy: MiB/s}}"""
    width, height = LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM
    x, y, sizes, speeds = scales(curves)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">',
        f"<style>{STYLE}</style>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        '<text class="title" x="10" y="20">bandwidth of one call against its size, ring card</text>',
        *grid(x, y, sizes, speeds),
        *curve_lines(curves, x, y),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(svg({way: {int(size): speed for size, speed in curve.items()}
                          for way, curve in json.load(sys.stdin).items()}))
