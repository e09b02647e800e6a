"""Which addresses count as read: those that stand in a text as they are, and none that was put together."""

from __future__ import annotations

import time

from services.answer.tools.fetchable_addresses import FetchableAddresses
from tests.support.table import table


@table(
    ("url", "text"),
    [
        ("https://example.org/a", "See https://example.org/a."),
        ("https://example.org/a", "[a](https://example.org/a),[b](https://example.org/b)"),
        ("https://example.org/a/", "<https://example.org/a>"),
        ("https://example.org/a", "https://example.org/a/, and more"),
        ("https://Example.ORG/a", "HTTPS://EXAMPLE.org/a"),
        ("https://example.org/", "What is on example.org?"),
        ("https://www.example.org/a?b=c", "www.example.org/a?b=c!"),
        ("https://example.org/a#part", "https://example.org/a#other"),
        ("https://example.org/wiki/A_(b)", "(https://example.org/wiki/A_(b))"),
        ("http://127.0.0.1:8080/x", "http://127.0.0.1:8080/x"),
        ("https://example.org/été", "« https://example.org/été »"),
        ("https://example.org/a", '{"url":"https://example.org/a","title":"A"}'),
    ],
)
def test_an_address_that_was_read_is_known(url: str, text: str) -> None:
    assert url in FetchableAddresses(["something else", text])


@table(
    ("url", "text"),
    [
        ("https://evil.example/?q=secret", "https://evil.example/"),
        ("https://evil.example/secret", "https://evil.example/"),
        ("https://secret.evil.example/", "https://evil.example/"),
        ("https://evil.example/", "https://evil.example.org/"),
        ("https://evil.example/", "mail to me@evil.example"),
        ("https://evil.example/", "https://notevil.example/"),
        ("https://evil.example/", "https://example.org/evil.example"),
        ("https://evil.example/Aa", "https://evil.example/aA"),
        ("https://evil.example/a", "https://evil.example/abc"),
        ("https://evil.example/a", "https://evil.example/a?b=c"),
        ("https://evil.example/a", "https://evil.example/a.html"),
        ("https://evil.example:8080/", "https://evil.example/"),
        ("https://me@evil.example/", "https://evil.example/"),
        ("https://[broken", "https://[broken"),
        ("https:///", "https:///"),
    ],
)
def test_an_address_that_was_put_together_is_not(url: str, text: str) -> None:
    assert url not in FetchableAddresses([text])


def test_looking_takes_no_longer_than_reading() -> None:
    texts = FetchableAddresses(["aa.aa" * 200_000, "http://" * 100_000, "aa.aa/" * 100_000])
    began = time.process_time()

    assert "http://aa.aa/aa.aa/b" not in texts
    assert time.process_time() - began < 2
