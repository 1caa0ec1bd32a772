/* SPDX-License-Identifier: MIT */
/*
 * Completion: a sync_file between a syncobj and a stream. A timeline does not take or give one
 * itself; a binary syncobj that lives for the length of the call stands between.
 */
#include "private.h"

#include <unistd.h>
#include <xf86drm.h>

static int import_point(int drm, uint32_t syncobj, uint64_t point, int fence)
{
	uint32_t binary;
	int err;

	if (!point)
		return drm_result(drmSyncobjImportSyncFile(drm, syncobj, fence));
	err = drm_result(drmSyncobjCreate(drm, 0, &binary));
	if (err)
		return err;
	err = drm_result(drmSyncobjImportSyncFile(drm, binary, fence));
	if (!err)
		err = drm_result(drmSyncobjTransfer(drm, syncobj, point, binary, 0, 0));
	drmSyncobjDestroy(drm, binary);
	return err;
}

static int export_point(int drm, uint32_t syncobj, uint64_t point, int *fence)
{
	uint32_t binary;
	int err;

	if (!point)
		return drm_result(drmSyncobjExportSyncFile(drm, syncobj, fence));
	err = drm_result(drmSyncobjCreate(drm, 0, &binary));
	if (err)
		return err;
	err = drm_result(drmSyncobjTransfer(drm, binary, 0, syncobj, point, 0));
	if (!err)
		err = drm_result(drmSyncobjExportSyncFile(drm, binary, fence));
	drmSyncobjDestroy(drm, binary);
	return err;
}

int accel_drm_stream_signal(struct accel_stream *stream, int drm, uint32_t syncobj, uint64_t point)
{
	KEEP_ERRNO;
	int fence, err;

	err = accel_stream_export_fence(stream, &fence);
	if (err)
		return err;
	err = import_point(drm, syncobj, point, fence);
	close(fence);
	return err;
}

int accel_drm_stream_wait(struct accel_stream *stream, int drm, uint32_t syncobj, uint64_t point)
{
	KEEP_ERRNO;
	int fence, err;

	err = export_point(drm, syncobj, point, &fence);
	if (err)
		return err;
	err = accel_stream_wait_fence(stream, fence);
	close(fence);
	return err;
}
