# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The user space of guests of another architecture, which cannot run the programs of this machine. Sourced by
# qemu/setup, which sets what is named here.

: "${cache?}" "${no_install?}"

# What the tests' scripts use, and the libraries that programs of this tree are linked with. What these
# packages depend on comes with them.
userland_packages=(base-files base-passwd bash busybox-static coreutils dash diffutils findutils grep kmod
	libc6 libjson-c-dev mawk procps sed util-linux)

userland_excludes=(doc info locale man)

# Packages are unpacked, not installed: their scripts would need that architecture to run. The scripts make
# these links and files.
finish_userland() { # root
	[ -e "$1/usr/bin/sh" ] || ln -s dash "$1/usr/bin/sh"
	ln -s mawk "$1/usr/bin/awk"
	cp "$1/usr/share/base-passwd/passwd.master" "$1/etc/passwd"
	cp "$1/usr/share/base-passwd/group.master" "$1/etc/group"
}

unpack_userland() { # debs, root
	local deb dir
	mkdir -p "$2"
	# All of them are one tree below usr, whatever release they are from.
	for dir in bin lib sbin; do
		mkdir -p "$2/usr/$dir"
		ln -s "usr/$dir" "$2/$dir"
	done
	for deb in "$1"/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" |
			tar -C "$2" -x --keep-directory-symlink "${userland_excludes[@]/#/--exclude=./usr/share/}"
	done
	finish_userland "$2"
}

# Everything that goes in, but for the versions of packages.
userland_key() {
	{
		cat "${BASH_SOURCE[0]}"
		own_release
	} | sha256sum | cut -c1-16
}

setup_userland() { # architecture
	local key scratch
	key=$1-$(userland_key)
	if ! complete "$cache/userland/$key"; then
		refuse_to_fetch "the user space of $1 guests"
		use_release "$(own_release)" "$1"
		say "user space of $1 guests: downloading and unpacking (20 MB)"
		scratch=$(scratch_dir "userland-$1")
		refresh_lists || true
		download_closure "$scratch/debs" "${userland_packages[@]}" ||
			die "the packages of the user space of $1 guests could not be downloaded"
		unpack_userland "$scratch/debs" "$scratch/root"
		rm -r "$scratch/debs"
		publish "$scratch" "$cache/userland/$key"
	fi
	ln -sfn "$key" "$cache/userland/.$1.new"
	mv -T "$cache/userland/.$1.new" "$cache/userland/$1"
}

print_userland() { # architecture
	complete "$cache/userland/$1" || die "the user space of $1 guests is not set up: run qemu/setup userland $1"
	echo "$(readlink -f "$cache/userland/$1")/root"
}
