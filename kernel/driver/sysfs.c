// SPDX-License-Identifier: GPL-2.0-only
/* /sys/class/paccel/paccelN/; documented in Documentation/ABI/testing/sysfs-class-paccel. */
#include <linux/sysfs.h>

#include "core/device.h"
#include "driver/driver.h"
#include "exec/dump.h"
#include "mem/pool.h"

static struct paccel_device *to_paccel(struct device *dev)
{
	return container_of(dev, struct paccel_device, dev);
}

static ssize_t backend_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", to_paccel(dev)->backend);
}
static DEVICE_ATTR_RO(backend);

static ssize_t mem_size_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%llu\n", to_paccel(dev)->hw.info.mem_size);
}
static DEVICE_ATTR_RO(mem_size);

static ssize_t granule_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%llu\n", to_paccel(dev)->hw.info.granule);
}
static DEVICE_ATTR_RO(granule);

static ssize_t health_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", paccel_health(to_paccel(dev)));
}
static DEVICE_ATTR_RO(health);

static ssize_t max_user_bytes_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%llu\n", READ_ONCE(to_paccel(dev)->pool->max_user_bytes));
}

static ssize_t max_user_bytes_store(struct device *dev, struct device_attribute *attr,
				    const char *buf, size_t count)
{
	struct paccel_pool *pool = to_paccel(dev)->pool;
	u64 value;
	int ret = kstrtou64(buf, 0, &value);

	if (ret)
		return ret;
	guard(mutex)(&pool->lock);
	WRITE_ONCE(pool->max_user_bytes, value);
	return count;
}
static DEVICE_ATTR_RW(max_user_bytes);

#define PACCEL_POOL_ATTR(_name)								\
static ssize_t _name##_show(struct device *dev, struct device_attribute *attr, char *buf)	\
{											\
	struct paccel_mem_stats stats = { };						\
											\
	paccel_pool_stats(to_paccel(dev), NULL, &stats);				\
	return sysfs_emit(buf, "%llu\n", stats._name);					\
}											\
static DEVICE_ATTR_RO(_name)

PACCEL_POOL_ATTR(used);
PACCEL_POOL_ATTR(free);
PACCEL_POOL_ATTR(dirty);
PACCEL_POOL_ATTR(quarantined);

#define PACCEL_COUNT_ATTR(_name)							\
static ssize_t _name##_show(struct device *dev, struct device_attribute *attr, char *buf)	\
{											\
	return sysfs_emit(buf, "%lld\n", atomic64_read(&to_paccel(dev)->count._name));	\
}											\
static DEVICE_ATTR_RO(_name)

PACCEL_COUNT_ATTR(timeouts);
PACCEL_COUNT_ATTR(lost_irqs);
PACCEL_COUNT_ATTR(spurious_irqs);
PACCEL_COUNT_ATTR(bogus);
PACCEL_COUNT_ATTR(corrupt);
PACCEL_COUNT_ATTR(resets);
PACCEL_COUNT_ATTR(engine_resets);
PACCEL_COUNT_ATTR(leaked_pages);

static struct attribute *paccel_attrs[] = {
	&dev_attr_backend.attr,
	&dev_attr_mem_size.attr,
	&dev_attr_granule.attr,
	&dev_attr_health.attr,
	&dev_attr_max_user_bytes.attr,
	&dev_attr_used.attr,
	&dev_attr_free.attr,
	&dev_attr_dirty.attr,
	&dev_attr_quarantined.attr,
	&dev_attr_timeouts.attr,
	&dev_attr_lost_irqs.attr,
	&dev_attr_spurious_irqs.attr,
	&dev_attr_bogus.attr,
	&dev_attr_corrupt.attr,
	&dev_attr_resets.attr,
	&dev_attr_engine_resets.attr,
	&dev_attr_leaked_pages.attr,
	NULL
};

static const struct attribute_group paccel_group = {
	.attrs = paccel_attrs,
};

const struct attribute_group *paccel_groups[] = {
	&paccel_group,
	NULL
};
