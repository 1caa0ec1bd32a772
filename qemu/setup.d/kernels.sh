# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Kernels by their names, stock ones and our own. Sourced by qemu/setup, which sets what is named here.

: "${here?}" "${cache?}"

stock_kernels=(6.1 6.12)
# Of another architecture: guests of theirs have a user space of their own.
foreign_kernels=(6.12-arm64 6.12-arm64-16k)
# Those of `make check` and `make check-full`; what else is in configs/ is built for who names it.
# shellcheck disable=SC2034 # used by qemu/setup
check_kernels=("${stock_kernels[@]}" debug 6.12-arm64)

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
			return
		fi
	done
	if [ "$1" = base ] || [ ! -e "$here/configs/$1.config" ]; then
		die "no kernel is called '$1': there are $(all_kernels | tr '\n' ' ')"
	fi
	setup_own "$1"
}

print_kernel() { # name, what
	complete "$cache/kernel/$1" || die "kernel $1 is not set up: run qemu/setup kernel $1"
	case $2 in
	kdir | image | modules) readlink -f "$cache/kernel/$1/$2" ;;
	version) cat "$cache/kernel/$1/version" ;;
	*) die "cannot print '$2': there are kdir, image, modules, version" ;;
	esac
}
