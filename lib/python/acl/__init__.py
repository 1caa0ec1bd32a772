# SPDX-License-Identifier: MIT
"""AscendCL on PCIe accelerators, by the names of pyACL: outputs first, ret last::

    import acl

    ret = acl.init()
    ret = acl.rt.set_device(0)
    dev_ptr, ret = acl.rt.malloc_align32(1 << 20, 0)

See Documentation/python.md.
"""

from . import rt, util
from ._acl import finalize, finalize_reference, get_recent_err_msg, init

__all__ = ["finalize", "finalize_reference", "get_recent_err_msg", "init", "rt", "util"]
