/* SPDX-License-Identifier: MIT */
/* Settings that are kept, what the card is, addresses and memory apart, operators. */
#include "fixture.h"

#include "../../../lib/acl/system.h"

/* Of those that do not look at their arguments. */
#define DECLARE(name) aclError name(void)

DECLARE(aclDestroyDataBuffer);
DECLARE(aclSetTensorFormat);
DECLARE(aclSetTensorPlaceMent);
DECLARE(aclSetTensorShape);
DECLARE(aclGetTensorDescDimV2);
DECLARE(aclopSetAttrBool);
DECLARE(aclopSetAttrDataType);
DECLARE(aclopSetAttrFloat);
DECLARE(aclopSetAttrInt);
DECLARE(aclopSetAttrListBool);
DECLARE(aclopSetAttrListFloat);
DECLARE(aclopSetAttrListInt);
DECLARE(aclopSetAttrListListInt);
DECLARE(aclopSetAttrString);
DECLARE(aclmdlInitDump);
DECLARE(aclmdlSetDump);
DECLARE(aclmdlFinalizeDump);
DECLARE(aclrtBinaryLoadFromData);
DECLARE(aclrtBinaryGetFunction);
DECLARE(aclrtGetFunctionAddr);
DECLARE(aclrtReleaseMemAddress);
DECLARE(aclrtFreePhysical);
DECLARE(aclrtMapMem);
DECLARE(aclrtUnmapMem);
DECLARE(aclrtMemExportToShareableHandle);
DECLARE(aclrtMemImportFromShareableHandle);
DECLARE(aclrtMemSetPidToShareableHandle);
void *aclCreateTensorDesc(void);
void *aclCreateDataBuffer(void);
void *aclopCreateAttr(void);
void aclDestroyTensorDesc(const void *object);
void aclopDestroyAttr(const void *object);
void aclSetTensorDescName(const void *object);
size_t aclGetTensorDescNumDims(const void *desc);
int aclGetTensorDescFormat(const void *desc);
int aclGetTensorDescType(const void *desc);

#define NO ACL_ERROR_RT_FEATURE_NOT_SUPPORT
#define BAD ACL_ERROR_INVALID_PARAM

/* ---- What the card is ---- */

static void test_name(void)
{
	const char *name = aclrtGetSocName();

	ok(!strcmp(name, "a name"));
	/* It was taken. */
	setenv("ACCEL_ACL_SOC_NAME", "another", 1);
	ok(aclrtGetSocName() == name && !strcmp(name, "a name"));
}

static void test_process(void)
{
	int32_t pid = 0;

	gives(aclrtDeviceGetBareTgid(&pid), 0);
	ok(pid == getpid());
	refuses(aclrtDeviceGetBareTgid(NULL), BAD, "pid is NULL");
}

static void test_capability(void)
{
	int64_t value = 77;

	refuses(aclGetDeviceCapability(0, 3, &value), NO, "capability 3");
	ok(!value);
	refuses(aclGetDeviceCapability(0, 3, NULL), BAD, "value is NULL");
}

/* ---- Settings ---- */

static void test_compile_options(void)
{
	char text[256], longest[257];

	ok(aclGetCompileoptSize(14) == 1);
	gives(aclGetCompileopt(14, text, sizeof(text)), 0);
	ok(!*text);
	gives(aclSetCompileopt(14, "enable"), 0);
	gives(aclSetCompileopt(15, "other"), 0);
	ok(aclGetCompileoptSize(14) == 7);
	gives(aclGetCompileopt(14, text, 7), 0);
	ok(!strcmp(text, "enable"));
	refuses(aclGetCompileopt(14, text, 6), BAD, "length is 6, the value takes 7 bytes");
	memset(longest, 'x', 256);
	longest[256] = 0;
	refuses(aclSetCompileopt(14, longest), ACL_ERROR_STORAGE_OVER_LIMIT, "more than 255");
	gives(aclGetCompileopt(14, text, sizeof(text)), 0);
	ok(!strcmp(text, "enable"));
	longest[255] = 0;
	gives(aclSetCompileopt(14, longest), 0);
	gives(aclGetCompileopt(14, text, sizeof(text)), 0);
	ok(!strcmp(text, longest));
}

static void test_bad_compile_options(void)
{
	char text[8];

	refuses(aclSetCompileopt(-1, "x"), BAD, "opt is -1, not 0 to 31");
	gives(aclSetCompileopt(31, "x"), 0);
	refuses(aclSetCompileopt(32, "x"), BAD, "opt is 32, not 0 to 31");
	refuses(aclSetCompileopt(0, NULL), BAD, "value is NULL");
	ok(!aclGetCompileoptSize(-1) && !aclGetCompileoptSize(32));
	refuses(aclGetCompileopt(-1, text, 8), BAD, "opt is -1");
	refuses(aclGetCompileopt(32, text, 8), BAD, "opt is 32");
	refuses(aclGetCompileopt(31, NULL, 8), BAD, "value is NULL");
}

static void test_parameters(void)
{
	int64_t value = 77;

	gives(aclrtGetSysParamOpt(0, &value), 0);
	ok(!value);
	gives(aclrtSetSysParamOpt(0, INT64_MAX), 0);
	gives(aclrtCtxSetSysParamOpt(1, -1), 0);
	gives(aclrtCtxGetSysParamOpt(0, &value), 0);
	ok(value == INT64_MAX);
	gives(aclrtGetSysParamOpt(1, &value), 0);
	ok(value == -1);
	gives(aclrtSetSysParamOpt(31, 5), 0);
	refuses(aclrtSetSysParamOpt(32, 0), BAD, "opt is 32, not 0 to 31");
	refuses(aclrtCtxSetSysParamOpt(-1, 0), BAD, "opt is -1, not 0 to 31");
	refuses(aclrtGetSysParamOpt(-1, &value), BAD, "opt is -1");
	refuses(aclrtCtxGetSysParamOpt(32, &value), BAD, "opt is 32");
	refuses(aclrtGetSysParamOpt(0, NULL), BAD, "value is NULL");
	refuses(aclrtCtxGetSysParamOpt(0, NULL), BAD, "value is NULL");
}

static void test_saturation(void)
{
	int mode = 77;

	gives(aclrtGetDeviceSatMode(&mode), 0);
	ok(mode == 0);
	gives(aclrtSetDeviceSatMode(1), 0);
	gives(aclrtGetDeviceSatMode(&mode), 0);
	ok(mode == 1);
	refuses(aclrtSetDeviceSatMode(2), BAD, "mode is 2, not 0 or 1");
	refuses(aclrtSetDeviceSatMode(-1), BAD, "mode is -1, not 0 or 1");
	gives(aclrtGetDeviceSatMode(&mode), 0);
	ok(mode == 1);
	gives(aclrtSetDeviceSatMode(0), 0);
	refuses(aclrtGetDeviceSatMode(NULL), BAD, "mode is NULL");
	gives(aclrtSetOpExecuteTimeOut(7), 0);
	gives(aclrtSetOpWaitTimeout(7), 0);
	aclAppLog(1, "function", "file", 2, "%d %s", 3, "words");
}

/* ---- What is refused ---- */

static void test_addresses(void)
{
	void *ptr = &ptr;

	refuses(aclrtReserveMemAddress(&ptr, 4096, 0, NULL, 0), NO, "cannot be had apart");
	ok(!ptr);
	refuses(aclrtReserveMemAddress(NULL, 4096, 0, NULL, 0), BAD, "virPtr is NULL");
	ptr = &ptr;
	refuses(aclrtMallocPhysical(&ptr, 4096, NULL, 0), NO, "cannot be had apart");
	ok(!ptr);
	refuses(aclrtMallocPhysical(NULL, 4096, NULL, 0), BAD, "handle is NULL");
	refuses(aclrtReleaseMemAddress(), NO, "cannot be had apart");
	refuses(aclrtFreePhysical(), NO, "cannot be had apart");
	refuses(aclrtMapMem(), NO, "cannot be had apart");
	refuses(aclrtUnmapMem(), NO, "cannot be had apart");
	refuses(aclrtMemExportToShareableHandle(), NO, "cannot be had apart");
	refuses(aclrtMemImportFromShareableHandle(), NO, "cannot be had apart");
	refuses(aclrtMemSetPidToShareableHandle(), NO, "cannot be had apart");
}

static void test_operators(void)
{
	refuses(aclopCompileAndExecute("Add", 2, NULL, NULL, 1, NULL, NULL, NULL, 0, 0, NULL, NULL),
		NO, "operator Add: this device has memory only");
	refuses(aclopCompileAndExecute(NULL, 0, NULL, NULL, 0, NULL, NULL, NULL, 0, 0, NULL, NULL),
		NO, "operator (NULL)");
	refuses(aclopCompileAndExecuteV2("Cast", 0, NULL, NULL, 0, NULL, NULL, NULL, 0, 0, NULL,
					 NULL), NO, "operator Cast: this device has memory only");
	refuses(aclopCompileAndExecuteV2(NULL, 0, NULL, NULL, 0, NULL, NULL, NULL, 0, 0, NULL, NULL),
		NO, "operator (NULL)");
}

static void test_descriptions(void)
{
	ok(!aclCreateTensorDesc());
	ok(strstr(aclGetRecentErrMsg(), "aclCreateTensorDesc: this device has memory only"));
	ok(!aclCreateDataBuffer());
	ok(strstr(aclGetRecentErrMsg(), "aclCreateDataBuffer: this device has memory only"));
	ok(!aclopCreateAttr());
	ok(strstr(aclGetRecentErrMsg(), "aclopCreateAttr: this device has memory only"));
	aclDestroyTensorDesc(NULL);
	aclopDestroyAttr(NULL);
	aclSetTensorDescName(NULL);
	ok(!aclGetTensorDescNumDims(NULL));
	ok(aclGetTensorDescFormat(NULL) == -1 && aclGetTensorDescType(NULL) == -1);
	refuses(aclDestroyDataBuffer(), NO, "computes nothing");
	refuses(aclSetTensorFormat(), NO, "computes nothing");
	refuses(aclSetTensorPlaceMent(), NO, "computes nothing");
	refuses(aclSetTensorShape(), NO, "computes nothing");
	refuses(aclGetTensorDescDimV2(), NO, "computes nothing");
}

static void test_attributes_and_programs(void)
{
	refuses(aclopSetAttrBool(), NO, "computes nothing");
	refuses(aclopSetAttrDataType(), NO, "computes nothing");
	refuses(aclopSetAttrFloat(), NO, "computes nothing");
	refuses(aclopSetAttrInt(), NO, "computes nothing");
	refuses(aclopSetAttrListBool(), NO, "computes nothing");
	refuses(aclopSetAttrListFloat(), NO, "computes nothing");
	refuses(aclopSetAttrListInt(), NO, "computes nothing");
	refuses(aclopSetAttrListListInt(), NO, "computes nothing");
	refuses(aclopSetAttrString(), NO, "computes nothing");
	refuses(aclmdlInitDump(), NO, "computes nothing");
	refuses(aclmdlSetDump(), NO, "computes nothing");
	refuses(aclmdlFinalizeDump(), NO, "computes nothing");
	refuses(aclrtBinaryLoadFromData(), NO, "computes nothing");
	refuses(aclrtBinaryGetFunction(), NO, "computes nothing");
	refuses(aclrtGetFunctionAddr(), NO, "computes nothing");
}

int main(void)
{
	setenv("ACCEL_ACL_SOC_NAME", "a name", 1);
	RUN(test_name);
	RUN(test_process);
	RUN(test_capability);
	RUN(test_compile_options);
	RUN(test_bad_compile_options);
	RUN(test_parameters);
	RUN(test_saturation);
	RUN(test_addresses);
	RUN(test_operators);
	RUN(test_descriptions);
	RUN(test_attributes_and_programs);
	return tap_end();
}
