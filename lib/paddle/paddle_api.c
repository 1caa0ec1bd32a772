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
static struct paddle_profiler_api profiler_api;

struct function {
	const char *name;
	void *where;
};

static const struct function functions[] = {
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

/* Always in libpaddle.so. */
static const struct function profiler_functions[] = {
	{ "profiler_add_runtime_trace_event", &profiler_api.add_call },
	{ "profiler_add_device_trace_event", &profiler_api.add_device },
};

static bool find_in(void *library, const struct function *wanted, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		void *function = dlsym(library, wanted[i].name);

		if (!function)
			return false;
		memcpy(wanted[i].where, &function, sizeof(function));
	}
	return true;
}

/* All of them in one library. */
static bool find(const struct function *wanted, size_t count)
{
	bool found = false;

	for (size_t i = 0; !found && i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);

		if (!library)
			continue;
		found = find_in(library, wanted, count);
		/* Only what dlopen() counted: Paddle itself has it loaded. */
		dlclose(library);
	}
	return found;
}

const struct paddle_api *paddle_api_find(void)
{
	return find(functions, sizeof(functions) / sizeof(functions[0])) ? &api : NULL;
}

const struct paddle_profiler_api *paddle_profiler_api_find(void)
{
	return find(profiler_functions, sizeof(profiler_functions) / sizeof(profiler_functions[0]))
		       ? &profiler_api
		       : NULL;
}
