# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Checks of the headers that programs include. Sourced by tests/static/run, which sets `work`.

: "${work:?}"

strict=(-Wall -Wextra -Wpedantic -Werror -fsyntax-only)

# Compiles a program that is nothing but the header, twice.
alone() { # header, compiler and flags...
	local header=$1
	shift
	printf '#include <%s>\n#include <%s>\n' "$header" "$header" | "$@" -
}

# 32-bit programs need no 32-bit libc here: the header uses the kernel's headers only.
m32() { echo "-m32 -isystem /usr/include/$(gcc -print-multiarch)"; }

check_uapi_header_alone() {
	local flags
	for flags in '-std=gnu11' '-std=c11' "-std=gnu11 $(m32)"; do
		# shellcheck disable=SC2086 # words
		alone linux/paccel.h gcc "${strict[@]}" -Wpadded -Iinclude/uapi $flags -x c || return 1
		# shellcheck disable=SC2086
		alone linux/paccel.h clang "${strict[@]}" -Iinclude/uapi $flags -x c || return 1
	done
	for flags in '-std=c++17' "-std=c++17 $(m32)"; do
		# shellcheck disable=SC2086
		alone linux/paccel.h g++ "${strict[@]}" -Iinclude/uapi $flags -x c++ || return 1
	done
}

# The structures as a compiler lays them out.
layout() { # compiler and flags...
	echo '#include <linux/paccel.h>' |
		"$@" -g -fno-eliminate-unused-debug-types -Iinclude/uapi -c -x c -o "$work/layout.o" - &&
		pahole "$work/layout.o"
}

check_uapi_one_layout() {
	layout gcc >"$work/layout.64" || return 1
	# shellcheck disable=SC2046 # words
	layout gcc $(m32) >"$work/layout.32" || return 1
	[ "$(grep -c '^struct paccel_' "$work/layout.64")" -ge 10 ] || {
		echo 'pahole does not see the structures'
		return 1
	}
	diff -u "$work/layout.64" "$work/layout.32" || return 1
	# So pahole marks a hole.
	grep -n 'XXX' "$work/layout.64" | nothing
}

# The headers of other projects that ours include are where theirs are, or declarations of ours.
check_public_headers_alone() {
	local header abi=-Ilib/sundials/abi
	for header in $(files 'include/accel/*.h' | grep -v /compat/ | sed 's,^include/,,'); do
		alone "$header" gcc "${strict[@]}" -std=c11 -Iinclude $abi -x c || return 1
		alone "$header" clang "${strict[@]}" -std=c11 -Iinclude $abi -x c || return 1
		alone "$header" g++ "${strict[@]}" -std=c++17 -Iinclude $abi -x c++ || return 1
	done
}

# The C++ headers, and those by other projects' names.
check_cxx_headers_alone() {
	local header standard
	for header in $(files 'include/accel/*.hpp' | grep -v /compat/ | sed 's,^include/,,') \
		$(files include/accel/compat | sed 's,^include/accel/compat/,,'); do
		for standard in 17 20; do
			alone "$header" g++ "${strict[@]}" -std=c++$standard -Iinclude/accel/compat \
				-Iinclude -x c++ || return 1
		done
		alone "$header" clang++ "${strict[@]}" -std=c++20 -Iinclude/accel/compat -Iinclude \
			-x c++ || return 1
	done
}
