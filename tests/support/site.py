"""A site on this machine that can be crawled; a page can be held back until a test lets it go."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class LocalSite:
    """Pages by path (HTML); `asked` are the paths asked for, `held` those that wait for their event."""

    pages: dict[str, str]
    port: int = 0
    asked: list[str] = field(default_factory=list)
    held: dict[str, threading.Event] = field(default_factory=dict)

    @property
    def sitemap(self) -> str:
        """The address of its sitemap."""
        return f"http://127.0.0.1:{self.port}/sitemap.xml"

    def body(self, path: str) -> tuple[int, str, str]:
        """Status, media type and text of a path."""
        self.asked.append(path)
        if path in self.held:
            self.held[path].wait(300)
        if path == "/sitemap.xml":
            places = "".join(f"<url><loc>http://127.0.0.1:{self.port}{one}</loc></url>" for one in self.pages)
            return 200, "text/xml", f"<urlset>{places}</urlset>"
        return (200, "text/html", self.pages[path]) if path in self.pages else (404, "text/plain", "")


@contextmanager
def local_site(pages: dict[str, str]) -> Iterator[LocalSite]:
    """Serve the pages on a free port of loopback."""
    site = LocalSite(pages)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, kind, text = site.body(self.path)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        for event in site.held.values():
            event.set()
        server.shutdown()
        server.server_close()
