#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The helper for SUNDIALS as it is built: what it exports and needs, which SUNDIALS it is built for,
# and whole programs with SUNDIALS itself over the mock.
# shellcheck disable=SC2317 # functions are called through check
set -u

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/unit/tap.sh
. tests/unit/tap.sh

out=$(realpath "$BUILD")
clients=$out/tests/clients/sundials
# As it is for 7.3 and later, whatever this machine has.
lib=$clients/libaccel_sundials.so.0
work=$out/tests/unit/sundials
rm -rf "$work"
mkdir -p "$work"

functions_of_header() {
	grep -oE '^(SUN\w+ )?SUNMemoryHelper_\w+\(' include/accel/sundials.h | grep -oE 'SUNMemoryHelper_\w+' | sort
}

functions_of_map() { grep -oE '^\s+SUN\w+;' lib/sundials/libaccel_sundials.map | tr -d '\t;' | sort; }

functions_of() { nm -D --defined-only "$1" | sed -n 's/.* [TDBRWV] //p' | sed 's/@.*//' | sort; }

same() { diff -u <("$1") <("${@:2}"); }

every_symbol_has_a_version() {
	! nm -D --defined-only "$lib" | grep ' T ' | grep -v '@@ACCEL_SUNDIALS_0\.1$'
}

uses_public_functions_only() {
	! nm -D --undefined-only "$lib" | grep -oE ' U accel_\w+' | sed 's/ U //' |
		grep -vxF "$(grep -oE 'accel_\w+' lib/libaccel.map)"
}

# What the program brings: nothing else of SUNDIALS is called.
takes_three_functions_of_sundials() {
	[ "$(nm -D --undefined-only "$lib" | grep -oE '\bSUN\w+' | sort | xargs)" = \
		"SUNDIALSGetVersionNumber SUNMemoryHelper_NewEmpty SUNMemoryNewEmpty" ]
}

needs_libaccel_and_libc_only() {
	! readelf -d "$lib" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
		grep -vE '^(libaccel\.so\.0|libc\.so\.6|ld-linux[-a-z0-9_]*\.so\.[0-9])$'
}

prints_nothing_and_ends_nothing() {
	! nm -D --undefined-only "$lib" | grep -oE '\b(\w*printf\w*|puts\w*|f?putc\w*|fwrite|write|perror|abort|_?exit|raise|__assert\w*)\b'
}

# ---- Headers and libraries of SUNDIALS, as they might be ----

# sundials_at PREFIX VERSION: our declarations as those of a release, and a library that is called so.
sundials_at() {
	local prefix=$1 version=$2
	mkdir -p "$prefix/include/sundials" "$prefix/lib"
	cp lib/sundials/abi/sundials/*.h "$prefix/include/sundials"
	echo "#define SUNDIALS_VERSION \"$version\"" > "$prefix/include/sundials/sundials_config.h"
	sed -i -e "s/VERSION_MAJOR 7\$/VERSION_MAJOR ${version%%.*}/" \
		-e "s/define ACCEL_SUNDIALS_MINOR 3\$/define ACCEL_SUNDIALS_MINOR $(cut -d. -f2 <<< "$version")/" \
		"$prefix/include/sundials/sundials_memory.h"
	printf 'void %s(void) {}\n' SUNDIALSGetVersionNumber SUNMemoryHelper_NewEmpty SUNMemoryNewEmpty |
		gcc -shared -fPIC -Wl,-soname,libsundials_core.so.7 -o "$prefix/lib/libsundials_core.so" -x c -
}

# make_in FOLDER TARGET [VARIABLE=VALUE...]: what does not depend on SUNDIALS is there already.
make_in() {
	local at=$work/$1 target=$2
	shift 2
	[ -d "$at" ] || { mkdir "$at" && cp -a "$out/lib" "$out/tools" "$out/packages" "$at"; }
	env MAKEFLAGS= "$@" make -s BUILD="$at" "$target"
}

make_lib() { make_in "$1" "$work/$1/lib/libaccel_sundials.so.0" "${@:2}"; }

built_for() { # folder, release
	sed -n 's/^SUNDIALS_VERSION := //p' "$work/$1/sundials/found.mk" | grep -qx "$2" &&
		readelf -d "$work/$1/lib/libaccel_sundials.so.0" | grep -F '[libsundials_core.so.7]'
}

# AllocStrided came with 7.3; without it the sizes that the sources assert are others.
at_a_prefix() {
	make_lib prefix "SUNDIALS=$work/at-7.2.1" && built_for prefix 7.2.1 &&
		! functions_of "$work/prefix/lib/libaccel_sundials.so.0" | grep AllocStrided
}

with_pkg_config() {
	mkdir -p "$work/pc"
	cat > "$work/pc/sundials.pc" <<-END
	Name: sundials
	Description: of a test
	Version: 7.5.0
	Cflags: -I$work/at-7.5.0/include
	Libs: -L$work/at-7.5.0/lib -lsundials_core
	END
	make_lib pkgconfig "PKG_CONFIG_PATH=$work/pc" SUNDIALS= && built_for pkgconfig 7.5.0 &&
		functions_of "$work/pkgconfig/lib/libaccel_sundials.so.0" | grep AllocStrided
}

cmake_package() { # prefix
	mkdir -p "$1/lib/cmake/sundials"
	cat > "$1/lib/cmake/sundials/SUNDIALSConfig.cmake" <<-'END'
	add_library(SUNDIALS::core SHARED IMPORTED)
	get_filename_component(at "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
	set_target_properties(SUNDIALS::core PROPERTIES
	  IMPORTED_LOCATION "${at}/lib/libsundials_core.so"
	  IMPORTED_SONAME libsundials_core.so.7
	  INTERFACE_INCLUDE_DIRECTORIES "${at}/include")
	END
}

with_cmake() {
	cmake_package "$work/at-7.5.0"
	make_lib cmake "CMAKE_PREFIX_PATH=$work/at-7.5.0" SUNDIALS= && built_for cmake 7.5.0
}

# The same place has another release today.
a_new_release_is_seen() {
	rm -rf "$work/at-now"
	cp -r "$work/at-7.2.1" "$work/at-now"
	make_lib now "SUNDIALS=$work/at-now" && built_for now 7.2.1 || return 1
	rm -rf "$work/at-now"
	cp -r "$work/at-7.5.0" "$work/at-now"
	make_lib now "SUNDIALS=$work/at-now" && built_for now 7.5.0 &&
		functions_of "$work/now/lib/libaccel_sundials.so.0" | grep AllocStrided
}

refused() { # release
	! make_lib refused "SUNDIALS=$work/at-$1" 2> "$work/err" &&
		grep "SUNDIALS $1 in $work/at-$1 is not supported: 7.1 and later 7.x are" "$work/err"
}

nothing_there() {
	! make_lib refused "SUNDIALS=$work/nowhere" 2> "$work/err" &&
		grep "there is no SUNDIALS in $work/nowhere" "$work/err"
}

# One that is merely there does not stop a build that nobody asked to use it.
an_old_one_that_is_found() {
	cmake_package "$work/at-6.4.1"
	make_lib old "CMAKE_PREFIX_PATH=$work/at-6.4.1" SUNDIALS= > "$work/said" &&
		grep 'SUNDIALS 6.4.1 in .* is not supported' "$work/said" &&
		! readelf -d "$work/old/lib/libaccel_sundials.so.0" | grep libsundials
}

# Built with MPI: its headers need another project's.
with_mpi() { # prefix
	rm -rf "$1" "$work/mpi"
	sundials_at "$1" 7.5.0
	echo '#define SUNDIALS_MPI_ENABLED 1' >> "$1/include/sundials/sundials_config.h"
	sed -i '1i #include <mpi.h>' "$1/include/sundials/sundials_memory.h"
	mkdir -p "$work/mpi"
	echo 'typedef int MPI_Comm;' > "$work/mpi/mpi.h"
}

mpi_that_is_not_found() {
	with_mpi "$work/at-mpi" && cmake_package "$work/at-mpi" &&
		! make_lib nompi "SUNDIALS=$work/at-mpi" PKG_CONFIG_LIBDIR=/nowhere 2> "$work/err" &&
		grep 'SUNDIALS 7.5.0 in .* has headers that do not compile (mpi.h?' "$work/err" &&
		make_lib nompi "CMAKE_PREFIX_PATH=$work/at-mpi" SUNDIALS= PKG_CONFIG_LIBDIR=/nowhere DRM= |
			grep 'has headers that do not compile'
}

mpi_of_the_environment() {
	make_lib flags "SUNDIALS=$work/at-mpi" "SUNDIALS_CPPFLAGS=-I$work/mpi" \
		PKG_CONFIG_LIBDIR=/nowhere DRM= && built_for flags 7.5.0
}

mpi_with_pkg_config() {
	printf 'Name: mpi\nDescription: of a test\nVersion: 1\nCflags: -I%s\n' "$work/mpi" > "$work/mpi/mpi-c.pc"
	make_lib mpi "SUNDIALS=$work/at-mpi" "PKG_CONFIG_PATH=$work/mpi" && built_for mpi 7.5.0
}

header_refuses() { # release
	! echo '#include <accel/sundials.h>' |
		gcc -Iinclude -I"$work/at-$1/include" -fsyntax-only -x c - 2> "$work/err" &&
		grep 'libaccel_sundials needs SUNDIALS 7.1 or a later 7.x' "$work/err"
}

# ---- What is installed, and a program that has nothing else ----

root=$work/root
prefix=/opt/accel

install_it() { # target
	make_in ours "$1" SUNDIALS=none "DESTDIR=$root" "PREFIX=$prefix"
}

is_a_component() {
	install_it install-sundials || return 1
	(cd "$root$prefix" && find . -type f -o -type l) | sort > "$work/installed"
	diff - "$work/installed" <<-END
	./include/accel/sundials.h
	./lib/cmake/accel_sundials/accel_sundialsConfig.cmake
	./lib/cmake/accel_sundials/accel_sundialsConfigVersion.cmake
	./lib/libaccel_sundials.so
	./lib/libaccel_sundials.so.0
	./lib/pkgconfig/accel-sundials.pc
	END
}

mkdir -p "$work/consumer"
cat > "$work/consumer/consumer.c" <<'END'
#include <accel/sundials.h>
#include <sundials/sundials_core.h>
#include <stdio.h>

int main(void)
{
	double in[8] = { 0, 1, 2, 3, 4, 5, 6, 7 }, back[8] = { 0 };
	SUNMemory card, from, to;
	SUNMemoryHelper helper;
	SUNContext ctx;

	if (SUNContext_Create(SUN_COMM_NULL, &ctx))
		return 1;
	helper = SUNMemoryHelper_Accel(ctx);
	if (!helper || SUNMemoryHelper_Alloc(helper, &card, sizeof(in), SUNMEMTYPE_DEVICE, NULL))
		return 2;
	from = SUNMemoryHelper_Wrap(helper, in, SUNMEMTYPE_HOST);
	to = SUNMemoryHelper_Wrap(helper, back, SUNMEMTYPE_HOST);
	if (SUNMemoryHelper_Copy(helper, card, from, sizeof(in), NULL) ||
	    SUNMemoryHelper_Copy(helper, to, card, sizeof(in), NULL))
		return 3;
	printf("%s: %g\n", accel_version(), back[7]);
	SUNMemoryHelper_Dealloc(helper, card, NULL);
	SUNMemoryHelper_Dealloc(helper, from, NULL);
	SUNMemoryHelper_Dealloc(helper, to, NULL);
	return SUNMemoryHelper_Destroy(helper) || SUNContext_Free(&ctx);
}
END
cp "$work/consumer/consumer.c" "$work/consumer/consumer.cc"

# SUNDIALS itself: a folder of headers and a library, as a program without a package of it has them.
headers=$PWD/lib/sundials/abi
core=$(realpath "$out"/tests/sundials/7.9.0/libsundials_core-*)
version() { sed -n 's/#define ACCEL_VERSION_[A-Z]* //p' include/accel/accel.h | paste -sd.; }

runs() { # program
	LD_LIBRARY_PATH="$root$prefix/lib:$(dirname "$core")" over_the_mock "$1" | grep -x "$(version): 7"
}

# Away from the tree, so that nothing of it is found by accident.
built_with_pkg_config() { # compiler, source
	local flags
	flags=$(PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_PATH=$root$prefix/lib/pkgconfig \
		pkg-config --cflags --libs accel-sundials) || return 1
	# shellcheck disable=SC2086 # words
	(cd / && "$1" -Wall -Wextra -Werror -I"$headers" -o "$work/consumer/plain" \
		"$work/consumer/$2" $flags "$core") && runs "$work/consumer/plain"
}

cat > "$work/consumer/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.18)
project(consumer C)
find_package(accel_sundials 0.1 REQUIRED)
add_executable(consumer consumer.c)
target_include_directories(consumer PRIVATE ${HEADERS})
target_link_libraries(consumer PRIVATE accel::accel_sundials ${CORE})
END

built_with_cmake() {
	rm -rf "$work/consumer/build"
	(cd / && cmake -S "$work/consumer" -B "$work/consumer/build" -DCMAKE_PREFIX_PATH="$root$prefix" \
		-DHEADERS="$headers" -DCORE="$core" -DCMAKE_DISABLE_FIND_PACKAGE_SUNDIALS=ON &&
		cmake --build "$work/consumer/build") &&
		runs "$work/consumer/build/consumer"
}

# With a package of SUNDIALS it comes along.
built_with_both_packages() {
	rm -rf "$work/consumer/build" "$work/package"
	mkdir -p "$work/package/lib"
	cmake_package "$work/package"
	ln -s "$headers" "$work/package/include"
	ln -s "$core" "$work/package/lib/libsundials_core.so"
	sed -i "s/IMPORTED_SONAME .*/IMPORTED_SONAME $(basename "$core")/" \
		"$work/package/lib/cmake/sundials/SUNDIALSConfig.cmake"
	(cd / && cmake -S "$work/consumer" -B "$work/consumer/build" \
		-DCMAKE_PREFIX_PATH="$root$prefix;$work/package" && cmake --build "$work/consumer/build") &&
		runs "$work/consumer/build/consumer"
}

too_new_for_cmake() {
	sed 's/accel_sundials 0.1 /accel_sundials 99 /' "$work/consumer/CMakeLists.txt" > "$work/new.txt"
	mkdir -p "$work/new"
	mv "$work/new.txt" "$work/new/CMakeLists.txt"
	! cmake -S "$work/new" -B "$work/new/build" -DCMAKE_PREFIX_PATH="$root$prefix" 2> "$work/err" &&
		grep -F 'version: 0.1.0' "$work/err"
}

# ---- Programs ----

over_the_mock() { MOCK_CARDS=0 LD_PRELOAD="$out/tests/unit/libmock.so" "$@"; }

example() {
	over_the_mock "$clients/7.9.0/checkpoint" |
		grep -xF '5 of 5 checkpoints came back right; at most 2000 bytes on the device'
}

example_without_card() {
	! LD_PRELOAD="$out/tests/unit/libmock.so" "$clients/7.9.0/checkpoint" 2> "$work/err" &&
		grep '^helper: ' "$work/err"
}

# Built for 7.1, run with 7.9, which has the same name and another layout.
other_layout() {
	rm -f "$work/at-7.1.1/lib/libsundials_core.so"
	make_lib layout "SUNDIALS=$work/at-7.1.1" || return 1
	cat > "$work/layout.c" <<-'END'
	#include <accel/sundials.h>
	#include <stdio.h>
	int main(void)
	{
		SUNContext ctx;
		int err = SUNContext_Create(SUN_COMM_NULL, &ctx);
		SUNMemoryHelper helper = err ? NULL : SUNMemoryHelper_Accel(ctx);

		printf("%d, %s\n", err, helper ? "a helper" : "none");
		return 0;
	}
	END
	gcc -Iinclude -Ilib/sundials/abi -o "$work/layout.prog" "$work/layout.c" "$1" -L"$out/lib" -laccel \
		"$out"/tests/sundials/7.9.0/libsundials_core-* &&
		LD_LIBRARY_PATH="$(dirname "$1"):$out/lib:$out/tests/sundials/7.9.0" \
			over_the_mock "$work/layout.prog" | grep -x "0, $2"
}

for release in 6.4.1 7.0.0 7.1.1 7.2.1 7.5.0 8.0.0; do
	sundials_at "$work/at-$release" "$release"
done

check 'the map has the functions of the header' same functions_of_header functions_of_map
check 'it exports its map and nothing else' same functions_of_map functions_of "$lib"
check 'every symbol has a version' every_symbol_has_a_version
check 'it uses public functions of libaccel only' uses_public_functions_only
check 'it takes three functions of SUNDIALS' takes_three_functions_of_sundials
check 'it needs libaccel and libc only' needs_libaccel_and_libc_only
check 'it prints nothing and ends nothing' prints_nothing_and_ends_nothing
check 'SUNDIALS is found at a prefix' at_a_prefix
check 'SUNDIALS is found with pkg-config' with_pkg_config
check 'SUNDIALS is found with CMake' with_cmake
check 'another release at the same place is seen' a_new_release_is_seen
for release in 6.4.1 7.0.0 8.0.0; do
	check "SUNDIALS $release is refused with a sentence" refused "$release"
	check "the header refuses SUNDIALS $release" header_refuses "$release"
done
check 'a prefix without SUNDIALS is refused' nothing_there
check 'an old SUNDIALS that is found is told of, and left alone' an_old_one_that_is_found
check 'a SUNDIALS whose headers do not compile is told of' mpi_that_is_not_found
check 'MPI is where the environment says' mpi_of_the_environment
check 'MPI is found with pkg-config' mpi_with_pkg_config
check 'one built for this layout gives a helper' other_layout "$lib" 'a helper'
check 'one built for 7.1 gives none with 7.9' other_layout "$work/layout/lib/libaccel_sundials.so.0" none
check 'it is installed as a component' is_a_component
check 'make install brings it along' install_it install
check 'a C program is built with pkg-config' built_with_pkg_config gcc consumer.c
check 'a C++ program is built with pkg-config' built_with_pkg_config g++ consumer.cc
check 'a program is built with CMake' built_with_cmake
check 'a program is built with CMake and a package of SUNDIALS' built_with_both_packages
check 'CMake refuses a version that is not there' too_new_for_cmake
for release in 7.9.0 7.6.0; do
	check "data nodes of $release over the mock" over_the_mock "$clients/$release/datanode"
done
check 'the example runs' example
check 'the example says what is missing' example_without_card
tap_end
