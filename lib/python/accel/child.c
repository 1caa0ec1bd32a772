// SPDX-License-Identifier: MIT
/* What belongs to a device: memory, streams, events. It holds the device, the device knows it. */

#include "child.h"
#include "device.h"
#include "memory.h"

PyMemberDef child_members[] = {
	{ "__weaklistoffset__", T_PYSSIZET, offsetof(struct memory, child.weakrefs), READONLY, NULL },
	{ NULL, 0, 0, 0, NULL },
};

int child_traverse(PyObject *self, visitproc visit, void *arg)
{
	const struct memory *object = (const struct memory *)self;

	Py_VISIT((PyObject *)Py_TYPE(self));
	Py_VISIT((PyObject *)object->child.device);
	return 0;
}

static PyObject *child_object(struct child *child)
{
	return (PyObject *)((char *)child - offsetof(struct memory, child));
}

struct memory *child_memory(struct child *child)
{
	PyObject *object = child_object(child);

	return Py_TYPE(object) == accel_memory_type ? (struct memory *)object : NULL;
}

void child_link(struct child *child, struct device *device, void (*end)(struct child *child))
{
	Py_INCREF((PyObject *)device);
	child->device = device;
	child->end = end;
	child->next = device->children;
	child->link = &device->children;
	if (child->next)
		child->next->link = &child->next;
	device->children = child;
	PyObject_GC_Track(child_object(child));
}

static void unlink_child(struct child *child)
{
	if (!child->link)
		return;
	*child->link = child->next;
	if (child->next)
		child->next->link = child->link;
	child->link = NULL;
}

void child_drop(struct child *child)
{
	struct device *device = child->device;

	if (!device)
		return;
	unlink_child(child);
	child->end(child);
	child->device = NULL;
	Py_DECREF((PyObject *)device);
}

/* What is let go of may run code of the program, and that may let go of others, or of this one. */
void children_end(struct device *device)
{
	struct child *child;
	PyObject *object;

	while ((child = device->children)) {
		object = child_object(child);
		Py_INCREF(object);
		unlink_child(child);
		child->end(child);
		Py_DECREF(object);
	}
}

bool child_enter(struct child *child, bool alive, const char *what)
{
	if (!device_enter(child->device))
		return false;
	if (!alive) {
		device_leave(child->device);
		PyErr_Format(PyExc_ValueError, "the %s", what);
		return false;
	}
	child->busy++;
	return true;
}

void child_leave(struct child *child)
{
	child->busy--;
	device_leave(child->device);
}

bool child_is_idle(const struct child *child, const char *what)
{
	/* After fork() the threads that were in these calls are not there. */
	if (!child->busy || device_is_inherited(child->device))
		return true;
	PyErr_Format(PyExc_BufferError, "another thread uses the %s: wait until its call returns",
		     what);
	return false;
}
