# SPDX-License-Identifier: MIT
"""The parts of tests/check: which jobs there are, how they are run, what they report."""
