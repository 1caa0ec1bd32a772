/* SPDX-License-Identifier: MIT */
/*
 * Rows of the tables of refusals: a valid call, one deviation from it, and the errno that the "Return" of
 * the command's struct in the uAPI names for that. test_errors.py checks that none is missing.
 */
#ifndef REFUSALS_H
#define REFUSALS_H

#include "contract.h"

#include <stddef.h>

void refuse(const struct test *test, const struct command *command);
/* Deviations that both tables have. */
void make_read_only(struct world *w, union argument *c);
void no_file_descriptor(struct world *w, union argument *c);
void register_extra(struct world *w, void *addr, uint32_t flags);

#define FIELD(_member) \
	.offset = offsetof(union argument, _member), .bytes = sizeof(((union argument *)0)->_member)
#define OP_FIELD(_member) \
	.in_op = true, .offset = offsetof(struct paccel_op, _member), \
	.bytes = sizeof(((struct paccel_op *)0)->_member)
#define ROW(_about, _err, _name) .about = #_about, .err = _err, .name = _name, .run = refuse
/* A field of the struct has this value. */
#define SET(_about, _err, _name, _member, _value) \
	{ ROW(_about, _err, _name), FIELD(_member), .value = _value }
/* The same, where the call is another valid one to begin with. */
#define SET_IN(_begin, _about, _err, _name, _member, _value) \
	{ ROW(_about, _err, _name), FIELD(_member), .value = _value, .begin = _begin }
#define DEVIATE(_about, _err, _deviate) { ROW(_about, _err, #_deviate), .deviate = _deviate }
#define DEVIATE_IN(_begin, _about, _err, _deviate) \
	{ ROW(_about, _err, #_deviate), .deviate = _deviate, .begin = _begin }
/* The deviation is more than of the structs; and the test needs a process of its own. */
#define BREAK(_about, _err, _deviate) \
	{ ROW(_about, _err, #_deviate), .deviate = _deviate, .breaks = true }
#define BREAK_ALONE(_about, _err, _deviate) \
	{ ROW(_about, _err, #_deviate), .deviate = _deviate, .breaks = true, .alone = true }
/* Another valid call. */
#define ACCEPT(_about, _begin) { ROW(_about, 0, #_begin), .begin = _begin }
/* An operation of SUBMIT. */
#define OP_SET(_begin, _err, _name, _member, _value) \
	{ ROW(SUBMIT, _err, _name), OP_FIELD(_member), .value = _value, .begin = _begin }
#define OP_DEVIATE(_begin, _err, _deviate) \
	{ ROW(SUBMIT, _err, #_deviate), .in_op = true, .deviate = _deviate, .begin = _begin }
#define OP_BREAK(_begin, _err, _deviate) \
	{ ROW(SUBMIT, _err, #_deviate), .in_op = true, .deviate = _deviate, .begin = _begin, \
	  .breaks = true }

#endif
