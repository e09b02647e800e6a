"""Pages of the web as documents to submit: from a list of addresses, or from a site's sitemap."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from cli.crawler.file_types import MEDIA_TYPES
from cli.crawler.files import Collector, Submission
from cli.crawler.robots import Manners
from cli.crawler.sitemap import MAX_BYTES, Listed, read_sitemap
from shared.contracts.domain import Document
from shared.contracts.errors import RefusedError, UnavailableError
from shared.web.client import FetchResult

_MAX_SITEMAPS = 500
_GENERAL = ("", "application/octet-stream", "binary/octet-stream")
_READ = frozenset([*MEDIA_TYPES.values(), "text/html", "text/x-markdown"])


@dataclass
class WebCollector:
    """Fetches pages with manners; what could not be read becomes a problem of the collector, and the rest goes on."""

    manners: Manners
    collector: Collector
    max_pages: int = 50_000

    async def addresses(self, urls: Iterable[str]) -> AsyncIterator[Submission]:
        """The pages at these addresses; blank lines and `#` comments are left out, repetitions too."""
        lines = (line.strip() for line in urls)
        for url in dict.fromkeys(line for line in lines if line and not line.startswith("#")):
            async for submission in self._page(Listed(url)):
                yield submission

    async def sitemap(self, url: str) -> AsyncIterator[Submission]:
        """The pages that the sitemap lists, and those listed by the sitemaps it lists, of its own host only."""
        host = _site(url)
        waiting, seen, pages = [url], {url}, 0
        while waiting:
            for listed in await self._listed(waiting.pop(0)):
                if listed.url in seen:
                    continue
                seen.add(listed.url)
                if _site(listed.url) != host:
                    self.collector.skipped["on another site than its sitemap"] += 1
                elif not listed.is_sitemap:
                    pages += 1
                    if pages > self.max_pages:
                        self.collector.problem(url, f"more than {self.max_pages} pages; the rest is left out")
                        return
                    async for submission in self._page(listed):
                        yield submission
                elif len(seen) - pages <= _MAX_SITEMAPS:
                    waiting.append(listed.url)

    async def _listed(self, url: str) -> list[Listed]:
        page = await self._get(url, MAX_BYTES)
        if page is None:
            return []
        try:
            listed = list(read_sitemap(page.body))
        except RefusedError as error:
            self.collector.problem(url, str(error))
            return []
        if not listed:
            self.collector.problem(url, "no sitemap, or one without pages")
        return listed

    async def _page(self, listed: Listed) -> AsyncIterator[Submission]:
        page = await self._get(listed.url, self.collector.max_bytes)
        if page is None:
            return
        media_type = page.media_type
        if media_type in _GENERAL:
            media_type = MEDIA_TYPES.get(PurePosixPath(urlsplit(page.url).path).suffix.lower(), "")
        if media_type not in _READ and not media_type.startswith("text/"):
            self.collector.skipped[f"no reader for {media_type or 'pages of no type'}"] += 1
            return
        if "noindex" in page.headers.get("x-robots-tag", "").lower():
            self.collector.skipped["its site does not want it indexed"] += 1
            return
        date = listed.date or _changed(page)
        document = Document(source=f"kb:{listed.url}", media_type=media_type, url=page.url, date=date)
        for submission in self.collector.submit(listed.url, page.body, document):
            yield submission

    async def _get(self, url: str, max_bytes: int) -> FetchResult | None:
        try:
            page = await self.manners.get(url, max_bytes=max_bytes)
        except (RefusedError, UnavailableError) as error:
            self.collector.problem(url, str(error))
            return None
        if page.status != 200:
            self.collector.problem(url, f"the server answered {page.status}")
            return None
        return page


def _site(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


def _changed(page: FetchResult) -> str:
    try:
        return parsedate_to_datetime(page.headers.get("last-modified", "")).date().isoformat()
    except ValueError:
        return ""
