// SPDX-License-Identifier: GPL-2.0-only
/* Definitions of the tracepoints. */
#define CREATE_TRACE_POINTS
#include "exec/trace.h"
