# SPDX-License-Identifier: MIT
# The header of the uAPI as a later version may have it: every struct that says its size, and the elements of
# arrays, have a field more at the end.
/^struct paccel_[a-z_0-9]+ {$/ {
	name = $2
	grows = name == "paccel_op" || name == "paccel_point"
}
/^\t__u32 size;$/ {
	grows = 1
}
/^};$/ {
	if (grows) {
		print "\t__aligned_u64 grown;"
		n++
	}
	grows = 0
}
{ print }
END {
	if (n < 20)
		print "#error only", n, "structs have grown"
}
