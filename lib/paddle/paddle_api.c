/* SPDX-License-Identifier: MIT */
/*
 * Finds the C functions of Paddle, in a library that is loaded but not in the global scope.
 */
#include "private.h"

#include "paddle_api.h"

#include <dlfcn.h>
#include <string.h>

/* From 3.0 on, and before. */
static const char *const libraries[] = { "libphi_core.so", "libpaddle.so" };

static struct paddle_api api;

static const struct {
	const char *name;
	void *where;
} functions[] = {
	{ "PD_RegisterPhiKernel", &api.register_kernel },
	{ "PD_KernelContextGetDeviceContext", &api.device_context },
	{ "PD_KernelContextInputAt", &api.input },
	{ "PD_KernelContextOutputAt", &api.output },
	{ "PD_KernelContextScalarAttrAt", &api.scalar },
	{ "PD_DeviceContextGetStream", &api.stream },
	{ "PD_DeviceContextAllocateTensor", &api.allocate },
	{ "PD_TensorGetDataPointer", &api.data },
	{ "PD_TensorGetPDDataType", &api.type },
	{ "PD_TensorGetElementCount", &api.count },
	{ "PD_TensorGetNumDims", &api.dims },
	{ "PD_TensorGetDim", &api.dim },
	{ "PD_TensorGetStride", &api.stride },
	{ "PD_TensorSetStrides", &api.set_strides },
	{ "PD_ScalarGetFloat64Data", &api.to_double },
	{ "PD_ScalarGetInt64Data", &api.to_int64 },
};

static bool find_in(void *library)
{
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *function = dlsym(library, functions[i].name);

		if (!function)
			return false;
		memcpy(functions[i].where, &function, sizeof(function));
	}
	return true;
}

const struct paddle_api *paddle_api_find(void)
{
	bool found = false;

	for (size_t i = 0; !found && i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);

		if (!library)
			continue;
		found = find_in(library);
		/* Only what dlopen() counted: Paddle itself has it loaded. */
		dlclose(library);
	}
	return found ? &api : NULL;
}
