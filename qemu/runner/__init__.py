# SPDX-License-Identifier: MIT
"""The parts of qemu/run."""


class RunnerError(Exception):
    """The guest or the runner failed; the text is for the user."""
