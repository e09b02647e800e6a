"""Pages of the web as submissions: sitemaps, lists of addresses, manners."""

from __future__ import annotations

import contextlib
import gzip
import time
import timeit
from collections.abc import AsyncIterator

import pytest

from cli.crawler.files import Collector
from shared.contracts.errors import RefusedError, UnavailableError
from shared.web.client import FetchResult
from shared.web.crawler.collected import CollectedDocument
from shared.web.crawler.robots import RobotsPolicy
from shared.web.crawler.sitemap import SitemapEntry, read_sitemap
from shared.web.crawler.web_pages import WebCollector

HTML = {"content-type": "text/html; charset=utf-8"}


class _Web:
    """Pages by address, instead of the web; each asked for is remembered."""

    def __init__(self, **pages: FetchResult | Exception | list[FetchResult]) -> None:
        self.pages: dict[str, FetchResult | Exception | list[FetchResult]] = dict(pages)
        self.asked: list[str] = []

    def put(self, url: str, body: str | bytes = b"", status: int = 200, **headers: str) -> None:
        given = {name.replace("_", "-"): value for name, value in headers.items()} or HTML
        self.pages[url] = FetchResult(url, status, body.encode() if isinstance(body, str) else body, given)

    async def get(self, url: str, *, max_bytes: int | None = None, check_redirect: object = None) -> FetchResult:
        self.asked.append(url)
        page = self.pages.get(url, FetchResult(url, 404, b""))
        if isinstance(page, Exception):
            raise page
        return page.pop(0) if isinstance(page, list) else page

    async def peek(self, url: str, *, max_bytes: int) -> FetchResult:
        return await self.get(url, max_bytes=max_bytes)


class _Sleeps(list[float]):
    async def __call__(self, seconds: float) -> None:
        self.append(round(seconds, 1))


def _pages(web: _Web, **more: float) -> tuple[WebCollector, _Sleeps]:
    sleeps = _Sleeps()
    manners = RobotsPolicy(web, sleep=sleeps, **more)  # type: ignore[arg-type]
    return WebCollector(manners, Collector()), sleeps


async def _all(submissions: AsyncIterator[CollectedDocument]) -> list[CollectedDocument]:
    return [one async for one in submissions]


# --- sitemaps ---


@pytest.mark.parametrize("pack", [lambda body: body, gzip.compress])
def test_sitemap_gives_its_pages_with_their_dates(pack: object) -> None:
    body = b"""<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
    <url><loc> https://example.org/?a=1&amp;b=2 </loc><lastmod>2024-05-01T10:00:00Z</lastmod></url>
    <url><lastmod>2024</lastmod><loc><![CDATA[https://example.org/b]]></loc></url><url></url>
    <n:url><n:loc>https://example.org/c</n:loc></n:url></urlset>"""
    assert list(read_sitemap(pack(body))) == [  # type: ignore[operator]
        SitemapEntry("https://example.org/?a=1&b=2", "2024-05-01"),
        SitemapEntry("https://example.org/b"),
        SitemapEntry("https://example.org/c"),
    ]


def test_index_of_sitemaps_and_plain_lists_are_sitemaps_too() -> None:
    index = b"<sitemapindex><sitemap><loc>https://example.org/1.xml</loc></sitemap></sitemapindex>"
    assert list(read_sitemap(index)) == [SitemapEntry("https://example.org/1.xml", is_sitemap=True)]
    assert list(read_sitemap(b"https://example.org/a\n\nhttps://example.org/b\n")) == [
        SitemapEntry("https://example.org/a"),
        SitemapEntry("https://example.org/b"),
    ]


def test_sitemap_that_declares_a_document_type_is_refused_before_any_entity_is_read() -> None:
    for declared in ('<!ENTITY e SYSTEM "file:///etc/passwd">', '<!ENTITY e "x">', ""):
        body = f"<?xml version='1.0'?>\n<!DOCTYPE x [{declared}]><url><loc>https://example.org/&e;</loc></url>"
        with pytest.raises(RefusedError, match="DOCTYPE"):
            list(read_sitemap(body.encode()))


def test_entities_that_are_not_of_xml_and_bare_ampersands_stay_as_written() -> None:
    body = b"<url><loc>https://example.org/&e;?a=1&b=2&amp;c</loc></url><url><loc><![CDATA[http://a/?b&c]]></loc></url>"
    assert [entry.url for entry in read_sitemap(body)] == ["https://example.org/&e;?a=1&b=2&c", "http://a/?b&c"]


def test_address_of_an_image_is_not_that_of_its_page() -> None:
    body = b"<url><i:image><i:loc>http://a/i.png</i:loc></i:image><loc>http://a/page</loc></url>"
    assert [entry.url for entry in read_sitemap(body)] == ["http://a/page"]


async def test_entries_before_the_damage_are_read_and_the_damage_is_a_problem() -> None:
    web = _Web()
    web.put("https://example.org/map.xml", "<urlset>\n<url><loc>https://example.org/a</loc></url><url><loc></url>")
    web.put("https://example.org/a", "<p>A")
    pages, _ = _pages(web)
    found = await _all(pages.sitemap("https://example.org/map.xml"))
    assert [each.document.source for each in found] == ["kb:https://example.org/a"]
    assert [each.reason for each in pages.collector.problems] == [
        "the sitemap is damaged in line 2 (mismatched tag): read up to there, 1 entries"
    ]


@pytest.mark.parametrize("pump", ["<loc>", "<loc> ", " ", "<![CDATA[", "&", "<url>", "<url><loc>", "<a b='", "<!--"])
def test_time_to_read_a_hostile_sitemap_is_proportional_to_its_size(pump: str) -> None:
    def seconds(size: int) -> float:
        body = b"<urlset><url><loc>" + pump.encode() * (size // len(pump))

        def read() -> None:
            with contextlib.suppress(RefusedError):
                list(read_sitemap(body))

        return min(timeit.repeat(read, timer=time.thread_time, number=1, repeat=3))

    assert seconds(400_000) < 16 * max(seconds(100_000), 0.005)


def test_packed_sitemap_that_is_damaged_or_too_large_is_refused() -> None:
    for body in (b"\x1f\x8b damaged", gzip.compress(b"\0" * 60_000_000)):
        with pytest.raises(RefusedError):
            list(read_sitemap(body))


async def test_pages_of_a_sitemap_and_those_below_it_are_collected_from_its_own_site() -> None:
    # Given an index of sitemaps that also lists itself, and pages of other sites
    web = _Web()
    site = "https://example.org"
    maps = "".join(f"<sitemap><loc>{site}/{name}.xml</loc></sitemap>" for name in ("1", "map"))
    web.put(f"{site}/map.xml", maps)
    entries = (f"{site}/a", f"{site}/a", "https://other.example/b", "https://www.example.org/c")
    listed = "".join(f"<url><loc>{url}</loc><lastmod>2024-01-02</lastmod></url>" for url in entries)
    web.put(f"{site}/1.xml", listed)
    web.put(f"{site}/a", "<p>A")
    web.put("https://www.example.org/c", b"%PDF-", content_type="application/pdf")
    pages, _ = _pages(web)
    # When it is collected
    found = await _all(pages.sitemap(f"{site}/map.xml"))
    # Then there is a document for each page of the site, with its address, kind and date
    assert [(each.document.source, each.document.media_type, each.document.date) for each in found] == [
        (f"kb:{site}/a", "text/html", "2024-01-02"),
        ("kb:https://www.example.org/c", "application/pdf", "2024-01-02"),
    ]
    assert pages.collector.skipped == {"not on the host of the sitemap": 1}
    assert pages.collector.problems == []


async def test_sitemap_that_is_none_is_a_problem() -> None:
    web = _Web()
    web.put("https://example.org/map.xml", "<html>hello</html>")
    pages, _ = _pages(web)
    assert await _all(pages.sitemap("https://example.org/map.xml")) == []
    assert await _all(pages.sitemap("https://example.org/none.xml")) == []
    assert [each.reason for each in pages.collector.problems] == [
        "not a sitemap, or a sitemap without pages",
        "the server answered 404",
    ]


# --- lists of addresses ---


async def test_addresses_are_collected_once_and_what_fails_is_a_problem() -> None:
    web = _Web()
    web.put("https://example.org/a", "<p>A", content_type="text/html", last_modified="Wed, 01 May 2024 10:00:00 GMT")
    web.put("https://example.org/b.md", "# B", content_type="application/octet-stream")
    web.put("https://example.org/c.png", b"\x89PNG", content_type="image/png")
    web.put("https://example.org/d", "<p>D", content_type="text/html", x_robots_tag="noindex, nofollow")
    web.pages["https://example.org/e"] = RefusedError("the page is too large")
    web.pages["https://example.org/f"] = UnavailableError("example.org does not answer in time")
    names = ("a", "a", "b.md", "c.png", "d", "e", "f", "g")
    lines = ["# pages", "", *(f"https://example.org/{name}" for name in names)]
    pages, _ = _pages(web)
    found = await _all(pages.urls(lines))
    assert [(each.document.source, each.document.media_type, each.document.date) for each in found] == [
        ("kb:https://example.org/a", "text/html", "2024-05-01"),
        ("kb:https://example.org/b.md", "text/markdown", ""),
    ]
    assert pages.collector.skipped == {"no reader for image/png": 1, "X-Robots-Tag: noindex": 1}
    assert [(each.path[-1], each.reason) for each in pages.collector.problems] == [
        ("e", "the page is too large"),
        ("f", "example.org does not answer in time"),
        ("g", "the server answered 404"),
    ]


# --- manners ---


async def test_what_robots_txt_forbids_is_not_fetched() -> None:
    web = _Web()
    web.put("https://example.org/robots.txt", "User-agent: *\nDisallow: /private\n\nUser-agent: other\nDisallow: /")
    web.put("https://example.org/a", "<p>A")
    pages, _ = _pages(web)
    found = await _all(pages.urls(["https://example.org/private/x", "https://example.org/a"]))
    assert [each.document.url for each in found] == ["https://example.org/a"]
    assert "robots.txt" in pages.collector.problems[0].reason
    assert web.asked == ["https://example.org/robots.txt", "https://example.org/a"]


@pytest.mark.parametrize(("status", "fetched"), [(404, 1), (403, 1), (500, 0), (503, 0)])
async def test_site_without_robots_txt_is_open_and_one_that_cannot_say_is_not(status: int, fetched: int) -> None:
    web = _Web()
    web.put("https://example.org/robots.txt", status=status)
    web.put("https://example.org/a", "<p>A")
    pages, _ = _pages(web)
    assert len(await _all(pages.urls(["https://example.org/a"]))) == fetched


async def test_pages_of_one_host_are_a_pause_apart_and_those_of_others_are_not() -> None:
    web = _Web()
    web.put("https://slow.example/robots.txt", "User-agent: *\nCrawl-delay: 5")
    for url in ("https://a.example/1", "https://a.example/2", "https://b.example/1"):
        web.put(url, "<p>x")
    pages, sleeps = _pages(web, pause=2.0)
    await _all(pages.urls(["https://a.example/1", "https://b.example/1", "https://a.example/2"]))
    assert sleeps == [2.0]
    await _all(pages.urls(["https://slow.example/1", "https://slow.example/2"]))
    assert sleeps == [2.0, 5.0]


async def test_busy_site_is_asked_once_more_when_it_says_when() -> None:
    web = _Web()
    busy = FetchResult("https://example.org/a", 429, b"", {"retry-after": "3"})
    web.pages["https://example.org/a"] = [busy, FetchResult("https://example.org/a", 200, b"<p>A", HTML)]
    pages, sleeps = _pages(web, pause=0)
    assert len(await _all(pages.urls(["https://example.org/a"]))) == 1
    assert sleeps == [3]
