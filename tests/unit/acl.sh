#!/bin/bash
# SPDX-License-Identifier: MIT
#
# AscendCL's library as it is built: what it exports and needs, what is installed, and programs that
# have nothing else.
# shellcheck disable=SC2317 # functions are called through check
set -u

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/unit/tap.sh
. tests/unit/tap.sh

out=$(realpath "$BUILD")
lib=$out/lib/libaccel_acl.so.0
work=$out/tests/unit/acl
rm -rf "$work"
mkdir -p "$work"

# What a compiler makes of the headers, so that no way to write a declaration is missed.
functions_of_headers() {
	printf '#include "acl/%s"\n' "$(cd lib/acl/include/acl && echo *.h | sed 's/ /"\n#include "acl\//g')" |
		gcc -Ilib/acl/include -E -P -x c - | tr '\n' ' ' | grep -oE '\bacl\w+ ?\([^*)]*' |
		grep -oE '^acl\w+' | sort -u
}

exported() { nm -D --defined-only "$lib" | sed -n 's/.* T //p' | sed 's/@.*//' | sort; }

# Those for programs that were built with headers of the vendor's.
not_declared() { nm --defined-only "$out/lib/acl/op.o" "$out/lib/acl/system.o" | sed -n 's/.* T //p'; }

exports_what_headers_declare() {
	exported > "$work/exported"
	[ -s "$work/exported" ] && diff "$work/exported" \
		<({ grep -xFf "$work/exported" <(functions_of_headers); not_declared; } | sort)
}

# A program that refers to each function of the headers links.
headers_declare_what_is_there() {
	{
		for header in lib/acl/include/acl/*.h; do
			echo "#include \"acl/${header##*/}\""
		done
		echo 'const void *const all[] = {'
		functions_of_headers | sed 's/.*/(const void *)&,/'
		echo '}; int main(void) { return !all[0]; }'
	} > "$work/all.c"
	gcc -Wno-deprecated-declarations -Ilib/acl/include -o "$work/all" "$work/all.c" \
		-L"$out/lib" -laccel_acl -Wl,-rpath-link,"$out/lib"
}

every_symbol_has_a_version() {
	! nm -D --defined-only "$lib" | grep ' [A-Z] acl' | grep -v '@@ACCEL_ACL_0\.1$'
}

uses_public_functions_only() {
	! nm -D --undefined-only "$lib" | grep -oE ' U accel_\w+' | sed 's/ U //' |
		grep -vxF "$(grep -oE 'accel_\w+' lib/libaccel.map)"
}

needs_libaccel_and_libc_only() {
	! readelf -d "$lib" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
		grep -vE '^(libaccel\.so\.0|libc\.so\.6|ld-linux[-a-z0-9_]*\.so\.[0-9])$'
}

prints_nothing_and_ends_nothing() {
	! nm -D --undefined-only "$lib" |
		grep -oE '\b(v?f?printf\w*|__v?f?printf_chk|puts\w*|f?putc\w*|fwrite|perror|abort|_?exit|raise|__assert\w*)\b'
}

header_is_alone() { # compiler, language, header
	echo "#include \"acl/$3\"" | $1 -Wall -Wextra -Werror -pedantic -Ilib/acl/include -fsyntax-only -x "$2" -
}

# ---- What is installed ----

root=$work/root
prefix=/opt/accel

install_it() { MAKEFLAGS="" make -s install-lib DESTDIR="$root" PREFIX="$prefix"; }

everything_is_in_its_place() {
	(cd "$root$prefix" && find . \( -path '*acl*' -o -path '*ascendcl*' \) ! -type d | sort) > "$work/installed"
	{
		for header in lib/acl/include/acl/*.h; do
			echo "./include/accel/ascendcl/acl/${header##*/}"
		done
		for name in acl_op_compiler acl_tdt_channel ascendcl ge_runner graph hccl; do
			echo "./lib/ascendcl/lib$name.so"
		done
		echo ./lib/cmake/accel_acl/accel_aclConfig.cmake
		echo ./lib/cmake/accel_acl/accel_aclConfigVersion.cmake
		echo ./lib/libaccel_acl.so
		echo ./lib/libaccel_acl.so.0
		echo ./lib/pkgconfig/accel-acl.pc
	} | sort | diff - "$work/installed"
}

# Neither the library of POSIX ACLs nor a CANN is hidden by them.
nothing_is_on_a_default_path() {
	[ ! -e "$root$prefix/include/acl" ] && [ ! -e "$root$prefix/lib/libascendcl.so" ] &&
		[ -z "$(find "$root$prefix/lib" -name 'libacl.*')" ]
}

mkdir -p "$work/consumer"
cat > "$work/consumer/consumer.c" <<'END'
#include "acl/acl.h"
#include <stdio.h>

int main(void)
{
	char in[8] = "bytes", back[8] = "";
	void *ptr;

	if (aclInit(NULL) || aclrtSetDevice(0) ||
	    aclrtMallocAlign32(&ptr, sizeof(in), ACL_MEM_MALLOC_HUGE_FIRST) ||
	    aclrtMemcpy(ptr, sizeof(in), in, sizeof(in), ACL_MEMCPY_HOST_TO_DEVICE) ||
	    aclrtMemcpy(back, sizeof(back), ptr, sizeof(in), ACL_MEMCPY_DEVICE_TO_HOST) ||
	    aclrtFree(ptr) || aclrtResetDevice(0) || aclFinalize()) {
		printf("%s\n", aclGetRecentErrMsg());
		return 1;
	}
	printf("%s are back\n", back);
	return 0;
}
END
cp "$work/consumer/consumer.c" "$work/consumer/consumer.cc"

over_the_mock() { MOCK_CARDS=0 LD_PRELOAD="$out/tests/unit/libmock.so" "$@"; }

runs() { LD_LIBRARY_PATH="$root$prefix/lib" over_the_mock "$1" | grep -x 'bytes are back'; }

# Away from the tree, so that nothing of it is found by accident.
built_with_pkg_config() { # compiler, source
	local flags
	flags=$(PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_PATH=$root$prefix/lib/pkgconfig \
		pkg-config --cflags --libs accel-acl) || return 1
	# shellcheck disable=SC2086 # words
	(cd / && $1 -Wall -Wextra -Werror -o "$work/consumer/by-pkg-config" "$work/consumer/$2" $flags \
		-Wl,-rpath-link,"$root$prefix/lib") && runs "$work/consumer/by-pkg-config"
}

# As a makefile that was written for CANN has it.
built_by_the_other_name() {
	(cd / && gcc -I"$root$prefix/include/accel/ascendcl" -o "$work/consumer/by-name" \
		"$work/consumer/consumer.c" -L"$root$prefix/lib/ascendcl" -lascendcl \
		-Wl,-rpath-link,"$root$prefix/lib") && runs "$work/consumer/by-name"
}

# What is linked with another libascendcl.so asks for that name.
found_by_the_other_name() {
	mkdir -p "$work/other"
	echo 'int aclInit(const char *path) { return !path - 2; }' |
		gcc -shared -fPIC -Wl,-soname,libascendcl.so -o "$work/other/libascendcl.so" -x c - &&
		echo 'int aclInit(const char *); int main(void) { return aclInit(0); }' |
		gcc -o "$work/other/program" -x c - -L"$work/other" -lascendcl &&
		! LD_LIBRARY_PATH=$work/other "$work/other/program" &&
		LD_LIBRARY_PATH=$root$prefix/lib/ascendcl "$work/other/program"
}

cat > "$work/consumer/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.18)
project(consumer C)
find_package(accel_acl 0.1 REQUIRED)
add_executable(by-cmake consumer.c)
target_link_libraries(by-cmake PRIVATE accel::accel_acl)
END

built_with_cmake() {
	(cd / && cmake -S "$work/consumer" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$root$prefix" &&
		cmake --build "$work/cmake") && runs "$work/cmake/by-cmake"
}

# ---- The other libraries that torch_npu links ----

loads() { # library, what to do with it
	python3 -c "
import ctypes, sys
lib = ctypes.CDLL(sys.argv[1])
libc = ctypes.CDLL(None)
libc.getenv.restype = ctypes.c_char_p
$2" "$root$prefix/lib/ascendcl/$1"
}

finds_what_is_in_libascendcl() {
	readelf -d "$root$prefix/lib/ascendcl/$1" | grep -qF "Library soname: [$1]" &&
		loads "$1" 'assert lib.aclopCompileAndExecute and lib.aclrtMallocAlign32'
}

settles() {
	(
		unset TASK_QUEUE_ENABLE ACCEL_ACL_SOC_NAME
		loads libge_runner.so "assert libc.getenv(b'TASK_QUEUE_ENABLE') == b'0'
lib.aclrtGetSocName.restype = ctypes.c_char_p
assert lib.aclrtGetSocName() == b'Ascend910B1'"
	) &&
		TASK_QUEUE_ENABLE=1 ACCEL_ACL_SOC_NAME=mine loads libge_runner.so \
			"assert libc.getenv(b'TASK_QUEUE_ENABLE') == b'1'
lib.aclrtGetSocName.restype = ctypes.c_char_p
assert lib.aclrtGetSocName() == b'mine'"
}

refuses_launches() {
	loads libge_runner.so "
for name in ('rtDevBinaryRegister', 'rtFunctionRegister', 'rtKernelLaunch', 'MsprofRegisterCallback',
             'MsprofReportApi', 'MsprofReportCompactInfo', 'MsprofReportAdditionalInfo'):
    assert lib[name]() == 207000, name
assert lib.MsprofGetHashId() == lib.MsprofSysCycleTime() == 0"
}

refuses_collectives() {
	loads libhccl.so "
lib.aclGetRecentErrMsg.restype = ctypes.c_char_p
assert lib.HcclGetRootInfo(None) == 5
assert b'HcclGetRootInfo (collectives: use the backend gloo): this device has memory only' in lib.aclGetRecentErrMsg()"
}

check 'it exports what the headers declare, and nothing else' exports_what_headers_declare
check 'all that the headers declare is there' headers_declare_what_is_there
check 'every symbol has a version' every_symbol_has_a_version
check 'it uses public functions of libaccel only' uses_public_functions_only
check 'it needs libaccel and libc only' needs_libaccel_and_libc_only
check 'it prints nothing, and ends no process' prints_nothing_and_ends_nothing
for header in lib/acl/include/acl/*.h; do
	check "${header##*/} compiles alone as C11" header_is_alone 'gcc -std=c11' c "${header##*/}"
	check "${header##*/} compiles alone as C++17" header_is_alone 'g++ -std=c++17' c++ "${header##*/}"
done
check 'make install works' install_it
check 'everything is in its place' everything_is_in_its_place
check 'nothing is on a default path' nothing_is_on_a_default_path
check 'a C program builds and runs' built_with_pkg_config gcc consumer.c
check 'a C++ program builds and runs' built_with_pkg_config g++ consumer.cc
check 'a C program builds and runs, by CMake' built_with_cmake
check 'a C program builds and runs, by the other name' built_by_the_other_name
check 'a program that was built with another libascendcl runs' found_by_the_other_name
for name in acl_op_compiler acl_tdt_channel ge_runner graph hccl; do
	check "what is looked up in lib$name.so is found" finds_what_is_in_libascendcl "lib$name.so"
done
check 'libge_runner.so settles what torch_npu looks at, and no more' settles
check 'libge_runner.so refuses launches' refuses_launches
check 'libhccl.so refuses collectives, with a sentence' refuses_collectives
tap_end
