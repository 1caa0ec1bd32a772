# SPDX-License-Identifier: MIT
"""The conformance tests and the uAPI name the same errors.

Each errno that the text of a command, of mmap() or of all commands alike names has a test, or stands in
the list of those that are tested elsewhere, with a test that names both; and no test expects an errno that
the text does not name.
"""

import os
import re
import subprocess

import pytest

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
PROGRAM = os.path.join(TOP, os.environ.get("BUILD") or "build", "tests/unit/gcc-asan/conformance")
UAPI = "include/uapi/linux/paccel.h"
# The commands that return offsets for mmap() say what that is answered with.
MMAP = ("HOST_ALLOC", "STREAM_CREATE")


def errors(text):
    return set(re.findall(r"``-(E[A-Z0-9]+)``", text))


def comments(source):
    """Kernel-doc comments by their first line."""
    for body in re.findall(r"/\*\*\n(.*?)\*/", source, re.DOTALL):
        lines = [re.sub(r"^ \* ?", "", line) for line in body.splitlines()]
        yield lines[0], "\n".join(lines[1:])


def documented(source):
    """{what it is about: errnos}"""
    found = {"general": set(), "mmap": set()}
    for title, text in comments(source):
        command = re.search(r"ioctl\(PACCEL_IOC_(\w+)\)", title)
        if title == "DOC: Errors":
            found["general"] = errors(text)
        elif title == "DOC: Mapped device memory":
            found["mmap"] |= errors(text)
        elif command:
            body, _, answers = text.partition("\nReturn:")
            found[command[1]] = errors(answers)
            if command[1] in MMAP:
                found["mmap"] |= errors(body)
    return found


def read_program():
    """{what it is about: {errno: a test, or "in", a file and a name}}"""
    found = {}
    listing = subprocess.run([PROGRAM, "--errors"], check=True, capture_output=True, text=True)
    for line in listing.stdout.splitlines():
        about, errno, where = line.split(" ", 2)
        found.setdefault(about, {}).setdefault(errno, where)
    return found


def read(path):
    with open(os.path.join(TOP, path), encoding="utf-8") as file:
        return file.read()


def of_test(source, name):
    """All that a file says of a test: its body or that of its call, its row, variants of its fixture."""
    found = re.findall(rf"^[^\n]*\b(?:call_)?{name}\b[^;]*?\n\{{.*?^\}}", source, re.DOTALL | re.MULTILINE)
    found += re.findall(rf"^\t?[A-Z_]+\([^()]*\b{name}\b[^()]*\)", source, re.MULTILINE)
    for fixture in re.findall(rf"^TEST_F\((\w+), {name}\)", source, re.MULTILINE):
        found += re.findall(rf"^FIXTURE_VARIANT_ADD\({fixture},.*$", source, re.MULTILINE)
    return "\n".join(found)


# How a test names it that is about it, where that is not as a call, a string or a variant.
WORDS = {"COPY": "copy|h2d", "general": "", "mmap": "munmap"}
TEXTS = documented(read(UAPI))


@pytest.fixture(scope="module", name="tests")
def list_tests():
    return read_program()


def test_every_command_has_a_text(tests):
    assert set(tests) <= set(TEXTS)


@pytest.mark.parametrize("about", sorted(TEXTS))
def test_errors(about, tests):
    found = tests.get(about, {})
    assert not TEXTS[about] - set(found), "errors of the text that no test provokes"
    # Every command can be answered with a general error.
    assert not set(found) - TEXTS[about] - TEXTS["general"], "errors that the text does not name"
    for errno, where in found.items():
        if where.startswith("in "):
            _, path, name = where.split()
            said = of_test(read(path), name)
            assert re.search(rf"\b{errno}\b", said), f"{name} of {path} has no {errno}"
            called = WORDS.get(about, rf"([_(\"]|, ){about}")
            said = re.sub(rf"\b{name}\b", "", said)
            assert re.search(called, said, re.IGNORECASE), f"{name} of {path} has no {about}"
