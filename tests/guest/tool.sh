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

# Of its JSON the expression of d holds. The schema is checked at the end for all, since that takes seconds.
json() {
	local subcommand=$1 expression=$2 file
	shift 2
	file=$(mktemp "$work/$subcommand.XXXXXX.json")
	"$@" > "$file" || { cat "$file"; return 1; }
	python3 -c 'import json, sys; d = json.load(sys.stdin); sys.exit(0 if eval(sys.argv[1]) else repr(d))' \
		"$expression" < "$file"
}

as_the_schema_says() {
	local file name words=()
	for file in "$work"/*.json; do
		name=${file##*/}
		words+=("${name%%.*}" "$file" True)
	done
	[ ${#words[@]} -ge 30 ] && /usr/bin/python3 tests/unit/accelctl_json.py "${words[@]}"
}

all_came_back() {
	tail -n 1 "$work/copy" | grep -xF 'all 2500 bytes came back'
}

as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
nobody_is_refused() { ! as_nobody accelctl info > "$work/out" 2>&1 && grep 'no permission' "$work/out"; }

copies() { accelctl copy "$work/file" > "$work/copy"; }

# In the background, until the caller ends it; with its process number in $!.
copy_for_long() {
	truncate -s 10G "$work/long"
	accelctl copy "$work/long" "$1" > /dev/null &
	until [ "$(cat "/sys/class/paccel/paccel$1/used")" -gt 0 ]; do
		kill -0 $! || return 1
	done
}

# A second program sees what the copy holds.
stats_shows_a_copy() {
	local used
	copy_for_long 1 || return 1
	used=$(accelctl stats 1 | awk '/^used  / { print $2 }')
	kill $!
	wait $!
	wait_until_unused
	echo "used: $used"
	[ "$used" = "$block" ]
}

# What shows processes, over seconds of a copy.
top_shows_a_copy() {
	local status=0
	copy_for_long 1 || return 1
	json top "[(p['device'], p['pid'], p['command'], p['user'], p['device_memory'], p['busy_percent'] > 10)
		for p in d['processes']] == [(1, $!, 'accelctl', 'root', $block, True)]" \
		accelctl top -i 2 -n 1 --json || status=1
	json monitor "[c['device'] for c in d['devices'] if c['requests_per_second'] > 0.4] == [1]" \
		accelctl monitor -i 5 -n 1 --json || status=1
	! accelctl reset 1 2> "$work/err" || status=1
	grep "device 1 is in use by process $!:" "$work/err" || status=1
	kill $!
	wait $!
	wait_until_unused
	return "$status"
}

# The memory of a killed process stays in use until its transfer has ended.
wait_until_unused() {
	until [ "$(cat /sys/class/paccel/paccel1/used)" = 0 ]; do
		:
	done
}

reset_works() {
	wait_until_unused
	accelctl reset 1 | grep -x 'device 1 was reset: health is ok' && [ "$(cat /sys/class/paccel/paccel1/resets)" = 1 ]
}

quota_works() {
	accelctl quota 1 --set "$1" && accelctl copy "$work/file" 1 | grep "in pieces of $2 bytes\$" &&
		accelctl stats 1 | grep "^quota of each user  *$1 B\$" && accelctl quota 1 --set none
}

# A DMA request takes longer than the watchdog allows. So may the scrub of the memory afterwards, which
# would make another dump after the first was deleted.
dumps() {
	local parameter=/sys/module/paccel/parameters/watchdog_ms status=0 end
	echo 10 > "$parameter"
	! accelctl copy "$work/file" 1 2> "$work/err" || status=1
	echo 10000 > "$parameter"
	cat "$work/err"
	wait_until_unused
	until [ "$(cat /sys/class/paccel/paccel1/dirty)" = 0 ]; do
		:
	done
	# A worker makes it.
	end=$((SECONDS + 60))
	until accelctl dump 1 -o - > /dev/null 2>&1 || [ "$SECONDS" -ge "$end" ]; do
		:
	done
	accelctl dump 1 -o "$work/dump" --delete && grep '^why:' "$work/dump" || status=1
	# The kernel deletes it a little later.
	while accelctl dump 1 -o - > /dev/null 2> "$work/err"; do
		:
	done
	grep 'there is no core dump of device 1' "$work/err" || status=1
	return "$status"
}

health_explains() { accelctl health 1 | grep -E '^  timeouts +[1-9].* exceeded watchdog_ms'; }

# Tests before this one have removed devices: 0 or 2.
number_of_the_other() { accelctl list | awk '$1 ~ /^[0-9]+$/ && $1 != 1 { print $1 }'; }

# The other device is removed, and device 1 does not take its number.
keeps_its_number() {
	local address number
	number=$(number_of_the_other)
	address=$(sed -n 's/^PCI_SLOT_NAME=//p' "/sys/class/paccel/paccel$number/device/uevent")
	echo "$address" > /sys/bus/pci/drivers/paccel/unbind || return 1
	accelctl info 1 | grep -x 'device 1' && accelctl stats | grep '^device 1: ' &&
		! accelctl list "$number" 2> "$work/err" && grep "there is no device $number: there is 1" "$work/err" &&
		! accelctl info "$number" 2> "$work/err" && grep "there is no device $number: there is 1" "$work/err" &&
		! accelctl info "$address" 2> "$work/err" && grep "no device at PCI address $address" "$work/err"
}

# A file of a device that was removed does not count as one of the device that is there now.
top_leaves_out_removed_devices() {
	local address
	address=$(sed -n 's/^PCI_SLOT_NAME=//p' /sys/class/paccel/paccel1/device/uevent)
	exec 9<> /dev/paccel1 || return 1
	json top "[(p['device'], p['pid']) for p in d['processes']] == [(1, $BASHPID)]" accelctl top -i 0.1 -n 1 --json &&
		echo "$address" > /sys/bus/pci/drivers/paccel/unbind &&
		echo "$address" > /sys/bus/pci/drivers/paccel/bind && accelctl info "$address" &&
		json top "d['processes'] == []" accelctl top -i 0.1 -n 1 --json
	local status=$?
	exec 9>&-
	return "$status"
}

without_driver() {
	rmmod paccel && ! accelctl list > "$work/out" 2>&1 && grep 'modprobe paccel' "$work/out"
}

# How much a card has, as a number and as it is shown, how much of it a copy takes, and the piece of one with
# a quota of four granules.
set -- /sys/class/paccel/*
case $(cat "$1/backend") in
edu) card=edu memory=$PACCEL_EDU_BYTES shown="$PACCEL_EDU_BYTES B" granule=64 block=$PACCEL_EDU_BYTES quota_piece=$((PACCEL_EDU_BYTES / 32)) ;;
ring) card=ring memory=15728640 shown='15\.0 MiB' granule=4096 block=8388608 quota_piece=8192 ;;
esac
head -c 2500 /dev/urandom > "$work/file"
check 'the driver has the version of the tool' [ "accelctl $(cat /sys/module/paccel/version)" = "$(accelctl --version)" ]
check 'list' prints "^1 +/dev/paccel[0-9]+ +$card +[0-9a-f:.]+ +$shown +$shown$" accelctl list
check 'list of a device' [ "$(accelctl list 1 | cut -d ' ' -f 1 | xargs)" = 'DEVICE 1' ]
check 'info' prints "^  memory +$memory bytes$" accelctl info
if command -v python3 > /dev/null; then
	check 'list --json' json list "[c['memory_size'] for c in d] == [$memory, $memory]" accelctl list --json
	check 'info --json' json info "d['backend'] == '$card' and d['granule'] == $granule" accelctl info 1 --json
	check 'stats --json' json stats "d['total'] == $memory and d['used'] == 0" accelctl stats --json
	check 'topo --json' json topo "[p['path'] for p in d['pairs']] == ['self', 'host', 'host', 'self']" \
		accelctl topo --json
	other=$(number_of_the_other)
	check 'topo --json of a device' json topo "{(p['source'], p['destination']) for p in d['pairs']} == {(1, 1), (1, $other)}" \
		accelctl topo -d 1 --json
	check 'bench --json' json bench "[d['device']] + [p['device'] for p in d['peers']] == [1, $other] and all(p[k] > 0
		for p in d['points'] + d['peers'][0]['points'] for k in p)" \
		accelctl bench 1 --max-size "$granule" --json
	check 'top, monitor and reset during a copy' top_shows_a_copy
	check 'copy --json' json copy "d['ok'] and d['bytes'] == 2500 and d['piece'] == $((block / 2))" \
		accelctl copy "$work/file" --json --device=1
else
	for name in list info stats topo 'topo of a device' bench top copy; do
		skip "$name --json" 'there is no python3'
	done
fi
check 'stats' prints "^total +$memory B$" accelctl stats
check 'stats shows the memory of a copy' stats_shows_a_copy
check 'copy' copies
check 'all bytes came back' all_came_back
check 'a copy that frees its memory has changed nothing' prints "^available +$memory B +$memory B +\+0 B$" cat "$work/copy"
check 'copy shows progress' prints '^\[#{24}\] 100 %  2500 B of 2500 B' cat "$work/copy"
check 'a user without permission is told so' nobody_is_refused
check 'example roundtrip' prints '^Hello from the other side' "$build/examples/roundtrip"
check 'example tile' prints '^ 56 57 58 59 60 16 17 18$' "$build/examples/tile"
check 'example pool' prints '^pool party: 2 allocations, 14 bytes at most$' "$build/examples/pool"
check 'example overlap' prints '^4 blocks came back right$' "$build/examples/overlap"
check 'example pollloop' prints '^there was time for something else$' "$build/examples/pollloop"
check 'example uring' prints '^the copy is done, the last byte is u$' "$build/examples/uring"
check 'example share' prints '^written by the other process$' "$build/examples/share"
check 'reset' reset_works
check 'quota' quota_works "$((4 * granule))" "$quota_piece"
if [ -d /sys/class/devcoredump ]; then
	check 'dump' dumps
else
	skip 'dump' 'there is no CONFIG_DEV_COREDUMP'
fi
check 'health explains a timeout' health_explains
check 'a device keeps its number' keeps_its_number
if command -v python3 > /dev/null; then
	check 'top leaves out devices that were removed' top_leaves_out_removed_devices
	check 'JSON is as the schema says' as_the_schema_says
else
	skip 'top leaves out devices that were removed' 'there is no python3'
	skip 'JSON is as the schema says' 'there is no python3'
fi
check 'without driver the tool says what to do' without_driver
tap_end
