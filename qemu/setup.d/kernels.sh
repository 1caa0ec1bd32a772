# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Kernels by their names, stock ones and our own. Sourced by qemu/setup, which sets what is named here.

: "${here?}" "${cache?}"

stock_kernels=(6.1 6.12 newest)
# Of another architecture: guests of theirs have a user space of their own.
foreign_kernels=(6.12-arm64 6.12-arm64-16k)
# Those of `make check`; the others are set up for what names them.
# shellcheck disable=SC2034 # used by qemu/setup
check_kernels=(6.1 6.12 debug 6.12-arm64)

all_kernels() {
	local config
	printf '%s\n' "${stock_kernels[@]}" "${foreign_kernels[@]}"
	for config in "$here"/configs/*.config; do
		config=$(basename "$config" .config)
		[ "$config" = base ] || echo "$config"
	done
}

setup_kernel() { # name
	local stock architecture
	for stock in "${stock_kernels[@]}" "${foreign_kernels[@]}"; do
		if [ "$1" = "$stock" ]; then
			architecture=$(foreign_architecture "$1")
			[ -z "$architecture" ] || with_lock "userland-$architecture" setup_userland "$architecture"
			setup_stock "$1"
			builds_here "$1" || with_lock "builder-$builder_release" setup_builder "$builder_release"
			return
		fi
	done
	if [ "$1" = base ] || [ ! -e "$here/configs/$1.config" ]; then
		die "no kernel is called '$1': there are $(all_kernels | tr '\n' ' ')"
	fi
	setup_own "$1"
}

# The programs in a kernel's headers were built for its release of Debian, and may need a newer C library than
# this machine's. Then modules are built in a system of builder_release, which has that library.
builder_release=trixie

builds_here() { # name
	local missing
	# modpost may be a wrapper, which starts modpost.real-*.
	missing=$(ldd "$cache/kernel/$1"/kdir/scripts/mod/modpost* 2>&1 | grep 'GLIBC_.* not found') || true
	[ -z "$missing" ]
}

print_kernel() { # name, what
	complete "$cache/kernel/$1" || die "kernel $1 is not set up: run qemu/setup kernel $1"
	case $2 in
	kdir | image | modules) readlink -f "$cache/kernel/$1/$2" ;;
	version) cat "$cache/kernel/$1/version" ;;
	builder) builds_here "$1" || print_builder "$builder_release" ;;
	*) die "cannot print '$2': there are kdir, image, modules, version, builder" ;;
	esac
}
