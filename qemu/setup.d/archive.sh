# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Debian's archive: packages that are unpacked, not installed. Sourced by qemu/setup.

# Package lists are refreshed at most once per run, and only when they do not do.
refresh_lists() {
	[ -z "${lists_are_fresh:-}" ] || return 1
	lists_are_fresh=1
	say "refreshing apt's package lists"
	quietly as_root apt-get update -q
}

candidate_version() { # package
	apt-cache policy "$1" 2>/dev/null | awk '$1 == "Candidate:" && $2 != "(none)" { print $2 }'
}

# The newest ABI of a series that has an unsigned image and headers; rt, cloud and
# dbg flavours do not match.
newest_abi() { # series
	local abi
	apt-cache pkgnames "linux-image-$1." |
		sed -n 's/^linux-image-\([0-9.+~-]*\(deb[0-9]*\)\?-amd64\)-unsigned$/\1/p' | sort -rV |
		while read -r abi; do
			[ -n "$(candidate_version "linux-headers-$abi")" ] || continue
			[ -n "$(candidate_version "linux-image-$abi-unsigned")" ] || continue
			echo "$abi"
			break
		done
}

download() { # directory, package...
	local dir=$1
	shift
	(cd "$dir" && quietly apt-get download -q -o APT::Sandbox::User=root "$@")
}
