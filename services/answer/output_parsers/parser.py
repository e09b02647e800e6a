"""What a model wrote, read while it is being written: the text of the answer apart from everything around it. Pure.

A reader is fed the pieces as they come and gives back what of them the asker may see; `RESTART` among it says that what
was given so far was not the answer. However the writing is cut into pieces, the outcome is the same.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Final, NamedTuple, Protocol

#: Longest metadata that is kept of one field, in characters.
FIELD_CHARS = 2000

#: The head of what may become a tag with what follows, and how far back it is looked for, in characters.
_HALF_A_TAG = re.compile(r"<[\s/\w-]*$")
_NEAR = 40
_OPTION = re.compile(r"^\s*(?:[-*•–]|\d{1,2}[.)])\s+(.+)$")


class Restart(Enum):
    """The only value of its kind: forget the text so far."""

    RESTART = "afresh"


RESTART: Final = Restart.RESTART
TextPiece = str | Restart


class ParsedOutput(NamedTuple):
    """Everything beside the text: `text` is the answer as it was shown, trimmed.

    `clarification` is set instead of a text; `confidence` is 0 to 10 or None when the model did not say; `scope` is
    `not-gc` or `pt-muni` for a question that is not this service's; `tagged` tells that the form was kept.
    """

    text: str = ""
    clarification: str = ""
    options: tuple[str, ...] = ()
    citation_head: str = ""
    citation_url: str = ""
    confidence: float | None = None
    scope: str = ""
    not_found: bool = False
    tagged: bool = False


class OutputParser(Protocol):
    """Reads one completion."""

    def feed(self, piece: str) -> list[TextPiece]:
        """What of the piece, and of what was held back before it, is to be shown."""

    def finish(self) -> tuple[list[TextPiece], ParsedOutput]:
        """What is left to be shown, and everything that was read."""


class VisibleText:
    """Text on its way to the asker: without white space at its ends, one space at most where a tag stood."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._end = ""
        self._blank = ""
        self._joint = False
        self._apart = False

    @property
    def text(self) -> str:
        return "".join(self._parts)

    def joint(self, *, apart: bool = False) -> None:
        """A tag stands here: white space around it is not the author's. With `apart` it keeps words apart.

        What stands before it and after it never becomes a tag by its going.
        """
        self._joint = True
        self._apart = self._apart or apart or _HALF_A_TAG.search(self._end) is not None

    def add(self, text: str) -> str:
        """The part that can be shown now; white space waits for what follows it."""
        body = text.lstrip()
        self._blank += text[: len(text) - len(body)]
        if not body:
            return ""
        kept = body.rstrip()
        before = self._blank
        if self._joint:
            before = " " if self._blank or self._apart else ""
        shown = (before if self._parts else "") + kept
        self._blank, self._joint, self._apart = body[len(kept) :], False, False
        self._parts.append(shown)
        self._end = (self._end + shown)[-_NEAR:]
        return shown

    def clear(self) -> bool:
        """Forget everything; whether there was anything."""
        had = bool(self._parts)
        self._parts, self._end, self._blank, self._joint, self._apart = [], "", "", False, False
        return had


def parse_confidence(text: str) -> float | None:
    """The first number of the text, brought into 0 to 10; None when there is none. `85%` is 8.5."""
    found = re.search(r"-?\d+(?:[.,]\d+)?", text)
    if not found:
        return None
    value = float(found[0].replace(",", "."))
    if text[found.end() :].lstrip().startswith("%"):
        value /= 10
    return min(10.0, max(0.0, value))


def parse_clarification(text: str) -> tuple[str, tuple[str, ...]]:
    """A clarifying question and the options listed under it."""
    lines = text.strip().splitlines()
    options = [found[1].strip() for line in lines if (found := _OPTION.match(line))]
    asked = " ".join(line.strip() for line in lines if not _OPTION.match(line)).strip()
    return (asked, tuple(options[:8])) if asked else (" ".join(text.split()), ())
