#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PaddlePaddle on all kinds of devices, with one import. Run by tests/clients/paddle/all.

cards.py [WORD...]    only checks whose names contain one of the words
"""

import sys

from suite import run

# pylint: disable=wrong-import-order
import edu
import layers
import ring
import sizes


def main():
    # The checks that unplug devices are the last ones.
    return run([sizes.SUITE, layers.SUITE, ring.SUITE, edu.SUITE], sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
