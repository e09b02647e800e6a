"""The statements of a passage: its sentences without headings, questions, navigation and truncated pieces. Pure."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from shared.text.analysis import sentences, stems, words

#: A list is quoted with the line that introduces it, up to this many characters together.
LONGEST_LIST = 400
#: A line of so many words or fewer without punctuation at its end is a heading or a menu entry.
HEADING_WORDS = 7

_ENDED = re.compile(r"[.!。！…:;][\"'»”’)\]]*$")
_ASKS = re.compile(r"[?？][\"'»”’)\]\s]*$")
_LIST_MARK = re.compile(r"\n[ \t]*(?:[-*+•–—‣▪◦·]|\(?\d{1,3}[.)])[ \t]+$")
_NAVIGATION = re.compile(
    r"[|›→]\s|^[^«]*+»\s|^(?:skip to|back to|jump to|read more|learn more$|see also|share this|print this|"
    r"table of contents|"
    r"on this page|related (?:links|content)|aller au|retour|lire la suite|en savoir plus$|voir aussi|sur cette page|"
    r"partager cette|table des mati)",
    re.IGNORECASE,
)


class Statement(NamedTuple):
    """A sentence at `[start:end]` of its passage, numbered from the top; `text` is it with single spaces.

    `ordered` are its stems in their order, `stems` the same as a set.
    """

    start: int
    end: int
    text: str
    stems: frozenset[str]
    position: int
    ordered: tuple[str, ...] = ()


@lru_cache(maxsize=2048)  # the passages that answer many questions are read once
def statements(text: str, language: str, *, continues: bool = False) -> tuple[Statement, ...]:
    """The statements of a passage, in order; `continues` when it is not the beginning of its source."""
    found: list[Statement] = []
    for start, end in _with_lists(text, sentences(text)):
        said = " ".join(text[start:end].split())
        first = start == 0 or not text[:start].strip()
        if worth_quoting(said, first=first, continues=continues):
            ordered = tuple(stems(said, language))
            found.append(Statement(start, end, said, frozenset(ordered), len(found), ordered))
    return tuple(found)


def worth_quoting(said: str, *, first: bool = False, continues: bool = False) -> bool:
    """Whether a sentence can be quoted by itself.

    `first`: it stands at the top of its passage, where a short `No.` is an answer, and where, if the passage
    `continues` an earlier one, a lower-case letter shows that its beginning is missing.
    """
    count = len(words(said))
    ended = bool(_ENDED.search(said))
    if _ASKS.search(said) or said.endswith(":") or _NAVIGATION.search(said):
        return False
    if first and continues and said[0].islower():
        return False
    if count < 3 and not (first and ended):
        return False
    if not ended and count <= HEADING_WORDS:
        return False
    # A sentence full of years and amounts is one; a row of figures without words is not.
    signs, letters = len(said) - said.count(" "), sum(map(str.isalpha, said))
    return letters >= 0.4 * signs and sum(map(str.isalnum, said)) >= 0.6 * signs


def _with_lists(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Joins a line that ends in a colon with the list items after it, as far as they fit."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined:
            begin, before = joined[-1]
            introduced = text[begin:before].rstrip().endswith(":") or "\n" in text[begin:before]
            item = _LIST_MARK.search(text[before:start])
            if introduced and item and ":" in text[begin:before] and end - begin <= LONGEST_LIST:
                joined[-1] = (begin, end)
                continue
        joined.append((start, end))
    return joined
