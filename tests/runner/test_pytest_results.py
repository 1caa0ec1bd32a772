# SPDX-License-Identifier: MIT
"""Tests of the reader of pytest's results, with output of pytest itself."""

import os
import subprocess
import sys

import pytest

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TESTS)

# pylint: disable=wrong-import-position
from checks.pytest_results import explain_pytest, read_pytest  # noqa: E402

EVERY_RESULT = """
import pytest

def test_good():
    print("FAILED is printed by a test")

@pytest.mark.parametrize("number", [1, 2])
def test_bad(number):
    assert number == 3

@pytest.fixture
def broken():
    raise OSError

def test_error(broken):
    pass

@pytest.mark.parametrize("number", [1, 2])
def test_skipped(number):
    pytest.skip("no device")

@pytest.mark.xfail
def test_expected_failure():
    assert False

@pytest.mark.xfail
def test_unexpected_success():
    pass
"""


@pytest.fixture(name="run")
def fixture_run(tmp_path):
    """Runs pytest on a file with this text."""
    def run(text, *options):
        (tmp_path / "test_it.py").write_text(text)
        # The options are read from the file that the project's own tests use.
        command = [sys.executable, "-m", "pytest", "-c", os.path.join(TESTS, "pytest.ini"),
                   "--rootdir", str(tmp_path), *options, str(tmp_path)]
        return subprocess.run(command, capture_output=True, text=True, check=False,
                              env={**os.environ, "COLUMNS": "200"}).stdout
    return run


def numbers(text):
    """Of passed, failed and skipped tests, and of problems."""
    results, problems = read_pytest(text)
    outcomes = [outcome for _, outcome, _ in results]
    return (*map(outcomes.count, ("passed", "failed", "skipped")), len(problems))


@pytest.mark.parametrize("options", [[], ["-n", "2"], ["-v"]], ids=" ".join)
def test_every_result_is_counted(run, options):
    text = run(EVERY_RESULT, *options)
    assert numbers(text) == (2, 4, 2, 0), text
    found = {name.rpartition("::")[2]: (outcome, reason)
             for name, outcome, reason in read_pytest(text)[0]}
    assert found["test_good"] == ("passed", "")
    assert found["test_bad[1]"] == ("failed", "assert 1 == 3")
    assert ("skipped", "no device") in found.values()


def test_failures_are_explained(run):
    text = run(EVERY_RESULT)
    explained = "\n".join(explain_pytest(text + text))
    assert explained.count(">       assert number == 3") == 4
    assert explained.count("raise OSError") == 2
    assert "PASSED" not in explained
    assert explain_pytest(run("def test_it(): pass")) == []


def test_several_runs_and_lines_of_others(run):
    text = run("def test_it(): pass")
    assert numbers("PASSED nothing\n" + text + "ok 1 - a\nFAILED something\n" + text) == (2, 0, 0, 0)


def test_a_run_that_ends_early(run):
    text = run("import os\ndef test_it(): os._exit(0)")
    assert numbers(text) == (0, 0, 0, 1), text
    good = run("def test_it(): pass")
    assert numbers(text + good) == (1, 0, 0, 1)


def test_results_that_are_not_listed(run):
    text = run("def test_it(): pass", "-r", "N")
    assert numbers(text) == (0, 0, 0, 1), text


def test_a_file_that_cannot_be_loaded(run):
    text = run("import nosuch_module")
    assert numbers(text) == (0, 1, 0, 0), text


def test_no_tests(run):
    text = run("def other(): pass")
    assert numbers(text) == (0, 0, 0, 1), text


def test_text_without_pytest():
    assert numbers("TAP version 13\n1..1\nok 1 a\n") == (0, 0, 0, 0)
