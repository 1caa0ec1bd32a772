#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The Python modules, on cards of the mock, without and with sanitizers:
# tests/unit/python.sh [OPTION of pytest]...
set -u

cd "$(dirname "$0")/../.." || exit 1
out=$(realpath "$BUILD")
mock="$out/tests/unit/libmock.so $out/tests/unit/libcount.so"

run() { # folder of the modules, what is preloaded, options
	local modules=$1 preload=$2
	shift 2
	# Two folders above the modules with sanitizers there are no libraries.
	timeout 300 env LD_LIBRARY_PATH="$out/lib" LD_PRELOAD="$preload" PYTHONPATH="$modules" \
		/usr/bin/python3 -m pytest -p no:xdist tests/unit/python "$@"
}

if ! [ -e "$out/lib/python/acl/_acl.abi3.so" ]; then
	printf 'ok 1 - modules # SKIP there are no headers of Python\n1..1\n'
	exit 0
fi
status=0
run "$out/lib/python" "$mock" "$@" || status=1

# Python's own allocator would hide what is used after it was freed.
export ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc
run "$out/tests/unit/python-asan" \
	"$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so) $mock" "$@" || status=1
exit $status
