"""The ids of a long text's parts: `kb:log.txt#part=1`, `#part=2` and so on, where the whole would be `kb:log.txt`."""

from __future__ import annotations

_MARK = "#part="


def part_source(text: str, number: int) -> str:
    """The id of a part, numbered from 1, of the text that has this id."""
    return f"{text}{_MARK}{number}"


def part_of(source: str) -> tuple[str, int]:
    """The id of the text, and which part of it this is; 0 for one that is whole."""
    text, mark, number = source.rpartition(_MARK)
    return (text, int(number)) if mark and text and number.isascii() and number.isdigit() else (source, 0)
