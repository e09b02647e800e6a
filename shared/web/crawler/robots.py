"""Fetches pages as the robots.txt of their site (RFC 9309) allows; it is fetched once per site."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit
from urllib.robotparser import RobotFileParser

from shared.contracts.errors import RefusedError, UnavailableError
from shared.web.client import USER_AGENT, FetchResult, SafeClient

_MAX_BYTES = 512 * 1024
#: Longest pause in seconds between two requests, whatever the site requests.
_MAX_PAUSE = 30.0


class RobotsPolicy:
    """Fetches only what robots.txt allows, with a pause between two requests to one host.

    `pause` is in seconds; a longer `Crawl-delay` of the site is used instead, up to half a minute.
    """

    def __init__(
        self, client: SafeClient, *, pause: float = 1.0, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    ) -> None:
        self._client = client
        self._pause = pause
        self._sleep = sleep
        self._rules: dict[str, RobotFileParser] = {}
        self._next: dict[str, float] = {}

    async def get(self, url: str, *, max_bytes: int) -> FetchResult:
        """Fetch a page; a server that is busy (429, 503) is asked once more after its `Retry-After`.

        After a redirect the rules of the target's site apply as well.

        Raises:
            RefusedError: robots.txt disallows the page, or it must not or cannot be fetched.
            UnavailableError: the server does not answer.
        """
        rules = await self._rules_of(url)
        await self._check(url)
        pause = min(max(self._pause, float(rules.crawl_delay(USER_AGENT) or 0)), _MAX_PAUSE)
        await self._wait(url, pause)
        page = await self._client.get(url, max_bytes=max_bytes, check_redirect=self._check)
        later = page.headers.get("retry-after", "")
        if page.status in (429, 503) and later.isdigit() and int(later) <= _MAX_PAUSE:
            await self._sleep(int(later))
            page = await self._client.get(url, max_bytes=max_bytes, check_redirect=self._check)
        return page

    async def _check(self, url: str) -> None:
        if not (await self._rules_of(url)).can_fetch(USER_AGENT, url):
            raise RefusedError("robots.txt disallows it")

    async def _wait(self, url: str, pause: float) -> None:
        host = urlsplit(url).netloc
        now = time.monotonic()
        begin = max(now, self._next.get(host, 0.0))
        self._next[host] = begin + pause
        if begin > now:
            await self._sleep(begin - now)

    async def _rules_of(self, url: str) -> RobotFileParser:
        parts = urlsplit(url)
        site = f"{parts.scheme}://{parts.netloc}"
        if site not in self._rules:
            rules = RobotFileParser()
            try:
                page = await self._client.get(f"{site}/robots.txt", max_bytes=_MAX_BYTES)
                status, text = page.status, page.body.decode("utf-8", "replace")
            except UnavailableError:
                status, text = 503, ""
            if status < 400:
                await asyncio.to_thread(rules.parse, text.splitlines())  # half a megabyte takes its time
            elif status < 500:
                rules.parse([])  # no rules
            else:
                rules.parse(["User-agent: *", "Disallow: /"])  # the rules are unknown, so nothing may be fetched
            self._rules[site] = rules
        return self._rules[site]
