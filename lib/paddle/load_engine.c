/* SPDX-License-Identifier: MIT */
/*
 * Loads the engine of collectives. It lies beside the plugin, under a name that Paddle does not take for
 * a plugin: it loads all files there that end with .so.
 */
#define _GNU_SOURCE /* dladdr */
#include "private.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define ENGINE_FILE "libpaddle_accel_gloo.so.1"
#define ENGINE_PACKAGES "libgloo0 (to build it: libgloo-dev, then make lib)"

static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;
static const struct engine *loaded;

/* The directory of the plugin, with a slash. */
static void own_directory(char *path, size_t size)
{
	Dl_info info;
	const char *slash;

	*path = 0;
	if (!dladdr(&loading, &info) || !info.dli_fname)
		return;
	slash = strrchr(info.dli_fname, '/');
	if (slash)
		snprintf(path, size, "%.*s", (int)(slash + 1 - info.dli_fname), info.dli_fname);
}

static void *open_engine(void)
{
	char directory[PATH_MAX], path[PATH_MAX + sizeof(ENGINE_FILE)];
	void *library;

	own_directory(directory, sizeof(directory));
	snprintf(path, sizeof(path), "%s%s", directory, ENGINE_FILE);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		plugin_fail(-ENOENT,
			    "collectives need the engine %s, and on Debian the package %s: %.300s",
			    ENGINE_FILE, ENGINE_PACKAGES, dlerror());
	return library;
}

static const struct engine *load(void)
{
	void *library = open_engine();
	engine_function function;
	const struct engine *engine;

	if (!library)
		return NULL;
	function = (engine_function)dlsym(library, ENGINE_SYMBOL);
	engine = function ? function() : NULL;
	if (engine && engine->version == ENGINE_VERSION)
		return engine;
	plugin_fail(-ENOEXEC, "%s is of another version than the plugin: build both together",
		    ENGINE_FILE);
	dlclose(library);
	return NULL;
}

/* It stays until the process ends: it has threads. */
const struct engine *engine_get(void)
{
	pthread_mutex_lock(&loading);
	if (!loaded)
		loaded = load();
	pthread_mutex_unlock(&loading);
	return loaded;
}
