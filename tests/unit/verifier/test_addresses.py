"""Which web addresses an answer may show."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.text.urls import well_formed
from tests.support.table import table


@pytest.mark.parametrize(
    "url",
    [
        "https://www.example.org/a?b=c#d",
        "http://example.org",
        "HTTPS://EXAMPLE.ORG/",
        "https://example.org:8443/x",
        "https://[2001:db8::1]/x",
        "https://exämple.org/é",
        "https://example.org/a@b",
    ],
)
def test_an_address_with_a_host_is_well_formed(url: str) -> None:
    assert well_formed(url)


@table(
    "url",
    [
        "",
        "example.org/x",
        "//example.org",
        "/relative",
        "ftp://example.org",
        "javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "https://",
        "https:///x",
        "https://.",
        "https://user@example.org",
        "https://user:pass@example.org",
        "https://good.example\\@evil.example",
        "https://example.org/a b",
        "https://example.org/\n",
        "https://example.org:99999",
        "https://example.org:x",
        "https://[::1",
        'https://example.org/"><script>',
    ],
)
def test_what_no_browser_should_follow_is_not(url: str) -> None:
    assert not well_formed(url)


@given(st.text(max_size=60))
def test_any_text_gets_an_answer(url: str) -> None:
    assert well_formed(url) in (True, False)
