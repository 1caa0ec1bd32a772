# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Clean installations of a Debian release: for tests/setup, and to build modules in that this machine
# cannot build. Sourced by qemu/setup, which sets what is named here.

: "${here?}" "${cache?}" "${no_install?}"

# debootstrap mounts things in what it makes; with its mount namespace these vanish, even when it is
# killed. Nothing is installed that the signed file of the archive does not vouch for.
bootstrap() { # release, directory, mirror, packages
	quietly as_root setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --mount-proc \
		debootstrap --force-check-gpg --variant=minbase "--include=$4" "$1" "$2" "$3"
}

build_root() { # release, scratch, mirror
	bootstrap "$1" "$2/root" "$3" ca-certificates,make &&
		release_sources "$1" | as_root tee "$2/root/etc/apt/sources.list" >/dev/null &&
		as_root tar -C "$2/root" --one-file-system -cf "$2/root.tar" . &&
		as_root rm -rf "$2/root"
}

# A month later most of its packages would be replaced at once.
fresh_root() { # release
	complete "$cache/root/$1" && [ -n "$(find "$cache/root/$1/.complete" -mtime -30)" ]
}

# Sets `mirror`, the one to install from.
prepare_bootstrap() { # what
	refuse_to_fetch "$1"
	command -v debootstrap >/dev/null || with_lock packages setup_packages root
	mirror=$(archive_mirror)
	[ -n "$mirror" ] || ! refresh_lists || mirror=$(archive_mirror)
	[ -n "$mirror" ] || die "apt's package lists name no mirror of Debian: run apt-get update"
}

setup_root() { # release
	local scratch mirror
	[ "$(id -u)" -eq 0 ] || cannot_have "a clean Debian $1 is made and entered by root only"
	! fresh_root "$1" || return 0
	prepare_bootstrap "a clean Debian $1"
	say "Debian $1: downloading and installing its smallest system"
	scratch=$(scratch_dir "root-$1")
	build_root "$1" "$scratch" "$mirror" || die "debootstrap could not install Debian $1 from $mirror"
	publish "$scratch" "$cache/root/$1"
}

# A system in a folder, with what the headers of a kernel need. Builds may run in it at any time, so it is not
# replaced by a newer one.
setup_builder() { # release
	local scratch mirror
	[ "$(id -u)" -eq 0 ] || cannot_have "modules for this kernel are built in a Debian $1, which root only makes and enters"
	! complete "$cache/builder/$1" || return 0
	prepare_bootstrap "a Debian $1 that builds modules"
	say "Debian $1: downloading and installing its compiler"
	scratch=$(scratch_dir "builder-$1")
	bootstrap "$1" "$scratch/root" "$mirror" gcc,kmod,libc6-dev,libelf-dev,make,pahole,perl ||
		die "debootstrap could not install Debian $1 from $mirror"
	publish "$scratch" "$cache/builder/$1"
}

print_builder() { # release
	complete "$cache/builder/$1" || die "Debian $1 cannot build modules yet: run qemu/setup kernel newest"
	echo "$cache/builder/$1/root"
}

print_root() { # release
	complete "$cache/root/$1" || die "Debian $1 is not set up: run qemu/setup root $1"
	echo "$cache/root/$1/root.tar"
}
