/* SPDX-License-Identifier: MIT */
/*
 * What the kinds of adaptors share. Each is a struct accel_adaptor with more behind it.
 */
#ifndef LIBACCEL_ADAPTOR_H
#define LIBACCEL_ADAPTOR_H

#include "core/api.h"
#include "core/stream.h"

#pragma GCC visibility push(default)
#include <accel/resource.h>
#pragma GCC visibility pop

/* One call through an adaptor. */
struct adaptor_call {
	struct accel_stream *stream;
	void *ptr;
	size_t size, alignment;
	uint64_t ns; /* that upstream took, if the kind is timed */
	void *kept; /* the kind's, from free to freed */
};

/*
 * What a kind does besides counting; every function may be missing. All are called under the lock,
 * unless stated otherwise.
 */
struct adaptor_kind {
	/* The time that upstream takes is measured. */
	bool timed;
	/* Before upstream is asked: makes room, or refuses. */
	int (*admit)(struct accel_adaptor *adaptor, const struct adaptor_call *call);
	/* If upstream has no memory, without the lock. 0: it is asked once more. */
	int (*exhausted)(struct accel_adaptor *adaptor, const struct adaptor_call *call);
	/* After it was asked: err is its answer. */
	void (*allocated)(struct accel_adaptor *adaptor, const struct adaptor_call *call, int err);
	/*
	 * Before it gets something back: refuses at least what adaptor_covers() does, which is asked
	 * where there is no such function; and after upstream has answered.
	 */
	int (*free)(struct accel_adaptor *adaptor, struct adaptor_call *call);
	void (*freed)(struct accel_adaptor *adaptor, const struct adaptor_call *call, int err);
	/*
	 * Without the lock, since it may write to a file: after upstream was asked for memory, and
	 * before it gets memory back.
	 */
	void (*log)(struct accel_adaptor *adaptor, const struct adaptor_call *call,
		    const char *action);
	/* At the end. */
	int (*destroy)(struct accel_adaptor *adaptor);
};

struct scope;

struct accel_adaptor {
	const struct adaptor_kind *kind;
	struct accel_resource upstream;
	unsigned int generation; /* of the process */
	/* Of what follows, and of what the kind has. Nothing else is taken inside. */
	pthread_mutex_t lock;
	struct accel_adaptor_statistics statistics; /* maxima: since the innermost scope was pushed */
	struct scope *scopes; /* innermost first */
	uint64_t asked; /* bytes that upstream is being asked for */
};

/* An adaptor with so many bytes in all, and what NULL and a bad upstream are answered with. */
int adaptor_create(const struct adaptor_kind *kind, size_t size,
		   const struct accel_resource *upstream, struct accel_adaptor **adaptor);
/* 0 if as much as is to be freed has come through it, and is live. Under the lock. */
int adaptor_covers(const struct accel_adaptor *adaptor, const struct adaptor_call *call);
/* 0 if calls on it make sense. */
int adaptor_check(const struct accel_adaptor *adaptor);

#endif
