# SPDX-License-Identifier: MIT
"""Devices, contexts, memory, copies, streams and events. ret is 0, or acl.get_recent_err_msg() has
a sentence."""

from ._acl import (create_context, create_event, create_event_ex_with_flag, create_event_with_flag,
                   create_stream, create_stream_with_config, destroy_context, destroy_event,
                   destroy_stream, destroy_stream_force, device_can_access_peer,
                   device_disable_peer_access, device_enable_peer_access, event_elapsed_time, free,
                   free_host, free_host_with_dev_sync, free_with_dev_sync, get_context, get_device,
                   get_device_count, get_device_utilization_rate, get_mem_info, get_run_mode,
                   get_version, malloc, malloc_align32, malloc_cached, malloc_host,
                   malloc_host_with_cfg, mem_flush, mem_invalidate, memcpy, memcpy2d,
                   memcpy2d_async, memcpy_async, memset, memset_async, query_event,
                   query_event_status, query_event_wait_status, record_event, reset_device,
                   reset_device_force, reset_event, set_context, set_device, stream_query,
                   stream_wait_event, synchronize_device, synchronize_device_with_timeout,
                   synchronize_event, synchronize_event_with_timeout, synchronize_stream,
                   synchronize_stream_with_timeout)

# The names of the calls in C.
set_current_context = set_context
get_current_context = get_context

__all__ = [name for name in globals() if not name.startswith("_")]
