/* SPDX-License-Identifier: MIT */
/* Vectors of SUNDIALS: what the tests use of them, as the libraries of 7.x have it. */
#ifndef SUNDIALS_TEST_NVECTOR_H
#define SUNDIALS_TEST_NVECTOR_H

#include <stdint.h>
#include <sundials/sundials_core.h>

typedef struct generic_N_Vector *N_Vector;

struct generic_N_Vector {
	void *content;
	void (**ops)(void); /* clone, cloneempty and destroy are the second to the fourth */
	SUNContext sunctx;
};

N_Vector N_VNew_Serial(int64_t length, SUNContext sunctx);
N_Vector N_VMake_Serial(int64_t length, sunrealtype *data, SUNContext sunctx);
N_Vector N_VClone_Serial(N_Vector v);
N_Vector N_VCloneEmpty_Serial(N_Vector v);
void N_VDestroy_Serial(N_Vector v);
void N_VDestroy(N_Vector v);
void N_VSetArrayPointer(sunrealtype *data, N_Vector v);
sunrealtype *N_VGetArrayPointer(N_Vector v);

#endif
