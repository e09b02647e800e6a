"""Collects web pages from a list of URLs or from a sitemap."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from cli.crawler.files import CollectedDocument, Collector
from cli.crawler.robots import RobotsPolicy
from cli.crawler.sitemap import MAX_BYTES, SitemapEntry, read_sitemap
from shared.contracts.domain import Document
from shared.contracts.errors import RefusedError, UnavailableError
from shared.text.file_types import MEDIA_TYPES
from shared.web.client import FetchResult

_MAX_SITEMAPS = 500
_GENERAL = ("", "application/octet-stream", "binary/octet-stream")
_READ = frozenset([*MEDIA_TYPES.values(), "text/html", "text/x-markdown"])


@dataclass
class WebCollector:
    """Fetches pages as robots.txt allows; what could not be read is listed as a problem of the collector."""

    robots: RobotsPolicy
    collector: Collector
    max_pages: int = 50_000

    async def urls(self, urls: Iterable[str]) -> AsyncIterator[CollectedDocument]:
        """The pages at these URLs; blank lines, `#` comments and repetitions are skipped."""
        lines = (line.strip() for line in urls)
        for url in dict.fromkeys(line for line in lines if line and not line.startswith("#")):
            async for collected in self._page(SitemapEntry(url)):
                yield collected

    async def sitemap(self, url: str) -> AsyncIterator[CollectedDocument]:
        """The pages in the sitemap and in the sitemaps it lists; only those of its own host."""
        host = _site(url)
        waiting, seen, pages = [url], {url}, 0
        while waiting:
            for entry in await self._entries(waiting.pop(0)):
                if entry.url in seen:
                    continue
                seen.add(entry.url)
                if _site(entry.url) != host:
                    self.collector.skipped["not on the host of the sitemap"] += 1
                elif not entry.is_sitemap:
                    pages += 1
                    if pages > self.max_pages:
                        self.collector.problem(url, f"more than {self.max_pages} pages; the rest was skipped")
                        return
                    async for collected in self._page(entry):
                        yield collected
                elif len(seen) - pages <= _MAX_SITEMAPS:
                    waiting.append(entry.url)

    async def _entries(self, url: str) -> list[SitemapEntry]:
        page = await self._get(url, MAX_BYTES)
        if page is None:
            return []
        entries: list[SitemapEntry] = []
        try:
            for entry in read_sitemap(page.body):
                entries.append(entry)
        except RefusedError as error:
            self.collector.problem(url, str(error))
            return entries
        if not entries:
            self.collector.problem(url, "not a sitemap, or a sitemap without pages")
        return entries

    async def _page(self, entry: SitemapEntry) -> AsyncIterator[CollectedDocument]:
        page = await self._get(entry.url, self.collector.max_bytes)
        if page is None:
            return
        media_type = page.media_type
        if media_type in _GENERAL:
            media_type = MEDIA_TYPES.get(PurePosixPath(urlsplit(page.url).path).suffix.lower(), "")
        if media_type not in _READ and not media_type.startswith("text/"):
            self.collector.skipped[f"no reader for {media_type or 'pages without a type'}"] += 1
            return
        if "noindex" in page.headers.get("x-robots-tag", "").lower():
            self.collector.skipped["X-Robots-Tag: noindex"] += 1
            return
        date = entry.date or _last_modified(page)
        document = Document(source=self.collector.source(entry.url), media_type=media_type, url=page.url, date=date)
        for collected in self.collector.submit(entry.url, page.body, document):
            yield collected

    async def _get(self, url: str, max_bytes: int) -> FetchResult | None:
        try:
            page = await self.robots.get(url, max_bytes=max_bytes)
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


def _last_modified(page: FetchResult) -> str:
    try:
        return parsedate_to_datetime(page.headers.get("last-modified", "")).date().isoformat()
    except ValueError:
        return ""
