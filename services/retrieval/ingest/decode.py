"""Bytes to text, whatever the encoding; bytes that are no text are refused."""

from __future__ import annotations

import codecs
import re

from shared.errors import DocumentError

_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
#: More control characters than one in this many: not a text.
_PLAIN = 200


def decode(body: bytes, declared: str = "") -> str:
    """The text, line ends as LF, without control characters. Tries the byte order mark, UTF-8, `declared`, cp1252.

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
    for name in ("utf-8", declared, "cp1252"):
        try:
            return body.decode(name) if name else _undecided(name)
        except (UnicodeDecodeError, LookupError):
            continue
    return body.decode("latin-1")


def _undecided(name: str) -> str:
    raise LookupError(name)
