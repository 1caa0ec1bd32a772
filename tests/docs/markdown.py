# SPDX-License-Identifier: MIT
"""The parts of a Markdown page that the checks look at."""

import os
import re
from dataclasses import dataclass, field

FENCE = re.compile(r"^(```+)\s*(.*?)\s*$")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
SPAN = re.compile(r"`([^`]+)`")
HEADING = re.compile(r"^#+\s+(.*?)\s*$")


@dataclass
class Block:
    """A fenced block: its language and what follows it, its text, the line it starts at."""

    language: str
    line: int
    text: str = ""


@dataclass
class Page:
    """A page, taken apart. Links and spans are (line, text) of the prose."""

    path: str
    links: list = field(default_factory=list)
    spans: list = field(default_factory=list)
    blocks: list = field(default_factory=list)
    anchors: set = field(default_factory=set)
    lines: list = field(default_factory=list)

    def at(self, line):
        return f"{self.path}:{line}"


def anchor(heading):
    """As the usual renderers make it of a heading."""
    text = re.sub(r"[^\w\- ]", "", heading.lower())
    return text.replace(" ", "-")


def read_page(top, path):
    page = Page(path)
    with open(os.path.join(top, path), encoding="utf-8") as file:
        page.lines = file.read().splitlines()
    block = None
    for number, line in enumerate(page.lines, 1):
        fence = FENCE.match(line)
        if fence and block:
            block = None
        elif fence:
            block = Block(fence.group(2), number)
            page.blocks.append(block)
        elif block:
            block.text += line + "\n"
        else:
            _read_prose(page, number, line)
    return page


def _read_prose(page, number, line):
    heading = HEADING.match(line)
    if heading:
        page.anchors.add(anchor(heading.group(1)))
    page.links += [(number, target) for target in LINK.findall(line)]
    page.spans += [(number, span) for span in SPAN.findall(line)]


def pages(top):
    """The pages at the top, and every page below Documentation. The changelog has names that are gone."""
    paths = [path for path in ("README.md", "CONTRIBUTING.md", "SECURITY.md") if os.path.exists(os.path.join(top, path))]
    for folder, _, names in os.walk(os.path.join(top, "Documentation")):
        paths += [os.path.relpath(os.path.join(folder, name), top)
                  for name in names if name.endswith(".md")]
    return [read_page(top, path) for path in sorted(paths)]
