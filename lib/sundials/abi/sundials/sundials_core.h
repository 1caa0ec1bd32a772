/* SPDX-License-Identifier: MIT */
/* SUNDIALS' header of everything; of ours there is only this. */
#include <sundials/sundials_memory.h>
