#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What `make install` puts where, and that a program can be built from nothing else.
# shellcheck disable=SC2317 # functions are called through check
set -u

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/unit/tap.sh
. tests/unit/tap.sh

work=$(realpath "$BUILD")/tests/unit/install
root=$work/root
prefix=/opt/accel
rm -rf "$work"
mkdir -p "$work"

install_it() { MAKEFLAGS="" make -s install-lib DESTDIR="$root" PREFIX="$prefix"; }

all_is_there() {
	local file missing=0
	for file in include/accel/{accel,buffer,pool,resource}.h lib/libaccel.{so.0,so,a} \
		lib/pkgconfig/accel.pc lib/cmake/accel/accelConfig.cmake bin/accelctl \
		share/man/man1/accelctl.1 share/man/man3/accel_{device_open,capability}.3 \
		share/man/man7/accel.7 \
		share/bash-completion/completions/accelctl share/accel/accelctl.schema.json; do
		[ -e "$root$prefix/$file" ] || { echo "no $file"; missing=1; }
	done
	[ "$(readlink "$root$prefix/lib/libaccel.so")" = libaccel.so.0 ] && return "$missing"
}

# With no other way to its library than its own.
plugin_loads() {
	env -u LD_LIBRARY_PATH "$BUILD/tests/unit/paddle_loader" \
		"$root$prefix/lib/paddle_custom_device/libpaddle_accel.so" 96 1128 | grep ' devices$'
}

# It is not there where libdrm is not.
has_drm() { [ -e "$BUILD/lib/libaccel_drm.so.0" ]; }

drm_is_there() {
	[ -e "$root$prefix/include/accel/drm.h" ] && [ -e "$root$prefix/lib/libaccel_drm.so.0" ] &&
		[ "$(readlink "$root$prefix/lib/libaccel_drm.so")" = libaccel_drm.so.0 ] &&
		[ -e "$root$prefix/lib/pkgconfig/accel-drm.pc" ]
}

cat > "$work/consumer.c" <<'PROGRAM'
#include <accel/accel.h>
#include <stdio.h>

int main(void)
{
	struct accel_device *dev;
	int err = accel_device_open(1 << 20, &dev);

	printf("%s: %s\n", accel_version(), accel_last_error());
	return err >= 0 || dev != NULL || accel_device_count() < 0;
}
PROGRAM

version() { sed -n 's/#define ACCEL_VERSION_[A-Z]* //p' include/accel/accel.h | paste -sd.; }

pc() {
	PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_PATH=$root$prefix/lib/pkgconfig pkg-config "$@" accel
}

cat > "$work/drm.c" <<'PROGRAM'
#include <accel/drm.h>
#include <stdio.h>

int main(void)
{
	printf("%s: %d\n", accel_version(), accel_drm_list(NULL, 0));
	return accel_drm_list(NULL, 1) >= 0;
}
PROGRAM

# libdrm is the system's, below no sysroot.
drm_builds_and_runs() {
	local flags
	flags=$(PKG_CONFIG_PATH=$root$prefix/lib/pkgconfig pkg-config --define-variable=prefix="$root$prefix" \
		--define-variable=libdir="$root$prefix/lib" \
		--define-variable=includedir="$root$prefix/include" --cflags --libs accel-drm) || return 1
	# shellcheck disable=SC2086 # words
	(cd / && gcc -Wall -Wextra -Werror -o "$work/drm" "$work/drm.c" $flags) &&
		LD_LIBRARY_PATH=$root$prefix/lib "$work/drm" | grep "^$(version): "
}

# Away from the tree, so that nothing of it is found by accident.
builds_and_runs() {
	local compiler=$1 source=$2 libs
	shift 2
	libs=$(pc --libs "$@") || return 1
	[ -z "$*" ] || libs=${libs/-laccel/-l:libaccel.a}
	# shellcheck disable=SC2046,SC2086 # words
	(cd / && $compiler -Wall -Wextra -Werror $(pc --cflags) -o "$work/consumer" "$source" $libs) &&
		LD_LIBRARY_PATH=$root$prefix/lib "$work/consumer" | grep "^$(version): "
}

cat > "$work/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.18)
project(consumer C)
find_package(accel 0.1 REQUIRED)
add_executable(consumer consumer.c)
target_link_libraries(consumer PRIVATE accel::accel)
CMAKE

cmake_builds_and_runs() {
	(cd / && cmake -S "$work" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$root$prefix" &&
		cmake --build "$work/cmake") && "$work/cmake/consumer" | grep "^$(version): "
}

# The version in the footer of every page.
pages_have_the_version() { ! grep -rL "^\.TH .*\"libaccel $(version)\"" "$root$prefix/share/man" | grep .; }
version_is_the_headers() { [ "$(pc --modversion)" = "$(version)" ]; }
tool_finds_its_library() { "$root$prefix/bin/accelctl" --version | grep -F "$(version)"; }
twice_is_the_same() { install_it && all_is_there; }

cp "$work/consumer.c" "$work/consumer.cc"
check 'make install works' install_it
check 'everything is in its place' all_is_there
check 'man pages have the version of the header' pages_have_the_version
check 'pkg-config gives the version of the header' version_is_the_headers
check 'a C program builds and runs' builds_and_runs gcc "$work/consumer.c"
check 'a C program builds and runs, by CMake' cmake_builds_and_runs
check 'a C++ program builds and runs' builds_and_runs g++ "$work/consumer.cc"
check 'a static program builds and runs' builds_and_runs gcc "$work/consumer.c" --static
if has_drm; then
	check 'everything for DRM is in its place' drm_is_there
	check 'a program with DRM builds and runs' drm_builds_and_runs
fi
check 'the plugin for PaddlePaddle loads' plugin_loads
check 'accelctl finds its library' tool_finds_its_library
# As an interactive shell loads it, with the tool beside it on the path.
completion_works() {
	PATH=$root$prefix/bin:$PATH bash --norc -c "
		. '$root$prefix/share/bash-completion/completions/accelctl'
		COMP_WORDS=(accelctl st) COMP_CWORD=1
		_accelctl accelctl st accelctl
		[ \"\${COMPREPLY[*]}\" = stats ] && complete -p accelctl | grep -F -- '-F _accelctl accelctl'"
}
check 'the completion works where it is installed' completion_works
check 'make install works again' twice_is_the_same
tap_end
