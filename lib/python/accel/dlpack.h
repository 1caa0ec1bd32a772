/* SPDX-License-Identifier: MIT */
/* DLPack, which has no header here: its structs, and what Memory has of it. */
#ifndef ACCEL_PYTHON_DLPACK_H
#define ACCEL_PYTHON_DLPACK_H

#include "module.h"

/* The structs of DLPack 1.0, whose first form has no version and no flags. */
enum dl_device_type { DL_CPU = 1, DL_CUDA_HOST = 3, DL_ROCM_HOST = 11, DL_EXTENSION = 12 };
enum dl_type_code { DL_INT, DL_UINT, DL_FLOAT, DL_BOOL = 6 };

struct dl_device {
	int32_t type;
	int32_t id;
};

struct dl_tensor {
	void *data;
	struct dl_device device;
	int32_t ndim;
	struct dl_type {
		uint8_t code;
		uint8_t bits;
		uint16_t lanes;
	} dtype;
	int64_t *shape;
	int64_t *strides;
	uint64_t byte_offset;
};

struct dl_managed {
	struct dl_tensor tensor;
	void *context;
	void (*deleter)(struct dl_managed *managed);
};

struct dl_versioned {
	struct {
		uint32_t major;
		uint32_t minor;
	} version;
	void *context;
	void (*deleter)(struct dl_versioned *managed);
	uint64_t flags;
	struct dl_tensor tensor;
};

enum { DL_READ_ONLY = 1, DL_IS_COPY = 2, DL_PADDED = 4 }; /* flags */

/* Names of a capsule in the two forms. A consumer that takes the tensor gives it another name. */
#define DL_OLD "dltensor"
#define DL_NEW "dltensor_versioned"
#define DL_USED "used_dltensor"

/* One of the first two, or NULL: no consumer can take a tensor out of the object. */
const char *dlpack_name(PyObject *capsule);

PyObject *memory_dlpack(PyObject *self, PyObject *args, PyObject *words);
PyObject *memory_dlpack_device(PyObject *self, PyObject *unused);

#endif
