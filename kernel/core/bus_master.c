// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bus mastering of a PCI function, read back. While the PCI core scans buses whose numbers it has
 * assigned (arm64 with a device tree), the bridges' bus numbers are 0: configuration space below
 * them reads all-ones and ignores writes.
 */
#include <linux/iopoll.h>
#include <linux/pci.h>

#include "core/compat.h"
#include "include/paccel.h"

static bool config_is_hidden(struct pci_dev *pdev)
{
	u8 bus;

	while ((pdev = pci_upstream_bridge(pdev)))
		if (!pci_read_config_byte(pdev, PCI_SECONDARY_BUS, &bus) && !bus)
			return true;
	return false;
}

/* Returns 0; -EAGAIN: configuration space is hidden; or -ENODEV: the function is absent. */
static int read_command(struct pci_dev *pdev, u16 *command)
{
	/* A scan may end or begin after the read. */
	bool hidden = config_is_hidden(pdev);

	if (!pci_read_config_word(pdev, PCI_COMMAND, command) && !PCI_POSSIBLE_ERROR(*command))
		return 0;
	return hidden || config_is_hidden(pdev) ? -EAGAIN : -ENODEV;
}

static int bus_master_once(struct pci_dev *pdev, bool on)
{
	u16 command;
	int ret = read_command(pdev, &command);

	if (ret)
		return ret;
	if (on)
		pci_set_master(pdev);
	else
		pci_clear_master(pdev);
	ret = read_command(pdev, &command);
	if (!ret && !(command & PCI_COMMAND_MASTER) == on)
		ret = -EAGAIN;
	return ret;
}

int paccel_bus_master(struct pci_dev *pdev, bool on)
{
	int ret;

	read_poll_timeout(bus_master_once, ret, ret != -EAGAIN, USEC_PER_MSEC, USEC_PER_SEC, false,
			  pdev, on);
	return ret == -EAGAIN ? -EIO : ret;
}
EXPORT_SYMBOL_PACCEL(paccel_bus_master);
