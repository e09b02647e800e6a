"""Only addresses with a source reach the text of an answer."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from services.answer.address_filter import AddressFilter
from shared.text.addresses import KnownAddresses
from tests.support.table import table

KNOWN = KnownAddresses([
    "See https://example.org/card?a=1&b=2, mail help@example.org, or go to pay.example.net/now."
])  # fmt: skip
PARTS = st.sampled_from([
    "https://", "evil.example", "/pay", "[", "]", "(", ")", "text", " ", "www.", "example.org", "<a href=\"",
    "\">", "</a>",
    "<", ">", "&amp;", "&", "@", "help", "!", "\n\n", ".", "mailto:", "1", "https://example.org/card?a=1&b=2",
])  # fmt: skip


def filtered(pieces: list[str]) -> str:
    one = AddressFilter(KNOWN)
    return "".join([*map(one.feed, pieces), one.finish()])


@table(
    ("text", "shown"),
    [
        ("[pay here](https://evil.example/pay) now", "pay here now"),
        ("[card](https://example.org/card?a=1&amp;b=2)", "[card](https://example.org/card?a=1&b=2)"),
        ("https://example.org/card?a=1&b=2.", "https://example.org/card?a=1&b=2."),
        ("Go to https://evil.example/x. Then", "Go to […]. Then"),
        ("https://example.org/other", "[…]"),
        ("https://pay.example.net/now", "https://pay.example.net/now"),
        ("Write to me@evil.example or help@example.org.", "Write to me[…] or help@example.org."),
        ('<a href="https://evil.example">pay</a>', "pay"),
        ('<a href="https://example.org/card?a=1&b=2">card</a>', "card (https://example.org/card?a=1&b=2)"),
        ("![x](https://evil.example/i.png)", "x"),
        ("<https://evil.example>", "[…]"),
        ("www.evil.example", "[…]"),
        ("R&amp;D, a < b, array[3], [1] [2]", "R&D, a < b, array[3], [1] [2]"),
        ("[1](https://evil.example)", "[1]"),
        ("[https://evil.example](https://evil.example)", "[…]"),
    ],
)
def test_an_address_without_a_source_goes_and_its_text_stays(text: str, shown: str) -> None:
    assert filtered([text]) == shown


@given(text=st.lists(PARTS, max_size=12).map("".join), places=st.lists(st.integers(0, 200), max_size=8))
def test_any_cutting_gives_the_same_text(text: str, places: list[int]) -> None:
    at = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    assert filtered([text[a:b] for a, b in itertools.pairwise(at)]) == filtered([text])
    assert filtered(list(text)) == filtered([text])
