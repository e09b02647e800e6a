"""Collects web pages from a list of URLs or from a sitemap."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from pathlib import PurePosixPath
from urllib.parse import urlsplit

import structlog

from shared.contracts.domain import Document
from shared.contracts.errors import RefusedError, UnavailableError
from shared.documents.declared_access import is_access_name
from shared.text.file_types import MEDIA_TYPES
from shared.web.client import FetchResult
from shared.web.crawler.collected import CollectedDocument, DocumentCollector
from shared.web.crawler.robots import RobotsPolicy
from shared.web.crawler.sitemap import MAX_BYTES, SitemapEntry, read_sitemap

log = structlog.get_logger()

#: Why a page is left out that a sitemap of another host names.
OTHER_HOST = "not on the host of the sitemap"
_MAX_SITEMAPS = 500
_GENERAL = ("", "application/octet-stream", "binary/octet-stream")
_READ = frozenset([*MEDIA_TYPES.values(), "text/html", "text/x-markdown"])


@dataclass
class WebCollector:
    """Fetches pages as robots.txt allows; what could not be read is listed as a problem of the collector."""

    robots: RobotsPolicy
    collector: DocumentCollector
    max_pages: int = 50_000
    max_sitemap_bytes: int = MAX_BYTES
    #: Pages that the sitemaps read so far have named.
    listed: int = 0

    async def urls(self, urls: Iterable[str]) -> AsyncIterator[CollectedDocument]:
        """The pages at these URLs; blank lines, `#` comments and repetitions are skipped."""
        lines = (line.strip() for line in urls)
        for url in dict.fromkeys(line for line in lines if line and not line.startswith("#")):
            async for collected in self.page(SitemapEntry(url)):
                yield collected

    async def sitemap(self, url: str) -> AsyncIterator[CollectedDocument]:
        """The pages in the sitemap and in the sitemaps it lists; only from its own host."""
        async for entry in self.entries(url):
            async for collected in self.page(entry):
                yield collected

    async def entries(self, url: str) -> AsyncIterator[SitemapEntry]:
        """The pages that the sitemap names, and the sitemaps it lists, in their order; none of them is fetched."""
        host = _site(url)
        waiting, seen, sitemaps = [url], {url}, 1
        while waiting:
            pages = []
            for entry in await self._entries(waiting.pop(0)):
                if entry.url in seen:
                    continue
                seen.add(entry.url)
                if _site(entry.url) != host:
                    self.collector.skipped[OTHER_HOST] += 1
                elif not entry.is_sitemap:
                    pages.append(entry)
                elif sitemaps < _MAX_SITEMAPS:
                    sitemaps += 1
                    waiting.append(entry.url)
            room = self.max_pages - self.listed
            self.listed += min(room, len(pages))
            for entry in pages[:room]:
                yield entry
            if len(pages) > room:
                self.collector.problem(url, f"more than {self.max_pages} pages; the rest was skipped")
                return

    async def _entries(self, url: str) -> list[SitemapEntry]:
        try:
            page = await self._get(url, self.max_sitemap_bytes)
            if page is None:
                return []
            entries, fault = await asyncio.to_thread(_readable, page.body, self.max_sitemap_bytes)
        except Exception as error:  # as of a page
            self._failed(url, error)
            return []
        if fault or not entries:
            self.collector.problem(url, fault or "not a sitemap, or a sitemap without pages")
        return entries

    async def page(self, entry: SitemapEntry) -> AsyncIterator[CollectedDocument]:
        """Fetch a page; the document that it is, or none with its reason noted at the collector."""
        try:
            documents = await self._documents(entry)
        except Exception as error:  # whatever a site sends: it is a failure of this page alone
            self._failed(entry.url, error)
            return
        for document in documents:
            yield document

    async def _documents(self, entry: SitemapEntry) -> list[CollectedDocument]:
        page = await self._get(entry.url, self.collector.max_bytes)
        if page is None:
            return []
        media_type = page.media_type
        if media_type in _GENERAL:
            media_type = MEDIA_TYPES.get(PurePosixPath(urlsplit(page.url).path).suffix.lower(), "")
        if media_type not in _READ and not media_type.startswith("text/"):
            self.collector.skipped[f"no reader for {media_type or 'pages without a type'}"] += 1
            return []
        if "noindex" in page.headers.get("x-robots-tag", "").lower():
            self.collector.skipped["X-Robots-Tag: noindex"] += 1
            return []
        if not self.collector.groups and (restricting := next(filter(is_access_name, page.headers), "")):
            self.collector.problem(
                entry.url, f"its header {restricting} says who may read it; name the groups yourself"
            )
            return []
        date = entry.date or _last_modified(page)
        document = Document(source=self.collector.source(entry.url), media_type=media_type, url=page.url, date=date)
        return await asyncio.to_thread(lambda: list(self.collector.submit(entry.url, page.body, document)))

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

    def _failed(self, url: str, error: Exception) -> None:
        log.error("an address could not be read", exc_info=error)
        self.collector.problem(url, f"it could not be read ({type(error).__name__})")


def _readable(body: bytes, max_bytes: int) -> tuple[list[SitemapEntry], str]:
    """The entries of a sitemap before a damaged place, and the fault there; empty: none."""
    entries: list[SitemapEntry] = []
    try:
        for entry in read_sitemap(body, max_bytes):
            entries.append(entry)
    except RefusedError as error:
        return entries, str(error)
    return entries, ""


def _site(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


def _last_modified(page: FetchResult) -> str:
    try:
        return parsedate_to_datetime(page.headers.get("last-modified", "")).date().isoformat()
    except (ValueError, TypeError, OverflowError, IndexError):
        return ""
