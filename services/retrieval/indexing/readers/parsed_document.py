"""A document as its reader leaves it: plain text, and the blocks it is made of."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

BlockKind = Literal["heading", "paragraph", "item", "record", "code"]


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of the text, `text[start:end]`, under its headings (outermost first).

    `anchor` is added to the document's URL to lead to the place (`#page=3`).
    """

    kind: BlockKind
    start: int
    end: int
    headings: tuple[str, ...] = ()
    anchor: str = ""


class DocumentLink(NamedTuple):
    """A link in the block that begins at `at`; `target` is as it is written, relative or not."""

    at: int
    target: str


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """Plain text in blocks, and what the document says of itself; empty where it says nothing.

    `date` is the day it was last changed (`YYYY-MM-DD`), `description` what it calls its content, on one line;
    `links` are in the order of the text.
    """

    text: str
    blocks: tuple[Block, ...]
    title: str = ""
    url: str = ""
    language: str = ""
    date: str = ""
    description: str = ""
    links: tuple[DocumentLink, ...] = ()


@dataclass
class DocumentBuilder:
    """Builds the text block by block and keeps the offsets."""

    parts: list[str] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    anchor: str = ""
    first_title: str = ""
    links: list[DocumentLink] = field(default_factory=list)
    _targets: list[str] = field(default_factory=list)
    _length: int = 0
    _path: list[tuple[int, str]] = field(default_factory=list)

    def add(self, kind: BlockKind, text: str) -> None:
        """Add a block; one without words is left out."""
        text = text.strip("\n").rstrip() if kind == "code" else text.strip()
        if not text.strip():
            return
        if self.blocks:
            together = kind in ("item", "record") and self.blocks[-1].kind == kind
            self._append("\n" if together else "\n\n")
        start = self._length
        self._append(text)
        self.links += (DocumentLink(start, target) for target in self._targets)
        self._targets = []
        self.blocks.append(Block(kind, start, self._length, tuple(name for _, name in self._path), self.anchor))

    def link(self, target: str) -> None:
        """The block that is added next leads there."""
        if target:
            self._targets.append(target)

    def heading(self, level: int, text: str) -> None:
        """Add a heading; what follows stands under it until one of its level or above."""
        text = squeeze(text)
        if not text:
            return
        if level == 1 and not self.first_title:
            self.first_title = text
        self.leave(level)
        self.add("heading", text)
        self._path.append((level, text))

    def enter(self, level: int, name: str) -> None:
        """What follows stands under the name, as under a heading that the text does not show."""
        self.leave(level)
        self._path.append((level, squeeze(name)))

    def leave(self, level: int) -> None:
        """What follows stands under no heading of this level or below."""
        self._path = [(above, name) for above, name in self._path if above < level]

    def finish(
        self, *, title: str = "", url: str = "", language: str = "", date: str = "", description: str = ""
    ) -> ParsedDocument:
        text, blocks, links = "".join(self.parts), tuple(self.blocks), tuple(self.links)
        return ParsedDocument(text, blocks, title or self.first_title, url, language, date, squeeze(description), links)

    def _append(self, text: str) -> None:
        self.parts.append(text)
        self._length += len(text)


def squeeze(text: str) -> str:
    """On one line, with single spaces."""
    return re.sub(r"\s+", " ", text).strip()
