# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Kernels and trees that are built here. Sourced by qemu/setup, which sets what is named here.

: "${here?}" "${cache?}" "${jobs?}"

own_configs() { # name: base first, then what is particular
	echo "$here/configs/base.config"
	echo "$here/configs/$1.config"
}

# Everything that the result depends on.
own_key() { # name, source
	local -a configs
	mapfile -t configs < <(own_configs "$1")
	{
		cat "${configs[@]}" "$here/build-kernel"
		gcc -dumpfullversion
		basename "$2"
	} | sha256sum | cut -c1-16
}

setup_own() { # name
	local name=$1 src key scratch
	local -a configs
	# The key has the compiler's version.
	command -v gcc >/dev/null || with_lock packages setup_packages kernel
	with_lock source setup_source
	src=$(source_dir)
	key=$name-$(own_key "$name" "$src")
	if ! complete "$cache/kernel/$key"; then
		refuse_to_fetch "kernel $name"
		with_lock packages setup_packages kernel
		scratch=$(scratch_dir "kernel-$name")
		mapfile -t configs < <(own_configs "$name")
		"$here/build-kernel" "$src" "$scratch" "$jobs" "${configs[@]}" ||
			die "kernel $name did not build"
		publish_kernel "$scratch" "$key" "$name"
	fi
	select_kernel "$key" "$name"
}

setup_clang_tree() {
	local src key scratch
	command -v clang >/dev/null || with_lock packages setup_packages clang-tree
	with_lock source setup_source
	src=$(source_dir)
	key=$(basename "$src")-$(clang -dumpversion)
	if ! complete "$cache/clang-tree/$key"; then
		refuse_to_fetch "the clang tree"
		with_lock packages setup_packages clang-tree
		say "preparing a kernel tree for clang (about a minute)"
		scratch=$(scratch_dir clang-tree)
		"$here/build-kernel" --clang-tree "$src" "$scratch" "$jobs" ||
			die "the clang tree did not build"
		publish "$scratch" "$cache/clang-tree/$key"
	fi
	ln -sfn "$key" "$cache/clang-tree/current"
}
