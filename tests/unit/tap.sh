# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# TAP for shell tests: `check NAME COMMAND...` is one test; what a failing command printed follows.

tap_number=0
tap_failed=0

check() {
	local name=$1 output
	shift
	tap_number=$((tap_number + 1))
	if output=$("$@" 2>&1); then
		echo "ok $tap_number - $name"
	else
		echo "not ok $tap_number - $name"
		printf '%s\n' "$output" | tail -n 40 | sed 's/^/# /'
		tap_failed=1
	fi
}

skip() {
	tap_number=$((tap_number + 1))
	echo "ok $tap_number - $1 # SKIP $2"
}

tap_end() {
	echo "1..$tap_number"
	exit $tap_failed
}
