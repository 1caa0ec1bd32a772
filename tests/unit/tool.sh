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
tool=$(realpath "$BUILD/tools/accelctl")
work=$BUILD/tests/unit/tool
rm -rf "$work"
mkdir -p "$work"
work=$(realpath "$work")

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
	grep -aE -e "$pattern" "$work/out" || { cat "$work/out"; return 1; }
}

# json SUBCOMMAND EXPRESSION COMMAND...: its output is one JSON value, which the schema allows and
# for which the expression of d holds.
json() {
	local subcommand=$1 expression=$2
	shift 2
	"$@" > "$work/out" || true
	/usr/bin/python3 tests/unit/accelctl_json.py "$subcommand" "$work/out" "$expression"
}

# The same of each line of the output.
json_lines() {
	local subcommand=$1 expression=$2 line
	shift 2
	"$@" > "$work/lines" || return 1
	[ -s "$work/lines" ] || return 1
	while read -r line; do
		json "$subcommand" "$expression" echo "$line" || return 1
	done < "$work/lines"
}

# ---- The command line ----

subcommands=$("$tool" | sed -n '/^Subcommands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
check 'without arguments it shows the overview' prints '^  copy +tests a device: a file through' "$tool"
for option in help --help -h; do
	check "the overview by $option" prints '^  copy +tests a device: ' "$tool" $option
done
for option in version --version -V; do
	check "the version by $option" prints '^accelctl [0-9]+\.[0-9]+\.[0-9]+$' "$tool" $option
done
check 'version --json' json version 'd["version"].count(".") == 2' "$tool" version --json
check 'the overview has subcommands' [ "$(wc -w <<< "$subcommands")" -ge 7 ]
for command in $subcommands; do
	check "help of $command" prints "^usage: accelctl $command( |\$)" "$tool" "$command" --help
	check "help of $command by -h" prints "^usage: accelctl $command( |\$)" "$tool" "$command" -h
	check "help of $command by help" prints "^usage: accelctl $command( |\$)" "$tool" help "$command"
	check "$command refuses an unknown option" fails 2 "$command: there is no option '--nonsense'" \
		"$tool" "$command" --nonsense
	check "$command refuses too many arguments" fails 2 'too many' "$tool" "$command" 0 1 2
done
# The manual page has all of the tool, with dashes as the page writes them, and nothing else.
page_agrees() {
	local command option status=0
	sed 's/\\-/-/g' Documentation/man/accelctl.1 > "$work/page"
	for command in $subcommands; do
		grep -qx "\.B $command" "$work/page" || { echo "the page does not describe $command"; status=1; }
		for option in $("$tool" help "$command" | sed -n 's/^  -., --\([a-z-]*\).*/\1/p'); do
			grep -qE "^\.BR -. \", \" \"?--$option" "$work/page" ||
				{ echo "the page has no --$option"; status=1; }
		done
	done
	sed -n 's/^\.BR "accelctl \([a-z]*\).*/\1/p' "$work/page" | diff - <(echo "$subcommands") || status=1
	return "$status"
}
check 'the manual page has all subcommands and options' page_agrees
check 'the first line of an error names the program' prints "^accelctl: info: there is no option '-x'" \
	bash -c "! $tool info -x 2>&1"
check 'an option that takes no argument' fails 2 "'--json=1' takes no argument" "$tool" info --json=1
check 'an option that requires an argument' fails 2 "'--device' requires an argument" "$tool" info --device
check 'a negative number is no option' fails 2 "'-1' is no option, and device numbers begin at 0" \
	"$tool" info -1
check 'an unknown subcommand' fails 2 "no subcommand 'frobnicate'" "$tool" frobnicate
check 'help of an unknown subcommand' fails 2 "no subcommand 'frobnicate'" "$tool" help frobnicate
check 'copy without a file' fails 2 'FILE is missing' "$tool" copy
check 'an interval that is none' fails 2 "interval is '0'" "$tool" stats --watch=0
check 'an interval that is none, in a word of its own' fails 2 "interval is '0'" "$tool" stats --watch 0
check 'the help of monitor says which devices are shown' prints '^ +default: all devices$' "$tool" monitor --help
check 'the help of copy says which device is used' prints '^ +default: the one with the lowest node number$' \
	"$tool" copy --help
check 'the help of reset says that there is no default' prints '^ +required$' "$tool" reset --help
check 'the usage of monitor has one of JSON and CSV' prints '\[--json \| --csv\]$' "$tool" monitor --help
check 'the usage of top has JSON' prints ' \[--json\]$' "$tool" top --help
check 'a count without watch' fails 2 '--watch' "$tool" stats --count=3
for count in 0 -1 x 99999999999999999999; do
	check "a count of $count" fails 2 "count is '$count': a number from 1" \
		one_card timeout 5 "$tool" stats --watch=0.01 "--count=$count"
done
check 'a full disk' fails 1 'cannot write' bash -c "LD_PRELOAD=$mock MOCK_CARDS=0 $tool list > /dev/full"

# ---- Devices ----

# sysfs NODE HEALTH [COUNTER=VALUE...]: the files of a device; its PCI address is that of the mock.
sysfs() {
	local folder=$work/sysfs/$1 counter
	mkdir -p "$folder/device"
	printf 'DRIVER=paccel\nPCI_SLOT_NAME=0000:%02x:00.0\n' "$((${1#paccel} + 1))" \
		> "$folder/device/uevent"
	echo mock > "$folder/backend"
	echo "$2" > "$folder/health"
	for counter in timeouts lost_irqs spurious_irqs bogus corrupt engine_resets resets leaked_pages \
		quarantined; do
		echo 0 > "$folder/$counter"
	done
	echo 0 > "$folder/max_user_bytes"
	echo 4032 > "$folder/mem_size"
	for counter in "${@:3}"; do
		echo "${counter#*=}" > "$folder/${counter%%=*}"
	done
}

two_cards() { with MOCK_CARDS=0,10 MOCK_SYSFS="$work/sysfs" "$@"; }
sysfs paccel0 ok timeouts=3
sysfs paccel10 ok
# one_row FIRST COMMAND...: it succeeds, and the only line that begins with the number of a device is that one's.
one_row() {
	"${@:2}" > "$work/out" || return 1
	[ "$(grep -oE '^(device )?[0-9]+' "$work/out" | sort -u)" = "$1" ] || { cat "$work/out"; return 1; }
}
for command in list info topo stats health; do
	first='device 10'
	[ $command != list ] && [ $command != topo ] || first=10
	for device in 10 paccel10 /dev/paccel10 0000:0b:00.0 0b:00.0; do
		check "$command $device" one_row "$first" two_cards "$tool" $command $device
		check "$command -d $device" one_row "$first" two_cards "$tool" $command -d $device
	done
	check "$command of a device that is not there" fails 1 'there is no device 1' \
		two_cards "$tool" $command 1
	check "$command of an address that is none" fails 2 'no device at PCI address 0000:0c:00.0' \
		two_cards "$tool" $command 0c:00.0
	for device in x -1 01 '' /dev/null 0c:00 0c:00.0x 0b:00.8 0b:20.0 +b:00.0 0b:+0.0 0x0b:00.0; do
		check "$command of '$device', which is no device" fails 2 "'$device' is no device" \
			two_cards "$tool" $command -- "$device"
	done
	check "$command of two devices" fails 2 'too many' two_cards "$tool" $command -d 0 10
done
for device in 10 /dev/paccel10 0000:0b:00.0; do
	check "copy on $device" prints '^device 10: mock at 0000:0b:00.0, /dev/paccel10,' \
		two_cards "$tool" copy .gitignore $device
	check "copy --device=$device" prints '^device 10: mock at 0000:0b:00.0, /dev/paccel10,' \
		two_cards "$tool" copy .gitignore --device=$device
done
# only_device NUMBER COMMAND...: its JSON has this device and no other one.
only_device() {
	"${@:2}" --json > "$work/out" || return 1
	[ "$(sed 's/"peers": .*//' "$work/out" | grep -o '"device": [0-9]*' | sort -u)" = "\"device\": $1" ] || { cat "$work/out"; return 1; }
}
for command in 'monitor -n 1 -i 0.01' 'bench -m 64' quota; do
	read -r -a words <<< "$command"
	for device in 10 /dev/paccel10 0000:0b:00.0; do
		check "${words[0]} $device" only_device 10 two_cards "$tool" "${words[@]}" $device
		check "${words[0]} -d $device" only_device 10 two_cards "$tool" "${words[@]}" -d $device
	done
done
for command in 'top -n 1 -i 0.01' 'monitor -n 1 -i 0.01' 'bench -m 64' quota reset dump; do
	read -r -a words <<< "$command"
	check "$command of a device that is not there" fails 1 'there is no device 1: there are 0, 10' \
		two_cards "$tool" "${words[@]}" 1
	check "$command of an address that is none" fails 2 'no device at PCI address 0000:0c:00.0' \
		two_cards "$tool" "${words[@]}" -d 0c:00.0
done
check 'without a name it is the first device' prints '^device 3$' with MOCK_CARDS=7,3 "$tool" info
check 'a device keeps its number when another one is removed' prints '^device 10$' \
	with MOCK_CARDS=10 "$tool" info 10
check 'no other device has the number of one that was removed' fails 1 \
	'there is no device 0: there is 10' with MOCK_CARDS=10 "$tool" info 0
for command in list info stats health copy; do
	file=()
	[ $command = copy ] && file=(Makefile)
	check "$command without driver" fails 1 'modprobe paccel' \
		with MOCK_UNLOADED=1 "$tool" $command "${file[@]}"
	check "$command without device" fails 1 'there is no device' \
		with MOCK_CARDS= "$tool" $command "${file[@]}"
done
check 'no permission' fails 1 'no permission to open /dev/paccel0' \
	with MOCK_CARDS=0 MOCK_DENY=1 "$tool" info

# ---- Completion ----

# completes WORDS WORD...: what the function of bash offers for the last word, sorted. Files are ":".
completes() {
	local expected=$1
	shift
	local found
	found=$(MOCK_CARDS=0,10 LD_PRELOAD=$mock bash --norc -c '
		. tools/accelctl.bash
		compopt() { [ "$*" != "-o default" ] || COMPREPLY+=(:); }
		tool=$1
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		shift
		_accelctl "$tool" "${*: -1}" "${*: -2:1}"
		printf "%s\n" "${COMPREPLY[@]}" | sort | xargs' bash "$tool" "$@")
	[ "$found" = "$expected" ] || { echo "'$found' instead of '$expected'"; return 1; }
}
check 'completion of subcommands' completes "$(sort <<< "$subcommands" | xargs)" ''
check 'completion of a prefix of one' completes 'health help' 'he'
check 'completion of nothing' completes '' 'x'
check 'completion after a subcommand that is none' completes '' 'x' ''
check 'completion of devices' completes '0 10' info ''
check 'completion of a device' completes '10' info 1
export MOCK_SYSFS=$work/sysfs
check 'completion of devices has PCI addresses' completes '0 0000:01:00.0 0000:0b:00.0 10' info ''
check 'completion of a PCI address' completes '0000:01:00.0 0000:0b:00.0' info 000
check 'completion of a PCI address after a colon' completes '01:00.0 0b:00.0' info 0000 :
check 'completion of a PCI address after a digit' completes '0b:00.0' info 0000 : 0b
check 'completion of a PCI address after two colons' completes '00.0' info 0000 : 0b : 0
check 'completion of a PCI address for an option' completes '0b:00.0' info --device = 0000 : 0b
check 'completion of an option after a PCI address' completes '--watch' stats 0000 : 0b : 00.0 --w
check 'completion of a second device after a PCI address' completes '' info 0000 : 0b : 00.0 ''
unset MOCK_SYSFS
check 'completion of nodes' completes '/dev/paccel0 /dev/paccel10' info /dev/
check 'completion of a second device' completes '' info 0 ''
check 'completion of the argument of -d' completes '0 10' copy -d ''
check 'completion of the argument of --device=' completes '0 10' copy --device =
check 'completion of the argument of --device=1' completes '10' copy --device = 1
check 'completion of a file' completes ':' copy ''
check 'completion of a device after a file' completes '0 10' copy README.md ''
check 'completion of a file after a device' completes ':' copy -d 0 ''
check 'completion of options' completes '--count --device --help --json --watch' stats --
check 'completion of an option' completes '--watch' stats 0 --w
check 'completion of help' completes 'info' help i

# ---- list, info, stats ----

check 'list' prints '^3 +/dev/paccel3 +mock +0000:04:00.0 +4032 B +4032 B$' \
	with MOCK_CARDS=0,3 "$tool" list
check 'the memory of list has the name that stats gives to it' prints ' MEMORY +AVAILABLE$' one_card "$tool" list
check 'list --json' json list '[(c["device"], c["node"]) for c in d] == [(0, "/dev/paccel0"), (3, "/dev/paccel3")]' \
	with MOCK_CARDS=3,0 "$tool" list --json
check 'list --json of a device' json list 'd["device"] == 3' with MOCK_CARDS=3,0 "$tool" list 3 --json
check 'list --json without device' json list 'd == []' with MOCK_CARDS= "$tool" list --json
check 'list shows a device that cannot be opened' json list \
	'd[0]["device"] == 2 and "no permission" in d[0]["error"] and d[1]["available"] == 4032' \
	with MOCK_CARDS=2,5 MOCK_DENY=1 "$tool" list --json
check 'info' prints '^  memory +4032 bytes$' one_card "$tool" info
check 'info --json' json info 'd["granule"] == 64 and d["capabilities"] == ["memory-survives-reset"]' \
	one_card "$tool" info --json
check 'stats' prints '^(free|available) +4032 B$' one_card "$tool" stats
check 'stats names its device' prints '^device 3: mock at 0000:04:00.0, /dev/paccel3$' \
	with MOCK_CARDS=3 "$tool" stats
check 'stats without quota' prints '^quota of each user +none$' one_card "$tool" stats
check 'stats with quota' prints '^quota of each user +1024 B$' with MOCK_CARDS=0 MOCK_QUOTA=1024 "$tool" stats
check 'stats --json' json stats 'd["total"] == 4032 and d["node"] == "/dev/paccel3" and d["available"] == 4032 and len(d) == 23' \
	with MOCK_CARDS=0,3 "$tool" stats 3 --json
# rows COUNT OPTION...
rows() {
	[ "$(two_cards timeout 60 "$tool" stats "${@:2}" | tee "$work/out" | grep -cE '^[0-9:]{8} +0 +0 B +4032 B ')" = "$1" ]
}
check 'stats --watch' rows 3 --watch=0.01 --count=3
check 'stats --watch SECONDS in two words' rows 2 --watch 0.01 --count 2
check 'stats -w -n' rows 2 -w 0.01 -n 2
check 'stats -w before another option' rows 2 -w -n 2
check 'stats DEVICE --watch SECONDS' rows 2 0 --watch 0.01 --count 2
check 'stats --watch SECONDS DEVICE' rows 2 --watch 0.01 0 --count 2
check 'stats --watch --json is a line each' json_lines monitor \
	'[c["device"] for c in d["devices"]] == [0] and d["devices"][0]["free"] == 4032' \
	two_cards "$tool" stats --watch=0.01 --count=4 --json

# ---- health ----

health() { with MOCK_CARDS= MOCK_SYSFS="$work/sysfs" "$tool" health "$@"; }
check 'health' prints '^device 0: ok \(mock, /dev/paccel0\)$' health
check 'health where a device has come just now' fails 1 'there was no device just now' \
	with MOCK_CARDS=0 "$tool" health
check 'health explains what is not 0' prints '^  timeouts        3  DMA requests exceeded' health
check 'health explains nothing else' prints '^  bogus           0$' health
check 'health of a device' prints '^device 10: ok \(mock, /dev/paccel10\)$' health 10
check 'health --json' json health \
	'[c["node"] for c in d] == ["/dev/paccel0", "/dev/paccel10"] and d[0]["timeouts"] == 3' \
	health --json
check 'health --json of a device' json health 'd["health"] == "ok" and len(d) == 13' health 0 --json
sysfs paccel10 failed corrupt=1
rm "$work/sysfs/paccel10/quarantined"
not_ok() { ! health "$@" > "$work/out" && grep -E "$pattern" "$work/out"; }
pattern='^  out of service' check 'health of a device that has failed' not_ok
pattern='"health": "failed", .*"corrupt": 1' check 'health --json of it' not_ok 10 --json
check 'health of the other one' prints '^device 0: ok' health 0
pattern='^  quarantined +\?$' check 'health of an older driver' not_ok
rm "$work/sysfs/paccel10/health"
check 'health of a device that is removed' fails 1 'device 10 was removed just now' health

# ---- monitor ----

monitor() { with MOCK_CARDS=0,10 MOCK_SYSFS="$work/sysfs" timeout 60 "$tool" monitor -i 0.01 "$@"; }
sysfs paccel0 ok timeouts=3
sysfs paccel10 failed
# monitor_lines PATTERN COUNT OPTION...
monitor_lines() { [ "$(monitor "${@:3}" | tee "$work/out" | grep -cE "$1")" = "$2" ]; }
check 'monitor has a line per device and interval' monitor_lines '^[0-9:]{8} +(0|10) +0 B +4032 B ' 6 -n 3
check 'monitor of a device' monitor_lines '^[0-9:]{8} +10 .* failed$' 2 10 -n 2
check 'monitor --csv' monitor_lines '^[0-9T:.-]+Z,(0|10),/dev/paccel.*,0,4032,0,0,0.0,0.0,0.0,0.0,0.0,(ok|failed)$' 4 -n 2 -c
check 'monitor --csv has as many titles as values' \
	[ "$(monitor --csv -n 1 | awk -F, '{ print NF }' | sort -u | wc -l)" = 1 ]
check 'monitor --json' json_lines monitor '[c["device"] for c in d["devices"]] == [0, 10] and d["seconds"] > 0' \
	monitor -n 3 --json
export MOCK_DENY=1
check 'monitor names a device that cannot be opened' fails 0 'monitor: no permission to open /dev/paccel0' \
	monitor -n 1
check 'monitor leaves it out' json_lines monitor '[c["device"] for c in d["devices"]] == [10]' \
	monitor -n 2 --json
check 'monitor fails if no other one is left' fails 1 'no permission to open /dev/paccel10' monitor 10 -n 1
unset MOCK_DENY
check 'monitor does not mix formats' fails 2 'exclude each other' monitor --csv --json
check 'monitor without device' fails 1 'there is no device' with MOCK_CARDS= "$tool" monitor
for interval in 0 1e-300 0.0099 nan 86401; do
	check "an interval of $interval" fails 2 "interval is '$interval'" \
		one_card timeout 5 "$tool" monitor -n 1 --interval $interval
done

# ---- quota, reset ----

admin() { with MOCK_CARDS=0,10 MOCK_SYSFS="$work/sysfs" MOCK_DUMPS="$work/dumps" MOCK_PROC="$work/proc" "$@"; }
quota() { admin "$tool" quota "$@"; }
check 'quota without one' prints '^device 0: no quota, 4032 bytes of memory$' quota
# quota_is DEVICE SIZE BYTES
quota_is() {
	quota "$1" --set "$2" && [ "$(cat "$work/sysfs/paccel$1/max_user_bytes")" = "$3" ]
}
check 'quota --set' quota_is 10 2048 2048
check 'quota shows it' prints '^device 10: each user may allocate 2048 of 4032 bytes$' quota
check 'quota --json' json quota '[c["max_user_bytes"] for c in d] == [0, 2048]' quota --json
check 'quota of a device --json' json quota 'd["max_user_bytes"] == 2048' quota 10 --json
check 'quota --set in KiB' quota_is 10 3k 3072
check 'quota --set in GiB' quota_is 10 2GiB 2147483648
check 'quota --set none' quota_is 10 none 0
check 'quota --set 0 would lift the quota' fails 2 "size is '0': " quota 10 --set 0
check 'quota --set 0 names what does' fails 2 'none is no limit' quota 10 --set 0K
for size in '' x 1X 1KB -1 ' 1' 20000000T 99999999999999999999; do
	check "quota --set '$size'" fails 2 "size is '$size'" quota 10 --set "$size"
done
check 'quota --set requires a device' fails 2 'DEVICE is missing' quota --set 1
check 'quota of a device that is not there' fails 1 'there is no device 1' quota 1
rm "$work/sysfs/paccel10/max_user_bytes"
check 'quota that cannot be written' fails 1 'cannot write /sys/class/paccel/paccel10/max_user_bytes' \
	quota 10 --set 1

# client PID FD ID ADDRESS: a file of a process.
client() {
	mkdir -p "$work/proc/$1/fdinfo"
	printf '%s\n' 'pos:	0' 'drm-driver:	paccel' "drm-client-id:	$3" "drm-pdev:	$4" \
		'drm-engine-dma:	1000000 ns' 'drm-engine-capacity-dma:	2' 'drm-total-device:	2048' \
		'drm-resident-device:	2048' 'drm-total-host:	4096' 'paccel-bytes-h2d:	100' \
		'paccel-bytes-d2h:	200' 'paccel-bytes-d2d:	300' 'paccel-bytes-filled:	400' \
		> "$work/proc/$1/fdinfo/$2"
}
client 4001 3 7 0000:01:00.0
echo 'drm-driver:	other' > "$work/proc/4001/fdinfo/4"
check 'the usage line says so' prints '^usage: accelctl reset DEVICE \[--force\]$' "$tool" reset --help
check 'reset requires a device' fails 2 'DEVICE is missing' admin "$tool" reset
check 'reset' prints '^device 10 was reset: health is failed$' admin "$tool" reset 10
check 'reset of a PCI address' prints '^device 10 was reset' admin "$tool" reset 0000:0b:00.0
check 'reset of a device in use' fails 1 'device 0 is in use by process 4001: ' admin "$tool" reset 0
check 'reset --force' prints '^device 0 was reset: health is ok$' admin "$tool" reset 0 --force
check 'reset without permission' fails 1 'needs the capability CAP_SYS_ADMIN' \
	admin env MOCK_NO_ADMIN=1 "$tool" reset -d 10
check 'reset of an address that no device can have' fails 2 "'01:20.0' is no device" \
	admin "$tool" reset --force 01:20.0
check 'reset that fails' fails 1 'out of service' admin env MOCK_FAIL_RESET=1 "$tool" reset 10
check 'reset of a device that is not there' fails 1 'there is no device 1' admin "$tool" reset 1

# ---- top, topo ----

# Two contexts of one process, one of them twice (inherited or duplicated), and another process.
client 4001 5 8 0000:01:00.0
client 4001 6 8 0000:01:00.0
client 4002 3 9 0000:0b:00.0
client 4003 3 8 0000:01:00.0
client 4004 3 10 0000:77:00.0
printf 'Name:	train\nUid:	0	0	0	0\n' > "$work/proc/4001/status"
# Control characters (C1 too, in UTF-8), a byte that is not UTF-8, and a character that is shown.
odd=$'\033[m\xc2\x9b\x7f\xc2\x80\x80\xc3\xa9'
echo "$odd" > "$work/proc/4001/comm"
top() { admin timeout 60 "$tool" top -i 0.01 -n 1 "$@"; }
check 'top has a line per process and device' prints \
	'^ +4001 root +0 +4096 B +8192 B +0\.0 +0 B +0 B +0 B +0 B ' top
# shows TEXT COMMAND...: it prints it, and no control characters.
shows() {
	"${@:2}" > "$work/out" 2>&1
	LC_ALL=C grep -aF -e "$1" "$work/out" && ! LC_ALL=C grep -aP '[\x01-\x1f\x7f]|\xc2[\x80-\x9f]' "$work/out"
}
check 'top prints no control characters of a process' shows $' ?[m????\xc3\xa9' top
check 'top --json prints none' shows '"\u001b[m\u009b\u007f\u0080' top --json
check 'an error prints none' shows $'cannot open ?[m????\xc3\xa9: ' one_card "$tool" copy "$odd"
cp "$work/proc/4001/comm" "$work/$odd"
check 'copy prints none of the name of a file' shows $'/?[m????\xc3\xa9, 12 bytes' \
	one_card "$tool" copy "$work/$odd"
check 'top of a device' prints '^ +4002 +10 +2048 B ' top 10
printf 'Name:	xUid:\nUid:	0	0	0	0\n' > "$work/proc/4002/status"
check 'top shows the user of a process that is named xUid:' prints '^ +4002 root +10 ' top 10
rm "$work/proc/4002/status"
check 'top --json' json top '[(p["pid"], p["device"], p["device_memory"]) for p in d["processes"]] == [(4001, 0, 4096), (4002, 10, 2048)]' \
	top --json
check 'top --json of a name that is not UTF-8' json top \
	'd["processes"][0]["command"] == "\x1b[m\x9b\x7f\x80" + chr(0xfffd) + "\xe9" and d["processes"][0]["user"] == "root"' top --json
check 'top --json of a device' json top '[p["pid"] for p in d["processes"]] == [4002]' top --json -d 10
check 'top has a table per interval' [ "$(top -n 3 | grep -ac '^ *PID ')" = 3 ]
check 'top of a device that is not there' fails 1 'top: there is no device 7: there are 0, 10' top 7
check 'top of a PCI address' json top '[p["pid"] for p in d["processes"]] == [4002]' top --json 0000:0b:00.0
check 'top without process' prints '^no process has a device open$' \
	with MOCK_CARDS=0 MOCK_SYSFS="$work/sysfs" MOCK_PROC=/nowhere "$tool" top -n 1 -i 0.01
# After a stop of a second the five intervals, or those that are left, take their time all the same.
goes_on_slowly() {
	local start=${EPOCHREALTIME/[.,]/} pid
	LD_PRELOAD=$mock MOCK_CARDS=0 MOCK_SYSFS=$work/sysfs MOCK_PROC=$work/proc "$tool" "$@" > "$work/out" &
	pid=$!
	sleep 0.3
	kill -STOP "$pid"
	sleep 1
	kill -CONT "$pid"
	wait "$pid" && [ $((${EPOCHREALTIME/[.,]/} - start)) -gt 1700000 ]
}
check 'monitor has no burst of lines after a stop' goes_on_slowly monitor -i 0.2 -n 6
check 'top has no burst of tables after a stop' goes_on_slowly top -i 0.2 -n 6
check 'stats has no burst of lines after a stop' goes_on_slowly stats --watch=0.2 -n 6
for file in numa_node:1 current_link_speed:'2.5 GT/s PCIe' current_link_width:4; do
	echo "${file#*:}" > "$work/sysfs/paccel10/device/${file%%:*}"
done
check 'topo' prints '^10 +0000:0b:00.0 +1 +2.5 GT/s PCIe x4 +unknown +self' admin "$tool" topo
check 'topo --json' json topo \
	'[x["link_width"] for x in d["devices"]] == [None, 4] and [p["path"] for p in d["pairs"]][0::3] == ["self"] * 2' \
	admin "$tool" topo --json
check 'topo --json of a device' json topo \
	'[x["device"] for x in d["devices"]] == [10] and [(p["source"], p["destination"]) for p in d["pairs"]] == [(10, 0), (10, 10)]' \
	admin "$tool" topo --json 10
export MOCK_DENY=1
check 'topo of a device that cannot be opened' fails 1 'topo: no permission to open /dev/paccel0' \
	admin "$tool" topo
check 'topo shows what is known of it' json topo \
	'[x["bus_address"] for x in d["devices"]] == ["0000:01:00.0", "0000:0b:00.0"] and [p["path"] for p in d["pairs"]] == ["unknown"] * 3 + ["self"]' \
	admin "$tool" topo --json
unset MOCK_DENY
check 'topo --json without device' json topo 'd == {"devices": [], "pairs": []}' \
	with MOCK_CARDS= "$tool" topo --json
check 'topo without device' fails 1 'there is no device' with MOCK_CARDS= "$tool" topo

# ---- bench ----

check 'bench' prints '^    2016 B( +[0-9.]+ [KMGT]?i?B){6}$' two_cards "$tool" bench 10
check 'bench --json' json bench \
	'd["device"] == 10 and [p["size"] for p in d["points"]] == [64, 256] and all(p[k] > 0 for p in d["points"] for k in p)' \
	two_cards "$tool" bench --json -d 10 --max-size 256
check 'bench has a table for each peer' prints '^peer: device 10: mock at 0000:0b:00.0, /dev/paccel10$' two_cards "$tool" bench
check 'bench of copies to and from a peer' prints '^    2016 B( +[0-9.]+ [KMGT]?i?B){2}$' two_cards "$tool" bench
check 'bench --json has peers' json bench \
	'[(p["device"], [x["size"] for x in p["points"]]) for p in d["peers"]] == [(0, [64, 256])] and all(x[k] > 0 for x in d["peers"][0]["points"] for k in x)' \
	two_cards "$tool" bench --json 10 -m 256
check 'bench of a single device has no peer' json bench 'd["peers"] == []' one_card "$tool" bench --json -m 64
leaves_out_a_peer() {
	two_cards env MOCK_DENY=2 "$tool" bench -m 64 --json > "$work/left" 2> "$work/err" &&
		grep 'bench: no permission to open /dev/paccel10' "$work/err" &&
		json bench 'd["peers"] == []' cat "$work/left"
}
check 'bench leaves out a peer that cannot be opened' leaves_out_a_peer
check 'bench of larger sizes' json bench '[p["size"] for p in d["points"]] == [4096, 16384]' \
	with MOCK_CARDS=0 MOCK_BYTES=4194304 "$tool" bench --json --max-size 16K
locks_less() {
	(ulimit -l 64 && fails 0 'up to 64.0 KiB only' with MOCK_CARDS=0 MOCK_BYTES=4194304 "$tool" bench --json -m 256K &&
		cp "$work/out" "$work/less" && json bench \
			'[(p["h2d"] is None, p["fill"] is None) for p in d["points"]][2:] == [(False, False), (True, False)]' \
			cat "$work/less")
}
check 'bench where less may be locked' locks_less
check 'bench with a quo' json bench '[p["size"] for p in d["points"]] == [64, 256, 504]' \
	with MOCK_CARDS=0 MOCK_QUOTA=1024 "$tool" bench --json
draws() {
	one_card "$tool" bench -m 256 --svg "$work/chart.svg" && python3 - "$work/chart.svg" <<-'PROGRAM'
		import sys
		import xml.etree.ElementTree as xml
		svg = "{http://www.w3.org/2000/svg}"
		root = xml.parse(sys.argv[1]).getroot()
		_, _, width, height = map(float, root.get("viewBox").split())
		lines = root.findall(svg + "polyline")
		assert len(lines) == 6, lines
		for line in lines:
		    points = [tuple(map(float, point.split(","))) for point in line.get("points").split()]
		    assert len(points) == 2, points
		    assert all(0 < x < width and 0 < y < height for x, y in points), points
		    assert points[0][0] < points[1][0], points
	PROGRAM
}
check 'bench --svg' draws
check 'bench --svg that cannot be written' fails 1 'cannot write /nowhere/x.svg' \
	one_card "$tool" bench -m 64 --svg /nowhere/x.svg
for size in 0 0K none; do
	check "bench of size $size" fails 2 "size is '$size': " one_card "$tool" bench --max-size $size
done
check 'bench that fails' fails 1 'bench: /dev/paccel0: the device failed' \
	with MOCK_CARDS=0 MOCK_FAIL_COPY=6 "$tool" bench

# ---- Colour ----

# colours EXPECTED VARIABLE=VALUE...: how many lines of health have an escape sequence on a terminal.
colours() {
	local found
	found=$(MOCK_SYSFS=$work/sysfs MOCK_CARDS=0 TERM=xterm env -u NO_COLOR "${@:2}" script -qec \
		"env LD_PRELOAD=$mock $tool health" /dev/null | grep -c $'\033')
	[ "$found" = "$1" ] || { echo "$found lines"; return 1; }
}
check 'colour on a terminal' colours 2
check 'no colour with NO_COLOR' colours 0 NO_COLOR=1
check 'colour with an empty NO_COLOR' colours 2 NO_COLOR=
check 'no colour on a dumb terminal' colours 0 TERM=dumb
no_escapes() { ! health | grep $'\033'; }
check 'no colour elsewhere' no_escapes

# ---- In place on a terminal ----

# on_terminal COMMAND: what a command of the shell, with the mock, prints to a terminal of 24 lines; $rows: of so many.
on_terminal() {
	MOCK_CARDS=0,10 MOCK_SYSFS=$work/sysfs MOCK_PROC=$work/proc TERM=${TERM_IS:-xterm} script -qec \
		"stty rows ${rows:-24}; export LD_PRELOAD=$mock; $1" /dev/null > "$work/screen"
}
# refreshes COUNT COMMAND: so often it clears the screen from its top.
refreshes() {
	on_terminal "$2"
	cat -v "$work/screen"
	[ "$(grep -oF $'\033[H\033[J' "$work/screen" | wc -l)" = "$1" ]
}
check 'top is refreshed in place on a terminal' refreshes 3 "$tool top -i 0.01 -n 3"
TERM_IS=dumb check 'top is not on a dumb terminal' refreshes 0 "$tool top -i 0.01 -n 3"
# top_rows COUNT ROWS: on a terminal of so many rows it shows so many processes, the one with more memory first.
top_rows() {
	rows=$2 on_terminal "$tool top -i 0.01 -n 1"
	cat -v "$work/screen"
	[ "$(grep -acE '^ +400[12] ' "$work/screen")" = "$1" ] && grep -qaE '^ +4001 ' "$work/screen"
}
check 'top shows all processes where there is room' top_rows 2 24
check 'top shows as many as fit' top_rows 1 4
# The terminal is standard error only.
shows_progress() {
	on_terminal "$tool bench -m 64 --json > $work/bench" || return 1
	cat -v "$work/screen"
	[ "$(grep -oE $'\r\033\\[K[0-9]+ of 8: [a-z0-9_]+, 64 B' "$work/screen" | sed 's/.*K//' | xargs)" = \
		"$(printf '%s, 64 B ' '1 of 8: h2d' '2 of 8: d2h' '3 of 8: h2d_pageable' '4 of 8: d2h_pageable' '5 of 8: d2d' \
			'6 of 8: fill' '7 of 8: to_peer' '8 of 8: from_peer' | xargs)" ] &&
		[ "$(tail -c 4 "$work/screen")" = $'\r\033[K' ] && json bench 'd["device"] == 0' cat "$work/bench"
}
check 'bench shows its progress on a terminal, and clears it' shows_progress
shows_no_progress() { two_cards "$tool" bench -m 64 2>&1 > "$work/out" | (! grep .); }
check 'bench shows none elsewhere' shows_no_progress
redraws() { on_terminal "$tool copy Makefile" && grep -cE $'\r\\[#*\\.*\\] .* left\033\\[K' "$work/screen"; }
check 'copy redraws its progress on a terminal' redraws

# ---- dump ----

mkdir -p "$work/dumps/devcd3/failing_device"
echo 'PCI_SLOT_NAME=0000:0b:00.0' > "$work/dumps/devcd3/failing_device/uevent"
head -c 10000 /dev/urandom > "$work/dump"
cp "$work/dump" "$work/dumps/devcd3/data"
saves_dump() {
	admin "$tool" dump "$@" && cmp "$work/dump" "$work/saved"
}
check 'dump' saves_dump 10 -o "$work/saved"
check 'dump keeps the dump of the kernel' cmp "$work/dump" "$work/dumps/devcd3/data"
check 'dump replaces no file' fails 1 "cannot create $work/saved: File exists" \
	admin "$tool" dump 10 -o "$work/saved"
dumps_to_output() { admin "$tool" dump -d 10 -o - | cmp - "$work/dump"; }
check 'dump of a PCI address' fails 1 "cannot create $work/saved: File exists" \
	admin "$tool" dump -d 0000:0b:00.0 -o "$work/saved"
check 'dump to standard output' dumps_to_output
default_name() {
	(cd "$work" && LD_PRELOAD=$mock MOCK_CARDS=10 MOCK_SYSFS=$work/sysfs MOCK_DUMPS=$work/dumps \
		"$tool" dump) && cmp "$work/dump" "$work/paccel10.dump"
}
check 'dump prints no control characters of the name of a file' shows $'?[m????\xc3\xa9.dump: 10000 bytes' \
	admin "$tool" dump 10 -o "$work/$odd.dump"
check 'dump to a file of the name of the device' default_name
check 'dump of a device that has none' fails 1 'there is no core dump of device 0' admin "$tool" dump 0
deletes_dump() {
	rm "$work/saved"
	saves_dump 10 -o "$work/saved" --delete && [ "$(head -c 1 "$work/dumps/devcd3/data")" = 1 ]
}
check 'dump --delete' deletes_dump

# ---- copy ----

# Sizes around the pieces.
copies() {
	head -c "$1" /dev/urandom > "$work/$1.bin"
	one_card "$tool" copy "$work/$1.bin" > "$work/out" || { cat "$work/out"; return 1; }
	tail -n 1 "$work/out" | grep -xF "all $1 bytes came back"
}
for size in 0 1 64 2015 2016 2017 4032 4033 100000; do
	check "copy of $size bytes" copies $size
done
check 'copy shows the device' prints '^device 0: mock at 0000:01:00.0, .* 4032 bytes .* granule 64 bytes$' \
	one_card "$tool" copy "$work/2016.bin"
check 'copy shows progress' prints '^\[#{12}\.{12}\]  50 %  .* left$' \
	one_card "$tool" copy "$work/4032.bin"
check 'copy shows the statistics' prints '^copied inside the device +0 B +2017 B +\+2017 B$' \
	one_card "$tool" copy "$work/2017.bin"
check 'copy that frees its memory has changed nothing' prints '^available +4032 B +4032 B +\+0 B$' \
	one_card "$tool" copy "$work/2017.bin"
check 'copy says which bytes are those of the fill' prints '^The test of the fill filled 4032 B and copied 4032 B ' \
	one_card "$tool" copy "$work/2017.bin"
check 'copy --json' json copy 'd["ok"] and d["bytes"] == 2017 and d["piece"] == 2016 and d["different"] == 0' \
	one_card "$tool" copy --json "$work/2017.bin"
cp "$work/64.bin" "$work/a \"b\\"
check 'copy --json of an odd name' json copy 'd["file"].endswith("a \"b\\")' \
	one_card "$tool" copy --json "$work/a \"b\\"
# Each of these bytes is none of UTF-8: a lone continuation, an overlong form, a surrogate, beyond the end.
not_utf8=$work/$'x\x80\xc0\xaf\xed\xa0\x80\xf5y\xc3\xa9\xe2'
cp "$work/64.bin" "$not_utf8"
check 'copy --json of a name that is not UTF-8' json copy \
	'd["file"].endswith("x" + 7 * chr(0xfffd) + "y" + chr(0xe9) + chr(0xfffd))' \
	one_card "$tool" copy --json "$not_utf8"
check 'copy takes what the quota leaves' prints 'in pieces of 504 bytes$' \
	with MOCK_CARDS=0 MOCK_QUOTA=1024 "$tool" copy "$work/4033.bin"
comes_back_wrong() {
	with MOCK_CARDS=0 MOCK_CORRUPT=1 "$tool" copy "$work/4033.bin" > "$work/out"
	[ $? = 1 ] && tail -n 1 "$work/out" | grep '^3 of 4033 bytes came back wrong, the first at 1008$'
}
check 'copy notices wrong bytes' comes_back_wrong
check 'copy --json notices wrong bytes' json copy 'not d["ok"] and d["different"] == 1' \
	with MOCK_CARDS=0 MOCK_CORRUPT=1 "$tool" copy --json "$work/64.bin"
check 'copy of a file that is not there' fails 1 'No such file' one_card "$tool" copy "$work/none"
check 'copy of a directory' fails 1 'directory' one_card "$tool" copy "$work"
check 'copy that fails half-way' fails 1 'copy: /dev/paccel0: the device failed' \
	with MOCK_CARDS=0 MOCK_FAIL_COPY=6 "$tool" copy "$work/4033.bin"
check 'a fill that fails' fails 1 'fill: /dev/paccel0: the device did not answer' \
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
