# SPDX-License-Identifier: MIT
"""The parts of qemu/run."""


class RunnerError(Exception):
    """The guest or the runner failed; the text is for the user."""

    status = 125


class BadOption(RunnerError):
    """An option of a ring card is out of range: the same exit status as of its process."""

    status = 2
