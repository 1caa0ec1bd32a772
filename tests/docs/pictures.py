# SPDX-License-Identifier: MIT
"""Checks that the pictures of the pages are those that `make pictures` makes of their sources."""

import glob
import hashlib
import html
import os
import re
import subprocess
import sys

FOLDER = "Documentation/pictures"
LABEL = re.compile(r'label=(?:"((?:[^"\\]|\\.)*)"|<((?:<[^<>]*>|[^<>])*)>)')
PATH = re.compile(r"\b(?:kernel|lib|include|qemu)/[\w./-]*\w")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def source_lines(source):
    """The lines of text in the labels of a graph, sorted."""
    lines = []
    for text, markup in LABEL.findall(source):
        lines += text.split(r"\n") if text else re.sub("<br/>", "\n", markup).split("\n")
    return sorted(re.sub("<[^>]*>", "", line) for line in lines if line)


def drawn_lines(svg):
    return sorted(html.unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg))


def check_pictures(top):
    """the graphs are drawn from the sources beside them"""
    problems = []
    sources = sorted(glob.glob(f"{top}/{FOLDER}/*.dot"))
    if not sources:
        problems.append(f"no graph in {FOLDER}")
    for path in sources:
        name = os.path.relpath(path, top)
        source = read(path)
        drawing = path.removesuffix(".dot") + ".svg"
        if not os.path.exists(drawing):
            problems.append(f"{name} is not drawn: make pictures")
            continue
        svg = read(drawing)
        if hashlib.sha256(source.encode()).hexdigest() not in svg:
            problems.append(f"{name} is newer than its drawing: make pictures")
        elif source_lines(source) != drawn_lines(svg):
            problems.append(f"{name} and its drawing have other texts: make pictures")
        if 'fill="white"' not in svg:
            problems.append(f"{name}: the drawing has no background, its text is invisible on a dark page")
        problems += [f"{name}: there is no {file}" for file in PATH.findall(source)
                     if not os.path.exists(os.path.join(top, file))]
    return problems


def check_recording(top):
    """the picture of make run is made of its recording, and names no folder of a machine"""
    folder = os.path.join(top, FOLDER)
    made = subprocess.run([sys.executable, f"{folder}/cast-to-svg", f"{folder}/make-run.cast"],
                          capture_output=True, text=True, check=False)
    problems = made.stderr.splitlines()
    svg = read(f"{folder}/make-run.svg")
    if not problems and made.stdout != svg:
        problems.append("make-run.svg is not what cast-to-svg makes of make-run.cast: make pictures")
    if "bytes came back" not in svg:
        problems.append("make-run.svg does not end as make run does")
    return problems + [f"make-run.svg has {line}" for line in re.findall(r"Entering directory.*", svg)]
