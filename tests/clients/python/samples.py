# SPDX-License-Identifier: MIT
"""Programs in the way of the public documentation of pyACL: numbers, and ret after each call."""

import acl
import numpy

import accel

ACL_MEM_MALLOC_HUGE_FIRST = 0
ACL_MEM_MALLOC_NORMAL_ONLY = 2
ACL_MEMCPY_HOST_TO_HOST = 0
ACL_MEMCPY_HOST_TO_DEVICE = 1
ACL_MEMCPY_DEVICE_TO_HOST = 2
ACL_MEMCPY_DEVICE_TO_DEVICE = 3
ACL_DDR_MEM = 0
ACL_HBM_MEM = 1
ACL_EVENT_TIME_LINE = 8


def check_ret(message, ret):
    if ret != 0:
        raise RuntimeError(f"{message} failed ret={ret}: {acl.get_recent_err_msg()}")


class Device:
    """The beginning and the end of every program."""

    def __init__(self, device_id):
        self.device_id = device_id

    def __enter__(self):
        check_ret("acl.init", acl.init())
        check_ret("acl.rt.set_device", acl.rt.set_device(self.device_id))
        return self

    def __exit__(self, *_):
        check_ret("acl.rt.reset_device", acl.rt.reset_device(self.device_id))
        check_ret("acl.finalize", acl.finalize())


def align32(device_id):
    """acl.rt.malloc_align32 and copies both ways"""
    with Device(device_id):
        free_before, total, ret = acl.rt.get_mem_info(ACL_DDR_MEM)
        check_ret("acl.rt.get_mem_info", ret)
        size = 1000
        dev_ptr, ret = acl.rt.malloc_align32(size, ACL_MEM_MALLOC_HUGE_FIRST)
        check_ret("acl.rt.malloc_align32", ret)
        assert dev_ptr % 64 == 0
        data = bytes(numpy.arange(size, dtype=numpy.uint8))
        ptr = acl.util.bytes_to_ptr(data)
        ret = acl.rt.memcpy(dev_ptr, 1024, ptr, size, ACL_MEMCPY_HOST_TO_DEVICE)
        check_ret("acl.rt.memcpy", ret)
        # 1000 bytes are 1024 in all.
        ret = acl.rt.memset(dev_ptr + size, 24, 0xA5, 24)
        check_ret("acl.rt.memset", ret)
        host_ptr, ret = acl.rt.malloc_host(1024)
        check_ret("acl.rt.malloc_host", ret)
        ret = acl.rt.memcpy(host_ptr, 1024, dev_ptr, 1024, ACL_MEMCPY_DEVICE_TO_HOST)
        check_ret("acl.rt.memcpy", ret)
        assert acl.util.ptr_to_bytes(host_ptr, 1024) == data + b"\xa5" * 24
        array = acl.util.ptr_to_numpy(host_ptr, (1024,), 2)
        assert array[:3].tolist() == [0, 1, 2]
        free, now, ret = acl.rt.get_mem_info(ACL_HBM_MEM)
        check_ret("acl.rt.get_mem_info", ret)
        assert now == total and free_before - free >= 1024
        check_ret("acl.rt.free", acl.rt.free(dev_ptr))
        check_ret("acl.rt.free_host", acl.rt.free_host(host_ptr))
        free, _, ret = acl.rt.get_mem_info(ACL_DDR_MEM)
        assert (free, ret) == (free_before, 0)


def streams(device_id):
    """copies and fills on a stream, with events"""
    with Device(device_id):
        stream, ret = acl.rt.create_stream()
        check_ret("acl.rt.create_stream", ret)
        start, ret = acl.rt.create_event_with_flag(ACL_EVENT_TIME_LINE)
        check_ret("acl.rt.create_event_with_flag", ret)
        end, ret = acl.rt.create_event_with_flag(ACL_EVENT_TIME_LINE)
        check_ret("acl.rt.create_event_with_flag", ret)
        host_ptr, ret = acl.rt.malloc_host(256)
        check_ret("acl.rt.malloc_host", ret)
        dev_ptr, ret = acl.rt.malloc(256, ACL_MEM_MALLOC_NORMAL_ONLY)
        check_ret("acl.rt.malloc", ret)
        check_ret("acl.rt.memset", acl.rt.memset(host_ptr, 256, 3, 256))
        check_ret("acl.rt.record_event", acl.rt.record_event(start, stream))
        ret = acl.rt.memcpy_async(dev_ptr, 256, host_ptr, 256, ACL_MEMCPY_HOST_TO_DEVICE, stream)
        check_ret("acl.rt.memcpy_async", ret)
        check_ret("acl.rt.memset_async", acl.rt.memset_async(dev_ptr, 16, 9, 16, stream))
        ret = acl.rt.memcpy_async(host_ptr, 256, dev_ptr, 256, ACL_MEMCPY_DEVICE_TO_HOST, stream)
        check_ret("acl.rt.memcpy_async", ret)
        check_ret("acl.rt.record_event", acl.rt.record_event(end, stream))
        ret = acl.rt.synchronize_stream_with_timeout(stream, 60000)
        check_ret("acl.rt.synchronize_stream_with_timeout", ret)
        assert acl.rt.query_event_status(end) == (1, 0)
        ms, ret = acl.rt.event_elapsed_time(start, end)
        check_ret("acl.rt.event_elapsed_time", ret)
        assert ms > 0
        assert acl.util.ptr_to_bytes(host_ptr, 256) == b"\11" * 16 + b"\3" * 240
        for event in (start, end):
            check_ret("acl.rt.destroy_event", acl.rt.destroy_event(event))
        check_ret("acl.rt.destroy_stream", acl.rt.destroy_stream(stream))
        check_ret("acl.rt.free", acl.rt.free(dev_ptr))
        check_ret("acl.rt.free_host", acl.rt.free_host(host_ptr))


def refusals(device_id):
    """what is wrong gets a code and a sentence, or raises, and nothing faults"""
    with Device(device_id):
        dev_ptr, ret = acl.rt.malloc_align32(64, ACL_MEM_MALLOC_NORMAL_ONLY)
        check_ret("acl.rt.malloc_align32", ret)
        for call, *arguments in (
                (acl.rt.malloc_align32, 0, 0), (acl.rt.malloc_align32, 1 << 50, 0),
                (acl.rt.free, 0), (acl.rt.free, dev_ptr + 32), (acl.rt.free, 4096),
                (acl.rt.memcpy, dev_ptr, 63, dev_ptr, 64, ACL_MEMCPY_DEVICE_TO_DEVICE),
                (acl.rt.memcpy, dev_ptr, 64, 4096, 64, ACL_MEMCPY_HOST_TO_DEVICE),
                (acl.rt.memcpy, 4096, 64, dev_ptr, 64, ACL_MEMCPY_DEVICE_TO_HOST),
                (acl.rt.memcpy, 4096, 64, 8192, 64, ACL_MEMCPY_HOST_TO_HOST),
                (acl.rt.synchronize_stream, dev_ptr), (acl.rt.destroy_event, dev_ptr)):
            result = call(*arguments)
            assert (result[-1] if isinstance(result, tuple) else result) != 0, call
            assert len(acl.get_recent_err_msg()) > 15, call
        for call, *arguments in ((acl.util.ptr_to_bytes, dev_ptr, 64),
                                 (acl.util.ptr_to_numpy, dev_ptr, (64,), 2),
                                 (acl.util.ptr_to_bytes, 4096, 1)):
            try:
                call(*arguments)
            except ValueError:
                continue
            raise AssertionError(f"{call} has not raised")


def both_modules(device_id):
    """the modules acl and accel use the same device in one program"""
    with Device(device_id), accel.open(device_id) as card:
        dev_ptr, ret = acl.rt.malloc_align32(64, ACL_MEM_MALLOC_NORMAL_ONLY)
        check_ret("acl.rt.malloc_align32", ret)
        with card.allocate_host(64) as host:
            host.fill(5)
            ret = acl.rt.memcpy(dev_ptr, 64, host.address, 64, ACL_MEMCPY_HOST_TO_DEVICE)
            check_ret("acl.rt.memcpy", ret)
            host.fill(0)
            ret = acl.rt.memcpy(host.address, 64, dev_ptr, 64, ACL_MEMCPY_DEVICE_TO_HOST)
            check_ret("acl.rt.memcpy", ret)
            assert host.tobytes() == b"\5" * 64


CHECKS = (align32, streams, refusals, both_modules)
