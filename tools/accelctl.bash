# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# bash completion of accelctl, which knows its subcommands, options and devices itself.

_accelctl() {
	local word words=() colon=
	COMPREPLY=()
	# bash makes five words of a PCI address: those around a colon are one.
	for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
		if [ "${#words[@]}" -gt 0 ] && { [ "$word" = : ] || [ "$colon" ]; }; then
			words[-1]+=$word
		else
			words+=("$word")
		fi
		[ "$word" = : ] && colon=1 || colon=
	done
	# What bash replaces begins after the last colon.
	local done=${words[-1]%"${words[-1]##*:}"}
	while IFS= read -r word; do
		if [ "$word" = : ]; then
			compopt -o default
		else
			COMPREPLY+=("${word#"$done"}")
		fi
	done < <("$1" complete "${words[@]}" 2>/dev/null)
}
complete -F _accelctl accelctl
