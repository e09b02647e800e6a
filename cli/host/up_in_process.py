"""`answerbus up --in-process`: the whole platform in one process, for a small machine or a debugger."""

from __future__ import annotations

import asyncio
import signal
import sys
import time

from cli.host.in_process import platform
from shared.runtime.settings import Settings


async def up_in_process(settings: Settings, *, own_nats: bool) -> None:
    """Run until SIGINT or SIGTERM."""
    began = time.monotonic()
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stopping.set)
    async with platform(settings, own_nats=own_nats, port=settings.port, host=settings.host) as url:
        print(f"answerbus is up: {url}  (one process, {time.monotonic() - began:.1f} s)", file=sys.stderr, flush=True)
        await stopping.wait()
