// SPDX-License-Identifier: MIT
/* Devices and contexts. */

#include "private.h"

#include <acl/acl_rt.h>

static PyObject *set_device(PyObject *self, PyObject *args)
{
	int32_t device_id;
	aclError err;

	(void)self;
	if (!ARGUMENTS(args, "set_device", INT(device_id)))
		return NULL;
	UNLOCKED(err, aclrtSetDevice(device_id));
	return result(err);
}

static PyObject *reset_device(PyObject *self, PyObject *args)
{
	int32_t device_id;
	aclError err;

	(void)self;
	if (!ARGUMENTS(args, "reset_device", INT(device_id)))
		return NULL;
	UNLOCKED(err, aclrtResetDevice(device_id));
	return result(err);
}

static PyObject *reset_device_force(PyObject *self, PyObject *args)
{
	int32_t device_id;
	aclError err;

	(void)self;
	if (!ARGUMENTS(args, "reset_device_force", INT(device_id)))
		return NULL;
	UNLOCKED(err, aclrtResetDeviceForce(device_id));
	return result(err);
}

static PyObject *get_device(PyObject *self, PyObject *unused)
{
	int32_t device_id = 0;
	aclError err;

	(void)self;
	(void)unused;
	err = aclrtGetDevice(&device_id);
	return result_number(device_id, err);
}

static PyObject *get_device_count(PyObject *self, PyObject *unused)
{
	uint32_t count = 0;
	aclError err;

	(void)self;
	(void)unused;
	UNLOCKED(err, aclrtGetDeviceCount(&count));
	return result_number(count, err);
}

static PyObject *get_run_mode(PyObject *self, PyObject *unused)
{
	aclrtRunMode mode = ACL_DEVICE;
	aclError err;

	(void)self;
	(void)unused;
	err = aclrtGetRunMode(&mode);
	return result_number((int)mode, err);
}

static PyObject *synchronize_device(PyObject *self, PyObject *unused)
{
	aclError err;

	(void)self;
	(void)unused;
	UNLOCKED(err, aclrtSynchronizeDevice());
	return result(err);
}

static PyObject *synchronize_device_with_timeout(PyObject *self, PyObject *args)
{
	int32_t timeout;
	aclError err;

	(void)self;
	if (!ARGUMENTS(args, "synchronize_device_with_timeout", INT(timeout)))
		return NULL;
	UNLOCKED(err, aclrtSynchronizeDeviceWithTimeout(timeout));
	return result(err);
}

static PyObject *get_mem_info(PyObject *self, PyObject *args)
{
	size_t free_bytes = 0, total = 0;
	int32_t attr;
	aclError err;

	(void)self;
	if (!ARGUMENTS(args, "get_mem_info", INT(attr)))
		return NULL;
	UNLOCKED(err, aclrtGetMemInfo((aclrtMemAttr)attr, &free_bytes, &total));
	return Py_BuildValue("(KKi)", err ? 0 : (unsigned long long)free_bytes,
			     err ? 0 : (unsigned long long)total, (int)err);
}

/* The dict of pyACL, also if the call has failed. */
static PyObject *get_device_utilization_rate(PyObject *self, PyObject *args)
{
	aclrtUtilizationInfo info = { -1, -1, -1, -1, NULL };
	int32_t device_id;
	aclError err;

	(void)self;
	if (!ARGUMENTS(args, "get_device_utilization_rate", INT(device_id)))
		return NULL;
	UNLOCKED(err, aclrtGetDeviceUtilizationRate(device_id, &info));
	return Py_BuildValue("({s:i,s:i,s:i,s:i,s:O}i)", "cube_utilization", info.cubeUtilization,
			     "vector_utilization", info.vectorUtilization, "aicpu_utilization",
			     info.aicpuUtilization, "memory_utilization", info.memoryUtilization,
			     "utilization_extend", Py_None, (int)err);
}

static PyObject *device_can_access_peer(PyObject *self, PyObject *args)
{
	int32_t device_id, peer_device_id, can = 0;
	aclError err;

	(void)self;
	if (!ARGUMENTS(args, "device_can_access_peer", INT(device_id), INT(peer_device_id)))
		return NULL;
	UNLOCKED(err, aclrtDeviceCanAccessPeer(&can, device_id, peer_device_id));
	return result_number(can, err);
}

static PyObject *device_enable_peer_access(PyObject *self, PyObject *args)
{
	int32_t peer_device_id;
	uint32_t flags;
	aclError err;

	(void)self;
	if (!ARGUMENTS(args, "device_enable_peer_access", INT(peer_device_id), UINT(flags)))
		return NULL;
	UNLOCKED(err, aclrtDeviceEnablePeerAccess(peer_device_id, flags));
	return result(err);
}

static PyObject *device_disable_peer_access(PyObject *self, PyObject *args)
{
	int32_t peer_device_id;
	aclError err;

	(void)self;
	if (!ARGUMENTS(args, "device_disable_peer_access", INT(peer_device_id)))
		return NULL;
	UNLOCKED(err, aclrtDeviceDisablePeerAccess(peer_device_id));
	return result(err);
}

/* ---- Contexts ---- */

static PyObject *create_context(PyObject *self, PyObject *args)
{
	aclrtContext context = NULL;
	int32_t device_id;
	aclError err;

	(void)self;
	if (!ARGUMENTS(args, "create_context", INT(device_id)))
		return NULL;
	UNLOCKED(err, aclrtCreateContext(&context, device_id));
	return result_pointer(context, err);
}

static PyObject *destroy_context(PyObject *self, PyObject *args)
{
	aclrtContext context;
	aclError err;

	(void)self;
	if (!ARGUMENTS(args, "destroy_context", POINTER(context)))
		return NULL;
	UNLOCKED(err, aclrtDestroyContext(context));
	return result(err);
}

static PyObject *set_context(PyObject *self, PyObject *args)
{
	aclrtContext context;
	aclError err;

	(void)self;
	if (!ARGUMENTS(args, "set_context", POINTER(context)))
		return NULL;
	UNLOCKED(err, aclrtSetCurrentContext(context));
	return result(err);
}

static PyObject *get_context(PyObject *self, PyObject *unused)
{
	aclrtContext context = NULL;
	aclError err;

	(void)self;
	(void)unused;
	err = aclrtGetCurrentContext(&context);
	return result_pointer(context, err);
}

PyMethodDef device_functions[] = {
	{ "set_device", set_device, METH_VARARGS,
	  "set_device(device_id, /)\n--\n\nUses a device in this thread: ret." },
	{ "reset_device", reset_device, METH_VARARGS,
	  "reset_device(device_id, /)\n--\n\nUndoes one set_device(): ret." },
	{ "reset_device_force", reset_device_force, METH_VARARGS,
	  "reset_device_force(device_id, /)\n--\n\nUndoes every set_device(): ret." },
	{ "get_device", get_device, METH_NOARGS,
	  "get_device()\n--\n\nDevice of this thread: (device_id, ret)." },
	{ "get_device_count", get_device_count, METH_NOARGS,
	  "get_device_count()\n--\n\nNumber of devices: (count, ret)." },
	{ "get_run_mode", get_run_mode, METH_NOARGS,
	  "get_run_mode()\n--\n\nWhere the program runs, 1 for the host: (mode, ret)." },
	{ "synchronize_device", synchronize_device, METH_NOARGS,
	  "synchronize_device()\n--\n\nWaits for all work of the device: ret." },
	{ "synchronize_device_with_timeout", synchronize_device_with_timeout, METH_VARARGS,
	  "synchronize_device_with_timeout(timeout, /)\n--\n\n"
	  "The same for some milliseconds, -1 for ever: ret." },
	{ "get_mem_info", get_mem_info, METH_VARARGS,
	  "get_mem_info(attr, /)\n--\n\nBytes of the device: (free, total, ret)." },
	{ "get_device_utilization_rate", get_device_utilization_rate, METH_VARARGS,
	  "get_device_utilization_rate(device_id, /)\n--\n\n"
	  "A dict of percentages, -1 for what is not known: (rates, ret)." },
	{ "device_can_access_peer", device_can_access_peer, METH_VARARGS,
	  "device_can_access_peer(device_id, peer_device_id, /)\n--\n\n"
	  "Whether two devices can copy to each other: (can, ret)." },
	{ "device_enable_peer_access", device_enable_peer_access, METH_VARARGS,
	  "device_enable_peer_access(peer_device_id, flags, /)\n--\n\n"
	  "Lets the current device copy from and to another; flags is 0: ret." },
	{ "device_disable_peer_access", device_disable_peer_access, METH_VARARGS,
	  "device_disable_peer_access(peer_device_id, /)\n--\n\nUndoes it: ret." },
	{ "create_context", create_context, METH_VARARGS,
	  "create_context(device_id, /)\n--\n\nA context of a device: (context, ret)." },
	{ "destroy_context", destroy_context, METH_VARARGS,
	  "destroy_context(context, /)\n--\n\nEnds it: ret." },
	{ "set_context", set_context, METH_VARARGS,
	  "set_context(context, /)\n--\n\nUses it in this thread: ret." },
	{ "get_context", get_context, METH_NOARGS,
	  "get_context()\n--\n\nContext of this thread: (context, ret)." },
	{ NULL, NULL, 0, NULL },
};
