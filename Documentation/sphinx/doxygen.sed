# SPDX-License-Identifier: MIT
# What doxygen is to read of a header for C++: a comment on lines of its own describes what follows it,
# and @name is an argument. Of `namespace detail` only the base class of the resources is shown.
/^namespace accel/,$ {
	s,^(\t*)/\*\*?( [^-]|$),\1/**\2,
	s/@([a-z_]+)/\\e \1/g
}
s,^namespace detail \{,& /** \\cond */,
s,^\} // namespace detail,/** \\endcond */ &,
/^template <class R> class allocator/ {
	i\
/** \\endcond */ /** The members of all resources. */
	: member
	n
	s,^(\t*)/\*( [^-]|$),\1/**\2,
	/^\};/ ! b member
	s,$, /** \\cond */,
}
