// SPDX-License-Identifier: MIT
/*
 * Makes the kernel report errors, one kind for each word written to debugfs/provoke. The runner's
 * tests load it and look for each report in the log of the guest. It damages the kernel that it
 * is loaded into.
 */

#include <linux/console.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/interrupt.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/platform_device.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/timer.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>
#include <asm/apicdef.h>
#include <asm/desc.h>
#include <asm/msr.h>

#define EDU_VENDOR	0x1234
#define EDU_DEVICE	0x11e8
#define EDU_IRQ_RAISE	0x60
#define EDU_IRQ_ACK	0x64
#define EDU_DMA_SRC	0x80
#define EDU_DMA_DST	0x88
#define EDU_DMA_COUNT	0x90
#define EDU_DMA_CMD	0x98
#define EDU_DMA_RUN	BIT(0)
#define EDU_DMA_TO_RAM	BIT(1)
#define EDU_BUFFER	0x40000
/* Mapped by nothing. */
#define UNMAPPED	0x0dead000

#define BOGUS_RETURN	0x55
#define MAPPINGS	2000
#define MAPPING_SIZE	(16 * 1024)
#define FLOOD_LINES	3000

static struct platform_device *device;
static bool released;
static DECLARE_WAIT_QUEUE_HEAD(release_wait);

static DEFINE_MUTEX(mutex_a);
static DEFINE_MUTEX(mutex_b);

/* --- reports of a kernel that goes on ------------------------------------------------- */

static void provoke_warning(void)
{
	WARN(1, "provoked\n");
}

static void provoke_refcount(void)
{
	refcount_t count = REFCOUNT_INIT(0);

	refcount_inc(&count);
}

static void provoke_lockdep(void)
{
	mutex_lock(&mutex_a);
	mutex_lock(&mutex_b);
	mutex_unlock(&mutex_b);
	mutex_unlock(&mutex_a);

	mutex_lock(&mutex_b);
	mutex_lock(&mutex_a);
	mutex_unlock(&mutex_a);
	mutex_unlock(&mutex_b);
}

static void provoke_sleep(void)
{
	preempt_disable();
	might_sleep();
	preempt_enable();
}

static void provoke_kasan(void)
{
	size_t size = 64;
	char *bytes = kmalloc(size, GFP_KERNEL);

	if (!bytes)
		return;
	OPTIMIZER_HIDE_VAR(size);
	READ_ONCE(bytes[size]);
	kfree(bytes);
}

static void provoke_ubsan(void)
{
	int one = 1, bits = 40;

	OPTIMIZER_HIDE_VAR(bits);
	one <<= bits;
	OPTIMIZER_HIDE_VAR(one);
}

static void timer_expired(struct timer_list *timer)
{
}

/* The checker cancels the timer. */
static void provoke_odebug(void)
{
	struct timer_list *timer = kzalloc(sizeof(*timer), GFP_KERNEL);

	if (!timer)
		return;
	timer_setup(timer, timer_expired, 0);
	mod_timer(timer, jiffies + 1000 * HZ);
	kfree(timer);
}

/*
 * Several, as the address of one may stay in a register or on a stack. Cleared, as each has the
 * address of the next one from when both were free, and kmemleak would find them all by the first.
 */
static void provoke_leak(void)
{
	void *lost;
	int i;

	for (i = 0; i < 10; i++) {
		lost = kzalloc(100, GFP_KERNEL);
		OPTIMIZER_HIDE_VAR(lost);
	}
}

static void provoke_dma(void)
{
	dma_unmap_single(&device->dev, 0x1000, 64, DMA_TO_DEVICE);
}

/* For allocations that fail where debugfs/fail_page_alloc says so, with its task-filter. */
static void let_fail(bool on)
{
#ifdef CONFIG_FAULT_INJECTION
	current->make_it_fail = on;
#endif
}

/* Until there is no room to note them, or to copy them to. */
static void provoke_many_mappings(void)
{
	dma_addr_t *addrs = kcalloc(MAPPINGS, sizeof(*addrs), GFP_KERNEL);
	void *bytes = kmalloc(MAPPING_SIZE, GFP_KERNEL);
	int n = 0;

	let_fail(true);
	while (addrs && bytes && n < MAPPINGS) {
		addrs[n] = dma_map_single(&device->dev, bytes, MAPPING_SIZE, DMA_TO_DEVICE);
		if (dma_mapping_error(&device->dev, addrs[n]))
			break;
		n++;
	}
	let_fail(false);
	while (n--)
		dma_unmap_single(&device->dev, addrs[n], MAPPING_SIZE, DMA_TO_DEVICE);
	kfree(bytes);
	kfree(addrs);
}

static void provoke_flood(void)
{
	int i;

	console_lock();
	for (i = 0; i < FLOOD_LINES; i++)
		pr_info("%0500d\n", i);
	console_unlock();
}

/* More than there is. */
static void provoke_vmalloc(void)
{
	vfree(vmalloc((totalram_pages() + 1) * PAGE_SIZE));
}

/* Two that run at the same time race. */
static void provoke_race(void)
{
	static int count;
	int *shared = &count;

	/* Otherwise the compiler leaves the accesses out. */
	OPTIMIZER_HIDE_VAR(shared);
	while (!READ_ONCE(released)) {
		(*shared)++;
		barrier();
	}
}

static void provoke_hung_task(void)
{
	wait_event(release_wait, READ_ONCE(released));
}

static void provoke_busy(void)
{
	preempt_disable();
	while (!READ_ONCE(released))
		cpu_relax();
	preempt_enable();
}

static void release(void)
{
	WRITE_ONCE(released, true);
	wake_up(&release_wait);
}

/* --- reports about an edu ----------------------------------------------------------------- */

static void with_edu(void (*run)(struct pci_dev *pdev, void __iomem *regs))
{
	struct pci_dev *pdev = pci_get_device(EDU_VENDOR, EDU_DEVICE, NULL);
	void __iomem *regs;

	if (!pdev)
		return;
	if (!pci_enable_device(pdev)) {
		pci_set_master(pdev);
		regs = pci_iomap(pdev, 0, 0);
		if (regs) {
			run(pdev, regs);
			pci_iounmap(pdev, regs);
		}
		pci_disable_device(pdev);
	}
	pci_dev_put(pdev);
}

static void edu_dma(struct pci_dev *pdev, void __iomem *regs)
{
	writel(EDU_BUFFER, regs + EDU_DMA_SRC);
	writel(UNMAPPED, regs + EDU_DMA_DST);
	writel(4, regs + EDU_DMA_COUNT);
	writel(EDU_DMA_RUN | EDU_DMA_TO_RAM, regs + EDU_DMA_CMD);
	while (readl(regs + EDU_DMA_CMD) & EDU_DMA_RUN)
		msleep(20);
}

static void provoke_dma_fault(void)
{
	with_edu(edu_dma);
}

static irqreturn_t irq_bogus(int irq, void *regs)
{
	writel(~0, regs + EDU_IRQ_ACK);
	WRITE_ONCE(released, true);
	return BOGUS_RETURN;
}

static void edu_irq(struct pci_dev *pdev, void __iomem *regs)
{
	writel(~0, regs + EDU_IRQ_ACK);
	if (pci_alloc_irq_vectors(pdev, 1, 1, PCI_IRQ_MSI) != 1)
		return;
	if (!request_irq(pci_irq_vector(pdev, 0), irq_bogus, 0, "provoke", regs)) {
		writel(1, regs + EDU_IRQ_RAISE);
		while (!READ_ONCE(released))
			msleep(20);
		free_irq(pci_irq_vector(pdev, 0), regs);
	}
	pci_free_irq_vectors(pdev);
}

static void provoke_irq(void)
{
	with_edu(edu_irq);
}

/* The other CPUs get one that no device has raised, before this returns. */
static void provoke_nmi(void)
{
	void __iomem *apic;
	u64 base;

	rdmsrl(MSR_IA32_APICBASE, base);
	if (base & X2APIC_ENABLE) {
		wrmsrl(APIC_BASE_MSR + (APIC_ICR >> 4), APIC_DEST_ALLBUT | APIC_DM_NMI);
	} else {
		apic = ioremap(APIC_DEFAULT_PHYS_BASE, PAGE_SIZE);
		if (!apic)
			return;
		writel(APIC_DEST_ALLBUT | APIC_DM_NMI, apic + APIC_ICR);
		iounmap(apic);
	}
	kick_all_cpus_sync();
}

/* --- oopses: these end the process that asks for them ------------------------------------ */

static void provoke_bug(void)
{
	BUG();
}

static void provoke_list(void)
{
	struct list_head other, entry;

	INIT_LIST_HEAD(&other);
	entry.next = &other;
	entry.prev = &other;
	list_del(&entry);
}

static void provoke_null(void)
{
	int *nowhere = NULL;

	OPTIMIZER_HIDE_VAR(nowhere);
	WRITE_ONCE(*nowhere, 1);
}

static void provoke_general_protection(void)
{
	int *nowhere = (int *)0x8000000000000000;

	OPTIMIZER_HIDE_VAR(nowhere);
	WRITE_ONCE(*nowhere, 1);
}

static void provoke_invalid_opcode(void)
{
	/* WARN() and BUG() are made of it; this one is in no table of theirs. */
	asm volatile("ud2");
	__builtin_unreachable();
}

static void provoke_divide_error(void)
{
	asm volatile("xor %%ecx, %%ecx; xor %%edx, %%edx; mov $1, %%eax; div %%ecx"
		     ::: "eax", "ecx", "edx", "cc");
}

/* Loads a stack segment that is not present. */
static void provoke_stack_segment(void)
{
	struct desc_struct segment = { .type = 2, .s = 1 };
	struct desc_struct *gdt;

	preempt_disable();
	gdt = get_cpu_gdt_rw(smp_processor_id());
	gdt[GDT_ENTRY_TLS_MAX] = segment;
	asm volatile("mov %0, %%ss" :: "r"(GDT_ENTRY_TLS_MAX * 8));
}

static void provoke_int3(void)
{
	asm volatile("int3");
}

static const struct {
	const char *name;
	void (*run)(void);
} provocations[] = {
	{ "warning", provoke_warning },
	{ "refcount", provoke_refcount },
	{ "lockdep", provoke_lockdep },
	{ "sleep", provoke_sleep },
	{ "kasan", provoke_kasan },
	{ "ubsan", provoke_ubsan },
	{ "odebug", provoke_odebug },
	{ "leak", provoke_leak },
	{ "dma", provoke_dma },
	{ "many-mappings", provoke_many_mappings },
	{ "flood", provoke_flood },
	{ "vmalloc", provoke_vmalloc },
	{ "race", provoke_race },
	{ "hung-task", provoke_hung_task },
	{ "busy", provoke_busy },
	{ "release", release },
	{ "dma-fault", provoke_dma_fault },
	{ "irq", provoke_irq },
	{ "nmi", provoke_nmi },
	{ "bug", provoke_bug },
	{ "list", provoke_list },
	{ "null", provoke_null },
	{ "general-protection", provoke_general_protection },
	{ "invalid-opcode", provoke_invalid_opcode },
	{ "divide-error", provoke_divide_error },
	{ "stack-segment", provoke_stack_segment },
	{ "int3", provoke_int3 },
};

static ssize_t provoke_write(struct file *file, const char __user *from, size_t size, loff_t *pos)
{
	char name[32];
	size_t i;

	if (size >= sizeof(name))
		return -EINVAL;
	if (copy_from_user(name, from, size))
		return -EFAULT;
	name[size] = 0;
	for (i = 0; i < ARRAY_SIZE(provocations); i++) {
		if (sysfs_streq(name, provocations[i].name)) {
			if (provocations[i].run != release)
				WRITE_ONCE(released, false);
			provocations[i].run();
			return size;
		}
	}
	return -EINVAL;
}

static const struct file_operations provoke_fops = {
	.owner = THIS_MODULE,
	.write = provoke_write,
};

static int __init provoke_init(void)
{
	device = platform_device_register_simple("provoke", PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(device))
		return PTR_ERR(device);
	dma_coerce_mask_and_coherent(&device->dev, DMA_BIT_MASK(64));
	debugfs_create_file("provoke", 0200, NULL, NULL, &provoke_fops);
	return 0;
}

/* There is no exit: what was provoked may still use this code. */
module_init(provoke_init);
MODULE_INFO(test, "Y");
MODULE_DESCRIPTION("Makes the kernel report errors");
MODULE_LICENSE("Dual MIT/GPL");
