# SPDX-License-Identifier: MIT
"""maintainers.py MAINTAINERS: checks the map of paths to areas against the paths on standard input: each path belongs
to an area, each pattern (F:, X:) and page (P:) is of a path, the areas are in order."""

import re
import sys


def matcher(pattern):
    """As get_maintainer.pl reads a pattern."""
    text = "".join("[^/]*" if char == "*" else "[^/]" if char == "?" else re.escape(char) for char in pattern)
    return re.compile(text + (".*" if pattern.endswith("/") else "$"))


def areas(text):
    """Title and lines (letter, value) of each section, which are paragraphs behind the row of dashes."""
    for paragraph in re.split(r"^\s*-{20,}\n", text, flags=re.M)[1].strip().split("\n\n"):
        title, *lines = paragraph.split("\n")
        yield title, [tuple(line.split(":\t", 1)) for line in lines]


def problems(text, paths):
    found, titles = set(), []
    for title, lines in areas(text):
        titles.append(title)
        mine = set()
        for letter, value in lines:
            if letter not in "SPFX":
                yield f"{title}: a line with {letter}:"
            if letter == "S":
                continue
            named = set(filter(matcher(value).match, paths))
            if not named:
                yield f"{title}: {letter}: {value} is no path"
            if letter == "F":
                mine |= named
            elif letter == "X":
                mine -= named
        if [letter for letter, value in lines] != sorted((letter for letter, value in lines), key="SPFX".index):
            yield f"{title}: not in the order S, P, F, X"
        if not mine:
            yield f"{title}: no path"
        found |= mine
    if titles != sorted(titles):
        yield "the areas are not in order"
    yield from (f"{path} belongs to no area of MAINTAINERS" for path in sorted(set(paths) - found))


with open(sys.argv[1], encoding="utf-8") as file:
    wrong = list(problems(file.read(), sys.stdin.read().split("\n")[:-1]))
print(*wrong, sep="\n")
sys.exit(bool(wrong))
