# SPDX-License-Identifier: MIT
"""Reads what pytest prints with `-r pxXsEf` (tests/pytest.ini): a line for each result, then the
numbers of the run. A text may hold the output of several runs, and lines of other programs."""

import re

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"

# The line before it may have no end.
BEGIN = re.compile(r"=+ test session starts .*=+$")
END = re.compile(r"^=+ (.*) in [\d.]+s(?: \([\d:]+\))? =+$")
NUMBER = re.compile(r"(\d+) (passed|failed|error|skipped|xfailed|xpassed)")
RESULT = re.compile(r"^(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS) (?:\[(\d+)\] )?(\S.*)$")
# How a word of the list is called in the last line, and what it means. All XPASS are failures: the
# test has a mark that is not true.
WORDS = {"PASSED": ("passed", PASSED), "FAILED": ("failed", FAILED), "ERROR": ("error", FAILED),
         "SKIPPED": ("skipped", SKIPPED), "XFAIL": ("xfailed", PASSED),
         "XPASS": ("xpassed", FAILED)}

DETAILS = re.compile(r"^=+ (?:ERRORS|FAILURES) =+\n(.*?)^=+ short test summary info =+$",
                     re.MULTILINE | re.DOTALL)


def _result(word, text):
    """(name, outcome, reason). A skipped test has a place in a file, not a name."""
    name, _, reason = text.partition(": " if word == "SKIPPED" else " - ")
    return name, WORDS[word][1], reason


def _problem(listed, end):
    """What is wrong with a run of which so many results are listed, or None. A run is complete if
    its last line has the same numbers."""
    numbers = {word: int(number) for number, word in NUMBER.findall(end)}
    if numbers != listed:
        return f"pytest: the results of '{end}' are not listed"
    return None if numbers else f"pytest: {end}"


def read_pytest(text):
    """([(name, outcome, reason)], [failures that no result stands for])"""
    results, problems = [], []
    listed = None
    for line in text.splitlines():
        result, end = RESULT.match(line), END.match(line)
        if BEGIN.search(line):
            if listed is not None:
                problems.append("pytest: the run has no end")
            listed = {}
        elif listed is None:
            continue
        elif result:
            number = int(result[2] or 1)
            word = WORDS[result[1]][0]
            listed[word] = listed.get(word, 0) + number
            results += [_result(result[1], result[3])] * number
        elif end:
            problems += filter(None, [_problem(listed, end[1])])
            listed = None
    if listed is not None:
        problems.append("pytest: the run has no end")
    return results, problems


def explain_pytest(text):
    """The lines about tests that failed."""
    return [line for details in DETAILS.findall(text) for line in details.splitlines()]
