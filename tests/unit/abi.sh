#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What programs see of the library: header, symbols, libraries it needs.
# shellcheck disable=SC2317 # functions are called through check
set -u

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/unit/tap.sh
. tests/unit/tap.sh

lib=$BUILD/lib
work=$BUILD/tests/unit/abi
rm -rf "$work"
mkdir -p "$work"

headers=(include/accel/{accel,buffer,pool,resource}.h)

functions_of_header() {
	grep -ohE '^[a-z][a-z ]*\*?accel_\w+\(' "${headers[@]}" |
		grep -oE 'accel_\w+' | sort
}

symbols_of_map() {
	grep -oE '^\s+accel_\w+;' lib/libaccel.map | grep -oE 'accel_\w+' | sort
}

symbols_of_so() {
	nm -D --defined-only "$lib/libaccel.so.0" | sed -n 's/.* [TDBRWV] //p' | sed 's/@.*//' | sort
}

symbols_of_archive() {
	nm --defined-only "$lib/libaccel.a" | sed -n 's/.* [TDBRWV] //p' | sort
}

every_symbol_has_a_version() {
	! nm -D --defined-only "$lib/libaccel.so.0" | grep ' T ' | grep -v '@@ACCEL_0\.1$'
}

header_has_the_functions_of_the_contract() {
	[ "$(functions_of_header | wc -l)" -ge 97 ]
}

same() { diff -u <("$1") <("$2"); }

# A program that takes the address of every function of the map, declared by the headers alone.
map_is_in_header() {
	{
		printf '#include <%s>\n' "${headers[@]#include/}"
		echo 'void *functions[] = {'
		symbols_of_map | sed 's/.*/(void *)&,/'
		echo '}; int main(void) { return !functions[0]; }'
	} > "$work/map.c"
	gcc -Wall -Werror -Iinclude -o "$work/map" "$work/map.c" -L"$lib" -laccel &&
		LD_LIBRARY_PATH=$lib "$work/map"
}

needs_libc_only() {
	local needed
	needed=$(readelf -d "$lib/libaccel.so.0" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
	echo "$needed"
	# The loader is libc's own: it has the thread-local storage.
	! grep -vE '^(libc\.so\.6|ld-linux[-a-z0-9_]*\.so\.[0-9])$' <<< "$needed"
}

is_never_unloaded() { readelf -d "$lib/libaccel.so.0" | grep -q NODELETE; }
has_its_name() { readelf -d "$lib/libaccel.so.0" | grep -q 'SONAME.*\[libaccel\.so\.0\]'; }

drm_functions() { grep -oE '^int accel_\w+\(' include/accel/drm.h | grep -oE 'accel_\w+' | sort; }
drm_map() { grep -oE '^\s+accel_\w+;' lib/drm/libaccel_drm.map | grep -oE 'accel_\w+' | sort; }
drm_symbols() {
	nm -D --defined-only "$lib/libaccel_drm.so.0" | sed -n 's/.* [TDBRWV] //p' | sed 's/@.*//' | sort
}
drm_uses_the_public_library() {
	! nm -D --undefined-only "$lib/libaccel_drm.so.0" | grep -oE ' U accel_\w+' | sed 's/ U //' |
		grep -vxF "$(symbols_of_map)"
}

check 'the headers have all functions' header_has_the_functions_of_the_contract
check 'every function of the headers is in the map' same functions_of_header symbols_of_map
check 'every symbol of the map is declared in the headers' map_is_in_header
check 'the shared library exports the map and nothing else' same symbols_of_map symbols_of_so
check 'the archive exports the map and nothing else' same symbols_of_map symbols_of_archive
check 'every symbol has a version' every_symbol_has_a_version
check 'the shared library needs libc only' needs_libc_only
check 'the shared library is never unloaded' is_never_unloaded
check 'the shared library is called libaccel.so.0' has_its_name
if [ -e "$lib/libaccel_drm.so.0" ]; then
	check 'the map for DRM has the functions of its header' same drm_functions drm_map
	check 'the library for DRM exports its map and nothing else' same drm_map drm_symbols
	check 'the library for DRM uses public functions only' drm_uses_the_public_library
fi
for header in "${headers[@]}"; do
	for compiler in gcc clang; do
		check "${header##*/} compiles alone as C11 ($compiler)" "$compiler" -std=c11 -Wall \
			-Wextra -Wpedantic -Werror -fsyntax-only -x c -Iinclude "$header"
	done
	for compiler in g++ clang++; do
		check "${header##*/} compiles alone as C++17 ($compiler)" "$compiler" -std=c++17 -Wall \
			-Wextra -Wpedantic -Werror -fsyntax-only -x c++ -Iinclude "$header"
	done
done
tap_end
