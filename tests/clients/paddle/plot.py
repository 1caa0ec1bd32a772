# SPDX-License-Identifier: MIT
"""Draws losses over steps: a line for the device, dots for the CPU."""

import math

LEFT, TOP, RIGHT, BOTTOM = 70, 44, 20, 46
WIDTH, HEIGHT = 560, 300
DOTS = 25

STYLE = """text { font: 13px sans-serif; fill: #222 }
.title { font-weight: bold }
.axis { stroke: #222 }
.grid { stroke: #ddd }
.card { fill: none; stroke: #3b7f4f; stroke-width: 2 }
.cpu { fill: #b8442f }"""


class Scale:
    """Steps from left to right, losses in powers of ten."""

    def __init__(self, curves):
        values = [loss for curve in curves.values() for loss in curve]
        self.low = math.floor(math.log10(min(values)))
        self.high = max(math.ceil(math.log10(max(values))), self.low + 1)
        self.steps = max(len(curve) for curve in curves.values())

    def x(self, step):
        return LEFT + WIDTH * step / self.steps

    def y(self, loss):
        return TOP + HEIGHT * (self.high - math.log10(loss)) / (self.high - self.low)


def grid(scale):
    for power in range(scale.low, scale.high + 1):
        y = scale.y(10 ** power)
        yield (f'<line class="grid" x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>'
               f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{10.0 ** power:g}</text>')
    for part in range(5):
        step = round(scale.steps * part / 4)
        yield (f'<text x="{scale.x(step):.1f}" y="{TOP + HEIGHT + 18}" '
               f'text-anchor="middle">{step}</text>')


def line(scale, curve):
    points = " ".join(f"{scale.x(step):.1f},{scale.y(loss):.1f}"
                      for step, loss in enumerate(curve, 1))
    return f'<polyline class="card" points="{points}"/>'


def dots(scale, curve):
    every = max(1, len(curve) // DOTS)
    return "".join(f'<circle class="cpu" cx="{scale.x(step):.1f}" cy="{scale.y(loss):.1f}" r="3"/>'
                   for step, loss in enumerate(curve, 1) if step % every == 0)


def svg(card, cpu):
    """Of two lists of losses, one for each step, all above 0."""
    scale = Scale({"card": card, "cpu": cpu})
    width, height = LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">',
        f"<style>{STYLE}</style>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        '<text class="title" x="10" y="20">loss: on the device (line), on the CPU (dots)</text>',
        *grid(scale),
        f'<text x="{LEFT + WIDTH / 2}" y="{height - 8}" text-anchor="middle">step</text>',
        f'<line class="axis" x1="{LEFT}" x2="{LEFT}" y1="{TOP}" y2="{TOP + HEIGHT}"/>',
        line(scale, card), dots(scale, cpu),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"
