/* SPDX-License-Identifier: MIT */
/*
 * Which devices may copy to each other: all can, when the program has asked for it.
 */
#include "state.h"

static aclError check_device(const char *argument, int32_t id)
{
	int count = accel_device_count();

	if (id >= 0 && id < count && id < MAX_DEVICES)
		return ACL_SUCCESS;
	return call_fail(ACL_ERROR_RT_INVALID_DEVICEID, "%s: there is no device %d: there %s %d",
			 argument, id, count == 1 ? "is" : "are", count < 0 ? 0 : count);
}

aclError aclrtDeviceCanAccessPeer(int32_t *canAccessPeer, int32_t deviceId, int32_t peerDeviceId)
{
	aclError err = call_enter(__func__);

	if (err)
		return err;
	if (!canAccessPeer)
		return call_null("canAccessPeer");
	*canAccessPeer = 0;
	err = check_device("deviceId", deviceId);
	if (!err)
		err = check_device("peerDeviceId", peerDeviceId);
	*canAccessPeer = !err && deviceId != peerDeviceId;
	return err;
}

static aclError check_peer(const struct here *here, int32_t id)
{
	aclError err = check_device("peerDeviceId", id);

	if (!err && here->device->id == id)
		err = call_fail(ACL_ERROR_RT_INVALID_DEVICEID,
				"peerDeviceId: %d is the current device itself", id);
	return err;
}

aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags)
{
	struct here here;
	aclError err = here_enter(__func__, &here);

	if (err)
		return err;
	err = check_peer(&here, peerDeviceId);
	if (!err && flags)
		err = call_fail(ACL_ERROR_RT_PARAM_INVALID, "flags is %#x: 0 is known", flags);
	if (!err) {
		state_lock();
		here.device->peers |= UINT64_C(1) << peerDeviceId;
		state_unlock();
	}
	here_leave(&here);
	return err;
}

aclError aclrtDeviceDisablePeerAccess(int32_t peerDeviceId)
{
	struct here here;
	aclError err = here_enter(__func__, &here);
	bool was;

	if (err)
		return err;
	err = check_peer(&here, peerDeviceId);
	if (!err) {
		state_lock();
		was = here.device->peers >> peerDeviceId & 1;
		here.device->peers &= ~(UINT64_C(1) << peerDeviceId);
		state_unlock();
		if (!was)
			err = call_fail(ACL_ERROR_RT_PARAM_INVALID,
					"peerDeviceId: access to device %d was not enabled",
					peerDeviceId);
	}
	here_leave(&here);
	return err;
}
