"""Splits a document into passages along its structure: headings, paragraphs, sentences, and words as a last resort."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from services.retrieval.indexing.readers.parsed_document import Block, ParsedDocument
from shared.text.analysis import sentences

#: Code blocks are not split up to this many times the size of a passage.
_WHOLE_CODE = 4


@dataclass(frozen=True, slots=True)
class Chunk:
    """A future passage: `text[start:end]`, with its headings and the anchor of its block."""

    start: int
    end: int
    headings: tuple[str, ...] = ()
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class _Unit:
    """A span that is not split any further; a chunk that begins with one that stands `alone` has no overlap."""

    start: int
    end: int
    alone: bool = False


def split(document: ParsedDocument, size: int, overlap: int) -> list[Chunk]:
    """Split a document into chunks of at most `size` characters (code blocks may be longer), each of one section.

    A chunk repeats the last whole sentences of the one before, up to `overlap` characters, unless it begins with a
    record, which needs no context. Headings are not part of the chunks, unless the document has nothing else.
    """
    body = [block for block in document.blocks if block.kind != "heading"] or list(document.blocks)
    chunks: list[Chunk] = []
    for (headings, anchor), section in groupby(body, key=lambda block: (block.headings, block.anchor)):
        for start, end in _pack(document.text, list(section), size, overlap):
            chunks.append(Chunk(start, end, headings, anchor))
    return chunks


def _pack(text: str, section: list[Block], size: int, overlap: int) -> Iterator[tuple[int, int]]:
    """Fills each chunk with units while they fit; yields offsets."""
    start = end = -1
    for unit in (unit for block in section for unit in _units(text, block, size)):
        if start < 0:
            start, end = unit.start, unit.end
        elif unit.end - start <= size:
            end = unit.end
        elif unit.alone:
            yield start, end
            start, end = unit.start, unit.end
        else:
            yield start, end
            start = _overlapping(text, (start, end), max(end - overlap, unit.end - size), unit.start)
            end = unit.end
    if start >= 0:
        yield start, end


def _units(text: str, block: Block, size: int) -> Iterator[_Unit]:
    length = block.end - block.start
    if length <= size or (block.kind == "code" and length <= size * _WHOLE_CODE):
        yield _Unit(block.start, block.end, alone=block.kind == "record")
    elif block.kind == "code":
        yield from _lines(text, block.start, block.end, size)
    else:
        begin = block.start
        for _, sentence_end in sentences(text[block.start : block.end]):
            # From the end of the previous sentence, so that list markers between sentences are kept.
            yield from _words(text, begin, block.start + sentence_end, size)
            begin = block.start + sentence_end


def _lines(text: str, start: int, end: int, size: int) -> Iterator[_Unit]:
    while start < end:
        stop = end if end - start <= size else text.rfind("\n", start + 1, start + size + 1)
        stop = stop if stop > start else min(start + size, end)
        yield _Unit(start, stop)
        start = stop + 1 if text[stop : stop + 1] == "\n" else stop


def _words(text: str, start: int, end: int, size: int) -> Iterator[_Unit]:
    """The span without surrounding white space; if longer than `size`, split between words, or anywhere."""
    while start < end and text[start].isspace():
        start += 1
    while end - start > size:
        stop = max(text.rfind(" ", start + 1, start + size + 1), text.rfind("\n", start + 1, start + size + 1))
        stop = stop if stop > start else start + size
        yield _Unit(start, stop)
        start = stop
        while start < end and text[start].isspace():
            start += 1
    if start < end:
        yield _Unit(start, end)


def _overlapping(text: str, chunk: tuple[int, int], earliest: int, otherwise: int) -> int:
    """The start of the next chunk: the first sentence of this chunk from `earliest` on, else `otherwise`."""
    start, end = chunk
    earliest = max(earliest, start + 1)
    if earliest >= end:
        return otherwise
    within = max(start, earliest - 400)  # far enough back to find the beginning of the sentence
    begins = (within + begin for begin, _ in sentences(text[within:end]))
    return next((begin for begin in begins if begin >= earliest), otherwise)
