// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bus mastering of a PCI function, read back. While the PCI core scans buses whose numbers it has
 * assigned (arm64 with a device tree), the bridges' bus numbers are 0: configuration space below
 * them reads all-ones and ignores writes.
 */
#include <linux/delay.h>
#include <linux/iopoll.h>
#include <linux/pci.h>

#include "core/compat.h"
#include "include/paccel.h"

/* Of configuration space that reads all-ones, 1 ms apart, before a function counts as absent. */
#define ABSENT_SAMPLES 20

/* Longest wait for the end of a scan. */
#define HIDDEN_S 5

static bool config_is_hidden(struct pci_dev *pdev)
{
	u8 bus;

	while ((pdev = pci_upstream_bridge(pdev)))
		if (!pci_read_config_byte(pdev, PCI_SECONDARY_BUS, &bus) && !bus)
			return true;
	return false;
}

/*
 * Returns 0; -EAGAIN: configuration space is hidden; or -ENODEV: the function is absent. A scan may
 * have ended just before the bridges are asked, so that one sample is not enough.
 */
static int read_command(struct pci_dev *pdev, u16 *command)
{
	unsigned int i;

	for (i = 0; i < ABSENT_SAMPLES; i++) {
		if (!pci_read_config_word(pdev, PCI_COMMAND, command) &&
		    !PCI_POSSIBLE_ERROR(*command))
			return 0;
		if (config_is_hidden(pdev))
			return -EAGAIN;
		usleep_range(1000, 2000);
	}
	return -ENODEV;
}

static int bus_master_once(struct pci_dev *pdev, bool on)
{
	u16 command;
	int ret = read_command(pdev, &command);

	if (ret)
		return ret;
	/*
	 * pci_clear_master() reads the command itself. It would write what it has read, with all
	 * other bits on, if configuration space is hidden while it reads.
	 */
	command &= ~PCI_COMMAND_MASTER;
	pci_write_config_word(pdev, PCI_COMMAND, on ? command | PCI_COMMAND_MASTER : command);
	ret = read_command(pdev, &command);
	if (!ret && !(command & PCI_COMMAND_MASTER) == on)
		ret = -EAGAIN;
	return ret;
}

int paccel_bus_master(struct pci_dev *pdev, bool on)
{
	int ret;

	read_poll_timeout(bus_master_once, ret, ret != -EAGAIN, USEC_PER_MSEC,
			  HIDDEN_S * USEC_PER_SEC, false, pdev, on);
	/* The PCI core keeps the state, too. */
	if (!ret && on)
		pci_set_master(pdev);
	else if (!ret)
		pci_clear_master(pdev);
	return ret == -EAGAIN ? -EIO : ret;
}
EXPORT_SYMBOL_PACCEL(paccel_bus_master);
