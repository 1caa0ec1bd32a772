// SPDX-License-Identifier: GPL-2.0-only
/*
 * Backend for tests, a module of its own: an edu or ring device with a changed paccel_hw_info, or
 * an incomplete backend. It has no PCI IDs; devices are bound to it with driver_override. It fails
 * requests that its paccel_hw_info does not allow.
 */
#include <linux/kstrtox.h>
#include <linux/module.h>
#include <linux/paccel.h>
#include <linux/pci.h>
#include <linux/sched/mm.h>
#include <linux/string.h>

#include "core/device.h"
#include "hw/edu.c"
#include "hw/ring.c"

static char *backend = "edu";
module_param(backend, charp, 0444);
MODULE_PARM_DESC(backend, "edu or ring (edu)");

static char *set = "";
module_param(set, charp, 0444);
MODULE_PARM_DESC(set, "field=value of struct paccel_hw_info, as probe() fills it in; several with commas");

static char *without = "";
module_param(without, charp, 0444);
MODULE_PARM_DESC(without, "function that the backend does not have");

static int result;
module_param(result, int, 0444);
MODULE_PARM_DESC(result, "of probe(), if it is not 0 (0)");

static bool hangs;
module_param(hangs, bool, 0444);
MODULE_PARM_DESC(hangs, "once bound, requests do not complete and it cannot be quiesced (N)");

static char *name = "test";
module_param(name, charp, 0444);
MODULE_PARM_DESC(name, "of the backend (test)");

static unsigned int ioctl_nr = PACCEL_NR_PRIVATE;
module_param(ioctl_nr, uint, 0444);
MODULE_PARM_DESC(ioctl_nr, "number of its ioctl, which doubles a value (0x80)");

static unsigned int ioctl_size;
module_param(ioctl_size, uint, 0444);
MODULE_PARM_DESC(ioctl_size, "bytes of the ioctl's struct, if not 0 (0)");

/* Per engine, written under the engine's lock. */
static unsigned int pieces[PACCEL_MAX_ENGINES];
module_param_array(pieces, uint, NULL, 0444);
MODULE_PARM_DESC(pieces, "of host memory that each engine has been given");

static unsigned int ops[PACCEL_MAX_ENGINES];
module_param_array(ops, uint, NULL, 0444);
MODULE_PARM_DESC(ops, "operations that each engine has been given, as in engine_ops");

static bool mastered;
module_param(mastered, bool, 0444);
MODULE_PARM_DESC(mastered, "bus mastering was on when quiesce() was last called");

/* Backend that @backend names. */
static const struct paccel_hw_ops *base;

struct field {
	const char *name;
	size_t offset;
	size_t size;
};

#define FIELD(of, what) { #what, offsetof(struct of, what), sizeof_field(struct of, what) }

static const struct field infos[] = {
	FIELD(paccel_hw_info, mem_size), FIELD(paccel_hw_info, granule),
	FIELD(paccel_hw_info, max_xfer), FIELD(paccel_hw_info, max_segs),
	FIELD(paccel_hw_info, max_seg), FIELD(paccel_hw_info, seg_boundary),
	FIELD(paccel_hw_info, dma_align),
	FIELD(paccel_hw_info, engine_ops[0]), FIELD(paccel_hw_info, engine_ops[1]),
	FIELD(paccel_hw_info, engine_ops[2]), FIELD(paccel_hw_info, engine_ops[3]),
	FIELD(paccel_hw_info, depth), FIELD(paccel_hw_info, list_size),
	FIELD(paccel_hw_info, dma_bits), FIELD(paccel_hw_info, engines),
	FIELD(paccel_hw_info, flags), FIELD(paccel_hw_info, mem_bar),
	FIELD(paccel_hw_info, mem_offset),
	{ }
};

static const struct field functions[] = {
	FIELD(paccel_hw_ops, probe), FIELD(paccel_hw_ops, start), FIELD(paccel_hw_ops, poll),
	FIELD(paccel_hw_ops, quiesce), FIELD(paccel_hw_ops, reset),
	{ }
};

static int test_write_field(const struct field *field, const char *which, void *base, u64 value)
{
	for (; field->name; field++) {
		if (strcmp(field->name, which))
			continue;
		if (field->size < sizeof(value) && value >> (8 * field->size))
			break;
		/* Valid on little-endian machines, as all are that have edu. */
		memcpy(base + field->offset, &value, field->size);
		return 0;
	}
	pr_err("paccel_test: no field %s that holds this value\n", which);
	return -EINVAL;
}

/* A device with @hangs has been bound. */
static bool stuck;

static void test_no_poll(struct paccel_hw *hw, unsigned int engine)
{
}

static int test_quiesce(struct paccel_hw *hw, unsigned int limit_ms)
{
	u16 command = 0;

	pci_read_config_word(hw->pdev, PCI_COMMAND, &command);
	mastered = command & PCI_COMMAND_MASTER;
	return stuck ? -ETIMEDOUT : base->quiesce(hw, limit_ms);
}

static bool test_is_allowed(const struct paccel_hw_info *info, unsigned int engine,
			    const struct paccel_xfer *x)
{
	bool allowed = !info->engine_ops[engine] || info->engine_ops[engine] & BIT(x->op);
	u64 bits = x->dev | x->dev_src | x->len, first, last;
	struct paccel_seg seg = x->segs;
	unsigned int nr = 0;

	if (x->op == PACCEL_XFER_H2D || x->op == PACCEL_XFER_D2H)
		for (; paccel_seg_next(&seg); nr++) {
			first = seg.addr;
			last = first + seg.len - 1;
			bits |= first | seg.len;
			if (info->max_seg && seg.len > info->max_seg)
				allowed = false;
			if (info->seg_boundary && (first ^ last) >= info->seg_boundary)
				allowed = false;
		}
	if (info->dma_align && bits & (info->dma_align - 1))
		allowed = false;
	pieces[engine] += nr;
	ops[engine] |= BIT(x->op);
	return allowed && nr == x->nr_segs && nr <= info->max_segs;
}

static int test_start(struct paccel_hw *hw, unsigned int engine, const struct paccel_xfer *x)
{
	if (test_is_allowed(&hw->info, engine, x))
		return base->start(hw, engine, x);
	pr_err("paccel_test: engine %u was given a request that is not allowed\n", engine);
	return -EIO;
}

/*
 * Each call that maps memory for the device takes pd->mapped_lock, so none may allocate memory
 * while it holds it. lockdep reports that from now on: to it, reclaim takes the lock.
 */
static void test_forbid_allocation(struct mutex *lock)
{
	fs_reclaim_acquire(GFP_KERNEL);
	might_lock(lock);
	fs_reclaim_release(GFP_KERNEL);
}

static int test_probe(struct paccel_hw *hw)
{
	char *text, *rest, *word, *value;
	u64 number;
	int ret;

	stuck = false;
	test_forbid_allocation(&paccel_of_hw(hw)->mapped_lock);
	ret = base->probe(hw);
	if (ret)
		return ret;
	text = kstrdup(set, GFP_KERNEL);
	ret = text ? result : -ENOMEM;
	for (rest = text; !ret && (word = strsep(&rest, ","));) {
		value = word;
		word = strsep(&value, "=");
		if (!*word && !value)
			continue;
		ret = kstrtou64(value ?: "", 0, &number);
		if (!ret)
			ret = test_write_field(infos, word, &hw->info, number);
	}
	kfree(text);
	stuck = !ret && hangs;
	return ret;
}

struct test_double {
	u32 size;
	u32 flags;
	u64 value;
	u64 added;	/* since version 2 */
};

static int test_double(struct paccel_hw *hw, void *cmd)
{
	struct test_double *c = cmd;

	if (c->flags)
		return -EINVAL;
	c->value = 2 * c->value + c->added;
	return 0;
}

static struct paccel_hw_ioctl test_ioctls[] = {
	{
		.size = sizeof(struct test_double),
		.min_size = offsetofend(struct test_double, value),
		.execute = test_double,
	},
	{ }
};

static struct paccel_hw_ops test_ops;

static struct paccel_backend test_backend = {
	.ops = &test_ops,
};

static int __init test_init(void)
{
	int ret = 0;

	base = strcmp(backend, "ring") ? &paccel_edu : &paccel_ring;
	test_ops = *base;
	test_ops.name = name;
	test_ops.probe = test_probe;
	test_ops.start = test_start;
	test_ops.quiesce = test_quiesce;
	test_ops.ioctls = test_ioctls;
	test_ioctls[0].cmd = _IO(PACCEL_IOC_TYPE, ioctl_nr);
	if (ioctl_size)
		test_ioctls[0].size = ioctl_size;
	if (hangs)
		test_ops.poll = test_no_poll;
	if (*without)
		ret = test_write_field(functions, without, &test_ops, 0);
	return ret ?: paccel_backend_register(&test_backend);
}

static void __exit test_exit(void)
{
	paccel_backend_unregister(&test_backend);
}

module_init(test_init);
module_exit(test_exit);
MODULE_INFO(import_ns, "PACCEL");
MODULE_DESCRIPTION("paccel: edu and ring devices with a changed paccel_hw_info, for tests");
MODULE_LICENSE("GPL");
