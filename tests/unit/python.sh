#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The Python modules, on cards of the mock: tests/unit/python.sh [-- WORD...]. With SANITIZE they are
# those with sanitizers.
set -u

cd "$(dirname "$0")/../.." || exit 1
out=$(realpath "$BUILD")
modules=$out/lib/python
preload=$out/tests/unit/libmock.so

if [ -n "${SANITIZE:-}" ]; then
	modules=$out/tests/unit/python-asan
	# Python's own allocator would hide what is used after it was freed.
	export ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc
	preload="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so) $preload"
fi

if ! [ -e "$modules/acl/_acl.abi3.so" ]; then
	printf 'ok 1 - modules # SKIP there are no headers of Python\n1..1\n'
	exit 0
fi
# Two folders above the modules with sanitizers there are no libraries.
exec env LD_LIBRARY_PATH="$out/lib" LD_PRELOAD="$preload" PYTHONPATH="$modules" \
	"${PYTHON:-/usr/bin/python3}" tests/unit/python/run.py test_accel test_streams test_acl "$@"
