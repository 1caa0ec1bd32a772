# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# bash completion of accelctl, which knows its subcommands, options and devices itself.

_accelctl() {
	local word
	COMPREPLY=()
	while IFS= read -r word; do
		if [ "$word" = : ]; then
			compopt -o default
		else
			COMPREPLY+=("$word")
		fi
	done < <("$1" complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _accelctl accelctl
