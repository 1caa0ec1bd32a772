#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The plugin for PaddlePaddle as it is built: what it exports and needs, and that it loads.
# shellcheck disable=SC2317 # functions are called through check
set -u

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/unit/tap.sh
. tests/unit/tap.sh

out=$(realpath "$BUILD")
plugin=$out/lib/paddle_custom_device/libpaddle_accel.so
work=$out/tests/unit/paddle
rm -rf "$work"
mkdir -p "$work"

exports_one_function() {
	[ "$(nm -D --defined-only "$plugin" | awk '{ print $3 }')" = InitPlugin ]
}

# libgcc_s unwinds the stack for Paddle's exceptions; Paddle needs it itself.
needs_libaccel_and_libc_only() {
	local needed
	needed=$(readelf -d "$plugin" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
	echo "$needed"
	grep -qx 'libaccel\.so\.0' <<< "$needed" || return 1
	! grep -vE '^(libaccel\.so\.0|libc\.so\.6|libgcc_s\.so\.1|ld-linux[-a-z0-9_]*\.so\.[0-9])$' <<< "$needed"
}

looks_beside_and_above() {
	# shellcheck disable=SC2016 # the loader expands it
	readelf -d "$plugin" | grep -qF 'Library runpath: [$ORIGIN:$ORIGIN/..]'
}

uses_the_public_library() {
	! nm -D --undefined-only "$plugin" | grep -oE ' U accel_\w+' | sed 's/ U //' |
		grep -vxF "$(grep -oE 'accel_\w+' lib/libaccel.map)"
}

# Paddle loads every *.so of the folder: what is none of its plugins has no such name, as the engine.
is_alone_in_its_folder() { [ "$(basename -a "$(dirname "$plugin")"/*.so)" = libpaddle_accel.so ]; }

# load PLUGIN PARAMS INTERFACE DEVICES
load() {
	local said
	said=$(env -u LD_LIBRARY_PATH LD_PRELOAD="$out/tests/unit/libmock.so" \
		"$out/tests/unit/paddle_loader" "$1" "$2" "$3" 2> "$work/err")
	cat "$work/err"
	[ "$said" = "$4 devices" ]
}

# There is no Paddle with kernels in this process, which is all that it may have to say.
loads() {
	MOCK_CARDS=0,1 load "$plugin" "$1" "$2" 2 && ! grep -v 'no C functions for kernels' "$work/err"
}

# As a Python package has them.
loads_with_libaccel_beside_it() {
	mkdir -p "$work/package"
	cp "$plugin" "$out/lib/libaccel.so.0" "$work/package"
	MOCK_CARDS=0 load "$work/package/libpaddle_accel.so" 96 1128 1
}

loads_without_card() {
	load "$plugin" 96 1128 0 && grep -q '^paddle_accel: no device: ' "$work/err"
}

check 'it exports InitPlugin and nothing else' exports_one_function
check 'it needs libaccel, libc and the unwinder only' needs_libaccel_and_libc_only
check 'it looks for libaccel beside it and above' looks_beside_and_above
check 'it uses public functions of libaccel only' uses_the_public_library
check 'it is alone in its folder' is_alone_in_its_folder
for sizes in '88 904' '88 912' '96 920' '96 1032' '96 1040' '96 1128'; do
	# shellcheck disable=SC2086 # words
	check "it loads with structs of $sizes bytes" loads $sizes
done
check 'it loads with libaccel beside it' loads_with_libaccel_beside_it
check 'it loads without card' loads_without_card
tap_end
