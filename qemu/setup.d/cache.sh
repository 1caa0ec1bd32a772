# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The cache: an item is complete or not there, and one process at a time makes it. Sourced by
# qemu/setup, which sets what is named here.

: "${cache?}" "${no_install?}"

# Runs the rest of the words while it holds the lock of an item.
with_lock() { # item, command...
	local item=$1
	shift
	mkdir -p "$cache/lock"
	(
		flock -n 9 || { say "waiting for another setup of $item"; flock 9; }
		"$@"
	) 9>"$cache/lock/${item//\//_}"
}

# A directory to build an item in. The name is fixed, so that what a killed run
# has left is removed by the next one; the item's lock keeps others away.
scratch_dir() { # item
	local dir=$cache/tmp/${1//\//_}
	rm -rf "$dir"
	mkdir -p "$dir"
	echo "${dir%/}"
}

publish() { # scratch, final
	mkdir -p "$(dirname "$2")"
	touch "$1/.complete"
	# On disk before it has its name: a power cut is an interruption, too.
	sync -f "$1"
	rm -rf "$2"
	mv -T "$1" "$2"
}

complete() { [ -e "$1/.complete" ]; }

refuse_to_fetch() { # what
	[ -z "$no_install" ] || die "NO_INSTALL is set and $1 is not in $cache"
	is_debian || die "$1 comes from Debian's archive and this is $(distribution_name); a container can be Debian, see Containerfile"
}
