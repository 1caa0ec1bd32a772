# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Debian's archive: packages that are unpacked, not installed. Sourced by qemu/setup, which sets what is
# named here.

: "${cache?}" "${no_install?}"

# Options of apt: none for the package lists of this machine, else those of another release.
archive_options=()
archive_lists=''

# Package lists are refreshed at most once per run, and only when they do not do.
refresh_lists() {
	[ -z "${lists_are_fresh:-}" ] || return 1
	lists_are_fresh=1
	say "refreshing apt's package lists"
	if [ ${#archive_options[@]} -eq 0 ]; then
		quietly as_root apt-get update -q
	else
		with_lock "apt-$archive_lists" quietly apt-get "${archive_options[@]}" update -q
	fi
}

own_release() { sed -n 's/^VERSION_CODENAME=//p' /etc/os-release; }

# The parts of the archive that this machine has its packages from, whatever file of apt names them:
# the release, its updates, its security updates; and where each is.
archive_parts() {
	# shellcheck disable=SC2016 # apt's variables
	apt-get indextargets --format '$(ORIGIN) $(COMPONENT) $(CODENAME) $(REPO_URI)' 'Created-By: Packages' |
		awk -v own="$(own_release)" '$1 == "Debian" && $2 == "main" && sub("^" own, "", $3) &&
			$3 ~ /^(-updates|-security)?$/ { print $4, $3 }'
}

# The mirror of the release itself.
archive_mirror() { archive_parts | awk 'NF == 1 { print $1; exit }'; }

# The same parts of another release, as apt's sources.list names them; CODENAME-backports adds that one.
# Unstable has neither updates nor security updates.
release_sources() { # codename
	local mirror part suite
	{
		archive_parts
		[ "$1" = "${1%-backports}" ] || echo "$(archive_mirror) -backports"
	} | while read -r mirror part; do
		[ "$1" != sid ] || [ -z "$part" ] || continue
		suite=${1%-backports}$part
		echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main"
	done
}

# From here on packages are those of another release of Debian or of another architecture, from the same
# mirrors. The machine's own lists stay as they are. Of a foreign architecture, packages of this machine's
# have to be named PACKAGE:ARCHITECTURE.
use_release() { # codename, architecture or nothing
	local dir=$cache/apt/$1${2:+-$2}
	[ -n "$no_install" ] || [ -n "$(archive_mirror)" ] || refresh_lists || true
	mkdir -p "$dir/lists/partial" "$dir/cache"
	archive_lists=${dir##*/}
	# Other set-ups may be reading the file.
	release_sources "$1" >"$dir/sources.list.$$"
	mv "$dir/sources.list.$$" "$dir/sources.list"
	archive_options=(-o "Dir::Etc::SourceList=$dir/sources.list" -o Dir::Etc::SourceParts=/dev/null
		-o "Dir::State::Lists=$dir/lists" -o "Dir::Cache=$dir/cache" -o APT::Sandbox::User=root)
	[ -z "${2:-}" ] || archive_options+=(-o "APT::Architecture=$2" -o "APT::Architectures::=$2"
		-o "APT::Architectures::=$(dpkg --print-architecture)")
	lists_are_fresh=''
}

apt_cache() { apt-cache "${archive_options[@]}" "$@" 2>/dev/null; }

candidate_version() { # package
	apt_cache policy "$1" | awk '$1 == "Candidate:" && $2 != "(none)" { print $2 }'
}

package_depends() { # package: names
	apt_cache show --no-all-versions "$1" | sed -n 's/^Depends: //p' | tr ',' '\n' | awk '{ print $1 }'
}

download() { # directory, package...
	local dir=$1
	shift
	(cd "$dir" && quietly apt-get "${archive_options[@]}" download -q -o APT::Sandbox::User=root "$@")
}

# With all that they depend on: nothing is installed, says the status.
download_closure() { # directory, package...
	local dir=$1
	shift
	mkdir -p "$dir/partial"
	quietly apt-get "${archive_options[@]}" -o Dir::State::Status=/dev/null -o "Dir::Cache::Archives=$dir" \
		-o Debug::NoLocking=1 install -q -y --download-only --no-install-recommends "$@"
}
