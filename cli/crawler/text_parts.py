"""Splits a long text into parts, one in memory at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

#: A part ends at a blank line, or else a line end, that lies in its last 1/_BACK.
_BACK = 4


def parts(beginning: bytes, file: BinaryIO, size: int, *, header: bool = False) -> Iterator[bytes]:
    """The text in parts of about `size` bytes: `beginning`, which is already read, and the rest of the file.

    A part ends at a blank line if there is one near its end, else at a line end, else between two characters. With
    `header` each part begins with the first line of the text, which the rows of a table need.
    """
    first = beginning[: beginning.find(b"\n") + 1] if header else b""
    held = beginning
    leading = b""
    while held:
        if len(held) <= size:
            held += file.read(size + 1 - len(held))
        piece, held = _cut(held, size)
        yield leading + piece
        leading = first


def _cut(held: bytes, size: int) -> tuple[bytes, bytes]:
    if len(held) <= size:
        return held, b""
    earliest = size - size // _BACK
    for mark in (b"\n\n", b"\r\n\r\n", b"\n"):
        found = held.rfind(mark, earliest, size)
        if found >= 0:
            return held[: found + len(mark)], held[found + len(mark) :]
    end = size
    while end > max(size - 3, 1) and held[end] & 0xC0 == 0x80:  # within a character of UTF-8
        end -= 1
    return held[:end], held[end:]
