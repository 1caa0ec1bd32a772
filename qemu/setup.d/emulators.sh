# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Other versions of QEMU than this machine's. Sourced by qemu/setup, which sets what is named here.
#
# A version is unpacked with all libraries that it needs, and runs on them: Debian's packages of one
# release, as apt would install them on a machine that has none. Nothing of it needs root.

: "${here?}" "${cache?}" "${no_install?}"

# The release of Debian that has a version.
declare -A qemu_release=([10]=trixie [11]=trixie-backports)

qemu_versions() { printf '%s\n' "${!qemu_release[@]}" | sort -n; }

qemu_package=qemu-system-x86
qemu_program=qemu-system-x86_64

# apt for a machine without packages.
bare_apt() { # scratch, words...
	local dir=$1
	shift
	# shellcheck disable=SC2154 # archive_options: archive.sh
	apt-get "${archive_options[@]}" -q -y -o "Dir::State::status=$dir/status" -o "Dir::Cache::archives=$dir/archives" \
		-o Debug::NoLocking=1 -o APT::Install-Recommends=false "$@"
}

# The version of the package that would be installed.
qemu_candidate() { # release
	apt_cache -o "APT::Default-Release=$1" policy "$qemu_package" |
		awk '$1 == "Candidate:" && $2 != "(none)" { print $2 }'
}

# May fail, and is therefore called in a condition.
download_qemu() { # scratch, release
	mkdir -p "$1/archives/partial" && : >"$1/status" &&
		quietly bare_apt "$1" -t "$2" --download-only install "$qemu_package"
}

# QEMU looks for its files where Debian installs them, and the host's loader and libraries are of another
# release.
write_qemu_program() { # scratch
	local libraries=usr/lib/x86_64-linux-gnu
	cat >"$1/$qemu_program" <<-END
	#!/bin/sh
	# SPDX-License-Identifier: MIT
	# Written by qemu/setup: $qemu_program on the libraries beside it.
	here=\$(dirname "\$(readlink -f "\$0")")
	unset LD_PRELOAD
	export QEMU_MODULE_DIR="\$here/$libraries/qemu"
	exec "\$here/$libraries/ld-linux-x86-64.so.2" --library-path "\$here/$libraries" "\$here/usr/bin/$qemu_program" \\
		-L "\$here/usr/share/qemu" -L "\$here/usr/share/seabios" "\$@"
	END
	chmod 755 "$1/$qemu_program"
}

unpack_qemu() { # scratch
	local deb
	for deb in "$1"/archives/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" |
			tar -C "$1" -x --exclude=./usr/share/doc --exclude=./usr/share/man \
				--exclude=./usr/share/locale --exclude=./etc --exclude=./var \
				--keep-directory-symlink --no-same-owner
	done
	rm -r "$1/archives" "$1/status"
	write_qemu_program "$1"
}

qemu_version_of() { # program: such as 10.0.13
	"$1" --version | sed -nE '1s/^QEMU emulator version ([0-9.]+).*/\1/p'
}

# What a directory is made from: the packages, and how they are unpacked.
qemu_key() { # version of the package
	echo "$1-$(declare -f unpack_qemu write_qemu_program | sha256sum | cut -c1-8)"
}

use_cached_qemu() { # version
	complete "$cache/qemu/$1" || {
		refuse_to_fetch "QEMU $1"
		cannot_have "QEMU $1 is not in Debian ${qemu_release[$1]}, and not in $cache"
	}
	say "QEMU $1: using $(cat "$cache/qemu/$1/version") from the cache"
}

# Asked as seldom as for a clean root: a month.
fresh_qemu() { # version
	complete "$cache/qemu/$1" && [ -n "$(find "$cache/qemu/$1/.complete" -mtime -30)" ] &&
		[[ $(readlink "$cache/qemu/$1") == $(qemu_key '*') ]]
}

setup_qemu() { # version
	local version=$1 release=${qemu_release[$1]:-} candidate key scratch found
	[ -n "$release" ] || die "there is no QEMU '$version' to set up: there are $(qemu_versions | xargs)"
	[ "$(uname -m)" = x86_64 ] || cannot_have "QEMU $version is Debian's for amd64, and this is $(uname -m)"
	! fresh_qemu "$version" || return 0
	if [ -n "$no_install" ] || ! is_debian; then
		use_cached_qemu "$version"
		return
	fi
	use_release "$release"
	refresh_lists || true
	candidate=$(qemu_candidate "$release")
	if [[ $candidate != [0-9]:$version.* ]]; then
		use_cached_qemu "$version"
		return
	fi
	key=$(qemu_key "${candidate#*:}")
	if ! complete "$cache/qemu/$key"; then
		say "QEMU $version: downloading and unpacking ${candidate#*:} (40 MB)"
		scratch=$(scratch_dir "qemu-$version")
		download_qemu "$scratch" "$release" || { use_cached_qemu "$version"; return; }
		unpack_qemu "$scratch"
		found=$(qemu_version_of "$scratch/$qemu_program") || die "QEMU $version does not start"
		echo "$found" >"$scratch/version"
		publish "$scratch" "$cache/qemu/$key"
	fi
	touch "$cache/qemu/$key/.complete"
	ln -sfn "$key" "$cache/qemu/.$version.new"
	mv -T "$cache/qemu/.$version.new" "$cache/qemu/$version"
}

print_qemu() { # version
	complete "$cache/qemu/$1" || die "QEMU $1 is not set up: run qemu/setup qemu $1"
	echo "$(readlink -f "$cache/qemu/$1")/$qemu_program"
}
