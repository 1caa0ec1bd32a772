# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Libraries and headers of other projects that tests build against. Sourced by
# qemu/setup, which sets what is named here.

: "${here?}" "${cache?}" "${no_install?}" "${system_python?}"

# Libraries or headers of other projects, each release out of a package that NAME/RELEASE.txt
# names, by build-NAME.

# shellcheck disable=SC2034 # used by qemu/setup
clients="sundials rmm"

client_key() { # name, release
	cat "$here/$1/$2.txt" "$here/build-$1" | sha256sum | cut -c1-16
}

setup_client() { # name, release
	local name=$1 release=$2 key scratch
	[ -e "$here/$name/$release.txt" ] ||
		die "there is no release '$release' of $name: there are $(releases "$name" | xargs)"
	key=$release-$(client_key "$name" "$release")
	if ! complete "$cache/$name/$key"; then
		[ -z "$no_install" ] || die "NO_INSTALL is set and $name $release is not in $cache"
		with_lock packages setup_packages client
		say "$name $release: downloading (up to 20 MB)"
		scratch=$(scratch_dir "$name-$release")
		"$here/build-$name" "$system_python" "$here/$name/$release.txt" "$release" "$scratch" ||
			die "$name $release could not be had"
		publish "$scratch" "$cache/$name/$key"
	fi
	ln -sfn "$key" "$cache/$name/.$release.new"
	mv -T "$cache/$name/.$release.new" "$cache/$name/$release"
}

print_client() { # name, release
	complete "$cache/$1/$2" || die "$1 $2 is not set up: run qemu/setup $1 $2"
	readlink -f "$cache/$1/$2"
}
