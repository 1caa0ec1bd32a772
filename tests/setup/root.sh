# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034 # used where this is sourced
#
# Sourced with $name set: a system in the folder $root, with a copy of the tree in /paccel. The folder is
# below the cache and not below build/, since it is large and would contain itself. It is removed when the
# script ends, and $out has the logs.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/paccel
root=$cache/tmp/${name:?}
out=${BUILD:-$top/build}/tests/setup/$name
in_root=("$top/qemu/in-root" "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
	PACCEL_BOOTED_TWICE=/booted-twice)

make_root() { # release of Debian
	local archive
	"$top/qemu/setup" root "$1"
	archive=$("$top/qemu/setup" print root "$1")
	rm -rf --one-file-system "$root"
	mkdir -p "$root"
	tar -C "$root" -xf "$archive"
	# How this machine reaches the archive: its proxy, if any, and its names.
	apt-config dump Acquire >"$root/etc/apt/apt.conf.d/90machine"
	cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
	mkdir "$root/paccel"
	(cd "$top" && git ls-files -z -co --exclude-standard |
		while read -r -d '' file; do [ ! -e "$file" ] || printf '%s\0' "$file"; done |
		tar --null -T - -c) | tar -C "$root/paccel" -x
}

[ "$(id -u)" -eq 0 ] || { echo "Bail out! a Debian in a folder is entered by root only"; exit 1; }
mkdir -p "$out" "$cache/lock"
exec 9>"$cache/lock/$name"
flock 9
trap 'rm -rf --one-file-system "$root"' EXIT
trap 'exit 143' INT TERM
