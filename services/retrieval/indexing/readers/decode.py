"""Bytes to text, whatever the encoding; bytes that are no text are refused."""

from __future__ import annotations

import codecs
import re

from shared.contracts.errors import DocumentError

_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
#: One broken byte in fewer letters beyond ASCII than this: the text is not UTF-8 at all.
_DAMAGE = 10
#: The share of ASCII characters by which UTF-16 is known.
_ASCII = 0.7
#: More control characters than one in this many: not a text.
_PLAIN = 200


def decode(body: bytes, declared: str = "") -> str:
    """The text, line ends as LF, without control characters. Tries the byte order mark, UTF-16
    without one, UTF-8, `declared`, UTF-8 with a few broken bytes, cp1252.

    Raises:
        DocumentError: the bytes are not text.
    """
    text = _decode(body, declared).replace("\r\n", "\n").replace("\r", "\n")
    controls = len(_CONTROLS.findall(text))
    if controls * _PLAIN > len(text):
        raise DocumentError("this is not text but a binary file; hand it in under its own media type, or as text")
    return _CONTROLS.sub(" ", text) if controls else text


def _decode(body: bytes, declared: str) -> str:
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body.decode(name, "replace")
    wide = _wide(body)
    for name in (wide, "utf-8", declared):
        try:
            if name:
                return body.decode(name)
        except (UnicodeDecodeError, LookupError):
            continue
    damaged = body.decode("utf-8", "replace")
    if damaged.count("\ufffd") * _DAMAGE < sum(not char.isascii() for char in damaged):
        return damaged  # UTF-8 with a few bytes broken: the rest of its letters are right
    try:
        return body.decode("cp1252")
    except UnicodeDecodeError:
        return body.decode("latin-1")


def _wide(body: bytes) -> str:
    """UTF-16 without a mark, known by the zero bytes of its ASCII characters; empty when it is not."""
    beginning = body[:4096]
    if len(beginning) < 4 or b"\0" not in beginning:
        return ""
    half = len(beginning) // 2
    even, odd = beginning[0::2].count(0), beginning[1::2].count(0)
    if odd > half * _ASCII and even < half * (1 - _ASCII):
        return "utf-16-le"
    return "utf-16-be" if even > half * _ASCII and odd < half * (1 - _ASCII) else ""
