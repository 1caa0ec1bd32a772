// SPDX-License-Identifier: MIT
/* DeviceInfo and MemoryStats: the structs of libaccel as tuples with names. */

#include "device.h"
#include "error.h"
#include "info.h"

static PyTypeObject *info_type;
static PyTypeObject *stats_type;

static PyStructSequence_Field info_fields[] = {
	{ "name", "name of the kind of device" },
	{ "bus_address", "PCI address such as 0000:01:00.0" },
	{ "memory_size", "bytes of device memory" },
	{ "granule", "unit of allocation in bytes" },
	{ "max_transfer", "bytes that the device moves in one transfer" },
	{ "max_alignment", "largest alignment of an allocation in bytes" },
	{ "max_host_bytes", "largest host, unified or registered range in bytes" },
	{ "max_host_ranges", "host, unified and registered ranges that a device can have" },
	{ "capabilities", "bits of accel.Capability" },
	{ "engines", "DMA channels" },
	{ "dma_bits", "width of the bus addresses that the device can reach" },
	{ "node", "N of /dev/paccelN" },
	{ "copy_align", "what device addresses and lengths are multiples of in bytes" },
	{ NULL, NULL },
};

static PyStructSequence_Desc info_desc = {
	.name = "accel.DeviceInfo",
	.doc = "What a device is.",
	.fields = info_fields,
	.n_in_sequence = ARRAY_LENGTH(info_fields) - 1,
};

static PyStructSequence_Field stats_fields[] = {
	{ "total", "bytes of device memory: used + free + dirty + quarantined" },
	{ "used", "bytes in allocations of all processes" },
	{ "free", "bytes that can be allocated at once" },
	{ "dirty", "bytes that were freed and are being cleared" },
	{ "quarantined", "bytes out of use until a reset" },
	{ "mine", "bytes in allocations of this process" },
	{ "mine_allocs", "allocations of this process" },
	{ "user", "bytes charged to this user" },
	{ "user_max", "quota of each user in bytes, 0 for none" },
	{ "largest_free", "longest contiguous part of free" },
	{ "allocs", "allocations since the driver was bound" },
	{ "alloc_failures", "allocations refused for want of memory or quota" },
	{ "bytes_h2d", "bytes copied from host to device" },
	{ "bytes_d2h", "bytes copied from device to host" },
	{ "bytes_d2d", "bytes copied inside the device" },
	{ "bytes_filled", "bytes filled" },
	{ "bytes_scrubbed", "bytes cleared after they were freed" },
	{ "transfers", "transfers that the device was asked for" },
	{ NULL, NULL },
};

static PyStructSequence_Desc stats_desc = {
	.name = "accel.MemoryStats",
	.doc = "The memory of a device, and what was done with it, by all processes.",
	.fields = stats_fields,
	.n_in_sequence = ARRAY_LENGTH(stats_fields) - 1,
};

int info_init(PyObject *module)
{
	info_type = PyStructSequence_NewType(&info_desc);
	stats_type = PyStructSequence_NewType(&stats_desc);
	if (!info_type || !stats_type)
		return -1;
	if (PyModule_AddObjectRef(module, "DeviceInfo", (PyObject *)info_type))
		return -1;
	return PyModule_AddObjectRef(module, "MemoryStats", (PyObject *)stats_type);
}

void info_put(PyObject *tuple, Py_ssize_t *at, PyObject *value)
{
	PyStructSequence_SetItem(tuple, (*at)++, value);
}

void info_put_numbers(PyObject *tuple, Py_ssize_t *at, const uint64_t *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		info_put(tuple, at, PyLong_FromUnsignedLongLong(numbers[i]));
}

PyObject *info_whole(PyObject *tuple)
{
	if (!PyErr_Occurred())
		return tuple;
	Py_DECREF(tuple);
	return NULL;
}

PyObject *info_of_device(struct device *device, PyObject *args, PyObject *words)
{
	struct accel_device_info info = { 0 };
	int rc = accel_device_get_info(device->handle, &info);
	const uint64_t numbers[] = {
		info.memory_size, info.granule, info.max_transfer, info.max_alignment,
		info.max_host_bytes, info.max_host_ranges, info.capabilities, info.engines,
		info.dma_bits, info.node, info.copy_align,
	};
	PyObject *tuple;
	Py_ssize_t at = 0;

	(void)args;
	(void)words;
	if (rc)
		return error_raise(rc);
	tuple = PyStructSequence_New(info_type);
	if (!tuple)
		return NULL;
	info_put(tuple, &at, PyUnicode_FromString(info.name));
	info_put(tuple, &at, PyUnicode_FromString(info.bus_address));
	info_put_numbers(tuple, &at, numbers, ARRAY_LENGTH(numbers));
	return info_whole(tuple);
}

PyObject *info_of_memory(struct device *device, PyObject *args, PyObject *words)
{
	struct accel_memory_stats stats = { 0 };
	int rc = accel_memory_stats_full(device->handle, &stats);
	const uint64_t numbers[] = {
		stats.total, stats.used, stats.free, stats.dirty, stats.quarantined, stats.mine,
		stats.mine_allocs, stats.user, stats.user_max, stats.largest_free, stats.allocs,
		stats.alloc_failures, stats.bytes_h2d, stats.bytes_d2h, stats.bytes_d2d,
		stats.bytes_filled, stats.bytes_scrubbed, stats.transfers,
	};
	PyObject *tuple;
	Py_ssize_t at = 0;

	(void)args;
	(void)words;
	if (rc)
		return error_raise(rc);
	tuple = PyStructSequence_New(stats_type);
	if (!tuple)
		return NULL;
	info_put_numbers(tuple, &at, numbers, ARRAY_LENGTH(numbers));
	return info_whole(tuple);
}
