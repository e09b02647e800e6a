"""What one site sends in headers, robots.txt, sitemaps and pages ends the reading of its own addresses at most."""

from __future__ import annotations

import gzip
import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from shared.contracts.errors import RefusedError
from shared.web.client import SafeClient
from shared.web.crawler.collected import DocumentCollector
from shared.web.crawler.robots import RobotsPolicy
from shared.web.crawler.sitemap import MAX_ENTRIES, read_sitemap
from shared.web.crawler.web_pages import WebCollector
from shared.web.policy import Policy
from shared.web.retry_after import retry_after_seconds
from tests.support.table import table

GOOD = b"<title>Good</title><p>Opening hours are nine to five."


class Site(ThreadingHTTPServer):
    """Raw responses by path: status and headers as they are sent, and the body."""

    def __init__(self) -> None:
        self.responses: dict[str, tuple[bytes, bytes]] = {}
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        head, body = self.server.responses.get(self.path, (b"404 Not Found", b""))
        length = b"" if b"ontent-" in head else b"\r\nContent-Length: %d" % len(body)
        self.wfile.write(b"HTTP/1.1 " + head + length + b"\r\nConnection: close\r\n\r\n" + body)
        self.close_connection = True

    def log_message(self, *_: object) -> None: ...


@contextmanager
def _site() -> Iterator[Site]:
    with Site() as site:
        thread = threading.Thread(target=site.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield site
        site.shutdown()
        thread.join()


async def _read(*urls: str) -> tuple[int, dict[str, str]]:
    """How many pages are read, and why others are not, by their address."""
    collector = DocumentCollector()

    async def at_once(_: float) -> None: ...

    async with SafeClient(Policy(inside=("127.0.0.1",), step_seconds=5)) as client:
        pages = WebCollector(RobotsPolicy(client, pause=0, sleep=at_once), collector)
        found = [one async for one in pages.urls(urls)]
        for url in urls:
            if url.endswith("map.xml"):
                found += [one async for one in pages.sitemap(url)]
    return len(found), {problem.path: problem.reason for problem in collector.problems}


_NUMBERS = ["²", "\xb2", "-1", "1e999", "nan", "inf", "9" * 5000, "٣", "1_0", "0x10", " ", "Tue, 99 Foo 99999", "\x00"]
#: Status and headers of a page.
HEADS = [
    *(b"503 Busy\r\nRetry-After: " + number.encode("latin-1", "replace") for number in _NUMBERS),
    *(b"429 Busy\r\nRetry-After: " + number.encode("utf-8") for number in _NUMBERS),
    *(b"200 OK\r\nContent-Type: text/html\r\nContent-Length: " + value for value in (b"\xb2", b"-5", b"9" * 5000, b"")),
    *(b"200 OK\r\nContent-Type: text/html\r\nLast-Modified: " + number.encode() for number in _NUMBERS),
    b"200 OK\r\nContent-Type: text/html; charset=\xff\xfe",
    b"200 OK\r\nContent-Encoding: gzip, br, \xff",
    b"200 OK\r\nContent-Encoding: gzip",
    *(b"302 Found\r\nLocation: " + to for to in (b"http://[", b"//\xff", b"ftp://x/", b"http://%00/", b"x" * 70_000)),
    b"999 Odd\r\nContent-Type: /",
    b"abc def",
    b"200",
    b"200 OK\r\n: no name",
    b"200 OK\r\nContent-Type: text/html\r\nX-Access-Groups: board",
]
ROBOTS = [
    "Crawl-delay: ²",
    *(
        f"User-agent: *\nCrawl-delay: {number}\nRequest-rate: {number}/{number}\nVisit-time: {number}"
        for number in _NUMBERS
    ),
    "User-agent: *\nDisallow: " + "/*a" * 20_000 + "$",
    "User-agent: *\nDisallow: /%zz%\xff%\nAllow: /[\nDisallow: (?P<",
    "\ufeff\x00\x00User-agent",
    "User-agent: " + "a" * 400_000,
    "".join(f"User-agent: {number}\nDisallow: /{number}\n" for number in range(20_000)),
    "Sitemap: http://[\nHost: ::\n:::\n\r\r\r",
]
SITEMAPS = [
    b"<urlset><url><loc>http://[</loc></url><url><loc>" + b"x" * 100_000 + b"</loc></url></urlset>",
    b"<urlset><url><loc>http://a\xff\xfe\x00/</loc></url></urlset>",
    b"<?xml version='1.0' encoding='utf-99'?><urlset><url><loc>&#xD800;</loc></url></urlset>",
    b"<urlset>" + b"<a>" * 10_000,
    b"<urlset><!DOCTYPE x [<!ENTITY a 'b'>]><url/></urlset>",
    b"\x1f\x8b\x08\x00garbage",
    gzip.compress(b"<urlset>" + b"<a/>" * 3_000_000),
    b"\xff\xfe<\x00u\x00",
    b"http://[\nhttp://\x00\nhttp://\xc2\xb2/\n",
    b"<",
]


@pytest.mark.parametrize("head", HEADS)
async def test_headers_of_a_page_end_the_reading_of_that_page_alone(head: bytes) -> None:
    with _site() as site:
        site.responses = {"/bad": (head, GOOD), "/good": (b"200 OK\r\nX-Content-Type: text/html", GOOD)}
        site.responses["/good"] = (b"200 OK\r\ncontent-type: text/html\r\ncontent-length: %d" % len(GOOD), GOOD)
        read, problems = await _read(f"{site.url}/bad", f"{site.url}/good")

    assert read + len(problems) in (1, 2)  # a page without a reader is skipped
    assert f"{site.url}/good" not in problems
    assert read >= 1
    assert all(problems.values())


@pytest.mark.parametrize("text", ROBOTS)
async def test_rules_of_a_site_end_the_reading_of_its_own_pages_at_most(text: str) -> None:
    with _site() as evil, _site() as good:
        for site in (evil, good):
            site.responses["/page"] = (b"200 OK\r\ncontent-type: text/html\r\ncontent-length: %d" % len(GOOD), GOOD)
        evil.responses["/robots.txt"] = (b"200 OK", text.encode())
        began = time.process_time()
        read, problems = await _read(f"{evil.url}/page", f"{good.url}/page")

    assert time.process_time() - began < 10
    assert read + len(problems) == 2
    assert f"{good.url}/page" not in problems


@pytest.mark.parametrize("body", SITEMAPS)
async def test_sitemap_ends_the_reading_of_its_own_pages_at_most(body: bytes) -> None:
    with _site() as site:
        site.responses["/page"] = (b"200 OK\r\ncontent-type: text/html\r\ncontent-length: %d" % len(GOOD), GOOD)
        site.responses["/map.xml"] = (b"200 OK\r\ncontent-type: text/xml\r\ncontent-length: %d" % len(body), body)
        read, problems = await _read(f"{site.url}/map.xml", f"{site.url}/page")

    assert read >= 1
    assert f"{site.url}/page" not in problems


async def test_error_that_nobody_foresaw_is_a_problem_of_its_address() -> None:
    class Broken(RobotsPolicy):
        async def get(self, url: str, *, max_bytes: int) -> object:  # type: ignore[override]
            raise random.Random(url).choice([ValueError, KeyError, OverflowError, RecursionError, AssertionError])

    collector = DocumentCollector()
    async with SafeClient(Policy()) as client:
        pages = WebCollector(Broken(client), collector)
        urls = [f"https://example.org/{number}" for number in range(20)]
        assert [one async for one in pages.urls(urls)] == []
        assert [one async for one in pages.sitemap("https://example.org/map.xml")] == []

    assert len(collector.problems) == 21
    assert all("could not be read (" in problem.reason for problem in collector.problems)


@table(
    ("value", "seconds"),
    [("0", 0), ("30", 30), (" 7 ", 7), *((number, None) for number in _NUMBERS if number != "9" * 5000), ("", None)],
)
def test_retry_after_is_digits_or_a_date(value: str, seconds: float | None) -> None:
    assert retry_after_seconds(value) == seconds


def test_retry_after_gives_the_seconds_until_its_date() -> None:
    now = datetime.now(UTC)
    later = retry_after_seconds(format_datetime(now + timedelta(seconds=90), usegmt=True))
    assert later is not None
    assert 60 < later <= 90
    assert retry_after_seconds(format_datetime(now - timedelta(days=1), usegmt=True)) == 0
    assert retry_after_seconds("9" * 5000) == float("inf")


@pytest.mark.parametrize(
    "pump",
    [
        b"<url><loc>https://example.org/a</loc></url>",
        *(b"<a/>", b"&", b"<url><loc>&", b"<![CDATA[]]>", b"https://example.org/a\n", b" ", b"<!-- -->", b"<url a='"),
        *(b"<loc>x</loc>", b"]]>"),
    ],
)
def test_sitemap_of_the_largest_size_costs_little_time_of_the_processor(pump: bytes) -> None:
    start = b"" if pump.startswith(b"http") else b"<urlset>"
    body = gzip.compress(start + pump * (49_000_000 // len(pump)), 1)
    entries = 0
    began = time.thread_time()
    try:
        for _ in read_sitemap(body):
            entries += 1
    except RefusedError:
        pass
    assert time.thread_time() - began < 6  # 15 before it was bounded; 1 on an idle machine
    assert entries <= MAX_ENTRIES


def test_pieces_of_a_sitemap_are_cut_anywhere() -> None:
    chance = random.Random(date.today().toordinal())  # other cuts every day
    for _ in range(20):
        junk = "".join(chance.choice(["&", "&amp;", "<![CDATA[&]]>", "a&b", "&#65;", " "]) for _ in range(30_000))
        text = f"<urlset><x>{junk}</x><url><loc>https://e.org/?a=1&b=2</loc></url></urlset>"
        text = " " * chance.randrange(100) + text
        assert [entry.url for entry in read_sitemap(text.encode())] == ["https://e.org/?a=1&b=2"]
