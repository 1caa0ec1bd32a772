# SPDX-License-Identifier: MIT
"""Checks of the man pages: those that lib/make-man makes from the headers, and accelctl(1)."""

import contextlib
import glob
import os
import re
import subprocess
import sys
import tempfile

COMMENT = re.compile(r"/\*.*?\*/", re.S)
FUNCTION = re.compile(r"^\w[\w *]*?\b(\w+)\(", re.M)
TYPE = re.compile(r"^(?:struct|enum) (\w+)(?: \{|;)|^#define (ACCEL_\w+)", re.M)
RETURN = re.compile(r"/\*\*\n \* (\w+)\(\)(?:(?!\*/).)*?\n \* Return:(.*?)\*/", re.S)


@contextlib.contextmanager
def manual(top):
    """The folder of the pages."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "lib/make-man", "0", folder], cwd=top, check=True)
        yield folder


def headers(top):
    """(name, text) of each header that has pages."""
    for path in sorted(glob.glob(f"{top}/include/accel/*.h")):
        with open(path, encoding="utf-8") as file:
            yield os.path.basename(path), file.read()


def read_page(folder, name):
    paths = glob.glob(f"{folder}/man[37]/{name}.[37]")
    if not paths:
        return ""
    with open(paths[0], encoding="utf-8") as file:
        return file.read()


def check_man_lint(top):
    """mandoc has nothing to say about any page, and links lead somewhere"""
    with manual(top) as folder:
        pages = glob.glob(f"{folder}/man*/*") + glob.glob(f"{top}/Documentation/man/*")
        problems = [f"{page}: leads nowhere" for page in pages if not os.path.exists(page)]
        files = [page for page in pages if not os.path.islink(page)]
        result = subprocess.run(["mandoc", "-Tlint", *files], capture_output=True, text=True,
                                check=False)
        return problems + (result.stdout + result.stderr).splitlines()


def check_man_names(top):
    """every function has a page of its name, every type and constant is found by its name"""
    problems = []
    with manual(top) as folder:
        for header, text in headers(top):
            code = COMMENT.sub("", text)
            functions = FUNCTION.findall(code)
            problems += [f"{header}: no function found"] * (not functions)
            problems += [f"{header}: {name} has no page" for name in functions
                         if f".SH NAME\n{name} \\-" not in read_page(folder, name)]
            names = {name for pair in TYPE.findall(code) for name in pair if name}
            names = {name for name in names if not re.search(r"_H$|_VERSION_", name)}
            problems += [f"{header}: {name} is on no page" for name in sorted(names)
                         if name not in read_page(folder, name)]
    return problems


def check_man_errors(top):
    """every error that "Return:" names has a paragraph under ERRORS"""
    problems = []
    with manual(top) as folder:
        for header, text in headers(top):
            for function, returns in RETURN.findall(text):
                listed = read_page(folder, function).partition(".SH ERRORS")[2].partition(".SH")[0]
                tags = re.findall(r"\w+", " ".join(re.findall(r"^\.B (.*)", listed, re.M)))
                for code in re.findall(r"(?<!but never )``-?((?:E|SUN_ERR_)\w+)``", returns):
                    if code not in tags:
                        problems.append(f"{header}: {function}: {code} is not under ERRORS")
    return problems


# What the page of each function has, for a reader who has seen no other page.
PARTS = (".SH DESCRIPTION", ".SS Thread safety", ".SS Lifetime", ".SH EXAMPLES")


def check_man_parts(top):
    """the page of every function has a description, rules of threads and lifetimes, an example"""
    problems = []
    with manual(top) as folder:
        for path in sorted(glob.glob(f"{folder}/man3/*")):
            name = os.path.basename(path)
            if os.path.islink(path):
                continue
            text = read_page(folder, os.path.splitext(name)[0])
            problems += [f"{name}: nothing under {part[4:]}" for part in PARTS
                         if not re.search(rf"^{part}\n(?!See also \\f)[^.]", text, re.M)]
            problems += [f"{name}: there is no {program}"
                         for program in re.findall(r"\bexamples/[\w.]*\w", text)
                         if not os.path.exists(f"{top}/{program}")]
    return problems
