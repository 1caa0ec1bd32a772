#!/bin/bash
# SPDX-License-Identifier: MIT
#
# accelctl and the examples with the real driver, in a guest with two cards of a kind.
# shellcheck disable=SC2317 # functions are called through check
set -u

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/unit/tap.sh
. tests/unit/tap.sh

build=${BUILD:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

prints() {
	local pattern=$1
	shift
	"$@" > "$work/out" 2>&1
	grep -E -e "$pattern" "$work/out" || { cat "$work/out"; return 1; }
}

json() {
	local subcommand=$1 expression=$2
	shift 2
	"$@" > "$work/out" || { cat "$work/out"; return 1; }
	/usr/bin/python3 tests/unit/accelctl_json.py "$subcommand" "$expression" < "$work/out"
}

all_came_back() {
	tail -n 1 "$work/copy" | grep -xF 'all 2500 bytes came back'
}

as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
nobody_is_refused() { ! as_nobody accelctl info > "$work/out" 2>&1 && grep 'no permission' "$work/out"; }

# A second program sees what the copy holds.
copies_and_is_seen() {
	local used
	accelctl copy "$work/file" > "$work/copy" &
	for ((i = 0; i < 500; i++)); do
		used=$(accelctl stats | awk '/^used  / { print $2 }')
		[ "$used" -gt 0 ] && break
	done
	echo "used: $used"
	wait $! && [ "$used" = "$block" ]
}

without_driver() {
	rmmod paccel && ! accelctl list > "$work/out" 2>&1 && grep 'modprobe paccel' "$work/out"
}

# How much a card has, as a number and as it is shown, and how much of it a copy takes.
set -- /sys/class/paccel/*
case $(cat "$1/backend") in
edu) card=edu memory=4032 shown='4032 B' granule=64 block=4032 ;;
ring) card=ring memory=15728640 shown='15\.0 MiB' granule=4096 block=8388608 ;;
esac
head -c 2500 /dev/urandom > "$work/file"
check 'list' prints "^1 +/dev/paccel[0-9]+ +$card +[0-9a-f:.]+ +$shown +$shown$" accelctl list
check 'info' prints "^  memory +$memory bytes$" accelctl info
if /usr/bin/python3 -c 'import jsonschema' 2> /dev/null; then
	check 'list --json' json list "[c['memory_size'] for c in d] == [$memory, $memory]" accelctl list --json
	check 'info --json' json info "d['name'] == '$card' and d['granule'] == $granule" accelctl info 1 --json
	check 'stats --json' json stats "d['total'] == $memory and d['used'] == 0" accelctl stats --json
	check 'copy --json' json copy "d['ok'] and d['bytes'] == 2500 and d['piece'] == $((block / 2))" \
		accelctl copy "$work/file" --json --device=1
else
	for name in list info stats copy; do
		skip "$name --json" 'there is no python3-jsonschema'
	done
fi
check 'stats' prints "^total +$memory B$" accelctl stats
check 'copy, which stats sees' copies_and_is_seen
check 'all bytes came back' all_came_back
check 'a copy that frees its memory has changed nothing' prints "^free +$memory +$memory +\+0$" cat "$work/copy"
check 'copy shows progress' prints '^\[#{24}\] 100 %  2500 B of 2500 B' cat "$work/copy"
check 'a user without permission is told so' nobody_is_refused
check 'example roundtrip' prints '^Hello from the other side' "$build/examples/roundtrip"
check 'example tile' prints '^ 56 57 58 59 60 16 17 18$' "$build/examples/tile"
check 'example pool' prints '^pool party: 2 allocations, 14 bytes at most$' "$build/examples/pool"
check 'example overlap' prints '^4 blocks came back right$' "$build/examples/overlap"
check 'example pollloop' prints '^there was time for something else$' "$build/examples/pollloop"
check 'example uring' prints '^the copy is done, the last byte is u$' "$build/examples/uring"
check 'example share' prints '^written by the other process$' "$build/examples/share"
check 'without driver the tool says what to do' without_driver
tap_end
