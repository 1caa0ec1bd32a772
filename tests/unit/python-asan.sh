#!/bin/sh
# SPDX-License-Identifier: MIT
#
# python.sh with sanitizers.

SANITIZE=1 exec "$(dirname "$0")/python.sh" "$@"
