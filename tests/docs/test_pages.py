# SPDX-License-Identifier: MIT
"""Runs every check of the pages on this tree."""

import os

import pytest

import contract
import manual
import names
import pictures
import programs
import sessions

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CHECKS = [function for module in (names, contract, manual, programs, pictures, sessions)
          for name, function in vars(module).items() if name.startswith("check_")]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
def test_pages(check):
    problems = check(TOP)
    assert not problems, "\n".join(problems)
