/* SPDX-License-Identifier: MIT */
/* Objects that end with a device. */
#ifndef ACCEL_PYTHON_CHILD_H
#define ACCEL_PYTHON_CHILD_H

#include "module.h"

struct memory;

/* What belongs to a device and ends with it. It stands first in the object, after the header of Python. */
struct child {
	PyObject *weakrefs;
	struct device *device; /* counted */
	void (*end)(struct child *child); /* gives back what libaccel has of it */
	struct child *next;
	struct child **link; /* NULL: ended with its device */
	unsigned int busy;
};

/* Completes the object, which the garbage collector tracks from here on. */
void child_link(struct child *child, struct device *device, void (*end)(struct child *child));
/* At the end of the object: ends it if it lives, and drops the reference to the device. */
void child_drop(struct child *child);
/*
 * For the garbage collector. There is no tp_clear for the device: it refers to no Python object, so
 * each cycle is broken elsewhere, and the objects of one that was cleared can still be used.
 */
int child_traverse(PyObject *self, visitproc visit, void *arg);
/* For weak references, a slot Py_tp_members of each type with a child. */
extern PyMemberDef child_members[];
/* The memory that it is, or NULL if it is another object. */
struct memory *child_memory(struct child *child);
/* Ends all that lives, the latest first; they keep their device. */
void children_end(struct device *device);
/* device_enter() and busy. An exception if `alive` is false: `what` names the object. */
bool child_enter(struct child *child, bool alive, const char *what);
void child_leave(struct child *child);
/* Whether it can be ended now; an exception if a call of another thread uses it. */
bool child_is_idle(const struct child *child, const char *what);

#endif
