/* SPDX-License-Identifier: MIT */
/*
 * What libtorch_npu.so links besides names of AscendCL: launches of programs on the device, which
 * are refused, and a profiler, which there is none of. None of these looks at its arguments, so
 * they are declared without.
 */
#include "acl/acl.h"

#include <stdint.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

/*
 * Before torch_npu looks. Its queue of operators loses errors: what comes after the first operator that
 * was refused returns at once, and the tensor that it should have written keeps what was there. Without
 * the queue each one raises. And it starts with a name of a chip that it knows only. What the program
 * has set itself stays.
 */
__attribute__((constructor)) static void settle(void)
{
	setenv("TASK_QUEUE_ENABLE", "0", 0);
	setenv("ACCEL_ACL_SOC_NAME", "Ascend910B1", 0);
}

#define REFUSE(name) \
	EXPORT int name(void); \
	int name(void) \
	{ \
		return ACL_ERROR_RT_FEATURE_NOT_SUPPORT; \
	}

REFUSE(rtDevBinaryRegister)
REFUSE(rtFunctionRegister)
REFUSE(rtKernelLaunch)

REFUSE(MsprofRegisterCallback)
REFUSE(MsprofReportApi)
REFUSE(MsprofReportCompactInfo)
REFUSE(MsprofReportAdditionalInfo)

EXPORT uint64_t MsprofGetHashId(void);
uint64_t MsprofGetHashId(void)
{
	return 0;
}

EXPORT uint64_t MsprofSysCycleTime(void);
uint64_t MsprofSysCycleTime(void)
{
	return 0;
}
