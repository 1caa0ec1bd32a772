/* SPDX-License-Identifier: MIT */
/*
 * What torch_npu looks up in libhccl.so before all else of a group: the id of its first rank. It is refused with
 * a sentence, which torch_npu puts into its exception; without the function that names the function alone.
 */
#include "../system.h"

#include <stddef.h>

/* HcclResult: the feature is not supported. */
#define HCCL_E_NOT_SUPPORT 5

__attribute__((visibility("default"))) int HcclGetRootInfo(void *info);
int HcclGetRootInfo(void *info)
{
	(void)info;
	/* For its sentence, which aclGetRecentErrMsg() returns. */
	aclopCompileAndExecute("HcclGetRootInfo (collectives: use the backend gloo)", 0, NULL, NULL, 0, NULL, NULL,
			       NULL, 0, 0, NULL, NULL);
	return HCCL_E_NOT_SUPPORT;
}
