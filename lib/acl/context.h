/* SPDX-License-Identifier: MIT */
/* Contexts. */
#ifndef LIBACCEL_ACL_CONTEXT_H
#define LIBACCEL_ACL_CONTEXT_H

#include "state.h"

/* Ends streams and events of a device, or those of a context, and the contexts. */
void objects_end(struct device *device, aclrtContext context);

#endif
