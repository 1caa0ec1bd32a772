/* SPDX-License-Identifier: MIT */
/* For programs that know nothing of the mock: a card, before they begin. */
#include "../mock.h"

__attribute__((constructor)) static void plug_in(void)
{
	mock_reset();
	mock_add(0);
}
