"""A long text in parts that can be read one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

#: How far back from the end of a part a blank line, or else the end of a line, is looked for: a share of the part.
_BACK = 4


def parts(beginning: bytes, file: BinaryIO, size: int, *, header: bool = False) -> Iterator[bytes]:
    """The text in pieces of about `size` bytes: `beginning`, already read, and the rest of the file.

    A piece ends at a blank line where there is one near, else at the end of a line, else between two characters. With
    `header` each piece begins with the first line of the text, as the rows of a table need it.
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
