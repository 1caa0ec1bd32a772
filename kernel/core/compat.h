/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The only file that depends on the kernel version. Each block names the change that requires it.
 */
#ifndef PACCEL_COMPAT_H
#define PACCEL_COMPAT_H

#include <linux/cleanup.h>
#include <linux/crc32.h>
#include <linux/dma-buf.h>
#include <linux/dma-fence.h>
#include <linux/eventfd.h>
#include <linux/export.h>
#include <linux/mm.h>
#include <linux/pci.h>
#include <linux/version.h>

#define PACCEL_BEFORE(major, minor) (LINUX_VERSION_CODE < KERNEL_VERSION(major, minor, 0))

#ifndef CONFIG_64BIT
#error "paccel needs a 64-bit kernel: genalloc has device addresses (from 4 GiB) in a long"
#endif
#ifndef CONFIG_MMU_NOTIFIER
#error "paccel needs CONFIG_MMU_NOTIFIER: registered memory is watched for changes"
#endif
#if !IS_ENABLED(CONFIG_CRC32)
#error "paccel needs CONFIG_CRC32: verification compares checksums"
#endif
#if PACCEL_BEFORE(6, 1)
#error "paccel supports kernels from 6.1 on"
#endif

/*
 * 6.2: struct class.devnode takes a const device ("driver core: make struct class.devnode() take
 * a const *").
 */
#if PACCEL_BEFORE(6, 2)
#define PACCEL_DEVNODE_CONST
#else
#define PACCEL_DEVNODE_CONST const
#endif

/*
 * 6.2: dma_buf_vmap() must be called with the reservation lock held, and dma_buf_vmap_unlocked()
 * takes that lock ("dma-buf: Move dma_buf_vmap() to dynamic locking specification").
 */
#if PACCEL_BEFORE(6, 2)
static inline int dma_buf_vmap_unlocked(struct dma_buf *dmabuf, struct iosys_map *map)
{
	return dma_buf_vmap(dmabuf, map);
}

static inline void dma_buf_vunmap_unlocked(struct dma_buf *dmabuf, struct iosys_map *map)
{
	dma_buf_vunmap(dmabuf, map);
}
#endif

/*
 * 6.3: vm_flags became read-only outside of helpers ("mm: introduce vma->vm_flags wrapper
 * functions").
 */
#if PACCEL_BEFORE(6, 3)
static inline void vm_flags_set(struct vm_area_struct *vma, unsigned long flags)
{
	vma->vm_flags |= flags;
}

static inline void vm_flags_clear(struct vm_area_struct *vma, unsigned long flags)
{
	vma->vm_flags &= ~flags;
}
#endif

/*
 * 6.15: __crc32c_le() of CONFIG_CRC32 became crc32c() ("lib/crc32: standardize on crc32c() name for
 * Castagnoli CRC32"). The crc32c() of earlier kernels is in libcrc32c, which needs the crypto API.
 */
static inline u32 paccel_crc32c(u32 crc, const void *data, size_t len)
{
#if PACCEL_BEFORE(6, 15)
	return __crc32c_le(crc, data, len);
#else
	return crc32c(crc, data, len);
#endif
}

/* 6.8: eventfd_signal() lost its count ("eventfd: simplify eventfd_signal()"). */
static inline void paccel_eventfd_signal(struct eventfd_ctx *eventfd)
{
#if PACCEL_BEFORE(6, 8)
	eventfd_signal(eventfd, 1);
#else
	eventfd_signal(eventfd);
#endif
}

/*
 * 6.13: the name of a namespace became a string ("module: Convert symbol namespace to string
 * literal").
 */
#if PACCEL_BEFORE(6, 13)
#define PACCEL_IMPORT_NS(ns) MODULE_IMPORT_NS(ns)
#define EXPORT_SYMBOL_PACCEL(symbol) EXPORT_SYMBOL_NS_GPL(symbol, PACCEL)
#else
#define PACCEL_IMPORT_NS(ns) MODULE_IMPORT_NS(#ns)
#define EXPORT_SYMBOL_PACCEL(symbol) EXPORT_SYMBOL_NS_GPL(symbol, "PACCEL")
#endif

/*
 * 6.17: 64-bit sequence numbers of a fence are requested by the function that initializes the
 * fence, and not in its operations ("dma-fence: Use a flag for 64-bit seqnos").
 */
#if PACCEL_BEFORE(6, 17)
#define PACCEL_FENCE_64BIT .use_64bit_seqno = true,
#define dma_fence_init64 dma_fence_init
#else
#define PACCEL_FENCE_64BIT
#endif

/*
 * Returns whether an importer may pin memory that the exporter can revoke. From 7.1 on ("dma-buf:
 * Add dma_buf_attach_revocable()") the importer declares that its pin can be revoked. Before, the
 * exporter cannot know: pinning is refused. Without CONFIG_DMABUF_MOVE_NOTIFY, as in Debian's
 * kernels, dma_buf_map_attachment() pins for every importer: an attachment that is not @pinned may
 * be pinned. So an importer either has one mapping, or calls dma_buf_pin() and cannot map.
 */
static inline bool paccel_may_pin(struct dma_buf_attachment *attach, bool pinned)
{
#if PACCEL_BEFORE(7, 1)
	return !IS_ENABLED(CONFIG_DMABUF_MOVE_NOTIFY) && !pinned;
#else
	return dma_buf_attach_revocable(attach);
#endif
}

/*
 * 7.1: move_notify() of an importer, and dma_buf_move_notify(), were renamed ("dma-buf: Rename
 * dma_buf_move_notify() to dma_buf_invalidate_mappings()").
 */
#if PACCEL_BEFORE(7, 1)
#define invalidate_mappings move_notify
#define dma_buf_invalidate_mappings dma_buf_move_notify
#endif

#endif /* PACCEL_COMPAT_H */
