// SPDX-License-Identifier: GPL-2.0-only
/*
 * A backend for tests, in a module of its own that is built with PACCEL_TESTS=m: an edu card of
 * which other things are said, or a backend that is not complete. It has no PCI IDs, so it is given
 * a card with driver_override.
 */
#include <linux/kstrtox.h>
#include <linux/string.h>

#include "hw/edu.c"

static char *set = "";
module_param(set, charp, 0444);
MODULE_PARM_DESC(set, "field=value of struct paccel_hw_info, as probe() fills it in; several with commas");

static char *without = "";
module_param(without, charp, 0444);
MODULE_PARM_DESC(without, "function that the backend does not have");

static char *name = "test";
module_param(name, charp, 0444);
MODULE_PARM_DESC(name, "of the backend (test)");

struct field {
	const char *name;
	size_t offset;
	size_t size;
};

static const struct field infos[] = {
	{ "mem_size", offsetof(struct paccel_hw_info, mem_size), 8 },
	{ "granule", offsetof(struct paccel_hw_info, granule), 8 },
	{ "max_xfer", offsetof(struct paccel_hw_info, max_xfer), 4 },
	{ "max_segs", offsetof(struct paccel_hw_info, max_segs), 4 },
	{ "depth", offsetof(struct paccel_hw_info, depth), 4 },
	{ "list_size", offsetof(struct paccel_hw_info, list_size), 4 },
	{ "dma_bits", offsetof(struct paccel_hw_info, dma_bits), 4 },
	{ "engines", offsetof(struct paccel_hw_info, engines), 4 },
	{ "flags", offsetof(struct paccel_hw_info, flags), 4 },
	{ "mem_bar", offsetof(struct paccel_hw_info, mem_bar), 4 },
	{ "mem_offset", offsetof(struct paccel_hw_info, mem_offset), 8 },
	{ }
};

static const struct field functions[] = {
	{ "probe", offsetof(struct paccel_hw_ops, probe), sizeof(void *) },
	{ "start", offsetof(struct paccel_hw_ops, start), sizeof(void *) },
	{ "poll", offsetof(struct paccel_hw_ops, poll), sizeof(void *) },
	{ "quiesce", offsetof(struct paccel_hw_ops, quiesce), sizeof(void *) },
	{ "reset", offsetof(struct paccel_hw_ops, reset), sizeof(void *) },
	{ }
};

static int write_field(const struct field *field, const char *which, void *base, u64 value)
{
	for (; field->name; field++) {
		if (strcmp(field->name, which))
			continue;
		/* Little-endian, as all machines that have edu. */
		memcpy(base + field->offset, &value, field->size);
		return 0;
	}
	pr_err("paccel_test: there is no %s\n", which);
	return -EINVAL;
}

static int test_probe(struct paccel_hw *hw)
{
	char *text, *rest, *word, *value;
	u64 number;
	int ret;

	ret = edu_probe(hw);
	if (ret)
		return ret;
	text = kstrdup(set, GFP_KERNEL);
	if (!text)
		ret = -ENOMEM;
	for (rest = text; !ret && (word = strsep(&rest, ","));) {
		value = word;
		word = strsep(&value, "=");
		if (!*word && !value)
			continue;
		ret = kstrtou64(value ?: "", 0, &number);
		if (!ret)
			ret = write_field(infos, word, &hw->info, number);
	}
	kfree(text);
	if (ret)
		edu_remove(hw);
	return ret;
}

static const struct pci_device_id no_ids[] = { { } };

static struct paccel_hw_ops test_ops;

static struct paccel_backend test_backend = {
	.ops = &test_ops,
	.ids = no_ids,
};

static int __init test_init(void)
{
	int ret = 0;

	test_ops = edu_ops;
	test_ops.name = name;
	test_ops.probe = test_probe;
	if (*without)
		ret = write_field(functions, without, &test_ops, 0);
	return ret ?: paccel_backend_register(&test_backend);
}

static void __exit test_exit(void)
{
	paccel_backend_unregister(&test_backend);
}

module_init(test_init);
module_exit(test_exit);
MODULE_INFO(import_ns, "PACCEL");
MODULE_DESCRIPTION("paccel: an edu card that is not as others are");
MODULE_LICENSE("GPL");
