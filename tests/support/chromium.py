"""A page in a real Chromium without a window, where one is installed; it reports what it saw to its server."""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.servers import missing
from tests.support.speed import limit

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
#: Without a window, a sandbox (which a container may not have), and requests of its own.
_OPTIONS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--no-proxy-server",
)


@dataclass
class PageServer:
    """Serves one page at its address; `report` is what the page posts to it."""

    port: int
    html: str
    report: asyncio.Future[Any]

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            body = b""
            if head.startswith("POST /report "):
                length = next(line for line in head.lower().split("\r\n") if line.startswith("content-length:"))
                data = await reader.readexactly(int(length.partition(":")[2]))
                if not self.report.done():
                    self.report.set_result(json.loads(data))
            elif head.startswith("GET / "):
                body = self.html.encode()
            kind = b"Content-Type: text/html; charset=utf-8\r\n"
            writer.write(b"HTTP/1.1 200 OK\r\n" + kind + f"Content-Length: {len(body)}\r\n".encode())
            writer.write(b"Connection: close\r\n\r\n" + body)
            await writer.drain()
        writer.close()


@contextlib.asynccontextmanager
async def page_server() -> AsyncIterator[PageServer]:
    """A server for a page on a free port; its `html` is set before the page is opened."""
    page = PageServer(0, "", asyncio.get_running_loop().create_future())
    server = await asyncio.start_server(page.serve, "127.0.0.1", 0)
    page.port = server.sockets[0].getsockname()[1]
    try:
        yield page
    finally:
        server.close()


def chromium() -> str:
    """The browser's command; the test is skipped where there is none."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        missing("chromium", f"there is none of {', '.join(_NAMES)}")
    return found


async def report_of(page: PageServer, browser: str, folder: Path) -> Any:
    """What the page reports once it is open in the browser, whose profile is kept in the folder.

    The test is skipped where the browser ends before, as it cannot start everywhere.
    """
    process = await asyncio.create_subprocess_exec(
        browser, *_OPTIONS, f"--user-data-dir={folder}", f"{page.origin}/",
        stdout=asyncio.subprocess.DEVNULL, stderr=(folder.parent / "chromium.log").open("wb"),
    )  # fmt: skip
    ended = asyncio.create_task(process.wait())
    try:
        async with asyncio.timeout(limit(90)):
            await asyncio.wait({ended, page.report}, return_when=asyncio.FIRST_COMPLETED)
        if not page.report.done():
            missing("chromium", f"it ended: {(folder.parent / 'chromium.log').read_text()[-500:]}")
        return page.report.result()
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await ended
