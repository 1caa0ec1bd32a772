// SPDX-License-Identifier: MIT
/*
 * Numbers that people write.
 */
#include <errno.h>
#include <stdlib.h>

#include "number.h"

static int shift_of(char unit)
{
	switch (unit) {
	case 'K': return 10;
	case 'M': return 20;
	case 'G': return 30;
	default: return -1;
	}
}

bool number_parse(const char *text, uint64_t *number)
{
	unsigned long long value;
	char *end;
	int shift;

	/* strtoull() takes signs and leading space. */
	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno)
		return false;
	if (*end) {
		shift = shift_of(*end);
		if (shift < 0 || end[1] || value > UINT64_MAX >> shift)
			return false;
		value <<= shift;
	}
	*number = value;
	return true;
}
