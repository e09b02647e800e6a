"""Finds street addresses that the text says somebody lives at, is reached at or is called by. Pure.

Addresses of offices are what people ask about; only what the words before make somebody's own is private.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from shared.language.packs import either, once
from shared.language.rules.private_data.span import Span
from shared.language.rules.private_data.words import WORDS

_BIG = r"[A-ZÀ-ÖØ-Þ0-9][\w.’'\-]{0,30}"
_CITY = (
    r"(?:,?[ ](?:\d{4,5}[ ])?[A-ZÀ-Ý][\w’'\-]{1,30}(?:[ ][A-ZÀ-Ý][\w’'\-]{1,30}){0,2}"
    r"(?:,?[ ][A-Z]{2}\b)?(?:,?[ ]\d{5}\b)?)?"
)
_STREETS = once(words.streets for words in WORDS)
_ADDRESSES = re.compile(
    rf"(?<![\w.,/-]){either(street.replace('{big}', _BIG).replace('{city}', _CITY) for street in _STREETS)}",
    re.VERBOSE,
)
#: What makes an address somebody's own.
_OWN = re.compile(rf"\b{either(once(words.own_address for words in WORDS))}\b[^.!?;]{{0,30}}\Z", re.IGNORECASE)
_OWN_CHARS = 70


def addresses(text: str) -> Iterator[Span]:
    """Yields street addresses after words that make them somebody's own."""
    for found in _ADDRESSES.finditer(text):
        if _OWN.search(text[max(0, found.start() - _OWN_CHARS) : found.start()]):
            yield Span("address", found.start(), found.end())
