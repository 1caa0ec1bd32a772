#!/bin/bash
# SPDX-License-Identifier: MIT
#
# RMM's containers over the mock, and programs from nothing but the installed headers.
# shellcheck disable=SC2317 # functions are called through check
set -u

cd "$(dirname "$0")/../.." || exit 1
# shellcheck source=tests/unit/tap.sh
. tests/unit/tap.sh

out=$(realpath "$BUILD")
work=$out/tests/unit/rmm
root=$work/root
prefix=/opt/accel
rm -rf "$root" "$work/consumer" "$work/containers"
mkdir -p "$work/consumer"

over_the_mock() { LD_PRELOAD=$out/tests/unit/libmock.so MOCK_CARDS=0 "$@"; }

for program in "$out"/tests/clients/rmm/*-*+; do
	check "containers ${program##*/}" over_the_mock "$program"
done

check 'one pool for SUNDIALS and RMM' over_the_mock "$out/tests/clients/rmm/shared"

no_card() {
	! LD_PRELOAD=$out/tests/unit/libmock.so MOCK_CARDS='' "$program" > "$work/none" &&
		grep '^Bail out! there is no device 0: there are 0' "$work/none"
}
check 'containers without a card' no_card

# ---- What is installed, and a program that has nothing else ----

install_it() {
	MAKEFLAGS='' make -s install-rmm DESTDIR="$root" PREFIX="$prefix" || return 1
	(cd "$root$prefix" && find . -type f) | grep -v '^./include/accel/' | sort > "$work/installed"
	diff - "$work/installed" <<-END
	./lib/cmake/accel_rmm/accel_rmmConfig.cmake
	./lib/cmake/accel_rmm/accel_rmmConfigVersion.cmake
	./lib/pkgconfig/accel-rmm.pc
	END
	diff <(cd include && find accel -name '*.hpp' -o -path '*/compat/*' -type f | sort) \
		<(cd "$root$prefix/include" && find accel -type f | sort)
}
check 'a component of its own' install_it

with_the_library() { MAKEFLAGS='' make -s install-lib DESTDIR="$root" PREFIX="$prefix"; }
check 'with the library' with_the_library

cat > "$work/consumer/consumer.cpp" <<'END'
#include <rmm/device_buffer.hpp>

#include <cstdio>

int main()
{
	const char text[] = "seven";
	char back[sizeof(text)];
	rmm::device_buffer buffer{text, sizeof(text), rmm::cuda_stream_default};

	buffer.resize(2 * sizeof(text), rmm::cuda_stream_default);
	if (accel_memory_copy(back, buffer.data(), sizeof(back)))
		return 1;
	std::printf("%s: %s\n", accel_version(), back);
}
END
version() { sed -n 's/#define ACCEL_VERSION_[A-Z]* //p' include/accel/accel.h | paste -sd.; }

runs() { # program
	LD_LIBRARY_PATH="$root$prefix/lib" over_the_mock "$1" | grep -x "$(version): seven"
}

# Away from the tree, so that nothing of it is found by accident.
built_with_pkg_config() { # compiler
	local flags
	flags=$(PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_PATH=$root$prefix/lib/pkgconfig \
		pkg-config --cflags --libs accel-rmm) || return 1
	# shellcheck disable=SC2086 # words
	(cd / && "$1" -std=c++17 -Wall -Wextra -Werror -o "$work/consumer/plain" \
		"$work/consumer/consumer.cpp" $flags) && runs "$work/consumer/plain"
}
check 'g++ and pkg-config' built_with_pkg_config g++
check 'clang++ and pkg-config' built_with_pkg_config clang++

cat > "$work/consumer/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.18)
project(consumer CXX)
find_package(accel_rmm 0.1 REQUIRED)
add_executable(consumer consumer.cpp)
target_link_libraries(consumer PRIVATE accel::rmm)
END

built_with_cmake() {
	(cd / && cmake -S "$work/consumer" -B "$work/consumer/build" \
		-DCMAKE_PREFIX_PATH="$root$prefix" && cmake --build "$work/consumer/build") &&
		runs "$work/consumer/build/consumer"
}
check 'CMake' built_with_cmake

# Shared objects with hidden symbols share the resource of a device and the exceptions.
cat > "$work/consumer/setter.cpp" <<'END'
#include <rmm/mr/per_device_resource.hpp>
#include <rmm/mr/statistics_resource_adaptor.hpp>

extern "C" __attribute__((visibility("default"))) void set_and_throw()
{
	rmm::mr::set_current_device_resource(
		rmm::mr::statistics_resource_adaptor{accel::device_resource{}});
	throw rmm::out_of_memory{"of the other object"};
}
END
cat > "$work/consumer/reader.cpp" <<'END'
#include <rmm/error.hpp>
#include <rmm/mr/per_device_resource.hpp>

extern "C" void set_and_throw();
extern "C" __attribute__((visibility("default"))) int catch_and_read()
{
	try {
		set_and_throw();
	} catch (const rmm::out_of_memory &) {
		return accel::get_current_device_resource() ==
		       accel::any_resource{accel::device_resource{}};
	}
	return 1;
}
END
echo 'extern "C" int catch_and_read(); int main() { return catch_and_read(); }' \
	> "$work/consumer/shared.cpp"

hidden_symbols() { # compiler
	local dir=$work/consumer
	set -- "$1" -std=c++17 -Wall -Wextra -Werror -fPIC -fvisibility=hidden \
		-I "$root$prefix/include/accel/compat" -I "$root$prefix/include" \
		-L "$root$prefix/lib" -L "$dir" -Wl,-rpath,"$dir"
	"$@" -shared -o "$dir/libsetter.so" "$dir/setter.cpp" -laccel &&
		"$@" -shared -o "$dir/libreader.so" "$dir/reader.cpp" -lsetter -laccel &&
		"$@" -o "$dir/shared" "$dir/shared.cpp" -lreader -lsetter -laccel &&
		LD_LIBRARY_PATH="$root$prefix/lib" over_the_mock "$dir/shared"
}
check 'hidden symbols, g++' hidden_symbols g++
check 'hidden symbols, clang++' hidden_symbols clang++

# Headers of CUDA and RMM that are included before ours.
refused_after() { # macro of theirs, header
	local output
	output=$(echo "#include <$2>" | g++ -std=c++17 -fsyntax-only "-D$1" -x c++ - \
		-I "$root$prefix/include/accel/compat" -I "$root$prefix/include" 2>&1) && return 1
	grep -F 'put accel/compat first in the include path' <<< "$output"
}
check "after CUDA's headers" refused_after __CUDA_RUNTIME_API_H__ rmm/device_buffer.hpp
check "after RMM's checks" refused_after 'RMM_EXPECTS(x)=' rmm/device_buffer.hpp
check "after RMM's exports" refused_after RMM_EXPORT rmm/device_buffer.hpp

# A program that includes one header of RMM may use what that header includes, in some release.
declares() { # header, name...
	local header=$1 name
	shift
	for name; do
		printf '#include <%s>\nusing rmm::%s;\n' "$header" "$name" |
			g++ -std=c++17 -fsyntax-only -x c++ - -I include/accel/compat -I include || return 1
	done
}
includes_of_rmm() {
	local ref=device_async_resource_ref base=mr::device_memory_resource
	local current=mr::get_current_device_resource_ref name
	declares rmm/mr/per_device_resource.hpp mr::cuda_memory_resource "$ref" &&
		declares rmm/mr/device/per_device_resource.hpp mr::cuda_memory_resource "$base" || return 1
	for name in pool_memory_resource limiting_resource_adaptor statistics_resource_adaptor \
			tracking_resource_adaptor logging_resource_adaptor; do
		declares "rmm/mr/$name.hpp" "$ref" && declares "rmm/mr/device/$name.hpp" "$ref" "$base" || return 1
	done
	for name in pool_memory_resource limiting_resource_adaptor statistics_resource_adaptor \
			tracking_resource_adaptor; do
		declares "rmm/mr/device/$name.hpp" "$current" || return 1
	done
	for name in cuda managed; do
		declares "rmm/mr/device/${name}_memory_resource.hpp" "$base" cuda_stream_view || return 1
	done
}
check "what RMM's headers include" includes_of_rmm

# RMM's own headers are there, too: those of ours that have the same names come first.
mkdir -p "$work/containers"
cat > "$work/containers/consumer.cpp" <<'END'
#include <rmm/device_uvector.hpp>

#include <cstdio>

int main()
{
	rmm::device_uvector<int> vector(10, rmm::cuda_stream_default);

	vector.set_element(9, 7, rmm::cuda_stream_default);
	std::printf("%s: %s\n", accel_version(),
		    vector.back_element(rmm::cuda_stream_default) == 7 ? "seven" : "none");
}
END
sed -e "/^add_exec/a target_include_directories(consumer SYSTEM PRIVATE $out/tests/rmm/24.12.1/include)" \
	"$work/consumer/CMakeLists.txt" > "$work/containers/CMakeLists.txt"

containers_with_cmake() {
	(cd / && cmake -S "$work/containers" -B "$work/containers/build" \
		-DCMAKE_PREFIX_PATH="$root$prefix" && cmake --build "$work/containers/build") &&
		runs "$work/containers/build/consumer"
}
check 'CMake and headers of RMM' containers_with_cmake

tap_end
