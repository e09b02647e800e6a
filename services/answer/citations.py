"""The citation markers of an answer: `[3]` names passage 3 of the prompt and becomes the number of its citation. Pure.

Citations are numbered in the order in which the streamed text first names them; a number without a passage is dropped.
Markers are rewritten as ` [1]`, or ` [1] [2]` where there are several.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from shared.contracts.domain import Citation, Passage
from shared.text.analysis import sentences, words
from shared.text.citations import MARKER
from shared.text.urls import well_formed

#: Longest marker, in characters; anything longer in brackets is text.
_LONGEST = 60
_FULL = re.compile(r"\s{0,8}\[\s*(\d{1,3}(?:\s*[,;]\s*\d{1,3})*)\s*\]")
_BEGUN = re.compile(r"\s{0,8}(?:\[[\d\s,;]*)?$")
_START = re.compile(r"\s{0,8}\[|\s{1,8}$")
_MARKS = re.compile(r"(?:\s*\[\d{1,3}\])+")


class Markers:
    """Renumbers the markers of a text that comes in pieces; `count` passages are numbered from 1."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._held = ""
        #: Number of the passage -> number of its citation.
        self.numbers: dict[int, int] = {}

    def feed(self, piece: str) -> str:
        self._held += piece
        return self._read(last=False)

    def finish(self) -> str:
        return self._read(last=True)

    def clear(self) -> None:
        """Discard the text so far."""
        self._held = ""
        self.numbers = {}

    def number(self, passage: int) -> int:
        """The citation number of a passage; a passage that has none yet gets the next one."""
        return self.numbers.setdefault(passage, len(self.numbers) + 1)

    def _read(self, *, last: bool) -> str:
        out: list[str] = []
        text, at = self._held, 0
        while at < len(text):
            begin = _START.search(text, at)
            if begin is None:
                out.append(text[at:])
                at = len(text)
                break
            out.append(text[at : begin.start()])
            at = begin.start()
            full = _FULL.match(text, at)
            if full and len(full[0]) <= _LONGEST:
                out.append(self._shown(full[1]))
                at = full.end()
            elif not last and len(text) - at < _LONGEST and _BEGUN.match(text, at):
                break
            else:
                out.append(text[at : begin.end()])
                at = begin.end()
        self._held = text[at:]
        return "".join(out)

    def _shown(self, listed: str) -> str:
        named = [int(number) for number in re.findall(r"\d+", listed)]
        known = dict.fromkeys(number for number in named if 1 <= number <= self._count)
        return "".join(f" [{self.number(passage)}]" for passage in known)


class Segment(NamedTuple):
    """A sentence at `[start:end]` of the content; `text` is without its markers, `numbers` are theirs."""

    start: int
    end: int
    text: str
    numbers: tuple[int, ...]


def segments(content: str) -> list[Segment]:
    """The content split into sentences without losing any text; markers belong to the sentence that they follow."""
    found: list[Segment] = []
    at = 0
    for _, end in sentences(content):
        if end <= at:
            continue
        marks = _MARKS.match(content, end)
        found.append(_segment(content, at, marks.end() if marks else end))
        at = found[-1].end
        if len(found) > 1 and not words(found[-1].text):
            # A bullet or a row of dots without words belongs to the sentence before it.
            found[-2:] = [_segment(content, found[-2].start, at)]
    return found


def cite(number: int, passage: Passage, quote: str, *, title: str = "") -> Citation:
    """A citation of the passage, under its own title unless another is given.

    An address that no browser should follow is left out.
    """
    return Citation(
        number=number,
        source=passage.source,
        passage=passage.id,
        title=title or passage.title,
        url=passage.url if well_formed(passage.url) else "",
        quote=quote,
    )


def cut(content: str, most: int) -> str:
    """The sentences that fit into `most` characters; if not even the first one does, its words that fit, and `…`."""
    if len(content) <= most:
        return content
    fitting = [segment.end for segment in segments(content) if segment.end <= most]
    if fitting:
        return content[: fitting[-1]].rstrip()
    head = content[: most - 1].strip()
    whole, _, rest = head.rpartition(" ")
    return f"{(whole if whole and rest else head).rstrip()}…"


def _segment(content: str, start: int, end: int) -> Segment:
    part = content[start:end]
    numbers = tuple(dict.fromkeys(int(number) for number in MARKER.findall(part)))
    return Segment(start, end, MARKER.sub("", part).strip(), numbers)
