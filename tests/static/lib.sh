# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What the checks share. Sourced by tests/static/run.

# All that is or will be in the repository.
files() { # patterns of git
	git ls-files -co --exclude-standard -- "$@" | sort -u | while read -r file; do
		[ ! -e "$file" ] || echo "$file"
	done
}

# Succeeds if its input is empty, else shows it.
nothing() {
	local text
	text=$(cat)
	[ -n "$text" ] || return 0
	printf '%s\n' "$text"
	return 1
}

# Compilers are silent when they have nothing to say; so must be the rest of the build.
no_warnings() { # log
	grep -E 'warning:|error:|WARNING:|ERROR:|\*\*\*' "$1" | nothing
}
