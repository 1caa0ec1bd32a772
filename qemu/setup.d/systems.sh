# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Open MPI 5.0, which only Debian 13 and later have: its headers, to build with, and disks with a whole system,
# which a guest mounts and enters. Sourced by qemu/setup, which sets what is named here.

: "${here?}" "${cache?}" "${no_install?}"

# --- headers, and libraries to link with: nothing of it is run here -------------------------------

openmpi_release=trixie
openmpi_folder=usr/lib/x86_64-linux-gnu

# May fail, and is therefore called in a condition.
unpack_openmpi() { # scratch
	local deb
	mkdir "$1/debs" "$1/root" && download "$1/debs" libopenmpi-dev libopenmpi40 || return
	for deb in "$1"/debs/*.deb; do
		dpkg-deb -x "$deb" "$1/root" || return
	done
	ls "$1/debs" >"$1/packages"
	rm -r "$1/debs" "$1/root/usr/share"
	[ -e "$1/root/$openmpi_folder/openmpi/include/mpi.h" ]
}

setup_openmpi() {
	local scratch
	! complete "$cache/openmpi/$openmpi_release" || return 0
	[ "$(uname -m)" = x86_64 ] || cannot_have "Open MPI's headers are those for x86-64, and this is $(uname -m)"
	refuse_to_fetch "what Open MPI 5.0 is built against"
	use_release "$openmpi_release"
	refresh_lists || true
	say "Open MPI 5.0: downloading its headers from Debian $openmpi_release (4 MB)"
	scratch=$(scratch_dir openmpi)
	unpack_openmpi "$scratch" || die "libopenmpi-dev of Debian $openmpi_release could not be downloaded"
	publish "$scratch" "$cache/openmpi/$openmpi_release"
}

print_openmpi() {
	complete "$cache/openmpi/$openmpi_release" || die "Open MPI's headers are not set up: run qemu/setup openmpi"
	echo "$cache/openmpi/$openmpi_release/root/$openmpi_folder"
}

# --- disks --------------------------------------------------------------------------------------------

# NAME/RELEASE.txt lists what debootstrap installs besides the smallest system of that release of Debian.
system_packages() { # name, release
	sed '/^#/d' "$here/$1/$2.txt" | paste -sd,
}

# Not compressed: decompression in an emulated guest takes longer than reading. What no program reads is left
# out. The versions of the packages are recorded beside the image.
build_system() { # name, release, scratch, mirror
	local root=$3/root
	# shellcheck disable=SC2016 # dpkg's variables
	bootstrap "$2" "$root" "$4" "$(system_packages "$1" "$2")" &&
		dpkg-query --admindir="$root/var/lib/dpkg" -W -f '${Package} ${Version}\n' >"$3/packages" &&
		as_root rm -rf "$root"/usr/share/{doc,info,lintian,locale,man} "$root"/var/{cache,lib}/apt &&
		as_root mkfs.erofs --quiet -x-1 "$3/image" "$root" >&2 &&
		as_root chown "$(id -u):$(id -g)" "$3/image" &&
		as_root rm -rf "$root"
}

# Everything that goes in, but for the versions of packages.
system_key() { # name, release
	{
		cat "$here/$1/$2.txt"
		declare -f bootstrap build_system
	} | sha256sum | cut -c1-16
}

setup_system() { # name, release
	local name=$1 release=$2 key scratch mirror
	[ -e "$here/$name/$release.txt" ] ||
		die "there is no release '$release' of $name: there are $(releases "$name" | xargs)"
	key=$release-$(system_key "$name" "$release")
	if ! complete "$cache/$name/$key"; then
		[ "$(uname -m)" = x86_64 ] || cannot_have "$name $release is for guests of x86-64, and this is $(uname -m)"
		root_prefix >/dev/null || cannot_have "a Debian $release for $name is made by root only"
		# Root of a container may not.
		as_root unshare --mount true 2>/dev/null ||
			cannot_have "a Debian $release for $name is made by debootstrap, which may not mount here"
		prepare_bootstrap "a Debian $release for $name"
		with_lock packages setup_packages disk
		say "$name $release: installing a Debian $release (150 MB) and making a disk of 500 MB"
		scratch=$(scratch_dir "$name-$release")
		build_system "$name" "$release" "$scratch" "$mirror" ||
			die "debootstrap could not install Debian $release for $name from $mirror"
		publish "$scratch" "$cache/$name/$key"
	fi
	ln -sfn "$key" "$cache/$name/.$release.new"
	mv -T "$cache/$name/.$release.new" "$cache/$name/$release"
}
