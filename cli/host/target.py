"""Where a client verb works: the server of `--url`, the platform that already runs on `--data`, or one started here."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from cli.client import Client
from cli.host.data_dir import DataDir
from shared.runtime.settings import Settings

URL_VARIABLE = "ANSWERBUS_URL"


@asynccontextmanager
async def client(url: str, data: Path, *, in_process: bool = False, quiet: bool = False) -> AsyncIterator[Client]:
    """A client of the right gateway.

    Raises:
        ConfigurationError: the data directory is held by something that has no gateway.
    """
    url = url or ("" if in_process else os.environ.get(URL_VARIABLE, ""))
    if not url and not in_process:
        running = DataDir(data).running()
        url = running.url if running else ""
    if url:
        async with Client(url) as here:
            yield here
        return
    from cli.host.in_process import platform

    settings = Settings(data_dir=data)
    if "ANSWERBUS_LOG_LEVEL" not in os.environ:
        settings.log_level = "error"
    settings.log_format = "console"
    if not quiet and sys.stderr.isatty():
        print(f"starting the platform on {data} ...", file=sys.stderr)
    async with platform(settings) as own, Client(own) as here:
        yield here
