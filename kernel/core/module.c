// SPDX-License-Identifier: GPL-2.0-only
/* Module parameters and workqueues. */
#include <linux/module.h>
#include <linux/sysfs.h>

#include "core/module.h"

bool paccel_scrub = true;
module_param_named(scrub, paccel_scrub, bool, 0444);
MODULE_PARM_DESC(scrub, "fill freed device memory with 0 before it is allocated again (Y)");

bool paccel_verify;
module_param_named(verify, paccel_verify, bool, 0644);
MODULE_PARM_DESC(verify, "verify all DMA requests by checksum, on devices that support it (N)");

static int paccel_ms_set(const char *text, const struct kernel_param *kp)
{
	struct paccel_ms *ms = kp->arg;
	unsigned int value;

	if (kstrtouint(text, 0, &value) || value < ms->min || value > ms->max) {
		pr_err("paccel: %s must be %u to %u milliseconds\n", kp->name, ms->min, ms->max);
		return -EINVAL;
	}
	WRITE_ONCE(ms->value, value);
	return 0;
}

/* The value is the first member of struct paccel_ms. */
static const struct kernel_param_ops paccel_ms_ops = {
	.set = paccel_ms_set,
	.get = param_get_uint,
};

struct paccel_ms paccel_watchdog_ms = { .value = 10000, .min = 10, .max = 600000 };
module_param_cb(watchdog_ms, &paccel_ms_ops, &paccel_watchdog_ms, 0644);
MODULE_PARM_DESC(watchdog_ms, "longest duration of a DMA request, in ms, 10 to 600000 (10000)");

struct paccel_ms paccel_quiesce_ms = { .value = 5000, .min = 1, .max = 60000 };
module_param_cb(quiesce_ms, &paccel_ms_ops, &paccel_quiesce_ms, 0644);
MODULE_PARM_DESC(quiesce_ms, "longest wait for a device to stop, in ms, 1 to 60000 (5000)");

static const char *const p2p_names[] = {
	[PACCEL_P2P_AUTO] = "auto",
	[PACCEL_P2P_FORCE] = "force",
	[PACCEL_P2P_OFF] = "off",
};

static int paccel_p2p_set(const char *text, const struct kernel_param *kp)
{
	int value = sysfs_match_string(p2p_names, text);

	if (value < 0) {
		pr_err("paccel: %s must be auto, force or off\n", kp->name);
		return -EINVAL;
	}
	paccel_p2p = value;
	return 0;
}

static int paccel_p2p_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%s\n", p2p_names[paccel_p2p]);
}

static const struct kernel_param_ops paccel_p2p_ops = {
	.set = paccel_p2p_set,
	.get = paccel_p2p_get,
};

enum paccel_p2p paccel_p2p;
module_param_cb(p2p, &paccel_p2p_ops, NULL, 0444);
MODULE_PARM_DESC(p2p, "DMA of other devices to device memory: auto (as the bus allows), force, off (auto)");

struct workqueue_struct *paccel_wq;
struct workqueue_struct *paccel_stream_wq;
struct workqueue_struct *paccel_recovery_wq;
struct workqueue_struct *paccel_release_wq;
