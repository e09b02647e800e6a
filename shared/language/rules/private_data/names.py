"""Finds names of people after a title, or where the writer states their own. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from shared.language.packs import either, once, phrase
from shared.language.rules.private_data.span import Span
from shared.language.rules.private_data.words import WORDS

_WORD = r"[^\W\d_][\w’'\-]{0,30}"
_BIG = r"[A-ZÀ-ÖØ-ÞĀ-Ž][\w’'\-]{0,30}"
_PARTICLE = rf"(?:{phrase(words.particles for words in WORDS)}|[A-ZÀ-Þ]\.)"
_NAME = rf"{_BIG}(?:[ ]{_PARTICLE}){{0,2}}(?:[ ]{_BIG}(?:[ ]{_PARTICLE}){{0,2}}(?:[ ]{_BIG})?)?"

_TITLES, _LOCAL_TITLES = (phrase(lists) for lists in ((w.titles for w in WORDS), (w.local_titles for w in WORDS)))
_TITLED = re.compile(
    rf"\b(?:(?:{_TITLES}|(?P<local>{_LOCAL_TITLES}))\b\.?"
    rf"|{phrase(words.title_initials for words in WORDS)}|{phrase(words.title_words for words in WORDS)}\b)"
    rf"[ ](?P<name>{_NAME})"
)
#: Words of a text in which a local title is one.
_LOCAL = re.compile(rf"\b{either(once(words.local_words for words in WORDS))}\b", re.IGNORECASE)
_DECLARED = re.compile(
    rf"\b{either(once(words.declarations for words in WORDS))}[ ]?"
    rf"(?P<name>{_WORD}(?:[ ]{_PARTICLE}){{0,2}}(?:[ ]{_WORD}){{0,2}})",
    re.IGNORECASE,
)
_NOT_NAMES = frozenset(once(words.not_names for words in WORDS))
_OFFICES = frozenset(once(words.offices for words in WORDS))
_DECLARING_WORDS = once(words.declaring for words in WORDS)


def names(text: str) -> Iterator[Span]:
    """Yields names after a title (without the title), then declared names."""
    for found in _TITLED.finditer(text):
        first = found["name"].split()[0]
        if first in _OFFICES or first.casefold() in _NOT_NAMES or len(first) < 2:
            continue
        if not (found["local"] and not _LOCAL.search(text)):
            yield Span("name", found.start("name"), found.end("name"))
    lowered = text.casefold()
    for found in _DECLARED.finditer(text) if any(word in lowered for word in _DECLARING_WORDS) else ():
        length = _name_length(found["name"])
        if length:
            yield Span("name", found.start("name"), found.start("name") + length)


def _name_length(text: str) -> int:
    """The length of the name at the beginning of the text that follows "my name is".

    It ends at a word that is not a name, or at a lower-case word where the name began with a capital.
    """
    length = position = 0
    words = text.split(" ")
    capitalised = words[0][:1].isupper()
    for word in words:
        end = position + len(word)
        if word.casefold() in _NOT_NAMES or (
            capitalised and length and word[:1].islower() and not re.fullmatch(_PARTICLE, word)
        ):
            break
        if word[:1].isupper() or not capitalised:
            length = end
        position = end + 1
    return length
