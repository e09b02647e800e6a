"""Where private data stands in a text. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from services.moderation.settings import PrivateKind

MASK = "XXX"


class Span(NamedTuple):
    """Private data of a kind from `start` to before `end`."""

    kind: PrivateKind
    start: int
    end: int


def apart(spans: Iterable[Span]) -> list[Span]:
    """Without overlaps, in order of the text: those that overlap become one, of the kind that was given first."""
    kept: list[tuple[int, Span]] = []
    for rank, span in sorted(enumerate(spans), key=lambda one: (one[1].start, one[0])):
        if not kept or span.start >= kept[-1][1].end:
            kept.append((rank, span))
            continue
        before, other = kept[-1]
        kind = other.kind if before < rank else span.kind
        kept[-1] = (min(before, rank), Span(kind, other.start, max(other.end, span.end)))
    return [span for _, span in kept]


def masked(text: str, places: Iterable[tuple[int, int]]) -> str:
    """The text with XXX for every place (start, end); they do not overlap and are in order."""
    pieces = []
    place = 0
    for start, end in places:
        pieces += [text[place:start], MASK]
        place = end
    return "".join([*pieces, text[place:]])
