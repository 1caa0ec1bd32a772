# SPDX-License-Identifier: MIT
"""What `await stream` and `await event` run: an eventfd in the loop, and no thread."""

import asyncio
import contextlib
import os


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
        loop.remove_reader(fd)
        os.close(fd)


async def wait_stream(stream):
    """Waits for what is queued now; raises its error."""
    if not stream.query():
        await _signalled(stream.signal)
        stream.query()


async def wait_event(event):
    """The same for an event, with a stream that waits for it."""
    if not event.query():
        with contextlib.closing(event.device.stream()) as stream:
            stream.wait(event)
            await _signalled(stream.signal)
        event.query()
