// SPDX-License-Identifier: MIT
/* Preloaded beside the mock: counts calls of accel_event_query() by the Python module. */

#include <accel/accel.h>
#include <dlfcn.h>
#include <stdatomic.h>

static atomic_uint queries;

/* The number since the last call. */
__attribute__((visibility("default"))) unsigned int count_queries(void);

unsigned int count_queries(void)
{
	return atomic_exchange(&queries, 0);
}

/* The module has loaded the library, though not for all to see: RTLD_NEXT would not find it. */
static int (*real_query(void))(struct accel_event *)
{
	void *library = dlopen("libaccel.so.0", RTLD_LAZY | RTLD_NOLOAD);

	return (int (*)(struct accel_event *))dlsym(library, "accel_event_query");
}

__attribute__((visibility("default"))) int accel_event_query(struct accel_event *event)
{
	atomic_fetch_add(&queries, 1);
	return real_query()(event);
}
