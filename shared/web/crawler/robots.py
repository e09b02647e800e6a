"""Fetches pages as the robots.txt of their site (RFC 9309) allows; it is fetched once per site."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from protego import Protego

from shared.contracts.errors import RefusedError, UnavailableError
from shared.web.client import USER_AGENT, FetchResult, SafeClient
from shared.web.policy import AddressRefusedError
from shared.web.retry_after import retry_after_seconds

#: As much of a robots.txt as is read; RFC 9309 asks for 500 KiB.
_MAX_BYTES = 512 * 1024
#: Longest pause in seconds between two requests, whatever the site requests.
_MAX_PAUSE = 30.0

#: The rules of a site with unknown ones.
_NOTHING = "User-agent: *\nDisallow: /"


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
        self._rules: dict[str, Protego] = {}
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
        pause = min(max(self._pause, rules.crawl_delay(USER_AGENT) or 0.0), _MAX_PAUSE)
        await self._wait(url, pause)
        page = await self._client.get(url, max_bytes=max_bytes, check_redirect=self._check)
        if page.status in (429, 503):
            later = retry_after_seconds(page.headers.get("retry-after", ""))
            if later is not None and later <= _MAX_PAUSE:
                await self._sleep(later)
                page = await self._client.get(url, max_bytes=max_bytes, check_redirect=self._check)
        return page

    async def _check(self, url: str) -> None:
        rules = await self._rules_of(url)
        # Off the loop: there may be as many rules as fit into half a megabyte.
        if not await asyncio.to_thread(rules.can_fetch, url, USER_AGENT):
            raise RefusedError("robots.txt disallows it")

    async def _wait(self, url: str, pause: float) -> None:
        host = urlsplit(url).netloc
        now = time.monotonic()
        begin = max(now, self._next.get(host, 0.0))
        self._next[host] = begin + pause
        if begin > now:
            await self._sleep(begin - now)

    async def _rules_of(self, url: str) -> Protego:
        """The rules of the site of a URL, fetched at the first one; all is forbidden where they are unknown.

        Raises:
            RefusedError: this is not a URL, or its host may not be fetched from.
        """
        try:
            parts = urlsplit(url)
        except ValueError:
            raise RefusedError("not a valid URL") from None
        site = f"{parts.scheme}://{parts.netloc}"
        if site not in self._rules:
            self._rules[site] = await asyncio.to_thread(Protego.parse, await self._robots_txt(site))
        return self._rules[site]

    async def _robots_txt(self, site: str) -> str:
        try:
            page = await self._client.peek(f"{site}/robots.txt", max_bytes=_MAX_BYTES)
        except AddressRefusedError:
            raise
        except (RefusedError, UnavailableError):
            return _NOTHING
        if page.status >= 500:
            return _NOTHING
        return page.body.decode("utf-8", "replace") if page.status < 400 else ""
