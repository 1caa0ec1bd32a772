# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The source of a kernel. Sourced by qemu/setup, which sets what is named here.

: "${cache?}" "${no_install?}"

source_package=linux-source-6.12

newest_cached_source() {
	local dir
	for dir in $(find "$cache/source/" -mindepth 1 -maxdepth 1 -type d 2>/dev/null | sort -rV); do
		complete "$dir" || continue
		echo "${dir%/}"
		return 0
	done
	return 1
}

download_source() { # scratch
	say "downloading and unpacking $source_package (150 MB)"
	download "$1" "$source_package"
}

install_source() { # scratch
	dpkg-deb --fsys-tarfile "$1"/*.deb |
		tar -xO "./usr/src/$source_package.tar.xz" |
		tar -xJ -C "$1" --strip-components=1
	rm "$1"/*.deb
	publish "$1" "$cache/source/$(candidate_version "$source_package")"
}

use_cached_source() {
	newest_cached_source >/dev/null || {
		refuse_to_fetch "$source_package"
		die "the archive has no $source_package, and none is in $cache"
	}
}

setup_source() {
	local version='' scratch
	! is_debian || version=$(candidate_version "$source_package")
	if [ -n "$version" ] && complete "$cache/source/$version"; then
		return
	fi
	if [ -n "$no_install" ] || ! is_debian; then
		use_cached_source
		return
	fi
	scratch=$(scratch_dir source)
	if [ -n "$version" ] && download_source "$scratch"; then
		install_source "$scratch"
	elif refresh_lists && download_source "$scratch"; then
		install_source "$scratch"
	else
		use_cached_source
	fi
}

source_dir() { newest_cached_source || die "no kernel source: run qemu/setup source"; }
