# SPDX-License-Identifier: MIT
"""What `await stream` and `await event` run: an eventfd in the loop, and no thread. Only behind callbacks of
the stream it is one more of them, as the eventfd would have to wait for them."""

import asyncio
import contextlib
import os

from . import _accel


async def _signalled(signal):
    """Waits until what signal(fd) has queued adds to the eventfd fd."""
    loop = asyncio.get_running_loop()
    done = loop.create_future()
    fd = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    def ready():
        loop.remove_reader(fd)
        if not done.done():
            done.set_result(None)

    try:
        loop.add_reader(fd, ready)
        signal(fd)
        await done
    finally:
        try:
            loop.remove_reader(fd)
        finally:
            os.close(fd)


async def _called_back(stream):
    """The same by a callback; raises the error of the work."""
    loop = asyncio.get_running_loop()
    done = loop.create_future()

    def end(error):
        if done.done():
            return
        if error:
            done.set_exception(error)
        else:
            done.set_result(None)

    def call(error):
        # The loop may have been closed.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(end, error)

    stream.call(call)
    await done


async def wait_stream(stream):
    """Waits for what is queued now; raises its error, and not one of later work."""
    if stream.query():
        return
    if _accel.callback_is_queued(stream):
        await _called_back(stream)
        return
    with stream.record() as event:
        await _signalled(stream.signal)
        event.query()


async def wait_event(event):
    """The same for an event, with a stream that waits for it."""
    if not event.query():
        with contextlib.closing(event.device.stream()) as stream:
            stream.wait(event)
            await _signalled(stream.signal)
        event.query()
