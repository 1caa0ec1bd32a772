/* SPDX-License-Identifier: MIT */
/*
 * Operators: the device has memory and moves it, it computes nothing. A program that wants an
 * operator has to be told, at once and with its name: a call that returned 0 would leave it with
 * what happens to be in the memory of the result.
 */
#include "system.h"

static const char no_operators[] =
	"this device has memory only, it computes nothing: copy to the host and compute there";

aclError aclopCompileAndExecute(const char *opType, int numInputs, const void *const inputDesc[],
				const void *const inputs[], int numOutputs,
				const void *const outputDesc[], void *const outputs[],
				const void *attr, int engineType, int compileFlag,
				const char *opPath, aclrtStream stream)
{
	(void)numInputs, (void)inputDesc, (void)inputs, (void)numOutputs, (void)outputDesc;
	(void)outputs, (void)attr, (void)engineType, (void)compileFlag, (void)opPath, (void)stream;
	call_begin("aclopCompileAndExecute");
	return call_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "operator %s: %s",
			 opType ? opType : "(NULL)", no_operators);
}

aclError aclopCompileAndExecuteV2(const char *opType, int numInputs, void *inputDesc[],
				  void *inputs[], int numOutputs, void *outputDesc[],
				  void *outputs[], void *attr, int engineType, int compileFlag,
				  const char *opPath, aclrtStream stream)
{
	(void)numInputs, (void)inputDesc, (void)inputs, (void)numOutputs, (void)outputDesc;
	(void)outputs, (void)attr, (void)engineType, (void)compileFlag, (void)opPath, (void)stream;
	call_begin("aclopCompileAndExecuteV2");
	return call_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "operator %s: %s",
			 opType ? opType : "(NULL)", no_operators);
}

/*
 * What describes operators, their operands and what runs them. None of these looks at its arguments,
 * so they are declared without: the caller passes what it likes, and takes it away again.
 */
#define EXPORT __attribute__((visibility("default")))

#define REFUSE(name) \
	EXPORT aclError name(void); \
	aclError name(void) \
	{ \
		call_begin(#name); \
		return call_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s", no_operators); \
	}

/* What makes something says so by NULL. */
#define REFUSE_TO_MAKE(name) \
	EXPORT void *name(void); \
	void *name(void) \
	{ \
		call_begin(#name); \
		call_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s", no_operators); \
		return NULL; \
	}

/* Of what could not be made. */
#define NOTHING_TO_DESTROY(name) \
	EXPORT void name(const void *object); \
	void name(const void *object) \
	{ \
		(void)object; \
	}

REFUSE_TO_MAKE(aclCreateTensorDesc)
REFUSE_TO_MAKE(aclCreateDataBuffer)
REFUSE_TO_MAKE(aclopCreateAttr)

NOTHING_TO_DESTROY(aclDestroyTensorDesc)
NOTHING_TO_DESTROY(aclopDestroyAttr)

REFUSE(aclDestroyDataBuffer)
REFUSE(aclSetTensorFormat)
REFUSE(aclSetTensorPlaceMent)
REFUSE(aclSetTensorShape)
REFUSE(aclGetTensorDescDimV2)
REFUSE(aclopSetAttrBool)
REFUSE(aclopSetAttrDataType)
REFUSE(aclopSetAttrFloat)
REFUSE(aclopSetAttrInt)
REFUSE(aclopSetAttrListBool)
REFUSE(aclopSetAttrListFloat)
REFUSE(aclopSetAttrListInt)
REFUSE(aclopSetAttrListListInt)
REFUSE(aclopSetAttrString)
REFUSE(aclmdlInitDump)
REFUSE(aclmdlSetDump)
REFUSE(aclmdlFinalizeDump)
REFUSE(aclrtBinaryLoadFromData)
REFUSE(aclrtBinaryGetFunction)
REFUSE(aclrtGetFunctionAddr)

NOTHING_TO_DESTROY(aclSetTensorDescName)

/* What these tell of a description that there is not: no dimension, "undefined" (-1). */
EXPORT size_t aclGetTensorDescNumDims(const void *desc);
size_t aclGetTensorDescNumDims(const void *desc)
{
	(void)desc;
	return 0;
}

EXPORT int aclGetTensorDescFormat(const void *desc);
int aclGetTensorDescFormat(const void *desc)
{
	(void)desc;
	return -1;
}

EXPORT int aclGetTensorDescType(const void *desc);
int aclGetTensorDescType(const void *desc)
{
	(void)desc;
	return -1;
}
