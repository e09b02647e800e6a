"""What robots.txt forbids is not fetched by way of a redirect either: real servers, real redirects."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from cli.crawler.files import Collector
from shared.web.client import SafeClient
from shared.web.crawler.robots import RobotsPolicy
from shared.web.crawler.web_pages import WebCollector
from shared.web.policy import Policy


class Site(ThreadingHTTPServer):
    """Pages by path; a page that begins with `->` is a redirect to what follows."""

    def __init__(self, **pages: str) -> None:
        self.pages = {f"/{name.replace('__', '.')}": text for name, text in pages.items()}
        self.asked: list[str] = []
        super().__init__(("127.0.0.1", 0), _Page)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Page(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        text = self.server.pages.get(self.path)
        if text is not None and text.startswith("->"):
            self.send_response(302)
            self.send_header("location", text[2:])
            body = b""
        else:
            self.send_response(404 if text is None else 200)
            body = (text or "").encode()
        self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@contextmanager
def _served(**pages: str) -> Iterator[Site]:
    with Site(**pages) as site:
        thread = threading.Thread(target=site.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield site
        site.shutdown()
        thread.join()


async def _collect(*urls: str) -> tuple[list[str], list[str]]:
    """The texts of the pages, and why the others are not among them."""
    collector = Collector()
    async with SafeClient(Policy(inside=("127.0.0.1",))) as client:
        pages = WebCollector(RobotsPolicy(client, pause=0), collector)
        found = [one.body.decode() async for one in pages.urls(urls)]
    return found, [problem.reason for problem in collector.problems]


async def test_redirect_to_what_another_site_forbids_is_not_followed() -> None:
    # Given a site that is closed, and another that leads into it
    with (
        _served(robots__txt="User-agent: *\nDisallow: /closed", closed="secret", open="welcome") as closed,
        _served(in_="", bad=f"->{closed.url}/closed", good=f"->{closed.url}/open") as other,
    ):
        # When both ways in are collected
        found, problems = await _collect(f"{other.url}/bad", f"{other.url}/good")
        # Then only what its own site allows was fetched
        assert found == ["welcome"]
        assert problems == ["robots.txt disallows it"]
        assert "/closed" not in closed.asked
        assert closed.asked.count("/robots.txt") == 1


async def test_redirect_within_a_site_to_what_it_forbids_is_not_followed() -> None:
    with _served(robots__txt="User-agent: *\nDisallow: /closed", way="->/closed", closed="secret") as site:
        found, problems = await _collect(f"{site.url}/way")
        assert (found, problems) == ([], ["robots.txt disallows it"])
        assert site.asked == ["/robots.txt", "/way"]


async def test_rules_themselves_may_be_redirected() -> None:
    with _served(robots__txt="->/rules", rules="User-agent: *\nDisallow: /closed", closed="secret", open="x") as site:
        found, problems = await _collect(f"{site.url}/closed", f"{site.url}/open")
        assert (found, len(problems)) == (["x"], 1)
