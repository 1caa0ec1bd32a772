// SPDX-License-Identifier: MIT
#ifndef PADDLE_ACCEL_GLOO_REDUCE_HPP
#define PADDLE_ACCEL_GLOO_REDUCE_HPP

#include "../engine.h"

struct reducer {
	// Out may be one of the operands. nullptr: the type has no such reduction.
	void (*reduce)(void *out, const void *left, const void *right, size_t count) = nullptr;
	// What remains to be done with the result; nullptr: nothing.
	void (*divide)(void *data, size_t count, int by) = nullptr;
};

reducer find_reducer(enum type type, reduction op);

#endif
