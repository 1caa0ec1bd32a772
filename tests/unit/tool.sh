#!/bin/bash
# SPDX-License-Identifier: MIT
#
# accelctl and the examples, on cards of the mock.
# shellcheck disable=SC2317 # functions are called through check
set -u

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/unit/tap.sh
. tests/unit/tap.sh

mock=$(realpath "$BUILD")/tests/unit/libmock.so
tool=$BUILD/tools/accelctl
work=$BUILD/tests/unit/tool
rm -rf "$work"
mkdir -p "$work"

# with VARIABLE=VALUE... COMMAND...: a command with the mock.
with() { env LD_PRELOAD="$mock" "$@"; }
one_card() { with MOCK_CARDS=0 "$@"; }

# fails STATUS WORDS COMMAND...: it ends with that status, and says so on standard error only.
fails() {
	local status=$1 words=$2
	shift 2
	"$@" > "$work/out" 2> "$work/err"
	if [ $? != "$status" ] || ! grep -qF -e "$words" "$work/err" || grep -F -e "$words" "$work/out"; then
		cat "$work/out" "$work/err"
		return 1
	fi
}

# prints PATTERN COMMAND...: it succeeds, and a line matches.
prints() {
	local pattern=$1
	shift
	"$@" > "$work/out" || return 1
	grep -E -e "$pattern" "$work/out" || { cat "$work/out"; return 1; }
}

# json EXPRESSION COMMAND...: its output is one JSON value for which the expression of d holds.
json() {
	local expression=$1
	shift
	"$@" > "$work/out" || true
	python3 -c 'import json, sys; d = json.load(sys.stdin); sys.exit(0 if eval(sys.argv[1]) else repr(d))' \
		"$expression" < "$work/out"
}

check 'help' prints '^  copy ' "$tool" --help
for command in list info stats health copy; do
	file=()
	[ $command = copy ] && file=(Makefile)
	check "help of $command" prints "^usage: accelctl $command " "$tool" $command --help
	check "$command refuses an unknown option" fails 2 "--help'" "$tool" $command --nonsense
	check "$command refuses too many arguments" fails 2 'too many' "$tool" $command 0 1
	check "$command without driver" fails 1 'modprobe paccel' \
		with MOCK_UNLOADED=1 "$tool" $command "${file[@]}"
	check "$command without card" fails 1 'there is no card' \
		with MOCK_CARDS= "$tool" $command "${file[@]}"
done
check 'version' prints '^accelctl [0-9]+\.[0-9]+\.[0-9]+$' "$tool" --version
check 'no command' fails 2 '--help' "$tool"
check 'an unknown command' fails 2 "no command 'frobnicate'" "$tool" frobnicate
check 'copy wants a file' fails 2 'FILE' "$tool" copy
check 'an index that is none' fails 2 "'x' is not a number" "$tool" info x
check 'a negative index' fails 2 "'-1' is not a number" "$tool" info -- -1
check 'an index without card' fails 1 'the last card is 0' one_card "$tool" info 1
check 'an interval that is none' fails 2 'seconds' "$tool" stats --watch=0
check 'a count without watch' fails 2 '--watch' "$tool" stats --count=3
check 'no permission' fails 1 'no permission to open /dev/paccel0' \
	with MOCK_CARDS=0 MOCK_DENY=1 "$tool" info
check 'a full disk' fails 1 'cannot write' bash -c "LD_PRELOAD=$mock MOCK_CARDS=0 $tool list > /dev/full"

check 'list' prints '^1 +/dev/paccel3 +mock +0000:04:00.0 +4032 B +4032 B$' \
	with MOCK_CARDS=0,3 "$tool" list
check 'list --json' json '[c["node"] for c in d] == ["/dev/paccel0", "/dev/paccel3"]' \
	with MOCK_CARDS=3,0 "$tool" list --json
check 'list --json without card' json 'd == []' with MOCK_CARDS= "$tool" list --json
check 'list shows a card that cannot be opened' json \
	'"no permission" in d[0]["error"] and d[1]["free"] == 4032' \
	with MOCK_CARDS=0,1 MOCK_DENY=1 "$tool" list --json
check 'info' prints '^  memory +4032 bytes$' one_card "$tool" info
check 'info of another card' prints '^  node +/dev/paccel7$' with MOCK_CARDS=0,7 "$tool" info 1
check 'info --json' json 'd["granule"] == 64 and d["capabilities"] == ["memory-survives-reset"]' \
	one_card "$tool" info --json
check 'stats' prints '^free +4032 B$' one_card "$tool" stats
check 'stats without quota' prints '^quota of each user +none$' one_card "$tool" stats
check 'stats with quota' prints '^quota of each user +1024 B$' with MOCK_CARDS=0 MOCK_QUOTA=1024 "$tool" stats
check 'stats --json' json 'd["total"] == 4032 and len(d) == 19' one_card "$tool" stats 0 --json
check 'stats --watch' prints '^ +0 B +4032 B ' one_card "$tool" stats --watch=0.01 --count=3
watch_lines() { [ "$(one_card "$tool" stats --watch=0.01 --count=4 --json | grep -c '^{.*}$')" = 4 ]; }
check 'stats --watch --json is a line each' watch_lines

# sysfs NODE HEALTH [COUNTER=VALUE...]: the files of a card.
sysfs() {
	local folder=$work/sysfs/$1 counter
	mkdir -p "$folder"
	echo mock > "$folder/backend"
	echo "$2" > "$folder/health"
	for counter in timeouts lost_irqs spurious_irqs bogus corrupt engine_resets resets leaked_pages \
		quarantined; do
		echo 0 > "$folder/$counter"
	done
	for counter in "${@:3}"; do
		echo "${counter#*=}" > "$folder/${counter%%=*}"
	done
}
health() { with MOCK_CARDS=0 MOCK_SYSFS="$work/sysfs" "$tool" health "$@"; }
sysfs paccel10 ok
sysfs paccel2 ok timeouts=3
check 'health' prints '^card 0: ok \(mock, /dev/paccel2\)$' health
check 'health explains what is not 0' prints '^  timeouts        3  transfers took longer' health
check 'health explains nothing else' prints '^  bogus           0$' health
check 'health of a card' prints '^card 1: ok \(mock, /dev/paccel10\)$' health 1
check 'health --json' json '[c["node"] for c in d] == ["/dev/paccel2", "/dev/paccel10"] and d[0]["timeouts"] == 3' \
	health --json
check 'health --json of a card' json 'd["health"] == "ok" and len(d) == 13' health 0 --json
check 'health of a card that is not there' fails 1 'the last card is 1' health 2
sysfs paccel10 failed corrupt=1
rm "$work/sysfs/paccel10/quarantined"
not_ok() { ! health "$@" > "$work/out" && grep -E "$pattern" "$work/out"; }
pattern='^  out of service' check 'health of a card that has failed' not_ok
pattern='"health": "failed", .*"corrupt": 1' check 'health --json of it' not_ok 1 --json
check 'health of the other one' prints '^card 0: ok' health 0
pattern='^  quarantined +\?$' check 'health of an older driver' not_ok
rm "$work/sysfs/paccel10/health"
check 'health of a card that goes away' fails 1 'card 1 is gone' health

# Sizes around the blocks of SHA-256 and the pieces of the card, against another implementation.
copies() {
	local copied=$work/$1.bin sum
	head -c "$1" /dev/urandom > "$copied"
	sum=$(sha256sum < "$copied") || return 1
	one_card "$tool" copy "$copied" > "$work/out" || { cat "$work/out"; return 1; }
	tail -n 1 "$work/out" | grep -xF "all $1 bytes came back: SHA-256 ${sum%% *}"
}
for size in 0 1 3 55 56 57 63 64 65 119 120 2015 2016 2017 4032 4033 100000; do
	check "copy of $size bytes" copies $size
done
check 'copy shows the card' prints '^card 0: mock at 0000:01:00.0, .* 4032 bytes .* granule 64$' \
	one_card "$tool" copy "$work/2016.bin"
check 'copy shows progress' prints '^\[#{12}\.{12}\]  50 %  .* left$' \
	one_card "$tool" copy "$work/4032.bin"
check 'copy shows the statistics' prints '^copied inside the card +0 +2017 +\+2017$' \
	one_card "$tool" copy "$work/2017.bin"
check 'copy on another card' prints '^card 1: .*/dev/paccel4' \
	with MOCK_CARDS=0,4 "$tool" copy "$work/64.bin" --device=1
check 'copy --json' json \
	'd["ok"] and d["bytes"] == 2017 and d["piece"] == 2016 and d["sha256_in"] == d["sha256_out"]' \
	one_card "$tool" copy --json "$work/2017.bin"
cp "$work/64.bin" "$work/a \"b\\"
check 'copy --json of an odd name' json 'd["file"].endswith("a \"b\\")' \
	one_card "$tool" copy --json "$work/a \"b\\"
check 'copy takes what the quota leaves' prints 'in pieces of 504$' \
	with MOCK_CARDS=0 MOCK_QUOTA=1024 "$tool" copy "$work/4033.bin"
comes_back_wrong() {
	with MOCK_CARDS=0 MOCK_CORRUPT=1 "$tool" copy "$work/4033.bin" > "$work/out"
	[ $? = 1 ] && tail -n 1 "$work/out" | grep '^3 of 4033 bytes came back wrong, the first at 1008: '
}
check 'copy notices wrong bytes' comes_back_wrong
check 'copy --json notices wrong bytes' json 'not d["ok"] and d["different"] == 1' \
	with MOCK_CARDS=0 MOCK_CORRUPT=1 "$tool" copy --json "$work/64.bin"
check 'copy of a file that is not there' fails 1 'No such file' one_card "$tool" copy "$work/none"
check 'copy of a directory' fails 1 'directory' one_card "$tool" copy "$work"
check 'copy that fails half-way' fails 1 'copy: /dev/paccel0: the card failed' \
	with MOCK_CARDS=0 MOCK_FAIL_COPY=6 "$tool" copy "$work/4033.bin"
check 'a fill that fails' fails 1 'fill: /dev/paccel0: the card did not answer' \
	with MOCK_CARDS=0 MOCK_FAIL_FILL=1 "$tool" copy "$work/64.bin"
from_a_pipe() { one_card "$tool" copy /dev/stdin < <(cat "$work/4033.bin") | grep '^all 4033 bytes'; }
check 'copy from a pipe' from_a_pipe

short_enough() { ! wc -l examples/*.c* | grep -v total | awk '$1 > 60' | grep .; }
check 'examples are short' short_enough
check 'example roundtrip' prints '^Hello from the other side' one_card "$BUILD/examples/roundtrip"
check 'example roundtrip without card' fails 1 'open: the driver is loaded, but' \
	with MOCK_CARDS= "$BUILD/examples/roundtrip"
check 'example device_buffer' prints '^300 buffers, at most 128 bytes at a time, out of 2048$' one_card \
	"$BUILD/examples/device_buffer"
check 'example tile' prints '^ 56 57 58 59 60 16 17 18$' one_card "$BUILD/examples/tile"
check 'example pool' prints '^pool party: 2 allocations, 14 bytes at most$' one_card "$BUILD/examples/pool"
tap_end
