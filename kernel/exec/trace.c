// SPDX-License-Identifier: GPL-2.0-only
/* The tracepoints themselves. */
#define CREATE_TRACE_POINTS
#include "exec/trace.h"
