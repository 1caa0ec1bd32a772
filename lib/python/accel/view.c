// SPDX-License-Identifier: MIT
/* Memory for others, where the processor can access it: the buffer protocol. */

#include "device.h"
#include "error.h"
#include "memory.h"

bool memory_export_begin(struct memory *memory)
{
	struct memory *root = memory->root;

	/* Says that it is freed, or its device closed. */
	if (!memory_enter(memory))
		return false;
	memory_leave(memory);
	if (root->kind == ACCEL_MEMORY_DEVICE && device_is_inherited(root->child.device)) {
		error_say(EPERM, "device memory is not mapped in a process that was forked");
		return false;
	}
	root->exports++;
	return true;
}

bool memory_view_begin(struct memory *memory)
{
	if (!memory_export_begin(memory))
		return false;
	if (memory->root->accessible)
		return true;
	memory->root->exports--;
	PyErr_Format(PyExc_BufferError,
		     "the processor cannot read this device memory: copy it with copy_to() or "
		     "tobytes()");
	return false;
}

int memory_get_buffer(PyObject *self, Py_buffer *view, int flags)
{
	struct memory *memory = (struct memory *)self;

	if (!memory_view_begin(memory)) {
		view->obj = NULL;
		return -1;
	}
	if (!PyBuffer_FillInfo(view, self, memory->ptr, (Py_ssize_t)memory->size,
			       memory->root->read_only, flags))
		return 0;
	memory->root->exports--;
	return -1;
}

void memory_release_buffer(PyObject *self, Py_buffer *view)
{
	(void)view;
	((struct memory *)self)->root->exports--;
}
