/* SPDX-License-Identifier: MIT */
/*
 * Checkpoints in device memory, with functions of SUNDIALS: saves one for each step, then loads
 * them in reverse order.
 *
 * Build: cc sundials_checkpoint.c $(pkg-config --cflags --libs accel-sundials) -lsundials_core
 */
#include <accel/sundials.h>
#include <sundials/sundials_core.h>
#include <stdio.h>
#include <stdlib.h>

#define NUMBERS 50
#define STEPS 5

static void check(SUNErrCode err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "%s: %d: %s\n", what, err, accel_last_error());
	exit(1);
}

int main(void)
{
	SUNMemory state, saved[STEPS];
	SUNMemoryHelper helper;
	unsigned long allocated, freed;
	size_t bytes = NUMBERS * sizeof(double), now, most;
	SUNContext ctx;
	int right = 0;
	double *u;

	check(SUNContext_Create(SUN_COMM_NULL, &ctx), "context");
	helper = SUNMemoryHelper_Accel(ctx);
	check(helper ? SUN_SUCCESS : SUN_ERR_EXT_FAIL, "helper");
	/* The CPU computes in page-locked memory, which copies do not have to pin. */
	check(SUNMemoryHelper_Alloc(helper, &state, bytes, SUNMEMTYPE_PINNED, NULL), "state");
	u = state->ptr;
	for (int step = 0; step < STEPS; step++) {
		for (int i = 0; i < NUMBERS; i++)
			u[i] = step + i / 100.0;
		check(SUNMemoryHelper_Alloc(helper, saved + step, bytes, SUNMEMTYPE_DEVICE, NULL), "block");
		check(SUNMemoryHelper_Copy(helper, saved[step], state, bytes, NULL), "save");
	}
	for (int step = STEPS - 1; step >= 0; step--) {
		check(SUNMemoryHelper_Copy(helper, state, saved[step], bytes, NULL), "load");
		right += u[NUMBERS - 1] == step + (NUMBERS - 1) / 100.0;
		check(SUNMemoryHelper_Dealloc(helper, saved[step], NULL), "free");
	}
	check(SUNMemoryHelper_GetAllocStats(helper, SUNMEMTYPE_DEVICE, &allocated, &freed, &now,
					    &most), "statistics");
	printf("%d of %lu checkpoints came back right; at most %zu bytes on the device\n", right,
	       allocated, most);

	check(SUNMemoryHelper_Dealloc(helper, state, NULL), "free");
	check(SUNMemoryHelper_Destroy(helper), "helper");
	check(SUNContext_Free(&ctx), "context");
	return right != STEPS || freed != allocated || now;
}
