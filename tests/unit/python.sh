#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The Python modules, on cards of the mock.
set -u

cd "$(dirname "$0")/../.." || exit 1
out=$(realpath "$BUILD")

exec env -u LD_LIBRARY_PATH LD_PRELOAD="$out/tests/unit/libmock.so" PYTHONPATH="$out/lib/python" \
	"${PYTHON:-/usr/bin/python3}" tests/unit/python/run.py test_accel test_streams test_acl "$@"
