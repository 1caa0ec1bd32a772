# SPDX-License-Identifier: MIT
"""The module acl on cards of the mock."""

import ast
import ctypes
import errno
import importlib.util
import mmap
import os
import random
import sys
import tempfile
import threading
import time
import unittest

import acl
import acl.rt
import acl.util
import mock
from mock import held, lib

H2H, H2D, D2H, D2D = range(4)
INVALID_PARAM, UNINITIALIZE, REPEAT_FINALIZE = 100000, 100001, 100037
PARAM_INVALID, INVALID_DEVICEID, CONTEXT_NULL, INVALID_HANDLE = 107000, 107001, 107002, 107017
FEATURE_NOT_SUPPORT, OUT_OF_MEMORY, NO_DEVICE, DMA = 207000, 207001, 207004, 507013
rt, util = acl.rt, acl.util
ptr = util.bytes_to_ptr


class Cards(mock.Cards):
    def good(self, result):
        """Of a call that has to succeed, without its ret."""
        values = result if isinstance(result, tuple) else (result,)
        self.assertEqual(values[-1], 0, acl.get_recent_err_msg())
        return values[0] if len(values) == 2 else values[:-1]

    def bad(self, code, result):
        """The code, outputs of 0, and a sentence, once."""
        values = result if isinstance(result, tuple) else (result,)
        sentence = acl.get_recent_err_msg()
        self.assertEqual(values[-1], code, sentence)
        self.assertEqual(values[:-1], (0,) * (len(values) - 1))
        self.assertGreater(len(sentence), 15, sentence)
        self.assertEqual(acl.get_recent_err_msg(), "")
        return sentence


class Device(Cards):
    def setUp(self):
        super().setUp()
        self.good(acl.init())
        self.good(rt.set_device(0))

    def tearDown(self):
        acl.finalize()
        acl.get_recent_err_msg()
        super().tearDown()

    def device(self, data):
        """Memory of the device with that in it."""
        address = self.good(rt.malloc_align32(len(data), 0))
        self.good(rt.memcpy(address, len(data), ptr(data), len(data), H2D))
        return address

    def content(self, address, size):
        host = self.good(rt.malloc_host(size))
        self.good(rt.memcpy(host, size, address, size, D2H))
        data = util.ptr_to_bytes(host, size)
        self.good(rt.free_host(host))
        return data


class Begin(Cards):
    def tearDown(self):
        acl.finalize()
        acl.get_recent_err_msg()
        super().tearDown()

    def test_init(self):
        self.bad(UNINITIALIZE, rt.malloc(1, 0))
        self.good(acl.init())
        self.good(acl.init(None))
        self.assertEqual(acl.finalize_reference(), (1, 0))
        self.good(acl.finalize())
        self.bad(REPEAT_FINALIZE, acl.finalize())
        self.bad(REPEAT_FINALIZE, acl.finalize_reference())

    def test_config(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write("{}")
            file.flush()
            for path in (file.name, file.name.encode()):
                self.good(acl.init(path))
        self.assertNotEqual(acl.init("/there/is/no/such/file"), 0)
        self.assertIn("such/file", acl.get_recent_err_msg())
        for path in (b"/there/is/no/\xff", "/" + "\u00e9" * 400, "/a" + "\u00e9" * 400):
            self.assertNotEqual(acl.init(path), 0)
            self.assertIn("aclInit: configPath: /", acl.get_recent_err_msg())
        for path in (1, 1.0, [], object()):
            self.assertRaises(TypeError, acl.init, path)
        self.refuses(ValueError, "null", acl.init, "a\0b")
        self.assertRaises(TypeError, acl.init, None, None)
        self.assertRaises(TypeError, acl.finalize, 1)

    def test_version_and_mode(self):
        self.assertEqual(rt.get_version()[-1], 0)
        self.assertEqual(rt.get_run_mode(), (1, 0))

    def test_count(self):
        self.assertEqual(rt.get_device_count(), (2, 0))
        lib.mock_reset()
        self.assertEqual(rt.get_device_count(), (0, 0))

    def test_devices(self):
        self.good(acl.init())
        for code, device in ((INVALID_DEVICEID, -1), (INVALID_DEVICEID, 2)):
            self.bad(code, rt.set_device(device))
        self.bad(CONTEXT_NULL, rt.get_device())
        self.good(rt.set_device(1))
        self.assertEqual(rt.get_device(), (1, 0))
        self.good(rt.set_device(0))
        self.assertEqual(rt.get_device(), (0, 0))
        self.good(rt.synchronize_device())
        self.good(rt.synchronize_device_with_timeout(-1))
        self.bad(PARAM_INVALID, rt.synchronize_device_with_timeout(-2))
        self.good(rt.reset_device(0))
        self.good(rt.reset_device_force(1))
        self.bad(CONTEXT_NULL, rt.malloc(1, 0))

    def test_peers(self):
        self.good(acl.init())
        self.good(rt.set_device(1))
        self.good(rt.set_device(0))
        self.assertEqual(rt.device_can_access_peer(0, 1), (1, 0))
        self.assertEqual(rt.device_can_access_peer(0, 0), (0, 0))
        self.bad(INVALID_DEVICEID, rt.device_can_access_peer(0, 7))
        here = self.good(rt.malloc(8, 0))
        self.good(rt.set_device(1))
        there = self.good(rt.malloc(8, 0))
        self.bad(PARAM_INVALID, rt.memcpy(there, 8, here, 8, D2D))
        self.good(rt.device_enable_peer_access(0, 0))
        self.good(rt.memcpy(there, 8, here, 8, D2D))
        self.bad(PARAM_INVALID, rt.device_enable_peer_access(0, 1))
        self.good(rt.device_disable_peer_access(0))

    def test_threads_have_their_own_device(self):
        self.good(acl.init())
        barrier = threading.Barrier(2)

        def work(device):
            results = [rt.set_device(device)]
            barrier.wait(mock.PATIENCE)
            address, code = rt.malloc(64, 0)
            results += [code, rt.get_device(), rt.get_mem_info(0)[:2], rt.free(address)]
            barrier.wait(mock.PATIENCE)
            return results

        for device, thread in enumerate([mock.Thread(work, 0), mock.Thread(work, 1)]):
            self.assertEqual(thread.join(), [0, 0, (device, 0), (3904, 4032), 0])

    def test_messages_are_of_the_thread(self):
        rt.malloc(1, 0)
        self.assertEqual(mock.Thread(acl.get_recent_err_msg).join(), "")
        self.assertIn("aclrtMalloc", acl.get_recent_err_msg())


class Memory(Device):
    def test_rounding(self):
        sizes = ((1, 64, 32), (31, 64, 32), (32, 64, 32), (33, 96, 64), (63, 96, 64), (64, 96, 64),
                 (65, 128, 96))
        for size, plain, aligned in sizes:
            for allocate, wanted in ((rt.malloc, plain), (rt.malloc_align32, aligned),
                                     (rt.malloc_cached, plain)):
                address = self.good(allocate(size, 0))
                self.assertEqual(address % 64, 0)
                self.good(rt.memset(address, wanted, 7, wanted))
                self.assertEqual(self.content(address, wanted), b"\7" * wanted)
                self.bad(PARAM_INVALID, rt.memset(address, wanted + 1, 7, wanted + 1))
                self.good(rt.free(address))

    def test_policies(self):
        for policy in (0, 2, 3, 5, 0x100, 0x1000, 0x100 | 2, 77, -1, 2**31 - 1):
            address = self.good(rt.malloc_align32(100, policy))
            self.good(rt.free(address))

    def test_what_cannot_be_allocated(self):
        for allocate in (rt.malloc, rt.malloc_align32, rt.malloc_cached):
            self.bad(INVALID_PARAM, allocate(0, 0))
            self.bad(OUT_OF_MEMORY, allocate(1 << 40, 2))
            for size in (2**64 - 1, 2**64 - 32):
                address, code = allocate(size, 0)
                self.assertTrue(address == 0 and code != 0)
                acl.get_recent_err_msg()
        self.bad(INVALID_PARAM, rt.malloc_host(0))
        self.bad(INVALID_PARAM, rt.malloc_host_with_cfg(0, {}))

    def test_what_cannot_be_freed(self):
        device, host = self.good(rt.malloc(64, 0)), self.good(rt.malloc_host(64))
        for free, other in ((rt.free, host), (rt.free_with_dev_sync, host), (rt.free_host, device),
                            (rt.free_host_with_dev_sync, device)):
            for address in (0, 1, other, ptr(b"mine"), 2**64 - 1):
                code = free(address)
                self.assertNotEqual(code, 0, f"{free} {address}")
                self.assertGreater(len(acl.get_recent_err_msg()), 15)
        self.bad(PARAM_INVALID, rt.free(device + 1))
        self.good(rt.free(device))
        self.bad(PARAM_INVALID, rt.free(device))
        self.good(rt.free_host(host))
        self.bad(PARAM_INVALID, rt.free_host(host))

    def test_free_that_waits(self):
        device, host = self.good(rt.malloc(64, 0)), self.good(rt.malloc_host(64))
        self.good(rt.free_with_dev_sync(device))
        self.good(rt.free_host_with_dev_sync(host))
        host = self.good(rt.malloc_host_with_cfg(64, {}))
        self.good(rt.free_host(host))

    def test_exhaustion(self):
        addresses = []
        for _ in range(1000):
            address, code = rt.malloc_align32(512, 2)
            if code:
                break
            addresses.append(address)
        self.assertEqual((address, code, len(addresses)), (0, OUT_OF_MEMORY, 7))
        self.good(rt.free(addresses.pop()))
        self.good(rt.malloc_align32(512, 2))

    def test_mem_info(self):
        self.assertEqual(rt.get_mem_info(0), (4032, 4032, 0))
        self.assertEqual(rt.get_mem_info(1), (4032, 4032, 0))
        self.good(rt.malloc_align32(2016, 0))
        self.assertEqual(rt.get_mem_info(0), (1984, 4032, 0))
        rates, code = rt.get_device_utilization_rate(0)
        self.assertEqual((rates, code), ({"cube_utilization": -1, "vector_utilization": -1,
                                          "aicpu_utilization": -1, "memory_utilization": 51,
                                          "utilization_extend": None}, 0))
        rates, code = rt.get_device_utilization_rate(9)
        self.assertEqual((code, rates["memory_utilization"]), (INVALID_DEVICEID, -1))

    def test_flush(self):
        address = self.good(rt.malloc_cached(64, 0))
        self.good(rt.mem_flush(address, 64))
        self.good(rt.mem_invalidate(address, 64))
        for call in (rt.mem_flush, rt.mem_invalidate):
            self.bad(INVALID_PARAM, call(0, 64))
            self.bad(INVALID_PARAM, call(address, 0))
            self.bad(PARAM_INVALID, call(ptr(b"mine"), 4))


class Copies(Device):
    def test_all_ways(self):
        data = bytes(range(200))
        one = self.device(data)
        two = self.good(rt.malloc(200, 0))
        self.good(rt.memcpy(two, 200, one, 200, D2D))
        self.assertEqual(self.content(two, 200), data)
        for kind in range(8):
            self.good(rt.memcpy(two + 7, 100, one + 3, 90, kind))
            self.assertEqual(self.content(two, 97)[7:], data[3:93])
        host = self.good(rt.malloc_host(200))
        self.good(rt.memcpy(host, 200, ptr(data), 200, H2H))
        self.assertEqual(util.ptr_to_bytes(host, 200), data)
        self.good(rt.memcpy(host + 1, 199, host, 199, H2H))
        self.assertEqual(util.ptr_to_bytes(host, 200), data[:1] + data[:199])

    def test_memset(self):
        device, host = self.good(rt.malloc(64, 0)), self.good(rt.malloc_host(64))
        for address in (device, host):
            self.good(rt.memset(address, 64, 0x155, 64))
            self.assertEqual(self.content(device, 64), b"\x55" * 64)
        self.assertEqual(util.ptr_to_bytes(host, 64), b"\x55" * 64)
        self.bad(PARAM_INVALID, rt.memset(device, 8, 0, 9))
        self.bad(PARAM_INVALID, rt.memset_async(device, 8, 0, 9, 0))
        self.assertNotEqual(rt.memset(ptr(b"constant"), 8, 0, 8), 0)
        self.assertNotEqual(rt.memset(16, 8, 0, 8), 0)

    def test_rows(self):
        data = bytes(range(60))
        device = self.good(rt.malloc(60, 0))
        self.good(rt.memset(device, 60, 0xEE, 60))
        self.good(rt.memcpy2d(device, 12, ptr(data), 10, 5, 5, H2D))
        wanted = b"".join(data[10 * i:10 * i + 5] + b"\xee" * 7 for i in range(5))
        self.assertEqual(self.content(device, 60), wanted)
        host = self.good(rt.malloc_host(60))
        self.good(rt.memcpy2d(host, 6, device, 12, 5, 5, D2H))
        self.assertEqual(util.ptr_to_bytes(host, 29)[:11], data[:5] + b"\0" + data[10:15])
        stream = self.good(rt.create_stream())
        self.good(rt.memcpy2d_async(device, 12, host, 6, 5, 5, H2D, stream))
        self.good(rt.synchronize_stream(stream))
        for arguments in ((device, 4, host, 6, 5, 5), (device, 12, host, 4, 5, 5),
                          (device, 12, host, 6, 0, 5), (device, 12, host, 6, 5, 0),
                          (0, 12, host, 6, 5, 5), (device, 12, 0, 6, 5, 5),
                          (device, 2**63, host, 2**63, 5, 3), (device, 12, 16, 6, 5, 5),
                          (host, 12, 16, 6, 5, 5)):
            self.assertNotEqual(rt.memcpy2d(*arguments, H2D), 0, arguments)
            self.assertGreater(len(acl.get_recent_err_msg()), 15)
            self.assertNotEqual(rt.memcpy2d_async(*arguments, H2D, stream), 0, arguments)
            self.assertGreater(len(acl.get_recent_err_msg()), 15)

    def test_what_cannot_be_copied(self):
        device, host = self.good(rt.malloc_align32(64, 0)), self.good(rt.malloc_host(64))
        freed = self.good(rt.malloc_align32(64, 0))
        self.good(rt.free(freed))
        stream = self.good(rt.create_stream())
        mine = bytes(64)
        wrong = [0, 1, 16, freed, 2**64 - 1, 2**64 - 32, device + 64, 1 << 50]
        for address in wrong:
            for other in (device, host, ptr(mine), address):
                for call in (rt.memcpy, lambda *rest: rt.memcpy_async(*rest, stream)):
                    for arguments in ((address, 32, other, 32), (other, 32, address, 32)):
                        code = call(*arguments, 4)
                        self.assertNotEqual(code, 0, [hex(value) for value in arguments])
                        self.assertGreater(len(acl.get_recent_err_msg()), 15)
        for call in (rt.memcpy, lambda *rest: rt.memcpy_async(*rest, stream)):
            self.bad(INVALID_PARAM, call(device, 64, host, 0, H2D))
            self.bad(PARAM_INVALID, call(device, 63, host, 64, H2D))
            self.assertNotEqual(call(device, 65, host, 65, H2D), 0)
            acl.get_recent_err_msg()
        self.good(rt.synchronize_stream(stream))

    def test_failure_of_the_card(self):
        device = self.good(rt.malloc_align32(64, 0))
        data = bytes(64)
        lib.mock_fail(mock.COPY, 1, errno.EIO)
        self.bad(DMA, rt.memcpy(device, 64, ptr(data), 64, H2D))


class Streams(Device):
    def test_async(self):
        host = self.good(rt.malloc_host(64))
        device = self.device(bytes(64))
        stream = self.good(rt.create_stream())
        self.good(rt.memset(host, 64, 3, 64))
        with held():
            self.good(rt.memcpy_async(device, 64, host, 64, H2D, stream))
            self.good(rt.memset_async(device, 8, 9, 8, stream))
            self.assertEqual(rt.stream_query(stream), (1, 0))
        self.good(rt.synchronize_stream(stream))
        self.assertEqual(rt.stream_query(stream), (0, 0))
        self.assertEqual(self.content(device, 10), b"\11" * 8 + b"\3\3")
        self.assertEqual(rt.memcpy_async(host, 8, ptr(bytes(8)), 8, H2H, stream),
                         FEATURE_NOT_SUPPORT)
        self.good(rt.memcpy_async(device, 64, host, 64, H2D, 0))
        self.good(rt.synchronize_stream(0))
        self.good(rt.destroy_stream(stream))
        self.good(rt.destroy_stream_force(self.good(rt.create_stream_with_config(0, 3))))

    def test_timeout(self):
        stream, event = self.good(rt.create_stream()), self.good(rt.create_event())
        device = self.device(bytes(8))
        with held():
            self.good(rt.memset_async(device, 8, 9, 8, stream))
            self.good(rt.record_event(event, stream))
            self.assertNotEqual(rt.synchronize_stream_with_timeout(stream, 20), 0)
            self.assertNotEqual(rt.synchronize_event_with_timeout(event, 20), 0)
            self.assertNotEqual(rt.synchronize_device_with_timeout(20), 0)
        self.good(rt.synchronize_stream_with_timeout(stream, -1))
        self.good(rt.synchronize_event_with_timeout(event, -1))
        self.good(rt.synchronize_event(event))

    def test_events(self):
        stream = self.good(rt.create_stream())
        one = self.good(rt.create_event_ex_with_flag(8))
        two = self.good(rt.create_event_with_flag(8))
        device = self.device(bytes(8))
        self.assertEqual(rt.query_event_status(two), (0, 0))
        self.good(rt.record_event(one, stream))
        self.good(rt.synchronize_event(one))
        with held():
            self.good(rt.memset_async(device, 8, 9, 8, stream))
            self.good(rt.record_event(two, stream))
            self.assertEqual(rt.query_event_status(two), (0, 0))
            self.assertEqual(rt.query_event(two), (1, 0))
            self.good(rt.stream_wait_event(0, two))
            self.assertEqual(rt.query_event_wait_status(two), (1, 0))
            time.sleep(0.01)
        self.good(rt.synchronize_stream(0))
        self.assertEqual(rt.query_event_status(two), (1, 0))
        self.assertEqual(rt.query_event(two), (0, 0))
        self.assertEqual(rt.query_event_wait_status(two), (0, 0))
        ms = self.good(rt.event_elapsed_time(one, two))
        self.assertIsInstance(ms, float)
        self.assertGreater(ms, 9)
        ms, code = rt.event_elapsed_time(two, one)
        self.assertTrue(ms == 0 and code)
        self.good(rt.reset_event(two, stream))
        for event in (one, two):
            self.good(rt.destroy_event(event))
            self.bad(INVALID_HANDLE, rt.destroy_event(event))

    def test_contexts(self):
        first = self.good(rt.get_context())
        context = self.good(rt.create_context(0))
        self.assertEqual(rt.get_current_context(), (context, 0))
        self.good(rt.set_context(first))
        self.assertEqual(rt.get_context(), (first, 0))
        self.good(rt.set_current_context(context))
        self.good(rt.destroy_context(context))
        self.bad(INVALID_HANDLE, rt.set_context(context))
        self.bad(INVALID_DEVICEID, rt.create_context(5))

    def test_handles_that_are_none(self):
        stream, event = self.good(rt.create_stream()), self.good(rt.create_event())
        dead = self.good(rt.create_stream())
        self.good(rt.destroy_stream(dead))
        device = self.device(bytes(8))
        for handle in (event, dead, device, 1, 2**64 - 1, ptr(b"bytes")):
            for call in (rt.destroy_stream, rt.destroy_stream_force, rt.synchronize_stream,
                         rt.stream_query, lambda one: rt.synchronize_stream_with_timeout(one, 1),
                         lambda one: rt.stream_wait_event(one, event),
                         lambda one: rt.record_event(event, one),
                         lambda one: rt.reset_event(event, one),
                         lambda one: rt.memset_async(device, 8, 0, 8, one)):
                self.bad(INVALID_HANDLE, call(handle))
        for handle in (stream, dead, device, 1, 2**64 - 1):
            for call in (rt.destroy_event, rt.synchronize_event, rt.query_event,
                         rt.query_event_status, rt.query_event_wait_status,
                         lambda one: rt.synchronize_event_with_timeout(one, 1),
                         lambda one: rt.record_event(one, stream),
                         lambda one: rt.stream_wait_event(stream, one),
                         lambda one: rt.event_elapsed_time(one, event)):
                self.bad(INVALID_HANDLE, call(handle))
            for call in (rt.destroy_context, rt.set_context):
                self.bad(INVALID_HANDLE, call(handle))
        for call in (rt.destroy_event, rt.synchronize_event, rt.query_event, rt.destroy_context,
                     rt.destroy_stream):
            self.assertNotEqual(call(0), 0)

    def test_the_gil_is_given_up(self):
        device, data = self.device(bytes(8)), bytes(8)
        stream = self.good(rt.create_stream())

        def on_stream(wait):
            rt.set_device(0)
            rt.memset_async(device, 8, 9, 8, stream)
            return wait()

        calls = [lambda: rt.set_device(0) or rt.memcpy(device, 8, ptr(data), 8, H2D),
                 lambda: on_stream(lambda: rt.synchronize_stream(stream)),
                 lambda: on_stream(rt.synchronize_device),
                 lambda: on_stream(lambda: rt.synchronize_stream_with_timeout(stream, 20000))]
        for call in calls:
            with held():
                thread = mock.Thread(call)
                lib.mock_wait_held(0, 1)
                self.assertTrue(thread.is_alive())
            self.assertEqual(thread.join(), 0)

    def test_unplugged(self):
        device, stream = self.device(bytes(8)), self.good(rt.create_stream())
        lib.mock_remove(0)
        data = bytes(8)
        for result in (rt.memcpy(device, 8, ptr(data), 8, H2D), rt.malloc(8, 0),
                       rt.malloc_host(8), rt.memset(device, 8, 0, 8), rt.synchronize_stream(stream),
                       rt.get_mem_info(0), rt.memset_async(device, 8, 0, 8, stream)):
            code = result[-1] if isinstance(result, tuple) else result
            self.assertEqual(code, NO_DEVICE)

    def test_fork(self):
        device = self.device(b"childish")

        def child():
            data = bytes(8)
            for call, *arguments in ((rt.memcpy, device, 8, ptr(data), 8, H2D), (rt.malloc, 8, 0),
                                     (rt.free, device), (rt.synchronize_device,)):
                result = call(*arguments)
                code = result[-1] if isinstance(result, tuple) else result
                if not code or not acl.get_recent_err_msg():
                    return f"the child is let through: {call}"
            self.refuses(ValueError, "", util.ptr_to_bytes, device, 8)
            if acl.init() or rt.set_device(0):
                return "the child has no device of its own: " + acl.get_recent_err_msg()
            own, code = rt.malloc(8, 0)
            return None if not code and not rt.memcpy(own, 8, ptr(data), 8, H2D) else "no copy"

        self.assertEqual(mock.in_child(child), "")
        self.assertEqual(self.content(device, 8), b"childish")


class Util(Device):
    def test_bytes(self):
        for data in (b"", b"a", bytes(range(256)), b"x" * 100000):
            self.assertEqual(util.ptr_to_bytes(ptr(data), len(data)), data)
        for data in ("text", bytearray(b"a"), None, 1, memoryview(b"a")):
            self.assertRaises(TypeError, ptr, data)
        self.assertRaises(TypeError, ptr)
        self.assertRaises(TypeError, ptr, b"a", b"b")

    def test_what_the_processor_cannot_read(self):
        device, host = self.good(rt.malloc_align32(64, 0)), self.good(rt.malloc_host(64))
        freed = self.good(rt.malloc_align32(64, 0))
        self.good(rt.free(freed))
        gone = self.good(rt.malloc_host(64))
        self.good(rt.free_host(gone))
        for address, size, words in (
                (device, 64, "device memory"), (device + 60, 1, "device memory"),
                (freed, 1, "freed"), (gone, 1, "cannot access"), (0, 1, "NULL"), (0, 0, "NULL"),
                (1, 1, "cannot access"), (4096, 100, "cannot access"),
                (2**64 - 1, 1, "cannot access"), (2**64 - 1, 2, "wraps"),
                (host, 65, "the allocation ends"), (host + 60, 5, "the allocation ends"),
                (ptr(b"1"), 1 << 45, "cannot access")):
            with self.subTest(hex(address)):
                self.refuses(ValueError, words, util.ptr_to_bytes, address, size)
        self.assertEqual(len(util.ptr_to_bytes(host, 64)), 64)
        for arguments in ((-1, 1), (1, -1), (2**64, 1), (host, 2**63)):
            self.assertRaises(OverflowError, util.ptr_to_bytes, *arguments)
        for arguments in (("a", 1), (host, "a"), (host,), (host, 1, 1), (host, 1.0), (None, 1)):
            self.assertRaises(TypeError, util.ptr_to_bytes, *arguments)

    def test_memory_that_is_mapped(self):
        """It could be read, until the card is pulled."""
        lib.mock_add_mappable(5, 1 << 16)
        self.good(rt.set_device(2))
        device = self.good(rt.malloc_align32(64, 0))
        self.refuses(ValueError, "device memory", util.ptr_to_bytes, device, 64)
        data = b"0123456789"
        self.good(rt.memcpy(device, 10, ptr(data), 10, H2D))
        self.assertEqual(self.content(device, 10), data)

    def test_memory_that_cannot_be_written(self):
        """Copies between host memory ask for that first."""
        libc = ctypes.CDLL(None)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
                              ctypes.c_int, ctypes.c_long)
        pages = libc.mmap(None, 8192, 1, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
        data = b"01234567"
        self.assertIn("dst", self.bad(PARAM_INVALID, rt.memcpy(pages, 8, ptr(data), 8, H2H)))
        host = self.good(rt.malloc_host(8))
        self.good(rt.memcpy(host, 8, pages, 8, H2H))
        self.assertEqual(util.ptr_to_bytes(pages + 8000, 192), bytes(192))
        libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
        libc.munmap(pages + 4096, 4096)
        self.refuses(ValueError, "cannot access", util.ptr_to_bytes, pages + 4000, 192)
        self.assertIn("src", self.bad(PARAM_INVALID, rt.memcpy(host, 8, pages + 4092, 8, H2H)))
        libc.munmap(pages, 4096)

    def test_memory_that_is_registered(self):
        """It is read beyond the registration, but not beyond what is there."""
        register = ctypes.CDLL("libaccel_acl.so.0").aclrtHostRegisterV2
        register.argtypes = (ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32)
        libc = ctypes.CDLL(None)
        libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
                              ctypes.c_int, ctypes.c_long)
        pages = libc.mmap(None, 3 * 4096, 3, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
        self.good(register(pages, 4096, 0x10000000))
        self.assertEqual(util.ptr_to_bytes(pages + 4000, 192), bytes(192))
        libc.munmap(pages + 8192, 4096)
        self.refuses(ValueError, "cannot access", util.ptr_to_bytes, pages + 4000, 4192 + 1)
        libc.munmap(pages, 8192)
        self.refuses(ValueError, "cannot access", util.ptr_to_bytes, pages, 8)

    @unittest.skipUnless(importlib.util.find_spec("numpy"), "numpy is not there")
    def test_numpy(self):
        import numpy  # pylint: disable=import-outside-toplevel
        numbers = numpy.arange(12, dtype=numpy.float32)
        address = util.numpy_to_ptr(numbers)
        self.assertEqual(address, numbers.ctypes.data)
        again = util.ptr_to_numpy(address, (3, 4), 11)
        self.assertEqual((again.shape, again.dtype), ((3, 4), numpy.float32))
        again[1, 0] = 77
        self.assertEqual(numbers[4], 77)
        types = {0: "bool", 1: "int8", 2: "uint8", 3: "int16", 4: "uint16", 5: "int32", 6: "uint32",
                 7: "int64", 8: "uint64", 11: "float32", 12: "float64", 23: "float16"}
        for number, name in types.items():
            self.assertEqual(util.ptr_to_numpy(address, (2,), number).dtype, numpy.dtype(name))
        self.assertEqual(util.ptr_to_numpy(address, (0, 5), 1).shape, (0, 5))
        device = self.good(rt.malloc_align32(64, 0))
        self.refuses(ValueError, "device memory", util.ptr_to_numpy, device, (4,), 1)
        self.refuses(ValueError, "cannot access", util.ptr_to_numpy, 16, (4,), 1)
        self.refuses(ValueError, "npy_type is 9", util.ptr_to_numpy, address, (4,), 9)
        self.refuses(ValueError, "at least 0", util.ptr_to_numpy, address, (-4,), 1)
        self.assertRaises(OverflowError, util.ptr_to_numpy, address, (1 << 40, 1 << 40), 1)
        for arguments in (("a", (1,), 1), (address, 1, 1), (address, ("a",), 1),
                          (address, (1,), "a")):
            self.assertRaises(TypeError, util.ptr_to_numpy, *arguments)
        self.refuses(ValueError, "C-contiguous", util.numpy_to_ptr, numbers[::2])
        for thing in (None, 1, b"a", [1]):
            self.assertRaises(TypeError, util.numpy_to_ptr, thing)


def hints(name):
    """{function: [(argument, type)]} of a file with types."""
    path = os.path.join(os.path.dirname(acl.__file__), name)
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


class Types(Device):
    def test_hints(self):
        for name, module in (("__init__.pyi", acl), ("rt.pyi", rt), ("util.pyi", util)):
            there = {member for member in module.__all__ if callable(getattr(module, member))}
            self.assertEqual(set(hints(name)), there)
            for member in there:
                self.assertTrue(getattr(module, member).__doc__, member)

    def test_every_argument(self):
        """Of another type, out of range, one too many and one too few."""
        for name, node in hints("rt.pyi").items():
            call = getattr(rt, name)
            count = len(node.args.posonlyargs)
            good = [{} if argument.arg == "cfg" else 0 for argument in node.args.posonlyargs]
            for number in {0, count + 1, count - 1} - {count}:
                self.assertRaises(TypeError, call, *[0] * max(number, 0)) if number >= 0 else None
            for place, argument in enumerate(node.args.posonlyargs):
                for wrong in (None, "1", b"1", 1.0, [1], object()):
                    with self.subTest(f"{name}({argument.arg}={wrong})"):
                        self.refuses(TypeError, argument.arg, call,
                                     *good[:place], wrong, *good[place + 1:])
                if argument.arg == "cfg":
                    self.refuses(ValueError, "empty", call, 1, {"a": 1})
                    continue
                for wrong in (1 << 64, -(1 << 64), 1 << 200, 1 << 20000, -(1 << 20000)):
                    with self.subTest(f"{name}({argument.arg}={wrong:x})"):
                        self.refuses(OverflowError, argument.arg, call,
                                     *good[:place], wrong, *good[place + 1:])

    def test_numbers_of_other_types(self):
        class Number:
            def __init__(self, value):
                self.value = value

            def __index__(self):
                return self.value

        address = self.good(rt.malloc(Number(8), False))
        self.good(rt.free(Number(address)))

        class Broken:
            def __index__(self):
                raise ZeroDivisionError

        self.assertRaises(ZeroDivisionError, rt.free, Broken())


class Anything(Device):
    """Any numbers in any call: codes, but no crash."""

    def test_any_numbers(self):
        calls = [(getattr(rt, name), len(node.args.posonlyargs))
                 for name, node in hints("rt.pyi").items() if name != "malloc_host_with_cfg"]
        keep = bytes(4096)
        done = 0
        for seed in range(int(os.environ.get("PYTHON_SEEDS", "20"))):
            chance = random.Random(seed)
            acl.init()
            rt.set_device(0)
            # No number that is an address of what sanitizers have for themselves.
            values = [0, 1, 2, 8, 64, 4096, 2**62, ptr(keep), ptr(keep) + 8]
            for _ in range(400):
                call, count = chance.choice(calls)
                arguments = [chance.choice(values) for _ in range(count)]
                # Bytes of this process that others own may be read, but not written.
                if call in (rt.memcpy, rt.memcpy_async, rt.memcpy2d, rt.memcpy2d_async) and \
                        ptr(keep) <= arguments[0] < ptr(keep) + 4096:
                    continue
                if "timeout" in call.__name__ or "synchronize" in call.__name__:
                    arguments[1:] = [5] * len(arguments[1:])
                try:
                    result = call(*arguments)
                except OverflowError:
                    continue
                done += 1
                if isinstance(result, tuple) and result[-1] == 0 and result[0] and \
                        isinstance(result[0], int) and result[0] > 1 << 16:
                    values.append(result[0])
                    values.append(result[0] + 32)
            acl.finalize()
        self.assertGreater(done, 1000)


class Leaks(Device):
    def one_round(self):
        device, host = self.device(bytes(64)), self.good(rt.malloc_host(64))
        stream, event = self.good(rt.create_stream()), self.good(rt.create_event_with_flag(8))
        for result in (rt.memcpy(host, 64, device, 64, D2H), rt.memset(device, 64, 1, 64),
                       rt.memcpy_async(device, 64, host, 64, H2D, stream),
                       rt.record_event(event, stream), rt.synchronize_stream(stream),
                       rt.query_event_status(event), rt.get_mem_info(0),
                       rt.get_device_utilization_rate(0), rt.event_elapsed_time(event, event),
                       rt.destroy_stream(stream), rt.destroy_event(event)):
            self.good(result)
        util.ptr_to_bytes(host, 64)
        for wrong in (lambda: rt.free("a"), lambda: rt.free(1 << 64), rt.free,
                      lambda: util.ptr_to_bytes(device, 64), lambda: rt.malloc_host_with_cfg(1, 1),
                      lambda: acl.init(5)):
            self.assertRaises((TypeError, OverflowError, ValueError), wrong)
        rt.memcpy(16, 8, 16, 8, 0)
        acl.get_recent_err_msg()
        self.good(rt.free(device))
        self.good(rt.free_host(host))

    def test_blocks(self):
        for _ in range(20):
            self.one_round()
        before = sys.getallocatedblocks()
        for _ in range(100):
            self.one_round()
        self.assertLess(sys.getallocatedblocks() - before, 50)
        self.assertEqual(rt.get_mem_info(0), (4032, 4032, 0))
