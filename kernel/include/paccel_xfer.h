/* SPDX-License-Identifier: GPL-2.0-only */
/* DMA requests that a backend executes, and the functions of the core that it calls. */
#ifndef PACCEL_XFER_H
#define PACCEL_XFER_H

#include <linux/types.h>

struct paccel_hw;
struct scatterlist;
struct seq_buf;

/**
 * enum paccel_xfer_op - operation of a DMA request
 * @PACCEL_XFER_H2D: copy from host memory to device memory
 * @PACCEL_XFER_D2H: copy from device memory to host memory
 * @PACCEL_XFER_D2D: copy within device memory; only with PACCEL_HW_D2D
 * @PACCEL_XFER_FILL: fill device memory with a pattern; only with PACCEL_HW_FILL
 * @PACCEL_XFER_CHECKSUM: read device memory and report its checksum; only with PACCEL_HW_CHECKSUM
 *	and PACCEL_HW_D2D
 */
enum paccel_xfer_op {
	PACCEL_XFER_H2D,
	PACCEL_XFER_D2H,
	PACCEL_XFER_D2D,
	PACCEL_XFER_FILL,
	PACCEL_XFER_CHECKSUM,
};

/**
 * struct paccel_seg - iterator over the host memory segments of a DMA request
 * @addr: bus address of the current segment; valid after paccel_seg_next() has returned true
 * @len: bytes of the current segment; valid as @addr is
 * @sg: scatterlist entry of the next segment; NULL if there is a single segment, at @addr
 * @skip: bytes at the start of @sg that were returned before, or are not part of the request
 * @left: bytes that paccel_seg_next() has not returned yet
 * @max: largest length of a segment
 * @mask: paccel_hw_info.seg_boundary - 1; all ones if there is no boundary
 *
 * Backends read @addr and @len only.
 */
struct paccel_seg {
	dma_addr_t addr;
	u32 len;
	struct scatterlist *sg;
	u32 skip;
	u32 left;
	u32 max;
	u64 mask;
};

/**
 * struct paccel_xfer - a DMA request, as passed to start()
 * @op: the operation
 * @linked: execute the request only if the request that was started before it on the engine
 *	succeeds; otherwise complete it with -ECANCELED. Only with PACCEL_HW_LINK
 * @verify: report the checksum with paccel_xfer_checksum(). Only with PACCEL_HW_CHECKSUM
 * @quiet: the backend may suppress the completion interrupt if another request is started before
 *	the next kick()
 * @cookie: number of the request on its engine; the backend passes it to paccel_xfer_done()
 * @list: paccel_hw_info.list_size bytes of coherent memory, which the backend may use while the
 *	request is in flight, for example for a scatter list
 * @list_dma: bus address of @list
 * @dev: byte offset in device memory of the destination; D2H: of the source; CHECKSUM: 0
 * @dev_src: D2D, CHECKSUM: byte offset in device memory of the source
 * @pattern: FILL: 8 bytes, the least significant first, repeated from @dev on; @len may cut the
 *	last repetition
 * @len: bytes, 1 to paccel_hw_info.max_xfer
 * @segs: H2D, D2H: host memory. The backend calls paccel_seg_next() on a copy of it
 * @nr_segs: H2D, D2H: number of segments, 1 to paccel_hw_info.max_segs
 *
 * Device ranges lie inside device memory, bus addresses come from the DMA API, and segments and
 * alignment comply with struct paccel_hw_info. A backend need not check them.
 */
struct paccel_xfer {
	enum paccel_xfer_op op;
	bool linked;
	bool verify;
	bool quiet;
	u64 cookie;
	void *list;
	dma_addr_t list_dma;
	u64 dev;
	u64 dev_src;
	u64 pattern;
	u32 len;
	struct paccel_seg segs;
	u32 nr_segs;
};

/**
 * paccel_seg_next() - get the next host memory segment of a request
 * @seg: a copy of paccel_xfer.segs; on success @addr and @len describe the segment
 *
 * Any context.
 *
 * Return: whether there was another segment
 */
bool paccel_seg_next(struct paccel_seg *seg);

/**
 * paccel_xfer_check() - process the completions of an engine
 * @hw: the device
 * @engine: number of the engine
 *
 * Calls poll(). The interrupt handler of the device calls this whenever a request may have
 * completed. Any context; the engine's lock must not be held, as it is in start(), kick() and
 * poll().
 *
 * Return: whether poll() has reported a completion
 */
bool paccel_xfer_check(struct paccel_hw *hw, unsigned int engine);
/**
 * paccel_xfer_done() - report that a request has completed
 * @hw: the device
 * @engine: number of the engine
 * @cookie: paccel_xfer.cookie of the request
 * @bytes: length that the device reports, or paccel_xfer.len if it reports none; ignored on error
 * @status: 0; -ECANCELED: the request was linked and the previous one failed; any other -errno is
 *	handled as -EIO
 *
 * For poll(). With status 0, the bytes that the request has written are visible to the CPU.
 *
 * A @cookie that matches no request in flight is counted as bogus and ignored. A wrong @bytes is
 * counted as bogus, too; the request then fails with -EIO, and the core resets the engine or the
 * device.
 */
void paccel_xfer_done(struct paccel_hw *hw, unsigned int engine, u64 cookie, u64 bytes,
		      int status);
/**
 * paccel_xfer_checksum() - report the checksum of a request with paccel_xfer.verify
 * @hw: the device
 * @engine: number of the engine
 * @cookie: paccel_xfer.cookie of the request
 * @checksum: CRC32C (initial value and final inversion of all ones) of the bytes that the device
 *	has written to device memory or, for D2H and CHECKSUM, read from device memory
 *
 * For poll(), before paccel_xfer_done(). A @cookie that matches no request in flight is ignored.
 */
void paccel_xfer_checksum(struct paccel_hw *hw, unsigned int engine, u64 cookie,
			  u32 checksum);
/**
 * paccel_xfer_bogus() - count and log an invalid completion entry
 * @hw: the device
 * @engine: number of the engine
 *
 * For poll().
 */
void paccel_xfer_bogus(struct paccel_hw *hw, unsigned int engine);

/**
 * paccel_engine_irqs() - request an interrupt vector for each engine
 * @hw: the device; hw->info.engines is set
 * @first: index of the vector of engine 0, as for pci_irq_vector(); engine n has @first + n
 *
 * For probe(). Allocates @first + hw->info.engines MSI-X or MSI vectors. The interrupt handlers
 * call paccel_xfer_check() for their engine. Vectors and interrupts are device-managed resources of
 * the PCI function. May sleep.
 *
 * Return: 0; -EINVAL: hw->info.engines is not 1 to PACCEL_MAX_ENGINES; or an error of the PCI core
 */
int paccel_engine_irqs(struct paccel_hw *hw, unsigned int first);
/**
 * paccel_spurious_irq() - count an interrupt that has no known cause
 * @hw: the device
 *
 * Any context.
 */
void paccel_spurious_irq(struct paccel_hw *hw);

/**
 * paccel_bus_master() - turn bus mastering on or off, and read it back
 * @pdev: the PCI function
 * @on: on or off
 *
 * For reset(); pci_set_master() does not notice that configuration space does not respond, as while
 * the PCI core scans buses whose numbers it has assigned. Waits up to five seconds for the end of
 * that. May sleep.
 *
 * Return: 0; -ENODEV: the function is absent; -EIO: it still does not respond, or ignores the bit
 */
int paccel_bus_master(struct pci_dev *pdev, bool on);

/**
 * paccel_quiesce() - call quiesce() with the limit of the module parameter quiesce_ms
 * @hw: the device
 *
 * For probe(), where no halt() comes before it. May sleep.
 *
 * Return: as quiesce()
 */
int paccel_quiesce(struct paccel_hw *hw);
/**
 * paccel_dump_words() - print registers as 32-bit words, 8 to a line
 * @out: argument of dump()
 * @name: prefix of each line, followed by the offset from @from
 * @from: mapped address of the first register
 * @bytes: a multiple of 4
 *
 * For dump().
 */
void paccel_dump_words(struct seq_buf *out, const char *name, const void __iomem *from,
		       u32 bytes);

#endif /* PACCEL_XFER_H */
