# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Disks with Python packages: PaddlePaddle, PyTorch, DLRover. Sourced by qemu/setup, which sets
# what is named here.

: "${here?}" "${cache?}" "${no_install?}" "${jobs?}"

# The release of Paddle that `make check` runs.
# shellcheck disable=SC2034 # used by qemu/setup
check_release=3.3.1
system_python=/usr/bin/python3

# PaddlePaddle, PyTorch, DLRover: each release is a list of packages with versions and hashes, NAME/RELEASE.txt,
# of which build-NAME makes a disk.

releases() { # name
	local file
	for file in "$here/$1"/*.txt; do
		basename "$file" .txt
	done | sort -rV
}

# Why this machine cannot have a disk, or nothing. The first line of a list tells the release of Python that
# its packages are for, and guests run this machine's.
disk_obstacle() { # name, release
	local wanted have
	wanted=$(sed -n '1s/.*for Python \([0-9.]*[0-9]\).*/\1/p' "$here/$1/$2.txt")
	have=$("$system_python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
	[ "$have" = "$wanted" ] ||
		echo "the packages of $1 $2 are for Python $wanted, and $system_python is $have"
}

# Everything that goes in.
disk_key() { # name, release
	{
		cat "$here/$1/$2.txt" "$here/build-$1"
		[ "$1" != torch ] || cat "$here/stub-libraries"
		[ "$1" != dlrover ] || cat "$here/build-paddle"
		"$system_python" -c 'import sys; print(sys.version)'
	} | sha256sum | cut -c1-16
}

disk_sizes() { # name
	case $1 in
	paddle) echo 'downloading its packages (200 MB) and making a disk of 1 GB' ;;
	torch) echo 'downloading its packages (0.9 GB) and making a disk of 2 GB' ;;
	dlrover) echo 'downloading its packages (30 MB) and making a disk of 200 MB' ;;
	esac
}

setup_disk() { # name, release
	local name=$1 release=$2 key scratch obstacle
	[ -e "$here/$name/$release.txt" ] ||
		die "there is no release '$release' of $name: there are $(releases "$name" | xargs)"
	[ -x "$system_python" ] || die "there is no $system_python"
	obstacle=$(disk_obstacle "$name" "$release")
	[ -z "$obstacle" ] || cannot_have "$obstacle"
	key=$release-$(disk_key "$name" "$release")
	if ! complete "$cache/$name/$key"; then
		[ -z "$no_install" ] || die "NO_INSTALL is set and $name $release is not in $cache"
		with_lock packages setup_packages disk
		say "$name $release: $(disk_sizes "$name")"
		scratch=$(scratch_dir "$name-$release")
		"$here/build-$name" "$system_python" "$here/$name/$release.txt" "$scratch" "$jobs" ||
			die "the disk of $name $release could not be made"
		publish "$scratch" "$cache/$name/$key"
	fi
	ln -sfn "$key" "$cache/$name/.$release.new"
	mv -T "$cache/$name/.$release.new" "$cache/$name/$release"
}

print_disk() { # name, release
	complete "$cache/$1/$2" || die "$1 $2 is not set up: run qemu/setup $1 $2"
	readlink -f "$cache/$1/$2/image"
}
